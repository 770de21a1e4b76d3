"""Texts and pairs that several datasets share, so that a metric tuned on one is not tested by the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, combinations

from assay.datasets.checks import MAX_EXAMPLES, DataFinding
from assay.datasets.pairs import Pairs

#: The least number of characters of a text that counts as shared: short answers are the same by chance.
MIN_SHARED_LENGTH = 20


def leaks_between(datasets: Mapping[str, Sequence[Pairs]]) -> list[DataFinding]:
    """Return a warning for any two datasets that share pairs or texts; the ``split`` of a finding has both names.

    Two pairs are the same if a gold answer and the candidate are equal, in either order. Texts are compared without
    the space around them. Texts of fewer than 20 characters do not count, nor do pairs of two of them.

    Args:
        datasets: the pairs of each dataset by its name, split by split.
    """
    pairs_of = {name: _long_pairs(tables) for name, tables in datasets.items()}
    texts_of = {name: set(filter(_is_long, chain.from_iterable(pairs))) for name, pairs in pairs_of.items()}
    findings = []
    for first, second in combinations(datasets, 2):
        shared_pairs = pairs_of[first] & pairs_of[second]
        shared_texts = texts_of[first] & texts_of[second]
        if not shared_texts:
            continue
        smaller = min((first, second), key=lambda name: len(texts_of[name]))
        share = len(shared_texts) / len(texts_of[smaller])
        message = (
            f"share {len(shared_texts):,} texts ({share:.0%} of those of {smaller}) and {len(shared_pairs):,} pairs"
        )
        examples = tuple({"text": text} for text in sorted(shared_texts)[:MAX_EXAMPLES])
        findings.append(
            DataFinding(
                name="shared-texts",
                severity="warning",
                split=f"{first}+{second}",
                count=len(shared_texts),
                message=message,
                examples=examples,
            )
        )
    return findings


def _is_long(text: str) -> bool:
    return len(text) >= MIN_SHARED_LENGTH


def _long_pairs(tables: Sequence[Pairs]) -> set[frozenset[str]]:
    """Return the pairs of texts, as sets, of which at least one text is long."""
    long_pairs = set()
    for pairs in tables:
        references, candidates, _ = pairs.texts()
        for golds, candidate in zip(references, candidates, strict=True):
            for gold in [golds] if isinstance(golds, str) else golds:
                texts = frozenset((gold.strip(), candidate.strip()))
                if any(map(_is_long, texts)):
                    long_pairs.add(texts)
    return long_pairs
