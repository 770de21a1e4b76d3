"""``assay baseline``: keep a run to check later ones against."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from assay.analysis.check.settings import BaselineSettings
from assay.cli.command import command
from assay.cli.guard import report_failures
from assay.cli.options import QuietOption


@command(BaselineSettings)
def baseline(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The file to write; an earlier baseline is replaced.")
    ] = Path("baseline.json"),
    quiet: QuietOption = False,
    **settings: Any,
) -> None:
    """Write the agreement and the scores of a run to one small file, for assay check.

    assay baseline runs/main --out baseline.json

    assay baseline runs/next --out baseline.json --baseline-of baseline.json

    assay baseline runs/main --system model --ci github
    """
    import assay
    from assay.api.baseline import planned_ci_files
    from assay.common.addresses import command_line

    lines_on_ci: list[str] = []
    if settings.get("ci") is not None:
        # the files are shown before anything is written
        planned = planned_ci_files(run, out, BaselineSettings(**settings))
        written = [file for file in planned.files if not file.path.exists()]
        for file in planned.files:
            action = "is written" if file in written else "exists and is left as it is; merge this into it"
            typer.echo(f"--- {file.path.as_posix()} {action}:\n{file.text}")
        lines_on_ci += [f"wrote {file.path.as_posix()}" for file in written]
        for file in planned.files:
            if file not in written:
                lines_on_ci.append(f"left as it is: {file.path.as_posix()}; merge what is shown above")
        lines_on_ci += planned.notes
    path = assay.baseline(run, out, **settings)
    lines = [f"wrote {path} ({path.stat().st_size / 1e3:.0f} kB)", *lines_on_ci]
    lines.append(f"next: {command_line('check', 'RUN', '--against', out)}")
    report_failures([], [] if quiet else lines)
