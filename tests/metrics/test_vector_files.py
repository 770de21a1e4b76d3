"""Files of word vectors: every format against the same numbers, the table kept in the cache, and broken files."""

from __future__ import annotations

import gzip
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from assay.exceptions import InputError
from assay.metrics import load_metric
from assay.metrics.words import open_vectors, source_digest, vectors
from tests.metrics.vector_files import FILES, VALUES, WORDS, binary_of, folder_of, text_of


def write(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    return path


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
    found = table.find_rows([*reversed(WORDS), "unknown", "THE", ""])
    assert found.tolist() == [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, -1, -1, -1]
    rows = table.vectors_at(found[:10])
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
        np.testing.assert_array_equal(table.vectors_at(table.find_rows(words)), values)


def test_a_binary_file_longer_than_what_is_read_at_a_time(tmp_path):
    values = np.random.default_rng(2).normal(size=(1500, 300)).astype(np.float32)
    words = ["é" * (number % 40 + 1) + str(number) for number in range(1500)]
    for end in (b"\n", b""):
        table = open_vectors(write(tmp_path, "long.bin", binary_of(words, values, end)))
        np.testing.assert_array_equal(table.vectors_at(table.find_rows(words)), values)


def test_of_a_word_that_stands_there_twice_the_first_counts(tmp_path):
    path = write(tmp_path, "twice.txt", b"a 1 2\nb 3 4\na 5 6\n")
    folder_of(tmp_path / "folder", ["a", "b", "a"], np.array([[1, 2], [3, 4], [5, 6]], dtype=np.float32))
    for source in (path, tmp_path / "folder"):
        table = open_vectors(source)
        assert table.find_rows(["a", "b", "a"]).tolist() == [0, 1, 0]
        assert len(table) == 3


def test_words_with_spaces(tmp_path):
    table = open_vectors(write(tmp_path, "840b.txt", b"the 1 2\n. . . 3 4\nat name@domain.com 5 6\n"))
    assert table.find_rows([". . .", "at name@domain.com", "."]).tolist() == [1, 2, -1]
    assert table.vectors_at(table.find_rows([". . ."])).tolist() == [[3, 4]]


def test_a_word_that_is_a_number(tmp_path):
    table = open_vectors(write(tmp_path, "numbers.txt", b"7 1 2\n1944 3 4\n"))
    assert (table.dimensions, table.find_rows(["7", "1944"]).tolist()) == (2, [0, 1])


def test_a_word_that_is_not_utf8_keeps_its_row(tmp_path):
    for name, content in {
        "cut.txt": b"a 1 2\nb\xc3 3 4\nc 5 6\n",
        "cut.vec": b"3 2\na 1 2\nb\xc3 3 4\nc 5 6\n",
    }.items():
        table = open_vectors(write(tmp_path, name, content))
        assert len(table) == 3
        assert table.find_rows(["a", "b", "b\udcc3", "b�", "c"]).tolist() == [0, -1, -1, -1, 2]


def test_words_with_the_same_key_are_told_apart(glove, monkeypatch):
    # A key of two bits makes every word collide with others.
    monkeypatch.setattr(vectors, "_hash_word", lambda word: sum(word) % 4)
    table = open_vectors(glove)
    assert table.find_rows([*WORDS, "god", "tac"]).tolist() == [*range(10), -1, -1]


def test_an_unknown_word_has_no_row(glove):
    with pytest.raises(IndexError, match="unknown word"):
        open_vectors(glove).vectors_at(np.array([-1]))


def test_the_second_opening_reads_no_more_than_the_digest(glove, own_cache):
    first = open_vectors(glove)
    made = {path: path.stat().st_mtime_ns for path in own_cache.rglob("*")}
    code = (
        "import sys; from pathlib import Path; from assay.metrics.words import formats, vectors\n"
        "def refuse(*_): raise SystemExit('the source is read again')\n"
        "vectors.read_blocks = refuse\n"
        "print(vectors.open_vectors(Path(sys.argv[1])).find_rows(['dog']))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(glove)], capture_output=True, text=True, timeout=300)
    assert (done.stdout.strip(), done.stderr) == ("[3]", "")
    assert {path: path.stat().st_mtime_ns for path in own_cache.rglob("*")} == made
    assert [path.name for path in (own_cache / "vectors").iterdir()] == [first.digest]


def test_another_content_under_the_same_name_is_another_table(glove):
    before = load_metric(f"static:{glove}")
    signature = before.signature()
    assert signature["vectors"] == source_digest(glove)[:16]
    glove.write_bytes(text_of(["lion", *WORDS[1:]]))
    assert open_vectors(glove).find_rows(["lion", "the"]).tolist() == [0, -1]
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
    running.communicate(timeout=300)
    assert not (own_cache / "vectors" / source_digest(path)).exists()
    table = open_vectors(path)
    assert len(table) == 5000
    assert table.find_rows(["w4999"]).tolist() == [4999]


@pytest.mark.slow
def test_two_processes_at_once_do_no_harm(tmp_path, own_cache):
    words = [f"w{number}" for number in range(4000)]
    path = write(tmp_path, "big.txt", text_of(words, np.full((4000, 3), 0.25, dtype=np.float32)))
    go = tmp_path / "go"
    code = (
        "import sys, time; from pathlib import Path; from assay.metrics.words.vectors import open_vectors\n"
        "while not Path(sys.argv[2]).exists(): time.sleep(0.001)\n"
        "table = open_vectors(Path(sys.argv[1])); print(len(table), table.find_rows(['w3999']),"
        " table.vectors_at(table.find_rows(['w3999'])).sum())"
    )
    start = [sys.executable, "-c", code, str(path), str(go)]
    running = [subprocess.Popen(start, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    time.sleep(0.5)
    go.touch()
    assert [process.communicate(timeout=300) for process in running] == [("4000 [3999] 0.75\n", "")] * 3
    assert [found.name for found in (own_cache / "vectors").iterdir()] == [source_digest(path)]


def test_a_damaged_cache_is_named(glove, own_cache):
    open_vectors(glove)
    vectors._map_into_memory.cache_clear()
    (own_cache / "vectors" / source_digest(glove) / "vectors.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(InputError, match=r"damaged .*; delete this folder"):
        open_vectors(glove)


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
        # a time of writing would be part of the test's name, which has to be the same in all workers
        ("a.gz", gzip.compress(text_of(), mtime=0)[:-9], "{path}: the gzip stream is broken"),
        (
            "a.gz",
            gzip.compress(b"a 1 2\nb 3\n", mtime=0),
            "{path}, line 2: expected a word and 2 numbers, found 2 fields",
        ),
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
            "{path}: fastText's own .bin format is not supported; use the .vec file of the same vectors",
        ),
        ("a.zip", b"PK\x03\x04", "{path}: a zip archive is not supported; unpack it and name the file in it"),
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
