"""``assay agree``: agreement of the score columns of a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.api.result import Result
from assay.benchmark.buckets import first_rule_of_texts
from assay.benchmark.folder import check_target
from assay.benchmark.request import Request
from assay.benchmark.runner import run
from assay.benchmark.settings import AgreeSettings
from assay.common.addresses import command_line
from assay.common.messages import Message, Setting
from assay.common.tables import (
    OPTIONAL_PAIR_COLUMNS,
    PAIR_COLUMNS,
    finite_number,
    has_decimal_commas,
    has_exact_floats,
    is_text,
)
from assay.common.verbs import verb
from assay.datasets import Pairs
from assay.datasets.columns import labels_apart, parse_columns
from assay.datasets.labels import percentage_shares
from assay.datasets.reading import Reading, normalised_word
from assay.datasets.scored import load_scored_pairs
from assay.exceptions import InputError
from assay.metrics.recorded import Recorded
from assay.paths import user_path
from assay.settings import AdjustedAgreement, Limited, OwnColumns

if TYPE_CHECKING:
    import pyarrow as pa


@verb(
    AgreeSettings,
    "Compare score columns of a file with its label; the texts are needed for --bucket f1 only.",
    "assay agree scored.csv --columns label=human --score f1 --score chrf",
)
def agree(settings: AgreeSettings) -> Result:
    """Compute how far the score columns of a file agree with its labels.

    Args:
        file: CSV, TSV, JSONL or Parquet with labels and scores; texts are needed only by buckets that read them.
        scores: the score columns; by default every numeric column that is neither a pair column nor an annotator's, and
            does not number the rows.
        buckets: rules, as for :func:`assay.run`; none by default.
        out: the run folder to write; None to write nothing.

    Returns:
        The result of a run whose metrics are the score columns; several labels make a dataset each, ``NAME#LABEL``.

    Raises:
        InputError: the file cannot be read, a column is missing or not numeric, no column holds scores, a bucket or
            control, or dropping duplicates, needs texts that the file lacks, or *out* holds something else or cannot be
            written.
        MissingExtraError: a file, such as a workbook, needs a package that is not installed.
    """
    file = user_path(settings.file)
    datasets = _load_datasets(file, settings)
    # with several labels, the pairs of each have the same other columns
    pairs_of_file = datasets[-1]
    if settings.scores:
        score_names = list(settings.scores)
        for name in score_names:
            pairs_of_file.column(name)  # raises an error if there is no such column
    else:
        annotators: set[str] = set()
        for _, columns in labels_apart(settings.columns):
            for source in parse_columns(columns).get("label", ()):
                annotators.update(part.strip() for part in source.split("+"))
        score_names, notes, hints = _find_scores(file, pairs_of_file, annotators)
        datasets = [replace(pairs, notes=(*pairs.notes, *notes), hints=(*pairs.hints, *hints)) for pairs in datasets]
    # not loaded by name: a column called bleu,smoothing=floor would be read as a metric with an option
    metrics = tuple(Recorded(subject=name) for name in score_names)
    request_settings = settings.values_of(AdjustedAgreement, Limited)
    request_settings["buckets"] = settings.buckets or ("none",)
    request = Request(tuple(datasets), metrics, **request_settings)
    if settings.out is not None:
        check_target(user_path(settings.out), request.record().digest())
    result = Result(run(request, progress=settings.progress))
    if settings.out is not None:
        result.save(settings.out)
    return result


def _load_datasets(file: Path, settings: AgreeSettings) -> list[Pairs]:
    """Return the pairs of a file, once for each label that the settings name; all have the columns of the file.

    Of several labels, each is in the name of its dataset, ``NAME#LABEL``.

    Raises:
        InputError: the file cannot be read or has no label, or a setting needs texts that it lacks.
        MissingExtraError: a file, such as a workbook, needs a package that is not installed.
    """
    text_reader = _setting_that_reads_texts(settings)
    datasets: list[Pairs] = []
    for label, columns in labels_apart(settings.columns):
        reading = Reading(**settings.values_of(OwnColumns) | {"columns": columns})
        pairs, absent = load_scored_pairs(file, reading)
        if absent and text_reader:
            columns_option = ",".join(f"{name}={name.upper()}" for name in absent)
            raise InputError(
                f"{file}: ",
                text_reader,
                f" needs the texts and there is no column {' and no column '.join(absent)}; say which is which: ",
                Setting("columns", columns_option),
            )
        datasets.append(replace(pairs, name=f"{pairs.name}#{label}") if label else pairs)
    return datasets


def _find_scores(file: Path, pairs: Pairs, annotators: set[str]) -> tuple[list[str], list[str], list[str]]:
    """Return the names of the score columns of a file, a note on columns of row numbers, and hints on others left out.

    Args:
        file: the file, for messages.
        pairs: its pairs.
        annotators: the columns of labels, which are no scores.

    Raises:
        InputError: no column holds scores.
    """
    numeric_columns, row_number_columns = _numeric_columns(pairs)
    score_names = [name for name in numeric_columns if name not in annotators]
    if not score_names:
        hint = f" ({row_number_columns[0]} numbers the rows)" if row_number_columns else ""
        raise InputError(
            f"{file}: has no numeric column beside the label{hint}; name a column with ",
            Setting("scores"),
            f", or add scores: {command_line('score', file, '--metric', 'f1', '--out', 'OUT.csv')}",
        )
    notes = []
    if row_number_columns:
        notes = [f"taken for row numbers, no scores: {', '.join(row_number_columns)} (named as a score, it is used)"]
    hints = list(_almost_numeric_columns(pairs, {*score_names, *row_number_columns, *annotators}))
    return score_names, notes, hints


def _setting_that_reads_texts(settings: AgreeSettings) -> str:
    """Return the first setting that needs the texts of the pairs, in words; empty if there is none."""
    bucket_rule = first_rule_of_texts(settings.buckets)
    if bucket_rule:
        return f"bucket {bucket_rule!r}"
    control_name = first_rule_of_texts(settings.controls)
    if control_name:
        return Message(Setting("controls", control_name))
    return "dropping duplicates" if settings.drop_duplicates else ""


def _numeric_columns(pairs: Pairs) -> tuple[list[str], list[str]]:
    """Return the names of score columns, and of columns that identify rows, among columns without a role.

    A score column holds numbers, typed or written as text, and maybe cells that mean that there is no score.
    Identifying columns count the rows, or hold whole numbers too large to be exact as floats. A column without a name
    is neither.
    """
    import pyarrow as pa

    reading = Reading(**pairs.reading)
    reserved = {*PAIR_COLUMNS, *OPTIONAL_PAIR_COLUMNS}
    score_columns: list[str] = []
    identifier_columns: list[str] = []
    for name in pairs.table.column_names:
        column = pairs.table.column(name)
        # a column without a name could not be shown as a metric
        if name in reserved or not name.strip():
            continue
        has_number_type = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        if _is_row_index(column) or not has_exact_floats(column):
            identifier_columns.append(name)
        elif has_number_type or _has_only_numbers(column, reading):
            score_columns.append(name)
    return score_columns, identifier_columns


def _is_row_index(column: pa.ChunkedArray) -> bool:
    """Tell whether a column of three rows or more is 0, 1, 2, … or 1, 2, 3, …, like the row index of a data frame."""
    values = [str(value) for value in column.to_pylist()]
    from_zero = [str(number) for number in range(len(values))]
    from_one = [str(number) for number in range(1, len(values) + 1)]
    # two rows may have the scores 0 and 1
    return len(values) > 2 and values in (from_zero, from_one)


def _has_only_numbers(column: pa.ChunkedArray, reading: Reading) -> bool:
    """Tell whether a column has scores, and all its cells are numbers or mean that there is no score."""
    cells = [str(cell) for cell in column.unique().to_pylist() if cell is not None]
    cells_without_number = _without_number(cells, reading)
    return not cells_without_number and not all(reading.is_missing(normalised_word(cell)) for cell in cells)


def _without_number(cells: Sequence[str], reading: Reading) -> list[str]:
    """Return the cells that are no numbers and do not mean that there is no score.

    Commas may be decimal points, and percentages are numbers if there is nothing else.
    """
    if percentage_shares([cell for cell in cells if not reading.is_missing(normalised_word(cell))]):
        return []
    has_commas = has_decimal_commas(cells)
    without_number = []
    for cell in cells:
        numeral = cell.replace(",", ".") if has_commas else cell
        if finite_number(numeral) is None and not reading.is_missing(normalised_word(cell)):
            without_number.append(cell)
    return without_number


def _almost_numeric_columns(pairs: Pairs, used: set[str]) -> Iterator[str]:
    """Yield a line for each text column that is left out although more than half of its cells are numbers.

    Cells that mean that there is no score count as numbers.

    Args:
        pairs: the pairs, with all columns of the file.
        used: the columns that have a use, or are left out with another line.
    """
    reading = Reading(**pairs.reading)
    for name in pairs.table.column_names:
        column = pairs.table.column(name)
        if name in {*PAIR_COLUMNS, *OPTIONAL_PAIR_COLUMNS, *used} or not is_text(column.type):
            continue
        cells = [cell for cell in column.to_pylist() if cell is not None]
        others = _without_number(cells, reading)
        if others and 2 * len(others) < len(cells):
            words = ",".join([*reading.missing_words(), others[0].strip()])
            option = Setting("missing", words).with_flag({})
            cells_text = f"{len(others):,} of {len(cells):,} cells are no numbers, such as {others[0]!r}"
            yield f"{name} is left out: {cells_text}; if that means that there is no score, run with {option}"
