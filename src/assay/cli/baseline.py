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

    planned = None
    if settings.get("ci") is not None:
        # shown before anything is written
        planned = planned_ci_files(run, out, BaselineSettings(**settings))
        existing = [file.path for file in planned.files if file.path.exists()]
        for file in planned.files:
            action = "exists and is left as it is; merge this into it" if file.path in existing else "is written"
            typer.echo(f"--- {file.path.as_posix()} {action}:\n{file.text}")
    path = assay.baseline(run, out, **settings)
    lines = [f"wrote {path} ({path.stat().st_size / 1e3:.0f} kB)"]
    if planned is not None:
        lines += [f"wrote {file.path.as_posix()}" for file in planned.files if file.path not in existing]
        lines += [f"left as it is: {file.as_posix()}; merge what is shown above" for file in existing]
        lines += planned.notes
    lines.append(f"next: {command_line('check', 'RUN', '--against', out)}")
    report_failures([], [] if quiet else lines)
