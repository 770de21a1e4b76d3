"""Tables of labelled pairs: cards, sources, readers, the user's own files, checks.

Nothing heavy is imported here: each public name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.common.lazy import lazy_attributes

if TYPE_CHECKING:
    from assay.datasets.card import Card, DatasetEntry, list_datasets, load_card
    from assay.datasets.checks import DataFinding, check_dataset
    from assay.datasets.columns import SourceTable
    from assay.datasets.files import read_table_file
    from assay.datasets.graphs import join_graphs
    from assay.datasets.load import load_card_splits, load_dataset
    from assay.datasets.pairs import Pairs
    from assay.datasets.show import describe_card, describe_file
    from assay.datasets.sources import fetch_dataset, is_here
else:
    __getattr__, __dir__ = lazy_attributes(__name__)

__all__ = [
    "Card",
    "DataFinding",
    "DatasetEntry",
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
