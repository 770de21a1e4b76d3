"""Settings that several trainings share, and the packages that training needs.

A recipe's settings are put together from the classes here: where it starts and what it writes, the data it learns from,
how fast it learns, and where it runs.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.common.addresses import command_line
from assay.common.declarations import Settings, setting
from assay.common.messages import Setting
from assay.common.packages import ABSENT, version_of
from assay.datasets.columns import columns_text, parse_columns
from assay.datasets.load import is_own_file
from assay.exceptions import InputError, MissingExtraError
from assay.metrics.neural.runtime import Runtime
from assay.metrics.provenance import own_version
from assay.settings import Hardware, Limited, WithProgress

#: Settings on which neither the model nor its evaluation depends: they are not compared when a training resumes, and
#: are not written on the model's card.
LOCAL_SETTINGS = ("out", "device", "threads")


@dataclass(frozen=True)
class BaseSettings(Settings):
    """The model that a training starts from."""

    base: str = setting("The model to start from: a folder, OWNER/NAME or a short name.")


@dataclass(frozen=True)
class TrainingPairsSettings(Settings):
    """The pairs that a model is trained on."""

    pairs: Sequence[str] = setting("A dataset of labelled pairs to train on; repeatable.")

    def check(self) -> None:
        """Check that there is a dataset.

        Raises:
            InputError: there is none.
        """
        super().check()
        if not self.pairs:
            raise InputError("name at least one dataset of labelled pairs", setting="pairs")


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

    if TYPE_CHECKING:  # a property would hide the class variables and fields of this name in the subclasses

        @property
        def recipe(self) -> str:
            """The word after ``assay train``: a class variable of most recipes, a setting for labelled pairs."""

    def plain_values(self) -> dict[str, Any]:
        """Return the settings on which the model depends, as plain values by name."""
        return {name: value for name, value in super().plain_values().items() if name not in LOCAL_SETTINGS}

    @property
    def runtime(self) -> Runtime:
        """The device and the number of threads."""
        return Runtime(device=self.device, threads=self.threads)

    def training_command(self) -> str:
        """Return the command that repeats this training; the hardware is left out."""
        return command_line("train", self.recipe, *self.words(leave_out=LOCAL_SETTINGS), "--out", self.out)


@dataclass(frozen=True, kw_only=True)
class OwnColumns(Limited):
    """How files of the user's own are read, and how much of each dataset is read."""

    columns: str | Mapping[str, str] | None = setting(
        "The columns of your own files: reference=answer1,candidate=answer2,label=a1+a2; a dataset with a "
        "card has its own reader.",
        None,
    )

    def __post_init__(self) -> None:
        # always as text, so that columns given as a mapping equal the same columns given as text; the class is frozen
        object.__setattr__(self, "columns", columns_text(self.columns))
        super().__post_init__()

    @property
    def columns_spec(self) -> str | None:
        """The setting ``columns`` as text, in whichever form it was given; None if no columns are named."""
        return columns_text(self.columns)

    def check_columns(self, *specs: str) -> None:
        """Check that the named columns can be parsed and that one of the datasets is a file that they apply to.

        Without named columns there is nothing to check.

        Args:
            *specs: the datasets.

        Raises:
            InputError: the columns cannot be parsed, or no dataset is a file of the user's own.
        """
        if self.columns is None:
            return
        parse_columns(self.columns)
        if not any(is_own_file(spec) for spec in specs):
            raise InputError(
                Setting("columns"), " is for files of your own; the datasets named here have their own readers"
            )


@dataclass(frozen=True, kw_only=True)
class HeldOutSettings(OwnColumns):
    """The datasets by which the best step is chosen and on which the model is evaluated.

    If none is named, a part of the training pairs is held out for each, at most 2,500 pairs, in whole groups; see
    :func:`~assay.training.sets.hold_out_rows`.
    """

    dev: Sequence[str] = setting(
        "Pairs that choose the best step; repeatable [default: a tenth of the training pairs is held out].", ()
    )
    test: Sequence[str] = setting(
        "Pairs that the model is evaluated on; repeatable [default: a tenth of the rest is held out].", ()
    )


@dataclass(frozen=True, kw_only=True)
class PassSettings(Settings):
    """How often a model is evaluated, and how many tokens of a batch are computed at a time."""

    eval_steps: int = setting("Steps between evaluations, each with a checkpoint; 0 for one epoch.", 0, at_least=0)
    tokens: int | None = setting(
        "Tokens computed at a time, padding included; the gradients of a larger batch are summed over passes "
        "[default: chosen for the device].",
        None,
        at_least=1,
    )


@dataclass(frozen=True, kw_only=True)
class LearningSettings(PassSettings):
    """How fast a model learns."""

    epochs: int = setting("Passes over the training data.", 4, at_least=1)
    batch_size: int = setting("Pairs per step; texts with node, base pairs with edge-1 and edge-2.", 16, at_least=1)
    learning_rate: float = setting("Learning rate after the warm-up.", 2e-5, above=0)
    warmup: float = setting("Share of the steps over which the learning rate rises from 0.", 0.1)
    layers: int | None = setting("Train the last N layers [default: all of the model].", None, at_least=1)

    def check(self) -> None:
        """Check the warm-up, see :func:`check_warmup`."""
        super().check()
        check_warmup(self.warmup)


def check_warmup(share: float) -> None:
    """Raise InputError unless a warm-up is a share of the steps, from 0 to below 1."""
    if not 0 <= share < 1:
        raise InputError("is a share of the steps, from 0 to below 1", setting="warmup", value=share)


#: The packages that every training needs.
_REQUIRED_PACKAGES = ("torch", "transformers", "sentence-transformers", "accelerate", "datasets")


def check_packages() -> None:
    """Check that all packages for training are installed.

    Raises:
        MissingExtraError: a package is not installed.
    """
    for package in _REQUIRED_PACKAGES:
        if version_of(package) == ABSENT:
            raise MissingExtraError(package, "train")


def versions() -> dict[str, str]:
    """Return the versions of packages, Python and assay that can change the result of a training, by name."""
    return {
        "assay": own_version(),
        "python": platform.python_version(),
        **{package: version_of(package) for package in (*_REQUIRED_PACKAGES, "numpy", "scipy")},
    }
