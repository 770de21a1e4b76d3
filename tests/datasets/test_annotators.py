"""Tables with a row per annotation give the numbers of tables with a column per annotator."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import assay
from assay.datasets import load_dataset
from assay.exceptions import InputError

RATERS = ("ann", "ben", "cem")
TEXTS = [(f"stone {i} ladder", f"ladder {i % 3} stone") for i in range(24)]
GIVEN = np.random.default_rng(5).integers(0, 4, (len(TEXTS), len(RATERS)))


def long_rows(column: str = "worker", **further: Any) -> list[dict[str, Any]]:
    rows = []
    for (reference, candidate), labels in zip(TEXTS, GIVEN.tolist(), strict=True):
        for rater, label in zip(RATERS, labels, strict=True):
            rows.append({"reference": reference, "candidate": candidate, column: rater, "label": label, **further})
    return rows


def wide_pairs() -> Any:
    rows = [
        {"reference": reference, "candidate": candidate, **dict(zip(RATERS, labels, strict=True))}
        for (reference, candidate), labels in zip(TEXTS, GIVEN.tolist(), strict=True)
    ]
    return load_dataset(rows, columns=f"label={'+'.join(RATERS)}")


def same(pairs: Any) -> bool:
    wide = wide_pairs().table
    return all(
        pairs.table.column(name).to_pylist() == wide.column(name).to_pylist()
        for name in ("reference", "candidate", "label", "annotations")
    )


@pytest.mark.parametrize("column", ["worker", "WorkerId", "annotator", "rater_id", "Judge"])
def test_a_column_with_a_usual_name_pools_by_itself(column: str) -> None:
    pairs = load_dataset(long_rows(column))
    assert same(pairs)
    assert pairs.notes == (f"72 annotations, by 3 annotators ({column}), read as 24 pairs",) and not pairs.hints
    assert column not in pairs.table.column_names


def test_another_column_is_proposed_and_pools_on_request(tmp_path: Path) -> None:
    rows = [row | {"minutes": index} for index, row in enumerate(long_rows("who", device="phone"))]
    path = tmp_path / "d.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    (hint,) = load_dataset(path).hints
    assert hint.startswith("72 of 72 rows repeat the texts of another row") and hint.endswith("--annotator who")
    pairs = load_dataset(path, annotator="who")
    assert same(pairs) and pairs.column("device").to_pylist() == ["phone"] * 24
    assert pairs.notes[0].endswith("read as 24 pairs; columns that differ between annotations left out: minutes")
    assert pairs.table.column("pair_id").to_pylist()[:3] == ["2", "5", "8"], "the row of the first annotation"


@pytest.mark.parametrize("column", ["system", "model_id", "Language"])
def test_rows_that_a_system_tells_apart_are_no_annotations(column: str) -> None:
    rows = [{column if name == "who" else name: cell for name, cell in row.items()} for row in long_rows("who")]
    assert not load_dataset(rows).hints
    # a person beside the system is proposed
    (hint,) = load_dataset([row | {"by": row[column]} for row in rows]).hints
    assert hint.endswith("--annotator by")


def test_annotations_of_unknown_people() -> None:
    rows = [{name: row[name] for name in ("reference", "candidate", "label")} for row in long_rows()]
    (hint,) = load_dataset(rows).hints
    assert hint.endswith("--annotator -")
    pairs = load_dataset(rows, annotator="-")
    assert pairs.notes == ("72 annotations, up to 3 of each pair, read as 24 pairs",)
    wide = wide_pairs()
    assert pairs.column("label").to_pylist() == wide.column("label").to_pylist()
    # from the lowest, since the first labels of two pairs need not be one person's
    assert pairs.column("annotations").to_pylist() == [
        sorted(labels) for labels in wide.column("annotations").to_pylist()
    ]
    known, unknown = (assay.run([given], ["f1"], resamples=100).outcome.buckets[0] for given in (wide, pairs))
    assert len(known.reliability.annotators_pearson) == 3 and not unknown.reliability.annotators_pearson
    assert unknown.reliability.alpha == known.reliability.alpha


def test_unknown_people_who_labelled_other_numbers_of_pairs() -> None:
    rows = [{name: row[name] for name in ("reference", "candidate", "label")} for row in long_rows()]
    pairs = load_dataset([row for index, row in enumerate(rows) if index % 7], annotator="-")
    lists = pairs.column("annotations").to_pylist()
    assert len({sum(label is not None for label in labels) for labels in lists}) > 1
    assert all(labels == sorted(labels, key=lambda label: (label is None, label)) for labels in lists)


def test_the_same_numbers_as_from_columns(tmp_path: Path) -> None:
    results = [assay.run([pairs], ["f1", "chrf"], resamples=100) for pairs in (wide_pairs(), load_dataset(long_rows()))]
    frames = [result.agreement.drop(columns="dataset") for result in results]
    assert frames[0].equals(frames[1])


def test_a_run_of_pooled_annotations_is_verified(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    lines = ["reference,candidate,who,label"]
    lines += [f"{row['reference']},{row['candidate']},{row['who']},{row['label']}" for row in long_rows("who")]
    path.write_text("\n".join(lines), encoding="utf-8")
    assay.run(path, ["f1"], annotator="who", out=tmp_path / "run", resamples=0, page=False)
    assert assay.verify(tmp_path / "run").found.same


def test_identifiers_of_annotations_and_of_items() -> None:
    """Of identifiers of annotations the first is kept; those of items tell equal texts apart."""
    rows = [row | {"pair_id": f"x{index}"} for index, row in enumerate(long_rows())]
    pairs = load_dataset(rows)
    assert same(pairs) and pairs.table.column("pair_id").to_pylist()[:2] == ["x0", "x3"]
    items = [row | {"item": f"{half}{index // 3}"} for half in "ab" for index, row in enumerate(long_rows())]
    assert load_dataset(items, columns="pair_id=item").table.column("pair_id").to_pylist()[::24] == ["a0", "b0"]


def test_labels_that_some_did_not_give() -> None:
    rows = long_rows()
    del rows[1]
    rows[3]["label"] = "NA"
    pairs = load_dataset([row | {"label": str(row["label"])} for row in rows])
    given = pairs.table.column("annotations").to_pylist()
    assert [labels.count(None) for labels in given] == [1, 1, *[0] * 22]


def test_rows_that_are_pairs_of_their_own() -> None:
    """Repeated texts with equal labels, and the answers of two systems to one question, are no annotations."""
    equal = [row | {"label": 1} for row in long_rows("who")]
    assert len(load_dataset(equal)) == 72 and not load_dataset(equal).hints
    systems = [
        {"reference": text, "candidate": f"{text} {system}", "system": system, "label": index % 2}
        for index, (text, _) in enumerate(TEXTS)
        for system in ("a", "b")
    ]
    assert len(load_dataset(systems)) == 48 and not load_dataset(systems).hints


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        ({}, {"annotator": "nobody"}, ["has no column 'nobody'"]),
        ({0: {"who": ""}}, {"annotator": "who"}, ["row 0, column who: names no annotator"]),
        (
            {1: {"who": "ann"}},
            {"annotator": "who"},
            ["row 1: annotator 'ann' labelled the same texts in row 0", "subset=SYSTEM"],
        ),
        ({4: {"label": "odd"}}, {"annotator": "who"}, ["row 4, column label: the label 'odd'"]),
        ({}, {"annotator": "who", "columns": "label=label+label2"}, ["goes with one label column"]),
    ],
)
def test_faults_name_row_and_remedy(change: dict[int, Any], options: dict[str, Any], words: list[str]) -> None:
    rows = [
        row | {"label": str(row["label"]), "label2": 1} | change.get(index, {})
        for index, row in enumerate(long_rows("who"))
    ]
    with pytest.raises(InputError) as caught:
        load_dataset(rows, **options)
    for word in words:
        assert word in str(caught.value)


def test_every_row_gets_its_scores(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    lines = ["reference,candidate,worker,label"]
    lines += [f"{row['reference']},{row['candidate']},{row['worker']},{row['label']}" for row in long_rows()]
    path.write_text("\n".join(lines), encoding="utf-8")
    assay.score(path, ["f1"], tmp_path / "s.csv")
    assert len((tmp_path / "s.csv").read_text().splitlines()) == 73
    with pytest.raises(InputError, match="every row of the file gets its scores"):
        assay.score(path, ["f1"], tmp_path / "t.csv", annotator="worker")


@pytest.mark.parametrize(
    ("cells", "annotations"),
    [
        (("[1, None]", "[0, 1]"), [[1, None], [0, 1]]),
        (("[1.0, nan]", "[0.0, 0.5]"), [[1, None], [0, 0.5]]),
        (("['yes', 'no']", "['no', 'no']"), [[1, 0], [0, 0]]),
        (("[[5], [4]]", "[[1], []]"), None),
        (("[[5], [4]]", "[[1], [2]]"), [[5, 4], [1, 2]]),
        (([[["Correct"]], [["Incorrect"]]], [[["Correct"]], [["Correct"]]]), [[1, 0], [1, 1]]),
        (("[[5, 1], [4, 1]]", "[[1, 2], [2, 3]]"), None),
        (("[1 0]", "[0 0]"), None),
    ],
)
def test_lists_of_labels_as_programs_write_them(cells: Any, annotations: Any) -> None:
    rows = [{"reference": "a", "candidate": name, "label": cell} for name, cell in zip("xy", cells, strict=True)]
    if annotations is None:
        with pytest.raises(InputError, match="is not a number"):
            load_dataset(rows)
    else:
        assert load_dataset(rows).table.column("annotations").to_pylist() == annotations


def test_a_list_of_labels_beside_a_column_with_the_name_of_one() -> None:
    row = {"reference": "a", "candidate": "b", "label 1": "x"}
    pairs = load_dataset([row | {"label": [1, 2, 3]}, row | {"label": [0]}])
    assert pairs.labels.tolist() == [2, 0]
    assert pairs.table.column("annotations").to_pylist() == [[1, 2, 3], [0, None, None]]
    assert pairs.table.column("label 1").to_pylist() == ["x", "x"]


def test_columns_of_lists_break_nothing() -> None:
    rows = [row | {"notes": ["a", "b"], "spans": [1.5, 2.0]} for row in long_rows()]
    assert same(load_dataset(rows))
    with pytest.raises(InputError, match="column pair_id: holds lists"):
        load_dataset([row | {"pair_id": ["a"]} for row in rows])


@pytest.mark.parametrize("end", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("missing", [None, []])
def test_a_pair_that_nobody_labelled_among_lists_of_labels(tmp_path: Path, end: str, missing: Any) -> None:
    rows = [
        {"reference": f"r{row}", "candidate": "c", "label": label} for row, label in enumerate([missing, [1, 0], [0]])
    ]
    path = tmp_path / f"d.{end}"
    if end == "parquet":
        pd.DataFrame(rows).to_parquet(path)
    elif end == "jsonl":
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    else:
        pd.DataFrame(rows).to_csv(path, index=False)
    with pytest.raises(InputError, match="1 of 3 rows have no label from anyone"):
        load_dataset(path)
    pairs = load_dataset(path, drop_unlabelled=True)
    assert pairs.table.column("annotations").to_pylist() == [[1, 0], [0, None]]
