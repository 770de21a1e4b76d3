"""Corpora: their lines, weights of tokens as bert-score counts them, baselines from files and from random pairs."""

from __future__ import annotations

import hashlib
import math
import os
from pathlib import Path

import numpy as np
import pytest

from assay.exceptions import InputError
from assay.metrics.neural.bertscore import (
    RANDOM_PAIRS,
    equal_weighting,
    idf_weighting,
    random_pairs,
    read_baseline,
    read_corpus,
    store_corpus,
)
from assay.metrics.neural.views import Preparation

LINES = ["water and fire", "the water", "", "  the cat  ", "The Water the water"]


def write(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    return str(path)


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    return write(tmp_path / "corpus.txt", "\n".join(LINES).encode())


def test_the_lines_of_a_corpus(tmp_path: Path) -> None:
    # a byte order mark and Windows' line ends go; a form feed and U+2028 are not ends of a line
    path = write(tmp_path / "c.txt", "\ufeff a b \r\n\r\n \t \nc\x0cd\u2028e\n".encode())
    assert read_corpus(path) == ["a b", "c\x0cd\u2028e"]


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "cannot be read"), (b"\xff\xfe", "cannot be read"), (b"", "has no text"), (b" \n\n\t\n", "has no text")],
)
def test_what_is_no_corpus(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "c.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_corpus(str(path))


def test_a_home_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    write(tmp_path / "c.txt", b"a\nb")
    write(tmp_path / "b.csv", b"LAYER,P,R,F\n1,0.1,0.2,0.3\n")
    assert read_corpus("~/c.txt") == ["a", "b"] and read_baseline("~/b.csv", 1, "f") == 0.3


def test_references_are_kept_a_line_each(own_cache: Path) -> None:
    path = store_corpus(["a\n b", " c ", "\ud800"])
    assert path.read_bytes() == b"a b\nc\n?"
    assert path.parent == own_cache / "corpora"
    assert path.name == hashlib.sha256(b"a b\nc\n?").hexdigest()[:32] + ".txt"
    os.utime(path, (1, 1))
    assert store_corpus(["a b", "c", "?"]) == path and path.stat().st_mtime == 1, (
        "the same content is not written again"
    )
    assert store_corpus(["a b", "d"]) != path


def numbers(encoder: Path, text: str) -> list[int]:
    """Return the tokens of a text between those that begin and end it."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(encoder)(text)["input_ids"][1:-1]


def special(encoder: Path) -> tuple[int, int]:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(encoder)
    return tokenizer.cls_token_id, tokenizer.sep_token_id


def test_without_a_corpus_every_token_weighs_the_same(encoder: Path) -> None:
    first, last = special(encoder)
    (water,) = numbers(encoder, "water")
    weights = equal_weighting(str(encoder), "plain")([[first, water], [water, last], [0, 1]])
    # the padding token and the unknown one are tokens as others
    assert weights.tolist() == [0, 1, 1, 0, 1, 1] and weights.dtype == np.float64


def test_weights_by_hand(encoder: Path, corpus: str) -> None:
    first, last = special(encoder)
    water, fire, the, cat, absent = (numbers(encoder, word)[0] for word in ("water", "fire", "the", "cat", "yellow"))
    ids = [[first, water, fire, the], [cat, absent, last, water]]
    weights = idf_weighting(str(encoder), "hand", corpus, "1", Preparation(64))(ids)
    # four texts; water in 3 of them, the in 3, fire and cat in 1, yellow in none; a word twice in a text counts once
    many, once, never = math.log(5 / 4), math.log(5 / 2), math.log(5)
    assert weights == pytest.approx([0, many, once, many, once, never, 0, many], abs=1e-12)


def test_numbers_beyond_all_of_the_corpus_are_rare(encoder: Path, corpus: str) -> None:
    weigh = idf_weighting(str(encoder), "beyond", corpus, "1", Preparation(64))
    assert weigh([[10**6, 0]]) == pytest.approx([math.log(5), math.log(5)])


def test_the_corpus_is_made_ready_as_the_texts_are(encoder: Path, corpus: str) -> None:
    (water,), (fire,), (blue,) = (numbers(encoder, word) for word in ("water", "fire", "blue"))
    ids = [[water, fire, blue]]
    # three tokens: the first word alone is left; "water" opens 1 text of 4, "fire" none
    weights = idf_weighting(str(encoder), "ready", corpus, "1", Preparation(3))(ids)
    assert weights == pytest.approx([math.log(5 / 2), math.log(5), math.log(5)])
    # the prefix is in all 4
    weights = idf_weighting(str(encoder), "ready", corpus, "1", Preparation(64, prefix="blue "))(ids)
    assert weights == pytest.approx([math.log(5 / 4), math.log(5 / 2), 0.0])


def test_weights_are_those_of_bert_score(encoder: Path, corpus: str) -> None:
    utils = pytest.importorskip("bert_score.utils")
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(encoder)
    expected = utils.get_idf_dict(read_corpus(corpus), tokenizer, nthreads=0)
    first, last = special(encoder)
    ids = [number for number in range(len(tokenizer)) if number not in (first, last)]
    weights = idf_weighting(str(encoder), "package", corpus, "1", Preparation(64, strip=True))([ids])
    assert weights == pytest.approx([expected[number] for number in ids], abs=1e-12)


BASELINE = "LAYER,P,R,F\n1,0.1,0.2,0.3\n 2 ,-0.4,0.5,0.999\n12,0.7,0.8,0.9\n3,1,x,\n4,nan,1.5\n5,-inf,inf,0\n"


@pytest.mark.parametrize(
    ("layer", "output", "expected"),
    [(1, "precision", 0.1), (1, "recall", 0.2), (1, "f", 0.3), (2, "precision", -0.4), (2, "f", 0.999), (12, "f", 0.9)],
)
@pytest.mark.parametrize("tabs", [False, True])
def test_a_baseline_from_a_file(tmp_path: Path, layer: int, output: str, expected: float, tabs: bool) -> None:
    text = BASELINE.replace(",", "\t") if tabs else BASELINE
    assert read_baseline(write(tmp_path / "b.csv", b"\xef\xbb\xbf" + text.encode()), layer, output) == expected


@pytest.mark.parametrize(
    ("layer", "output", "message"),
    [
        (3, "precision", r"line 5: P is '1'; expected a number below 1"),
        (3, "recall", r"line 5: R is 'x'"),
        (3, "f", r"line 5: F is ''"),
        (4, "precision", r"line 6: P is 'nan'"),
        (4, "recall", r"line 6: R is '1.5'"),
        (4, "f", r"line 6: F is None"),
        (5, "precision", r"line 7: P is '-inf'"),
        (5, "recall", r"line 7: R is 'inf'"),
        (0, "f", r"no row for layer 0"),
    ],
)
def test_baselines_that_are_none(tmp_path: Path, layer: int, output: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_baseline(write(tmp_path / "b.csv", BASELINE.encode()), layer, output)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read"),
        (b"\xff", "cannot be read"),
        (b"", "no row for layer 1"),
        (b"a,b\n1,2\n", "no row for layer 1"),
        (b"LAYER,P\n1,0.5\n", "F is None"),
    ],
)
def test_what_is_no_file_of_baselines(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "b.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_baseline(str(path), 1, "f")


def test_random_pairs_are_of_different_texts_each_as_likely(tmp_path: Path) -> None:
    texts = [f"t{number}" for number in range(5)]
    path = write(tmp_path / "c.txt", "\n".join([*texts, "t0", "t0", "t0"]).encode())
    batch = random_pairs(path)
    pairs = list(batch.pairs())
    assert len(pairs) == RANDOM_PAIRS == 1000
    assert all(left != right for left, right in pairs)
    counts = {pair: pairs.count(pair) for pair in set(pairs)}
    # 20 ordered pairs, 50 of each expected with a deviation of 7; what comes again in the file is one text
    assert len(counts) == 20 and min(counts.values()) > 20 and max(counts.values()) < 80
    again = random_pairs(path)
    assert (again.references, again.candidates) == (batch.references, batch.candidates)


def test_a_baseline_s_pairs_stay_the_same(tmp_path: Path) -> None:
    # drawn by NumPy's generator with seed 0: with other pairs every score that is rescaled by a corpus would move
    batch = random_pairs(write(tmp_path / "c.txt", "\n".join(map(str, range(1000))).encode()))
    first = [("850", "403"), ("636", "718"), ("511", "696"), ("269", "144"), ("307", "750")]
    assert [*list(batch.pairs())[:5], list(batch.pairs())[-1]] == [*first, ("843", "223")]


def test_two_texts_have_pairs_and_one_has_none(tmp_path: Path) -> None:
    path = write(tmp_path / "c.txt", b"a\nb\na\n")
    assert set(random_pairs(path).pairs()) == {("a", "b"), ("b", "a")}
    with pytest.raises(InputError, match="at least two different texts"):
        random_pairs(write(tmp_path / "d.txt", b"a\na\n"))
