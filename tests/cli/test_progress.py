"""What a user sees while work goes on: pairs as they are done, at any name length, and what --verbose adds."""

import io
import logging

import pytest
from rich.console import Console

import assay
from assay.cli import progress as shown_progress
from assay.common import progress as shares
from assay.common.progress import Silent, report_share, scaled_shares, share_listener
from tests.cli.calling import COLUMNS, OWN, process


class Counting(Silent):
    def __init__(self):
        self.total = self.done = 0
        self.begun = []

    def begin(self, what, total):
        self.begun.append(what)
        self.total, self.done = total, 0

    def advance(self, units):
        self.done += units


@pytest.mark.parametrize("name", ["static:v[/x].txt on tq, pairs", "x" * 300])
def test_a_bar_shows_figures_beside_any_name(name):
    console = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    with shown_progress._make_progress_bar(console) as bar:
        shown = shown_progress._ProgressBars(bar)
        shown.begin(name, 1200)
        shown.advance(64)
        bar.refresh()
    text = console.file.getvalue()
    assert "64/1200" in text
    assert name[:20] in text


def test_lines_where_stderr_is_no_terminal(monkeypatch, capsys):
    monkeypatch.setattr(shown_progress, "SECONDS_TO_FIRST_LINE", 0.0)
    clock = iter([0.0, 2.0, 3.0, 20.0])
    monkeypatch.setattr(shown_progress.time, "monotonic", lambda: next(clock))
    lines = shown_progress._ProgressLines()
    lines.begin("ce on tq, pairs", 600)
    lines.advance(100)
    # ten seconds have not passed
    lines.advance(100)
    lines.advance(100)
    assert capsys.readouterr().err.splitlines() == [
        # the two seconds before are those that the model took to load
        "ce on tq, pairs: 100/600",
        "ce on tq, pairs: 300/600, 11/s, 27 s left",
    ]


def test_no_time_left_is_told_from_the_first_few_units(monkeypatch, capsys):
    times = iter([0.0, 0.5, 8.0, 19.0])
    monkeypatch.setattr(shown_progress.time, "monotonic", lambda: next(times))
    lines = shown_progress._ProgressLines()
    lines.begin("bertscore on tq, pairs", 5000)
    # what the store had: nothing; then one pair, on which the model warmed up
    for units in (0, 1, 400):
        lines.advance(units)
    assert capsys.readouterr().err.splitlines() == [
        "bertscore on tq, pairs: 1/5,000",
        "bertscore on tq, pairs: 401/5,000, 36/s, 2 min left",
    ]


def test_work_that_was_given_no_name_is_no_line(monkeypatch, capsys):
    now = iter([5.0])
    monkeypatch.setattr(shown_progress.time, "monotonic", lambda: next(now))
    shown_progress._ProgressLines().advance(0)
    assert capsys.readouterr().err == ""


def test_pairs_are_counted_while_a_unit_of_work_is_under_way(monkeypatch):
    monkeypatch.setattr(shares, "SECONDS_BETWEEN_REPORTS", 0.0)
    progress = Counting()
    seen = []

    def slow(reference: str, candidate: str) -> float:
        seen.append((progress.done, progress.total))
        return float(reference == candidate)

    pairs = [{"reference": "a", "candidate": f"b {i}", "label": i % 2} for i in range(40)]
    assay.run(pairs, [slow], buckets=["none"], resamples=0, progress=progress)
    assert {total for _, total in seen} == {40}
    counts = [done for done, _ in seen]
    # the pair before the last one is told of when the last begins; no pair is counted twice
    assert counts == sorted(counts) and counts[-1] >= 37
    assert any(what.endswith("pairs") for what in progress.begun)


def test_shares_of_parts():
    told = []
    with share_listener(told.append):
        with scaled_shares(0.5, 1.0):
            report_share(0.5)
        report_share(1.0)
    report_share(0.3)
    assert told == [0.75, 1.0, 1.0]


@pytest.mark.slow
def test_verbose_stands_before_or_behind_a_verb_and_is_off_by_default(tmp_path):
    file = tmp_path / "own.csv"
    file.write_text(OWN)
    line = ("run", file, *COLUMNS, "-m", "f1", "--resamples", 0, "--out", tmp_path / "run", "-q")
    cache = {"ASSAY_CACHE": str(tmp_path / "cache")}
    said = process(*line, "--verbose", **cache).err
    assert "f1: the store has 0 of 6 distinct pairs" in said and "scored in" in said
    assert "f1: the store has 6 of 6 distinct pairs" in process("--verbose", *line, **cache).err
    assert process(*line, **cache).err == ""


def test_the_log_says_nothing_by_itself(caplog):
    assert logging.getLogger("assay").level == logging.NOTSET
    assert not logging.getLogger("assay").handlers
