"""Readers of files: tables, graphs, word vectors, and the TOML of cards, suites, spaces and configurations."""

from __future__ import annotations

import functools
import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from assay.exceptions import InputError
from tests.fuzz import making
from tests.fuzz.target import Target, as_file, damaged

CSV = 'pair_id,reference,candidate,label,x\n1,"a, b",c,0,é\r\n2,"say ""x""",d,1,\n3,"two\nlines",e,0.5,z\n'
JSONL = (
    '{"reference": "a", "candidate": "b", "label": 1}\n{"reference": ["a", "b"], "candidate": "\\u00e9", "label": 0}\n',
    '{"pair_id": 7, "reference": "a", "candidate": "b", "label": "yes", "x": {"y": [1, null]}}\n\n',
    '{"pair_id": 8, "reference": "a", "candidate": "", "annotations": [1, 2.5]}\n',
)


def read_pairs(path: Path) -> None:
    """Read a file as pairs; without labels where they are what is refused."""
    from assay.datasets import load_dataset

    try:
        pairs = load_dataset(str(path))
    except InputError:
        pairs = load_dataset(str(path), allow_unlabelled=True, columns=None)
    texts = [pairs.table.column(name) for name in ("pair_id", "candidate")]
    assert all(isinstance(value, str) for column in texts for value in column.to_pylist())
    if "label" in pairs.table.column_names:
        assert not np.isinf(pairs.labels).any()


def same_rows(content: bytes, folder: Path) -> None:
    """Write rows as CSV or TSV, and as JSONL, and read them back."""
    from assay.datasets import read_table_file

    held = json.loads(content)
    header, *rows = held["rows"]

    def quote(cell: str) -> str:
        # an empty cell of quotes, since a row of one empty cell would be a blank line
        needed = not cell or any(letter in cell for letter in '"\r\n' + held["delimiter"])
        return '"' + cell.replace('"', '""') + '"' if held["all"] or needed else cell

    expected = {name: [row[place] for row in rows] for place, name in enumerate(header)}
    text = "".join(held["delimiter"].join(map(quote, row)) + held["end"] for row in held["rows"])
    path = folder / ("rows.csv" if held["delimiter"] == "," else "rows.tsv")
    path.write_bytes((b"\xef\xbb\xbf" if held["mark"] else b"") + text.encode())
    assert read_table_file(path).table.to_pydict() == expected
    lines = [json.dumps(dict(zip(header, row, strict=True)), ensure_ascii=held["all"]) for row in rows]
    path = folder / "rows.jsonl"
    path.write_bytes("\n".join(lines).encode())
    assert read_table_file(path).table.to_pydict() == expected


def make_rows(random: Random) -> bytes:
    """Return rows and the way in which they are written."""
    way = {
        "rows": making.rows(random),
        "all": random.random() < 0.5,
        "delimiter": random.choice(",\t"),
        "end": random.choice(("\n", "\r\n")),
        "mark": random.random() < 0.3,
    }
    return json.dumps(way).encode()


def read_parquet(path: Path) -> None:
    """Read a Parquet file; texts must be those that PyArrow reads."""
    from assay.datasets import read_table_file

    table = read_table_file(path).table
    with path.open("rb") as stream:
        plain = pq.read_table(stream)
    for name in plain.column_names:
        if plain.schema.field(name).type == pa.string():
            assert table.column(name).equals(plain.column(name))
    read_pairs(path)


def read_best_worst(path: Path) -> None:
    from assay.datasets.best_worst import read_best_worst as read

    read(path)


# Graphs, vectors


GRAPHS = (
    '# ::id 1 ::date 2012\n# ::snt The man cuts.\n(c / cut-01\n   :ARG0 (m / man :quant 2)\n   :ARG1-of (x / "a b"))\n',
    "(a / and :op1 (b / b :polarity -) :op2 b)\n\n# ::id 2\n(x / x~e.1 :domain-of (y / y))\n",
)
GRAPH_WORDS = (
    "(",
    ")",
    "/",
    ":ARG0",
    ":ARG0-of",
    ":instance",
    ":instance-of",
    ":op1",
    "a",
    "b",
    "-",
    '"',
    "~e.1",
    "\n\n",
    "# ::id ",
)


def read_graphs(path: Path) -> None:
    """Read the graphs of a file and compare the first two that are whole with themselves and each other."""
    from assay.language.amr import normalized, parse_block, read_graph_file

    for block in read_graph_file(path)[:5]:
        normalized(parse_block(block))


#: Aspects that need no word vectors.
ASPECTS = (
    *("smatch", "unlabeled", "coreference", "srl", "frames", "named-entities", "negation", "concepts", "wlk"),
    *("quantifiers", "bag-of-nodes"),
)


ROLES = (":ARG0", ":ARG1", ":ARG0-of", ":op1", ":op2", ":name", ":polarity", ":quant", ":mod", ":domain-of", ":x")
CONCEPTS = ("and", "cut-01", "man", "name", "be-located-at-91", "have-mod-91", "multi-sentence", "amr-unknown", '"x y"')


