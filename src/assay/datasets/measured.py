"""What was measured on the labels of built-in datasets, which ships with assay for machines without their files."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

from assay.datasets.card import Card

#: The file, which ``python -m tests.measured`` makes.
FILE = "measured.json"


def shipped_measures(card: Card) -> dict[str, Any] | None:
    """Return what was measured on the default split of a card: version, split, label counts, ceiling, reliability.

    None if that was never measured, or on another version of the dataset.
    """
    measures = _all_measures().get(card.name)
    return measures if measures is not None and measures["version"] == card.version else None


@cache
def _all_measures() -> dict[str, dict[str, Any]]:
    text = (resources.files("assay.datasets") / FILE).read_text(encoding="utf-8")
    measures: dict[str, dict[str, Any]] = json.loads(text)
    return measures
