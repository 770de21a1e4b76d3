"""Recomputation of the data, scores and agreement of a run, for ``verify``."""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.analysis.data import ScoredDataset
from assay.analysis.verify import Recomputation, ReloadedData, compare_scores, missing_recomputation
from assay.benchmark.adjusted import make_controls
from assay.benchmark.buckets import QUANTITIES, Bucket, usable_rules
from assay.benchmark.executor import InProcess
from assay.benchmark.prepared import DatasetPart, PreparedDataset, read_recorded
from assay.benchmark.records import DatasetScores
from assay.benchmark.request import Request
from assay.benchmark.scoring import Scorer
from assay.benchmark.singles import Singles
from assay.benchmark.store import ScoreStore
from assay.benchmark.tabulate import tabulate
from assay.benchmark.work import score_all
from assay.common.addresses import is_address
from assay.common.messages import Message, Setting
from assay.common.progress import Progress
from assay.common.tables import PAIR_COLUMNS
from assay.datasets import Pairs, join_graphs, load_card, load_dataset
from assay.datasets.files import digest_of_files, is_table_file
from assay.datasets.reading import Reading
from assay.datasets.scored import load_scored_pairs
from assay.exceptions import AssayError, InputError, UnavailableError
from assay.manifest import AgreementRow, Manifest, MetricRecord
from assay.metrics import ColumnMetric, Metric, load_metric
from assay.metrics.combined import Combined
from assay.metrics.load import UntrustedMetricError, load_untrusted_metric
from assay.metrics.recorded import Recorded
from assay.paths import path_exists

if TYPE_CHECKING:
    import pyarrow as pa


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
    """
    rules = _column_rules_by_bucket(request.buckets, data.buckets)
    buckets = tuple(Bucket(name, mask, rules.get(name, "")) for name, mask in data.buckets.items())
    scores = {name: data.oriented_scores(name) for name in names}
    group_column = data.facts.group
    if group_column and "group" in pairs.table.column_names:
        # newer folders store the groups under this name, whatever the source calls the column
        group_column = "group"
    usable_controls = usable_rules(pairs, request.controls)[0]
    controls = make_controls(pairs, usable_controls, lambda: _token_f1_scores(request, data, pairs, progress))
    rows, _ = tabulate(request, DatasetScores(pairs, 0, group_column, scores, buckets, controls), progress)
    return rows


def _token_f1_scores(request: Request, data: ScoredDataset, pairs: Pairs, progress: Progress) -> NDArray[np.float64]:
    """Return the token F1 of every pair, shape (n,): the scores in the run folder if it has them, else computed."""
    metric = load_metric("f1")
    if str(metric) in data.scores:
        return data.scores[str(metric)]
    excerpt = Excerpt(pairs, [str(metric)], None, 0)
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
        super().__init__(pairs, {}, 0, None)
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
    chosen = random_order[:sample]
    if "language" in pairs.table.column_names:
        languages = np.array(pairs.table.column("language").to_pylist(), dtype=object)[random_order]
        first_rows = [languages.tolist().index(language) for language in set(languages)]
        chosen = np.concatenate([chosen, random_order[first_rows]])
    return np.unique(chosen)


def recompute_scores(
    request: Request, excerpts: Sequence[Excerpt], metrics: Sequence[Metric], progress: Progress
) -> dict[tuple[str, str], MetricRecord]:
    """Score excerpts with metrics, and write the scores into the excerpts, shape (n,), with NaN for pairs not scored.

    The shared score store is neither read nor written.

    Returns:
        The record of each metric on each dataset, by the names of dataset and metric.
    """
    request = replace(request, pairs=tuple(excerpt.pairs for excerpt in excerpts), metrics=tuple(metrics))
    executor = InProcess()
    with (
        tempfile.TemporaryDirectory(prefix="assay-") as temporary,
        ScoreStore(Path(temporary) / "scores.sqlite") as store,
    ):
        scorer = Scorer(store, executor, request.references, True, progress)
        try:
            records = score_all(request, list(excerpts), scorer, scorer.progress.say)
        finally:
            executor.close()
    return {(record.dataset, record.metric): record for record in records}


def rebuild_metric(name: str, data: ScoredDataset, *, trusted: bool) -> Metric | AssayError:
    """Return a metric of a run, or the error if it cannot be built any more or would run code that is not trusted.

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
                reason = _reason_not_to_open(recorded.file, name, trusted=trusted)
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


