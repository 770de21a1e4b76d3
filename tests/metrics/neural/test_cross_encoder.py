"""Cross-encoders: the numbers of sentence-transformers, both orders, the declared activation."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from texts import pairs
from tiny import make_bert

from assay.errors import UnavailableError
from assay.metrics import Batch, check_metric, load_metric
from assay.metrics.neural.runtime import Runtime, use_runtime
from assay.metrics.work import open_session, release_sessions


def predicted(folder: Path, pairs: list[tuple[str, str]]) -> np.ndarray:
    from sentence_transformers import CrossEncoder

    return CrossEncoder(str(folder), device="cpu").predict(pairs)


def test_it_is_sentence_transformers(scorer: Path) -> None:
    batch = pairs(100)
    forward, backward = predicted(scorer, list(batch.pairs())), predicted(scorer, list(batch.swapped().pairs()))
    assert np.abs(forward - backward).max() > 0.01, "the order matters"
    for order, expected in (
        ("reference-first", forward),
        ("candidate-first", backward),
        ("mean", (forward + backward) / 2),
    ):
        got = load_metric(f"cross-encoder:{scorer},order={order}").score(batch)
        assert got == pytest.approx(expected.astype(float), abs=1e-5)
    assert (load_metric(f"sas:{scorer}").score(batch) == load_metric(f"cross-encoder:{scorer}").score(batch)).all()


def test_the_activation_is_the_declared_one(scorer: Path, tmp_path: Path) -> None:
    batch = pairs(40)
    logits = load_metric(f"cross-encoder:{scorer},activation=identity").score(batch)
    squashed = 1 / (1 + np.exp(-logits))
    assert load_metric(f"cross-encoder:{scorer},activation=sigmoid").score(batch) == pytest.approx(squashed, abs=1e-6)
    other = tmp_path / "identity"
    shutil.copytree(scorer, other)
    config = json.loads((other / "config.json").read_text())
    config["sentence_transformers"] = {"activation_fn": "torch.nn.modules.linear.Identity"}
    (other / "config.json").write_text(json.dumps(config))
    assert load_metric(f"cross-encoder:{other}").score(batch) == pytest.approx(logits, abs=1e-6)
    # a pair alone, whether or not any output passes 1
    alone = np.array([load_metric(f"cross-encoder:{scorer}").score(batch.take([row]))[0] for row in range(40)])
    assert alone == pytest.approx(load_metric(f"cross-encoder:{scorer}").score(batch), abs=1e-5)


def test_the_asymmetry_is_measured(scorer: Path) -> None:
    batch = pairs(50)
    metric = load_metric(f"cross-encoder:{scorer},order=mean")
    session = open_session(metric.needs())
    session.score([metric], batch)
    apart = np.abs(predicted(scorer, list(batch.pairs())) - predicted(scorer, list(batch.swapped().pairs())))
    found = session.cost()["asymmetry"]
    assert found["mean"] == pytest.approx(apart.mean(), abs=1e-5) and found["pairs"] == 50
    assert found["largest"] == pytest.approx(apart.max(), abs=1e-5)


def test_the_batch_does_not_matter(scorer: Path) -> None:
    metric, batch = load_metric(f"cross-encoder:{scorer},order=mean"), pairs(100)
    expected = metric.score(batch)
    for tokens in (1, 100, 10**6):
        release_sessions()
        with use_runtime(Runtime(device="cpu", threads=1, tokens=tokens)):
            assert metric.score(batch) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("options", ["", ",order=mean", ",activation=sigmoid"])
def test_promises(scorer: Path, options: str) -> None:
    assert [one for one in check_metric(f"cross-encoder:{scorer}{options}") if not one.passed] == []


def test_models_that_score_no_pairs(tmp_path: Path) -> None:
    folder = make_bert(tmp_path / "three", labels=3)
    with pytest.raises(UnavailableError, match="has 3 outputs, a similarity needs one"):
        load_metric(f"cross-encoder:{folder}").score(Batch(["a"], ["b"]))
