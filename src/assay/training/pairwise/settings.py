"""What can be asked of a training on labelled pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from assay.errors import InputError
from assay.settings import parse_scale
from assay.training.batches import STRATEGIES
from assay.training.settings import RecipeSettings

__all__ = ["BATCHES", "LEARNING", "LOSSES", "RECIPES", "BiEncoderSettings", "CrossEncoderSettings", "PairSettings"]

#: How batches are made: pairs of like length together, or by the annotation graph.
BATCHES = ("length", *STRATEGIES)
#: Losses of a task, the first being the default, by recipe.
LOSSES = {
    "bi-encoder": {"regression": ("cosine", "cosent"), "classification": ("softmax",)},
    "cross-encoder": {"regression": ("bce", "mse"), "classification": ("cross-entropy",)},
}
#: The settings that say how a model learns, and what kind of value each has. The others say from what it learns and
#: what it is measured by.
LEARNING: Mapping[str, type] = MappingProxyType(
    {
        "batch_size": int,
        "epochs": int,
        "warmup": float,
        "learning_rate": float,
        "layers": int,
        "loss": str,
        "batches": str,
    }
)


@dataclass(frozen=True)
class PairSettings(RecipeSettings):
    """The request.

    Attributes:
        base: the model to start from: a folder, a hub id or a short name.
        pairs: datasets of labelled pairs.
        dev, test: held-out datasets; where there is no *dev*, a tenth of the pairs is cut off for it, then where there
            is no *test*, a tenth of what is left; at most 2,500 each, in whole groups, see
            :func:`~assay.training.data.cut_rows`.
        classes: name of a column with classes, such as entailment; the task is then their classification.
        scale: lowest and highest label, ``LOW,HIGH``, where the card of a dataset does not say them.
        loss: one of :data:`LOSSES`; an empty string for the first.
        batches: one of :data:`BATCHES`.
        subset: ``degree:N`` or ``random:N``: train on so many pairs only, chosen to keep the degrees of the annotation
            graph, or at random.
        epochs, batch_size, learning_rate, eval_steps: see :class:`~assay.training.loop.Course`; with ``node`` batches
            the size counts texts, with ``edge-1`` and ``edge-2`` base pairs; 0 evaluations by steps for one an epoch.
        warmup: share of the steps over which the learning rate rises from 0.
        layers: only the last so many layers are trained, and the head; None for all of the model.
        tokens: in a pass, padding included; a larger batch adds up the gradients of several. None for what suits the
            device.
        drop_shared_texts: leave out training pairs that share a text with a held-out set.
        seed: of what is cut off, of a new head, of dropout and of the order of the pairs.
        seeds: train so many models, with the seeds from *seed* on; None for one model.
        limit: only the first so many pairs of each dataset.
        columns: which columns of files of one's own are what, as after ``--columns``.

    Raises:
        InputError: a value outside its range.
    """

    flags = MappingProxyType({"drop_shared_texts": "--drop-shared-texts"})

    base: str
    pairs: tuple[str, ...]
    dev: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    classes: str | None = None
    scale: str | None = None
    loss: str = ""
    batches: str = "length"
    subset: str | None = None
    epochs: int = 4
    batch_size: int = 16
    learning_rate: float = 2e-5
    warmup: float = 0.1
    eval_steps: int = 0
    layers: int | None = None
    tokens: int | None = None
    drop_shared_texts: bool = False
    seed: int = 0
    seeds: int | None = None
    limit: int | None = None
    columns: str | None = None

    def __post_init__(self) -> None:
        if not self.pairs:
            raise InputError("`pairs`: name at least one dataset of labelled pairs")
        self.check_at_least(
            epochs=1, batch_size=1, eval_steps=0, layers=1, tokens=1, seed=0, seeds=1, limit=1, warmup=0
        )
        self.check_positive("learning_rate")
        if not self.warmup < 1:
            raise InputError(f"`warmup={self.warmup}`: is a share of the steps, below 1")
        self.check_one_of("batches", BATCHES)
        if self.loss:
            self.check_one_of("loss", LOSSES[self.recipe][self.task])
        if self.loss == "cosent" and self.batches != "length":
            raise InputError(f"`loss` cosent: compares all pairs of a batch, so that `batches={self.batches}` "
                             "cannot weigh them one by one; take `loss` cosine")  # fmt: skip
        self.bounds()
        self.part()
        self.check_columns(*self.pairs, *self.dev, *self.test)

    @property
    def task(self) -> Literal["regression", "classification"]:
        """What is learned."""
        return "regression" if self.classes is None else "classification"

    @property
    def chosen_loss(self) -> str:
        """The loss in force."""
        return self.loss or LOSSES[self.recipe][self.task][0]

    def bounds(self) -> tuple[float, float] | None:
        """Return the scale as numbers, or None where none was named."""
        return None if self.scale is None else parse_scale(self.scale)

    def part(self) -> tuple[str, int] | None:
        """Return kind and size of the subset, or None where none was asked for."""
        if self.subset is None:
            return None
        kind, _, size = self.subset.partition(":")
        if kind not in ("degree", "random") or not size.isdigit() or int(size) < 2:
            raise InputError(f"`subset={self.subset}`: must be degree:N or random:N, with N of 2 or more")
        return kind, int(size)


@dataclass(frozen=True)
class BiEncoderSettings(PairSettings):
    """A sentence encoder whose cosine is the score; see :class:`PairSettings`."""

    recipe = "bi-encoder"


@dataclass(frozen=True)
class CrossEncoderSettings(PairSettings):
    """A model that reads both texts at once; see :class:`PairSettings`."""

    recipe = "cross-encoder"


#: The recipes by name.
RECIPES: Mapping[str, type[PairSettings]] = MappingProxyType(
    {one.recipe: one for one in (BiEncoderSettings, CrossEncoderSettings)}
)
