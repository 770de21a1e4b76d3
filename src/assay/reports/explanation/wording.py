"""Sentences about what is usual."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.reports.layout import short

__all__ = ["notable", "of_usual"]


def notable(one: Mapping[str, Any]) -> str:
    """Return a line that names the aspects outside of what is usual, the farthest outside first."""
    phrases = []
    for way in ("low", "high"):
        found = [item for item in one["aspects"] if item["usual"]["unusual"] == way]
        found.sort(key=_distance, reverse=True)
        if found:
            phrases.append(f"unusually {way}: " + "; ".join(map(_phrase, found)))
    return "; ".join(phrases) if phrases else "no aspect is unusual for pairs of this overall score"


def _distance(item: Mapping[str, Any]) -> float:
    usual = item["usual"]
    return float(max(usual["low"] - item["score"], item["score"] - usual["high"]))


def _phrase(item: Mapping[str, Any]) -> str:
    usual = item["usual"]
    ends = f"{short(usual['low'], 2)} to {short(usual['high'], 2)}"
    return f"{item['aspect']} {short(item['score'], 2)}, usual {ends}"


def of_usual(one: Mapping[str, Any]) -> str:
    """Return a line that says what usual means here, and how many aspects are outside by chance alone."""
    held = one["compared"]
    count = len(one["aspects"])
    return (
        f"usual: from the 5% to the 95% quantile of the {held['pairs']} reference pairs, of {held['total']}, that are "
        f"nearest in overall score ({short(held['low'], 2)} to {short(held['high'], 2)}); lower: the share of them "
        f"below the score. So about {count / 10:.1f} of {count} aspects are unusual in an ordinary pair"
    )
