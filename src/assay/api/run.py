"""A run from names, files and data in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from assay.api.result import Result
from assay.api.values import listed
from assay.benchmark.folder import check_target
from assay.benchmark.progress import Progress, Silent
from assay.benchmark.request import Request
from assay.benchmark.runner import run as run_request
from assay.benchmark.scoring import Executor, InProcess
from assay.benchmark.suite import load_suite
from assay.datasets import Pairs, join_graphs, load_dataset
from assay.datasets.graphs import GraphFiles, parse_graph_files
from assay.datasets.load import is_own_file
from assay.errors import InputError, OfflineError, UnavailableError
from assay.metrics import Metric, MetricName, load_metric
from assay.metrics.neural.runtime import Runtime, device_of, use_runtime

__all__ = ["as_list", "load_metrics", "plan", "run"]


def plan(
    *,
    suite: str | None = None,
    datasets: Iterable[Any] = (),
    metrics: Iterable[str | MetricName | Metric] = (),
    columns: str | Mapping[str, str] | None = None,
    buckets: Sequence[str] = (),
    offline: bool = False,
    progress: Progress | None = None,
    language: str | None = None,
    drop_duplicates: bool | None = None,
    graphs: GraphFiles | str | None = None,
    **settings: Any,
) -> Request:
    """Load what is to be run; see :func:`run` for the arguments.

    Raises:
        InputError: nothing to run, an unknown name, or data that cannot be read.
    """
    progress = progress or Silent()
    chosen = load_suite(suite) if suite else None
    names = list(metrics) or list(chosen.metrics if chosen else ())
    specs = list(datasets) or list(chosen.datasets if chosen else ())
    if not specs:
        raise InputError("no dataset: name a suite (assay run quickstart) or give `datasets=NAME_OR_FILE`")
    if not names:
        raise InputError("no metric: give `metrics=NAME` (assay metrics list shows them)")
    if all(_is_card(spec) for spec in specs):
        if columns is not None:
            raise InputError("`columns` is for files of your own; the datasets named here have their own readers")
        if language is not None:
            raise InputError("`language` is for data of your own; the datasets named here say their own")
    loaded, absent = load_metrics(names, offline=offline)
    pairs: list[Pairs] = []
    unavailable: dict[str, str] = {}
    for spec in specs:
        try:
            pairs.append(
                spec
                if isinstance(spec, Pairs)
                else load_dataset(spec, columns=None if _is_card(spec) else columns, offline=offline, language=language)
            )
        except (UnavailableError, OfflineError) as error:
            # one dataset that cannot be had costs the others nothing
            if len(specs) == 1:
                raise
            unavailable[str(spec)] = str(error)
            progress.say(f"{spec}: cannot be had, going on with the others; the reason follows at the end")
    if graphs is not None:
        if len(specs) > 1:
            raise InputError("`graphs` is for one dataset; run the others by themselves")
        pairs = [join_graphs(one, graphs) for one in pairs]
    if not pairs:
        raise UnavailableError("none of the datasets can be had", "; ".join(unavailable.values()))
    if chosen and not settings.get("statistics"):
        settings["statistics"] = chosen.statistics
    dropping = chosen.drop_duplicates if drop_duplicates is None and chosen else bool(drop_duplicates)
    return Request(
        pairs=_distinctly_named(pairs),
        metrics=loaded,
        absent=absent,
        buckets=tuple(buckets) or (chosen.buckets if chosen else ("f1",)),
        optional=frozenset(chosen.optional) if chosen else frozenset(),
        unavailable=unavailable,
        suite=chosen.name if chosen else None,
        drop_duplicates=dropping,
        offline=offline,
        graphs={} if graphs is None else parse_graph_files(graphs),
        **settings,
    )


def load_metrics(
    names: Iterable[str | MetricName | Metric], *, offline: bool = False
) -> tuple[tuple[Metric, ...], dict[str, UnavailableError]]:
    """Build the metrics, each with its aspects, which a model may have to be fetched for.

    Returns:
        The metrics, and by name those that cannot be had: they cost the others nothing.

    Raises:
        UnavailableError: none can be had.
    """
    loaded: list[Metric] = []
    absent: dict[str, UnavailableError] = {}
    for name in names:
        try:
            loaded.extend(_expanded(load_metric(name), offline=offline))
        except UnavailableError as error:
            absent[str(name)] = error
    if absent and not loaded:
        raise next(iter(absent.values()))
    return tuple(loaded), absent


def _expanded(metric: Metric, *, offline: bool) -> tuple[Metric, ...]:
    try:
        return metric.expand()
    except UnavailableError:
        metric.obtain(offline=offline)
        return metric.expand()


def _is_card(spec: Any) -> bool:
    """Tell whether a spec names a card, which has its own columns."""
    return isinstance(spec, str | Path) and not is_own_file(str(spec))


def _distinctly_named(pairs: list[Pairs]) -> tuple[Pairs, ...]:
    """Give datasets of one name names that tell them apart: by version, by split, at last by number.

    Raises:
        InputError: the same pairs are asked for twice under one name.
    """
    for i, one in enumerate(pairs):
        for other in pairs[:i]:
            if (one.name, one.split, one.digest) == (other.name, other.split, other.digest):
                both = f": {other.source} and {one.source} hold the same pairs" if one.source != other.source else ""
                raise InputError(f"the dataset {one.name} is asked for twice{both}; leave one out")
    for mark, field in (("@", "version"), (":", "split")):
        counts = Counter(one.name for one in pairs)
        pairs = [
            replace(one, name=f"{one.name}{mark}{getattr(one, field)}")
            if counts[one.name] > 1 and getattr(one, field)
            else one
            for one in pairs
        ]
    seen: Counter[str] = Counter()
    named = []
    for one in pairs:
        seen[one.name] += 1
        named.append(replace(one, name=f"{one.name}-{seen[one.name]}") if seen[one.name] > 1 else one)
    return tuple(named)


def run(
    datasets: Any = (),
    metrics: Iterable[str | MetricName | Metric] = (),
    *,
    suite: str | None = None,
    columns: str | Mapping[str, str] | None = None,
    graphs: GraphFiles | str | None = None,
    buckets: Sequence[str] = (),
    statistics: Sequence[str] = (),
    resamples: int = 1000,
    confidence: float = 0.95,
    group_by: str | None = None,
    drop_duplicates: bool | None = None,
    seed: int = 0,
    limit: int | None = None,
    references: Literal["best", "mean"] = "best",
    language: str | None = None,
    out: str | Path | None = None,
    store: str | Path | None = None,
    fresh: bool = False,
    offline: bool = False,
    device: str = "auto",
    threads: int | None = None,
    keep_models: bool = False,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Result:
    """Score labelled pairs with metrics and say how far each agrees with people.

    Args:
        datasets: one dataset or a list of them: a card name (``"stsb:test"``), a file, a DataFrame, an Arrow table,
            a Hugging Face dataset, :class:`~assay.datasets.Pairs`, or a list of dicts as the only dataset.
        metrics: metric names, such as ``"f1"`` or ``"bleu:paper"``.
        suite: a named set of both; what is given beside it replaces its part.
        columns: ``"reference=answer1,candidate=answer2,label=score"``, or a mapping.
        graphs: AMR graphs of the texts of one dataset: ``"reference=A.amr,candidate=B.amr"``, or a mapping.
        buckets: rules, see :mod:`assay.benchmark.buckets`; ``("f1",)`` by default, ``("none",)`` for all pairs only.
        statistics: coefficients; Pearson, Spearman and Kendall by default.
        resamples: bootstrap resamples, 0 for no intervals.
        confidence: level of the intervals.
        group_by: column whose values are resampled whole; the data's ``group`` by default.
        drop_duplicates: keep the first of pairs equal in question, reference, candidate and label.
        seed: seeds the resampling.
        limit: first so many pairs of each dataset.
        references: with several gold answers, the "best" score or the "mean".
        language: language of the texts, where the data does not say.
        out: folder to write; None to write nothing.
        store: file with the scores; the shared one by default.
        fresh: compute anew what the store has.
        offline: fetch nothing.
        device: where models run: "auto", "cpu", "cuda", "cuda:1", "mps", or "all" for every GPU.
        threads: threads of the CPU for models; the cores that are free by default.
        keep_models: whether several models may be in memory at a time.
        executor: who scores.
        progress: told how far the run is.

    Raises:
        InputError: something that was given cannot be used; one line says what and where.
        UnavailableError: the only dataset cannot be had.

    Example:
        >>> result = assay.run([("7 km", "seven kilometres", 2.0), …], ["f1", "chrf"])  # doctest: +SKIP
        >>> result.agreement  # doctest: +SKIP
    """
    request = plan(
        suite=suite,
        datasets=as_list(datasets),
        metrics=listed("metrics", metrics, str | MetricName | Metric),
        columns=columns,
        graphs=graphs,
        buckets=listed("buckets", buckets),
        statistics=tuple(listed("statistics", statistics)),
        resamples=resamples,
        confidence=confidence,
        group_by=group_by,
        drop_duplicates=drop_duplicates,
        seed=seed,
        limit=limit,
        references=references,
        language=language,
        offline=offline,
        progress=progress,
    )
    if out is not None:
        check_target(Path(out), request.digest())
    stored = None if store is None else Path(store)
    runtime = Runtime(device, threads)
    if device not in ("auto", "cpu"):
        # before any work: a device that was named must be there
        device_of(runtime)
    with use_runtime(runtime):
        executor = executor or InProcess(keep_models=keep_models)
        result = Result(run_request(request, store=stored, executor=executor, fresh=fresh, progress=progress))
    if out is not None:
        result.save(out)
    return result


def as_list(datasets: Any) -> list[Any]:
    """Tell one dataset from several: a list of rows (dicts, or tuples of texts) is one."""
    if not isinstance(datasets, list | tuple):
        return [datasets]
    return [datasets] if datasets and all(_is_row(one) for one in datasets) else list(datasets)


def _is_row(one: Any) -> bool:
    if isinstance(one, Mapping):
        # a mapping of columns is a dataset, a mapping of cells a row; gold answers may be a list in a cell
        return isinstance(one.get("candidate", ""), str | int | float)
    return isinstance(one, list | tuple) and len(one) in (2, 3) and isinstance(one[1], str)
