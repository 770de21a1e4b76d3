"""Embeddings of a batch lie in the order of its texts, and what the cache keeps comes back as it was."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
import pytest
import torch

from assay.metrics.neural.embeddings import BatchEmbeddings, EmbeddingCache, Key
from assay.metrics.neural.tokens import Packed, Tokens
from assay.metrics.neural.views import Output

A, B, C = ("a", None), ("b", None), ("b", 3)
TOKENS: dict[Key, Tokens] = {A: Tokens([7, 8]), B: Tokens([5]), C: Tokens([1, 2, 3])}
WORDS, MEAN = Output("tokens", 2), Output("mean", 2)


def packed(sizes: list[int]) -> Packed:
    """Return a batch of the model with nothing but the sizes, all that is read of it."""
    nothing = torch.zeros(0)
    unpadded = len(set(sizes)) == 1
    return Packed(np.arange(len(sizes)), np.array(sizes, dtype=np.intp), nothing, nothing, None, unpadded=unpadded)


def values(batch: BatchEmbeddings) -> list[list[float]]:
    return batch.embeddings().values.tolist()


def test_vectors_lie_in_the_order_of_the_texts() -> None:
    batch = BatchEmbeddings(MEAN, TOKENS)
    indices = batch.indices([C, A])
    assert indices.tolist() == [2, 0] and batch.indices([A, A, B]).tolist() == [0, 0, 1]
    batch.put_vectors(indices, torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64), "cpu")
    batch.put_vectors(batch.indices([B]), torch.tensor([[5.0, 6.0]]), "cpu")
    embeddings = batch.embeddings()
    assert embeddings.values.tolist() == [[3.0, 4.0], [5.0, 6.0], [1.0, 2.0]]
    assert embeddings.values.dtype == torch.float32 and embeddings.starts is None and embeddings.ids == ()


def test_tokens_lie_text_by_text_and_padding_stays_behind() -> None:
    batch = BatchEmbeddings(WORDS, TOKENS)
    hidden = torch.tensor([[[1.0], [2.0], [3.0]], [[4.0], [-1.0], [-1.0]], [[5.0], [6.0], [-1.0]]])
    batch.put_tokens(batch.indices([C, B, A]), hidden, packed([3, 1, 2]), "cpu")
    embeddings = batch.embeddings()
    assert embeddings.values.tolist() == [[5.0], [6.0], [4.0], [1.0], [2.0], [3.0]]
    assert embeddings.starts is not None and embeddings.starts.tolist() == [0, 2, 3]
    assert list(embeddings.ids) == [[7, 8], [5], [1, 2, 3]]


def test_tokens_of_an_even_batch() -> None:
    batch = BatchEmbeddings(WORDS, {A: Tokens([7, 8]), B: Tokens([5, 6])})
    hidden = torch.tensor([[[1.0, 1.5], [2.0, 2.5]], [[3.0, 3.5], [4.0, 4.5]]], dtype=torch.bfloat16)
    batch.put_tokens(batch.indices([B, A]), hidden, packed([2, 2]), "cpu")
    assert values(batch) == [[3.0, 3.5], [4.0, 4.5], [1.0, 1.5], [2.0, 2.5]]
    assert batch.embeddings().values.dtype == torch.float32


def test_a_batch_without_texts_is_empty() -> None:
    assert BatchEmbeddings(MEAN, {}).embeddings().values.shape == (0, 1)
    embeddings = BatchEmbeddings(WORDS, {}).embeddings()
    assert embeddings.values.shape == (0, 1) and embeddings.starts is not None and embeddings.starts.tolist() == []


def filled(output: Output) -> BatchEmbeddings:
    batch = BatchEmbeddings(output, TOKENS)
    if output.kind == "tokens":
        batch.put_tokens(batch.indices([A, B, C]), torch.arange(18.0).reshape(3, 3, 2), packed([2, 1, 3]), "cpu")
    else:
        batch.put_vectors(batch.indices([A, B, C]), torch.arange(6.0).reshape(3, 2), "cpu")
    return batch


# rows of a, b and c as filled() puts them
ROWS = {
    WORDS: {A: [[0, 1], [2, 3]], B: [[6, 7]], C: [[12, 13], [14, 15], [16, 17]]},
    MEAN: {A: [[0, 1]], B: [[2, 3]], C: [[4, 5]]},
}


@pytest.mark.parametrize("output", [WORDS, MEAN])
@pytest.mark.parametrize("limit", [0, 10**6])
def test_what_a_later_batch_asks_for_is_kept(output: Output, limit: int) -> None:
    cache = EmbeddingCache(limit)
    first = filled(output)
    first.save_to(cache, {A, C})
    assert len(cache) == 2 and (B, output) not in cache
    assert cache.get((A, output)).tolist() == ROWS[output][A] and cache.get((C, output)).tolist() == ROWS[output][C]
    # a later batch with its texts in another order
    new = ("new", None)
    later = BatchEmbeddings(output, {C: TOKENS[C], new: Tokens([9]), A: TOKENS[A]})
    assert later.load_from(cache, "cpu") == {A, C}
    assert values(later) == [*ROWS[output][C], [0.0, 0.0], *ROWS[output][A]]
    later.save_to(cache, {C})
    assert (A, output) not in cache and cache.get((C, output)).tolist() == ROWS[output][C] and len(cache) == 1
    cache.close()


@pytest.mark.parametrize("output", [WORDS, MEAN])
def test_all_texts_are_kept_each_by_itself(output: Output) -> None:
    cache = EmbeddingCache()
    filled(output).save_to(cache, TOKENS)
    assert {key: cache.get((key, output)).tolist() for key in TOKENS} == ROWS[output]


def test_embeddings_of_other_outputs_are_apart() -> None:
    cache = EmbeddingCache()
    filled(WORDS).save_to(cache, {A})
    assert BatchEmbeddings(MEAN, TOKENS).load_from(cache, "cpu") == set()
    assert BatchEmbeddings(Output("tokens", 1), TOKENS).load_from(cache, "cpu") == set()
    other = filled(MEAN)
    other.save_to(cache, set())
    assert (A, WORDS) in cache and len(cache) == 1


def test_an_empty_cache_gives_nothing() -> None:
    batch = BatchEmbeddings(MEAN, TOKENS)
    assert batch.load_from(EmbeddingCache(), "cpu") == set() and not batch.embeddings().values.any()
    batch.save_to(cache := EmbeddingCache(), {A})
    assert len(cache) == 0, "nothing was stored"


def array(*numbers: float) -> np.ndarray:
    return np.array(numbers, dtype=np.float32)


def test_a_cache_keeps_what_it_has_and_a_copy() -> None:
    cache, original = EmbeddingCache(), array(1, 2)
    cache.put("a", original)
    original[0] = 9
    cache.put("a", array(3))
    assert cache.get("a").tolist() == [1, 2] and len(cache) == 1


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


def test_a_cache_keeps_its_limit_in_memory_and_the_rest_in_one_file(monkeypatch: pytest.MonkeyPatch) -> None:
    files, cache = Files(monkeypatch), EmbeddingCache(max_bytes=16)
    cache.put("a", array(1, 2))
    cache.put("b", array(3, 4))
    assert not files.made, "16 bytes are within the limit"
    cache.put("c", array(5))
    cache.put("d", np.array([[6, 7], [8, 9]], dtype=np.float32).T)
    assert len(files.made) == 1 and files.size() == 20
    assert len(cache) == 4 and all(key in cache for key in "abcd") and "e" not in cache
    assert [cache.get(key).tolist() for key in "dcab"] == [[[6, 8], [7, 9]], [5], [1, 2], [3, 4]]
    cache.put("c", array(10))
    assert cache.get("c").tolist() == [5] and files.size() == 20, "what is in the file stays as well"
    # reading moves the position in the file; what comes next goes to its end all the same
    cache.get("c")
    cache.put("e", array(11, 12))
    assert cache.get("e").tolist() == [11, 12] and cache.get("d").tolist() == [[6, 8], [7, 9]]
    cache.close()
    assert files.made[0].closed and len(cache) == 0


def test_what_is_dropped_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    files, cache = Files(monkeypatch), EmbeddingCache(max_bytes=8)
    cache.put("a", array(1, 2))
    cache.drop(["a", "never there"])
    cache.put("b", array(3, 4))
    assert not files.made and "a" not in cache and cache.get("b").tolist() == [3, 4]
    cache.put("c", array(5))
    cache.put("d", array(6))
    cache.drop(["c"])
    assert files.size() == 8, "something is left in it"
    assert "c" not in cache and cache.get("d").tolist() == [6]
    cache.drop(["d"])
    assert files.size() == 0
    cache.put("e", array(7))
    assert cache.get("e").tolist() == [7] and files.size() == 4 and len(files.made) == 1
    cache.close()


def test_a_closed_cache_is_empty_and_can_be_filled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    files, cache = Files(monkeypatch), EmbeddingCache(max_bytes=8)
    for key in "ab":
        cache.put(key, array(1, 2))
    cache.close()
    assert "a" not in cache and "b" not in cache
    cache.put("a", array(3, 4))
    assert len(files.made) == 1, "there is room in memory again"
    cache.put("b", array(5))
    assert len(files.made) == 2 and cache.get("b").tolist() == [5] and cache.get("a").tolist() == [3, 4]
    cache.close()
