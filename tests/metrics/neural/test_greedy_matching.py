"""Greedy matching: precision and recall against loops over tokens and against bert-score's own function."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from assay.metrics.neural import bertscore as matching
from assay.metrics.neural.bertscore import harmonic_mean, match_tokens
from assay.metrics.neural.embeddings import TextEmbeddings

TokenWeighting = Callable[[list[list[int]]], np.ndarray]


def ones(texts: list[list[int]]) -> np.ndarray:
    return np.ones(sum(map(len, texts)))


def by_number(texts: list[list[int]]) -> np.ndarray:
    """Tokens 0 and 1 weigh nothing, as special tokens do; the others their number."""
    ids = np.array([number for text in texts for number in text])
    return np.where(ids < 2, 0.0, ids).astype(np.float64)


def text_rows(texts: list[list[int]], vectors: np.ndarray) -> TextEmbeddings:
    """Return rows where the text's tokens lie one after the other."""
    sizes = np.array([len(text) for text in texts], dtype=np.intp)
    return TextEmbeddings(torch.from_numpy(vectors.astype(np.float32)), np.cumsum(sizes) - sizes, texts)


def by_loop(
    texts: list[list[int]], vectors: np.ndarray, left: list[int], right: list[int], weigh: TokenWeighting
) -> tuple[list[float], list[float]]:
    """Return precision and recall, pair by pair and token by token."""
    vectors = vectors.astype(np.float32).astype(np.float64)
    starts = [sum(len(text) for text in texts[:place]) for place in range(len(texts))]

    def best(of: int, other: int) -> float:
        weights = weigh([texts[of]])
        total = 0.0
        for i, weight in enumerate(weights):
            a = vectors[starts[of] + i]
            found = [
                float(a @ b) / math.sqrt(float(a @ a) * float(b @ b))
                for b in vectors[starts[other] : starts[other] + len(texts[other])]
            ]
            total += weight * max(found)
        return total / weights.sum()

    return (
        [best(candidate, reference) for reference, candidate in zip(left, right, strict=True)],
        [best(reference, candidate) for reference, candidate in zip(left, right, strict=True)],
    )


def random_texts(n: int, longest: int, seed: int = 0) -> tuple[list[list[int]], np.ndarray]:
    generator = np.random.default_rng(seed)
    texts = [[0, *generator.integers(2, 30, generator.integers(1, longest)).tolist(), 1] for _ in range(n)]
    return texts, generator.normal(size=(sum(map(len, texts)), 6))


def test_precision_is_of_the_candidate_and_recall_of_the_reference() -> None:
    # reference: (1, 0); candidate: (3, 4)/5 and (0, 2). Similarities 0.6 and 0.
    rows = text_rows([[5], [6, 7]], np.array([[1.0, 0.0], [3.0, 4.0], [0.0, 2.0]]))
    precision, recall = match_tokens(rows, np.array([0]), np.array([1]), ones)
    assert precision == pytest.approx([0.3], abs=1e-6) and recall == pytest.approx([0.6], abs=1e-6)
    # weights 6 and 7: (6 * 0.6 + 7 * 0) / 13
    precision, recall = match_tokens(rows, np.array([0]), np.array([1]), by_number)
    assert precision == pytest.approx([3.6 / 13], abs=1e-6) and recall == pytest.approx([0.6], abs=1e-6)


def test_tokens_without_weight_are_matched_and_do_not_count() -> None:
    # token 0 weighs nothing; the best partner of 4 is the other text's token 0
    rows = text_rows([[0, 4], [0, 5]], np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.1], [-1.0, 0.0]]))
    precision, recall = match_tokens(rows, np.array([0]), np.array([1]), by_number)
    assert recall == pytest.approx([1 / math.sqrt(1.01)], abs=1e-6)
    # token 5 = (-1, 0): -1 to token 4, 0 to token 0
    assert precision == pytest.approx([0.0], abs=1e-6)


def test_padding_never_wins_against_a_negative_similarity() -> None:
    texts = [[3], [4], [5, 6, 7], [8, 9]]
    vectors = np.array([[1.0, 0], [-1, 0], [1, 1], [-1, 1], [0, 1], [1, 0], [0.6, 0.8]])
    rows = text_rows(texts, vectors)
    # the pair 0-1 is padded by its neighbours
    left, right = [0, 2, 0, 1], [1, 3, 2, 2]
    precision, recall = match_tokens(rows, np.array(left), np.array(right), ones)
    expected = by_loop(texts, vectors, left, right, ones)
    assert precision[0] == pytest.approx(-1, abs=1e-6) and recall[0] == pytest.approx(-1, abs=1e-6)
    assert precision == pytest.approx(expected[0], abs=1e-6) and recall == pytest.approx(expected[1], abs=1e-6)


@pytest.mark.parametrize("cells", [None, 1, 2000])
@pytest.mark.parametrize("weigh", [ones, by_number])
def test_many_pairs_are_the_loop(monkeypatch: pytest.MonkeyPatch, cells: int | None, weigh: TokenWeighting) -> None:
    """One batch, one pair a batch, and something between them: the same numbers."""
    if cells:
        monkeypatch.setattr(matching, "CPU_CELLS", cells)
    texts, vectors = random_texts(40, 25)
    generator = np.random.default_rng(1)
    left, right = generator.integers(40, size=120), generator.integers(40, size=120)
    precision, recall = match_tokens(text_rows(texts, vectors), left, right, weigh)
    expected = by_loop(texts, vectors, left.tolist(), right.tolist(), weigh)
    assert precision == pytest.approx(expected[0], abs=2e-6) and recall == pytest.approx(expected[1], abs=2e-6)
    assert precision.dtype == recall.dtype == np.float64


