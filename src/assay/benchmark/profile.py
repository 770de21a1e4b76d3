"""What metrics cost by themselves: each in a process of its own, over growing numbers of pairs and longer texts."""

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

#: Called with the measuring process's own interpreter; -P keeps a user's own statistics.py from being imported.
WORKER = ("-P", "-m", "assay.benchmark.profile_worker")


@dataclass(frozen=True)
class Point:
    """One measurement.

    Attributes:
        pairs: how many were scored.
        length: how many texts were joined to one.
        characters: mean length of a pair, both texts together.
        seconds: wall time of a call, the median of the repeats; nothing is loaded in it.
        cpu_seconds: CPU time of all threads in that call, the median.
        pairs_per_second: pairs over seconds.
        truncated: pairs of which a text was cut at the model's limit.
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
        exponent: 1 where twice the size takes twice the time, 2 where it takes four times.
        r_squared: share of the variance of log seconds that it explains; None for two points, which it always meets.
        points: how many it was fitted to.
    """

    exponent: float
    r_squared: float | None
    points: int


@dataclass(frozen=True)
class MetricProfile:
    """What one metric costs.

    Attributes:
        metric: the name as it was typed.
        status: ``done``, ``failed`` or ``unavailable``; a failed one has the points that were measured before.
        reason: why it is not done.
        remedy: the line that mends it.
        says: what a reader should know, such as the model that a preset took.
        signature: everything that decides the scores, on one line.
        load_seconds: from the start of the imports until the first pair is scored; fetching and the start of the
            interpreter are not in it.
        parameters: of the model; None for a metric without one.
        peak_memory_mb: of the process, libraries included, in 10⁶ bytes.
        peak_gpu_memory_mb: that torch took, in 10⁶ bytes; None without a GPU.
        price_per_1000: price of 1,000 distinct pairs, in the currency of the user's price list; None where unknown.
        device: torch's name, or the card's; an empty string for a metric without a model.
        threads: of the CPU, for a model.
        points: the measurements.
        over_pairs: how seconds grow with the number of pairs.
        over_length: how seconds grow with the characters of a pair, at a fixed number of pairs.
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
        """Return plain values."""
        return asdict(self)


def fit_power(sizes: Sequence[float], seconds: Sequence[float]) -> Fit | None:
    """Fit seconds ∝ size ** exponent by least squares in log-log.

    Args:
        sizes: positive, shape (n,).
        seconds: positive, shape (n,).

    Returns:
        None where fewer than two sizes differ, or a value is not positive.

    Example:
        >>> fit_power([1, 2, 4], [3.0, 12.0, 48.0]).exponent
        2.0
    """
    x, y = np.asarray(sizes, dtype=np.float64), np.asarray(seconds, dtype=np.float64)
    if len(np.unique(x)) < 2 or min(x.min(), y.min()) <= 0:
        return None
    x, y = np.log(x), np.log(y)
    x, y = x - x.mean(), y - y.mean()
    exponent = float((x @ y) / (x @ x))
    # rounded so that noise of the last bits does not stand in the files
    total, residual = float(y @ y), float(((y - exponent * x) ** 2).sum())
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
    """Measure one metric in a process of its own; what goes wrong there is in the result.

    Args:
        metric: its name; what it needs must be on this machine.
        pairs: distinct pairs, in an order in which each beginning is a fair sample.
        settings: what to measure; which metrics and which data is not read.
        language: of the texts.
        prices: of the tokens of judges, by model.
        advance: told of each point.
    """
    job: dict[str, Any] = {
        "metric": metric,
        "language": language,
        "points": settings.points(),
        "repeats": settings.repeats,
    }
    job |= {"device": settings.device, "threads": settings.threads}
    job["prices"] = {model: price.model_dump() for model, price in (prices or {}).items()}
    profile = MetricProfile(metric, "failed")
    ended = False
    with tempfile.TemporaryFile() as errors:
        with subprocess.Popen(
            [sys.executable, *WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
        ) as child:
            try:
                _send(cast("IO[bytes]", child.stdin), job, pairs)
                for line in cast("IO[bytes]", child.stdout):
                    answer = json.loads(line)
                    ended = answer.pop("ended", False)
                    point = answer.pop("point", None)
                    if point is not None:
                        profile = replace(profile, points=(*profile.points, Point(**point)))
                        advance(1)
                    profile = replace(profile, **answer)
                code = child.wait()
            finally:
                # an interrupted measurement must not go on alone
                child.kill()
        if not ended:
            profile = replace(profile, status="failed", reason=_why_it_ended(code, errors))
    return _with_fits(profile, settings)


def _send(stream: IO[bytes], job: dict[str, Any], pairs: Batch) -> None:
    """Write the job, then a line a pair: the reader never holds more than one line beside its texts."""
    questions = pairs.questions or [""] * len(pairs)
    # a process that died early says why elsewhere
    with contextlib.suppress(BrokenPipeError), stream:
        stream.write(json.dumps(job).encode() + b"\n")
        for row in zip(pairs.references, pairs.candidates, questions, strict=True):
            stream.write(json.dumps(row).encode() + b"\n")


def _why_it_ended(code: int, errors: IO[bytes]) -> str:
    """Return how a process ended that reported nothing itself: its signal, or its code and last line of stderr."""
    if code < 0:
        return f"its process was ended by signal {-code}" + (" (out of memory?)" if code == -9 else "")
    errors.seek(0)
    lines = errors.read().decode("utf-8", "replace").strip().splitlines()
    return f"its process ended with code {code}" + (f": {lines[-1].strip()}" if lines else "")


def _with_fits(profile: MetricProfile, settings: ProfileSettings) -> MetricProfile:
    """Return a profile with the power laws of its points, each None where no point was measured for it."""
    by_pairs = [point for point in profile.points if point.length == 1]
    by_length = [point for point in profile.points if point.pairs == settings.middle]
    over_pairs = over_length = None
    if by_pairs:
        over_pairs = fit_power([point.pairs for point in by_pairs], [point.seconds for point in by_pairs])
    if by_length:
        over_length = fit_power([point.characters for point in by_length], [point.seconds for point in by_length])
    return replace(profile, over_pairs=over_pairs, over_length=over_length)
