"""Agreement with people as an assertion, for projects that test in pytest.

``assert_agreement`` is a fixture and a function of this module. pytest imports the module in every session; therefore
it imports nothing else of assay before it is used.
"""

from __future__ import annotations

import functools
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from assay.analysis.check.baseline import Baseline
    from assay.analysis.check.settings import CheckSettings
    from assay.analysis.folder import RunFolder
    from assay.datasets import Pairs
    from assay.metrics import Metric, MetricName

#: Makes pytest show the failing line of the test instead of lines in this module.
__tracebackhide__ = True

#: The baselines that a session wrote: the id of the test and the text, by path.
_WRITTEN = pytest.StashKey[dict[Path, tuple[str, str]]]()
#: A function from n references and n candidates to n scores.
ScoreFunction = Callable[[list[str], list[str]], Sequence[float]]


class AgreementWarning(UserWarning):
    """There is too little data to tell whether an assertion holds; the assertion passes."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option ``--assay-update``, with which the fixture writes baselines instead of comparing with them."""
    parser.getgroup("assay").addoption(
        "--assay-update", action="store_true", help="write the baselines of assert_agreement(against=FILE) anew"
    )


@pytest.fixture(name="assert_agreement")
def _assert_agreement_fixture(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Return :func:`assay.pytest_plugin.assert_agreement`, which with ``--assay-update`` writes baselines."""
    if not request.config.getoption("--assay-update"):
        return assert_agreement
    written = request.session.stash.setdefault(_WRITTEN, {})
    return functools.partial(assert_agreement, update=functools.partial(_write_once, written, request.node.nodeid))


def _write_once(written: dict[Path, tuple[str, str]], test: str, path: Path, text: str) -> None:
    """Write the baseline of a test, and add it to *written*, if none was written to its path in this session.

    Args:
        written: the baselines of this session: the id of the test and the text, by resolved path.
        test: the id of the test.
        path: the path of the baseline.
        text: the contents of the baseline.

    Raises:
        InputError: the file cannot be written, or another assertion of this session wrote a different baseline there
            (apart from speeds), so that one of the tests would be compared with the scores of the other.
    """
    from assay.analysis.check.baseline import values_without_speeds
    from assay.exceptions import InputError
    from assay.reports.check_files import write_file

    resolved = path.resolve()
    if resolved not in written:
        write_file(path, text)
        written[resolved] = test, text
    first_test, first_text = written[resolved]
    if values_without_speeds(first_text) != values_without_speeds(text):
        raise InputError(f"{path}: holds the baseline of {first_test}; give {test} one of its own")


def assert_agreement(
    metric: ScoreFunction | Metric | MetricName | str,
    dataset: Any,
    *,
    at_least: float | None = None,
    against: str | Path | ScoreFunction | Metric | MetricName | None = None,
    margin: float = 0.01,
    max_shift: float | None = None,
    system: str | None = None,
    item: str | None = None,
    system_by: Sequence[str] = (),
    positive: str | None = None,
    system_margin: float | None = None,
    strict: bool = False,
    statistic: str = "spearman",
    bucket: str = "all",
    columns: str | Mapping[str, str] | None = None,
    language: str | None = None,
    group_by: str | None = None,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
    update: bool | Callable[[Path, str], None] = False,
) -> None:
    """Fail if a metric agrees less with people than required, and there is enough data to tell.

    Each requested test must hold: the bar *at_least*, and the comparison *against*.

    Args:
        metric: ``score(references, candidates)``, two lists of n texts, which returns n finite numbers, higher where
            the texts are more similar (of several gold answers the best counts); or the name of a metric, such as
            ``"f1"``; or a metric object.
        dataset: a card (``"stsb:test"``), a file, a data frame, a list of (reference, candidate, label), or what
            :func:`assay.load_dataset` returns.
        at_least: the bar, on the scale of the statistic (-1 to 1 for correlations, 0 to 1 for AUC and accuracies).
            Fails if the whole interval of the coefficient is below the bar.
        against: what the metric may not fall behind by more than *margin*: a baseline (the path of a ``.json`` file,
            written by ``pytest --assay-update`` or ``assay baseline``), or another metric on the same pairs, as a name,
            function or object. Fails if the whole interval of the paired difference is below ``-margin``.
        margin: the loss that is tolerated, 0 or more, in units of the statistic.
        max_shift: the largest mean change of a score against a baseline, in standard deviations of the baseline's
            scores; None for any.
        system: the column that names the system of each answer, or ``-`` if all are one system's. Each system may not
            fall behind its answers to the same items in a baseline either, which may have been other answers.
        item: the column of these items; by default item, question, group or reference.
        system_by: what measures a system: ``labels`` (the default), or metrics whose mean score is compared.
        positive: the labels that mean yes, such as ``label>=2``: systems are judged by the share of these.
        system_margin: the loss of a system that is tolerated; by default *margin*.
        strict: whether to fail instead of warn if there is too little data to tell.
        statistic: the name of a coefficient, such as ``"pearson"``, ``"kendall"``, ``"auc"``; ``assay run --help``
            lists them.
        bucket: a single condition, such as ``"f1=0"`` or ``"label<2"``; all pairs by default.
        columns: the column of each role, such as ``"reference=gold,candidate=answer,label=human"``, as for
            :func:`assay.run`.
        language: ISO 639-1 code of the texts, for metrics that depend on it.
        group_by: a column whose groups are resampled as a whole, such as the question of several answers; by default
            the groups of the data, if it has any.
        resamples: the number of resamples for the interval, 100 or more; a higher *confidence* needs more.
        confidence: the level of the interval, above 0.5 and below 1.
        seed: the seed of the resamples, 0 or more; equal seeds give equal intervals.
        update: whether to write the baseline instead of comparing with it, or a function of path and text that writes
            it. Tests leave it to ``pytest --assay-update``.

    Raises:
        AssertionError: a test does not hold, and the message has the coefficient or difference with its interval; a
            metric returns no scores; the coefficient or difference is undefined; there is no such baseline; if
            *strict*, also too little data.
        InputError: data, metric, bucket or baseline cannot be used, a number is out of its range, or an argument needs
            a baseline.
        UnavailableError: the dataset, or every metric, is unavailable.
        TypeError: neither *at_least* nor *against* is given.

    Warns:
        AgreementWarning: an interval contains the bar or ``-margin``, or is missing, so that there is too little data
            to tell.
    """
    from assay.analysis.check.baseline import take_baseline, to_text
    from assay.analysis.check.settings import CheckSettings
    from assay.common.output import check_replaceable
    from assay.datasets import Pairs, load_dataset
    from assay.exceptions import InputError
    from assay.reports.check_files import BASELINE, write_file

    if at_least is None and against is None:
        raise TypeError("assert_agreement needs at_least=, against=, or both")
    pairs = dataset if isinstance(dataset, Pairs) else load_dataset(dataset, columns=columns, language=language)
    baseline = _baseline_path(against, max_shift=max_shift, system=system)
    if baseline is not None and update:
        check_replaceable(baseline, replace(BASELINE, setting="against"))
    pairs, runnable_metric = _prepare_metric(pairs, metric)
    metrics = [runnable_metric]
    metric_name = str(runnable_metric)
    if against is not None and baseline is None:
        pairs, rival = _prepare_metric(pairs, against, other_metric=metric_name)
        metrics.append(rival)
        if str(rival) == metric_name:
            raise InputError(f"against={metric_name!r}: is the metric itself")
    settings = CheckSettings(
        margin=margin,
        max_shift=max_shift,
        system=system,
        item=item,
        system_by=system_by,
        positive=positive,
        system_margin=system_margin,
        strict=strict,
        metrics=(metric_name,),
        datasets=(pairs.name,),
        buckets=(bucket,),
        statistics=(statistic,),
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        run = _run_metrics(pairs, metrics, settings, group_by, Path(folder))
        if at_least is not None:
            _check_bar(run, metric_name, settings, at_least)
        if baseline is not None and update:
            write = write_file if update is True else update
            write(baseline, to_text(_follow_chain(take_baseline(run, system, item), baseline)))
        elif baseline is not None:
            _check_baseline(run, baseline, settings)
        elif against is not None:
            _check_rival(run, settings)


def _baseline_path(against: object, **needs_baseline: object) -> Path | None:
    """Return the path of the baseline to compare with; None if *against* is a metric, or nothing.

    Args:
        against: what was passed to :func:`assert_agreement`.
        needs_baseline: the arguments that are None unless there is a baseline, by name.

    Raises:
        InputError: *against* is a Path that does not end in ``.json``, or one of these arguments is given without a
            baseline.
    """
    from assay.exceptions import InputError

    if isinstance(against, str | Path) and str(against).endswith(".json"):
        return Path(against)
    if isinstance(against, Path):
        raise InputError(f"against={str(against)!r}: a baseline is a file that ends in .json")
    for name, value in needs_baseline.items():
        if value is not None:
            raise InputError("needs a baseline to compare with: against=FILE.json", setting=name)
    return None


def _run_metrics(
    pairs: Pairs, metrics: Sequence[Any], settings: CheckSettings, group_by: str | None, folder: Path
) -> RunFolder:
    """Return a run of metrics on the pairs, with the bucket, statistic and intervals of the settings.

    Args:
        pairs: the data.
        metrics: the metrics or their names.
        settings: the settings, with one bucket and one statistic.
        group_by: a column whose groups are resampled as a whole; None for the groups of the data, if it has any.
        folder: an empty folder to write to.

    Raises:
        AssertionError: a metric returned no scores, or another part of the run failed.
        InputError: a metric, the bucket or *group_by* cannot be used.
        UnavailableError: no metric is available.
    """
    import assay
    from assay.analysis.data import read_datasets
    from assay.analysis.folder import read_run
    from assay.exceptions import InputError

    result = assay.run(
        [pairs],
        metrics,
        buckets=settings.buckets,
        statistics=settings.statistics,
        resamples=settings.resamples,
        confidence=settings.confidence,
        group_by=group_by,
        seed=settings.seed,
        out=folder / "run",
        # scores of code that may change between sessions must not be read from the shared store
        store=folder / "scores.sqlite" if any(map(_is_defined_in_tests, metrics)) else None,
    )
    if result.failures:
        raise AssertionError("; ".join(result.failures))
    run = read_run(folder / "run")
    (bucket,) = settings.buckets
    known_buckets = read_datasets(run)[0].buckets
    if bucket not in known_buckets:
        raise InputError(f"bucket {bucket!r}: names no single bucket; use one of {', '.join(known_buckets)}")
    return run


def _follow_chain(new_baseline: Baseline, path: Path) -> Baseline:
    """Return a new baseline, with the first baseline of the chain added if the one at *path* belongs to a chain."""
    from assay.analysis.check.baseline import continue_chain, read_baseline
    from assay.exceptions import InputError

    try:
        old_baseline = read_baseline(path)
    except InputError:
        # there is none yet, or it was changed by hand, which a new one repairs
        return new_baseline
    return new_baseline if old_baseline.origin is None else continue_chain(new_baseline, old_baseline)


def _prepare_metric(pairs: Pairs, metric: Any, other_metric: str = "") -> tuple[Pairs, Any]:
    """Return the pairs and a metric or name that can be run on them.

    The scores of a function are added to the pairs as a column, which the returned metric reads. Of a pair with several
    gold answers the highest score counts.

    Args:
        pairs: the data.
        metric: a function of references and candidates; or a metric or its name, which is returned unchanged.
        other_metric: the name of the other metric of the run, from which that of a function is kept distinct.

    Raises:
        AssertionError: the function does not return one finite number for each pair of texts.
    """
    import numpy as np

    from assay.metrics.recorded import Recorded

    if not callable(metric):
        return pairs, metric
    references, candidates, _ = pairs.texts()
    # one entry per gold answer, each with the candidate of its pair
    gold_answers: list[str] = []
    paired_candidates: list[str] = []
    starts: list[int] = []
    for reference, candidate in zip(references, candidates, strict=True):
        gold_answers_of_pair = [reference] if isinstance(reference, str) else list(reference)
        starts.append(len(gold_answers))
        gold_answers += gold_answers_of_pair
        paired_candidates += [candidate] * len(gold_answers_of_pair)
    # an object with __call__ has no name of its own
    name = f"{getattr(metric, '__name__', type(metric).__name__)}()"
    column = f"against {name}" if other_metric == str(Recorded(subject=name)) else name
    scores = _scores_of_function(metric, name, gold_answers, paired_candidates)
    best_of_pair = np.maximum.reduceat(scores, starts)
    return pairs.with_column(column, best_of_pair), Recorded(subject=column)


def _scores_of_function(
    function: ScoreFunction, name: str, references: list[str], candidates: list[str]
) -> NDArray[np.float64]:
    """Return the scores that a function gives n pairs of texts, shape (n,).

    Args:
        function: the function.
        name: its name, for messages.
        references, candidates: the texts, n of each.

    Raises:
        AssertionError: it does not return n finite numbers.
    """
    import numpy as np

    returned = function(references, candidates)
    try:
        scores = np.asarray([float(score) for score in returned])
    except (TypeError, ValueError) as error:
        raise AssertionError(
            f"{name} must return a list of {len(candidates):,} numbers, not {type(returned).__name__} ({error})"
        ) from error
    if len(scores) != len(candidates):
        raise AssertionError(f"{name} gave {len(scores):,} scores for {len(candidates):,} pairs")
    invalid_scores = scores[~np.isfinite(scores)]
    if len(invalid_scores):
        raise AssertionError(f"{name} gave {invalid_scores[0]}, which is not a score")
    return scores


def _is_defined_in_tests(metric: Any) -> bool:
    """Tell whether the class of a metric comes from no installed package, such as from a test file.

    The functions that it calls may change without a change of its signature. Two test files with the same name may even
    contain the same class, each with its own functions.
    """
    from assay.metrics import Metric
    from assay.metrics.provenance import origin_of

    # the origin of an installed class has its distribution as well, and that of a class of assay is empty
    return isinstance(metric, Metric) and origin_of(type(metric)).keys() == {"code"}


def _check_bar(run: RunFolder, metric: str, settings: CheckSettings, bar: float) -> None:
    """Check that the interval of the coefficient is not below the bar.

    Args:
        run: a run with one dataset.
        metric: the name of the metric.
        settings: the settings, with one bucket and one statistic.
        bar: the lowest coefficient that is enough.

    Raises:
        AssertionError: the whole interval is below the bar, or the coefficient is undefined; if the settings are
            strict, also too little data.

    Warns:
        AgreementWarning: the interval contains the bar, or there is none.
    """
    from assay.statistics.coefficients import title_of

    (bucket,), (statistic,) = settings.buckets, settings.statistics
    row = next(row for row in run.agreement if (row.metric, row.bucket) == (metric, bucket))
    cell = row.number
    result = f"{metric} on {row.dataset}, {bucket}: {title_of(statistic)} {cell.text} (n = {row.n:,})"
    if cell.value is None:
        raise AssertionError(f"{result} is undefined: {cell.note}")
    if cell.low is None or cell.high is None:
        _warn_too_little(settings, f"{result} has no interval to compare with {bar:g}: {cell.note}")
    elif cell.high < bar:
        raise AssertionError(f"{result} is below {bar:g}")
    elif cell.low < bar:
        _warn_too_little(settings, f"{result} may lie below or above {bar:g}")


def _check_baseline(run: RunFolder, path: Path, settings: CheckSettings) -> None:
    """Check that a run is not worse than the baseline at *path*.

    Raises:
        AssertionError: the run is worse, or there is no baseline; if the settings are strict, also too little data.
        InputError: the baseline cannot be read, or lacks what is to be compared.

    Warns:
        AgreementWarning: there is too little data to tell.
    """
    from assay.analysis.check.baseline import read_baseline
    from assay.analysis.check.cells import Verdict
    from assay.analysis.check.checking import check_run
    from assay.reports.check import headline, missed_loss_line, to_document
    from assay.reports.formats import format_document

    if not path.exists():
        raise AssertionError(f"{path}: there is no such baseline yet; write it with: pytest --assay-update")
    report = check_run(run, read_baseline(path), settings)
    if not report.passed:
        raise AssertionError(f"against {path} {headline(report)}\n\n{format_document(to_document(report), 'md')}")
    if any(cell.verdict is Verdict.too_little for cell in report.judged):
        _warn_too_little(settings, f"against {path}: {headline(report)}; {missed_loss_line(report)}")


def _check_rival(run: RunFolder, settings: CheckSettings) -> None:
    """Check that the first metric of a run does not agree less than the second by more than the margin.

    Raises:
        AssertionError: the whole interval of the paired difference is below the negative margin, or the difference is
            undefined; if the settings are strict, also too little data.

    Warns:
        AgreementWarning: the interval is too wide to decide.
    """
    from assay.analysis.check.cells import Verdict, judge
    from assay.analysis.data import read_datasets
    from assay.statistics.coefficients import title_of
    from assay.statistics.paired_change import paired_changes

    (data,) = read_datasets(run)
    (bucket,) = settings.buckets
    (statistic,) = settings.statistics
    pairs = data.pairs_in_bucket(bucket, settings.seed)
    first, second = data.scores
    (change,) = paired_changes(
        pairs.take(data.oriented_scores(first)),
        pairs.take(data.oriented_scores(second)),
        pairs.labels,
        statistics=(statistic,),
        confidence=settings.confidence,
        groups=pairs.groups,
        resamples=settings.resamples if settings.interval == "bootstrap" else 0,
        seed=pairs.seed,
    )
    difference = change.difference
    comparison = f"{title_of(statistic)} of {first} minus that of {second}"
    result = f"{comparison} on {data.name}, {bucket}: {difference.text} (n = {change.n:,})"
    if difference.value is None:
        raise AssertionError(f"{result}: {difference.note}")
    verdict = judge(
        change.before, change.now, difference.low, difference.high, settings.margin, change.has_few_rare_units
    )
    if verdict.fails:
        raise AssertionError(f"{result}: {verdict} by more than {settings.margin:g}")
    if verdict is Verdict.too_little:
        _warn_too_little(settings, "; ".join([result, *difference.notes]))


def _warn_too_little(settings: CheckSettings, result: str) -> None:
    """Warn that there is too little data to decide; if the assertion is strict, raise AssertionError instead."""
    text = f"too little data to tell: {result}"
    if settings.strict:
        raise AssertionError(text)
    # 4 levels up is the caller of assert_agreement, above this function, the check and assert_agreement itself
    warnings.warn(AgreementWarning(text), stacklevel=4)
