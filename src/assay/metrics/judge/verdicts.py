"""Verdicts of a judge: the words it may answer with, what each is worth, and how a reply becomes a score."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from assay.exceptions import InputError, unknown_name

#: Version of the rules below; part of the signature, since reading a reply by other rules changes the score.
PARSER = "1"
#: Lowest total probability of all verdicts at the first token of a reply. Below it the model was about to write
#: something else, and the ratio of the small rest means little.
MIN_MASS = 0.05

_LABEL = re.compile(r"\b(?:verdict|answer|score|grade|rating)\b\W{1,8}", re.IGNORECASE)
#: Characters that may precede a verdict: spaces, quotes, brackets, Markdown.
_WRAPPING = " \t\r\n\"'`*_([{#:-"


@dataclass(frozen=True)
class VerdictScale:
    """The verdicts that a judge chooses from.

    Attributes:
        name: the name of the scale in the options of a judge.
        values: the score of each verdict, by its word in a reply, in lower case.
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
        """Return the probability of each verdict, by its word.

        It is the sum of the probabilities of the tokens that equal the verdict, or that begin this verdict and no other
        one; 0.0 if there are no such tokens.

        Args:
            tokens: the probability of each first token of a reply, in [0, 1], with tokens as the model writes them
                (``" Yes"``).
        """
        verdicts = dict.fromkeys(self.values, 0.0)
        for token, probability in tokens.items():
            verdict = self.verdict_begun_by(token)
            if verdict is not None:
                verdicts[verdict] += probability
        return verdicts

    def expected_score(self, tokens: Mapping[str, float]) -> float | None:
        """Return the mean score of the verdicts, weighted by their probabilities at the first token of a reply.

        Args:
            tokens: the probability of each first token of a reply, as for :meth:`probabilities`.

        Returns:
            A score in [low, high]; None if the probabilities of the verdicts sum to less than :data:`MIN_MASS`.
        """
        verdicts = self.probabilities(tokens)
        mass = sum(verdicts.values())
        total = sum(self.values[verdict] * probability for verdict, probability in verdicts.items())
        return total / mass if mass >= MIN_MASS else None

    def verdict_begun_by(self, token: str) -> str | None:
        """Return the verdict that equals a token, or else the only verdict that begins with it.

        Case and spaces around the token do not matter. The result is None if no verdict begins with the token, or
        several do.
        """
        # "▁" and "Ġ" are the spaces of SentencePiece and of byte-level BPE
        token = token.strip(" ▁Ġ\n").lower()
        if token in self.values:
            return token
        matches = [word for word in self.values if token and word.startswith(token)]
        return matches[0] if len(matches) == 1 else None

    def score_in(self, reply: str) -> float | None:
        """Return the score of the verdict that a reply states; None if it states none.

        The verdict is looked for in this order: the value of ``verdict`` in a reply that is a JSON object, which states
        no verdict if that value is not on the scale; a verdict at the beginning of the reply; the last verdict after a
        label ("verdict:", "answer:", "score:", "grade:", "rating:"); the only verdict that occurs in the reply. If
        several occur, none of them at the beginning or after a label, the reply states none.
        """
        stated = _json_verdict(reply)
        if stated is not None:
            return self.values.get(stated.strip().lower())
        words = "|".join(re.escape(word) for word in self.values)
        # 4 is not a verdict in 4.5, 14 or 4/10, but is one in 4/5 if 5 is the highest; "no" is none in "no-one"
        pattern = re.compile(rf"(?<![\w.])({words})(?:/{self.high:g})?(?![\w-]|[./]\d)", re.IGNORECASE)
        first = pattern.match(reply.lstrip(_WRAPPING))
        if first is not None:
            return self._score_of(first)
        labelled = [pattern.match(reply, label.end()) for label in _LABEL.finditer(reply)]
        for labelled_match in reversed(labelled):
            if labelled_match is not None:
                return self._score_of(labelled_match)
        distinct_verdicts = {match.group(1).lower() for match in pattern.finditer(reply)}
        return self.values[distinct_verdicts.pop()] if len(distinct_verdicts) == 1 else None

    def _score_of(self, match: re.Match[str]) -> float:
        return self.values[match.group(1).lower()]


def _json_verdict(reply: str) -> str | None:
    """Return the value of ``verdict`` in a reply that is a JSON object or a code block with one, as text.

    It is None if the reply is nothing of the kind, or if the value is missing or neither a string nor a number.
    """
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
        InputError: there is no scale of that name.
    """
    for scale in _SCALES:
        if scale.name == name:
            return scale
    raise InputError(unknown_name("there is no scale", name, [scale.name for scale in _SCALES]))