def trust_option(name: str) -> str:
    """Return the option of ``assay verify`` that trusts a metric or dataset, quoted for a shell."""
    return Setting("trust", name).with_flag({})


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
            return compare_scores(recorded_scores, _reread_scores(metric, data, excerpt.pairs, pairs), ids, 0.0)
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


def reload_dataset(
    data: ScoredDataset, request: Request, manifest: Manifest, *, trusted: bool
) -> tuple[ReloadedData, Pairs | None]:
    """Load a dataset of a run from its source again, and compare it with the pairs that the run used.

    A card is found by its name and version; data files and graph files are read from the paths in the run. Columns are
    read as the run recorded them.

    Args:
        data: the dataset in the run folder.
        request: the settings of the run; they select the rows and name the graph files.
        manifest: the manifest of the run.
        trusted: whether a card may be read from a file that the run names; otherwise only registered cards are read.

    Returns:
        The result of the comparison, and all pairs of the source; None if the source is unavailable.
    """
    facts = data.facts
    source = facts.source
    reason = _reason_not_to_reload(data, request, trusted=trusted)
    if reason:
        return ReloadedData(data.name, "unavailable", source, {}, reason), None
    # absolute, so that nothing in it is read as a home folder, as standard input or as NAME=FILE
    path = Path(source).absolute()
    is_own_file = not facts.version
    is_untouched = is_own_file and not request.graphs and digest_of_files(path) == facts.sha256
    try:
        if is_own_file:
            pairs = _load_from_file(data, path, manifest.environment.argv)
        else:
            card = load_card(_card_name(data), data.facts.version)
            pairs = load_dataset(card, split=data.facts.split or None, offline=request.offline)
        if request.graphs:
            pairs = join_graphs(pairs, request.graphs)
        return _compare_with_stored(data, pairs, request, manifest, source), pairs
    except AssayError as error:
        if is_untouched:
            note = Message("by its checksum; it could not be read again: ", error.message)
            return ReloadedData(data.name, "same", source, {}, note), None
        if is_own_file:
            return ReloadedData(data.name, "changed", source, {}, error.message), None
        return ReloadedData(data.name, "unavailable", source, {}, error.message), None


def _reason_not_to_reload(data: ScoredDataset, request: Request, *, trusted: bool) -> str:
    """Return the reason why a dataset of a run is not loaded again; empty if it can be loaded.

    Args:
        data: the dataset in the run folder.
        request: the settings of the run, which name the graph files.
        trusted: whether a card, or the target of a link, may be read from a file that the run names.
    """
    source = data.facts.source
    if not data.facts.version:
        if not is_table_file(source):
            return "it was never a file or a dataset with a card"
        if not path_exists(Path(source)):
            if is_address(source):
                return "it came from an address, which is not read again"
            return "there is no such file, seen from this folder"
        reason = _reason_not_to_open(source, data.name, trusted=trusted)
        if reason:
            return reason
    elif _card_name(data).endswith(".toml") and not trusted:
        return f"its card is a file that the run names, and is not read; if you trust it: {trust_option(data.name)}"
    for graph_files in request.graphs.values():
        for file in graph_files:
            if not (path_exists(file) and Path(file).is_file()):
                return f"there is no such file of graphs, seen from this folder: {file}"
            reason = _reason_not_to_open(str(file), data.name, trusted=trusted)
            if reason:
                return reason
    return ""


def _reason_not_to_open(file: str | Path, dataset: str, *, trusted: bool) -> str:
    """Return the reason why a file that a run names is not opened; empty if it may be.

    A pipe or a device would block or have no end. A link leads to another file than the run names: the link and its
    target may both come from somebody else, or the target from the user, who would not want it to be read.
    """
    path = Path(file)
    if not (path.is_file() or path.is_dir()):
        return f"{file} is a pipe, a device or a socket, not a file"
    steps = [path] if path.is_absolute() else [path, *path.parents]
    link = next((step for step in steps if step.is_symlink()), None)
    if link is not None and not trusted:
        return f"{link} is a link to another file, and is not followed; if you trust it: {trust_option(dataset)}"
    return ""


def _card_name(data: ScoredDataset) -> str:
    # if a run has several versions or splits of a card, its datasets are called NAME@VERSION or NAME:SPLIT
    return data.name.partition("@")[0].partition(":")[0]


