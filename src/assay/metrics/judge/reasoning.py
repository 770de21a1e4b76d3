"""What a model thinks before it answers, taken out of its reply: it is never read as a verdict."""

# ruff: noqa: RUF001  DeepSeek writes its marks with a full-width bar

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

#: Names of the marks in which models write their reasoning: <think>, <thinking>, <seed:think>, <|thought|> …
_NAMES = r"(?:think\w*|thoughts?|reasoning|reflection|scratchpad|analysis|inner_?monologue)"
#: The marks in which models write their reasoning, as regular expressions of begin and end.
_BLOCKS = (
    (rf"<\|?(?:\w+:)?(?:(?:begin|start)_(?:of_)?)?{_NAMES}(?:\s[^<>]*)?\|?(?<!/)>",
     rf"<(?:/|\|/|\|?end_(?:of_)?)(?:\w+:)?{_NAMES}\s*\|?>"),
    # Mistral, Kimi
    (r"\[THINK(?:ING)?\]", r"\[/THINK(?:ING)?\]"),
    (r"◁think▷", r"◁/think▷"),
    # Gemma 3 and 4, Apertus
    (r"<unused94>", r"<unused95>"),
    (r"<\|channel>\s*(?:thought|analysis)?", r"<channel\|>"),
    (r"<\|inner_prefix\|>", r"<\|inner_suffix\|>"),
    # Granite
    (r"Here(?: is|'s) my thought process:", r"Here(?: is|'s) my response:"),
)  # fmt: skip
#: Harmony, the form of gpt-oss: a message of a channel, up to the next mark. Servers that drop its marks leave the
#: names of channels glued to the text: ``analysisWe need … assistantfinalyes``.
_HARMONY = re.compile(
    r"<\|channel\|>\s*(\w+)[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>(.*?)(?=<\|(?:end|return|call|start|channel)\|>|$)",
    re.DOTALL,
)
_GLUED = re.compile(r"\s*(?:assistant)?(?:analysis|commentary)(?=[^\s:;,.])(.*?)(?:assistant\s*final(.*))?$", re.DOTALL)
#: Marks that end or frame a message and may be left in a text.
_MARKS = re.compile(r"<\|[\w/]{1,40}\|>|<｜[\w▁]{1,60}｜>|</?s>|<end_of_turn>|<\|?im_end\|?>|<think\s*/>")
#: What may be JSON, and the code block around it.
_JSON = re.compile(r"\s*(?:```\w*\s*)?([\[{].*[\]}])\s*(?:```\s*)?", re.DOTALL)
#: Marks as servers escape them for HTML.
_ESCAPED = re.compile(r"&lt;(/?[\w:]{1,40})&gt;")


class Answer(NamedTuple):
    """A reply without its reasoning.

    Attributes:
        text: what the model answers; empty if its reasoning does not end.
        reasoning: what it thinks; empty if the reply has none.
        is_open: whether the reasoning does not end, so that the answer is missing.
    """

    text: str
    reasoning: str
    is_open: bool


def split_reasoning(reply: str) -> Answer:
    """Return the answer in a reply, apart from the reasoning that precedes it.

    A template may open the block of reasoning in the prompt, so that the reply has only its end: all before it is
    reasoning. A block that does not end has no answer, whatever precedes it. A reply that is JSON has no reasoning
    before it: a mark in one of its texts is a quotation, such as of an answer that was judged.
    """
    if _is_json(reply):
        return Answer(_MARKS.sub(" ", reply).strip(), "", is_open=False)
    if "<|channel|>" in reply:
        messages = _HARMONY.findall(reply)
        answer = "".join(text for channel, text in messages if channel == "final")
        reasoning = "\n".join(text for channel, text in messages if channel != "final")
        is_open = not messages or messages[-1][0] != "final"
        return Answer(answer.strip(), reasoning.strip(), is_open)
    glued = _GLUED.match(reply)
    if glued is not None:
        reasoning, answer = glued.groups()
        return Answer((answer or "").strip(), reasoning.strip(), answer is None)
    thoughts = []
    rest = _ESCAPED.sub(r"<\1>", reply)
    for begin, end in _BLOCKS:
        *thoughts_before, rest = re.split(end, rest, flags=re.IGNORECASE)
        thoughts += [re.sub(begin, "", text, flags=re.IGNORECASE).strip() for text in thoughts_before]
        opening = re.search(begin, rest, re.IGNORECASE)
        if opening is not None:
            thoughts.append(rest[opening.end() :].strip())
            return Answer("", "\n".join(thoughts), is_open=True)
    return Answer(_MARKS.sub(" ", rest).strip(), "\n".join(thoughts), is_open=False)


def _is_json(reply: str) -> bool:
    """Tell whether a reply is a JSON object or list and nothing else, also if it is in a code block."""
    match = _JSON.fullmatch(_MARKS.sub(" ", reply))
    try:
        return match is not None and isinstance(json.loads(match[1], strict=False), dict | list)
    except (ValueError, RecursionError):
        return False


def answer_start(tokens: Sequence[str], answer: str) -> int | None:
    """Return the index of the token with which the answer in a reply begins; None if the tokens do not end with it.

    Args:
        tokens: the texts of all tokens of the reply; space in them and marks that frame a message do not count.
        answer: the answer, see :func:`split_reasoning`.
    """
    rest = "".join(answer.split())
    for index in reversed(range(len(tokens))):
        token = "".join(_MARKS.sub("", tokens[index]).split())
        if not rest.endswith(token):
            return None
        rest = rest.removesuffix(token)
        if token and not rest:
            return index
    return None


def begins_reasoning(text: str) -> bool:
    """Tell whether a text begins with the mark of a block of reasoning."""
    return any(re.match(rf"\s*(?:{begin})", text, re.IGNORECASE) for begin, _ in _BLOCKS)


def opened_reasoning(prompt: str) -> str:
    """Return the mark with which the end of a prompt opens a block of reasoning; empty if it opens none."""
    for begin, _ in _BLOCKS:
        opened = re.search(rf"({begin})\s*$", prompt[-200:], re.IGNORECASE)
        if opened is not None:
            return opened[1]
    return ""
