"""Pairs of texts for the neural metrics: short and long, English and German, some of them twice."""

from __future__ import annotations

import random

from assay.metrics import Batch
from tests.metrics.models.tiny import WORDS


def pairs(n: int = 200, longest: int = 20, seed: int = 0) -> Batch:
    """Return pairs of random words, where some texts come again."""
    generator = random.Random(seed)
    texts = [" ".join(generator.choices(WORDS, k=generator.randint(1, longest))) for _ in range(n)]
    return Batch([generator.choice(texts) for _ in range(n)], [generator.choice(texts) for _ in range(n)])
