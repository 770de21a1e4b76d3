"""Files as tables, by what a card says about them: their names, their format and what is done to their cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from assay.datasets.archives import archive_members, is_archive, unpacked_members
from assay.datasets.columns import SourceTable
from assay.datasets.files import SUFFIXES, read_format, read_table_file, read_under_name
from assay.datasets.readers.base import CELL_PAIRS, CHARACTER, COUNTS, FILES, NAMES, SWITCH, TEXT, TEXTS, Kind
from assay.datasets.readers.delimited import read_delimited
from assay.datasets.readers.records import read_records
from assay.datasets.readers.steps import add_columns, parse_cells, replace_cells, skip_rows
from assay.datasets.templates import Template, matching_names
from assay.datasets.unpacking import recoded, unpacked
from assay.exceptions import InputError, unknown_name
from assay.language.amr import read_graph_file

#: Formats of files, by their names in cards.
FORMATS = ("csv", "tsv", "tab", "jsonl", "json", "parquet", "workbook", "lines", "xml", "graphs")
#: The delimiter of each format of delimited text.
_DELIMITERS = {"csv": ",", "tsv": "\t", "tab": "\t"}

#: Options that choose rows, and files and records by what stands in their gaps.
ROW_CHOICES = ("where", "unless")
#: Options that say how files are read.
FILE_OPTIONS: dict[str, Kind] = {
    "file": FILES,
    "member": TEXT,
    "format": TEXT,
    "encoding": TEXT,
    "header": NAMES,
    "delimiter": CHARACTER,
    "quoted": SWITCH,
    "records": TEXT,
    "fields": TEXTS,
    "skip": COUNTS,
    "parse": TEXTS,
    "replace": CELL_PAIRS,
    "add": TEXTS,
}

Options = Mapping[str, Any]


def as_list(values: Any) -> list[Any]:
    """Return a table or text as a list of it, and a list as it is."""
    return [values] if isinstance(values, dict | str) else list(values)


def read_files(files: Mapping[str, Path], options: Options) -> Iterator[tuple[SourceTable, dict[str, str]]]:
    """Yield the rows of each file that the options name, and what stands in the gaps of its name.

    Args:
        files: the files of the split, by name.
        options: those of :data:`FILE_OPTIONS`, and of :data:`ROW_CHOICES`.

    Raises:
        InputError: there is no such file or member of an archive, or a file cannot be read.
    """
    chosen = matching_names(options["file"], files) if "file" in options else [(name, {}) for name in files]
    if not chosen:
        raise InputError(unknown_name("the split has no file", options["file"], files))
    for name, gaps in chosen:
        contents = _members if is_archive(files[name]) else _plain_file
        for content, shown_name, all_gaps in contents(files[name], gaps, options):
            # with an archive, the member is what is read
            member = None if is_archive(files[name]) else options.get("member")
            source = _read_content(content, shown_name, member, options)
            for gap, value in all_gaps.items():
                source = source.with_column(gap, pa.array([value] * source.table.num_rows, pa.string()))
            if "skip" in options:
                source = skip_rows(source, options["skip"])
            source = parse_cells(source, options.get("parse", {}))
            source = replace_cells(source, options.get("replace", {}))
            yield add_columns(source, options.get("add", {})), all_gaps


def _plain_file(path: Path, gaps: dict[str, str], options: Options) -> Iterator[tuple[Path, str, dict[str, str]]]:
    """Yield the path of a file, its name in messages and the gaps of its name, if these are wanted."""
    if _is_wanted(gaps, options):
        yield unpacked(path, None), str(path), gaps


def _members(path: Path, gaps: dict[str, str], options: Options) -> Iterator[tuple[Path, str, dict[str, str]]]:
    """Yield the path of each member of an archive to read, its name in messages, and what stands in all gaps.

    Args:
        path: the archive.
        gaps: what stands in the gaps of its name, with which those of the names of members are filled.
        options: the options that say how it is read.
    """
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


def _is_wanted(gaps: Mapping[str, str], options: Options) -> bool:
    """Tell by what stands in gaps whether a file or record is read at all, given ``where`` and ``unless``."""
    where, unless = ({name: as_list(cells) for name, cells in options.get(key, {}).items()} for key in ROW_CHOICES)
    has_cells = all(name not in gaps or gaps[name] in cells for name, cells in where.items())
    return has_cells and not any(gaps.get(name) in cells for name, cells in unless.items())


def _read_content(path: Path, name: str, member: str | None, options: Options) -> SourceTable:
    """Return the rows of a plain file in the format of the options, or of its name.

    Args:
        path: the path of its content.
        name: its name in messages.
        member: the sheet of a workbook or the list in a JSON file; None if there is one.
        options: the options that say how it is read.

    Raises:
        InputError: the format is unknown, or the file cannot be read.
    """
    suffix = path.suffix.lower()
    file_format = options.get("format", SUFFIXES.get(suffix, suffix.removeprefix(".")))
    encoding, columns = options.get("encoding"), options.get("columns")
    is_delimited = not {"delimiter", "quoted", "header"}.isdisjoint(options) and file_format != "lines"
    is_known = file_format in FORMATS if "format" in options else is_delimited or suffix in SUFFIXES or suffix == ".xml"
    if not is_known:
        raise InputError(unknown_name(f"{name}: there is no format", file_format, FORMATS))
    if "records" in options or "fields" in options or file_format == "xml":
        return _read_records(path, name, file_format, options)
    if file_format == "graphs":
        return read_under_name(path, name, _read_graphs)
    content = path if file_format in ("parquet", "workbook") else recoded(path, encoding)[0]
    if file_format == "lines":
        return read_under_name(content, name, lambda file: _read_lines(file, options.get("header", ["line"])[0]))
    if is_delimited:
        delimiter = options.get("delimiter", _DELIMITERS.get(file_format, "\t"))
        quoted, header = options.get("quoted", file_format != "tab"), options.get("header")
        return read_under_name(
            content,
            name,
            lambda file: read_delimited(file, delimiter=delimiter, quoted=quoted, header=header, columns=columns),
        )
    if "format" in options:
        return read_under_name(path, name, lambda file: read_format(file, file_format, encoding, member, columns))
    return read_under_name(
        path, name, lambda file: read_table_file(file, encoding=encoding, member=member, columns=columns)
    )


def _read_records(path: Path, name: str, file_format: str, options: Options) -> SourceTable:
    """Return the records of a file that ``where`` and ``unless`` do not leave out by their gaps."""
    if file_format not in ("json", "jsonl", "xml"):
        raise InputError(f"{name}: records and fields are for json, jsonl and xml, not for {file_format}")
    # XML says its encoding itself
    content = path if file_format == "xml" else recoded(path, options.get("encoding"))[0]
    records, columns = options.get("records", ""), options.get("fields", {})
    return read_under_name(
        content,
        name,
        lambda file: read_records(file, file_format, records, columns, lambda gaps: _is_wanted(gaps, options)),
    )


def _read_graphs(path: Path) -> SourceTable:
    """Return the AMR graphs of a file with their sentences; whether each can be read is checked with the pairs."""
    blocks = read_graph_file(path)
    columns = {"graph": [block.text for block in blocks], "sentence": [block.sentence for block in blocks]}
    return SourceTable(pa.table(columns), str(path), unit="graph", first=1, as_text=True)


def _read_lines(path: Path, column: str) -> SourceTable:
    """Return one row per line, blank ones included, split at \\n only, since texts may contain other line ends."""
    text = path.read_bytes().decode("utf-8").removeprefix("\ufeff")
    lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    return SourceTable(pa.table({column: lines}), str(path), unit="line", first=1, as_text=True)
