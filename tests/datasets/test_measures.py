"""Counts of labels: as many as there are labels, however much alike these look."""

from __future__ import annotations

import pytest

from assay.datasets import load_dataset
from assay.datasets.measures import label_counts


@pytest.mark.parametrize(
    ("labels", "counts"),
    [
        ([0.1234567, 0.1234568, 1, 1], {"0.1234567": 1, "0.1234568": 1, "1": 2}),
        ([1000001, 1000002, 1000001, -1000001], {"-1000001": 1, "1000001": 2, "1000002": 1}),
        ([1 / 3, 2 / 3, 1], {"0.3333": 1, "0.6667": 1, "1": 1}),
        # a label at a border belongs to the part above, the highest one to the last part
        (
            [10**8 + part for part in range(11)],
            {f"{10**8 + start} to {10**8 + start + 2}": 2 + (start == 8) for start in range(0, 10, 2)},
        ),
    ],
)
def test_labels_that_differ_are_counted_apart(labels: list[float], counts: dict[str, int]) -> None:
    pairs = load_dataset([{"reference": "a", "candidate": f"b{row}", "label": of} for row, of in enumerate(labels)])
    assert label_counts(pairs) == counts
