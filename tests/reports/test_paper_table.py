"""Tables for papers: values, the best of each column and what ties with it, and LaTeX that compiles."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import spearmanr

import assay
from assay.analysis.leaderboard.board import Board, Line
from assay.analysis.table import standings_by_metric
from assay.common.numbers import Number
from assay.exceptions import InputError
from assay.statistics.comparison import Difference
from assay.statistics.ranks import Rank

LABELS = [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
#: Two scores that follow the labels, one that runs against them, and one that never varies.
SCORES = {
    "good_1": [0, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17],
    "near": [1, 0, 3, 2, 5, 4, 6, 8, 7, 9, 11, 10],
    "against": [9, 11, 10, 4, 8, 6, 7, 3, 5, 2, 0, 1],
    "flat": [1] * 12,
}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))


def write_rows(path, names, labels=LABELS, scores=SCORES):
    rows = []
    for row, label in enumerate(labels):
        # one text of five words and one of one word, so that buckets differ
        texts = {"reference": f"gold {row}", "candidate": "a b c d e" if row % 2 else "a"}
        rows.append({**texts, "label": label, **{name: scores[name][row] for name in names}})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def run_of(path, names, **settings):
    return assay.run([path], [f"recorded:{name}" for name in names], resamples=100, **settings)


@pytest.fixture
def runs(tmp_path):
    """Two runs: the second lacks a metric that the first has."""
    first = run_of(write_rows(tmp_path / "a_b.jsonl", SCORES), SCORES)
    other = {name: list(reversed(values)) for name, values in SCORES.items()}
    second = write_rows(tmp_path / "second.jsonl", ["good_1", "against"], LABELS[:10], other)
    return [first, run_of(second, ["good_1", "against"])]


PLAIN = r"""\begin{table}
\centering
\caption{Agreement of metrics with labels, Spearman $\rho$. n = 12 (a\_b), 10 (second). Bold: the highest value of a column; $\dagger$: not distinguishable from it (jackknife t-tests, model confidence set, at 5\%). --: no score, or undefined. Mean: fixed mean over 2 datasets of equal weight.}
\label{tab:spearman}
\setlength{\abovetopsep}{1ex}
\begin{tabular}{lrrr}
\toprule
metric & a\_b & second & mean \\
\midrule
recorded:good\_1 & \textbf{.972} & $-$.963 & \textbf{.004} \\
recorded:near & .950\rlap{\textsuperscript{$\dagger$}} & -- & -- \\
recorded:against & $-$.907 & \textbf{.850} & $-$.029\rlap{\textsuperscript{$\dagger$}} \\
recorded:flat & -- & -- & -- \\
\bottomrule
\end{tabular}
\end{table}
"""  # noqa: E501


def without_comments(text):
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("%"))


def test_the_text_of_a_small_table(runs):
    text = assay.table(runs).to_latex()
    assert without_comments(text) == PLAIN
    assert text.startswith("% needs \\usepackage{booktabs}\n% a_b: n:12|digest:")


def test_values_are_those_of_scipy_and_missing_ones_are_undefined(runs):
    records = assay.table(runs, intervals=True).records.set_index(["dataset", "metric"])
    for name in ("good_1", "near", "against"):
        record = records.loc["a_b", f"recorded:{name}"]
        assert record["value"] == pytest.approx(spearmanr(SCORES[name], LABELS).statistic, abs=1e-12)
        assert record["low"] < record["value"] < record["high"]
        assert (record["n"], record["statistic"], record["bucket"]) == (12, "spearman", "all")
    assert records.loc["a_b", "recorded:flat"][["value", "standing"]].isna().all()
    assert records.loc["second", "recorded:near"][["value", "low", "high", "standing"]].isna().all()
    assert "mean" not in assay.table(runs, mean=False).to_text("md")


def board(values, best, ranked=None):
    lines = []
    for metric, value in values.items():
        rank = Rank(1, 1, 1) if ranked is None or metric in ranked else None
        lines.append(Line(metric, "lexical", {"auc": Number(value)}, {}, 9, None, "", rank=rank))
    differences = {}
    for first, second in combinations(lines, 2):
        differences[first.metric, second.metric] = Difference.of(
            first.values["auc"].value,
            second.values["auc"].value,
            statistic="auc",
            p_jackknife=0.5,
            error=0.1,
            degrees=8,
            n=9,
        )
    return Board("data", "all", 9, tuple(lines), {}, best=tuple(best), differences=differences)


def test_what_no_test_compares_with_the_best_is_marked_so():
    made = board({"a": 0.9, "b": 0.8, "c": 0.1}, "ab")
    untested = {pair: replace(item, p_jackknife=None, error=None) for pair, item in made.differences.items()}
    some = {**made.differences, ("a", "c"): untested["a", "c"]}
    assert list(standings_by_metric(replace(made, differences=some), "auc").values()) == ["best", "tied", "untested"]
    assert set(standings_by_metric(replace(made, differences=untested), "auc").values()) == {"best", "untested"}


@pytest.mark.parametrize(
    ("values", "best", "ranked", "expected"),
    [
        ({"a": 0.9, "b": 0.8, "c": 0.1}, "ab", None, "best tied lower"),
        ({"a": 0.9, "b": 0.8, "c": 0.1}, "ac", None, "best lower tied"),
        ({"a": 0.5, "b": 0.5, "c": 0.1}, "ab", None, "best best lower"),
        ({"a": 0.5, "b": 0.5, "c": 0.1}, "abc", None, "best best tied"),
        ({"a": 0.9, "b": 0.8, "c": 0.1}, "b", {"b", "c"}, "untested best lower"),
        ({"a": 0.9, "b": None, "c": 0.1}, "a", {"a", "c"}, "best - lower"),
        ({"a": 0.9, "b": 0.8}, "", set(), "- -"),
        ({"a": 0.9}, "a", None, "-"),
    ],
)
def test_what_stands_out(values, best, ranked, expected):
    found = standings_by_metric(board(values, best, ranked), "auc")
    assert " ".join(standing or "-" for standing in found.values()) == expected


def test_the_marks_are_what_the_leaderboard_finds(tmp_path):
    rng = np.random.default_rng(3)
    labels = rng.integers(3, size=80).tolist()
    spreads = {"sharp": 0.3, "sharp_too": 0.32, "rough": 1.2, "noise": 30}
    scores = {name: (np.array(labels) + spread * rng.normal(size=80)).tolist() for name, spread in spreads.items()}
    file = write_rows(tmp_path / "drawn.jsonl", scores, labels, scores)
    result = run_of(file, scores)
    standing = assay.table(result).records.set_index("metric")["standing"]
    board = assay.leaderboard(result, resamples=100).records
    could_be_best = board[board["bucket"] == "all"].set_index("metric")["could_be_best"]
    assert standing[could_be_best.index[0]] == "best"
    for metric in could_be_best.index[1:]:
        assert standing[metric] == ("tied" if could_be_best[metric] else "lower")
    assert set(standing) == {"best", "tied", "lower"}


def test_a_score_that_lacks_pairs_is_not_tested(tmp_path):
    scores = {**SCORES, "near": [None] * 4 + SCORES["near"][4:]}
    names = ["good_1", "near", "against"]
    text = assay.table(run_of(write_rows(tmp_path / "own.jsonl", names, scores=scores), names)).to_latex()
    assert r"\rlap{\textsuperscript{$\ddagger$}}" in text
    assert r"$\ddagger$: not tested, since scores are missing" in text
    assert "every other tested one is lower" in text


def test_where_nothing_was_tested_the_caption_names_no_test(tmp_path):
    rows = [
        {"reference": f"a {n}", "candidate": f"b {n}", "label": n % 2, "topic": n % 2, "one": n % 5, "two": n % 3}
        for n in range(40)
    ]
    result = assay.run(rows, ["recorded:one", "recorded:two"], group_by="topic", resamples=0, out=tmp_path / "run")
    text = assay.table(result).to_latex()
    assert "Bold: the highest value of a column. $\\ddagger$: not tested, since scores are missing, or too few" in text


def test_no_mark_is_explained_that_does_not_occur(tmp_path):
    file = write_rows(tmp_path / "own.jsonl", ["good_1"])
    text = assay.table(file).to_latex()
    assert "dagger" not in text
    assert "Bold" not in text
    assert "n = 12." in text


def test_columns_of_siunitx_align_numbers_and_brace_the_rest(runs):
    text = assay.table(runs, siunitx=True, mean=False).to_latex()
    assert text.startswith("% needs \\usepackage{booktabs} and \\usepackage{siunitx}\n")
    shape = "S[table-format=-1.3,detect-weight]"
    assert rf"\begin{{tabular}}{{l{shape}{shape}}}" in text
    assert r"metric & {a\_b} & {second} \\" in text
    assert r"recorded:near & 0.950{\rlap{\textsuperscript{$\dagger$}}} & {--} \\" in text
    assert r"recorded:against & -0.907 & \bfseries 0.850 \\" in text


def test_intervals_stand_below_in_small_type(runs):
    text = assay.table(runs[1], intervals=True, metrics=["recorded:against", "recorded:good_1"]).to_latex()
    assert "the highest value of a column; every other one is lower (jackknife" in text
    rows = text.split("\\midrule\n")[1].splitlines()
    assert rows[0] == r"recorded:against & \textbf{.850} \\"
    assert re.fullmatch(r"& \{\\scriptsize \[\.\d\d, \.\d\d\]\} \\\\", rows[1])
    assert rows[2] == r"\addlinespace"
    assert rows[3] == r"recorded:good\_1 & $-$.963 \\"
    assert r"Brackets: 95\% bootstrap intervals (expanded percentile) from 100 resamples" in text


@pytest.mark.parametrize("settings", [{}, {"confidence": 0.8, "seed": 3}, {"interval": "influence"}])
def test_intervals_are_those_of_the_run(tmp_path, settings):
    path = write_rows(tmp_path / "a.jsonl", SCORES)
    run = run_of(path, SCORES, buckets=["label<0.5"], **settings)
    own = run.agreement
    own = own[own["statistic"] == "spearman"].set_index(["metric", "bucket"])[["low", "high"]]
    records = assay.table(run, intervals=True, across="buckets").records.set_index(["metric", "bucket"])
    assert len(records) == len(own)
    for key, row in records.iterrows():
        assert row[["low", "high"]].isna().all() == own.loc[key].isna().all()
        assert row[["low", "high"]].fillna(0).tolist() == own.loc[key].fillna(0).tolist()
    others = assay.table(run, intervals=True, resamples=200).records.set_index(["metric", "bucket"])
    if settings.get("interval") != "influence":
        key = ("recorded:near", "all")
        assert others.loc[key, "low"] != own.loc[key, "low"]


def test_runs_with_different_settings_have_intervals_of_the_defaults(runs, tmp_path):
    third = assay.run([tmp_path / "second.jsonl"], ["recorded:good_1"], resamples=300)
    assert "from 1,000 resamples" in assay.table([runs[0], third], intervals=True).to_latex()
    none = assay.run([tmp_path / "second.jsonl"], ["recorded:good_1", "recorded:against"], resamples=0)
    assert "from 1,000 resamples" in assay.table(none, intervals=True).to_latex()


def test_buckets_across_give_a_table_a_dataset(tmp_path):
    names = ["good_1", "near", "against"]
    result = run_of(write_rows(tmp_path / "own.jsonl", names), names, buckets=["length:0,3,9"])
    every = assay.table(result, across="buckets")
    assert [column.head for column in every.document.sheets[0].columns[:2]] == ["metric", "all"]
    assert len(every.document.sheets[0].columns) == 4
    bucket = every.document.sheets[0].columns[2].head
    one = assay.table(result, buckets=[bucket]).document.sheets
    assert [column.head for column in one[0].columns] == ["metric", "own"]
    assert bucket in one[0].title
    two = assay.table(result, buckets=["all", bucket], label="tab:own").to_latex()
    assert r"\label{tab:own-1}" in two
    assert r"\label{tab:own-2}" in two


def test_nothing_is_the_best_by_labels_of_a_rule(tmp_path):
    files = [write_rows(tmp_path / f"{name}.jsonl", []) for name in ("one", "mean")]
    result = assay.run([*files, "probe"], ["f1", "chrf"], limit=12, resamples=100)
    (sheet,) = assay.table(result).document.sheets
    assert [column.head for column in sheet.columns] == ["metric", "one", "mean", "probe", "mean"]
    assert not any(column == 3 for _, column in sheet.best)
    assert "probe: probe set: labels follow a rule, not several annotators; never rank metrics by it" in sheet.notes
    assert "Mean: fixed mean over 2 datasets of equal weight" in sheet.notes
    assert "n = 12" in sheet.notes
    across = assay.table(result, across="buckets", buckets=["all"]).document.sheets
    assert [sheet.notes[0] for sheet in across] == ["n = 12", "n = 12", "n = 12", "n = 24"]


def test_every_other_format_has_the_same_cells(runs):
    report = assay.table(runs, mean=False)
    assert "| recorded:near | .950† | – |" in report.to_markdown()
    assert '<td class="number"><b>.850</b></td>' in report.to_html()
    assert len(list(csv.DictReader(io.StringIO(report.to_csv())))) == len(json.loads(report.to_json())) == 8


def test_names_and_captions_are_printed_as_they_are(tmp_path):
    odd = {"50%_{x}&#$~^\\": SCORES["good_1"], "<b>|": SCORES["against"]}
    file = write_rows(tmp_path / "own.jsonl", odd, scores=odd)
    text = assay.table(file, caption="Costs 5 % & more.").to_latex()
    assert r"\caption{Costs 5 \% \& more. n = 12. " in text
    assert r"recorded:50\%\_\{x\}\&\#\$\textasciitilde{}\textasciicircum{}\textbackslash{} & \textbf{.972} \\" in text
    assert r"recorded:$<$b$>$\textbar{} & $-$.907 \\" in text
    if shutil.which("pdflatex"):
        compile_tables(tmp_path, text)


@pytest.mark.parametrize("label", ["", "a b", "tab:50%", "tab_1", "x}y"])
def test_a_label_that_latex_would_read_as_a_command(runs, label):
    with pytest.raises(InputError, match="label="):
        assay.table(runs, label=label)


def test_what_cannot_be_laid_out_is_one_line(runs):
    with pytest.raises(InputError, match="no run: give one run folder or more"):
        assay.table([])
    with pytest.raises(InputError, match=r"across=rows: must be datasets or buckets"):
        assay.table(runs, across="rows")
    with pytest.raises(InputError, match="spearmann"):
        assay.table(runs, by="spearmann")
    with pytest.raises(InputError, match="no run has scores of"):
        assay.table(runs, metrics=["f1"])


def compile_tables(folder, *texts):
    """Return the log of pdfLaTeX, which stops at the first error."""
    source = folder / "paper.tex"
    packages = "\\usepackage{booktabs}\n" + ("\\usepackage{siunitx}\n" if "{siunitx}" in "".join(texts) else "")
    head = "\\documentclass{article}\n" + packages + "\\begin{document}\n"
    source.write_text(head + "\n".join(texts) + "\\end{document}\n", encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", source.name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=300)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (folder / "paper.pdf").stat().st_size > 0
    return done.stdout


def has_package(name):
    if not shutil.which("pdflatex") or not shutil.which("kpsewhich"):
        return False
    return subprocess.run(["kpsewhich", f"{name}.sty"], capture_output=True).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("siunitx", [False, True])
def test_the_latex_compiles(runs, tmp_path, siunitx):
    for package in ("booktabs", *(["siunitx"] if siunitx else [])):
        if not has_package(package):
            pytest.skip(f"needs pdflatex with {package}: apt-get install texlive-latex-recommended texlive-science")
    plain = assay.table(runs, siunitx=siunitx, label="tab:one").to_latex()
    small = assay.table(runs, siunitx=siunitx, intervals=True, label="tab:two").to_latex()
    log = compile_tables(tmp_path, plain, small)
    assert "Missing character" not in log
    assert "Overfull" not in log


@pytest.fixture
def of_two_files(tmp_path):
    """A run of scores that two files of one name hold, with its whole names."""
    data = write_rows(tmp_path / "own.jsonl", [])
    metrics = []
    for name in ("good_1", "near"):
        file = tmp_path / name / "scores.jsonl"
        file.parent.mkdir()
        write_rows(file, [name])
        file.write_text(file.read_text(encoding="utf-8").replace(name, "score"), encoding="utf-8")
        metrics.append(f"recorded:{file}#score")
    return assay.run([data], metrics, out=tmp_path / "run", resamples=100, page=False), metrics


@pytest.mark.parametrize("table", ["paper", "run"])
def test_latex_names_files_by_what_tells_them_apart(of_two_files, tmp_path, table):
    result, metrics = of_two_files
    text = assay.table(result).to_latex() if table == "paper" else result.to_latex()
    comments, _, body = text.partition(r"\begin{table}")
    for metric, name in zip(metrics, ("good_1", "near"), strict=True):
        short = f"recorded:…/{name}/scores.jsonl#score"
        assert f"% {short}: {metric}\n" in comments
        assert short.replace("…", "...").replace("_", r"\_").replace("#", r"\#") + " & " in body
    assert str(tmp_path) not in body.replace(r"\_", "_")
    if table == "run":
        assert metrics[0] in result.to_markdown().replace("\\", ""), "in full elsewhere"


@pytest.mark.slow
def test_the_table_of_a_run_compiles(of_two_files, runs, tmp_path):
    if not has_package("booktabs"):
        pytest.skip("needs pdflatex with booktabs: apt-get install texlive-latex-recommended")
    wide = runs[0].to_latex()
    assert r"\footnotesize" in wide and "$-$.907 [$-$" in wide
    # the path of a test is not a name that anybody would print
    log = compile_tables(tmp_path, of_two_files[0].to_latex().replace("scores.jsonl\\#score", "x"), wide)
    assert "Missing character" not in log
    assert "Overfull" not in log
