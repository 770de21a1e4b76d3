"""Trials that are killed, fail, diverge, are pruned or heard of no more: the search goes on and says so."""

from __future__ import annotations

import numpy as np
import pytest

from tests.training.killed import kill, wait_until

pytest.importorskip("optuna", reason="optuna is absent: pip install assay[train]")

import optuna

from assay.exceptions import InputError
from assay.training.loop import last_checkpoint
from assay.training.tuning import recipe, study
from assay.training.tuning import trials as running
from assay.training.tuning.study import connect
from tests.training.tune_run import drawn, held_trials, search_on, start_process


@pytest.mark.slow
def test_a_killed_study_goes_on(tiny_base, tmp_path, whole_training):
    whole, files = whole_training("tune").results, whole_training("tune").files
    out = tmp_path / "killed"
    process = start_process(tiny_base, out, files, pause=0.3)
    address = f"sqlite:///{tmp_path / '.killed.training' / 'study.db'}"
    work = tmp_path / ".killed.training" / "trial-2"
    # the third trial has more than one epoch, or no checkpoint could be there before it ends
    assert whole["trials"][2]["settings"]["epochs"] == 2
    # a checkpoint in the middle of being written is not resumed from
    wait_until(process, lambda: last_checkpoint(work)[0])
    kill(process)
    before = held_trials(address)
    assert [trial.state.name for trial in before] == ["COMPLETE", "COMPLETE", "RUNNING"]

    with pytest.raises(InputError, match=r"unfinished training with another request .*space"):
        search_on(tiny_base, out, files, trials=4, space="[space.epochs]\nchoices = [1, 2]")
    progress, found = search_on(tiny_base, out, files, trials=4)
    lines = "\n".join(progress.lines)
    assert "trial 2 was not finished; it is repeated" in lines
    assert "(retry of trial 2)" in lines
    assert "resumes from step" in lines
    assert not any(line.startswith(("trial 0:", "trial 1:", "trial 2:")) for line in progress.lines)
    states = [(trial["number"], trial["state"], trial["retry_of"]) for trial in found["trials"]]
    assert states == [(0, "complete", None), (1, "complete", None), (2, "fail", None), (3, "complete", 2),
                      (4, "complete", None)]  # fmt: skip
    for number in (0, 1):
        assert found["trials"][number]["seconds"] == pytest.approx(before[number].duration.total_seconds(), abs=1e-3)
    # the same draws and, since the third trial continues from its checkpoint, the same values
    assert drawn(found) == drawn(whole)
    again = [trial for trial in found["trials"] if trial["state"] == "complete"]
    for one, other in zip(again, whole["trials"], strict=True):
        assert one["value"] == pytest.approx(other["value"], abs=1e-6)
        assert one["epochs"].keys() == other["epochs"].keys()


def test_a_trial_that_diverges_is_pruned_and_the_search_goes_on(tiny_base, files, tmp_path):
    space = "[space.learning_rate]\nchoices = [1e-3, 1e30]"
    progress, found = search_on(tiny_base, tmp_path / "out", files, space=space, epochs=1, trials=6)
    states = {trial["settings"]["learning_rate"]: trial["state"] for trial in found["trials"]}
    assert states == {1e-3: "complete", 1e30: "pruned"}
    assert found["settings"] == {"learning_rate": 1e-3}
    assert any("pruned: the training diverged" in line for line in progress.lines)


def test_a_trial_below_the_median_is_pruned(tiny_base, files, tmp_path, monkeypatch):
    monkeypatch.setattr(study, "TRIALS_BEFORE_PRUNING", 1)
    monkeypatch.setattr(study, "EPOCHS_BEFORE_PRUNING", 0)
    space = "[space.learning_rate]\nlow = 1e-6\nhigh = 1e-2\nlog = true"
    _, found = search_on(tiny_base, tmp_path / "out", files, space=space, epochs=2, trials=5, prune=True)
    complete = [trial for trial in found["trials"] if trial["state"] == "complete"]
    pruned = [trial for trial in found["trials"] if trial["state"] == "pruned"]
    assert len(complete) + len(pruned) == 5
    assert pruned
    for trial in pruned:
        last = max(map(int, trial["epochs"]))
        before = [one["epochs"][str(last)] for one in complete if one["number"] < trial["number"]]
        assert max(trial["epochs"].values()) < np.median(before)
        assert (last, trial["value"]) == (1, None)
    assert found["trials"][found["winner"]]["state"] == "complete"


def test_a_trial_that_fails_is_told_and_not_counted(tiny_base, files, tmp_path, monkeypatch):
    run = running.run_trial

    def fails(job, trial, *rest):
        if trial.number == 1:
            raise InputError("there is no room")
        return run(job, trial, *rest)

    monkeypatch.setattr(running, "run_trial", fails)
    out = tmp_path / "out"
    with pytest.raises(InputError, match="there is no room"):
        search_on(tiny_base, out, files)
    _, found = search_on(tiny_base, out, files)
    assert [trial["state"] for trial in found["trials"]] == ["complete", "fail", "complete", "complete"]
    assert found["trials"][1]["error"] == "InputError: there is no room"
    assert found["trials"][1]["value"] is None


def test_checkpoints_stay_until_the_study_has_the_value(tiny_base, files, tmp_path, monkeypatch):
    remove, states = running.shutil.rmtree, []

    def watched(path, **options):
        if path.name.startswith("trial-"):
            trials = held_trials(f"sqlite:///{path.parent / 'study.db'}")
            states.append(trials[int(path.name.removeprefix("trial-"))].state.name)
        remove(path, **options)

    monkeypatch.setattr(running.shutil, "rmtree", watched)
    space = "[space.learning_rate]\nchoices = [1e-3, 1e30]"
    search_on(tiny_base, tmp_path / "out", files, space=space, epochs=1, trials=3)
    assert sorted(states) == ["COMPLETE", "COMPLETE", "PRUNED"]


def test_a_trial_without_a_sign_of_life_is_tried_once_more(tiny_base, files, tmp_path, monkeypatch):
    monkeypatch.setattr(study, "HEARTBEAT_SECONDS", 1)
    monkeypatch.setattr(study, "GRACE_SECONDS", 2)
    monkeypatch.setattr(recipe, "POLL_SECONDS", 0.2)
    address = f"sqlite:///{tmp_path / 'shared.db'}"
    search_on(tiny_base, tmp_path / "one", files, storage=address, trials=1)
    # a machine that begins a trial and is heard of no more
    with study.quiet_optuna():
        storage = connect(address)
        trial = optuna.load_study(study_name="s", storage=storage).ask()
        trial.set_user_attr("runner", "elsewhere")
        trial.suggest_categorical("batch_size", (8, 16))
        storage.record_heartbeat(trial._trial_id)
    progress, found = search_on(tiny_base, tmp_path / "two", files, storage=address, trials=3)
    states = {trial["number"]: (trial["state"], trial["retry_of"]) for trial in found["trials"]}
    assert states[1] == ("fail", None)
    assert sorted(state for state, _ in states.values()) == ["complete"] * 3 + ["fail"]
    again = next(trial for trial in found["trials"] if trial["retry_of"] == 1)
    assert again["settings"]["batch_size"] == found["trials"][1]["settings"]["batch_size"]
    assert "waits for trials of other processes" in "\n".join(progress.lines)
