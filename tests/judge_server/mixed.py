"""A stand-in that answers each pair in a way of its own: as the many servers and models do, rightly or not at all.

Its verdict is always right, *yes* if the city of the gold answer is that of the answer to grade. The way is drawn by a
digest of the last message. Ways without a verdict say so; none may become a score.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.judge_server import listening
from tests.judge_server.protocol import Behaviour, RefusalError, last_message
from tests.judge_server.server import Call, Server

Tops = list[tuple[str, float | None]]


def words(right: bool) -> tuple[str, str]:
    """Return the right verdict and the other one."""
    return ("yes", "no") if right else ("no", "yes")


def message(content: str | None, tops: Tops = (), finish: str = "stop", **fields: Any) -> dict[str, Any]:  # type: ignore[assignment]
    """Return a choice with a text and, for its first token, the most probable ones."""
    choice: dict[str, Any] = {"index": 0, "message": {"role": "assistant", "content": content, **fields}}
    if tops:
        entries = [{"token": token, "logprob": logprob} for token, logprob in tops]
        position = {**entries[0], "top_logprobs": entries}
        choice["logprobs"] = {"content": [position]}
    return choice | {"finish_reason": finish}


def log(probability: float) -> float:
    """Return the logarithm of a probability, −∞ of 0."""
    return math.log(probability) if probability else -math.inf


#: Ways that state the right verdict.
STATED: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "one word": lambda it, other: message(it.title(), [(it.title(), log(0.9)), (other.title(), log(0.08))]),
    "equal tokens": lambda it, other: message(it, [(it, log(0.5)), (other, log(0.3)), (it, log(0.2))]),
    "no probability": lambda it, other: message(it, [(it, log(0.9)), (other, None), ("x", -math.inf)]),
    "verdicts unlikely": lambda it, other: message(it, [(it, log(0.1)), ("The", log(0.6)), (other, log(0.2))]),
    "emphasis": lambda it, other: message(f"**{it.title()}**", [("**", log(0.9)), (other, log(0.1))]),
    "a determiner": lambda it, other: message(
        f"No fact is missing or added here.\n\nVerdict: {it}", [("No", log(0.95)), ("Yes", log(0.05))]
    ),
    "a list": lambda it, other: message(f"1. The gold answer names a city.\n2. So does the answer.\n\nVerdict: {it}"),
    "a thought": lambda it, other: message(f"<think>\nVerdict: {other}? No, wait.\n</think>\n\n{it.title()}."),
    "a thought without a beginning": lambda it, other: message(f"Okay. Answer: {other}?\n</think>\n\n{it}"),
    "harmony": lambda it, other: message(
        f"<|channel|>analysis<|message|>Answer: {other}<|end|><|start|>assistant<|channel|>final<|message|>{it}"
    ),
    "harmony without marks": lambda it, other: message(f"analysisWe need yes or no. {other}.assistantfinal{it}"),
    "reasoning apart": lambda it, other: message(
        it, [(other, log(0.9)), ("Okay", log(0.1))], reasoning_content=f"{other} problem with this"
    ),
    "reasoning beside": lambda it, other: message(it, [("<think>", log(0.99))], reasoning=f"Verdict: {other}"),
    "parts": lambda it, other: message(
        [{"type": "thinking", "thinking": [{"text": other}]}, {"type": "text", "text": it}]  # type: ignore[arg-type]
    ),
    "json": lambda it, other: message(json.dumps({"reasoning": f"Verdict: {other} at first", "verdict": it})),
    "fenced json": lambda it, other: message(f'```json\n{{"verdict": "{it.upper()}."}}\n```'),
    "the scale": lambda it, other: message(f"Yes/No: {it}"),
    "conclusion": lambda it, other: message(f"They name {'one city' if it == 'yes' else 'two cities'}, so {it}."),
    "boxed": lambda it, other: message(f"Thus $\\boxed{{\\text{{{it}}}}}$."),
    "a thought of Gemma": lambda it, other: message(f"<|channel>thought\nVerdict: {other}<channel|>{it.title()}."),
    "a thought in details": lambda it, other: message(
        it, reasoning_details=[{"type": "reasoning.text", "text": other}]
    ),
    "a ticked box": lambda it, other: message(f"[ ] {other}\n[x] {it}"),
    "no JSON quite": lambda it, other: message(f'```json\n{{"reason": "{other}?", "verdict": "{it}",}}\n```'),
    "changed": lambda it, other: message(f"Verdict: {other}\nWait.\nVerdict: {it}"),
}
#: Ways without a verdict.
SILENT: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "cut thought": lambda it, other: message(f"<think>\nOkay, is it {other}? Verdict: {other}", finish="length"),
    "cut": lambda it, other: message(f"Let me see. It might be {other}", finish="length"),
    "all thought": lambda it, other: message(None, finish="length", reasoning_content=f"Verdict: {other}"),
    "no conclusion": lambda it, other: message("It could be yes or no."),
    "contradiction": lambda it, other: message(f"{other.title()} question about it: {it}."),
    "no message": lambda it, other: {"index": 0, "finish_reason": "MAX_TOKENS"},
    "criteria": lambda it, other: message(f"Same town: {it}\nSame year: {other}"),
    "next example": lambda it, other: message(f"{it.title()}\n\nQuestion: Is it?\nVerdict: {other}"),
    "foreign": lambda it, other: message("Peut-être.", [("Peut", log(0.9)), (other, log(0.1))]),
    "refusal": lambda it, other: message(None, refusal="I can't help with that."),
    "filter": lambda it, other: message("", finish="content_filter"),
}
#: Errors: in an answer with status 200, or with an error status.
FAILING: dict[str, dict[str, Any]] = {
    "error in 200": {"error": {"message": "Provider returned error", "code": 502}},
    "error of a worker": {"object": "error", "message": "NETWORK ERROR DUE TO HIGH TRAFFIC", "code": 50001},
    "error in a choice": {"choices": [{"index": 0, "finish_reason": "error", "message": {"role": "assistant"},
                                       "error": {"message": "upstream went away", "code": 502}}]},
}  # fmt: skip
WAYS = (*STATED, *SILENT, *FAILING)


class MixedServer(Server):
    """The stand-in; *refused* has what it refuses, by a name in the request: the status and the words."""

    def __init__(self, refused: dict[str, tuple[int, str]]) -> None:
        super().__init__(Behaviour())
        self.refused = refused
        #: The status and the words of the refusal of messages that contain a text, by the text.
        self.refused_texts: dict[str, tuple[int, str]] = {}
        #: The requests.
        self.asked: list[dict[str, Any]] = []
        #: The way of each message that was answered.
        self.ways: dict[str, str] = {}

    def _reply(self, call: Call, body: bytes, fault: str) -> dict[str, Any]:
        asked = json.loads(body)
        self.asked.append(asked)
        call.text = text = last_message(asked)
        names = {*asked, *(f"role {one['role']}" for one in asked["messages"])}
        for name, (status, reason) in self.refused.items():
            if name in names:
                raise RefusalError(status, reason)
        for part, (status, reason) in self.refused_texts.items():
            if part in text:
                raise RefusalError(status, reason)
        way = self.ways[text] = WAYS[int(hashlib.sha256(text.encode()).hexdigest(), 16) % len(WAYS)]
        if way in FAILING:
            return FAILING[way]
        choice = (STATED | SILENT)[way](*words(is_right(text)))
        if not asked.get("logprobs"):
            choice.pop("logprobs", None)
        usage = {"prompt_tokens": len(text) // 4, "completion_tokens": 5}
        return {"model": "stand-in", "choices": [choice], "usage": usage}

    @property
    def counts(self) -> Counter[str]:
        """How many messages were answered in each way."""
        return Counter(self.ways.values())


def is_right(text: str) -> bool:
    """Tell whether the city of the gold answer is that of the answer to grade, in the prompt ``correctness``."""
    gold, answer = re.search(r"^- (\w+)$", text, re.MULTILINE), re.search(r"Answer to grade: it is (\w+)", text)
    assert gold and answer
    return gold[1] == answer[1]


@contextmanager
def serve_mixed(**refused: tuple[int, str]) -> Iterator[MixedServer]:
    """Serve in a thread; an underscore in a name of what is refused may be a blank, as in ``role_system``."""
    server = MixedServer({name.replace("role_", "role "): value for name, value in refused.items()})
    with listening(server.connected) as port:
        server.url = f"http://127.0.0.1:{port}/v1"
        yield server
