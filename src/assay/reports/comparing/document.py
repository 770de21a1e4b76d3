"""A comparison as sheets and records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.reports.comparing.compare import Compared, Contest, Settings
from assay.reports.comparing.disagreements import Disagreement, disagreements
from assay.reports.comparing.remarks import FEW, remarks
from assay.reports.layout import p_value, percent, short
from assay.reports.sheets import Column, Document, Sheet
from assay.statistics.comparison import POWER, Difference

__all__ = ["CORRECTIONS", "document"]

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
_SYMBOLS = {"pearson": "r", "spearman": "ρ", "kendall": "τ-b", "kendall-tau-c": "τ-c"}


def document(compared: Sequence[tuple[Contest, Sequence[Compared]]], settings: Settings, pairs: int) -> Document:
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


def _explanations(settings: Settings, couples: int) -> list[str]:
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
    contest: Contest, bucket: str, rows: Sequence[Compared], letters: dict[str, str], told: Sequence[str]
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


def _cells(row: Compared, letters: dict[str, str]) -> list[str]:
    held = row.difference
    value = "–" if held.value is None else short(held.value, 3)
    if held.low is not None and held.high is not None:
        value += f" [{short(held.low, 3)}, {short(held.high, 3)}]"
    first, second = letters[row.first], letters[row.second]
    return [
        f"{first} − {second}",
        _SYMBOLS.get(held.statistic, held.statistic),
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


def _record(row: Compared) -> dict[str, Any]:
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
