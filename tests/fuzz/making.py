"""Hostile input: texts, numbers, tables and files made from a random source, and valid files that are damaged.

Everything is drawn from one ``random.Random``, so that a seed, or Hypothesis, can make it again.
"""

from __future__ import annotations

import copy
import io
import json
import struct
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

#: What has broken readers: of encodings, of numbers, of line ends, of markup, of shells and of file systems.
TEXTS = (
    *("", " ", "\t", "\n", "\r", "\r\n", "\0", "\x1b[31m", "\x85", "\u2028", "\ufeff", "\u200b", "\u00ad", "\x7f"),
    *(
        "́̂̃" * 5,
        "́" * 300,
        "שלום",
        "مرحبا",
        "\u202eabc\u202c",
        "👩🏽‍🔬",
        "🏳️‍🌈",
        "🇩🇪",
        "你好",
        "ß",
        "İ",
        "ǅ",
        "ﬁ",
        "²",
        "Ⅷ",
        "٣",
    ),
    *(
        "nan",
        "inf",
        "-inf",
        "1e999",
        "1_0",
        "0x10",
        "-0",
        "+1",
        "١",
        "1,5",
        "1e-400",
        str(2**53 + 1),
        str(2**64),
        "9" * 400,
    ),
    *("9" * 5000, "null", "None", "true", "NaN", "Infinity", "[]", "{}", "[" * 3000, "{" * 3000, "(" * 3000),
    *("'", '"', '""', "\\", '"\\', "`", "$(x)", "%s", "{0}", "{x!r}", "[b]", "[/b]", "<script>", "-->", "&amp;"),
    *(
        "=1+1",
        "@x",
        ",",
        ";",
        ":",
        "|",
        "+",
        "-",
        "=",
        "!=",
        "<=",
        ">",
        "..",
        "/",
        "~",
        "~nosuchuser/x",
        "a/b",
        "*",
        "?",
    ),
    *("#", "::id", "::snt x", "(a / b)", ":ARG0", ":ARG0-of", "all", "none", "auto", "label", "f1", "x" * 3000),
)
LONE = ("\ud800", "a\udfff", "\udcff.csv")
NUMBERS: tuple[Any, ...] = (0, -1, 1, 2**31, 2**53 + 1, 2**63, 2**64, 10**400, -(10**400), 0.5, 1e308, -0.0, 5e-324)
UNFIT: tuple[Any, ...] = (*NUMBERS, float("nan"), float("inf"), None, True, False, "", "x", [], {}, [[]], {"a": None})


def text(random: Random, *, lone: bool = False) -> str:
    """Return a few hostile texts and plain words, joined; without half surrogates unless they are asked for."""
    choices = (*TEXTS, *LONE) if lone else TEXTS
    parts = [
        random.choice(choices) if random.random() < 0.5 else random.choice(WORDS) for _ in range(random.randint(0, 4))
    ]
    return random.choice(("", " ", "\n", ",")).join(parts)


WORDS = ("a", "the", "Paris", "in 1990", "cats", "not", "42", "it's", "U.S.", "e-mail", "Zürich", "no", "yes", "x y")


def mutated(random: Random, valid: Sequence[bytes], words: Sequence[bytes] = ()) -> bytes:
    """Return one of some valid contents with up to five changes, in one case of twenty none.

    Args:
        random: the source.
        valid: contents that a reader takes.
        words: what stands in such files beside the texts that every reader is given.
    """
    content = bytearray(random.choice(valid))
    for _ in range(0 if random.random() < 0.05 else random.randint(1, 5)):
        start = random.randint(0, len(content))
        end = min(len(content), start + random.choice((0, 1, 1, 2, 8, 50)))
        change = random.randint(0, 7)
        if change == 0:
            content[start:end] = bytes(random.randint(0, 255) for _ in range(random.randint(0, 4)))
        elif change == 1:
            del content[start:end]
        elif change == 2:
            content[start:start] = content[start:end] * random.choice((1, 2, 100))
        elif change == 3:
            del content[start:]
        elif change == 4:
            other = random.choice(valid)
            at = random.randint(0, len(other))
            content[start:end] = other[at : at + random.choice((1, 10, 100))]
        elif change == 5 and words:
            content[start:end] = random.choice(words)
        else:
            content[start:end] = random.choice(TEXTS).encode()
    return bytes(content)


def changed(random: Random, value: Any) -> Any:
    """Return JSON values with one to three of them, at any depth, replaced by what does not fit, removed or added."""
    value = json.loads(json.dumps(value))
    for _ in range(random.randint(1, 3)):
        places = list(_places(value))
        if not places:
            return value
        holder, key = random.choice(places)
        change = random.random()
        if change < 0.15:
            del holder[key]
        elif change < 0.3 and isinstance(holder, dict):
            holder[random.choice(TEXTS)] = holder[key]
        elif change < 0.45:
            other, another = random.choice(places)
            # a copy, or the value might hold itself
            holder[key] = copy.deepcopy(other[another])
        else:
            # a copy, which a later change may fill
            holder[key] = copy.deepcopy(random.choice((*UNFIT, random.choice(TEXTS))))
    return value


