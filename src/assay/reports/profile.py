"""Tables of the costs of metrics: load time, memory and growth of each, and all measurements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.reports.layout import money, rate
from assay.reports.sheets import Column, Document, Sheet, number_columns

#: The fields of a record: on the metric, on its hardware, on its fits over pairs and over text length, and on one
#: measurement.
_METRIC_FIELDS = (
    "metric",
    "status",
    "reason",
    "load_seconds",
    "parameters",
    "peak_memory_mb",
    "peak_gpu_memory_mb",
    "price_per_1000",
)
_HARDWARE_FIELDS = ("device", "threads")
_FIT_FIELDS = ("over_pairs", "over_length")
_MEASUREMENT_FIELDS = ("pairs", "length", "characters", "seconds", "cpu_seconds", "pairs_per_second", "truncated")


def document(profile: Mapping[str, Any]) -> Document:
    """Return the tables of a profile, and one record per measurement; a metric without any has one record.

    Args:
        profile: the plain values that :meth:`assay.api.profile.Profile.as_dict` returns.
    """
    metrics = profile["metrics"]
    is_priced = any(cost["price_per_1000"] is not None for cost in metrics)
    heads = ("load s", "parameters", "peak MB", "GPU MB", *(["price per 1,000"] if is_priced else []))
    heads += ("exponent of pairs (R²)", "of length (R²)")
    costs = Sheet(
        "Cost of each metric",
        _metric_and_number_columns(*heads),
        [_cost_row(cost, priced=is_priced) for cost in metrics],
    )
    heads = ("pairs", "texts joined", "characters", "seconds", "CPU s", "pairs/s")
    time_rows = [_measurement_row(cost["metric"], point) for cost in metrics for point in cost["points"]]
    times = Sheet("Time by pairs and length of texts", _metric_and_number_columns(*heads), time_rows)
    records = [_measurement_record(cost, point) for cost in metrics for point in cost["points"] or [{}]]
    names = [cost["metric"] for cost in metrics]
    return Document((costs, times), records, value=profile, warnings=_warning_lines(profile), metrics=names)


def _metric_and_number_columns(*heads: str) -> list[Column]:
    return [Column("metric"), *number_columns(heads)]


def _cost_row(cost: Mapping[str, Any], *, priced: bool) -> list[str]:
    """Return the cells of a metric in the table of costs; the price only if *priced*."""
    counts = [_number_text(cost[key]) for key in ("parameters", "peak_memory_mb", "peak_gpu_memory_mb")]
    price = [money(cost["price_per_1000"])] if priced else []
    return [
        cost["metric"],
        _number_text(cost["load_seconds"], 2),
        *counts,
        *price,
        *(_fit_text(cost[fit]) for fit in _FIT_FIELDS),
    ]


def _measurement_row(metric: str, point: Mapping[str, Any]) -> list[str]:
    """Return the cells of one measurement in the table of times."""
    return [
        metric,
        f"{point['pairs']:,}",
        str(point["length"]),
        f"{point['characters']:,.0f}",
        f"{point['seconds']:.3g}",
        f"{point['cpu_seconds']:.3g}",
        rate(point["pairs_per_second"]),
    ]


def _measurement_record(cost: Mapping[str, Any], point: Mapping[str, Any]) -> dict[str, Any]:
    """Return one flat record: the fields of the metric, of its fits and of one measurement, which may be empty."""
    fits = {
        f"{fit}_{fit_field}": (cost[fit] or {}).get(fit_field)
        for fit in _FIT_FIELDS
        for fit_field in ("exponent", "r_squared")
    }
    return (
        {key: cost[key] for key in (*_METRIC_FIELDS, *_HARDWARE_FIELDS)}
        | fits
        | {key: point.get(key) for key in _MEASUREMENT_FIELDS}
    )


def _warning_lines(profile: Mapping[str, Any]) -> list[str]:
    """Return a line on the data and the machine, and one line per metric with caveats on its measurements."""
    machine = profile["machine"]
    machine_text = f"{machine['processor']}, {machine['cores']} cores, {machine['system']}"
    versions = f"Python {machine['python']}, assay {machine['assay']}"
    lines = [f"{profile['dataset']}: {profile['distinct']:,} distinct pairs; {machine_text}, {versions}"]
    lines += [
        f"{cost['metric']}: {'; '.join(remarks)}" for cost in profile["metrics"] if (remarks := _metric_remarks(cost))
    ]
    return lines


def _metric_remarks(cost: Mapping[str, Any]) -> list[str]:
    """Return caveats on the measurements of a metric: device, threads, truncated texts."""
    remarks = [cost["says"]] if cost["says"] else []
    if cost["device"]:
        threads = f", threads {cost['threads']}" if cost["device"] == "cpu" else ""
        remarks.append(f"on {cost['device']}{threads}")
    for point in cost["points"]:
        if point["truncated"]:
            shares = f"{point['truncated']:,} of {point['pairs']:,} pairs"
            remarks.append(f"{shares} truncated with {point['length']} texts joined")
    return remarks


def _number_text(value: float | None, decimals: int = 0) -> str:
    return "–" if value is None else f"{value:,.{decimals}f}"


def _fit_text(fit: Mapping[str, Any] | None) -> str:
    if fit is None:
        return "–"
    return f"{fit['exponent']:.2f}" + ("" if fit["r_squared"] is None else f" ({fit['r_squared']:.3f})")
