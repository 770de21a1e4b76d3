"""Training on labelled pairs: what is left, that it resumes, and that metrics give what was reported."""

from __future__ import annotations

import csv
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from pair_run import train_on
from safetensors.numpy import load_file

from assay.errors import InputError, UnavailableError
from assay.metrics import Batch, load_metric
from assay.statistics.agreement import agreement

RECIPES = ("bi-encoder", "cross-encoder")


@pytest.fixture
def files(pairs_file):
    """Training, development and test pairs."""
    return pairs_file(40, 1), pairs_file(20, 2), pairs_file(20, 3)


def curve(folder):
    return [row for row in csv.DictReader((folder / "curves.csv").read_text().splitlines()) if row["dev_loss"]]


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_metric_gives_the_agreement_that_was_reported(recipe, tiny_base, files, tmp_path):
    out = tmp_path / "out"
    progress, results = train_on(recipe, tiny_base, out, *files)
    assert not list(tmp_path.glob(".out*"))
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
    assert any("dev spearman" in line for line in progress.lines)
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


def rewritten(path, change):
    import pyarrow as pa

    made = Path(path).with_suffix(".new.parquet")
    pq.write_table(pa.Table.from_pylist([row | change(row) for row in pq.read_table(path).to_pylist()]), made)
    return str(made)


@pytest.mark.parametrize("recipe", RECIPES)
def test_classes_are_learned(recipe, tiny_base, files, tmp_path):
    files = [
        rewritten(path, lambda row: {"kind": "same" if by_first_word(row)["label"] else "other"}) for path in files
    ]
    _, results = train_on(recipe, tiny_base, tmp_path / "out", *files, classes="kind")
    assert [one["statistic"] for one in results["agreement"]] == ["accuracy"]
    assert 0 <= results["agreement"][0]["after"] <= 1
    facts = json.loads((tmp_path / "out/training.json").read_text())
    assert facts["classes"] == ["other", "same"]
    assert "dev_accuracy" in facts["best"]
    if recipe == "bi-encoder":
        assert load_metric(f"bi-encoder:{tmp_path / 'out'}").score(Batch(["a"], ["a"]))[0] == pytest.approx(1)


@pytest.mark.parametrize("batches", ["base", "node", "edge-1", "edge-2"])
def test_batches_by_the_annotation_graph(batches, tiny_base, files, tmp_path):
    _, results = train_on("bi-encoder", tiny_base, tmp_path / "out", *files, batches=batches, epochs=1)
    facts = json.loads((tmp_path / "out/training.json").read_text())
    assert facts["settings"]["batches"] == batches
    assert results["agreement"][0]["after"] is not None
    # base: every pair twice; node: eight of some 80 texts a step; edge: eight base pairs a step
    assert facts["steps"] in {"base": {10}, "node": {9, 10}, "edge-1": {5}, "edge-2": {5}}[batches]


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_killed_training_continues_to_the_same_model_with_dropout(recipe, tiny_base, files, tmp_path):
    train_on(recipe, tiny_base, tmp_path / "whole", *files)
    out = tmp_path / "killed"
    script = Path(__file__).with_name("pair_run.py")
    paths = os.pathsep.join(path for path in sys.path if path)
    command = [sys.executable, str(script), recipe, str(tiny_base), str(out), "0.2", *files]
    process = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": paths})
    work = tmp_path / ".killed.training" / "checkpoints-0"
    until = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < until:
        if list(work.glob("checkpoint-*/trainer_state.json")):
            break
        time.sleep(0.01)
    time.sleep(0.4)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not out.exists()
    with pytest.raises(InputError, match=r"unfinished training with another request .*settings"):
        train_on(recipe, tiny_base, out, *files, epochs=4)
    progress, _ = train_on(recipe, tiny_base, out, *files)
    assert any("continues from step" in line for line in progress.lines)
    whole, resumed = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "killed"))
    for name, values in whole.items():
        assert resumed[name] == pytest.approx(values, abs=1e-6), name
    assert [row["step"] for row in curve(out)] == [row["step"] for row in curve(tmp_path / "whole")]


def test_seeds_are_summed_up_and_differ(tiny_base, files, tmp_path):
    train_on("bi-encoder", tiny_base, tmp_path / "out", *files, seeds=3, seed=5, epochs=1)
    summary = json.loads((tmp_path / "out/results.json").read_text())
    single = [json.loads((tmp_path / f"out/seed-{seed}/results.json").read_text()) for seed in (5, 6, 7)]
    values = [one["agreement"][1]["after"] for one in single]
    assert summary["seeds"] == [5, 6, 7]
    assert len(set(values)) > 1
    assert summary["agreement"][1]["after"] == pytest.approx(np.mean(values))
    assert summary["agreement"][1]["sd"] == pytest.approx(np.std(values, ddof=1))
    assert summary["agreement"][1]["high"] == max(one["agreement"][1]["high"] for one in single)


