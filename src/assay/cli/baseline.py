"""``assay baseline``: keep a run to check later ones against."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.guard import guarded, print_to_stderr
from assay.cli.options import QuietOption
from assay.common.addresses import command_line


@guarded
def baseline(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="The file to write, such as baseline.json; an earlier baseline is replaced."),
    ],
    baseline_of: Annotated[
        Path | None,
        typer.Option(
            help="The baseline that this one replaces; assay check then compares with the first of the chain, too.",
            metavar="FILE",
        ),
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Write the agreement and the scores of a run to one small file, for assay check.

    assay baseline runs/main --out baseline.json

    assay baseline runs/next --out baseline.json --baseline-of baseline.json
    """
    import assay

    assay.baseline(run, out, baseline_of=baseline_of)
    if not quiet:
        print_to_stderr(f"wrote {out}")
        print_to_stderr(f"next: {command_line('check', 'RUN', '--against', out)}")
