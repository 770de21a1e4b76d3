"""Reads logs of other evaluation harnesses: samples with gold answers, outputs, and the harness's own scores.

A score becomes a column of its own, which ``recorded:NAME`` reads; only what a person said becomes the label. Further
facts of a sample, such as its document or metadata, stay as JSON, so that a path may lead to a label in them
(``label=doc.human``).

Formats: ``samples_*.jsonl`` of lm-evaluation-harness (0.4), ``.eval`` and ``.json`` logs of Inspect (2), JSON output of
promptfoo (2 to 4), test runs of DeepEval (4).
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterable
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from assay.datasets.columns import SourceTable
from assay.datasets.readers.harnesses import (
    OTHER_SCORES,
    Record,
    deepeval_record,
    inspect_record,
    is_deepeval,
    lm_eval_records,
    promptfoo_record,
)
from assay.datasets.readers.jsonl import column_of, json_lines, parse_json, table_of_records
from assay.exceptions import InputError, summary_of

#: A log may hold this number of bytes in one sample.
MAX_SAMPLE_BYTES = 1 << 28
#: The method of compression of Inspect's archives that Python's zipfile knows from 3.14 on.
_ZSTD = 93


def log_of_json(value: Any, path: Path) -> SourceTable | None:
    """Return the samples of a log as a table; None if a JSON value is no log.

    Raises:
        InputError: the log has no samples, or one has another form.
    """
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("eval"), dict) and isinstance(value.get("samples"), list):
        header = value["eval"]
        return _table_of_samples(path, "Inspect", value["samples"], lambda sample: [inspect_record(sample, header)])
    evaluation = value.get("results")
    results = evaluation.get("results") if isinstance(evaluation, dict) else None
    if isinstance(results, list) and any(isinstance(row, dict) and "testCase" in row for row in results):
        return _table_of_samples(path, "promptfoo", results, lambda row: [promptfoo_record(row)])
    run = value.get("testRunData", value)
    cases = run.get("testCases", run.get("test_results")) if isinstance(run, dict) else None
    if isinstance(cases, list) and any(isinstance(case, dict) and is_deepeval(case) for case in cases):
        return _table_of_samples(path, "DeepEval", cases, lambda case: [deepeval_record(case)])
    return None


def is_lm_eval(path: Path) -> bool:
    """Tell whether a file of JSON lines has the samples of a task of lm-evaluation-harness, by its first line.

    Raises:
        InputError: the file is not UTF-8, or that line looks like a sample and is not JSON.
    """
    for number, line in islice(json_lines(path), 1):
        if '"filtered_resps"' in line and '"arguments"' in line:
            first = parse_json(line, f"{path}, line {number}")
            return isinstance(first, dict) and {"doc", "target", "arguments", "filtered_resps"} <= first.keys()
    return False


def read_lm_eval(path: Path) -> SourceTable:
    """Return the samples of a task of lm-evaluation-harness, a row for each answer.

    Raises:
        InputError: the file has no samples, is not UTF-8, or a line is not JSON or no sample.
    """
    numbers, samples = [], []
    for number, line in json_lines(path):
        numbers.append(number)
        samples.append(parse_json(line, f"{path}, line {number}"))
    return _table_of_samples(path, "lm-evaluation-harness", samples, lm_eval_records, unit="line", numbers=numbers)


def read_inspect_archive(path: Path) -> SourceTable:
    """Return the samples of an ``.eval`` log of Inspect, an archive with a file for each.

    Raises:
        InputError: the archive is damaged or no log, a file in it is too large, or a sample has another form.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.startswith("samples/") and name.endswith(".json")]
            start = "header.json" if "header.json" in archive.namelist() else "_journal/start.json"
            header = parse_json(_member_text(archive, path, start), f"{path}, {start}")
            samples = [parse_json(_member_text(archive, path, name), f"{path}, {name}") for name in names]
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError, KeyError) as error:
        raise InputError(f"{path}: is not a readable log of Inspect ({error or type(error).__name__})") from None
    except ValueError as error:
        # bytes that are no UTF-8, or that Arrow cannot unpack
        raise InputError(f"{path}: is not a readable log of Inspect ({summary_of(error)})") from None
    run = header.get("eval") if isinstance(header, dict) else None
    facts_of_run = run if isinstance(run, dict) else {}
    return _table_of_samples(path, "Inspect", samples, lambda sample: [inspect_record(sample, facts_of_run)])


