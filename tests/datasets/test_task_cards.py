"""The cards of pairwise classification: rows, shares of yes, and the degrees that table 1 of their paper prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.datasets import load_card_splits
from assay.datasets.annotation_graph import describe_graph, graph_of

#: By card: rows and rows with the label 1 of each split, then mean and deviation of the degree, as printed by Waldis,
#: Beck and Gurevych (2022), table 1. That of QNLI is of the whole set, of which the development part is here.
TASKS = {
    "rte": ({"train": (2490, 1249), "dev": (277, 146)}, False, ("1.1", "0.6")),
    "qnli-dev": ({"dev": (5463, 2702)}, False, None),
    "ukp-aspect-binary": ({"all": (3595, 1301)}, False, ("3.5", "3.0")),
    "argkp-topics": ({"train": (24093, 4998), "test": (3426, 552)}, False, ("7.1", "18.1")),
    "ukpconvarg1": ({"all": (11650, 5872)}, True, ("22.2", "4.6")),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_rows_labels_and_degrees(with_shared: Path, name: str) -> None:
    sizes, directed, degree = TASKS[name]
    splits = load_card_splits(name, offline=True)
    assert {split: (len(pairs), int((pairs.labels == 1).sum())) for split, pairs in splits.items()} == sizes
    assert all(set(pairs.labels.tolist()) == {0.0, 1.0} and pairs.scale == (0.0, 1.0) for pairs in splits.values())
    if degree is not None:
        # ArgKP is the part that was published first
        parts = [splits["train"]] if name == "argkp-topics" else list(splits.values())
        found = describe_graph(graph_of(parts, directed=directed))["degree"]
        assert (f"{found['mean']:.1f}", f"{found['deviation']:.1f}") == degree


@pytest.mark.slow
def test_topics_to_test_are_none_to_train(with_shared: Path) -> None:
    splits = load_card_splits("argkp-topics", offline=True)
    topics = {name: set(pairs.column("group").to_pylist()) for name, pairs in splits.items()}
    assert (len(topics["train"]), len(topics["test"])) == (28, 3) and not topics["train"] & topics["test"]
    rows = load_card_splits("kpa-2021", offline=True)["test"]
    assert sorted(zip(*splits["test"].texts()[:2], strict=True)) == sorted(zip(*rows.texts()[:2], strict=True))
