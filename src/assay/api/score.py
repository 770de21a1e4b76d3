"""``assay score``: add a column per metric to a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.api.decided import ScoredAnswers, score_by_decision
from assay.api.run import load_metrics, score_request
from assay.api.writing import check_existing_output, check_output_path, write_scored_lines, write_table
from assay.benchmark.request import Request
from assay.benchmark.settings import ScoreSettings
from assay.common.messages import Message, Setting, join_messages
from assay.common.progress import Silent
from assay.common.transfer import sha256_of
from assay.common.verbs import verb
from assay.datasets import Pairs, join_graphs, load_dataset, read_table_file
from assay.datasets.files import SUFFIXES, local_path_of
from assay.datasets.reading import Reading
from assay.exceptions import AssayError, InputError
from assay.paths import user_path
from assay.settings import GoldAnswers, Offline, OwnData

if TYPE_CHECKING:
    import pyarrow as pa

#: The columns that a decision adds beside the score.
PROBABILITY, EXPECTED_LABEL, DECISION = "probability", "expected_label", "decision"


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

    From JSONL to JSONL every object is copied unchanged, and the scores follow its last key. Otherwise every column has
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
        InputError: a file cannot be read or written or was changed meanwhile, *out* exists and is something else, a
            metric is unknown, the file already has a column of its name, or a setting would leave out rows.
        MissingExtraError: a file, such as a workbook, needs a package that is not installed.
        AssayError: no metric returned scores, or none is available; nothing is written.
    """
    if settings.decision is not None:
        return _score_by_decision(settings, settings.decision)
    file, out = _checked_paths(settings)
    progress = settings.progress or Silent()
    metrics, absent = load_metrics(settings.metrics, offline=settings.offline)
    source = read_table_file(file, encoding=settings.encoding, member=settings.member, columns=settings.columns)
    table = source.table
    pairs = load_dataset(file, **_reading_of(settings), allow_unlabelled=True)
    for hint in pairs.hints:
        progress.say(f"{file}: {hint}")
    _check_columns(settings, pairs, table, [str(metric) for metric in metrics])
    file_digest = pairs.sha256
    if settings.graphs is not None:
        pairs = join_graphs(pairs, settings.graphs)
    if settings.limit is not None:
        pairs, table = pairs.limit(settings.limit), table.slice(0, settings.limit)
    request_settings = settings.values_of(GoldAnswers, Offline)
    request = Request((pairs,), metrics, buckets=("none",), resamples=0, absent=absent, **request_settings)
    outcome = score_request(request, settings)
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
    _write(settings, table, scores, file_digest, is_log=bool(source.log))
    return failures


def _score_by_decision(settings: ScoreSettings, folder: str | Path) -> list[str]:
    """Write the scores of the metric of a decision, what they say of each answer, and whether that is yes or no.

    Args:
        settings: the settings of the verb.
        folder: the run folder of the decision.

    Returns:
        An empty list, since a metric without scores is an error here.

    Raises:
        InputError: as for :func:`score`; the metric has changed since, or a cost of asking is given without the costs
            of errors.
        AssayError: the metric cannot be built, is unavailable, or gave no scores.
    """
    file, out = _checked_paths(settings)
    progress = settings.progress or Silent()
    metric_name = str(settings.metrics[0]) if settings.metrics else None
    scored_answers = score_by_decision(settings, folder, metric_name, limit=settings.limit)
    decision, pairs = scored_answers.decision, scored_answers.pairs
    if settings.ask_cost is not None and (decision.costs is None or decision.kind == "mean"):
        raise InputError(
            "compares with the costs of a false yes and a false no, which the decision lacks: run recommend with ",
            Setting("cost", "fp=5,fn=1"),
            setting="ask_cost",
            value=settings.ask_cost,
        )
    for hint in scored_answers.hints:
        progress.say(f"{out}: {hint}")
    source = read_table_file(file, encoding=settings.encoding, member=settings.member, columns=settings.columns)
    table = source.table
    if settings.limit is not None:
        table = table.slice(0, settings.limit)
    columns = _columns_of_decision(scored_answers, settings.ask_cost)
    if decision.threshold is None:
        progress.say(f"{out}: no yes or no, since the decision has no threshold (recommend, --positive)")
    elif settings.ask_cost is not None:
        unsure_count = int(decision.should_ask(scored_answers.scores, settings.ask_cost).sum())
        progress.say(f"ask a person about {unsure_count:,} of {len(pairs):,} answers")
    _check_columns(settings, pairs, table, list(columns))
    _write(settings, table, columns, pairs.sha256, is_log=bool(source.log))
    return []


