"""Static word vectors: every format against the same numbers, scores by hand, and what becomes of broken files."""

from __future__ import annotations

import gzip
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import assay
from assay.errors import InputError
from assay.metrics import Batch, check_metric, load_metric
from assay.metrics.static import split_parts, split_text
from assay.metrics.words import open_vectors, source_digest, vectors

WORDS = ["the", "cat", "Cat", "dog", ",", "n't", "do", "naïve", "zero", "東京"]
VALUES = np.array(
    [
        [0.5, -1.25, 3.0],
        [1.0, 2.0, -0.5],
        [-1.0, 0.25, 0.125],
        [0.1, 2.5, 1e-3],
        [-0.3, 0.7, 0.2],
        [4.0, -4.0, 1.5],
        [0.9, 0.8, 0.7],
        [1.1, -2.2, 3.3],
        [0.0, 0.0, 0.0],
        [2.0, 2.0, -2.0],
    ],
    dtype=np.float32,
)


def text_of(words=WORDS, values=VALUES, end="\n"):
    rows = zip(words, values.tolist(), strict=True)
    return "".join(f"{word} {' '.join(map(repr, row))}{end}" for word, row in rows).encode()


def binary_of(words=WORDS, values=VALUES, end=b"\n"):
    rows = (word.encode() + b" " + row.astype("<f4").tobytes() + end for word, row in zip(words, values, strict=True))
    return f"{len(words)} {values.shape[1]}\n".encode() + b"".join(rows)


def folder_of(path, words=WORDS, values=VALUES):
    path.mkdir()
    np.save(path / "vectors.npy", values)
    (path / "words.txt").write_text("".join(f"{word}\n" for word in words), encoding="utf-8")


FILES = {
    "glove.txt": text_of(),
    "glove.txt.gz": gzip.compress(text_of()),
    "windows.txt": text_of(end="\r\n"),
    "last.txt": text_of().rstrip(b"\n"),
    "word2vec.txt": b"10 3\n" + text_of(),
    "fasttext.vec": b"10 3\n" + text_of(end=" \n"),
    "fasttext.vec.gz": gzip.compress(b"10 3\n" + text_of(end=" \n")),
    "word2vec.bin": binary_of(),
    "gensim.bin": binary_of(end=b""),
    "word2vec.bin.gz": gzip.compress(binary_of()),
    "binary-by-content": binary_of(),
}


@pytest.fixture
def glove(tmp_path):
    path = tmp_path / "glove.txt"
    path.write_bytes(text_of())
    return path


def write(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    return path


def score(path, reference, candidate, options=""):
    return load_metric(f"static:{path}{options}").score(Batch([reference], [candidate]))[0]


def cosine(left, right):
    left, right = np.asarray(left, dtype=float), np.asarray(right, dtype=float)
    return left @ right / np.linalg.norm(left) / np.linalg.norm(right)


def row(word):
    return VALUES[WORDS.index(word)].astype(float)


# Formats.


@pytest.mark.parametrize("name", [*FILES, "folder", "float64", "fortran"])
def test_every_format_gives_the_same_vectors(tmp_path, name):
    path = tmp_path / name
    if name in FILES:
        path.write_bytes(FILES[name])
    else:
        values = {"float64": VALUES.astype(np.float64), "fortran": np.asfortranarray(VALUES)}.get(name, VALUES)
        folder_of(path, values=values)
    table = open_vectors(path)
    assert (len(table), table.dimensions, table.digest) == (10, 3, source_digest(path))
    found = table.lookup([*reversed(WORDS), "unknown", "THE", ""])
    assert found.tolist() == [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, -1, -1, -1]
    rows = table.rows(found[:10])
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows, VALUES[::-1])


def test_a_folder_is_used_as_it_is(tmp_path, own_cache):
    folder_of(tmp_path / "folder")
    table = open_vectors(tmp_path / "folder")
    assert Path(table.table.filename) == tmp_path / "folder" / "vectors.npy"
    assert list(own_cache.rglob("vectors.npy")) == []


def test_the_table_is_mapped_not_read(glove):
    assert isinstance(open_vectors(glove).table, np.memmap)


