"""Verdicts of a judge: the words it may answer with, what each is worth, and how a reply becomes a score."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from assay.errors import InputError, unknown_name

#: Version of the rules below; part of the signature, since another reading of the same reply is another score.
PARSER = "1"
#: Least probability that the first token of a reply must give to all verdicts together. Below it the model was about to
#: say something else, and the ratio of what is left says little.
LEAST_MASS = 0.05

_LABEL = re.compile(r"\b(?:verdict|answer|score|grade|rating)\b\W{1,8}", re.IGNORECASE)
#: What may stand around a verdict: spaces, quotes, brackets, Markdown.
_WRAPPING = " \t\r\n\"'`*_([{#:-"


@dataclass(frozen=True)
class VerdictScale:
    """The verdicts that a judge chooses from.

    Attributes:
        name: how users write it.
        values: what each verdict is worth, by the word a reply has for it, in lower case.
    """

    name: str
    values: Mapping[str, float]

    @property
    def low(self) -> float:
        """The lowest score."""
        return min(self.values.values())

    @property
    def high(self) -> float:
        """The highest score."""
        return max(self.values.values())

    def probabilities(self, tokens: Mapping[str, float]) -> dict[str, float]:
        """Return the probability of each verdict: that of the tokens that are it, or begin it and no other.

        Args:
            tokens: the probabilities of the first token of a reply, in [0, 1], as the model has them (``" Yes"``).
        """
        verdicts = dict.fromkeys(self.values, 0.0)
        for token, probability in tokens.items():
            verdict = self.begun_by(token)
            if verdict is not None:
                verdicts[verdict] += probability
        return verdicts

    def expected(self, tokens: Mapping[str, float]) -> float | None:
        """Return the mean of the verdicts, weighted by what the first token of a reply makes of them.

        Args:
            tokens: see :meth:`probabilities`.

        Returns:
            In [low, high]; None where the verdicts have less than :data:`LEAST_MASS` together.
        """
        verdicts = self.probabilities(tokens)
        mass = sum(verdicts.values())
        total = sum(self.values[verdict] * probability for verdict, probability in verdicts.items())
        return total / mass if mass >= LEAST_MASS else None

    def begun_by(self, token: str) -> str | None:
        """Return the only verdict that begins with a token, or None; spaces around it do not count."""
        token = token.strip(" ▁Ġ\n").lower()
        if token in self.values:
            return token
        begun = [word for word in self.values if token and word.startswith(token)]
        return begun[0] if len(begun) == 1 else None

    def read(self, reply: str) -> float | None:
        """Return what the verdict in a reply is worth, None where it has none, or more than one.

        In this order: a JSON object with the key ``verdict``; the verdict at the beginning; that after "verdict:"
        ("answer:", "score:", "grade:", "rating:"), the last one; the only verdict that occurs.
        """
        stated = _json_verdict(reply)
        if stated is not None:
            return self.values.get(stated.strip().lower())
        words = "|".join(re.escape(word) for word in self.values)
        # 4 is no verdict in 4.5, 14 or 4/10, but one in 4/5 where 5 is the highest; "no" is none in "no-one"
        pattern = re.compile(rf"(?<![\w.])({words})(?:/{self.high:g})?(?![\w-]|[./]\d)", re.IGNORECASE)
        first = pattern.match(reply.lstrip(_WRAPPING))
        if first is not None:
            return self._worth(first)
        labelled = [pattern.match(reply, label.end()) for label in _LABEL.finditer(reply)]
        for found in reversed(labelled):
            if found is not None:
                return self._worth(found)
        distinct = {match.group(1).lower(): match for match in pattern.finditer(reply)}
        return self._worth(next(iter(distinct.values()))) if len(distinct) == 1 else None

    def _worth(self, match: re.Match[str]) -> float:
        return self.values[match.group(1).lower()]


def _json_verdict(reply: str) -> str | None:
    """Return the value of ``verdict`` in a reply that is a JSON object, or a code block with one; else None."""
    text = reply.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    stated = value.get("verdict") if isinstance(value, dict) else None
    return str(stated) if isinstance(stated, str | int | float) else None


_SCALES = (
    VerdictScale("yes-no", {"yes": 1.0, "no": 0.0}),
    VerdictScale("0-2", {"0": 0.0, "1": 1.0, "2": 2.0}),
    VerdictScale("1-5", {"1": 1.0, "2": 2.0, "3": 3.0, "4": 4.0, "5": 5.0}),
)


def scale_of(name: str) -> VerdictScale:
    """Return a scale by its name: ``yes-no``, ``0-2``, ``1-5``.

    Raises:
        InputError: there is none of that name.
    """
    for scale in _SCALES:
        if scale.name == name:
            return scale
    raise InputError(unknown_name("there is no scale", name, [scale.name for scale in _SCALES]))
