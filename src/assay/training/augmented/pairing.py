"""Pairs of entities: at random, and a name with its aliases; no entity in two splits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.training.augmented.entities import Entity, families
from assay.training.cutting import SHARE
from assay.training.data import pair_key

__all__ = ["SPLITS", "Pair", "pair_entities", "split_families"]

SPLITS = ("train", "dev", "test")


@dataclass(frozen=True)
class Pair:
    """One pair.

    Attributes:
        reference, candidate: the texts.
        split: one of :data:`SPLITS`.
        origin: ``random``, ``alias`` or ``number``.
        label: between 0 and 1; None for a random pair, which a cross-encoder labels.
    """

    reference: str
    candidate: str
    split: str
    origin: str
    label: float | None


def split_families(family: NDArray[np.int64], dice: np.random.Generator) -> list[str]:
    """Return the split of each of n things: a tenth of the families in dev, a tenth in test, drawn by *dice*.

    Args:
        family: number of each thing's family, from 0 on, shape (n,).
        dice: draws.
    """
    number = int(family.max()) + 1 if len(family) else 0
    order = dice.permutation(number)
    cut = int(SHARE * number)
    split = np.zeros(number, dtype=np.int64)
    split[order[:cut]], split[order[cut : 2 * cut]] = 1, 2
    return [SPLITS[place] for place in split[family]]


def pair_entities(entities: Sequence[Entity], times: int, seed: int) -> tuple[list[Pair], int]:
    """Return alias pairs and random pairs of entities, and how many random ones were passed over.

    Every entity gives an alias pair with each of its aliases. For random pairs the entities of a split are shuffled
    into a ring, in which each is paired with the *times* that follow it, so that none is drawn more often than another
    (Mustafazade and Ebbinghaus 2022, section 3.2: a shuffled list, paired). Each side is one of the ways of writing its
    entity, drawn. A pair of one family is passed over, as is one that a small split has already.

    Args:
        entities: n of them.
        times: random pairs for each entity.
        seed: of the splits and of all that is drawn.
    """
    dice = np.random.default_rng([seed, 0])
    family = families(entities)
    split = split_families(family, dice)
    made = [
        Pair(entity.name, alias, where, "alias", 1.0)
        for entity, where in zip(entities, split, strict=True)
        for alias in entity.aliases
    ]
    passed = 0
    for name in SPLITS:
        order = dice.permutation(np.array([row for row, where in enumerate(split) if where == name], dtype=np.int64))
        seen: set[tuple[str, str]] = set()
        for shift in range(1, times + 1):
            for row, other in zip(order.tolist(), np.roll(order, -shift).tolist(), strict=True):
                texts = [one.forms[dice.integers(len(one.forms))] for one in (entities[row], entities[other])]
                key = pair_key(*texts)
                if family[row] == family[other] or key in seen:
                    passed += 1
                    continue
                seen.add(key)
                made.append(Pair(texts[0], texts[1], name, "random", None))
    return made, passed
