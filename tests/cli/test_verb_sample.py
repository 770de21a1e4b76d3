"""``assay sample``: pairs by the overlap of their words, as in appendix A of STR-2022."""

from __future__ import annotations

import csv
import math
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from assay.analysis.overlap_sample import dice, draw_from_bins, inverse_document_frequencies, random_pairs, words_of
from assay.exceptions import InputError
from assay.metrics import load_metric


@pytest.fixture
def sentences(workplace):
    """300 sentences of four to twelve words out of forty, and one that is too long."""
    draw = random.Random(0)
    vocabulary = [f"w{i}" for i in range(40)]
    lines = [" ".join(draw.sample(vocabulary, draw.randint(4, 12))) for _ in range(300)]
    lines.append(" ".join(["long"] * 26))
    Path("sentences.csv").write_text("text\n" + "\n".join(lines) + "\n", encoding="utf-8")


def rows_of(path):
    with Path(path).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_pairs_that_share_words(assay, sentences):
    done = assay("sample", "sentences.csv", "-n", "60", "--out", "pairs.csv")
    assert done.code == 0 and "next: assay tuples pairs.csv --out sheet.csv" in done.err
    short = sum(not 5 <= len(words_of(row["text"])) <= 25 for row in rows_of("sentences.csv"))
    assert f"{short} of 301 sentences are left out: a text has other than 5 to 25 words" in done.err
    rows = rows_of("pairs.csv")
    assert [row["id"] for row in rows] == [f"p{i}" for i in range(1, 61)]
    assert len({frozenset((row["reference"], row["candidate"])) for row in rows}) == 60
    for row in rows:
        first, second = words_of(row["reference"]), words_of(row["candidate"])
        assert all(5 <= len(words) <= 25 for words in (first, second))
        assert 0.25 <= len(set(first) & set(second)) / len(set(first)) < 0.75
        assert abs(len(first) - len(second)) <= 0.25 * len(first)
    scores = load_metric("dice:paper").score([row["reference"] for row in rows], [row["candidate"] for row in rows])
    assert [float(row["overlap"]) for row in rows] == pytest.approx(list(scores))
    assert assay("sample", "sentences.csv", "-n", "60", "--seed", "1", "--out", "other.csv").code == 0
    assert rows_of("other.csv") != rows


def test_sentences_without_words_share_none(assay, workplace):
    Path("sentences.csv").write_text("text\n...\na b c\na b d\na d c\n!!\n", encoding="utf-8")
    done = assay("sample", "sentences.csv", "-n", "3", "--length", "0,25", "--out", "pairs.csv")
    assert done.code == 0, done.err
    texts = {row[column] for row in rows_of("pairs.csv") for column in ("reference", "candidate")}
    assert texts == {"a b c", "a b d", "a d c"}


def test_as_many_pairs_from_each_range_of_overlap(assay, sentences):
    texts = [row["text"] for row in rows_of("sentences.csv")][:300]
    lines = [f"{a},{b},{i}" for i, (a, b) in enumerate(zip(texts, texts[1:] + texts[:1], strict=True))]
    Path("pairs.csv").write_text("reference,candidate,source\n" + "\n".join(lines) + "\n")
    words = ["-n", "45", "--by", "dice", "--bins", "10", "--length", "4,25"]
    done = assay("sample", "pairs.csv", *words, "--out", "sample.csv")
    assert done.code == 0 and "left out" not in done.err
    done = assay("sample", "pairs.csv", *words[:-1], "5,25", "--out", "longer.csv")
    lengths = [len(words_of(text)) for text in texts]
    short = sum(min(a, b) < 5 for a, b in zip(lengths, lengths[1:] + lengths[:1], strict=True))
    assert f"pairs.csv: {short} of 300 pairs are left out: a text has other than 5 to 25 words" in done.err
    rows = rows_of("sample.csv")
    assert sorted(Counter(row["range"] for row in rows).values()) == [4] * 5 + [5] * 5
    assert len({row["source"] for row in rows}) == 45
    by_range = [[float(row["overlap"]) for row in rows if row["range"] == str(k)] for k in range(1, 11)]
    assert all(max(low) <= min(high) for low, high in pairwise(by_range))


def test_more_pairs_from_higher_ranges(assay, sentences):
    words = ["-n", "62", "--by", "idf-dice", "--bins", "5", "--growth", "2", "--candidates", "1000"]
    assert assay("sample", "sentences.csv", *words, "--out", "sample.csv").code == 0
    rows = rows_of("sample.csv")
    # 62 = 2 + 4 + 8 + 16 + 32
    assert [Counter(row["range"] for row in rows)[str(k)] for k in range(1, 6)] == [2, 4, 8, 16, 32]


def test_weighted_dice_by_hand():
    texts = [frozenset(text.split()) for text in ("a b", "a c", "a d", "b c")]
    weights = inverse_document_frequencies(texts)
    assert weights == pytest.approx({"a": math.log(4 / 3), "b": math.log(2), "c": math.log(2), "d": math.log(4)})
    expected = 2 * weights["a"] / (2 * weights["a"] + weights["b"] + weights["c"])
    assert dice(texts[0], texts[1], weights) == pytest.approx(expected)
    assert dice(texts[0], texts[1]) == 0.5
    assert dice(frozenset(), frozenset()) == 0.0


def test_random_pairs_differ():
    rng = np.random.default_rng(0)
    pairs = random_pairs(50, 400, rng)
    assert len({tuple(pair) for pair in pairs.tolist()}) == 400 and (pairs[:, 0] < pairs[:, 1]).all()
    assert len(random_pairs(5, 400, rng)) == 10


def test_a_range_with_too_few_pairs():
    with pytest.raises(InputError, match="range 5 of 5 has 20 pairs, and 32 are to be drawn from it; give `bins`"):
        draw_from_bins(np.arange(100.0), 62, 5, 2.0, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-n", "0"], "-n 0: must be a whole number, at least 1"),
        (["-n", "90000"], "pairs share so many words"),
        (["-n", "5", "--text", "sentence"], "--text: sentences.csv: has no column 'sentence'"),
        (["-n", "5", "--by", "dice"], "has no column 'reference'"),
        (["-n", "5", "--length", "40,50"], "sentences.csv: has 0 sentences of 40 to 50 words"),
        (["-n", "5", "--shared", "1,0"], "'--shared': the first number must be below the second"),
        (["-n", "5", "--longer", "-1"], "--longer -1.0: must not be negative"),
        # settings that this way of sampling does not read
        (["-n", "5", "--by", "dice", "--shared", "0,0.9"], "--shared 0,0.9: goes with --by shared"),
        (["-n", "5", "--by", "dice", "--text", "sentence"], "--text sentence: goes with --by shared"),
        (["-n", "5", "--bins", "3"], "--bins 3: goes with --by dice"),
        (["-n", "5", "--by", "idf-dice", "--longer", "0.5"], "--longer 0.5: goes with --by shared"),
    ],
)
def test_refusals_are_one_line(assay, sentences, words, said):
    assert said in assay("sample", "sentences.csv", *words, "--out", "pairs.csv").complaint
    assert not Path("pairs.csv").exists()
