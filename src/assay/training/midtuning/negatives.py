"""Wrong forms for sentences: parts taken away or exchanged, or another sentence's form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from assay.errors import InputError
from assay.training.midtuning.forms import Frame, SemanticForm

__all__ = ["KINDS", "others_forms", "wrong_forms"]

#: How a wrong form comes about: roles go with their fillers; fillers go and their roles stay; the fillers of two roles
#: of one frame change places; another sentence's form stands for it.
KINDS = ("roles dropped", "fillers dropped", "fillers swapped", "another's form")


def wrong_forms(forms: Sequence[SemanticForm], seed: int) -> tuple[list[SemanticForm], dict[str, int]]:
    """Return a wrong form for each right one, and how many there are of each kind.

    Each kind is as likely as any other (the paper gives no shares). Where the one that was drawn is impossible, such as
    a swap where there is one role alone, another takes its place, again by the draw. How many roles or fillers go is
    drawn too, from one to all. No wrong form reads as the right one.

    Args:
        forms: n of them.
        seed: decides everything.

    Raises:
        InputError: a form has no role and no other form differs from it.
    """
    dice = np.random.default_rng(seed)
    found, kinds = [], Counter[str]()
    for number, form in enumerate(forms):
        for kind in dice.permutation(len(KINDS)):
            wrong = _make(KINDS[kind], forms, number, dice)
            if wrong is not None and wrong.text != form.text:
                found.append(wrong)
                kinds[KINDS[kind]] += 1
                break
        else:
            raise InputError(f"no wrong form can be made for {form.text!r}: it has no role, and no other form differs")
    return found, {kind: kinds[kind] for kind in KINDS}


def others_forms(forms: Sequence[SemanticForm], seed: int) -> list[SemanticForm]:
    """Return for each form one that another sentence has, and that reads differently; drawn by *seed*.

    Raises:
        InputError: all forms are equal.
    """
    dice = np.random.default_rng(seed)
    found = []
    for number, form in enumerate(forms):
        other = _other(forms, number, dice)
        if other is None:
            raise InputError(f"all {len(forms):,} forms read {form.text!r}; at least two different ones are needed")
        found.append(other)
    return found


def _make(kind: str, forms: Sequence[SemanticForm], number: int, dice: np.random.Generator) -> SemanticForm | None:
    form = forms[number]
    if kind == "another's form":
        return _other(forms, number, dice)
    if kind == "fillers swapped":
        return _swapped(form, dice)
    if not form.places:
        return None
    chosen = dice.permutation(len(form.places))[: dice.integers(1, len(form.places) + 1)]
    taken = {form.places[place] for place in chosen}
    return _without(form, taken, keep_roles=kind == "fillers dropped")


def _without(form: SemanticForm, taken: set[tuple[int, int]], *, keep_roles: bool) -> SemanticForm:
    """Return the form without the fillers at some places, and without their roles."""
    frames = []
    for number, frame in enumerate(form.frames):
        roles = [
            (role, "" if (number, place) in taken else filler)
            for place, (role, filler) in enumerate(frame.roles)
            if keep_roles or (number, place) not in taken
        ]
        frames.append(Frame(frame.predicate, tuple(roles)))
    return SemanticForm(tuple(frames))


def _swapped(form: SemanticForm, dice: np.random.Generator) -> SemanticForm | None:
    """Return the form with the fillers of two roles of one frame exchanged, or None where no such swap changes it."""
    couples = [
        (number, one, other)
        for number, frame in enumerate(form.frames)
        for one, (role, filler) in enumerate(frame.roles)
        for other, (its_role, its_filler) in enumerate(frame.roles[:one])
        if filler != its_filler and role != its_role
    ]
    if not couples:
        return None
    number, one, other = couples[dice.integers(len(couples))]
    roles = list(form.frames[number].roles)
    roles[one], roles[other] = (roles[one][0], roles[other][1]), (roles[other][0], roles[one][1])
    frames = list(form.frames)
    frames[number] = Frame(frames[number].predicate, tuple(roles))
    return SemanticForm(tuple(frames))


def _other(forms: Sequence[SemanticForm], number: int, dice: np.random.Generator) -> SemanticForm | None:
    """Return the form at a place that is drawn, or the next one after it that differs, or None where none does."""
    start = int(dice.integers(len(forms)))
    for place in range(len(forms)):
        other = forms[(start + place) % len(forms)]
        if other.text != forms[number].text:
            return other
    return None
