"""Loading of datasets as pairs tables, from the name of a card, a file or data in memory."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.common.addresses import is_address
from assay.common.messages import Setting
from assay.common.tables import exact_number
from assay.common.transfer import DownloadProgress
from assay.datasets.card import ALL_SPLITS, Card, load_card, parse_spec
from assay.datasets.columns import SourceTable
from assay.datasets.convert import convert_table, order_pair_columns
from assay.datasets.files import (
    digest_of_files,
    holds_splits,
    is_standard_input,
    is_table_file,
    read_table_file,
    table_from_memory,
)
from assay.datasets.kept import kept_result
from assay.datasets.pairs import Pairs
from assay.datasets.readers.base import Reader, ReaderResult, built_in_readers, check_options, load_reader
from assay.datasets.reading import Columns, Labels, Reading
from assay.datasets.sources import LocatedFile, locate_files
from assay.exceptions import AssayError, InputError, OfflineError, UnavailableError, summary_of, unknown_name
from assay.paths import path_exists, user_path
from assay.statistics.labels import round_labels


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
            (.toml) or of a CSV, TSV, JSONL or Parquet file, also as ``NAME=FILE``; a folder of Parquet parts
            (``parts/``); the address of a Parquet file or folder, with one of the protocols of
            :data:`assay.common.addresses.PROTOCOLS` (``s3://bucket/x.parquet``); ``-`` for rows of CSV or JSONL from
            standard input (``-.tsv`` for another
            format); a list of dicts or of tuples (reference, candidate[, label]); a DataFrame, an Arrow table or a
            Hugging Face dataset; with *split*, a ``DatasetDict``.
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
        name: the name of your own data in tables.
        allow_unlabelled: whether to keep rows without a label, and accept data without a label column.
        progress: a callback progress(file, bytes done, total bytes or None) during a download.

    Raises:
        InputError: a name or split is unknown, a file cannot be read, or a cell is invalid; one line with the location.
        OfflineError: the dataset would have to be downloaded, and the network is forbidden.
        UnavailableError: no source has the dataset; the line has the reason for each source.
    """
    if not isinstance(language, str | None):
        raise InputError(f"language: {language!r} is not a language code; expected one such as 'de'")
    reading = Reading(columns, separator, labels, drop_unlabelled, missing, annotator, encoding, member)
    if isinstance(spec, Card):
        return _load_card_pairs(spec, _card_splits(spec, _requested_splits(split), language), offline, name, progress)
    if isinstance(spec, str | Path):
        if isinstance(spec, Path) and is_table_file(spec):
            # a path is one file, whatever its name looks like
            pairs = _load_file_pairs(spec, reading, name, language, allow_unlabelled, offline)
            return _select_splits(pairs, _requested_splits(split))
        own_name, file_or_card = parse_named_file(str(spec))
        name = name or own_name
        if not file_or_card:
            raise InputError("the name of a dataset is empty; expected a dataset (assay datasets list) or a file")
        if is_table_file(spec if own_name is None else file_or_card):
            pairs = _load_file_pairs(file_or_card, reading, name, language, allow_unlabelled, offline)
            return _select_splits(pairs, _requested_splits(split))
        card_name, spec_version, splits = parse_spec(file_or_card)
        if is_table_file(card_name) or is_address(card_name):  # FILE:SPLIT
            pairs = _load_file_pairs(card_name, reading, name, language, allow_unlabelled, offline)
            return _select_splits(pairs, _requested_splits(split) or splits)
        is_file = path_exists(file_or_card) and Path(file_or_card).is_file() and not file_or_card.endswith(".toml")
        if is_file or ("/" in card_name and not card_name.endswith(".toml")):
            read_table_file(card_name)  # raises an error that lists the supported endings
        check_own_settings(reading, card_name)
        card = load_card(card_name, version or spec_version)
        chosen_splits = _card_splits(card, _requested_splits(split) or splits, language)
        return _load_card_pairs(card, chosen_splits, offline, name, progress)
    if isinstance(split, str) and holds_splits(spec) and split in spec:
        spec, split = spec[split], None
    source = table_from_memory(spec, name or "data in memory")
    pairs = own_pairs(
        source,
        reading,
        name=name or "data",
        origin="data in memory",
        language=language,
        allow_unlabelled=allow_unlabelled,
    )
    return _select_splits(pairs, _requested_splits(split))


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
    divided by its column ``split``; without that column it is one split named ``data``.

    Args:
        spec: a card, its name or path, or a file of pairs.
        reading: the settings for reading a file of pairs; None for the defaults.
        offline: whether the network is forbidden.

    Raises:
        InputError: there is no such card or split, a file cannot be read, or *reading* is given for a card.
        OfflineError: a file would have to be downloaded, and the network is forbidden.
        UnavailableError: no source has a file.
    """
    reading = reading or Reading()
    if isinstance(spec, str) and is_own_file(spec):
        pairs = load_dataset(spec, **vars(reading), allow_unlabelled=True)
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
    return {split: _load_card_pairs(card, (split,), offline, None, None, check_rows=False) for split in chosen_splits}


def _requested_splits(split: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the names of the requested splits, which ``+`` joins in a text; None if no split was requested."""
    if split is None:
        return None
    return tuple(split.split("+")) if isinstance(split, str) else tuple(split)


