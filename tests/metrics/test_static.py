"""Static word vectors: scores by hand, case and tokens, and real vectors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import assay
from assay.exceptions import InputError
from assay.metrics import Batch, check_metric, load_metric
from assay.metrics.static import split_parts, split_text
from tests.metrics.vector_files import VALUES, WORDS


def score(path, reference, candidate, options=""):
    return load_metric(f"static:{path}{options}").score(Batch([reference], [candidate]))[0]


def cosine(left, right):
    left, right = np.asarray(left, dtype=float), np.asarray(right, dtype=float)
    return left @ right / np.linalg.norm(left) / np.linalg.norm(right)


def row(word):
    return VALUES[WORDS.index(word)].astype(float)


def test_what_is_absent_is_named(tmp_path):
    metric = load_metric(f"static:{tmp_path}/none.txt")
    with pytest.raises(InputError, match=r"none\.txt: there is no such file of word vectors"):
        metric.check_available()
    assert metric.signature()["vectors"] == "absent"
    (tmp_path / "loop.txt").symlink_to("loop.txt")
    with pytest.raises(InputError, match=r"loop\.txt: cannot be read \(.*symbolic links"):
        load_metric(f"static:{tmp_path}/loop.txt").signature()
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=r"needs vectors\.npy and words\.txt; there is no vectors\.npy"):
        load_metric(f"static:{tmp_path}/folder").check_available()
    with pytest.raises(InputError, match="needs a subject: write static:FILE"):
        load_metric("static")


def test_scores_by_hand(glove):
    assert score(glove, "the cat", "dog") == pytest.approx(cosine(row("the") + row("cat"), row("dog")), abs=1e-12)
    # Twice the same word counts twice; an unknown one not at all.
    expected = cosine(2 * row("cat") + row("dog"), row("do"))
    assert score(glove, "cat xyzzy cat dog", "do") == pytest.approx(expected, abs=1e-12)
    largest = np.maximum(row("the"), row("cat"))
    assert score(glove, "the cat the", "dog", ",pooling=max") == pytest.approx(cosine(largest, row("dog")), abs=1e-12)
    assert score(glove, "cat, dog", "dog cat") != score(glove, "cat dog", "dog cat")
    assert score(glove, "don’t", "do n't") == pytest.approx(1, abs=1e-12)
    assert score(glove, "nai\u0308ve", "naïve") == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("case", "word", "stands_for"),
    [
        ("auto", "Cat", "Cat"),
        ("auto", "CAT", "cat"),
        ("auto", "The", "the"),
        ("lower", "Cat", "cat"),
        ("keep", "Cat", "Cat"),
        ("keep", "CAT", None),
    ],
)
def test_case(glove, case, word, stands_for):
    expected = 0.0 if stands_for is None else cosine(row(stands_for), row("dog"))
    assert score(glove, word, "dog", f",case={case}") == pytest.approx(expected, abs=1e-12)


def test_texts_without_a_vector_score_0_and_are_counted(glove):
    metric = load_metric(f"static:{glove}")
    batch = Batch(["xyzzy", "", "xyzzy", "cat", "zero"], ["xyzzy", "", "cat", "dog", "zero"])
    expected = [0, 0, 0, cosine(row("cat"), row("dog")), 0]
    assert metric.score(batch).tolist() == pytest.approx(expected, abs=1e-12)
    # A zero vector is a vector: "zero" is known.
    assert metric.flags(batch).tolist() == [12, 12, 4, 0, 0]


@pytest.mark.parametrize("options", ["", ",pooling=max", ",case=keep"])
def test_the_contract(glove, options):
    assert [finding for finding in check_metric(f"static:{glove}{options}") if not finding.passed] == []


@pytest.mark.slow
@settings(max_examples=50)
@given(texts=st.lists(st.lists(st.sampled_from([*WORDS, "xyzzy"]), max_size=40).map(" ".join), min_size=2, max_size=12))
def test_a_score_is_the_same_to_the_last_bit_alone_swapped_and_in_any_batch(glove, texts):
    for options in ("", ",pooling=max"):
        metric = load_metric(f"static:{glove}{options}")
        batch = Batch(texts[:-1], texts[1:])
        scores = metric.score(batch)
        assert ((scores >= -1) & (scores <= 1)).all()
        assert scores.tolist() == metric.score(batch.swapped()).tolist()
        assert scores.tolist() == [metric.score(batch.take([at]))[0] for at in range(len(batch))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He won’t pay $1,000...", ["He", "won't", "pay", "$", "1,000", "..."]),
        ("the king 's 'quoted' dogs'", ["the", "king", "'s", "'", "quoted", "'", "dogs", "'"]),
        ("U.S. 10:30, 3.14th -- ``x''", ["U.S.", "10:30", ",", "3.14th", "--", "``", "x", "''"]),
        ("well\u2010known New_York हिन्दी", ["well-known", "New_York", "हिन्दी"]),
        ("", []),
    ],
)
def test_tokens(text, expected):
    assert split_text(text) == expected


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("won't", ["wo", "n't"]),
        ("KING'S", ["KING", "'S"]),
        ("o'clock", ["o", "'", "clock"]),
        ("well-known", ["well", "-", "known"]),
        ("U.S.", ["U", ".", "S", "."]),
        ("1,000.5", ["1,000.5"]),
        ("...", [".", ".", "."]),
        ("word", ["word"]),
    ],
)
def test_parts(token, expected):
    assert split_parts(token) == expected


# Real vectors.


@pytest.fixture
def real(real_models):
    return real_models / "glove"


@pytest.mark.slow
def test_real_glove_by_hand(real):
    table, words = np.load(real / "vectors.npy"), (real / "words.txt").read_text(encoding="utf-8").split("\n")

    def mean(*tokens):
        return np.mean([table[words.index(token)] for token in tokens], axis=0, dtype=np.float64)

    expected = cosine(mean("a", "man", "is", "n't", "playing", "."), mean("the", "u.s.", "well-known", "1,000", "..."))
    found = score(real, "A man isn’t playing.", "The U.S. well-known 1,000...")
    assert found == pytest.approx(expected, abs=1e-9)
    near, far = score(real, "a dog barks", "a cat meows"), score(real, "a dog barks", "shares fell sharply")
    assert near > far + 0.1


def test_real_glove_on_sts_benchmark(real, shared_data, monkeypatch):
    from scipy.stats import spearmanr

    from assay.datasets import load_dataset

    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    pairs = load_dataset("stsb:test").to_pandas()
    batch = Batch(list(pairs["reference"]), list(pairs["candidate"]))
    metric = load_metric(f"static:{real}")
    assert spearmanr(metric.score(batch), pairs["label"]).statistic == pytest.approx(0.3909, abs=0.001)
    assert not metric.flags(batch).any()


def test_texts_without_a_known_word_are_counted_in_a_run(tmp_path):
    source = tmp_path / "v.txt"
    source.write_text("one 1 0\ntwo 0 1\n", encoding="utf-8")
    rows = [("one", "two", 1.0), ("zzz", "one", 0.0), ("zzz", "yyy", 0.0), ("one", "", 2.0)]
    result = assay.run([rows], [f"static:{source}"], resamples=0)
    (status,) = result.outcome.metrics
    assert status.flags == {"reference without a token that counts": 2, "candidate without a token that counts": 2}
