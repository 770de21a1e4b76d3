"""Explanations as sheets and pictures: what is said, what is escaped, what a browser shows."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from assay.exceptions import InputError
from assay.reports.explain.document import to_document
from assay.reports.explain.picture import to_svg
from assay.reports.formats import format_document

ODD = '<script>alert("x")</script> & ]]> “café”'


def usual(low: float, high: float, unusual: str = "", lower: float = 0.5) -> dict:
    return {"median": (low + high) / 2, "low": low, "high": high, "lower": lower, "unusual": unusual}


def aspects(**changes) -> dict:
    """As table 4 of the paper has it: one low aspect of three."""
    items = [
        {"aspect": "concepts", "score": 0.71, "usual": usual(0.5, 0.9)},
        {"aspect": "quantifiers", "score": 0.09, "usual": usual(0.35, 0.97, "low", 0.005)},
        {"aspect": "residual", "score": 0.8, "usual": usual(0.6, 0.9)},
    ]
    return {
        "kind": "aspects",
        "metric": "s3bert:model",
        "reference": "two cats are looking at a window",
        "candidate": "a white cat looking out of a window",
        "score": 0.73,
        "notes": [],
        "aspects": items,
        "compared": {"pairs": 200, "total": 5000, "low": 0.7, "high": 0.76},
        **changes,
    }


def tokens(**changes) -> dict:
    match = {"token": "cats", "partner": "cat", "similarity": 0.86, "weight": 1.0}
    items = [
        {"side": "reference", "position": 1, "partner_position": 1, **match},
        {"side": "candidate", "position": 1, "partner_position": 0, **match, "token": "cat", "partner": "[CLS]"},
    ]
    pair = {"reference": "cats", "candidate": "cat", "score": 0.86, "precision": 0.86, "recall": 0.86, "notes": []}
    return {"kind": "tokens", "metric": "bertscore:model", **pair, "tokens": items, **changes}


def words(**changes) -> dict:
    items = [
        {"side": "reference", "position": 0, "word": "cats", "change": 5.5, "partner": "cat", "partner_position": 0},
        {"side": "candidate", "position": 0, "word": "cat", "change": -0.25, "partner": None, "partner_position": None},
    ]
    items = [item | {"together": together} for item, together in zip(items, (7.2, None), strict=True)]
    pair = {"reference": "cats", "candidate": "cat", "score": 4.1, "notes": []}
    return {"kind": "words", "metric": "sas", **pair, "words": items, **changes}


def graphs(**changes) -> dict:
    nodes = [
        {"reference": "c / cat", "candidate": "d / cat", "same": True},
        {"reference": None, "candidate": "w / white-03", "same": False},
    ]
    triples = [
        {"reference": "c :instance cat", "candidate": "d :instance cat"},
        {"reference": "c/cat :quant 2", "candidate": None},
        {"reference": None, "candidate": "w :instance white-03"},
    ]
    counts = {"matched": 1, "reference_triples": 2, "candidate_triples": 2, "optimal": True}
    pair = {"reference": "cats", "candidate": "a white cat", "score": 0.5, "notes": []}
    return {"kind": "graphs", "metric": "amr:smatch", **pair, **counts, "nodes": nodes, "triples": triples, **changes}


KINDS = [aspects, tokens, words, graphs]


def test_an_unusual_aspect_is_named_with_what_is_usual():
    (sheet,) = to_document([aspects()]).sheets
    assert sheet.title == "two cats are looking at a window | a white cat looking out of a window"
    assert sheet.facts[0] == "s3bert:model: .730"
    assert sheet.rows[1] == ["quantifiers", ".09", ".66", ".35 to .97", "0%", "low"]
    assert sheet.marked == {1}
    assert sheet.notes[0] == "unusually low: quantifiers .09, usual .35 to .97"
    assert "200 reference pairs, of 5000" in sheet.notes[1]
    assert "about 0.3 of 3 aspects are unusual in an ordinary pair" in sheet.notes[1]


def test_the_farthest_outside_is_named_first():
    items = [
        {"aspect": "srl", "score": 0.49, "usual": usual(0.5, 0.9, "low")},
        {"aspect": "negation", "score": 0.1, "usual": usual(0.5, 0.9, "low")},
        {"aspect": "root", "score": 0.99, "usual": usual(0.5, 0.9, "high")},
    ]
    assert to_document([aspects(aspects=items)]).sheets[0].notes[0] == (
        "unusually low: negation .10, usual .50 to .90; srl .49, usual .50 to .90; "
        "unusually high: root .99, usual .50 to .90"
    )
    ordinary = to_document([aspects(aspects=items[:0])]).sheets[0]
    assert ordinary.notes[0] == "no aspect is unusual for pairs of this overall score"


def test_without_a_reference_set_the_scores_stand_alone():
    items = [{"aspect": "negation", "score": 0.5, "usual": None}]
    document = to_document([aspects(aspects=items, compared=None, notes=["what is usual is not known"])])
    assert document.sheets[0].rows == [["negation", ".50"]]
    assert document.sheets[0].notes == ("what is usual is not known",)
    assert document.records[0]["aspect"] == "negation"
    assert "median" not in document.records[0]
    assert "is not known" in to_svg([aspects(aspects=items, compared=None, notes=["what is usual is not known"])])


def test_records_have_a_row_for_each_item():
    document = to_document([aspects(pair_id="7"), aspects(pair_id="9")])
    assert [(one["pair"], one["pair_id"], one["aspect"], one["score"], one["item_score"]) for one in document.records][
        1:4
    ] == [
        (1, "7", "quantifiers", 0.73, 0.09),
        (1, "7", "residual", 0.73, 0.8),
        (2, "9", "concepts", 0.73, 0.71),
    ]
    assert document.records[1]["unusual"] == "low"
    assert document.value == [aspects(pair_id="7"), aspects(pair_id="9")]
    triples = to_document([graphs()]).records
    assert triples[1]["reference"] == "cats"
    assert (triples[1]["item_reference"], triples[1]["item_candidate"]) == ("c/cat :quant 2", None)


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("form", ["json", "csv", "md", "latex", "html"])
def test_every_kind_is_written_in_every_format(make, form):
    text = format_document(to_document([make()]), form)
    assert "cat" in text
    assert text.endswith("\n")


@pytest.mark.parametrize("make", KINDS)
def test_texts_are_escaped(make):
    odd = make(reference=ODD, candidate=ODD, pair_id=ODD, notes=[ODD], metric=ODD)
    for key in ("tokens", "words", "nodes", "triples"):
        for item in odd.get(key, ()):
            for name in ("token", "partner", "word", "reference", "candidate"):
                if item.get(name):
                    item[name] = ODD
    drawn = to_svg([odd])
    assert "<script" not in drawn
    tree = ET.fromstring(drawn)
    assert {child.tag.rpartition("}")[2] for child in tree.iter()} <= {
        *("svg", "title", "style", "rect", "g", "text", "line", "circle", "path")
    }
    assert any(ODD in (child.text or "") for child in tree.iter())
    assert "<script" not in format_document(to_document([odd]), "html")


def test_several_pairs_stand_below_each_other():
    one, two = (ET.fromstring(to_svg(pairs)) for pairs in ([aspects()], [aspects()] * 2))
    assert float(two.get("height")) == pytest.approx(2 * float(one.get("height")), abs=1)
    with pytest.raises(InputError, match="at most 50 pairs, these are 51"):
        to_svg([aspects()] * 51)


def test_the_dot_of_an_unusual_aspect_stands_out():
    tree = ET.fromstring(to_svg([aspects()]))
    dots = [node for node in tree.iter() if node.tag.endswith("circle")]
    assert [dot.get("class") for dot in dots] == ["score", "unusual", "score"]
    bars = [node for node in tree.iter() if node.get("class") == "usual"]
    # .09 lies left of the bar from .35 to .97, .71 inside of that from .5 to .9
    assert float(dots[1].get("cx")) < float(bars[1].get("x"))
    inside = float(dots[0].get("cx")) - float(bars[0].get("x"))
    assert inside / float(bars[0].get("width")) == pytest.approx((0.71 - 0.5) / (0.9 - 0.5), abs=0.01)


def test_the_axis_says_where_its_lines_are():
    items = [{"aspect": "negation", "score": -0.4, "usual": usual(-0.3, 0.5, "low")}]
    tree = ET.fromstring(to_svg([aspects(aspects=items)]))
    lines = {float(node.get("x1")) for node in tree.iter() if node.get("class") in ("grid", "zero")}
    shown = {float(node.get("x")): float(node.text) for node in tree.iter() if node.get("class") == "muted number"}
    assert set(shown) == lines
    zero, one = (place for value in (0.0, 1.0) for place in shown if shown[place] == value)
    for place, value in shown.items():
        assert place == pytest.approx(zero + value * (one - zero), abs=0.3), (place, value)


def test_a_special_partner_has_no_line():
    paths = [node for node in ET.fromstring(to_svg([tokens()])).iter() if node.tag.endswith("path")]
    assert len(paths) == 1


@pytest.mark.slow
@pytest.mark.parametrize("make", KINDS)
def test_a_browser_shows_no_text_over_another(make, context):
    long = make(reference="two cats are looking at a window " * 6, notes=["a note that says something at length " * 3])
    page = context.new_page()
    page.set_viewport_size({"width": 800, "height": 600})
    page.set_content(f"<body style='margin:0'>{to_svg([long])}")
    boxes = page.evaluate(
        "[...document.querySelectorAll('svg text')].map(one => { const box = one.getBoundingClientRect();"
        " return [box.left, box.top, box.right, box.bottom] })"
    )
    assert len(boxes) > 5
    assert all(left >= 0 and right <= 760 for left, _, right, _ in boxes), boxes
    # line boxes of neighbouring lines may touch; letters may not
    for number, (left, top, right, bottom) in enumerate(boxes):
        for left2, top2, right2, bottom2 in boxes[number + 1 :]:
            wide, high = min(right, right2) - max(left, left2), min(bottom, bottom2) - max(top, top2)
            assert wide <= 1 or high <= 4, (boxes[number], (left2, top2, right2, bottom2))