def has_language(spec: str, language: str) -> bool:
    """Tell whether a card, or the splits named in ``NAME:SPLIT``, have texts in a language.

    Raises:
        InputError: there is no such card or split.
    """
    name, version, wanted = parse_spec(spec)
    card = load_card(name, version)
    return any(language in card.languages_of(split) for split in _card_splits(card, wanted or (ALL_SPLITS,)))


def _card_splits(card: Card, wanted: tuple[str, ...] | None, language: str | None = None) -> tuple[str, ...]:
    """Return the splits of a card to load: the wanted ones, for ``all`` every split.

    Without wanted ones, these are the splits in the language, those in it alone before those across languages; of
    several the default split, if it is among them.

    Args:
        card: the card.
        wanted: the names of the splits; None for the default split or the language.
        language: the language; None for any.

    Raises:
        InputError: the card lacks a split or the language, a named split is in another one, or a split is a duplicate.
    """
    if wanted is None:
        if language is None or not card.languages:
            return (card.default_split,)
        found = [split for split in card.splits if language in card.languages_of(split)]
        if not found:
            raise _no_such_language(card, language)
        found = [split for split in found if card.languages_of(split) == (language,)] or found
        return (card.default_split,) if card.default_split in found else tuple(found)
    if wanted == (ALL_SPLITS,) and ALL_SPLITS not in card.splits:
        wanted = tuple(card.splits)
    for split in wanted:
        if split not in card.splits:
            raise InputError(unknown_name(f"dataset {card.name}@{card.version} has no split", split, card.splits))
    if len(set(wanted)) < len(wanted):
        raise InputError(f"dataset {card.name}: a split is named twice in {'+'.join(wanted)}")
    languages = {code for split in wanted for code in card.languages_of(split)}
    if language is not None and languages and language not in languages:
        raise _no_such_language(card, language)
    return wanted


def _no_such_language(card: Card, language: str) -> InputError:
    """Return the error to raise if a card, or the splits that are named, have no texts in a language."""
    problem = f"dataset {card.name}@{card.version} has no texts in the language"
    return InputError(unknown_name(problem, language, card.languages), setting="language")


