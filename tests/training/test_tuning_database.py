"""Databases of studies: which can be used, who shares one, and that draws and requests are those of the study."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("optuna", reason="optuna is absent: pip install assay[train]")

from assay.exceptions import InputError
from assay.training.tuning import study
from assay.training.tuning.study import connect, file_address
from tests.training.tune_run import held_trials, make_search, search_on, share_study


@pytest.mark.slow
def test_two_processes_share_a_study(tiny_base, files, tmp_path):
    address = f"sqlite:///{tmp_path / 'shared.db'}"
    share_study(tiny_base, tmp_path, files, address)
    assert len({trial.user_attrs["runner"] for trial in held_trials(address)}) == 2


def test_another_request_is_refused(tiny_base, files, tmp_path):
    address = f"sqlite:///{tmp_path / 'shared.db'}"
    search_on(tiny_base, tmp_path / "one", files, storage=address, trials=1)
    changes = {"learning_rate": 1e-2, "space": "[space.epochs]\nlow = 1\nhigh = 2"}
    with pytest.raises(InputError) as refused:
        search_on(tiny_base, tmp_path / "two", files, storage=address, **changes)
    differs = "fixed.batch_size, fixed.learning_rate, fixed.warmup, space.batch_size, space.warmup"
    assert f"study=s: belongs to another request (it differs in {differs})" in str(refused.value)
    # more trials and more seeds are the same request
    _, found = search_on(tiny_base, tmp_path / "three", files, storage=address, trials=2, seeds=2)
    assert len(found["trials"]) == 2


def test_draws_are_new_in_every_process(tiny_base, files, tmp_path):
    search = make_search(tiny_base, tmp_path / "out", files)
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


@pytest.mark.parametrize("drawn", [0, 1, 2])
def test_a_trial_whose_process_was_killed_between_its_draws_gets_the_rest_of_them(tiny_base, files, tmp_path, drawn):
    search = make_search(tiny_base, tmp_path / "out", files)
    request = search.request("base", {})

    def draw(trial):
        return (
            trial.suggest_float("warmup", 0.0, 0.5),
            trial.suggest_int("epochs", 1, 20),
            trial.suggest_float("x", 0, 1),
        )

    with study.quiet_optuna():
        undisturbed = study.open_study(connect(f"sqlite:///{tmp_path / 'one.db'}"), "s", request, 0, prune=False)
        expected = [draw(undisturbed.ask()) for _ in range(2)]
        for _ in range(2):  # killed twice
            killed = study.open_study(connect(f"sqlite:///{tmp_path / 'two.db'}"), "s", request, 0, prune=False)
            study.fail_unfinished(killed, "here", alone=True)
            trial = killed.ask()
            names = iter(("warmup", "epochs"))
            for name in (next(names) for _ in range(drawn)):
                trial.suggest_float(name, 0.0, 0.5) if name == "warmup" else trial.suggest_int(name, 1, 20)
        again = study.open_study(connect(f"sqlite:///{tmp_path / 'two.db'}"), "s", request, 0, prune=False)
        study.fail_unfinished(again, "here", alone=True)
        assert [draw(again.ask()) for _ in range(2)] == expected


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("nonsense", "storage: is not an address of a database"),
        ("sqlite:////absent/folder/study.db", "storage=sqlite:////absent/folder/study.db: cannot be used"),
        ("strange://user:secret@host/name", "storage"),
        ("mysql+absentdriver://user:secret@host/name", "storage"),
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