def _places(value: Any) -> Any:
    """Yield each container in a JSON value with each key of it."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield value, key
        yield from _places(item)


def changed_json(random: Random, values: Sequence[Any]) -> bytes:
    """Return JSON with values that do not fit, in one case of three damaged as text instead."""
    value = random.choice(values)
    if random.random() < 0.33:
        return mutated(random, [json.dumps(value).encode()])
    return json.dumps(changed(random, value), ensure_ascii=random.random() < 0.9).encode("utf-8", "surrogatepass")


# Tables


def rows(random: Random) -> list[list[str]]:
    """Return the cells of a table of texts with a header: reference, candidate, label and others."""
    header = ["reference", "candidate", "label", *(["x", "pair_id", "group"][: random.randint(0, 3)])]
    table = [header]
    for number in range(random.randint(1, 6)):
        cells = [text(random) for _ in header]
        cells[2] = random.choice(("0", "1", "0.5", "2"))
        if len(cells) > 4:
            cells[4] = f"p{number}"
        table.append(cells)
    return table


TYPES: tuple[Callable[[], pa.DataType], ...] = (
    *(pa.string, pa.large_string, pa.string_view, pa.binary, pa.large_binary, pa.binary_view, pa.bool_, pa.null),
    *(pa.int8, pa.int16, pa.int32, pa.int64, pa.uint8, pa.uint16, pa.uint32, pa.uint64, pa.float16, pa.float32),
    *(pa.float64, pa.date32, pa.date64, lambda: pa.binary(2), lambda: pa.time32("s"), lambda: pa.time64("ns")),
    *(lambda: pa.timestamp("ns"), lambda: pa.timestamp("us", "UTC"), lambda: pa.duration("s")),
    *(lambda: pa.decimal128(20, 2), lambda: pa.decimal256(60, 3), lambda: pa.dictionary(pa.int8(), pa.string())),
    *(lambda: pa.dictionary(pa.int32(), pa.int64()), lambda: pa.list_(pa.string()), lambda: pa.list_(pa.float32())),
    *(lambda: pa.large_list(pa.string()), lambda: pa.list_(pa.list_(pa.string())), lambda: pa.list_(pa.int8(), 2)),
    *(lambda: pa.list_(pa.bool_()), lambda: pa.struct([("a", pa.string())]), lambda: pa.map_(pa.string(), pa.int8())),
    *(lambda: pa.list_(pa.struct([("a", pa.int8())])), lambda: pa.list_(pa.dictionary(pa.int8(), pa.string()))),
)


def cell(random: Random, kind: pa.DataType) -> Any:
    """Return a value of a type of Arrow, or None."""
    types = pa.types
    if random.random() < 0.1 or types.is_null(kind):
        return None
    if types.is_boolean(kind):
        return random.random() < 0.5
    if types.is_integer(kind):
        low, high = (-(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1)
        if types.is_unsigned_integer(kind):
            low, high = 0, 2**kind.bit_width - 1
        return random.choice((0, 1, low, high))
    if types.is_floating(kind):
        return random.choice((0.0, 1.0, 0.5, -1.0, float("nan"), float("inf"), 65504.0))
    if types.is_decimal(kind):
        return random.choice((0, 1, 10**15))
    if types.is_temporal(kind):
        return random.choice((0, 1, 2**30))
    if types.is_dictionary(kind):
        return cell(random, kind.value_type)
    if types.is_struct(kind):
        return {"a": cell(random, kind.field(0).type)}
    if types.is_map(kind):
        return [("a", 1)]
    if types.is_nested(kind):
        size = kind.list_size if types.is_fixed_size_list(kind) else random.randint(0, 3)
        return [cell(random, kind.value_type) for _ in range(size)]
    if types.is_fixed_size_binary(kind):
        return random.choice((b"ab", b"\xff\0"))
    if types.is_binary(kind) or types.is_large_binary(kind) or kind == pa.binary_view():
        return random.choice((b"a", b"\xff", "ü".encode(), b""))
    return text(random)


def parquet(random: Random) -> bytes:
    """Return a Parquet file with columns of random types, in one case of four damaged."""
    count = random.randint(0, 6)
    columns: dict[str, pa.Array] = {}
    usual = {"reference": pa.string(), "candidate": pa.string(), "label": pa.float64()}
    for name in ("reference", "candidate", "label", "pair_id", "group", "question", "split", "language", "x"):
        if name in usual and random.random() < 0.7:
            kind = usual[name]
            columns[name] = pa.array([cell(random, kind) for _ in range(count)], kind)
        elif name in usual or random.random() < 0.3:
            kind = random.choice(TYPES)()
            columns[name] = array(random, kind, count)
    stream = io.BytesIO()
    table = pa.table(columns or {"a": [1]})
    try:
        pq.write_table(table, stream, compression=random.choice(("none", "snappy", "gzip", "zstd")))
    except pa.ArrowException:
        # a type that Parquet does not have
        stream = io.BytesIO()
        pq.write_table(pa.table({"reference": ["a"], "candidate": ["b"], "label": [1]}), stream)
    content = stream.getvalue()
    return mutated(random, [content]) if random.random() < 0.25 else content


def array(random: Random, kind: pa.DataType, count: int) -> pa.Array:
    """Return an array of a type, with text that is not UTF-8 in one case of five where it can be."""
    cells = [cell(random, kind) for _ in range(count)]
    if pa.types.is_dictionary(kind):
        return pa.array(cells, kind.value_type).dictionary_encode()
    if kind == pa.string() and count and random.random() < 0.2:
        _, offsets, values = pa.array(["a"] * count).buffers()
        return pa.Array.from_buffers(kind, count, [None, offsets, pa.py_buffer(b"\xff" * values.size)])
    return pa.array(cells, kind)


def binary_vectors(words: Sequence[bytes], dimensions: int, numbers: Sequence[float]) -> bytes:
    """Return a binary file of word2vec with the same vector for each word."""
    vector = struct.pack(f"<{dimensions}f", *numbers)
    return f"{len(words)} {dimensions}\n".encode() + b"".join(word + b" " + vector + b"\n" for word in words)
