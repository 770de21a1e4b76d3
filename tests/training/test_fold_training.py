"""Cross-validation of a model that is trained anew for every fold."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from training_run import Slow, made_pairs

from assay import api
from assay.errors import InputError
from assay.lexicon.keys import pair_key
from assay.metrics.neural.runtime import Runtime
from assay.statistics.crossvalidation import Partition
from assay.statistics.folds import Fold
from assay.training.data import load_examples
from assay.training.pairwise import validating
from assay.training.pairwise.validating import read_recipe


@pytest.fixture
def told(monkeypatch):
    """Rows trained on and tested by every training that was really done."""
    seen = []
    fit = validating.fit

    def spy(job, *others):
        seen.append({name: set(one.rows.tolist()) for name, one in job.sets.items()})
        return fit(job, *others)

    monkeypatch.setattr(validating, "fit", spy)
    return seen


def test_every_fold_is_tested_by_a_model_of_the_others(tiny_base, pairs_file, tmp_path, monkeypatch, told):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    path = pairs_file(60, 1)
    asked = {"datasets": path, "train": f"bi-encoder:{tiny_base},epochs=1,batch_size=16", "folds": 3, "threads": 1}
    first = api.crossval(**asked)
    assert len(told) == 3
    assert sorted(row for one in told for row in one["test"]) == list(range(1, 61))
    for one in told:
        assert not one["test"] & (one["train"] | one["dev"])
        assert not one["train"] & one["dev"]
    # killed or not, nothing is trained twice
    again = api.crossval(**asked)
    assert len(told) == 3
    assert again.to_json() == first.to_json()
    assert not [place for place in (tmp_path / "cache" / "crossval").iterdir() if place.is_dir()]


def test_a_source_left_out_is_not_trained_on(tiny_base, pairs_file, tmp_path, monkeypatch, told):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    rows = pq.read_table(pairs_file(60, 1)).to_pylist()
    path = tmp_path / "sources.parquet"
    pq.write_table(pa.Table.from_pylist([row | {"source": f"s{k % 2}"} for k, row in enumerate(rows)]), path)
    recipe = f"cross-encoder:{tiny_base},epochs=1,batch_size=16"
    api.crossval(datasets=str(path), train=recipe, folds=2, by="source", threads=1)
    odd = set(range(1, 61, 2))
    assert [one["test"] for one in told[2:]] == [odd, set(range(2, 61, 2))]
    assert all(one["train"].isdisjoint(one["test"]) for one in told)


def test_scores_are_those_of_the_model(tiny_base, pairs_file, tmp_path, monkeypatch):
    """Nothing is learned at a rate of 0, so that folds give what the base gives."""
    from assay.metrics import Batch, load_metric

    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    examples = load_examples([pairs_file(40, 1)], limit=None)
    settings = read_recipe(f"bi-encoder:{tiny_base},epochs=1,learning_rate=1e-12")
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
    settings = read_recipe(f"bi-encoder:{tiny_base},epochs=1")
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
    with pytest.raises(InputError, match="--device cuda: this machine has none"):
        trainer_of("cuda", Slow())(rows[:30], rows[30:])


def test_a_place_is_named_by_device_and_precision(trainer_of, monkeypatch):
    places = set()
    for device, half in (("cpu", False), ("cuda:0", False), ("cuda:0", True), ("cuda:1", True)):
        monkeypatch.setattr(validating, "device_of", lambda _, device=device: (device,))
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda half=half, **_: half)
        places.add(trainer_of("auto", Slow())._place(np.arange(30), np.arange(30, 40)))
    assert len(places) == 3  # of several GPUs alike it does not matter which


def test_of_two_at_the_same_time_one_trains(trainer_of, tmp_path, monkeypatch):
    pytest.importorskip("fcntl", reason="files cannot be locked here")
    rows, fit, calls, found, waits = np.arange(40), validating.fit, [], [], Event()

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
    monkeypatch.setattr(validating, "fit", spy)
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
        ("bi-encoder:x,epochs=two", "epochs=two is no int"),
        ("bi-encoder:x,epochs=0", "--epochs 0: must be at least 1"),
        ("cross-encoder:x,loss=cosine", "must be one of bce, mse"),
    ],
)
def test_a_recipe_that_cannot_be_read(recipe, told):
    with pytest.raises(InputError, match=told):
        read_recipe(recipe)


def test_the_baseline_stands_beside(tiny_base, pairs_file, tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    recipe = f"bi-encoder:{tiny_base},epochs=1"
    found = api.crossval(datasets=pairs_file(40, 1), train=recipe, folds=2, threads=1)
    assert {"dice", recipe} == set(found.records["metric"])
    assert Path(tmp_path / "cache/crossval").is_dir()


@pytest.fixture
def asked(tiny_base, tmp_path, monkeypatch):
    """Return what asks for a cross-validation of one model on rows: the rows, and what is changed."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))

    def ask(rows, **changes):
        path = tmp_path / "own.parquet"
        pq.write_table(pa.Table.from_pylist(rows), path)
        recipe = f"bi-encoder:{tiny_base},epochs=1,batch_size=16"
        return {"datasets": str(path), "train": recipe, "folds": 2, "threads": 1} | changes

    return ask


