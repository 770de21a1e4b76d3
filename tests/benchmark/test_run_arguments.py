"""What a Python user may hand over by mistake: one line that names the argument."""

from __future__ import annotations

from pathlib import Path

import pytest

import assay
from assay.exceptions import InputError
from assay.metrics import load_metric

ROWS = [("a b", "a c", 1.0), ("d", "d", 2.0), ("e", "f", 0.0)]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"metrics": None},
            'no metric: give `metrics="NAME"` (assay metrics list shows them, assay recommend compares a dozen)',
        ),
        ({"metrics": 5}, "metric 5: expected a name"),
        ({"metrics": [5]}, "metric 5: expected a name"),
        ({"statistics": 5}, "statistics=5: expected text, not int"),
        ({"statistics": [5]}, "statistics=5: expected text, not int"),
        ({"buckets": 5}, "buckets=5: expected text, not int"),
        ({"buckets": "label<nan"}, "'nan' is not a number"),
        ({"buckets": "f1:0,1e400"}, "'1e400' is not a number that is finite"),
        ({"columns": 5}, "columns: 5"),
        ({"group_by": 5}, "group_by=5: expected text, not int"),
        ({"limit": "5"}, "limit='5': must be a whole number, at least 1"),
        ({"limit": 2.5}, "limit=2.5: must be a whole number, at least 1"),
        ({"limit": 0}, "limit=0: must be a whole number, at least 1"),
        ({"limit": True}, "limit=True: must be a whole number, at least 1"),
        ({"resamples": 150.5}, "resamples=150.5: must be a whole number"),
        ({"language": 5}, "language=5: expected text, not int"),
        ({"buckets": ["f1", "number", "f1"]}, "the bucket f1 is asked for twice"),
    ],
)
def test_arguments_of_another_kind(given: dict[str, object], words: str) -> None:
    with pytest.raises(InputError) as caught:
        assay.run(ROWS, **{"metrics": ["f1"], **given})  # type: ignore[arg-type]
    assert words in str(caught.value)


@pytest.mark.parametrize("metric", [None, 5])
def test_what_is_no_name_of_a_metric(metric: object) -> None:
    with pytest.raises(InputError, match=f"metric {metric}: expected a name"):
        load_metric(metric)  # type: ignore[arg-type]


def test_one_of_a_kind_and_several_are_the_same() -> None:
    one = assay.run(ROWS, "f1", statistics="pearson", buckets="none", resamples=0)
    several = assay.run(ROWS, ("f1",), statistics=["pearson"], buckets=("none",), resamples=0)
    assert one.agreement.equals(several.agreement)


def test_two_files_with_the_same_pairs_are_both_named(tmp_path: Path) -> None:
    (tmp_path / "good.csv").write_text("reference,candidate,label\na,b,1\n", encoding="utf-8")
    (tmp_path / "good.tsv").write_text("reference\tcandidate\tlabel\na\tb\t1\n", encoding="utf-8")
    files = [tmp_path / "good.csv", tmp_path / "good.tsv"]
    with pytest.raises(InputError) as caught:
        assay.run(files, "f1")
    assert f"{files[0]} and {files[1]} hold the same pairs; leave one out" in str(caught.value)
    with pytest.raises(InputError, match="the dataset good is asked for twice; leave one out"):
        assay.run([files[0], files[0]], "f1")


def test_a_language_for_data_that_says_its_own() -> None:
    with pytest.raises(InputError, match="language: dataset stsb@2017 has no texts in the language 'de'"):
        assay.run("stsb:test", "f1", language="de")


def test_graphs_in_columns_and_in_files_at_once(tmp_path: Path) -> None:
    file = tmp_path / "own.csv"
    file.write_text("reference,candidate,label,g,h\na,b,1,(a / a),(b / b)\n", encoding="utf-8")
    (tmp_path / "one.amr").write_text("(c / c)\n", encoding="utf-8")
    graphs = f"reference={tmp_path / 'one.amr'},candidate={tmp_path / 'one.amr'}"
    with pytest.raises(InputError, match="graphs: `columns` names reference_graph already; give the graphs in one"):
        assay.run(file, "f1", columns="reference_graph=g,candidate_graph=h", graphs=graphs, resamples=0)
    assert assay.run(file, "f1", columns="label=label", graphs=graphs, resamples=0).failures == []
    file.write_text("reference,candidate,label,reference_graph\na,b,1,(a / a)\n", encoding="utf-8")
    with pytest.raises(InputError, match="graphs: own has reference_graph already; give the graphs in one way"):
        assay.run(file, "f1", graphs=graphs, resamples=0)
