"""A judge in this process against a loop of ``generate``, pair by pair: the same weights, prompts and verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.datasets import load_dataset
from assay.metrics import Batch, load_metric
from tests.performance.ratio import medians

torch = pytest.importorskip("torch", reason="torch is absent: pip install assay[neural]")
transformers = pytest.importorskip("transformers", reason="transformers is absent: pip install assay[neural]")

from assay.metrics.neural.runtime import Runtime, use_runtime  # noqa: E402
from assay.metrics.work import open_session, release_sessions  # noqa: E402

#: Pairs: five questions, each with the answers of five systems.
PAIRS = 25


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)
    with use_runtime(Runtime(device="cpu", threads=1)):
        yield
    release_sessions()


def test_judge(real_models: Any, shared_data: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    folder = real_models / "smollm2"
    table = load_dataset("evouna-tq:all").table.slice(0, PAIRS)
    golds = table.column("reference").to_pylist()
    columns = [table.column(name).to_pylist() for name in ("candidate", "question")]
    batch = Batch([several[0] for several in golds], *columns, gold_answers=golds)
    first: Any = load_metric(f"judge:{folder},prompt=correctness,verdict=probability")
    text: Any = load_metric(f"judge:{folder},prompt=correctness,verdict=text")
    session: Any = open_session(first.needs())
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    most = first.loaded_prompt.reply_tokens
    said: dict[str, list[Any]] = {}
    yes: list[float | None] = []

    def loop() -> None:
        said["loop"] = []
        yes.clear()
        for (conversation,) in first.conversations(batch):
            messages = [{"role": message.role, "content": message.content} for message in conversation]
            inputs = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt")
            output = model.generate(
                **inputs, max_new_tokens=most, do_sample=False, output_logits=True, return_dict_in_generate=True
            )
            reply = output.sequences[0, inputs["input_ids"].shape[1] :]
            said["loop"].append(tokenizer.decode(reply, skip_special_tokens=True))
            probabilities = output.logits[0][0].softmax(-1)
            found = {piece: float(probabilities[number]) for number, piece in verdict_tokens}
            yes.append(first.scale_used.expected_score(found))

    def probability() -> None:
        said["scores"] = session.score([first], batch).values[:, 0].tolist()

    def written() -> None:
        said["text"] = [orders[0][0].text for orders in session.replies(text, batch)]

    pieces = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    verdict_tokens = [
        (number, piece) for number, piece in enumerate(pieces) if first.scale_used.verdict_begun_by(piece)
    ]
    before = session.cost()
    times = medians({"loop": loop, "probability": probability, "text": written}, rounds=3)
    after = session.cost()
    saved = (after["tokens_in"] - before["tokens_in"]) / (after["tokens"] - before["tokens"])
    with capsys.disabled():
        print(f"\nevouna-tq, judge smollm2, {PAIRS} pairs: a loop of generate {times['loop']:.1f} s")
        for way in ("probability", "text"):
            print(f"  {way}: {times['loop'] / times[way]:.2f} x")
        print(f"  one token is computed for {saved:.2f} of prompts")
    assert said["text"] == said["loop"]
    assert said["scores"] == pytest.approx(np.array(yes), abs=1e-3)
    assert saved > 2
    assert times["loop"] / times["probability"] >= 3
    assert times["loop"] / times["text"] >= 2.5