def _member_text(archive: zipfile.ZipFile, path: Path, name: str) -> str:
    """Return the text of a file in an archive, also if it is compressed by Zstandard.

    Raises:
        InputError: the file is too large.
        KeyError: there is no such file.
        ValueError: its bytes are not UTF-8, or cannot be unpacked.
    """
    entry = archive.getinfo(name)
    if entry.file_size > MAX_SAMPLE_BYTES:
        raise InputError(f"{path}, {name}: has more than {MAX_SAMPLE_BYTES:,} bytes")
    if entry.compress_type != _ZSTD:
        return archive.read(name).decode("utf-8")
    with path.open("rb") as file:
        # the content follows a header of 30 bytes, whose last two numbers are the lengths of a name and of extra fields
        file.seek(entry.header_offset)
        header = file.read(30)
        name_length, extra_length = int.from_bytes(header[26:28], "little"), int.from_bytes(header[28:30], "little")
        file.seek(name_length + extra_length, 1)
        compressed = file.read(entry.compress_size)
    with pa.CompressedInputStream(pa.BufferReader(compressed), "zstd") as stream:
        return bytes(stream.read(MAX_SAMPLE_BYTES)).decode("utf-8")


def _table_of_samples(
    path: Path,
    harness: str,
    samples: list[Any],
    records_of: Callable[[Record], Iterable[Record]],
    *,
    unit: str = "sample",
    numbers: list[int] | None = None,
) -> SourceTable:
    """Return the samples of a log as a table.

    Args:
        path: the file.
        harness: the name of the harness.
        samples: its samples.
        records_of: returns the records of a sample.
        unit: the word for a sample in messages.
        numbers: the number of each sample in the file; None for 1, 2, 3 …

    Raises:
        InputError: there are no samples, or one has another form.
    """
    records: list[Record] = []
    rows: list[int] = []
    for number, sample in zip(numbers or range(1, len(samples) + 1), samples, strict=True):
        try:
            new_records = list(records_of(sample))
        except InputError as error:
            raise InputError(f"{path}, {unit} {number}: {error}") from None
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            where = f"{path}, {unit} {number}"
            raise InputError(f"{where}: is no sample of {harness} ({summary_of(error)})") from None
        records += new_records
        rows += [number] * len(new_records)
    return _table_of_records(path, harness, records, unit=unit, rows=rows)


def _table_of_records(path: Path, harness: str, records: list[Record], *, unit: str, rows: list[int]) -> SourceTable:
    """Return records as a table; a column that no record has a value in is left out.

    A missing output becomes an empty answer, with a note, and scores in words or lists get one. Identifiers are left
    out if a record has none or two share one.

    Args:
        path: the file.
        harness: the name of the harness.
        records: the records of all samples.
        unit: the word for a sample in messages.
        rows: the number of the sample of each record.

    Raises:
        InputError: there are no records.
    """
    if not records:
        raise InputError(f"{path}: the log of {harness} has no samples")
    notes = [f"read as a log of {harness}", *_notes_on_other_scores(records)]
    names = dict.fromkeys(chain.from_iterable(records))
    filled_names = [name for name in names if any(record.get(name) is not None for record in records)]
    without_output = []
    filled_records = []
    for row, record in zip(rows, records, strict=True):
        if record.get("candidate") is None:
            without_output.append(row)
        filled = {name: record.get(name) for name in filled_names}
        filled["candidate"] = filled.get("candidate") or ""
        filled_records.append(filled)
    identifiers = [record.get("pair_id") for record in filled_records]
    if None in identifiers or len(set(identifiers)) < len(identifiers):
        for record in filled_records:
            record.pop("pair_id", None)
    table, misfits = table_of_records(filled_records, column_of)
    if without_output:
        row_numbers = ", ".join(map(str, without_output[:5])) + (", …" if len(without_output) > 5 else "")
        count = f"{len(without_output):,} of {len(records):,} samples"
        notes.append(f"{count} have no output ({row_numbers}), read as an empty answer")
    numbers = np.array(rows, dtype=np.int64)
    return SourceTable(
        table, str(path), unit=unit, first=1, rows=numbers, misfits=misfits, notes=tuple(notes), log=harness
    )


def _notes_on_other_scores(records: list[Record]) -> Iterable[str]:
    """Yield a note on each score that is not a number in some records, which loses it there."""
    values_by_name: dict[str, list[Any]] = {}
    for record in records:
        for name, value in record.pop(OTHER_SCORES, {}).items():
            values_by_name.setdefault(name, []).append(value)
    for name, values in values_by_name.items():
        count = f"{len(values):,} of {len(records):,} values"
        yield f"score {name}: {count} are no numbers, such as {str(values[0])[:40]!r}, and are left out"