def graph(random: Random, nodes: int) -> str:
    """Return a graph of so many nodes, with constants, hostile ones among them, and variables that occur again."""
    texts = [f"(v0 / {random.choice(CONCEPTS)}"]
    for number in range(1, nodes):
        parent = random.randrange(number)
        texts[parent] += f" {random.choice(ROLES)} \0{number}\0"
        texts.append(f"(v{number} / {random.choice(CONCEPTS)}")
    for number in range(nodes):
        kind = random.random()
        if kind < 0.2:
            texts[number] += f" {random.choice(ROLES)} v{random.randrange(nodes)}"
        elif kind < 0.5:
            texts[number] += (
                f" {random.choice(ROLES)} {random.choice(('-', '+', '1', '2.5', json.dumps(making.text(random))))}"
            )
        texts[number] += ")"
    for number in range(nodes - 1, 0, -1):
        texts[:number] = [text.replace(f"\0{number}\0", texts[number]) for text in texts[:number]]
    return texts[0]


def make_two_graphs(random: Random) -> bytes:
    """Return two graphs as JSON, one case in five equal, and one in five damaged."""
    one, other = (graph(random, random.randint(1, 9)) for _ in range(2))
    if random.random() < 0.2:
        one = making.mutated(random, [one.encode()], [word.encode() for word in GRAPH_WORDS]).decode("utf-8", "replace")
    return json.dumps([one, one if random.random() < 0.2 else other]).encode()


def compare_graphs(content: bytes, folder: Path) -> None:
    """Compare two graphs in every aspect, in both orders; a graph is equal to itself."""
    from assay.metrics.amr.aspect import AspectSettings
    from assay.metrics.amr.comparison import Comparer

    one, other = json.loads(content)
    aspects = [AspectSettings(name) for name in ASPECTS]
    scores, _ = Comparer().compare(aspects, [(one, other), (other, one), (one, one)])
    assert (scores >= 0).all() and (scores <= 1 + 1e-9).all(), scores
    assert np.allclose(scores[0], scores[1], atol=1e-6), scores
    assert np.allclose(scores[2], 1, atol=1e-6), scores


VECTORS = {
    "text": ("2 3\na 1 2 3\nb -1 .5 1e-3\n", "the 0.1 0.2\nof -1 2\n. . 1 2\n"),
    "binary": (making.binary_vectors([b"a", b"b"], 3, [1, 2, 3]), making.binary_vectors([b"\xff"], 1, [0.5])),
}


def make_vectors(kind: str) -> Callable[[Random], bytes]:
    """Return a maker of files of word vectors of a kind, one of three as gzip."""
    plain = damaged(*VECTORS[kind], words=["nan", "1e39", "0", " ", "\n", "2 65536\n", "99999999 3\n"])
    packed = damaged(*(gzip.compress(one.encode() if isinstance(one, str) else one) for one in VECTORS[kind]))

    def make(random: Random) -> bytes:
        chosen = random.random()
        if chosen < 0.17:
            return gzip.compress(plain(random), 1)
        return packed(random) if chosen < 0.33 else plain(random)

    return make


def read_vectors(path: Path) -> None:
    from assay.metrics.words.formats import read_blocks, read_words

    for words in read_words(path):
        assert all(words)
    for block in read_blocks(path):
        assert np.isfinite(block.values).all()


def read_vectors_only(path: Path) -> None:
    from assay.metrics.words.formats import read_blocks

    for block in read_blocks(path):
        assert len(block.words) == len(block.values)
        assert np.isfinite(block.values).all()


# Cards, suites, spaces, configuration


CARD = """name = "mine"
version = "1"
title = "Mine"
kind = "human"
language = "en"
licence = "CC"
citation = "none"
reader = "table"
default_split = "test"
[scale]
low = 0
high = 1
meaning = "same"
[splits.test]
files = ["pairs.csv"]
rows = 3
options = {columns = {reference = "reference", candidate = "candidate", label = "label"}}
[[files]]
name = "pairs.csv"
[[sources]]
kind = "path"
path = "pairs.csv"
"""
SUITE = 'name = "x"\ntitle = "x"\ndatasets = ["sick:test"]\nmetrics = ["f1", "bleu:paper"]\nbuckets = ["f1", "none"]\n'
SPACE = "[space.batch_size]\nchoices = [8, 16]\n[space.learning_rate]\nlow = 1e-6\nhigh = 1e-4\nlog = true\n"
CONFIGURATION = """metrics = ["f1", "chrf"]
resamples = 100
labels = {no = 0, yes = 1}
[run]
bucket = ["f1"]
columns = {reference = "a", candidate = "b"}
[datasets.check]
offline = true
[thresholds]
cost = "fp=1,fn=2"
"""
PROMPT = """scale = "1-5"
optional = ["question"]
symmetric = false
reply_tokens = 4
system = "Grade from {{ verdicts[0] }} to {{ verdicts|last }}."
user = "{% if question %}{{ question }}{% endif %}{% for one in references %}- {{ one }}{% endfor %}{{ candidate }}"
"""
PRICES = '["gpt-x"]\ninput = 0.15\noutput = 0.6\n\n[local]\ninput = 0\noutput = 0\n'
#: What stands in templates, with what computes there.
TEMPLATE_WORDS = (
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "{{ reference }}",
    "{{ candidate[9] }}",
    "{{ 1 / 0 }}",
    "{{ candidate + 1 }}",
    "{{ references|sum }}",
    "{{ range(9999999) }}",
    "{{ candidate.__class__ }}",
    "{{ candidate|int }}",
    "{{ 'a' * 99999999999 }}",
    "{{ label }}",
    "{% set question = 1 %}",
)
TOML_WORDS = (
    "=",
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    '"',
    "'''",
    "1",
    "1.5",
    "nan",
    "inf",
    "true",
    "1979-05-27T07:32:00Z",
    "0x1",
    "\n",
)


