"""Text that others wrote: nothing in it acts on a terminal or forges a line, and its length is bounded."""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import suppress
from xml.etree import ElementTree as ET

import pytest
from markupsafe import Markup

from assay.cli.printing import print_data, print_grid
from assay.common.visible import LONGEST_LINE, LONGEST_WORD, brief_text, code_block, code_span, visible_text
from assay.reports.formats import escape_latex, escape_markdown, format_document
from assay.reports.page.render import template_environment
from assay.reports.plots import element
from assay.reports.sheets import Column, Document, Provenance, Sheet
from tests.cli.calling import call, command

HOSTILE = "a\x1b[2J\x9b\u202e\udc80\x00"
SPELT = r"a\x1b[2J\x9b\u202e\udc80\x00"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (HOSTILE, SPELT),
        ("a\r\n\t\u2028\x85b", r"a\r\n\t\u2028\x85b"),
        ("\U000e0041\ufffe", r"\U000e0041\ufffe"),
        # drawn as they are: spaces, combining marks, joined emoji, right-to-left letters
        ("é\xa0e\u0301 👩\u200d🔬 سلام C:\\new", "é\xa0e\u0301 👩\u200d🔬 سلام C:\\new"),
    ],
)
def test_what_acts_is_spelt_out(text, shown):
    assert visible_text(text) == shown
    assert brief_text(text) == shown


def test_length_is_bounded_and_the_end_stays():
    line = brief_text(f"{'x' * 5000}.csv: there is no such file")
    assert len(line) < LONGEST_WORD + 40
    assert line.endswith(".csv: there is no such file") and "more]" in line
    assert len(brief_text("word " * 100_000)) <= LONGEST_LINE
    assert brief_text("word " * 300) == "word " * 300


@pytest.mark.parametrize("form", ["md", "latex", "html"])
def test_no_format_for_people_keeps_it(form):
    sheet = Sheet(HOSTILE, [Column(HOSTILE)], [[HOSTILE]], facts=[HOSTILE], notes=[HOSTILE], warnings=[HOSTILE])
    made = Provenance(HOSTILE, HOSTILE, {HOSTILE: HOSTILE})
    document = Document([sheet], [], notes=[HOSTILE], warnings=[HOSTILE], hints=[HOSTILE], provenance=made)
    text = format_document(document, form)
    assert visible_text(text, keep="\n") == text
    assert "x1b" in text


def test_a_page_shows_it_spelt_out():
    page = template_environment().from_string("<p>{{ name }}</p>{{ name|parted }}{{ html }}")
    assert page.render(name=HOSTILE, html=Markup("<b>x\t</b>")) == f"<p>{SPELT}</p>{SPELT}<b>x\t</b>"


def test_line_ends_are_blanks_in_markdown_and_latex():
    assert escape_markdown("a\nb") == escape_latex("a\nb") == "a b"


def test_a_drawing_stays_well_formed():
    assert ET.fromstring(element("text", HOSTILE)).text == SPELT


@pytest.mark.parametrize(
    "args",
    [
        ("run", f"{'x' * 5000}.csv", "-m", "f1"),
        ("run", "a\x1b[31m\nb.csv", "-m", "f1"),
        ("run", "-d", "probe", "-m", f"bi-encoder:/tmp/{'x' * 5000}"),
        ("run", "-d", "probe", "-m", "f1", "--out", "x" * 5000),
        ("run", "-d", "probe", "-m", "f1\x1b[2J\nassay: all is well"),
        ("run", "-d", "probe", "-m", "f1", "--confidence", "x\n\x1b[2J"),
        (f"ru{'n' * 5000}",),
        ("ru\x1b[2J\n",),
    ],
)
def test_an_error_is_one_line_of_bounded_length(args):
    line = call(*args).complaint
    assert visible_text(line) == line
    assert len(line) <= 1000


