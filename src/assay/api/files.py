"""Files with scores: adding scores to a file, the agreement of score columns, and opening files as runs."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.analysis.folder import RunFolder, read_run
from assay.api.result import Result
from assay.api.run import executor_for, load_metrics, purse_from_settings
from assay.api.writing import check_existing_output, check_output_path, write_scored_lines, write_table
from assay.benchmark.buckets import first_rule_of_texts
from assay.benchmark.folder import check_target, write_run
from assay.benchmark.request import Request
from assay.benchmark.runner import run, score_pairs
from assay.benchmark.settings import AgreeSettings, ScoreSettings
from assay.datasets import Pairs, join_graphs, load_dataset, read_table_file
from assay.datasets.columns import MissingColumnsError, parse_columns, resolve_columns
from assay.datasets.files import SUFFIXES, is_standard_input, is_table_file, local_path_of
from assay.datasets.load import own_pairs
from assay.datasets.reading import Reading
from assay.errors import AssayError, InputError
from assay.messages import Message, Setting, join_messages
from assay.metrics.judge.spending import use_purse
from assay.metrics.recorded import Recorded
from assay.paths import user_path
from assay.progress import Silent
from assay.settings import (
    AdjustedAgreement,
    GoldAnswers,
    Limited,
    Offline,
    OwnColumns,
    OwnData,
    takes_settings,
)
from assay.tables import OPTIONAL_PAIR_COLUMNS, PAIR_COLUMNS, has_exact_floats
from assay.transfer import sha256_of

if TYPE_CHECKING:
    import pyarrow as pa


@takes_settings(ScoreSettings)
def score_file(settings: ScoreSettings) -> list[str]:
    """Write all rows and columns of a file with one further column per metric, named as the metric was typed.

    From JSONL to JSONL every line is copied unchanged, and the scores follow its last key. Otherwise every column has
    one type: a key that a line lacks becomes null (an empty cell), values of several types become text, and in CSV and
    TSV a list is written as JSON. A missing score is null or an empty cell.

    Args:
        file: CSV, TSV, JSONL or Parquet, or a folder of Parquet parts; labels are not needed.
        metrics: metric names.
        out: the path of the output, whose extension selects the format. An existing file is replaced only if it holds
            scores of the same pairs.
        columns: the columns that hold reference, candidate and question.
        graphs: AMR graphs of the texts, as for :func:`assay.run`.

    Returns:
        One line for each metric that returned no scores, with the reason; the output has no column for it.

    Raises:
        InputError: a file cannot be read or written, *out* exists and is something else, a metric is unknown, or the
            file already has a column of its name.
        AssayError: no metric returned scores; nothing is written.
    """
    file, out = local_path_of(settings.file), user_path(settings.out)
    check_output_path(file, out)
    progress = settings.progress or Silent()
    metrics, absent = load_metrics(settings.metrics, offline=settings.offline)
    table = read_table_file(file).table
    reading_settings = settings.values_of(OwnData)
    if reading_settings.pop("drop_unlabelled"):
        raise InputError("every row of the file gets its scores, with a label or without", setting="drop_unlabelled")
    pairs = load_dataset(file, **reading_settings, allow_unlabelled=True)
    for hint in pairs.hints:
        progress.say(f"{file}: {hint}")
    reading = Reading(settings.columns, settings.separator, settings.labels)
    check_existing_output(out, pairs, table.column_names, reading, spreadsheet=settings.spreadsheet)
    file_digest = pairs.sha256
    if settings.graphs is not None:
        pairs = join_graphs(pairs, settings.graphs)
    for metric in metrics:
        if str(metric) in table.column_names:
            raise InputError(f"{file}: has a column {str(metric)!r} already; rename it there, or leave that metric out")
    if settings.limit is not None:
        pairs, table = pairs.limit(settings.limit), table.slice(0, settings.limit)
    request_settings = settings.values_of(GoldAnswers, Offline)
    request = Request((pairs,), metrics, buckets=("none",), resamples=0, absent=absent, **request_settings)
    with use_purse(purse_from_settings(settings, fresh=settings.fresh)), executor_for(settings) as executor:
        outcome = score_pairs(
            request,
            store=None if settings.store is None else user_path(settings.store),
            executor=executor,
            fresh=settings.fresh,
            progress=progress,
        )
    scores = outcome.datasets[0].scores
    failures = list(outcome.failures)
    for record in outcome.metrics:
        if record.status == "not applicable":
            failures.append(Message(f"metric {record.metric}: ", record.reason))
        for phrase, count in record.flags.items():
            if count:
                progress.say(f"{record.metric}: {count:,} of {len(pairs):,} pairs: {phrase}")
    if not scores:
        raise AssayError(f"{out}: not written, since no metric gave scores: ", join_messages("; ", failures))
    if all(SUFFIXES.get(path.suffix.lower()) == "jsonl" for path in (file, out)):
        # the lines are copied from the file, so they must still be those that were scored
        if sha256_of(file) != file_digest:
            raise InputError(f"{file}: was changed while it was scored; run it again")
        write_scored_lines(file, scores, len(pairs), out)
    else:
        for name, metric_scores in scores.items():
            table = table.append_column(name, _arrow_column(metric_scores))
        write_table(table, out, spreadsheet=settings.spreadsheet)
    return failures


def _arrow_column(scores: np.ndarray[Any, np.dtype[np.float64]]) -> pa.Array:
    """Return scores as an Arrow array, with null for NaN."""
    import pyarrow as pa

    return pa.array(scores, from_pandas=True)


@takes_settings(AgreeSettings)
def agree_file(settings: AgreeSettings) -> Result:
    """Compute how far the score columns of a file agree with its labels.

    Args:
        file: CSV, TSV, JSONL or Parquet with labels and scores; texts are needed only by buckets that read them.
        scores: the score columns; by default every numeric column that is neither a pair column nor an annotator's.
        buckets: rules, as for :func:`assay.run`; none by default.
        out: the run folder to write; None to write nothing.

    Returns:
        The result of a run whose metrics are the score columns.

    Raises:
        InputError: a column is missing or not numeric, or a bucket or control needs texts that the file lacks.
    """
    file = user_path(settings.file)
    mapping = parse_columns(settings.columns)
    pairs, absent = load_scored_pairs(file, Reading(**settings.values_of(OwnColumns)))
    text_reader = _setting_that_reads_texts(settings)
    if absent and text_reader:
        columns_option = ",".join(f"{name}={name.upper()}" for name in absent)
        raise InputError(
            f"{file}: ",
            text_reader,
            f" needs the texts and there is no column {' and no column '.join(absent)}; say which is which: ",
            Setting("columns", columns_option),
        )
    annotators: set[str] = set()
    for source in mapping.get("label", ()):
        annotators.update(part.strip() for part in source.split("+"))
    score_columns, row_number_columns = _numeric_columns(pairs)
    score_names = settings.scores or [name for name in score_columns if name not in annotators]
    if not settings.scores and row_number_columns:
        note = f"taken for row numbers, no scores: {', '.join(row_number_columns)} (named as a score, it is used)"
        pairs = replace(pairs, notes=(*pairs.notes, note))
    if not score_names:
        hint = f" ({row_number_columns[0]} numbers the rows)" if row_number_columns else ""
        raise InputError(
            f"{file}: has no numeric column beside the label{hint}; name a column with ",
            Setting("scores"),
            f", or add scores: assay score {file} --metric f1 --out OUT.csv",
        )
    for name in score_names:
        pairs.column(name)  # raises an error if there is no such column
    # not loaded by name: a column called bleu,smoothing=floor would be read as a metric with an option
    metrics = tuple(Recorded(subject=name) for name in score_names)
    request_settings = settings.values_of(AdjustedAgreement, Limited)
    request_settings["buckets"] = settings.buckets or ("none",)
    request = Request((pairs,), metrics, **request_settings)
    if settings.out is not None:
        check_target(user_path(settings.out), request.digest())
    result = Result(run(request, progress=settings.progress))
    if settings.out is not None:
        result.save(settings.out)
    return result


def _setting_that_reads_texts(settings: AgreeSettings) -> str:
    """Return the first setting that needs the texts of the pairs, in words; empty if there is none."""
    bucket_rule = first_rule_of_texts(settings.buckets)
    if bucket_rule:
        return f"bucket {bucket_rule!r}"
    control_name = first_rule_of_texts(settings.controls)
    if control_name:
        return Message(Setting("controls", control_name))
    return "dropping duplicates" if settings.drop_duplicates else ""


def load_scored_pairs(file: Path, reading: Reading) -> tuple[Pairs, list[str]]:
    """Return the pairs of a file of which only the label is required, and the names of its missing text columns.

    Missing text columns (reference, candidate) are filled with empty texts. Row numbers become the pair ids if the file
    has no others.

    Raises:
        InputError: the file cannot be read or has no label.
    """
    import pyarrow as pa

    source = read_table_file(file)
    table = source.table
    mapping = parse_columns(reading.columns)
    # checked before columns are added, so that a message lists only the columns of the file
    resolve_columns(mapping, table.column_names, where=source.name, need_label=True, need_texts=False)
    absent = [name for name in ("reference", "candidate") if name not in table.column_names and name not in mapping]
    for name in absent:
        table = table.append_column(name, pa.array([""] * len(table)))
    name, origin = ("stdin", "standard input") if is_standard_input(file) else (file.stem, str(file))
    pairs = own_pairs(replace(source, table=table), reading, name=name, origin=origin)
    return replace(pairs, sha256=sha256_of(local_path_of(file))), absent


def _numeric_columns(pairs: Pairs) -> tuple[list[str], list[str]]:
    """Return the names of score columns, and of columns that identify rows, among columns without a role.

    A score column holds numbers, typed or written as text. Identifying columns count the rows, or hold whole numbers
    too large to be exact as floats.
    """
    import pyarrow as pa

    reserved = {*PAIR_COLUMNS, *OPTIONAL_PAIR_COLUMNS}
    score_columns: list[str] = []
    identifier_columns: list[str] = []
    for name in pairs.table.column_names:
        column = pairs.table.column(name)
        # a column without a name could not be shown as a metric
        if name in reserved or not name.strip():
            continue
        if _is_row_index(column) or not has_exact_floats(column):
            identifier_columns.append(name)
        elif pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or _has_only_numbers(column):
            score_columns.append(name)
    return score_columns, identifier_columns


def _is_row_index(column: pa.ChunkedArray) -> bool:
    """Tell whether a column is 0, 1, 2, … or 1, 2, 3, …, like the row index that data frames write."""
    values = [str(value) for value in column.to_pylist()]
    from_zero = [str(number) for number in range(len(values))]
    from_one = [str(number) for number in range(1, len(values) + 1)]
    # two rows may have the scores 0 and 1
    return len(values) > 2 and values in (from_zero, from_one)


def _has_only_numbers(column: pa.ChunkedArray) -> bool:
    """Tell whether a column has cells that are not empty, and all of them can be read as numbers."""
    values = [value for value in column.to_pylist() if value not in (None, "")]
    try:
        for value in values:
            float(value)
    except (TypeError, ValueError):
        return False
    return bool(values)


#: Source of a report: a run folder, a file with labels and scores, or the result of :func:`assay.run`.
Run = str | Path | Result


@contextmanager
def open_runs(runs: Run | Sequence[Run]) -> Iterator[list[RunFolder]]:
    """Open runs as run folders: folders, files with labels and scores (as ``assay agree`` reads them), or results.

    Args:
        runs: one run or several, of any kind. A file, or a result that was not saved, is written to a temporary folder,
            which is removed when the context ends. A file with other column names must first be made a run with
            ``assay agree FILE --columns … --out RUN``.

    Yields:
        The open run folders, in the order of *runs*.

    Raises:
        InputError: a path is neither a run folder nor such a file, or cannot be read.
    """
    run_list = [runs] if isinstance(runs, Run) else list(runs)
    with tempfile.TemporaryDirectory(prefix="assay-") as temporary:
        yield [_open_run(run, Path(temporary) / str(index)) for index, run in enumerate(run_list)]


def _open_run(run: Run, temporary: Path) -> RunFolder:
    """Return a run as a run folder; a file or an unsaved result is first written to a folder.

    Args:
        run: the run.
        temporary: the path of the folder to write, whose name is the index of the run from 0.

    Raises:
        InputError: the path is neither a run folder nor a file with a label and score columns, or cannot be read.
    """
    if isinstance(run, Result):
        if run.folder is not None:
            return read_run(run.folder)
        write_run(run.outcome, temporary)
        return replace(read_run(temporary), source=Path(f"result {int(temporary.name) + 1}"))
    path = user_path(run)
    if path.is_dir() or not is_table_file(path):
        return read_run(path)
    folder = temporary / path.stem
    try:
        agree_file(path, resamples=0, out=folder)
    except MissingColumnsError as error:
        command = shlex.join(["assay", "agree", str(path), "--columns", error.columns, "--out", "RUN"])
        raise InputError(
            f"{error.problem} A report takes the names as they are; this makes a run of the file: {command}"
        ) from error
    return replace(read_run(folder), source=path)
