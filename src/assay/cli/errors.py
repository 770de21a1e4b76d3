"""``assay errors``: where a metric and people diverge, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from assay.analysis.errors.settings import ErrorSettings
from assay.cli.command import checking_callback, command
from assay.cli.options import ExplainOption, ReportFormat, ReportFormatOption
from assay.cli.printing import print_report
from assay.common.messages import Setting
from assay.exceptions import InputError
from assay.settings import parse_scale

#: Options that have an effect together with ``--evaluate``.
_EFFECTIVE_WITH_EVALUATE = ("run", "datasets", "scale", "tagger", "evaluate", "output")


@command(ErrorSettings)
def errors(
    context: typer.Context,
    run: Annotated[Path, typer.Argument(help="A run folder, or a file with a label and score columns.", metavar="RUN")],
    scale: Annotated[
        str | None,
        typer.Option(
            metavar="LOW,HIGH",
            callback=checking_callback(parse_scale),
            help="Lowest and highest label [default: as the data declares, else the ones that occur].",
        ),
    ] = None,
    evaluate: Annotated[
        bool, typer.Option("--evaluate", help="Compare the rules with the categories annotated in the data, instead.")
    ] = False,
    output: ReportFormatOption = ReportFormat.table,
    explain: ExplainOption = False,
    **settings: Any,
) -> None:
    """Show the pairs on which a metric and people diverge, with categories that say why.

    assay errors runs/RUN --metric cross-encoder:MODEL --threshold auto
    """
    import assay

    scale_range = None if scale is None else parse_scale(scale)
    if evaluate:
        _check_effective_with_evaluate(context)
        evaluation_settings = {name: settings[name] for name in ("datasets", "tagger") if name in settings}
        print_report(assay.evaluate_categories(run, scale=scale_range, **evaluation_settings), output, explain=explain)
        return
    if output in (ReportFormat.json, ReportFormat.csv):
        if "corrected" in settings:
            raise InputError(f"--format {output} lists the pairs of RUN alone; use another format", setting="corrected")
        # the list of pairs has no intervals
        settings["resamples"] = 0
    print_report(assay.errors(run, scale=scale_range, **settings), output, explain=explain)


def _check_effective_with_evaluate(context: typer.Context) -> None:
    """Raise InputError for an option on the command line that has no effect together with ``--evaluate``."""
    for name in context.params:
        source = context.get_parameter_source(name)
        if name not in _EFFECTIVE_WITH_EVALUATE and source is not None and source.name == "COMMANDLINE":
            raise InputError("has no effect beside ", Setting("evaluate"), "; leave one of them out", setting=name)
