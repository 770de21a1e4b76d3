"""``assay score``: add a column per metric to a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from assay.api.run import executor_for, load_metrics
from assay.api.writing import check_existing_output, check_output_path, write_scored_lines, write_table
from assay.benchmark.request import Request
from assay.benchmark.runner import score_pairs
from assay.benchmark.settings import ScoreSettings
from assay.common.messages import Message, join_messages
from assay.common.progress import Silent
from assay.common.transfer import sha256_of
from assay.datasets import join_graphs, load_dataset, read_table_file
from assay.datasets.files import SUFFIXES, local_path_of
from assay.datasets.reading import Reading
from assay.exceptions import AssayError, InputError
from assay.paths import user_path
from assay.settings import (
    GoldAnswers,
    Offline,
    OwnData,
    verb,
)

if TYPE_CHECKING:
    import pyarrow as pa


@verb(
    ScoreSettings,
    (
        "Add a column per metric to a file of pairs; rows and all other columns stay as they are.\n\nFrom "
        "JSONL to JSONL not a character of them changes; in other formats an absent key is an empty cell, and"
        " a list is JSON. Scores of the same pairs in the file of --out are replaced, nothing else is."
    ),
    "assay score answers.csv --columns reference=gold,candidate=answer -m f1 -m chrf --out scored.csv",
)
def score(settings: ScoreSettings) -> list[str]:
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
    table = read_table_file(file, encoding=settings.encoding, member=settings.member, columns=settings.columns).table
    reading_settings = settings.values_of(OwnData)
    if reading_settings.pop("drop_unlabelled"):
        raise InputError("every row of the file gets its scores, with a label or without", setting="drop_unlabelled")
    if reading_settings["annotator"] is not None:
        raise InputError("every row of the file gets its scores", setting="annotator", value=settings.annotator)
    pairs = load_dataset(file, **reading_settings, allow_unlabelled=True)
    for hint in pairs.hints:
        progress.say(f"{file}: {hint}")
    reading = Reading(settings.columns, settings.separator, settings.labels, missing=settings.missing)
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
    with executor_for(settings) as executor:
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
