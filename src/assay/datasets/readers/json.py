"""Reads a JSON file whose rows are a list of objects, or whose columns are lists."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeGuard

from assay.common.messages import Setting
from assay.datasets.columns import SourceTable
from assay.datasets.readers.header import header_hint, header_names, numbered_columns
from assay.datasets.readers.jsonl import column_of, parse_json, read_jsonl, table_of_columns, table_of_records
from assay.datasets.readers.logs import log_of_json
from assay.datasets.reading import Columns
from assay.datasets.unpacking import check_no_member
from assay.exceptions import InputError


def read_json(path: Path, member: str | None, columns: Columns = None) -> SourceTable:
    """Return the table in a JSON file: rows as objects or as lists, columns as lists, or one object per line.

    Rows may be in a list, in an object that names them, or in a list within an object. Every form in which pandas
    writes a table is read, and the logs of harnesses (:mod:`assay.datasets.readers.logs`).

    Args:
        path: the path of a UTF-8 file.
        member: the key of the list in an object; None if the object has one.
        columns: the mapping of the user, by which the first of rows that are lists is a header or not.

    Raises:
        InputError: the file is not JSON, has no rows or rows of unequal length, has no list *member*, or has several
            and *member* is None; it has no lists by name; or it has questions without answers to judge (SQuAD), or
            cells that a server shortened.
    """
    text = path.read_text(encoding="utf-8-sig")
    if _has_object_per_line(text):
        check_no_member(path, member)
        return read_jsonl(path)
    value = parse_json(text, str(path))
    log = log_of_json(value, path)
    # each step turns one kind of object into rows or columns, and leaves any other value as it is
    rows, note = _records_of_servers(path, value)
    if log is not None or _is_header_and_rows(value) or not isinstance(rows, dict):
        check_no_member(path, member)
    if log is not None:
        return log
    _refuse_questions_of_squad(path, value)
    if _is_header_and_rows(value):
        return _table_of_lists(path, [value["columns"], *value["data"]], None)
    if isinstance(rows, dict):
        rows = _list_of_member(path, rows, member)
    if isinstance(rows, dict):
        rows = _columns_or_rows(rows)
    if isinstance(rows, dict) and all(isinstance(cells, list) and cells for cells in rows.values()):
        return _table_of_column_lists(path, rows)
    if isinstance(rows, list) and rows and all(isinstance(row, list) for row in rows):
        return _table_of_lists(path, rows, columns)
    if not _is_rows(rows):
        raise InputError(
            f'{path}: expected a list of objects such as [{{"reference": …}}, …], or lists of equal length'
        )
    table, misfits = table_of_records(rows, column_of)
    return SourceTable(table, str(path), unit="entry", first=1, misfits=misfits, notes=(note,) if note else ())


def _has_object_per_line(text: str) -> bool:
    """Tell whether a text is JSONL: its first line is a whole object, and the next begins one."""
    first_line, _, further_lines = text.strip().partition("\n")
    is_whole_object = first_line.startswith("{") and first_line.rstrip().endswith("}")
    return is_whole_object and further_lines.lstrip().startswith("{")


def _is_header_and_rows(value: Any) -> bool:
    """Tell whether a value is a table as pandas writes it by ``orient="split"``: with ``columns`` and ``data``."""
    if not isinstance(value, dict) or not {"columns", "data"} <= value.keys() <= {"columns", "data", "index"}:
        return False
    return isinstance(value["data"], list) and all(isinstance(row, list) for row in [value["columns"], *value["data"]])


def _list_of_member(path: Path, value: dict[str, Any], member: str | None) -> Any:
    """Return the list of objects in an object; the object itself if it has none and *member* is None.

    Args:
        path: the file, for messages.
        value: the object.
        member: the key of the list; None if there is one.

    Raises:
        InputError: there is no list of the name *member*, or there are several and *member* is None.
    """
    lists = {key: content for key, content in value.items() if _is_rows(content)}
    if member is not None and member not in lists:
        raise InputError(
            f"{path}: has no list of objects {member!r}; it has {', '.join(lists) or 'none'}",
            setting="member",
            value=member,
        )
    if not lists:
        return value
    first = next(iter(lists))
    if member is None and len(lists) > 1:
        raise InputError(
            f"{path}: has {len(lists)} lists of objects ({', '.join(lists)}); say which one: ",
            Setting("member", first),
        )
    return lists[member or first]


def _columns_or_rows(value: dict[str, Any]) -> Any:
    """Return an object of objects as lists: columns, if their keys are numbers of rows as pandas writes them, or rows.

    Rows get their name in the object as ``key``. An object of anything else is returned unchanged.
    """
    members = list(value.values())
    if not members or not all(isinstance(member, dict) for member in members):
        return value
    row_numbers = members[0].keys()
    have_same_keys = all(member.keys() == row_numbers for member in members)
    if row_numbers and have_same_keys and all(map(str.isdecimal, row_numbers)):
        return {name: [cells[row] for row in row_numbers] for name, cells in value.items()}
    return [{"key": key} | row for key, row in value.items()]


def _table_of_column_lists(path: Path, columns: dict[str, list[Any]]) -> SourceTable:
    """Return columns that are lists as a table.

    Raises:
        InputError: the lists differ in length.
    """
    lengths = {name: len(cells) for name, cells in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"{path}: its lists have unequal lengths ({lengths})")
    table, misfits = table_of_columns(columns)
    return SourceTable(table, str(path), unit="entry", first=1, misfits=misfits)


def _refuse_questions_of_squad(path: Path, value: Any) -> None:
    """Raise InputError for a file in the form of SQuAD: questions on paragraphs of articles, without candidates."""
    articles = value.get("data") if isinstance(value, dict) else value
    if not _is_rows(articles) or not all(_is_rows(article.get("paragraphs")) for article in articles):
        return
    if all("qas" in paragraph for article in articles for paragraph in article["paragraphs"]):
        raise InputError(
            f"{path}: is in the form of SQuAD: questions with gold answers, and no answers to judge. Write a line of "
            'JSON for each answer, {"question": …, "reference": [its gold answers], "candidate": …, "label": …}'
        )


def _records_of_servers(path: Path, value: Any) -> tuple[Any, str]:
    """Return the records within the rows that the server of Hugging Face's datasets sends, and a note if more exist.

    Anything else is returned unchanged.

    Raises:
        InputError: the server has shortened a cell.
    """
    if not isinstance(value, dict) or not {"features", "rows"} <= value.keys() or not _is_rows(value["rows"]):
        return value, ""
    records = [row.get("row") for row in value["rows"]]
    if not all(isinstance(record, dict) for record in records):
        return value, ""
    for number, row in enumerate(value["rows"], 1):
        if row.get("truncated_cells"):
            cells = ", ".join(map(str, row["truncated_cells"]))
            raise InputError(f"{path}, entry {number}: the server has shortened {cells}; load the dataset itself")
    total = value.get("num_rows_total")
    has_more = isinstance(total, int) and total > len(records)
    note = f"{len(records):,} of the {total:,} rows of the dataset" if has_more else ""
    return records, note


def _table_of_lists(path: Path, rows: list[list[Any]], columns: Columns) -> SourceTable:
    """Return rows that are lists as a table; the first is the header, unless the user names columns by number.

    Args:
        path: the file, for messages.
        rows: the rows, at least one.
        columns: the mapping of the user; None without one.

    Raises:
        InputError: there are no rows below the header, a name in it is a duplicate, a row has another length, or the
            mapping has a number without a column.
    """
    names, note = numbered_columns(path, columns, rows[0])
    first = 1 if names else 2
    header = names or header_names(path, ["" if name is None else str(name) for name in rows[0]], ",")
    body = rows if names else rows[1:]
    for number, row in enumerate(body, first):
        if len(row) != len(header):
            raise InputError(
                f"{path}, entry {number}: has {len(row)} cells; entry 1 has {len(header)}", header_hint(header)
            )
    if not body:
        raise InputError(f"{path}: has a header and no rows", header_hint(header))
    table, misfits = table_of_columns(dict(zip(header, map(list, zip(*body, strict=True)), strict=True)))
    notes = (note,) if note else ()
    return SourceTable(table, str(path), unit="entry", first=first, misfits=misfits, notes=notes)


def _is_rows(value: Any) -> TypeGuard[list[dict[str, Any]]]:
    """Tell whether a value is a list of objects, at least one."""
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)
