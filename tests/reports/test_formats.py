"""Documents in every format: what stands out, what belongs together, and text that stays text."""

from __future__ import annotations

import csv
import io

import pytest
from rich.console import Console

from assay.cli.options import ReportFormat
from assay.common.numbers import short, signed
from assay.exceptions import InputError
from assay.reports.formats import FORMATS, escape_latex, escape_markdown, format_document, latex_name_comments
from assay.reports.sheets import Column, Document, Provenance, Sheet, ShortNames, table_rows
from assay.reports.terminal import TerminalReport

SHEET = Sheet(
    "Layers",
    (Column("layer", number=True), Column("r", number=True), Column("ρ", number=True)),
    [["0", ".1", ".9"], ["1", ".5", ".<"]],
    best=frozenset({(1, 1), (0, 2)}),
)
DOCUMENT = Document((SHEET,), [])


@pytest.mark.parametrize(
    ("form", "lines"),
    [
        ("md", ["| 0 | .1 | **.9** |", "| 1 | **.5** | .\\< |"]),
        ("latex", [r"0 & .1 & \textbf{.9} \\", r"1 & \textbf{.5} & .$<$ \\"]),
        (
            "html",
            ['<td class="number">.1</td><td class="number"><b>.9</b></td>', '<b>.5</b></td><td class="number">.&lt;'],
        ),
    ],
)
def test_the_best_of_a_column_is_bold_and_no_other_cell(form, lines):
    written = format_document(DOCUMENT, form)

    assert all(line in written for line in lines), written


def test_in_a_terminal_too():
    out = io.StringIO()
    Console(file=out, force_terminal=True, color_system="standard", width=60).print(TerminalReport(DOCUMENT))
    top = next(line for line in out.getvalue().splitlines() if ".9" in line)

    assert "\x1b[1m.9" in top and "\x1b[1m.1" not in top


def test_a_marked_row_stands_out_whole():
    sheet = Sheet("T", (Column("a"), Column("b")), [["x", "y"], ["z", ""]], marked=frozenset({1}))

    assert [sheet.is_emphasised(row, column) for row in (0, 1) for column in (0, 1)] == [False, False, True, True]
    assert "| x | y |\n| **z** |  |" in format_document(Document((sheet,), []), "md")


GROUPED = Document(
    [
        Sheet(
            "data",
            (
                Column("bucket"),
                Column("metric", printed="Metric"),
                Column("r", number=True),
            ),
            [
                ["all", "f1", ".5"],
                ["all", "ceiling", ".9"],
                ["f1=0", "f1", "–"],
                ["f1=0", "sas", ".3"],
            ],
            facts=["60 pairs"],
            notes=["a remark"],
            warnings=["bleu: failed"],
            asides=frozenset({1}),
            groups={"all": ["n = 60", "2 labels"], "f1=0": ["n = 20"]},
            caption="data: 60 pairs",
            row_notes=[(), (), ("constant", "few"), ("few",)],
        )
    ],
    [{"value": 1}],
    columns=("value", "note"),
    provenance=Provenance("no intervals", "seed:0", {"f1": "f1|v:1"}),
)


def test_markdown_shows_the_group_of_each_row_and_notes_in_their_column():
    assert (
        format_document(GROUPED, "md")
        == """### data

60 pairs

| bucket | metric | r | note |
|---|---|---:|---|
| all | f1 | .5 |  |
| all | *ceiling* | .9 | |
| f1=0 | f1 | – | constant; few |
| f1=0 | sas | .3 | few |

- all: n = 60; 2 labels
- f1=0: n = 20
- a remark
- bleu: failed

no intervals. seed:0

- `f1`: `f1|v:1`
"""
    )


def test_print_has_a_heading_for_each_group_and_no_notes_on_rows():
    assert (
        format_document(GROUPED, "latex")
        == r"""% needs \usepackage{booktabs}
\begin{table}
\centering
\caption{data: 60 pairs.}
\setlength{\abovetopsep}{1ex}
\begin{tabular}{lr}
\toprule
Metric & r \\
\midrule
\multicolumn{2}{l}{\emph{all (n = 60)}} \\
f1 & .5 \\
\emph{ceiling} & .9 \\
\midrule
\multicolumn{2}{l}{\emph{f1=0 (n = 20)}} \\
f1 & -- \\
sas & .3 \\
\bottomrule
\end{tabular}
\end{table}
"""
    )


