"""Tables of the costs of metrics: load time, memory and growth of each, and all measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.common.numbers import money, rate
from assay.reports.sheets import Column, Document, Sheet, table_rows

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
_TIMES = (
    Column("metric", cell=lambda point: point["metric"]),
    Column("pairs", number=True, cell=lambda point: f"{point['pairs']:,}"),
    Column("texts joined", number=True, cell=lambda point: str(point["length"])),
    Column("characters", number=True, cell=lambda point: f"{point['characters']:,.0f}"),
    Column("seconds", number=True, cell=lambda point: f"{point['seconds']:.3g}"),
    Column("CPU s", number=True, cell=lambda point: f"{point['cpu_seconds']:.3g}"),
    Column("pairs/s", number=True, cell=lambda point: rate(point["pairs_per_second"])),
)


def document(profile: Mapping[str, Any]) -> Document:
    """Return the tables of a profile, and one record per measurement; a metric without any has one record.

    Prices have a column if any is known. The warnings are on the data and the machine, and for each metric on its
    device and on truncated texts.

    Args:
        profile: the plain values that :meth:`assay.api.profile.Profile.as_dict` returns.
    """
    metrics = profile["metrics"]
    columns = [
        Column("metric", cell=lambda cost: cost["metric"]),
        Column("pairs/s", number=True, cell=lambda cost: _speed_text(cost["points"])),
        Column("load s", number=True, cell=lambda cost: _number_text(cost["load_seconds"], 2)),
        Column("parameters", number=True, cell=lambda cost: _number_text(cost["parameters"])),
        Column("peak MB", number=True, cell=lambda cost: _number_text(cost["peak_memory_mb"])),
        Column("GPU MB", number=True, cell=lambda cost: _number_text(cost["peak_gpu_memory_mb"])),
    ]
    if any(cost["price_per_1000"] is not None for cost in metrics):
        columns.append(Column("price per 1,000", number=True, cell=lambda cost: money(cost["price_per_1000"])))
    columns += [
        Column("exponent of pairs (R²)", number=True, cell=lambda cost: _fit_text(cost["over_pairs"])),
        Column("of length (R²)", number=True, cell=lambda cost: _fit_text(cost["over_length"])),
    ]
    costs = Sheet("Cost of each metric", columns, table_rows(columns, metrics))
    measurements = [point | {"metric": cost["metric"]} for cost in metrics for point in cost["points"]]
    times = Sheet("Time by pairs and length of texts", _TIMES, table_rows(_TIMES, measurements))
    # a metric without measurements has a record with its other fields
    records = [_measurement_record(cost, point) for cost in metrics for point in cost["points"] or [{}]]
    names = [cost["metric"] for cost in metrics]
    return Document((costs, times), records, value=profile, warnings=_warning_lines(profile), metrics=names)


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
    """Return a line on the data and the machine, and one line for each metric that has caveats."""
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
    """Return remarks on the measurements of a metric: its own note, its device and threads, and truncated texts."""
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


def _speed_text(points: Sequence[Mapping[str, Any]]) -> str:
    """Return the pairs per second of the largest number of pairs with texts as they are; a dash without points."""
    plain = [point for point in points if point["length"] == 1]
    return rate(max(plain, key=lambda point: point["pairs"])["pairs_per_second"]) if plain else "–"


def _fit_text(fit: Mapping[str, Any] | None) -> str:
    """Return the exponent of a fit, with its R² in brackets if that is defined; a dash without a fit."""
    if fit is None:
        return "–"
    exponent = f"{fit['exponent']:.2f}"
    return exponent if fit["r_squared"] is None else f"{exponent} ({fit['r_squared']:.3f})"
