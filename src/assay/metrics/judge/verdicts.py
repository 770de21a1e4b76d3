"""Verdicts of a judge: the words it may answer with, what each is worth, and how a reply becomes a score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from assay.exceptions import InputError, unknown_name
from assay.metrics.judge.parser import Rule, opening_verdict, read_verdict

if TYPE_CHECKING:
    from assay.metrics.judge.replies import Reply

#: Version of the rules of this module and of the parser; part of the signature, since other rules change the score.
PARSER = "6"
#: Lowest total probability of all verdicts at the first token of a reply. Below it the model was about to write
#: something else, and the ratio of the rest means little; docs/judges.md has the simulation.
MIN_MASS = 0.5
#: Spaces around tokens: "▁" and "Ġ" are those of SentencePiece and of byte-level BPE.
_SPACES = " ▁Ġ\n"


class Reading(NamedTuple):
    """What was read of a reply.

    Attributes:
        score: the score on the scale; None if the reply has none.
        rule: how the reply was read, or why it has no score.
        verdict: the verdict that the reply states; None if the score is a mean of verdicts, or missing.
    """

    score: float | None
    rule: Rule
    verdict: str | None = None


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
        beginning = token.strip(_SPACES).lower()
        if beginning in self.values:
            return beginning
        matches = [verdict for verdict in self.values if beginning and verdict.startswith(beginning)]
        return matches[0] if len(matches) == 1 else None

    def read(self, reply: Reply, source: Literal["auto", "probability", "json", "text"] = "auto") -> Reading:
        """Return what a reply says: the mean verdict by the probabilities of its first token, or else that of its text.

        The probabilities count if the first token is a verdict with which the reply begins, verdicts hold
        :data:`MIN_MASS`, and the text does not conclude another verdict.

        Args:
            reply: the reply.
            source: what the score is read from; ``auto`` for the probabilities, or the text if they do not count;
                ``probability`` for them alone; ``json`` and ``text`` for the text alone.

        Returns:
            The score and the rule; a reply with a flag (refused, too long) has no score.
        """
        if reply.flag:
            # imported here, so that listing metrics needs no NumPy
            from assay.metrics.scores import Flag

            return Reading(None, Rule.TOO_LONG if reply.flag & Flag.TOO_LONG else Rule.REFUSED)
        verdict, rule = read_verdict(reply.text, tuple(self.values), is_cut=reply.is_cut)
        if source in ("auto", "probability") and reply.first:
            begun = self._begun_by_reply(reply)
            # a reply that concludes something else than its beginning, or takes it back, is not read by probabilities
            is_kept = begun is not None and verdict in (None, begun) and rule != Rule.CONTRADICTION
            expected = self.expected_score(reply.first) if is_kept else None
            if expected is not None:
                return Reading(expected, Rule.PROBABILITIES)
        if source == "probability":
            unread = Rule.UNLIKELY if reply.first else Rule.UNREPORTED
            return Reading(None, rule if verdict is None and rule != Rule.NONE else unread)
        return Reading(None if verdict is None else self.values[verdict], rule, verdict)

    def _begun_by_reply(self, reply: Reply) -> str | None:
        """Return the verdict that is the first token of a reply and begins its text; None if there is none.

        Of replies that earlier versions have stored, the first token is not known: it is what begins the text.
        """
        opening = opening_verdict(reply.text, tuple(self.values))
        text = reply.text.strip()
        if reply.token is None:
            opening_tokens = []
            for likely_token in reply.first:
                word = likely_token.strip(_SPACES)
                if word and text.startswith(word):
                    opening_tokens.append(likely_token)
            token = max(opening_tokens, key=len, default="")
        else:
            token = reply.token
        verdict = self.verdict_begun_by(token)
        # a local judge writes no more than this token
        is_whole = token.strip(_SPACES) == text and verdict is not None
        return verdict if is_whole or verdict == opening else None


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
