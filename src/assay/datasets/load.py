"""Datasets loaded from a name, a file or data in memory, as a pairs table."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.datasets.card import Card, load_card, parse_spec
from assay.datasets.columns import SourceTable
from assay.datasets.convert import convert
from assay.datasets.files import (
    digest_of_files,
    holds_splits,
    is_standard_input,
    is_table_file,
    read_table_file,
    table_from_memory,
)
from assay.datasets.pairs import Pairs
from assay.datasets.readers.base import Reader, ReaderResult, check_options, load_reader
from assay.datasets.readers.parquet import is_address
from assay.datasets.reading import Columns, Labels, Reading
from assay.datasets.sources import Located, locate
from assay.errors import AssayError, InputError, OfflineError, UnavailableError, summary_of, unknown_name
from assay.paths import exists, user_path
from assay.transfer import DownloadProgress

ALL = "all"


def is_own_file(spec: str | Path) -> bool:
    """Tell whether a text names a file of pairs, perhaps as ``NAME=FILE`` or ``FILE:SPLIT``, and no card."""
    if isinstance(spec, Path) and is_table_file(spec):
        return True
    file = named_file(str(spec))[1]
    return is_table_file(file) or is_table_file(parse_spec(file)[0])


def named_file(spec: str) -> tuple[str | None, str]:
    """Return the name and the file of ``NAME=FILE``; None and the text where it is no such thing."""
    match = re.fullmatch(r"(\w[\w .-]*)=(.+)", spec)
    if match is None or exists(spec):
        return None, spec
    named, file = match.groups()
    return (named, file) if is_table_file(file) or is_table_file(parse_spec(file)[0]) else (None, spec)


def load_dataset(
    spec: Any,
    *,
    columns: Columns = None,
    separator: str | None = None,
    labels: Labels = None,
    drop_unlabelled: bool = False,
    split: str | Sequence[str] | None = None,
    version: str | None = None,
    offline: bool = False,
    language: str | None = None,
    name: str | None = None,
    allow_unlabelled: bool = False,
    progress: DownloadProgress | None = None,
) -> Pairs:
    """Return labelled pairs.

    Args:
        spec: ``NAME[@VERSION][:SPLIT[+SPLIT]]`` of a card (``:all`` for every split); the path of a card
            (.toml) or of a CSV, TSV, JSONL or Parquet file, which may be ``NAME=FILE``; a folder of Parquet parts
            (``parts/``); an address of either that fsspec knows (``s3://bucket/x.parquet``); ``-`` for rows of CSV or
            JSONL from standard input (``-.tsv`` for another format); a list of dicts or of tuples (reference,
            candidate[, label]); a DataFrame, an Arrow table or a Hugging Face dataset; with *split*, a ``DatasetDict``.
        columns: for your own data, which column is which: ``reference=answer1,candidate=answer2`` or a
            mapping. ``label=a1+a2`` is the mean of two annotators.
        separator: for your own data, what stands between several gold answers of a reference, such as ``|``; ``json``
            where only some cells are JSON lists.
        labels: for your own data, the number of each word: ``no=0,partly=1,yes=2``, or a mapping.
        drop_unlabelled: for your own data, leave out rows without a label.
        split: split or splits of a card, in place of ``:SPLIT``; for your own data with a column
            ``split``, the rows to keep.
        version: version of a card, in place of ``@VERSION``.
        offline: forbid the network.
        language: language of your own data, such as ``de``.
        name: the name of your own data in tables.
        allow_unlabelled: keep rows without a label, and accept data without a label column.
        progress: called as progress(file, bytes done, bytes in all or None) during a download.

    Raises:
        InputError: unknown name or split, unreadable file, bad cell; one line that says where.
        OfflineError: the dataset would have to be fetched.
        UnavailableError: no source has it; the line says why for each.
    """
    if not isinstance(language, str | None):
        raise InputError(f"language: {language!r} is not a language code; expected one such as 'de'")
    reading = Reading(columns, separator, labels, drop_unlabelled)
    if isinstance(spec, Card):
        return _from_card(spec, _wanted(split), offline, name, progress)
    if isinstance(spec, str | Path):
        own_name, text = named_file(str(spec))
        name = name or own_name
        if not text:
            raise InputError("the name of a dataset is empty; expected a dataset (assay datasets list) or a file")
        if is_table_file(spec if own_name is None else text):
            pairs = _from_file(text, reading, name, language, allow_unlabelled, offline)
            return _select(pairs, _wanted(split))
        card_name, inner, splits = parse_spec(text)
        if is_table_file(card_name):  # FILE:SPLIT
            pairs = _from_file(card_name, reading, name, language, allow_unlabelled, offline)
            return _select(pairs, _wanted(split) or splits)
        is_file = exists(text) and Path(text).is_file() and not text.endswith(".toml")
        if is_file or ("/" in card_name and not card_name.endswith(".toml")):
            read_table_file(card_name)  # its message says which endings are read
        check_own_settings(reading, card_name)
        card = load_card(card_name, version or inner)
        return _from_card(card, _wanted(split) or splits, offline, name, progress)
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
    return _select(pairs, _wanted(split))


def check_own_settings(reading: Reading, card: str) -> None:
    """Raise InputError for a setting of one's own data where a dataset has a card."""
    for setting, value in vars(reading).items():
        if value not in (None, False):
            raise InputError(f"`{setting}` is for your own files; the dataset {card!r} has its own reader")


def load_card_splits(
    spec: str | Card,
    *,
    reading: Reading | None = None,
    offline: bool = False,
    version: str | None = None,
    progress: DownloadProgress | None = None,
) -> dict[str, Pairs]:
    """Return every split of a card (or those named in ``NAME:SPLIT``) by its name, as ``check_dataset`` takes it.

    The rows are not compared with the card here: ``check_dataset`` reports them. A file that is no card is
    split by its column ``split``, or else is one split named ``data``; *reading* says how it is read.

    Raises:
        InputError: as for :func:`load_dataset`.
    """
    reading = reading or Reading()
    if isinstance(spec, str) and is_own_file(spec):
        pairs = load_dataset(spec, **vars(reading), allow_unlabelled=True)
        if "split" not in pairs.table.column_names:
            return {"data": pairs}
        titles = [str(title) for title in pairs.table.column("split").unique().to_pylist() if title is not None]
        return {title: _select(pairs, (title,)) for title in titles} or {"data": pairs}
    if isinstance(spec, Card):
        card, splits = spec, None
    else:
        name, inner, splits = parse_spec(spec)
        card = load_card(name, version or inner)
    check_own_settings(reading, card.name)
    chosen = _splits(card, splits or (ALL,))
    return {split: _from_card(card, (split,), offline, None, progress, check_rows=False) for split in chosen}


def _wanted(split: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the requested splits, of ``train+dev`` both; None where none was requested."""
    if split is None:
        return None
    return tuple(split.split("+")) if isinstance(split, str) else tuple(split)


def _splits(card: Card, wanted: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the splits of a card to load: the default one for None, every one for ``all``.

    Raises:
        InputError: a split that the card does not have, or one named twice.
    """
    if wanted is None:
        return (card.default_split,)
    if wanted == (ALL,) and ALL not in card.splits:
        return tuple(card.splits)
    for split in wanted:
        if split not in card.splits:
            raise InputError(unknown_name(f"dataset {card.name}@{card.version} has no split", split, card.splits))
    if len(set(wanted)) < len(wanted):
        raise InputError(f"dataset {card.name}: a split is named twice in {'+'.join(wanted)}")
    return wanted


def _from_card(
    card: Card,
    wanted: tuple[str, ...] | None,
    offline: bool,
    name: str | None,
    progress: DownloadProgress | None,
    *,
    check_rows: bool = True,
) -> Pairs:
    """Return the pairs of some splits of a card, one after the other; their files are fetched if need be.

    Args:
        card: the card.
        wanted: the splits; None for the default one.
        offline: forbid the network.
        name: of the dataset in tables; None for that of the card.
        progress: as for :func:`load_dataset`.
        check_rows: whether a split with another number of rows than its card says is an error.
    """
    reader = load_reader(card.reader)
    splits = _splits(card, wanted)
    tables: list[pa.Table] = []
    notes: list[str] = list(card.notes)
    used: dict[str, Located] = {}
    for title in splits:
        split = card.splits[title]
        here = locate(card, split.files, offline=offline, progress=progress)
        for optional in split.optional_files:
            try:
                here.update(locate(card, (optional,), local_only=True))
            except (OfflineError, InputError, UnavailableError):
                continue  # the reader notes what it does without
        paths = {file: found.path for file, found in here.items()}
        where = f"dataset {card.name}@{card.version}, split {title}"
        check_options(reader, split.options, paths, where)
        result = _read(reader, paths, split.options, f"{where}: its reader {card.reader!r} cannot read it")
        if check_rows and split.rows is not None and result.table.num_rows != split.rows:
            raise InputError(f"{where}: {result.table.num_rows} pairs were read; its card says {split.rows}")
        tables.append(_with_split(result.table, title, single=len(card.splits) == 1))
        notes += [f"{title}: {note}" if len(splits) > 1 else note for note in result.notes]
        used.update(here)
    table = tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="permissive")
    for located in used.values():
        notes += [f"passed over, not the file of the card: {other}" for other in located.passed_over]
    if card.superseded_by:
        notes.append(f"version {card.version} is superseded by {card.superseded_by}")
    digest = hashlib.sha256("".join(found.sha256 for found in used.values()).encode()).hexdigest()
    return Pairs(
        table,
        name=name or card.name,
        version=card.version,
        split="+".join(splits),
        language=card.one_language,
        scale=(card.scale.low, card.scale.high),
        kind=card.kind,
        source="; ".join(dict.fromkeys(found.source for found in used.values())),
        sha256=next(iter(used.values())).sha256 if len(used) == 1 else digest,
        notes=tuple(notes),
    )


def _read(reader: Reader, paths: Mapping[str, Path], options: Mapping[str, Any], problem: str) -> ReaderResult:
    """Return what a reader makes of files; what it did not expect in them is one line that begins with *problem*."""
    try:
        return reader(paths, options)
    except AssayError:
        raise
    except Exception as error:
        raise InputError(f"{problem} ({summary_of(error)})") from error


def _with_split(table: pa.Table, title: str, *, single: bool) -> pa.Table:
    """Put the columns in order, name the split, and make the pair_id unique across splits."""
    from assay.datasets.convert import ordered_pairs

    count = table.num_rows
    columns = {key: table.column(key) for key in table.column_names}
    identifiers = columns["pair_id"].to_pylist() if "pair_id" in columns else [str(i) for i in range(1, count + 1)]
    columns["pair_id"] = pa.array(identifiers if single else [f"{title}-{i}" for i in identifiers], pa.string())
    columns.setdefault("split", pa.array(np.full(count, title, dtype=object), pa.string()))
    return ordered_pairs(columns)


def _from_file(
    spec: str | Path, reading: Reading, name: str | None, language: str | None, allow_unlabelled: bool, offline: bool
) -> Pairs:
    path = spec if is_address(spec) else user_path(spec)
    if isinstance(path, Path) and str(spec).endswith(("/", "\\")) and not path.is_dir():
        raise InputError(f"{spec}: there is no such folder")
    source = read_table_file(path, offline=offline)
    from_input = is_standard_input(path)
    pairs = own_pairs(
        source,
        reading,
        name=name or ("stdin" if from_input else Path(source.name).stem),
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
) -> Pairs:
    """Return a table of the user's own as pairs; *origin* is what it was read from."""
    table, notes, hints = convert(source, reading, allow_unlabelled=allow_unlabelled)
    return Pairs(
        table,
        name=name,
        language=language or _language(table),
        source=origin,
        notes=notes,
        hints=hints,
        reading=reading.record(),
    )


def _language(table: pa.Table) -> str | None:
    """Return the one language that all rows name, or None."""
    if "language" not in table.column_names:
        return None
    languages = table.column("language").unique().to_pylist()
    return languages[0] if len(languages) == 1 and languages[0] else None


def _select(pairs: Pairs, wanted: tuple[str, ...] | None) -> Pairs:
    """Return the rows whose column ``split`` is among the wanted, with a note; all for None and ``all``.

    Raises:
        InputError: there is no column ``split``, or no row of one of the splits.
    """
    if wanted is None or wanted == (ALL,):
        return pairs
    if "split" not in pairs.table.column_names:
        raise InputError(f"{pairs.name}: a split was asked for ({'+'.join(wanted)}) and there is no column 'split'")
    titles = pairs.table.column("split")
    known = sorted(title for title in titles.unique().to_pylist() if title is not None)
    for title in wanted:
        if title not in known:
            raise InputError(unknown_name(f"{pairs.name}: has no split", title, known))
    chosen = np.flatnonzero(pc.is_in(titles, value_set=pa.array(wanted, titles.type)))
    return replace(
        pairs.take(chosen), split="+".join(wanted), notes=(*pairs.notes, f"rows of split {'+'.join(wanted)} only")
    )
