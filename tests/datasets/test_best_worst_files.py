"""Files of best-worst annotations: every form, and every row that cannot be."""

from __future__ import annotations

import json

import pytest

from assay.datasets.best_worst import read_best_worst
from assay.exceptions import InputError

HEAD = "tuple,item1,item2,item3,item4,best,worst,annotator"
ROWS = ["t1,a,b,c,d,a,d,kim", "t1,a,b,c,d,b,d,lee", "t2,d,c,b,a,d,a,kim"]


def write(path, rows, head=HEAD):
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return path


def test_csv(tmp_path):
    found = read_best_worst(write(tmp_path / "a.csv", ROWS))
    assert found.items == ("a", "b", "c", "d")
    assert found.shown.tolist() == [[0, 1, 2, 3], [0, 1, 2, 3], [3, 2, 1, 0]]
    assert (found.best.tolist(), found.worst.tolist()) == ([0, 1, 3], [3, 3, 0])
    assert found.tuples.tolist() == [0, 0, 1]
    counts = found.annotations_per_tuple.tolist(), found.tuples_per_item.tolist()
    assert (len(found), found.annotators, *counts) == (3, 2, [2, 1], [2] * 4)
    assert found.warnings == ()


def test_other_forms_give_the_same(tmp_path):
    expected = read_best_worst(write(tmp_path / "a.csv", ROWS))
    cells = [row.split(",") for row in ROWS]
    records = [
        {"tuple": row[0], "items": row[1:5], "best": row[5], "worst": row[6], "annotator": row[7]} for row in cells
    ]
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, records)))
    (tmp_path / "c.tsv").write_text(
        "\n".join(
            ["tuple\titems\tbest\tworst\tannotator"]
            + [
                "\t".join([one["tuple"], '"' + json.dumps(one["items"]).replace('"', '""') + '"', one["best"]])
                + f"\t{one['worst']}\t{one['annotator']}"
                for one in records
            ]
        )
    )
    for name in ("b.jsonl", "c.tsv"):
        found = read_best_worst(tmp_path / name)
        assert found.items == expected.items
        for field in ("shown", "best", "worst", "tuples"):
            assert getattr(found, field).tolist() == getattr(expected, field).tolist()
        assert found.annotators == 2


def test_without_names_equal_items_in_any_order_are_one_tuple(tmp_path):
    rows = [row.split(",", 1)[1].rsplit(",", 1)[0] for row in ROWS]
    found = read_best_worst(write(tmp_path / "a.csv", rows, "item1,item2,item3,item4,best,worst"))
    assert found.tuples.tolist() == [0, 0, 0]
    assert found.annotators is None


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("t3,a,b,a,d,a,d,kim", "row 5: the item 'a' appears 2 times in the tuple"),
        ("t3,a,b,c,d,a,a,kim", "row 5: 'a' is best and worst"),
        ("t3,a,b,c,d,e,a,kim", r"row 5: best is 'e', which is not in the tuple \(a, b, c, d\)"),
        ("t3,a,b,c,d,a,e,kim", "row 5: worst is 'e', which is not in the tuple"),
        ("t3,a,b,,d,a,d,kim", "row 5, column item3: is empty"),
        ("t3,a,b,c,d,a,,kim", "row 5, column worst: is empty"),
        ("t1,a,b,c,e,a,e,kim", "row 5: the tuple 't1' has other items here than above"),
    ],
)
def test_rows_that_cannot_be(tmp_path, row, said):
    with pytest.raises(InputError, match=said) as caught:
        read_best_worst(write(tmp_path / "a.csv", [*ROWS, row]))
    assert "\n" not in str(caught.value) and "a.csv" in str(caught.value)


def test_further_rows_that_cannot_be_are_counted(tmp_path):
    rows = [*ROWS, "t3,a,b,c,d,a,a,kim", "t3,a,b,c,d,b,b,lee", ROWS[0], "t3,a,b,c,d,x,b,lee"]
    with pytest.raises(InputError, match=r"row 5: 'a' is best and worst \(impossible rows: 3, the next is 6\)"):
        read_best_worst(write(tmp_path / "a.csv", rows))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("item1,best,worst\na,a,a\n", "expected columns item1, item2, item3, item4"),
        ("item1,item2,best\na,b,a\n", "has no column 'worst'.*Valid: item1, item2, best"),
        ('items,item1,best,worst\n"[""a""]",a,a,a\n', "has items and item1; one of the two forms"),
        ("items,best,worst\na b c d,a,d\n", "row 2, column items: expected a list of names"),
        (
            'items,best,worst\n"[""a"",""b"",""c""]",a,c\n"[""a"",""b""]",a,b\n',
            "row 3: the tuple has 2 items; expected 3",
        ),
        ("item1,item2,best,worst\n", "no rows"),
    ],
)
def test_files_that_cannot_be(tmp_path, text, said):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InputError, match=said):
        read_best_worst(tmp_path / "a.csv")


def test_what_is_odd_is_told_with_its_row(tmp_path):
    rows = [*ROWS, "t1,a,b,c,d,a,c,kim", "t3,a,b,c,e,e,c,lee"]
    path = write(tmp_path / "a.csv", rows)
    again, rare, unequal = read_best_worst(path).warnings
    assert again == f"{path}, row 5: annotates a tuple again that its annotator has above; such rows: 1"
    assert rare == (f"{path}, row 6: 'e' appears in no other tuple, so that its score says little; such items: 1 of 5")
    assert unequal == f"{path}, row 6: items are not equally frequent, 'e' is the rarest; tuples of an item: 1 to 3"
