"""The same weights in this process and behind a real server: ``python -m tests.metrics.judge.same_server MODEL 500``.

The server is ``transformers serve`` on this machine. Both judges are asked for verdicts on the first pairs of
EVOUNA-TQ. The texts of the replies and the scores are compared.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from assay.datasets import load_dataset
from assay.metrics import Batch, load_metric
from assay.metrics.work import open_session, release_sessions


@contextmanager
def serve_transformers(folder: Path) -> Iterator[str]:
    """Start ``transformers serve``, which loads models as they are asked for, and yield its address.

    Args:
        folder: where its log is written.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    start = "from transformers.cli.transformers import main; main()"
    command = [sys.executable, "-c", start, "serve", "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    # threads that share a small product wait for each other: where other work has a core, four times as long
    environment = {"OMP_NUM_THREADS": "1", **os.environ}
    log = folder / "log"
    with log.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environment)
    try:
        # on a busy machine it takes minutes to import what it needs
        deadline = time.monotonic() + 900
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1)
                break
            except (urllib.error.URLError, TimeoutError):
                assert process.poll() is None and time.monotonic() < deadline, log.read_text()[-2000:]
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


def replies_and_scores(name: str, batch: Batch) -> tuple[list[str], list[float]]:
    """Return the texts and the scores of a judge that asks once."""
    metric: Any = load_metric(name)
    session: Any = open_session(metric.needs())
    replies = session.replies(metric, batch)
    values = metric.scores_of(batch, replies, 0.0).values[:, 0].tolist()
    release_sessions()
    return [orders[0][0].text for orders in replies], values


def questions_and_answers(n: int) -> Batch:
    """Return the first n pairs of EVOUNA-TQ, with questions and all gold answers."""
    table = load_dataset("evouna-tq:all").table.slice(0, n)
    golds = table.column("reference").to_pylist()
    return Batch(
        [several[0] for several in golds],
        table.column("candidate").to_pylist(),
        table.column("question").to_pylist(),
        gold_answers=golds,
    )


if __name__ == "__main__":
    batch = questions_and_answers(int(sys.argv[2]) if len(sys.argv) > 2 else 500)
    judge = f"judge:{sys.argv[1]},prompt=correctness,verdict=text"
    with tempfile.TemporaryDirectory() as name:
        os.environ["ASSAY_CACHE"] = f"{name}/cache"
        started = time.perf_counter()
        ours = replies_and_scores(judge, batch)
        print(f"in this process: {time.perf_counter() - started:.0f} s", flush=True)
        started = time.perf_counter()
        with serve_transformers(Path(name)) as url:
            theirs = replies_and_scores(f"{judge},endpoint={url},key=none,concurrency=2,timeout=600", batch)
        print(f"by the server: {time.perf_counter() - started:.0f} s")
    # scores that are missing equal each other
    scores = Counter((str(mine), str(other)) for mine, other in zip(ours[1], theirs[1], strict=True))
    texts = sum(mine == other for mine, other in zip(ours[0], theirs[0], strict=True))
    verdicts = sum(count for (mine, other), count in scores.items() if mine == other)
    print(f"{len(batch)} pairs: equal verdicts on {verdicts}, equal texts of {texts}")
    for (mine, other), count in sorted(scores.items()):
        print(f"{count:5} in this process {mine}, by the server {other}")
    for text, count in Counter(ours[0]).most_common(10):
        print(f"{count:5} {text!r}")
