"""Parsers: the input is the text that a user writes for a metric, a column, a bucket or another setting."""

from __future__ import annotations

import functools
import json
import math
from dataclasses import MISSING, Field, fields
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from tests.fuzz import making
from tests.fuzz.runs import scored
from tests.fuzz.target import Target, as_text, text_for, written
from tests.fuzz.texts import STRING_METRICS


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
    numbers = reading.configured_numbers()
    assert all(math.isfinite(number) for number in numbers.values())
    assert Reading(labels=reading.record()["labels"]).configured_numbers().keys() == numbers.keys()


def parse_scale(text: str) -> None:
    from assay.settings import parse_scale as parse

    low, high = parse(text)
    assert math.isfinite(low) and math.isfinite(high) and low < high


def parse_cost(text: str) -> None:
    from assay.analysis.thresholds.settings import parse_costs

    assert all(0 <= cost < math.inf for cost in parse_costs(text))


def parse_positive(text: str) -> None:
    from assay.analysis.thresholds.labels import positive_labels_of

    positive_labels_of(scored(), text)


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
    from assay.analysis.pair_codes import group_codes

    codes = group_codes(scored(), text)
    assert codes is None or len(codes) == scored().facts.n


def parse_verdict(text: str) -> None:
    """Read the verdict in a reply on each scale."""
    from assay.metrics.judge.replies import Reply
    from assay.metrics.judge.verdicts import scale_of

    for name in ("yes-no", "0-2", "1-5"):
        scale = scale_of(name)
        worth = scale.read(Reply(text)).score
        assert worth is None or scale.low <= worth <= scale.high
        scale.verdict_begun_by(text)


@functools.cache
def _settings() -> dict[str, tuple[type, str, bool]]:
    """Return each setting of text or numbers by ``class.name``: its class and name, and whether it takes text."""
    import importlib
    import pkgutil

    from pydantic import BaseModel

    import assay
    import assay.manifest
    from assay.common.declarations import KEY, Settings

    for module in pkgutil.walk_packages(assay.__path__, "assay."):
        if module.name.endswith(".settings") or module.name.startswith("assay.analysis."):
            importlib.import_module(module.name)
    found: dict[str, tuple[type, str, bool]] = {}
    classes = [Settings]
    while classes:
        kind = classes.pop()
        classes += kind.__subclasses__()
        if issubclass(kind, BaseModel):
            # a request as a run folder records it, which its reader checks
            continue
        if any(KEY not in field.metadata for field in fields(kind) if _is_needed(field)):
            # a request of a run, which has data as well
            continue
        for field in fields(kind):
            is_user_s = KEY in field.metadata and not field.metadata[KEY].python_only
            takes_text = "str" in str(field.type)
            if is_user_s and (takes_text or "int" in str(field.type) or "float" in str(field.type)):
                found[f"{kind.__name__}.{field.name}"] = (kind, field.name, takes_text)
    return dict(sorted(found.items()))


def _is_needed(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


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
    """Return ``class.name=value`` for a setting, mostly for one that has a notation; a number as JSON."""
    names = list(_settings())
    if random.random() < 0.7:
        names = [name for name in names if name.partition(".")[2] in NOTATIONS]
    name = random.choice(names)
    if not _settings()[name][2]:
        return f"{name}={json.dumps(random.choice((*making.NUMBERS, math.nan, math.inf)))}".encode()
    notation = NOTATIONS.get(name.partition(".")[2])
    if notation is not None and random.random() < 0.7:
        return name.encode() + b"=" + making.mutated(random, [notation.encode()])
    return f"{name}={text_for(random, SETTING_WORDS)}".encode()


def parse_setting(content: bytes, folder: Path) -> None:
    """Make the settings of a verb with one value, and write the command that asks for them."""
    name, _, value = content.decode("utf-8", "replace").partition("=")
    kind, setting, takes_text = _settings()[name]
    needed = {field.name: "f1" for field in fields(kind) if _is_needed(field)}
    known = {"recipe": "bi-encoder"} if "recipe" in needed else {}
    kind(**{**needed, **known, setting: value if takes_text else json.loads(value)}).command("verb")


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


TARGETS = {
    "metric-name": Target(written(*METRIC_WORDS), as_text(parse_metric)),
    "columns": Target(written("reference", "candidate", "label", "=", ",", "a", "+", "b"), as_text(parse_columns)),
    "bucket": Target(written(*RULES), as_text(parse_bucket)),
    "labels": Target(written("no", "yes", "=", ",", "0", "1", "nan", "İ"), as_text(parse_labels)),
    "scale": Target(written("0", "1", ",", "-", "5", "inf", "nan", "e"), as_text(parse_scale)),
    "cost": Target(written("fp", "fn", "=", ",", "1", "0", "-", "inf"), as_text(parse_cost)),
    "positive": Target(written("label", ">", ">=", "<", "=", "1", "0", "nan"), as_text(parse_positive)),
    "verdict": Target(
        written("yes", "No", "4", "/5", '{"verdict": ', "}", '"', "verdict:", "score", "```json", "**", " ", "."),
        as_text(parse_verdict),
    ),
    "dataset-name": Target(
        written("stsb", "@", ":", "+", "1", "test", ".csv", ".toml", "=", "/", "a"), as_text(parse_dataset)
    ),
    "graph-files": Target(written("reference", "candidate", "=", ",", "+", "a.amr", "/"), as_text(parse_graphs)),
    "group-by": Target(written("topic", "group", "none", "pair_id", "reference"), as_text(parse_group)),
    "setting": Target(make_setting, parse_setting),
}
