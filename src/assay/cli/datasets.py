"""``assay datasets``: list, show, fetch, check data."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.command import command
from assay.cli.completion import complete_datasets
from assay.cli.dataset_lines import count_phrase, print_check, print_description
from assay.cli.guard import guarded
from assay.cli.options import CardFormat, CardFormatOption, JsonOption, ListFormat, ListFormatOption, QuietOption
from assay.cli.printing import print_data, print_grid, print_line, print_to_stderr
from assay.common.messages import Message
from assay.common.visible import brief_text
from assay.exceptions import InputError, unknown_name
from assay.settings import Offline, OwnColumns

if TYPE_CHECKING:
    from assay.datasets import DatasetEntry
    from assay.datasets.checks import DataFinding
    from assay.datasets.pairs import Pairs
    from assay.datasets.reading import Reading

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
CardOrSuite = Annotated[
    str,
    typer.Argument(
        help="NAME[@VERSION][:SPLIT], a card's .toml file, or a suite.",
        metavar="NAME",
        autocompletion=complete_datasets,
    ),
]
DatasetsOrFiles = Annotated[
    list[str],
    typer.Argument(
        help="NAME[@VERSION][:SPLIT], a card's .toml file, a file of pairs, or a suite.",
        metavar="NAME…",
        autocompletion=complete_datasets,
    ),
]
DirectedOption = Annotated[
    bool, typer.Option("--directed", help="Count a pair in both orders as two edges of the annotation graph.")
]


TaskOption = Annotated[str | None, typer.Option("--task", help="Only datasets of this task.")]
LanguageOption = Annotated[str | None, typer.Option("--language", help="Only datasets with texts in this language.")]
AnnotatorsOption = Annotated[
    int | None, typer.Option("--annotators", min=1, help="Only datasets whose pairs N people judged, or more.")
]


@app.command("list")
@guarded
def list_(
    task: TaskOption = None,
    language: LanguageOption = None,
    annotators: AnnotatorsOption = None,
    output: ListFormatOption = ListFormat.table,
) -> None:
    """List the datasets; a bare name means the version without a mark."""
    from assay.common.output import json_text
    from assay.datasets.readers.base import installed_readers

    entries = _chosen_entries(task, language, annotators)
    if output is ListFormat.json:
        print_data(json_text([_json_record(entry) for entry in entries]))
        return
    columns = ("name", "task", "language", "people", "pairs", "label", "what", "here")
    print_grid(columns, [_table_row(entry) for entry in entries])
    _, reader_failures = installed_readers()
    for name, reason in reader_failures:
        print_to_stderr(f"reader {name}: {reason}")


def _chosen_entries(task: str | None, language: str | None, annotators: int | None) -> list[DatasetEntry]:
    """Return the datasets that fit; cards that cannot be used are among them only if nothing is asked for.

    Args:
        task: a task of the dataset; None for any.
        language: the code of a language of its texts; None for any.
        annotators: the least number of people who judged each pair; None for any.

    Raises:
        InputError: there is no such task, or no dataset fits.
    """
    from assay.datasets import list_datasets
    from assay.datasets.card import TASKS

    if task is not None and task not in TASKS:
        raise InputError(unknown_name("there is no task", task, TASKS), setting="task")
    entries = list_datasets()
    if task is None and language is None and annotators is None:
        return entries
    fitting = []
    for entry in entries:
        card = entry.card
        if card is None or (task is not None and task not in card.tasks):
            continue
        is_in_language = language is None or language in card.languages
        if is_in_language and (annotators is None or (card.annotators or 0) >= annotators):
            fitting.append(entry)
    if fitting:
        return fitting
    cards = [entry.card for entry in entries if entry.card is not None]
    languages = sorted({code for card in cards for code in card.languages})
    if language is not None and language not in languages:
        raise InputError(f"no dataset fits; there are the languages {', '.join(languages)}")
    most_annotators = max((card.annotators or 0 for card in cards), default=0)
    raise InputError(f"no dataset fits all that is asked for; the most annotators of any are {most_annotators}")


#: The largest number of splits whose sizes are listed one by one.
MAX_LISTED_SPLITS = 3


def _table_row(entry: DatasetEntry) -> tuple[str, ...]:
    """Return the cells of a dataset in the table; a card that cannot be used has its error in place of a title."""
    from assay.datasets import files_are_local

    name = f"{entry.name}@{entry.version}{'' if entry.default else ' (not the default)'}"
    card = entry.card
    if card is None:
        return (name, "", "", "", "", "", entry.error, "no")
    sizes = [f"{split.rows:,}" if split.rows else "?" for split in card.splits.values()]
    if len(sizes) > MAX_LISTED_SPLITS:
        total = sum(split.rows or 0 for split in card.splits.values())
        sizes = [f"{total:,} in {len(sizes)} splits"]
    scale = f"{card.scale.low:g}–{card.scale.high:g}"
    people = "" if card.annotators is None else str(card.annotators)
    languages = "+".join(card.languages)
    here = "yes" if files_are_local(card) else "no"
    return (name, "+".join(card.tasks), languages, people, " / ".join(sizes), scale, card.title, here)


def _json_record(entry: DatasetEntry) -> dict[str, Any]:
    """Return a dataset as a JSON object."""
    from assay.datasets import files_are_local
    from assay.datasets.show import language_value

    record = {"name": entry.name, "version": entry.version, "default": entry.default, "origin": entry.origin}
    card = entry.card
    if card is None:
        return record | {"error": entry.error}
    return record | {
        "title": card.title,
        "kind": card.kind,
        "task": list(card.tasks),
        "language": language_value(card),
        "reference": card.reference,
        "annotators": card.annotators,
        "licence": card.licence,
        "splits": {title: split.rows for title, split in card.splits.items()},
        "scale": {"low": card.scale.low, "high": card.scale.high},
        "here": files_are_local(card),
    }


@app.command("show")
@command(OwnColumns)
def show_(
    name: DatasetOrFile,
    directed: DirectedOption = False,
    as_json: JsonOption = False,
    output: CardFormatOption = CardFormat.text,
    **settings: Any,
) -> None:
    """Show a card (labels, licence, citation, splits, sources), or what a file of pairs has (rows, columns, labels).

    Where the files are on this machine, also five pairs, the distribution of labels, what annotators have in common,
    and the annotation graph.
    """
    from assay.common.output import json_text
    from assay.datasets import describe_card, describe_file, load_card
    from assay.datasets.card import ALL_SPLITS
    from assay.datasets.load import check_own_settings, is_own_file
    from assay.datasets.reading import Reading
    from assay.datasets.spec import parse_spec

    reading = Reading(**settings)
    if output is CardFormat.markdown:
        from assay.datasets.card_page import dataset_card

        if is_own_file(name):
            raise InputError(f"{name}: only a dataset with a card is shown as Markdown", setting="output")
        check_own_settings(reading, name)
        print_data(dataset_card(load_card(name)))
        return
    if is_own_file(name):
        description = describe_file(name, reading=reading, directed=directed)
    else:
        check_own_settings(reading, name)
        splits = parse_spec(name)[2] or ()
        # labels are measured on one split, so that those of other ranges and meanings are not mixed
        is_one_split = len(splits) == 1 and splits[0] != ALL_SPLITS
        split = splits[0] if is_one_split else None
        description = describe_card(load_card(name), directed=directed, split=split)
    if as_json:
        print_data(json_text(description))
    else:
        print_description(description)


@app.command("fetch")
@command(Offline)
def fetch(name: CardOrSuite, quiet: QuietOption = False, **settings: Any) -> None:
    """Bring the files of a dataset, or of all datasets of a suite, onto this machine, checked."""
    from assay.benchmark.suite import is_suite, load_suite
    from assay.datasets import fetch_dataset

    if is_suite(name):
        _fetch_all(load_suite(name).datasets, quiet=quiet, **settings)
        return
    for located in fetch_dataset(name, **settings, progress=None if quiet else _download_progress()):
        print_line(f"{located.path} ({located.source})")


def _fetch_all(specs: Sequence[str], *, quiet: bool, **settings: Any) -> None:
    """Bring the files of several datasets onto this machine, and print a line on each.

    Args:
        specs: the datasets.
        quiet: whether to show no progress of downloads.
        **settings: further arguments of :func:`assay.datasets.fetch_dataset`.

    Raises:
        Exit: with code 1, after the last line, if a dataset that could be downloaded was not.
    """
    from assay.datasets import fetch_dataset, load_card
    from assay.datasets.card import NETWORK_KINDS
    from assay.exceptions import OfflineError, UnavailableError

    failed_count = 0
    for number, spec in enumerate(specs, 1):
        heading = f"{number}/{len(specs)} {spec}"
        try:
            files = fetch_dataset(spec, **settings, progress=None if quiet else _download_progress())
        except (UnavailableError, OfflineError) as error:
            # that data without an address is absent is no failure: nothing could have downloaded it
            failed_count += any(source.kind in NETWORK_KINDS for source in load_card(spec).sources)
            print_line(Message(f"{heading}: ", error.message))
            continue
        size = sum(located.path.stat().st_size for located in files)
        print_line(f"{heading}: {count_phrase(len(files), 'file')}, {size / 1e6:.1f} MB")
    if failed_count:
        print_to_stderr(f"{count_phrase(failed_count, 'dataset')} of {len(specs)} could not be fetched")
        raise typer.Exit(1)


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
def check(
    names: DatasetsOrFiles, directed: DirectedOption = False, as_json: JsonOption = False, **settings: Any
) -> None:
    """Check rows, labels, groups, duplicates, conflicts, swapped pairs, leaks, encodings; exit 1 on errors.

    With several datasets, or a suite, also the texts that two of them share.
    """
    from assay.common.output import json_text
    from assay.datasets import check_dataset, load_card
    from assay.datasets.checks import annotation_notes, group_notes
    from assay.datasets.leaks import leaks_between
    from assay.datasets.load import is_own_file
    from assay.datasets.reading import Reading

    offline = settings.pop("offline")
    all_splits = _splits_by_dataset(names, Reading(**settings), offline=offline)
    has_several = len(all_splits) > 1
    findings: list[DataFinding] = []
    records: list[dict[str, Any]] = []
    for name, splits in all_splits.items():
        card = None if is_own_file(name) else load_card(name)
        data_findings = check_dataset(splits, card)
        notes = [*annotation_notes(splits, directed=directed), *group_notes(splits)]
        findings += data_findings
        dataset = {"dataset": name} if has_several else {}
        records += [dataset | vars(finding) for finding in (*data_findings, *notes)]
        if not as_json:
            if has_several:
                print_line(f"{name}:")
            # a file without a column `split` has a single part, whose name would say nothing
            has_splits = card is not None or any("split" in pairs.table.column_names for pairs in splits.values())
            print_check(splits, notes, data_findings, has_splits=has_splits)
    leaks = leaks_between({name: list(splits.values()) for name, splits in all_splits.items()})
    findings += leaks
    if as_json:
        print_data(json_text([*records, *map(vars, leaks)]))
    else:
        print_check({}, [], leaks, has_splits=True)
    error_count = sum(finding.severity == "error" for finding in findings)
    print_to_stderr(f"{count_phrase(len(findings), 'finding')}, {count_phrase(error_count, 'error')}")
    if error_count:
        raise typer.Exit(1)


def _splits_by_dataset(names: Sequence[str], reading: Reading, *, offline: bool) -> dict[str, dict[str, Pairs]]:
    """Return every split of datasets, files and the datasets of suites: the pairs by dataset and split.

    A dataset of a suite whose files are absent is left out, which a line on stderr says.

    Args:
        names: the datasets, files and suites.
        reading: how files of the user's own are read.
        offline: whether the network is forbidden.

    Raises:
        InputError: a name is unknown, or a file cannot be read.
        OfflineError, UnavailableError: a dataset that is named itself is absent.
    """
    from assay.benchmark.suite import is_suite, load_suite
    from assay.datasets import load_card_splits
    from assay.exceptions import OfflineError, UnavailableError

    all_splits = {}
    for name in names:
        if not is_suite(name):
            all_splits[name] = load_card_splits(name, reading=reading, offline=offline)
            continue
        for dataset in load_suite(name).datasets:
            try:
                all_splits[dataset] = load_card_splits(dataset, offline=offline)
            except (UnavailableError, OfflineError) as error:
                print_to_stderr(Message(f"{dataset} is left out: ", error.message))
    return all_splits
