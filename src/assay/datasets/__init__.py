"""Tables of labelled pairs: cards, sources, readers, the user's own files, checks.

Nothing heavy is imported here: each public name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.common.lazy import lazy_attributes

if TYPE_CHECKING:
    from assay.datasets.card import Card as Card
    from assay.datasets.checks import DataFinding as DataFinding
    from assay.datasets.checks import check_dataset as check_dataset
    from assay.datasets.columns import SourceTable as SourceTable
    from assay.datasets.files import read_table_file as read_table_file
    from assay.datasets.graphs import join_graphs as join_graphs
    from assay.datasets.load import load_card_splits as load_card_splits
    from assay.datasets.load import load_dataset as load_dataset
    from assay.datasets.locate import fetch_dataset as fetch_dataset
    from assay.datasets.locate import files_are_local as files_are_local
    from assay.datasets.pairs import Pairs as Pairs
    from assay.datasets.registry import DatasetEntry as DatasetEntry
    from assay.datasets.registry import list_datasets as list_datasets
    from assay.datasets.registry import load_card as load_card
    from assay.datasets.show import describe_card as describe_card
    from assay.datasets.show import describe_file as describe_file
else:
    __getattr__, __dir__ = lazy_attributes(__name__)
