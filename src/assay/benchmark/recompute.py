"""Recomputation of the scores and agreement of a run, for ``verify``."""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.analysis.data import ScoredDataset
from assay.analysis.verify import Recomputation, compare_scores, missing_recomputation
from assay.benchmark.adjusted import make_controls
from assay.benchmark.buckets import QUANTITIES, Bucket, usable_rules
from assay.benchmark.executor import InProcess
from assay.benchmark.prepared import DatasetPart, PreparedDataset, read_recorded
from assay.benchmark.records import DatasetScores
from assay.benchmark.reload import reason_not_to_open, trust_option
from assay.benchmark.request import Request
from assay.benchmark.scoring import Scorer
from assay.benchmark.singles import Singles
from assay.benchmark.store import ScoreStore
from assay.benchmark.tabulate import tabulate
from assay.benchmark.work import score_all
from assay.common.progress import Progress
from assay.common.tables import PAIR_COLUMNS
from assay.datasets import Pairs
from assay.exceptions import AssayError, InputError, UnavailableError
from assay.manifest import AgreementRow, MetricRecord
from assay.metrics import ColumnMetric, Metric, load_metric
from assay.metrics.combined import Combined
from assay.metrics.load import UntrustedMetricError, load_untrusted_metric
from assay.metrics.recorded import Recorded
from assay.paths import path_exists


def stored_pairs(data: ScoredDataset) -> Pairs:
    """Return the pairs of one dataset in a run folder, as they were scored.

    Optional columns that are null in every row are dropped, since only other datasets of the run have them.
    """
    table = data.table
    empty_columns = []
    for name in table.column_names:
        if name not in PAIR_COLUMNS and table.column(name).null_count == table.num_rows:
            empty_columns.append(name)
    facts = data.facts
    return Pairs(
        table.drop_columns(empty_columns),
        name=data.name,
        version=facts.version,
        split=facts.split,
        language=facts.language,
    )


def recompute_agreement(
    request: Request, data: ScoredDataset, pairs: Pairs, names: Sequence[str], progress: Progress
) -> list[AgreementRow]:
    """Return the agreement rows of one dataset, recomputed from the scores, labels and buckets in the folder.

    Args:
        request: the settings of the run.
        data: the dataset in the run folder.
        pairs: the same dataset as pairs.
        names: the metrics to compare with the labels.
        progress: receives the progress of the work.

    Raises:
        InputError: a control cannot be read, or makes too many strata; the column of groups is missing or holds lists.
    """
    rules = _column_rules_by_bucket(request.buckets, data.buckets)
    buckets = tuple(Bucket(name, mask, rules.get(name, "")) for name, mask in data.buckets.items())
    scores = {name: data.oriented_scores(name) for name in names}
    group_column = data.facts.group
    if group_column and "group" in pairs.table.column_names:
        # newer folders store the groups under this name, whatever the source calls the column
        group_column = "group"
    usable_controls = usable_rules(pairs, request.controls)[0]
    controls = make_controls(pairs, usable_controls, partial(_token_f1_scores, request, data, pairs, progress))
    rows, _ = tabulate(
        request,
        DatasetScores(
            pairs, duplicates_dropped=0, group_column=group_column, scores=scores, buckets=buckets, controls=controls
        ),
        progress,
    )
    return rows


def _token_f1_scores(request: Request, data: ScoredDataset, pairs: Pairs, progress: Progress) -> NDArray[np.float64]:
    """Return the token F1 of every pair, shape (n,): the scores in the run folder if it has them, else computed."""
    metric = load_metric("f1")
    if str(metric) in data.scores:
        return data.scores[str(metric)]
    excerpt = Excerpt(pairs, [str(metric)], sample=None, seed=0)
    recompute_scores(request, [excerpt], [metric], progress)
    return excerpt.scores[str(metric)]


def _column_rules_by_bucket(rules: Sequence[str], masks: Mapping[str, NDArray[np.bool_]]) -> dict[str, str]:
    """Return the rule of each bucket that was made by a rule that is just the name of a column, by bucket.

    Such a rule makes one bucket per value of its column, and the agreement table has a mean over these buckets.

    Args:
        rules: the bucket rules of the run, in order.
        masks: for each bucket, which pairs are in it, shape (n,).
    """
    rule_by_bucket = {}
    earlier_buckets: set[str] = set()
    for rule in rules:
        value_buckets = [name for name in masks if name.startswith(f"{rule}=")]
        if rule.isidentifier() and rule not in QUANTITIES:
            for name in value_buckets:
                # a bucket belongs to the first rule that names it
                if name not in earlier_buckets and not _is_product(name, value_buckets, masks):
                    rule_by_bucket[name] = rule
        # a rule such as a!=1 makes the bucket a=1 as well
        earlier_buckets |= {rule, rule.replace("!=", "=")}
    return rule_by_bucket


