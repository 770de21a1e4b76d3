"""What is given hostile input: each reader, parser and string metric, with how to make its input and what must hold.

An input is bytes, so that one that failed is kept as a plain file. A target returns when the input is taken or refused
as it should be; everything else is a failure.
"""

from __future__ import annotations

import functools
import gzip
import io
import json
import math
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from assay.errors import AssayError, InputError
from assay.visible import brief
from tests.fuzz import making

Check = Callable[[bytes, Path], None]


@dataclass(frozen=True)
class Target:
    """One reader or parser.

    Attributes:
        make: returns an input from a random source.
        check: reads an input; its folder is its own, and may hold what earlier inputs left.
    """

    make: Callable[[Random], bytes]
    check: Check


def as_file(name: str, read: Callable[[Path], object]) -> Check:
    """Return a check that writes the input to a file of a name and reads it."""

    def check(content: bytes, folder: Path) -> None:
        path = folder / name
        path.write_bytes(content)
        read(path)

    return check


def damaged(*valid: str | bytes, words: Sequence[str] = ()) -> Callable[[Random], bytes]:
    """Return a maker of damaged files."""
    contents = [one.encode() if isinstance(one, str) else one for one in valid]
    return functools.partial(making.mutated, valid=contents, words=[word.encode() for word in words])


# Tables of pairs


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
    from assay.amr import check_block, normalized, read_graph_file

    for block in read_graph_file(path)[:5]:
        normalized(check_block(block))


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
    from assay.training.tuning.settings import _parsed

    _parsed(path)


@functools.cache
def root_command() -> Any:
    """Return the command of assay, from which options are read."""
    import typer

    from assay.cli import app

    return typer.main.get_command(app)


def read_configuration(path: Path) -> None:
    from assay.cli.configuration import defaults_of
    from assay.configuration import find_configuration

    found = find_configuration(path.parent)
    assert found is not None
    for verb in ("run", "thresholds"):
        defaults_of(found, root_command(), verb)


# Run folders and what is made of them


@functools.cache
def _scratch() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="assay-fuzz-")


@functools.cache
def run_folder() -> Path:
    """Return a run folder of two datasets, made once a process."""
    import assay

    folder = Path(_scratch().name) / "run"
    rows = [
        {
            "reference": f"a b{i % 3}",
            "candidate": f"a c{i % 4}",
            "label": i % 2,
            "group": f"g{i // 3}",
            "topic": "xy"[i % 2],
        }
        for i in range(12)
    ]
    assay.run([rows, rows[:8]], ["f1", "ter"], buckets=["topic"], resamples=100, out=folder)
    return folder


RUN_FILES = ("run.json", "agreement.json", "scores.parquet", "pairs.parquet")


def make_run_file(random: Random) -> bytes:
    """Return the name of a file of a run folder, a null byte, and what it holds."""
    name = random.choice(RUN_FILES)
    content = (run_folder() / name).read_bytes()
    if name.endswith(".json"):
        return name.encode() + b"\0" + making.changed_json(random, [json.loads(content)])
    if random.random() < 0.3:
        return name.encode() + b"\0" + making.mutated(random, [content])
    table = pq.read_table(io.BytesIO(content))
    for _ in range(random.randint(1, 2)):
        place = random.randrange(table.num_columns)
        change = random.random()
        if change < 0.2 and table.num_columns > 1:
            table = table.remove_column(place)
        elif change < 0.4:
            table = table.slice(random.randint(0, 5), random.randint(0, 30))
        else:
            kind = random.choice(making.TYPES)() if change < 0.7 else table.schema.field(place).type
            if pa.types.is_null(kind):
                continue
            table = table.set_column(place, table.column_names[place], making.array(random, kind, table.num_rows))
    stream = io.BytesIO()
    try:
        pq.write_table(table, stream)
    except pa.ArrowException:
        return make_run_file(random)
    return name.encode() + b"\0" + stream.getvalue()


def read_run_folder(content: bytes, folder: Path) -> None:
    """Put a file into a run folder and read it as reports do."""
    from assay.reports.data import cells_of, group_codes, pair_keys, read_datasets
    from assay.reports.folder import check_strays, read_run

    name, _, data = content.partition(b"\0")
    copy = folder / "run"
    if not copy.exists():
        shutil.copytree(run_folder(), copy)
    changed = copy / name.decode()
    try:
        changed.write_bytes(data)
        run = read_run(copy)
        for dataset in read_datasets(run):
            assert all(len(scores) == dataset.facts.n for scores in dataset.scores.values())
            pair_keys(dataset)
            group_codes(dataset, None)
            for column in dataset.table.column_names:
                try:
                    cells_of(dataset, column)
                except InputError:
                    continue
        check_strays(run, copy)
    finally:
        shutil.copyfile(run_folder() / name.decode(), changed)


