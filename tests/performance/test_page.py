"""The page of 100,000 pairs and 10 metrics: seconds to write, memory, size, and seconds until a browser shows it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import assay
from tests.performance.ratio import PEAK

PAIRS, METRICS = 100_000, 10
#: Bars on the whole process, the start of Python included.
WRITE_SECONDS, PEAK_MB, OPEN_SECONDS = 60, 2000, 3

WRITE = (
    PEAK
    + """
import sys, time
start = time.perf_counter()
from pathlib import Path
from assay.analysis.folder import read_run
from assay.reports.page.render import write_page
write_page([read_run(Path(sys.argv[1]))], Path(sys.argv[2]))
print(peak_mb(), time.perf_counter() - start)
"""
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Questions of nine words, answers of three and four, labels 0 to 2, ten recorded scores."""
    folder = tmp_path_factory.mktemp("big")
    rng = np.random.default_rng(0)
    words = np.array([f"word{number}" for number in range(5000)])
    label = rng.integers(3, size=PAIRS).astype(float)
    columns = {
        name: [" ".join(row) for row in words[rng.integers(5000, size=(PAIRS, count))]]
        for name, count in (("question", 9), ("reference", 3), ("candidate", 4))
    }
    columns |= {f"m{number}": label * number / 10 + rng.normal(size=PAIRS) for number in range(METRICS)}
    pq.write_table(pa.table({**columns, "label": label}), folder / "pairs.parquet")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE", str(folder / "cache"))
        metrics = [f"recorded:m{number}" for number in range(METRICS)]
        assay.run([folder / "pairs.parquet"], metrics, buckets=["number"], resamples=0, out=folder / "run")
    return folder / "run"


@pytest.fixture(scope="module")
def written(run):
    """The page, and megabytes and seconds that it took."""
    folder = run.parent / "page"
    peak, seconds = map(float, subprocess.check_output([sys.executable, "-c", WRITE, run, folder]).split())
    return folder / "index.html", peak, seconds


def test_the_page_is_written_in_time(written, capsys):
    path, peak, seconds = written
    with capsys.disabled():
        size = path.stat().st_size / 1e6
        print(
            f"\n{PAIRS:,} pairs, {METRICS} metrics: {seconds:.1f} s, {peak:.0f} MB at the peak, page of {size:.1f} MB"
        )
    assert seconds < WRITE_SECONDS
    assert peak < PEAK_MB


def test_the_page_opens_in_time(written, browser, capsys):
    found = []
    for _ in range(3):
        page = browser.new_page()
        page.goto(written[0].as_uri())
        page.locator("#pairs-list > li").first.wait_for(state="attached")
        assert page.locator("#pairs-said").text_content() == f"Pairs 1 to 20 of {PAIRS:,}."
        found.append(page.evaluate("performance.getEntriesByName('ready')[0].startTime / 1000"))
        page.close()
    with capsys.disabled():
        print(f"\nopens in {', '.join(f'{seconds:.2f}' for seconds in found)} s")
    assert max(found) < OPEN_SECONDS
