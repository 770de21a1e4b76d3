"""New answers scored by the metric that a run folder decides by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from assay.analysis.data import ScoredDataset, choose_datasets
from assay.analysis.folder import read_run
from assay.analysis.rate.settings import AnnotateSettings, RateSettings
from assay.analysis.recommend.decision import MetricDecision, read_decision
from assay.api.run import score_request
from assay.benchmark.recompute import rebuild_metric, typed_metric_name
from assay.benchmark.reload import trust_option
from assay.benchmark.request import Request
from assay.benchmark.settings import ScoreSettings
from assay.common.messages import Message, Setting
from assay.common.progress import Silent
from assay.common.tables import is_text
from assay.datasets import Pairs, join_graphs, load_dataset, read_table_file
from assay.datasets.columns import parse_columns
from assay.datasets.files import local_path_of
from assay.datasets.gold_answers import likely_separator
from assay.exceptions import AssayError, InputError, UnavailableError
from assay.manifest import identity_of
from assay.metrics import Metric, MetricName
from assay.paths import user_path
from assay.settings import OwnData
from assay.statistics.concordance import Floats


@dataclass(frozen=True, eq=False)
class ScoredAnswers:
    """N new answers with their scores.

    Attributes:
        decision: the decision by which they were scored.
        data: the labelled dataset of the decision.
        pairs: the new answers.
        scores: their oriented scores, shape (N,); NaN for a missing one.
        unoriented_scores: their scores as the metric gives them.
        hints: lines on how they were read, on packages that have another version than when the labelled ones were
            scored, and on what the metric noted of some.
    """

    decision: MetricDecision
    data: ScoredDataset
    pairs: Pairs
    scores: Floats
    unoriented_scores: Floats
    hints: tuple[str, ...]


#: The settings of verbs that read new answers from a file.
NewAnswers: TypeAlias = RateSettings | AnnotateSettings | ScoreSettings


def score_by_decision(
    settings: NewAnswers, folder: str | Path, metric_name: str | None, *, limit: int | None = None
) -> ScoredAnswers:
    """Return the new answers of a file with the scores of the metric that a run folder decides by.

    They are read as the labelled answers were, unless the settings say otherwise. The progress shows a line if the
    metric of the folder is not known to agree with people.

    Args:
        settings: the file of the new answers, and the settings of own data, graphs and scoring.
        folder: the run folder.
        metric_name: the metric of the folder that the user has named, by its label or as it was typed for the run; None
            for that of the folder.
        limit: the number of answers to score, the first of the file; None for all.

    Raises:
        InputError: the folder cannot be read or names no metric, the file cannot be read, the metric would run code or
            call a server and the user has not named it, or it is another one now, such as a model with other weights.
        MissingExtraError: a file, such as a workbook, needs a package that is not installed.
        AssayError: the metric cannot be built, is unavailable, or gave no scores; or scores cannot be stored.
    """
    progress = settings.progress or Silent()
    run = read_run(user_path(folder))
    label = metric_name
    if metric_name is not None and metric_name in run.manifest.request.metrics:
        label = str(MetricName.parse(metric_name))
    decision = read_decision(run, label)
    (data,) = choose_datasets(run, (decision.dataset,))
    metric = _trusted_metric(decision, data, metric_name)
    pairs = load_new_answers(settings, data)
    if limit is not None:
        pairs = pairs.limit(limit)
    request = Request(
        (pairs,),
        (metric,),
        buckets=("none",),
        resamples=0,
        references=run.manifest.request.references,
        offline=settings.offline,
    )
    outcome = score_request(request, settings)
    (record,) = outcome.metrics
    if not record.is_done:
        raise UnavailableError(Message(f"{record.metric}: ", record.reason), record.remedy)
    if not decision.recommended and metric_name is None:
        progress.say(
            f"{decision.metric}: is not known to agree with people on these labels; no metric agrees better with them"
        )
    hints = [*pairs.hints, *_version_changes(decision, record.signature)]
    hints += [f"{count:,} of {len(pairs):,} new answers: {flag}" for flag, count in record.flags.items() if count]
    (scores,) = outcome.datasets[0].scores.values()
    oriented = scores if record.declared.higher_is_better else -scores
    return ScoredAnswers(decision, data, pairs, np.asarray(oriented, dtype=np.float64), scores, tuple(hints))


def _trusted_metric(decision: MetricDecision, data: ScoredDataset, metric_name: str | None) -> Metric:
    """Return the metric of a decision, which is trusted if the user has written all of its name.

    A label is not enough: the folder, which may be somebody else's, says what it stands for.

    Args:
        decision: the decision.
        data: its labelled dataset.
        metric_name: the metric that the user has named, as it was written; None if none.

    Raises:
        InputError: it would run code or call a server, and the user has not named it.
        AssayError: it cannot be built.
    """
    typed_name = typed_metric_name(decision.metric, data.run.manifest.request.metrics)
    metric = rebuild_metric(decision.metric, data, trusted=metric_name == typed_name)
    if isinstance(metric, UnavailableError) and trust_option(decision.metric) in metric.remedy:
        raise InputError(
            f"{data.run.title}: decides by {decision.metric}, which runs code or calls a server; if you trust it, add ",
            Setting("metric", typed_name),
        )
    if isinstance(metric, AssayError):
        raise metric
    return metric


def _version_changes(decision: MetricDecision, signature: Mapping[str, str]) -> list[str]:
    """Return a line on how a signature differs from that of the labelled answers, as a list; empty without a change.

    A changed path of the same files is none.

    Args:
        decision: the decision, with the signature of its metric when the labelled answers were scored.
        signature: the signature of the metric now.

    Raises:
        InputError: something else differs, so that the scores do not mean what they meant.
    """
    if identity_of(signature, versions=True) == identity_of(decision.signature, versions=True):
        return []
    changed = []
    for key in sorted({*signature, *decision.signature}):
        if signature.get(key) != decision.signature.get(key):
            # of digests, the first characters tell them apart
            value_then, value_now = (part.get(key, "none")[:16] for part in (decision.signature, signature))
            changed.append(f"{key} {value_then} then, {value_now} now")
    if identity_of(signature) != identity_of(decision.signature):
        raise InputError(
            f"{decision.metric}: is another metric than the labelled answers were scored by ({'; '.join(changed)}); "
            "run assay recommend again"
        )
    return [f"{decision.metric}: {'; '.join(changed)}"]


def load_new_answers(settings: NewAnswers, data: ScoredDataset) -> Pairs:
    """Return the answers of a file, read as the labelled answers were unless the settings say otherwise.

    Columns of labels are left out if the file lacks them. If it has other columns of texts, they are recognised as in
    any file; and so is what stands between several gold answers if the labelled answers had lists of them, as those
    of a sheet of ``assay annotate``. The encoding and the member are those of one file and are not taken over. No row
    is left out, with a label or without.

    Args:
        settings: the file, and how it is read.
        data: the labelled answers, with how they were read.

    Raises:
        InputError: the file cannot be read, or lacks a column of texts; or a graph cannot be read.
        MissingExtraError: a package is not installed that the file, such as a workbook, or the graphs need.
    """
    facts = data.facts
    file = local_path_of(settings.file)
    reading = settings.values_of(OwnData)
    # no row of new answers is left out, with a label or without
    reading.pop("drop_unlabelled")
    for name in ("separator", "labels", "missing", "annotator"):
        reading[name] = reading[name] if reading[name] is not None else getattr(facts, name)
    if reading["language"] is None:
        reading["language"] = facts.language
    columns = reading["columns"] or facts.columns or None
    names = read_table_file(
        file, encoding=reading["encoding"], member=reading["member"], columns=columns
    ).table.column_names
    # new answers may lack the column that says who labelled which row
    if reading["annotator"] not in (None, *names):
        reading["annotator"] = None
    if reading["columns"] is None:
        # those of the labelled answers, unless the file lacks one of texts
        mapping = parse_columns(columns)
        present = {role: sources for role, sources in mapping.items() if set(sources) <= set(names)}
        if {"reference", "candidate"} & mapping.keys() <= present.keys():
            reading["columns"] = {role: source[0] if len(source) == 1 else source for role, source in present.items()}
    pairs = load_dataset(file, **reading, allow_unlabelled=True)
    labelled_references = data.table["reference"].to_pylist()
    had_several = any(isinstance(answers, list) and len(answers) > 1 for answers in labelled_references)
    if had_several and reading["separator"] is None and is_text(pairs.table["reference"].type):
        separator = likely_separator(pairs.table["reference"], pairs.table["candidate"])
        if separator is not None:
            pairs = load_dataset(file, **reading | {"separator": separator}, allow_unlabelled=True)
            option = Setting("separator", separator).with_flag({})
            hint = (
                f"read with {option}, since the labelled answers have several gold answers each; say --separator "
                "if not so"
            )
            pairs = replace(pairs, hints=(hint, *pairs.hints))
    return join_graphs(pairs, settings.graphs) if settings.graphs is not None else pairs
