"""Training on labelled pairs: what is left, what is learned and from what, and that metrics give what was reported."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import load_file

from assay.analysis.thresholds.training import find_threshold
from assay.exceptions import InputError
from assay.metrics import Batch, load_metric
from assay.statistics.agreement import agreement
from tests.training.pair_run import RECIPES, curve, rewritten, train_on


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_metric_gives_the_agreement_that_was_reported(recipe, tiny_base, whole_training):
    whole = whole_training(recipe)
    out, files, results = whole.out, whole.files, whole.results
    assert not list(out.parent.glob(".out*"))
    table = pq.read_table(files[2]).to_pydict()
    scores = load_metric(f"{recipe}:{out}").score(Batch(table["reference"], table["candidate"]))
    settings = {"statistics": ("pearson", "spearman", "kendall"), "confidence": 0.95, "seed": (0,), "resamples": 0}
    found = agreement({"s": np.asarray(scores)}, np.array(table["label"]), **settings)
    for record, one in zip(results["agreement"], found, strict=True):
        assert (record["statistic"], record["n"]) == (one.statistic, 20)
        assert record["after"] == pytest.approx(one.value, abs=1e-6)
    assert [one["value"] for one in results["scores"]] == [one["after"] for one in results["agreement"]]
    assert (results["agreement"][0]["before"] is None) == (recipe == "cross-encoder")

    facts = json.loads((out / "training.json").read_text())
    assert facts["steps"] == 15
    rows = curve(out)
    assert [int(row["step"]) for row in rows] == [5, 10, 15]
    best = max(rows, key=lambda row: float(row["dev_spearman"]))
    assert facts["best_step"] == int(best["step"])
    assert facts["best"]["dev_spearman"] == pytest.approx(float(best["dev_spearman"]))
    assert any("dev spearman" in line for line in whole.lines)
    card = (out / "README.md").read_text()
    assert all(word in card for word in (facts["command"], str(tiny_base), "licence", "## Limits", files[0]))
    before, after = load_file(tiny_base / "model.safetensors"), load_file(out / "model.safetensors")
    names = {name: f"bert.{name}" if recipe == "cross-encoder" else name for name in before}
    assert any(not np.array_equal(before[name], after[names[name]]) for name in before if names[name] in after)


def test_a_cross_encoder_learns_to_tell_pairs_apart(tiny_base, tmp_path, pairs_file):
    """Labels that say which texts are long are learned, and a model that starts from a cross-encoder starts there."""
    files = [rewritten(pairs_file(number, seed), by_length) for number, seed in ((400, 1), (60, 2), (61, 3))]
    base = shutil.copytree(tiny_base, tmp_path / "base")
    config = json.loads((base / "config.json").read_text())
    # what random weights carry is weak, and lost in dropout
    (base / "config.json").write_text(
        json.dumps(config | {"hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0})
    )
    _, results = train_on("cross-encoder", base, tmp_path / "one", *files, epochs=8)
    assert results["agreement"][1]["after"] > 0.5
    still = {"epochs": 1, "learning_rate": 1e-9}
    _, more = train_on("cross-encoder", tmp_path / "one", tmp_path / "two", *files, **still)
    assert more["agreement"][1]["before"] == pytest.approx(results["agreement"][1]["after"], abs=1e-6)


def by_length(row):
    return {"label": float(len(row["candidate"].split()) > 6)}


def by_first_word(row):
    return {"label": float(row["reference"].split()[0] == row["candidate"].split()[0])}


@pytest.mark.parametrize("recipe", RECIPES)
def test_classes_are_learned(recipe, tiny_base, files, tmp_path):
    files = [
        rewritten(path, lambda row: {"kind": "same" if by_first_word(row)["label"] else "other"}) for path in files
    ]
    _, results = train_on(recipe, tiny_base, tmp_path / "out", *files, classes="kind")
    assert [one["statistic"] for one in results["agreement"]] == ["accuracy", "f1", "f1-macro"]
    assert all(0 <= one["after"] <= 1 for one in results["agreement"])
    facts = json.loads((tmp_path / "out/training.json").read_text())
    assert facts["classes"] == ["other", "same"]
    assert "dev_accuracy" in facts["best"]
    if recipe == "bi-encoder":
        assert load_metric(f"bi-encoder:{tmp_path / 'out'}").score(Batch(["a"], ["a"]))[0] == pytest.approx(1)


def test_yes_or_no_is_decided_at_a_threshold_of_the_development_pairs(tiny_base, files, tmp_path):
    files = [rewritten(path, by_first_word) for path in files]
    settings = {"loss": "bce", "measure": "f1-macro", "epochs": 1}
    _, results = train_on("bi-encoder", tiny_base, tmp_path / "out", *files, **settings)
    facts = json.loads((tmp_path / "out/training.json").read_text())
    assert "dev_f1-macro" in facts["best"]
    records = {one["statistic"]: one for one in results["agreement"]}
    assert list(records) == ["pearson", "spearman", "kendall", "accuracy", "f1", "f1-macro"]
    # the same by hand, with the model that was kept
    metric = load_metric(f"bi-encoder:{tmp_path / 'out'}")
    (dev, dev_labels), (test, test_labels) = (
        (
            metric.score(Batch([row["reference"] for row in rows], [row["candidate"] for row in rows])),
            np.array([row["label"] for row in rows]),
        )
        for rows in (pq.read_table(path).to_pylist() for path in files[1:])
    )

    def f1_macro(threshold, scores, labels):
        decided = scores >= threshold
        hits = [
            2 * ((decided == c) & (labels == c)).sum() / ((decided == c).sum() + (labels == c).sum()) for c in (0, 1)
        ]
        return np.mean(hits)

    best = max(f1_macro(threshold, dev, dev_labels) for threshold in [*dev, 2.0])
    assert facts["best"]["dev_f1-macro"] == pytest.approx(best)
    threshold = find_threshold(dev, dev_labels)
    assert f1_macro(threshold, dev, dev_labels) == pytest.approx(best)
    assert records["f1-macro"]["after"] == pytest.approx(f1_macro(threshold, test, test_labels))
    assert records["accuracy"]["before"] is not None and records["accuracy"]["p"] is None


def test_decisions_need_labels_of_two_values(tiny_base, files, tmp_path):
    with pytest.raises(InputError, match=r"measure=f1: needs development labels that are the lowest and the highest"):
        train_on("bi-encoder", tiny_base, tmp_path / "out", *files, measure="f1")
    with pytest.raises(InputError, match="measure=rho: must be one of spearman, pearson, kendall, accuracy"):
        train_on("bi-encoder", tiny_base, tmp_path / "out", *files, measure="rho")


@pytest.mark.parametrize("batches", ["base", "node", "edge-1", "edge-2"])
def test_batches_by_the_annotation_graph(batches, tiny_base, files, tmp_path):
    _, results = train_on("bi-encoder", tiny_base, tmp_path / "out", *files, batches=batches, epochs=1)
    facts = json.loads((tmp_path / "out/training.json").read_text())
    assert facts["settings"]["batches"] == batches
    assert results["agreement"][0]["after"] is not None
    # base: every pair twice; node: eight of some 80 texts a step; edge: eight base pairs a step
    assert facts["steps"] in {"base": {10}, "node": {9, 10}, "edge-1": {5}, "edge-2": {5}}[batches]


@pytest.mark.parametrize("batches", ["base", "edge-1"])
def test_strategies_are_compared_at_equal_steps(batches, tiny_base, files, tmp_path):
    train_on("bi-encoder", tiny_base, tmp_path / "out", *files, batches=batches, epochs=1, steps=7)
    facts = json.loads((tmp_path / "out/training.json").read_text())
    assert facts["steps"] == 7 and facts["best_step"] <= 7
    # also beyond one epoch, and with evaluations between
    train_on("bi-encoder", tiny_base, tmp_path / "more", *files, batches=batches, epochs=1, steps=12, eval_steps=4)
    facts = json.loads((tmp_path / "more/training.json").read_text())
    assert facts["steps"] == 12 and facts["best_step"] in (4, 8, 12)


def test_a_smaller_training_set_is_counted_as_it_is(tiny_base, files, tmp_path):
    rows = pq.read_table(files[0]).to_pylist()
    texts = iter([row["reference"] for row in rows])
    test = rewritten(files[2], lambda row: {"reference": next(texts)})
    draws = set()
    for seed in (0, 1):
        out = tmp_path / f"out-{seed}"
        progress, _ = train_on(
            "bi-encoder", tiny_base, out, *files[:2], test, subset="random:25", epochs=1, seed=seed, seeds=1 + seed
        )
        facts = json.loads((out / f"seed-{seed}/training.json").read_text())
        kept = np.random.default_rng(seed).permutation(40)[:25]
        assert facts["counts"]["train_pairs"] == 25
        assert facts["counts"]["test_texts_in_train"] == sum(row < 20 for row in kept)
        number = len({rows[row][side] for row in kept for side in ("reference", "candidate")})
        assert facts["annotation_graph"]["texts"] == number
        told = f"25 of the training pairs: annotation graph: {number} texts"
        assert any(line.startswith(told) for line in progress.lines)
        draws.add(tuple(sorted(kept)))
    # the second of two seeds has the draw of the first
    facts = json.loads((tmp_path / "out-1/seed-2/training.json").read_text())
    assert facts["counts"]["test_texts_in_train"] == sum(row < 20 for row in kept)
    assert len(draws) == 2
    with pytest.raises(InputError, match="there are 40 training pairs"):
        train_on("bi-encoder", tiny_base, tmp_path / "more", *files, subset="degree:41")


def test_several_processes_share_the_steps_of_warm_up_and_evaluation(monkeypatch):
    from assay.training.loop import schedule_of
    from assay.training.midtuning.settings import MidTuningSettings

    settings = MidTuningSettings("base", "forms", "out", epochs=3, warmup=0.3)
    alone = schedule_of(settings, 40, 7)
    assert (alone.warmup, alone.eval_steps, alone.seed) == (36, 40, 7)
    monkeypatch.setenv("WORLD_SIZE", "4")
    together = schedule_of(settings, 41, 7)  # 11 steps an epoch
    assert (together.warmup, together.eval_steps) == (10, 11)


def test_shared_texts_are_dropped_when_asked(tiny_base, files, tmp_path):
    first = pq.read_table(files[0]).to_pylist()
    shared = rewritten(files[2], lambda row: {"reference": first[0]["reference"]})
    progress, _ = train_on("bi-encoder", tiny_base, tmp_path / "kept", files[0], files[1], shared, epochs=1)
    assert any(line.startswith("warning: 1 of") and "test texts" in line for line in progress.lines)
    progress, _ = train_on(
        "bi-encoder", tiny_base, tmp_path / "out", files[0], files[1], shared, epochs=1, drop_shared_texts=True
    )
    assert "1 training pairs share a text with the held-out sets; they are not trained on" in progress.lines
