"""Time, memory and price of single metrics, each measured in its own process over more pairs and longer texts."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    from assay.benchmark.settings import ProfileSettings
    from assay.metrics import Batch
    from assay.metrics.judge.spending import Price

#: Arguments of this process's own interpreter; -P keeps a user's file named statistics.py from being imported.
WORKER = ("-P", "-m", "assay.benchmark.profile_worker")


@dataclass(frozen=True)
class Point:
    """One measurement.

    Attributes:
        pairs: the number of pairs that were scored.
        length: the number of texts that were joined to one.
        characters: the mean number of characters of a pair, both texts together.
        seconds: the wall time of a call without loading, the median of the repeats.
        cpu_seconds: the CPU time of all threads in a call, the median of the repeats.
        pairs_per_second: *pairs* divided by *seconds*.
        truncated: the number of pairs with a text that was truncated at the model's limit.
    """

    pairs: int
    length: int
    characters: float
    seconds: float
    cpu_seconds: float
    pairs_per_second: float
    truncated: int = 0


@dataclass(frozen=True)
class Fit:
    """A power law, seconds ∝ size ** exponent, by least squares of the logarithms.

    Attributes:
        exponent: 1 if twice the size takes twice the time, 2 if it takes four times.
        r_squared: the share of the variance of log seconds that the law explains; None for two points, which any law
            fits, and if the seconds are all equal.
        points: the number of points that the law was fitted to.
    """

    exponent: float
    r_squared: float | None
    points: int


@dataclass(frozen=True)
class MetricProfile:
    """The measured cost of one metric.

    Attributes:
        metric: the name as it was typed.
        status: ``done``, ``failed`` or ``unavailable``; a failed profile keeps the points that were measured before.
        reason: why the status is not ``done``.
        remedy: the command or advice that resolves the problem.
        says: a remark for readers, such as the model that a preset chose.
        signature: everything that determines the scores, in one line.
        load_seconds: the time from the start of the imports until the first pair is scored, without downloads and the
            start of the interpreter.
        parameters: the number of the model's parameters; None for a metric without a model.
        peak_memory_mb: the peak memory of the process, including libraries, in 10⁶ bytes.
        peak_gpu_memory_mb: the peak GPU memory of torch, in 10⁶ bytes; None without a GPU.
        price_per_1000: the price of 1,000 distinct pairs, in the currency of the user's price list; None if unknown.
        device: the name of the torch device or of the graphics card; an empty string for a metric without a model.
        threads: the number of CPU threads; None for a metric without a model.
        points: the measurements.
        over_pairs: the growth of seconds with the number of pairs.
        over_length: the growth of seconds with the characters of a pair, at a fixed number of pairs.
    """

    metric: str
    status: str = "done"
    reason: str = ""
    remedy: str = ""
    says: str = ""
    signature: str = ""
    load_seconds: float | None = None
    parameters: int | None = None
    peak_memory_mb: int | None = None
    peak_gpu_memory_mb: int | None = None
    price_per_1000: float | None = None
    device: str = ""
    threads: int | None = None
    points: tuple[Point, ...] = ()
    over_pairs: Fit | None = None
    over_length: Fit | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the profile as a dictionary of plain values."""
        return asdict(self)


def fit_power(sizes: Sequence[float], seconds: Sequence[float]) -> Fit | None:
    """Return the power law seconds ∝ size ** exponent, fitted by least squares of the logarithms.

    Args:
        sizes: the sizes, shape (n,), positive.
        seconds: the time that each size took, shape (n,), positive.

    Returns:
        The fit; None with fewer than two distinct sizes, or if a value is not positive.

    Example:
        >>> fit_power([1, 2, 4], [3.0, 12.0, 48.0]).exponent
        2.0
    """
    if len(set(sizes)) < 2 or min(*sizes, *seconds) <= 0:
        return None
    log_sizes, log_seconds = np.log(sizes), np.log(seconds)
    # the deviations from the means
    x, y = log_sizes - log_sizes.mean(), log_seconds - log_seconds.mean()
    exponent = float((x @ y) / (x @ x))
    total, residual = float(y @ y), float(((y - exponent * x) ** 2).sum())
    # rounded, so that the noise of the last bits does not change the files
    r_squared = None if len(x) < 3 or total == 0 else round(1 - residual / total, 6)
    return Fit(round(exponent, 6), r_squared, len(x))


