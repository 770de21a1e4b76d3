"""The same weights in this process and behind a real server of transformers give the same verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.metrics.judge.same_server import questions_and_answers, replies_and_scores, serve_transformers
from tests.metrics.models.tiny import make_causal
from tests.metrics.neural.test_causal import answers

pytest.importorskip("openai", reason="openai is absent: pip install assay[judge]")
pytest.importorskip("uvicorn", reason="uvicorn is absent: pip install transformers[serving]")
pytest.importorskip("fastapi", reason="fastapi is absent: pip install transformers[serving]")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve_transformers(tmp_path_factory.mktemp("server")) as url:
        yield url


def test_random_weights(server: str, tmp_path: Path) -> None:
    """Whose replies are long and all different."""
    folder, batch = make_causal(tmp_path / "rambler", spread=0.5), answers(100)
    ours, theirs = (
        replies_and_scores(f"judge:{folder},verdict=text{how}", batch)
        for how in ("", f",endpoint={server},key=none,concurrency=1")
    )
    assert ours[0] == theirs[0] and len(set(ours[0])) > 50
    assert ours[1] == pytest.approx(theirs[1], nan_ok=True)


def test_a_real_model(server: str, real_models: Any, shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = real_models / "smollm2"
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    batch = questions_and_answers(10)
    ours, theirs = (
        replies_and_scores(f"judge:{folder},prompt=correctness,verdict=text{how}", batch)
        for how in ("", f",endpoint={server},key=none,concurrency=1")
    )
    assert ours[0] == theirs[0] and {"No.", "Yes."} & set(ours[0])
    assert ours[1] == pytest.approx(theirs[1], nan_ok=True)
