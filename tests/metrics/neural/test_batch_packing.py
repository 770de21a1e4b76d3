"""Batches of tokens: what goes together, how it is padded, and what becomes of a batch that does not fit."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch

from assay.metrics.neural.tokens import Packed, Packer, Tokens, plan_batches, to_device, token_mask_of


def planned(lengths: list[int], budget: int) -> list[list[int]]:
    return [batch.tolist() for batch in plan_batches(np.array(lengths, dtype=np.intp), budget)]


@pytest.mark.parametrize(
    ("lengths", "budget", "expected"),
    [
        ([], 10, []),
        # as many of the longest as fit: 10 // 5 = 2
        ([5, 5, 5], 10, [[0, 1], [2]]),
        # equal lengths keep their order, long ones come first
        ([1, 1, 6, 1], 100, [[2, 0, 1, 3]]),
        # a full quarter of 16 that is not padded ends before a shorter text; 4 tokens are that, 3 are not
        ([4, 2, 2, 2], 16, [[0], [1, 2, 3]]),
        ([3, 2, 2, 2], 16, [[0, 1, 2, 3]]),
        # two texts of 2 are a full quarter as well
        ([2, 1, 2, 1], 16, [[0, 2], [1, 3]]),
        # longer than the budget: alone, each
        ([30, 20, 3], 10, [[0], [1], [2]]),
        # padding counts: 4 + 1 tokens take 8 places
        ([4, 1, 1], 7, [[0], [1, 2]]),
    ],
)
def test_what_goes_into_a_batch(lengths: list[int], budget: int, expected: list[list[int]]) -> None:
    assert planned(lengths, budget) == expected


def test_a_batch_without_padding_has_one_length() -> None:
    lengths = np.array([4, 2, 3, 2, 4, 2], dtype=np.intp)
    found = [batch.tolist() for batch in plan_batches(lengths, 10, pads=False)]
    assert found == [[0, 4], [2], [1, 3, 5]]
    assert [batch.tolist() for batch in plan_batches(lengths, 5, pads=False)] == [[0], [4], [2], [1, 3], [5]]


def packed(inputs: list[Tokens], budget: int, pad: int = 9) -> list[Packed]:
    found: list[Packed] = []
    Packer(pad, budget).run(inputs, [("cpu", found.append)])
    return found


def test_a_batch_is_padded_on_the_right() -> None:
    inputs = [Tokens([5], [1]), Tokens([1, 2, 3], [0, 1, 1]), Tokens([4, 4], [0, 0])]
    (batch,) = packed(inputs, 100)
    assert batch.items.tolist() == [1, 2, 0] and batch.sizes.tolist() == [3, 2, 1]
    assert batch.ids.tolist() == [[1, 2, 3], [4, 4, 9], [5, 9, 9]]
    assert batch.mask.tolist() == [[1, 1, 1], [1, 1, 0], [1, 0, 0]]
    assert batch.types is not None and batch.types.tolist() == [[0, 1, 1], [0, 0, 0], [1, 0, 0]]
    assert batch.token_mask.tolist() == [[True, True, True], [True, True, False], [True, False, False]]
    assert not batch.unpadded
    assert {batch.ids.dtype, batch.mask.dtype, batch.types.dtype} == {torch.int64}


def test_without_padding_a_batch_is_even() -> None:
    (batch,) = packed([Tokens([1, 2]), Tokens([3, 4])], 100)
    assert batch.unpadded and batch.types is None
    assert batch.ids.tolist() == [[1, 2], [3, 4]] and batch.mask.tolist() == [[1, 1], [1, 1]]


def test_batches_come_long_ones_first() -> None:
    inputs = [Tokens([number] * length) for number, length in enumerate([1, 4, 2, 3])]
    assert [batch.items.tolist() for batch in packed(inputs, 4)] == [[1], [3], [2], [0]]


def test_places_with_a_token() -> None:
    assert token_mask_of(np.array([2, 0, 1])).tolist() == [[True, True], [False, False], [True, False]]


def test_an_array_as_tensor() -> None:
    found = to_device(np.array([[1.5, 2.5]]), "cpu")
    assert found.dtype == torch.float64 and found.tolist() == [[1.5, 2.5]] and found.device.type == "cpu"


class Device:
    """A device that holds so many places, padding included."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.asked: list[list[int]] = []
        self.done: list[list[int]] = []

    def __call__(self, batch: Packed) -> None:
        self.asked.append(batch.items.tolist())
        if batch.ids.numel() > self.room:
            raise torch.OutOfMemoryError
        self.done.append(batch.items.tolist())


