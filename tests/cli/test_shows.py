"""What the project shows first: published tables, and one labelled file with recorded scores."""

from __future__ import annotations

import json
import re
from collections import Counter

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


@pytest.mark.parametrize(
    ("name", "sizes", "shares", "characters"),
    [
        ("squad-sas-recorded", (939, 565), (56.7, 30.7, 12.7), 23),
        # the paper's 423 and 124 count two rows without a label, one of them without a common token; its shares do not
        ("germanquad-sas-recorded", (421, 123), (27.3, 51.5, 21.1), 68),
        ("nq-open-sas-recorded", (3559, 3030), (71.7, 16.6, 11.7), 13),
    ],
)
def test_table_1_is_what_show_measures(published, assay, name, sizes, shares, characters):
    distinct = json.loads(assay("datasets", "show", name, "--json").out)["measured"]["distinct"]
    assert (distinct["pairs"], distinct["no_common_token"]) == sizes
    assert tuple(round(100 * share, 1) for share in distinct["label_shares"].values()) == shares
    assert round((distinct["reference_length"] + distinct["candidate_length"]) / 2) == characters
    assert f"distinct pairs of test: {sizes[0]:,}, {sizes[1]:,} of them without" in assay("datasets", "show", name).out


def test_table_3_and_the_points_of_figure_3_that_table_2_prints(published, assay, tmp_path):
    assert "42 of 42 cells equal as printed (6 of them undefined" in assay("reproduce", "sas-table-3").out
    done = assay("reproduce", "sas-figure-3", "--out", tmp_path / "run", "--format", "json")
    assert done.code == 0, done.err
    cells = json.loads(done.out)
    assert Counter(cell["verdict"] for cell in cells) == {"equal": 8, "not printed": 226}
    assert all(cell["value"] is not None for cell in cells)
    pytest.importorskip("matplotlib", reason='figures need pip install "assay[plots]"')
    drawn = assay("figure", tmp_path / "run", "--kind", "layers", "--out", tmp_path / "layers.svg")
    assert drawn.code == 0, drawn.err
    text = (tmp_path / "layers.svg").read_text(encoding="utf-8")
    assert ">recorded:{layer}_bert_score<" in text
    assert ">recorded:{layer}_bert_score_prime<" in text


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
    assert re.findall(r"^(?:bamboo|s3bert-[\w-]+|sas-[\w-]+)", done.out, re.MULTILINE) == [
        "bamboo",
        "s3bert-table-2",
        "sas-figure-3",
        "sas-table-2",
        "sas-table-2-lexical",
        "sas-table-3",
        "sas-table-3-lexical",
    ]
    assert "Did you mean 'sas-table-2'" in assay("reproduce", "sas-table2").complaint


@pytest.mark.slow
def test_the_bag_of_words_of_s3bert_and_the_kernel(published, assay):
    pytest.importorskip("penman", reason="the extra amr is not installed")
    done = assay("reproduce", "s3bert-table-2", "--format", "json")
    assert done.code == 0, done.err
    verdicts = {(cell["row"], cell["column"]): cell["verdict"] for cell in json.loads(done.out)}
    assert verdicts == {
        ("bag-of-words", "STSb"): "equal",
        ("bag-of-words", "SICK"): "equal",
        ("WLKERNEL", "STSb"): "within .3",
        ("WLKERNEL", "SICK"): "equal",
    }


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
