"""``assay datasets``: list, show, fetch, check data."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.command import command
from assay.cli.completion import complete_datasets
from assay.cli.guard import guarded, print_data, print_grid, print_line, print_to_stderr
from assay.cli.options import JsonOption, ListFormat, ListFormatOption, QuietOption
from assay.common.messages import Message
from assay.common.tables import exact_number
from assay.common.visible import brief_text
from assay.settings import Offline, OwnColumns

if TYPE_CHECKING:
    from assay.datasets import Pairs
    from assay.datasets.checks import DataFinding

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="The datasets: list them, show a card, fetch the files, check the data.",
)

DatasetOrFile = Annotated[
    str,
    typer.Argument(
        help="NAME[@VERSION][:SPLIT], a card's .toml file, or a file of pairs.", autocompletion=complete_datasets
    ),
]
CardName = Annotated[
    str,
    typer.Argument(
        help="NAME[@VERSION][:SPLIT], or a card's .toml file.", metavar="NAME", autocompletion=complete_datasets
    ),
]
DirectedOption = Annotated[
    bool, typer.Option("--directed", help="Count a pair in both orders as two edges of the annotation graph.")
]


@app.command("list")
@guarded
def list_(output: ListFormatOption = ListFormat.table) -> None:
    """List the datasets; a bare name means the version without a mark."""
    from assay.datasets import is_here, list_datasets
    from assay.datasets.readers.base import installed_readers

    if output is ListFormat.json:
        _print_datasets_json()
        return
    table_rows = []
    for entry in list_datasets():
        version_mark = "" if entry.default else " (not the default)"
        name = f"{entry.name}@{entry.version}{version_mark}"
        card = entry.card
        if card is None:
            table_rows.append((name, "", "", "", entry.error, "no"))
            continue
        language = "+".join(card.languages)
        split_sizes = " / ".join(f"{split.rows:,}" if split.rows else "?" for split in card.splits.values())
        scale = f"{card.scale.low:g}–{card.scale.high:g}"
        table_rows.append((name, language, split_sizes, scale, card.title, "yes" if is_here(card) else "no"))
    print_grid(("name", "language", "pairs", "label", "what", "here"), table_rows)
    _, reader_failures = installed_readers()
    for name, reason in reader_failures:
        print_to_stderr(f"reader {name}: {reason}")


def _print_datasets_json() -> None:
    """Print the datasets as JSON, one object per dataset."""
    from assay.common.output import json_text
    from assay.datasets import is_here, list_datasets
    from assay.datasets.show import language_value

    records = []
    for entry in list_datasets():
        record = {"name": entry.name, "version": entry.version, "default": entry.default, "origin": entry.origin}
        card = entry.card
        if card is None:
            records.append(record | {"error": entry.error})
            continue
        splits = {title: split.rows for title, split in card.splits.items()}
        scale = {"low": card.scale.low, "high": card.scale.high}
        card_facts = {
            "title": card.title,
            "kind": card.kind,
            "task": list(card.tasks),
            "language": language_value(card),
            "reference": card.reference,
            "annotators": card.annotators,
            "licence": card.licence,
            "splits": splits,
            "scale": scale,
        }
        records.append(record | card_facts | {"here": is_here(card)})
    print_data(json_text(records))


@app.command("show")
@command(OwnColumns)
def show_(name: DatasetOrFile, directed: DirectedOption = False, as_json: JsonOption = False, **settings: Any) -> None:
    """Show a card (labels, licence, citation, splits, sources), or what a file of pairs has (rows, columns, labels).

    The annotation graph is measured where the files are here.
    """
    from assay.common.output import json_text
    from assay.datasets import describe_card, describe_file, load_card
    from assay.datasets.load import check_own_settings, is_own_file
    from assay.datasets.reading import Reading

    reading = Reading(**settings)
    if is_own_file(name):
        description = describe_file(name, reading=reading, directed=directed)
    else:
        check_own_settings(reading, name)
        description = describe_card(load_card(name), directed=directed)
    if as_json:
        print_data(json_text(description))
    else:
        _print_description(description)


def _print_description(description: dict[str, Any]) -> None:
    """Print the description of a card or a file, one line per fact; empty values are left out."""
    from assay.datasets.annotation_graph import graph_line

    for key, value in description.items():
        if value in ("", [], None):
            continue
        if key == "files":
            for file in value:
                digest = f", sha256 {file['sha256']}" if file["sha256"] else ""
                size = f"{file['bytes']:,} bytes" if file["bytes"] else "size not fixed"
                print_line(f"file: {file['name']}, {size}{digest}")
        elif key == "split_facts":
            for split, facts in value.items():
                print_line(f"split {split}: {', '.join(_split_fact(fact) for fact in facts.values())}")
        elif key == "published":
            for figure in value:
                where = "".join(f", {figure[name]}" for name in ("split", "bucket") if figure[name] not in ("", "all"))
                figure_text = f"{figure['metric']}, {figure['statistic']}{where}: {figure['value']}"
                print_line(f"published: {figure_text} ({figure['source']})")
        elif key == "annotation_graph":
            print_line(graph_line(value))
        elif key == "problem":
            print_line(Message("problem: ", value))
        elif isinstance(value, list):
            for item in value:
                print_line(Message(f"{key.removesuffix('s')}: ", item))
        elif isinstance(value, dict):
            facts = ", ".join(f"{name} {_number_text(fact)}" for name, fact in value.items())
            print_line(f"{key}: {facts}")
        else:
            print_line(f"{key}: {value}")


def _split_fact(fact: Any) -> str:
    """Return the language, the scale or the aspect of a split as text."""
    if isinstance(fact, dict):
        return f"{fact['low']:g} to {fact['high']:g} ({fact['meaning']})"
    return fact if isinstance(fact, str) else "+".join(fact)


def _number_text(fact: object) -> str:
    return exact_number(fact) if isinstance(fact, float) else str(fact)


@app.command("fetch")
@command(Offline)
def fetch(name: CardName, quiet: QuietOption = False, **settings: Any) -> None:
    """Bring the files of a dataset onto this machine, checked."""
    from assay.datasets import fetch_dataset

    for located in fetch_dataset(name, **settings, progress=None if quiet else _download_progress()):
        print_line(f"{located.path} ({located.source})")


def _download_progress() -> Callable[[str, int, int | None], None] | None:
    """Return a function that shows a growing percentage on stderr; None if stderr is not a terminal."""
    if not sys.stderr.isatty():
        return None

    def show_progress(file: str, done_bytes: int, total_bytes: int | None) -> None:
        share = f"{done_bytes / total_bytes:.0%}" if total_bytes else f"{done_bytes:,} bytes"
        end = "\n" if total_bytes and done_bytes >= total_bytes else ""
        # the carriage return lets the next line overwrite this one
        sys.stderr.write(f"\r{brief_text(file)} {share}{end}")
        sys.stderr.flush()

    return show_progress


@dataclass(frozen=True, kw_only=True)
class CheckedData(OwnColumns, Offline):
    """How the data to check is read."""


@app.command("check")
@command(CheckedData)
def check(name: DatasetOrFile, directed: DirectedOption = False, as_json: JsonOption = False, **settings: Any) -> None:
    """Check rows, labels, groups, duplicates, conflicts, swapped pairs, leaks, encodings; exit 1 on errors."""
    from assay.common.output import json_text
    from assay.datasets import check_dataset, load_card, load_card_splits
    from assay.datasets.checks import annotation_notes, group_notes
    from assay.datasets.load import is_own_file
    from assay.datasets.reading import Reading

    offline = settings.pop("offline")
    splits = load_card_splits(name, reading=Reading(**settings), offline=offline)
    card = None if is_own_file(name) else load_card(name)
    findings = check_dataset(splits, card)
    notes = [*annotation_notes(splits, directed=directed), *group_notes(splits)]
    if as_json:
        print_data(json_text([vars(finding) for finding in [*findings, *notes]]))
    else:
        # a file without a column `split` has a single part, whose name would say nothing
        has_splits = card is not None or any("split" in pairs.table.column_names for pairs in splits.values())
        _print_check(splits, notes, findings, has_splits=has_splits)
    error_count = sum(finding.severity == "error" for finding in findings)
    print_to_stderr(f"{_count_phrase(len(findings), 'finding')}, {_count_phrase(error_count, 'error')}")
    if error_count:
        raise typer.Exit(1)


def _print_check(
    splits: Mapping[str, Pairs], notes: Sequence[DataFinding], findings: Sequence[DataFinding], *, has_splits: bool
) -> None:
    """Print the sizes of the splits, notes and findings with their examples, one per line.

    Args:
        splits: the pairs of each split.
        notes: facts that are not faults.
        findings: the faults.
        has_splits: whether lines begin with the name of the split.
    """

    def prefix_split(split: str, line: str) -> str:
        return f"{split}: {line}" if has_splits else line

    for split, pairs in splits.items():
        for line in (f"{len(pairs):,} pairs", *pairs.notes, *pairs.hints):
            print_line(prefix_split(split, line))
    for note in notes:
        print_line(prefix_split(note.split, note.message))
    for finding in findings:
        print_line(f"{finding.severity}: {prefix_split(finding.split, finding.message)}")
        for example in finding.examples:
            print_line(f"    {_example_line(example)}")


def _count_phrase(count: int, noun: str) -> str:
    """Return a number with its noun: ``1 error``, ``2 errors``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _example_line(example: dict[str, Any]) -> str:
    """Return the columns of a row with their values, on one line."""
    return ", ".join(f"{key}={_example_value(value)}" for key, value in example.items())


#: Number of gold answers that are shown of a long list.
MAX_SHOWN_ANSWERS = 3


def _example_value(value: Any) -> str:
    """Return a cell as text: a long list is shortened to its first items, a fraction has six significant digits."""
    if isinstance(value, list) and len(value) > MAX_SHOWN_ANSWERS + 1:
        first_answers = ", ".join(map(repr, value[:MAX_SHOWN_ANSWERS]))
        return f"[{first_answers}, … {len(value):,} in all]"
    if not isinstance(value, float):
        return repr(value)
    text = f"{value:g}"
    # a whole number with all its digits, and a number near one is not shown as one
    return exact_number(value) if float(text).is_integer() else text