@pytest.mark.parametrize("header", [b"", b"3000 3\n"])
def test_more_rows_than_a_block(tmp_path, header):
    words = [f"w{number}" for number in range(3000)]
    values = np.random.default_rng(1).normal(size=(3000, 3)).astype(np.float32)
    files = {"a.txt": header + text_of(words, values), "b.bin": binary_of(words, values)}
    for name, content in files.items():
        table = open_vectors(write(tmp_path, name, content))
        np.testing.assert_array_equal(table.rows(table.lookup(words)), values)


def test_a_binary_file_longer_than_what_is_read_at_a_time(tmp_path):
    values = np.random.default_rng(2).normal(size=(1500, 300)).astype(np.float32)
    words = ["é" * (number % 40 + 1) + str(number) for number in range(1500)]
    for end in (b"\n", b""):
        table = open_vectors(write(tmp_path, "long.bin", binary_of(words, values, end)))
        np.testing.assert_array_equal(table.rows(table.lookup(words)), values)


def test_of_a_word_that_stands_there_twice_the_first_counts(tmp_path):
    path = write(tmp_path, "twice.txt", b"a 1 2\nb 3 4\na 5 6\n")
    folder_of(tmp_path / "folder", ["a", "b", "a"], np.array([[1, 2], [3, 4], [5, 6]], dtype=np.float32))
    for source in (path, tmp_path / "folder"):
        table = open_vectors(source)
        assert table.lookup(["a", "b", "a"]).tolist() == [0, 1, 0]
        assert len(table) == 3


def test_words_with_spaces(tmp_path):
    table = open_vectors(write(tmp_path, "840b.txt", b"the 1 2\n. . . 3 4\nat name@domain.com 5 6\n"))
    assert table.lookup([". . .", "at name@domain.com", "."]).tolist() == [1, 2, -1]
    assert table.rows(table.lookup([". . ."])).tolist() == [[3, 4]]


def test_a_word_that_is_a_number(tmp_path):
    table = open_vectors(write(tmp_path, "numbers.txt", b"7 1 2\n1944 3 4\n"))
    assert (table.dimensions, table.lookup(["7", "1944"]).tolist()) == (2, [0, 1])


def test_a_word_that_is_not_utf8_keeps_its_row(tmp_path):
    for name, content in {
        "cut.txt": b"a 1 2\nb\xc3 3 4\nc 5 6\n",
        "cut.vec": b"3 2\na 1 2\nb\xc3 3 4\nc 5 6\n",
    }.items():
        table = open_vectors(write(tmp_path, name, content))
        assert len(table) == 3
        assert table.lookup(["a", "b", "b\udcc3", "b�", "c"]).tolist() == [0, -1, -1, -1, 2]


def test_words_with_the_same_key_are_told_apart(glove, monkeypatch):
    # A key of two bits makes every word collide with others.
    monkeypatch.setattr(vectors, "_key", lambda word: sum(word) % 4)
    table = open_vectors(glove)
    assert table.lookup([*WORDS, "god", "tac"]).tolist() == [*range(10), -1, -1]


def test_an_unknown_word_has_no_row(glove):
    with pytest.raises(IndexError, match="unknown word"):
        open_vectors(glove).rows(np.array([-1]))


# The cache.


