"""The typed contents of a run folder: what is written is what is read, and what is damaged is named."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

import assay
from assay.analysis.folder import read_run
from assay.manifest import AgreementRow, Cost, Manifest, MetricRecord
from assay.metrics.work import release_sessions
from tests.paid import Paid

ROWS = [("a b", "a c", 1.0), ("d e", "d e", 2.0), ("f", "g", 0.0), ("h i", "h", 1.0)]
COSTS = {
    "stored": {},
    "engine": {
        "pairs_per_second": 80.2,
        "load_seconds": 1.5,
        "devices": ["cpu"],
        "peak_memory_mb": 807,
        "asymmetry": {"mean": 0.1, "largest": 0.5, "pairs": 3},
        "shared_with": ["f1"],
    },
    "paid": {"pairs_per_second": 30.0, "price_per_1000": 0.42, "calls": 12, "price": 0.01, "peak_memory_mb": 90},
    "free": {"price_per_1000": 0.0},
    "preset": {"1": {"pairs_per_second": 2.0, "peak_memory_mb": 5}, "2": {"peak_memory_mb": 6}},
}


@pytest.fixture
def written(tmp_path):
    assay.run([ROWS], ["f1", "ter"], resamples=100, out=tmp_path / "run", page=False)
    return tmp_path / "run"


def test_a_folder_that_is_read_gives_its_own_text(written):
    run = read_run(written)
    texts = {
        "run.json": run.manifest.model_dump(by_alias=True),
        "agreement.json": [row.plain_values() for row in run.agreement],
    }
    for name, values in texts.items():
        # key by key, in the same order
        assert json.dumps(values, indent=1) + "\n" == (written / name).read_text(), name


@pytest.mark.parametrize("cost", COSTS.values(), ids=COSTS)
def test_a_cost_keeps_its_keys_and_their_order(cost):
    read = Cost.model_validate(cost)
    assert json.dumps(read.model_dump()) == json.dumps(cost)
    assert read.is_empty == (not cost)


def test_what_an_engine_reports_is_told_from_what_every_run_has():
    cost = Cost.model_validate(COSTS["engine"])
    assert (cost.pairs_per_second, cost.peak_memory_mb, cost.shared_with) == (80.2, 807, ["f1"])
    assert cost.asymmetry is not None and cost.asymmetry.largest == 0.5
    assert cost.details == {"load_seconds": 1.5, "devices": ["cpu"]}


def test_the_price_of_an_engine_is_a_field_and_older_folders_have_none(tmp_path):
    release_sessions()
    ask = {"resamples": 0, "buckets": "none", "page": False, "store": tmp_path / "scores.sqlite"}
    metrics = [Paid(price=0.25), Paid(price=0.5, remembers=True), "f1"]
    first = assay.run([ROWS], metrics, out=tmp_path / "first", **ask)
    assert [record.cost.price_per_1000 for record in first.outcome.metrics] == [0.25, 0.5, None]
    cost = read_run(tmp_path / "first").manifest.metrics[0].cost
    assert (cost.price_per_1000, cost.details["calls"], cost.details["price"]) == (0.25, 4, 0.001)
    written = json.loads((tmp_path / "first" / "run.json").read_text())["metrics"]
    assert [record["cost"].get("price_per_1000") for record in written] == [0.25, 0.5, None]
    assert "price_per_1000" not in cost.details and "price_per_1000" not in written[2]["cost"]
    # nothing is spent where the store has all: the price is that which the metric remembers
    again = assay.run([ROWS], metrics, out=tmp_path / "again", **ask)
    assert [record.scored for record in again.outcome.metrics] == [0, 0, 0]
    speeds = [record.cost.pairs_per_second for record in first.outcome.metrics]
    assert [record.cost for record in again.outcome.metrics] == [
        Cost(pairs_per_second=speed, price_per_1000=price)
        for speed, price in zip(speeds, (None, 0.5, None), strict=True)
    ]


@pytest.mark.parametrize("price", [-0.1, "0.5"])
def test_what_is_no_price_is_refused(price):
    with pytest.raises(ValidationError, match="price_per_1000"):
        Cost.model_validate({"price_per_1000": price})


def test_a_metric_without_scores_declares_nothing():
    record = MetricRecord.without_scores("data", "x", "unavailable", "no torch", "pip install torch")
    values = record.model_dump()
    assert (values["declared"], values["cost"], values["signature"]) == ({}, {}, {})
    assert record.missing_reason == "unavailable, no torch -> pip install torch"


def _with_unknown_keys(value):
    """Return a value of a JSON file with a key more in every object of declared keys."""
    if isinstance(value, list):
        return [_with_unknown_keys(item) for item in value]
    if not isinstance(value, dict):
        return value
    inner = {key: _with_unknown_keys(item) for key, item in value.items()}
    # packages, signatures, labels and so on are read under any key
    return inner if all(isinstance(item, str | float) for item in inner.values()) else inner | {"__class__": [{}]}


def test_unknown_keys_change_nothing(written):
    before = read_run(written)
    for name in ("run.json", "agreement.json"):
        path = written / name
        path.write_text(json.dumps(_with_unknown_keys(json.loads(path.read_text()))))
    after = read_run(written)
    assert after.agreement == before.agreement
    assert after.manifest.request == before.manifest.request
    assert after.manifest.datasets == before.manifest.datasets
    assert [metric.cost.pairs_per_second for metric in after.manifest.metrics] == [
        metric.cost.pairs_per_second for metric in before.manifest.metrics
    ]


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("schema", True, "schema: Input should be a valid integer"),
        ("metrics", {}, "metrics: Input should be a valid list"),
        ("failures", [3], "failures.0: Input should be a valid string"),
        ("seconds", {"score": "long"}, "seconds.score: Input should be a valid number"),
        ("environment", None, "environment: Input should be a valid dictionary"),
    ],
)
def test_a_damaged_value_is_named_in_one_line(written, key, value, problem):
    values = json.loads((written / "run.json").read_text())
    (written / "run.json").write_text(json.dumps(values | {key: value}))
    with pytest.raises(assay.InputError) as refused:
        read_run(written)
    assert f"run.json: {problem}" in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "cost", [3, {"details": 3}, {"asymmetry": {"mean": 1.0}}, {"pairs_per_second": "fast", "x": 1}]
)
def test_a_damaged_cost_is_refused(written, cost):
    values = json.loads((written / "run.json").read_text())
    values["metrics"][0]["cost"] = cost
    with pytest.raises(ValidationError):
        Manifest.model_validate(values)


def test_a_row_has_no_number_that_json_lacks():
    values = dict.fromkeys(("dataset", "split", "bucket", "metric", "statistic", "note"), "")
    with pytest.raises(ValidationError):
        AgreementRow(**values, value=float("nan"), low=None, high=None, n=1)
