"""The whole training: what it leaves, that it resumes, that seeds and ablations do what they say."""

from __future__ import annotations

import csv
import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import load_file
from transformers.trainer_callback import DefaultFlowCallback

from assay.analysis.significance.reading import read_results
from assay.exceptions import InputError, UnavailableError
from assay.language.amr import ASPECTS
from assay.metrics import Batch, load_metric
from assay.metrics.aspects.layout import read_layout
from assay.metrics.aspects.reference import read_reference
from assay.training.s3bert.trainer import AspectTrainer, S3BertLoss, TurnsTrainer
from tests.training.killed import assert_resumed, kill_in_training
from tests.training.training_run import LetterScorer, train

FILES = {
    "README.md", "curves.csv", "model.safetensors", "results.json", "results.md", "s3bert-reference.parquet",
    "s3bert.json", "targets.parquet", "training.json",
}  # fmt: skip


@pytest.fixture
def files(pairs_file):
    """Training, development and test pairs."""
    return pairs_file(40, 1), pairs_file(20, 2), pairs_file(20, 3)


def curve(folder):
    return list(csv.DictReader((folder / "curves.csv").read_text().splitlines()))


def test_what_a_training_leaves(tiny_base, whole_training):
    whole = whole_training("s3bert")
    out, files = whole.out, whole.files
    assert {path.name for path in out.iterdir()} >= FILES
    assert not list(out.parent.glob(".out*"))
    assert any("dev loss" in line for line in whole.lines)

    before, after = load_file(tiny_base / "model.safetensors"), load_file(out / "model.safetensors")
    changed = {name for name in after if not np.array_equal(after[name], before[name])}
    assert changed
    assert all("encoder.layer.2." in name or "encoder.layer.3." in name for name in changed)

    facts = json.loads((out / "training.json").read_text())
    assert facts["settings"]["epochs"] == 3
    assert facts["counts"]["train_pairs"] == 40
    assert "accelerate" in facts["versions"]
    rows = [row for row in curve(out) if row["dev_loss"]]
    assert [int(row["step"]) for row in rows][-1] == facts["steps"]
    for row in rows:
        parts = float(row["dev_decomposition"]) + float(row["dev_consistency"])
        assert float(row["dev_loss"]) == pytest.approx(parts, rel=1e-4)
    best = min(rows, key=lambda row: float(row["dev_loss"]))
    assert (facts["best_step"], facts["best_dev_loss"]) == (int(best["step"]), pytest.approx(float(best["dev_loss"])))
    assert facts["scales"]["smatch"] == pytest.approx(float(best["beta_smatch"]), abs=1e-6)
    assert float(rows[-1]["dev_decomposition"]) < 0.9 * float(curve(out)[0]["decomposition"])
    targets = pq.read_table(out / "targets.parquet")
    assert targets.column_names == ["set", "reference", "candidate", "positive", *ASPECTS]
    assert targets.num_rows == sum(facts["counts"][f"{name}_pairs_with_negatives"] for name in ("train", "dev", "test"))
    card = (out / "README.md").read_text()
    assert all(word in card for word in (facts["command"], str(tiny_base), "licence", "## Limits", files[0]))


def test_the_metric_gives_what_numpy_gives(tiny_base, files, tmp_path):
    from sentence_transformers import SentenceTransformer

    train(tiny_base, tmp_path / "out", *files, epochs=1)
    texts = pq.read_table(files[2]).select(["reference", "candidate"]).to_pydict()
    first, second = (SentenceTransformer(str(tmp_path / "out"), device="cpu").encode(side) for side in texts.values())
    layout = read_layout(tmp_path / "out", 32)
    assert layout.residual_range == (30, 32)
    for part, (start, stop) in {"smatch": (0, 2), "quantifiers": (28, 30), "residual": (30, 32)}.items():
        one, other = first[:, start:stop], second[:, start:stop]
        by_hand = (one * other).sum(1) / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)
        metric = load_metric(f"s3bert:{tmp_path / 'out'}#{part}")
        assert metric.score(Batch(*texts.values())) == pytest.approx(by_hand, abs=1e-5)
    reference = read_reference(tmp_path / "out")
    assert reference.names == ("overall", *ASPECTS, "residual")
    assert (
        len(reference.scores)
        == json.loads((tmp_path / "out/training.json").read_text())["counts"]["dev_pairs_with_negatives"]
    )


