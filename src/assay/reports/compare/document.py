"""A comparison as tables and records, with the pairs on which two scores differ most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.reports.compare.contests import ComparedMetrics, CompareSettings, Contest
from assay.reports.layout import p_value, percent, short
from assay.reports.sheets import Column, Document, Sheet
from assay.statistics.agreement import agreement
from assay.statistics.coefficients import symbol_of
from assay.statistics.comparison import POWER, Difference
from assay.statistics.draws import Couple

__all__ = ["CORRECTIONS", "FEW", "Disagreement", "disagreements", "document", "remarks"]


# The pairs on which two scores differ most.


@dataclass(frozen=True)
class Disagreement:
    """One pair; ranks are mid-ranks from 1, the least similar, to n, the most similar.

    Attributes:
        row: its place in the dataset, from 0.
        label: of people.
        label_rank: rank of the label.
        scores: of the first and the second metric, a higher one meaning more similar.
        ranks: of those scores.
        n: pairs that have both scores.
    """

    row: int
    label: float
    label_rank: float
    scores: tuple[float, float]
    ranks: tuple[float, float]
    n: int


def disagreements(contest: Contest, couple: Couple, limit: int, buckets: Sequence[str]) -> list[Disagreement]:
    """Return the pairs of some buckets whose ranks under two metrics lie farthest apart, the farthest first.

    Pairs of one rank are none of them: there may be fewer than *limit*, or none.
    """
    from scipy.stats import rankdata

    first, second = (contest.scores[name] for name in couple)
    inside = np.any([contest.data.buckets[bucket] for bucket in buckets], axis=0)
    rows = np.flatnonzero(inside & np.isfinite(first) & np.isfinite(second))
    labels = contest.data.labels[rows]
    ranks = [rankdata(scores[rows]) for scores in (first, second)]
    label_ranks = rankdata(labels)
    apart = np.abs(ranks[0] - ranks[1])
    farthest = [place for place in np.argsort(-apart, kind="stable")[:limit] if apart[place]]
    return [
        Disagreement(
            int(rows[place]),
            float(labels[place]),
            float(label_ranks[place]),
            (float(first[rows[place]]), float(second[rows[place]])),
            (float(ranks[0][place]), float(ranks[1][place])),
            len(rows),
        )
        for place in farthest
    ]


# What a reader should know of the numbers of a comparison.

#: Below so many pairs, or groups of pairs, a test and an interval are both rough.
FEW = 50


def remarks(contest: Contest, bucket: str, rows: Sequence[ComparedMetrics], letters: Mapping[str, str]) -> list[str]:
    """Return lines below the table of a bucket: reservations, why a coefficient is undefined, how few pairs there are.

    Args:
        contest: what was compared.
        bucket: where.
        rows: what was found there.
        letters: of each score.
    """
    found = [line for row in rows for line in _on_row(contest, row, letters)]
    units, unit = _units(contest, bucket)
    if units < FEW:
        found.append(f"{units:,} {unit}, fewer than {FEW}: trust neither the tests nor the intervals much")
    return list(dict.fromkeys(found))


def _units(contest: Contest, bucket: str) -> tuple[int, str]:
    """Return what was drawn in a bucket: how many, and whether they are pairs or groups."""
    inside = contest.data.buckets[bucket]
    groups = contest.data.groups
    return (int(inside.sum()), "pairs") if groups is None else (len(np.unique(groups[inside])), "groups")


def _on_row(contest: Contest, row: ComparedMetrics, letters: Mapping[str, str]) -> list[str]:
    """Return what a reader should know of one difference: reservations, why it is undefined, that nothing differs."""
    held, sides = row.difference, (row.first, row.second)
    couple = f"{letters[row.first]}, {letters[row.second]}"
    if not held.n:
        return [f"{couple}: {held.note}"]
    inside, groups = contest.data.buckets[row.bucket], contest.data.groups
    scores = np.where(inside, [contest.scores[name] for name in sides], np.nan)
    known = np.isfinite(scores).all(axis=0)
    noted = []
    if held.value is None:
        # the reasons are those of the agreement table
        found = agreement(
            {name: own[known] for name, own in zip(sides, scores, strict=True)},
            contest.data.labels[known],
            statistics=(held.statistic,),
            resamples=0,
            confidence=0.95,
            seed=(0,),
            groups=None if groups is None else np.unique(groups[known], return_inverse=True)[1],
        )
        noted += [f"{letters[one.metric]}: undefined, {one.note}" for one in found if one.value is None]
    elif held.note:
        noted.append(f"{couple}: {held.note}")
    if np.array_equal(scores[0, known], scores[1, known]):
        noted.append(f"{couple}: the same scores on all pairs")
    return noted


# A comparison as sheets and records.

#: What a correction is called.
CORRECTIONS = {
    "holm": "Holm",
    "bonferroni": "Bonferroni",
    "benjamini-hochberg": "Benjamini and Hochberg",
    "none": "no correction",
}
_HEADS = (
    Column("couple"),
    Column(""),
    Column("first", number=True),
    Column("second", number=True),
    Column("difference", number=True),
    Column("p perm.", number=True),
    Column("p boot.", number=True),
    Column("p Will.", number=True),
    Column("detectable", number=True),
    Column("better"),
)
_PAIR_HEADS = (
    Column("question"),
    Column("reference"),
    Column("candidate"),
    Column("label", number=True),
    Column("rank", number=True),
    Column("first", number=True),
    Column("rank", number=True),
    Column("second", number=True),
    Column("rank", number=True),
)


def document(
    compared: Sequence[tuple[Contest, Sequence[ComparedMetrics]]], settings: CompareSettings, pairs: int
) -> Document:
    """Lay out comparisons.

    Args:
        compared: contests and what was found.
        settings: how.
        pairs: the pairs to show for each couple on which its metrics differ most.
    """
    sheets: list[Sheet] = []
    records: list[dict[str, Any]] = []
    farthest: list[dict[str, Any]] = []
    for contest, rows in compared:
        letters = _letters(contest)
        buckets = list(dict.fromkeys(row.bucket for row in rows))
        for bucket in buckets:
            inside = [row for row in rows if row.bucket == bucket]
            sheets.append(_sheet(contest, bucket, inside, letters, contest.notes if bucket == buckets[0] else ()))
        records += [_record(row) for row in rows]
        for couple in contest.couples if pairs else ():
            found = disagreements(contest, couple, pairs, buckets)
            sheets.append(_pairs_sheet(contest, couple, found))
            farthest += [_pair_record(contest, couple, one) for one in found]
    couples = max((len(contest.couples) for contest, _ in compared), default=0)
    told = [f"{contest.data.title}: {note}" for contest, _ in compared for note in contest.notes]
    value = {"comparisons": records, "pairs": farthest, "notes": told}
    return Document(sheets, records, _explanations(settings, couples), value)


def _explanations(settings: CompareSettings, couples: int) -> list[str]:
    level = f"{1 - settings.confidence:.2g}"
    interval = (
        f"difference: first less second, with the {percent(settings.confidence)} interval of the paired bootstrap "
        f"({settings.resamples:,} resamples, expanded percentile)"
    )
    tests = (
        f"p perm.: permutation of the paired scores (PERM-BOTH, {settings.permutations_for(couples):,} draws); "
        "p boot.: paired bootstrap; p Will.: Williams' test, for Pearson of independent pairs; all two-sided, "
        f"corrected over the couples of a bucket ({CORRECTIONS[settings.correction]})"
    )
    power = (
        "detectable: the smallest difference that so many pairs would have shown with probability "
        f"{short(POWER, 1)} at {level}; better: by the corrected permutation test at {level}, ? where they cannot be "
        "told apart"
    )
    disagreeing = (
        "p perm. and the interval may disagree: the test supposes that, without a difference, the standardised scores "
        "of the two metrics could be exchanged pair by pair (where many pairs share one score, such as 0, exchanges "
        "break these ties and it misses differences of ranks); the interval supposes that other pairs would be like "
        "these, drawn anew, and is of one couple, not corrected. Take a difference that only one of them sees as not "
        f"settled; below {FEW} pairs or groups trust neither much"
    )
    return [interval, tests, power, disagreeing]


def _letters(contest: Contest) -> dict[str, str]:
    """Return a letter for each score: names are too long for a table of couples."""
    return {name: chr(ord("A") + place) if place < 26 else f"M{place + 1}" for place, name in enumerate(contest.scores)}


def _sheet(
    contest: Contest, bucket: str, rows: Sequence[ComparedMetrics], letters: dict[str, str], told: Sequence[str]
) -> Sheet:
    noted = remarks(contest, bucket, rows, letters)
    n = max(row.difference.n for row in rows)
    legend = ", ".join(f"{letter} {name}" for name, letter in letters.items())
    return Sheet(
        f"{contest.data.title}, {bucket}",
        _HEADS,
        [_cells(row, letters) for row in rows],
        facts=(f"n = {n:,}; {legend}",),
        notes=(*told, *dict.fromkeys(noted)),
    )


def _detectable(held: Difference) -> float | None:
    """Return the detectable difference; None where no resample had any, which tells nothing of its size."""
    return held.detectable or None


def _cells(row: ComparedMetrics, letters: dict[str, str]) -> list[str]:
    held = row.difference
    value = "–" if held.value is None else short(held.value, 3)
    if held.low is not None and held.high is not None:
        value += f" [{short(held.low, 3)}, {short(held.high, 3)}]"
    first, second = letters[row.first], letters[row.second]
    return [
        f"{first} − {second}",
        symbol_of(held.statistic),
        _known(held.first),
        _known(held.second),
        value,
        p_value(row.p_permutation),
        p_value(row.p_bootstrap),
        p_value(row.p_williams),
        _known(_detectable(held)),
        {"first": first, "second": second, "cannot be told apart": "?", "undefined": "–"}[row.verdict],
    ]


def _known(value: float | None) -> str:
    return "–" if value is None else short(value, 3)


def _record(row: ComparedMetrics) -> dict[str, Any]:
    held = row.difference
    return {
        "dataset": row.dataset,
        "split": row.split,
        "bucket": row.bucket,
        "first": row.first,
        "second": row.second,
        "statistic": held.statistic,
        "first_value": held.first,
        "second_value": held.second,
        "difference": held.value,
        "low": held.low,
        "high": held.high,
        "p_permutation": held.p_permutation,
        "p_bootstrap": held.p_bootstrap,
        "p_williams": held.p_williams,
        "adjusted_p_permutation": row.p_permutation,
        "adjusted_p_bootstrap": row.p_bootstrap,
        "adjusted_p_williams": row.p_williams,
        "detectable": _detectable(held),
        "n": held.n,
        "verdict": row.verdict,
        "note": held.note,
    }


def _pairs_sheet(contest: Contest, couple: tuple[str, str], found: Sequence[Disagreement]) -> Sheet:
    rows = []
    asked = "question" in contest.data.table.column_names
    for one in found:
        texts = contest.data.texts(one.row)
        rows.append(
            [
                *([texts["question"]] if asked else []),
                texts["reference"],
                texts["candidate"],
                f"{one.label:g}",
                f"{one.label_rank:,.0f}",
                f"{one.scores[0]:.3g}",
                f"{one.ranks[0]:,.0f}",
                f"{one.scores[1]:.3g}",
                f"{one.ranks[1]:,.0f}",
            ]
        )
    title = f"{contest.data.title}: where {couple[0]} and {couple[1]} differ most"
    if not found:
        return Sheet(title, (), (), facts=("nowhere: every pair that has both scores has the same rank under both",))
    return Sheet(
        title,
        _PAIR_HEADS if asked else _PAIR_HEADS[1:],
        rows,
        facts=(f"first: {couple[0]}; second: {couple[1]}; ranks from 1, the least similar, to {found[0].n:,}",),
    )


def _pair_record(contest: Contest, couple: tuple[str, str], one: Disagreement) -> dict[str, Any]:
    return {
        "dataset": contest.data.name,
        "pair_id": contest.data.table.column("pair_id")[one.row].as_py(),
        **contest.data.texts(one.row),
        "label": one.label,
        "label_rank": one.label_rank,
        "first": couple[0],
        "first_score": one.scores[0],
        "first_rank": one.ranks[0],
        "second": couple[1],
        "second_score": one.scores[1],
        "second_rank": one.ranks[1],
    }
