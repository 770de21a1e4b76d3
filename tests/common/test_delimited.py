"""The one writer of CSV: what it writes is read back as it was, whatever ends a row in it."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.common.output import write_records, write_rows
from assay.reports.formats import format_document
from assay.reports.sheets import Document

#: Everything that means something in CSV or ends a line somewhere.
CELLS = st.text(st.sampled_from('ab",;\t\r\n\x0b\x0c\x1c\x85\u2028 '), max_size=6)


# the first draw may take over a second on a busy machine
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(CELLS, min_size=2, max_size=3), min_size=1, max_size=4), st.sampled_from(",\t"))
def test_what_is_written_is_read_as_it_was(rows: list[list[str]], delimiter: str) -> None:
    stream = io.StringIO(newline="")
    write_rows(stream, rows, delimiter=delimiter)
    assert list(csv.reader(io.StringIO(stream.getvalue(), newline=""), delimiter=delimiter, strict=True)) == rows


def test_lines_end_alike_and_nothing_is_an_empty_cell() -> None:
    stream = io.StringIO(newline="")
    write_records(stream, ["a", "b"], [{"a": "x\r", "b": 1.5}, {"b": None}])
    assert stream.getvalue() == 'a,b\n"x\r",1.5\n,\n'
    with pytest.raises(ValueError, match="not in fieldnames: 'c'"):
        write_records(stream, ["a", "b"], [{"c": 1}])


def test_records_of_a_report() -> None:
    document = Document((), ({"reference": "a\rb", "more": ["c"]}, {"reference": "d"}))
    assert format_document(document, "csv") == 'reference,more\n"a\rb","[""c""]"\nd,\n'
