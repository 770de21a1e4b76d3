"""Labels of two values: the AUC leads tables, pages and advice, and no ceiling is shown."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import assay
from assay.analysis.folder import read_run
from assay.reports.formats import format_document
from assay.reports.layout import lay_out
from assay.reports.page.parts import findings_by_bucket
from assay.reports.page.render import page_html
from assay.reports.run import CEILING, document
from assay.reports.units import read_units
from assay.statistics.coefficients import (
    DEFAULT_STATISTICS,
    WHY_AUC,
    deciding_statistic,
    default_statistics,
    have_two_values,
    main_statistic,
)

LEADS = ("auc", *DEFAULT_STATISTICS)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))


def write_file(folder, name, levels, n=60):
    """Write n pairs, scored by a good and a bad metric, with as many labels as levels."""
    rng = np.random.default_rng(0)
    labels = np.arange(n) % levels
    rows = [
        {
            "reference": f"gold answer {i}",
            "candidate": f"gold {'answer' if labels[i] else 'reply'} {i}",
            "label": int(labels[i]),
            "good": float(labels[i] + 0.3 * rng.normal()),
            "bad": float(rng.normal()),
            "bad_too": float(np.random.default_rng([1, i]).normal()),
        }
        for i in range(n)
    ]
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def run_of(folder, *levels, metrics=("recorded:good", "recorded:bad"), **settings):
    files = [write_file(folder, f"levels{count}", count) for count in levels]
    assay.run([str(file) for file in files], metrics, out=folder / "run", resamples=100, page=False, **settings)
    return read_run(folder / "run")


def test_what_is_computed_where_no_statistic_is_named():
    assert default_statistics([True]) == default_statistics([True, True]) == LEADS
    assert default_statistics([False]) == default_statistics([]) == DEFAULT_STATISTICS
    assert default_statistics([True, False]) == (*DEFAULT_STATISTICS, "auc")
    assert [deciding_statistic(kinds) for kinds in ([True], [True, False], [])] == ["auc", "spearman", "spearman"]
    assert [main_statistic(names) for names in (LEADS, DEFAULT_STATISTICS, ["kendall"])] == [
        "auc", "spearman", "kendall",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("labels", "two"), [([0, 1, 1], True), ([1, 1], False), ([0, 1, 2], False), ([0, np.nan], False), ([], False)]
)
def test_which_labels_have_two_values(labels, two):
    assert have_two_values(np.array(labels, dtype=float)) is two


def test_the_table_of_two_labels_leads_with_auc_says_why_and_shows_no_ceiling(tmp_path):
    run = run_of(tmp_path, 2)
    assert tuple(run.manifest.request.statistics) == LEADS
    (sheet,) = document(run).sheets
    assert [column.head for column in sheet.columns[2:4]] == ["AUC", "Pearson r"]
    assert WHY_AUC in sheet.facts[0]
    assert CEILING not in {row[1] for row in sheet.rows}
    assert run.manifest.buckets[0].ceiling["spearman"] == pytest.approx(0.75**0.5, abs=0.01), "kept in JSON"
    (unit,) = read_units([run])
    assert unit.main_statistic == "auc"


def test_statistics_that_are_named_and_labels_of_three_values_are_as_before(tmp_path):
    named = run_of(tmp_path, 2, statistics=["kendall", "spearman"])
    assert named.manifest.request.statistics == ["kendall", "spearman"]
    assert WHY_AUC not in format_document(document(named), "md")
    (tmp_path / "graded").mkdir()
    graded = run_of(tmp_path / "graded", 3)
    assert tuple(graded.manifest.request.statistics) == DEFAULT_STATISTICS
    assert CEILING in {row[1] for row in document(graded).sheets[0].rows}


def test_in_a_run_of_both_kinds_auc_leads_where_it_is_defined(tmp_path):
    two, three = lay_out(run_of(tmp_path, 2, 3))
    assert tuple(two.statistics) == LEADS
    assert two.blocks[0].rows[0][1][0].value > 0.9, "cells follow the columns"
    assert tuple(three.statistics) == (*DEFAULT_STATISTICS, "auc")
    assert three.blocks[0].rows[0][1][-1].value is None


def test_the_page_leads_with_auc_and_knows_its_chance(tmp_path):
    run = run_of(tmp_path, 2)
    page = page_html([run], leaderboard=False, categories=False)
    assert page.index("AUC") < page.index("Spearman")
    assert "tie-free ceiling</th>" not in page
    finding, *_ = findings_by_bucket(read_units([run])[0])
    assert finding.answer.startswith("use recorded:good, AUC")
    assert finding.answer.endswith("the other metric is known to be lower.")
    (tmp_path / "weak").mkdir()
    data = run_of(tmp_path / "weak", 2, metrics=["recorded:bad", "recorded:bad_too"])
    finding, *_ = findings_by_bucket(read_units([data])[0])
    assert "no metric can be named; the highest is" in finding.answer
    assert "its interval includes 0.5, which is chance level" in finding.answer


def test_leaderboard_and_compare_lead_with_auc(tmp_path):
    folder = run_of(tmp_path, 2).path
    board = assay.leaderboard(folder, resamples=100)
    assert set(board.records["by"]) == {"auc"}
    assert WHY_AUC in board.to_markdown()
    assert board.to_markdown().index("AUC") < board.to_markdown().index("Spearman")
    assert set(assay.leaderboard(folder, by="kendall", resamples=100).records["by"]) == {"kendall"}
    assert assay.compare(folder, permutations=100, resamples=100).records["statistic"][0] == "auc"


def test_a_run_from_before_auc_led_is_ranked_by_it_too(tmp_path):
    folder = run_of(tmp_path, 2, statistics=DEFAULT_STATISTICS).path
    assert assay.leaderboard(folder, resamples=100).records["by"][0] == "auc"
    assert assay.compare(folder, permutations=100, resamples=100).records["statistic"][0] == "auc"


def test_recommend_decides_by_auc(tmp_path):
    file = write_file(tmp_path, "own", 2)
    advice = assay.recommend(str(file), ["f1", "jaccard"], resamples=100).records.iloc[0]
    assert advice["by"] == "auc"
    assert advice["auc"] > 0.9
    named = assay.recommend(str(file), ["f1", "jaccard"], by="spearman", resamples=100).records.iloc[0]
    assert (named["by"], "spearman" in named) == ("spearman", True)


def test_calibrated_ties_are_ranked_by():
    """The AUC has no calibrated form: it would decide where the user asked for calibrated ties."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 60)
    rows = pd.DataFrame({"reference": "a", "candidate": "b", "label": labels, "one": labels + rng.normal(0, 1, 60)})
    rows["two"] = rows["one"].round()
    result = assay.run([rows], ["recorded:one", "recorded:two"], buckets=["none"], resamples=100)
    assert set(assay.leaderboard(result, resamples=100).records["by"]) == {"auc"}
    assert set(assay.leaderboard(result, resamples=100, calibrate_ties=True).records["by"]) == {"spearman-eq"}
