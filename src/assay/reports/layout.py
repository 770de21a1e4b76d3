"""The agreement table laid out for a reader: a line for each metric, a column for each statistic."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from assay.reports.folder import RunFolder
from assay.statistics.coefficients import STATISTICS, title_of
from assay.tables import NOT_BY_PEOPLE

__all__ = [
    "Block",
    "Cell",
    "Section",
    "dataset_title",
    "fit",
    "label_texts",
    "lay_out",
    "p_value",
    "percent",
    "short",
    "short_names",
    "signed",
]


# Names short enough for a figure; the whole name stands in the list of signatures.

#: Folders before the last part of a path or of a hub id, after the ``:`` of a subject or the ``=`` of an option.
_FOLDERS = re.compile(r"(?<=[:=])[^,=]*[/\\](?=[^,/\\])")


def short_names(metrics: Iterable[str]) -> dict[str, str]:
    """Return a short name for each metric: ``bi-encoder:/models/minilm`` becomes ``bi-encoder:…/minilm``.

    Where two metrics would get the same one, both keep their own.
    """
    names = {metric: _FOLDERS.sub("…/", metric) for metric in metrics}
    shared = Counter(names.values())
    return {metric: name if shared[name] == 1 else metric for metric, name in names.items()}


def fit(text: str, width: int) -> str:
    """Return *text* in at most *width* characters, its middle left out: start and end tell names apart."""
    if len(text) <= width:
        return text
    tail = (width - 1) * 2 // 3
    return f"{text[: width - 1 - tail]}…{text[-tail:]}"


# The agreement table laid out for a reader: per dataset and bucket, a line a metric, a column a statistic.


@dataclass(frozen=True)
class Cell:
    """One number with its interval; the text is empty where there is none."""

    value: float | None
    low: float | None
    high: float | None
    note: str

    @property
    def text(self) -> str:
        """Value with three decimals, bounds with two: ``.734 [.68, .78]``; a dash where it is undefined.

        Coefficients lie between -1 and 1, so the zero before the point says nothing and is left out.
        """
        if self.value is None:
            return "–"
        if self.low is None or self.high is None:
            return short(self.value, 3)
        return f"{short(self.value, 3)} [{short(self.low, 2)}, {short(self.high, 2)}]"


def short(value: float, decimals: int) -> str:
    """Return a number that lies between -1 and 1 without the zero before the point."""
    text = f"{value:.{decimals}f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def label_texts(labels: Sequence[float]) -> list[str]:
    """Return labels with four significant digits, or with more where two of them would look the same."""
    for digits in (4, 6, 15):
        texts = [f"{one:.0f}" if _is_whole(one) else f"{float(f'{one:.{digits}g}'):.15g}" for one in labels]
        if len(set(texts)) == len(set(labels)):
            break
    return texts


def _is_whole(value: float) -> bool:
    """Tell whether a number is written with all its digits: from 1e15 on they say nothing."""
    return abs(value) < 1e15 and value == int(value)


def p_value(value: float | None) -> str:
    """Return a p-value with three decimals, or a dash where there is none (None, NaN)."""
    if value is None or math.isnan(value):
        return "–"
    return "< .001" if value < 0.001 else short(value, 3)


def percent(level: float) -> str:
    """Return the level of an interval in percent, with all its digits: ``95%``, ``99.9%``."""
    # 100 * .07 is a little more than 7
    return f"{round(100 * level, 10):.12g}%"


def signed(value: float) -> str:
    """Return a difference with its sign and three decimals, as :func:`short` writes them."""
    text = short(value, 3)
    return text if text.startswith("-") else f"+{text}"


@dataclass(frozen=True)
class Block:
    """One bucket of one dataset.

    Attributes:
        bucket: its condition.
        facts: n, labels, ties, ceiling as short phrases.
        ceiling: the best a tie-free score could reach, by statistic.
        chance: what a tie-free score that ignores the pairs reaches on average, by statistic; None where unknown.
        rows: metric, cells in the order of the statistics, notes.
    """

    bucket: str
    facts: list[str]
    ceiling: list[Cell]
    chance: list[float | None]
    rows: list[tuple[str, list[Cell], str]]


@dataclass(frozen=True)
class Section:
    """One dataset: heading, facts, statistics, blocks, remarks on metrics, and metrics that gave no score and why."""

    title: str
    facts: list[str]
    statistics: list[str]
    blocks: list[Block]
    remarks: list[str]
    missing: list[str]

    @property
    def heads(self) -> list[str]:
        """Column heads of the statistics."""
        return [title_of(name) for name in self.statistics]


def lay_out(run: RunFolder) -> Iterator[Section]:
    """Yield a section a dataset, in the order of the run."""
    statistics = list(run.manifest["request"]["statistics"])
    for dataset in run.manifest["datasets"]:
        name, split = dataset["name"], dataset["split"]
        found = [row for row in run.agreement if row["dataset"] == name and row["split"] == split]
        summaries = [one for one in run.manifest["buckets"] if one["dataset"] == name and one["split"] == split]
        blocks = [_block(summary, found, statistics) for summary in summaries]
        missing = [
            f"{one['metric']}: {one['status']}, {one['reason']}" + (f" -> {one['remedy']}" if one["remedy"] else "")
            for one in run.manifest["metrics"]
            if one["dataset"] == name and one["status"] != "done"
        ]
        remarks = [
            line for one in run.manifest["metrics"] if one["dataset"] == name and (line := _remark(one, dataset["n"]))
        ]
        yield Section(dataset_title(dataset), _facts(dataset), statistics, blocks, remarks, missing)


def dataset_title(dataset: dict[str, Any]) -> str:
    """Return name, version and split of a dataset, from its entry in the manifest."""
    version = f"@{dataset['version']}" if dataset["version"] else ""
    split = f" ({dataset['split']})" if dataset["split"] else ""
    return f"{dataset['name']}{version}{split}"


def _remark(status: dict[str, Any], n: int) -> str:
    """Return what a reader should know of a metric's scores: a preset's model, texts that were cut or empty."""
    said = [status["says"]] if status.get("says") else []
    said += [f"{count:,} of {n:,} pairs: {phrase}" for phrase, count in status.get("flags", {}).items()]
    asymmetry = status.get("cost", {}).get("asymmetry")
    if asymmetry:
        said.append(
            f"the order of the texts moves a score by {asymmetry['mean']:.3f} on average, "
            f"{asymmetry['largest']:.3f} at most ({asymmetry['pairs']:,} pairs)"
        )
    return f"{status['metric']}: {'; '.join(said)}" if said else ""


def _facts(dataset: dict[str, Any]) -> list[str]:
    facts = [f"{dataset['n']:,} pairs"]
    if dataset["kind"] in NOT_BY_PEOPLE:
        facts.append(NOT_BY_PEOPLE[dataset["kind"]])
    if dataset["group"]:
        facts.append(f"resampled by {dataset['group']}")
    return facts + list(dataset["notes"])


def _block(summary: dict[str, Any], found: list[dict[str, Any]], statistics: list[str]) -> Block:
    rows: dict[str, dict[str, dict[str, Any]]] = {}
    for row in found:
        # a bucket without pairs is named, with no line a metric
        if row["bucket"] == summary["bucket"] and summary["n"]:
            rows.setdefault(row["metric"], {})[row["statistic"]] = row
    lines = []
    for metric, by_statistic in rows.items():
        cells = [_cell(by_statistic.get(name)) for name in statistics]
        notes = list(dict.fromkeys(note for cell in cells for note in cell.note.split("; ") if note))
        lines.append((metric, cells, "; ".join(notes)))
    ceiling = [Cell(summary["ceiling"].get(name), None, None, "") for name in statistics]
    chance = [STATISTICS[name].chance_level(summary["ties"]) for name in statistics]
    return Block(summary["bucket"], _bucket_facts(summary), ceiling, chance, lines)


def _cell(row: dict[str, Any] | None) -> Cell:
    if row is None:
        return Cell(None, None, None, "not computed")
    return Cell(row["value"], row["low"], row["high"], row["note"])


def _count(value: float) -> str:
    return f"{value:,.0f}" if _is_whole(value) else f"{value:.4g}"


def _known(value: float | None) -> str:
    return "not estimable" if value is None else short(value, 3)


def _bucket_facts(summary: dict[str, Any]) -> list[str]:
    facts = [f"n = {summary['n']:,}"]
    if summary["labels"]:
        quartiles = "50%" in summary["labels"]
        names = list(summary["labels"]) if quartiles else label_texts([float(label) for label in summary["labels"]])
        shown = ", ".join(
            f"{name}: {_count(count)}" for name, count in zip(names, summary["labels"].values(), strict=True)
        )
        facts.append(("label quartiles " if quartiles else "labels ") + shown)
    if summary["ties"] is not None:
        facts.append(f"{summary['ties']:.0%} of couples tied")
    if summary["reliability"]:
        held = summary["reliability"]
        facts.append(
            f"human ceiling (split-half, {held['annotators']} annotators) r {_known(held['pearson'])}, "
            f"ρ {_known(held['spearman'])}"
        )
    if summary["groups"] is not None:
        facts.append(f"{summary['groups']:,} groups")
    return facts
