"""Neural metrics in runs: shared passes, one model at a time, presets, sweeps, costs."""

from __future__ import annotations

import dataclasses
import json
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.common.progress import Silent
from assay.exceptions import InputError, UnavailableError
from assay.metrics import describe_metric, load_metric, work
from assay.metrics import presets as presets_module
from assay.metrics.neural.runtime import Runtime, use_runtime
from tests.metrics.models.tiny import make_bert
from tests.metrics.neural.texts import pairs


def rows(n: int, seed: int = 0) -> list[dict[str, Any]]:
    batch = pairs(n, seed=seed)
    return [{"reference": r, "candidate": c, "label": i % 3} for i, (r, c) in enumerate(batch.pairs())]


def test_each_text_goes_through_a_model_once_in_a_run(encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.metrics.neural.encoder import EncoderEngine

    monkeypatch.setattr(EncoderEngine, "pairs", property(lambda self: 16))
    first, second = rows(90), rows(70)[::-1] + rows(20, seed=1)
    metrics = [f"bi-encoder:{encoder}", f"bertscore:{encoder}", f"pooled:{encoder},layer=1", "f1"]
    result = assay.run([first, second], metrics, resamples=0, device="cpu", threads=1)
    texts = {row[key] for row in first + second for key in ("reference", "candidate")}
    done = [status for status in result.outcome.metrics if status.metric != "f1"]
    assert {status.status for status in done} == {"done"}
    assert {status.cost.details["texts_embedded"] for status in done} == {len(texts)}
    assert all(len(status.cost.shared_with) == 2 and status.cost.details["parameters"] > 0 for status in done)
    again = assay.run([first, second], metrics, resamples=0, device="cpu", threads=1)
    assert all(status.scored == 0 and not status.cost.details for status in again.outcome.metrics)
    speeds, speeds_again = ([status.cost.pairs_per_second for status in run.outcome.metrics] for run in (result, again))
    assert speeds_again == speeds
    assert again.agreement.equals(result.agreement)
    alone = assay.run([first], [f"bertscore:{encoder}"], resamples=0, fresh=True, device="cpu", threads=1)
    together = result.scores.query("dataset == 'data-1' and metric.str.startswith('bertscore')", engine="python")
    source = together if len(together) else result.scores[result.scores.metric.str.startswith("bertscore")].iloc[:90]
    assert alone.scores.score.to_numpy() == pytest.approx(source.score.to_numpy(), abs=1e-6)


def test_one_model_is_in_memory_at_a_time(encoder: Path, scorer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []
    real = work.open_session

    def watched(engine: Any, *, keep: bool = False) -> Any:
        session = real(engine, keep=keep)
        held.append(len(work._open_sessions))
        return session

    monkeypatch.setattr("assay.benchmark.executor.open_session", watched)
    metrics = [f"bi-encoder:{encoder}", f"cross-encoder:{scorer}", f"bertscore:{encoder}"]
    assay.run([rows(20), rows(20, seed=1)], metrics, resamples=0, device="cpu", threads=1)
    assert max(held) == 1 and not work._open_sessions
    held.clear()
    assay.run([rows(30)], metrics, resamples=0, device="cpu", threads=1, keep_models=True, fresh=True)
    assert max(held) == 2 and not work._open_sessions


def test_a_preset_takes_the_model_for_the_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = {
        "sas": {
            "en": {"subject": str(make_bert(tmp_path / "english", labels=1))},
            "de": {"subject": str(make_bert(tmp_path / "german", labels=1, seed=1))},
        },
        "bertscore-vanilla": {"en": {"subject": str(tmp_path / "english"), "layer": 1}},
        "bi-encoder": {"*": {"subject": "me/absent"}},
    }
    monkeypatch.setattr(presets_module, "presets", lambda: chosen)
    result = assay.run(
        ["probe"], ["sas", "bertscore-vanilla", "bi-encoder", "em"], resamples=0, device="cpu", threads=1
    )
    by_name = {status.metric: status for status in result.outcome.metrics}
    assert by_name["sas"].says.startswith("en: model") and "de: model" in by_name["sas"].says
    assert "german" in by_name["sas"].says and "model" in result.to_markdown()
    scores = result.scores[result.scores.metric == "sas"].score.to_numpy()
    pair = result.outcome.datasets[0].pairs
    for language in ("en", "de"):
        mask = [one == language for one in pair.column("language").to_pylist()]
        part = pair.take([row for row, held in enumerate(mask) if held])
        own = assay.run(part, [f"sas:{chosen['sas'][language]['subject']}"], resamples=0, device="cpu", threads=1)
        assert own.scores.score.to_numpy() == pytest.approx(scores[mask], abs=1e-6)
    assert by_name["bertscore-vanilla"].signature["layer"] == "1"
    assert (
        by_name["bi-encoder"].status == "unavailable" and "assay models fetch me/absent" in by_name["bi-encoder"].remedy
    )
    assert by_name["em"].status == "done"
    french = assay.run([rows(20)], ["sas", "em"], resamples=0, language="fr", device="cpu", threads=1)
    assert french.outcome.metrics[0].status == "not applicable"
    assert "the preset sas has no model for fr; name one: sas:MODEL" in french.outcome.metrics[0].reason


def test_references_of_the_dataset_weigh_tokens(encoder: Path, tmp_path: Path) -> None:
    data = rows(40)
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(row["reference"] for row in data), encoding="utf-8")
    own = assay.run([data], [f"bertscore:{encoder},idf=references"], resamples=0, device="cpu", threads=1)
    given = assay.run([data], [f"bertscore:{encoder},idf={corpus}"], resamples=0, device="cpu", threads=1)
    plain = assay.run([data], [f"bertscore:{encoder}"], resamples=0, device="cpu", threads=1)
    assert own.scores.score.tolist() == given.scores.score.tolist() != plain.scores.score.tolist()


def test_cut_and_empty_texts_are_counted_also_from_the_store(encoder: Path, tmp_path: Path) -> None:
    data = [*rows(20), {"reference": "water " * 100, "candidate": "fire", "label": 0}]
    data.append({"reference": "", "candidate": "fire", "label": 0})
    for _ in range(2):
        result = assay.run([data], [f"bertscore:{encoder}"], resamples=0, device="cpu", threads=1)
        flags = result.outcome.metrics[0].flags
        assert flags == {"reference truncated": 1, "reference without a token that counts": 1}
        assert "1 of 22 pairs: reference truncated" in result.to_markdown()


def test_a_sweep_over_layers_is_one_pass(encoder: Path) -> None:
    result = assay.sweep([rows(60)], f"bertscore:{encoder}", device="cpu", threads=1)
    names = [status.metric for status in result.outcome.metrics]
    assert names == [f"bertscore:{encoder},layer={layer}" for layer in range(4)]
    texts = {row[key] for row in rows(60) for key in ("reference", "candidate")}
    assert {status.cost.details["texts_embedded"] for status in result.outcome.metrics} == {len(texts)}
    sheet = result.document.sheets[0]
    assert [column.head for column in sheet.columns] == ["layer", "Pearson r", "Spearman ρ", "Kendall τ-b"]
    assert [row[0] for row in sheet.rows] == ["0", "1", "2", "3"]
    value = result.agreement.query("bucket == 'all' and statistic == 'pearson'").value
    best = int(value.to_numpy().argmax())
    assert (best, 1) in sheet.best
    assert f"| {best} | **" in result.to_markdown()
    with pytest.raises(InputError, match="has no layers"):
        assay.sweep([rows(5)], "f1")
    with pytest.raises(InputError, match="leave layer out"):
        assay.sweep([rows(5)], f"bertscore:{encoder},layer=1")


def test_a_sweep_of_a_preset_takes_the_model_of_the_language(
    encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    german = make_bert(tmp_path / "german", layers=2, seed=3)
    chosen = {"bertscore-vanilla": {"en": {"subject": str(encoder)}, "de": {"subject": str(german)}}}
    monkeypatch.setattr(presets_module, "presets", lambda: chosen)
    english, other = (assay.load_dataset(rows(20), language=language) for language in ("en", "de"))
    for pairs_of, folder, layers in ((english, encoder, 3), (other, german, 2)):
        found = [status.metric for status in assay.sweep(pairs_of, "bertscore-vanilla", threads=1).outcome.metrics]
        assert len(found) == layers + 1 and all(str(folder) in name for name in found)
    with pytest.raises(InputError, match=r"several languages \(de, en\)"):
        assay.sweep([english, other], "bertscore-vanilla")


def test_a_preset_with_another_model_keeps_its_layer(encoder: Path) -> None:
    assert load_metric(f"bertscore-vanilla:{encoder}").signature()["layer"] == "2"


def test_a_device_that_is_not_there_is_refused_before_any_work(encoder: Path) -> None:
    with pytest.raises(InputError, match="device=cuda:7: this machine has none"):
        assay.run([rows(3)], ["f1"], resamples=0, device="cuda:7")


def test_the_run_folder_has_the_costs(encoder: Path, tmp_path: Path) -> None:
    assay.run([rows(30)], [f"bi-encoder:{encoder}"], resamples=0, device="cpu", threads=1, out=tmp_path / "run")
    (status,) = json.loads((tmp_path / "run" / "run.json").read_text())["metrics"]
    assert {"pairs_per_second", "load_seconds", "parameters", "texts_embedded", "peak_memory_mb"} <= set(status["cost"])


def test_what_cannot_be_had_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each try of a server that does not answer takes long."""
    from assay.metrics.neural.metric import ModelMetric

    asked: list[str] = []

    def obtain(self: ModelMetric, *, offline: bool = False) -> None:
        asked.append(str(self))
        raise UnavailableError("the hub does not answer", "later")

    monkeypatch.setattr(ModelMetric, "obtain", obtain)
    announced: list[str] = []
    monkeypatch.setattr(Silent, "say", lambda self, line: announced.append(line))
    result = assay.run([rows(5), rows(6), rows(7)], ["bi-encoder:me/absent", "f1"], resamples=0)
    assert asked == ["bi-encoder:me/absent"]
    line = "bi-encoder:me/absent: model me/absent is not on this machine; it has to be downloaded first"
    assert [line for line in announced if "downloaded" in line] == [f"{line} (--offline forbids it)"], "once, before it"
    found = [(status.status, status.reason) for status in result.outcome.metrics if status.metric != "f1"]
    assert found == [("unavailable", "the hub does not answer")] * 3


def test_a_preset_is_described(encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = {"bertscore-vanilla": {"en": {"subject": str(encoder), "layer": 2}, "de": {"subject": "me/absent"}}}
    monkeypatch.setattr(presets_module, "presets", lambda: chosen)
    monkeypatch.setattr("assay.metrics.describe.presets", lambda: chosen)
    lines = describe_metric("bertscore-vanilla")
    assert "write: bertscore-vanilla, or bertscore-vanilla:MODEL" in lines
    assert f"preset for en: {encoder}, layer=2" in lines and "preset for de: me/absent" in lines
    assert lines[-1].startswith("signature: bertscore-vanilla|subject:encoder")
    # what the option changes is what is shown
    assert "symmetric: yes; reads the question: no" in lines
    assert "symmetric: no; reads the question: no" in describe_metric(f"bertscore:{encoder},output=recall")


def test_a_folder_with_the_name_of_a_preset_is_named_as_one(
    encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(encoder, tmp_path / "cross-encoder" / "stsb-roberta-large")
    monkeypatch.chdir(tmp_path)
    assert "in the folder" in load_metric("sas").says()


def scored_by(name: str, threads: int, devices: tuple[str, ...] = ("cpu",)) -> Any:
    """Return the session that scored 60 pairs in small batches, and the scores."""
    with use_runtime(Runtime("cpu", threads, tokens=64)):
        metric = load_metric(name)
        session = work.open_session(dataclasses.replace(metric.needs(), devices=devices))
        try:
            return session, session.score([metric], pairs(60)).values[:, 0].tolist()
        finally:
            work.release_sessions()


@pytest.mark.parametrize("kind", ["bi-encoder:{}", "bertscore:{},layer=1", "pooled:{},layer=1", "cross-encoder:{}"])
def test_scores_are_the_same_to_the_last_digit_for_any_number_of_threads(
    encoder: Path, scorer: Path, kind: str
) -> None:
    name = kind.format(scorer if kind.startswith("cross") else encoder)
    _, alone = scored_by(name, 1)
    for threads in (2, 3):
        session, scores = scored_by(name, threads)
        assert scores == alone
        assert session.cost()["threads"] == threads
    # a device each, in place of several GPUs
    assert scored_by(name, 1, ("cpu", "cpu"))[1] == alone


@pytest.mark.parametrize(
    ("kind", "step"), [("bi-encoder:{}", "TorchBody.hidden_states"), ("cross-encoder:{}", "TorchScorerBody.logits")]
)
def test_threads_compute_a_batch_each_with_one_set_of_weights(
    encoder: Path, scorer: Path, monkeypatch: pytest.MonkeyPatch, kind: str, step: str
) -> None:
    from assay.metrics.neural import body

    owner, name = step.split(".")
    compute = getattr(getattr(body, owner), name)
    seen: dict[Any, list[int]] = {}
    # passes when two batches are under way at the same time
    both = threading.Barrier(2)

    def watched(self: Any, *arguments: Any) -> Any:
        import torch

        assert torch.get_num_threads() == 1
        if self not in seen:
            seen[self] = sorted(parameter.data_ptr() for parameter in self.model.parameters())
            both.wait(timeout=20)
        return compute(self, *arguments)

    monkeypatch.setattr(getattr(body, owner), name, watched)
    scored_by(kind.format(scorer if kind.startswith("cross") else encoder), 2)
    first, second = seen.values()
    assert first == second


def test_two_aliases_of_one_metric_have_a_column_each(encoder: Path, scorer: Path) -> None:
    batch = pairs(12)
    rows = [{"reference": r, "candidate": c, "label": i % 3} for i, (r, c) in enumerate(batch.pairs())]
    names = [f"bi-encoder:{encoder}", f"cross-encoder:{scorer},order=mean", f"bertscore:{encoder}", "f1"]
    aliases = [f"{letter}{number}={name}" for number, name in enumerate(names) for letter in "ab"]
    result = assay.run(rows, aliases, resamples=0, device="cpu", threads=1)
    columns = result.scores.pivot(index="pair_id", columns="metric", values="score")
    assert sorted(columns) == sorted(alias.partition("=")[0] for alias in aliases)
    for number, name in enumerate(names):
        expected = load_metric(name).score(batch)
        for letter in "ab":
            assert sorted(columns[f"{letter}{number}"]) == pytest.approx(sorted(expected), abs=1e-6)
