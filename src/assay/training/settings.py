"""Settings that several trainings share, and the packages that training needs.

A recipe's settings are put together from the classes here: where it starts and what it writes, the data it learns from,
how fast it learns, and where it runs.
"""

from __future__ import annotations

import platform
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.datasets.columns import columns_text, parse_columns
from assay.datasets.load import is_own_file
from assay.errors import InputError, MissingExtraError
from assay.metrics.neural.runtime import Runtime
from assay.metrics.provenance import ABSENT, own_version, version_of
from assay.settings import Hardware, Limited, Settings, WithProgress, setting

#: Settings on which neither the model nor its evaluation depends: they are not compared when a training resumes, and
#: are not written on the model's card.
WHERE = ("out", "device", "threads")


@dataclass(frozen=True)
class FromBase(Settings):
    """The model that a training starts from."""

    base: str = setting("The model to start from: a folder, OWNER/NAME or a short name.")


@dataclass(frozen=True)
class OnPairs(Settings):
    """The pairs that a model is trained on."""

    pairs: Sequence[str] = setting("A dataset of labelled pairs to train on; repeatable.")

    def check(self) -> None:
        """Require a dataset."""
        super().check()
        if not self.pairs:
            raise InputError("`pairs`: name at least one dataset of labelled pairs")


@dataclass(frozen=True)
class Output(Settings):
    """Where the model is written."""

    out: str | Path = setting(
        "The folder of the model, absent or empty; an interrupted training resumes with the same command.",
        flags=("--out", "-o"),
    )


@dataclass(frozen=True, kw_only=True)
class TrainingSettings(Output, Hardware, WithProgress):
    """What every training has: its folder, seeds, hardware, and the command that repeats it."""

    seed: int = setting(
        "Seed of all random draws: held-out pairs, a new head, wrong pairs, dropout, the order of the data.",
        0,
        at_least=0,
    )
    seeds: int | None = setting(
        "Train N models with consecutive seeds from `seed` on, and write a summary.", None, at_least=1
    )

    if TYPE_CHECKING:

        @property
        def recipe(self) -> str:
            """The word after ``assay train``: of a class, or a setting of its own."""

    def plain(self) -> dict[str, Any]:
        """Return what decides the model, as plain values."""
        return {name: value for name, value in super().plain().items() if name not in WHERE}

    @property
    def runtime(self) -> Runtime:
        """Device and threads."""
        return Runtime(device=self.device, threads=self.threads)

    def training_command(self) -> str:
        """Return the command that repeats this training; the hardware is left out."""
        return shlex.join(["assay", "train", self.recipe, *self.words(leave_out=WHERE), "--out", str(self.out)])


@dataclass(frozen=True, kw_only=True)
class OwnColumns(Limited):
    """How files of the user's own are read, and how much of each dataset."""

    columns: str | Mapping[str, str] | None = setting(
        "The columns of your own files: reference=answer1,candidate=answer2,label=a1+a2; a dataset with a "
        "card has its own reader.",
        None,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", columns_text(self.columns))
        super().__post_init__()

    @property
    def column_names(self) -> str | None:
        """The columns as text."""
        return columns_text(self.columns)

    def check_columns(self, *specs: str) -> None:
        """Return when no columns are named, or when they can be read and one of *specs*, the datasets, is a file.

        Raises:
            InputError: it is not so.
        """
        if self.columns is None:
            return
        parse_columns(self.columns)
        if not any(is_own_file(spec) for spec in specs):
            raise InputError("`columns` is for files of your own; the datasets named here have their own readers")


@dataclass(frozen=True, kw_only=True)
class HeldOut(OwnColumns):
    """The datasets that choose the best step and that the model is evaluated on.

    Where none is named, a part of the training pairs is held out, at most 2,500 pairs each, in whole groups; see
    :func:`~assay.training.data.hold_out_rows`.
    """

    dev: Sequence[str] = setting(
        "Pairs that choose the best step; repeatable [default: a tenth of the training pairs is held out].", ()
    )
    test: Sequence[str] = setting(
        "Pairs that the model is evaluated on; repeatable [default: a tenth of the rest is held out].", ()
    )


@dataclass(frozen=True, kw_only=True)
class Passes(Settings):
    """How often a model is evaluated, and how much of a batch is computed at a time."""

    eval_steps: int = setting("Steps between evaluations, each with a checkpoint; 0 for one epoch.", 0, at_least=0)
    tokens: int | None = setting(
        "Tokens computed at a time, padding included; the gradients of a larger batch are summed over passes "
        "[default: chosen for the device].",
        None,
        at_least=1,
    )


@dataclass(frozen=True, kw_only=True)
class Learning(Passes):
    """How fast a model learns."""

    epochs: int = setting("Passes over the training data.", 4, at_least=1)
    batch_size: int = setting("Pairs per step; texts with node, base pairs with edge-1 and edge-2.", 16, at_least=1)
    learning_rate: float = setting("Learning rate after the warm-up.", 2e-5, above=0)
    warmup: float = setting("Share of the steps over which the learning rate rises from 0.", 0.1)
    layers: int | None = setting("Train the last N layers [default: all of the model].", None, at_least=1)

    def check(self) -> None:
        """Check the warm-up."""
        super().check()
        check_warmup(self.warmup)


def check_warmup(share: float) -> None:
    """Raise InputError for what is no share of the steps."""
    if not 0 <= share < 1:
        raise InputError(f"`warmup={share}`: is a share of the steps, from 0 to below 1")


#: The packages that every training needs.
_REQUIRED_PACKAGES = ("torch", "transformers", "sentence-transformers", "accelerate", "datasets")


def check_packages() -> None:
    """Return when all packages for training are installed.

    Raises:
        MissingExtraError: one is not.
    """
    for package in _REQUIRED_PACKAGES:
        if version_of(package) == ABSENT:
            raise MissingExtraError(package, "train")


def versions() -> dict[str, str]:
    """Return what can change the result of a training: versions of packages, of Python and of assay."""
    return {
        "assay": own_version(),
        "python": platform.python_version(),
        **{package: version_of(package) for package in (*_REQUIRED_PACKAGES, "numpy", "scipy")},
    }
