"""What a reader is told of a text: cut, blank."""

from __future__ import annotations

import numpy as np

from assay.metrics import Batch
from assay.metrics.neural.session import blank_flags, flags_of

BATCH = Batch(["a", " \n", "", "b", "\t"], ["a", "b", " ", "", "c"])


def test_blank_texts() -> None:
    # 4: reference, 8: candidate
    found = blank_flags(BATCH)
    assert found.tolist() == [0, 4, 12, 8, 4] and found.dtype == np.uint8


def test_cut_texts_beside_blank_ones() -> None:
    # 1: reference cut, 2: candidate cut
    found = flags_of(BATCH, [True, False, True, False, True], iter([True, True, False, False, False]))
    assert found.tolist() == [3, 6, 13, 8, 5] and found.dtype == np.uint8


def test_no_pairs() -> None:
    assert flags_of(Batch([], []), [], []).tolist() == []
