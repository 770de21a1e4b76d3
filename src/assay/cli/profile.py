"""``assay profile``: what metrics cost, measured alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from assay.benchmark.settings import ProfileSettings
from assay.cli.command import command
from assay.cli.guard import print_report, print_to_stderr, progress_on_stderr, report_failures
from assay.cli.options import ExplainOption, QuietOption, ReportFormat, ReportFormatOption
from assay.exceptions import InputError

#: Output format by file extension.
FORMAT_BY_SUFFIX: Final[dict[str, str]] = {".json": "json", ".csv": "csv", ".md": "md"}


@command(ProfileSettings)
def profile(
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write a file, too: .json, .csv or .md.")] = None,
    output: ReportFormatOption = ReportFormat.table,
    explain: ExplainOption = False,
    quiet: QuietOption = False,
    **settings: Any,
) -> None:
    """Measure what metrics cost, each in a process of its own: load, memory, speed, and how time grows.

    assay profile -m f1 -m bi-encoder:all-MiniLM-L6-v2 --pairs 64,256,1024
    """
    import assay
    from assay.reports.formats import format_document
    from assay.reports.profile import document

    _check_output_path(out)
    try:
        with progress_on_stderr(quiet) as progress:
            measured_profile = assay.profile(**settings, progress=progress)
    except KeyboardInterrupt:
        # not the usual message, which says that scores are kept: a profile has no store
        print_to_stderr("assay: stopped; a measurement that was interrupted is not kept")
        raise typer.Exit(130) from None
    report = assay.Report(document(measured_profile.as_dict()))
    print_report(report, output, explain=explain)
    if out is not None:
        _write_text_file(out, format_document(report.document, FORMAT_BY_SUFFIX[out.suffix.lower()]))
    report_failures(measured_profile.failures, [] if out is None or quiet else [f"wrote {out}"])


def _check_output_path(out: Path | None) -> None:
    """Raise InputError before anything is measured if the file has an unknown extension or no folder."""
    if out is None:
        return
    if out.suffix.lower() not in FORMAT_BY_SUFFIX:
        raise InputError(f"the name must end in {', '.join(FORMAT_BY_SUFFIX)}", setting="out", value=out)
    if not out.parent.is_dir():
        raise InputError(f"there is no folder {out.parent}", setting="out", value=out)


def _write_text_file(out: Path, text: str) -> None:
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", setting="out", value=out) from error
