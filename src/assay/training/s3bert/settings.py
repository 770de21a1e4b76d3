"""The settings of an S3BERT training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from assay.common.declarations import setting
from assay.common.messages import Setting
from assay.exceptions import InputError
from assay.training.settings import BaseSettings, HeldOutSettings, TrainingPairsSettings, TrainingSettings


@dataclass(frozen=True)
class _GraphPairsSettings(TrainingPairsSettings):
    """The pairs whose graphs give the targets."""

    pairs: Sequence[str] = setting("A dataset of pairs with AMR graphs; repeatable.")


@dataclass(frozen=True, kw_only=True)
class S3BertSettings(HeldOutSettings, TrainingSettings, _GraphPairsSettings, BaseSettings):
    """The settings of an S3BERT training; the defaults are those of Opitz and Frank 2022, appendix A.1."""

    recipe: ClassVar[str] = "s3bert"

    vectors: str | None = setting("A file of word vectors, such as GloVe's, for the aspects that compare words.", None)
    epochs: int = setting("Passes over the pairs.", 8, at_least=1)
    batch_size: int = setting("Pairs per step.", 64, at_least=2)
    learning_rate: float = setting("Learning rate after the warm-up.", 1e-5, above=0)
    warmup: int = setting("Steps over which the learning rate rises from 0.", 100, at_least=0)
    eval_steps: int = setting("Steps between evaluations, each with a checkpoint.", 1000, at_least=1)
    layers: int = setting("Train the last N layers.", 2, at_least=1)
    alpha: float = setting("Weight of the decomposition (equation 6).", 1.0, above=0)
    width: int = setting("Dimensions of each aspect's sub-embedding.", 16, at_least=1)
    negatives: int = setting("Shuffled negative pairs per pair.", 1, at_least=0)
    decomposition: bool = setting("Train the decomposition into aspects.", True)
    consistency: bool = setting("Train consistency with the base model.", True)
    variant: Literal["paper", "program"] = setting(
        "paper: the sum of both losses, aspects by cosines; program: as the authors' program trains, an optimiser for "
        "each loss and aspects by 1 - L1 distance.",
        "paper",
        choices=("paper", "program"),
    )

    def check(self) -> None:
        """Check the columns, and that the loss has a part, or for the authors' program both.

        Raises:
            InputError: the columns cannot be used, parts of the loss are turned off, or a weight has no effect.
        """
        super().check()
        self.check_columns(*self.pairs, *self.dev, *self.test)
        if not (self.decomposition or self.consistency):
            raise InputError(
                "nothing to train on: ", Setting("decomposition"), " and ", Setting("consistency"), " are both off"
            )

        if self.variant == "program" and not (self.decomposition and self.consistency):
            raise InputError("trains both parts of the loss", setting="variant", value=self.variant)
        if self.variant == "program" and self.alpha != 1:
            raise InputError(
                "has no effect with ", Setting("variant", "program"), ": each loss has its own optimiser",
                setting="alpha", value=self.alpha,
            )  # fmt: skip

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the loss that are turned on."""
        return tuple(name for name in ("decomposition", "consistency") if getattr(self, name))
