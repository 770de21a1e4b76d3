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
from assay.datasets.unpacking import check_no_member, unpacked_file, utf8_file
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
    """Yield the rows of each file or member that the options name, and what stands in the gaps of its name.

    The rows have a column for each gap, and ``skip``, ``parse``, ``replace`` and ``add`` are applied to them.

    Args:
        files: the files of the split, by name.
        options: those of :data:`FILE_OPTIONS`, and of :data:`ROW_CHOICES`, by which files are left out.

    Raises:
        InputError: there is no such file or member of an archive, a file cannot be read, or an option does not fit it.
        MissingExtraError: it is a workbook, and openpyxl is not installed.
    """
    names_and_gaps = matching_names(options["file"], files) if "file" in options else [(name, {}) for name in files]
    if not names_and_gaps:
        raise InputError(unknown_name("the split has no file", options["file"], files))
    for name, gaps in names_and_gaps:
        iterate_contents = _members if is_archive(files[name]) else _plain_file
        for content, shown_name, all_gaps in iterate_contents(files[name], gaps, options):
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
    """Yield the path of a file, its name in messages and what stands in the gaps of its name, if that is wanted."""
    if _is_wanted(gaps, options):
        yield unpacked_file(path, None), str(path), gaps


def _members(path: Path, gaps: dict[str, str], options: Options) -> Iterator[tuple[Path, str, dict[str, str]]]:
    """Yield the path of each member of an archive to read, its name in messages, and what stands in all gaps.

    Args:
        path: the archive.
        gaps: what stands in the gaps of its name, with which those of the names of members are filled.
        options: the options that say how it is read.

    Raises:
        InputError: no member has the wanted name, or none is named and there are several.
    """
    names = archive_members(path)
    pattern = Template(options["member"]).fill(gaps) if "member" in options else None
    names_and_gaps = [(name, {}) for name in names] if pattern is None else matching_names(pattern, names)
    if pattern is None and len(names_and_gaps) != 1:
        raise InputError(f"{path}: has {len(names)} files ({', '.join(names[:8])}); say which one with member")
    if not names_and_gaps:
        raise InputError(unknown_name(f"{path}: has no file", pattern or "", names))
    gaps_of_wanted = {
        name: gaps | own_gaps for name, own_gaps in names_and_gaps if _is_wanted(gaps | own_gaps, options)
    }
    paths = unpacked_members(path, list(gaps_of_wanted))
    for name, all_gaps in gaps_of_wanted.items():
        yield paths[name], f"{path}, {name}", all_gaps


def _is_wanted(gaps: Mapping[str, str], options: Options) -> bool:
    """Tell by what stands in gaps whether a file or record is read at all, given ``where`` and ``unless``.

    Gaps without a cell in these options do not count; of ``unless``, one gap with such a cell is enough.
    """
    for name, cells in options.get("where", {}).items():
        if name in gaps and gaps[name] not in as_list(cells):
            return False
    return not any(gaps.get(name) in as_list(cells) for name, cells in options.get("unless", {}).items())


def _read_content(path: Path, name: str, member: str | None, options: Options) -> SourceTable:
    """Return the rows of a plain file in the format of the options, or of its name.

    Args:
        path: the path of its content.
        name: its name in messages.
        member: the sheet of a workbook or the list in a JSON file; None if there is one.
        options: the options that say how it is read.

    Raises:
        InputError: the format is unknown, or the file cannot be read.
        MissingExtraError: it is a workbook, and openpyxl is not installed.
    """
    suffix = path.suffix.lower()
    file_format = options.get("format", SUFFIXES.get(suffix, suffix.removeprefix(".")))
    encoding, columns = options.get("encoding"), options.get("columns")
    is_delimited = not {"delimiter", "quoted", "header"}.isdisjoint(options) and file_format != "lines"
    is_known_by_name = is_delimited or suffix in (*SUFFIXES, ".xml")
    is_known = file_format in FORMATS if "format" in options else is_known_by_name
    if not is_known:
        raise InputError(unknown_name(f"{name}: there is no format", file_format, FORMATS))
    is_nested = "records" in options or "fields" in options or file_format == "xml"
    if is_nested or is_delimited or file_format in ("graphs", "lines"):
        check_no_member(name, member)
    if is_nested:
        return _read_records(path, name, file_format, options)
    if file_format == "graphs":
        return read_under_name(path, name, _read_graphs)
    content = path if file_format in ("parquet", "workbook") else utf8_file(path, encoding)[0]
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
    """Return the records of a file that ``where`` and ``unless`` do not leave out by their gaps.

    Raises:
        InputError: the options are for nested records, which this format has not, the file is damaged, or a path leads
            nowhere.
    """
    if file_format not in ("json", "jsonl", "xml"):
        raise InputError(f"{name}: records and fields are for json, jsonl and xml, not for {file_format}")
    # XML says its encoding itself
    content = path if file_format == "xml" else utf8_file(path, options.get("encoding"))[0]
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
