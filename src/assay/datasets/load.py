"""Loading of datasets as pairs tables, from the name of a card, a file or data in memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.common.addresses import is_address
from assay.common.messages import Setting
from assay.common.transfer import DownloadProgress
from assay.datasets.card import ALL_SPLITS, Card
from assay.datasets.card_pairs import load_card_pairs
from assay.datasets.columns import SourceTable
from assay.datasets.convert import convert_table
from assay.datasets.files import (
    digest_of_files,
    holds_splits,
    is_standard_input,
    is_table_file,
    read_table_file,
    table_from_memory,
)
from assay.datasets.pairs import Pairs
from assay.datasets.reading import Columns, Labels, Reading
from assay.datasets.registry import load_card
from assay.datasets.spec import parse_spec
from assay.datasets.unpacking import check_no_member
from assay.exceptions import InputError, unknown_name
from assay.paths import path_exists, user_path


def is_own_file(spec: str | Path) -> bool:
    """Tell whether *spec* names a file of pairs (also as ``NAME=FILE`` or ``FILE:SPLIT``) and not a card."""
    if isinstance(spec, Path) and is_table_file(spec):
        return True
    return _is_file_or_split_of_file(parse_named_file(str(spec))[1])


def parse_named_file(spec: str) -> tuple[str | None, str]:
    """Return the name and the file of ``NAME=FILE``; None and *spec* itself if it does not have this form."""
    match = re.fullmatch(r"(\w[\w .-]*)=(.+)", spec)
    # an existing file may itself have an equals sign in its name
    if match is None or path_exists(spec):
        return None, spec
    name, file = match.groups()
    return (name, file) if _is_file_or_split_of_file(file) else (None, spec)


def _is_file_or_split_of_file(text: str) -> bool:
    """Tell whether a text is the name of a file of pairs, alone or as ``FILE:SPLIT``."""
    return is_table_file(text) or is_address(text) or is_table_file(parse_spec(text)[0])


def load_dataset(
    spec: Any,
    *,
    columns: Columns = None,
    separator: str | None = None,
    labels: Labels = None,
    drop_unlabelled: bool = False,
    missing: str | Sequence[str] | None = None,
    annotator: str | None = None,
    encoding: str | None = None,
    member: str | None = None,
    split: str | Sequence[str] | None = None,
    version: str | None = None,
    offline: bool = False,
    language: str | None = None,
    name: str | None = None,
    allow_unlabelled: bool = False,
    progress: DownloadProgress | None = None,
) -> Pairs:
    """Return the labelled pairs of a card, a file or data in memory; a card's missing files are downloaded and cached.

    Args:
        spec: ``NAME[@VERSION][:SPLIT[+SPLIT]]`` of a card (``:all`` for every split); the path of a card
            (.toml) or of a file such as CSV, TSV, JSONL or Parquet, also as ``NAME=FILE``; a folder of Parquet parts
            (``parts/``); the address of a Parquet file or folder, with one of the protocols of
            :data:`assay.common.addresses.PROTOCOLS` (``s3://bucket/x.parquet``); ``-`` for rows of CSV or JSONL from
            standard input (``-.tsv`` for another format); a list of dicts or of tuples (reference, candidate[, label]);
            a dict of lists, a DataFrame, an Arrow table or a Hugging Face dataset; with *split*, a ``DatasetDict``; or
            a :class:`~assay.datasets.card.Card`.
        columns: for your own data, the source column of each pair column: ``reference=answer1,candidate=answer2`` or a
            mapping. ``label=a1+a2`` is the mean of two annotators.
        separator: for your own data, the text between several gold answers in one cell, such as ``|``; ``json`` if only
            some cells are JSON lists.
        labels: for your own data, the number of each word: ``no=0,partly=1,yes=2``, or a mapping.
        drop_unlabelled: for your own data, whether to leave out rows without a label.
        missing: for your own data, further words that mean that there is no label or score: ``unsure,-1``.
        annotator: for your own data with a row per annotation, the column that names the annotator.
        encoding: for your own text file, its encoding; found if not given.
        member: for your own file, the file in an archive, the sheet of a workbook or the list in a JSON file.
        split: the split or splits of a card, in place of ``:SPLIT``; for your own data with a column ``split``, the
            splits whose rows to keep.
        version: the version of a card, in place of ``@VERSION``.
        offline: whether the network is forbidden.
        language: the language code of your own data, such as ``de``; for a card with several languages, the one whose
            splits to read if no split is named.
        name: the name of the data in tables; None for that of the card or the file, or ``data``.
        allow_unlabelled: whether to keep rows without a label, and accept data without a label column.
        progress: a callback progress(file, bytes done, total bytes or None) during a download.

    Raises:
        InputError: a name or split is unknown, a setting does not fit, a file cannot be read, or a cell is invalid; one
            line with the location.
        OfflineError: the dataset would have to be downloaded or read at an address, and the network is forbidden.
        UnavailableError: no source has the dataset (the line has the reason for each), an address cannot be reached, or
            a package is not installed.
    """
    if not isinstance(language, str | None):
        raise InputError(f"language: {language!r} is not a language code; expected one such as 'de'")
    reading = Reading(columns, separator, labels, drop_unlabelled, missing, annotator, encoding, member)
    names_of_splits = split.split("+") if isinstance(split, str) else split
    requested = None if names_of_splits is None else tuple(names_of_splits)
    if isinstance(spec, Card):
        card_splits = _card_splits(spec, requested, language)
        return load_card_pairs(spec, card_splits, offline=offline, name=name, progress=progress)
    if isinstance(spec, str | Path):
        own_file = _own_file_of(spec)
        if own_file is not None:
            own_name, file, file_splits = own_file
            return _load_file_pairs(
                file,
                reading,
                requested=requested or file_splits,
                name=name or own_name,
                language=language,
                allow_unlabelled=allow_unlabelled,
                offline=offline,
            )
        card_name, spec_version, spec_splits = parse_spec(str(spec))
        check_own_settings(reading, card_name)
        card = load_card(card_name, version or spec_version)
        card_splits = _card_splits(card, requested or spec_splits, language)
        return load_card_pairs(card, card_splits, offline=offline, name=name, progress=progress)
    if isinstance(split, str) and holds_splits(spec) and split in spec:
        spec, requested = spec[split], None
    source = table_from_memory(spec, name or "data in memory")
    check_no_member(source.name, member)
    pairs = own_pairs(
        source,
        reading,
        name=name or "data",
        origin="data in memory",
        language=language,
        allow_unlabelled=allow_unlabelled,
    )
    return pairs if requested is None else _select_splits(pairs, requested)


def _own_file_of(spec: str | Path) -> tuple[str | None, str | Path, tuple[str, ...] | None] | None:
    """Return the name, the file and the splits in ``[NAME=]FILE[:SPLIT[+SPLIT]]``; None for the name of a card.

    The name or the splits are None if they are not given. A Path is one file, whatever its name looks like.

    Raises:
        InputError: *spec* is empty, or is a path that is neither that of a file of pairs nor that of a card.
    """
    if isinstance(spec, Path) and is_table_file(spec):
        return None, spec, None
    own_name, text = parse_named_file(str(spec))
    if not text:
        raise InputError("the name of a dataset is empty; expected a dataset (assay datasets list) or a file")
    if is_table_file(text):
        return own_name, text, None
    file_or_card, _, splits = parse_spec(text)
    if is_table_file(file_or_card) or is_address(file_or_card):
        return own_name, file_or_card, splits
    is_other_file = path_exists(text) and Path(text).is_file()
    if (is_other_file and not text.endswith(".toml")) or ("/" in file_or_card and not file_or_card.endswith(".toml")):
        # raises an error that lists the supported endings
        read_table_file(file_or_card)
    return None


def check_own_settings(reading: Reading, card: str) -> None:
    """Raise InputError if a setting for the user's own data is used with a dataset that has a card.

    Args:
        reading: the settings.
        card: the name of the card, for the message.
    """
    for setting, value in vars(reading).items():
        if value not in (None, False):
            raise InputError(Setting(setting), f" is for your own files; the dataset {card!r} has its own reader")


def load_card_splits(
    spec: str | Card,
    *,
    reading: Reading | None = None,
    offline: bool = False,
) -> dict[str, Pairs]:
    """Return every split of a card (or the splits named in ``NAME:SPLIT``) by name, for ``check_dataset``.

    The numbers of rows are not compared with the card here; ``check_dataset`` does that. A file that is not a card is
    divided by its column ``split``, without the rows that name no split; without that column, or if no row names one,
    it is one split named ``data``.

    Args:
        spec: a card, its name or path, or a file of pairs.
        reading: the settings for reading a file of pairs; None for the defaults.
        offline: whether the network is forbidden.

    Raises:
        InputError: there is no such card or split, a file cannot be read, or *reading* is given for a card.
        OfflineError: a file would have to be downloaded or read at an address, and the network is forbidden.
        UnavailableError: no source has a file, or an address cannot be reached.
    """
    reading = reading or Reading()
    if isinstance(spec, str) and is_own_file(spec):
        pairs = load_dataset(spec, **vars(reading), offline=offline, allow_unlabelled=True)
        if "split" not in pairs.table.column_names:
            return {"data": pairs}
        split_names = [
            str(split_name) for split_name in pairs.table.column("split").unique().to_pylist() if split_name is not None
        ]
        return {split_name: _select_splits(pairs, (split_name,)) for split_name in split_names} or {"data": pairs}
    if isinstance(spec, Card):
        card, splits = spec, None
    else:
        name, version, splits = parse_spec(spec)
        card = load_card(name, version)
    check_own_settings(reading, card.name)
    chosen_splits = _card_splits(card, splits or (ALL_SPLITS,))
    return {split: load_card_pairs(card, (split,), offline=offline, check_rows=False) for split in chosen_splits}


def has_language(spec: str, language: str) -> bool:
    """Tell whether a card, or the splits named in ``NAME:SPLIT``, have texts in a language.

    Raises:
        InputError: there is no such card or split.
    """
    name, version, splits = parse_spec(spec)
    card = load_card(name, version)
    return any(language in card.languages_of(split) for split in _card_splits(card, splits or (ALL_SPLITS,)))


def _card_splits(card: Card, requested: tuple[str, ...] | None, language: str | None = None) -> tuple[str, ...]:
    """Return the splits of a card to load: the requested ones, for ``all`` every split.

    If none are requested, they are the splits in the language: those in it alone, or else those across languages, and
    of several the default split alone, if it is among them. If no language is given, or the card names none, it is
    the default split.

    Args:
        card: the card.
        requested: the names of the splits; None for the default split or the language.
        language: the language; None for any.

    Raises:
        InputError: the card lacks a split or the language, the named splits are in others, or a split is named twice.
    """
    if requested is None:
        if language is None or not card.languages:
            return (card.default_split,)
        in_language = [split for split in card.splits if language in card.languages_of(split)]
        if not in_language:
            raise _missing_language_error(card, language)
        in_language_alone = [split for split in in_language if card.languages_of(split) == (language,)]
        candidates = in_language_alone or in_language
        return (card.default_split,) if card.default_split in candidates else tuple(candidates)
    if requested == (ALL_SPLITS,) and ALL_SPLITS not in card.splits:
        requested = tuple(card.splits)
    for split in requested:
        if split not in card.splits:
            raise InputError(unknown_name(f"dataset {card.name}@{card.version} has no split", split, card.splits))
    if len(set(requested)) < len(requested):
        raise InputError(f"dataset {card.name}: a split is named twice in {'+'.join(requested)}")
    languages = {code for split in requested for code in card.languages_of(split)}
    if language is not None and languages and language not in languages:
        raise _missing_language_error(card, language)
    return requested


def _missing_language_error(card: Card, language: str) -> InputError:
    """Return the error to raise if a card, or the splits that are named, have no texts in a language."""
    problem = f"dataset {card.name}@{card.version} has no texts in the language"
    return InputError(unknown_name(problem, language, card.languages), setting="language")


def _load_file_pairs(
    spec: str | Path,
    reading: Reading,
    *,
    requested: tuple[str, ...] | None,
    name: str | None,
    language: str | None,
    allow_unlabelled: bool,
    offline: bool,
) -> Pairs:
    """Return the pairs of a file, folder or address.

    Args:
        spec: the file, folder or address.
        reading: the settings for its columns and cells.
        requested: the splits whose rows to keep; None for every row.
        name: the name of the dataset in tables; None for that of the file.
        language: the language code of the texts; None for the one in the column ``language``.
        allow_unlabelled: whether to keep rows without a label, and accept data without a label column.
        offline: whether the network is forbidden.

    Raises:
        InputError: the file cannot be read, its rows are not pairs, or it lacks a split.
        OfflineError, UnavailableError: an address is forbidden or cannot be reached.
    """
    path = spec if is_address(spec) else user_path(spec)
    # checked on the text, since a Path drops the slash that says that a folder is meant
    if isinstance(path, Path) and str(spec).endswith(("/", "\\")) and not path.is_dir():
        raise InputError(f"{spec}: there is no such folder")
    source = read_table_file(path, offline=offline, **reading.of_file())
    default_name = "stdin" if is_standard_input(path) else Path(source.name).stem
    pairs = own_pairs(
        source,
        reading,
        name=name or default_name,
        origin=source.name,
        language=language,
        allow_unlabelled=allow_unlabelled,
    )
    pairs = replace(pairs, sha256=digest_of_files(path))
    return pairs if requested is None else _select_splits(pairs, requested)


def own_pairs(
    source: SourceTable,
    reading: Reading,
    *,
    name: str,
    origin: str,
    language: str | None = None,
    allow_unlabelled: bool = False,
    find_annotators: bool = True,
) -> Pairs:
    """Return a table of the user's own as pairs.

    Args:
        source: the table as it was read.
        reading: the settings for its columns and cells.
        name: the name of the data in tables.
        origin: the file or other origin of the data, for ``Pairs.source``.
        language: its language code; None for the one in its column ``language``, if all rows agree.
        allow_unlabelled: whether to keep rows without a label, and accept data without a label column.
        find_annotators: whether to look for rows that are annotations of one pair; never if rows may lack a label.

    Raises:
        InputError: a column or a text is missing, a label is missing or not a number, or a pair_id is a duplicate.
    """
    find_annotators = find_annotators and not allow_unlabelled
    table, notes, hints = convert_table(
        source, reading, allow_unlabelled=allow_unlabelled, find_annotators=find_annotators
    )
    return Pairs(
        table,
        name=name,
        language=language or _common_language(table),
        source=origin,
        notes=notes,
        hints=hints,
        reading=reading.record(),
    )


def _common_language(table: pa.Table) -> str | None:
    """Return the language in the column ``language`` if all rows have the same one, else None."""
    if "language" not in table.column_names:
        return None
    languages = table.column("language").unique().to_pylist()
    return languages[0] if len(languages) == 1 and languages[0] else None


def _select_splits(pairs: Pairs, requested: tuple[str, ...]) -> Pairs:
    """Return the rows of the requested splits, by the column ``split``, with a note; for ``all`` every row.

    Raises:
        InputError: there is no column ``split``, or a requested split has no row.
    """
    if requested == (ALL_SPLITS,):
        return pairs
    if "split" not in pairs.table.column_names:
        raise InputError(f"{pairs.name}: a split was asked for ({'+'.join(requested)}) and there is no column 'split'")
    split_column = pairs.table.column("split")
    known_splits = sorted(split for split in split_column.unique().to_pylist() if split is not None)
    for split in requested:
        if split not in known_splits:
            raise InputError(unknown_name(f"{pairs.name}: has no split", split, known_splits))
    row_indices = np.flatnonzero(pc.is_in(split_column, value_set=pa.array(requested, split_column.type)))
    return replace(
        pairs.take(row_indices),
        split="+".join(requested),
        notes=(*pairs.notes, f"rows of split {'+'.join(requested)} only"),
    )
