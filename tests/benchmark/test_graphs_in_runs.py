"""Graphs on their way from a dataset through a run, and metrics that stand for several."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow.parquet as pq
import pytest

import assay
from assay.api.score import score
from assay.benchmark.singles import Singles
from assay.datasets import load_dataset
from assay.exceptions import UnavailableError
from assay.metrics import Batch, Declaration, Metric, load_metric

ROWS = [
    {"reference": "a", "candidate": "b", "label": 2, "reference_graph": "(b / boy)", "candidate_graph": "(b / boy)"},
    {"reference": "a", "candidate": "b", "label": 0, "reference_graph": "(b / boy)", "candidate_graph": "(g / girl)"},
    {"reference": "c", "candidate": "b", "label": 1, "reference_graph": "(m / man)", "candidate_graph": "(m / man)"},
]


@dataclass(frozen=True)
class SameGraph(Metric):
    """1 for equal graphs, less so much for others; its name asks for a second metric."""

    less: float = 1.0

    declaration = Declaration(name="same-graph", summary="equal graphs", reads_graphs=True)

    def score(self, batch: Batch) -> np.ndarray:
        assert batch.reference_graphs is not None and batch.candidate_graphs is not None
        pairs = zip(batch.reference_graphs, batch.candidate_graphs, strict=True)
        return np.array([1.0 if one == other else 1.0 - self.less for one, other in pairs])

    def expand(self) -> tuple[Metric, ...]:
        part = SameGraph(less=0.5)
        part.redeclare(aspect="half", whole="same-graph")
        return self, part


def test_a_metric_of_graphs_tells_pairs_apart_that_have_the_same_texts():
    result = assay.run([ROWS], [SameGraph()], resamples=0, buckets=("none",))
    scores = result.scores.pivot(index="pair_id", columns="metric", values="score")
    assert scores["same-graph"].tolist() == [1.0, 0.0, 1.0]
    assert scores["same-graph,less=0.5"].tolist() == [1.0, 0.5, 1.0]


def test_the_run_folder_keeps_graphs_and_says_what_is_an_aspect_of_what(tmp_path):
    assay.run([ROWS], [SameGraph(), "f1"], resamples=0, out=tmp_path / "run")
    kept = pq.read_table(tmp_path / "run" / "pairs.parquet")
    assert kept.column("candidate_graph").to_pylist() == [row["candidate_graph"] for row in ROWS]
    manifest = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    declared = {one["metric"]: one["declared"] for one in manifest["metrics"]}
    assert declared["same-graph,less=0.5"]["aspect"] == "half"
    assert declared["same-graph,less=0.5"]["whole"] == "same-graph"
    assert "aspect" not in declared["f1"]


def test_data_without_graphs_gives_a_metric_none():
    seen = []

    @dataclass(frozen=True)
    class Looking(SameGraph):
        def score(self, batch: Batch) -> np.ndarray:
            seen.append((batch.reference_graphs, batch.candidate_graphs))
            return np.zeros(len(batch))

    rows = [{key: row[key] for key in ("reference", "candidate", "label")} for row in ROWS]
    assay.run([rows], [Looking()], resamples=0, buckets=("none",))
    assert set(seen) == {(None, None)}


def test_a_batch_carries_graphs_with_its_pairs():
    batch = Batch(["a", "b"], ["c", "d"], None, ["A", "B"], ["C", "D"])
    assert batch.take([1]) == Batch(["b"], ["d"], None, ["B"], ["D"])
    assert batch.swapped() == Batch(["c", "d"], ["a", "b"], None, ["C", "D"], ["A", "B"])
    assert replace(batch, questions=["?", "!"]).take([0]).questions == ["?"]


def test_a_graph_of_one_side_is_not_taken_for_one_of_the_other():
    digests = []
    reads = replace(load_metric("f1").declaration, reads_graphs=True)
    for name in ("reference_graph", "candidate_graph"):
        row = {"reference": "a", "candidate": "b", "label": 1, name: "(b / boy)"}
        digests.append(Singles(load_dataset([row]), reads).digests.tolist())
    assert digests[0] != digests[1]


@dataclass(frozen=True)
class Fetched(SameGraph):
    """Has to be fetched before it knows its aspects; ``gone`` cannot be had."""

    gone: bool = False
    here: ClassVar[list[bool]] = []

    declaration = Declaration(name="fetched", summary="equal texts")

    def score(self, batch: Batch) -> np.ndarray:
        return np.array([float(one == other) for one, other in batch.pairs()])

    def obtain(self, *, offline: bool = False) -> None:
        if self.gone or offline:
            raise UnavailableError("it is nowhere", "look elsewhere")
        self.here.append(True)

    def expand(self) -> tuple[Metric, ...]:
        if not self.here:
            raise UnavailableError("it is not on this machine", "fetch it")
        return self, Fetched(less=0.5)


def test_what_a_metric_needs_is_fetched_before_its_aspects_are_asked_for(monkeypatch, tmp_path):
    monkeypatch.setattr(Fetched, "here", [])
    with pytest.raises(UnavailableError, match="nowhere"):
        assay.run([ROWS], [Fetched()], resamples=0, offline=True)
    result = assay.run([ROWS], ["em", Fetched(gone=True)], resamples=0, buckets=("none",))
    assert result.failures == ["metric fetched,gone=true on data: it is nowhere -> look elsewhere"]
    result = assay.run([ROWS], [Fetched()], resamples=0, buckets=("none",))
    assert set(result.scores["metric"]) == {"fetched", "fetched,less=0.5"}

    monkeypatch.setattr(Fetched, "here", [])
    monkeypatch.setattr("assay.api.run.load_metric", lambda name: {"fetched": Fetched()}.get(name, Fetched(gone=True)))
    (tmp_path / "pairs.csv").write_text("reference,candidate\na,b\nc,c\n")
    lines = score(tmp_path / "pairs.csv", ["gone", "fetched"], tmp_path / "out.csv")
    assert lines == ["metric gone on pairs: it is nowhere -> look elsewhere"]
    assert (tmp_path / "out.csv").read_text().split() == [
        'reference,candidate,fetched,"fetched,less=0.5"',
        "a,b,0.0,0.0",
        "c,c,1.0,1.0",
    ]
