"""Agreement with people as an assertion, for projects that test in pytest.

``assert_agreement`` is a fixture and a function of this module. pytest imports the module in every session, so it
imports nothing of assay before it is used.
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
    from assay.datasets import Pairs
    from assay.metrics import Metric, MetricName
    from assay.reports.check.settings import CheckSettings
    from assay.reports.folder import RunFolder

__all__ = ["AgreementWarning", "assert_agreement"]

#: pytest shows the line of the test, not those of this module.
__tracebackhide__ = True

#: The baselines that a session wrote: by path, the test and the text.
_WRITTEN = pytest.StashKey[dict[Path, tuple[str, str]]]()
#: A function of references and candidates, as many of each, to as many scores.
ScoreFunction = Callable[[list[str], list[str]], Sequence[float]]


class AgreementWarning(UserWarning):
    """There is too little data to tell whether an assertion holds; it passes."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--assay-update``."""
    parser.getgroup("assay").addoption(
        "--assay-update", action="store_true", help="write the baselines of assert_agreement(against=FILE) anew"
    )


@pytest.fixture(name="assert_agreement")
def _fixture(request: pytest.FixtureRequest) -> Callable[..., None]:
    """:func:`assay.pytest_plugin.assert_agreement`, which ``--assay-update`` reaches."""
    if not request.config.getoption("--assay-update"):
        return assert_agreement
    written = request.session.stash.setdefault(_WRITTEN, {})
    return functools.partial(assert_agreement, update=functools.partial(_write_once, written, request.node.nodeid))


def _write_once(written: dict[Path, tuple[str, str]], test: str, path: Path, text: str) -> None:
    """Write the baseline of a test, unless another one has it: the later would be held against the wrong scores.

    Raises:
        InputError: an assertion of this session wrote something else there, speeds apart.
    """
    from assay.errors import InputError
    from assay.reports.check.baseline import without_speeds
    from assay.reports.check.files import write_file

    place = path.resolve()
    if place not in written:
        write_file(path, text)
        written[place] = test, text
    before, held = written[place]
    if without_speeds(held) != without_speeds(text):
        raise InputError(f"{path}: holds the baseline of {before}; give {test} one of its own")


