"""Settings of the verbs that score pairs: run, score, agree, sweep, profile."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

from assay.common.declarations import is_whole_number, setting
from assay.common.messages import Setting
from assay.exceptions import InputError
from assay.metrics import Metric, MetricName
from assay.settings import (
    AdjustedAgreement,
    AgreementSettings,
    Graphs,
    Hardware,
    Limited,
    Offline,
    OwnColumns,
    OwnData,
    PaidScoring,
    Prices,
    RunFolderOutput,
    ScoreStore,
    Scoring,
    WithProgress,
)

#: Help of settings that several of these verbs have, whose place among the arguments differs.
METRICS = "A metric: name[:subject][,option=value]… Names: assay metrics list."
DATASETS = "A dataset (NAME[@VERSION][:SPLIT]) or a CSV, TSV, JSONL, Parquet file."


@dataclass(frozen=True)
class RunSettings(OwnData, Graphs, AdjustedAgreement, Limited, PaidScoring):
    """Settings of ``assay run``."""

    datasets: Any | Sequence[Any] = setting(DATASETS, (), flags=("--dataset", "-d"), metavar="DATASET")
    metrics: Sequence[Any] = setting(METRICS, (), flags=("--metric", "-m"), metavar="METRIC")
    _: KW_ONLY
    suite: str | None = setting(
        "A file of pairs or a dataset; or a suite: quickstart, answer-similarity, llm-answers, sts, a .toml file.",
        None,
        argument=True,
    )
    out: str | Path | None = setting("The run folder [default: runs/NAME-TIME].", None, flags=("--out", "-o"))
    page: bool = setting("Write report.html, a page to look at.", True, flags=("--page/--no-page",))


@dataclass(frozen=True)
class ScoreSettings(OwnData, Graphs, Limited, PaidScoring):
    """Settings of ``assay score``."""

    file: str | Path = setting("CSV, TSV, JSONL or Parquet with pairs, labelled or not.", argument=True)
    metrics: Sequence[Any] = setting(METRICS, (), flags=("--metric", "-m"), metavar="METRIC")
    out: str | Path | None = setting(
        "The output file; its suffix decides the format.", None, flags=("--out", "-o"), metavar="FILE"
    )
    _: KW_ONLY
    decision: str | Path | None = setting(
        "A folder that assay recommend wrote: add its metric, the probability of yes (or the expected label), and yes "
        "or no.",
        None,
        metavar="FOLDER",
    )
    ask_cost: float | None = setting(
        "With `decision` and its costs: say ask where an error is expected to cost more than asking a person.",
        None,
        above=0,
        metavar="COST",
    )
    spreadsheet: bool = setting(
        "In CSV and TSV, put ' before a text that a spreadsheet would run as a formula (= + - @).", False
    )

    def check(self) -> None:
        """Raise InputError without an output, without metric and decision, or for settings that a decision excludes.

        With a decision there may be one metric at most; without a decision there is no cost of asking.
        """
        super().check()
        if self.out is None:
            raise InputError("no output: give ", Setting("out", "FILE"))
        if not self.metrics and self.decision is None:
            raise InputError("no metric: give ", Setting("metrics", "NAME"), " (assay metrics list shows them)")
        if len(self.metrics) > 1 and self.decision is not None:
            raise InputError("a decision has one metric", setting="metrics", value=self.metrics[1])
        if self.ask_cost is not None and self.decision is None:
            raise InputError("goes with ", Setting("decision"), setting="ask_cost", value=self.ask_cost)


@dataclass(frozen=True)
class AgreeSettings(RunFolderOutput, OwnColumns, AdjustedAgreement, Limited, WithProgress):
    """Settings of ``assay agree``."""

    file: str | Path = setting("CSV, TSV, JSONL or Parquet with a label and score columns.", argument=True)
    _: KW_ONLY
    scores: Sequence[str] = setting(
        "A score column [default: every numeric one].", (), flags=("--score",), metavar="COLUMN"
    )


@dataclass(frozen=True)
class SweepSettings(RunFolderOutput, OwnData, Graphs, AgreementSettings, Limited, Scoring, ScoreStore):
    """Settings of ``assay sweep``."""

    datasets: Any | Sequence[Any] = setting(DATASETS, argument=True, flags=("--dataset", "-d"), metavar="DATASET")
    metric: str | MetricName | Metric = setting(
        "A metric with layers: bertscore:MODEL, pooled:MODEL,pooling=cls.", flags=("--metric", "-m"), metavar="METRIC"
    )
    _: KW_ONLY
    resamples: int = setting("Bootstrap resamples for the intervals; 0 for none.", 0)


@dataclass(frozen=True)
class ProfileSettings(OwnData, Hardware, Prices, Offline, WithProgress):
    """Settings of ``assay profile``: the metrics and points to measure, and the source of the texts.

    Raises:
        InputError: a number below 1, or none at all.
    """

    metrics: Sequence[Any] = setting(METRICS, (), flags=("--metric", "-m"), metavar="METRIC")
    dataset: Any = setting(
        "Where the texts come from: a dataset or a file.",
        "probe",
        argument=True,
        flags=("--dataset", "-d"),
        metavar="DATASET",
    )
    _: KW_ONLY
    pairs: str | int | Sequence[int] = setting("Numbers of pairs to score.", "64,256,1024", metavar="N,N,…")
    lengths: str | int | Sequence[int] = setting(
        "How many texts to join into one, at the middle number of pairs; 1 for none.", "1,2,4,8", metavar="N,N,…"
    )
    repeats: int = setting("Timed calls per point; the median counts.", 3, at_least=1)
    out: str | Path | None = setting("Write a file, too: .json, .csv or .md.", None, flags=("--out", "-o"))

    def check(self) -> None:
        """Parse the numbers of pairs and texts; raise InputError for an invalid one, or if there are none."""
        for name in ("pairs", "lengths"):
            object.__setattr__(self, name, _parse_positive_integers(name, getattr(self, name)))

    @property
    def middle(self) -> int:
        """The number of pairs at which longer texts are measured: the median of the numbers, or the lower of two."""
        pairs = self._pairs
        return pairs[(len(pairs) - 1) // 2]

    @property
    def _pairs(self) -> list[int]:
        """The distinct numbers of pairs, ascending."""
        return sorted(set(_parse_positive_integers("pairs", self.pairs)))

    def points(self) -> list[tuple[int, int]]:
        """Return the points to measure, cheap ones first: the number of pairs, and of texts that are joined to one."""
        growing = [(n, 1) for n in self._pairs]
        lengths = sorted(set(_parse_positive_integers("lengths", self.lengths)))
        return growing + [(self.middle, times) for times in lengths if times > 1]


def _parse_positive_integers(name: str, value: str | int | Sequence[int]) -> tuple[int, ...]:
    """Return positive integers, given as one number, as several, or as a text with commas.

    Args:
        name: the name of the setting, for messages.
        value: its value.

    Raises:
        InputError: the value is empty, or contains anything but positive integers, of at most nine digits in a text.
    """
    if isinstance(value, str):
        words = value.split(",")
        if not all(re.fullmatch("[0-9]{1,9}", word.strip()) for word in words):
            raise InputError("must be whole numbers with commas, such as 64,256,1024", setting=name, value=value)
        numbers = tuple(map(int, words))
    else:
        numbers = tuple(value) if isinstance(value, Iterable) else (value,)
    if not numbers or not all(is_whole_number(number) and number >= 1 for number in numbers):
        written = ",".join(map(str, numbers)) or "nothing"
        raise InputError("must be whole numbers of at least 1", setting=name, value=written)
    return numbers
