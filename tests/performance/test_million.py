"""One million pairs from Parquet through f1, bleu and rouge-l into the store: memory stays within a stated bound."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.performance.ratio import PEAK

#: Bound on the whole process, libraries and the table of texts included.
BOUND_MB = 1000
PAIRS = int(os.environ.get("ASSAY_TEST_PAIRS", "1000000"))

RUN = (
    PEAK
    + """
import sys, time
import assay
from assay.benchmark.request import Request
from assay.benchmark.runner import score_pairs
from assay.metrics import load_metric
from pathlib import Path
metrics = tuple(load_metric(name) for name in ("f1", "bleu", "rouge-l"))
from assay.metrics import Batch
for metric in metrics:
    metric.score(Batch(["warm up"], ["warm"]))
start = time.perf_counter()
pairs = assay.load_dataset(sys.argv[1])
outcome = score_pairs(Request((pairs,), metrics, resamples=0), store=Path(sys.argv[2]))
assert [status.status for status in outcome.metrics] == ["done"] * 3
assert len(outcome.datasets[0].scores["bleu"]) == len(pairs)
print(peak_mb(), time.perf_counter() - start)
"""
)


@pytest.fixture
def parquet(tmp_path):
    rng = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(5000)])
    path = tmp_path / "pairs.parquet"
    schema = pa.schema([("reference", pa.string()), ("candidate", pa.string()), ("label", pa.float64())])
    with pq.ParquetWriter(path, schema) as writer:
        for _ in range(max(1, PAIRS // 100_000)):
            n = min(PAIRS, 100_000)
            texts = [[" ".join(row) for row in words[rng.integers(5000, size=(n, 4))]] for _ in range(2)]
            writer.write_table(pa.table([*texts, rng.integers(3, size=n).astype(float)], schema=schema))
    return path


def test_memory_is_bounded(parquet, tmp_path, capsys):
    done = subprocess.check_output([sys.executable, "-c", RUN, parquet, tmp_path / "scores.sqlite"])
    peak, seconds = map(float, done.split())
    with capsys.disabled():
        print(f"\n{PAIRS:,} pairs, 3 metrics: {peak:.0f} MB at the peak, {seconds:.0f} s")
    assert peak <= BOUND_MB
