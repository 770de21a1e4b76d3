"""Two cells that papers on captions print for Flickr8k-Expert, from the ratings and captions of the card.

Hessel et al. 2021, CLIPScore, arXiv 2104.08718, table 1 (taken from a public note that repeats it): Kendall τ-c × 100,
each of the three ratings of a caption an item of its own. BLEU reads the five captions of an image at once, which
assay's ``bleu`` does not, so that it is computed here.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path

import pytest
from scipy import stats

from assay.datasets import load_dataset

PRINTED = {1: 32.3, 4: 30.8}


def ngrams(words: list[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[i:] for i in range(order)), strict=False))


def bleu(references: list[str], candidate: str, order: int) -> float:
    """Return BLEU of a caption as coco-caption computes it: no smoothing, but a tiny number in place of 0."""
    words, golds = [
        [re.findall(r"\w+(?:'\w+)?", text.lower()) for text in texts] for texts in ([candidate], references)
    ]
    (words,) = words
    nearest = min((abs(len(gold) - len(words)), len(gold)) for gold in golds)[1]
    product = 1.0
    for n in range(1, order + 1):
        highest: Counter[tuple[str, ...]] = Counter()
        for gold in golds:
            highest |= ngrams(gold, n)
        correct = (ngrams(words, n) & highest).total()
        product *= (correct + 1e-15) / (max(0, len(words) - n + 1) + 1e-9)
    ratio = (len(words) + 1e-15) / (nearest + 1e-9)
    return product ** (1 / order) * (math.exp(1 - 1 / ratio) if ratio < 1 else 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("order", PRINTED)
def test_bleu_of_captions(shared_data: Path, monkeypatch: pytest.MonkeyPatch, order: int) -> None:
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    pairs = load_dataset("flickr8k-expert", offline=True)
    scores, ratings = [], []
    columns = (pairs.column(name).to_pylist() for name in ("reference", "candidate", "annotations"))
    for references, candidate, given in zip(*columns, strict=True):
        scores += [bleu(references, candidate, order)] * len(given)
        ratings += given
    assert len(ratings) == 3 * len(pairs) == 16_992
    tau = stats.kendalltau(scores, ratings, variant="c").statistic
    assert round(100 * tau, 1) == PRINTED[order]
