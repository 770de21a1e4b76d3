"""Studies with a real Optuna and a tiny model: what they leave, that they go on, that test is looked at once."""

from __future__ import annotations

import json
import multiprocessing
import signal
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

optuna = pytest.importorskip("optuna", reason="optuna is absent: pip install assay[train]")

from training_run import Slow, made_pairs  # noqa: E402
from tune_run import make_search, search_on, share_study, start_process  # noqa: E402

from assay.errors import InputError  # noqa: E402
from assay.training.pairwise import job as pairwise_job  # noqa: E402
from assay.training.pairwise import recipe as pairwise_recipe  # noqa: E402
from assay.training.tuning import processes, recipe, running, study  # noqa: E402
from assay.training.tuning.study import connect, file_address  # noqa: E402


@pytest.fixture
def files(pairs_file):
    """Training, development and test pairs."""
    return pairs_file(40, 1), pairs_file(20, 2), pairs_file(20, 3)


def held_trials(address, name="s"):
    with study.quiet_optuna():
        return optuna.load_study(study_name=name, storage=address).trials


def drawn(found):
    """Return the settings of the trials that are over, in their order."""
    return [trial["settings"] for trial in found["trials"] if trial["state"] in ("complete", "pruned")]


def test_what_a_search_leaves(tiny_base, files, tmp_path):
    out = tmp_path / "out"
    progress, found = search_on(tiny_base, out, files, seeds=2)
    assert not list(tmp_path.glob(".out*"))
    assert json.loads((out / "study.json").read_text()) == found
    assert [trial["number"] for trial in found["trials"]] == [0, 1, 2]
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
    assert "trial 1: dev spearman" in "\n".join(progress.lines)


@pytest.mark.slow
def test_a_killed_study_goes_on(tiny_base, files, tmp_path):
    _, whole = search_on(tiny_base, tmp_path / "whole", files, trials=4)
    out = tmp_path / "killed"
    process = start_process(tiny_base, out, files, pause=0.3)
    address = f"sqlite:///{tmp_path / '.killed.training' / 'study.db'}"
    work = tmp_path / ".killed.training" / "trial-2"
    until = time.monotonic() + 120
    # the third trial has more than one epoch, or no checkpoint could be there before it ends
    assert whole["trials"][2]["settings"]["epochs"] == 2
    while process.poll() is None and time.monotonic() < until:
        if list(work.glob("checkpoint-*/trainer_state.json")):
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    before = held_trials(address)
    assert [trial.state.name for trial in before] == ["COMPLETE", "COMPLETE", "RUNNING"]

    with pytest.raises(InputError, match=r"unfinished training with another request .*space"):
        search_on(tiny_base, out, files, trials=4, space="[space.epochs]\nchoices = [1, 2]")
    progress, found = search_on(tiny_base, out, files, trials=4)
    lines = "\n".join(progress.lines)
    assert "trial 2 was not finished; it is tried once more" in lines
    assert "(trial 2 once more)" in lines
    assert "continues from step" in lines
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


@pytest.mark.slow
def test_two_processes_share_a_study(tiny_base, files, tmp_path):
    address = f"sqlite:///{tmp_path / 'shared.db'}"
    share_study(tiny_base, tmp_path, files, address)
    assert len({trial.user_attrs["runner"] for trial in held_trials(address)}) == 2


@pytest.mark.slow
def test_trials_at_the_same_time(tiny_base, files, tmp_path):
    _, one = search_on(tiny_base, tmp_path / "one", files)
    progress, two = search_on(tiny_base, tmp_path / "two", files, jobs=2)
    # few trials are drawn at random, whatever runs beside them
    assert drawn(two) == drawn(one)
    assert [trial["value"] for trial in two["trials"]] == pytest.approx([trial["value"] for trial in one["trials"]])
    assert sum("dev spearman" in line and "step" not in line for line in progress.lines) == 3


def test_an_error_in_a_process_is_raised_here():
    queue = multiprocessing.get_context("spawn").Queue()
    progress = Slow()
    for found in ("trial 0: a line", (2, "--layers 9: the model has 4 layers")):
        queue.put(found)
    with pytest.raises(InputError, match="--layers 9"):
        for _ in range(2):
            processes._tell_all(queue, progress, 10)
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


def test_a_trial_that_diverges_is_pruned_and_the_search_goes_on(tiny_base, files, tmp_path):
    space = "[space.learning_rate]\nchoices = [1e-3, 1e30]"
    progress, found = search_on(tiny_base, tmp_path / "out", files, space=space, epochs=1, trials=6)
    states = {trial["settings"]["learning_rate"]: trial["state"] for trial in found["trials"]}
    assert states == {1e-3: "complete", 1e30: "pruned"}
    assert found["settings"] == {"learning_rate": 1e-3}
    assert any("pruned: the training diverged" in line for line in progress.lines)