def profile_metric(
    metric: str,
    pairs: Batch,
    settings: ProfileSettings,
    *,
    language: str | None = None,
    prices: Mapping[str, Price] | None = None,
    advance: Callable[[int], None] = lambda units: None,
) -> MetricProfile:
    """Return the profile of one metric, measured in its own process; errors of that process are in the result.

    Args:
        metric: the name of the metric, whose models and files must be on this machine.
        pairs: distinct pairs, in an order in which the first k are a fair sample for any k.
        settings: the settings of the measurement; their metrics and dataset are ignored.
        language: the language of the texts; None if unknown.
        prices: the token prices of judges by model; None without any.
        advance: called with 1 after each point.
    """
    job: dict[str, Any] = {
        "metric": metric,
        "language": language,
        "points": settings.points(),
        "repeats": settings.repeats,
        "device": settings.device,
        "threads": settings.threads,
        "prices": {model: price.model_dump() for model, price in (prices or {}).items()},
    }
    profile = MetricProfile(metric, "failed")
    has_ended = False
    with tempfile.TemporaryFile() as errors:
        with subprocess.Popen(
            [sys.executable, *WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
        ) as child:
            try:
                _send_job(cast("IO[bytes]", child.stdin), job, pairs)
                for line in cast("IO[bytes]", child.stdout):
                    answer = json.loads(line)
                    has_ended = answer.pop("ended", False)
                    point = answer.pop("point", None)
                    if point is not None:
                        profile = replace(profile, points=(*profile.points, Point(**point)))
                        advance(1)
                    profile = replace(profile, **answer)
                code = child.wait()
            finally:
                # after an interrupt the process would continue alone
                child.kill()
        if not has_ended:
            profile = replace(profile, status="failed", reason=_reason_of_end(code, errors))
    return _add_fits(profile, settings)


def _send_job(stream: IO[bytes], job: dict[str, Any], pairs: Batch) -> None:
    """Write the job and then one line per pair, so that the reader never holds more than one line beside its texts.

    The stream is closed. If the process at its other end has died, the rest is not written, and no error is raised.
    """
    questions = pairs.questions or [""] * len(pairs)
    # a process that died early has reported why in its answers, or on stderr
    with contextlib.suppress(BrokenPipeError), stream:
        stream.write(json.dumps(job).encode() + b"\n")
        for row in zip(pairs.references, pairs.candidates, questions, strict=True):
            stream.write(json.dumps(row).encode() + b"\n")


def _reason_of_end(code: int, errors: IO[bytes]) -> str:
    """Return how a process ended that did not report its end: the signal, or the exit code and last line of stderr."""
    if code < 0:
        # the kernel ends a process that uses too much memory with SIGKILL, 9
        guess = " (out of memory?)" if code == -9 else ""
        return f"its process was ended by signal {-code}{guess}"
    errors.seek(0)
    lines = errors.read().decode("utf-8", "replace").strip().splitlines()
    last_line = f": {lines[-1].strip()}" if lines else ""
    return f"its process ended with code {code}{last_line}"


def _add_fits(profile: MetricProfile, settings: ProfileSettings) -> MetricProfile:
    """Return a profile with the power laws of its points; a law is None if too few points were measured for it."""
    by_pairs = [point for point in profile.points if point.length == 1]
    by_length = [point for point in profile.points if point.pairs == settings.middle]
    over_pairs = over_length = None
    if by_pairs:
        over_pairs = fit_power([point.pairs for point in by_pairs], [point.seconds for point in by_pairs])
    if by_length:
        over_length = fit_power([point.characters for point in by_length], [point.seconds for point in by_length])
    return replace(profile, over_pairs=over_pairs, over_length=over_length)
