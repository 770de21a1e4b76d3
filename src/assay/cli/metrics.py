"""``assay metrics``: list, show, check metrics; begin a new one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.completion import complete_metrics
from assay.cli.guard import guarded
from assay.cli.options import CardFormat, CardFormatOption, ListFormat, ListFormatOption
from assay.cli.printing import print_data, print_grid, print_line, print_to_stderr

if TYPE_CHECKING:
    from assay.metrics.base import Declaration
    from assay.metrics.registry import Entry

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="The metrics: list them, show one with its options, check a plugin, begin a new one.",
)


@app.command("list")
@guarded
def list_(output: ListFormatOption = ListFormat.table) -> None:
    """List the metrics, where each comes from, and whether it can be used here."""
    from assay.common.output import json_text
    from assay.metrics import list_metrics

    records = [_table_row(entry) for entry in list_metrics()]
    if output is ListFormat.json:
        print_data(json_text(records))
        return
    print_grid(("name", "what", "languages", "origin", "here"), [tuple(record.values()) for record in records])


def _table_row(entry: Entry) -> dict[str, str]:
    """Return the row of a metric in the list: ``name``, ``what``, ``languages``, ``origin`` and ``here``.

    ``here`` is no if another metric has the name, else as in :func:`_availability`.
    """
    from assay.exceptions import UnavailableError

    def make_row(name: str, summary: str, languages: str, here: str) -> dict[str, str]:
        return {"name": name, "what": summary, "languages": languages, "origin": entry.origin, "here": here}

    if entry.note:
        return make_row(entry.name, entry.note, "", "no")
    try:
        declaration = entry.declaration
    except UnavailableError as error:
        return make_row(entry.name, error.reason, "", error.remedy)
    languages = "any" if declaration.languages is None else ", ".join(sorted(declaration.languages))
    name = entry.name + (f":{declaration.subject.upper()}" if declaration.subject else "")
    return make_row(name, declaration.summary, languages, _availability(entry.name, declaration))


def _availability(name: str, declaration: Declaration) -> str:
    """Return ``yes``, or the command that makes a metric usable, or else the reason why it is not.

    If a metric is usable with a model that the user names, but its preset is not, the text has both: yes, and the
    command for the preset.
    """
    from assay.exceptions import UnavailableError
    from assay.metrics import load_metric
    from assay.metrics.presets import preset_languages

    try:
        declaration.check_packages()
    except UnavailableError as error:
        return error.remedy or error.reason
    subject = declaration.subject
    # without a preset, it depends on the subject that a user names
    if subject and not preset_languages(name):
        return "yes"
    try:
        load_metric(name).check_available()
    except UnavailableError as error:
        return f"yes, its preset not: {error.remedy}" if subject else error.remedy or error.reason
    return "yes"


@app.command("show")
@guarded
def show_(
    name: Annotated[str, typer.Argument(help="A metric, such as bleu or bleu:paper.", autocompletion=complete_metrics)],
    output: CardFormatOption = CardFormat.text,
) -> None:
    """Show what a metric promises, its options and option sets, and its signature here."""
    if output is CardFormat.markdown:
        from assay.api.cards import metric_card

        print_data(metric_card(name))
        return
    from assay.metrics import describe_metric

    for line in describe_metric(name):
        print_line(line)


@app.command("check")
@guarded
def check(name: Annotated[str, typer.Argument(help="A metric, such as bleu or a plugin's.")]) -> None:
    """Check the promises of a metric, for instance a plugin; exit 1 if it breaks one."""
    from assay.metrics import check_metric

    findings = check_metric(name)
    rows = [(finding.check, "passed" if finding.passed else "FAILED", finding.detail) for finding in findings]
    print_grid(("check", "result", "detail"), rows)
    failed_count = sum(not finding.passed for finding in findings)
    print_to_stderr(f"{len(findings) - failed_count} passed, {failed_count} failed")
    if failed_count:
        raise typer.Exit(1)


@app.command("new")
@guarded
def new(
    name: Annotated[str, typer.Argument(help="The name of the metric, such as shared-words.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The folder to write [default: assay-NAME].")] = None,
) -> None:
    """Write a folder with a metric to change, its test, and the package that registers it."""
    from assay.common.addresses import command_line
    from assay.metrics.template import write_template
    from assay.paths import user_path

    file, cls = write_template(name, user_path(out or f"assay-{name}"))
    metric = f"{file}:{cls}"
    print_line(f"wrote {file}, its test and pyproject.toml")
    print_to_stderr(f"try it: {command_line('run', 'probe', '-m', metric, '-m', 'f1')}")
    print_to_stderr(f"check it: {command_line('metrics', 'check', metric)}")
    print_to_stderr(f"share it: pip install {file.parent}, then -m {name}")
