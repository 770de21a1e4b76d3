"""Encoders: the same numbers as sentence-transformers, transformers and bert-score, whatever the batch."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.exceptions import InputError, UnavailableError
from assay.metrics import Batch, check_metric, load_metric
from assay.metrics.combination import best_scores
from assay.metrics.neural.runtime import Runtime, use_runtime
from assay.metrics.scores import Flag
from assay.metrics.work import open_session, release_sessions
from tests.metrics.neural.texts import pairs


def cosines(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    left, right = left.astype(np.float64), right.astype(np.float64)
    return (left * right).sum(1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)


def test_bi_encoder_is_sentence_transformers(encoder: Path) -> None:
    from sentence_transformers import SentenceTransformer

    batch = pairs()
    model = SentenceTransformer(str(encoder), device="cpu")
    for name, before in (("", ""), (",prefix=question ", "question "), (",prompt=e5", "query: ")):
        expected = cosines(
            *(model.encode([before + t for t in texts]) for texts in (batch.references, batch.candidates))
        )
        assert load_metric(f"bi-encoder:{encoder}{name}").score(batch) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("pooling", ["mean", "max", "cls"])
@pytest.mark.parametrize("layer", [0, 2, 3])
def test_pooled_is_transformers(encoder: Path, pooling: str, layer: int) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    model, tokenizer = AutoModel.from_pretrained(encoder).eval(), AutoTokenizer.from_pretrained(encoder)

    def embed(text: str) -> np.ndarray:
        with torch.no_grad():
            states = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states[layer][0]
        return {"mean": states.mean(0), "max": states.amax(0), "cls": states[0]}[pooling].numpy()

    batch = pairs(30)
    expected = cosines(*(np.stack([embed(t) for t in texts]) for texts in (batch.references, batch.candidates)))
    metric = load_metric(f"pooled:{encoder},layer={layer},pooling={pooling}")
    assert metric.score(batch) == pytest.approx(expected, abs=1e-5)


def library_scores(folder: Path, batch: Batch, layers: int) -> np.ndarray:
    """Return precision, recall, F of bert-score called pair by pair, shape (n, layers + 1, 3)."""
    from collections import defaultdict

    from bert_score.utils import bert_cos_score_idf, get_model, get_tokenizer

    model, tokenizer = get_model(str(folder), layers, all_layers=True), get_tokenizer(str(folder))
    weights: defaultdict[int, float] = defaultdict(lambda: 1.0)
    weights[tokenizer.sep_token_id] = weights[tokenizer.cls_token_id] = 0.0
    found = [
        bert_cos_score_idf(model, [r], [c], tokenizer, weights, device="cpu", all_layers=True).numpy()
        for r, c in batch.pairs()
    ]
    return np.stack(found).reshape(len(batch), layers + 1, 3)


def test_bertscore_is_bert_score_called_pair_by_pair(encoder: Path) -> None:
    pytest.importorskip("bert_score")
    batch = pairs(60)
    expected = library_scores(encoder, batch, layers=3)
    for layer in range(4):
        for place, output in enumerate(("precision", "recall", "f")):
            got = load_metric(f"bertscore:{encoder},layer={layer},output={output}").score(batch)
            assert got == pytest.approx(expected[:, layer, place], abs=1e-5)


@pytest.mark.slow
def test_bertscore_of_real_pairs_in_all_layers(real_models: Any, shared_data: Path) -> None:
    import assay

    pytest.importorskip("bert_score")
    table = assay.load_dataset(str(shared_data / "sas" / "SQuAD_SAS.csv"), columns=COLUMNS).table.slice(0, 150)
    batch = Batch(table.column("reference").to_pylist(), table.column("candidate").to_pylist())
    expected = library_scores(real_models / "minilm", batch, layers=6)
    metrics = [load_metric(f"bertscore:{real_models / 'minilm'},layer={layer}") for layer in range(7)]
    got = open_session(metrics[0].needs()).score(metrics, batch).values
    assert got == pytest.approx(expected[:, :, 2], abs=1e-5)


COLUMNS = "reference=answer1,candidate=answer2"


def test_weights_and_baselines_are_those_of_bert_score(encoder: Path, tmp_path: Path) -> None:
    bert_score = pytest.importorskip("bert_score")
    batch = pairs(20)
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(pairs(50, seed=1).references), encoding="utf-8")
    library = bert_score.BERTScorer(
        model_type=str(encoder),
        num_layers=2,
        idf=True,
        idf_sents=corpus.read_text().split("\n"),
        device="cpu",
        nthreads=0,
    )
    expected = [library.score([c], [r])[2].item() for r, c in batch.pairs()]
    plain = load_metric(f"bertscore:{encoder},layer=2")
    weighed = load_metric(f"bertscore:{encoder},layer=2,idf={corpus}")
    assert weighed.score(batch) == pytest.approx(expected, abs=1e-5)
    assert load_metric(f"bertscore:{encoder},layer=2,idf={corpus},engine=bert-score").score(batch) == pytest.approx(
        expected, abs=1e-5
    )
    (tmp_path / "base.csv").write_text("LAYER,P,R,F\n0,0.1,0.1,0.1\n2,0.2,0.3,0.4\n")
    rescaled = load_metric(f"bertscore:{encoder},layer=2,rescale={tmp_path / 'base.csv'}")
    assert rescaled.score(batch) == pytest.approx((plain.score(batch) - 0.4) / 0.6)
    computed = load_metric(f"bertscore:{encoder},layer=2,rescale=corpus:{corpus}").score(batch)
    different = plain.score(batch) < 0.999
    base = (plain.score(batch)[different] - computed[different]) / (1 - computed[different])
    assert base == pytest.approx(base[0]) and -1 < base[0] < 1
    for option, message in (
        ("rescale=absent.csv", "cannot be read"),
        (f"rescale={corpus}", "no row for layer 2"),
        ("idf=absent", "absent: this corpus cannot be read"),
        ("idf=references", "needs a dataset"),
        ("layer=4", "has 3 layers; valid: 0 to 3"),
    ):
        with pytest.raises(InputError, match=message):
            load_metric(f"bertscore:{encoder},{option}" + ("" if "layer" in option else ",layer=2")).score(batch)


NAMES = ["bi-encoder:{}", "pooled:{},pooling=max,layer=1", "bertscore:{}", "bertscore:{},layer=1,output=recall"]


@pytest.mark.parametrize("name", NAMES)
def test_the_batch_does_not_matter(encoder: Path, name: str) -> None:
    """A budget from one token to a million, shuffled, with and without duplicates: the same number.

    To the last digit, but where BERTScore compares the tokens of many pairs at once.
    """
    metric, batch = load_metric(name.format(encoder)), pairs(150)
    expected = metric.score(batch)
    assert len(set(np.round(expected, 6))) > 50
    for tokens in (1, 60, 700, 10**6):
        release_sessions()
        with use_runtime(Runtime(device="cpu", threads=1, tokens=tokens)):
            assert metric.score(batch).tolist() == expected.tolist()
    order = np.random.default_rng(0).permutation(len(batch)).tolist()
    apart = 1e-6 if name.startswith("bertscore") else 0
    assert metric.score(batch.take(order)) == pytest.approx(expected[order], rel=0, abs=apart)
    twice = Batch([*batch.references, *batch.references], [*batch.candidates, *batch.candidates])
    assert metric.score(twice) == pytest.approx(np.tile(expected, 2), rel=0, abs=apart)


@pytest.mark.parametrize("name", [*NAMES, "bertscore:{},engine=bert-score", "bertscore:{},precision=bf16"])
def test_promises(encoder: Path, name: str) -> None:
    pytest.importorskip("bert_score")
    broken = [finding for finding in check_metric(name.format(encoder)) if not finding.passed]
    assert [one for one in broken if "bf16" not in name or one.check not in ("batch and order", "symmetry")] == []


def test_metrics_of_one_model_share_its_passes(encoder: Path) -> None:
    batch = pairs(80)
    metrics = [load_metric(name.format(encoder)) for name in NAMES]
    alone = np.stack([metric.score(batch) for metric in metrics], axis=1)
    release_sessions()
    assert len({metric.needs() for metric in metrics}) == 1
    session = open_session(metrics[0].needs())
    both = session.score(metrics, batch, again={*batch.references, *batch.candidates})
    assert both.values == pytest.approx(alone, abs=1e-6)
    texts = len({*batch.references, *batch.candidates})
    assert session.cost()["texts_embedded"] == texts
    again = session.score(metrics, batch.swapped())
    assert session.cost()["texts_embedded"] == texts, "what was said to come again was kept"
    assert again.values[:, :2] == pytest.approx(alone[:, :2], abs=1e-6)
    session.score(metrics[:1], batch)
    assert session.cost()["texts_embedded"] == 2 * texts, "what was not said to come again was let go"


def test_members_of_a_combination_share_the_passes_of_a_model(encoder: Path) -> None:
    batch = pairs(40)
    golds = [[reference, other] for reference, other in zip(batch.references, batch.references[::-1], strict=True)]
    questions = [f"Question {number}?" for number in range(len(batch))]
    batch = dataclasses.replace(batch, gold_answers=golds, questions=questions)
    names = ["bertscore:{},output=recall", "f1", "bi-encoder:{},question=true", "contains", "bi-encoder:{}"]
    metrics = [load_metric(name.format(encoder)) for name in names]
    alone = []
    for metric in metrics:
        release_sessions()
        alone += best_scores([metric], batch)
    release_sessions()
    together = best_scores(metrics, batch)
    assert np.stack(together) == pytest.approx(np.stack(alone), abs=1e-6)
    texts = len({*batch.references, *batch.candidates})
    asked = {f"{question} {text}" for question, gold in zip(questions, golds, strict=True) for text in gold}
    asked |= {f"{question} {text}" for question, text in zip(questions, batch.candidates, strict=True)}
    embedded = open_session(metrics[0].needs()).cost()["texts_embedded"]
    assert embedded == texts + len(asked), "BERTScore and the bi-encoder without questions read the same texts"


def test_what_was_cut_and_what_is_empty_is_told(encoder: Path) -> None:
    long = "water " * 100
    batch = Batch(["water", long, "", "water"], ["fire", "fire", " ", long])
    for name in ("bi-encoder", "bertscore", "pooled"):
        metric = load_metric(f"{name}:{encoder}")
        found = open_session(metric.needs()).score([metric], batch)
        both = Flag.REFERENCE_EMPTY | Flag.CANDIDATE_EMPTY
        assert found.flags[:, 0].tolist() == [0, Flag.REFERENCE_CUT, both, Flag.CANDIDATE_CUT]
        assert np.isfinite(found.values).all()
    assert load_metric(f"bertscore:{encoder}").score(Batch(["", "a", ""], ["a", "", ""])).tolist() == [0.0, 0.0, 0.0]
    short = load_metric(f"bi-encoder:{encoder},max_length=8")
    assert short.score(Batch([long], ["water " * 6])) == pytest.approx([1.0])


def test_slices_of_a_large_batch_give_the_same(encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.metrics.neural import encoder as module

    metric, batch = load_metric(f"bertscore:{encoder}"), pairs(100)
    expected = metric.score(batch)
    monkeypatch.setattr(module, "CPU_BYTES", 20_000)
    release_sessions()
    session = open_session(metric.needs())
    assert session.score([metric], batch).values[:, 0] == pytest.approx(expected, abs=1e-6)
    assert session.cost()["texts_embedded"] == len({*batch.references, *batch.candidates})


def test_a_full_cache_goes_to_a_file() -> None:
    from assay.metrics.neural.embeddings import EmbeddingCache

    cache = EmbeddingCache(max_bytes=100)
    arrays = {number: np.random.default_rng(number).random((2, number + 1), dtype=np.float32) for number in range(20)}
    for number, array in arrays.items():
        cache.put(number, array)
    assert all(np.array_equal(cache.get(number), array) for number, array in arrays.items())
    cache.drop(range(10))
    assert 3 not in cache and np.array_equal(cache.get(15), arrays[15])
    cache.drop(range(20))
    cache.put(1, arrays[1])
    assert len(cache) == 1
    cache.close()


def test_memory_that_runs_out_halves_the_batch() -> None:
    import torch

    from assay.metrics.neural.tokens import Packed, Packer, Tokens

    inputs = [Tokens([1] * (1 + number % 9)) for number in range(200)]
    seen: list[int] = []

    def step(batch: Packed) -> None:
        if batch.ids.numel() > 50:
            raise torch.OutOfMemoryError
        seen.extend(batch.items.tolist())

    packer = Packer(0, 1000)
    packer.run(inputs, [("cpu", step)])
    assert sorted(seen) == list(range(200)) and packer.halvings and packer.budget <= 62
    with pytest.raises(torch.OutOfMemoryError):
        packer.run([Tokens([1] * 51)], [("cpu", step)])
    seen.clear()
    packer.run(inputs, [("cpu", step), ("cpu", step), ("cpu", step)])
    assert sorted(seen) == list(range(200)), "several workers share the batches"


def test_matching_that_runs_out_of_memory_takes_fewer_pairs(encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from assay.metrics.neural import bertscore as matching

    batch = pairs(60)
    metric = load_metric(f"bertscore:{encoder},layer=2")
    expected = metric.score(batch)
    matched, sizes = matching._precision_and_recall, []

    def small(references: Any, candidates: Any) -> Any:
        if len(references[0]) > 3:
            raise torch.OutOfMemoryError
        sizes.append(len(references[0]))
        return matched(references, candidates)

    monkeypatch.setattr(matching, "_precision_and_recall", small)
    assert metric.score(batch) == pytest.approx(expected, abs=1e-6)
    assert max(sizes) <= 3 and sum(sizes) == len(batch)


def test_signature(encoder: Path) -> None:
    signature = load_metric(f"bertscore:{encoder}").signature()
    assert {
        "subject": "encoder",
        "layer": "3",
        "precision": "fp32",
        "max_length": "64",
        "backend": "torch",
    }.items() <= (signature.items())
    assert len(signature["digest"]) == 16 and {"torch", "transformers", "sentence-transformers"} <= set(signature)
    prefixed = load_metric(f"bi-encoder:{encoder},prompt=e5").signature()
    assert (prefixed["before"], prefixed["pooling"]) == ("query: ", "mean")


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("pooled", InputError, "needs a model: write pooled:MODEL"),
        ("bi-encoder:absent", InputError, "there is no such folder"),
        ("bi-encoder:{},prompt=x", InputError, "no prompt 'x'. Valid: .*e5"),
        ("bi-encoder:{},prompt=e5,prefix=x", InputError, "two names of one thing"),
        ("bi-encoder:{},precision=fp16", InputError, "fp16 is for a GPU"),
        ("bi-encoder:{},precision=int8", InputError, "needs backend"),
        ("cross-encoder:{}", UnavailableError, "scores no pairs"),
        ("bi-encoder:me/absent", UnavailableError, "assay models fetch me/absent"),
    ],
)
def test_what_cannot_be(encoder: Path, name: str, error: type, message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        load_metric(name.format(encoder)).score(pairs(2))
    assert "\n" not in str(caught.value)


def test_devices() -> None:
    import torch

    from assay.metrics.neural.runtime import devices_of

    for device in ("gpu", "cuda:x", "cpu:1", "all:2"):
        with pytest.raises(InputError, match="must be auto, cpu, cuda"):
            Runtime(device=device)
    if not torch.cuda.is_available():
        for device in ("cuda", "cuda:1", "all"):
            with pytest.raises(InputError, match=f"device={device}: this machine has none"):
                devices_of(Runtime(device=device))
    with pytest.raises(InputError, match="threads=0:"):
        Runtime(threads=0)


def test_a_metric_is_a_value(encoder: Path) -> None:
    metric = load_metric(f"bertscore:{encoder},layer=1")
    assert metric == dataclasses.replace(load_metric(f"bertscore:{encoder}"), layer=1)
    assert load_metric(str(metric)) == metric
