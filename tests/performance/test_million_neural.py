"""One million short pairs in three datasets, three models: one in memory at a time, the rest within a stated bound.

The models are tiny, so that what is measured is assay's own share: texts, tokens, scores, what is kept for later.
"""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.performance.ratio import PEAK

pytest.importorskip("torch", reason="torch is absent: pip install assay[neural]")
pytest.importorskip("sentence_transformers", reason="sentence-transformers is absent: pip install assay[neural]")

from tests.metrics.models.tiny import WORDS, make_bert

#: Bound on the peak beyond the process with a model in memory.
BOUND_MB = 500
PAIRS = int(os.environ.get("ASSAY_TEST_PAIRS", "1000000"))

RUN = (
    PEAK
    + """
import gc, sys, time
from pathlib import Path
import assay
from assay.benchmark import executor
from assay.benchmark.request import Request
from assay.benchmark.runner import score_pairs
from assay.metrics import Batch, load_metric
from assay.metrics import work
from assay.metrics.neural.runtime import Runtime, use_runtime

folder, *data = sys.argv[1:]
names = ("bi-encoder:{}/encoder", "cross-encoder:{}/scorer", "bertscore:{}/other")
metrics = tuple(load_metric(name.format(folder)) for name in names)
most = 0
opened = executor.open_session

def watched(engine, *, keep=False):
    global most
    session = opened(engine, keep=keep)
    most = max(most, len(work._open_sessions))
    return session

executor.open_session = watched
with use_runtime(Runtime(device="cpu", threads=1)):
    for metric in metrics:
        metric.score(Batch(["one two three"] * 2, ["three"] * 2))
    gc.collect()
    with open("/proc/self/clear_refs", "w") as reset:
        reset.write("5")
    before = peak_mb()
    start = time.perf_counter()
    pairs = tuple(assay.load_dataset(name) for name in data)
    outcome = score_pairs(Request(pairs, metrics, resamples=0), store=Path(folder) / "scores.sqlite")
assert [status.status for status in outcome.metrics] == ["done"] * 9, outcome.metrics
assert {status.scored for status in outcome.metrics} == {len(pairs[0]) for _ in pairs}, outcome.metrics
print(before, peak_mb(), most, time.perf_counter() - start)
"""
)


@pytest.fixture
def folder(tmp_path):
    """Three models, and three files of pairs of three to five words, all different."""
    make_bert(tmp_path / "encoder", hidden=32, layers=1, heads=2, pooling="mean")
    make_bert(tmp_path / "other", hidden=32, layers=1, heads=2, seed=1)
    make_bert(tmp_path / "scorer", hidden=32, layers=1, heads=2, labels=1)
    rng = np.random.default_rng(0)
    words = np.array(WORDS)
    n = PAIRS // 3
    for number in range(3):
        sides = [
            [" ".join(row) + f" {i + side * PAIRS + number * n}" for i, row in enumerate(words[chosen])]
            for side, chosen in enumerate(rng.integers(len(words), size=(2, n, 3)))
        ]
        table = pa.table({"reference": sides[0], "candidate": sides[1], "label": rng.integers(3, size=n).astype(float)})
        pq.write_table(table, tmp_path / f"{number}.parquet")
    return tmp_path


def test_memory_beyond_the_model_is_bounded(folder, capsys):
    files = [str(folder / f"{number}.parquet") for number in range(3)]
    done = subprocess.check_output([sys.executable, "-c", RUN, str(folder), *files])
    before, peak, most, seconds = map(float, done.split())
    with capsys.disabled():
        print(
            f"\n{PAIRS:,} pairs in 3 datasets, 3 neural metrics: {peak - before:.0f} MB beyond the "
            f"{before:.0f} MB of a process with a model, {most:.0f} model in memory, {seconds:.0f} s"
        )
    assert most == 1
    assert peak - before <= BOUND_MB
