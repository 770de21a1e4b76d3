"""A study as tables, figures and a page."""

from __future__ import annotations

import copy
import re
from html.parser import HTMLParser

import pytest

from assay.analysis.tune import parse_study
from assay.reports.formats import format_document
from assay.reports.sheets import Column, Sheet
from assay.reports.tune import draw_epoch_curves, draw_history, draw_settings, study_document, study_html

RESULTS = Sheet("On test", [Column("dataset"), Column("n", number=True)], [["<i>data</i>", "20"]])


def trial(number, state, batch, rate, epochs, **more):
    return {
        "number": number,
        "state": state,
        "settings": {"batch_size": batch, "learning_rate": rate},
        "value": max(epochs) if state == "complete" else None,
        "epochs": {str(epoch): value for epoch, value in enumerate(epochs, start=1)},
        "best_step": None,
        "steps": None,
        "seconds": 61.4,
        "retry_of": None,
        "error": None,
    } | more


HELD = {
    "schema": 1,
    "name": "<script>alert(1)</script>",
    "objective": "spearman",
    "seed": 0,
    "request": {
        "recipe": "bi-encoder",
        "space": {
            "batch_size": {"choices": [16, 32, 64]},
            "learning_rate": {"low": 1e-5, "high": 1e-3, "log": True},
        },
    },
    "trials": [
        trial(0, "complete", 16, 1e-4, [0.5, 0.6]),
        trial(1, "complete", 64, 1e-5, [0.55]),
        trial(2, "pruned", 32, 1e-3, [0.2, 0.3]),
        trial(3, "fail", 32, 1e-4, []),
        trial(4, "complete", 32, 1e-4, [0.7, 0.65], retry_of=3),
        trial(5, "fail", 16, 1e-4, [0.1], error="InputError: <b>no room</b>"),
    ],
    "winner": 4,
    "settings": {"batch_size": 32, "learning_rate": 1e-4},
    "storage": None,
    "command": "assay train bi-encoder --base 'a&b'",
    "results": {"agreement": [], "scores": [], "seeds": [0]},
    "versions": {},
}


class Balanced(HTMLParser):
    """Fails on a tag that is closed and was not open."""

    EMPTY = ("meta", "link", "br", "wbr", "!doctype")

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def circles(svg):
    """Return place and class of every point."""
    found = re.findall(r"<circle[^>]* cx=\"([^\"]+)\" cy=\"([^\"]+)\" r=\"[^\"]+\" class=\"([^\"]+)\"", svg)
    return [(float(x), float(y), kind) for x, y, kind in found]


def test_the_tables():
    document = study_document(HELD, RESULTS)
    sheet = document.sheets[0]
    assert [column.head for column in sheet.columns] == [
        "trial", "batch size", "learning rate", "state", "epochs done", "dev Spearman ρ", "seconds", "note",
    ]  # fmt: skip
    assert sheet.rows[2] == ["2", "32", "0.001", "pruned", "2", ".3000", "61", ""]
    assert sheet.rows[3] == ["3", "32", "0.0001", "fail", "0", "–", "61", "its process ended"]
    assert sheet.rows[4][-1] == "retry of trial 3"
    assert sheet.rows[5][-1] == "InputError: <b>no room</b>"
    assert sheet.marked == {4}
    assert "4 trials of a bi-encoder" in sheet.title
    assert "&lt;script&gt;" in format_document(document, "html")
    assert document.records == HELD["trials"]


def test_the_history_has_every_value_and_the_best_so_far():
    figure = draw_history(parse_study(HELD))
    points = circles(figure.svg)
    # trials 0, 1, 2 and 4; the axis runs from .3 to .7 over the height
    assert [kind for _, _, kind in points] == ["value", "value", "value hollow", "value"]
    heights = [y for _, y, _ in points]
    values = [0.6, 0.55, 0.3, 0.7]
    slope = (heights[3] - heights[2]) / (values[3] - values[2])
    assert slope < 0
    for height, value in zip(heights, values, strict=True):
        assert height == pytest.approx(heights[2] + slope * (value - 0.3), abs=0.11)
    assert [row[-1] for row in figure.table.rows] == [".6000", ".6000", ".6000", ".7000"]
    line = re.search(r"<polyline points=\"([^\"]+)\" class=\"front\"", figure.svg)[1]
    corners = [tuple(map(float, corner.split(","))) for corner in line.split()]
    assert corners[0][1] == heights[0]
    assert corners[-1][1] == heights[3]
    assert corners[-2][0] == points[3][0]


def test_the_courses_have_every_epoch():
    figure = draw_epoch_curves(parse_study(HELD))
    assert len(circles(figure.svg)) == 8
    assert [row[2:] for row in figure.table.rows if row[0] == "4"] == [["1", ".7000"], ["2", ".6500"]]
    winner = re.search(r"<polyline points=\"([^\"]+)\" class=\"curve\"", figure.svg)[1]
    assert len(winner.split()) == 2


def test_the_settings_stand_on_their_axes():
    figure = draw_settings(parse_study(HELD))
    points = circles(figure.svg)
    batch, rate = [x for x, _, _ in points[:4]], [x for x, _, _ in points[4:]]
    # 16, 64, 32, 32: evenly spaced in the order of the choices
    assert batch[2] == batch[3]
    assert batch[1] - batch[2] == pytest.approx(batch[2] - batch[0], abs=0.11)
    # 1e-4, 1e-5, 1e-3, 1e-4: evenly spaced on the logarithmic axis
    assert rate[0] - rate[1] == pytest.approx(rate[2] - rate[0], abs=0.11)
    assert "1e-05" in figure.svg


def test_one_trial_and_whole_and_even_axes():
    held = copy.deepcopy(HELD)
    held["request"]["space"] = {
        "epochs": {"low": 1, "high": 4, "log": False},
        "warmup": {"low": 0.0, "high": 0.5, "log": False},
        "loss": {"choices": ["cosine", "<cosent>"]},
    }
    held["trials"] = [trial(0, "complete", 16, 1e-4, [0.5])]
    held["trials"][0]["settings"] = {"epochs": 2, "warmup": 0.25, "loss": "<cosent>"}
    held["winner"] = 0
    figure = draw_settings(parse_study(held))
    assert len(circles(figure.svg)) == 3
    assert "&lt;cosent&gt;" in figure.svg
    assert "<cosent>" not in study_html(held, RESULTS)


def test_the_page_is_whole_and_escapes_what_it_is_given():
    page = study_html(HELD, RESULTS)
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    assert "<script" not in page
    assert "<i>" not in page
    assert "<b>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "InputError: &lt;b&gt;no room" in page
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page
    assert not re.search(r"(?:src|href)=\"(?!#|data:)", page)
    assert page == study_html(HELD, RESULTS)


@pytest.mark.slow
def test_a_browser_shows_it_without_a_word(context, tmp_path):
    (tmp_path / "report.html").write_text(study_html(HELD, RESULTS), encoding="utf-8")
    page = context.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    assert page.locator("svg").count() == 3
    for box in page.locator("svg").all():
        frame = box.bounding_box()
        for mark in box.locator("circle, text").all():
            inner = mark.bounding_box()
            assert inner["x"] >= frame["x"] - 1
            assert inner["y"] >= frame["y"] - 1
            assert inner["x"] + inner["width"] <= frame["x"] + frame["width"] + 1
            assert inner["y"] + inner["height"] <= frame["y"] + frame["height"] + 1
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
