"""Files with scores: scores added, agreement of score columns, and files opened as runs."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.api.executor import executor_for
from assay.api.result import Result
from assay.api.run import load_metrics, purse_of
from assay.api.writing import check_held, check_out, write_scored_lines, write_table
from assay.benchmark.buckets import reads_texts
from assay.benchmark.folder import check_target, write_run
from assay.benchmark.request import Request
from assay.benchmark.runner import run, score_pairs
from assay.benchmark.settings import AgreeSettings, ScoreSettings
from assay.datasets import Pairs, join_graphs, load_dataset, read_table_file
from assay.datasets.columns import MissingColumnsError, parse_columns, resolve_columns
from assay.datasets.files import SUFFIXES, file_of, is_standard_input, is_table_file
from assay.datasets.load import own_pairs
from assay.datasets.reading import Reading
from assay.errors import AssayError, InputError
from assay.metrics.judge.spending import use_purse
from assay.metrics.recorded import Recorded
from assay.paths import user_path
from assay.progress import Silent
from assay.reports.folder import RunFolder, read_run
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
    """Write the rows of a file, in order and with all their columns, and one column per metric, headed as typed.

    From JSONL to JSONL every line stays as it is, and the scores follow its last key. From one format to another a
    column has one type: a key that a line lacks becomes null (an empty cell), values of several kinds become text, and
    in CSV and TSV a list is written as JSON. A missing score is null or an empty cell.

    Args:
        file: CSV, TSV, JSONL or Parquet, or a folder of Parquet parts; labels are not needed.
        metrics: metric names.
        out: where to; its ending says the format. Scores of the same pairs in it are replaced, and nothing else is.
        columns: which columns are reference, candidate, question.
        graphs: AMR graphs of the texts, as for :func:`assay.run`.

    Returns:
        Lines about metrics that gave no scores; their columns are missing.

    Raises:
        InputError: a file that cannot be read or written, a place that holds something else, or a name that is taken
            or unknown.
        AssayError: no metric gave scores; nothing is written.
    """
    file, out = file_of(settings.file), user_path(settings.out)
    check_out(file, out)
    metrics, absent = load_metrics(settings.metrics, offline=settings.offline)
    table = read_table_file(file).table
    own = settings.values_of(OwnData)
    if own.pop("drop_unlabelled"):
        raise InputError("`drop_unlabelled`: every row of the file gets its scores, with a label or without")
    pairs = load_dataset(file, **own, allow_unlabelled=True)
    for hint in pairs.hints:
        (settings.progress or Silent()).say(f"{file}: {hint}")
    reading = Reading(settings.columns, settings.separator, settings.labels)
    check_held(out, pairs, table.column_names, reading, spreadsheet=settings.spreadsheet)
    digest = pairs.sha256
    if settings.graphs is not None:
        pairs = join_graphs(pairs, settings.graphs)
    taken = [str(metric) for metric in metrics if str(metric) in table.column_names]
    if taken:
        raise InputError(f"{file}: has a column {taken[0]!r} already; rename it there, or leave that metric out")
    if settings.limit is not None:
        pairs, table = pairs.limit(settings.limit), table.slice(0, settings.limit)
    shared = settings.values_of(GoldAnswers, Offline)
    request = Request((pairs,), metrics, buckets=("none",), resamples=0, absent=absent, **shared)
    with use_purse(purse_of(settings, fresh=settings.fresh)), executor_for(settings) as executor:
        scored = score_pairs(
            request,
            store=None if settings.store is None else user_path(settings.store),
            executor=executor,
            fresh=settings.fresh,
            progress=settings.progress or Silent(),
        )
    scores = scored.datasets[0].scores
    failures = list(scored.failures)
    for status in scored.metrics:
        if status.status == "not applicable":
            failures.append(f"metric {status.metric}: {status.reason}")
        for phrase, count in status.flags.items():
            if count:
                (settings.progress or Silent()).say(f"{status.metric}: {count:,} of {len(pairs):,} pairs: {phrase}")
    if not scores:
        raise AssayError(f"{out}: not written, since no metric gave scores: {'; '.join(failures)}")
    is_jsonl = [SUFFIXES.get(path.suffix.lower()) == "jsonl" for path in (file, out)]
    if all(is_jsonl):
        # the lines are copied from the file, so they must still be those that were scored
        if sha256_of(file) != digest:
            raise InputError(f"{file}: was changed while it was scored; run it again")
        write_scored_lines(file, scores, len(pairs), out)
    else:
        for metric, values in scores.items():
            table = table.append_column(metric, _as_column(values))
        write_table(table, out, spreadsheet=settings.spreadsheet)
    return failures


def _as_column(scores: np.ndarray[Any, np.dtype[np.float64]]) -> pa.Array:
    """Return scores as Arrow, null for NaN."""
    import pyarrow as pa

    return pa.array(scores, from_pandas=True)


@takes_settings(AgreeSettings)
def agree_file(settings: AgreeSettings) -> Result:
    """Compare score columns of a file with its label.

    Args:
        file: CSV, TSV, JSONL or Parquet with a label and scores; texts are needed only for buckets that read them.
        scores: score columns; every numeric column that is neither a pair column nor an annotator's by default.
        buckets: rules, as for :func:`assay.run`; none by default.
        out: folder to write; None to write nothing.

    Raises:
        InputError: a missing column, one that holds no numbers, or texts that are needed and not there.
    """
    file = user_path(settings.file)
    mapping = parse_columns(settings.columns)
    pairs, absent = load_scored(file, Reading(**settings.values_of(OwnColumns)))
    bucket, control = reads_texts(settings.buckets), reads_texts(settings.controls)
    reading = f"bucket {bucket!r}" if bucket else f"`controls={control}`" if control else None
    reading = reading or ("dropping duplicates" if settings.drop_duplicates else None)
    if absent and reading:
        raise InputError(
            f"{file}: {reading} needs the texts and there is no column {' and no column '.join(absent)}; say which is "
            f"which: `columns={','.join(f'{name}={name.upper()}' for name in absent)}`"
        )
    annotators: set[str] = set()
    for source in mapping.get("label", ()):
        annotators.update(part.strip() for part in source.split("+"))
    numeric, numbering = _numeric(pairs)
    names = settings.scores or [name for name in numeric if name not in annotators]
    if not settings.scores and numbering:
        note = f"taken for row numbers, no scores: {', '.join(numbering)} (named as a score, it is used)"
        pairs = replace(pairs, notes=(*pairs.notes, note))
    if not names:
        aside = f" ({numbering[0]} numbers the rows)" if numbering else ""
        raise InputError(
            f"{file}: has no numeric column beside the label{aside}; name a column with `scores`, or add scores: "
            f"assay score {file} --metric f1 --out OUT.csv"
        )
    for name in names:
        pairs.column(name)
    # not by text: a column may be headed bleu,smoothing=floor
    metrics = tuple(Recorded(subject=name) for name in names)
    shared = settings.values_of(AdjustedAgreement, Limited)
    shared["buckets"] = settings.buckets or ("none",)
    request = Request((pairs,), metrics, **shared)
    if settings.out is not None:
        check_target(user_path(settings.out), request.digest())
    result = Result(run(request, progress=settings.progress))
    if settings.out is not None:
        result.save(settings.out)
    return result


def load_scored(file: Path, reading: Reading) -> tuple[Pairs, list[str]]:
    """Return the pairs of a file that needs a label alone, and which texts it lacks; those are empty."""
    import pyarrow as pa

    source = read_table_file(file)
    table = source.table
    mapping = parse_columns(reading.columns)
    # before columns are added, so that a message names those of the file alone
    resolve_columns(mapping, table.column_names, where=source.name, need_label=True, need_texts=False)
    absent = [name for name in ("reference", "candidate") if name not in table.column_names and name not in mapping]
    for name in absent:
        table = table.append_column(name, pa.array([""] * len(table)))
    name, origin = ("stdin", "standard input") if is_standard_input(file) else (file.stem, str(file))
    pairs = own_pairs(replace(source, table=table), reading, name=name, origin=origin)
    return replace(pairs, sha256=sha256_of(file_of(file))), absent


def _numeric(pairs: Pairs) -> tuple[list[str], list[str]]:
    """Return the names of the further columns with numbers, typed or written as text, and of those that number rows."""
    import pyarrow as pa

    reserved = {*PAIR_COLUMNS, *OPTIONAL_PAIR_COLUMNS}
    names: list[str] = []
    numbering: list[str] = []
    for name in pairs.table.column_names:
        column = pairs.table.column(name)
        if name in reserved or not name.strip():
            continue
        if _counts_rows(column) or not has_exact_floats(column):
            numbering.append(name)
        elif pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or _all_numbers(column):
            names.append(name)
    return names, numbering


def _counts_rows(column: pa.ChunkedArray) -> bool:
    """Tell whether a column is 0, 1, 2, … or 1, 2, 3, …: the row numbers that data frames write are no score."""
    values = [str(value) for value in column.to_pylist()]
    from_zero = [str(number) for number in range(len(values))]
    from_one = [str(number) for number in range(1, len(values) + 1)]
    # two rows may well be scored 0 and 1
    return len(values) > 2 and values in (from_zero, from_one)


def _all_numbers(column: pa.ChunkedArray) -> bool:
    """Tell whether every cell that is not empty reads as a number, and there is one."""
    values = [value for value in column.to_pylist() if value not in (None, "")]
    try:
        for value in values:
            float(value)
    except (TypeError, ValueError):
        return False
    return bool(values)


#: What a report is made of: a run folder, a file with a label and scores, or what :func:`assay.run` returned.
Run = str | Path | Result


@contextmanager
def open_runs(runs: Run | Sequence[Run]) -> Iterator[list[RunFolder]]:
    """Yield one run or several: folders, files with a label and scores (as ``assay agree`` reads them), or results.

    Args:
        runs: of any kind. A file, or a result that was not saved, becomes a folder for as long as the context lasts; a
            file whose columns have other names goes through ``assay agree FILE --columns … --out RUN`` first.

    Raises:
        InputError: a path is neither, or cannot be read.
    """
    listed = [runs] if isinstance(runs, Run) else list(runs)
    with tempfile.TemporaryDirectory(prefix="assay-") as scratch:
        yield [_open(run, Path(scratch) / str(number)) for number, run in enumerate(listed)]


def _open(run: Run, scratch: Path) -> RunFolder:
    if isinstance(run, Result):
        if run.folder is not None:
            return read_run(run.folder)
        write_run(run.outcome, scratch)
        return replace(read_run(scratch), source=Path(f"result {int(scratch.name) + 1}"))
    path = user_path(run)
    if path.is_dir() or not is_table_file(path):
        return read_run(path)
    folder = scratch / path.stem
    try:
        agree_file(path, resamples=0, out=folder)
    except MissingColumnsError as error:
        line = shlex.join(["assay", "agree", str(path), "--columns", error.columns, "--out", "RUN"])
        raise InputError(
            f"{error.problem} A report takes the names as they are; this makes a run of the file: {line}"
        ) from error
    return replace(read_run(folder), source=path)
