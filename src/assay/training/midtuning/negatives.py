"""Wrong forms of sentences, from which an encoder learns to tell the right one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from assay.exceptions import InputError
from assay.training.midtuning.forms import Frame, SemanticForm

#: The kinds of wrong forms: some roles are dropped with their fillers; some fillers are dropped and their roles kept;
#: the fillers of two roles of one frame are swapped; the form of another sentence is taken.
KINDS = ("roles dropped", "fillers dropped", "fillers swapped", "another's form")


def wrong_forms(forms: Sequence[SemanticForm], seed: int) -> tuple[list[SemanticForm], dict[str, int]]:
    """Return one wrong form for each right one, in the same order, and the number of wrong forms of each kind by name.

    The kind is drawn with equal probabilities (the paper states none). If the drawn kind is impossible, such as a swap
    in a form with a single role, the next kind of the same random order is tried. The number of dropped roles or
    fillers is drawn too, from one to all. A wrong form never reads like the right one.

    Args:
        forms: the n right forms.
        seed: the seed of all draws.

    Raises:
        InputError: a form has no role and no other form differs from it.
    """
    rng = np.random.default_rng(seed)
    negatives, kind_counts = [], Counter[str]()
    for index, form in enumerate(forms):
        for kind_index in rng.permutation(len(KINDS)):
            kind = KINDS[kind_index]
            negative = _wrong_form(kind, forms, index, rng)
            if negative is not None and negative.text != form.text:
                negatives.append(negative)
                kind_counts[kind] += 1
                break
        else:
            raise InputError(f"no wrong form can be made for {form.text!r}: it has no role, and no other form differs")
    return negatives, {kind: kind_counts[kind] for kind in KINDS}


def forms_of_others(forms: Sequence[SemanticForm], seed: int) -> list[SemanticForm]:
    """Return for each form a form of another sentence that reads differently, drawn with *seed*.

    Raises:
        InputError: all forms are equal.
    """
    rng = np.random.default_rng(seed)
    other_forms = []
    for index, form in enumerate(forms):
        other_form = _draw_other_form(forms, index, rng)
        if other_form is None:
            raise InputError(f"all {len(forms):,} forms read {form.text!r}; at least two different ones are needed")
        other_forms.append(other_form)
    return other_forms


def _wrong_form(kind: str, forms: Sequence[SemanticForm], index: int, rng: np.random.Generator) -> SemanticForm | None:
    """Return a wrong form of a kind for the form at *index*, which may read like it; None if the kind is impossible."""
    form = forms[index]
    if kind == "another's form":
        return _draw_other_form(forms, index, rng)
    if kind == "fillers swapped":
        return _swap_fillers(form, rng)
    if not form.role_positions:
        return None
    order = rng.permutation(len(form.role_positions))
    dropped_count = rng.integers(1, len(form.role_positions) + 1)
    dropped = {form.role_positions[number] for number in order[:dropped_count]}
    return _remove_fillers(form, dropped, keep_roles=kind == "fillers dropped")


def _remove_fillers(form: SemanticForm, dropped: set[tuple[int, int]], *, keep_roles: bool) -> SemanticForm:
    """Return the form with some fillers emptied, or with their roles removed too.

    Args:
        form: the form, which is not changed.
        dropped: the positions of the fillers, as in :attr:`SemanticForm.role_positions`.
        keep_roles: whether the roles of the fillers stay.
    """
    frames = []
    for frame_index, frame in enumerate(form.frames):
        roles = []
        for role_index, (role, filler) in enumerate(frame.roles):
            if (frame_index, role_index) not in dropped:
                roles.append((role, filler))
            elif keep_roles:
                roles.append((role, ""))
        frames.append(Frame(frame.predicate, tuple(roles)))
    return SemanticForm(tuple(frames))


def _swap_fillers(form: SemanticForm, rng: np.random.Generator) -> SemanticForm | None:
    """Return the form with the fillers of two roles of one frame swapped, or None if no swap would change it."""
    swaps: list[tuple[int, int, int]] = []  # the index of a frame, and of two of its roles
    for frame_index, frame in enumerate(form.frames):
        for later, (role, filler) in enumerate(frame.roles):
            for earlier, (other_role, other_filler) in enumerate(frame.roles[:later]):
                if filler != other_filler and role != other_role:
                    swaps.append((frame_index, later, earlier))
    if not swaps:
        return None
    frame_index, later, earlier = swaps[rng.integers(len(swaps))]
    roles = list(form.frames[frame_index].roles)
    (later_role, later_filler), (earlier_role, earlier_filler) = roles[later], roles[earlier]
    roles[later], roles[earlier] = (later_role, earlier_filler), (earlier_role, later_filler)
    frames = list(form.frames)
    frames[frame_index] = Frame(frames[frame_index].predicate, tuple(roles))
    return SemanticForm(tuple(frames))


def _draw_other_form(forms: Sequence[SemanticForm], index: int, rng: np.random.Generator) -> SemanticForm | None:
    """Return the first form, from a drawn one on, that reads differently from the form at *index*.

    The search continues at the start of *forms*; None is returned if all forms read the same.
    """
    start = int(rng.integers(len(forms)))
    for step in range(len(forms)):
        other_form = forms[(start + step) % len(forms)]
        if other_form.text != forms[index].text:
            return other_form
    return None