@pytest.mark.slow
def test_a_killed_training_continues_to_the_same_model(tiny_base, tmp_path, whole_training):
    complete, files = whole_training("s3bert").out, whole_training("s3bert").files
    out = tmp_path / "killed"
    kill_in_training(out, "training_run.py", tiny_base, out, "0.2", *files)
    with pytest.raises(InputError, match=r"unfinished training with another request .*settings"):
        train(tiny_base, out, *files, epochs=4)
    progress = train(tiny_base, out, *files)
    assert_resumed(progress.lines)
    whole, resumed = (load_file(folder / "model.safetensors") for folder in (complete, out))
    for name, values in whole.items():
        assert resumed[name] == pytest.approx(values, abs=1e-6), name
    facts = [json.loads((folder / "training.json").read_text()) for folder in (complete, out)]
    assert facts[1]["scales"] == pytest.approx(facts[0]["scales"], abs=1e-6)
    assert facts[1]["best_step"] == facts[0]["best_step"]
    assert facts[1]["results"]["aspects"] == facts[0]["results"]["aspects"]
    assert [row["step"] for row in curve(out)] == [row["step"] for row in curve(complete)]


def test_seeds_share_their_targets_and_are_summed_up(tiny_base, files, tmp_path, monkeypatch):
    asked = []
    score = LetterScorer.score
    monkeypatch.setattr(LetterScorer, "score", lambda self, batch: asked.append(len(batch)) or score(self, batch))
    train(tiny_base, tmp_path / "out", *files, seeds=3, seed=5, epochs=1)
    assert len(asked) == 3  # one a set
    summary = json.loads((tmp_path / "out/results.json").read_text())
    single = [json.loads((tmp_path / f"out/seed-{seed}/results.json").read_text()) for seed in (5, 6, 7)]
    assert summary["seeds"] == [5, 6, 7]
    values = [one["aspects"][3]["trained"] for one in single]
    assert summary["aspects"][3]["trained"] == pytest.approx(np.mean(values))
    assert summary["aspects"][3]["sd_trained"] == pytest.approx(np.std(values, ddof=1))
    rows, notes = read_results([tmp_path / "out"])
    people = [row for row in rows if not row.dataset.startswith("aspect ")]
    assert (len(rows), [row.seed for row in people], notes) == (3 * (1 + len(ASPECTS)), ["5", "6", "7"], [])
    assert people[1].value == pytest.approx(single[1]["people"][0]["trained"] / 100)
    assert people[1].dataset == single[1]["people"][0]["dataset"]
    assert "scores" not in summary
    weights = [load_file(tmp_path / f"out/seed-{seed}/model.safetensors") for seed in (5, 6)]
    assert any(not np.array_equal(weights[0][name], weights[1][name]) for name in weights[0])
    train(tiny_base, tmp_path / "again", *files, seed=5, epochs=1)
    assert len(asked) == 3
    facts = json.loads((tmp_path / "out/seed-6/training.json").read_text())
    # with `seed` 6 alone, the negatives would be others
    assert (facts["seed"], facts["settings"]["seed"], facts["settings"]["seeds"]) == (6, 5, 3)
    card = (tmp_path / "out/seed-6/README.md").read_text()
    assert "seed: 6 for the order of the pairs, 5 for what is held out and the negatives" in card
    assert "about 8 x 8 different pairs" in card
    again = load_file(tmp_path / "again/model.safetensors")
    assert all(np.array_equal(again[name], weights[0][name]) for name in again)


def test_one_seed_is_its_own_summary(tiny_base, files, tmp_path):
    train(tiny_base, tmp_path / "out", *files, seeds=1, seed=5, epochs=1)
    summary, single = (json.loads((tmp_path / "out" / name / "results.json").read_text()) for name in (".", "seed-5"))
    assert summary == single
    assert "low_full" in summary["aspects"][0]


@pytest.mark.parametrize("older", [False, True])
def test_more_steps_between_evaluations_than_steps(tiny_base, files, tmp_path, monkeypatch, older):
    """The last step is evaluated once, also by a transformers that leaves it out as 5.0 does."""
    if older:
        on_step_end = DefaultFlowCallback.on_step_end

        def as_in_5_0(self, args, state, control, **others):
            on_step_end(self, args, state, control, **others)
            control.should_evaluate = control.should_evaluate and state.global_step % state.eval_steps == 0
            control.should_save = control.should_save and state.global_step % state.save_steps == 0
            return control

        monkeypatch.setattr(DefaultFlowCallback, "on_step_end", as_in_5_0)
    progress = train(tiny_base, tmp_path / "out", *files, epochs=1, eval_steps=50)
    facts = json.loads((tmp_path / "out/training.json").read_text())
    assert facts["best_step"] == facts["steps"] == 5
    assert sum("dev loss" in line for line in progress.lines) == 1


def test_a_best_checkpoint_that_cannot_be_read_is_no_silence(tiny_base, files, tmp_path, monkeypatch):
    def broken(*_):
        raise OSError("cannot be read")

    monkeypatch.setattr(AspectTrainer, "_load_from_checkpoint", broken)
    with pytest.raises(OSError, match="cannot be read"):
        train(tiny_base, tmp_path / "out", *files, epochs=1)
    assert not (tmp_path / "out").exists()


