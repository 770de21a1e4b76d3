"""``assay run``: score labelled pairs, print the agreement."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from assay.benchmark.settings import RunSettings
from assay.cli.command import command
from assay.cli.guard import report_failures
from assay.cli.options import DryRunOption, ExplainOption, Format, FormatOption, QuietOption
from assay.cli.printing import print_report
from assay.cli.progress import progress_on_stderr
from assay.common.addresses import command_line
from assay.exceptions import InputError

if TYPE_CHECKING:
    from assay import Result


def _drop_configured_datasets(context: typer.Context, name: str | None) -> str | None:
    """Drop the datasets of the configuration if a dataset is named by position, and return the name unchanged.

    The command line takes precedence over a configuration, and datasets from both would all be scored.

    Args:
        context: the context of the command, whose defaults lose the datasets.
        name: the dataset or suite that is given by position; None if none is. A suite drops nothing, nor does an
            unknown name.
    """
    configured_defaults = dict(context.default_map or {})
    if name and "datasets" in configured_defaults:
        from assay.api.run import dataset_or_suite

        try:
            named_datasets, _ = dataset_or_suite(name)
        except InputError:
            # the run itself reports the unknown name
            named_datasets = []
        if named_datasets:
            del configured_defaults["datasets"]
            context.default_map = configured_defaults
    return name


@command(RunSettings, position_callback=_drop_configured_datasets)
def run(
    dry_run: DryRunOption = False,
    output: FormatOption = Format.table,
    explain: ExplainOption = False,
    quiet: QuietOption = False,
    **settings: Any,
) -> None:
    """Score labelled pairs with metrics and say how far each agrees with people.

    assay run quickstart

    assay run my.csv --columns reference=gold,candidate=answer,label=score -m f1 -m chrf
    """
    import assay

    if dry_run:
        print_report(assay.estimate(**settings), output, explain=explain)
        return
    run_folder = Path(settings.get("out") or _default_folder(settings.get("suite"), settings.get("datasets")))
    with_page = settings.get("page", True)
    with progress_on_stderr(quiet) as progress:
        result = assay.run(**settings | {"out": run_folder, "page": False, "progress": progress})
    print_report(result, output, explain=explain)
    if with_page:
        result.write_page()
    report_failures(result.failures, [] if quiet else [f"wrote {run_folder}", *_suggestion_lines(result, run_folder)])


def _suggestion_lines(result: Result, folder: Path) -> list[str]:
    """Return lines that suggest what to do with the run folder; none if the run has no agreement rows."""
    if not result.outcome.agreement:
        return []
    page_path = folder / "report.html"
    lines = [f"look at {page_path}"]
    if not page_path.exists():
        lines = [f"a page to look at: {command_line('report', folder, '--out', 'page')}"]
    # later verbs are aligned below the first
    line_start = "next: "
    for suggestion in _suggested_commands(result, folder):
        lines.append(f"{line_start}{suggestion}")
        line_start = " " * len(line_start)
    return lines


def _suggested_commands(result: Result, folder: Path) -> list[str]:
    """Return the commands to suggest after a run; none if no agreement is defined.

    They compare several metrics, show errors and keep a baseline. If no dataset is the user's own, the last one runs
    the recommended metric, if there is one, on a file of the user's.
    """
    defined_agreements = {(row.dataset, row.metric) for row in result.outcome.agreement if row.value is not None}
    if not defined_agreements:
        return []
    datasets = {dataset for dataset, _ in defined_agreements}
    a_dataset_has_two_metrics = len(datasets) < len(defined_agreements)
    commands = [command_line("compare", folder)] if a_dataset_has_two_metrics else []
    commands += [command_line("errors", folder), command_line("baseline", folder, "--out", "baseline.json")]
    if all(dataset.pairs.kind != "own" for dataset in result.outcome.datasets):
        from assay.analysis.folder import read_run
        from assay.analysis.recommend.evidence import metric_named_on_all

        columns = "reference=COLUMN,candidate=COLUMN,label=COLUMN"
        metric = metric_named_on_all(read_run(folder))
        option = [] if metric is None else ["--metric", metric]
        commands.append(command_line("run", "--dataset", "FILE", "--columns", columns, *option))
    return commands


def _default_folder(suite: str | None, datasets: list[str] | None) -> Path:
    """Return ``runs/NAME-DATE-TIME`` for a run without ``--out``, named after the suite or the first dataset.

    A second run within the second gets a number behind it.
    """
    subject = Path(suite or (datasets or ["run"])[0]).stem.replace(":", "-")
    # the dataset is read from stdin
    if subject == "-":
        subject = "stdin"
    name = f"{subject}-{datetime.now():%Y%m%d-%H%M%S}"
    folder, number = Path("runs") / name, 1
    while folder.exists():
        number += 1
        folder = Path("runs") / f"{name}-{number}"
    return folder
