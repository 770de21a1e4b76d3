"""Run folders with a damaged file, and what is made of runs: baselines, thresholds, results over seeds."""

from __future__ import annotations

import functools
import io
import json
import math
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from assay.exceptions import InputError
from assay.statistics.coefficients import STATISTICS
from tests.fuzz import making
from tests.fuzz.target import Target, as_file, damaged


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
            "candidate": " ".join(f"a b{i % 4} c d e".split()[: 1 + i % 5]),
            "label": i % 2,
            # enough groups for the intervals of the first dataset, too few for those of the second
            "group": f"g{min(i, 10)}",
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
    from assay.analysis.data import read_datasets
    from assay.analysis.folder import check_tables_match_manifest, read_run
    from assay.analysis.pair_codes import cells_of, group_codes, pair_keys

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
        check_tables_match_manifest(run, copy)
    finally:
        shutil.copyfile(run_folder() / name.decode(), changed)


def read_run_tables(content: bytes, folder: Path) -> None:
    """Put a file into a run folder and make a table, thresholds or a baseline of it.

    Which of them, and of which statistic, follows from the input: each takes longer than reading.
    """
    import assay
    from assay.analysis.thresholds import calibration

    name, _, data = content.partition(b"\0")
    copy = folder / "run"
    if not copy.exists():
        shutil.copytree(run_folder(), copy)
    changed = copy / name.decode()
    number = zlib.crc32(content)
    draws = {"statistics": [list(STATISTICS)[number % len(STATISTICS)]], "buckets": ["all"], "resamples": 100}
    verbs = (
        lambda: check_numbers(assay.table(copy)),
        lambda: check_numbers(assay.thresholds(copy, resamples=0, folds=2, positive="label>=1")),
        lambda: check_numbers(assay.compare(copy, permutations=100, **draws)),
        lambda: check_numbers(assay.leaderboard(copy, **draws)),
        lambda: assay.baseline(copy, out=folder / "baseline.json"),
    )
    try:
        changed.write_bytes(data)
        with mock.patch.object(calibration, "DRAW_COUNT", 20):
            verbs[number // len(STATISTICS) % len(verbs)]()
    finally:
        shutil.copyfile(run_folder() / name.decode(), changed)


def check_numbers(report: Any) -> None:
    """Check that a report is laid out in every format, and that its statistics and p-values lie in their ranges."""
    for form in ("md", "csv", "html"):
        assert report.to_text(form).strip()
    for row in _objects(json.loads(report.to_json(), parse_constant=_no_number)):
        for name, value in row.items():
            statistic = STATISTICS.get(str(row.get("statistic") if name in VALUES else name))
            if statistic is not None and isinstance(value, float):
                assert statistic.lowest - 1e-9 <= value <= 1 + 1e-9, (name, value)
            if name.startswith(("p_", "adjusted_p_")) and value is not None:
                assert 0 <= value <= 1, (name, value)


#: What rows call the value of their statistic.
VALUES = ("value", "first_value", "second_value")


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects in a JSON value."""
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(item)


def _no_number(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


@functools.cache
def baseline() -> dict[str, Any]:
    """Return the baseline of the run."""
    from assay.analysis.check.baseline import take_baseline, to_text
    from assay.analysis.folder import read_run

    return json.loads(to_text(take_baseline(read_run(run_folder()))))


def read_baseline(path: Path) -> None:
    from assay.analysis.check.baseline import read_baseline as read
    from assay.analysis.check.baseline import to_text

    json.loads(to_text(read(path)))


THRESHOLDS = [
    {
        "dataset": "data",
        "metrics": [{"metric": "f1", "positive": "label>=1", "threshold": 0.5, "deploy": 0.4, "signature": {}}],
    }
]


def read_thresholds(path: Path) -> None:
    """Decide the pairs of the run by a file of thresholds."""
    from assay.analysis.errors.divergence import decide_pairs
    from assay.analysis.errors.settings import Rule

    data = scored()
    decisions = decide_pairs(data, "f1", Rule(threshold=path), seed=0)
    assert np.isfinite(decisions.thresholds).all()


@functools.cache
def scored() -> Any:
    from assay.analysis.data import read_datasets
    from assay.analysis.folder import read_run

    return read_datasets(read_run(run_folder()))[0]


@functools.cache
def stress_result() -> dict[str, Any]:
    """Return the result of a stress test, as a run folder keeps it."""
    import assay

    rows = []
    for number in range(12):
        answer = f"Paris {number}" if number % 2 else "not in 1990"
        rows.append({"question": "where?", "reference": f"Paris {number}", "candidate": answer, "label": number % 2})
    folder = Path(_scratch().name) / "stressed"
    assay.run([rows], ["f1", "contains"], resamples=100, out=folder)
    assay.stress(run=folder, resamples=100)
    return json.loads((folder / "stress.json").read_text(encoding="utf-8"))


def read_stress(path: Path) -> None:
    """Read the result of a stress test and lay it out."""
    from assay.analysis.stress import read_study
    from assay.api.values import Report
    from assay.reports.stress import to_document

    study = read_study(path.parent)
    assert study is not None
    check_numbers(Report(to_document(study, examples=True)))


RESULTS = "system,dataset,statistic,seed,value\nbase,sts,pearson,0,.81\nnode,sts,pearson,0,.82\n"


def read_results(path: Path) -> None:
    from assay.analysis.significance.reading import read_results as read

    rows, _ = read([path])
    assert all(math.isfinite(row.value) for row in rows)


TARGETS = {
    "run": Target(make_run_file, read_run_folder),
    "run-tables": Target(make_run_file, read_run_tables),
    "baseline": Target(
        lambda random: making.changed_json(random, [baseline()]), as_file("baseline.json", read_baseline)
    ),
    "thresholds": Target(
        lambda random: making.changed_json(random, [THRESHOLDS]), as_file("thresholds.json", read_thresholds)
    ),
    "stress": Target(
        lambda random: making.changed_json(random, [stress_result()]), as_file("stress.json", read_stress)
    ),
    "results": Target(damaged(RESULTS), as_file("results.csv", read_results)),
    "results-jsonl": Target(
        damaged('{"system": "a", "dataset": "b", "seed": 0, "value": 0.5}\n'), as_file("results.jsonl", read_results)
    ),
}
