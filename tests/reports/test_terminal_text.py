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
from assay.reports.sheets import Column, Document, Provenance, Sheet, number_columns
from assay.reports.terminal import TerminalReport, rich_text

#: Names the window, then clears the screen.
ESCAPE = "\x1b]0;owned\x07\x1b[2J"
SPELT = r"\x1b]0;owned\x07\x1b[2J"


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
    shown = printed(TerminalReport(Document([sheet], [], notes=[put("note")])))
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
    shown = printed(TerminalReport(sweep.document(replace(result.report, agreement=layer))))
    assert "\x1b]0" not in shown and f"d{SPELT}" in shown


def test_what_a_profile_says():
    one = MetricProfile(f"m{ESCAPE}", status="done", says=f"took{ESCAPE}")
    machine = dict.fromkeys(("processor", "cores", "system", "python", "assay"), "x")
    text = printed(TerminalReport(costs.document(Profile(f"d{ESCAPE}", 3, machine, (one,)).as_dict())))
    assert "\x1b]0" not in text and "\x1b[2J" not in text
    assert f"took{SPELT}" in text and f"d{SPELT}" in text


PATHS = ["bi-encoder:/home/me/models/minilm", "cross-encoder:/home/me/models/minilm,batch=4", "f1"]


def wide_document():
    """Return a document of three metrics whose table has more columns than a terminal has room for."""
    heads = [Column("metric"), *number_columns(["AUC", "Pearson r"]), Column("time per pair", number=True, spare=1)]
    rows = [[name, ".123 [.10, .20]", ".456 [.40, .50]", "1,234,567.8"] for name in PATHS]
    sheet = Sheet("t", [*heads, Column("x" * 30, number=True, spare=2)], rows, notes=["a note " * 20] * 7)
    made = Provenance("how it was made", "n:600|seed:0", {"f1": "f1|assay:1"})
    return Document([sheet], [], notes=["the method"], warnings=["few pairs"], provenance=made, metrics=PATHS)


def lines_in(width, document, **more):
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(TerminalReport(document, **more), crop=False)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("width", [100, 80, 60])
def test_a_report_fits_the_terminal(width):
    lines = lines_in(width, wide_document(), asking="--explain")
    assert max(map(len, lines)) <= width
    for name in ("bi-encoder:…/minilm", "f1"):
        (row,) = [line for line in lines if line.startswith(f"{name} ")]
        # no row goes on below, and no number is cut
        assert ".123 [.10, .20]" in row and ".456 [.40, .50]" in row
    hidden = "".join(lines).partition("not shown in")[2].partition("(--explain)")[0]
    assert ("x" * 30 in hidden) == (width < 100)
    assert not any("/home" in line for line in lines)


def test_what_does_not_change_a_conclusion_is_shown_on_request():
    brief = lines_in(80, wide_document(), asking="--explain")
    assert brief[-1] == "Method and signatures: --explain"
    assert "few pairs" in brief and "3 more notes: --explain" in brief
    assert not any("seed:0" in line or "the method" in line for line in brief)
    full = lines_in(80, wide_document())
    assert full[-4:] == ["the method", "how it was made", "n:600|seed:0", "f1: f1|assay:1"]
    assert sum(line.startswith("a note") for line in full) >= 7
    # what a narrow terminal has no room for goes on below
    assert max(map(len, full)) <= 80
    assert sum("x" * 30 in line for line in full) == 1
    assert sum("1,234,567.8" in line for line in full) == 3


@pytest.mark.parametrize("width", range(60, 76))
def test_the_mark_of_a_footnote_stays_beside_the_name(width):
    heads = [Column("bucket"), Column("metric"), *number_columns(["r", "rho"])]
    cells = ["all", "bi-encoder:all-MiniLM-L6-v2", ".123 [.10, .20]", ".456 [.40, .50]"]
    sheet = Sheet("t", heads, [cells], groups={"all": ["n = 9"]}, row_notes=[("few pairs",)])
    lines = lines_in(width, Document([sheet], []), asking="--explain")
    (marked,) = [line for line in lines if "all-MiniLM-L6-v2" in line and "few pairs" not in line]
    assert "all-MiniLM-L6-v2 *" in marked


def test_a_number_is_not_cut_where_a_terminal_is_narrower_than_it():
    lines = lines_in(12, wide_document(), asking="--explain")
    assert any(".123 [.10, .20]" in line for line in lines)


def test_the_facts_of_all_pairs_stay_and_those_of_their_parts_go():
    groups = {"all": ["n = 9", "reliability r .8"], "f1=0": ["n = 3", "2 labels"]}
    sheet = Sheet("t", [Column("bucket"), Column("metric")], [["all", "f1"], ["f1=0", "f1"]], groups=groups)
    brief = lines_in(80, Document([sheet], []), asking="--explain")
    assert "all: n = 9; reliability r .8" in brief
    assert "f1=0  n = 3" in brief and not any("2 labels" in line for line in brief)
    assert "f1=0: n = 3; 2 labels" in lines_in(80, Document([sheet], []))


def test_rows_that_say_little_are_counted_and_shown_on_request():
    sheet = Sheet("t", [Column("category")], [["unit"], ["names"], ["alias"]], spare_rows=2, spare_words="empty ones")
    brief = lines_in(80, Document([sheet], []), asking="--explain")
    assert [line.strip() for line in brief[3:5]] == ["unit", "not shown: 2 empty ones (--explain)"]
    full = lines_in(80, Document([sheet], []))
    assert [line.strip() for line in full[3:]] == ["unit", "names", "alias", ""]


def test_a_column_that_is_left_out_does_not_name_the_rows_of_a_table_that_goes_on_below():
    numbers = [Column(f"number {place}", number=True) for place in range(4)]
    sheet = Sheet(
        "t", [Column("question", spare=1), Column("reference"), *numbers], [["why", "gold", *["1234567890"] * 4]]
    )
    brief = lines_in(40, Document([sheet], []), asking="--explain")
    assert "not shown in 40 columns: question" in " ".join(brief)
    assert not any("why" in line for line in brief)
    assert sum(line.startswith("gold") for line in brief) == 2
