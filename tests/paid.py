"""A metric that pays for every pair, as one behind an address does, for tests of what is said of money."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.metrics import Batch, Declaration, Metric, option
from assay.metrics.scores import Scores


@dataclass(frozen=True)
class Till:
    """An engine whose session counts what it scored; a pair has 200 tokens in and 1 out."""

    price: float | None
    pairs: int = 100

    def open(self):
        return TillSession(self.price)

    def close(self):
        pass


class TillSession:
    def __init__(self, price: float | None) -> None:
        self._price, self._scored = price, 0

    def score(self, metrics, batch, again=()):
        self._scored += len(batch)
        words = [set(reference.split()) for reference in batch.references]
        shared = [len(own & set(text.split())) for own, text in zip(words, batch.candidates, strict=True)]
        values = np.array([[float(count)] * len(metrics) for count in shared])
        seconds = np.full(len(metrics), len(batch) / 50)
        return Scores(values, np.zeros(values.shape, dtype=np.uint8), seconds)

    def cost(self):
        spent = None if self._price is None else self._price * self._scored / 1000
        counts = {"calls": self._scored, "tokens_in": 200 * self._scored, "tokens_out": self._scored}
        failures = {"retries": 3, "refusals": 2, "unreadable": 1}
        return counts | failures | {"price": spent, "served": "till-1", "price_per_1000": self._price}

    def close(self):
        pass


@dataclass(frozen=True)
class Paid(Metric):
    """The number of words that both texts have.

    Attributes:
        price: of 1,000 pairs; below 0 where no price is known.
        remembers: whether it knows that price without scoring.
    """

    price: float = option(0.5, "of 1,000 pairs")
    remembers: bool = option(False, "whether it knows its price without scoring")
    declaration = Declaration(name="paid", summary="words in common, paid for", low=0, high=1e9, kind="judge")

    @property
    def _known(self) -> float | None:
        return None if self.price < 0 else self.price

    def needs(self):
        return Till(self._known)

    def price_per_1000(self):
        return self._known if self.remembers else None

    def score(self, batch: Batch):
        raise AssertionError("without its engine")
