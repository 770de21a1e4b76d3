"""Pairs of a card: its files by the card's reader, one split after the other, checked against what the card says."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.common.tables import exact_number
from assay.common.transfer import DownloadProgress
from assay.datasets.card import Card
from assay.datasets.convert import order_pair_columns
from assay.datasets.kept import kept_result
from assay.datasets.locate import LocatedFile, locate_files
from assay.datasets.pairs import Pairs
from assay.datasets.readers.base import Reader, ReaderResult, built_in_readers, check_options, load_reader
from assay.exceptions import AssayError, InputError, OfflineError, UnavailableError, summary_of
from assay.statistics.labels import round_labels


def load_card_pairs(
    card: Card,
    splits: tuple[str, ...],
    *,
    offline: bool,
    name: str | None = None,
    progress: DownloadProgress | None = None,
    check_rows: bool = True,
) -> Pairs:
    """Return the pairs of some splits of a card, one split after the other; missing files are downloaded.

    With the pairs come the sources and the digest of the files, the notes of the card and of its reader, and a hint if
    labels are outside the scale of the card.

    Args:
        card: the card.
        splits: the names of the splits.
        offline: whether the network is forbidden.
        name: the name of the dataset in tables; None for the card's name.
        progress: a callback progress(file, bytes done, total bytes or None) during a download.
        check_rows: whether a number of rows that differs from the card is an error.

    Raises:
        InputError: labels of the splits are not comparable, there is no such reader, it cannot read a file, a file
            differs from the card, a number of rows is wrong, or the disk of the cache is full or read-only.
        OfflineError: a file would have to be downloaded, and the network is forbidden.
        UnavailableError: no source has a file, or the reader of another package cannot be loaded.
        AssayError: another error of the reader.
    """
    _check_pooling(card, splits)
    tables: list[pa.Table] = []
    notes: list[str] = list(card.notes)
    used_files: dict[str, LocatedFile] = {}
    for split_name in splits:
        files = _files_of_split(card, split_name, offline, progress)
        result = _read_split(card, split_name, files)
        if check_rows:
            _check_row_count(card, split_name, result.table.num_rows, list(files))
        split_table = _with_language(result.table, card, split_name)
        tables.append(_with_split_column(split_table, split_name, is_only_split=len(card.splits) == 1))
        prefix = f"{split_name}: " if len(splits) > 1 else ""
        notes += [prefix + note for note in result.notes]
        used_files.update(files)
    # permissive, since a split may lack an optional column or have it in another type
    table = tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="permissive")
    for located in used_files.values():
        notes += [f"passed over, not the file of the card: {path}" for path in located.passed_over]
    if card.superseded_by:
        notes.append(f"version {card.version} is superseded by {card.superseded_by}")
    # every split has this scale, or _check_pooling would have raised
    scale = card.scale_of(splits[0])
    pairs = Pairs(
        table,
        name=name or card.name,
        version=card.version,
        split="+".join(splits),
        language=_common_language(card, splits),
        scale=(scale.low, scale.high),
        kind=card.kind,
        source="; ".join(dict.fromkeys(located.source for located in used_files.values())),
        sha256=_digest_of(used_files.values()),
        notes=tuple(notes),
    )
    return replace(pairs, hints=_hints_outside_scale(pairs, card))


def _check_pooling(card: Card, splits: tuple[str, ...]) -> None:
    """Raise InputError if the splits have labels of different aspects or ranges, which cannot be one column."""
    split_by_labels: dict[tuple[str, float, float], str] = {}
    for split in splits:
        scale = card.scale_of(split)
        split_by_labels.setdefault((card.splits[split].aspect, scale.low, scale.high), split)
    if len(split_by_labels) > 1:
        descriptions = []
        for (aspect, low, high), split in split_by_labels.items():
            meaning = f"{aspect}, " if aspect else ""
            descriptions.append(f"{split} ({meaning}{low:g} to {high:g})")
        raise InputError(
            f"dataset {card.name}: the labels of {descriptions[0]} and {descriptions[1]} are not comparable; name one"
            f" split, such as {card.name}:{splits[0]}"
        )


def _files_of_split(
    card: Card, split_name: str, offline: bool, progress: DownloadProgress | None
) -> dict[str, LocatedFile]:
    """Return the files of a split by name: all that it needs, and those optional ones that are on this machine.

    Raises:
        InputError, OfflineError, UnavailableError: a file that it needs is unavailable, see :func:`locate_files`.
    """
    split = card.splits[split_name]
    files = locate_files(card, split.files, offline=offline, progress=progress)
    for optional_file in split.optional_files:
        try:
            files.update(locate_files(card, (optional_file,), local_only=True))
        except (OfflineError, InputError, UnavailableError):
            continue  # the reader adds a note on what is missing
    return files


def _read_split(card: Card, split_name: str, files: Mapping[str, LocatedFile]) -> ReaderResult:
    """Return what the card's reader reads from the files of a split, or has read before and kept in the cache.

    Raises:
        InputError: there is no such reader, an option of the split is wrong, or the reader cannot read a file.
        UnavailableError: the reader of another package cannot be loaded.
        AssayError: another error that the reader raised.
    """
    reader = load_reader(card.reader)
    paths = {file: located.path for file, located in files.items()}
    location = _location(card, split_name)
    options = card.options_of(split_name)
    # options may name a file that the reader can do without
    check_options(reader, options, dict.fromkeys(card.splits[split_name].optional_files, Path()) | paths, location)
    problem = f"{location}: its reader {card.reader!r} cannot read it"
    read = partial(_run_reader, reader, paths, options, card.origin or location, problem)
    # the code of another package may change without a new version
    return kept_result(card.reader, files, options, read) if card.reader in built_in_readers() else read()


def _run_reader(
    reader: Reader, paths: Mapping[str, Path], options: Mapping[str, Any], origin: str, problem: str
) -> ReaderResult:
    """Return the result of a reader.

    Args:
        reader: the reader.
        paths, options: what it is called with: the files of the split by name, and the options of the split.
        origin: the path of the card, or the dataset and split; a message on settings names them as options of it.
        problem: the beginning of the message on an unexpected exception.

    Raises:
        InputError: a file or an option is wrong, or the reader raised an unexpected exception.
        AssayError: another error that the reader raised.
    """
    try:
        return reader(paths, options)
    except InputError as error:
        if not any(error.message.settings()):
            raise
        # as text, so that the command line shows no flags
        raise InputError(f"{origin}: {error}") from error
    except AssayError:
        raise
    except Exception as error:
        raise InputError(f"{problem} ({summary_of(error)})") from error


def _location(card: Card, split_name: str) -> str:
    return f"dataset {card.name}@{card.version}, split {split_name}"


def _check_row_count(card: Card, split_name: str, row_count: int, files: Sequence[str]) -> None:
    """Raise InputError if the card says that a split has another number of rows than were read from its files."""
    expected = card.splits[split_name].rows
    if expected is None or row_count == expected:
        return
    files_text = ", ".join(files[:3]) + (", …" if len(files) > 3 else "")
    raise InputError(
        f"{_location(card, split_name)}: {row_count} pairs were read; its card says {expected}: get {files_text} again,"
        f" or correct rows in {card.origin}"
    )


def _with_language(table: pa.Table, card: Card, split_name: str) -> pa.Table:
    """Return the table of a split with the column ``language``, if the split has its own and the table lacks it.

    The cells are null if the split has several, since the two texts of a pair then differ in language.
    """
    if not card.splits[split_name].language or "language" in table.column_names:
        return table
    languages = card.languages_of(split_name)
    cells = [languages[0] if len(languages) == 1 else None] * table.num_rows
    return table.append_column("language", pa.array(cells, pa.string()))


def _with_split_column(table: pa.Table, split_name: str, *, is_only_split: bool) -> pa.Table:
    """Return a split's table with ordered columns, the column ``split``, and pair ids that are unique across splits.

    A column ``split`` that the table has is kept. Labels are rounded by :func:`~assay.statistics.labels.round_labels`.

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


def _common_language(card: Card, splits: Sequence[str]) -> str | None:
    """Return the language that all texts of some splits have; None if they differ or the card names none."""
    languages_of_splits = {card.languages_of(split_name) for split_name in splits}
    if len(languages_of_splits) != 1:
        return None
    (languages,) = languages_of_splits
    return languages[0] if len(languages) == 1 else None


def _digest_of(files: Iterable[LocatedFile]) -> str:
    """Return the SHA-256 digest of a file, or of the digests of several, one after the other."""
    digests = [located.sha256 for located in files]
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


def _hints_outside_scale(pairs: Pairs, card: Card) -> tuple[str, ...]:
    """Return a hint on labels that are outside the scale of the card; none if all are within."""
    outside = pairs.rows_outside_scale
    if not len(outside) or pairs.scale is None:
        return ()
    row = int(outside[0])
    low, high = map(exact_number, pairs.scale)
    label, pair_id = exact_number(pairs.labels[row]), pairs.table.column("pair_id")[row]
    hint = (
        f"{len(outside):,} labels are outside its scale of {low} to {high}, such as {label} of the pair {pair_id}: "
        f"correct them, or the scale in {card.origin}"
    )
    return (hint,)
