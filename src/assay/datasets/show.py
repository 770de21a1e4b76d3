"""A card as plain data, for whoever prints it."""

from __future__ import annotations

from typing import Any

from assay.datasets.annotation_graph import describe_graph, graph_of
from assay.datasets.card import Card
from assay.datasets.fetch import is_here
from assay.datasets.load import load_card_splits
from assay.errors import AssayError

__all__ = ["describe_card"]


def describe_card(card: Card, *, directed: bool = False) -> dict[str, Any]:
    """Return what a reader of a card wants to know, ready for JSON; nothing is fetched.

    ``annotation_graph`` is measured on all splits together where their files are on this machine; otherwise it is not
    there. Where it cannot be measured, it has the reason as ``error``.

    Args:
        card: of the dataset.
        directed: whether the order of two texts matters in the annotation graph.
    """
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
    if all(is_here(card, title) for title in card.splits):
        shown["annotation_graph"] = _measured(card, directed)
    return shown


def _measured(card: Card, directed: bool) -> dict[str, Any]:
    """Return the measures of the annotation graph, or why there are none: a card can be shown all the same."""
    try:
        splits = load_card_splits(card, offline=True)
        return describe_graph(graph_of(list(splits.values()), directed=directed))
    except AssayError as error:
        return {"error": str(error)}