def test_a_trial_below_the_median_is_pruned(tiny_base, files, tmp_path, monkeypatch):
    monkeypatch.setattr(study, "STARTUP", 1)
    monkeypatch.setattr(study, "UNPRUNED", 0)
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


def test_another_request_is_refused(tiny_base, files, tmp_path):
    address = f"sqlite:///{tmp_path / 'shared.db'}"
    search_on(tiny_base, tmp_path / "one", files, storage=address, trials=1)
    changes = {"learning_rate": 1e-2, "space": "[space.epochs]\nlow = 1\nhigh = 2"}
    with pytest.raises(InputError) as refused:
        search_on(tiny_base, tmp_path / "two", files, storage=address, **changes)
    differs = "fixed.batch_size, fixed.learning_rate, fixed.warmup, space.batch_size, space.warmup"
    assert f"--study s: was made by another request (it differs in {differs})" in str(refused.value)
    # more trials and more seeds are the same request
    _, found = search_on(tiny_base, tmp_path / "three", files, storage=address, trials=2, seeds=2)
    assert len(found["trials"]) == 2


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


def test_a_trial_without_a_sign_of_life_is_tried_once_more(tiny_base, files, tmp_path, monkeypatch):
    monkeypatch.setattr(study, "HEARTBEAT", 1)
    monkeypatch.setattr(study, "GRACE", 2)
    monkeypatch.setattr(recipe, "PAUSE", 0.2)
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
    assert "waits for trials that run elsewhere" in "\n".join(progress.lines)


def test_draws_are_new_in_every_process(tiny_base, files, tmp_path):
    search = make_search(tiny_base, tmp_path, files)
    request = search.request("base", {})
    address = f"sqlite:///{tmp_path / 'shared.db'}"
    values = []
    with study.quiet_optuna():
        for _ in range(4):  # as many processes, each with a sampler of its own
            opened = study.open_study(connect(address), "s", request, 0, prune=False)
            trial = opened.ask()
            values.append(trial.suggest_float("warmup", 0.0, 0.5))
            opened.tell(trial, values[-1])
        alone = study.open_study(connect(address), "alone", request, 0, prune=False)
        alone.optimize(lambda trial: trial.suggest_float("warmup", 0.0, 0.5), n_trials=4)
    assert len(set(values)) == 4
    assert [trial.params["warmup"] for trial in alone.trials] == values


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("nonsense", "--storage: is no address of a database"),
        ("sqlite:////absent/folder/study.db", "--storage sqlite:////absent/folder/study.db: cannot be used"),
        ("strange://user:secret@host/name", "--storage"),
        ("mysql+absentdriver://user:secret@host/name", "--storage"),
    ],
)
def test_storage_that_cannot_be_used(address, said):
    with study.quiet_optuna(), pytest.raises(InputError) as refused:
        connect(address)
    assert said in str(refused.value)
    assert "secret" not in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["w?x", "w#x%41 y", "w{x}"])
def test_a_folder_of_any_name_holds_the_study(name, tmp_path):
    folder = tmp_path / name
    folder.mkdir()
    with study.quiet_optuna():
        connect(file_address(folder / "study.db")).engine.dispose()
    assert [path.name for path in folder.iterdir()] == ["study.db"]
    assert list(tmp_path.iterdir()) == [folder]


def test_a_search_beside_a_folder_of_any_name(tiny_base, files, tmp_path):
    folder = tmp_path / "w?x"
    folder.mkdir()
    _, found = search_on(tiny_base, folder / "o", files, trials=1)
    assert found["storage"] is None
    assert list(tmp_path.glob("w*")) == [folder]
    assert json.loads((folder / "o/study.json").read_text()) == found


def test_braces_of_an_address_are_its_own(tmp_path):
    with study.quiet_optuna():
        connect(f"sqlite:///{tmp_path}/a{{b}}.db").engine.dispose()
    assert [path.name for path in tmp_path.iterdir()] == ["a{b}.db"]


def test_a_search_is_refused_under_torchrun(tiny_base, files, tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(InputError, match="start it without torchrun"):
        search_on(tiny_base, tmp_path / "out", files, storage=f"sqlite:///{tmp_path / 'shared.db'}")
    assert not list(tmp_path.glob("*out*")) and not (tmp_path / "shared.db").exists()
