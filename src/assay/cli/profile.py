"""``assay profile``: what metrics cost, each measured alone."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.guard import guarded, progress_on_stderr, show, tell
from assay.cli.options import (
    ColumnsOption,
    DeviceOption,
    LanguageOption,
    MetricOption,
    OfflineOption,
    QuietOption,
    ThreadsOption,
)

if TYPE_CHECKING:
    from assay.api.profiling import Profile
    from assay.benchmark.profile import Fit, MetricProfile

__all__ = ["profile"]


class ProfileFormat(StrEnum):
    """How the figures are printed."""

    table = "table"
    json = "json"
    csv = "csv"
    md = "md"


#: Endings of a file and what is written there.
ENDINGS = {".json": ProfileFormat.json, ".csv": ProfileFormat.csv, ".md": ProfileFormat.md}
COSTS = ["metric", "load s", "parameters", "peak MB", "GPU MB", "exponent of pairs (R²)", "of length (R²)"]
POINTS = ["metric", "pairs", "texts joined", "characters", "seconds", "CPU s", "pairs/s"]


@guarded
def profile(
    metric: MetricOption = None,
    pairs: Annotated[str, typer.Option("--pairs", help="Numbers of pairs to score.")] = "64,256,1024",
    lengths: Annotated[
        str, typer.Option("--lengths", help="How many texts to join to one, at the middle number of pairs; 1 for none.")
    ] = "1,2,4,8",
    repeats: Annotated[int, typer.Option(help="Timed calls a point; the median counts.")] = 3,
    dataset: Annotated[
        str, typer.Option("--dataset", "-d", help="Where the texts come from: a dataset or a file.")
    ] = "probe",
    columns: ColumnsOption = None,
    language: LanguageOption = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    offline: OfflineOption = False,
    output: Annotated[
        ProfileFormat, typer.Option("--format", "-f", help="How the figures are printed.")
    ] = ProfileFormat.table,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write a file, too: .json, .csv or .md.")] = None,
    quiet: QuietOption = False,
) -> None:
    """Measure what metrics cost, each in a process of its own: load, memory, speed, and how time grows.

    assay profile -m f1 -m bi-encoder:all-MiniLM-L6-v2 --pairs 64,256,1024
    """
    from assay import api

    _check(out)
    try:
        with progress_on_stderr(quiet) as progress:
            found = api.profile(
                metric or [],
                dataset,
                pairs=_numbers("--pairs", pairs),
                lengths=_numbers("--lengths", lengths),
                repeats=repeats,
                columns=columns,
                language=language,
                device=device,
                threads=threads,
                offline=offline,
                progress=progress,
            )
    except KeyboardInterrupt:
        # there is no store that the usual line could speak of
        tell("assay: stopped; a measurement that was cut short is not kept")
        raise typer.Exit(130) from None
    if output is ProfileFormat.table:
        _show(found)
    else:
        typer.echo(_text(found, output), nl=False)
    if out is not None:
        _write(out, _text(found, ENDINGS[out.suffix.lower()]))
    for line in found.failures:
        tell(f"assay: {line}")
    if out is not None and not quiet:
        tell(f"wrote {out}")
    if found.failures:
        raise typer.Exit(1)


def _numbers(name: str, text: str) -> list[int]:
    from assay.errors import InputError

    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{name} {text}: must be whole numbers with commas, such as 64,256,1024") from None


def _check(out: Path | None) -> None:
    """Refuse a place that cannot be written before anything is measured."""
    from assay.errors import InputError

    if out is None:
        return
    if out.suffix.lower() not in ENDINGS:
        raise InputError(f"--out {out}: the name must end in {', '.join(ENDINGS)}")
    if not out.parent.is_dir():
        raise InputError(f"--out {out}: there is no folder {out.parent}")


def _write(out: Path, text: str) -> None:
    from assay.errors import InputError

    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"--out {out}: cannot be written ({error.strerror})") from error


def _text(found: Profile, output: ProfileFormat) -> str:
    if output is ProfileFormat.json:
        return json.dumps(found.as_dict(), indent=1, ensure_ascii=False) + "\n"
    if output is ProfileFormat.csv:
        return _csv(found)
    tables = [_markdown(COSTS, map(_cost_row, found.metrics)), _markdown(POINTS, _point_rows(found))]
    return "\n".join([*tables, *(f"- {line}" for line in _remarks(found)), ""])


def _show(found: Profile) -> None:
    from rich.table import Table

    from assay.reports.escape import rich_text

    for heads, rows in ((COSTS, [_cost_row(one) for one in found.metrics]), (POINTS, _point_rows(found))):
        table = Table()
        for number, head in enumerate(heads):
            table.add_column(head, justify="right" if number else "left", overflow="fold")
        for row in rows:
            table.add_row(*map(rich_text, row))
        show(table)
    for line in _remarks(found):
        show(rich_text(line))


def _cost_row(one: MetricProfile) -> list[str]:
    return [
        one.metric,
        _number(one.load_seconds, 2),
        _number(one.parameters),
        _number(one.peak_memory_mb),
        _number(one.peak_gpu_memory_mb),
        _fit(one.over_pairs),
        _fit(one.over_length),
    ]


def _point_rows(found: Profile) -> list[list[str]]:
    return [
        [
            one.metric,
            f"{point.pairs:,}",
            str(point.length),
            f"{point.characters:,.0f}",
            f"{point.seconds:.3g}",
            f"{point.cpu_seconds:.3g}",
            f"{point.pairs_per_second:,.0f}",
        ]
        for one in found.metrics
        for point in one.points
    ]


def _remarks(found: Profile) -> list[str]:
    """Return what a reader must know beside the figures."""
    machine = found.machine
    where = f"{machine['processor']}, {machine['cores']} cores, {machine['system']}"
    versions = f"Python {machine['python']}, assay {machine['assay']}"
    lines = [f"{found.dataset}: {found.distinct:,} distinct pairs; {where}, {versions}"]
    for one in found.metrics:
        said = [one.says] if one.says else []
        if one.device:
            said.append(f"on {one.device}" + (f", threads {one.threads}" if one.device == "cpu" else ""))
        said += [
            f"{point.truncated:,} of {point.pairs:,} pairs truncated with {point.length} texts joined"
            for point in one.points
            if point.truncated
        ]
        if said:
            lines.append(f"{one.metric}: {'; '.join(said)}")
    return lines


def _number(value: float | None, decimals: int = 0) -> str:
    return "–" if value is None else f"{value:,.{decimals}f}"


def _fit(fit: Fit | None) -> str:
    if fit is None:
        return "–"
    return f"{fit.exponent:.2f}" + ("" if fit.r_squared is None else f" ({fit.r_squared:.3f})")


def _markdown(heads: Sequence[str], rows: Any) -> str:
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def _csv(found: Profile) -> str:
    """Return a line a point, what holds of the metric repeated on each; a metric without a point has one line."""
    from assay.delimited import write_rows

    whole = ["metric", "status", "reason", "load_seconds", "parameters", "peak_memory_mb", "peak_gpu_memory_mb"]
    whole += ["device", "threads"]
    fits = ["over_pairs", "over_length"]
    point = ["pairs", "length", "characters", "seconds", "cpu_seconds", "pairs_per_second", "truncated"]
    rows: list[list[Any]] = [[*whole, *(f"{fit}_{part}" for fit in fits for part in ("exponent", "r_squared")), *point]]
    for one in found.as_dict()["metrics"]:
        fitted = [(one[fit] or {}).get(part) for fit in fits for part in ("exponent", "r_squared")]
        for each in one["points"] or [{}]:
            rows.append([*(one[key] for key in whole), *fitted, *(each.get(key) for key in point)])
    stream = io.StringIO()
    write_rows(stream, rows)
    return stream.getvalue()
