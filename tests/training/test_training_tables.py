"""Results of trainings as a reader sees them: agreement before and after, forms told apart, the nearest sentences."""

from __future__ import annotations

from assay.reports.formats import format_document
from assay.reports.train import agreement_document, alignment_document, neighbours_document

RECORD = {
    "dataset": "stsb:test", "statistic": "spearman", "n": 1379, "before": 0.78594, "after": 0.8521, "gain": 0.06616,
    "low": 0.0521, "high": 0.08194, "p": 0.0004,
}  # fmt: skip


def cells(document):
    """The cells of all rows, table after table."""
    return [list(row) for sheet in document.sheets for row in sheet.rows]


def test_one_model():
    found = agreement_document({"agreement": [RECORD], "seeds": [0]})
    assert cells(found) == [
        ["stsb:test", "spearman", "1,379", "0.7859", "0.8521", "+0.0662", "[+0.0521, +0.0819]", "< .001"]
    ]
    (sheet,) = found.sheets
    assert sheet.title == "Agreement with people on the test pairs"
    assert [one.head for one in sheet.columns][2:] == ["n", "before", "after", "gain", "95 %", "p"]
    assert len(sheet.notes) == 1 and "not corrected for the number of lines" in sheet.notes[0]
    assert list(found.records) == [RECORD]


def test_several_models_have_spread_and_both_tests():
    found = agreement_document({"agreement": [RECORD | {"sd": 0.0012, "p_seeds": 0.0412}], "seeds": [0, 1, 2]})
    (row,) = cells(found)
    assert (row[5], row[-2:]) == ("0.0012", ["< .001", ".041"])
    (sheet,) = found.sheets
    assert sheet.title.endswith("test pairs, 3 seeds")
    assert len(row) == len(sheet.columns)
    assert "not of the choice of pairs" in sheet.notes[-1]


def test_a_base_without_scores_and_labels_of_a_machine():
    bare = RECORD | dict.fromkeys(("before", "gain", "low", "high", "p"))
    found = agreement_document({"agreement": [bare], "seeds": [0], "machine_labels": ["made:test"]})
    assert cells(found) == [["stsb:test", "spearman", "1,379", "–", "0.8521", "–", "–", "–"]]
    (sheet,) = found.sheets
    assert sheet.title == "Agreement with labels on the test pairs"
    assert sheet.notes[0] == "The model that was started from gives no such scores by itself."
    assert sheet.notes[1].startswith("made:test: ")


NEAR = {
    "query": "a <b>cat</b>",
    "base": [{"text": "a dog", "cosine": 0.5}, {"text": "a cow", "cosine": 0.25}],
    "trained": [{"text": "cats | dogs", "cosine": 0.875}, {"text": "a dog", "cosine": 0.75}],
}


def test_a_mid_tuning_without_test_pairs_and_of_a_classifier():
    results = {
        "agreement": [], "seeds": [0], "neighbours": [NEAR],
        "alignment": {"before": None, "after": {"loss": 0.125, "accuracy": 0.9}},
    }  # fmt: skip
    found = alignment_document(results)
    assert [one.title for one in found.sheets] == ["Sentences and their forms", "Nearest to: a <b>cat</b>"]
    assert cells(found) == [
        ["loss", "–", "0.1250"],
        ["accuracy", "–", "0.9000"],
        ["a dog", "0.5000", "cats | dogs", "0.8750"],
        ["a cow", "0.2500", "a dog", "0.7500"],
    ]
    assert found.value == results
    with_pairs = alignment_document(results | {"agreement": [RECORD]})
    assert with_pairs.sheets[0].title == "Agreement with people on the test pairs"
    # of several models there are no neighbours
    assert len(alignment_document({name: results[name] for name in ("agreement", "seeds", "alignment")}).sheets) == 1


def test_the_texts_of_neighbours_are_escaped():
    shown = format_document(neighbours_document([NEAR]), "md")
    assert "<b>" not in shown
    assert r"cats \| dogs" in shown