def test_a_terminal_has_headings_and_footnotes():
    console = Console(width=60, force_terminal=False, no_color=True)
    with console.capture() as captured:
        console.print(TerminalReport(GROUPED))
    lines = [line.rstrip() for line in captured.get().splitlines()]
    assert lines[lines.index("f1=0  n = 20") + 1].split() == ["f1", "*", "–"]
    assert lines[lines.index("all  n = 60") + 1].split() == ["f1", ".5"]
    footnotes = [line for line in lines if line.startswith("* ")]
    assert footnotes == ["* constant: f1 (f1=0)", "* few: f1 (f1=0), sas (f1=0)"]
    assert lines.index("* few: f1 (f1=0), sas (f1=0)") < lines.index("a remark") < lines.index("bleu: failed")
    assert lines[-3:] == ["no intervals", "seed:0", "f1: f1|v:1"]


def test_html_shows_what_markdown_does():
    page = format_document(GROUPED, "html")
    assert '<tr><td>all</td><td><i>ceiling</i></td><td class="number">.9</td><td></td></tr>' in page
    for text in ("<p>f1=0: n = 20</p>", "<p>bleu: failed</p>", "<p>no intervals. seed:0</p>", "<p>f1: f1|v:1</p>"):
        assert text in page


def test_columns_of_the_csv_are_there_without_records():
    assert format_document(GROUPED, "csv") == "value,note\n1,\n"
    assert format_document(Document([], [], columns=("a", "b")), "csv") == "a,b\n"


def test_the_command_line_has_every_format_and_an_unknown_one_is_named():
    assert [form.value for form in ReportFormat] == ["table", *FORMATS]
    with pytest.raises(InputError, match="Did you mean 'html'"):
        format_document(GROUPED, "htm")


def test_text_stays_text_in_markdown_and_latex():
    assert escape_markdown("&lt; ~~a~~ [x](y)\nb") == r"&amp;lt; \~\~a\~\~ [x]\(y) b"
    assert escape_latex("[a] | b") == r"{}[a] \textbar{} b"
    assert escape_latex("a_1 & 50 %") == r"a\_1 \& 50 \%"


def test_a_short_name_stays_in_its_comment_in_latex():
    comments = latex_name_comments(ShortNames(["bi-encoder:/m/ok\n^^5cinput{evil}"]))
    assert comments.startswith("% bi-encoder:") and comments.count("\n") == 1


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [(-0.004, 2, ".00"), (0.004, 2, ".00"), (-0.0, 3, ".000"), (-0.006, 2, "-.01"), (-1.0, 2, "-1.00")],
)
def test_what_rounds_to_nothing_has_no_sign(value, decimals, text):
    assert short(value, decimals) == text


def test_a_bound_keeps_its_side_of_nothing():
    assert [signed(value) for value in (-0.0002, 0.0002, 0.0)] == ["-.000", "+.000", "+.000"]


def test_formulas_are_data_in_csv_and_text_for_a_spreadsheet():
    cells = ["=1+1", "+a", "-b", "@c", "\t=x", "-1.5e-3", "+2", "-", "a=1"]
    document = Document([], [{"=head": cell, "n": -0.5} for cell in cells])
    rows = list(csv.reader(io.StringIO(format_document(document, "csv"))))
    assert [row[0] for row in rows] == ["=head", *cells]
    rows = list(csv.reader(io.StringIO(format_document(document, "spreadsheet"))))
    assert [row[0] for row in rows] == ["'=head", *("'" + cell for cell in cells[:5]), "-1.5e-3", "+2", "'-", "a=1"]
    assert {row[1] for row in rows[1:]} == {"-0.5"}


def test_a_column_shows_an_attribute_of_a_record_or_what_its_function_says():
    columns = (Column("name", cell="title"), Column("facts", number=True, cell=lambda sheet: f"{len(sheet.facts):,}"))
    sheets = [Sheet("x", (), ()), Sheet("y", (), (), facts=("a", "b"))]

    assert table_rows(columns, sheets) == [["x", "0"], ["y", "2"]]
