"""The settings of a training on labelled pairs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from assay.common.declarations import Settings, setting
from assay.common.messages import Setting
from assay.exceptions import InputError
from assay.settings import parse_scale
from assay.statistics.coefficients import CLASS_MEASURES
from assay.training.batches import STRATEGIES
from assay.training.settings import (
    BaseSettings,
    HeldOutSettings,
    LearningSettings,
    PassSettings,
    TrainingPairsSettings,
    TrainingSettings,
)

PairRecipe = Literal["bi-encoder", "cross-encoder"]

#: The ways to make batches: of pairs of similar length, or by the annotation graph.
BATCHES = ("length", *STRATEGIES)
#: The losses of a task, the default first, by recipe and task.
LOSSES = {
    "bi-encoder": {"regression": ("cosine", "cosent", "bce"), "classification": ("softmax",)},
    "cross-encoder": {"regression": ("bce", "mse"), "classification": ("cross-entropy",)},
}
#: Spearman of BERTScore on the last layer of a bi-encoder, instead of its cosine.
BERTSCORE = "bertscore"
#: The measures of the development pairs that may decide which step is kept, the default first, by task.
STEP_MEASURES = {
    "regression": ("spearman", "pearson", "kendall", *CLASS_MEASURES, BERTSCORE),
    "classification": CLASS_MEASURES,
}
#: The settings that decide how a model learns, with the type of each. The other settings decide from what it learns and
#: by what it is measured.
LEARNING: Mapping[str, type] = MappingProxyType(
    {
        "batch_size": int,
        "epochs": int,
        "warmup": float,
        "learning_rate": float,
        "layers": int,
        "loss": str,
        "batches": str,
        "measure": str,
    }
)


def check_recipe(measure: str, setting: str, recipe: PairRecipe) -> None:
    """Raise InputError if a measure does not exist for what is trained; *setting* is the setting of the measure."""
    if measure == BERTSCORE and recipe == "cross-encoder":
        raise InputError("needs token embeddings of single texts; train a bi-encoder", setting=setting, value=measure)


@dataclass(frozen=True)
class _ModelKindSettings(Settings):
    """The kind of model that is trained."""

    recipe: PairRecipe = setting("Which kind of model: bi-encoder or cross-encoder.", python_only=True)


@dataclass(frozen=True, kw_only=True)
class LabelledPairs(
    HeldOutSettings, PassSettings, TrainingSettings, TrainingPairsSettings, BaseSettings, _ModelKindSettings
):
    """The labelled pairs that a bi-encoder or cross-encoder learns from, and what it learns: labels or classes."""

    classes: str | None = setting("A column with classes, such as entailment, to learn instead of the label.", None)
    scale: str | None = setting(
        "Lowest and highest label, if the data does not declare them [default: 0,1].",
        None,
        parse=parse_scale,
        metavar="LOW,HIGH",
    )
    subset: str | None = setting(
        "degree:N or random:N: train on N pairs only, chosen to keep the degrees of the annotation graph, or at "
        "random.",
        None,
    )
    question: bool = setting(
        "Put the question of a pair, if it has one, before both texts, as the metric does with question=true.", False
    )
    drop_shared_texts: bool = setting("Leave out training pairs that share a text with a held-out set.", False)

    def check(self) -> None:
        """Check that the subset and the columns can be parsed, and that named columns have a file to apply to.

        Raises:
            InputError: the subset or the columns are malformed, columns are named although no dataset is a file of the
                user's own, or another setting is invalid.
        """
        super().check()
        self.chosen_subset()
        self.check_columns(*self.pairs, *self.dev, *self.test)

    @property
    def task(self) -> Literal["regression", "classification"]:
        """What is learned: ``classification`` if a column of classes is named, else ``regression`` on the labels."""
        return "regression" if self.classes is None else "classification"

    def scale_bounds(self) -> tuple[float, float] | None:
        """Return the lowest and the highest label of the scale, or None if no scale is named."""
        return None if self.scale is None else parse_scale(self.scale)

    def chosen_subset(self) -> tuple[str, int] | None:
        """Return the kind (``degree`` or ``random``) and the size of the subset, or None if no subset is named.

        Raises:
            InputError: the subset is malformed.
        """
        if self.subset is None:
            return None
        match = re.fullmatch("(degree|random):([0-9]{1,9})", self.subset)
        if match is None or int(match[2]) < 2:
            raise InputError("must be degree:N or random:N, with N of 2 or more", setting="subset", value=self.subset)
        return match[1], int(match[2])


@dataclass(frozen=True, kw_only=True)
class PairLearning(LearningSettings):
    """How a bi-encoder or cross-encoder learns."""

    loss: str = setting(
        "cosine, cosent or bce for a bi-encoder, bce or mse for a cross-encoder; with classes softmax or cross-entropy "
        "[default: the first of these].",
        "",
    )
    batches: str = setting(
        "length (pairs of similar length together), or by the annotation graph: base, node, edge-1, edge-2.",
        "length",
        choices=BATCHES,
    )
    steps: int | None = setting("Steps to train for, instead of epochs.", None, at_least=1)
    measure: str = setting(
        "Which step is kept: the one with the highest spearman, pearson, kendall, or accuracy, f1 or f1-macro of "
        "decisions on the development pairs, or bertscore, Spearman of the last layer's BERTScore [default: spearman; "
        "accuracy with classes].",
        "",
    )


@dataclass(frozen=True, kw_only=True)
class PairSettings(LabelledPairs, PairLearning):
    """The settings of a bi-encoder, whose cosine is the score, or a cross-encoder, which reads both texts at once."""

    def check(self) -> None:
        """Check that loss and measure go with the recipe and the task, and the loss with the batches.

        Raises:
            InputError: one of them does not, or another setting is invalid.
        """
        super().check()
        valid = LOSSES[self.recipe][self.task]
        if self.loss and self.loss not in valid:
            raise InputError(f"must be one of {', '.join(valid)}", setting="loss", value=self.loss)
        measures = STEP_MEASURES[self.task]
        if self.measure and self.measure not in measures:
            raise InputError(f"must be one of {', '.join(measures)}", setting="measure", value=self.measure)
        check_recipe(self.measure, "measure", self.recipe)
        if self.loss == "cosent" and self.batches != "length":
            raise InputError(
                "compares all pairs of a batch, so that ",
                Setting("batches", self.batches),
                " cannot weight them one by one; use ",
                Setting("loss", "cosine"),
                setting="loss",
                value="cosent",
            )

    @property
    def chosen_loss(self) -> str:
        """The named loss, or the default of the recipe and task."""
        return self.loss or LOSSES[self.recipe][self.task][0]

    @property
    def chosen_measure(self) -> str:
        """The named measure of the step that is kept, or the default of the task."""
        return self.measure or STEP_MEASURES[self.task][0]


@dataclass(frozen=True, kw_only=True)
class BiEncoderSettings(PairSettings):
    """Settings of ``assay train bi-encoder``."""

    recipe: PairRecipe = field(default="bi-encoder", init=False)


@dataclass(frozen=True, kw_only=True)
class CrossEncoderSettings(PairSettings):
    """Settings of ``assay train cross-encoder``."""

    recipe: PairRecipe = field(default="cross-encoder", init=False)
