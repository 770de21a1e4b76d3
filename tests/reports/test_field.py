"""docs/leaderboard-answers: what it says of metrics without a model is computed again and compared, cell by cell."""

from __future__ import annotations

import csv

import pytest

import assay
from assay.benchmark.suite import load_suite
from tests.leaderboard_answers import DOCUMENT, SUITES, TABLE, lines, records_of, rows_of

#: Metrics that take a moment.
METRICS = ["em", "f1", "token-recall", "contains", "rouge-l", "chrf", "levenshtein", "jaro-winkler"]


def published():
    """The rows of the table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def without_speed(row):
    """A row as text, without the speed of a machine."""
    return {key: str(cell) for key, cell in row.items() if key != "pairs_per_second"}


@pytest.mark.parametrize("dataset", ["squad-sas", "germanquad-sas", "squad-sas-recorded"])
def test_a_part_of_the_leaderboard_again(dataset, shared_data, tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    shown = [row for row in published() if row["dataset"] == dataset]
    metrics = METRICS + list(dict.fromkeys(row["metric"] for row in shown if row["metric"].startswith("recorded:")))
    run = tmp_path / "run"
    assay.run([dataset], metrics, out=run, page=False)
    again = {(row["bucket"], row["metric"]): without_speed(row) for row in rows_of(records_of(run, dataset), dataset)}
    written = {(row["bucket"], row["metric"]): without_speed(row) for row in shown if row["metric"] in metrics}
    # which metrics could be the best depends on the others
    for row in (*again.values(), *written.values()):
        row.pop("could_be_best")
    assert again == written and {metric for _, metric in again} == set(metrics)


def test_the_page_is_made_from_the_table():
    assert DOCUMENT.read_text(encoding="utf-8") == "\n".join(lines(published())) + "\n"
    assert f"[All {len(published())} values]" in DOCUMENT.read_text(encoding="utf-8")


def test_every_metric_and_dataset_of_the_suites_is_in_the_table():
    rows = published()
    suites = [load_suite(str(path)) for path in SUITES]
    assert {row["metric"] for row in rows} >= {metric for suite in suites for metric in suite.metrics}
    datasets = {dataset.partition(":")[0] for suite in suites for dataset in suite.datasets}
    assert {row["dataset"] for row in rows} >= datasets


def test_what_could_be_the_best_is_marked(shared_data, tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    run = tmp_path / "run"
    assay.run(["germanquad-sas"], ["f1", "em"], out=run, page=False)
    rows = rows_of(records_of(run, "germanquad-sas"), "germanquad-sas")
    could = {row["metric"]: row["could_be_best"] for row in rows if row["bucket"] == "all"}
    assert could == {"f1": "yes", "em": ""}