def read_card(path: Path) -> None:
    from assay.datasets import load_dataset

    (path.parent / "pairs.csv").write_text(CSV, encoding="utf-8", newline="")
    load_dataset(str(path), offline=True)


def read_suite(path: Path) -> None:
    from assay.benchmark.suite import load_suite

    load_suite(str(path))


def read_space(path: Path) -> None:
    from assay.training.tuning.settings import _parse_space_file

    _parse_space_file(path)


def read_prompt(path: Path) -> None:
    """Read a prompt and fill it in."""
    from assay.metrics.judge.prompts import Prompt

    prompt = Prompt.load(str(path))
    for message in prompt.messages("", ["a", "b"], "{{ c }}", prompt.scale):
        assert message.role in ("system", "user") and isinstance(message.content, str)


def read_prices(path: Path) -> None:
    from assay.metrics.judge.spending import read_prices as read

    for price in read(path).values():
        assert 0 <= price.input < math.inf and 0 <= price.output < math.inf


@functools.cache
def root_command() -> Any:
    """Return the command of assay, from which options are read."""
    import typer

    from assay.cli import app

    return typer.main.get_command(app)


def read_configuration(path: Path) -> None:
    from assay.cli.configuration import defaults_of
    from assay.common.configuration import find_configuration

    found = find_configuration(path.parent)
    assert found is not None
    for verb in ("run", "thresholds"):
        defaults_of(found, root_command(), verb)


TARGETS = {
    "csv": Target(damaged(CSV, "a,b\n1,2\n", words=['"', ",", "\n", "\r", "," * 1_000]), as_file("a.csv", read_pairs)),
    "tsv": Target(damaged(CSV.replace(",", "\t"), words=['"', "\t", "\n"]), as_file("a.tsv", read_pairs)),
    "tab": Target(damaged(CSV.replace(",", "\t"), words=['"', "\t", "\n"]), as_file("a.tab", read_pairs)),
    "jsonl": Target(
        damaged(*JSONL, words=['"', "{", "[", ",", ":", "\\ud800", "1e999", "null"]), as_file("a.jsonl", read_pairs)
    ),
    "rows": Target(make_rows, same_rows),
    "parquet": Target(making.parquet, as_file("a.parquet", read_parquet)),
    "best-worst": Target(
        damaged(
            "item1,item2,item3,item4,best,worst\na,b,c,d,a,d\nb,c,d,e,b,e\n", 'items,best,worst\n"[""a"",""b""]",a,b\n'
        ),
        as_file("bws.csv", read_best_worst),
    ),
    "graphs": Target(damaged(*GRAPHS, words=GRAPH_WORDS), as_file("a.amr", read_graphs)),
    "graphs-gz": Target(damaged(*(gzip.compress(one.encode()) for one in GRAPHS)), as_file("a.amr.gz", read_graphs)),
    "amr": Target(make_two_graphs, compare_graphs),
    "vectors": Target(make_vectors("text"), as_file("v.txt", read_vectors_only)),
    "vectors-binary": Target(make_vectors("binary"), as_file("v.bin", read_vectors_only)),
    "card": Target(damaged(CARD, words=TOML_WORDS), as_file("card.toml", read_card)),
    "suite": Target(damaged(SUITE, words=TOML_WORDS), as_file("suite.toml", read_suite)),
    "prompt": Target(damaged(PROMPT, words=(*TOML_WORDS, *TEMPLATE_WORDS)), as_file("prompt.toml", read_prompt)),
    "prices": Target(damaged(PRICES, words=TOML_WORDS), as_file("prices.toml", read_prices)),
    "space": Target(damaged(SPACE, words=TOML_WORDS), as_file("space.toml", read_space)),
    "configuration": Target(damaged(CONFIGURATION, words=TOML_WORDS), as_file("assay.toml", read_configuration)),
}
