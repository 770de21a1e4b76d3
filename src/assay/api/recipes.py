"""The way from what was asked of a recipe to its results: device, progress and rendering."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

from assay.benchmark.progress import Progress, Silent
from assay.metrics.neural.runtime import Runtime, use_runtime
from assay.reports.sheets import Document, write
from assay.training.seeded import Render, Results

__all__ = ["Train", "run_recipe"]

Asked_contra = TypeVar("Asked_contra", contravariant=True)
Asked = TypeVar("Asked")


class Train(Protocol[Asked_contra]):
    """The whole of a recipe: it trains what was asked for, and writes a folder."""

    def __call__(
        self, asked: Asked_contra, out: Path, /, *, runtime: Runtime, render: Render, progress: Progress
    ) -> Results:
        """Return the results; see :func:`run_recipe`."""
        ...


def run_recipe(
    train: Train[Asked],
    asked: Asked,
    out: str | Path,
    document: Callable[[Mapping[str, Any]], Document],
    *,
    device: str,
    threads: int | None,
    progress: Progress | None,
) -> Results:
    """Return the results of a recipe.

    Args:
        train: the recipe.
        asked: its settings.
        out: the folder of the model.
        document: lays out the results that stand in the folder and on the card.
        device, threads: of the training and of every model that it reads.
        progress: told of every step.
    """
    runtime = Runtime(device=device, threads=threads)
    with use_runtime(runtime):
        return train(
            asked,
            Path(out),
            runtime=runtime,
            render=lambda results: write(document(results), "md"),
            progress=progress or Silent(),
        )
