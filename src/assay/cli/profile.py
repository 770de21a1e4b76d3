"""``assay profile``: what metrics cost, each measured alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from assay.cli.guard import finish, guarded, print_report, progress_on_stderr, tell
from assay.cli.options import (
    ColumnsOption,
    DeviceOption,
    LanguageOption,
    MetricOption,
    OfflineOption,
    QuietOption,
    ReportFormat,
    ReportFormatOption,
    ThreadsOption,
)

if TYPE_CHECKING:
    from assay.reports.sheets import Written

__all__ = ["profile"]


#: Endings of a file and what is written there.
ENDINGS: Final[dict[str, Written]] = {".json": "json", ".csv": "csv", ".md": "md"}


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
    output: ReportFormatOption = ReportFormat.table,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write a file, too: .json, .csv or .md.")] = None,
    quiet: QuietOption = False,
) -> None:
    """Measure what metrics cost, each in a process of its own: load, memory, speed, and how time grows.

    assay profile -m f1 -m bi-encoder:all-MiniLM-L6-v2 --pairs 64,256,1024
    """
    import assay
    from assay.reports.profile import document
    from assay.reports.sheets import write

    _check(out)
    try:
        with progress_on_stderr(quiet) as progress:
            found = assay.profile(
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
    report = assay.Report(document(found.as_dict()))
    print_report(report, output)
    if out is not None:
        _write(out, write(report.document, ENDINGS[out.suffix.lower()]))
    finish(found.failures, [] if out is None or quiet else [f"wrote {out}"])


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
