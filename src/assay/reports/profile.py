"""Tables of the costs of metrics: load time, memory and growth of each, and all measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.common.numbers import money, rate
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
    has_prices = any(cost["price_per_1000"] is not None for cost in metrics)
    price_heads = ["price per 1,000"] if has_prices else []
    cost_heads = ["load s", "parameters", "peak MB", "GPU MB", *price_heads, "exponent of pairs (R²)", "of length (R²)"]
    costs = Sheet(
        "Cost of each metric",
        _metric_and_number_columns(cost_heads),
        [_cost_row(cost, has_prices=has_prices) for cost in metrics],
    )
    times = Sheet(
        "Time by pairs and length of texts",
        _metric_and_number_columns(["pairs", "texts joined", "characters", "seconds", "CPU s", "pairs/s"]),
        [_measurement_row(cost["metric"], point) for cost in metrics for point in cost["points"]],
    )
    # a metric without measurements has a record with its other fields
    records = [_measurement_record(cost, point) for cost in metrics for point in cost["points"] or [{}]]
    names = [cost["metric"] for cost in metrics]
    return Document((costs, times), records, value=profile, warnings=_warning_lines(profile), metrics=names)


def _metric_and_number_columns(heads: Sequence[str]) -> list[Column]:
    return [Column("metric"), *number_columns(heads)]


def _cost_row(cost: Mapping[str, Any], *, has_prices: bool) -> list[str]:
    """Return the cells of a metric in the table of costs, which has a price column if *has_prices*."""
    cells = [cost["metric"], _number_text(cost["load_seconds"], 2)]
    cells += [_number_text(cost[key]) for key in ("parameters", "peak_memory_mb", "peak_gpu_memory_mb")]
    if has_prices:
        cells.append(money(cost["price_per_1000"]))
    return [*cells, *(_fit_text(cost[fit]) for fit in _FIT_FIELDS)]


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
    fits = {}
    for fit in _FIT_FIELDS:
        values = cost[fit] or {}
        for fit_field in ("exponent", "r_squared"):
            fits[f"{fit}_{fit_field}"] = values.get(fit_field)
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
    for cost in profile["metrics"]:
        remarks = _metric_remarks(cost)
        if remarks:
            lines.append(f"{cost['metric']}: {'; '.join(remarks)}")
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
    """Return the exponent of a fit, with its R² in brackets if that is defined; a dash without a fit."""
    if fit is None:
        return "–"
    exponent = f"{fit['exponent']:.2f}"
    return exponent if fit["r_squared"] is None else f"{exponent} ({fit['r_squared']:.3f})"