def _check_pooling(card: Card, splits: tuple[str, ...]) -> None:
    """Raise InputError if the splits have labels of different aspects or ranges, which cannot be one column."""
    kinds: dict[tuple[str, float, float], str] = {}
    for split in splits:
        scale = card.scale_of(split)
        kinds.setdefault((card.splits[split].aspect, scale.low, scale.high), split)
    if len(kinds) > 1:
        first, second = [
            f"{split} ({f'{aspect}, ' if aspect else ''}{low:g} to {high:g})"
            for (aspect, low, high), split in list(kinds.items())[:2]
        ]
        raise InputError(
            f"dataset {card.name}: the labels of {first} and {second} are not comparable; name one split,"
            f" such as {card.name}:{splits[0]}"
        )


def _load_card_pairs(
    card: Card,
    splits: tuple[str, ...],
    offline: bool,
    name: str | None,
    progress: DownloadProgress | None,
    *,
    check_rows: bool = True,
) -> Pairs:
    """Return the pairs of some splits of a card, one split after the other; missing files are downloaded.

    Args:
        card: the card.
        splits: the names of the splits.
        offline: whether the network is forbidden.
        name: the name of the dataset in tables; None for the card's name.
        progress: a callback progress(file, bytes done, total bytes or None) during a download.
        check_rows: whether a number of rows that differs from the card is an error.

    Raises:
        InputError: labels of the splits are not comparable, the reader cannot read a file, a file differs from the
            card, or a number of rows is wrong.
        OfflineError: a file would have to be downloaded, and the network is forbidden.
        UnavailableError: no source has a file.
    """
    _check_pooling(card, splits)
    reader = load_reader(card.reader)
    tables: list[pa.Table] = []
    notes: list[str] = list(card.notes)
    used_files: dict[str, LocatedFile] = {}
    for split_name in splits:
        split = card.splits[split_name]
        files = locate_files(card, split.files, offline=offline, progress=progress)
        for optional in split.optional_files:
            try:
                files.update(locate_files(card, (optional,), local_only=True))
            except (OfflineError, InputError, UnavailableError):
                continue  # the reader adds a note on what is missing
        paths = {file: located.path for file, located in files.items()}
        location = f"dataset {card.name}@{card.version}, split {split_name}"
        options = card.options_of(split_name)
        # options may name a file that the reader can do without
        check_options(reader, options, dict.fromkeys(split.optional_files, Path()) | paths, location)
        problem = f"{location}: its reader {card.reader!r} cannot read it"
        read = partial(_run_reader, reader, paths, options, problem)
        # the code of another package may change without a new version
        result = kept_result(card.reader, files, options, read) if card.reader in built_in_readers() else read()
        if check_rows and split.rows is not None and result.table.num_rows != split.rows:
            names = list(files)
            listed = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
            raise InputError(
                f"{location}: {result.table.num_rows} pairs were read; its card says {split.rows}: get {listed} again,"
                f" or correct rows in {card.origin}"
            )
        table = result.table
        if split.language and "language" not in table.column_names:
            languages = card.languages_of(split_name)
            # the texts of a pair across languages have no common one
            cells = [languages[0] if len(languages) == 1 else None] * table.num_rows
            table = table.append_column("language", pa.array(cells, pa.string()))
        tables.append(_with_split_column(table, split_name, is_only_split=len(card.splits) == 1))
        notes += [f"{split_name}: {note}" if len(splits) > 1 else note for note in result.notes]
        used_files.update(files)
    # permissive, since a split may lack an optional column or have it in another type
    table = tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="permissive")
    for located in used_files.values():
        notes += [f"passed over, not the file of the card: {path}" for path in located.passed_over]
    if card.superseded_by:
        notes.append(f"version {card.version} is superseded by {card.superseded_by}")
    languages_of_splits = {card.languages_of(split_name) for split_name in splits}
    languages = languages_of_splits.pop() if len(languages_of_splits) == 1 else ()
    scale = card.scale_of(splits[0])
    digests = [located.sha256 for located in used_files.values()]
    sha256 = digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
    pairs = Pairs(
        table,
        name=name or card.name,
        version=card.version,
        split="+".join(splits),
        language=languages[0] if len(languages) == 1 else None,
        scale=(scale.low, scale.high),
        kind=card.kind,
        source="; ".join(dict.fromkeys(located.source for located in used_files.values())),
        sha256=sha256,
        notes=tuple(notes),
    )
    outside = pairs.rows_outside_scale
    if not len(outside):
        return pairs
    number, pair = exact_number(pairs.labels[outside[0]]), table.column("pair_id")[int(outside[0])]
    hint = (
        f"{len(outside):,} labels are outside its scale of {exact_number(scale.low)} to {exact_number(scale.high)}, "
        f"such as {number} of the pair {pair}: correct them, or the scale in {card.origin}"
    )
    return replace(pairs, hints=(hint,))


