"""Tables of labelled pairs: cards, sources, readers, the user's own files, checks.

Nothing heavy is imported here: each public name is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.datasets.card import Card
    from assay.datasets.checks import Finding, check_dataset
    from assay.datasets.fetch import fetch_dataset, is_here
    from assay.datasets.files import read_table_file
    from assay.datasets.graphs import join_graphs
    from assay.datasets.load import load_card_splits, load_dataset
    from assay.datasets.pairs import Pairs
    from assay.datasets.registry import DatasetEntry, list_datasets, load_card
    from assay.datasets.show import describe_card, describe_file
    from assay.datasets.source_table import SourceTable

__all__ = [
    "Card",
    "DatasetEntry",
    "Finding",
    "Pairs",
    "SourceTable",
    "check_dataset",
    "describe_card",
    "describe_file",
    "fetch_dataset",
    "is_here",
    "join_graphs",
    "list_datasets",
    "load_card",
    "load_card_splits",
    "load_dataset",
    "read_table_file",
]

_HOMES = {
    "Card": "card",
    "DatasetEntry": "registry",
    "Finding": "checks",
    "Pairs": "pairs",
    "SourceTable": "source_table",
    "check_dataset": "checks",
    "describe_card": "show",
    "describe_file": "show",
    "fetch_dataset": "fetch",
    "is_here": "fetch",
    "join_graphs": "graphs",
    "list_datasets": "registry",
    "load_card": "registry",
    "load_card_splits": "load",
    "load_dataset": "load",
    "read_table_file": "files",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