def assert_agreement(
    metric: ScoreFunction | Metric | MetricName | str,
    dataset: Any,
    *,
    at_least: float | None = None,
    against: str | Path | ScoreFunction | Metric | MetricName | None = None,
    margin: float = 0.01,
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
    """Fail where a metric agrees less with people than it must, and the data is enough to say so.

    Args:
        metric: ``score(references, candidates)``, which returns as many numbers, higher where the texts are more
            similar (of several gold answers the best counts); or the name of a metric, such as ``"f1"``.
        dataset: a card (``"stsb:test"``), a file, a data frame, a list of (reference, candidate, label).
        at_least: the bar. Fails where the whole interval of the coefficient lies below it.
        against: what the metric must not fall behind by more than *margin*: a baseline (the path of a ``.json`` file,
            written by ``pytest --assay-update`` or ``assay baseline``), or another metric on the same pairs. Fails
            where the whole interval of the paired difference lies below ``-margin``.
        margin: what may be lost, 0 or more.
        statistic: a coefficient of :data:`assay.statistics.coefficients.STATISTICS`.
        bucket: one condition, such as ``"f1=0"`` or ``"label<2"``; all pairs by default.
        columns, language, group_by: as for :func:`assay.run`.
        resamples, confidence, seed: of the intervals.
        update: write the baseline and compare nothing; a function of path and text writes it.

    Raises:
        AssertionError: the metric agrees too little, or gives no scores.
        InputError: data, metric, bucket or baseline cannot be used.
        TypeError: neither *at_least* nor *against* is given.

    Warns:
        AgreementWarning: the interval holds the bar, so that the data cannot tell.
    """
    import assay
    from assay.datasets import load_dataset
    from assay.errors import InputError
    from assay.output import check_replaceable
    from assay.reports.check.baseline import take_baseline, to_text
    from assay.reports.check.files import BASELINE, write_file
    from assay.reports.check.settings import CheckSettings
    from assay.reports.data import read_datasets
    from assay.reports.folder import read_run

    if at_least is None and against is None:
        raise TypeError("assert_agreement needs at_least=, against=, or both")
    pairs = load_dataset(dataset, columns=columns, language=language)
    baseline = Path(against) if isinstance(against, str | Path) and str(against).endswith(".json") else None
    if isinstance(against, Path) and baseline is None:
        raise InputError(f"against={str(against)!r}: a baseline is a file that ends in .json")
    if baseline is not None and update:
        check_replaceable(baseline, replace(BASELINE, option="against="))
    pairs, first = _with_scores(pairs, metric)
    asked = [first]
    if against is not None and baseline is None:
        pairs, second = _with_scores(pairs, against, taken=str(first))
        asked.append(second)
        if str(first) == str(second):
            raise InputError(f"against={str(second)!r}: is the metric itself")
    settings = CheckSettings(
        margin=margin,
        metrics=(str(first),),
        datasets=(pairs.name,),
        buckets=(bucket,),
        statistics=(statistic,),
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        place = Path(folder) / "run"
        result = assay.run(
            [pairs],
            asked,
            buckets=[bucket],
            statistics=[statistic],
            resamples=resamples,
            confidence=confidence,
            group_by=group_by,
            seed=seed,
            out=place,
            store=Path(folder) / "scores.sqlite" if any(map(_is_of_tests, asked)) else None,
        )
        if result.failures:
            raise AssertionError("; ".join(result.failures))
        run = read_run(place)
        known = list(read_datasets(run)[0].buckets)
        if bucket not in known:
            raise InputError(f"bucket {bucket!r}: names no single bucket; take one of {', '.join(known)}")
        if at_least is not None:
            _hold_to_bar(run, str(first), settings, at_least)
        if baseline is not None and update:
            (write_file if update is True else update)(baseline, to_text(take_baseline(run)))
        elif baseline is not None:
            _hold_to_baseline(run, baseline, settings)
        elif against is not None:
            _hold_to_rival(run, settings)


def _with_scores(pairs: Pairs, metric: Any, taken: str = "") -> tuple[Pairs, Any]:
    """Return the pairs and what to run on them: for a function, a column with its scores; *taken* is no name for it."""
    import numpy as np

    from assay.metrics.recorded import Recorded

    if not callable(metric):
        return pairs, metric
    references, candidates, _ = pairs.texts()
    golds = [[one] if isinstance(one, str) else list(one) for one in references]
    starts = np.cumsum([0, *(len(one) for one in golds)])
    repeated = [candidate for one, candidate in zip(golds, candidates, strict=True) for _ in one]
    name = f"{getattr(metric, '__name__', type(metric).__name__)}()"
    column = f"against {name}" if taken == str(Recorded(subject=name)) else name
    given = metric([gold for one in golds for gold in one], repeated)
    try:
        scores = np.asarray([float(score) for score in given])
    except (TypeError, ValueError) as error:
        raise AssertionError(
            f"{name} must return a list of {len(repeated):,} numbers, not {type(given).__name__} ({error})"
        ) from error
    if len(scores) != len(repeated):
        raise AssertionError(f"{name} gave {len(scores):,} scores for {len(repeated):,} pairs")
    if not np.isfinite(scores).all():
        raise AssertionError(f"{name} gave {scores[~np.isfinite(scores)][0]}, which is no score")
    return pairs.with_column(column, np.maximum.reduceat(scores, starts[:-1])), Recorded(subject=column)


def _is_of_tests(metric: Any) -> bool:
    """Tell whether a metric's class was not installed: the functions that it calls can change, and nobody would know.

    Two test files of one name may even hold the same class, each with functions of its own.
    """
    from assay.metrics import Metric
    from assay.metrics.provenance import origin_of

    return isinstance(metric, Metric) and origin_of(type(metric)).keys() == {"code"}


def _hold_to_bar(run: RunFolder, metric: str, settings: CheckSettings, bar: float) -> None:
    from assay.reports.layout import Cell
    from assay.statistics.coefficients import title_of

    (bucket,), (statistic,) = settings.buckets, settings.statistics
    row = next(row for row in run.agreement if (row.metric, row.bucket) == (metric, bucket))
    cell = Cell(row.value, row.low, row.high, row.note)
    said = f"{metric} on {row.dataset}, {bucket}: {title_of(statistic)} {cell.text} (n = {row.n:,})"
    if cell.value is None:
        raise AssertionError(f"{said} is undefined: {cell.note}")
    if cell.low is None or cell.high is None:
        _too_little(f"{said} has no interval to hold against {bar:g}: {cell.note}")
    elif cell.high < bar:
        raise AssertionError(f"{said} lies below {bar:g}")
    elif cell.low < bar:
        _too_little(f"{said} may lie below or above {bar:g}")


def _hold_to_baseline(run: RunFolder, path: Path, settings: CheckSettings) -> None:
    from assay.reports.check.baseline import read_baseline
    from assay.reports.check.cells import Verdict
    from assay.reports.check.checking import check
    from assay.reports.check.document import headline, to_document
    from assay.reports.formats import write

    if not path.exists():
        raise AssertionError(f"{path}: there is no such baseline yet; write it with: pytest --assay-update")
    report = check(run, read_baseline(path), settings)
    if not report.passed:
        raise AssertionError(f"against {path} {headline(report)}\n\n{write(to_document(report), 'md')}")
    if any(cell.verdict is Verdict.too_little for cell in report.judged):
        _too_little(f"against {path}: {headline(report)}")


def _hold_to_rival(run: RunFolder, settings: CheckSettings) -> None:
    from assay.reports.check.cells import Verdict, judge
    from assay.reports.data import read_datasets
    from assay.reports.layout import Cell
    from assay.statistics.coefficients import title_of
    from assay.statistics.comparison import compare

    (data,), (bucket,), (statistic,) = read_datasets(run), settings.buckets, settings.statistics
    pairs = data.within(bucket, settings.seed)
    first, second = data.scores
    (found,) = compare(
        pairs.take(data.oriented(first)),
        pairs.take(data.oriented(second)),
        pairs.labels,
        statistics=(statistic,),
        permutations=0,
        resamples=settings.resamples,
        confidence=settings.confidence,
        seed=pairs.seed,
        groups=pairs.groups,
    )
    difference = Cell(found.value, found.low, found.high, found.note).text
    compared = f"{title_of(statistic)} of {first} less that of {second}"
    said = f"{compared} on {data.name}, {bucket}: {difference} (n = {found.n:,})"
    if found.value is None:
        raise AssertionError(f"{said}: {found.note}")
    verdict = judge(found.second, found.first, found.low, found.high, settings.margin)
    if verdict.fails:
        raise AssertionError(f"{said}: {verdict} by more than {settings.margin:g}")
    if verdict is Verdict.too_little:
        _too_little(f"{said}{f'; {found.note}' if found.note else ''}")


def _too_little(said: str) -> None:
    warnings.warn(AgreementWarning(f"too little data to tell: {said}"), stacklevel=4)