def test_the_second_opening_reads_no_more_than_the_digest(glove, own_cache):
    first = open_vectors(glove)
    made = {path: path.stat().st_mtime_ns for path in own_cache.rglob("*")}
    code = (
        "import sys; from pathlib import Path; from assay.metrics.words import formats, vectors\n"
        "def refuse(*_): raise SystemExit('the source is read again')\n"
        "vectors.read_blocks = refuse\n"
        "print(vectors.open_vectors(Path(sys.argv[1])).lookup(['dog']))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(glove)], capture_output=True, text=True, timeout=60)
    assert (done.stdout.strip(), done.stderr) == ("[3]", "")
    assert {path: path.stat().st_mtime_ns for path in own_cache.rglob("*")} == made
    assert [path.name for path in (own_cache / "vectors").iterdir()] == [first.digest]


def test_another_content_under_the_same_name_is_another_table(glove):
    before = load_metric(f"static:{glove}")
    signature = before.signature()
    assert signature["vectors"] == source_digest(glove)[:16]
    glove.write_bytes(text_of(["lion", *WORDS[1:]]))
    assert open_vectors(glove).lookup(["lion", "the"]).tolist() == [0, -1]
    assert before.signature()["vectors"] != signature["vectors"]


def test_a_conversion_killed_half_way_leaves_nothing_that_is_taken_for_whole(tmp_path, own_cache):
    code = (
        "import sys; from pathlib import Path; from assay.metrics.words import formats, vectors\n"
        "def slow(path):\n"
        "    for number, block in enumerate(formats.read_blocks(path)):\n"
        "        yield block\n"
        "        if number == 1: print('half', flush=True); sys.stdin.read()\n"
        "vectors.read_blocks = slow\n"
        "vectors.open_vectors(Path(sys.argv[1]))"
    )
    words = [f"w{number}" for number in range(5000)]
    path = write(tmp_path, "big.txt", text_of(words, np.ones((5000, 3), dtype=np.float32)))
    running = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert running.stdout.readline() == "half\n"
    running.send_signal(signal.SIGKILL)
    running.communicate(timeout=30)
    assert not (own_cache / "vectors" / source_digest(path)).exists()
    table = open_vectors(path)
    assert len(table) == 5000
    assert table.lookup(["w4999"]).tolist() == [4999]


def test_two_processes_at_once_do_no_harm(tmp_path, own_cache):
    words = [f"w{number}" for number in range(4000)]
    path = write(tmp_path, "big.txt", text_of(words, np.full((4000, 3), 0.25, dtype=np.float32)))
    go = tmp_path / "go"
    code = (
        "import sys, time; from pathlib import Path; from assay.metrics.words.vectors import open_vectors\n"
        "while not Path(sys.argv[2]).exists(): time.sleep(0.001)\n"
        "table = open_vectors(Path(sys.argv[1])); print(len(table), table.lookup(['w3999']),"
        " table.rows(table.lookup(['w3999'])).sum())"
    )
    start = [sys.executable, "-c", code, str(path), str(go)]
    running = [subprocess.Popen(start, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    time.sleep(0.5)
    go.touch()
    assert [process.communicate(timeout=60) for process in running] == [("4000 [3999] 0.75\n", "")] * 3
    assert [found.name for found in (own_cache / "vectors").iterdir()] == [source_digest(path)]


def test_a_damaged_cache_is_named(glove, own_cache):
    open_vectors(glove)
    vectors._open.cache_clear()
    (own_cache / "vectors" / source_digest(glove) / "vectors.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(InputError, match=r"damaged .*; delete this folder"):
        open_vectors(glove)


# Broken files.

HALF = struct.pack("<3f", 1, 2, 3)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"", "{path}, line 1: expected word vectors, the file is empty"),
        ("a.txt", b"the\ncat 1 2\n", "{path}, line 1: expected 'n d' or a word and its numbers, found 'the'"),
        ("a.txt", b"the 1 x 2\nb 1 2 3\n", "{path}, line 1: expected a number, found 'x'"),
        ("a.txt", b"a 1 2\nb 3\n", "{path}, line 2: expected a word and 2 numbers, found 2 fields"),
        ("a.txt", b"a 1 2\nb 3 4 5\n", "{path}, line 2: expected a word and 2 numbers, found 4 fields"),
        ("a.txt", b"a 1 2\n\nb 3 4\n", "{path}, line 2: expected a word and 2 numbers, found 0 fields"),
        ("a.txt", b"a 1 2\n 3 4\n", "{path}, line 2: expected a word and 2 numbers, found 2 fields"),
        ("a.txt", b"a 1 2\nb 3 four\n", "{path}, line 2: expected a number, found 'four'"),
        ("a.txt", b"a 1 2\nb 3 \xff\n", "{path}, line 2: expected a number, found '�'"),
        ("a.txt", b"a 1 2\nb nan 4\n", "{path}, line 2: expected finite numbers of single precision, number 1 is nan"),
        ("a.txt", b"a 1 2\nb 3 1e39\n", "{path}, line 2: expected finite numbers of single precision, number 2 is inf"),
        (
            "a.vec",
            b"2 2\na 1 2\nb 3 -inf\n",
            "{path}, line 3: expected finite numbers of single precision, number 2 is -inf",
        ),
        ("a.vec", b"3 2\na 1 2\nb 3 4\n", "{path}, line 4: expected 3 words as line 1 says, found the end of the file"),
        ("a.vec", b"1 2\na 1 2\nb 3 4\n", "{path}, line 3: expected the end after the 1 words of line 1"),
        ("a.vec", b"2 2\na 1 2\nb 3\n", "{path}, line 3: expected a word and 2 numbers, found 2 fields"),
        ("a.gz", gzip.compress(text_of())[:-9], "{path}: the gzip stream is broken"),
        ("a.gz", gzip.compress(b"a 1 2\nb 3\n"), "{path}, line 2: expected a word and 2 numbers, found 2 fields"),
        (
            "a.bin",
            b"2 3\na " + HALF + b"\nb " + HALF[:5],
            "{path}, word 2 of 2: expected a word and 12 bytes, cut short",
        ),
        ("a.bin", b"2 3\na " + HALF, "{path}, word 2 of 2: expected a word and 12 bytes, cut short"),
        ("a.bin", b"1 3\na " + HALF + b"\nb " + HALF, "{path}, word 2: expected the end after the 1 words of line 1"),
        ("a.bin", b"1 3\n " + HALF, "{path}, word 1 of 1: expected a word, found an empty one"),
        (
            "a.bin",
            b"1 1\na " + struct.pack("<f", np.nan),
            "{path}, word 1: expected finite numbers of single precision, number 1 is nan",
        ),
        (
            "a.bin",
            struct.pack("<ii", 793712314, 12) + bytes(100),
            "{path}: fastText's own .bin format is not read; use the .vec file of the same vectors",
        ),
        ("a.zip", b"PK\x03\x04", "{path}: a zip archive is not read; unpack it and name the file of vectors in it"),
        ("a.npy", b"\x93NUMPY", "{path}: a table without words; name the folder that has vectors.npy and words.txt"),
    ],
)
def test_a_broken_file_is_named_with_its_line(tmp_path, own_cache, name, content, message):
    path = write(tmp_path, name, content)
    with pytest.raises(InputError) as caught:
        open_vectors(path)
    assert str(caught.value).startswith(message.format(path=path))
    assert "\n" not in str(caught.value)
    assert [found for found in own_cache.rglob("*") if found.is_file()] == []


def test_a_broken_line_far_down_has_its_number(tmp_path):
    good = [b"w%d 1 2" % number for number in range(5000)]
    for header in (0, 1):
        lines = [b"5001 2"] * header + good + [b"bad 1 inf"]
        with pytest.raises(InputError, match=rf"line {5001 + header}: expected finite"):
            open_vectors(write(tmp_path, "far.txt", b"\n".join(lines)))


@pytest.mark.parametrize(
    ("words", "values", "message"),
    [
        ("a\n", np.ones((2, 3)), "words.txt, line 2: expected 2 words as vectors.npy has rows, found 1"),
        ("a\n\nb\n", np.ones((3, 3)), "words.txt, line 2: expected a word, the line is blank"),
        ("a\nb\n", np.ones((2, 3), dtype=int), "vectors.npy: expected rows of floating-point numbers, found int64"),
        ("a\nb\n", np.ones(2), "vectors.npy: expected rows of floating-point numbers, found float64 of shape (2,)"),
        ("a\nb\n", np.array([[1, 2], [np.inf, 1]]), "vectors.npy, row 2: expected finite numbers"),
        ("a\n", np.array([[{}]]), "vectors.npy: expected a NumPy table"),
        ("", np.ones((1, 3)), "words.txt, line 1: expected 1 words"),
    ],
)
def test_a_broken_folder(tmp_path, words, values, message):
    folder = tmp_path / "folder"
    folder.mkdir()
    np.save(folder / "vectors.npy", values)
    (folder / "words.txt").write_text(words)
    with pytest.raises(InputError) as caught:
        open_vectors(folder)
    assert str(caught.value).startswith(f"{folder}/{message}")


def test_what_is_absent_is_named(tmp_path):
    metric = load_metric(f"static:{tmp_path}/none.txt")
    with pytest.raises(InputError, match=r"none\.txt: there is no such file of word vectors"):
        metric.check_available()
    assert metric.signature()["vectors"] == "absent"
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=r"needs vectors\.npy and words\.txt; there is no vectors\.npy"):
        load_metric(f"static:{tmp_path}/folder").check_available()
    with pytest.raises(InputError, match="needs a subject: write static:FILE"):
        load_metric("static")


# The score.


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


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)
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
def real():
    chosen = os.environ.get("ASSAY_TEST_MODELS")
    folder = Path(chosen or ".") / "glove"
    if not chosen or not folder.is_dir():
        pytest.skip("real GloVe vectors are absent ($ASSAY_TEST_MODELS/glove)")
    return folder


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
