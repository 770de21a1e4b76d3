"""Judges in this process: the probabilities and the replies of transformers, whatever shares a row or a batch."""

from __future__ import annotations

import json
import math
import pickle
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import assay
from assay.exceptions import UnavailableError
from assay.metrics import Batch, Metric, check_metric, load_metric
from assay.metrics.judge.replies import Reply
from assay.metrics.judge.verdicts import MIN_MASS
from assay.metrics.neural.causal import CausalSession
from assay.metrics.neural.runtime import Runtime, use_runtime
from assay.metrics.scores import Flag
from assay.metrics.work import open_session, release_sessions
from tests.metrics.models.tiny import CHAT_TEMPLATE, WORDS, make_causal, tiny_causal_sizes


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A language model whose first token is a verdict more often than not."""
    return make_causal(tmp_path_factory.mktemp("models") / "judge")


@pytest.fixture(scope="module")
def firm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A language model whose first token is a verdict with nearly all its probability: every pair has a score."""
    return make_causal(tmp_path_factory.mktemp("models") / "firm", spread=0.1)


@pytest.fixture(scope="module")
def rambler(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A language model whose replies often begin with something else."""
    return make_causal(tmp_path_factory.mktemp("models") / "rambler", spread=0.5)


def answers(n: int, systems: int = 5, longest: int = 12) -> Batch:
    """Return answers of several systems to questions, those to one question far apart."""
    generator = random.Random(0)

    def text() -> str:
        return " ".join(generator.choices(WORDS, k=generator.randint(1, longest)))

    questions = [(f"who was {text()}", text()) for _ in range(-(-n // systems))]
    rows = [(*questions[row % len(questions)], text()) for row in range(n)]
    return Batch([gold for _, gold, _ in rows], [given for *_, given in rows], [question for question, *_ in rows])


def session_of(metric: Metric) -> CausalSession:
    session = open_session(metric.needs())
    assert isinstance(session, CausalSession)
    return session


def replies_of(name: str, batch: Batch) -> list[Reply]:
    """Return the reply to each pair of a judge that asks once."""
    metric: Any = load_metric(name)
    return [orders[0][0] for orders in session_of(metric).replies(metric, batch)]


def prompts_of(name: str, batch: Batch) -> list[torch.Tensor]:
    """Return what transformers makes of the conversations, (1, l) each."""
    from transformers import AutoTokenizer

    metric: Any = load_metric(name)
    tokenizer = AutoTokenizer.from_pretrained(metric.subject)
    prompts = []
    for (conversation,) in metric.conversations(batch):
        messages = [{"role": message.role, "content": message.content} for message in conversation]
        found = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt")
        prompts.append(found["input_ids"])
    return prompts


def first_by_transformers(folder: Path, prompts: list[torch.Tensor], scale: dict[str, float]) -> list[Reply]:
    """Return what the first token says by transformers' own pass over each prompt alone."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    found = []
    for prompt in prompts:
        with torch.inference_mode():
            probabilities = model(prompt).logits[0, -1].softmax(-1)
        first = {}
        for word in scale:
            first[word] = float(probabilities[tokenizer.convert_tokens_to_ids(word)])
        found.append(Reply(tokenizer.decode([int(probabilities.argmax())]), first))
    return found


def written_by_transformers(folder: Path, prompts: list[torch.Tensor], most: int = 16) -> list[str]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    texts = []
    for prompt in prompts:
        output = model.generate(
            prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=most, do_sample=False, pad_token_id=0
        )
        texts.append(tokenizer.decode(output[0, prompt.shape[1] :], skip_special_tokens=True))
    return texts


@pytest.mark.slow
@pytest.mark.parametrize("prompt", ["correctness", "equivalence", "grade-1-5", "similarity"])
def test_the_first_token_is_that_of_transformers(judge: Path, prompt: str) -> None:
    name, batch = f"judge:{judge},prompt={prompt},verdict=probability", answers(20)
    values = load_metric(name).scale_used.values
    expected = first_by_transformers(judge, prompts_of(name, batch), values)
    got = replies_of(name, batch)
    for reply, theirs in zip(got, expected, strict=True):
        assert reply.text == theirs.text
        for word, probability in theirs.first.items():
            assert reply.first[word] == pytest.approx(probability, abs=1e-5)
    scores = load_metric(name).score(batch)
    if prompt in ("correctness", "equivalence"):
        masses = [reply.first["yes"] + reply.first["y"] + reply.first["no"] + reply.first["n"] for reply in got]
        right = [
            # a first token that is no verdict, or verdicts that are unlikely, have no score
            (reply.first["yes"] + reply.first["y"]) / mass
            if mass >= MIN_MASS and reply.text in reply.first
            else math.nan
            for reply, mass in zip(got, masses, strict=True)
        ]
        assert scores == pytest.approx(right, nan_ok=True) and np.nanmax(scores) - np.nanmin(scores) > 0.05


@pytest.mark.slow
def test_replies_are_those_of_transformers(rambler: Path) -> None:
    name, batch = f"judge:{rambler},verdict=text", answers(30)
    expected = written_by_transformers(rambler, prompts_of(name, batch))
    assert len(set(expected)) > 10
    got = replies_of(name, batch)
    assert [reply.text for reply in got] == expected
    for reply, prompt in zip(got, prompts_of(name, batch), strict=True):
        assert reply.tokens_in == prompt.shape[1] and reply.tokens_out >= 1


@pytest.mark.slow
def test_what_prompts_share_is_computed_once(judge: Path) -> None:
    """With the same scores as a row for each, of questions whose answers are far apart, and of both orders."""
    batch = answers(60)
    for name in (f"judge:{judge},prompt=correctness", f"judge:{judge},order=mean"):
        metric = load_metric(name)
        session = session_of(metric)
        assert session._bodies[0].can_share_rows
        together = metric.score(batch)
        shared = session.cost()["tokens"]
        session._bodies[0].can_share_rows = False
        alone = metric.score(batch)
        computed = session.cost()["tokens"] - shared
        release_sessions()
        assert together == pytest.approx(alone, abs=1e-5, nan_ok=True)
        assert computed > 2 * shared


@pytest.mark.slow
def test_the_batch_does_not_matter(rambler: Path) -> None:
    batch = answers(20)
    order = random.Random(1).sample(range(20), 20)
    for name in (
        f"judge:{rambler}",
        f"judge:{rambler},verdict=text,reply_tokens=1",
        f"judge:{rambler},temperature=1,samples=2",
    ):
        metric = load_metric(name)
        expected = metric.score(batch)
        assert 0 < np.isfinite(expected).sum() < 20
        for tokens in (1, 10**6):
            release_sessions()
            with use_runtime(Runtime(device="cpu", threads=1, tokens=tokens)):
                assert metric.score(batch) == pytest.approx(expected, abs=1e-5, nan_ok=True)
        assert metric.score(batch.take(order)) == pytest.approx(expected[order], abs=1e-5, nan_ok=True)
        alone = np.concatenate([metric.score(batch.take([row])) for row in range(5)])
        assert alone == pytest.approx(expected[:5], abs=1e-5, nan_ok=True)


@pytest.mark.slow
def test_a_batch_that_does_not_fit_is_halved(judge: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metric, batch = load_metric(f"judge:{judge}"), answers(40)
    expected = metric.score(batch)
    release_sessions()
    with use_runtime(Runtime(device="cpu", threads=1, tokens=10**6)):
        session = session_of(metric)
        whole = session._bodies[0].next_logits

        def cramped(packed: Any, *others: Any) -> Any:
            if len(packed.items) > 2:
                raise torch.OutOfMemoryError
            return whole(packed, *others)

        monkeypatch.setattr(session._bodies[0], "next_logits", cramped)
        assert metric.score(batch) == pytest.approx(expected, abs=1e-5, nan_ok=True)
        assert session.cost()["batches_halved"] > 0


def family(kind: str) -> Any:
    """Return the configuration of a model of another family, some of which cannot share a row."""
    import transformers

    sizes = tiny_causal_sizes()
    if kind == "alibi":
        return transformers.BloomConfig(
            vocab_size=sizes["vocab_size"], hidden_size=32, n_layer=2, n_head=4, initializer_range=0.5
        )
    if kind == "window":
        return transformers.MistralConfig(**sizes, num_key_value_heads=2, sliding_window=40)
    if kind == "state":
        return transformers.MambaConfig(
            vocab_size=sizes["vocab_size"], hidden_size=32, num_hidden_layers=2, state_size=8, initializer_range=0.5
        )
    if kind == "learned":
        return transformers.GPT2Config(
            vocab_size=sizes["vocab_size"], n_embd=32, n_layer=2, n_head=4, n_positions=512, initializer_range=0.5
        )
    return transformers.Gemma2Config(**sizes, head_dim=8, num_key_value_heads=2, sliding_window=4096)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["alibi", "window", "state", "learned", "softcap"])
def test_every_family_gives_what_it_gives_alone(kind: str, tmp_path: Path) -> None:
    """Those whose layers know distances only by place, look back a little, or pass a state on, too."""
    folder = make_causal(tmp_path / kind, family(kind), verdicts=())
    name, batch = f"judge:{folder},verdict=probability", answers(12)
    prompts = prompts_of(name, batch)
    for reply, theirs in zip(
        replies_of(name, batch), first_by_transformers(folder, prompts, {"yes": 1, "no": 0}), strict=True
    ):
        assert reply.text == theirs.text
        for word, probability in theirs.first.items():
            assert reply.first[word] == pytest.approx(probability, rel=1e-3, abs=1e-7)
    texts = [reply.text for reply in replies_of(f"judge:{folder},verdict=text", batch)]
    assert texts == written_by_transformers(folder, prompts)


@pytest.mark.slow
def test_a_first_token_without_verdict_lets_the_text_decide(rambler: Path) -> None:
    batch = answers(60)
    first = replies_of(f"judge:{rambler},verdict=probability", batch)
    written = replies_of(f"judge:{rambler},verdict=text", batch)
    both = replies_of(f"judge:{rambler}", batch)
    metric: Any = load_metric(f"judge:{rambler}")
    unclear = [row for row, reply in enumerate(first) if metric.scale_used.expected_score(reply.first) is None]
    assert 0 < len(unclear) < 60
    for row, reply in enumerate(both):
        assert reply.text == (written[row].text if row in unclear else first[row].text)
    scores = session_of(metric).score([metric], batch)
    missing = np.isnan(scores.values[:, 0])
    without = Flag.NO_VERDICT | Flag.CUT_OFF
    assert 0 < missing.sum() <= len(unclear)
    assert (scores.flags[missing, 0] & without > 0).all()
    assert not (scores.flags[~missing, 0] & without).any()


@pytest.mark.slow
def test_explain_shows_the_first_token(judge: Path) -> None:
    metric = f"judge:{judge}"
    (reply,) = replies_of(metric, Batch(["a king"], ["a queen"]))
    (explained,) = assay.explain("a king", "a queen", metric=metric).explanations
    (shown,) = explained["replies"]
    assert shown["reply"] == reply.text
    assert shown["probabilities"]["yes"] == pytest.approx(reply.first["yes"] + reply.first["y"])


@pytest.mark.slow
def test_both_orders_and_how_far_they_lie_apart(firm: Path) -> None:
    batch = answers(20)
    both, one_way = load_metric(f"judge:{firm},order=mean"), load_metric(f"judge:{firm}")
    found = session_of(both).score([both, one_way], batch)
    forward, backward = one_way.score(batch), one_way.score(batch.swapped())
    assert found.values[:, 0] == pytest.approx((forward + backward) / 2, abs=1e-5)
    assert found.values[:, 1] == pytest.approx(forward, abs=1e-5)
    assert found.asymmetry is not None and np.isnan(found.asymmetry[:, 1]).all()
    assert found.asymmetry[:, 0] == pytest.approx(np.abs(forward - backward), abs=1e-5)
    assert np.abs(forward - backward).max() > 0.01


@pytest.mark.slow
def test_samples_are_drawn_by_the_seed(rambler: Path) -> None:
    batch = answers(10)
    name = f"judge:{rambler},verdict=text,temperature=1,samples=3"
    metric: Any = load_metric(name)
    replies = [orders[0] for orders in session_of(metric).replies(metric, batch)]
    assert all(len(samples) == 3 for samples in replies)
    assert sum(len({reply.text for reply in samples}) > 1 for samples in replies) > 7
    again = [orders[0] for orders in session_of(metric).replies(metric, batch)]
    assert again == replies
    other: Any = load_metric(f"{name},seed=1")
    assert [orders[0] for orders in session_of(other).replies(other, batch)] != replies
    unseeded: Any = load_metric(f"{name},seed=none")
    twice = [session_of(unseeded).replies(unseeded, batch) for _ in range(2)]
    assert twice[0] != twice[1]


@pytest.mark.slow
def test_samples_follow_the_probabilities(judge: Path, tmp_path: Path) -> None:
    """The first token of many samples against the probabilities of the first pass."""
    prompt = tmp_path / "short.toml"
    prompt.write_text('user = "{{ reference }} {{ candidate }}"\nreply_tokens = 1\n')
    batch = answers(4)
    first = replies_of(f"judge:{judge},prompt={prompt},verdict=probability", batch)
    metric: Any = load_metric(f"judge:{judge},prompt={prompt},verdict=text,temperature=1,samples=100")
    for reply, orders in zip(first, session_of(metric).replies(metric, batch), strict=True):
        share = np.mean([sample.text == "no" for sample in orders[0]])
        expected = reply.first["no"]
        assert abs(share - expected) < 4 * (expected * (1 - expected) / 100) ** 0.5, "four standard errors"


@pytest.mark.slow
def test_too_long_is_a_flag_and_no_score(tmp_path: Path) -> None:
    folder = make_causal(tmp_path / "short", max_length=150, spread=0.1)
    metric: Any = load_metric(f"judge:{folder}")
    batch = Batch(["a king", "a king"], ["a queen", " ".join(["queen"] * 100)], ["who", "who"])
    prompts = prompts_of(f"judge:{folder}", batch)
    assert prompts[0].shape[1] < 130 and prompts[1].shape[1] > 150
    scores = session_of(metric).score([metric], batch)
    assert np.isfinite(scores.values[0, 0]) and np.isnan(scores.values[1, 0])
    assert scores.flags[1, 0] == Flag.TOO_LONG
    cut: Any = load_metric(f"judge:{folder},cut=30")
    scores = session_of(cut).score([cut], batch)
    assert np.isfinite(scores.values).all() and scores.flags[1, 0] == Flag.CANDIDATE_CUT


@pytest.mark.slow
@pytest.mark.parametrize("options", ["", ",order=mean", ",prompt=correctness"])
def test_promises(firm: Path, options: str) -> None:
    assert [one for one in check_metric(f"judge:{firm}{options}") if not one.passed] == []


@pytest.mark.slow
def test_a_run_keeps_scores_and_says_what_went_through(firm: Path) -> None:
    batch = answers(20)
    rows = [
        {"reference": reference, "candidate": candidate, "question": question, "label": row % 2}
        for row, ((reference, candidate), question) in enumerate(zip(batch.pairs(), batch.questions or (), strict=True))
    ]
    first, second = (assay.run(rows, [f"judge:{firm}"], resamples=0, device="cpu", threads=1) for _ in range(2))
    details = first.outcome.metrics[0].cost.details
    assert details["tokens_in"] == sum(prompt.shape[1] for prompt in prompts_of(f"judge:{firm}", batch))
    assert details["tokens_out"] == details["texts_embedded"] == 20
    assert details["tokens"] < details["tokens_in"]
    assert first.outcome.metrics[0].cost.price_per_1000 == 0.0
    assert (second.outcome.metrics[0].scored, second.outcome.metrics[0].stored) == (0, 20)


def test_the_engine_goes_through_a_pickle(judge: Path) -> None:
    engine = load_metric(f"judge:{judge}").needs()
    assert pickle.loads(pickle.dumps(engine)) == engine


@pytest.mark.slow
@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device")
def test_a_gpu_gives_the_scores_of_a_cpu(judge: Path) -> None:
    metric, batch = load_metric(f"judge:{judge},precision=fp32"), answers(50)
    expected = metric.score(batch)
    with use_runtime(Runtime(device="cuda")):
        assert metric.score(batch) == pytest.approx(expected, abs=1e-3)


@pytest.mark.slow
def test_models_that_write_no_text(encoder: Path, judge: Path, tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="is a BertModel, which writes no text"):
        load_metric(f"judge:{encoder}").score(answers(1))
    from safetensors.torch import load_file, save_file

    headless = tmp_path / "headless"
    shutil.copytree(judge, headless)
    weights = load_file(headless / "model.safetensors")
    del weights["lm_head.weight"]
    save_file(weights, headless / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UnavailableError, match=r"lacks 1 weights of its architecture \(lm_head.weight\)"):
        load_metric(f"judge:{headless}").score(answers(1))


def test_another_template_is_another_model(judge: Path, tmp_path: Path) -> None:
    """It stands in a file of its own, and decides the scores."""
    other = tmp_path / "other"
    shutil.copytree(judge, other)
    file = other / "chat_template.jinja"
    file.write_text(file.read_text().replace("<|assistant|>", "<|assistant|>\nyes"))
    before, after = (load_metric(f"judge:{folder}").signature()["digest"] for folder in (judge, other))
    assert before != after
    assert json.loads((other / "config.json").read_text())["model_type"] == "llama"


@pytest.mark.slow
def test_a_template_that_opens_a_block_of_reasoning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its first token is one of the reasoning, though it leans to verdicts; only what follows the block is read."""
    folder = make_causal(
        tmp_path / "thinker", template=CHAT_TEMPLATE + "{% if add_generation_prompt %}<think>\n{% endif %}"
    )
    batch = answers(6)
    metric: Any = load_metric(f"judge:{folder}")
    session = session_of(metric)
    replies = [orders[0][0] for orders in session.replies(metric, batch)]
    for reply in replies:
        assert reply.text.startswith("<think>") and not reply.first and reply.is_cut
        # all the room that the model's 512 positions leave
        assert reply.tokens_out > 100
    scores = metric.scores_of(batch, session.replies(metric, batch), 0.0)
    assert np.isnan(scores.values).all() and (scores.flags & Flag.CUT_OFF == Flag.CUT_OFF).all()
    monkeypatch.setattr(
        session._tokenizer, "batch_decode", lambda tokens, **_: ["Verdict: no?\n</think>\n\nYes"] * len(tokens)
    )
    (reply, *_) = [orders[0][0] for orders in session.replies(metric, batch)]
    assert metric.read(reply) == (1, "begins the reply", "yes")
    limited = load_metric(f"judge:{folder},reply_tokens=20")
    monkeypatch.undo()
    assert {orders[0][0].tokens_out for orders in session.replies(limited, batch)} == {20}  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("verdict", ["auto", "probability"])
def test_after_reasoning_the_first_token_of_the_answer_counts(
    judge: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verdict: str
) -> None:
    """The verdict is weighted as by transformers' own pass over the prompt and the reasoning."""
    folder = make_causal(
        tmp_path / "thinker", template=CHAT_TEMPLATE + "{% if add_generation_prompt %}<think>\n{% endif %}"
    )
    name, batch = f"judge:{folder},verdict={verdict}", answers(4)
    metric: Any = load_metric(name)
    session = session_of(metric)
    tokenizer = session._tokenizer
    # "house" ends the reasoning, and "<|assistant|>" leans to verdicts
    thought = tokenizer.convert_tokens_to_ids(["no", "no", "house", "<|assistant|>"])
    reply = [*thought, *tokenizer.convert_tokens_to_ids(["yes", "<|end|>"])]
    decode = tokenizer.batch_decode
    monkeypatch.setattr(session, "_generate_replies", lambda judge, prompts, most: {key: [reply] for key in prompts})
    monkeypatch.setattr(
        tokenizer, "batch_decode", lambda *a, **k: [text.replace("house", "</think>") for text in decode(*a, **k)]
    )
    replies = [orders[0][0] for orders in session.replies(metric, batch)]
    contexts = [torch.cat([prompt, torch.tensor([thought])], dim=1) for prompt in prompts_of(name, batch)]
    expected = first_by_transformers(folder, contexts, metric.scale_used.values)
    for reply_read, told in zip(replies, expected, strict=True):
        assert reply_read.token == "yes"
        assert {word: reply_read.first[word] for word in told.first} == pytest.approx(dict(told.first), abs=1e-5)
        score = metric.scale_used.expected_score(reply_read.first)
        assert metric.read(reply_read) == (score, "probabilities of the first token", None)
