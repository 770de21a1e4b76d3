"""The whole mid-tuning: what it leaves, that it resumes, and that metrics load it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import load_file
from scipy.stats import spearmanr

from assay.exceptions import InputError
from assay.language.texts import text_key
from assay.metrics import Batch, load_metric
from tests.training.killed import assert_resumed, kill_in_training
from tests.training.mid_run import tune_on, write_frames
from tests.training.training_run import Slow

OBJECTIVES = ("triplet", "classification")


@pytest.fixture
def frames(tmp_path):
    """Sixty-six sentences with their frames."""
    return write_frames(tmp_path / "frames.jsonl", 66)


def curve(folder):
    return list(csv.DictReader((folder / "curves.csv").read_text().splitlines()))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_what_a_mid_tuning_leaves(objective, tiny_base, frames, pairs_file, tmp_path):
    out, test = tmp_path / "out", pairs_file(20, 3)
    progress, results = tune_on(tiny_base, out, frames, test, objective=objective)
    assert not list(tmp_path.glob(".out*"))
    assert any("dev loss" in line for line in progress.lines)
    table = pq.read_table(test).to_pydict()
    batch = Batch(table["reference"], table["candidate"])
    scores = {name: np.asarray(load_metric(f"{name}:{out}").score(batch)) for name in ("bi-encoder", "pooled")}
    spearman = next(one for one in results["agreement"] if one["statistic"] == "spearman")
    assert spearman["after"] == pytest.approx(spearmanr(scores["bi-encoder"], table["label"]).statistic, abs=1e-6)
    base = load_metric(f"bi-encoder:{tiny_base}").score(batch)
    assert spearman["before"] == pytest.approx(spearmanr(base, table["label"]).statistic, abs=1e-6)
    assert scores["bi-encoder"] == pytest.approx(scores["pooled"], abs=1e-5)
    marked = load_metric(f"bi-encoder:{out},prompt=sentence").score(batch)
    assert np.abs(marked - scores["bi-encoder"]).max() > 1e-4

    facts = json.loads((out / "training.json").read_text())
    number = {"triplet": 60, "classification": 120}[objective]
    assert facts["steps"] == 3 * number / 12
    assert (facts["counts"]["train_sentences"], facts["counts"]["dev_sentences"]) == (60, 6)
    assert sum(facts["wrong_forms"].values()) == 60
    rows = [row for row in curve(out) if row["dev_loss"]]
    best = min(rows, key=lambda row: float(row["dev_loss"]))
    assert facts["best_step"] == int(best["step"])
    assert facts["best"]["dev_loss"] == pytest.approx(float(best["dev_loss"]))
    assert results["alignment"]["after"]["loss"] == pytest.approx(float(best["dev_loss"]), rel=1e-4)
    assert (results["alignment"]["before"] is None) == (objective == "classification")
    card = (out / "README.md").read_text()
    assert all(word in card for word in (facts["command"], str(tiny_base), "licence", "`[_EN_]`", frames, "all of it"))
    assert "{" not in card.split("## Use")[0]
    assert (out / "neighbours.md").read_text() == "neighbours\n"
    for record in results["neighbours"]:
        for model in ("base", "trained"):
            cosines = [one["cosine"] for one in record[model]]
            assert len(cosines) == 3
            assert cosines == sorted(cosines, reverse=True)
            assert record["query"] not in [one["text"] for one in record[model]]


def test_forms_are_learned(tiny_base, tmp_path):
    frames = write_frames(tmp_path / "many.jsonl", 300)
    _, results = tune_on(tiny_base, tmp_path / "out", frames, epochs=6)
    before, after = results["alignment"]["before"], results["alignment"]["after"]
    assert after["loss"] < 0.8 * before["loss"]
    assert results["agreement"] == results["scores"] == []


@pytest.mark.slow
def test_a_killed_training_continues_to_the_same_model(tiny_base, tmp_path, whole_training):
    complete, files = whole_training("mid-tuning").out, whole_training("mid-tuning").files
    out = tmp_path / "killed"
    kill_in_training(out, "mid_run.py", tiny_base, out, "0.2", 1, *files)
    with pytest.raises(InputError, match=r"unfinished training with another request .*settings"):
        tune_on(tiny_base, out, *files, epochs=4)
    progress, _ = tune_on(tiny_base, out, *files)
    assert_resumed(progress.lines)
    whole, resumed = (load_file(folder / "model.safetensors") for folder in (complete, out))
    for name, values in whole.items():
        assert resumed[name] == pytest.approx(values, abs=1e-6), name
    one, other = (json.loads((folder / "results.json").read_text()) for folder in (complete, out))
    assert other["agreement"] == one["agreement"]


@pytest.mark.slow
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_an_encoder_of_forms_alone_is_trained_and_not_kept(objective, tiny_base, frames, pairs_file, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    results = {}
    for out, encoders in ((one, 1), (two, 2)):
        _, results[out] = tune_on(tiny_base, out, frames, pairs_file(20, 3), objective=objective, encoders=encoders)
    assert {path.name for path in one.iterdir()} == {path.name for path in two.iterdir()}
    weights = [load_file(folder / "model.safetensors") for folder in (one, two)]
    assert weights[0].keys() == weights[1].keys()
    name = next(name for name in weights[0] if name.endswith("layer.0.attention.self.query.weight"))
    assert np.abs(weights[0][name] - weights[1][name]).max() > 1e-5
    assert "This encoder read sentences, and another one" in (two / "README.md").read_text()
    assert "One encoder read both" in (one / "README.md").read_text()
    assert "--encoders 2" in json.loads((two / "training.json").read_text())["command"]
    losses = [results[out]["alignment"]["after"]["loss"] for out in (one, two)]
    # the best step, that of the smallest loss of the development set, is the one of both encoders together
    best = min(float(row["dev_loss"]) for row in curve(two) if row["dev_loss"])
    assert losses[1] == pytest.approx(best, rel=1e-4) and losses[0] != losses[1]


def test_both_encoders_have_gradients_for_their_side_alone(tiny_base, frames):
    import torch

    from assay.training.midtuning.job import prepare_job, start_model
    from assay.training.midtuning.settings import MidTuningSettings

    settings = MidTuningSettings(str(tiny_base), frames, "out", encoders=2, device="cpu", threads=1)
    started = start_model(prepare_job(settings, settings.runtime, Slow(0.0)), 0)
    loss, rows = started.loss, torch.arange(4)
    loss.unwrapped_model.eval()  # without dropout, in both
    apart = loss.embeddings(rows)
    loss.second_model, second = None, loss.second_model
    for one, other in zip(apart, loss.embeddings(rows), strict=True):
        assert torch.allclose(one, other, atol=1e-6)  # both start alike
    loss.second_model = second
    loss.embeddings(rows)[0].square().sum().backward()
    assert all(value.grad is None for value in second.parameters())
    loss.zero_grad()
    loss.embeddings(rows)[2].square().sum().backward()
    assert any(value.grad is not None and value.grad.abs().sum() > 0 for value in second.parameters())
    assert all(value.grad is None or not value.grad.any() for value in loss.unwrapped_model.parameters())


@pytest.mark.slow
def test_a_killed_training_of_two_encoders_continues_to_the_same_model(tiny_base, frames, pairs_file, tmp_path):
    test, out, complete = pairs_file(20, 3), tmp_path / "killed", tmp_path / "complete"
    tune_on(tiny_base, complete, frames, test, encoders=2)
    kill_in_training(out, "mid_run.py", tiny_base, out, "0.2", 2, frames, test)
    with pytest.raises(InputError, match=r"unfinished training with another request .*settings"):
        tune_on(tiny_base, out, frames, test, encoders=1)
    progress, _ = tune_on(tiny_base, out, frames, test, encoders=2)
    assert_resumed(progress.lines)
    whole, resumed = (load_file(folder / "model.safetensors") for folder in (complete, out))
    for name, values in whole.items():
        assert resumed[name] == pytest.approx(values, abs=1e-6), name


def test_seeds_differ_in_everything_but_what_is_cut_off(tiny_base, frames, pairs_file, tmp_path):
    _, results = tune_on(tiny_base, tmp_path / "out", frames, pairs_file(20, 3), seeds=2, seed=5, epochs=1)
    assert results["seeds"] == [5, 6]
    single = [json.loads((tmp_path / f"out/seed-{seed}/training.json").read_text()) for seed in (5, 6)]
    assert single[0]["wrong_forms"] != single[1]["wrong_forms"]
    queries = [[one["query"] for one in facts["results"]["neighbours"]] for facts in single]
    assert queries[0] == queries[1]
    after = [facts["results"]["agreement"][0]["after"] for facts in single]
    assert results["agreement"][0]["after"] == pytest.approx(np.mean(after))
    losses = [facts["results"]["alignment"]["after"]["loss"] for facts in single]
    assert results["alignment"]["after"]["loss"] == pytest.approx(np.mean(losses))
    assert "scores" in json.loads((tmp_path / "out/seed-5/results.json").read_text())


def test_queries_and_test_sentences_are_not_trained_on(tiny_base, frames, tmp_path):
    sentences = [json.loads(line)["sentence"] for line in Path(frames).read_text().splitlines()]
    queries = tmp_path / "queries.txt"
    asked = [f"{sentences[0].upper()}!", sentences[1], f"{sentences[0]} {sentences[0]}"]
    queries.write_text("\n\n".join(asked))
    test = tmp_path / "test.csv"
    # labels from 0 to 40: correlations need no scale
    test.write_text(
        "reference,candidate,label\n" + "".join(f"{one},x {one},{10 * k}\n" for k, one in enumerate(sentences[2:7]))
    )
    _, results = tune_on(tiny_base, tmp_path / "out", frames, str(test), queries=str(queries), epochs=1)
    counts = json.loads((tmp_path / "out/training.json").read_text())["counts"]
    assert counts["sentences_held_out"] == 7
    assert [one["query"] for one in results["neighbours"]] == asked
    near = {text_key(one["text"]) for record in results["neighbours"] for one in [*record["base"], *record["trained"]]}
    assert near.isdisjoint(text_key(one) for one in asked)


def test_what_cannot_be_used_is_one_line(tiny_base, frames, tmp_path):
    out = tmp_path / "out"
    for changes, message in (
        ({"objective": "other"}, "objective=other: must be triplet or classification"),
        ({"encoders": 3}, "encoders=3: must be 1 or 2"),
        ({"margin": 0}, "margin=0: must be above 0"),
        ({"warmup": 1}, "warmup=1: is a share of the steps"),
        ({"layers": 9}, "layers=9: the model has 4 layers"),
        ({"queries": str(tmp_path / "none")}, r"queries=.*none: cannot be read"),
        ({"limit": 12}, "12 sentences with a form are too few to hold out a development set"),
    ):
        with pytest.raises(InputError, match=message):
            tune_on(tiny_base, out, frames, **changes)
    assert not out.exists()


def test_the_command_writes_tables_with_the_neighbours(tiny_base, frames, tmp_path, capsys):
    from assay.cli import app

    queries = tmp_path / "queries.txt"
    queries.write_text("a | b <script>\n")
    out = tmp_path / "out"
    line = ["train", "mid-tuning", "--base", str(tiny_base), "--forms", frames, "--out", str(out), "-q"]
    with pytest.raises(SystemExit) as stop:
        app([*line, "--queries", str(queries), "--device", "cpu", "--threads", "1"], prog_name="assay")
    assert not stop.value.code
    assert "Sentences and their forms" in capsys.readouterr().out
    shown = (out / "neighbours.md").read_text()
    assert "Nearest to" in shown
    assert "<script>" not in shown
    assert shown.count("\n| ") >= 3


def test_frames_of_framenet_pooling_by_cls_and_neighbours_in_a_corpus(tiny_base, frames, pairs_file, tmp_path):
    out, test = tmp_path / "out", pairs_file(20, 3)
    corpus = [f"{one} again" for one in ("the dog", "a cat", "some houses", "two men")]
    (tmp_path / "corpus.txt").write_text("\n".join([*corpus, corpus[0], ""]))
    _, results = tune_on(
        tiny_base, out, frames, test, epochs=1,
        formalism="framenet", pooling="cls", corpus=str(tmp_path / "corpus.txt"),
    )  # fmt: skip
    vocabulary = json.loads((out / "tokenizer.json").read_text())["added_tokens"]
    assert {"[_EN_]", "[_FNMR_]"} <= {token["content"] for token in vocabulary}
    card = (out / "README.md").read_text()
    assert "`[_FNMR_]`" in card and "pooling=cls" in card and "[_SRLMR_]" not in card
    table = pq.read_table(test).to_pydict()
    batch = Batch(table["reference"], table["candidate"])
    spearman = next(one for one in results["agreement"] if one["statistic"] == "spearman")
    for name, folder in (("before", tiny_base), ("after", out)):
        scores = np.asarray(load_metric(f"pooled:{folder},pooling=cls").score(batch))
        assert spearman[name] == pytest.approx(spearmanr(scores, table["label"]).statistic, abs=1e-6)
    for record in results["neighbours"]:
        assert {one["text"] for one in record["trained"]} <= set(corpus)
        assert len(record["base"]) == 3
