"""A server that repeats the key in an answer: nothing that is kept or shown has it, and the reply is used."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path

import pytest

import assay
from assay.metrics.judge.secret import MARK, HiddenKey
from tests.judge_server import serve_raw
from tests.metrics.judge import repeating
from tests.metrics.judge.questions import judge_at, write_pairs

pytest.importorskip("openai", reason="openai is not installed")


@pytest.mark.parametrize("form", repeating.FORMS)
def test_each_encoding_in_each_place(form):
    """Each encoding under each escape, in each place of a body, and in the tokens piece by piece."""
    hidden = HiddenKey(repeating.KEY)
    for escape in repeating.ESCAPES.values():
        text = escape(repeating.FORMS[form](repeating.KEY))
        assert not repeating.traces_in(hidden.hide(text)), text
        for place in repeating.PLACES:
            body = repeating.completion()
            repeating.put(body, place, text)
            shown = hidden.hide_body(json.dumps(body).encode()).decode()
            assert not repeating.traces_in(shown) and MARK in shown, (place, text)
    body = repeating.completion()
    tokens = body["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
    text = repeating.FORMS[form](repeating.KEY)
    size = -(-len(text) // len(tokens))
    for number, token in enumerate(tokens):
        token["token"] = text[number * size : (number + 1) * size]
    choice = json.loads(hidden.hide_body(json.dumps(body).encode()))["choices"][0]
    (position,) = choice["logprobs"]["content"]
    assert not repeating.traces_in("".join(token["token"] for token in position["top_logprobs"]))


@pytest.mark.parametrize(
    "key", ["none", "", "EMPTY", "secret", "correct-horse-battery-staple", "12345678", "----------"]
)
def test_usual_texts_are_left_alone(key):
    texts = (
        "yes",
        "no",
        "Yes.",
        '{"verdict": "yes"}',
        "The answer is correct, 100 %: a=b & c",
        "gpt-4o-mini-2024",
        "fp_0a1b2c",
    )
    hidden = HiddenKey(key)
    assert [hidden.hide(text) for text in texts] == list(texts)
    body = json.dumps(repeating.completion()).encode()
    assert json.loads(hidden.hide_body(body)) == json.loads(body) and hidden.repeats == 0


@pytest.mark.parametrize("key", ["hunter2", "abc-def", "päss wörd", "k/+=&%20x", "----------", "A1" * 100])
def test_keys_of_other_kinds_are_hidden(key):
    hidden = HiddenKey(key)
    assert hidden.hide(f"yes {key} no") == f"yes {MARK} no"
    assert key.upper() not in hidden.hide_body(json.dumps({"a": [key.upper()], key: 1}).encode()).decode()


@pytest.mark.parametrize(
    ("escaped", "shown"),
    [
        (r"\ud83d\ude00", "😀"),
        (r"\ud83d", "\ufffd"),
        (r"\ude00 cut", "\ufffd cut"),
        (r"\u{1f600}", "😀"),
        (r"\u00e9", "é"),
    ],
)
def test_the_rest_of_a_cut_body_stays_readable(escaped, shown):
    """A body that is no JSON, such as the beginning of an error: a character may be written as two escapes."""
    hidden = HiddenKey("sk-abcdef1234567890")
    body = f'{{"error": "Incorrect key sk-abcdef1234567890 {escaped}'.encode()
    assert hidden.hide_body(body).decode() == f'{{"error": "Incorrect key {MARK} {shown}'


@pytest.mark.slow
def test_a_run_and_its_page(tmp_path, monkeypatch, capsys):
    """The verdicts of replies with the key are used; no file of the run, of the cache, and no line has the key."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", repeating.KEY)
    dice = random.Random(5)

    async def answer(writer: asyncio.StreamWriter) -> None:
        body = repeating.completion()
        body["choices"][0]["message"]["content"] = f"maybe {repeating.hidden_key(dice)}"
        body["choices"][0]["logprobs"] = None
        body["system_fingerprint"], body["model"] = repeating.KEY, f"m {repeating.KEY}"
        if dice.random() < 0.5:
            body["choices"][0]["message"]["content"] = f"yes {repeating.KEY}"
        content = json.dumps(body).encode()
        writer.write(
            f"HTTP/1.1 200 OK\r\nX-Key: {repeating.KEY}\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content
        )
        await writer.drain()

    pairs = write_pairs(tmp_path / "pairs.csv", 20)
    with serve_raw(answer) as url:
        result = assay.run(pairs, [judge_at(url, verdict="text"), "f1"], resamples=0, out=tmp_path / "out")
    assert result.scores["score"].notna().sum() > 22
    print(result.to_markdown(), result.failures)
    assert "the server repeated the key in" in result.to_markdown()
    kept = [capsys.readouterr().out, repeating.cells_of(tmp_path / "cache" / "replies.sqlite")]
    for path in (path for path in Path(tmp_path).rglob("*") if path.is_file()):
        kept.append(path.read_bytes().decode("latin-1"))
    for text in kept:
        assert repeating.traces_in(text) == []
