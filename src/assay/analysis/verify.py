"""A run compared with its recomputation: equal numbers, differences, and their likely cause."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from assay.analysis.settings import DatasetsOfRun, MetricsOfRun
from assay.common.declarations import setting
from assay.common.messages import Message
from assay.common.tables import long_csv_cells
from assay.manifest import AGREEMENT_COLUMNS, AgreementRow
from assay.settings import Hardware, Offline, Seeded, WithProgress
from assay.statistics.concordance import Floats

#: The tolerance between two computations of a coefficient from the same scores and labels.
MAX_ROUNDING_ERROR = 1e-12


_ABSENT_VALUE = "absent"


Outcome = Literal["same", "differs", "not recomputed"]


@dataclass(frozen=True, kw_only=True)
class VerifySettings(MetricsOfRun, DatasetsOfRun, Seeded, Offline, Hardware, WithProgress):
    """Settings of ``assay verify``."""

    sample: int | None = setting(
        "Recompute the scores of N pairs of each dataset [default: all].", None, at_least=1, metavar="N"
    )
    trust: Sequence[str] = setting(
        "A metric or dataset of the run that may run code from outside the installed packages.", (), metavar="NAME"
    )


@dataclass(frozen=True)
class Change:
    """A part of a signature or environment that differs: its name, its value in the run, and its value now."""

    what: str
    then: str
    now: str

    def __str__(self) -> str:
        return f"{self.what} {self.then} → {self.now}"


@dataclass(frozen=True)
class Recomputation:
    """Numbers of a run compared with the same numbers computed now.

    Attributes:
        outcome: whether all numbers are the same.
        n: the number of compared scores, or of rows of agreement.
        differing: the number of those that differ.
        largest: the largest difference; None if nothing differs, or if wherever they differ one side has no number.
        place: the location of the largest difference: a pair, or a bucket and a coefficient.
        reason: the reason why they could not be recomputed, or the known cause of the difference; may be empty.
        remedy: what would make the recomputation possible; may be empty.
    """

    outcome: Outcome
    n: int = 0
    differing: int = 0
    largest: float | None = None
    place: str = ""
    reason: str = ""
    remedy: str = ""

    @property
    def text(self) -> str:
        """The comparison as the text of a table cell."""
        if self.outcome == "same":
            return f"{self.n:,} same"
        if self.outcome == "not recomputed":
            return Message("not recomputed: ", self.reason, *([" -> ", self.remedy] if self.remedy else []))
        distance_text = "" if self.largest is None else f", by {self.largest:.3g} at most"
        return f"{self.differing:,} of {self.n:,} differ{distance_text} ({self.place})"


def changes(recorded: Mapping[str, str], current: Mapping[str, str]) -> tuple[Change, ...]:
    """Return the parts of a signature or environment whose values differ as text.

    They are in the order of *recorded*, followed by those that only *current* has. A part that is missing on one side
    has the value ``absent`` there.

    Args:
        recorded: the value of each part in the run, by name.
        current: its value now.
    """
    keys = dict.fromkeys((*recorded, *current))
    pairs = ((key, str(recorded.get(key, _ABSENT_VALUE)), str(current.get(key, _ABSENT_VALUE))) for key in keys)
    return tuple(Change(key, before, after) for key, before, after in pairs if before != after)


def missing_recomputation(reason: str, remedy: str = "") -> Recomputation:
    """Return the result for numbers that could not be recomputed, with the outcome ``not recomputed``."""
    return Recomputation("not recomputed", reason=reason, remedy=remedy)


def compare_scores(recorded: Floats, recomputed: Floats, pair_ids: Sequence[str], tolerance: float) -> Recomputation:
    """Return the comparison of scores of n pairs with their recomputation.

    A pair that has a score on one side only differs. The pair of the largest difference is named, the first on ties.

    Args:
        recorded: the scores in the run, shape (n,); NaN for a pair without a score.
        recomputed: the recomputed scores, shape (n,); NaN likewise.
        pair_ids: the ids of the n pairs.
        tolerance: the largest difference between two scores that counts as equal.
    """
    distances = np.abs(recorded - recomputed)
    lack_both_scores = np.isnan(recorded) & np.isnan(recomputed)
    # negated, so that a pair with a score on one side only, whose distance is NaN, differs
    differing_rows = np.flatnonzero(~(distances <= tolerance) & ~lack_both_scores)
    if not len(differing_rows):
        return Recomputation("same", len(recorded))
    # a NaN distance is the largest one only if all are NaN
    worst_row = int(differing_rows[np.argmax(np.nan_to_num(distances[differing_rows], nan=-1.0))])
    largest = None if np.isnan(distances[worst_row]) else float(distances[worst_row])
    return Recomputation("differs", len(recorded), len(differing_rows), largest, f"pair {pair_ids[worst_row]}")


def compare_agreement(recorded: Sequence[AgreementRow], recomputed: Sequence[AgreementRow]) -> Recomputation:
    """Return the comparison of agreement rows with their recomputation, by value, both bounds, and n.

    Values and bounds are the same if they differ by no more than :data:`MAX_ROUNDING_ERROR` or are undefined in both.
    A duplicate row counts as a difference, whatever its values: it means that the table was changed by hand. So does a
    row that only one side has, except in a bucket that was not recomputed at all. If all recomputed rows are the same
    but such a bucket exists, the outcome is ``not recomputed``.

    Args:
        recorded: the rows of one metric on one dataset in the run.
        recomputed: the recomputed rows.
    """
    recorded_rows = {(row.bucket, row.statistic): row for row in recorded}
    recomputed_rows = {(row.bucket, row.statistic): row for row in recomputed}
    counts = Counter((row.bucket, row.statistic) for row in recorded)
    repeated = {key: f"{count} rows in agreement.json" for key, count in counts.items() if count > 1}
    unmatched = repeated | {key: "missing in agreement.json" for key in recomputed_rows if key not in recorded_rows}
    recomputed_buckets = {bucket for bucket, _ in recomputed_rows}
    # no differences: the folder does not say which pairs belong to these buckets
    unknown_buckets: dict[str, None] = {}
    for bucket, statistic in recorded_rows:
        if bucket not in recomputed_buckets:
            unknown_buckets[bucket] = None
        elif (bucket, statistic) not in recomputed_rows:
            unmatched[bucket, statistic] = "in agreement.json alone"
    # the largest distance of each differing row, None if undefined, and where the row is
    differing: list[tuple[float | None, str]] = []
    for key, problem in unmatched.items():
        differing.append((None, f"{', '.join(key)}: {problem}"))
    for key, recomputed_row in recomputed_rows.items():
        if key in unmatched:
            continue
        distance = _largest_distance(recorded_rows[key], recomputed_row)
        has_same_numbers = distance is not None and distance <= MAX_ROUNDING_ERROR
        if recorded_rows[key].n != recomputed_row.n or not has_same_numbers:
            differing.append((distance, ", ".join(key)))
    if differing:
        # a row without a distance is named only if no row has one
        largest, location = max(differing, key=lambda difference: -1.0 if difference[0] is None else difference[0])
        reason = "agreement.json was changed after the run" if repeated else ""
        row_count = len({*recomputed_rows, *unmatched})
        return Recomputation(
            "differs", n=row_count, differing=len(differing), largest=largest, place=location, reason=reason
        )
    if unknown_buckets:
        reason = f"the folder does not say which pairs are in {', '.join(unknown_buckets)}"
        return missing_recomputation(reason, "make the run again with this assay")
    return Recomputation("same", len(recomputed_rows))


def _largest_distance(recorded: AgreementRow, recomputed: AgreementRow) -> float | None:
    """Return the largest distance between two rows in value and bounds; None if one of the three has no distance."""
    largest = 0.0
    for name in ("value", "low", "high"):
        distance = _finite_distance(getattr(recorded, name), getattr(recomputed, name))
        if distance is None:
            return None
        largest = max(largest, distance)
    return largest


def _finite_distance(recorded: float | None, recomputed: float | None) -> float | None:
    """Return the distance of two numbers; 0 if both are undefined.

    The distance is None if only one of them is undefined, or if it is not finite.
    """
    if recorded is None or recomputed is None:
        return 0.0 if recorded is recomputed else None
    distance = abs(recorded - recomputed)
    return distance if distance < np.inf else None


def table_difference(table: Path, rows: Sequence[AgreementRow]) -> str:
    """Return in words the first place where ``agreement.csv`` differs from ``agreement.json``; empty without one.

    Columns that the table lacks are not compared.

    Args:
        table: the path of ``agreement.csv``. A folder without this file has no difference.
        rows: the rows of ``agreement.json``.

    Raises:
        OSError: the table cannot be read.
    """
    if not table.is_file():
        return ""
    # bytes that are no UTF-8 differ from any text of the run
    with table.open(encoding="utf-8", errors="replace", newline="") as file, long_csv_cells():
        cells_by_row = list(csv.DictReader(file))
    if len(cells_by_row) != len(rows):
        return f"agreement.csv has {len(cells_by_row):,} rows, agreement.json {len(rows):,}"
    for row, cells in zip(rows, cells_by_row, strict=True):
        values = row.plain_values()
        for name in AGREEMENT_COLUMNS:
            expected = "" if values[name] is None else str(values[name])
            if name in cells and cells[name] != expected:
                where = f"{row.dataset}, {row.bucket}, {row.metric}, {row.statistic}"
                return f"agreement.csv has {name} {cells[name]!r} for {where}; agreement.json has {expected!r}"
    return ""


#: Parts of the environment that influence coefficients and intervals computed from given scores and labels.
_STATISTICS_ENVIRONMENT = ("python", "machine", "assay", "numpy", "scipy")


@dataclass(frozen=True)
class ReloadedData:
    """A dataset of a run, compared with the present data of its source.

    Attributes:
        dataset: the dataset's name in the run.
        outcome: ``same``; ``changed`` (the source has other pairs now); ``folder changed`` (the source is unchanged,
            but the folder holds other data); ``unavailable``.
        source: the file or address that the run read.
        counts: the numbers of removed and new rows, and of rows that differ in a column, by column; without zeros.
        says: a further remark, such as why the source is unavailable; may be empty.
    """

    dataset: str
    outcome: Literal["same", "changed", "folder changed", "unavailable"]
    source: str
    counts: Mapping[str, int]
    says: str = ""

    @property
    def difference(self) -> str:
        """The counts in words, as in ``label: 3, removed: 1``; empty without counts."""
        return ", ".join(f"{description}: {count:,}" for description, count in self.counts.items())


@dataclass(frozen=True)
class VerifiedMetric:
    """One metric on one dataset, recomputed.

    Attributes:
        dataset, metric: the names of dataset and metric.
        agreement: the comparison of coefficients and bounds, recomputed from the scores and labels of the folder.
        scores: the comparison of scores, recomputed from the texts of the folder, or read again from the data.
        tolerance: the largest difference between scores that the metric allows.
        changed: the parts of the metric's signature that differ now.
        cause: the likely cause of differences; empty if nothing differs.
    """

    dataset: str
    metric: str
    agreement: Recomputation
    scores: Recomputation
    tolerance: float
    changed: tuple[Change, ...] = ()
    cause: str = ""

    @property
    def outcome(self) -> Outcome:
        """The worse of the outcomes of agreement and scores."""
        outcomes = (self.agreement.outcome, self.scores.outcome)
        if "differs" in outcomes:
            return "differs"
        return "not recomputed" if "not recomputed" in outcomes else "same"


@dataclass(frozen=True)
class Verification:
    """A run, recomputed.

    Attributes:
        run: the run's title in messages.
        created: the time at which the run was made.
        sample: the number of pairs per dataset whose scores were recomputed; None for all.
        seed: the seed of the sample.
        metrics: one entry per metric and dataset.
        data: one entry per dataset.
        environment: the differences in Python, machine and packages.
        without: lines on metrics without a score in the run, which are not verified.
        table_difference: where ``agreement.csv`` differs from ``agreement.json``; empty if nowhere.
    """

    run: str
    created: str
    sample: int | None
    seed: int
    metrics: tuple[VerifiedMetric, ...]
    data: tuple[ReloadedData, ...]
    environment: tuple[Change, ...]
    without: tuple[str, ...] = ()
    table_difference: str = ""

    @property
    def same(self) -> bool:
        """Whether every number was recomputed and is the same, and no dataset or table is known to have changed.

        An unavailable source does not count as a difference, since the folder has the texts.
        """
        has_same_metrics = all(metric.outcome == "same" for metric in self.metrics)
        has_same_data = all(data.outcome in ("same", "unavailable") for data in self.data)
        return has_same_metrics and has_same_data and not self.table_difference


def likely_cause(
    agreement: Recomputation,
    scores: Recomputation,
    *,
    changed: Sequence[Change],
    signature_parts: Collection[str],
    environment: Sequence[Change],
    data: ReloadedData,
    is_recorded: bool,
    loose_precision: str,
    is_sampled: bool,
) -> str:
    """Return the likely cause of differences in words, several causes joined by ``; ``; empty if nothing differs.

    If pairs in the folder were changed, this is the only cause named.

    Args:
        agreement: the comparison of coefficients, as in :class:`VerifiedMetric`.
        scores: the comparison of scores, as in :class:`VerifiedMetric`.
        changed: the parts of the metric's signature that differ.
        signature_parts: the names of all parts of the metric's signature.
        environment: the differences in Python, machine and packages.
        data: the comparison of the dataset with its source.
        is_recorded: whether the scores are read from the data.
        loose_precision: the numeric precision, if scores may change with their batch in it; else empty.
        is_sampled: whether only a sample of the scores was recomputed.
    """
    scores_differ, agreement_differs = scores.outcome == "differs", agreement.outcome == "differs"
    # pairs that were changed in the folder explain all differences, so no further cause is looked for
    if (scores_differ or agreement_differs) and data.outcome == "folder changed":
        return f"pairs.parquet was changed after the run: {data.difference}"
    causes = []
    if scores_differ:
        if changed:
            causes.append(f"the signature changed: {changes_text(changed)}")
        elif is_recorded and data.outcome == "changed":
            causes.append(f"the dataset changed: {data.difference or data.says}")
        elif loose_precision:
            sample_text = ", and a sample has others" if is_sampled else ""
            causes.append(f"in {loose_precision} a score may move with its batch{sample_text}")
        elif is_recorded:
            causes.append("the signature is the same: scores.parquet changed after the run")
        else:
            # software that the signature names is unchanged, so only the rest of the environment can be the cause
            unnamed_software = [change for change in environment if change.what not in signature_parts]
            software_text = f"other software ({changes_text(unnamed_software)}), or " if unnamed_software else ""
            changed_files = "scores.parquet or the texts in pairs.parquet"
            causes.append(f"the signature is the same: {software_text}{changed_files} changed after the run")
    if agreement_differs:
        causes += _causes_of_agreement(agreement, scores, environment, is_sampled)
    return "; ".join(causes)


def _causes_of_agreement(
    agreement: Recomputation, scores: Recomputation, environment: Sequence[Change], is_sampled: bool
) -> list[str]:
    """Return the likely cause of other coefficients, as a list of one; an empty list if other scores explain them.

    Args:
        agreement, scores: the comparisons of coefficients and of scores.
        environment: the differences in Python, machine and packages.
        is_sampled: whether only a sample of the scores was recomputed.
    """
    if agreement.reason:
        return [agreement.reason]
    software = [change for change in environment if change.what in _STATISTICS_ENVIRONMENT]
    if software:
        return [f"the statistics were computed by other software: {changes_text(software)}"]
    if scores.outcome == "differs":
        return []
    files = ["agreement.json", "labels, buckets or groups in pairs.parquet"]
    if scores.outcome == "not recomputed":
        files.append("scores.parquet")
    elif is_sampled:
        files.append("scores.parquet outside of the sample")
    return [f"changed after the run: {', or '.join(files)}"]


def changes_text(changed: Sequence[Change]) -> str:
    """Return the changes in one line, separated by commas."""
    return ", ".join(map(str, changed))
