"""Studies of preferences as tables: the strengths of the systems, by people and by metrics."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from assay.analysis.duels import DuelStudy, Strengths
from assay.common.numbers import Number
from assay.reports.sheets import Column, Sheet, table_rows

#: The head of the columns of people's preferences, beside those of metrics.
PEOPLE = "people"
#: What the numbers are, for the notes of a document.
DUELS_NOTE = (
    "strength: by the model of Bradley and Terry (1952), in log odds with mean 0, a difference of 1 being a chance of "
    "73 % to be preferred; a tie is half a win for each"
)


def _strengths_by_name(study: DuelStudy) -> dict[str, Strengths]:
    """Return the strengths by people and by each metric."""
    return {PEOPLE: study.people} | {name: metric.strengths for name, metric in study.metrics.items()}


def duel_sheets(study: DuelStudy) -> list[Sheet]:
    """Return two tables: the strength of each system, and how far each metric agrees with people's preferences."""
    return [_strength_sheet(study), _agreement_sheet(study)]


def _strength_sheet(study: DuelStudy) -> Sheet:
    """Return the table of systems by their strength under people and each metric, the strongest by people first.

    Strengths or intervals that are undefined have a note with the reason.
    """
    measures = _strengths_by_name(study)

    def strength_text(strengths: Strengths, system: int) -> str:
        return strengths.values[system].text

    columns = [
        Column("system", cell=lambda system: study.systems[system]),
        Column("won", number=True, cell=lambda system: Number(study.people.shares[system]).text),
        *(Column(name, number=True, cell=partial(strength_text, strengths)) for name, strengths in measures.items()),
    ]
    people = study.people
    fact = f"{people.duels:,} preferences between {len(study.systems)} systems, {people.ties:,} of them ties"
    if study.resampled_by is not None:
        fact += f"; resampled by {study.resampled_by}, {study.groups:,} groups"
    facts = [fact]
    if study.left_out:
        facts.append(f"{study.left_out:,} left out, which do not name two different systems")
    notes = [f"{name}: {text}" for name, strengths in measures.items() if (text := _undefined_text(strengths))]
    rows = table_rows(columns, range(len(study.systems)))
    return Sheet(f"{study.title}: strength of each system", columns, rows, facts, notes=notes)


def _undefined_text(strengths: Strengths) -> str:
    """Return why there are no strengths, or no intervals; empty if there are."""
    # the strengths of all systems are fitted together, so that all or none are defined
    if strengths.values[0].value is None:
        return "no strengths, since some systems never won against the others, or never were compared with them"
    if strengths.undefined and strengths.values[0].low is None:
        return f"no intervals: in {strengths.undefined:,} resamples some systems never won against the others"
    return ""


def _agreement_sheet(study: DuelStudy) -> Sheet:
    """Return the table of how far each metric prefers as people do, one row per metric."""
    columns = [
        Column("metric", cell=str),
        Column("preferences", number=True, cell=lambda name: f"{study.metrics[name].strengths.duels:,}"),
        Column("as people", number=True, cell=lambda name: Number(study.metrics[name].accuracy).text),
        Column("Kendall τ-b of strengths", number=True, cell=lambda name: Number(study.metrics[name].kendall).text),
    ]
    notes = ["as people: share of the preferences without ties in which the metric prefers the same answer"]
    rows = table_rows(columns, study.metrics)
    return Sheet(f"{study.title}: does the metric prefer as people do?", columns, rows, notes=notes)


def duel_records(study: DuelStudy) -> Iterator[dict[str, Any]]:
    """Yield one record per strength, whose ``kind`` is ``strength``, and one per metric, ``preference``."""
    for name, strengths in _strengths_by_name(study).items():
        for system, value, share in zip(study.systems, strengths.values, strengths.shares, strict=True):
            yield {
                "kind": "strength",
                "dataset": study.title,
                "by": name,
                "system": system,
                "value": value.value,
                "low": value.low,
                "high": value.high,
                "won": share,
                "preferences": strengths.duels,
            }
    for name, metric in study.metrics.items():
        yield {
            "kind": "preference",
            "dataset": study.title,
            "by": name,
            "accuracy": metric.accuracy,
            "kendall": metric.kendall,
            "preferences": metric.strengths.duels,
        }
