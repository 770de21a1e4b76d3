"""Cross-validation of a model that is trained anew for every fold."""

from __future__ import annotations

from pathlib import Path
from threading import Event, Thread

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import assay
from assay.exceptions import InputError
from assay.metrics.neural.runtime import Runtime
from assay.training.data import load_examples
from assay.training.pairwise import crossvalidation as validating
from assay.training.pairwise.crossvalidation import parse_recipe
from tests.training.killed import start, wait_for_end
from tests.training.training_run import Slow, made_pairs


def test_every_fold_is_tested_by_a_model_of_the_others(tiny_base, pairs_file, tmp_path, monkeypatch, told):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    path = pairs_file(60, 1)
    asked = {"datasets": path, "train": f"bi-encoder:{tiny_base},epochs=1,batch_size=16", "folds": 3, "threads": 1}
    first = assay.crossval(**asked)
    assert len(told) == 3
    assert sorted(row for one in told for row in one["test"]) == list(range(1, 61))
    for one in told:
        assert not one["test"] & (one["train"] | one["dev"])
        assert not one["train"] & one["dev"]
    # killed or not, nothing is trained twice
    again = assay.crossval(**asked)
    assert len(told) == 3
    assert again.to_json() == first.to_json()
    assert not [place for place in (tmp_path / "cache" / "crossval").iterdir() if place.is_dir()]


def test_a_source_left_out_is_not_trained_on(tiny_base, pairs_file, tmp_path, monkeypatch, told):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    rows = pq.read_table(pairs_file(60, 1)).to_pylist()
    path = tmp_path / "sources.parquet"
    pq.write_table(pa.Table.from_pylist([row | {"source": f"s{k % 2}"} for k, row in enumerate(rows)]), path)
    recipe = f"cross-encoder:{tiny_base},epochs=1,batch_size=16"
    assay.crossval(datasets=str(path), train=recipe, folds=2, by="source", threads=1)
    odd = set(range(1, 61, 2))
    assert [one["test"] for one in told[2:]] == [odd, set(range(2, 61, 2))]
    assert all(one["train"].isdisjoint(one["test"]) for one in told)


