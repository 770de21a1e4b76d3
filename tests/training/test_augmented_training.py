"""The whole augmented training with tiny models: what it leaves, labels kept over a kill, one line where it cannot."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from assay.datasets import load_dataset
from assay.exceptions import InputError
from assay.metrics import Batch, load_metric
from assay.training.augmented import recipe as labelling
from tests.metrics.models.tiny import WORDS, make_bert
from tests.training.augmented_run import train_on
from tests.training.killed import kill, start, wait_until

COLUMNS = ["reference", "candidate", "label", "split", "origin"]


@pytest.fixture(scope="session")
def tiny_labeller(tmp_path_factory):
    """A cross-encoder with one logit, which its files do not turn into a number from 0 to 1."""
    return make_bert(tmp_path_factory.mktemp("labellers") / "cross", labels=1, seed=3)


@pytest.fixture
def entities(tmp_path):
    """Sixty entities of two words; every third has an alias, one has four."""
    lines = ["name,aliases"]
    for k in range(60):
        one, two = WORDS[4 * k : 4 * k + 2]
        lines.append(f"{one} {two},{f'{two} {one}' if k % 3 == 0 else 'a|b|c|d' if k == 1 else ''}")
    path = tmp_path / "entities.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_what_a_training_leaves(tiny_base, tiny_labeller, entities, tmp_path):
    pytest.importorskip("num2words", reason="num2words is absent: pip install assay[train]")
    out = tmp_path / "out"
    labeller = f"{tiny_labeller},activation=sigmoid"
    progress, results = train_on(
        tiny_base, out, labeller=labeller, entities=str(entities), numbers="en,de", number_range="0,29"
    )
    table = pq.read_table(out / "pairs.parquet")
    assert table.column_names == COLUMNS
    rows = table.to_pylist()
    sizes = {origin: sum(row["origin"] == origin for row in rows) for origin in ("random", "alias", "number")}
    # 59 entities once each, without one that has too many aliases; 20 have an alias; 30 numbers, three pairs each, two
    # languages
    assert sizes == {"random": 59, "alias": 20, "number": 180}
    assert all(row["label"] == 1 for row in rows if row["origin"] == "alias")
    random = [row for row in rows if row["origin"] == "random"]
    scores = load_metric(f"cross-encoder:{labeller}").score(
        Batch([row["reference"] for row in random], [row["candidate"] for row in random])
    )
    assert [row["label"] for row in random] == pytest.approx(scores.tolist(), abs=1e-6)
    assert "pairs made: 59 random, 20 alias, 180 number" in progress.lines
    assert "1 entities have more than 3 ways of writing and are left out, with 4 aliases" in progress.lines

    facts = json.loads((out / "training.json").read_text())
    assert (facts["recipe"], facts["model"]) == ("augmented", "bi-encoder")
    assert facts["command"].startswith("assay train augmented --base")
    counts = facts["counts"]
    assert (counts["entities"], counts["aliases_left_out"], counts["random_pairs"]) == (59, 4, 59)
    for split in ("train", "dev", "test"):
        pairs = load_dataset(f"{out / 'pairs.parquet'}:{split}")
        assert len(pairs) == counts[f"{split}_pairs"] and counts.get(f"{split}_texts_in_train", 0) == 0
    # the labels are of a machine, and whoever reads the results is told
    assert results["machine_labels"] == ["augmented:test"]
    card = (out / "README.md").read_text()
    assert "not agreement with people" in card and "pairs.parquet:train" in card and "A bi-encoder" in card
    (score,) = load_metric(f"bi-encoder:{out}").score(Batch(["a b"], ["a b"]))
    assert score == pytest.approx(1, abs=1e-5)
    assert not list(tmp_path.glob(".out*"))


def test_numbers_alone_and_seeds(tiny_base, tmp_path):
    pytest.importorskip("num2words", reason="num2words is absent: pip install assay[train]")
    out = tmp_path / "out"
    _, results = train_on(tiny_base, out, numbers="en", number_range="0,39", seeds=2)
    assert results["seeds"] == [0, 1] and results["machine_labels"] == ["augmented:test"]
    assert pq.read_table(out / "pairs.parquet").num_rows == 120
    assert {path.name for path in out.iterdir()} == {"pairs.parquet", "results.json", "results.md", "seed-0", "seed-1"}


def test_the_table_says_whose_labels_they_are(tiny_base, tmp_path):
    pytest.importorskip("num2words", reason="num2words is absent: pip install assay[train]")
    import assay

    report = assay.train_augmented(
        str(tiny_base), tmp_path / "out", numbers="en", number_range="0,39", epochs=1, device="cpu"
    )
    said = report.to_markdown()
    assert "Agreement with labels on the test pairs" in said and "not agreement with people" in said
    assert "Agreement with people" not in said


@pytest.mark.slow
def test_a_kill_while_labelling_loses_no_label(tiny_base, tiny_labeller, entities, tmp_path, own_cache, monkeypatch):
    out, labeller = tmp_path / "out", f"{tiny_labeller},activation=sigmoid"
    process = start("augmented_run.py", tiny_base, labeller, entities, out, "1")
    wait_until(process, lambda: len(kept(own_cache)) >= 2)
    kill(process)
    before = kept(own_cache)
    assert 2 <= len(before) < 4 and not out.exists()

    asked = []
    score = labelling.Labeller._score
    monkeypatch.setattr(labelling, "PAIRS_PER_CHUNK", 16)
    monkeypatch.setattr(
        labelling.Labeller, "_score", lambda self, batch: asked.append(len(batch)) or score(self, batch)
    )
    train_on(tiny_base, out, labeller=labeller, entities=str(entities))
    # 59 random pairs in chunks of 16: one entity has more ways of writing than are kept
    assert sum(asked) == 59 - 16 * len(before) and len(kept(own_cache)) == 4
    train_on(tiny_base, tmp_path / "again", labeller=labeller, entities=str(entities))
    assert sum(asked) == 59 - 16 * len(before)
    tables = [pq.read_table(tmp_path / name / "pairs.parquet") for name in ("out", "again")]
    assert tables[0].equals(tables[1])


def kept(cache):
    """The chunks of labels that are written to their end."""
    return [path for path in (cache / "targets").glob("*.npy") if path.name.count(".") == 1]


def test_what_cannot_be_used_is_one_line(tiny_base, tiny_labeller, entities, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(InputError, match=r"labels lie between 0 and 1: add ,activation=sigmoid"):
        train_on(tiny_base, out, labeller=f"{tiny_labeller},activation=identity", entities=str(entities))
    assert not list((Path(os.environ["ASSAY_CACHE"]) / "targets").glob("*"))
    with pytest.raises(InputError, match="there is no such folder and no such short name"):
        train_on(tiny_base, out, labeller="nothing", entities=str(entities))
    few = tmp_path / "few.csv"
    few.write_text("name\nA\nB\nC\n")
    with pytest.raises(InputError, match=r"0 dev pairs can be made, and 2 are needed; give more entities"):
        train_on(tiny_base, out, labeller=f"{tiny_labeller},activation=sigmoid", entities=str(few))
    assert not out.exists()


def test_the_command_names_what_is_missing(tiny_base, tmp_path, capsys):
    from assay.cli import app

    with pytest.raises(SystemExit) as stop:
        app(["train", "augmented", "--base", str(tiny_base), "--out", str(tmp_path / "out")], prog_name="assay")
    assert stop.value.code == 2
    assert capsys.readouterr().err.startswith("assay: --entities or --numbers is needed")


def test_labels_of_pairs_that_have_one_stay():
    from assay.training.augmented.pairs import Pair

    pairs = [Pair("a", "b", "train", "alias", 1.0), Pair("1", "two", "dev", "number", 0.0)]
    assert np.array_equal(labelling.label_pairs(pairs, None, None), [1.0, 0.0])