def _is_product(name: str, buckets: Sequence[str], masks: Mapping[str, NDArray[np.bool_]]) -> bool:
    """Tell whether a bucket is the intersection of one of the others with a further rule: ``a=1+b=2`` for ``a=1``.

    A value may itself contain ``+``, so that the name is not enough: all pairs must be in the other bucket, too.
    """
    for other in buckets:
        has_pairs_outside = (masks[name] & ~masks[other]).any()
        if name.startswith(f"{other}+") and not has_pairs_outside:
            return True
    return False


@dataclass(frozen=True)
class _SampledPart(DatasetPart):
    """The sampled rows of a part of a dataset.

    Attributes:
        full_part: the part with all its rows, to which metrics are still bound, since its corpus affects their scores.
    """

    full_part: DatasetPart


class Excerpt(PreparedDataset):
    """A dataset in which only a sample of the pairs is scored, and only by some of the metrics.

    Args:
        pairs: all n pairs.
        metrics: the names of the metrics that score this dataset; others skip it.
        sample: the number of pairs to score, plus one of each language that would be missing; None for all pairs.
        seed: the seed of the sample.

    Attributes:
        rows: the indices of the scored pairs, ascending.
    """

    def __init__(self, pairs: Pairs, metrics: Sequence[str], sample: int | None, seed: int) -> None:
        super().__init__(pairs, recorded={}, dropped=0, group_column=None)
        self._metric_names = frozenset(metrics)
        self._is_complete = sample is None or sample >= len(pairs)
        self._sampled_singles: dict[tuple[bool | bytes, ...], Singles] = {}
        self.rows = np.arange(len(pairs)) if sample is None or self._is_complete else _sampled_rows(pairs, sample, seed)

    def parts(self, metric: Metric) -> list[DatasetPart]:
        """Return the parts that a metric scores, each cut down to the sample; none for a metric that must not score."""
        if str(metric) not in self._metric_names:
            return []
        parts = super().parts(metric)
        if self._is_complete:
            return parts
        sampled: list[DatasetPart] = []
        for part in parts:
            rows = self.rows if part.rows is None else np.intersect1d(part.rows, self.rows)
            sampled.append(_SampledPart(rows, part.language, part))
        return sampled

    def pairs_of(self, part: DatasetPart) -> Pairs:
        """Return all pairs of a part, including those outside the sample."""
        return super().pairs_of(part.full_part if isinstance(part, _SampledPart) else part)

    def singles(self, metric: Metric, part: DatasetPart) -> Singles:
        """Return the distinct pairs among the sampled rows of a part; metrics that read the same fields share them."""
        if not isinstance(part, _SampledPart) or part.rows is None:
            return super().singles(metric, part)
        key: tuple[bool | bytes, ...] = (*metric.declaration.reads, part.rows.tobytes())
        if key not in self._sampled_singles:
            self._sampled_singles[key] = Singles(self.pairs.take(part.rows), metric.declaration)
        return self._sampled_singles[key]


def _sampled_rows(pairs: Pairs, sample: int, seed: int) -> NDArray[np.intp]:
    """Return the row indices of a random sample, ascending, with at least one row of each language.

    This way every model of a preset with one model per language is verified.
    """
    # seeded by name and split, so that each dataset of a run has its own sample
    dataset_seed = zlib.crc32(f"{pairs.name}|{pairs.split}".encode())
    rng = np.random.default_rng((seed, dataset_seed))
    random_order = rng.permutation(len(pairs))
    sampled_rows = random_order[:sample]
    if "language" in pairs.table.column_names:
        languages = np.array(pairs.table.column("language").to_pylist(), dtype=object)[random_order]
        first_rows = [languages.tolist().index(language) for language in set(languages)]
        sampled_rows = np.concatenate([sampled_rows, random_order[first_rows]])
    return np.unique(sampled_rows)


def recompute_scores(
    request: Request, excerpts: Sequence[Excerpt], metrics: Sequence[Metric], progress: Progress
) -> dict[tuple[str, str], MetricRecord]:
    """Score excerpts with metrics, and write the scores into the excerpts, shape (n,), with NaN for pairs not scored.

    The shared score store is neither read nor written.

    Args:
        request: the settings of the run; its datasets and metrics are not used.
        excerpts: the pairs to score.
        metrics: the metrics that score them.
        progress: receives the progress of the work.

    Returns:
        The record of each metric on each dataset, by the names of dataset and metric.

    Raises:
        StoreError: the temporary store cannot be written, such as on a full disk.
    """
    request_of_excerpts = replace(request, pairs=tuple(excerpt.pairs for excerpt in excerpts), metrics=tuple(metrics))
    executor = InProcess()
    with (
        tempfile.TemporaryDirectory(prefix="assay-") as temporary,
        ScoreStore(Path(temporary) / "scores.sqlite") as store,
    ):
        scorer = Scorer(store, executor, request.references, fresh=True, progress=progress)
        try:
            records = score_all(request_of_excerpts, list(excerpts), scorer, progress.say)
        finally:
            executor.close()
    return {(record.dataset, record.metric): record for record in records}


