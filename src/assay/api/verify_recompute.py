"""The data, scores and agreement of a run computed again, for ``verify``."""

from __future__ import annotations

import shlex
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.api.files import load_scored
from assay.benchmark.buckets import QUANTITIES, Bucket
from assay.benchmark.outcome import DatasetScores
from assay.benchmark.prepared import DatasetPart, PreparedDataset, read_recorded
from assay.benchmark.request import Request
from assay.benchmark.scoring import InProcess, Scorer
from assay.benchmark.singles import Singles
from assay.benchmark.store import ScoreStore
from assay.benchmark.tabulate import tabulate
from assay.benchmark.work import score_all
from assay.datasets import Pairs, join_graphs, load_card, load_dataset
from assay.datasets.columns import parse_columns
from assay.datasets.files import is_table_file
from assay.errors import AssayError, InputError, UnavailableError
from assay.manifest import AgreementRow, Manifest, MetricRecord
from assay.metrics import ColumnMetric, Metric, load_metric
from assay.metrics.recorded import Recorded
from assay.progress import Progress
from assay.reports.data import ScoredDataset
from assay.reports.verify import DataNow, Recomputed, compare_scores, not_recomputed
from assay.tables import PAIR_COLUMNS
from assay.transfer import sha256_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Excerpt", "load_again", "pairs_of", "reload", "rescore", "scores_now", "tabulate_again", "trust_option"]


# The agreement table of a run, computed from the scores, labels, groups and buckets that its folder holds.


def pairs_of(data: ScoredDataset) -> Pairs:
    """Return the pairs of a folder as they were scored."""
    table = data.table
    # a column that only other datasets of the run have
    empty = [
        name
        for name in table.column_names
        if name not in PAIR_COLUMNS and table.column(name).null_count == table.num_rows
    ]
    facts = data.facts
    return Pairs(
        table.drop_columns(empty),
        name=data.name,
        version=facts.version,
        split=facts.split,
        language=facts.language,
    )


def tabulate_again(
    asked: Request, data: ScoredDataset, pairs: Pairs, names: Sequence[str], progress: Progress
) -> list[AgreementRow]:
    """Return the agreement table of one dataset, computed from what the folder holds."""
    rules = _rules(asked.buckets, data.buckets)
    buckets = tuple(Bucket(name, mask, rules.get(name, "")) for name, mask in data.buckets.items())
    scores = {name: data.oriented(name) for name in names}
    group = data.facts.group
    if group and "group" in pairs.table.column_names:
        # as newer folders keep it, whatever the source calls it
        group = "group"
    rows, _ = tabulate(asked, DatasetScores(pairs, 0, group, scores, buckets), progress)
    return rows


def _rules(asked: Sequence[str], masks: Mapping[str, NDArray[np.bool_]]) -> dict[str, str]:
    """Return which buckets a rule that names a column made: over these a mean is taken."""
    found = {}
    for place, rule in enumerate(asked):
        if not rule.isidentifier() or rule in QUANTITIES:
            continue
        # a bucket belongs to the first rule that makes it
        before = {other for one in asked[:place] for other in (one, one.replace("!=", "="))}
        own = [name for name in masks if name.startswith(f"{rule}=")]
        for name in own:
            # the cross product with another rule begins alike
            crossed = any(name.startswith(f"{one}+") and not (masks[name] & ~masks[one]).any() for one in own)
            if not crossed and name not in before:
                found[name] = rule
    return found


# Scores of texts that a run folder holds, computed anew.


@dataclass(frozen=True)
class _Chosen(DatasetPart):
    """Rows of a part that are scored; the metric is bound to the whole part, as its corpus decides scores."""

    whole: DatasetPart


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

    def parts(self, metric: Metric) -> list[DatasetPart]:
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

    def taken(self, part: DatasetPart) -> Pairs:
        """Return all pairs of a part, those that are not scored as well."""
        return super().taken(part.whole if isinstance(part, _Chosen) else part)

    def singles(self, metric: Metric, part: DatasetPart) -> Singles:
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
) -> dict[tuple[str, str], MetricRecord]:
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
            records = score_all(request, list(excerpts), scorer)
        finally:
            executor.close()
    return {(record.dataset, record.metric): record for record in records}


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
    status: MetricRecord | None,
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
            return compare_scores(then, _read_again(loaded, data, excerpt.pairs, pairs), ids, 0.0)
        except AssayError as error:
            return not_recomputed(str(error))
    if status is None or not status.is_done:
        return not_recomputed(status.reason if status else "", status.remedy if status else "")
    rows = excerpt.rows
    now = excerpt.scores[name]
    return compare_scores(then[rows], now[rows], [ids[row] for row in rows], loaded.declaration.tolerance)


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


# The data of a run as its source gives it now.