def test_the_base_is_scored_once_for_all_seeds(tiny_base, files, tmp_path, monkeypatch):
    from assay.training.pairwise import job

    seen, score = [], job.score_rows
    monkeypatch.setattr(job, "score_rows", lambda loss, rows: seen.append(len(rows)) or score(loss, rows))
    train_on("bi-encoder", tiny_base, tmp_path / "out", *files, seeds=2, seed=5, epochs=1)
    single = [json.loads((tmp_path / f"out/seed-{seed}/results.json").read_text()) for seed in (5, 6)]
    train_on("bi-encoder", tiny_base, tmp_path / "alone", *files, seed=6, epochs=1)
    alone = json.loads((tmp_path / "alone/results.json").read_text())
    assert len(seen) == 2  # once for both, once for the last
    assert single[1]["agreement"] == alone["agreement"]


def test_seeds_can_be_compared(tiny_base, files, tmp_path):
    from assay import api

    for name, rate in (("slow", 1e-5), ("fast", 1e-3)):
        train_on("bi-encoder", tiny_base, tmp_path / name, *files, seeds=3, epochs=1, learning_rate=rate)
    found = api.compare_systems([str(tmp_path / "slow"), str(tmp_path / "fast")])
    assert {"slow", "fast"} <= set(found.to_csv().replace("\n", ",").split(","))


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


def test_a_training_that_diverges_says_so(tiny_base, files, tmp_path):
    with pytest.raises(InputError, match=r"the training diverged: .* ask for a lower --learning-rate"):
        train_on("bi-encoder", tiny_base, tmp_path / "out", *files, learning_rate=1e30)
    assert not (tmp_path / "out").exists()


def test_several_processes_share_the_steps_of_warm_up_and_evaluation(monkeypatch):
    from assay.training.loop import course_of
    from assay.training.midtuning.settings import MidTuningSettings

    settings = MidTuningSettings("base", ("forms",), epochs=3, warmup=0.3)
    alone = course_of(settings, 40, 7)
    assert (alone.warmup, alone.eval_steps, alone.seed) == (36, 40, 7)
    monkeypatch.setenv("WORLD_SIZE", "4")
    together = course_of(settings, 41, 7)  # 11 steps an epoch
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


@pytest.mark.parametrize(
    ("change", "settings", "told"),
    [
        ({"label": 1.5}, {}, r"pair 1: its label 1.5 is not between 0 and 1; say what the scale is with --scale"),
        ({"label": 7.0}, {"scale": "0,5"}, r"pair 1: its label 7 is not between 0 and 5"),
        ({"label": None}, {}, r"pair 1: has no label"),
        ({"label": 0.5}, {}, r"the train set has one label alone, 0.5"),
        ({}, {"classes": "nothing"}, r"no column 'nothing'"),
        ({}, {"scale": "5,0"}, r"--scale 5,0: the first number must be below"),
        ({}, {"loss": "cosent", "batches": "node"}, r"--loss cosent: compares all pairs of a batch"),
        ({}, {"loss": "bce"}, r"--loss bce: must be one of cosine, cosent"),
        ({}, {"subset": "half"}, r"--subset half: must be degree:N or random:N"),
        ({}, {"warmup": 1.0}, r"--warmup 1.0: is a share of the steps"),
        ({}, {"layers": 9}, r"--layers 9: the model has 4 layers"),
    ],
)
def test_bad_input_is_one_line(tiny_base, files, tmp_path, change, settings, told):
    train = rewritten(files[0], lambda row: change)
    with pytest.raises(InputError, match=told) as caught:
        train_on("bi-encoder", tiny_base, tmp_path / "out", train, *files[1:], **settings)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_class_that_was_not_trained_on(tiny_base, files, tmp_path):
    kinds = [
        rewritten(path, lambda row, k=k: {"kind": f"{k}{len(row['label'].hex()) % 2}"}) for k, path in enumerate(files)
    ]
    with pytest.raises(InputError, match=r"pair 1: its class '1\d' is not in the training pairs"):
        train_on("bi-encoder", tiny_base, tmp_path / "out", *kinds, classes="kind")


def test_a_model_with_pickled_weights_alone(tiny_base, files, tmp_path):
    import torch

    base = tmp_path / "pickled"
    shutil.copytree(tiny_base, base)
    torch.save({}, base / "pytorch_model.bin")
    (base / "model.safetensors").unlink()
    with pytest.raises((InputError, UnavailableError), match="has only pickled weights") as caught:
        train_on("bi-encoder", base, tmp_path / "out", *files)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_a_disk_without_room_is_one_line_and_what_was_done_goes_on(tiny_base, files, tmp_path):
    """The limit of a file's size stands in for a full disk: the same error at the same call."""
    script = Path(__file__).with_name("pair_run.py")
    paths = os.pathsep.join(path for path in sys.path if path)
    out = tmp_path / "out"
    size = (tiny_base / "model.safetensors").stat().st_size

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        # the weights have room; weights and moments in the optimizer's file have none
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(1.5 * size), int(1.5 * size)))

    command = [sys.executable, str(script), "bi-encoder", str(tiny_base), str(out), "0", *files]
    ended = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": paths}, preexec_fn=limit, capture_output=True, text=True, timeout=200
    )
    last = ended.stderr.strip().splitlines()[-1]
    assert "InputError" in last
    assert "no room" in last and "ask for it again" in last
    assert not out.exists()
    train_on("bi-encoder", tiny_base, out, *files)
    assert (out / "results.json").is_file()
