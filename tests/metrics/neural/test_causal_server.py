"""The same weights in this process and behind a real server of transformers give the same verdicts."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.datasets import load_dataset
from assay.metrics import Batch, load_metric
from assay.metrics.work import open_session, release_sessions
from tests.metrics.models.tiny import make_causal
from tests.metrics.neural.test_causal import answers

pytest.importorskip("openai", reason="openai is absent: pip install assay[judge]")
pytest.importorskip("uvicorn", reason="uvicorn is absent: pip install transformers[serving]")
pytest.importorskip("fastapi", reason="fastapi is absent: pip install transformers[serving]")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of ``transformers serve``, which loads models as they are asked for."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    start = "from transformers.cli.transformers import main; main()"
    command = [sys.executable, "-c", start, "serve", "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    log = tmp_path_factory.mktemp("server") / "log"
    with log.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1)
                break
            except (urllib.error.URLError, TimeoutError):
                assert process.poll() is None, log.read_text()[-2000:]
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


def told(name: str, batch: Batch) -> tuple[list[str], list[float]]:
    """Return the texts and the scores of a judge that asks once."""
    metric: Any = load_metric(name)
    session: Any = open_session(metric.needs())
    replies = session.replies(metric, batch)
    values = metric.scores_of(batch, replies, 0.0).values[:, 0].tolist()
    release_sessions()
    return [orders[0][0].text for orders in replies], values


def test_random_weights(server: str, tmp_path: Path) -> None:
    """Whose replies are long and all different."""
    folder, batch = make_causal(tmp_path / "rambler", spread=0.5), answers(100)
    ours, theirs = (
        told(f"judge:{folder},verdict=text{how}", batch) for how in ("", f",endpoint={server},key=none,concurrency=1")
    )
    assert ours[0] == theirs[0] and len(set(ours[0])) > 50
    assert ours[1] == pytest.approx(theirs[1], nan_ok=True)


def test_a_real_model(server: str, real_models: Any, shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = real_models / "smollm2"
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    table = load_dataset("evouna-tq:all").table.slice(0, 10)
    golds = table.column("reference").to_pylist()
    batch = Batch(
        [several[0] for several in golds],
        table.column("candidate").to_pylist(),
        table.column("question").to_pylist(),
        gold_answers=golds,
    )
    ours, theirs = (
        told(f"judge:{folder},prompt=correctness,verdict=text{how}", batch)
        for how in ("", f",endpoint={server},key=none,concurrency=1")
    )
    assert ours[0] == theirs[0] and {"No.", "Yes."} & set(ours[0])
    assert ours[1] == pytest.approx(theirs[1], nan_ok=True)
