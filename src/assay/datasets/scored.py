"""Files with labels and scores, whose texts may be missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from assay.common.transfer import sha256_of
from assay.datasets.columns import check_human_label, parse_columns, resolve_columns
from assay.datasets.files import is_standard_input, local_path_of, read_table_file
from assay.datasets.load import own_pairs
from assay.datasets.nested import with_nested_columns
from assay.datasets.pairs import Pairs
from assay.datasets.reading import Reading
from assay.datasets.shapes import pairs_as_rows


def load_scored_pairs(file: Path, reading: Reading) -> tuple[Pairs, list[str]]:
    """Return the pairs of a file of which only the label is required, and the names of its missing text columns.

    Missing text columns (reference, candidate) are filled with empty texts. Row numbers become the pair ids if the file
    has no others.

    Raises:
        InputError: the file cannot be read, has no label, or its rows cannot be read as pairs.
        MissingExtraError: it is a workbook, and openpyxl is not installed.
    """
    import pyarrow as pa

    source = read_table_file(file, **reading.of_file())
    mapping = parse_columns(reading.columns)
    table = with_nested_columns(source, mapping).table
    # checked before columns are added, so that a message lists only the columns of the file
    shaped = pairs_as_rows(replace(source, table=table), mapping, reading)
    check_human_label(shaped.source, shaped.columns)
    names = shaped.source.table.column_names
    resolve_columns(shaped.columns, names, where=source.name, need_label=True, need_texts=False)
    absent = [name for name in ("reference", "candidate") if name not in table.column_names and name not in mapping]
    for name in absent:
        table = table.append_column(name, pa.array([""] * len(table)))
    name, origin = ("stdin", "standard input") if is_standard_input(file) else (file.stem, str(file))
    source = replace(source, table=table)
    pairs = own_pairs(source, reading, name=name, origin=origin, find_annotators=not absent)
    return replace(pairs, sha256=sha256_of(local_path_of(file))), absent
