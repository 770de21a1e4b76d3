"""Comparisons of systems as tables (sheets) and plain records."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from assay.analysis.settings import CORRECTIONS
from assay.analysis.significance.testing import (
    TESTS,
    ComparedSystems,
    Samples,
    SignificanceSettings,
    chance_of_separation,
    count_wins,
)
from assay.common.messages import Message, Setting
from assay.common.numbers import none_if_nan, p_value, short
from assay.reports.sheets import Column, Document, Sheet, table_rows
from assay.statistics.coefficients import title_of


def to_document(
    samples: Sequence[Samples],
    comparisons: Sequence[ComparedSystems],
    settings: SignificanceSettings,
    notes: Sequence[str],
    baseline: str | None,
) -> Document:
    """Return a document with, for each statistic, an overview, the tests on each dataset, and the wins of each system.

    The records are the comparisons; the JSON value also has the results, the wins and all notes.

    Args:
        samples: the results by dataset and statistic.
        comparisons: the comparisons, at least one.
        settings: the settings of the tests.
        notes: lines on results that were left out on reading, to be shown as warnings.
        baseline: the system that the others are compared with; None if all pairs are compared.
    """
    statistics = list(dict.fromkeys(group.statistic for group in samples))
    sheets: list[Sheet] = []
    counts: list[dict[str, Any]] = []
    for statistic in statistics:
        rows = [row for row in comparisons if row.statistic == statistic]
        groups = [group for group in samples if group.statistic == statistic]
        sheets.append(_overview_sheet(groups, rows, baseline))
        for group in groups:
            rows_of_dataset = [row for row in rows if row.dataset == group.dataset]
            if rows_of_dataset:
                sheets.append(_tests_sheet(group, rows_of_dataset))
        win_counts = count_wins(rows, [system for system in _system_names(groups) if system != baseline])
        sheets.append(_counts_sheet(statistic, win_counts))
        counts += [{"statistic": statistic, **record} for record in win_counts]
    results, all_notes = [], list(notes)
    for group in samples:
        results += [_result_record(group, system) for system in group.values]
        all_notes += [f"{_samples_title(group)}: {note}" for note in group.notes]
    records = [_test_record(row) for row in comparisons]
    value = {"results": results, "comparisons": records, "counts": counts, "notes": all_notes}
    explanations = list(_explanation_lines(samples, comparisons, settings))
    return Document(sheets, records, explanations, value, warnings=notes)


def _system_names(samples: Sequence[Samples]) -> list[str]:
    return list(dict.fromkeys(system for group in samples for system in group.values))


def _samples_title(samples: Samples) -> str:
    return f"{samples.dataset}, {title_of(samples.statistic)}"


def _mean_and_deviation(samples: Samples, system: str) -> str:
    """Return ``mean ± standard deviation (seeds)``: with three decimals if both are within ±1, else with two."""
    mean, deviation = samples.mean_and_deviation(system)
    decimals = 3 if max(abs(mean), deviation) <= 1 else 2
    return f"{short(mean, decimals)} ± {short(deviation, decimals)} ({len(samples.values[system])})"


def _overview_sheet(samples: Sequence[Samples], rows: Sequence[ComparedSystems], baseline: str | None) -> Sheet:
    """Return the table of Waldis et al. (2022): the mean and standard deviation of each system on each dataset.

    Beside them are the numbers of the tests by which the system is better or worse than the baseline, if there is one.

    Args:
        samples: the results by one statistic, one group per dataset.
        rows: the comparisons by that statistic.
        baseline: the system that the others are compared with; None if all pairs are compared.
    """
    marks = {}
    if baseline is not None:
        marks = {(row.first, row.dataset): _numbered_tests(row) for row in rows}

    def reached_text(group: Samples, system: str) -> str:
        mark = marks.get((system, group.dataset), "")
        reached = _mean_and_deviation(group, system) if system in group.values else "–"
        return f"{reached} [{mark}]" if mark else reached

    legend = ", ".join(f"{2 * index + 1}/{2 * index + 2} {test}" for index, test in enumerate(TESTS))
    statistic = title_of(samples[0].statistic)
    facts = () if baseline is None else (f"better/worse than {baseline} by: {legend}",)
    columns = [
        Column("system", cell=str),
        *(Column(group.dataset, number=True, cell=partial(reached_text, group)) for group in samples),
    ]
    cells = table_rows(columns, _system_names(samples))
    return Sheet(f"{statistic}: mean ± standard deviation (seeds)", columns, cells, facts=facts)


def _numbered_tests(row: ComparedSystems) -> str:
    """Return the numbers of the tests by which the first system is better (odd) or worse (even), such as ``1,3``."""
    numbers = []
    for index, test in enumerate(TESTS):
        if test in row.better:
            numbers.append(2 * index + 1)
        if test in row.worse:
            numbers.append(2 * index + 2)
    return ",".join(map(str, numbers))


def _tests_sheet(samples: Samples, rows: Sequence[ComparedSystems]) -> Sheet:
    """Return the table of every test on one dataset, one row for each pair of systems."""
    columns = [
        Column("system", cell="first"),
        Column("mean ± sd (seeds)", number=True, cell=lambda row: _mean_and_deviation(samples, row.first)),
        Column("against", cell="second"),
        Column("mean ± sd (seeds)", number=True, cell=lambda row: _mean_and_deviation(samples, row.second)),
        Column("eps + / −", number=True, cell=lambda row: f"{row.order.better:.2f} / {row.order.worse:.2f}"),
        *(Column(test, number=True, cell=partial(_one_sided_text, test)) for test in TESTS[1:]),
        Column("B–F", number=True, cell=lambda row: p_value(row.adjusted_spread)),
        Column("better by", cell=lambda row: ", ".join(row.better)),
        Column("worse by", cell=lambda row: ", ".join(row.worse)),
    ]
    return Sheet(_samples_title(samples), columns, table_rows(columns, rows), notes=samples.notes)


def _counts_sheet(statistic: str, win_counts: Sequence[dict[str, Any]]) -> Sheet:
    """Return the table of wins and losses by test, one row per system.

    Args:
        statistic: the name of the coefficient.
        win_counts: the record of each system, see :func:`~assay.analysis.significance.testing.count_wins`.
    """

    def counts_text(test: str, record: dict[str, Any]) -> str:
        return "/".join(map(str, record[test]))

    columns = [
        Column("system", cell=lambda record: record["system"]),
        *(Column(test, number=True, cell=partial(counts_text, test)) for test in (*TESTS, "all")),
        Column("comparisons", number=True, cell=lambda record: str(record["comparisons"])),
    ]
    return Sheet(f"{title_of(statistic)}: improvements / deteriorations", columns, table_rows(columns, win_counts))


def _one_sided_text(test: str, row: ComparedSystems) -> str:
    """Return the smaller of the two one-sided p-values of a test, after + for better or − for worse.

    It is after + if they are equal. A dash stands for a test that is undefined.
    """
    better, worse = row.adjusted[test].better, row.adjusted[test].worse
    if math.isnan(better):
        return "–"
    return f"+ {p_value(better)}" if better <= worse else f"− {p_value(worse)}"


def _level_text(value: float) -> str:
    """Return a level without the zero before the point, such as ``.05``."""
    return f"{value:.6g}".removeprefix("0")


def _result_record(samples: Samples, system: str) -> dict[str, Any]:
    """Return the mean and standard deviation of a system on one dataset over its seeds, as a flat record."""
    mean, deviation = samples.mean_and_deviation(system)
    return {
        "dataset": samples.dataset,
        "statistic": samples.statistic,
        "system": system,
        "mean": mean,
        "sd": deviation,
        "seeds": len(samples.values[system]),
    }


def _test_record(row: ComparedSystems) -> dict[str, Any]:
    """Return the flat record of one comparison: p-values before and after correction; None where undefined."""
    record: dict[str, Any] = {
        "dataset": row.dataset,
        "statistic": row.statistic,
        "first": row.first,
        "second": row.second,
        "violation_ratio": row.order.ratio,
        "epsilon_better": row.order.better,
        "epsilon_worse": row.order.worse,
    }
    for name, sided in row.raw.items():
        key = {"U": "mann_whitney", "t": "welch"}.get(name, name)
        adjusted = row.adjusted[name]
        record |= {f"p_{key}_better": none_if_nan(sided.better), f"p_{key}_worse": none_if_nan(sided.worse)}
        record |= {
            f"adjusted_p_{key}_better": none_if_nan(adjusted.better),
            f"adjusted_p_{key}_worse": none_if_nan(adjusted.worse),
        }
    return record | {
        "p_brown_forsythe": none_if_nan(row.spread),
        "adjusted_p_brown_forsythe": none_if_nan(row.adjusted_spread),
        "better_by": list(row.better),
        "worse_by": list(row.worse),
    }


def _explanation_lines(
    samples: Sequence[Samples], comparisons: Sequence[ComparedSystems], settings: SignificanceSettings
) -> Iterator[str]:
    """Yield the lines on method: the meaning of columns, the corrections, too few draws or seeds, and the draws.

    Args:
        samples: the results by dataset and statistic.
        comparisons: the comparisons, at least one.
        settings: the settings of the tests.
    """
    family = max(Counter(row.statistic for row in comparisons).values())
    level = settings.corrected_confidence(family)
    level_note = ""
    if level != settings.confidence:
        level_note = f", level {_level_text(level)} for {family:,} comparisons"
    yield (
        f"eps + / −: almost stochastic order, upper bound at {_level_text(settings.confidence)} of the share by which "
        f"being better (+) and being worse (−) are violated; counted below {_level_text(settings.tau)}; "
        f"{settings.needed_resamples(family):,} resamples{level_note}"
    )
    yield (
        "U: Mann-Whitney; bootstrap: of the difference of means, by t; t: Welch; one-sided, + for better and − for "
        "worse, whichever p-value is smaller; B–F: Brown-Forsythe, whether the spread differs; counted up to "
        f"{_level_text(settings.alpha)}; – where neither system varies"
    )
    yield (
        f"p-values corrected over the {family:,} comparisons of a statistic, each direction apart: "
        f"{CORRECTIONS[settings.p_value_correction]}"
    )
    resamples = settings.needed_resamples(family)
    # the smallest p-value of the bootstrap is 1 / (resamples + 1), times the number of p-values as corrected
    is_never_significant = settings.p_values_to_correct(family) > settings.alpha * (resamples + 1)
    if is_never_significant:
        yield Message(
            f"{resamples:,} resamples are too few for {family:,} comparisons at {_level_text(settings.alpha)}: by the "
            "bootstrap none can count; raise ",
            Setting("resamples"),
        )
    chance = chance_of_separation(samples)
    if chance > 1 - level:
        yield (
            f"with so few seeds chance alone sets one system wholly above another with probability {chance:.2g}, which "
            f"almost stochastic order accepts at any level, here {1 - level:.2g}: train with more seeds"
        )
    yield f"draws: {settings.signature}"
