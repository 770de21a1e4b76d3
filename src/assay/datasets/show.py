"""A card as plain data, for whoever prints it."""

from __future__ import annotations

from typing import Any

from assay.datasets.card import Card
from assay.datasets.fetch import is_here

__all__ = ["describe_card"]


def describe_card(card: Card) -> dict[str, Any]:
    """Return what a reader of a card wants to know, ready for JSON; nothing is fetched."""
    shown: dict[str, Any] = {
        "name": card.name,
        "version": card.version,
        "title": card.title,
        "kind": card.kind,
        "language": list(card.language) if isinstance(card.language, tuple) else card.language,
        "scale": {"low": card.scale.low, "high": card.scale.high, "meaning": card.scale.meaning},
        "licence": card.licence,
        "citation": card.citation,
        "homepage": card.homepage,
        "description": card.description,
        "splits": {title: split.rows for title, split in card.splits.items()},
        "default_split": card.default_split,
        "files": [entry.model_dump() for entry in card.files],
        "sources": [source.describe() for source in card.sources],
        "here": is_here(card),
        "reader": card.reader,
        "notes": list(card.notes),
    }
    for name in ("supersedes", "superseded_by", "instructions"):
        value = getattr(card, name)
        if value:
            shown[name] = value
    return shown
