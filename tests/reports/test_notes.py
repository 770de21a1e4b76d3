"""Notes on a number are one each, whatever characters the data brings into them."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest
from rich.console import Console

import assay
from assay.analysis.folder import read_run
from assay.manifest import AgreementRow
from assay.reports.run import document
from assay.reports.terminal import TerminalReport

ROW = dict.fromkeys(("dataset", "split", "bucket", "metric", "statistic"), "x") | {
    "value": None,
    "low": None,
    "high": None,
    "n": 3,
}


def written(folder, subset):
    """Return a kept run with a mean that is undefined in a subset of this name."""
    pairs = [("a b", "a b", 1, subset), ("a b", "c a", 1, subset), ("d e", "d e", 2, "z"), ("f g h", "f", 0, "z")]
    rows = [dict(zip(("reference", "candidate", "label", "part"), pair, strict=True)) for pair in pairs]
    assay.run([rows], ["f1"], buckets=["part"], statistics=["spearman"], resamples=0, out=folder)
    return read_run(folder)


@pytest.mark.parametrize("subset", ["x; y", "no; no; no", "plain"])
def test_a_subset_whose_name_has_a_semicolon_has_one_footnote(tmp_path, subset):
    run = written(tmp_path / "run", subset)
    expected = f"undefined in part={subset}"

    shown = io.StringIO()
    Console(file=shown, width=200).print(TerminalReport(document(run)))
    footnotes = [line for line in shown.getvalue().splitlines() if line.startswith("* ")]

    assert footnotes == [f"* constant label: f1 (part={subset})", f"* {expected}: f1 (mean over part)"]
    listed = re.search(
        r'<(?P<tag>[a-z]+)[^>]*class="notes".*?</(?P=tag)>', (tmp_path / "run" / "report.html").read_text(), re.S
    )
    assert listed and expected in listed[0]


@pytest.mark.parametrize("subset", ["x; y", "plain"])
def test_the_table_keeps_its_columns_and_the_folder_the_notes(tmp_path, subset):
    run = written(tmp_path / "run", subset)
    (mean,) = [row for row in run.agreement if row.bucket == "mean over part"]
    (stored,) = [row for row in json.loads((run.path / "agreement.json").read_text()) if row["bucket"] == mean.bucket]
    with (run.path / "agreement.csv").open() as file:
        (line,) = [row for row in csv.DictReader(file) if row["bucket"] == mean.bucket]

    assert mean.notes == (f"undefined in part={subset}",)
    assert list(line)[-1] == "note" and line["note"] == stored["note"] == mean.notes[0]
    assert ("notes" in stored) == (";" in subset)


@pytest.mark.parametrize(
    ("stored", "notes"),
    [
        ({"note": ""}, ()),
        ({"note": "few pairs"}, ("few pairs",)),
        ({"note": "few pairs; sign turned"}, ("few pairs", "sign turned")),
        ({"note": "undefined in x; y; few", "notes": ["undefined in x; y", "few"]}, ("undefined in x; y", "few")),
    ],
)
def test_a_stored_row_gives_its_notes_and_is_stored_again_as_it_was(stored, notes):
    row = AgreementRow.model_validate(ROW | stored)

    assert row.notes == row.number.notes == notes
    assert row.stored_values() == ROW | stored


@pytest.mark.parametrize("damaged", [{}, {"note": 3}, {"note": "", "notes": "few"}, {"note": "", "notes": [3]}])
def test_a_row_without_readable_notes_is_refused(damaged):
    with pytest.raises(ValueError, match="notes"):
        AgreementRow.model_validate(ROW | damaged)
