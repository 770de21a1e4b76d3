"""A folder that was moved or mistyped is called missing, and what lies near it is named."""

from __future__ import annotations

import importlib.util
import pickle
from pathlib import Path

import pytest

import assay
from assay.exceptions import AssayError, InputError
from assay.metrics.models.reference import ModelOfflineError, ModelReference
from assay.paths import no_such_file
from tests.cli.calling import call
from tests.metrics.models.made import model_files, write

#: Without torch the message names the package that is missing, before any folder.
needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is absent: pip install assay[neural]"
)
PAIRS = [{"reference": "a b", "candidate": "a c" * number, "label": number % 2} for number in range(1, 7)]


@pytest.fixture
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the models ``models/small`` and ``models/large``, word vectors and a learned combination."""
    folder = tmp_path / "project"
    for name in ("small", "large"):
        write(folder / "models" / name, model_files())
    write(folder / "vectors", {"words.txt": b"a 1 0\nb 0 1\n"})
    write(folder / "learned" / "best", {"combined.json": b"{}"})
    write(folder / "notebooks" / "deep", {"x.ipynb": b"{}"})
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    return folder


@needs_torch
@pytest.mark.parametrize("kind", ["bi-encoder", "cross-encoder", "bertscore", "pooled", "s3bert", "judge"])
@pytest.mark.parametrize(
    ("typed", "near"),
    [
        ("models/smal", "Did you mean 'models/small'?"),
        ("models/Small-v2", "Did you mean 'models/small'?"),
        ("model/large", "Did you mean 'models/large'?"),
        ("./models/smal", "Did you mean 'models/small'?"),
        ("{}/models/larg", "Did you mean '{}/models/large'?"),
        ("~/project/models/larg", "Did you mean '{}/models/large'?"),
        ("old/small", "Did you mean 'models/small'?"),
        ("large", "Did you mean 'models/large'?"),
        ("models/xyz", "Models in models: large, small"),
        ("models/small/config.json", "is a file; name its folder, models/small"),
    ],
)
def test_a_model(working_folder: Path, kind: str, typed: str, near: str) -> None:
    with pytest.raises(AssayError) as caught:
        assay.load_metric(f"{kind}:{typed.format(working_folder)}").check_available()
    message = str(caught.value)
    assert message.endswith(near.format(working_folder)) and "\n" not in message
    assert "there is no such folder" in message or typed.endswith(".json")
    assert "on this machine" not in message and "fetch" not in message


@needs_torch
def test_a_relative_path_from_another_folder(working_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("notebooks/deep")
    with pytest.raises(AssayError, match=r"there is no such folder.*Did you mean '\.\./\.\./models/small'\?"):
        assay.load_metric("bi-encoder:models/small").check_available()
    with pytest.raises(AssayError, match=r"Did you mean '\.\./\.\./vectors/words\.txt'\?"):
        assay.load_metric("static:vectors/words.txt").check_available()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("static:vectors/word.txt", "no such file of word vectors. Did you mean 'vectors/words.txt'?"),
        ("combined:learned/beste", "(there is no such folder). Did you mean 'learned/best'?"),
        ("combined:best", "(there is no such folder). Did you mean 'learned/best'?"),
        ("combined:models/small", "is not a folder of assay combine (it has no combined.json)"),
    ],
)
def test_other_folders(working_folder: Path, name: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        assay.load_metric(name).check_available()
    assert words in str(caught.value)


@needs_torch
def test_a_model_of_the_hub_is_fetched(working_folder: Path) -> None:
    """Where no model is near, an owner and a name are taken for the hub's, as ever."""
    with pytest.raises(AssayError, match=r"model intfloat/e5 is not on this machine: assay models fetch intfloat/e5$"):
        assay.load_metric("bi-encoder:intfloat/e5").check_available()
    # a clone of the library is no folder of models
    write(working_folder / "sentence-transformers" / "docs", {"index.md": b"x"})
    with pytest.raises(AssayError, match=r"assay models fetch sentence-transformers/LaBSE$"):
        assay.load_metric("bi-encoder:sentence-transformers/LaBSE").check_available()


def test_in_commands(working_folder: Path) -> None:
    (working_folder / "data.csv").write_text("reference,candidate,label\na b,a c,1\nb,b,2\nc d,d e,0\n")
    for words in (
        ["run", "data.csv", "-m", "bi-encoder:models/smal", "-m", "f1"],
        ["run", "data.csv", "-m", "bi-encoder:models/smal", "-m", "f1", "--offline"],
        ["models", "show", "models/smal"],
        ["models", "fetch", "models/smal", "--offline"],
    ):
        done = call(*words)
        assert done.code in (1, 2) and "Did you mean 'models/small'?" in done.err, words
        assert "on this machine" not in done.err and "models fetch" not in done.err, words
    done = call("run", "dat.csv", "-m", "f1")
    assert (done.code, done.complaint) == (2, "assay: dat.csv: there is no such file. Did you mean 'data.csv'?")
    assert call("run", "data.csv", "-m", "f1", "--out", "runs/first", "-q").code == 0
    assert call("compare", "runs/frist").complaint.endswith("no such run folder. Did you mean 'runs/first'?")
    assert call("compare", "first").complaint.endswith("no such run folder. Did you mean 'runs/first'?")


@needs_torch
def test_a_folder_that_is_moved_after_the_run(working_folder: Path) -> None:
    metric = assay.load_metric("bi-encoder:models/small")
    (working_folder / "models" / "small").rename(working_folder / "models" / "small-renamed")
    with pytest.raises(AssayError, match=r"there is no such folder.*Did you mean 'models/small-renamed'\?"):
        metric.check_available()


def test_an_error_of_a_worker_stays_as_it_is(working_folder: Path) -> None:
    error = ModelOfflineError(ModelReference("hub", "models/smal"), "the network is forbidden", unset=True)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.problem, again.remedy) == (str(error), error.problem, error.remedy)


def test_nothing_is_suggested_that_is_not_near(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("x")
    assert no_such_file(Path("quite-another.csv"), Path.is_file) == "quite-another.csv: there is no such file"
    assert no_such_file(Path("A.CSV"), Path.is_file) == "A.CSV: there is no such file. Did you mean 'a.csv'?"
    removed = tmp_path / "removed"
    removed.mkdir()
    monkeypatch.chdir(removed)
    removed.rmdir()
    assert no_such_file(Path("b.csv"), Path.is_file) == "b.csv: there is no such file"
