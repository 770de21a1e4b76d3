"""The settings of an augmented training."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from assay.common.declarations import declarations_of, setting
from assay.common.messages import Setting
from assay.exceptions import InputError
from assay.training.augmented.pairs import NEGATIVES
from assay.training.pairwise.settings import PairLearning, PairSettings
from assay.training.settings import BaseSettings, TrainingSettings

#: The fewest numbers in a range, so that each of the three splits gets some of them.
FEWEST_NUMBERS = 20


@dataclass(frozen=True, kw_only=True)
class AugmentedSettings(PairLearning, TrainingSettings, BaseSettings):
    """The settings of an augmented training; the seed also decides the pairs and their splits."""

    recipe: ClassVar[str] = "augmented"

    entities: str | Path | None = setting("A file with the columns name and aliases (a|b).", None)
    labeller: str | None = setting(
        "The cross-encoder that labels random pairs, named as after cross-encoder:; without one, only alias "
        "pairs and number pairs are made.",
        None,
    )
    random_pairs: int = setting("Random pairs for each entity.", 1, at_least=1)
    numbers: str | None = setting("Languages of pairs of digits and number words, such as en,de.", None)
    number_negatives: str = setting(
        "Which numbers differ: confusable (digits beside the words of a number that is easily mistaken for it, and of "
        "any other) or neighbours (digits beside those of the numbers before and after).",
        NEGATIVES[0],
        choices=NEGATIVES,
    )
    number_range: str = setting("The lowest and highest of these numbers.", "0,1000", metavar="LOW,HIGH")

    def __post_init__(self) -> None:
        if self.entities is not None:
            object.__setattr__(self, "entities", str(self.entities))
        super().__post_init__()

    def check(self) -> None:
        """Check that pairs with different labels can be made, and that a bi-encoder can be trained on them.

        Raises:
            InputError: a setting is missing, malformed, or does not go with the others.
        """
        super().check()
        if self.entities is None and self.numbers is None:
            raise InputError(
                Setting("entities"), " or ", Setting("numbers"), " is needed: pairs are made of one of them, or of both"
            )
        if self.labeller is not None and self.entities is None:
            raise InputError(
                "labels random pairs of entities, and no ", Setting("entities"), " are given", setting="labeller"
            )
        if self.entities is not None and self.labeller is None and self.numbers is None:
            raise InputError(
                Setting("labeller"),
                " is needed: alias pairs alone all have the label 1; give a cross-encoder, or ",
                Setting("numbers"),
            )
        # Each of these raises InputError for a malformed setting.
        self.pair_settings()
        self.languages()
        self.number_bounds()

    def pair_settings(self) -> PairSettings:
        """Return the settings for training the bi-encoder on the pairs that are made.

        Raises:
            InputError: a setting of how it learns is invalid.
        """
        learning = {name: getattr(self, name) for name in declarations_of(PairLearning)}
        return PairSettings("bi-encoder", self.base, ("made",), self.out, seed=self.seed, seeds=self.seeds, **learning)

    def languages(self) -> tuple[str, ...]:
        """Return the codes of the languages of number pairs; an empty tuple if no number pairs are wanted.

        Raises:
            InputError: a language is empty or named twice. Whether the codes are known is not checked here.
        """
        if self.numbers is None:
            return ()
        languages = tuple(code.strip() for code in self.numbers.split(","))
        if not all(languages) or len(set(languages)) < len(languages):
            raise InputError(
                "must be languages with commas between them, such as en,de", setting="numbers", value=self.numbers
            )
        return languages

    def number_bounds(self) -> tuple[int, int]:
        """Return the lowest and the highest number, both included.

        Raises:
            InputError: the range is malformed or has too few numbers.
        """
        match = re.fullmatch(r"\s*(-?\d{1,9})\s*,\s*(-?\d{1,9})\s*", self.number_range)
        if match is None:
            raise InputError(
                "must be two whole numbers, such as 0,1000", setting="number_range", value=self.number_range
            )
        low, high = int(match[1]), int(match[2])
        if high - low + 1 < FEWEST_NUMBERS:
            raise InputError(
                f"must hold at least {FEWEST_NUMBERS} numbers", setting="number_range", value=self.number_range
            )
        return low, high
