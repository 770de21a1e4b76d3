"""The reader of tables: what a card says by fields about files of any layout, so that a dataset needs no code."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from assay.common.tables import OPTIONAL_PAIR_COLUMNS, PAIR_COLUMNS
from assay.datasets.archives import archive_members, is_archive, unpacked_members
from assay.datasets.columns import FIELDS, SourceTable, parse_columns
from assay.datasets.convert import convert_table
from assay.datasets.files import SUFFIXES, read_format, read_table_file, read_under_name
from assay.datasets.readers.base import (
    BY,
    CELLS,
    CHARACTER,
    COLUMNS,
    FILES,
    NAME_OR_NAMES,
    NAMES,
    RANGE,
    SWITCH,
    TEXT,
    TEXTS,
    Kind,
    ReaderResult,
    Tables,
    takes,
)
from assay.datasets.readers.delimited import read_delimited
from assay.datasets.readers.joins import join_columns
from assay.datasets.readers.records import read_records
from assay.datasets.readers.steps import (
    add_columns,
    combine,
    parse_cells,
    rescale_columns,
    select_rows,
    strip_texts,
)
from assay.datasets.reading import Reading
from assay.datasets.templates import Template, matching_names
from assay.datasets.unpacking import recoded, unpacked
from assay.exceptions import InputError, unknown_name

#: Formats of files, by their names in cards.
FORMATS = ("csv", "tsv", "tab", "jsonl", "json", "parquet", "workbook", "lines", "xml")
#: The delimiter of each format of delimited text.
_DELIMITERS = {"csv": ",", "tsv": "\t", "tab": "\t"}

#: Options that choose rows, and files and records by what stands in their gaps.
_CELLS = ("where", "unless")

#: Options that say how files are read.
_FILE_OPTIONS: dict[str, Kind] = {
    "file": FILES,
    "member": TEXT,
    "format": TEXT,
    "encoding": TEXT,
    "header": NAMES,
    "delimiter": CHARACTER,
    "quoted": SWITCH,
    "records": TEXT,
    "fields": TEXTS,
    "parse": TEXTS,
    "add": TEXTS,
}


@takes(
    **_FILE_OPTIONS,
    beside=Tables(_FILE_OPTIONS | {"take": TEXT}, by_name=True),
    join=Tables(_FILE_OPTIONS | {"by": BY, "take": NAME_OR_NAMES}, required=("by", "take")),
    where=CELLS,
    unless=CELLS,
    rescale=Tables({"columns": NAMES, "from": RANGE, "to": RANGE, "where": CELLS}, required=("columns", "from", "to")),
    strip=SWITCH,
    columns=COLUMNS,
    keep=NAMES,
    separator=TEXT,
    labels=TEXT,
    missing=TEXT,
    annotator=TEXT,
    drop_unlabelled=SWITCH,
)
def read_table(files: Mapping[str, Path], options: Mapping[str, Any]) -> ReaderResult:
    """Return the rows of all files in order, with further columns from beside and from other files, as pairs.

    The options are described in docs/extending.md. They are applied in the order in which they stand above; ``columns``
    and all after it are those of the command line, see :class:`~assay.datasets.reading.Reading`.

    Raises:
        InputError: a file cannot be read as pairs, a column is missing, files side by side differ in length, or no row
            has the cells of ``where``.
    """
    source, gaps = _rows_of_files(files, options)
    notes = []
    for join in _as_list(options.get("join", [])):
        others = [other for other, _ in _read_all(files, join)]
        by = join["by"] if isinstance(join["by"], dict) else {name: name for name in join["by"]}
        source, note = join_columns(source, combine(others), by, _as_list(join["take"]))
        notes += [note] if note else []
    # files and records were chosen by their gaps when they were read
    read_by = {gap for key in ("file", "member", "records") for gap in Template(options.get(key, "")).names}
    where, unless = (
        {name: cells for name, cells in options.get(key, {}).items() if name not in read_by} for key in _CELLS
    )
    source = select_rows(source, where, unless)
    for scale in _as_list(options.get("rescale", [])):
        source = rescale_columns(source, scale["columns"], scale["from"], scale["to"], scale.get("where", {}))
    if options.get("strip"):
        source = strip_texts(source)
    reading = Reading(**{field.name: options[field.name] for field in fields(Reading) if field.name in options})
    has_identifiers = "pair_id" in source.table.column_names or "pair_id" in parse_columns(reading.columns)
    if gaps and not has_identifiers:
        source = add_columns(source, {"pair_id": "-".join(f"{{{gap}}}" for gap in gaps)})
    if "keep" not in options:
        conversion = convert_table(source, reading)
        return ReaderResult(conversion.table, (*notes, *conversion.notes))
    used = {*FIELDS, *options["keep"], reading.annotator, *itertools.chain(*parse_columns(reading.columns).values())}
    unused = [gap for gap in read_by if gap in source.table.column_names and gap not in used]
    conversion = convert_table(replace(source, table=source.table.drop_columns(unused)), reading)
    return ReaderResult(_with_columns_kept(conversion.table, options["keep"], source.name), (*notes, *conversion.notes))


def _as_list(values: Any) -> list[Any]:
    """Return a table or text as a list of it, and a list as it is."""
    return [values] if isinstance(values, dict | str) else list(values)


def _rows_of_files(files: Mapping[str, Path], options: Mapping[str, Any]) -> tuple[SourceTable, list[str]]:
    """Return the rows of the files that hold pairs, with what stands beside them, and the gaps that identify a row.

    Raises:
        InputError: there is no such file, or a file beside has another number of rows.
    """
    elsewhere = {
        name
        for table in (*options.get("beside", {}).values(), *_as_list(options.get("join", [])))
        for name, _ in matching_names(table.get("file", ""), files)
    }
    main = {name: path for name, path in files.items() if name not in elsewhere} or files
    sources, gaps = [], []
    for source, file_gaps in _read_all(main, options):
        for column, table in options.get("beside", {}).items():
            filled = {key: Template(table[key]).fill(file_gaps) for key in ("file", "member") if key in table}
            # without a file, it is another member of the same archive
            beside_files = files if "file" in table else main
            (beside, _), *others = _read_all(beside_files, {**table, **filled})
            if others:
                raise InputError(f"{source.name}: several files fit beside.{column}; expected one")
            source = _with_column_beside(source, beside, column, table.get("take", column))
        sources.append(source)
        gaps = list(file_gaps)
    if not sources:
        raise InputError("no file has the cells that where and unless want in the gaps of its name")
    record_gaps = list(dict.fromkeys(Template(options.get("records", "")).names))
    # files have rows of the same numbers, and so have the lines of JSONL that hold several records
    is_numbered = not record_gaps or sources[0].unit == "line"
    identifiers = [*gaps, *record_gaps, *(["row"] if is_numbered else [])] if gaps or record_gaps else []
    return combine(sources), identifiers


def _with_column_beside(source: SourceTable, other: SourceTable, column: str, take: str) -> SourceTable:
    """Return the rows with a column of a file that has the same rows in the same order.

    Raises:
        InputError: the numbers of rows differ, or there is no such column.
    """
    if other.table.num_rows != source.table.num_rows:
        raise InputError(
            f"{other.name}: has {other.table.num_rows:,} rows; expected {source.table.num_rows:,}, as {source.name} has"
        )
    names = other.table.column_names
    if take not in names and len(names) > 1:
        raise InputError(unknown_name(f"{other.name}, for beside: has no column", take, names))
    return source.with_column(column, other.table.column(take if take in names else names[0]))


def _read_all(files: Mapping[str, Path], options: Mapping[str, Any]) -> Iterator[tuple[SourceTable, dict[str, str]]]:
    """Yield the rows of each file that the options name, and what stands in the gaps of its name.

    Raises:
        InputError: an archive has no such member, or a file cannot be read.
    """
    chosen = matching_names(options["file"], files) if "file" in options else [(name, {}) for name in files]
    if not chosen:
        raise InputError(unknown_name("the split has no file", options["file"], files))
    for name, gaps in chosen:
        for content, shown_name, all_gaps in _contents(files[name], gaps, options):
            source = _read_file(content, shown_name, options)
            for gap, value in all_gaps.items():
                source = source.with_column(gap, pa.array([value] * source.table.num_rows, pa.string()))
            source = parse_cells(source, options.get("parse", {}))
            yield add_columns(source, options.get("add", {})), all_gaps


def _contents(
    path: Path, gaps: dict[str, str], options: Mapping[str, Any]
) -> Iterator[tuple[Path, str, dict[str, str]]]:
    """Yield the path of each file to read, its name in messages, and what stands in the gaps of its name.

    Args:
        path: a file, or an archive.
        gaps: what stands in the gaps of its name, with which those of the name of a member are filled.
        options: the options that say how it is read.
    """
    if not is_archive(path):
        if _is_wanted(gaps, options):
            yield unpacked(path, None), str(path), gaps
        return
    names = archive_members(path)
    pattern = Template(options["member"]).fill(gaps) if "member" in options else None
    chosen = [(name, {}) for name in names] if pattern is None else matching_names(pattern, names)
    if pattern is None and len(chosen) != 1:
        raise InputError(f"{path}: has {len(names)} files ({', '.join(names[:8])}); say which one with member")
    if not chosen:
        raise InputError(unknown_name(f"{path}: has no file", pattern or "", names))
    chosen = [(name, gaps | member_gaps) for name, member_gaps in chosen if _is_wanted(gaps | member_gaps, options)]
    paths = unpacked_members(path, [name for name, _ in chosen])
    for name, all_gaps in chosen:
        yield paths[name], f"{path}, {name}", all_gaps


def _is_wanted(gaps: Mapping[str, str], options: Mapping[str, Any]) -> bool:
    """Tell by what stands in gaps whether a file or record is read at all, given ``where`` and ``unless``."""
    where, unless = ({name: _as_list(cells) for name, cells in options.get(key, {}).items()} for key in _CELLS)
    return all(gaps.get(name, cells[0]) in cells for name, cells in where.items()) and not any(
        gaps.get(name) in cells for name, cells in unless.items()
    )


def _read_file(path: Path, name: str, options: Mapping[str, Any]) -> SourceTable:
    """Return the rows of one file, which messages call *name*."""
    return read_under_name(path, name, lambda content: _read_content(content, options))


def _read_content(path: Path, options: Mapping[str, Any]) -> SourceTable:
    """Return the rows of a plain file in the format of the options, or of its name.

    Raises:
        InputError: the format is unknown, or the file cannot be read.
    """
    file_format = options.get("format", SUFFIXES.get(path.suffix.lower(), path.suffix.lower().removeprefix(".")))
    if file_format not in (*FORMATS, "text"):
        raise InputError(unknown_name(f"{path}: there is no format", file_format, FORMATS))
    encoding = options.get("encoding")
    if "records" in options or "fields" in options or file_format == "xml":
        if file_format not in ("json", "jsonl", "xml"):
            raise InputError(f"{path}: records and fields are for json, jsonl and xml, not for {file_format}")
        content = path if file_format == "xml" else recoded(path, encoding)[0]
        return read_under_name(content, str(path), lambda file: _records(file, file_format, options))
    if file_format == "lines":
        return _read_lines(path, encoding, options.get("header", ["line"])[0])
    if {"delimiter", "quoted", "header"} & options.keys():
        delimiter = options.get("delimiter", _DELIMITERS.get(file_format, "\t"))
        quoted = options.get("quoted", file_format != "tab")
        return read_under_name(
            recoded(path, encoding)[0],
            str(path),
            lambda file: read_delimited(
                file,
                delimiter=delimiter,
                quoted=quoted,
                header=options.get("header"),
                columns=options.get("columns"),
            ),
        )
    if "format" not in options:
        member, columns = options.get("member"), options.get("columns")
        return read_table_file(path, encoding=encoding, member=member, columns=columns)
    return read_format(path, file_format, encoding, options.get("member"), options.get("columns"))


def _records(path: Path, file_format: str, options: Mapping[str, Any]) -> SourceTable:
    records, fields_ = options.get("records", ""), options.get("fields", {})
    return read_records(path, file_format, records, fields_, lambda gaps: _is_wanted(gaps, options))


def _read_lines(path: Path, encoding: str | None, column: str) -> SourceTable:
    """Return one row per line, blank ones included, split at \\n only, since texts may contain other line ends."""
    text = recoded(path, encoding)[0].read_bytes().decode("utf-8").removeprefix("\ufeff")
    lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    return SourceTable(pa.table({column: lines}), str(path), unit="line", first=1, as_text=True)


def _with_columns_kept(table: pa.Table, keep: list[str], where: str) -> pa.Table:
    """Return the pair columns and some of the further columns.

    Raises:
        InputError: one of them is no further column.
    """
    pair_columns = [name for name in table.column_names if name in (*PAIR_COLUMNS, *OPTIONAL_PAIR_COLUMNS)]
    for name in keep:
        if name not in table.column_names or name in pair_columns:
            others = [other for other in table.column_names if other not in pair_columns]
            raise InputError(unknown_name(f"{where}, for keep: has no further column", name, others))
    return table.select([*pair_columns, *keep])
