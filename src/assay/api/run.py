"""Runs and estimates of runs, from the names, files and data in memory that a caller passes."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from assay.api.result import Result
from assay.api.values import Report
from assay.benchmark.buckets import usable_rules
from assay.benchmark.executor import Executor, Workers
from assay.benchmark.folder import check_target
from assay.benchmark.records import Outcome
from assay.benchmark.request import Request
from assay.benchmark.runner import run as run_request
from assay.benchmark.runner import score_pairs
from assay.benchmark.settings import RunSettings
from assay.benchmark.suite import Suite, load_suite, shipped_suites
from assay.common.addresses import public_address
from assay.common.messages import Setting, join_messages
from assay.common.progress import Silent, is_outermost_verb
from assay.common.verbs import takes_settings
from assay.datasets import Pairs, join_graphs, list_datasets, load_dataset
from assay.datasets.columns import labels_apart
from assay.datasets.files import holds_splits
from assay.datasets.graphs import parse_graph_files
from assay.datasets.load import has_language, is_own_file
from assay.datasets.spec import parse_spec
from assay.exceptions import AssayError, InputError, OfflineError, UnavailableError
from assay.metrics import Metric, load_metric
from assay.metrics.load import UntrustedMetricError, load_untrusted_metric
from assay.metrics.neural.runtime import Runtime, devices_of, use_runtime
from assay.paths import path_exists, user_path
from assay.settings import Offline, OwnColumns, OwnData, PaidScoring, RequestSettings, Scoring


def plan_run(settings: RunSettings) -> Request:
    """Load the data and the metrics that the settings name, and return them as a request.

    Datasets and metrics that are unavailable are listed in the request, as long as others are available.

    Raises:
        InputError: there is nothing to run, a name is unknown, settings do not go together, data cannot be read, or a
            metric of a suite's file would run code.
        OfflineError: the only dataset is not on this machine, and the network is forbidden.
        UnavailableError: none of the datasets, or none of the metrics, is available.
    """
    named_datasets, suite = dataset_or_suite(settings.suite)
    specs = [*named_datasets, *dataset_list(settings.datasets)]
    if not specs and suite is not None:
        specs = _suite_datasets(suite, settings.language)
    names: Sequence[Any] = settings.metrics
    if suite is not None and not names:
        names = suite.metrics if settings.suite in shipped_suites() else _untrusted_metrics(suite, str(settings.suite))
    _check_arguments(specs, names, settings)
    metrics, absent = load_metrics(names, offline=settings.offline)
    datasets, unavailable = _load_datasets(specs, settings)
    if settings.graphs is not None:
        if len(specs) > 1:
            raise InputError(Setting("graphs"), " is for one dataset; run the others by themselves")
        datasets = [join_graphs(dataset, settings.graphs) for dataset in datasets]
    drop_duplicates = settings.drop_duplicates
    if drop_duplicates is None:
        drop_duplicates = suite is not None and suite.drop_duplicates
    request_settings = settings.values_of(RequestSettings, Offline)
    request_settings["drop_duplicates"] = drop_duplicates
    if suite is not None:
        own_datasets = datasets if settings.datasets else []
        request_settings["buckets"] = settings.buckets or _applicable_buckets(suite, own_datasets)
        request_settings["statistics"] = settings.statistics or suite.statistics
        # the sample is that of the suite's own datasets, unless the user chooses rows
        if settings.sample is None and settings.limit is None and not settings.datasets:
            request_settings["sample"] = suite.sample
    return Request(
        _name_distinctly(datasets) if len(datasets) > 1 else tuple(datasets),
        metrics,
        absent=absent,
        unavailable=unavailable,
        optional=frozenset(suite.optional if suite else ()),
        suite=suite.name if suite else None,
        graphs={} if settings.graphs is None else parse_graph_files(settings.graphs),
        **request_settings,
    )


def _untrusted_metrics(suite: Suite, file: str) -> list[Metric | str]:
    """Return the metrics of a suite's file, which somebody else may have written; the names of those not available.

    Raises:
        InputError: a metric is unknown, or runs code or calls a server.
    """
    metrics: list[Metric | str] = []
    for name in suite.metrics:
        try:
            metrics.append(load_untrusted_metric(name))
        except UntrustedMetricError as error:
            raise InputError(
                f"{file}: its metric {name} would run code or call a server ({error.reached}); if you trust it, name "
                "the metrics with ",
                Setting("metrics", "NAME"),
            ) from None
        except UnavailableError:
            # the run reports it beside the others
            metrics.append(name)
    return metrics


def _applicable_buckets(suite: Suite, replacements: list[Pairs]) -> tuple[str, ...]:
    """Return the buckets of a suite; if other datasets replace its own, only those that one of them has columns for.

    Args:
        suite: the suite.
        replacements: the datasets that replace those of the suite; empty if the suite keeps its own.

    Raises:
        InputError: a rule of the suite cannot be parsed.
    """
    if not replacements:
        return suite.buckets
    applicable: set[str] = set()
    for pairs in replacements:
        rules, _ = usable_rules(pairs, suite.buckets)
        applicable.update(rules)
    return tuple(rule for rule in suite.buckets if rule in applicable)


def dataset_or_suite(name: str | None) -> tuple[list[str], Suite | None]:
    """Return what ``assay run NAME`` means: a list with one dataset and None, or an empty list and a suite.

    A bundled suite takes precedence over a dataset of the same name. Without a name, the list is empty and the suite
    None.

    Raises:
        InputError: the name is neither a dataset nor a suite, or the suite cannot be read.
    """
    if not name:
        return [], None
    # no bundled suite has the name of a file of pairs
    if is_own_file(name):
        return [name], None
    if name in shipped_suites():
        return [], load_suite(name)
    # a file of another kind, too: reading it says which kinds there are
    is_file = path_exists(name) and Path(name).is_file() and not name.endswith(".toml")
    if is_file or parse_spec(name)[0] in {entry.name for entry in list_datasets()}:
        return [name], None
    return [], load_suite(name)


def _suite_datasets(suite: Suite, language: str | None) -> list[str]:
    """Return the datasets of a suite; with a language, those with cards only if they have texts in it.

    Raises:
        InputError: none has.
    """
    if language is None:
        return list(suite.datasets)
    specs = [spec for spec in suite.datasets if not _is_card(spec) or has_language(spec, language)]
    if not specs:
        raise InputError(
            f"no dataset of the suite {suite.name} has texts in that language", setting="language", value=language
        )
    return specs


def _check_arguments(specs: list[Any], metrics: Sequence[Any], settings: RunSettings) -> None:
    """Raise InputError if the arguments of a run do not go together.

    They do not if no dataset or no metric is named, or if a setting for the user's own data is given although every
    dataset has a card.

    Args:
        specs: the datasets, from the settings or from a suite.
        metrics: the metrics, from the settings or from a suite.
        settings: the settings of the run.
    """
    if not specs:
        raise InputError(
            "no dataset: name a suite (assay run quickstart) or give ", Setting("datasets", "NAME_OR_FILE")
        )
    if not metrics:
        raise InputError(
            "no metric: give ",
            Setting("metrics", "NAME"),
            " (assay metrics list shows them, assay recommend compares a dozen)",
        )
    if all(_is_card(spec) for spec in specs):
        for name, value in settings.values_of(OwnColumns).items():
            if value not in (None, False):
                raise InputError(
                    Setting(name), " is for files of your own; the datasets named here have their own reader"
                )


def _load_datasets(specs: list[Any], settings: RunSettings) -> tuple[list[Pairs], dict[str, str]]:
    """Return the available datasets, and for each other spec the reason why it is unavailable.

    Args:
        specs: the datasets as the user gave them: names of cards, files or data in memory.
        settings: the settings of the run.

    Raises:
        InputError: a dataset is unknown or cannot be read.
        OfflineError: the only dataset is not on this machine, and the network is forbidden.
        UnavailableError: no dataset is available.
    """
    progress = settings.progress or Silent()
    # the setting language selects the splits of cards, unless a dataset is a file of the user's own: then it is the
    # language of the texts in that file
    language_of_cards = settings.language if all(map(_is_card, specs)) else None
    loaded: list[Pairs] = []
    unavailable: dict[str, str] = {}
    for spec in specs:
        try:
            loaded.extend(_load_dataset(spec, settings, language_of_cards))
        except (UnavailableError, OfflineError) as error:
            if len(specs) == 1:
                raise
            name = public_address(str(spec))
            unavailable[name] = error.message
            progress.say(f"{name}: unavailable, the others are run; the reason follows at the end")
    if not loaded:
        raise UnavailableError("none of the datasets is available", join_messages("; ", unavailable.values()))
    return loaded, unavailable


def _load_dataset(spec: Any, settings: RunSettings, language_of_cards: str | None) -> list[Pairs]:
    """Return the pairs of one spec; several labels make a dataset each, ``NAME#LABEL``.

    Args:
        spec: the dataset.
        settings: the settings of the run.
        language_of_cards: the language whose splits of a card to read; None for the default split.

    Raises:
        InputError: the dataset is unknown or cannot be read.
        OfflineError, UnavailableError: its files are not on this machine and cannot be downloaded.
    """
    if isinstance(spec, Pairs):
        return [spec]
    # settings of columns do not apply to cards, which have their own reader
    if _is_card(spec):
        return [load_dataset(spec, language=language_of_cards, offline=settings.offline)]
    datasets = []
    for label, columns in labels_apart(settings.columns):
        reading_settings = settings.values_of(OwnData) | {"columns": columns}
        pairs = load_dataset(spec, **reading_settings, offline=settings.offline)
        datasets.append(replace(pairs, name=f"{pairs.name}#{label}") if label else pairs)
    return datasets


def load_metrics(
    names: Iterable[Any], *, offline: bool = False
) -> tuple[tuple[Metric, ...], dict[str, UnavailableError]]:
    """Return the available metrics, each followed by its aspects, and the error of each unavailable metric by name.

    A model may be downloaded to find out the aspects of its metric. Without names, both are empty.

    Args:
        names: what :func:`load_metric` accepts, such as names, metrics and functions.
        offline: whether downloads are forbidden.

    Raises:
        InputError: a name is unknown or empty.
        UnavailableError: no metric is available.
    """
    loaded: list[Metric] = []
    absent: dict[str, UnavailableError] = {}
    for name in names:
        try:
            metric = load_metric(name)
            try:
                loaded += metric.expand()
            except UnavailableError:
                # the model that lists the aspects may not be downloaded yet
                metric.obtain(offline=offline)
                loaded += metric.expand()
        except UnavailableError as error:
            absent[str(name)] = error
    if absent and not loaded:
        raise next(iter(absent.values()))
    return tuple(loaded), absent


def _is_card(spec: Any) -> bool:
    """Tell whether a spec is the name of a dataset with a card, not data in memory or a file of the user."""
    return isinstance(spec, str | Path) and not is_own_file(spec)


def _name_distinctly(pairs: list[Pairs]) -> tuple[Pairs, ...]:
    """Return several datasets with unique names: equal names get their version, then their split, then a number.

    Version and split are added only where they differ.

    Raises:
        InputError: two datasets have the same name, split and pairs.
    """
    _check_no_duplicate_datasets(pairs)
    datasets = list(pairs)
    for separator, field in (("@", "version"), (":", "split")):
        values_by_name: dict[str, set[str]] = {}
        for dataset in datasets:
            values_by_name.setdefault(dataset.name, set()).add(getattr(dataset, field))
        for index, dataset in enumerate(datasets):
            value = getattr(dataset, field)
            if len(values_by_name[dataset.name]) > 1 and value:
                datasets[index] = replace(dataset, name=f"{dataset.name}{separator}{value}")
    name_counts: Counter[str] = Counter()
    renamed = []
    for dataset in datasets:
        name_counts[dataset.name] += 1
        number = name_counts[dataset.name]
        renamed.append(replace(dataset, name=f"{dataset.name}-{number}") if number > 1 else dataset)
    return tuple(renamed)


def _check_no_duplicate_datasets(pairs: list[Pairs]) -> None:
    """Raise InputError if two datasets have the same name, split and pairs."""
    for index, dataset in enumerate(pairs):
        for earlier in pairs[:index]:
            is_alike = (dataset.name, dataset.split, len(dataset)) == (earlier.name, earlier.split, len(earlier))
            # the digest of many pairs takes long
            if is_alike and dataset.digest == earlier.digest:
                detail = ""
                if dataset.source != earlier.source:
                    detail = f": {earlier.source} and {dataset.source} hold the same pairs"
                raise InputError(f"the dataset {dataset.name} is asked for twice{detail}; leave one out")


@takes_settings(RunSettings)
def run(settings: RunSettings) -> Result:
    """Score labelled pairs with metrics and say how far each agrees with people.

    Args:
        datasets: one dataset or a list of them: a card name (``"stsb:test"``), a file, a DataFrame, an Arrow table,
            a Hugging Face dataset, :class:`~assay.datasets.Pairs`, or a list of dicts as the only dataset.
        metrics: metric names, such as ``"f1"`` or ``"bleu:paper"``; metrics and metric classes; functions of
            (reference, candidate) that return a number, see :func:`assay.metric`; objects of other libraries, see
            :mod:`assay.metrics.objects`. A mapping names them in tables: ``{"new": model, "old": other_model}``.
        suite: a named set of datasets and metrics; datasets, metrics or buckets that are passed as well replace those
            of the suite (with other datasets, it keeps the buckets they have columns for). Or one more dataset, by name
            or file.
        columns: the column of each role: ``"reference=answer1,candidate=answer2,label=score"``, or a mapping.
        separator: the text between several gold answers in one cell, such as ``"|"``.
        labels: the number that each label in words means: ``"no=0,partly=1,yes=2"``, or a mapping.
        graphs: AMR graphs of the texts of one dataset: ``"reference=A.amr,candidate=B.amr"``, or a mapping.
        buckets: rules, see :mod:`assay.benchmark.buckets`; ``("f1",)`` by default, ``("none",)`` for all pairs only.
        drop_duplicates: whether only the first of several pairs with equal question, reference, candidate and label is
            kept.
        out: the run folder to write; None to write nothing.

    Returns:
        The scores and the agreement; its ``failures`` have one line for each requested task that failed, of which a
        warning is given, too.

    Raises:
        AssayError: every task failed (with *out*, the run folder is written all the same), or scores can no longer be
            stored.
        InputError: an argument, a file or its contents cannot be used; the message says which one and why.
        OfflineError: the only dataset is not on this machine, and the network is forbidden.
        UnavailableError: the only dataset is unavailable, or all of several, or every metric; or a device is named, and
            torch is not installed.

    Example:
        >>> result = assay.run([("7 km", "seven kilometres", 2.0), …], ["f1", "chrf"])  # doctest: +SKIP
        >>> result.agreement  # doctest: +SKIP
    """
    request = plan_run(settings)
    if settings.out is not None:
        check_target(user_path(settings.out), request.record().digest())
    store = None if settings.store is None else user_path(settings.store)
    with executor_for(settings) as executor:
        outcome = run_request(request, store=store, executor=executor, fresh=settings.fresh, progress=settings.progress)
    result = Result(outcome)
    if settings.out is not None:
        result.save(settings.out, page=settings.page)
    if result.failures and is_outermost_verb():
        _report_failures(result)
    return result


def _report_failures(result: Result) -> None:
    """Warn of the tasks of a run that failed.

    Raises:
        AssayError: all of them failed.
    """
    failures = join_messages("; ", result.failures)
    if not any(dataset.scores for dataset in result.outcome.datasets):
        raise AssayError("nothing was scored: ", failures)
    # at the call of the user, above this function, run and the wrapper of its settings
    warnings.warn(f"not scored: {failures}", stacklevel=4)


@takes_settings(RunSettings)
def estimate(settings: RunSettings) -> Report:
    """Return how much :func:`run` would have to compute and what judges would cost; nothing is scored or called.

    Accepts the arguments of :func:`run`; those about the output have no effect.

    Returns:
        A report with one record per metric and dataset.

    Raises:
        InputError: an argument, a file or its contents cannot be used; the message says which one and why.
        OfflineError: the only dataset is not on this machine, and the network is forbidden.
        UnavailableError: the only dataset, or every metric, is unavailable.
        StoreError: the store cannot be read or written.
    """
    # a run itself needs none of this
    from assay.benchmark.estimate import estimate_work
    from assay.reports.estimate import document

    request = plan_run(settings)
    store = None if settings.store is None else user_path(settings.store)
    runtime = Runtime(settings.device, settings.model_threads)
    with use_runtime(runtime), budget_and_prices(settings):
        works = estimate_work(request, store, fresh=settings.fresh)
    return Report(document([asdict(work) for work in works], settings.budget))


@contextmanager
def budget_and_prices(settings: PaidScoring) -> Iterator[None]:
    """Let judges spend the budget of the settings, at the prices that they name, inside the block.

    Stored replies are read, unless scores are to be fresh and the settings do not keep replies.

    Raises:
        InputError: the file of prices cannot be read or is invalid.
    """
    # a run that names none of these settings imports nothing of judges
    from assay.metrics.judge.spending import Purse, read_prices, use_purse

    prices = {} if settings.prices is None else read_prices(settings.prices)
    with use_purse(Purse(settings.budget, prices, fresh=settings.fresh and not settings.keep_replies)):
        yield


@contextmanager
def executor_for(settings: PaidScoring) -> Iterator[Executor]:
    """Yield an executor for the settings; their device, threads, budget and prices are in effect inside the block.

    Raises:
        InputError: the device, or the Ray cluster, cannot be used; the file of prices cannot be read or is invalid.
        MissingExtraError: a device is named, and torch is not installed.
    """
    with ExitStack() as context:
        # these alone say what judges may spend, or that they are asked anew
        if settings.budget is not None or settings.prices is not None or settings.fresh:
            context.enter_context(budget_and_prices(settings))
        if settings.executor is None and settings.engine == "ray":
            yield context.enter_context(_ray_executor(settings))
            return
        if settings.device != "auto" or settings.model_threads is not None:
            runtime = Runtime(settings.device, settings.model_threads)
            if settings.device not in ("auto", "cpu"):
                # fails before any work if the named device is missing
                devices_of(runtime)
            context.enter_context(use_runtime(runtime))
        yield settings.executor or Workers(settings.workers, keep_models=settings.keep_models)


def score_request(request: Request, settings: PaidScoring) -> Outcome:
    """Return the scores of a request, computed where and how the settings say; see :func:`score_pairs`.

    A metric that fails is reported in the result.

    Raises:
        InputError: the device, the cluster or the file of prices cannot be used, or recorded scores cannot be read.
        MissingExtraError: a device is named, and torch is not installed.
        StoreError: the store is damaged, or cannot be read or written.
    """
    store = None if settings.store is None else user_path(settings.store)
    with executor_for(settings) as executor:
        return score_pairs(
            request, store=store, executor=executor, fresh=settings.fresh, progress=settings.progress or Silent()
        )


@contextmanager
def _ray_executor(settings: Scoring) -> Iterator[Executor]:
    """Yield an executor on the Ray cluster of the settings; the executor leaves the cluster when the block ends.

    Raises:
        InputError: the cluster cannot be used.
    """
    from assay.benchmark.distributed import RayExecutor

    executor = RayExecutor(
        settings.address,
        Runtime(settings.device, settings.threads),
        most=settings.workers,
        keep_models=settings.keep_models,
        say=(settings.progress or Silent()).say,
    )
    try:
        with use_runtime(executor.runtime):
            yield executor
    finally:
        executor.leave()


def dataset_list(datasets: Any) -> list[Any]:
    """Return one or several datasets as a list; a list of rows (dicts, or tuples of texts) is a single dataset.

    An empty list stays empty.
    """
    if not isinstance(datasets, list | tuple):
        return [datasets]
    return [datasets] if datasets and all(_is_row(item) for item in datasets) else list(datasets)


def _is_row(item: Any) -> bool:
    """Tell whether an item is one pair (a mapping of cells, or two texts with or without a label) and not a dataset."""
    if holds_splits(item):
        return False
    if isinstance(item, Mapping):
        # a mapping of columns is a dataset, a mapping of cells a row. Only the candidate tells them apart, since a list
        # of references may be the gold answers of one row
        return isinstance(item.get("candidate", ""), str | int | float)
    return isinstance(item, list | tuple) and len(item) in (2, 3) and isinstance(item[1], str)
