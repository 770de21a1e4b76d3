"""Pages and the shelf: rows lie in the order of the texts, and what is kept comes back as it was."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
import pytest
import torch

from assay.metrics.neural.encoder import Key, Output, Page, Shelf
from assay.metrics.neural.tokens import Packed, Tokens

A, B, C = ("a", None), ("b", None), ("b", 3)
TOKENS: dict[Key, Tokens] = {A: Tokens([7, 8]), B: Tokens([5]), C: Tokens([1, 2, 3])}
WORDS, MEAN = Output("tokens", 2), Output("mean", 2)


def packed(sizes: list[int]) -> Packed:
    """Return a batch of which a page reads nothing but the sizes."""
    nothing = torch.zeros(0)
    even = len(set(sizes)) == 1
    return Packed(np.arange(len(sizes)), np.array(sizes, dtype=np.intp), nothing, nothing, None, even=even)


def values(page: Page) -> list[list[float]]:
    return page.rows().values.tolist()


def test_vectors_lie_in_the_order_of_the_texts() -> None:
    page = Page(MEAN, TOKENS)
    places = page.places([C, A])
    assert places.tolist() == [2, 0] and page.places([A, A, B]).tolist() == [0, 0, 1]
    page.put_rows(places, torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64), "cpu")
    page.put_rows(page.places([B]), torch.tensor([[5.0, 6.0]]), "cpu")
    rows = page.rows()
    assert rows.values.tolist() == [[3.0, 4.0], [5.0, 6.0], [1.0, 2.0]]
    assert rows.values.dtype == torch.float32 and rows.starts is None and rows.ids == ()


def test_tokens_lie_text_by_text_and_padding_stays_behind() -> None:
    page = Page(WORDS, TOKENS)
    hidden = torch.tensor([[[1.0], [2.0], [3.0]], [[4.0], [-1.0], [-1.0]], [[5.0], [6.0], [-1.0]]])
    page.put_tokens(page.places([C, B, A]), hidden, packed([3, 1, 2]), "cpu")
    rows = page.rows()
    assert rows.values.tolist() == [[5.0], [6.0], [4.0], [1.0], [2.0], [3.0]]
    assert rows.starts is not None and rows.starts.tolist() == [0, 2, 3]
    assert list(rows.ids) == [[7, 8], [5], [1, 2, 3]]


def test_tokens_of_an_even_batch() -> None:
    page = Page(WORDS, {A: Tokens([7, 8]), B: Tokens([5, 6])})
    hidden = torch.tensor([[[1.0, 1.5], [2.0, 2.5]], [[3.0, 3.5], [4.0, 4.5]]], dtype=torch.bfloat16)
    page.put_tokens(page.places([B, A]), hidden, packed([2, 2]), "cpu")
    assert values(page) == [[3.0, 3.5], [4.0, 4.5], [1.0, 1.5], [2.0, 2.5]]
    assert page.rows().values.dtype == torch.float32


def test_a_page_without_texts_is_empty() -> None:
    assert Page(MEAN, {}).rows().values.shape == (0, 1)
    rows = Page(WORDS, {}).rows()
    assert rows.values.shape == (0, 1) and rows.starts is not None and rows.starts.tolist() == []


def filled(output: Output) -> Page:
    page = Page(output, TOKENS)
    if output.kind == "tokens":
        page.put_tokens(page.places([A, B, C]), torch.arange(18.0).reshape(3, 3, 2), packed([2, 1, 3]), "cpu")
    else:
        page.put_rows(page.places([A, B, C]), torch.arange(6.0).reshape(3, 2), "cpu")
    return page


# rows of a, b and c as filled() puts them
HELD = {
    WORDS: {A: [[0, 1], [2, 3]], B: [[6, 7]], C: [[12, 13], [14, 15], [16, 17]]},
    MEAN: {A: [[0, 1]], B: [[2, 3]], C: [[4, 5]]},
}


@pytest.mark.parametrize("output", [WORDS, MEAN])
@pytest.mark.parametrize("limit", [0, 10**6])
def test_what_a_later_batch_asks_for_is_kept(output: Output, limit: int) -> None:
    shelf = Shelf(limit)
    first = filled(output)
    first.leave_on(shelf, {A, C})
    assert len(shelf) == 2 and (B, output) not in shelf
    assert shelf.get((A, output)).tolist() == HELD[output][A] and shelf.get((C, output)).tolist() == HELD[output][C]
    # a later batch with its texts in another order
    new = ("new", None)
    later = Page(output, {C: TOKENS[C], new: Tokens([9]), A: TOKENS[A]})
    assert later.take_from(shelf, "cpu") == {A, C}
    assert values(later) == [*HELD[output][C], [0.0, 0.0], *HELD[output][A]]
    later.leave_on(shelf, {C})
    assert (A, output) not in shelf and shelf.get((C, output)).tolist() == HELD[output][C] and len(shelf) == 1
    shelf.close()


@pytest.mark.parametrize("output", [WORDS, MEAN])
def test_all_texts_are_kept_each_by_itself(output: Output) -> None:
    shelf = Shelf()
    filled(output).leave_on(shelf, TOKENS)
    assert {key: shelf.get((key, output)).tolist() for key in TOKENS} == HELD[output]


def test_pages_of_other_outputs_are_apart() -> None:
    shelf = Shelf()
    filled(WORDS).leave_on(shelf, {A})
    assert Page(MEAN, TOKENS).take_from(shelf, "cpu") == set()
    assert Page(Output("tokens", 1), TOKENS).take_from(shelf, "cpu") == set()
    other = filled(MEAN)
    other.leave_on(shelf, set())
    assert (A, WORDS) in shelf and len(shelf) == 1


def test_an_empty_shelf_gives_nothing() -> None:
    page = Page(MEAN, TOKENS)
    assert page.take_from(Shelf(), "cpu") == set() and not page.rows().values.any()
    page.leave_on(shelf := Shelf(), {A})
    assert len(shelf) == 0, "nothing was on the page"


def array(*numbers: float) -> np.ndarray:
    return np.array(numbers, dtype=np.float32)


def test_a_shelf_keeps_what_it_has_and_a_copy() -> None:
    shelf, given = Shelf(), array(1, 2)
    shelf.put("a", given)
    given[0] = 9
    shelf.put("a", array(3))
    assert shelf.get("a").tolist() == [1, 2] and len(shelf) == 1


class Files:
    """Counts the temporary files that are made."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.made: list[Any] = []
        make = tempfile.TemporaryFile

        def watched(*arguments: Any, **options: Any) -> Any:
            self.made.append(make(*arguments, **options))
            return self.made[-1]

        patch.setattr(tempfile, "TemporaryFile", watched)

    def size(self) -> int:
        return int(self.made[0].seek(0, 2))