def test_cells_and_heads_of_a_file(tmp_path):
    file = tmp_path / "sly.csv"
    head = "h" * 5000 + "\x1b[2J"
    file.write_text(f'reference,candidate,label,{head}\na,"b\x1b[2J\nassay: forged",1,c\na,b,0,d\n', encoding="utf-8")
    run = ("run", file, "-m", "f1", "--resamples", "0", "--out", tmp_path / "out")
    for arguments in (("datasets", "show", file), ("datasets", "check", file), run):
        done = call(*arguments)
        assert done.code == 0 and done.out
        for line in (done.out + done.err).splitlines():
            assert visible_text(line) == line and len(line) <= LONGEST_LINE
            assert not line.startswith("assay: forged")


def test_data_on_a_terminal(monkeypatch, capsys):
    print_data('{"a": "\x9b"}\n')
    assert capsys.readouterr().out == '{"a": "\x9b"}\n'
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    print_data("a,b\x1b[2J\n1,2\n")
    assert capsys.readouterr().out == "a,b\\x1b[2J\n1,2\n"


def test_a_grid_has_no_markup(capsys):
    print_grid(("name", "what"), [("[/x]", "a\x1b[2J")])
    assert "[/x]" in (shown := capsys.readouterr().out) and "a\\x1b[2J" in shown


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no pseudo-terminals")
def test_names_on_a_terminal(tmp_path):
    """Progress bars and tables where a name is markup, and data acts."""
    vectors = tmp_path / "v[/x]\x1b]0;owned\x07.txt"
    vectors.parent.mkdir()
    vectors.write_text("a 1 1\nb 2 1\nc 3 1\n")
    rows = "".join(f"a {number},b\x1b]0;owned,{number % 3},\x9b{number % 2}\n" for number in range(30))
    (tmp_path / "p.csv").write_text(f"reference,candidate,label,col[/y]\x1b]0;owned\n{rows}", encoding="utf-8")
    line = ("run", "p.csv", "-m", f"static:{vectors}", "-m", "f1", "--resamples", "0", "--out", "out[/z]")
    code, text = run_on_terminal(command(*line), tmp_path)
    assert code == 0 and "static:" in text, text
    assert "\x1b]0" not in text and "\x9b" not in text


def run_on_terminal(line, folder):
    """Run a command on a pseudo-terminal of its own, and return its exit code and what it wrote there."""
    host, guest = os.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "ASSAY_CACHE": str(folder / "cache")}
    job = subprocess.Popen(line, stdin=guest, stdout=guest, stderr=guest, cwd=folder, env=env)
    os.close(guest)
    chunks = []
    with suppress(OSError):  # the terminal is closed when the last process on it ends
        while chunk := os.read(host, 65536):
            chunks.append(chunk)
    os.close(host)
    return job.wait(60), b"".join(chunks).decode("utf-8", "surrogateescape")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("f1", "`f1`"),
        ("a`b", "``a`b``"),
        ("`a``b", "``` `a``b ```"),
        ("b`", "`` b` ``"),
        ("` <script>", "`` ` <script> ``"),
        (" a ", "`  a  `"),
        ("a\nb", "`a\\nb`"),
        ("", "`  `"),
    ],
)
def test_code_in_markdown_ends_where_its_text_ends(text, written):
    assert code_span(text) == written


def test_a_block_of_code_ends_where_its_text_ends():
    assert code_block("a") == "```\na\n```"
    assert code_block("a\n```\n# b\n`````") == "``````\na\n```\n# b\n`````\n``````"


@pytest.mark.parametrize("name", ["a`b", "```", "x` <img src=x> `y", "``a"])
def test_a_name_with_backticks_stays_code_in_a_report(name):
    """Every backtick of a name is inside of a span whose fence the name does not have."""
    provenance = Provenance("method", "signature", {name: name})
    document = Document((Sheet("t", [], []),), [], provenance=provenance)
    line = next(line for line in format_document(document, "md").splitlines() if line.startswith("- "))
    span = code_span(name)
    assert line == f"- {span}: {span}"
    fence = re.match("`+", span)[0]
    assert fence not in span[len(fence) : -len(fence)].strip()
