"""Run folders of earlier versions stay readable by every report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from assay import compare, leaderboard
from assay.analysis.data import read_datasets
from assay.analysis.folder import read_run
from assay.exceptions import InputError

KEPT = sorted(path.parent for path in Path(__file__).with_name("examples").glob("*/scores.parquet"))


@pytest.mark.parametrize("folder", KEPT, ids=lambda folder: folder.name)
def test_a_kept_folder_is_read_and_reported_on(folder):
    run = read_run(folder)
    (data,) = read_datasets(run)
    assert data.scores
    assert all(np.isfinite(scores).all() for scores in data.scores.values())
    assert data.groups is not None
    assert len(set(data.groups.tolist())) == 6
    assert not data.metrics["ter"].declared.higher_is_better
    held = {(row.metric, row.statistic): row.value for row in run.agreement if row.bucket == "all"}
    report = leaderboard(folder, resamples=100, buckets=["all"])
    for record in report.document.records:
        for statistic in ("pearson", "spearman", "kendall"):
            assert record[statistic] == pytest.approx(held[record["metric"], statistic], abs=1e-12)
    assert len(compare(folder, permutations=100, resamples=100).document.records) == 9


def test_groups_that_an_old_folder_did_not_keep_are_missed(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    for file in KEPT[0].iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    table = pq.read_table(folder / "pairs.parquet").drop_columns(["question"])
    pq.write_table(table, folder / "pairs.parquet")
    with pytest.raises(InputError, match="was resampled by 'question', which this older folder did not keep"):
        _ = read_datasets(read_run(folder))[0].groups
