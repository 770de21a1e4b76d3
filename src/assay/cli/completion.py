"""Shell completion of values: names of metrics, datasets, buckets and runs.

A shell waits for completions whenever the completion key is pressed, so they must be fast. Nothing here imports NumPy,
pandas or torch; only the first line of each card is read, and only the manifest of the run before the cursor.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import typer

#: A function of the context and the incomplete word, which returns the completions of the word.
Completer = Callable[[typer.Context, str], list[str]]

#: Bucket rules that need no further column in the data.
COLUMN_FREE_BUCKETS = ("none", "f1", "length", "number", "subset", "split", "language")


def complete_metrics(context: typer.Context, incomplete: str) -> list[str]:
    """Return the matching metrics of the run before the cursor, or of all that are installed if there is no run."""
    run = _read_run_manifest(context)
    if run is not None:
        return _filter_by_prefix(incomplete, [record["metric"] for record in run["metrics"]])
    from importlib import metadata

    from assay.metrics.provenance import ENTRY_POINTS
    from assay.metrics.registry import built_in_metrics

    plugins = [point.name for point in metadata.entry_points(group=ENTRY_POINTS)]
    return _filter_by_prefix(incomplete, sorted([*built_in_metrics(), *plugins]))


def complete_datasets(context: typer.Context, incomplete: str) -> list[str]:
    """Return the matching datasets of the run before the cursor, or of the cards that come with assay."""
    run = _read_run_manifest(context)
    if run is not None:
        return _filter_by_prefix(incomplete, [record["name"] for record in run["datasets"]])
    names = []
    for card_path in (Path(__file__).parents[1] / "datasets" / "cards").glob("*.toml"):
        with card_path.open(encoding="utf-8") as file:
            # every card that comes with assay has its name in the first line
            _, _, quoted_name = file.readline().partition("=")
        names.append(quoted_name.strip().strip('"'))
    return _filter_by_prefix(incomplete, sorted(names))


def complete_buckets(context: typer.Context, incomplete: str) -> list[str]:
    """Return the matching buckets of the run before the cursor, or the matching bucket rules if there is no run."""
    run = _read_run_manifest(context)
    if run is None:
        return _filter_by_prefix(incomplete, COLUMN_FREE_BUCKETS)
    return _filter_by_prefix(incomplete, [record["bucket"] for record in run["buckets"]])


def complete_runs(context: typer.Context, incomplete: str) -> list[str]:
    """Return the run folders that begin with the typed path, newest first; without a slash, also those in ``runs``.

    The folder is written as it was typed, such as ``./runs/``: a shell offers only what begins with the typed text.
    """
    typed_folder = incomplete[: incomplete.rfind("/") + 1]
    runs: dict[str, float] = {}
    for folder in [typed_folder] if typed_folder else ["", "runs/"]:
        for manifest in Path(folder).glob("*/run.json"):
            runs[folder + manifest.parent.name] = manifest.stat().st_mtime
    return _filter_by_prefix(incomplete, sorted(runs, key=runs.__getitem__, reverse=True))


#: Completers, by the name of a setting (lower case) or by its metavar in the help (upper case).
COMPLETERS: dict[str, Completer] = {
    "METRIC": complete_metrics,
    "DATASET": complete_datasets,
    "BUCKET": complete_buckets,
    "RUN": complete_runs,
    "buckets": complete_buckets,
}


def _filter_by_prefix(prefix: str, names: Iterable[str]) -> list[str]:
    """Return the names that start with a prefix, each once, in their order."""
    return [name for name in dict.fromkeys(names) if name.startswith(prefix)]


def _read_run_manifest(context: typer.Context) -> dict[str, Any] | None:
    """Return the manifest of the first run among the arguments before the cursor; None if there is no run."""
    runs_or_run = context.params.get("runs") or context.params.get("run") or ()
    run_paths = [runs_or_run] if isinstance(runs_or_run, str | Path) else runs_or_run
    # while the value of an option is being completed, arguments before it may be unparsed, in context.args
    for folder in [*run_paths, *context.args]:
        try:
            manifest = json.loads((Path(folder) / "run.json").read_text(encoding="utf-8"))
            if {"metrics", "datasets", "buckets"} <= set(manifest):
                return dict(manifest)
        except (OSError, ValueError, TypeError):
            # not a run folder: completions then come from what is installed
            continue
    return None
