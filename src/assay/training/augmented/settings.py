"""What can be asked of an augmented training."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from assay.errors import InputError
from assay.training.pairwise.settings import BiEncoderSettings
from assay.training.settings import RecipeSettings

__all__ = ["AugmentedSettings"]

#: Numbers of a range that can be cut into three splits with some in each.
FEWEST = 20


@dataclass(frozen=True)
class AugmentedSettings(RecipeSettings):
    """The request.

    Attributes:
        base: the sentence encoder to start from.
        entities: a file with the columns ``name`` and ``aliases``.
        labeller: a cross-encoder that labels random pairs, as it stands after ``cross-encoder:``; without one there are
            only alias pairs and number pairs.
        random_pairs: random pairs for each entity.
        numbers: languages of number pairs, such as ``en,de``.
        number_range: the lowest and the highest number, ``LOW,HIGH``.
        loss, batches, epochs, batch_size, learning_rate, warmup, eval_steps, layers, tokens, seed, seeds: see
            :class:`~assay.training.pairwise.settings.PairSettings`; the seed decides the splits and the pairs, too.

    Raises:
        InputError: a value outside its range, or nothing to make pairs of.
    """

    recipe: ClassVar[str] = "augmented"

    base: str
    entities: str | None = None
    labeller: str | None = None
    random_pairs: int = 1
    numbers: str | None = None
    number_range: str = "0,1000"
    loss: str = ""
    batches: str = "length"
    epochs: int = 4
    batch_size: int = 16
    learning_rate: float = 2e-5
    warmup: float = 0.1
    eval_steps: int = 0
    layers: int | None = None
    tokens: int | None = None
    seed: int = 0
    seeds: int | None = None

    def __post_init__(self) -> None:
        if self.entities is None and self.numbers is None:
            raise InputError("`entities` or `numbers` is needed: pairs are made of one of them, or of both")
        if self.labeller is not None and self.entities is None:
            raise InputError("`labeller`: labels random pairs of entities, and no `entities` are given")
        if self.entities is not None and self.labeller is None and self.numbers is None:
            raise InputError(
                "`labeller` is needed: alias pairs alone all have the label 1; give a cross-encoder, or `numbers`"
            )
        self.check_at_least(random_pairs=1)
        self.training()
        self.languages()
        self.bounds()

    def training(self) -> BiEncoderSettings:
        """Return the training of the bi-encoder on the pairs that are made."""
        return BiEncoderSettings(
            self.base,
            pairs=("made",),
            loss=self.loss,
            batches=self.batches,
            epochs=self.epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            warmup=self.warmup,
            eval_steps=self.eval_steps,
            layers=self.layers,
            tokens=self.tokens,
            seed=self.seed,
            seeds=self.seeds,
        )

    def languages(self) -> tuple[str, ...]:
        """Return the languages of number pairs."""
        if self.numbers is None:
            return ()
        found = tuple(part.strip() for part in self.numbers.split(","))
        if not all(found) or len(set(found)) < len(found):
            raise InputError(f"`numbers={self.numbers}`: must be languages with commas between them, such as en,de")
        return found

    def bounds(self) -> tuple[int, int]:
        """Return the range of numbers, both ends included."""
        match = re.fullmatch(r"\s*(-?\d+)\s*,\s*(-?\d+)\s*", self.number_range)
        if match is None:
            raise InputError(f"`number_range={self.number_range}`: must be two whole numbers, such as 0,1000")
        low, high = int(match[1]), int(match[2])
        if high - low + 1 < FEWEST:
            raise InputError(f"`number_range={self.number_range}`: must hold at least {FEWEST} numbers")
        return low, high