def test_labels_of_any_scale(asked, told):
    rows = [row | {"label": 1 + 4 * row["label"]} for row in made_pairs(44, 1)]
    with pytest.raises(InputError, match="say what the scale is with --scale LOW,HIGH"):
        api.crossval(**asked(rows))
    assert not told
    api.crossval(**asked(rows, scale="1,5"))
    assert len(told) == 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"scale": "5,1"}, "--scale 5,1: the first number must be below the second"),
        ({"scale": "0,0.5"}, "is not between 0 and 0.5"),
        ({"scale": "0,1", "train": ()}, "--scale 0,1: is for models that are trained here; name one with --train"),
    ],
)
def test_a_scale_that_cannot_be_used(asked, told, changes, said):
    with pytest.raises(InputError, match=said):
        api.crossval(**asked(made_pairs(44, 1), **{"metrics": ["dice"]} | changes))
    assert not told


def test_a_source_with_one_label_is_told_and_stops_nothing(asked, told):
    rows = [row | {"source": ("one", "few", "many", "more")[k % 4]} for k, row in enumerate(made_pairs(80, 1))]
    rows = [row | {"label": 0.5} if row["source"] == "one" else row for row in rows]
    found = api.crossval(**asked(rows, by="source"))
    assert len(told) == 6
    (row,) = (
        row
        for row in found.records.to_dict("records")
        if (row["source"], row["on"], row["statistic"]) == ("one", "left out", "pearson") and row["metric"] != "dice"
    )
    assert (row["note"], row["n"]) == ("constant label", 20)


@pytest.mark.parametrize(
    ("make", "changes", "said"),
    [
        # without the source "many" the label 0.5 alone is left
        (
            lambda k, row: row | {"source": "many"} if k < 33 else row | {"source": "one", "label": 0.5},
            {"by": "source"},
            r"own, 'many' left out: the 25 pairs to train have one label alone, 0\.5, .*; do without --by$",
        ),
        (
            lambda k, row: row | {"source": "many" if k > 10 else "few"},
            {"by": "source"},
            r"own, 'many' left out: 11 pairs are too few .*; do without --by, or give more pairs$",
        ),
        (
            lambda k, row: row | {"label": float(k == 7)},
            {},
            r"fold 1: the 3 pairs to choose the best step have one label alone, 0, .*; give --train a seed=N, or take",
        ),
        (
            lambda k, row: row | {"group": f"g{min(k, 3)}"},
            {"folds": 4},
            r"own, fold \d: 3 pairs are too few .*; take more --folds, or another --seed, or give more pairs$",
        ),
    ],
    ids=["one label", "few pairs", "one label in a fold", "few pairs in a fold"],
)
def test_what_cannot_be_trained_is_told_before_any_training(asked, told, make, changes, said):
    rows = [make(k, row) for k, row in enumerate(made_pairs(60, 1))]
    with pytest.raises(InputError, match=said) as caught:
        api.crossval(**asked(rows, **changes))
    assert "\n" not in str(caught.value) and "--dev" not in str(caught.value)
    assert not told


def mirrored(rows):
    """Every row, then each with its texts exchanged, in capitals and with a full stop."""
    turned = [
        row | {"reference": row["candidate"].upper(), "candidate": f"{row['reference']}."} for row in rows
    ]  # fmt: skip
    return [row | {"source": "a"} for row in rows] + [row | {"source": "b"} for row in turned]