def reload(data: ScoredDataset, asked: Request, manifest: Manifest, *, trusted: bool) -> tuple[DataNow, Pairs | None]:
    """Load a dataset of a run again, and hold it against what the run used.

    A card is found by its name and version, a file where the run found it, and so are files of graphs; the columns are
    those of the command line that the run recorded.

    Args:
        data: the dataset in the run folder.
        asked: what the run was asked: duplicates and limit choose the rows, graphs belong to them.
        manifest: what else the run recorded.
        trusted: whether a card may be read from a file that the run names; otherwise only registered cards are.

    Returns:
        What became of it, and all its rows; None where it cannot be had.
    """
    facts = data.facts
    source = facts.source
    path = Path(source)
    own = not facts.version and is_table_file(source)
    if not facts.version and not own:
        return DataNow(data.name, "not to be had", source, {}, "it was never a file or a dataset with a card"), None
    if own and not path.is_file():
        why = "there is no such file, seen from this folder"
        return DataNow(data.name, "not to be had", source, {}, why), None
    if not own and _card_name(data).endswith(".toml") and not trusted:
        why = f"its card is a file that the run names, and is not read; if you trust it: {trust_option(data.name)}"
        return DataNow(data.name, "not to be had", source, {}, why), None
    lost = next((file for files in asked.graphs.values() for file in files if not Path(file).is_file()), None)
    if lost is not None:
        why = f"there is no such file of graphs, seen from this folder: {lost}"
        return DataNow(data.name, "not to be had", source, {}, why), None
    untouched = own and not asked.graphs and sha256_of(path) == facts.sha256
    try:
        pairs = _from_file(data, path, manifest.environment.argv) if own else _from_card(data, asked.offline)
        pairs = join_graphs(pairs, asked.graphs) if asked.graphs else pairs
        return _hold(data, pairs, asked, manifest, source), pairs
    except AssayError as error:
        if untouched:
            return DataNow(data.name, "same", source, {}, f"by its checksum; it could not be read again: {error}"), None
        return DataNow(data.name, "changed" if own else "not to be had", source, {}, str(error)), None


def _card_name(data: ScoredDataset) -> str:
    # two versions or splits in one run have these in their names
    return data.name.partition("@")[0].partition(":")[0]


def _from_card(data: ScoredDataset, offline: bool) -> Pairs:
    card = load_card(_card_name(data), data.facts.version)
    return load_dataset(card, split=data.facts.split or None, offline=offline)


def _from_file(data: ScoredDataset, path: Path, argv: list[str]) -> Pairs:
    # runs of before kept no more than their command line
    columns = data.facts.columns or None if "columns" in data.facts.model_fields_set else _columns_of(argv)
    if data.facts.split:
        return load_dataset(path, columns=columns, split=data.facts.split)
    pairs, absent = load_scored(path, parse_columns(columns))
    for name in absent:
        # a run of score columns alone has no texts
        if any(any(cell) if isinstance(cell, list) else cell for cell in data.table.column(name).to_pylist()):
            raise InputError(f"{path}: has no column {name!r}, and the run does not say which one it was")
    return pairs


def _columns_of(argv: list[str]) -> str | None:
    """Return what ``--columns`` was, as far as the run recorded its command line."""
    for word, following in pairwise([*argv, ""]):
        if word == "--columns":
            return following
        if word.startswith("--columns="):
            return word.removeprefix("--columns=")
    return None


def _hold(data: ScoredDataset, pairs: Pairs, asked: Request, manifest: Manifest, source: str) -> DataNow:
    used = pairs.drop_duplicates()[0] if asked.drop_duplicates else pairs
    used = used.limit(asked.limit)
    counts = {what: count for what, count in _count_differences(data, used).items() if count}
    if used.digest != data.facts.digest:
        says = "" if counts else "the same texts and labels; their order, or annotations, are others"
        return DataNow(data.name, "changed", source, counts, says)
    if counts:
        return DataNow(data.name, "folder changed", source, counts, "the source gives what it gave then")
    then = next((one.other_columns for one in manifest.request.datasets if one.name == data.name), None)
    further = then not in (None, pairs.other_digest)
    return DataNow(data.name, "same", source, {}, "further columns changed" if further else "")


def _count_differences(data: ScoredDataset, now: Pairs) -> dict[str, int]:
    """Count rows that are gone or new, and by column those whose cell is another one."""
    import pyarrow.compute as pc

    then = data.table
    ids = now.table.column("pair_id").combine_chunks()
    place = pc.index_in(then.column("pair_id").combine_chunks(), ids)
    gone = place.null_count
    counts = {"rows gone": gone, "rows new": len(now) - (len(then) - gone)}
    kept = then.filter(pc.is_valid(place))
    rows = pc.drop_null(place)
    for name in then.column_names:
        if name == "pair_id":
            continue
        # what was resampled as a whole stands under one name in every folder
        column = data.facts.group if name == "group" and data.facts.group else name
        before = _cells(kept.column(name))
        try:
            after = _cells(now.column(column).take(rows))
        except InputError:
            after = [None] * len(before)
        counts[f"other {column}"] = sum(one != other for one, other in zip(before, after, strict=True))
    return counts


def _cells(column: pa.ChunkedArray) -> list[Any]:
    """Return cells in one form, however the source typed them: numbers, lists of gold answers, otherwise text."""
    import pyarrow as pa

    cells: list[Any]
    if pa.types.is_floating(column.type):
        cells = column.to_pylist()
    elif pa.types.is_nested(column.type):
        # one gold answer is as good as a list of one
        cells = [cell[0] if cell and len(cell) == 1 else cell for cell in column.to_pylist()]
    else:
        cells = column.cast(pa.string()).to_pylist()
    return cells
