"""Scores that are computed once, and what is told where they cannot be written."""

from __future__ import annotations

import resource
import signal

import numpy as np
import pytest

from assay.exceptions import InputError
from assay.training.folder import cached_scores


@pytest.fixture
def file_limit():
    """Return what sets the greatest size of a file in this process, which stands in for a full disk."""
    held = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    yield lambda size=held[0]: resource.setrlimit(resource.RLIMIT_FSIZE, (size, held[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, held)
    signal.signal(signal.SIGXFSZ, ignored)


@pytest.mark.parametrize("damage", [b"", b"\x93NUMPY\x01"])
def test_damaged_scores_are_computed_again(tmp_path, monkeypatch, damage):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    cached_scores("one", ["a"], lambda: np.arange(3.0))
    (file,) = (tmp_path / "targets").iterdir()
    file.write_bytes(damage)
    assert cached_scores("one", ["a"], lambda: np.arange(4.0)).tolist() == [0, 1, 2, 3]
    assert cached_scores("one", ["a"], lambda: np.arange(5.0)).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("size", [64, 4096])  # neither the head of the file has room, or half of its numbers
def test_a_full_disk_is_one_line_and_leaves_no_half_file(tmp_path, monkeypatch, file_limit, size):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    scores = np.arange(1000.0)
    assert cached_scores("one", ["a"], lambda: scores) is scores
    file_limit(size)
    try:
        with pytest.raises(InputError, match=r"targets: the disk is full; free some space and repeat") as caught:
            cached_scores("other", ["a"], lambda: scores)
    finally:
        file_limit()
    assert "\n" not in str(caught.value)
    assert len(list((tmp_path / "targets").iterdir())) == 1
    # what was kept before is there, the rest is computed again
    assert cached_scores("one", ["a"], lambda: scores[:0]).tolist() == scores.tolist()
    assert cached_scores("other", ["a"], lambda: 2 * scores).tolist() == (2 * scores).tolist()
    assert cached_scores("other", ["a"], lambda: scores[:0]).tolist() == (2 * scores).tolist()
