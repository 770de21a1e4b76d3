"""One model a seed, each made in a folder of its own and renamed when it is whole, so that a killed one goes on."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from assay.metrics.models.files import read_json
from assay.training.folder import Workplace, write_json
from assay.training.ranks import follows

__all__ = ["RESULTS", "Render", "Results", "make_models", "write_results"]

#: The results as JSON; the same as Markdown stands beside it.
RESULTS = "results.json"
Results = dict[str, Any]
#: Gives results as Markdown.
Render = Callable[[Results], str]


def make_models(
    place: Workplace,
    first: int,
    number: int | None,
    make: Callable[[int, Path], None],
    summarise: Callable[[list[Results]], Results],
    render: Render,
) -> Results:
    """Make what is not made yet, and return the results, of several models a summary with ``seeds``.

    Args:
        place: of the training; with a number, a folder ``seed-N`` for each model and a summary are left in it.
        first: the first seed.
        number: of models, or None for one model.
        make: trains a model of a seed into a folder that is there, and writes its results last; in a process that
            follows another one it trains and writes nothing, and the process ends after the last seed.
        summarise: makes one of the results of several models.
        render: gives results as Markdown.
    """
    seeds = list(range(first, first + (number or 1)))
    found = []
    for seed in seeds:
        made = place.made if number is None else place.made / f"seed-{seed}"
        if not (made / RESULTS).is_file():
            new = place.folder / f"new-{seed}"
            if follows():
                make(seed, new)
                continue
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir()
            make(seed, new)
            made.parent.mkdir(exist_ok=True)
            new.rename(made)
            shutil.rmtree(place.checkpoints(seed), ignore_errors=True)
        if not follows():
            found.append(read_json(made / RESULTS))
    if follows():
        raise SystemExit(0)  # its work ends with the last training
    results: Results = found[0] if len(found) == 1 else summarise(found) | {"seeds": seeds}
    if number is not None:
        write_results(results, place.made, render)
    return results


def write_results(results: Mapping[str, Any], folder: Path, render: Render) -> None:
    """Write results as JSON and, by *render*, as Markdown."""
    # the Markdown first: the JSON says that all is there
    (folder / RESULTS).with_suffix(".md").write_text(render(dict(results)), encoding="utf-8")
    write_json(folder / RESULTS, results)
