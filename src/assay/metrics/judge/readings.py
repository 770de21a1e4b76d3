"""How the replies of a session were read: counts by rule, and the replies that a report shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.common.visible import brief_text
from assay.metrics.judge.parser import Rule
from assay.metrics.judge.reasoning import split_reasoning

if TYPE_CHECKING:
    from assay.metrics.base import Batch
    from assay.metrics.judge.judge import Judge
    from assay.metrics.judge.replies import Reply
    from assay.metrics.judge.verdicts import Reading

#: The number of replies that a report shows at random, and of those that were hardest to read.
SHOWN_AT_RANDOM, SHOWN_HARDEST = 5, 5
#: The most characters of a text that a report shows.
LONGEST_SHOWN = 500
#: Rules from the plainest to the hardest.
_HARDNESS = {rule: number for number, rule in enumerate(Rule)}


class _Shown(NamedTuple):
    """A reply to show, with its rank: the replies with the highest ranks are kept."""

    rank: tuple[int, bytes]
    values: dict[str, Any]


class ReadReplies:
    """The counts of replies by the rule that read them, and ten of them: five at random, and the five hardest to read.

    Those at random are chosen by a digest of pair and reply, so that a run shows the same ones when it is repeated.
    """

    def __init__(self) -> None:
        self._counts: Counter[Rule] = Counter()
        self._cut_after = 0
        self._random: dict[bytes, _Shown] = {}
        self._hardest: dict[bytes, _Shown] = {}

    def add_batch(self, judge: Judge, batch: Batch, replies: Sequence[Sequence[Sequence[Reply]]]) -> None:
        """Count the replies of a judge on a batch, as ``[pair][order of its texts][sample]``; see :meth:`add`."""
        for reference, candidate, orders in zip(batch.references, batch.candidates, replies, strict=True):
            for reply in chain.from_iterable(orders):
                self.add(judge, reference, candidate, reply, judge.read(reply))

    def add(self, judge: Judge, reference: str, candidate: str, reply: Reply, reading: Reading) -> None:
        """Count a reply on a pair, and keep it if it is one to show.

        Args:
            judge: the metric that asked.
            reference, candidate: the texts of the pair.
            reply: the reply.
            reading: what was read of it.
        """
        self._counts[reading.rule] += 1
        if reading.rule == Rule.CUT_OFF:
            self._cut_after = max(self._cut_after, reply.tokens_out)
        key = blake2b(f"{reference}\n{candidate}\n{reply.text}".encode("utf-8", "replace"), digest_size=8).digest()
        answer = split_reasoning(reply.text)
        text = reply.text if reply.flag else answer.text
        values = {
            "metric": str(judge),
            "reference": _shortened(reference),
            "candidate": _shortened(candidate),
            "reply": _shortened(text),
            "reasoning": _shortened(reply.reasoning or answer.reasoning),
            "verdict": reading.verdict,
            "score": reading.score,
            "rule": str(reading.rule),
        }
        _keep(self._random, key, _Shown((0, key), values), SHOWN_AT_RANDOM)
        if _HARDNESS[reading.rule] > _HARDNESS[Rule.BEGINNING]:
            _keep(self._hardest, key, _Shown((_HARDNESS[reading.rule], key), values), SHOWN_HARDEST)

    def details(self) -> dict[str, Any]:
        """Return the counts and the replies to show, as values for JSON by name; empty if there was no reply.

        ``read_by`` has the counts by rule, and ``shown`` the replies. If there are such replies, ``cut_off`` is the
        number of those that were cut off before a verdict, ``cut_after`` the most tokens that one of them has, and
        ``contradictory`` the number of those with contradicting labels.
        """
        if not self._counts:
            return {}
        shown_replies = []
        for reason, replies in (("at random", self._random), ("hardest to read", self._hardest)):
            shown_replies += [{"chosen": reason, **reply.values} for reply in sorted(replies.values(), reverse=True)]
        details: dict[str, Any] = {
            "read_by": {str(rule): self._counts[rule] for rule in Rule if self._counts[rule]},
            "shown": shown_replies,
        }
        if self._counts[Rule.CUT_OFF]:
            details["cut_off"], details["cut_after"] = self._counts[Rule.CUT_OFF], self._cut_after
        if self._counts[Rule.CHANGED]:
            details["contradictory"] = self._counts[Rule.CHANGED]
        return details


def _keep(replies: dict[bytes, _Shown], key: bytes, shown: _Shown, limit: int) -> None:
    """Add a reply under a key, and drop the one with the lowest rank if there are more than *limit*."""
    replies.setdefault(key, shown)
    if len(replies) > limit:
        del replies[min(replies, key=lambda other: replies[other].rank)]


def _shortened(text: str) -> str:
    return brief_text(" ".join(text[:LONGEST_SHOWN].split()))
