"""The verdict that a reply states in words. The rules are in :func:`_read_answer`; no verdict beats a guess."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from assay.metrics.judge.grammar import Grammar
from assay.metrics.judge.json_verdict import json_verdict
from assay.metrics.judge.reasoning import split_reasoning


class Rule(StrEnum):
    """How a reply was read, in words; in the order from the plainest reply to the hardest."""

    PROBABILITIES = "probabilities of the first token"
    JSON = "field of a JSON object"
    BEGINNING = "begins the reply"
    LABEL = "after a label"
    ENDING = "ends the reply"
    CHANGED = "after the last of several labels, which contradict"
    # without a verdict
    REFUSED = "refused, or an error"
    TOO_LONG = "prompt too long"
    CUT_OFF = "cut off before a verdict"
    CONTRADICTION = "states one verdict and ends with another"
    UNREPORTED = "no probabilities of the first token of the answer"
    UNLIKELY = "first token not a verdict, or verdicts too unlikely"
    NONE = "no verdict"


class Stated(NamedTuple):
    """The verdict of a reply, None if it states none, and the rule by which it was read."""

    verdict: str | None
    rule: Rule


def read_verdict(reply: str, verdicts: Sequence[str], *, is_cut: bool = False) -> Stated:
    """Return the verdict that a reply states, None if it states none, and the rule that decided.

    Args:
        reply: the text of the reply; reasoning in it is not read.
        verdicts: the words of the scale, in lower case and in order: ``yes, no`` or ``1, 2, 3, 4, 5``.
        is_cut: whether the reply reached its limit of tokens, so that the end of the text is not the end of the reply.
    """
    # a reply is read several times: for the score, for the counts and to be shown
    read = _read_short if len(reply) <= LONGEST_CACHED else _read
    return read(reply, tuple(verdicts), is_cut)


def _read(reply: str, verdicts: tuple[str, ...], is_cut: bool) -> Stated:
    """Return what a reply states, read without its reasoning; the arguments are those of :func:`read_verdict`."""
    answer = split_reasoning(reply)
    if answer.is_open:
        return Stated(None, Rule.CUT_OFF)
    grammar = _grammar(verdicts)
    stated = _read_answer(answer.text, grammar, is_cut=is_cut)
    next_turn = _NEXT_TURN.search(answer.text)
    if next_turn is not None and stated.verdict is not None:
        # a model may go on with a next example after its reply
        first = _read_answer(answer.text[: next_turn.start()], grammar, is_cut=False)
        if first.verdict not in (None, stated.verdict):
            return Stated(None, Rule.CONTRADICTION)
    return stated


def _read_answer(answer: str, grammar: Grammar, *, is_cut: bool) -> Stated:
    """Return what an answer without reasoning states, by the first of the numbered rules that applies.

    Args:
        answer: the reply without its reasoning.
        grammar: the patterns of the scale.
        is_cut: whether the end of the answer is where the reply was cut.
    """
    # 1. the field "verdict" of a JSON object, else its "grade", "score" …, else its "answer"
    is_json, verdict = json_verdict(answer, grammar)
    if is_json:
        return Stated(verdict, Rule.JSON if verdict else Rule.NONE)
    # the scale as the judge repeats it ("1 to 5", "yes or no") and abbreviations ("Nº 5") are not verdicts
    text = grammar.without_scale(answer)
    if grammar.has_other_scale(text):
        return Stated(None, Rule.NONE)
    last, is_conclusion = (None, False) if is_cut else grammar.ending_verdict(text)
    # 2. the last verdict after a label: "Verdict:", "Grade (…):", "Answer:", "Final …", bold, boxed, [[…]], <verdict>
    labelled = grammar.find_labels(text, is_cut=is_cut)
    if labelled:
        concluded = grammar.concluding_labels(labelled, text)
        if not concluded:
            return Stated(None, Rule.NONE)
        if is_conclusion and last != concluded[-1].verdict:
            return Stated(None, Rule.CONTRADICTION)
        is_unanimous = len({label.verdict for label in concluded}) == 1
        return Stated(concluded[-1].verdict, Rule.LABEL if is_unanimous else Rule.CHANGED)
    # 3. a verdict that begins the reply and ends its sentence, clause or line there: "Yes.", "4/5", "No, since …"
    first, is_concluded = grammar.beginning_verdict(text, is_cut=is_cut)
    if (first and last and first != last) or grammar.has_lines_of_verdicts(text):
        return Stated(None, Rule.CONTRADICTION)
    if is_concluded:
        return Stated(first, Rule.BEGINNING)
    # 4. a verdict that ends the reply as its conclusion: "…, so no.", "this gets a 3", "Overall: 3"
    # several things may have a verdict each: "Accuracy: 4, style: 2"
    if last and is_conclusion and not grammar.names_several(text):
        return Stated(last, Rule.ENDING)
    return Stated(None, Rule.CUT_OFF if is_cut else Rule.NONE)


#: Longest reply in characters whose reading is kept in memory.
LONGEST_CACHED = 4000
_read_short = functools.lru_cache(maxsize=8192)(_read)
#: A line that begins another turn of a conversation, or another example.
_NEXT_TURN = re.compile(
    r"\n\W{0,6}(?:(?:next\s+)?(?:question|user|human|assistant|instruction|input|example|task)(?:\s*\d+)?\s*:|\[INST\])",
    re.IGNORECASE,
)


def opening_verdict(reply: str, verdicts: Sequence[str]) -> str | None:
    """Return the verdict that begins a reply and ends its sentence, clause or line there; None if none does.

    Unlike in :func:`read_verdict`, the reply may go on and conclude something else, or be cut.
    """
    grammar = _grammar(tuple(verdicts))
    text = grammar.without_scale(split_reasoning(reply).text)
    verdict, is_concluded = grammar.beginning_verdict(text, is_cut=False)
    return verdict if is_concluded and not grammar.has_other_scale(text) else None


@functools.lru_cache(maxsize=16)
def _grammar(verdicts: tuple[str, ...]) -> Grammar:
    return Grammar(verdicts)