def _load_from_file(data: ScoredDataset, path: Path, argv: list[str]) -> Pairs:
    """Return the pairs of a file, read with the columns and the split of the run.

    Args:
        data: the dataset in the run folder.
        path: the path of the file.
        argv: the command line of the run, for runs that did not record how their columns were read.

    Raises:
        InputError: the file lacks a text column whose texts the run used.
    """
    facts = data.facts
    # older runs recorded only their command line
    has_columns = "columns" in facts.model_fields_set
    columns = (facts.columns or None) if has_columns else _columns_option(argv)
    settings = {field.name: getattr(facts, field.name) for field in fields(Reading)}
    reading = Reading(**settings | {"columns": columns})
    if facts.split:
        return load_dataset(path, **vars(reading), split=facts.split)
    pairs, missing_columns = load_scored_pairs(path, reading)
    for column_name in missing_columns:
        # a run of recorded scores may have had no texts either
        cells = data.table.column(column_name).to_pylist()
        if any(any(cell) if isinstance(cell, list) else cell for cell in cells):
            raise InputError(f"{path}: has no column {column_name!r}, and the run does not say which one it was")
    return pairs


def _columns_option(argv: list[str]) -> str | None:
    """Return the value of ``--columns`` on a command line; None if it has no such option."""
    for word, following in pairwise([*argv, ""]):
        if word == "--columns":
            return following
        if word.startswith("--columns="):
            return word.removeprefix("--columns=")
    return None


def _compare_with_stored(
    data: ScoredDataset, pairs: Pairs, request: Request, manifest: Manifest, source: str
) -> ReloadedData:
    """Return whether the data is the same, was changed at its source, or was changed in the run folder.

    Args:
        data: the dataset in the run folder.
        pairs: all pairs of the source as it is now.
        request: the settings of the run, which select the rows.
        manifest: the manifest of the run, with the digests of the data.
        source: the origin of the data, for the result.
    """
    used_pairs, _ = request.choose_rows(pairs)
    counts = {description: count for description, count in _count_differences(data, used_pairs).items() if count}
    if not used_pairs.has_digest(data.facts.digest):
        note = "" if counts else "the same texts and labels; their order, or annotations, are others"
        return ReloadedData(data.name, "changed", source, counts, note)
    if counts:
        return ReloadedData(data.name, "folder changed", source, counts, "the source has the same content as then")
    recorded_digest = next(
        (record.other_columns for record in manifest.request.datasets if record.name == data.name), None
    )
    has_changed = recorded_digest not in (None, pairs.other_columns_digest)
    return ReloadedData(data.name, "same", source, {}, "further columns changed" if has_changed else "")


def _count_differences(data: ScoredDataset, reloaded: Pairs) -> dict[str, int]:
    """Return the number of removed rows, of new rows, and of changed cells in each column, by description.

    All cells with contents count as changed in a column that the source no longer has.

    Args:
        data: the dataset in the run folder.
        reloaded: the pairs that the run would use now; rows are matched by ``pair_id``.
    """
    import pyarrow.compute as pc

    recorded = data.table
    ids = reloaded.table.column("pair_id").combine_chunks()
    row_indices = pc.index_in(recorded.column("pair_id").combine_chunks(), ids)
    missing_row_count = row_indices.null_count
    counts = {"rows gone": missing_row_count, "rows new": len(reloaded) - (len(recorded) - missing_row_count)}
    kept_rows = recorded.filter(pc.is_valid(row_indices))
    rows = pc.drop_null(row_indices)
    for name in recorded.column_names:
        if name == "pair_id":
            continue
        # in a run folder the group column is always called group
        column = data.facts.group if name == "group" and data.facts.group else name
        if column not in reloaded.table.column_names and kept_rows.column(name).null_count == len(kept_rows):
            # a column of another dataset of the run
            continue
        stored_cells = _comparable_cells(kept_rows.column(name))
        try:
            reloaded_cells = _comparable_cells(reloaded.column(column).take(rows))
        except InputError:
            reloaded_cells = [None] * len(stored_cells)
        cell_pairs = zip(stored_cells, reloaded_cells, strict=True)
        counts[f"other {column}"] = sum(stored != current for stored, current in cell_pairs)
    return counts


def _comparable_cells(column: pa.ChunkedArray) -> list[Any]:
    """Return cells in a form that does not depend on the source's types: floats, lists of gold answers, or text."""
    import pyarrow as pa

    is_plain = pa.types.is_floating(column.type) or pa.types.is_nested(column.type)
    cells: list[Any] = (column if is_plain else column.cast(pa.string())).to_pylist()
    # a single gold answer equals a list of one
    return [cell[0] if isinstance(cell, list) and len(cell) == 1 else cell for cell in cells]
