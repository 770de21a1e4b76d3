"""What a shell completes beside verbs and options: names of metrics, datasets, buckets and runs.

A shell waits for the answer at every press of the key. So nothing here imports NumPy, pandas or torch; of a card the
first line is read, and of runs the manifest of the one that stands before the cursor.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import typer

Completer = Callable[[typer.Context, str], list[str]]

#: Rules of buckets that need no column of the data's own.
BUCKETS = ("none", "f1", "length", "number", "subset", "split", "language")


def completer_of(setting: str, metavar: str | None) -> Completer | None:
    """Return what completes a setting, by its name or by what the help calls its value; None for others."""
    return COMPLETERS.get(setting) or COMPLETERS.get(metavar or "")


def complete_metrics(context: typer.Context, incomplete: str) -> list[str]:
    """Return the metrics of the run before the cursor, or all that are installed."""
    run = _run_of(context)
    if run is not None:
        return _beginning(incomplete, [record["metric"] for record in run["metrics"]])
    from importlib import metadata

    from assay.metrics.provenance import ENTRY_POINTS
    from assay.metrics.registry import built_in

    plugins = [point.name for point in metadata.entry_points(group=ENTRY_POINTS)]
    return _beginning(incomplete, sorted([*built_in(), *plugins]))


def complete_datasets(context: typer.Context, incomplete: str) -> list[str]:
    """Return the datasets of the run before the cursor, or those whose cards come with assay."""
    run = _run_of(context)
    if run is not None:
        return _beginning(incomplete, [record["name"] for record in run["datasets"]])
    names = []
    for card in (Path(__file__).parents[1] / "datasets" / "cards").glob("*.toml"):
        with card.open(encoding="utf-8") as file:
            # the first line of every card that comes with assay
            names.append(file.readline().partition("=")[2].strip().strip('"'))
    return _beginning(incomplete, sorted(names))


def complete_buckets(context: typer.Context, incomplete: str) -> list[str]:
    """Return the buckets of the run before the cursor, or the rules that make some."""
    run = _run_of(context)
    return _beginning(incomplete, BUCKETS if run is None else [record["bucket"] for record in run["buckets"]])


def complete_runs(context: typer.Context, incomplete: str) -> list[str]:
    """Return run folders below what is written, here and in ``runs``, the newest first."""
    written = Path(incomplete)
    above = written if incomplete.endswith("/") else written.parent
    folders = [above, Path("runs")] if above == Path() else [above]
    manifests = [manifest for folder in folders for manifest in folder.glob("*/run.json")]
    manifests.sort(key=lambda manifest: manifest.stat().st_mtime, reverse=True)
    return _beginning(incomplete, (str(manifest.parent) for manifest in manifests))


#: By the name of a setting, or by what the help calls its value, what completes it.
COMPLETERS: dict[str, Completer] = {
    "METRIC": complete_metrics,
    "DATASET": complete_datasets,
    "BUCKET": complete_buckets,
    "RUN": complete_runs,
    "buckets": complete_buckets,
}


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if name.startswith(incomplete)]


def _run_of(context: typer.Context) -> dict[str, Any] | None:
    """Return the manifest of the first run among the arguments before the cursor; None where there is none."""
    given = context.params.get("runs") or context.params.get("run") or ()
    # an option without its value, which is being completed, leaves the arguments before it unread
    for folder in [*([given] if isinstance(given, str | Path) else given), *context.args]:
        try:
            manifest = json.loads((Path(folder) / "run.json").read_text(encoding="utf-8"))
            if {"metrics", "datasets", "buckets"} <= set(manifest):
                return dict(manifest)
        except (OSError, ValueError, TypeError):
            # a file, or no run: the shell gets names that are known without it
            continue
    return None
