"""Texts of many thousand words: the same values in little memory, or a cut that is reported."""

from __future__ import annotations

import random

import numpy as np
import pytest
from rouge_score.rouge_scorer import RougeScorer

import assay
from assay.metrics import Batch, load_metric
from assay.metrics.edit import MAX_CHARACTERS
from assay.metrics.scores import Flag


def test_rouge_l_is_that_of_rouge_score_to_the_last_digit():
    dice = random.Random(1)
    words = [f"w{i}" for i in range(12)]
    texts = [" ".join(dice.choices(words, k=dice.randrange(40))) for _ in range(400)]
    pairs = list(zip(texts[:200], texts[200:], strict=True))
    package = RougeScorer(["rougeL"])
    expected = [package.score(left, right)["rougeL"].fmeasure for left, right in pairs]
    found = load_metric("rouge-l,tokenizer=rouge").score(Batch(*map(list, zip(*pairs, strict=True))))
    assert found.tolist() == expected


@pytest.mark.slow
def test_rouge_l_of_ten_thousand_words():
    dice = random.Random(2)
    left, right = ([f"w{dice.randrange(3000)}" for _ in range(10_000)] for _ in range(2))
    (same,) = load_metric("rouge-l").score([" ".join(left)], [" ".join(left[:5000])])
    assert same == pytest.approx(2 / 3)
    (value,) = load_metric("rouge-l").score([" ".join(left)], [" ".join(right)])
    assert 0 < value < 0.1


@pytest.mark.parametrize("name", ["levenshtein", "jaro-winkler"])
def test_characters_beyond_a_limit_are_not_compared_and_the_run_says_so(name):
    long = "ab" * (MAX_CHARACTERS // 2)
    batch = Batch([long + "x" * 9, "a"], [long + "y" * 5, "a"])
    metric = load_metric(name)
    assert metric.score(batch).tolist() == [1, 1]
    assert np.array_equal(metric.flags(batch), [Flag.REFERENCE_CUT | Flag.CANDIDATE_CUT, 0])
    rows = [{"reference": r, "candidate": c, "label": i} for i, (r, c) in enumerate(batch.pairs())]
    record = assay.run(rows, [name], resamples=0).outcome.metrics[0]
    assert "truncated" in record.model_dump_json()


@pytest.mark.parametrize(("text", "is_cut"), [("A\u0308", False), ("\u0958", True), ("ab", False)])
def test_a_text_is_cut_if_it_is_too_long_once_it_is_normalised(text, is_cut):
    """A decomposed Ä is one character then, U+0958 two."""
    long = text * ((MAX_CHARACTERS + 20) // 2)
    if text == "ab":
        long = long[:MAX_CHARACTERS]
    flags = load_metric("levenshtein").flags(Batch([long], ["a"]))
    assert flags.tolist() == [Flag.REFERENCE_CUT if is_cut else 0]