def read_run_tables(content: bytes, folder: Path) -> None:
    """Put a file into a run folder and make tables, thresholds and a baseline of it."""
    import assay

    name, _, data = content.partition(b"\0")
    copy = folder / "run"
    if not copy.exists():
        shutil.copytree(run_folder(), copy)
    changed = copy / name.decode()
    try:
        changed.write_bytes(data)
        for verb in (
            lambda: assay.table(copy).to_markdown(),
            lambda: assay.thresholds(copy, resamples=0, positive="label>=1").to_json(),
            lambda: assay.compare(copy, resamples=100).to_csv(),
            lambda: assay.baseline(copy, out=folder / "baseline.json"),
            lambda: assay.leaderboard(copy, resamples=100).to_text("html"),
        ):
            try:
                verb()
            except AssayError as error:
                one_line(error)
    finally:
        shutil.copyfile(run_folder() / name.decode(), changed)


@functools.cache
def baseline() -> dict[str, Any]:
    """Return the baseline of the run."""
    from assay.reports.check.baseline import take_baseline, to_text
    from assay.reports.folder import read_run

    return json.loads(to_text(take_baseline(read_run(run_folder()))))


def read_baseline(path: Path) -> None:
    from assay.reports.check.baseline import read_baseline as read
    from assay.reports.check.baseline import to_text

    json.loads(to_text(read(path)))


THRESHOLDS = [
    {
        "dataset": "data",
        "metrics": [{"metric": "f1", "positive": "label>=1", "threshold": 0.5, "deploy": 0.4, "signature": {}}],
    }
]


def read_thresholds(path: Path) -> None:
    """Decide the pairs of the run by a file of thresholds."""
    from assay.reports.errors.decisions import decide_pairs
    from assay.reports.errors.settings import Rule

    data = _scored()
    decisions = decide_pairs(data, "f1", Rule(threshold=path), seed=0)
    assert np.isfinite(decisions.thresholds).all()


@functools.cache
def _scored() -> Any:
    from assay.reports.data import read_datasets
    from assay.reports.folder import read_run

    return read_datasets(read_run(run_folder()))[0]


RESULTS = "system,dataset,statistic,seed,value\nbase,sts,pearson,0,.81\nnode,sts,pearson,0,.82\n"


def read_results(path: Path) -> None:
    from assay.reports.significance.reading import read_results as read

    rows, _ = read([path])
    assert all(math.isfinite(row.value) for row in rows)


# Parsers: the input is the text that a user writes


def as_text(parse: Callable[[str], object]) -> Check:
    """Return a check that parses the input as text."""

    def check(content: bytes, folder: Path) -> None:
        parse(content.decode("utf-8", "replace"))

    return check


def parse_metric(text: str) -> None:
    from assay.metrics import MetricName, load_metric

    name = MetricName.parse(text)
    assert MetricName.parse(name.text) == name
    metric = load_metric(text)
    assert str(metric) == str(name)
    metric.long_signature()


def parse_columns(text: str) -> None:
    from assay.datasets.columns import columns_text, resolve_columns
    from assay.datasets.columns import parse_columns as parse

    found = parse(text)
    resolve_columns(found, ["a", "b", "a+b", "reference"], where="f.csv", need_label=False, need_texts=False)
    assert parse(columns_text(found)) == found


def parse_bucket(text: str) -> None:
    """Cut pairs into the buckets of a rule; none has a pair twice, and a condition and its opposite have all."""
    from assay.benchmark.buckets import check_columns, split_into_buckets

    pairs = _some_pairs()
    check_columns([pairs], [text])
    for bucket in split_into_buckets(pairs, (text,), lambda: np.linspace(0, 1, len(pairs))):
        assert bucket.mask.shape == (len(pairs),)


@functools.cache
def _some_pairs() -> Any:
    from assay.datasets import load_dataset

    rows = [
        {"reference": f"a {i}", "candidate": "b c", "label": i / 2, "topic": "xyz"[i % 3], "n": i, "language": "en"}
        for i in range(8)
    ]
    return load_dataset(rows)


def parse_labels(text: str) -> None:
    from assay.datasets.reading import Reading

    reading = Reading(labels=text, columns=None)
    numbers = reading.numbers_of_words()
    assert all(math.isfinite(number) for number in numbers.values())
    assert Reading(labels=reading.record()["labels"]).numbers_of_words().keys() == numbers.keys()


def parse_scale(text: str) -> None:
    from assay.settings import parse_scale as parse

    low, high = parse(text)
    assert math.isfinite(low) and math.isfinite(high) and low < high


def parse_cost(text: str) -> None:
    from assay.reports.thresholds.settings import costs_of

    assert all(0 <= cost < math.inf for cost in costs_of(text))