def _run_reader(reader: Reader, paths: Mapping[str, Path], options: Mapping[str, Any], problem: str) -> ReaderResult:
    """Return the result of a reader; an unexpected exception becomes an InputError that begins with *problem*."""
    try:
        return reader(paths, options)
    except AssayError:
        raise
    except Exception as error:
        raise InputError(f"{problem} ({summary_of(error)})") from error


def _with_split_column(table: pa.Table, split_name: str, *, is_only_split: bool) -> pa.Table:
    """Return a split's table with ordered columns, the column ``split``, and pair ids that are unique across splits.

    Labels are rounded by :func:`~assay.statistics.labels.round_labels`.

    Args:
        table: the pairs of the split; without ``pair_id`` the pairs are numbered from 1.
        split_name: the name of the split, which prefixes the pair ids.
        is_only_split: whether the card has only this split; the pair ids then have no prefix.
    """
    row_count = table.num_rows
    columns = {name: table.column(name) for name in table.column_names}
    if "pair_id" in columns:
        pair_ids = columns["pair_id"].to_pylist()
    else:
        pair_ids = [str(pair_number) for pair_number in range(1, row_count + 1)]
    if not is_only_split:
        pair_ids = [f"{split_name}-{pair_id}" for pair_id in pair_ids]
    columns["pair_id"] = pa.array(pair_ids, pa.string())
    if "label" in columns and columns["label"].type == pa.float64():
        labels = round_labels(np.asarray(pc.fill_null(columns["label"], np.nan).to_numpy()))
        columns["label"] = pa.array(labels, mask=np.isnan(labels))
    columns.setdefault("split", pa.array(np.full(row_count, split_name, dtype=object), pa.string()))
    return order_pair_columns(columns)


def _load_file_pairs(
    spec: str | Path, reading: Reading, name: str | None, language: str | None, allow_unlabelled: bool, offline: bool
) -> Pairs:
    """Return the pairs of a file, folder or address; they are called *name*, or after the file if it is None.

    Raises:
        InputError: the file cannot be read, or its rows are not pairs.
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
    return replace(pairs, sha256=digest_of_files(path))


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


def _select_splits(pairs: Pairs, wanted: tuple[str, ...] | None) -> Pairs:
    """Return the rows of the wanted splits, by the column ``split``, with a note; for None or ``all`` every row.

    Raises:
        InputError: there is no column ``split``, or a wanted split has no row.
    """
    if wanted is None or wanted == (ALL_SPLITS,):
        return pairs
    if "split" not in pairs.table.column_names:
        raise InputError(f"{pairs.name}: a split was asked for ({'+'.join(wanted)}) and there is no column 'split'")
    split_column = pairs.table.column("split")
    known_splits = sorted(split for split in split_column.unique().to_pylist() if split is not None)
    for split in wanted:
        if split not in known_splits:
            raise InputError(unknown_name(f"{pairs.name}: has no split", split, known_splits))
    row_indices = np.flatnonzero(pc.is_in(split_column, value_set=pa.array(wanted, split_column.type)))
    return replace(
        pairs.take(row_indices), split="+".join(wanted), notes=(*pairs.notes, f"rows of split {'+'.join(wanted)} only")
    )
