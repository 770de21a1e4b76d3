"""Run folders read, laid out and rendered; published numbers judged."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from assay.analysis.folder import RunFolder, read_run
from assay.analysis.reproduce import compare_cells, judge, list_tables, load_table
from assay.common.numbers import Number, label_texts, percent
from assay.common.tables import RUN_SCHEMA
from assay.exceptions import InputError
from assay.manifest import AgreementRow, Manifest
from assay.reports.formats import format_document
from assay.reports.layout import lay_out
from assay.reports.reproduce import summarise
from assay.reports.run import document
from assay.reports.terminal import TerminalReport

EXAMPLES = Path(__file__).with_name("examples")
NAME = "a|b_<script>"
ROW = {
    "dataset": NAME,
    "split": "",
    "bucket": "all",
    "metric": "m_1|x",
    "statistic": "spearman",
    "value": 0.7346,
    "low": 0.68123,
    "high": 0.78,
    "n": 3,
    "note": "2 of 3 pairs have a score",
}


def run_of(rows=(ROW,), **changes):
    manifest = {
        "schema": RUN_SCHEMA,
        "request": {
            "datasets": [], "buckets": [], "statistics": ["spearman"], "resamples": 1000, "confidence": 0.95,
            "drop_duplicates": False, "seed": 0, "limit": None, "references": "best",
        },
        "signature": "seed:0|assay:0",
        "datasets": [
            {
                "name": NAME, "version": "1", "split": "", "language": None, "scale": None, "n": 1234, "kind": "own",
                "source": "", "sha256": "", "digest": "", "duplicates_dropped": 2, "group": "question",
                "notes": ["2 duplicate rows left out"],
            }
        ],
        "metrics": [
            {
                "dataset": NAME, "metric": "m_1|x", "status": "done", "reason": "", "remedy": "",
                "short_signature": "m", "signature": {},
            },
            {
                "dataset": NAME, "metric": "gone", "status": "unavailable", "reason": "no torch",
                "remedy": 'pip install "assay[neural]"', "short_signature": "", "signature": {},
            },
        ],
        "buckets": [
            {
                "dataset": NAME, "split": "", "bucket": "all", "n": 3, "labels": {"0": 1.0, "1": 1.0, "2": 1.0},
                "ties": 0.333, "ceiling": {"spearman": 0.887}, "reliability": None,
                "groups": 2,
            }
        ],
        **changes,
    }  # fmt: skip
    return RunFolder(None, Manifest.model_validate(manifest), [AgreementRow.model_validate(row) for row in rows])


MARKDOWN = r"""### a\|b\_\<script\>@1

1,234 pairs; resampled by question; 2 duplicate rows left out

| bucket | metric | Spearman ρ | note |
|---|---|---:|---|
| all | m\_1\|x | .735 [.68, .78] | 2 of 3 pairs have a score |
| all | *tie-free ceiling* | .887 | |

- all: n = 3; labels 0: 1, 1: 1, 2: 1; 33% of comparisons are ties in the labels; 2 groups
- gone: unavailable, no torch -\> pip install "assay[neural]"

95% bootstrap intervals (expanded percentile) from 1,000 resamples. seed:0\|assay:0

