"""``assay profile``: what metrics cost, measured alone."""

from __future__ import annotations

import csv
import json

import pytest

import assay as package
from tests.cli.calling import COLUMNS, process

OWN = ("--dataset", "own.csv", *COLUMNS)
SMALL = ("--pairs", "2,4,9", "--lengths", "1,2", "--repeats", "1")


@pytest.fixture
def model(tmp_path):
    """A bi-encoder's folder."""
    pytest.importorskip("torch", reason="torch is not installed: neural metrics are not measured")
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    from tests.metrics.models.tiny import make_bert

    return make_bert(tmp_path / "tiny", pooling="mean", max_length=32)


@pytest.mark.slow
def test_json_of_lexical_metrics(assay, own_cache):
    done = assay("profile", "-m", "f1", "-m", "chrf", *OWN, *SMALL, "--format", "json", "--quiet")
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    assert (found["dataset"], found["distinct"]) == ("own", 6)
    assert [one["metric"] for one in found["metrics"]] == ["f1", "chrf"]
    for one in found["metrics"]:
        assert [(point["pairs"], point["length"]) for point in one["points"]] == [(2, 1), (4, 1), (9, 1), (4, 2)]
        assert one["over_pairs"]["points"] == 3 and one["over_length"]["r_squared"] is None
        assert one["load_seconds"] > 0 and one["peak_memory_mb"] > 0 and one["parameters"] is None
    assert found["machine"]["assay"] == package.__version__
    assert not list(own_cache.rglob("*.sqlite*")), "no score store is used"


@pytest.mark.slow
def test_a_model(assay, model):
    name = f"bi-encoder:{model}"
    done = assay("profile", "-m", name, *OWN, "--pairs", "3,6", "--lengths", "1,40", "--device", "cpu",
                 "--threads", "1", "--format", "json", "--quiet")  # fmt: skip
    assert (done.code, done.err) == (0, "")
    (one,) = json.loads(done.out)["metrics"]
    from safetensors import safe_open

    with safe_open(model / "model.safetensors", "numpy") as weights:
        parameters = sum(weights.get_tensor(key).size for key in weights.keys())  # noqa: SIM118 - it is not a mapping
    assert one["parameters"] == parameters
    assert (one["device"], one["threads"], one["peak_gpu_memory_mb"]) == ("cpu", 1, None)
    assert [point["truncated"] for point in one["points"]] == [0, 0, 3]


@pytest.mark.slow
def test_a_metric_that_fails_costs_the_others_nothing(assay):
    done = assay("profile", "-m", "bi-encoder:me/absent", "-m", "f1", *OWN, *SMALL, "--offline", "--format", "csv")
    assert done.code == 1
    assert "me/absent" in done.err and "unavailable" in done.err and "Traceback" not in done.err
    absent, *rest = done.rows
    assert (absent["metric"], absent["status"], absent["seconds"]) == ("bi-encoder:me/absent", "unavailable", "")
    assert [(row["metric"], row["pairs"], row["length"]) for row in rest] == [
        ("f1", "2", "1"), ("f1", "4", "1"), ("f1", "9", "1"), ("f1", "4", "2"),
    ]  # fmt: skip


@pytest.mark.slow
def test_table_and_files(assay, workplace):
    done = assay("profile", "-m", "em", *SMALL, "--out", "cost.md")
    assert done.code == 0 and "wrote cost.md" in done.err
    assert "exponent of pairs" in done.out and "pairs/s" in done.out and "probe: " in done.out
    written = (workplace / "cost.md").read_text(encoding="utf-8")
    assert "| metric | pairs/s | load s |" in written and written.count("\n| em |") == 5
    done = assay("profile", "-m", "em", *SMALL, "--out", "cost.csv", "--format", "md", "--quiet")
    assert (done.code, done.err) == (0, "") and done.out.startswith("### Cost of each metric")
    with (workplace / "cost.csv").open(encoding="utf-8", newline="") as stream:
        assert [row["pairs"] for row in csv.DictReader(stream)] == ["2", "4", "9", "4"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "no metric"),
        (("-m", "f2"), "'f2'"),
        (("-m", "f1", "--pairs", "8,x"), "--pairs 8,x"),
        (("-m", "f1", "--pairs", "0"), "--pairs 0"),
        (("-m", "f1", "--lengths", "2,-1"), "--lengths 2,-1"),
        (("-m", "f1", "--repeats", "0"), "--repeats 0"),
        (("-m", "f1", "--device", "tpu"), "--device tpu"),
        (("-m", "f1", "--threads", "0"), "--threads 0"),
        (("-m", "f1", "--format", "xml"), "xml"),
        (("-m", "f1", "--out", "cost.xlsx"), ".json, .csv, .md"),
        (("-m", "f1", "--out", "nowhere/cost.md"), "no folder nowhere"),
        (("-m", "f1", "--dataset", "absent.csv"), "absent.csv"),
        (("-m", "f1", "--columns", "label=x"), "--columns"),
        (("-m", "recorded:human", "--dataset", "own.csv", *COLUMNS), "recorded"),
    ],
)
def test_bad_usage_is_one_line(args, said):
    assert said in process("profile", *args, PYTHONWARNINGS="ignore").complaint


def test_from_python(workplace):
    found = package.profile("f1", [("7 km", "seven km", 2.0), ("a", "b", 0.0)], pairs=[2, 5], lengths=1, repeats=1)
    (one,) = found.metrics
    assert (one.status, found.failures, found.distinct) == ("done", [], 2)
    assert [point.pairs for point in one.points] == [2, 5] and one.over_length is None
    assert found.as_dict()["metrics"][0]["over_pairs"]["points"] == 2
