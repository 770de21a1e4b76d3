"""Scores of texts that a run folder holds, computed anew."""

from __future__ import annotations

import shlex
import tempfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.benchmark.executor import InProcess
from assay.benchmark.outcome import MetricStatus
from assay.benchmark.prepared import Part, PreparedDataset
from assay.benchmark.progress import Progress
from assay.benchmark.recorded import read_recorded
from assay.benchmark.request import Request
from assay.benchmark.scoring import Scorer
from assay.benchmark.singles import Singles
from assay.benchmark.store import ScoreStore
from assay.benchmark.work import score_all
from assay.datasets import Pairs
from assay.errors import AssayError, InputError, UnavailableError
from assay.metrics import ColumnMetric, Metric, load_metric
from assay.metrics.recorded import Recorded
from assay.reports.data import ScoredDataset
from assay.reports.recomputed import Recomputed, hold_scores, not_recomputed

__all__ = ["Excerpt", "load_again", "rescore", "scores_now", "trust_option"]


@dataclass(frozen=True)
class _Chosen(Part):
    """Rows of a part that are scored; the metric is bound to the whole part, as its corpus decides scores."""

    whole: Part


class Excerpt(PreparedDataset):
    """A dataset of which some metrics score some pairs.

    Args:
        pairs: all pairs, n of them.
        metrics: names of what scores here; others have nothing to do.
        sample: how many pairs are scored, and at least one of each language; None for all.
        seed: chooses them.

    Attributes:
        rows: their numbers, in order.
    """

    def __init__(self, pairs: Pairs, metrics: Sequence[str], sample: int | None, seed: int) -> None:
        super().__init__(pairs, {}, 0, None)
        self._metrics = frozenset(metrics)
        self._all = sample is None or sample >= len(pairs)
        self._chosen: dict[tuple[bool, bool, bytes], Singles] = {}
        self.rows = np.arange(len(pairs)) if sample is None or self._all else _draw(pairs, sample, seed)

    def parts(self, metric: Metric) -> list[Part]:
        """See :class:`PreparedDataset`."""
        if str(metric) not in self._metrics:
            return []
        parts = super().parts(metric)
        if self._all:
            return parts
        return [
            _Chosen(self.rows if part.rows is None else np.intersect1d(part.rows, self.rows), part.language, part)
            for part in parts
        ]

    def taken(self, part: Part) -> Pairs:
        """Return all pairs of a part, those that are not scored as well."""
        return super().taken(part.whole if isinstance(part, _Chosen) else part)

    def singles(self, metric: Metric, part: Part) -> Singles:
        """See :class:`PreparedDataset`."""
        if not isinstance(part, _Chosen) or part.rows is None:
            return super().singles(metric, part)
        held = metric.declaration
        key = held.reads_question, held.reads_graphs, part.rows.tobytes()
        if key not in self._chosen:
            self._chosen[key] = Singles.read_by(metric, self.pairs.take(part.rows))
        return self._chosen[key]


def _draw(pairs: Pairs, sample: int, seed: int) -> NDArray[np.intp]:
    """Return the rows of a seeded sample; one of each language, so that a preset takes all its models."""
    place = f"{pairs.name}|{pairs.split}"
    rng = np.random.default_rng((seed, zlib.crc32(place.encode())))
    order = rng.permutation(len(pairs))
    chosen = order[:sample]
    if "language" in pairs.table.column_names:
        languages = np.array(pairs.table.column("language").to_pylist(), dtype=object)[order]
        chosen = np.concatenate([chosen, order[[languages.tolist().index(one) for one in set(languages)]]])
    return np.unique(chosen)


def rescore(
    asked: Request, excerpts: Sequence[Excerpt], metrics: Sequence[Metric], progress: Progress
) -> dict[tuple[str, str], MetricStatus]:
    """Score excerpts with metrics; the scores stand in the excerpts, shape (n,), NaN where a pair is not scored.

    The store that runs share is neither read nor written.

    Returns:
        How each metric fared, by dataset and metric.
    """
    request = replace(asked, pairs=tuple(one.pairs for one in excerpts), metrics=tuple(metrics))
    executor = InProcess()
    with tempfile.TemporaryDirectory(prefix="assay-") as scratch, ScoreStore(Path(scratch) / "scores.sqlite") as store:
        scorer = Scorer(store, executor, request.references, True, progress)
        try:
            statuses = score_all(request, list(excerpts), scorer)
        finally:
            executor.close()
    return {(one.dataset, one.metric): one for one in statuses}


def load_again(name: str, data: ScoredDataset, *, trusted: bool) -> Metric | AssayError:
    """Return the metric, or why it cannot be built any more, or not without trust in its code.

    Args:
        name: of the metric, as the run folder has it.
        data: the dataset that it scored.
        trusted: whether it may run code from outside of the installed packages.
    """
    signature = data.metrics[name].signature
    try:
        if signature.get("metric") == "recorded":
            # by its parts: the name of a column may hold what reads as options
            turned = signature.get("lower_is_better") == "true"
            return Recorded(subject=signature.get("subject", ""), lower_is_better=turned)
        metric = load_metric(name)
    except AssayError as error:
        return error
    code = metric.foreign_code()
    if code and not trusted:
        return UnavailableError(
            f"it would run code from outside of the installed packages ({code})",
            f"if you trust it: {trust_option(name)}",
        )
    return metric


def trust_option(name: str) -> str:
    """Return the option of ``assay verify`` that trusts a metric or dataset, quoted for a shell."""
    return f"--trust {shlex.quote(name)}"


def scores_now(
    loaded: Metric | AssayError,
    data: ScoredDataset,
    name: str,
    excerpt: Excerpt,
    status: MetricStatus | None,
    pairs: Pairs | None,
) -> Recomputed:
    """Hold the scores of a metric against those computed now, or read again."""
    if isinstance(loaded, AssayError):
        remedy = loaded.remedy if isinstance(loaded, UnavailableError) else ""
        return not_recomputed(loaded.reason if isinstance(loaded, UnavailableError) else str(loaded), remedy)
    then = data.scores[name]
    ids = data.table.column("pair_id").to_pylist()
    if isinstance(loaded, ColumnMetric):
        try:
            return hold_scores(then, _read_again(loaded, data, excerpt.pairs, pairs), ids, 0.0)
        except AssayError as error:
            return not_recomputed(str(error))
    if status is None or status.status != "done":
        return not_recomputed(status.reason if status else "", status.remedy if status else "")
    rows = excerpt.rows
    now = excerpt.scores[name]
    return hold_scores(then[rows], now[rows], [ids[row] for row in rows], loaded.declaration.tolerance)


def _read_again(metric: ColumnMetric, data: ScoredDataset, held: Pairs, pairs: Pairs | None) -> NDArray[np.float64]:
    """Return recorded scores of the pairs of a folder, shape (n,); NaN where the data has that pair no more.

    Raises:
        AssayError: they cannot be had.
    """
    import pyarrow.compute as pc

    # a file beside the data is joined with what the folder holds where the data is gone
    source = pairs if pairs is not None or metric.file is None else held
    if source is None:
        raise UnavailableError(f"{data.name} cannot be had, and a recorded score stands in the data alone")
    found = read_recorded(metric, source)
    if found is None:
        raise InputError(f"{data.name} has no column {metric.column!r} any more")
    place = pc.index_in(data.table.column("pair_id"), source.column("pair_id").combine_chunks())
    rows = place.to_numpy()
    known = np.isfinite(rows)
    again = np.full(len(data), np.nan)
    again[known] = found[rows[known].astype(np.intp)]
    return again