def parse_positive(text: str) -> None:
    from assay.reports.thresholds.planning import read_positive

    read_positive(_scored(), text)


def parse_dataset(text: str) -> None:
    from assay.datasets import load_dataset

    if not text.lstrip().startswith("-"):
        # what begins so may be standard input
        load_dataset(text, offline=True)


def parse_graphs(text: str) -> None:
    from assay.datasets.graphs import join_graphs

    join_graphs(_some_pairs(), text)


def parse_group(text: str) -> None:
    """Group a run by a column, and control agreement for a rule."""
    from assay.reports.data import group_codes

    codes = group_codes(_scored(), text)
    assert codes is None or len(codes) == _scored().facts.n


@functools.cache
def _text_settings() -> dict[str, tuple[type, str]]:
    """Return each setting that takes text, by ``class.name``, with its class."""
    import importlib
    import pkgutil

    import assay
    from assay.settings import KEY, Settings

    for module in pkgutil.walk_packages(assay.__path__, "assay."):
        if module.name.endswith(".settings"):
            importlib.import_module(module.name)
    found: dict[str, tuple[type, str]] = {}
    classes = [Settings]
    while classes:
        kind = classes.pop()
        classes += kind.__subclasses__()
        for field in fields(kind):
            is_user_s = KEY in field.metadata and not field.metadata[KEY].python_only
            if is_user_s and "str" in str(field.type):
                found[f"{kind.__name__}.{field.name}"] = (kind, field.name)
    return dict(sorted(found.items()))


#: Values of settings that have a notation of their own.
NOTATIONS = {
    "subset": "degree:20",
    "scale": "0,5",
    "cost": "fp=1,fn=2",
    "positive": "label>=1",
    "buckets": "f1:0,0.5,1",
    "threshold": "0.5",
    "device": "cuda:0",
    "labels": "no=0,yes=1",
    "columns": "reference=a,label=b+c",
    "controls": "length+f1",
    "graphs": "reference=a.amr,candidate=b.amr",
    "numbers": "0-9",
    "lengths": "1,2",
    "number_range": "0,1000",
}


def make_setting(random: Random) -> bytes:
    """Return ``class.name=value`` for a setting that takes text, mostly for one that has a notation."""
    names = list(_text_settings())
    if random.random() < 0.7:
        names = [name for name in names if name.partition(".")[2] in NOTATIONS]
    name = random.choice(names)
    notation = NOTATIONS.get(name.partition(".")[2])
    if notation is not None and random.random() < 0.7:
        return name.encode() + b"=" + making.mutated(random, [notation.encode()])
    return f"{name}={text_for(random, SETTING_WORDS)}".encode()


def parse_setting(content: bytes, folder: Path) -> None:
    """Make the settings of a verb with one value, and write the command that asks for them."""
    name, _, value = content.decode("utf-8", "replace").partition("=")
    kind, setting = _text_settings()[name]
    needed = {
        field.name: "f1" for field in fields(kind) if field.default is MISSING and field.default_factory is MISSING
    }
    known = {"recipe": "bi-encoder"} if "recipe" in needed else {}
    kind(**{**needed, **known, setting: value}).command("verb")


SETTING_WORDS = (
    "degree:",
    "random:",
    "cuda:",
    "label>=",
    "f1",
    "label",
    "all",
    "none",
    "auto",
    "cuda:0",
    "holm",
    "spearman",
    "0.5",
    "1,2",
    "en",
    "runs/a",
    "a=b",
)


def text_for(random: Random, words: Sequence[str]) -> str:
    """Return words of a notation, numbers and hostile texts in a row."""
    parts = []
    for _ in range(random.randint(1, 7)):
        parts.append(random.choice(words) if random.random() < 0.75 else random.choice(making.TEXTS))
    return "".join(parts)


def written(*words: str) -> Callable[[Random], bytes]:
    """Return a maker of texts in the notation that these words are of."""
    return lambda random: text_for(random, words).encode()


# Metrics


STRING_METRICS = (
    *("bleu", "bleu:paper", "chrf", "contains", "dice", "em", "f1", "jaccard", "jaro-winkler", "levenshtein", "meteor"),
    *("rouge-1", "rouge-2", "rouge-l", "ter", "ter,normalized=true", "token-recall"),
)
LONG = (
    "a" * 100_000,
    "a b " * 5_000,
    "́" * 20_000,
    "👩🏽‍🔬" * 3_000,
    "\0" * 20_000,
    "'s" * 5_000,
    "ש" * 50_000,
    "9." * 10_000,
)


