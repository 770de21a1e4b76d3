"""The verdict in a JSON object of a reply, also if it is in a code block or has commas too many."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from assay.metrics.judge.grammar import Grammar

#: Fields of JSON objects that state a verdict; of these, the first that an object has counts.
_VERDICT_FIELD = r"(?:final|overall)?[_ ]?verdict"
_GRADE_FIELD = r"(?:final|overall|total)?[_ ]?(?:grade|score|rating|judge?ment|decision)|final|overall|total"
_ANSWER_FIELD = r"(?:final|overall)?[_ ]?(?:answer|label|result)|(?:is_?)?(?:correct|equivalent)"
_FIELDS = (_VERDICT_FIELD, _GRADE_FIELD, _ANSWER_FIELD)
#: Fields whose presence shows that an object repeats the data, so that its "answer" is no verdict.
_OF_DATA = re.compile(r"question|reference|gold\w*|candidate|expected\w*", re.IGNORECASE)
#: Fields with the end of the scale.
_HIGHEST = re.compile(r"max(?:imum)?(?:_?\w+)?|out_?of|scale(?:_?max)?", re.IGNORECASE)
#: The deepest level of a JSON value that is searched.
_DEEPEST = 20
#: The most places of a text at which a JSON value is tried to be read: each failure costs a pass over the text.
_MOST_STARTS = 50


def json_verdict(text: str, grammar: Grammar) -> tuple[bool, str | None]:
    """Tell whether the last JSON value with a field for a verdict decides what a reply states, and return that verdict.

    The outermost object with such a field counts. The verdict is None if objects beside each other have different ones.
    A field of another name than "verdict" counts only if its value is a verdict. A reply that is nothing but JSON
    states no verdict elsewhere.

    Args:
        text: the reply without its reasoning.
        grammar: the patterns of the scale.
    """
    values = list(_json_values(text))
    for value in reversed(values):
        has_field, verdict = _verdict_within(value, grammar, 0)
        if has_field:
            return True, verdict
    text_without_fences = re.sub(r"```(?:json\w*)?|\s", "", text)
    is_only_json = text_without_fences[:1] in ("{", "[") and text_without_fences[-1:] in ("}", "]")
    return bool(values) and is_only_json, None


def _verdict_within(value: Any, grammar: Grammar, level: int) -> tuple[bool, str | None]:
    """Tell whether a value or a part of it has a field for a verdict, and return that verdict; None if parts differ.

    Args:
        value: a JSON value, or a part of one.
        grammar: the patterns of the scale.
        level: how deep in the JSON value it is, 0 for the value itself; nothing below :data:`_DEEPEST` is searched.
    """
    if level > _DEEPEST or not isinstance(value, dict | list):
        return False, None
    parts: Iterable[Any] = value
    if isinstance(value, dict):
        has_field, verdict = _verdict_of(value, grammar)
        if has_field:
            return True, verdict
        parts = value.values()
    verdicts: set[str | None] = set()
    for part in parts:
        has_field, verdict = _verdict_within(part, grammar, level + 1)
        if has_field:
            verdicts.add(verdict)
    return bool(verdicts), verdicts.pop() if len(verdicts) == 1 else None


def _verdict_of(fields: dict[str, Any], grammar: Grammar) -> tuple[bool, str | None]:
    """Tell whether an object has a field for a verdict itself, and return that verdict.

    Returns:
        Whether there is such a field, and the verdict; None if the field states none, or the object repeats the scale.
    """
    names = {name.strip(): content for name, content in fields.items()}
    repeats_data = any(_OF_DATA.fullmatch(name) for name in names)
    for pattern in _FIELDS:
        for name, content in names.items():
            is_of_data = pattern == _ANSWER_FIELD and repeats_data
            if is_of_data or re.fullmatch(pattern, name, re.IGNORECASE) is None:
                continue
            verdict = _verdict_in(content, grammar)
            if verdict and any(_HIGHEST.fullmatch(other) and grammar.is_other_end(names[other]) for other in names):
                return True, None
            if verdict or pattern == _VERDICT_FIELD:
                return True, verdict
    return False, None


def _verdict_in(value: Any, grammar: Grammar) -> str | None:
    """Return the verdict that a JSON value is: a number, a text that begins with one or, for yes and no, true or false.

    None for any other value, and if the text states another scale.
    """
    if isinstance(value, bool) and not grammar.is_numeric:
        word = "yes" if value else "no"
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        word = str(value)
    else:
        return None
    text = grammar.without_scale(word)
    verdict, is_concluded = grammar.beginning_verdict(text, is_cut=False)
    return verdict if is_concluded and not grammar.has_other_scale(text) else None


def _json_values(text: str) -> Iterator[Any]:
    """Yield the JSON objects and lists of objects in a text; if none can be read, those without their surplus commas.

    Objects beside each other, such as lines of JSON, are a list.
    """
    values = list(_decoded(text))
    if not values and re.search(r",\s*[}\]]", text):
        values = list(_decoded(re.sub(r",(\s*[}\]])", r"\1", text)))
    yield from values


def _decoded(text: str) -> Iterator[Any]:
    """Yield the JSON objects and lists of objects in a text; of those that follow each other directly, their list.

    They are searched at the first :data:`_MOST_STARTS` places where one may begin.
    """
    values: list[Any] = []
    last_end = 0
    # not strict, since texts in the JSON of a reply may have line ends
    decoder, opening = json.JSONDecoder(strict=False), re.compile(r"\{|\[(?=\s*\{)")
    match = opening.search(text)
    for _ in range(_MOST_STARTS):
        if match is None:
            break
        try:
            value, end = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            end = match.start() + 1
        else:
            if values and text[last_end : match.start()].strip(" ,;\r\n\t"):
                yield values if len(values) > 1 else values[0]
                values = []
            values.append(value)
            last_end = end
        match = opening.search(text, end)
    if values:
        yield values if len(values) > 1 else values[0]