- `m_1|x`: `m`
"""

LATEX = r"""% needs \usepackage{booktabs}
\begin{table}
\centering
\caption{a\textbar{}b\_$<$script$>$@1: 1,234 pairs; resampled by question; 2 duplicate rows left out; 95\% bootstrap intervals (expanded percentile) from 1,000 resamples.}
\setlength{\abovetopsep}{1ex}
\begin{tabular}{lr}
\toprule
Metric & Spearman $\rho$ \\
\midrule
\multicolumn{2}{l}{\emph{all (n = 3)}} \\
m\_1\textbar{}x & .735 [.68, .78] \\
\emph{tie-free ceiling} & .887 \\
\bottomrule
\end{tabular}
\end{table}
"""  # noqa: E501


def test_markdown():
    assert format_document(document(run_of()), "md") == MARKDOWN


def test_latex():
    assert format_document(document(run_of()), "latex") == LATEX
    awkward = run_of([{**ROW, "metric": "50%_#{a}&b$~^\\"}])
    assert r"50\%\_\#\{a\}\&b\$\textasciitilde{}\textasciicircum{}\textbackslash{} & .735" in format_document(
        document(awkward), "latex"
    )


def test_html_escapes_all_text():
    page = format_document(document(run_of([{**ROW, "note": "<b>"}])), "html")
    assert "<script>" not in page and "<b>" not in page
    assert "a|b_&lt;script&gt;@1" in page and "&lt;b&gt;" in page


def test_a_terminal_shows_names_as_they_are_and_cuts_no_number():
    from rich.console import Console

    long = "recorded:" + "x" * 60 + "[red]"
    console = Console(width=60, force_terminal=False, no_color=True)
    with console.capture() as captured:
        console.print(TerminalReport(document(run_of([{**ROW, "metric": long}]))))
    text = captured.get()
    assert ".735 [.68, .78]" in text and "…" not in text
    assert "[red]" in "".join(text.split())
    assert "a|b_<script>@1" in text


def test_a_narrow_terminal_leaves_coefficients_out_with_a_hint_or_shows_them_below():
    from rich.console import Console

    statistics = ["pearson", "spearman", "kendall", "kendall-tau-c", "auc"]
    rows = [{**ROW, "statistic": name, "note": ""} for name in statistics]
    run = run_of(rows)
    run.manifest.request.statistics[:] = statistics

    def lines(**more):
        console = Console(width=60, force_terminal=False, no_color=True)
        with console.capture() as captured:
            console.print(TerminalReport(document(run), **more))
        return captured.get().splitlines()

    (row,) = [line for line in lines(asking="--explain") if "m_1|x" in line]
    assert row.count(".735 [.68, .78]") == 2
    hint = "".join(lines(asking="--explain")).partition("not shown in 60 columns:")[2].partition("(--explain)")[0]
    assert [name in hint for name in ("Pearson", "Spearman", "τ-b", "τ-c", "AUC")] == [False, False, True, True, True]
    rows = [line for line in lines() if "m_1|x" in line and "[" in line]
    assert sum(row.count(".735 [.68, .78]") for row in rows) == len(statistics)
    assert max(map(len, lines())) <= 60


def test_undefined_values_are_null_empty_or_a_dash():
    undefined = {**ROW, "value": None, "low": None, "high": None, "note": "constant score"}
    run = run_of([undefined])
    assert json.loads(format_document(document(run), "json"))[0]["value"] is None
    assert format_document(document(run), "csv").splitlines()[1] == f"{NAME},,all,m_1|x,spearman,,,,3,constant score"
    assert r"| all | m\_1\|x | – | constant score |" in format_document(document(run), "md")
    assert r"m\_1\textbar{}x & -- \\" in format_document(document(run), "latex")


def test_cells_and_facts():
    assert Number(0.5).text == ".500"
    assert Number(-0.12345, -0.5, 0.25).text == "-.123 [-.50, .25]"
    (section,) = lay_out(run_of(rows=[]))
    assert section.blocks[0].rows == []
    assert section.facts == ["1,234 pairs", "resampled by question", "2 duplicate rows left out"]


def test_a_folder_must_be_one(tmp_path):
    with pytest.raises(InputError, match="there is no such run folder"):
        read_run(tmp_path / "none")
    with pytest.raises(InputError, match=r"is not a run folder, run.json is missing"):
        read_run(tmp_path)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(InputError, match="is not valid JSON"):
        read_run(tmp_path)
    (tmp_path / "run.json").write_text("[]")
    with pytest.raises(InputError, match="should hold a JSON object"):
        read_run(tmp_path)
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(InputError, match="has no schema version"):
        read_run(tmp_path)
    (tmp_path / "run.json").write_text(json.dumps({"schema": RUN_SCHEMA + 1}))
    with pytest.raises(InputError, match=r"newer assay .*update assay$"):
        read_run(tmp_path)
    (tmp_path / "run.json").write_text((EXAMPLES / "schema-1-with-scores" / "run.json").read_text())
    with pytest.raises(InputError, match=r"agreement.json is missing"):
        read_run(tmp_path)
    (tmp_path / "agreement.json").write_text("[]")
    assert read_run(tmp_path).agreement == []


@pytest.mark.parametrize(
    ("printed", "value", "verdict"),
    [
        ("0.73", 0.7346, "equal"),
        ("0.74", 0.7346, "rounded twice in print"),
        ("0.23", 0.2246, "rounded twice in print"),
        ("0.75", 0.7346, "differs"),
        ("0.22", 0.2246, "equal"),
        ("0.10", 0.105, "differs"),
        ("-0.13", -0.125, "equal"),
        ("0.443", 0.44349, "equal"),
        ("0.444", 0.44349, "rounded twice in print"),
        ("0.445", 0.44349, "differs"),
        ("0.00", None, "undefined, printed as zero"),
        ("0.10", None, "missing"),
    ],
)
def test_a_number_is_held_against_its_print(printed, value, verdict):
    assert judge(printed, value) == verdict


def test_cells_that_were_not_computed_are_missing():
    table = load_table("sas-table-2")
    verdicts = compare_cells(table, [])
    assert {cell.verdict for cell in verdicts} == {"missing"}
    assert summarise(verdicts) == "0 of 80 cells equal as printed; 80 missing"
    with pytest.raises(InputError, match="Did you mean 'sas-table-2'"):
        load_table("sas-table2")


def test_every_published_table_names_its_source():
    tables = list_tables()
    sas = ["sas-figure-3", "sas-table-2", "sas-table-2-lexical", "sas-table-3", "sas-table-3-lexical"]
    sets = ["flickr8k-expert", "jsts", "realsumm-rouge"]
    names = ["bamboo", *sets, "s3bert-table-2", *sas, "sts17-baseline", "summeval-rouge"]
    assert [table.name for table in tables] == names
    assert all(re.search("arXiv|doi|github.com/", table.source) for table in tables)


@pytest.mark.parametrize("folder", sorted(EXAMPLES.iterdir()), ids=lambda path: path.name)
def test_old_run_folders_stay_readable(folder):
    run = read_run(folder)
    assert format_document(document(run), "md") == (folder / "table.md").read_text(encoding="utf-8")
    assert r"\toprule" in format_document(document(run), "latex")
    assert len(format_document(document(run), "csv").splitlines()) == 1 + len(run.agreement)


def test_a_manifest_that_is_not_whole_is_one_line(tmp_path):
    (tmp_path / "run.json").write_text('{"schema": 1}')
    (tmp_path / "agreement.json").write_text("[]")
    with pytest.raises(InputError, match=r"run.json: request: Field required; the file was changed"):
        read_run(tmp_path)


def test_numbers_are_not_written_with_hundreds_of_digits():
    assert label_texts([1e308, -2.0, 1234567890.0]) == ["1e+308", "-2", "1234567890"]


def test_labels_have_four_digits_or_as_many_as_tell_them_apart():
    assert label_texts([0.333333333333333, 0.666666666666667, 1.0]) == ["0.3333", "0.6667", "1"]
    assert label_texts([12345.678, 20.0]) == ["12350", "20"]
    assert label_texts([0.33331, 0.33332]) == ["0.33331", "0.33332"]


@pytest.mark.parametrize(
    ("level", "shown"),
    [(0.95, "95%"), (0.9, "90%"), (0.07, "7%"), (0.995, "99.5%"), (0.999, "99.9%"), (0.9999999, "99.99999%")],
)
def test_a_level_is_not_rounded_to_certainty(level, shown):
    assert percent(level) == shown
