"""docs/leaderboard-answers.md: what it says of metrics without a model is computed again and compared, cell by cell."""

from __future__ import annotations

import re

import pytest

import assay
from tests.leaderboard_answers import DOCUMENT, SUITES, cell, records_of, table

#: Metrics that take a moment.
METRICS = ["em", "f1", "token-recall", "contains", "rouge-l", "chrf", "levenshtein", "jaro-winkler"]


def published(dataset):
    """The rows of a dataset's table: a list of cells, without marks for the best, by metric."""
    _, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(f"\n## {dataset}\n")
    rows = re.findall(r"^\| `(.+?)` \| (.+) \|$", rest.partition("\n## ")[0], re.MULTILINE)
    return {metric: cells.replace("**", "").split(" | ") for metric, cells in rows}


@pytest.mark.parametrize("dataset", ["squad-sas", "germanquad-sas", "squad-sas-recorded"])
def test_a_part_of_the_leaderboard_again(dataset, shared_data, tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    shown = published(dataset)
    metrics = METRICS + [name for name in shown if name.startswith("recorded:")]
    assert set(metrics) <= set(shown)
    run = tmp_path / "run"
    assay.run([dataset], metrics, out=run, page=False)
    rows = [re.match(r"\| `(.+?)` \| (.+) \|$", line) for line in table(records_of(run, dataset))]
    again = {row[1]: row[2].replace("**", "").split(" | ") for row in rows if row}
    # the last cell is the speed of a machine
    assert {name: cells[:-1] for name, cells in again.items()} == {name: shown[name][:-1] for name in metrics}


def test_every_metric_of_the_suites_is_on_the_leaderboard():
    text = DOCUMENT.read_text(encoding="utf-8")
    suites = [assay.benchmark.suite.load_suite(str(path)) for path in SUITES]
    for suite in suites:
        for metric in suite.metrics:
            assert f"| `{metric}` |" in text or f"- {metric}" in text
        for dataset in suite.datasets:
            assert f"\n## {dataset.partition(':')[0]}" in text or f"- {dataset}" in text


def test_what_could_be_the_best_is_bold(shared_data, tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    run = tmp_path / "run"
    assay.run(["germanquad-sas"], ["f1", "em"], out=run, page=False)
    records = records_of(run, "germanquad-sas").set_index(["bucket", "metric"])
    best, other = (cell(records.loc[("all", metric)], "spearman") for metric in ("f1", "em"))
    assert best.startswith("**.") and not other.startswith("**")
