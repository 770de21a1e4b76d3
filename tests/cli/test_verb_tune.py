"""``assay tune``: what it refuses in one line, and a small search from the command line."""

from __future__ import annotations

import json

import pytest

from tests.cli.calling import call

pytest.importorskip("sentence_transformers", reason="sentence-transformers is absent: pip install assay[train]")
pytest.importorskip("optuna", reason="optuna is absent: pip install assay[train]")


@pytest.fixture
def files(workplace):
    """A base and three files of pairs."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tests.metrics.models.tiny import make_bert
    from tests.training.training_run import made_pairs

    for seed, name in enumerate(("train", "dev", "test")):
        pq.write_table(pa.Table.from_pylist(made_pairs(20, seed)), f"{name}.parquet")
    make_bert(workplace / "base", pooling="mean")
    return ("--pairs", "train.parquet", "--dev", "dev.parquet", "--test", "test.parquet")


def tune(*more):
    return call("tune", "bi-encoder", "--base", "base", "--out", "out", "--device", "cpu", "--threads", 1, *more)


@pytest.mark.slow
def test_a_search(files, workplace):
    (workplace / "space.toml").write_text("[space.batch_size]\nchoices = [8, 16]\n")
    done = tune(*files, "--space", "space.toml", "--epochs", 1, "--trials", 2, "-f", "json")
    assert done.code == 0, done.err
    held = json.loads(done.out)
    assert held == json.loads((workplace / "out/study.json").read_text())
    assert [trial["state"] for trial in held["trials"]] == ["complete"] * 2
    assert "trial 0: batch size" in done.err
    assert "wrote out" in done.err
    assert "Study out: 2 trials of a bi-encoder" in (workplace / "out/report.html").read_text()
    assert (workplace / "out/study.md").read_text().startswith("### Study out: 2 trials of a bi-encoder")
    assert "is not an empty folder" in tune(*files, "--quiet").complaint


@pytest.mark.parametrize(
    ("space", "said"),
    [
        ("[space", "space.toml: is not a TOML file"),
        ("[space.batch]\nchoices = [1]", "space.toml: space.batch: can not be searched"),
        ("[space.epochs]\nlow = 0\nhigh = 2", "space.toml: space.epochs: --epochs 0: must be a whole number, at"),
    ],
)
def test_a_space_that_is_refused(workplace, space, said):
    (workplace / "space.toml").write_text(space)
    assert said in tune("--pairs", "own.csv", "--space", "space.toml").complaint


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--space", "absent.toml"), "absent.toml: cannot be read"),
        (("--epochs", 3), "--epochs: is searched"),
        (("--trials", 0), "--trials 0: must be a whole number, at least 1"),
        (("--jobs", 0), "--jobs 0: must be a whole number, at least 1"),
        (("--objective", "loss"), "--objective loss: must be one of spearman, pearson, kendall"),
        (("--classes", "kind", "--objective", "pearson"), "--objective pearson: must be one of accuracy"),
        (("--storage", "sqlite:////absent/folder/study.db"), "--storage sqlite:////absent/folder/study.db: cannot be"),
        (("--storage", "study.db"), "--storage: is not an address of a database"),
    ],
)
def test_what_is_refused(workplace, more, said):
    assert said in tune("--pairs", "own.csv", *more).complaint
    assert not list(workplace.glob("*out*"))


def test_a_password_is_not_repeated():
    complaint = tune("--pairs", "own.csv", "--storage", "mysql+absent://user:secret@host/name").complaint
    assert "secret" not in complaint


def test_labels_that_cannot_be_learned_leave_nothing(files, workplace):
    assert "own.csv" in tune("--pairs", "own.csv", "--columns", "label=grade").complaint
    assert not list(workplace.glob("*out*"))
