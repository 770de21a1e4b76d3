"""The space that is searched: the default one, TOML, and what is refused."""

from __future__ import annotations

import pytest

from assay.exceptions import InputError
from assay.training.pairwise.settings import LEARNING, PairSettings
from assay.training.tuning.settings import DEFAULT, Choices, Range, Search, TuneSettings, plain_space, read_space

SETTINGS = PairSettings("bi-encoder", "base", "pairs", "out")


def test_the_default_is_that_of_the_paper():
    # Mustafazade and Ebbinghaus 2022, table 5
    assert read_space(None, SETTINGS) is DEFAULT
    assert plain_space(DEFAULT) == {
        "batch_size": {"choices": [16, 32, 64, 128, 256]},
        "epochs": {"low": 1, "high": 4, "log": False},
        "warmup": {"low": 0.0, "high": 0.5, "log": False},
    }


def test_what_a_file_says(tmp_path):
    path = tmp_path / "space.toml"
    path.write_text(
        "[space.learning_rate]\nlow = 1e-5\nhigh = 1\nlog = true\n[space.loss]\nchoices = ['cosine', 'cosent']\n"
        "[space.layers]\nlow = 1\nhigh = 3\n"
    )
    space = read_space(path, SETTINGS)
    assert space == {
        "learning_rate": Range(1e-5, 1.0, log=True),
        "loss": Choices(("cosine", "cosent")),
        "layers": Range(1, 3),
    }
    assert isinstance(space["learning_rate"].high, float)
    assert isinstance(space["layers"].low, int)


def test_what_can_be_searched_is_a_setting():
    assert LEARNING.keys() <= SETTINGS.plain_values().keys()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[space", "is not a TOML file"),
        ("", "space: there is no table"),
        ("space = 3", "space: there is no table"),
        ("[other]\na = 1\n[space.epochs]\nlow=1\nhigh=2", "other: expected tables [space.SETTING] alone"),
        ("[space.batchsize]\nchoices = [1]", "space.batchsize: can not be searched; valid: batch_size, epochs"),
        ("[space.seed]\nlow = 1\nhigh = 9", "space.seed: can not be searched"),
        ("[space]\nepochs = 3", "space.epochs: must be a table"),
        ("[space.epochs]\nlow = 1\nhi = 3", "space.epochs.hi: there is no such key"),
        ("[space.epochs]\nlow = 1", "space.epochs: must have choices alone, or low and high"),
        ("[space.epochs]\nchoices = [1]\nlow = 1", "space.epochs: must have choices alone"),
        ("[space.epochs]\nchoices = []", "space.epochs.choices: must be a list"),
        ("[space.epochs]\nchoices = [1, 1]", "space.epochs.choices: names a value twice"),
        ("[space.epochs]\nlow = 1.5\nhigh = 3", "space.epochs.low: 1.5 is not a whole number"),
        ("[space.epochs]\nlow = true\nhigh = 3", "space.epochs.low: True is not a whole number"),
        ("[space.epochs]\nlow = 3\nhigh = 3", "space.epochs: low must be below high"),
        ("[space.epochs]\nlow = 0\nhigh = 3", "space.epochs: epochs=0: must be a whole number, at least 1"),
        ("[space.warmup]\nlow = 0\nhigh = 1", "space.warmup: warmup=1.0: is a share of the steps"),
        ("[space.warmup]\nlow = 0\nhigh = inf", "space.warmup.high: inf is not a number"),
        ("[space.warmup]\nlow = 0\nhigh = 0.5\nlog = true", "space.warmup.low: must be above 0 with log"),
        ("[space.warmup]\nlow = 0\nhigh = 0.5\nlog = 1", "space.warmup.log: must be true or false"),
        ("[space.loss]\nlow = 'a'\nhigh = 'b'", "space.loss: has no range"),
        ("[space.loss]\nchoices = ['cosine', 'mse']", "space.loss: loss=mse: must be one of cosine, cosent"),
        (
            "[space.loss]\nchoices = ['cosine', 'cosent']\n[space.batches]\nchoices = ['length', 'node']",
            "space.loss, space.batches: loss=cosent:",
        ),
    ],
)
def test_what_is_refused_names_file_and_key(tmp_path, text, said):
    path = tmp_path / "space.toml"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        read_space(path, SETTINGS)
    assert f"{path}: {said}" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match=r"absent\.toml: cannot be read"):
        read_space(tmp_path / "absent.toml", SETTINGS)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"objective": "auc"}, "objective=auc: must be one of spearman, pearson, kendall, accuracy, f1, f1-macro"),
        ({"trials": 0}, "trials=0: must be a whole number, at least 1"),
        ({"jobs": 0}, "jobs=0: must be a whole number, at least 1"),
        ({"study": " "}, "study: must be a name"),
    ],
)
def test_a_search_that_is_refused(changes, said):
    with pytest.raises(InputError, match=said):
        TuneSettings("bi-encoder", "base", "pairs", "out", **changes).search()


def test_a_search_has_the_defaults_of_the_training():
    settings = TuneSettings("bi-encoder", "base", "pairs", "out")
    assert settings.search().settings == SETTINGS
    search = TuneSettings("bi-encoder", "base", "pairs", "out", classes="kind", learning_rate=1e-3).search()
    assert (search.objective, search.study, search.settings.learning_rate) == ("accuracy", "out", 1e-3)


def test_what_is_searched_cannot_be_set():
    with pytest.raises(InputError, match="epochs: is searched; leave it out"):
        TuneSettings("bi-encoder", "base", "pairs", "out", epochs=4).search()


def test_a_request_leaves_out_what_trials_do_not_depend_on():
    asked = {"trials": 3, "objective": "spearman", "prune": True, "storage": None, "study": "s", "jobs": 1}
    one = Search(SETTINGS, DEFAULT, **asked)
    other = PairSettings(
        "bi-encoder", "elsewhere/base", "elsewhere", "other", device="cpu", epochs=9, seeds=5, tokens=100
    )
    again = Search(other, DEFAULT, **(asked | {"trials": 9, "jobs": 2, "storage": "sqlite://"}))
    data = {"train": ["digest"]}
    assert one.request("base", data) == again.request("base", data)
    other = Search(PairSettings("bi-encoder", "base", "pairs", "out", learning_rate=1e-3), DEFAULT, **asked)
    assert other.request("base", data) != one.request("base", data)
