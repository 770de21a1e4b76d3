"""Cross-encoders: the numbers of sentence-transformers, both orders, the declared activation."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import assay
from assay.exceptions import UnavailableError
from assay.metrics import Batch, check_metric, load_metric
from assay.metrics.neural.runtime import Runtime, use_runtime
from assay.metrics.work import open_session, release_sessions
from tests.metrics.models.tiny import make_bert
from tests.metrics.neural.texts import pairs


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
    one_way = load_metric(f"cross-encoder:{scorer}")
    expected = np.abs(predicted(scorer, list(batch.pairs())) - predicted(scorer, list(batch.swapped().pairs())))
    found = open_session(metric.needs()).score([metric, one_way], batch).asymmetry
    assert found is not None and np.isnan(found[:, 1]).all()
    assert found[:, 0] == pytest.approx(expected, abs=1e-5)


def test_a_run_says_how_far_the_orders_lie_apart(scorer: Path) -> None:
    """Of each dataset by itself, under the metric that reads both orders."""
    both, one_way = f"cross-encoder:{scorer},order=mean", f"cross-encoder:{scorer}"
    sets = [pairs(20), pairs(50).take(range(20, 50))]
    rows = [[{"reference": r, "candidate": c, "label": i % 3} for i, (r, c) in enumerate(one.pairs())] for one in sets]
    result = assay.run(rows, [both, one_way], resamples=0, device="cpu", threads=1)
    distinct = [list(dict.fromkeys(one.pairs())) for one in sets]
    apart = [np.abs(predicted(scorer, one) - predicted(scorer, [pair[::-1] for pair in one])) for one in distinct]
    found = [status.cost.asymmetry for status in result.outcome.metrics]
    assert found[2:] == [None, None]
    for said, expected in zip(found[:2], apart, strict=True):
        assert said.mean == pytest.approx(expected.mean(), abs=1e-5) and said.pairs == len(expected)
        assert said.largest == pytest.approx(expected.max(), abs=1e-5)
    assert result.to_markdown().count("the order of the texts moves a score by") == 2


def test_the_batch_does_not_matter(scorer: Path) -> None:
    metric, batch = load_metric(f"cross-encoder:{scorer},order=mean"), pairs(100)
    expected = metric.score(batch)
    for tokens in (1, 100, 10**6):
        release_sessions()
        with use_runtime(Runtime(device="cpu", threads=1, tokens=tokens)):
            assert metric.score(batch).tolist() == expected.tolist()


@pytest.mark.parametrize("options", ["", ",order=mean", ",activation=sigmoid"])
def test_promises(scorer: Path, options: str) -> None:
    assert [one for one in check_metric(f"cross-encoder:{scorer}{options}") if not one.passed] == []


def test_models_that_score_no_pairs(tmp_path: Path) -> None:
    folder = make_bert(tmp_path / "three", labels=3)
    with pytest.raises(UnavailableError, match="has 3 outputs, a similarity needs one"):
        load_metric(f"cross-encoder:{folder}").score(Batch(["a"], ["b"]))
