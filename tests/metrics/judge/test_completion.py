"""Bodies as many servers send them: what they state is read, and nothing else."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from assay.metrics.judge.client import PARTS, RefusedRequestError
from assay.metrics.judge.completion import FailedCallError, read_completion
from assay.metrics.judge.parser import Rule
from assay.metrics.judge.replies import Reply
from assay.metrics.judge.stated_error import error_within
from assay.metrics.judge.verdicts import scale_of

CASES = Path(__file__).parents[4] / "shared/cases/judges/replies.jsonl"
YES_NO = scale_of("yes-no")


def body(content: Any, finish: str = "stop", logprobs: Any = None, **message: Any) -> dict[str, Any]:
    """Return a completion with one choice."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}
    return {"model": "m", "choices": [choice | {"logprobs": logprobs}], "usage": {"prompt_tokens": 9}}


def probable(*tokens: tuple[Any, Any]) -> dict[str, Any]:
    """Return what a server reports of the first token, with the most probable ones."""
    entries = [{"token": token, "logprob": logprob} for token, logprob in tokens]
    return {"content": [{**entries[0], "top_logprobs": entries}]}


def written(*tokens: str, first: float = 0.1) -> dict[str, Any]:
    """Return what a server reports of all tokens of a reply: at each, *first* of it and the rest of "Yes" and "No"."""
    content = []
    for token in tokens:
        entries = [(token, first), ("Yes", (1 - first) * 0.75), ("No", (1 - first) * 0.25)]
        tops = [{"token": text, "logprob": math.log(probability)} for text, probability in entries]
        content.append({**tops[0], "top_logprobs": tops})
    return {"content": content}


def reply_of(completion: dict[str, Any]) -> Reply:
    """Return the reply in a completion."""
    return read_completion(json.dumps(completion).encode(), "application/json").reply(1.0)


@pytest.mark.parametrize(
    "completion",
    [
        body("Yes", reasoning="Verdict: no", reasoning_details=[{"type": "reasoning.text", "text": "Verdict: no"}]),
        body([{"type": "thinking", "thinking": "Verdict: no"}, {"type": "text", "text": "Yes"}]),
        body([{"type": "reasoning", "text": "Verdict: no"}, {"type": "output_text", "text": "Yes"}]),
        body([{"type": "redacted_thinking", "data": "no"}, {"text": "Yes"}]),
        # the probabilities are those of the reasoning
        body("Yes", reasoning_content="No …", logprobs=probable(("No", -0.1), ("Okay", -2.3))),
        body("Yes", reasoning="…", logprobs=probable(("<think>", -0.01), ("No", -4.6))),
        # probabilities of another form than OpenAI's: old completions, llama.cpp, token numbers, no logarithms
        body("Yes", logprobs={"tokens": ["Yes"], "token_logprobs": [-0.1], "top_logprobs": [{"No": -0.1}]}),
        body("Yes", logprobs={"content": [{"token": "Yes", "logprob": -0.1, "top_logprobs": {"No": -0.1}}]}),
        body("Yes", logprobs={"content": [{"id": 9, "token": 9, "prob": 0.9, "top_probs": []}]}),
        body("Yes", logprobs=[{"token": "Yes", "logprob": -0.1}]),
        body("Yes", logprobs=probable(("token_id:9642", -0.1), ("token_id:2360", -2.3))),
        body("Yes", logprobs=probable(("Yes", 0.6), ("No", 0.4))),
        body("Yes", logprobs=probable(("Yes", "-0.1"), ("No", "-2.3"))),
        body("Yes", finish="eos_token"),
        body("Yes", finish="length"),
        {**body("Yes"), "usage": None},
        {**body("Yes"), "usage": {"input_tokens": 9, "output_tokens": "1"}},
        {"choices": [{"message": {"content": "Yes"}}]},
    ],
)
def test_the_text_is_read_whatever_is_beside_it(completion):
    assert YES_NO.read(reply_of(completion)) == (1, Rule.BEGINNING, "yes")


@pytest.mark.parametrize(
    ("completion", "rule"),
    [
        (body(None, reasoning_details=[{"type": "reasoning.text", "text": "Verdict: no"}]), Rule.NONE),
        (body("", reasoning_content="No"), Rule.NONE),
        (body(None, finish="tool_calls", tool_calls=[{"function": {"arguments": '{"verdict": "no"}'}}]), Rule.NONE),
        (body(["no"]), Rule.NONE),
        (body(None, refusal="No, I cannot judge this."), Rule.REFUSED),
        (body("No", finish="content_filter"), Rule.REFUSED),
        (body("No", finish="SAFETY"), Rule.REFUSED),
        (body("No", finish="refusal"), Rule.REFUSED),
        ({"choices": [{"finish_reason": "PROHIBITED_CONTENT"}]}, Rule.REFUSED),
        ({"choices": [{"finish_reason": "MAX_TOKENS", "index": 0}]}, Rule.CUT_OFF),
        (body(None, finish="length"), Rule.CUT_OFF),
        (body("The year may be right, no", finish="model_length"), Rule.CUT_OFF),
        (body("The year may be right, no", finish="abort"), Rule.CUT_OFF),
        (body("The year may be right, no", finish="insufficient_system_resource"), Rule.CUT_OFF),
        # servers that repeat the reasoning in place of a reply
        (body("Okay. Verdict: no.", finish="length", reasoning_content="Okay. Verdict: no."), Rule.CUT_OFF),
        (body("5 (out of 10)", logprobs=probable(("5", -0.1), ("4", -2.3))), Rule.NONE),
    ],
)
def test_what_states_no_verdict_has_no_score(completion, rule):
    scale = scale_of("1-5") if "out of" in json.dumps(completion) else YES_NO
    assert scale.read(reply_of(completion)) == (None, rule, None)