def test_a_scorer_that_fails_lets_go_of_what_it_holds(tiny_base, files, tmp_path, monkeypatch):
    closed = []

    def fail(*_):
        raise UnavailableError("no score", "none")

    monkeypatch.setattr(LetterScorer, "score", fail)
    monkeypatch.setattr(LetterScorer, "close", lambda self: closed.append(self))
    with pytest.raises(UnavailableError, match="no score"):
        train(tiny_base, tmp_path / "out", *files)
    assert len(closed) == 1


@pytest.mark.parametrize("left_out", ["decomposition", "consistency"])
def test_ablations(tiny_base, files, tmp_path, left_out):
    train(tiny_base, tmp_path / "out", *files, epochs=1, **{left_out: False})
    facts = json.loads((tmp_path / "out/training.json").read_text())
    assert f"--no-{left_out}" in facts["command"]
    assert f"dev_{left_out}" not in curve(tmp_path / "out")[-1]
    moved = any(scale != 1 for scale in facts["scales"].values())
    assert moved == (left_out == "consistency")


def test_what_cannot_be_used_is_one_line(tiny_base, files, pairs_file, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(InputError, match=r"pair 1, column reference_graph: there is no graph"):
        train(tiny_base, out, pairs_file(4, 9, reference_graph=""), *files[1:])
    with pytest.raises(InputError, match="the embedding has 32"):
        train(tiny_base, out, *files, width=16)
    with pytest.raises(InputError, match="layers=7: the model has 4 layers"):
        train(tiny_base, tmp_path / "other", *files, layers=7)
    with pytest.raises(InputError, match="there is no such folder and no such short name"):
        train("nothing", out, *files)
    with pytest.raises(InputError, match="the training set has 0 pairs"):
        train(tiny_base, out, files[1], *files[1:])
    with pytest.raises(InputError, match="nothing to train on"):
        train(tiny_base, out, *files, decomposition=False, consistency=False)
    with pytest.raises(InputError, match="epochs=0: must be a whole number, at least 1"):
        train(tiny_base, out, *files, epochs=0)
    assert not out.exists()
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="is not an empty folder; give `out` another name"):
        train(tiny_base, out, *files)
    assert [path.name for path in out.iterdir()] == ["mine.txt"]


def test_the_command_needs_vectors_and_names_what_is_wrong(tiny_base, files, tmp_path, capsys):
    from assay.cli import app

    line = ["train", "s3bert", "--base", str(tiny_base), "--pairs", files[0], "--out", str(tmp_path / "out")]
    with pytest.raises(SystemExit) as stop:
        app(line, prog_name="assay")
    assert stop.value.code == 2
    assert capsys.readouterr().err.startswith("assay: --vectors FILE is needed")


def test_the_authors_program_takes_turns_and_resumes(tiny_base, files, tmp_path, monkeypatch):
    """A step for consistency, then one for decomposition; interrupted, both optimisers go on where they were."""
    turns = []
    forward = S3BertLoss.forward

    def recorded(loss, *args):
        if loss.model.training:
            turns.append(loss.active)
        return forward(loss, *args)

    monkeypatch.setattr(S3BertLoss, "forward", recorded)
    train(tiny_base, tmp_path / "whole", *files, variant="program")
    facts = json.loads((tmp_path / "whole/training.json").read_text())
    assert turns == [("consistency",), ("decomposition",)] * facts["steps"]
    assert "--variant program" in facts["command"]
    assert all(scale != 1 for scale in facts["scales"].values())
    rows = curve(tmp_path / "whole")
    for row in rows:
        if row["dev_loss"]:
            parts = float(row["dev_decomposition"]) + float(row["dev_consistency"])
            assert float(row["dev_loss"]) == pytest.approx(parts, rel=1e-4)
        else:
            parts = float(row["decomposition"]) + float(row["consistency"])
            assert float(row["loss"]) == pytest.approx(parts, rel=1e-3)

    whole_step, steps = TurnsTrainer.training_step, []

    def interrupted(trainer, *args):
        steps.append(trainer.state.global_step)
        if len(steps) == facts["steps"]:
            raise KeyboardInterrupt
        return whole_step(trainer, *args)

    monkeypatch.setattr(TurnsTrainer, "training_step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(tiny_base, tmp_path / "again", *files, variant="program")
    monkeypatch.setattr(TurnsTrainer, "training_step", whole_step)
    progress = train(tiny_base, tmp_path / "again", *files, variant="program")
    assert any("resumes from step" in line for line in progress.lines)
    one, other = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "again"))
    for name, values in one.items():
        assert other[name] == pytest.approx(values, abs=1e-6), name


def test_the_authors_program_has_no_weight_of_a_loss(tiny_base, files, tmp_path):
    with pytest.raises(InputError, match=r'alpha=0\.5: has no effect with `variant="program"`: each loss'):
        train(tiny_base, tmp_path / "out", *files, variant="program", alpha=0.5)
    with pytest.raises(InputError, match="variant=program: trains both parts of the loss"):
        train(tiny_base, tmp_path / "out", *files, variant="program", consistency=False)
