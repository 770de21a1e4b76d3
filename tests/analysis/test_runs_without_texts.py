"""A run on scores alone: nothing is known of its texts, and each pair stands for itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import assay
from assay.analysis.data import read_datasets
from assay.analysis.folder import read_run
from assay.analysis.pair_codes import pair_codes
from assay.exceptions import InputError


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    lines = [f"{row % 2},{row % 2 + rng.normal():.4f}" for row in range(60)]
    path = tmp_path / "scored.csv"
    path.write_text("label,a\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_thresholds_and_folds_need_no_texts(scored: Path, tmp_path: Path) -> None:
    assay.agree(scored, out=tmp_path / "run", resamples=0)
    for given in (scored, tmp_path / "run"):
        assert assay.crossval(given, folds=5).to_markdown().count("recorded:a") >= 1
        assert assay.thresholds(given, folds=5, resamples=100).to_markdown().count("recorded:a") >= 1


def test_pairs_of_one_text_are_still_one(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    rows = ["x,y,1,0.5", "X.,y,0,0.4", ",,1,0.2", ",,0,0.1", "z,y,1,0.3"]
    path.write_text("reference,candidate,label,a\n" + "\n".join(rows) + "\n", encoding="utf-8")
    assay.agree(path, out=tmp_path / "run", resamples=0)
    (data,) = read_datasets(read_run(tmp_path / "run"))
    assert pair_codes(data).tolist() == [0, 0, 1, 1, 2]
    # of the references alone nothing follows
    path.write_text("reference,label,a\nx,1,0.5\nx,0,0.4\n", encoding="utf-8")
    assay.agree(path, out=tmp_path / "half", resamples=0)
    (data,) = read_datasets(read_run(tmp_path / "half"))
    assert pair_codes(data).tolist() == [0, 1]


def test_too_few_pairs_that_differ_are_told(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("reference,candidate,label,a\n" + "x,y,1,0.5\nx,y,0,0.4\n" * 10, encoding="utf-8")
    with pytest.raises(InputError, match="there are too few pairs or groups that differ") as caught:
        assay.crossval(path, folds=3)
    assert "expected 2 to 1" not in str(caught.value)