def test_a_shelf_holds_its_limit_in_memory_and_the_rest_in_one_file(monkeypatch: pytest.MonkeyPatch) -> None:
    files, shelf = Files(monkeypatch), Shelf(limit=16)
    shelf.put("a", array(1, 2))
    shelf.put("b", array(3, 4))
    assert not files.made, "16 bytes are within the limit"
    shelf.put("c", array(5))
    shelf.put("d", np.array([[6, 7], [8, 9]], dtype=np.float32).T)
    assert len(files.made) == 1 and files.size() == 20
    assert len(shelf) == 4 and all(key in shelf for key in "abcd") and "e" not in shelf
    assert [shelf.get(key).tolist() for key in "dcab"] == [[[6, 8], [7, 9]], [5], [1, 2], [3, 4]]
    shelf.put("c", array(10))
    assert shelf.get("c").tolist() == [5] and files.size() == 20, "what is in the file stays as well"
    # reading moves the place in the file; what comes next goes to its end all the same
    shelf.get("c")
    shelf.put("e", array(11, 12))
    assert shelf.get("e").tolist() == [11, 12] and shelf.get("d").tolist() == [[6, 8], [7, 9]]
    shelf.close()
    assert files.made[0].closed and len(shelf) == 0


def test_what_is_let_go_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    files, shelf = Files(monkeypatch), Shelf(limit=8)
    shelf.put("a", array(1, 2))
    shelf.drop(["a", "never there"])
    shelf.put("b", array(3, 4))
    assert not files.made and "a" not in shelf and shelf.get("b").tolist() == [3, 4]
    shelf.put("c", array(5))
    shelf.put("d", array(6))
    shelf.drop(["c"])
    assert files.size() == 8, "something is left in it"
    assert "c" not in shelf and shelf.get("d").tolist() == [6]
    shelf.drop(["d"])
    assert files.size() == 0
    shelf.put("e", array(7))
    assert shelf.get("e").tolist() == [7] and files.size() == 4 and len(files.made) == 1
    shelf.close()


def test_a_closed_shelf_is_empty_and_can_be_filled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    files, shelf = Files(monkeypatch), Shelf(limit=8)
    for key in "ab":
        shelf.put(key, array(1, 2))
    shelf.close()
    assert "a" not in shelf and "b" not in shelf
    shelf.put("a", array(3, 4))
    assert len(files.made) == 1, "there is room in memory again"
    shelf.put("b", array(5))
    assert len(files.made) == 2 and shelf.get("b").tolist() == [5] and shelf.get("a").tolist() == [3, 4]
    shelf.close()
