"""A comparison as tables and records, with the pairs on which two scores differ most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.analysis.compare import (
    ComparedMetrics,
    Disagreement,
    caveats_of_difference,
    disagreements,
    rare_values_of,
    unit_count,
)
from assay.analysis.contests import Contest
from assay.analysis.settings import CORRECTIONS, PermutationTests
from assay.common.messages import Message
from assay.common.numbers import label_text, p_value, percent, short
from assay.reports.layout import cut
from assay.reports.sheets import Column, Document, Sheet, table_rows
from assay.statistics.coefficients import MIN_INFLUENCE_PAIRS, POWER, has_permutation_tests, is_by_influence, symbol_of

#: With fewer pairs, or groups of pairs, the tests keep their level but can only show large differences.
FEW_UNITS = 50


def _bucket_notes(
    contest: Contest,
    bucket: str,
    rows: Sequence[ComparedMetrics],
    letters: Mapping[str, str],
    settings: PermutationTests,
) -> list[str]:
    """Return the notes below the table of a bucket: caveats, undefined coefficients, and limits of small samples.

    A note that several comparisons have is there once.

    Args:
        contest: the scores that were compared.
        bucket: the name of the bucket.
        rows: the comparisons in the bucket.
        letters: the letter of each score in the table.
        settings: the settings of the tests.
    """
    lines = [line for row in rows for line in _notes_on_difference(contest, row, letters)]
    units, unit = unit_count(contest, bucket)
    n = int(contest.data.buckets[bucket].sum())
    if settings.permutations and not has_permutation_tests(settings.interval, n):
        lines.append(
            f"no p perm. from {MIN_INFLUENCE_PAIRS:,} pairs on, where it takes long; --interval bootstrap draws it"
        )
    else:
        lines += _permutation_limit_notes(units, unit, len(contest.metric_pairs), settings)
    if units < FEW_UNITS:
        lines.append(f"{units:,} {unit}, fewer than {FEW_UNITS}: only large differences can be shown, see detectable")
    has_pearson = any(row.difference.statistic == "pearson" for row in rows)
    lines += _rare_value_notes(contest, bucket, letters, has_pearson=has_pearson)
    return list(dict.fromkeys(lines))


def _permutation_limit_notes(units: int, unit: str, metric_pairs: int, settings: PermutationTests) -> list[str]:
    """Return a note on the smallest possible p-value of the permutation test, if the units limit it, not the draws.

    The list is empty if the draws limit it, or if there is no such test.

    Args:
        units: the number of pairs, or of groups of pairs, that are exchanged as wholes.
        unit: the plural noun for these.
        metric_pairs: the number of metric pairs, over which p-values are corrected.
        settings: the settings of the tests.
    """
    # of the 2^units exchanges, one changes nothing and one turns the sign of the difference
    draws, smallest = settings.permutation_count(metric_pairs), 2.0 ** (1 - units)
    if not draws or smallest <= 1 / (1 + draws):
        return []
    line = f"{units} {unit} can be exchanged in 2^{units} = {2**units:,} ways, two of which leave the size of a "
    line += f"difference as it is: no p perm. below {smallest:.2g}"
    if settings.correction in ("holm", "bonferroni") and metric_pairs > 1:
        line += f", none below {min(1.0, smallest * metric_pairs):.2g} as the smallest of {metric_pairs:,}"
    return [f"{line}; p jack. has no such limit"]


def _rare_value_notes(contest: Contest, bucket: str, letters: Mapping[str, str], *, has_pearson: bool) -> list[str]:
    """Return notes on labels and scores that few pairs, or groups, of a bucket have; empty if there are enough.

    Args:
        contest: the scores that were compared.
        bucket: the name of the bucket.
        letters: the letter of each score in the table.
        has_pearson: whether Pearson's r is among the statistics, whose tests suffer most from rare labels.
    """
    rare_labels, rare_scores = rare_values_of(contest, bucket)
    lines = []
    if rare_labels is not None:
        lines.append(rare_labels.reservation)
        if has_pearson:
            lines.append("with so few, p jack. of Pearson's r is too small; that of ρ and τ-b is not")
    return lines + [f"{letters[name]}: {rare.reservation}" for name, rare in rare_scores.items()]


def _notes_on_difference(contest: Contest, row: ComparedMetrics, letters: Mapping[str, str]) -> list[str]:
    """Return the notes on one difference; empty if there is nothing to say.

    They are the reason why each score's coefficient is undefined, or a caveat on the difference, and whether all scores
    of both are equal. For a difference without pairs, the note is that there are none.

    Args:
        contest: the scores that were compared.
        row: the comparison.
        letters: the letter of each score in the table, by name.
    """
    difference = row.difference
    pair = f"{letters[row.first]}, {letters[row.second]}"
    # without pairs there is nothing else to say
    if not difference.n:
        return [f"{pair}: {difference.note}"]
    caveats = caveats_of_difference(contest, row)
    lines = [f"{letters[name]}: undefined, {reason}" for name, reason in caveats.undefined.items()]
    if difference.value is not None and difference.note:
        lines.append(f"{pair}: {difference.note}")
    if caveats.is_same:
        lines.append(f"{pair}: the same scores on all pairs")
    return lines


#: What the last column shows of a verdict; else the letter of the better score.
_UNDECIDED = {"cannot be told apart": "?", "not tested": "–", "undefined": "–"}


def _comparison_columns(letters: Mapping[str, str]) -> list[Column]:
    """Return the columns of the comparisons in a bucket; undefined numbers are dashes.

    The last column has the letter of the better score, or a sign of :data:`_UNDECIDED`.
    """

    def better(row: ComparedMetrics) -> str:
        if row.verdict in _UNDECIDED:
            return _UNDECIDED[row.verdict]
        return letters[row.first] if row.verdict == "first" else letters[row.second]

    return [
        Column("metrics", key=True, cell=lambda row: f"{letters[row.first]} − {letters[row.second]}"),
        Column("", key=True, cell=lambda row: symbol_of(row.difference.statistic)),
        Column("first", number=True, spare=1, cell=lambda row: short(row.difference.first, 3)),
        Column("second", number=True, spare=1, cell=lambda row: short(row.difference.second, 3)),
        Column("difference", number=True, cell=lambda row: row.difference.text_with(3)),
        Column("p jack.", number=True, cell=lambda row: p_value(row.p_jackknife)),
        Column("p perm.", number=True, spare=3, cell=lambda row: p_value(row.p_permutation)),
        Column("p Will.", number=True, spare=4, cell=lambda row: p_value(row.p_williams)),
        Column("detectable", number=True, spare=2, cell=lambda row: short(row.detectable, 3)),
        Column("better", cell=better),
    ]


def to_document(
    compared: Sequence[tuple[Contest, Sequence[ComparedMetrics]]], settings: PermutationTests, pairs: int
) -> Document:
    """Return comparisons as a document: one sheet per bucket, and one per metric pair with pairs of texts.

    There is one record per comparison; the JSON has these, the records of the pairs of texts, and notes on the data.

    Args:
        compared: the contests and their comparisons.
        settings: the settings of intervals and tests.
        pairs: the number of text pairs to show per metric pair, those with the largest rank differences; 0 for none.
    """
    sheets: list[Sheet] = []
    pair_records: list[dict[str, Any]] = []
    notes: list[str] = []
    for contest, comparisons in compared:
        letters = _letters_of_scores(contest)
        by_bucket: dict[str, list[ComparedMetrics]] = {}
        for comparison in comparisons:
            by_bucket.setdefault(comparison.bucket, []).append(comparison)
        for number, (bucket, rows) in enumerate(by_bucket.items()):
            # the notes on the data are below the first table
            notes_on_data = contest.notes if number == 0 else ()
            bucket_notes = [*notes_on_data, *_bucket_notes(contest, bucket, rows, letters, settings)]
            sheets.append(_bucket_sheet(contest, bucket, rows, letters, bucket_notes))
        notes += [Message(f"{contest.data.title}: ", note) for note in contest.notes]
        for names in contest.metric_pairs if pairs else ():
            differing_pairs = disagreements(contest, names, pairs, list(by_bucket))
            sheets.append(_pairs_sheet(contest, names, differing_pairs))
            pair_records += [_pair_record(contest, names, disagreement) for disagreement in differing_pairs]
    all_comparisons = [comparison for _, comparisons in compared for comparison in comparisons]
    records = list(map(_record_of_comparison, all_comparisons))
    sizes = [comparison.difference.n for comparison in all_comparisons]
    metric_pair_count = max((len(contest.metric_pairs) for contest, _ in compared), default=0)
    value = {"comparisons": records, "pairs": pair_records, "notes": notes}
    return Document(sheets, records, _method_notes(settings, metric_pair_count, sizes), value)


def _method_notes(settings: PermutationTests, metric_pairs: int, sizes: Sequence[int]) -> list[str]:
    """Return the notes on method: intervals, tests, detectable differences, and why tests may disagree.

    Args:
        settings: the settings of intervals and tests.
        metric_pairs: the largest number of metric pairs of a dataset.
        sizes: the number of pairs of texts in each comparison; if it is empty, the drawn intervals and tests are told.
    """
    level = f"{settings.level:.2g}"
    by_influence = [is_by_influence(settings.interval, n) for n in sizes]
    interval_methods = []
    if not all(by_influence) or not sizes:
        interval_methods.append(f"of the paired bootstrap ({settings.resamples:,} resamples, expanded percentile)")
    if any(by_influence):
        size = f", of {MIN_INFLUENCE_PAIRS:,} pairs and more" if settings.interval == "auto" else ""
        interval_methods.append(f"from the influence of each pair or group (Student's t{size})")
    interval = (
        f"difference: first less second, with the {percent(settings.confidence)} interval "
        f"{', or '.join(interval_methods)}, which is of one metric pair and not corrected"
    )
    is_drawn = any(has_permutation_tests(settings.interval, n) for n in sizes) or not sizes
    draws = settings.permutation_count(metric_pairs) if is_drawn else 0
    permutation = f"p perm.: permutation of the paired scores (PERM-BOTH, {draws:,} draws); " if draws else ""
    tests = (
        "p jack.: t-test of the difference over its jackknife standard error, from the values without each pair or "
        f"group; {permutation}p Will.: Williams' test, for Pearson of independent pairs; all two-sided, corrected over "
        f"the metric pairs of a bucket ({CORRECTIONS[settings.correction]})"
    )
    power = (
        f"better: by p jack. at {level}, ? where they cannot be told apart; detectable: the smallest difference that "
        f"so many pairs would have shown by it with probability {short(POWER, 1)}, as the smallest p-value of the "
        "bucket, hence at the level that the correction asks of that one"
    )
    disagreement = (
        "p perm. answers another question: it supposes that, without a difference, the standardised scores of the two "
        "metrics could be exchanged pair by pair. Where many pairs share one score, such as 0, exchanges break these "
        "ties, and it misses differences of ranks; where the two have scores of another shape, it sees differences of "
        "Pearson's r that are none"
    )
    # without drawn permutations there is no second test to disagree with
    return [interval, tests, power, disagreement] if draws else [interval, tests, power]


def _letters_of_scores(contest: Contest) -> dict[str, str]:
    """Return a letter for each score by its name, since names are too long for a table of metric pairs.

    The scores after the twenty-sixth are called ``M27`` and so on.
    """
    letters = {}
    for index, name in enumerate(contest.scores):
        letters[name] = chr(ord("A") + index) if index < 26 else f"M{index + 1}"
    return letters


def _bucket_sheet(
    contest: Contest, bucket: str, rows: Sequence[ComparedMetrics], letters: dict[str, str], notes: Sequence[str]
) -> Sheet:
    """Return the table of the comparisons in a bucket, with the letters of the scores explained above it.

    Args:
        contest: the scores that were compared.
        bucket: the name of the bucket.
        rows: the comparisons in it.
        letters: the letter of each score in the table.
        notes: the notes below the table.
    """
    n = max(row.difference.n for row in rows)
    legend = ", ".join(f"{letter} {name}" for name, letter in letters.items())
    columns = _comparison_columns(letters)
    return Sheet(
        f"{contest.data.title}, {bucket}",
        columns,
        table_rows(columns, rows),
        facts=(f"n = {n:,}; {legend}; ? cannot be told apart",),
        notes=tuple(notes),
    )


def _record_of_comparison(row: ComparedMetrics) -> dict[str, Any]:
    """Return the flat record of one comparison, with the p-values as computed and as corrected; None if undefined."""
    difference = row.difference
    return {
        "dataset": row.dataset,
        "split": row.split,
        "bucket": row.bucket,
        "first": row.first,
        "second": row.second,
        "statistic": difference.statistic,
        "first_value": difference.first,
        "second_value": difference.second,
        "difference": difference.value,
        "low": difference.low,
        "high": difference.high,
        "standard_error": difference.error,
        "p_jackknife": difference.p_jackknife,
        "p_permutation": difference.p_permutation,
        "p_williams": difference.p_williams,
        "adjusted_p_jackknife": row.p_jackknife,
        "adjusted_p_permutation": row.p_permutation,
        "adjusted_p_williams": row.p_williams,
        "detectable": row.detectable,
        "n": difference.n,
        "verdict": row.verdict,
        "note": difference.note,
    }


def _pairs_sheet(contest: Contest, names: tuple[str, str], disagreements: Sequence[Disagreement]) -> Sheet:
    """Return the table of the pairs of texts that two metrics rank most differently, with questions if any.

    Without such pairs, the sheet has a line that says so instead of a table.

    Args:
        contest: the scores that were compared.
        names: the names of the two metrics.
        disagreements: the pairs, the largest difference first.
    """
    first, second = names
    title = f"{contest.data.title}: where {first} and {second} differ most"
    if not disagreements:
        return Sheet(title, (), (), facts=("nowhere: every pair that has both scores has the same rank under both",))
    texts = {pair.row: contest.data.texts(pair.row) for pair in disagreements}
    columns = [
        Column("reference", cell=lambda pair: cut(texts[pair.row]["reference"])),
        Column("candidate", cell=lambda pair: cut(texts[pair.row]["candidate"])),
        Column("label", number=True, cell=lambda pair: label_text(pair.label, contest.data.labels)),
        Column("rank", number=True, cell=lambda pair: f"{pair.label_rank:,.0f}"),
        Column("first", number=True, cell=lambda pair: f"{pair.scores[0]:.3g}"),
        Column("rank", number=True, cell=lambda pair: f"{pair.ranks[0]:,.0f}"),
        Column("second", number=True, cell=lambda pair: f"{pair.scores[1]:.3g}"),
        Column("rank", number=True, cell=lambda pair: f"{pair.ranks[1]:,.0f}"),
    ]
    if "question" in contest.data.table.column_names:
        columns.insert(0, Column("question", spare=1, cell=lambda pair: cut(texts[pair.row]["question"])))
    return Sheet(
        title,
        columns,
        table_rows(columns, disagreements),
        facts=(f"first: {first}; second: {second}; ranks from 1, the least similar, to {disagreements[0].n:,}",),
    )


def _pair_record(contest: Contest, names: tuple[str, str], pair: Disagreement) -> dict[str, Any]:
    """Return the flat record of one pair of texts, with its scores and ranks by both metrics."""
    return {
        "dataset": contest.data.name,
        "pair_id": contest.data.table.column("pair_id")[pair.row].as_py(),
        **contest.data.texts(pair.row),
        "label": pair.label,
        "label_rank": pair.label_rank,
        "first": names[0],
        "first_score": pair.scores[0],
        "first_rank": pair.ranks[0],
        "second": names[1],
        "second_score": pair.scores[1],
        "second_rank": pair.ranks[1],
    }