def test_classes_are_learned_in_every_fold_with_several_seeds(tiny_base, pairs_file, tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    rows = pq.read_table(pairs_file(150, 1)).to_pylist()
    path = tmp_path / "classes.parquet"
    kinds = [("short", "middle", "long")[k % 3] for k in range(150)]
    pq.write_table(pa.Table.from_pylist([row | {"kind": kind} for row, kind in zip(rows, kinds, strict=True)]), path)
    recipe = f"bi-encoder:{tiny_base},epochs=1,batch_size=16"
    out = tmp_path / "results.csv"
    found = assay.crossval(
        datasets=str(path), train=recipe, folds=2, threads=1, classes="kind", seeds=3,
        statistics=("accuracy", "f1-macro"), results=out,
    )  # fmt: skip
    folds = [one for one in found.records.to_dict("records") if one["on"] == "folds"]
    assert [one["metric"] for one in folds] == [f"{recipe},seed={seed}" for seed in range(3) for _ in range(2)]
    assert {one["statistic"] for one in folds} == {"accuracy", "f1-macro"}
    assert all(0 <= one["value"] <= 1 for one in folds)
    # what significance reads
    lines = out.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "system,dataset,seed,statistic,value" and len(lines) == 7
    other = tmp_path / "other.csv"
    other.write_text(out.read_text(encoding="utf-8").replace(recipe, "other"), encoding="utf-8")
    compared = assay.significance([out, other], correction="aso", figure=tmp_path / "cdf.svg").records
    assert set(compared["statistic"]) == {"accuracy", "f1-macro"}
    assert ">other<" in (tmp_path / "cdf.svg").read_text(encoding="utf-8")


def test_yes_or_no_is_decided_in_every_fold(tiny_base, pairs_file, tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    rows = pq.read_table(pairs_file(150, 1)).to_pylist()
    path = tmp_path / "binary.parquet"
    pq.write_table(pa.Table.from_pylist([row | {"label": float(row["label"] > 0.5)} for row in rows]), path)
    recipe = f"bi-encoder:{tiny_base},epochs=1,batch_size=16"
    found = assay.crossval(
        datasets=str(path), metrics="dice", train=recipe, folds=2, threads=1, statistics=("f1-macro", "accuracy")
    )
    pooled = {
        (one["metric"], one["statistic"]): one["value"]
        for one in found.records.to_dict("records")
        if one["on"] == "pooled"
    }
    assert set(pooled) == {(name, measure) for name in ("dice", recipe) for measure in ("f1-macro", "accuracy")}
    assert all(0 <= value <= 1 for value in pooled.values())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"statistics": ("f1", "spearman")}, "exclude each other; name these or others alone"),
        ({"classes": "kind", "statistics": "spearman"}, "exclude each other; with classes, name accuracy"),
        ({"statistics": "f1-macro"}, "decisions need labels that are the lowest and the highest of the scale alone"),
        (
            {"statistics": "f1-macro", "train": (), "metrics": "dice"},
            "decisions of yes or no need labels of two values, and there are",
        ),
        ({"classes": "kin"}, "has no column 'kin'"),
        ({"train": (), "metrics": "dice", "classes": "kind"}, "is for models that are trained here"),
        ({"seeds": 2, "train": "bi-encoder:x,seed=1"}, "counts from the seed 0; leave seed out of"),
    ],
)
def test_decisions_that_cannot_be_measured(tiny_base, pairs_file, tmp_path, monkeypatch, changes, message):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    asked = {"datasets": pairs_file(60, 1), "train": f"bi-encoder:{tiny_base},epochs=1", "folds": 2, "threads": 1}
    with pytest.raises(InputError, match=message):
        assay.crossval(**{**asked, **changes})


def test_scores_are_those_of_the_model(tiny_base, pairs_file, tmp_path, monkeypatch):
    """Nothing is learned at a rate of 0, so that folds give what the base gives."""
    from assay.metrics import Batch, load_metric

    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    examples = load_examples([pairs_file(40, 1)], limit=None)
    settings = parse_recipe(f"bi-encoder:{tiny_base},epochs=1,learning_rate=1e-12")
    train = validating.FoldTrainer(settings, examples, Runtime(device="cpu", threads=1), Slow())
    rows = np.arange(40)
    scores = train(rows[:30], rows[30:])
    expected = load_metric(f"bi-encoder:{tiny_base}").score(Batch(examples.references[30:], examples.candidates[30:]))
    assert scores == pytest.approx(np.asarray(expected), abs=1e-5)


