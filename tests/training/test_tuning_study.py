"""Studies with a real Optuna and a tiny model: what they leave, trials side by side, and test looked at once."""

from __future__ import annotations

import json
import multiprocessing

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("optuna", reason="optuna is absent: pip install assay[train]")

from assay.exceptions import InputError
from assay.training.pairwise import job as pairwise_job
from assay.training.pairwise import recipe as pairwise_recipe
from assay.training.tuning import trials as processes
from assay.training.tuning import trials as running
from tests.training.training_run import Slow, made_pairs
from tests.training.tune_run import drawn, search_on


def test_what_a_search_leaves(whole_training):
    whole = whole_training("tune")
    out, found = whole.out, whole.results
    assert not list(out.parent.glob(".out*"))
    assert json.loads((out / "study.json").read_text()) == found
    assert [trial["number"] for trial in found["trials"]] == [0, 1, 2, 3]
    for trial in found["trials"]:
        epochs = trial["settings"]["epochs"]
        assert trial["state"] == "complete"
        assert set(trial["epochs"]) == {str(epoch) for epoch in range(1, epochs + 1)}
        assert trial["value"] == max(trial["epochs"].values())
        assert trial["steps"] == epochs * 40 // trial["settings"]["batch_size"] + (
            epochs if 40 % trial["settings"]["batch_size"] else 0
        )
    best = max(found["trials"], key=lambda trial: trial["value"])
    assert found["winner"] == best["number"]
    assert found["settings"] == best["settings"]
    # the first of the winner's seeds is that of the trials: the same training once more
    facts = [json.loads((out / f"seed-{seed}/training.json").read_text()) for seed in (0, 1)]
    assert facts[0]["best"]["dev_spearman"] == pytest.approx(best["value"])
    assert facts[0]["best_step"] == best["best_step"]
    for name, value in best["settings"].items():
        assert facts[1]["settings"][name] == value
        assert str(value) in found["command"]
    assert found["results"]["seeds"] == [0, 1]
    assert (out / "results.json").is_file()
    assert "trial 1: dev spearman" in "\n".join(whole.lines)


@pytest.mark.slow
def test_trials_at_the_same_time(tiny_base, tmp_path, whole_training):
    whole = whole_training("tune")
    one = whole.results
    progress, two = search_on(tiny_base, tmp_path / "two", whole.files, trials=4, jobs=2)
    # few trials are drawn at random, whatever runs beside them
    assert drawn(two) == drawn(one)
    assert [trial["value"] for trial in two["trials"]] == pytest.approx([trial["value"] for trial in one["trials"]])
    assert sum("dev spearman" in line and "step" not in line for line in progress.lines) == 4


def test_an_error_in_a_process_is_raised_here():
    queue = multiprocessing.get_context("spawn").Queue()
    progress = Slow()
    for found in ("trial 0: a line", (2, "layers=9: the model has 4 layers")):
        queue.put(found)
    with pytest.raises(InputError, match="layers=9:"):
        for _ in range(2):
            processes._forward_lines(queue, progress, 10)
    assert progress.lines == ["trial 0: a line"]


def test_test_is_looked_at_once_and_last(tiny_base, files, tmp_path, monkeypatch):
    seen = []
    fit, score = running.run_trial, pairwise_recipe.score_rows

    def trial(job, *rest):
        assert "test" not in job.sets
        assert len(job.labels) == 60  # of the training and the development pairs
        seen.append("trial")
        return fit(job, *rest)

    monkeypatch.setattr(running, "run_trial", trial)
    for module in (pairwise_job, pairwise_recipe):
        monkeypatch.setattr(module, "score_rows", lambda loss, rows: seen.append(len(rows)) or score(loss, rows))
    _, found = search_on(tiny_base, tmp_path / "one", files)
    assert seen == ["trial"] * 3 + [20, 20]  # before the training of the winner, and after it

    # with other labels, all is the same but for the agreement on test
    rows = made_pairs(20, 3)
    labels = np.random.default_rng(0).permutation([row["label"] for row in rows])
    path = tmp_path / "other.parquet"
    rows = [row | {"label": float(label)} for row, label in zip(rows, labels, strict=True)]
    pq.write_table(pa.Table.from_pylist(rows), path)
    _, other = search_on(tiny_base, tmp_path / "two", (*files[:2], str(path)))
    for one, two in zip(found["trials"], other["trials"], strict=True):
        assert (one["settings"], one["value"], one["epochs"]) == (two["settings"], two["value"], two["epochs"])
    assert found["winner"] == other["winner"]
    assert found["results"]["agreement"] != other["results"]["agreement"]


def test_a_search_is_refused_under_torchrun(tiny_base, files, tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(InputError, match="start it without torchrun"):
        search_on(tiny_base, tmp_path / "out", files, storage=f"sqlite:///{tmp_path / 'shared.db'}")
    assert not list(tmp_path.glob("*out*")) and not (tmp_path / "shared.db").exists()
