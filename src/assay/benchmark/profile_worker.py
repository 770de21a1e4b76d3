"""The process in which one metric is measured: ``python -m assay.benchmark.profile_worker``.

It reads the job and then the pairs from standard input, and writes facts and points to standard output, each as one
line of JSON.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.benchmark.executor import Unit
    from assay.metrics import Batch, Metric
    from assay.metrics.base import Engine

Tell = Callable[[dict[str, Any]], None]


def lengthen(texts: Sequence[str], n: int, times: int = 1) -> list[str]:
    """Return n texts, each made of *times* consecutive texts.

    If n exceeds the number of texts, they are repeated with a running number, so that no repetition equals another.

    Args:
        texts: the source texts, at least one.
        n: the number of texts to return.
        times: the number of source texts that are joined to one.

    Example:
        >>> lengthen(["a", "b"], 3, 2)
        ['a b', 'b a', 'a b 1']
    """
    lengthened = []
    for start in range(n):
        joined = " ".join(texts[(start + step) % len(texts)] for step in range(times))
        repetition = start // len(texts)
        # an empty text becomes the number alone
        lengthened.append(f"{joined} {repetition}".lstrip() if repetition else joined)
    return lengthened


def main() -> None:
    """Measure the metric of the job on standard input, and report the results or the error on standard output."""
    # libraries that print must not mix with the answer lines: their output is redirected to standard error
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)

    def tell(answer: dict[str, Any]) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    job = json.loads(sys.stdin.buffer.readline())
    rows = [json.loads(line) for line in sys.stdin.buffer]
    try:
        _measure(job, rows, tell)
        tell({"status": "done", "ended": True})
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:  # noqa: BLE001 - whatever a metric raises is reported, the others go on
        tell(_status_of(error) | {"ended": True})
    finally:
        # imported here, since the time of imports is measured as part of loading
        from assay.metrics.work import release_sessions

        # the thread of a session that calls a server would keep the process from ending
        release_sessions()


def _status_of(error: Exception) -> dict[str, Any]:
    """Return the fields of a profile that report an error: the status, the reason, and the remedy if there is one."""
    from assay.exceptions import AssayError, UnavailableError

    if isinstance(error, UnavailableError):
        return {"status": "unavailable", "reason": error.reason, "remedy": error.remedy}
    reason = error.message if isinstance(error, AssayError) else f"{type(error).__name__}: {error}"
    return {"status": "failed", "reason": reason}


def _measure(job: dict[str, Any], rows: list[list[str]], tell: Tell) -> None:
    """Measure a metric, and report facts and points as soon as they are known.

    Args:
        job: the metric and settings, as :func:`~assay.benchmark.profile.profile_metric` sends them.
        rows: reference, candidate and question of each pair.
        tell: the function that reports some fields of the profile, or one point.
    """
    begun = time.perf_counter()
    # imported here, so that importing counts as loading
    from assay.common.processes import peak_memory
    from assay.metrics import Batch, Context, load_metric
    from assay.metrics.judge.spending import Price, Purse, use_purse
    from assay.metrics.neural.runtime import Runtime, use_runtime
    from assay.metrics.work import open_session

    references = [row[0] for row in rows]
    candidates = [row[1] for row in rows]
    questions = [row[2] for row in rows]
    prices = {model: Price(**price) for model, price in job["prices"].items()}
    # fresh, since stored replies would be timed as a reading of files
    purse = Purse(prices=prices, fresh=True)
    with use_runtime(Runtime(job["device"], job["threads"])), use_purse(purse):
        metric = load_metric(job["metric"]).bind(Context(job["language"], lambda: references))
        metric.check_available()
        engine = metric.needs()
        # a first pair, so that resources loaded on first use, such as WordNet, count as loading
        _score_timed(metric, engine, Batch(references[:1], candidates[:1], questions[:1]))
        tell({"load_seconds": round(time.perf_counter() - begun, 3)})
        # a metric that calls a server is timed once, because each call may cost money
        repeats = 1 if "calls" in open_session(engine).cost() else job["repeats"]
        # the remark on a metric other than a preset repeats its name
        says = metric.says() if str(metric) != job["metric"] else ""
        tell({"signature": metric.short_signature(), "says": says})
        for n, times in job["points"]:
            repeated_questions = [questions[i % len(questions)] for i in range(n)]
            batch = Batch(lengthen(references, n, times), lengthen(candidates, n, times), repeated_questions)
            tell({"point": _measure_point(metric, engine, batch, times, repeats)})
        facts = _cost_facts(open_session(engine).cost())
        price = metric.price_per_1000()
        if price is not None:
            facts["price_per_1000"] = price
        tell(facts | {"peak_memory_mb": peak_memory()})


def _measure_point(metric: Metric, engine: Engine | None, batch: Batch, times: int, repeats: int) -> dict[str, Any]:
    """Score a batch *repeats* times, and return the fields of a :class:`~assay.benchmark.profile.Point`.

    The times are the medians of the repeats. *times*, the number of texts that were joined to one, is only recorded.
    """
    seconds, cpu, truncated = [], [], 0
    for _ in range(repeats):
        wall_seconds, cpu_seconds, truncated = _score_timed(metric, engine, batch)
        seconds.append(wall_seconds)
        cpu.append(cpu_seconds)
    median = statistics.median(seconds)
    characters = sum(map(len, batch.references)) + sum(map(len, batch.candidates))
    return {
        "pairs": len(batch),
        "length": times,
        "characters": round(characters / len(batch), 1),
        "seconds": median,
        "cpu_seconds": statistics.median(cpu),
        "pairs_per_second": round(len(batch) / median, 1),
        "truncated": truncated,
    }


def _score_timed(metric: Metric, engine: Engine | None, batch: Batch) -> tuple[float, float, int]:
    """Score a batch in the units of a run, without a store; return wall seconds, CPU seconds and truncated pairs."""
    from assay.benchmark.executor import score_unit
    from assay.metrics.scores import Flag

    units = list(_units_of_batch(metric, engine, batch))
    truncated = 0
    begun, cpu_begun = time.perf_counter(), time.process_time()
    for unit in units:
        flags = score_unit(unit).flags
        truncated += int(((flags & (Flag.REFERENCE_CUT | Flag.CANDIDATE_CUT)) > 0).sum())
    return time.perf_counter() - begun, time.process_time() - cpu_begun, truncated


def _units_of_batch(metric: Metric, engine: Engine | None, batch: Batch) -> Iterator[Unit]:
    """Yield the units of a batch, each with the texts that recur in a later unit, for the session to cache."""
    from assay.benchmark.executor import Unit
    from assay.benchmark.scoring import CHUNK

    size = CHUNK if engine is None else engine.pairs
    # the number of the last unit in which each text occurs; only engines cache texts
    last_unit: dict[str, int] = {}
    if engine is not None:
        for row, pair in enumerate(batch.pairs()):
            last_unit |= dict.fromkeys(pair, row // size)
    for start in range(0, len(batch), size):
        chunk = batch.take(range(start, min(start + size, len(batch))))
        number = start // size
        recurring: set[str] = set()
        for pair in chunk.pairs():
            recurring.update(text for text in pair if last_unit.get(text, 0) > number)
        yield Unit(number, engine, (metric,), chunk, frozenset(recurring))


def _cost_facts(cost: dict[str, Any]) -> dict[str, Any]:
    """Return those facts of a session's cost that a profile has, under the profile's names."""
    same_names = ("parameters", "threads", "price_per_1000", "peak_gpu_memory_mb")
    facts: dict[str, Any] = {name: cost[name] for name in same_names if name in cost}
    if "devices" in cost:
        facts["device"] = cost.get("device_name") or ", ".join(cost["devices"])
    return facts


if __name__ == "__main__":
    main()