def test_it_is_bert_score_s_greedy_matching() -> None:
    utils = pytest.importorskip("bert_score.utils")
    texts, vectors = random_texts(12, 15, seed=3)
    rows = text_rows(texts, vectors)
    assert rows.starts is not None
    for left, right in [(0, 1), (2, 3), (4, 5), (6, 6), (7, 8), (9, 10)]:
        sides = []
        for text in (left, right):
            start, size = int(rows.starts[text]), len(texts[text])
            idf = torch.from_numpy(by_number([texts[text]])).float()[None]
            sides += [rows.values[start : start + size][None].clone(), torch.ones(1, size), idf]
        expected = utils.greedy_cos_idf(*sides)
        precision, recall = match_tokens(rows, np.array([left]), np.array([right]), by_number)
        assert precision == pytest.approx([expected[0].item()], abs=2e-6)
        assert recall == pytest.approx([expected[1].item()], abs=2e-6)
        assert harmonic_mean(precision, recall) == pytest.approx([expected[2].item()], abs=2e-6)


def test_a_text_without_weight_has_neither() -> None:
    rows = text_rows([[0, 1], [1, 0]], np.array([[1.0, 0], [0, 1], [1, 1], [1, 2]]))
    precision, recall = match_tokens(rows, np.array([0]), np.array([1]), by_number)
    assert precision.tolist() == recall.tolist() == [0.0]


def test_no_pairs() -> None:
    rows = text_rows([[3]], np.array([[1.0, 0.0]]))
    precision, recall = match_tokens(rows, np.array([], dtype=np.intp), np.array([], dtype=np.intp), ones)
    assert len(precision) == len(recall) == 0


def batches(monkeypatch: pytest.MonkeyPatch, most: int = 10**6) -> list[tuple[int, int]]:
    """Return a list that receives pairs and longest text of every batch; more than *most* pairs do not fit."""
    matched, seen = matching._precision_and_recall, []

    def watched(references: tuple[torch.Tensor, ...], candidates: tuple[torch.Tensor, ...]) -> object:
        seen.append((len(references[0]), max(references[0].shape[1], candidates[0].shape[1])))
        if len(references[0]) > most:
            raise torch.OutOfMemoryError
        return matched(references, candidates)

    monkeypatch.setattr(matching, "_precision_and_recall", watched)
    return seen


def of_lengths(lengths: list[int]) -> TextEmbeddings:
    texts = [[2] * length for length in lengths]
    return text_rows(texts, np.tile([[1.0, 2.0, 3.0]], (sum(lengths), 1)))


def test_a_batch_ends_before_pairs_that_are_much_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = batches(monkeypatch)
    # from 4 tokens on, up to 4 * 1.25 + 2 = 7 go together; from 8, up to 12; the longer text of a pair decides
    rows = of_lengths([8, 4, 12, 7, 13, 1])
    match_tokens(rows, np.array([0, 1, 2, 3, 4, 5, 1]), np.array([5, 5, 5, 5, 5, 4, 1]), ones)
    assert seen == [(3, 7), (2, 12), (2, 13)]


def test_a_batch_has_as_many_pairs_as_cells_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    # a pair of 5 tokens in 3 dimensions takes (3 + 5) * 5 = 40 cells
    rows = of_lengths([5])
    for cells, expected in ((120, [3, 3, 1]), (119, [2, 2, 2, 1]), (39, [1] * 7)):
        with monkeypatch.context() as patch:
            seen = batches(patch)
            patch.setattr(matching, "CPU_CELLS", cells)
            match_tokens(rows, np.zeros(7, dtype=np.intp), np.zeros(7, dtype=np.intp), ones)
        assert [pairs for pairs, _ in seen] == expected


def test_what_does_not_fit_is_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = batches(monkeypatch, most=3)
    rows = of_lengths([5])
    precision, recall = match_tokens(rows, np.zeros(12, dtype=np.intp), np.zeros(12, dtype=np.intp), ones)
    assert [pairs for pairs, _ in seen] == [12, 6, 3, 3, 3, 3]
    assert precision == pytest.approx(np.ones(12), abs=1e-6) and recall == pytest.approx(np.ones(12), abs=1e-6)


def test_one_pair_too_large_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = batches(monkeypatch, most=0)
    with pytest.raises(torch.OutOfMemoryError):
        match_tokens(of_lengths([5]), np.array([0, 0]), np.array([0, 0]), ones)
    assert [pairs for pairs, _ in seen] == [2, 1]


def test_the_harmonic_mean() -> None:
    precision = np.array([0.5, 1.0, 0.0, -0.2, 0.3, 4e-7, 6e-7, -0.5])
    recall = np.array([0.25, 1.0, 0.0, -0.3, -0.1, 4e-7, 6e-7, 0.5])
    # 2 * 0.5 * 0.25 / 0.75 = 1/3; 2 * 0.06 / -0.5 = -0.24; 2 * -0.03 / 0.2 = -0.3; a sum of 8e-7 is nearly nothing
    expected = [1 / 3, 1.0, 0.0, -0.24, -0.3, 0.0, 6e-7, 0.0]
    assert harmonic_mean(precision, recall).tolist() == pytest.approx(expected, rel=1e-12)