def test_what_does_not_fit_is_halved() -> None:
    # 8 texts of 2 tokens, 16 places at first: 16 -> 8 -> 4 places, then two texts a batch to the end
    packer, device = Packer(0, 16), Device(5)
    packer.run([Tokens([1, 1])] * 8, [("cpu", device)])
    assert device.asked == [[0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3], [0, 1], [2, 3], [4, 5], [6, 7]]
    assert device.done == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert (packer.halvings, packer.budget) == (2, 4)


def test_batches_that_wait_are_halved_too() -> None:
    # three batches of 4 texts are planned; the first shows that 4 places are too many
    packer, device = Packer(0, 4), Device(2)
    packer.run([Tokens([1])] * 12, [("cpu", device)])
    assert device.asked == [[0, 1, 2, 3], [0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11]]
    assert (packer.halvings, packer.budget) == (1, 2)


def test_padding_counts_in_what_is_halved() -> None:
    # 8 rows of 4 places are 32, half of it 16; then the longest text is a full quarter by itself, and 5 rows of 3 fit
    packer, device = Packer(0, 32), Device(16)
    packer.run([Tokens([1] * size) for size in (4, 3, 3, 3, 3, 3, 3, 3)], [("cpu", device)])
    assert device.asked == [[0, 1, 2, 3, 4, 5, 6, 7], [0], [1, 2, 3, 4, 5], [6, 7]] and packer.budget == 16


def test_an_input_longer_than_the_budget_is_run_all_the_same() -> None:
    assert [batch.ids.tolist() for batch in packed([Tokens([1]), Tokens([2] * 5)], 2)] == [[[2] * 5], [[1]]]


def test_a_single_input_too_large_is_an_error() -> None:
    packer, device = Packer(0, 16), Device(3)
    with pytest.raises(torch.OutOfMemoryError):
        packer.run([Tokens([1] * 4)], [("cpu", device)])
    assert device.asked == [[0]] and packer.halvings == 0


def test_two_of_one_token_are_halved_to_one() -> None:
    packer, device = Packer(0, 2), Device(1)
    packer.run([Tokens([1])] * 2, [("cpu", device)])
    assert device.asked == [[0, 1], [0], [1]] and packer.budget == 1


def test_a_gpu_s_cache_is_let_go_and_a_cpu_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.metrics.neural import tokens as packing

    emptied: list[str] = []
    placed: list[str] = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: emptied.append("cuda"))
    monkeypatch.setattr(packing, "to_device", lambda array, device: placed.append(device) or torch.from_numpy(array))
    for device, expected in (("cpu", []), ("cuda:1", ["cuda"])):
        Packer(0, 4).run([Tokens([1])] * 4, [(device, Device(2))])
        assert emptied == expected and set(placed) == {device}
        placed.clear()


def test_workers_share_the_batches() -> None:
    # each waits for the other at its first batch: one thread alone would never get on
    barrier, lock, seen = threading.Barrier(2), threading.Lock(), {"cpu": [], "meta": []}

    def worker(name: str):
        def step(batch: Packed) -> None:
            first = not seen[name]
            with lock:
                seen[name] += batch.items.tolist()
            if first:
                barrier.wait(timeout=20)

        return step

    Packer(0, 1).run([Tokens([1])] * 9, [("cpu", worker("cpu")), ("meta", worker("meta"))])
    assert seen["cpu"] and seen["meta"] and sorted(seen["cpu"] + seen["meta"]) == list(range(9))


def test_a_worker_that_comes_too_late_goes_home() -> None:
    class Taken(list[np.ndarray]):
        """Has a batch when it is looked at, and none when it is asked for it: another worker was quicker."""

        def __bool__(self) -> bool:
            return True

    device = Device(100)
    Packer(0, 4)._run_worker([], np.array([], dtype=np.intp), Taken(), "cpu", device)
    assert not device.asked


def test_what_a_worker_raises_comes_out() -> None:
    def broken(batch: Packed) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Packer(0, 1).run([Tokens([1])] * 3, [("cpu", broken), ("cpu", broken)])
