"""What the project shows first: published tables, and one labelled file with recorded scores."""

from __future__ import annotations

import json
import re

import pytest

from tests.cli.calling import agreement

RHO_TAU = {
    ("ROUGE-L", "SQuAD, F1 = 0"): (".04", ".04"),
    ("METEOR", "SQuAD, F1 = 0"): (".21", ".20"),
    ("Bi-Encoder", "SQuAD, F1 = 0"): (".37", ".30"),
    ("BERTScore vanilla", "SQuAD, F1 = 0"): (".13", ".11"),
    ("BERTScore trained", "SQuAD, F1 = 0"): (".39", ".32"),
    ("SAS", "SQuAD, F1 = 0"): (".36", ".29"),
    ("New BERTScore", "SQuAD, F1 = 0"): (".40", ".32"),
    ("SAS", "NQ-open, F1 ≠ 0"): (".65", ".51"),
    ("F1-score", "NQ-open, F1 ≠ 0"): (".41", ".34"),
    ("BLEU", "NQ-open, F1 ≠ 0"): (".05", ".05"),
}


@pytest.fixture
def published(shared_data, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))


def test_table_2_comes_out_as_printed_but_for_two_cells_rounded_twice(published, assay):
    done = assay("reproduce", "sas-table-2", "--format", "json")
    assert (done.code, done.err) == (0, "")
    cells = {(cell["row"], cell["column"]): cell for cell in json.loads(done.out)}
    assert len(cells) == 80
    twice = {key: cell["value"] for key, cell in cells.items() if cell["verdict"] == "rounded twice in print"}
    assert twice == {
        ("SAS", "SQuAD, F1 ≠ 0, ρ"): pytest.approx(0.7346, abs=5e-5),
        ("BERTScore trained", "NQ-open, F1 = 0, ρ"): pytest.approx(0.2246, abs=5e-5),
    }
    undefined = {key for key, cell in cells.items() if cell["verdict"] == "undefined, printed as zero"}
    assert undefined == {
        (row, f"{data}, F1 = 0, {sign}")
        for row in ("BLEU", "F1-score")
        for data in ("SQuAD", "NQ-open")
        for sign in "ρτ"
    }
    assert all(cells[key]["value"] is None for key in undefined)
    assert sum(cell["verdict"] == "equal" for cell in cells.values()) == 70
    for (row, column), (rho, tau) in RHO_TAU.items():
        assert f"{cells[row, f'{column}, ρ']['value']:.2f}" == "0" + rho
        assert f"{cells[row, f'{column}, τ']['value']:.2f}" == "0" + tau


def test_the_baseline_of_sts_2017_comes_out_within_a_tenth(published, assay):
    done = assay("reproduce", "sts17-baseline", "--format", "json")
    assert done.code == 0, done.err
    cells = {cell["column"]: (cell["verdict"], cell["value"]) for cell in json.loads(done.out)}
    assert cells == {
        "Arabic": ("within .1", pytest.approx(60.43, abs=0.005)),
        "Spanish": ("equal", pytest.approx(71.17, abs=0.005)),
        "English": ("within .1", pytest.approx(72.68, abs=0.005)),
    }


def test_table_2_is_summed_up_for_a_reader(published, assay):
    done = assay("reproduce", "sas-table-2")
    assert "78 of 80 cells equal as printed (8 of them undefined here and printed as zero); 2 rounded twice" in done.out
    line = next(line for line in done.out.splitlines() if "SAS" in line and "SQuAD, F1 ≠ 0, ρ" in line)
    assert "0.74" in line and "0.7346" in line and "rounded twice in print" in line


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "verdict"), [("sas-table-2-lexical", "32 of 32 cells"), ("sas-table-3-lexical", "18 of 18 cells")]
)
def test_the_lexical_rows_come_out_of_our_own_metrics(published, assay, name, verdict):
    from assay.exceptions import UnavailableError
    from assay.metrics import load_metric

    try:
        load_metric("meteor:paper").check_available()
    except UnavailableError as error:
        pytest.skip(str(error))
    done = assay("reproduce", name, "--format", "md")
    assert done.code == 0, done.err
    assert verdict in done.out


def test_the_published_tables_are_listed_and_a_wrong_name_answered(assay):
    done = assay("reproduce")
    assert re.findall(r"^(?:bamboo|sas-[\w-]+)", done.out, re.MULTILINE) == [
        "bamboo",
        "sas-table-2",
        "sas-table-2-lexical",
        "sas-table-3-lexical",
    ]
    assert "Did you mean 'sas-table-2'" in assay("reproduce", "sas-table2").complaint


def test_recorded_sas_on_squad(shared_data, assay):
    done = assay(
        *("run", "--dataset", shared_data / "sas" / "recorded" / "squad.csv"),
        *("--columns", "reference=answer1,candidate=answer2,label=label"),
        *("--metric", "recorded:sas", "--metric", "recorded:berttrained", "--metric", "f1"),
        *("--bucket", "f1", "--drop-duplicates", "--out", "OUT"),
    )
    assert done.code == 0, done.err
    from pathlib import Path

    rows = agreement(Path("OUT"))
    low, high = rows["f1=0", "recorded:sas", "spearman"], rows["f1>0", "recorded:sas", "spearman"]
    assert (low["n"], round(low["value"], 3)) == (565, 0.358)
    assert (high["n"], round(high["value"], 3)) == (374, 0.734)
    assert low["low"] < low["value"] < low["high"]
    undefined = rows["f1=0", "f1", "kendall"]
    assert (undefined["value"], undefined["low"], undefined["note"]) == (None, None, "constant score")
    assert "3 duplicate rows left out" in done.out