def test_a_pair_and_its_mirror_are_on_one_side_of_every_parting(asked, told, monkeypatch):
    sets = []
    fit = validating.fit

    def spy(job, *others):
        sets.append({name: set(one.keys) for name, one in job.sets.items()})
        return fit(job, *others)

    monkeypatch.setattr(validating, "fit", spy)
    rows = mirrored(made_pairs(44, 1))
    api.crossval(**asked(rows))
    for one in sets:
        assert not one["test"] & (one["train"] | one["dev"])
        assert not one["train"] & one["dev"]
    assert [len(one["train"]) + len(one["dev"]) for one in told] == [44, 44]
    assert [len(one["dev"]) for one in told] == [4, 4]  # two of 22 that differ


def test_repeats_of_a_source_left_out_are_counted(asked, told):
    rows = mirrored(made_pairs(60, 1))
    # ten pairs of b repeat pairs of a
    rows = rows[:60] + rows[60:70] + [row | {"source": "b"} for row in made_pairs(40, 2)]
    found = api.crossval(**asked(rows, by="source"))
    assert [len(one["train"]) + len(one["dev"]) for one in told[2:]] == [40, 50]
    keys = [pair_key(row["reference"], row["candidate"]) for row in rows]
    for one in told:
        assert not {keys[row - 1] for row in one["test"]} & {keys[row - 1] for row in one["train"] | one["dev"]}
    shown = found.to_markdown()
    assert "a left out: 10 pairs of other sources are the same as one of its pairs" in shown
    assert "b left out: 10 pairs of other sources" in shown


def test_texts_on_both_sides_are_told(tiny_base, tmp_path):
    """Of the four texts of the first fold one is trained on as well, of the four of the second none."""
    rows = [{"reference": f"w{k}", "candidate": f"v{k}", "label": k / 100} for k in range(44)]
    rows += [{"reference": "w0", "candidate": "x", "label": 0.5}, {"reference": "y", "candidate": "z", "label": 0.5}]
    rows += [{"reference": "r", "candidate": "s", "label": 0.5}, {"reference": "t", "candidate": "u", "label": 0.5}]
    path = tmp_path / "own.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    examples = load_examples([str(path)], limit=None)
    trainer = validating.FoldTrainer(
        read_recipe(f"bi-encoder:{tiny_base}"), examples, Runtime(device="cpu", threads=1), Slow()
    )
    train = np.arange(44)
    learned = trainer._parted(train)[0]
    assert 0 in learned
    folds = [Fold("fold 1", train, np.array([44, 45])), Fold("fold 2", train, np.array([46, 47]))]
    assert trainer.inspect(Partition(folds, {}, ())) == (
        "0 to 1 texts of the pairs held out at a time also occur in training pairs, with others: "
        "12.5% of them on average"
    )
    assert trainer.inspect(Partition(folds[1:], {}, ())) == ""


def test_the_note_on_texts_stands_in_the_report(asked):
    rows = [row | {"reference": "one question"} for row in made_pairs(44, 1)]
    assert ": 1 to 1 texts of the pairs held out at a time also occur" in api.crossval(**asked(rows)).to_markdown()


def test_several_processes_are_refused(asked, told, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(InputError, match="crossval --train trains in one process: start it without torchrun"):
        api.crossval(**asked(made_pairs(44, 1)))
    assert not told
    assert api.crossval(**asked(made_pairs(44, 1), train=(), metrics="dice")).records is not None


@pytest.mark.slow
def test_a_full_disk_is_one_line_and_what_was_done_goes_on(asked, tiny_base, told):
    """The limit of a file's size stands in for a full disk, which the third of three models finds."""
    size = (tiny_base / "model.safetensors").stat().st_size
    request = asked(made_pairs(60, 1), folds=3)
    # the first two folds are there
    fit = validating.fit
    calls = []

    def killed(*others):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return fit(*others)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(validating, "fit", killed)
        api.crossval(**request)

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        # the weights have room; weights and moments in the optimizer's file have none
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(1.5 * size), int(1.5 * size)))

    line = ["crossval", "-d", request["datasets"], "--train", request["train"], "--folds", "3", "--threads", "1", "-q"]
    paths = os.pathsep.join(path for path in sys.path if path)
    ended = subprocess.run(
        [sys.executable, "-m", "assay", *line],
        env=os.environ | {"PYTHONPATH": paths}, preexec_fn=limit, capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert ended.returncode == 2, ended.stderr[-2000:]
    (said,) = (line for line in ended.stderr.splitlines() if line.startswith("assay: "))
    assert "no room" in said and "ask for it again" in said
    assert "Traceback" not in ended.stderr
    del told[:]
    api.crossval(**request)
    assert len(told) == 1