@pytest.fixture
def trainer_of(tiny_base, pairs_file, tmp_path, monkeypatch):
    """Return what makes a trainer of folds of the same 40 pairs, on a device, with a progress."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    examples = load_examples([pairs_file(40, 1)], limit=None)
    settings = parse_recipe(f"bi-encoder:{tiny_base},epochs=1")
    return lambda device, progress: validating.FoldTrainer(
        settings, examples, Runtime(device=device, threads=1), progress
    )


def test_scores_of_a_cpu_are_none_of_a_gpu(trainer_of, told, monkeypatch):
    rows = np.arange(40)
    trainer_of("cpu", Slow())(rows[:30], rows[30:])
    if torch.cuda.is_available():
        trainer_of("cuda", Slow())(rows[:30], rows[30:])
        assert len(told) == 2
        return
    with pytest.raises(InputError, match="device=cuda: this machine has none"):
        trainer_of("cuda", Slow())(rows[:30], rows[30:])


def test_a_place_is_named_by_device_and_precision(trainer_of, monkeypatch):
    places = set()
    for device, half in (("cpu", False), ("cuda:0", False), ("cuda:0", True), ("cuda:1", True)):
        monkeypatch.setattr(validating, "devices_of", lambda _, device=device: (device,))
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda half=half, **_: half)
        places.add(trainer_of("auto", Slow())._work_folder(np.arange(30), np.arange(30, 40)))
    assert len(places) == 3  # of several GPUs alike it does not matter which


def test_of_two_at_the_same_time_one_trains(trainer_of, tmp_path, monkeypatch):
    pytest.importorskip("fcntl", reason="files cannot be locked here")
    rows, fit, calls, found, waits = np.arange(40), validating.fit_model, [], [], Event()

    class Listening(Slow):
        def say(self, line):
            if "waiting for its scores" in line:
                waits.set()

    def spy(*others):
        calls.append(1)
        if len(calls) > 1:
            raise AssertionError("trained twice")
        threads.append(Thread(target=lambda: found.append(trainer_of("cpu", Listening())(rows[:30], rows[30:]))))
        threads[0].start()
        assert waits.wait(20)
        return fit(*others)

    threads: list[Thread] = []
    monkeypatch.setattr(validating, "fit_model", spy)
    scores = trainer_of("cpu", Slow())(rows[:30], rows[30:])
    threads[0].join(60)
    assert len(calls) == 1
    assert found[0].tolist() == scores.tolist()
    assert not [place for place in (tmp_path / "cache/crossval").iterdir() if place.is_dir()]


@pytest.mark.parametrize(
    ("recipe", "told"),
    [
        ("boosting:x", "expected RECIPE:BASE"),
        ("bi-encoder", "expected RECIPE:BASE"),
        ("bi-encoder:x,epoch=2", "there is no setting 'epoch'"),
        ("bi-encoder:x,epochs=two", "epochs=two is not of type int"),
        ("bi-encoder:x,epochs=0", "epochs=0: must be a whole number, at least 1"),
        ("cross-encoder:x,loss=cosine", "must be one of bce, mse"),
    ],
)
def test_a_recipe_that_cannot_be_read(recipe, told):
    with pytest.raises(InputError, match=told):
        parse_recipe(recipe)


def test_the_baseline_stands_beside(tiny_base, pairs_file, tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    recipe = f"bi-encoder:{tiny_base},epochs=1"
    found = assay.crossval(datasets=pairs_file(40, 1), train=recipe, folds=2, threads=1)
    assert {"dice", recipe} == set(found.records["metric"])
    assert Path(tmp_path / "cache/crossval").is_dir()


def test_several_processes_are_refused(asked, told, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(InputError, match="crossval `train` trains in one process: start it without torchrun"):
        assay.crossval(**asked(made_pairs(44, 1)))
    assert not told
    assert assay.crossval(**asked(made_pairs(44, 1), train=(), metrics="dice")).records is not None


@pytest.mark.slow
def test_a_full_disk_is_one_line_and_what_was_done_goes_on(asked, tiny_base, told, tmp_path):
    """The limit of a file's size stands in for a full disk, which the third of three models finds."""
    size = (tiny_base / "model.safetensors").stat().st_size
    request = asked(made_pairs(60, 1), folds=3)
    # the first two folds are there
    fit = validating.fit_model
    calls = []

    def killed(*others):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return fit(*others)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(validating, "fit_model", killed)
        assay.crossval(**request)

    # the weights have room; weights and moments in the optimizer's file have none
    limits = {"largest_file": int(1.5 * size), "stderr": tmp_path / "stderr"}
    line = ["crossval", "-d", request["datasets"], "--train", request["train"], "--folds", "3", "--threads", "1", "-q"]
    code = wait_for_end(start("assay", *line, **limits))
    stderr = (tmp_path / "stderr").read_text()
    assert code == 2, stderr[-2000:]
    (said,) = (line for line in stderr.splitlines() if line.startswith("assay: "))
    assert "the disk is full" in said and "repeat the command" in said
    assert "Traceback" not in stderr
    del told[:]
    assay.crossval(**request)
    assert len(told) == 1