def make_pair(random: Random) -> bytes:
    """Return two texts as JSON, now and then equal, one in a hundred very long."""
    one = making.text(random, lone=True)
    other = one if random.random() < 0.2 else making.text(random, lone=True)
    if random.random() < 0.01:
        one = random.choice(LONG) + one
    return json.dumps([one, other]).encode()


def score_with(name: str) -> Check:
    """Return a check that a metric gives a score within its range, and what it promises of equal texts."""

    def check(content: bytes, folder: Path) -> None:
        metric = _metric(name)
        reference, candidate = json.loads(content)
        (score,) = metric.score([reference], [candidate])
        declared = metric.declaration
        assert declared.low - 1e-9 <= score <= declared.high + 1e-9, score
        if declared.symmetric:
            (swapped,) = metric.score([candidate], [reference])
            assert abs(swapped - score) <= declared.tolerance, (score, swapped)
        if declared.perfect is not None and reference == candidate and reference.strip():
            assert abs(score - declared.perfect) <= declared.tolerance, score

    return check


@functools.cache
def _metric(name: str) -> Any:
    from assay.metrics import load_metric

    return load_metric(name)


def one_line(error: AssayError, content: bytes = b"\n") -> None:
    """Check that a message is shown as one line of bounded length, and is not the many lines of a library."""
    message = str(error)
    assert message.strip(), "an empty message"
    assert len(brief(message).splitlines()) == 1
    assert len(brief(message)) < 2_100
    assert "\n" not in message or b"\n" in content or b"\\n" in content, f"several lines: {message[:200]!r}"


METRIC_WORDS = (
    *STRING_METRICS,
    *("recorded:", "static:", "bi-encoder:", "amr:smatch", ":", ",", "=", "smoothing=", "lowercase="),
)
RULES = (
    "f1",
    "label",
    "length",
    "number",
    "topic",
    "n",
    "language",
    "none",
    "all",
    "+",
    ":",
    "0,1",
    "<",
    ">=",
    "!=",
    "=",
    "x",
    "0.5",
)

TARGETS: dict[str, Target] = {
    "csv": Target(damaged(CSV, "a,b\n1,2\n", words=['"', ",", "\n", "\r"]), as_file("a.csv", read_pairs)),
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
    "vectors": Target(make_vectors("text"), as_file("v.txt", read_vectors_only)),
    "vectors-binary": Target(make_vectors("binary"), as_file("v.bin", read_vectors_only)),
    "card": Target(damaged(CARD, words=TOML_WORDS), as_file("card.toml", read_card)),
    "suite": Target(damaged(SUITE, words=TOML_WORDS), as_file("suite.toml", read_suite)),
    "space": Target(damaged(SPACE, words=TOML_WORDS), as_file("space.toml", read_space)),
    "configuration": Target(damaged(CONFIGURATION, words=TOML_WORDS), as_file("assay.toml", read_configuration)),
    "run": Target(make_run_file, read_run_folder),
    "run-tables": Target(make_run_file, read_run_tables),
    "baseline": Target(
        lambda random: making.changed_json(random, [baseline()]), as_file("baseline.json", read_baseline)
    ),
    "thresholds": Target(
        lambda random: making.changed_json(random, [THRESHOLDS]), as_file("thresholds.json", read_thresholds)
    ),
    "results": Target(damaged(RESULTS), as_file("results.csv", read_results)),
    "results-jsonl": Target(
        damaged('{"system": "a", "dataset": "b", "seed": 0, "value": 0.5}\n'), as_file("results.jsonl", read_results)
    ),
    "metric-name": Target(written(*METRIC_WORDS), as_text(parse_metric)),
    "columns": Target(written("reference", "candidate", "label", "=", ",", "a", "+", "b"), as_text(parse_columns)),
    "bucket": Target(written(*RULES), as_text(parse_bucket)),
    "labels": Target(written("no", "yes", "=", ",", "0", "1", "nan", "İ"), as_text(parse_labels)),
    "scale": Target(written("0", "1", ",", "-", "5", "inf", "nan", "e"), as_text(parse_scale)),
    "cost": Target(written("fp", "fn", "=", ",", "1", "0", "-", "inf"), as_text(parse_cost)),
    "positive": Target(written("label", ">", ">=", "<", "=", "1", "0", "nan"), as_text(parse_positive)),
    "dataset-name": Target(
        written("stsb", "@", ":", "+", "1", "test", ".csv", ".toml", "=", "/", "a"), as_text(parse_dataset)
    ),
    "graph-files": Target(written("reference", "candidate", "=", ",", "+", "a.amr", "/"), as_text(parse_graphs)),
    "group-by": Target(written("topic", "group", "none", "pair_id", "reference"), as_text(parse_group)),
    "setting": Target(make_setting, parse_setting),
    **{f"score {name}": Target(make_pair, score_with(name)) for name in STRING_METRICS},
}