def rebuild_metric(name: str, data: ScoredDataset, *, trusted: bool) -> Metric | AssayError:
    """Return a metric of a run, or the error if it cannot be built, or would run code or follow a link without trust.

    Args:
        name: the name of the metric in the run folder.
        data: a dataset that it scored.
        trusted: whether the metric may run code from outside the installed packages, or read the target of a link.
    """
    signature = data.metrics[name].signature
    try:
        if signature.get("metric") == "recorded":
            # built from its parts, since a column name may contain what a metric name would have as options
            lower_is_better = signature.get("lower_is_better") == "true"
            recorded = Recorded(subject=signature.get("subject", ""), lower_is_better=lower_is_better)
            reason = ""
            if recorded.file is not None and path_exists(recorded.file):
                reason = reason_not_to_open(recorded.file, name, trusted=trusted)
            return UnavailableError(reason) if reason else recorded
        typed_name = typed_metric_name(name, data.run.manifest.request.metrics)
        metric = load_metric(typed_name) if trusted else load_untrusted_metric(typed_name)
        if isinstance(metric, Combined):
            return metric.version_with_digest(signature.get("combination", ""))
        return metric
    except UntrustedMetricError as error:
        return UnavailableError(
            f"it would run code from outside of the installed packages ({error.reached})",
            f"if you trust it: {trust_option(name)}",
        )
    except AssayError as error:
        return error


def typed_metric_name(name: str, typed_names: Sequence[str]) -> str:
    """Return the name of a metric as the user typed it: ``LABEL=METRIC`` for a metric that is recorded as LABEL."""
    return next((typed_name for typed_name in typed_names if typed_name.startswith(f"{name}=")), name)


def verify_scores(
    metric: Metric | AssayError,
    data: ScoredDataset,
    name: str,
    excerpt: Excerpt,
    status: MetricRecord | None,
    pairs: Pairs | None,
) -> Recomputation:
    """Compare the scores of the run with scores computed now, or read again from the data.

    If there are no new scores, the result has the reason instead, and a remedy if one is known.

    Args:
        metric: the metric, or the error that kept it from being built.
        data: the dataset in the run folder.
        name: the name of the metric.
        excerpt: the pairs that were scored now, with their scores.
        status: the record of scoring now; None if the metric did not score.
        pairs: the dataset as reloaded from its source; None if that is unavailable.
    """
    if isinstance(metric, AssayError):
        remedy = metric.remedy if isinstance(metric, UnavailableError) else ""
        return missing_recomputation(metric.reason if isinstance(metric, UnavailableError) else metric.message, remedy)
    recorded_scores = data.scores[name]
    ids = data.table.column("pair_id").to_pylist()
    if isinstance(metric, ColumnMetric):
        try:
            reread_scores = _reread_scores(metric, data, excerpt.pairs, pairs)
            return compare_scores(recorded_scores, reread_scores, ids, tolerance=0.0)
        except AssayError as error:
            return missing_recomputation(error.message)
    if status is None or not status.is_done:
        return missing_recomputation(status.reason if status else "", status.remedy if status else "")
    rows = excerpt.rows
    recomputed_scores = excerpt.scores[name]
    return compare_scores(
        recorded_scores[rows], recomputed_scores[rows], [ids[row] for row in rows], metric.declaration.tolerance
    )


def _reread_scores(
    metric: ColumnMetric, data: ScoredDataset, folder_pairs: Pairs, pairs: Pairs | None
) -> NDArray[np.float64]:
    """Read recorded scores again from their source, shape (n,); NaN for pairs that the source no longer has.

    Args:
        metric: the metric that reads the scores.
        data: the dataset in the run folder, n pairs.
        folder_pairs: the pairs in the run folder.
        pairs: the dataset as reloaded from its source; None if that is unavailable.

    Raises:
        AssayError: the scores are unavailable.
    """
    import pyarrow.compute as pc

    # scores in a file of their own can still be joined with the pairs in the folder
    source = pairs if pairs is not None or metric.file is None else folder_pairs
    if source is None:
        raise UnavailableError(f"{data.name} is unavailable, and its recorded scores are nowhere else")
    recorded_scores = read_recorded(metric, source)
    if recorded_scores is None:
        raise InputError(f"{data.name} has no column {metric.column!r} any more")
    rows = pc.index_in(data.table.column("pair_id"), source.column("pair_id").combine_chunks()).to_numpy()
    is_found = np.isfinite(rows)
    scores = np.full(len(data), np.nan)
    scores[is_found] = recorded_scores[rows[is_found].astype(np.intp)]
    return scores
