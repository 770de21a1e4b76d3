"""A run that a test kills, with the log of scored pairs in $COUNTING_LOG.

python -m tests.benchmark.killed_run STORE OUT PAUSE
"""

from __future__ import annotations

import sys
from pathlib import Path

import assay
from assay.benchmark import scoring
from tests.benchmark.counting import Counting

scoring.CHUNK = 50


def main() -> None:
    store, out, pause = sys.argv[1:]
    rows = [{"reference": f"text {i % 400}", "candidate": "x" * (i % 37), "label": (i * 7) % 5} for i in range(1000)]
    metrics = [Counting(pause=float(pause)), "f1", "levenshtein"]
    assay.run([rows], metrics, store=Path(store), out=Path(out), resamples=200)


if __name__ == "__main__":
    main()
