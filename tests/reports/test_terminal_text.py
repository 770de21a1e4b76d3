"""No escape sequence of names, notes or cells reaches a terminal."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

import assay
from assay.api.profile import Profile
from assay.benchmark.profile import MetricProfile
from assay.reports import profile as costs
from assay.reports import sweep
from assay.reports.formats import rich_text, to_rich
from assay.reports.sheets import Column, Document, Sheet

#: Names the window, then clears the screen.
ESCAPE = "\x1b]0;owned\x07\x1b[2J"
SPELT = r"\u001b]0;owned\u0007\u001b[2J"


def printed(renderable):
    console = Console(file=io.StringIO(), force_terminal=True, color_system=None, width=400)
    console.print(renderable)
    return console.file.getvalue()


def test_text_is_spelt_out_and_no_markup():
    assert rich_text(f"[red]x{ESCAPE}", "bold").plain == f"[red]x{SPELT}"
    assert rich_text("x", "bold").style == "bold"


@pytest.mark.parametrize("place", ["title", "facts", "head", "cell", "number", "sheet note", "note"])
def test_every_text_of_a_document(place):
    def put(where):
        return f"x{ESCAPE}" if where == place else "x"

    sheet = Sheet(
        put("title"),
        [Column(put("head")), Column("n", number=True)],
        [[put("cell"), put("number")]],
        facts=[put("facts")],
        notes=[put("sheet note")],
    )
    shown = printed(to_rich(Document([sheet], [], notes=[put("note")])))
    assert "\x1b]0" not in shown and "\x1b[2J" not in shown
    assert SPELT in "".join(shown.split())


def test_the_tables_of_a_run_and_of_a_sweep():
    rows = [{"reference": "a", "candidate": "b", "label": i % 3, f"s{ESCAPE}": i % 5} for i in range(12)]
    pairs = assay.load_dataset([row | {"subset": f"u{ESCAPE}"} for row in rows], name=f"d{ESCAPE}")
    result = assay.run(pairs, [f"recorded:s{ESCAPE}"], buckets=["none", "subset"], resamples=0)
    shown = printed(result.to_rich())
    assert "\x1b]0" not in shown and "\x1b[2J" not in shown
    for name in ("d", "recorded:s", "subset=u"):
        assert f"{name}{SPELT}" in shown
    layer = [row.model_copy(update={"metric": "bi-encoder:x,layer=1"}) for row in result.report.agreement]
    shown = printed(to_rich(sweep.document(replace(result.report, agreement=layer))))
    assert "\x1b]0" not in shown and f"d{SPELT}" in shown


def test_what_a_profile_says():
    one = MetricProfile(f"m{ESCAPE}", status="done", says=f"took{ESCAPE}")
    machine = dict.fromkeys(("processor", "cores", "system", "python", "assay"), "x")
    text = printed(to_rich(costs.document(Profile(f"d{ESCAPE}", 3, machine, (one,)).as_dict())))
    assert "\x1b]0" not in text and "\x1b[2J" not in text
    assert f"took{SPELT}" in text and f"d{SPELT}" in text
