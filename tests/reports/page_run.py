"""A small run for the page: three metrics, an odd text of every kind, categories of people, a group."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import assay
from assay.analysis.data import ScoredDataset, read_datasets
from assay.analysis.folder import RunFolder, read_run

#: Texts that a careless page would run, break off at, or show wrongly.
ODD = {
    "script": "</script><script>document.title='broken'</script>",
    "comment": "<!-- <b>bold</b> &amp; &lt; -->",
    "quotes": "\"double\" 'single' `tick` ${x}",
    "hebrew": "שלום עולם",
    "arabic": "مرحبا بالعالم",
    "emoji": "👩🏽‍🔬 🏳️‍🌈 é",
    "override": "abc\u202edef",
    "control": "bell\u0007 and line\u2028end",
}


def rows() -> list[dict[str, Any]]:
    """Return 64 pairs; the first ones have the odd texts, as reference, candidate and question in turn."""
    found = []
    for number in range(64):
        odd = list(ODD.values())[number] if number < len(ODD) else f"river number {number}"
        found.append(
            {
                "reference": odd,
                "candidate": odd if number % 3 == 0 else f"river {number * 7}",
                "question": odd if number < len(ODD) else f"which river is number {number // 2}",
                "label": float(number % 3 == 0) + float(number % 2),
                "category": "Dates" if number % 16 == 9 else None,
            }
        )
    return found


def make_run(folder: Path, name: str = "run", **settings: Any) -> Path:
    """Run three metrics, or other *metrics*, and return the run folder."""
    settings = {"buckets": ["f1"], "group_by": "question", "resamples": 100, **settings}
    assay.run([rows()], settings.pop("metrics", ["f1", "chrf", "ter"]), out=folder / name, **settings)
    return folder / name


def edit(folder: Path, name: str, change: Callable[[Any], None]) -> RunFolder:
    """Change a JSON file of a run folder in place and return the run."""
    path = folder / name
    value = json.loads(path.read_text(encoding="utf-8"))
    change(value)
    path.write_text(json.dumps(value), encoding="utf-8")
    return read_run(folder)


def dataset(folder: Path) -> ScoredDataset:
    """Return the only dataset of a run."""
    (data,) = read_datasets(read_run(folder))
    return data
