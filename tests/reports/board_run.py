"""Runs for the leaderboard: five datasets of four recorded scores, in two languages, with buckets by subset."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import assay
from assay.analysis.folder import read_run
from assay.analysis.leaderboard.explore import ExploredSet
from assay.analysis.leaderboard.join import Filters, join_runs

#: Dataset -> language, tasks, licence; the last has labels but no card.
SETS = {
    "essays": ("en", ("grading",), "MIT"),
    "news": ("en", ("sentences", "grading"), "CC BY 4.0 (see the archive); news"),
    "captions": ("de", ("sentences",), "CC BY 4.0"),
    "forum": ("de", ("grading",), "MIT"),
    "own": ("en", (), ""),
}
#: Score -> how much of it follows the labels; ``<b>odd`` is a name that a careless page would take for markup.
SHARES = {"good": 0.5, "fair": 0.47, "<b>odd": 0.3, "poor": 0.05}


def make_runs(folder: Path, pairs: int = 80) -> list[Path]:
    """Return one run folder for each dataset; the score ``poor`` is missing on the last."""
    runs = []
    for number, (name, (language, _, _)) in enumerate(SETS.items()):
        rng = np.random.default_rng(number)
        labels = rng.integers(0, 5, pairs)
        table = {"label": labels, "language": language, "subset": np.where(np.arange(pairs) % 4, "long", "short")}
        for score, share in SHARES.items():
            if (name, score) != ("own", "poor"):
                table[score] = np.round(share * labels / 4 + (1 - share) * rng.random(pairs), 3)
        pd.DataFrame(table).to_csv(folder / f"{name}.csv", index=False)
        assay.agree(folder / f"{name}.csv", buckets=["subset"], resamples=0, out=folder / f"{name}-run")
        runs.append(folder / f"{name}-run")
    return runs


def make_sets(runs: list[Path], wanted: Callable[[str], bool] = lambda _: True) -> list[ExploredSet]:
    """Return the datasets of the runs with the tasks and licences that a card would have."""
    sets = []
    for joined in join_runs([read_run(run) for run in runs], Filters()):
        _, tasks, terms = SETS[joined.data.name]
        if wanted(joined.data.name):
            sets.append(ExploredSet(joined, tasks, terms))
    return sets
