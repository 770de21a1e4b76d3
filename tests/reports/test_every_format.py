"""The writer of tables: one document in every format, whole; the tests of a verb look at its own numbers alone."""

from __future__ import annotations

import csv
import io
import json

import pytest
from rich.console import Console

from assay.reports.formats import format_document
from assay.reports.sheets import Column, Document, Sheet
from assay.reports.terminal import TerminalReport

SHEET = Sheet(
    "Text & <b>",
    [Column("name"), Column("value", number=True)],
    [["a|b_c", ".50"], ["<script>", "–"]],
    facts=["n = 2"],
    notes=["50 % of *x*"],
)
RECORDS = [{"name": "a|b_c", "value": 0.1 + 0.2}, {"name": "<script>", "value": None, "parts": [1, "é"]}]
DOCUMENT = Document([SHEET], RECORDS, notes=["a note"])

MARKDOWN = r"""### Text &amp; \<b\>

n = 2

| name | value |
|---|---:|
| a\|b\_c | .50 |
| \<script\> | – |

- 50 % of \*x\*

- a note
"""
LATEX = r"""% needs \usepackage{booktabs}
\begin{table}
\centering
\caption{Text \& $<$b$>$. n = 2. 50 \% of *x*.}
\setlength{\abovetopsep}{1ex}
\begin{tabular}{lr}
\toprule
name & value \\
\midrule
a\textbar{}b\_c & .50 \\
$<$script$>$ & -- \\
\bottomrule
\end{tabular}
\end{table}
"""
HTML = (
    "<table><caption>Text &amp; &lt;b&gt;. n = 2</caption>"
    '<thead><tr><th scope="col">name</th><th scope="col" class="number">value</th></tr></thead>'
    '<tbody><tr><td>a|b_c</td><td class="number">.50</td></tr>'
    '<tr><td>&lt;script&gt;</td><td class="number">–</td></tr></tbody></table>\n'
    "<p>50 % of *x*</p>\n<p>a note</p>\n"
)


@pytest.mark.parametrize(("form", "text"), [("md", MARKDOWN), ("latex", LATEX), ("html", HTML)])
def test_a_table_to_read(form, text):
    assert format_document(DOCUMENT, form) == text


def test_records_keep_every_digit_and_what_is_undefined():
    assert json.loads(format_document(DOCUMENT, "json")) == RECORDS
    assert json.loads(format_document(Document([SHEET], RECORDS, value={"all": 1}), "json")) == {"all": 1}
    assert list(csv.DictReader(io.StringIO(format_document(DOCUMENT, "csv")))) == [
        {"name": "a|b_c", "value": "0.30000000000000004", "parts": ""},
        {"name": "<script>", "value": "", "parts": '[1, "é"]'},
    ]


def test_a_terminal_aligns_numbers_to_the_right():
    out = io.StringIO()
    Console(file=out, width=60).print(TerminalReport(DOCUMENT))
    title, fact, head, _, first, second, *notes = [
        line.rstrip() for line in out.getvalue().splitlines() if line.strip()
    ]
    assert (title, fact) == ("Text & <b>", "n = 2")
    assert head.split() == ["name", "value"]
    assert (first.split(), second.split()) == (["a|b_c", ".50"], ["<script>", "–"])
    assert len(first) == len(second) == len(head)
    assert notes == ["50 % of *x*", "a note"]
