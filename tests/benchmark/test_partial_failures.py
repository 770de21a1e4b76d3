"""A metric that fails on a part of the data, or alone among those of its engine, costs the others nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import assay
from assay.analysis.data import read_datasets
from assay.analysis.folder import read_run
from assay.benchmark.executor import InProcess, UnitLostError, score_unit
from assay.exceptions import UnavailableError
from assay.metrics.base import Declaration, Metric, option
from assay.metrics.scores import Scores
from assay.metrics.work import open_session, release_sessions
from assay.reports.page.render import page_html
from assay.reports.units import read_units

ROWS = [
    {"reference": f"r{i}", "candidate": f"c{i % 7} r{i % 3}", "label": i % 3, "language": "en" if i < 15 else "de"}
    for i in range(30)
]


@dataclass(frozen=True)
class EnglishAlone(Metric):
    """Scores English; of German it knows too late that it cannot."""

    language: str = option("", "of the texts")
    declaration: ClassVar[Declaration] = Declaration(name="english-alone", summary="raises for German")
    scored: ClassVar[list[int]] = []

    @property
    def picks_by_language(self):
        return self.language == ""

    def bind(self, context):
        return replace(self, language=context.language or "en")

    def score(self, batch):
        if self.language == "de":
            raise ValueError("boom")
        self.scored.append(len(batch))
        return np.arange(len(batch), dtype=float)


@pytest.fixture(autouse=True)
def counted():
    EnglishAlone.scored.clear()


def test_a_metric_that_fails_on_a_part_has_no_number_and_the_folder_is_whole(tmp_path):
    folder = tmp_path / "run"
    result = assay.run(ROWS, ["f1", EnglishAlone()], buckets="none", resamples=0, out=folder)
    assert [(one.metric, one.status) for one in result.outcome.metrics] == [("f1", "done"), ("english-alone", "failed")]
    assert "metric english-alone on data: ValueError: boom" in result.failures
    assert set(result.agreement.metric) == {"f1"}
    assert set(result.scores.metric) == {"f1"}
    assert (folder / "report.html").is_file()
    (data,) = read_datasets(read_run(folder))
    assert list(data.scores) == ["f1"]
    # the half that it could score is in the store
    assert sum(EnglishAlone.scored) == 15
    assay.run(ROWS, ["f1", EnglishAlone()], buckets="none", resamples=0)
    assert sum(EnglishAlone.scored) == 15


def test_a_folder_with_lines_of_a_metric_that_failed_on_a_part_is_shown(tmp_path):
    """Earlier versions wrote them."""
    folder = tmp_path / "run"
    assay.run(ROWS, ["f1", "levenshtein"], buckets=["none", "label=0"], resamples=0, out=folder)
    manifest = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    (one,) = (one for one in manifest["metrics"] if one["metric"] == "levenshtein")
    one.update(status="failed", reason="ValueError: boom", signature={}, short_signature="", declared={})
    (folder / "run.json").write_text(json.dumps(manifest), encoding="utf-8")
    (unit,) = read_units([read_run(folder)])
    assert unit.ranking("spearman") == ["f1"]
    assert [[name for name, _, _ in block.rows] for block in unit.blocks] == [["f1"]] * 3
    assert "f1" in page_html([read_run(folder)], leaderboard=False, categories=False)


opened: list[str] = []


@dataclass(frozen=True)
class Shared:
    """An engine of several metrics."""

    absent: bool = False
    pairs: int = 100

    def open(self):
        opened.append("opened")
        if self.absent:
            raise UnavailableError("no model", "fetch it")
        return Session()


class Session:
    def score(self, metrics, batch, again=()):
        for metric in metrics:
            if metric.bad:
                raise UnavailableError("aspect needs vectors", "give vectors=FILE")
        lengths = np.array([[len(a) + len(b)] * len(metrics) for a, b in batch.pairs()], dtype=float)
        return Scores(lengths, np.zeros(lengths.shape, dtype=np.uint8), np.zeros(len(metrics)))

    def cost(self):
        return {"texts": 3}

    def close(self):
        pass


@dataclass(frozen=True)
class Sharing(Metric):
    bad: bool = option(False, "lacks something")
    weight: float = option(1.0, "tells metrics apart")
    absent: bool = option(False, "the engine cannot be opened")
    declaration: ClassVar[Declaration] = Declaration(name="sharing", summary="shares an engine")

    def needs(self):
        return Shared(self.absent)

    def score(self, batch):
        raise AssertionError("without its engine")


@pytest.fixture
def openings():
    release_sessions()
    opened.clear()
    yield opened
    release_sessions()


def test_what_one_metric_of_an_engine_lacks_costs_the_others_nothing(openings):
    result = assay.run(ROWS, [Sharing(), Sharing(bad=True)], buckets="none", resamples=0, language="en")
    assert [(one.status, one.reason, one.remedy) for one in result.outcome.metrics] == [
        ("done", "", ""),
        ("unavailable", "aspect needs vectors", "give vectors=FILE"),
    ]
    assert set(result.agreement.metric) == {"sharing"}
    assert len(openings) == 1


def test_an_engine_that_cannot_be_opened_is_tried_once(openings):
    metrics = ["f1", Sharing(absent=True), Sharing(absent=True, weight=2.0)]
    result = assay.run(ROWS, metrics, buckets="none", resamples=0, language="en")
    assert [(one.status, one.reason, one.remedy) for one in result.outcome.metrics[1:]] == [
        ("unavailable", "no model", "fetch it")
    ] * 2
    assert len(openings) == 1


def test_the_cost_of_an_engine_that_is_not_open_is_nothing(openings):
    executor = InProcess()
    assert executor.cost(Shared()) == {}
    assert openings == []
    open_session(Shared())
    assert executor.cost(Shared()) == {"texts": 3}
    executor.close()
    assert executor.cost(Shared()) == {}


class Losing(InProcess):
    """An executor whose processes do not survive one unit of one metric; it returns the others out of order."""

    def __init__(self, metric, number):
        super().__init__()
        self.metric, self.number, self.taken = metric, number, []

    def map(self, units):
        outcomes = []
        for unit in units:
            name = str(unit.metrics[0])
            position = sum(taken == name for taken in self.taken)
            self.taken.append(name)
            if (name, position) == (self.metric, self.number):
                yield unit.number, UnitLostError("ended the process that scored it twice, by signal 9")
            else:
                outcomes.append((unit.number, score_unit(unit)))
        yield from reversed(outcomes)


def test_a_unit_that_is_lost_costs_its_metric_and_is_named(monkeypatch):
    monkeypatch.setattr("assay.benchmark.scoring.CHUNK", 10)
    whole = assay.run(ROWS, ["em", "chrf"], buckets="none", resamples=0, fresh=True)
    executor = Losing("levenshtein", 1)
    result = assay.run(ROWS, ["em", "levenshtein", "chrf"], buckets="none", resamples=0, fresh=True, executor=executor)
    assert result.failures == [
        "metric levenshtein on data: ended the process that scored it twice, by signal 9 (pairs 10 to 19)"
    ]
    # what is left of a metric that failed is not scored
    assert executor.taken == ["em"] * 3 + ["levenshtein"] * 2 + ["chrf"] * 3
    assert result.agreement.equals(whole.agreement)
