"""What the jobs of all recipes have in common, and what is left of each model that one makes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from assay.metrics.models import LocatedModel
from assay.metrics.neural.loading import quiet
from assay.metrics.neural.runtime import Runtime, device_of, set_threads
from assay.training.card import Card, write_card
from assay.training.curves import write_curves
from assay.training.data import Examples, Source
from assay.training.folder import write_json
from assay.training.packages import versions
from assay.training.progress import Progress
from assay.training.ranks import own_device
from assay.training.request import Request
from assay.training.seeded import Render, write_results

__all__ = ["Job", "PairsJob", "take_device", "write_model"]


@dataclass(frozen=True, eq=False)
class Job(ABC):
    """What all seeds of a training share; a recipe adds what it works with.

    Attributes:
        settings: the request.
        base: the model that is started from.
        device, threads: see :func:`take_device`.
        progress: told of every step.
    """

    settings: Request
    base: LocatedModel
    device: str
    threads: int
    progress: Progress

    @property
    def request(self) -> Request:
        """What was asked for, as it is written down."""
        return self.settings

    @property
    @abstractmethod
    def sources(self) -> Mapping[str, Sequence[Source]]:
        """The datasets by use."""

    @property
    def digests(self) -> dict[str, list[str]]:
        """Of the data of each use."""
        return {name: [source.digest for source in sources] for name, sources in self.sources.items()}

    def plain_request(self, **more: Any) -> dict[str, Any]:
        """Return all that decides the result, as plain values; see :func:`~assay.training.folder.open_workplace`.

        Args:
            **more: what a recipe adds.
        """
        asked = {"recipe": self.request.recipe, "settings": self.request.plain()}
        return asked | {"base": self.base.digest, "data": self.digests} | more

    def facts(self, seed: int, out: Path, **more: Any) -> dict[str, Any]:
        """Return what ``training.json`` holds.

        Args:
            seed: of the model.
            out: the folder, as it was asked for.
            **more: what a recipe adds, its results among it.
        """
        return {
            "recipe": self.request.recipe,
            "settings": self.request.plain(),
            "seed": seed,
            "command": self.request.command(str(out)),
            "base": {"name": str(self.base.reference), "digest": self.base.digest, "revision": self.base.revision},
            "data": {name: [asdict(source) for source in sources] for name, sources in self.sources.items()},
            "device": self.device,
            "threads": self.threads,
            "versions": versions(),
            **more,
        }


@dataclass(frozen=True, eq=False)
class PairsJob(Job):
    """A job on sets of pairs.

    Attributes:
        sets: ``train``, ``dev`` and, but for the trial of a search, ``test``.
        counts: of pairs, for the model's card.
    """

    sets: Mapping[str, Examples]
    counts: Mapping[str, int]

    @property
    def sources(self) -> dict[str, tuple[Source, ...]]:
        """The datasets of each set."""
        return {name: one.sources for name, one in self.sets.items()}

    @property
    def digests(self) -> dict[str, list[str]]:
        """Of the data of each set, and of which of its pairs are in it."""
        return {name: one.digests for name, one in self.sets.items()}


def take_device(runtime: Runtime) -> tuple[str, int]:
    """Return the device that this process trains on, and the threads of its CPU, which are set."""
    return own_device(device_of(runtime)[0]), set_threads(runtime.threads)


def write_model(
    folder: Path,
    whole: Any,
    history: Sequence[Mapping[str, float]],
    facts: Mapping[str, Any],
    card: Card,
    data: Mapping[str, Sequence[Source]],
    render: Render,
) -> None:
    """Write a trained model with its curves, facts, card and, last, its results.

    Args:
        folder: of the model.
        whole: the model, of sentence-transformers.
        history: the trainer's log, a record a step.
        facts: see :meth:`Job.facts`.
        card: what the recipe says of the model.
        data: the datasets by use.
        render: gives results as Markdown.
    """
    with quiet():
        whole.save_pretrained(str(folder), create_model_card=False)
    write_curves(history, folder)
    write_json(folder / "training.json", facts)
    write_card(card, facts, data, render(facts["results"]), folder)
    write_results(facts["results"], folder, render)
