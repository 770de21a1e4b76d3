"""Pairs of a number in digits and a number in words, in several languages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.errors import InputError, MissingExtraError, suggest
from assay.training.augmented.pairing import Pair, split_families

__all__ = ["near_numbers", "number_pairs", "say_numbers"]

#: What num2words raises for a number that a language of it cannot say; not all languages check what they are given.
_UNSAID = (ArithmeticError, AttributeError, LookupError, NotImplementedError, TypeError, ValueError)


def say_numbers(numbers: Sequence[int], language: str) -> list[str]:
    """Return whole numbers in words, as the library num2words says them.

    Args:
        numbers: n of them.
        language: its code, such as ``de``.

    Raises:
        MissingExtraError: num2words is not installed.
        InputError: it does not know the language, or not such a number in it.
    """
    try:
        from num2words import CONVERTER_CLASSES, num2words
    except ImportError:
        raise MissingExtraError("num2words", "train") from None
    if language not in CONVERTER_CLASSES:
        raise InputError(
            f"--numbers {language}: num2words has no such language.{suggest(language, CONVERTER_CLASSES)} "
            f"It has {', '.join(sorted(CONVERTER_CLASSES))}."
        )
    words = []
    for number in numbers:
        try:
            words.append(str(num2words(number, lang=language)))
        except _UNSAID as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise InputError(
                f"--number-range: num2words cannot say {number} in {language} ({reason}); give a range without it, or "
                f"leave {language} out of --numbers"
            ) from None
    return words


def near_numbers(number: int) -> set[int]:
    """Return numbers that are easily taken for a number.

    Those beside it, ten times and a tenth of it, its digits from the last to the first, and the ten for the teen:
    forty for fourteen.

    Example:
        >>> sorted(near_numbers(14))
        [13, 15, 40, 41, 140]
    """
    found = {number - 1, number + 1, 10 * number}
    if number % 10 == 0:
        found.add(number // 10)
    if number >= 0:
        found.add(int(str(number)[::-1]))
    if 13 <= number <= 19:
        found.add(10 * (number - 10))
    if number in range(30, 100, 10):
        found.add(10 + number // 10)
    return found - {number}


def number_pairs(languages: Sequence[str], low: int, high: int, seed: int) -> list[Pair]:
    """Return pairs of digits and words for every whole number of a range, in every language.

    A number has one pair with its own word (label 1), and two with words of other numbers (label 0): one of
    :func:`near_numbers`, or the nearest there is, and any. Both numbers of a pair are in the same split. Which side is
    in digits is drawn.

    Args:
        languages: their codes.
        low, high: the range, both ends included; at least 20 numbers, so that each split has some.
        seed: of the splits and of all that is drawn.

    Raises:
        MissingExtraError, InputError: see :func:`say_numbers`.
    """
    numbers = np.arange(low, high + 1)
    dice = np.random.default_rng([seed, 1])
    split = np.array(split_families(np.arange(len(numbers)), dice))
    made = []
    for language in languages:
        words = say_numbers(numbers.tolist(), language)
        for name in np.unique(split).tolist():
            places = np.flatnonzero(split == name)
            for own in places.tolist():
                for other in (own, *_others(numbers, places, own, dice)):
                    if other != own and words[other] == words[own]:
                        continue  # some languages have one word for two numbers
                    texts = (str(numbers[own]), words[other])
                    one, two = texts if dice.integers(2) else texts[::-1]
                    made.append(Pair(one, two, name, "number", float(other == own)))
    return made


def _others(
    numbers: np.ndarray[tuple[int], np.dtype[np.int64]],
    places: np.ndarray[tuple[int], np.dtype[np.int64]],
    own: int,
    dice: np.random.Generator,
) -> tuple[int, int]:
    """Return the places of a near number and of any other one, not the same."""
    rest = places[places != own]
    near = np.flatnonzero(np.isin(numbers[rest], list(near_numbers(int(numbers[own])))))
    if len(near) == 0:
        near = np.array([np.abs(rest - own).argmin()])
    first = int(rest[dice.choice(near)])
    far = rest[rest != first]
    return first, int(dice.choice(far))
