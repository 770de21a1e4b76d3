"""What to use per task, language or family of languages, as a table and in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.analysis.leaderboard.field import WEAK, FieldVerdict
from assay.analysis.settings import CORRECTIONS, PairedTests
from assay.common.numbers import Number, short
from assay.reports.sheets import Column, Document, Sheet, number_columns
from assay.statistics.coefficients import title_of

#: The number of metrics that a sentence names of those that are as good.
MAX_NAMED = 3


def to_document(
    verdicts: Mapping[tuple[str, str], Sequence[FieldVerdict]],
    settings: PairedTests,
    by: str,
    absent: Sequence[str] = (),
) -> Document:
    """Return the conclusions on groups of datasets as a document: tables with a sentence for each group.

    Args:
        verdicts: the conclusions of each table, by what its groups are, such as ``task``, and the bucket.
        settings: the settings of intervals and tests.
        by: the coefficient that ranks.
        absent: one line for each metric that was requested from a run but has no scores, to be shown as a warning.
    """
    measure = title_of(by)
    sheets, records = [], []
    for (grouping, bucket), verdicts_of_table in verdicts.items():
        columns = [
            Column(grouping, key=True),
            *number_columns(["sets", "pairs"]),
            Column("highest"),
            *number_columns([measure, "on a set not seen", "best or as good on"]),
            Column("as good"),
            Column("never"),
        ]
        rows = [list(_cells(verdict)) for verdict in verdicts_of_table]
        sentences = [sentence(verdict, measure) for verdict in verdicts_of_table]
        sheets.append(Sheet(f"what to use per {grouping}, {bucket}", columns, rows, notes=sentences))
        records += [_record(verdict, measure, grouping) for verdict in verdicts_of_table]
    explanations = [
        f"highest: by the mean {measure} over the sets, each of equal weight; as good: the mean could be the highest",
        "on a set not seen: the range in which one more set like these is expected, from three sets on",
        "never: the mean is known to be lower than the highest, and the metric could be the best on none of the sets",
        f"a metric is not relied on where less than {short(WEAK, 1)} may be expected",
        f"correction for the number of metric pairs: {CORRECTIONS[settings.correction]}",
    ]
    return Document(sheets, records, explanations, warnings=list(absent))


def _cells(verdict: FieldVerdict) -> Iterator[str]:
    """Yield the cells of the row of a verdict, in the order of the columns."""
    yield verdict.title
    yield str(verdict.datasets)
    yield f"{verdict.n:,}"
    yield "–" if verdict.highest is None else verdict.highest.metric
    yield verdict.value.text
    yield _range(verdict.new)
    yield f"{verdict.best_on} of {verdict.datasets}"
    yield ", ".join(verdict.as_good) or "–"
    yield ", ".join(verdict.never) or "–"


def _range(number: Number) -> str:
    return "–" if number.low is None else f"{short(number.low, 2)} to {short(number.high, 2)}"


def sentence(verdict: FieldVerdict, measure: str) -> str:
    """Return what to use on a group of datasets, how sure that is, and what never to use, in one or two sentences.

    If no metric can be relied on, or too little is known, the first sentence says so and names the highest metric, if
    any has a value.

    Args:
        verdict: the conclusion.
        measure: the title of the coefficient.
    """
    where = f"{verdict.title}, where no word is in common" if verdict.bucket == "f1=0" else verdict.title
    if verdict.highest is None:
        return f"{where}: no metric has an agreement."
    sets = f"{verdict.datasets} sets" if verdict.datasets > 1 else "one set"
    agreement = f"{measure} {verdict.value.text} on {sets}"
    if verdict.new.low is not None:
        agreement += f", {_range(verdict.new)} on a set not seen"
    highest = f"{verdict.highest.metric} ({agreement})"
    if verdict.is_reliable:
        text = f"{where}: use {highest}"
    elif verdict.lowest_expected is None:
        text = f"{where}: the highest is {highest}; a set has too few pairs or groups for more"
    else:
        text = f"{where}: rely on no metric of these; the highest is {highest}"
    if verdict.as_good:
        named = verdict.as_good[:MAX_NAMED]
        rest = len(verdict.as_good) - len(named)
        text += f"; as good may be {', '.join(named)}{f' and {rest} more' if rest else ''}"
    return f"{text}. Never: {', '.join(verdict.never)}." if verdict.never else f"{text}."


def _record(verdict: FieldVerdict, measure: str, grouping: str) -> dict[str, Any]:
    """Return the flat record of a verdict; undefined values are None.

    Args:
        verdict: the conclusion.
        measure: the title of the coefficient, for the sentence.
        grouping: what the groups of datasets are, such as ``task``.
    """
    return {
        "per": grouping,
        "group": verdict.title,
        "bucket": verdict.bucket,
        "datasets": verdict.datasets,
        "n": verdict.n,
        "highest": None if verdict.highest is None else verdict.highest.metric,
        "value": verdict.value.value,
        "low": verdict.value.low,
        "high": verdict.value.high,
        "new_low": verdict.new.low,
        "new_high": verdict.new.high,
        "best_on": verdict.best_on,
        "reliable": verdict.is_reliable,
        "as_good": "; ".join(verdict.as_good),
        "never": "; ".join(verdict.never),
        "sentence": sentence(verdict, measure),
    }