@pytest.mark.parametrize(
    "completion",
    [
        {"choices": []},
        {"choices": [{"finish_reason": "stop"}]},
        {"choices": [{"text": "No", "finish_reason": "stop"}]},
        {"choices": [{"delta": {"content": "No"}, "finish_reason": None}]},
        body("No", finish="error"),
    ],
)
def test_what_is_no_completion_fails(completion):
    with pytest.raises(FailedCallError, match="its answer is"):
        reply_of(completion)


def test_reasoning_is_known_by_any_sign():
    signs = [
        body("Yes", reasoning_details=[{"type": "reasoning.summary", "summary": "a"}]),
        body("Yes", reasoning="a"),
        body("<|think|>a<|/think|>Yes"),
        {**body("Yes"), "usage": {"completion_tokens_details": {"reasoning_tokens": 5}}},
    ]
    for completion in signs:
        assert read_completion(json.dumps(completion).encode(), "").has_reasoning
    assert not read_completion(json.dumps(body("Yes", reasoning=None)).encode(), "").has_reasoning


@pytest.mark.parametrize(
    "completion",
    [
        body("<think>No? Yes</think>\n\nNo", logprobs=written("<think>", "No", "? Yes", "</think>", "\n\n", "No")),
        # a template may open the block, and a server may report the reasoning apart from the reply
        body("No, no\n</think>\n\nNo.", logprobs=written("No", ", no", "\n</think>", "\n\n", "No", ".", "<|im_end|>")),
        body("No", reasoning_content="Yes", logprobs=written("Yes", "</think>", "\n\n", "No", "<|im_end|>")),
        body(
            "No",
            reasoning_content="Is it Yes",
            logprobs=written("<|channel|>", "analysis", "<|message|>", "Is", " it", " Yes", "<|end|>", "<|start|>",
                             "assistant", "<|channel|>", "final", "<|message|>", "No", "<|return|>"),
        ),
        body("<think>\n\n</think>\n\nNo", logprobs=written("<think>", "\n\n", "</think>", "\n\n", "No")),
        body("\n\nNo", logprobs=written("\n\n", "No")),
    ],
)  # fmt: skip
def test_the_probabilities_are_those_of_the_token_that_begins_the_answer(completion):
    expected = 0.9 * 0.75
    assert YES_NO.read(reply_of(completion), "probability") == (pytest.approx(expected), Rule.PROBABILITIES, None)


@pytest.mark.parametrize(
    "logprobs",
    [
        # of the reasoning alone, of a token that also ends the reasoning, of no token
        written("<think>", "Yes", "</think>"),
        written("<think>", "Yes", "</think>No"),
        None,
    ],
)
def test_where_the_answer_is_not_among_the_tokens_its_text_is_read(logprobs):
    reply = reply_of(body("<think>Yes</think>No", logprobs=logprobs))
    assert YES_NO.read(reply) == (0, Rule.BEGINNING, "no")
    assert YES_NO.read(reply, "probability") == (None, Rule.UNREPORTED, None)


@pytest.mark.parametrize("nothing", [None, -math.inf, "-inf"])
def test_an_alternative_without_a_probability_has_none(nothing):
    reply = reply_of(body("Yes", logprobs=probable(("Yes", math.log(0.9)), ("No", nothing), ("x", nothing))))
    assert YES_NO.read(reply) == (1, Rule.PROBABILITIES, None)


def test_the_mass_of_equal_tokens_adds_up():
    reply = reply_of(
        body("Yes", logprobs=probable(("Yes", math.log(0.5)), ("No", math.log(0.3)), ("Yes", math.log(0.2))))
    )
    assert YES_NO.read(reply) == (pytest.approx(0.7), Rule.PROBABILITIES, None)


@pytest.mark.skipif(not CASES.is_file(), reason="the shared cases are not on this machine")
def test_the_shared_bodies_are_right_or_without_a_score():
    found = {}
    for number, line in enumerate(CASES.read_text(encoding="utf-8").splitlines()):
        case = json.loads(line)
        content = json.dumps(case["body"]).encode()
        if case["status"] != 200:
            # a part of the request is refused, which is then left out
            reason = case["body"]["error"]["message"]
            assert PARTS.search(reason) and not RefusedRequestError(reason).flag
            continue
        if error_within(content):
            assert case["case"] == "err200"
            continue
        scale = scale_of(case["scale"])
        score = scale.read(read_completion(content, "application/json").reply(1.0)).score
        found[number, case["case"]] = score
        if score is not None:
            assert (score > (scale.low + scale.high) / 2) == case["right"], line
    without = {name for (_, name), score in found.items() if score is None}
    assert len(found) == 32 and without == {"think-cut", "foreign-mass"}
