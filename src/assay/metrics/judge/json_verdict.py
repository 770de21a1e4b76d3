"""The verdict in a JSON object of a reply, also if it is in a code block or has commas too many."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from assay.metrics.judge.grammar import Grammar

#: Fields of JSON objects that state a verdict, the first that an object has.
_FIELDS = (
    r"(?:final|overall)?[_ ]?verdict",
    r"(?:final|overall|total)?[_ ]?(?:grade|score|rating|judge?ment|decision)|final|overall|total",
    r"(?:final|overall)?[_ ]?(?:answer|label|result)|(?:is_?)?(?:correct|equivalent)",
)
#: Fields whose presence shows that an object repeats the data, so that its "answer" is no verdict.
_OF_DATA = re.compile(r"question|reference|gold\w*|candidate|expected\w*", re.IGNORECASE)
#: Fields with the end of the scale.
_HIGHEST = re.compile(r"max(?:imum)?(?:_?\w+)?|out_?of|scale(?:_?max)?", re.IGNORECASE)
#: The deepest level of a JSON value that is searched.
_DEEPEST = 20


def json_verdict(text: str, grammar: Grammar) -> tuple[bool, str | None]:
    """Tell whether the last JSON value with a field for a verdict decides what a reply states, and return that verdict.

    The outermost object with such a field counts. If objects beside each other have different verdicts, there is none.
    A field of another name than "verdict" counts only if its value is a verdict. A reply that is nothing but JSON
    states no verdict elsewhere.
    """
    values = list(_json_values(text))
    for value in reversed(values):
        has_field, verdict = _verdict_within(value, grammar, 0)
        if has_field:
            return True, verdict
    rest = re.sub(r"```(?:json\w*)?|\s", "", text)
    return bool(values) and rest[:1] in ("{", "[") and rest[-1:] in ("}", "]"), None


def _verdict_within(value: Any, grammar: Grammar, level: int) -> tuple[bool, str | None]:
    if level > _DEEPEST or not isinstance(value, dict | list):
        return False, None
    if isinstance(value, dict):
        has_field, verdict = _verdict_of(value, grammar)
        if has_field:
            return True, verdict
    parts = value.values() if isinstance(value, dict) else value
    verdicts_of_parts = [_verdict_within(part, grammar, level + 1) for part in parts]
    verdicts = {verdict for has_field, verdict in verdicts_of_parts if has_field}
    return bool(verdicts), verdicts.pop() if len(verdicts) == 1 else None


def _verdict_of(fields: dict[str, Any], grammar: Grammar) -> tuple[bool, str | None]:
    """Tell whether an object has a field for a verdict itself, and return that verdict."""
    names = {name.strip(): content for name, content in fields.items()}
    repeats_data = any(_OF_DATA.fullmatch(name) for name in names)
    for pattern in _FIELDS:
        for name, content in names.items():
            if re.fullmatch(pattern, name, re.IGNORECASE) is None or (pattern == _FIELDS[2] and repeats_data):
                continue
            verdict = _verdict_in(content, grammar)
            if verdict and any(_HIGHEST.fullmatch(other) and grammar.is_other_end(names[other]) for other in names):
                return True, None
            if verdict or pattern == _FIELDS[0]:
                return True, verdict
    return False, None


def _verdict_in(value: Any, grammar: Grammar) -> str | None:
    """Return the verdict that a value in JSON is: a number, a text that begins with one, or true and false."""
    if isinstance(value, bool):
        if grammar.is_numeric:
            return None
        value = "yes" if value else "no"
    if not isinstance(value, str | int | float):
        return None
    text = grammar.without_scale(str(value))
    verdict, is_concluded = grammar.beginning(text, is_cut=False)
    return verdict if is_concluded and not grammar.has_other_scale(text) else None


def _json_values(text: str) -> Iterator[Any]:
    """Yield the JSON objects and lists of objects in a text; if none can be read, those without commas too many.

    Objects beside each other, such as lines of JSON, are a list.
    """
    values = list(_decoded(text))
    if not values and re.search(r",\s*[}\]]", text):
        values = list(_decoded(re.sub(r",(\s*[}\]])", r"\1", text)))
    yield from values


def _decoded(text: str) -> Iterator[Any]:
    values: list[Any] = []
    last_end = 0
    # lines may end within a text of such an object
    decoder, opening = json.JSONDecoder(strict=False), re.compile(r"\{|\[(?=\s*\{)")
    match = opening.search(text)
    # each failure costs a pass over the text
    for _ in range(50):
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
