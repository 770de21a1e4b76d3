"""Cross-encoders: the numbers of sentence-transformers, both orders, the declared activation."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import assay
from assay.exceptions import InputError, UnavailableError
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


def test_parts_of_a_unit_are_put_together(scorer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is tokenized while a GPU computes the one before; the scores and the marks of cut pairs are the same."""
    batch = Batch(
        [f"{text} {'word ' * (row % 3) * 9}" for row, text in enumerate(pairs(20).references)], pairs(20).candidates
    )
    metric = load_metric(f"cross-encoder:{scorer},max_length=16")
    session = open_session(metric.needs())
    whole = session.score([metric], batch)
    monkeypatch.setattr("assay.metrics.neural.cross.PAIRS_TOKENIZED", 7)
    parts = session.score([metric], batch)
    assert 0 < np.count_nonzero(whole.flags) < 20
    np.testing.assert_array_equal(parts.flags, whole.flags)
    np.testing.assert_allclose(parts.values, whole.values, atol=1e-6)


@pytest.mark.parametrize("options", ["", ",order=mean", ",activation=sigmoid"])
def test_promises(scorer: Path, options: str) -> None:
    assert [one for one in check_metric(f"cross-encoder:{scorer}{options}") if not one.passed] == []


def test_models_that_score_no_pairs(tmp_path: Path) -> None:
    folder = make_bert(tmp_path / "three", labels=3)
    with pytest.raises(UnavailableError, match="has 3 outputs, a similarity needs one"):
        load_metric(f"cross-encoder:{folder}").score(Batch(["a"], ["b"]))


LABELS = {"contradiction": 0, "ENTAILMENT": 1, "neutral": 2}


def with_labels(folder: Path, labels: dict[str, int]) -> Path:
    """Write a classifier with these labels; return its folder."""
    make_bert(folder, labels=len(labels))
    config = json.loads((folder / "config.json").read_text())
    config |= {"label2id": labels, "id2label": {number: label for label, number in labels.items()}}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize(
    "activation", ["", "torch.nn.modules.activation.Softmax", "torch.nn.modules.activation.Sigmoid"]
)
@pytest.mark.parametrize(
    ("labels", "name", "number"),
    [(LABELS, "entailment", 1), (LABELS, "2", 2), ({"no": 0, "yes": 1}, "yes", 1), ({"1": 0, "0": 1}, "0", 1)],
)
def test_a_class_of_a_classifier(
    labels: dict[str, int], name: str, number: int, activation: str, tmp_path: Path
) -> None:
    folder = with_labels(tmp_path / "model", labels)
    if activation:
        config = json.loads((folder / "config.json").read_text())
        config["sentence_transformers"] = {"activation_fn": activation}
        (folder / "config.json").write_text(json.dumps(config))
    batch = pairs(40)
    expected = predicted(folder, list(batch.pairs()))
    assert expected.shape == (40, len(labels)) and expected[:, number].std() > 0.01
    metric = load_metric(f"cross-encoder:{folder},class={name}")
    assert metric.score(batch) == pytest.approx(expected[:, number].astype(float), abs=1e-5)
    backward = predicted(folder, list(batch.swapped().pairs()))
    both = load_metric(f"cross-encoder:{folder},class={name},order=mean").score(batch)
    assert both == pytest.approx((expected + backward)[:, number].astype(float) / 2, abs=1e-5)
    logits = load_metric(f"cross-encoder:{folder},class={name},activation=softmax")
    assert logits.score(batch).min() > 0 and logits.score(batch).max() < 1 and logits.declaration.high == 1
    assert metric.signature()["class"] == name and f"class:{name}" in metric.short_signature()


def test_softmax_over_the_classes_is_that_of_the_library(tmp_path: Path) -> None:
    from sentence_transformers import CrossEncoder

    folder, batch = with_labels(tmp_path / "model", LABELS), pairs(20)
    expected = CrossEncoder(str(folder), device="cpu").predict(list(batch.pairs()), apply_softmax=True)
    metrics = [load_metric(f"cross-encoder:{folder},class={number},activation=softmax") for number in range(3)]
    scores = open_session(metrics[0].needs()).score(metrics, batch).values
    assert scores == pytest.approx(expected.astype(float), abs=1e-5)


def test_a_class_is_named_or_refused_in_one_line(tmp_path: Path, scorer: Path) -> None:
    folder = with_labels(tmp_path / "model", LABELS)
    expected = r"3 outputs, .* \(contradiction, ENTAILMENT, neutral\): choose one: class=ENTAILMENT"
    for ask in (lambda metric: metric.check_available(), lambda metric: metric.score(pairs(2))):
        with pytest.raises(UnavailableError, match=expected):
            ask(load_metric(f"cross-encoder:{folder}"))
    for name in ("similar", "3", "-1", ""):
        with pytest.raises(InputError, match=f"no class {name!r}; valid: contradiction, ENTAILMENT, neutral; or"):
            load_metric(f"cross-encoder:{folder},class={name}").check_available()
    with pytest.raises(InputError, match="the model has one output; leave out class"):
        load_metric(f"cross-encoder:{scorer},class=entailment").score(pairs(2))
    with pytest.raises(InputError, match="activation=softmax needs class="):
        load_metric(f"cross-encoder:{scorer},activation=softmax")
    with pytest.raises(InputError, match=r"has no option 'klass'.*class"):
        load_metric(f"cross-encoder:{folder},klass=entailment")
    assert "class" not in load_metric(f"cross-encoder:{scorer}").signature()


@pytest.mark.parametrize("labels", [2, 3])
def test_a_classifier_is_trained_to_have_one_output(labels: int, tmp_path: Path) -> None:
    from assay.training.models import has_trained_head, load_cross_encoder

    folder = make_bert(tmp_path / "model", labels=labels)
    assert has_trained_head(folder, labels) and not has_trained_head(folder, 1)
    assert load_cross_encoder(folder, "cpu", outputs=1, activation=None, seed=0).num_labels == 1
