"""Labels that no people gave: said in the tables, and no metric is ranked by them."""

from __future__ import annotations

import pytest

import assay
from assay.analysis.folder import read_run
from assay.analysis.leaderboard.join import Filters, join_runs
from assay.analysis.leaderboard.measurements import boards
from assay.analysis.settings import PairedTests
from assay.reports.formats import format_document
from assay.reports.page.parts import findings_by_bucket
from assay.reports.run import document
from assay.reports.units import read_units

TOLD = "machine-made labels: agreement with them is not agreement with people; never rank metrics by it"


@pytest.fixture
def run(shared_data, monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    metrics = ["levenshtein", "chrf"]
    assay.run(["name-pairs:test", "stsb:test", "squad-sas"], metrics, out=tmp_path / "run", limit=80, resamples=0)
    return read_run(tmp_path / "run")


def test_table_and_page_say_it(run):
    assert format_document(document(run), "md").count(TOLD) == 1
    machine, human, _ = read_units([run])
    assert (machine.data.is_by_people, human.data.is_by_people) == (False, True)
    sentences = [finding.text for finding in findings_by_bucket(machine)]
    assert any("metrics are not ranked by machine-made labels." in one for one in sentences)
    assert not any(one.startswith(("use ", "no metric can be named")) for one in sentences)
    named = [finding.text.startswith(("use ", "no metric can be named")) for finding in findings_by_bucket(human)]
    assert all(named)


def test_the_leaderboards_mean_leaves_them_out(run):
    settings = PairedTests(statistics=("spearman",), resamples=100)
    found = boards(join_runs([run], Filters()), settings, by="spearman", buckets=["all"])
    *single, mean = ({line.metric: line.values["spearman"].value for line in board.lines} for board in found)
    machine, *human = (values["levenshtein"] for values in single)
    assert len(human) == 2 and mean["levenshtein"] == pytest.approx(sum(human) / 2)
    assert mean["levenshtein"] != pytest.approx((machine + sum(human)) / 3)