def _columns_of_decision(
    scored_answers: ScoredAnswers, ask_cost: float | None
) -> dict[str, NDArray[np.float64] | list[str]]:
    """Return the columns to add for N answers, by name, length N each.

    They are the score under the name of the metric, the probability of yes or else the expected label, and ``yes``,
    ``no`` or ``ask``, unless the decision has no threshold. Without a score the numbers are NaN and the word is empty.

    Args:
        scored_answers: the answers.
        ask_cost: the cost of asking a person; None never to ask.
    """
    decision, scores = scored_answers.decision, scored_answers.scores
    expected = decision.expectation.of(scores)
    columns: dict[str, NDArray[np.float64] | list[str]] = {decision.metric: scored_answers.unoriented_scores}
    if decision.kind == "share":
        columns[PROBABILITY] = expected
    else:
        columns[EXPECTED_LABEL] = decision.low + (decision.high - decision.low) * expected
    if decision.threshold is not None:
        words = np.where(decision.decide(scores), "yes", "no")
        if ask_cost is not None:
            words = np.where(decision.should_ask(scores, ask_cost), "ask", words)
        columns[DECISION] = ["" if np.isnan(score) else str(word) for score, word in zip(scores, words, strict=True)]
    return columns


def _checked_paths(settings: ScoreSettings) -> tuple[Path, Path]:
    """Return the paths of the file and of the output.

    Raises:
        InputError: the output has an unknown extension, is the file that is read, or cannot be written.
    """
    file, out = local_path_of(settings.file), user_path(str(settings.out))
    check_output_path(file, out)
    return file, out


def _reading_of(settings: ScoreSettings) -> dict[str, Any]:
    """Return the settings with which the file is read, by name.

    Raises:
        InputError: a setting would leave out rows.
    """
    reading = settings.values_of(OwnData)
    if reading.pop("drop_unlabelled"):
        raise InputError("every row of the file gets its scores, with a label or without", setting="drop_unlabelled")
    if reading["annotator"] is not None:
        raise InputError("every row of the file gets its scores", setting="annotator", value=settings.annotator)
    return reading


def _check_columns(settings: ScoreSettings, pairs: Pairs, table: pa.Table, added: list[str]) -> None:
    """Raise InputError if the output holds something else, or the file has a column that is to be added.

    Args:
        settings: the settings of the verb.
        pairs: the pairs of the file.
        table: the rows of the file, with all its columns.
        added: the names of the columns to add.
    """
    reading = Reading(settings.columns, settings.separator, settings.labels, missing=settings.missing)
    own_columns = [*table.column_names, PROBABILITY, EXPECTED_LABEL, DECISION]
    check_existing_output(user_path(str(settings.out)), pairs, own_columns, reading, spreadsheet=settings.spreadsheet)
    for name in added:
        if name in table.column_names:
            raise InputError(
                f"{settings.file}: has a column {name!r} already; rename it there, or leave that metric out"
            )


def _write(
    settings: ScoreSettings,
    table: pa.Table,
    columns: Mapping[str, NDArray[np.float64] | list[str]],
    digest: str,
    *,
    is_log: bool,
) -> None:
    """Write the rows of the file with further columns.

    Args:
        settings: the settings of the verb.
        table: the rows to write.
        columns: the columns to add, by name.
        digest: the SHA-256 of the file when it was scored.
        is_log: whether the file is the log of a harness, whose lines are no rows.

    Raises:
        InputError: the file has changed since, or the output cannot be written.
    """
    file, out = local_path_of(settings.file), user_path(str(settings.out))
    if not is_log and all(SUFFIXES.get(path.suffix.lower()) == "jsonl" for path in (file, out)):
        # the lines are copied from the file, so they must still be those that were scored
        if sha256_of(file) != digest:
            raise InputError(f"{file}: was changed while it was scored; run it again")
        write_scored_lines(file, columns, table.num_rows, out)
        return
    import pyarrow as pa

    for name, values in columns.items():
        # null for NaN
        table = table.append_column(name, pa.array(values, from_pandas=True))
    write_table(table, out, spreadsheet=settings.spreadsheet)
