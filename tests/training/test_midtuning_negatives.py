"""Wrong forms: what each kind does, that none is the right one, and that a draw can be repeated."""

from __future__ import annotations

import itertools

import pytest

from assay.exceptions import InputError
from assay.training.midtuning.forms import Frame, SemanticForm
from assay.training.midtuning.negatives import KINDS, forms_of_others, wrong_forms


def form(*frames):
    return SemanticForm(tuple(Frame(name, tuple(roles.items())) for name, roles in frames))


RICH = [
    form((f"see-{k:02}", {"ARG0": f"a{k}", "ARG1": f"b{k}", "time": "now"}), ("go-02", {"ARG0": f"a{k}"}))
    for k in range(400)
]


def kind_of(right, wrong):
    """Return which kind a wrong form is of, by what it shares with the right one."""
    if [frame.predicate for frame in right.frames] != [frame.predicate for frame in wrong.frames]:
        return "another's form"
    before, after = ([dict(frame.roles) for frame in one.frames] for one in (right, wrong))
    if [set(one) for one in before] != [set(one) for one in after]:
        assert all(role in old and old[role] == filler for old, new in zip(before, after, strict=True)
                   for role, filler in new.items())  # fmt: skip
        return "roles dropped"
    fillers = [
        (old[role], new[role]) for old, new in zip(before, after, strict=True) for role in old if old[role] != new[role]
    ]
    if all(new == "" for _, new in fillers):
        return "fillers dropped"
    (one, other), (its, back) = fillers
    assert (one, other) == (back, its)
    return "fillers swapped"


def test_each_kind_does_what_it_says_in_equal_shares():
    wrong, counts = wrong_forms(RICH, 0)
    kinds = [kind_of(*both) for both in zip(RICH, wrong, strict=True)]
    assert counts == {kind: kinds.count(kind) for kind in KINDS}
    # binomial of 400 and 1/4: deviation 8.7, so that 65 to 135 is four of them
    assert all(65 <= number <= 135 for number in counts.values())
    gone = {
        len(right.role_positions) - len(made.role_positions)
        for right, made, kind in zip(RICH, wrong, kinds, strict=True)
        if kind == "roles dropped"
    }
    assert gone == {1, 2, 3, 4}


@pytest.mark.parametrize("seed", range(5))
def test_no_wrong_form_is_the_right_one(seed):
    forms = [
        form(("go-02", {})),
        form(("go-02", {})),
        form(("go-02", {"ARG0": "a"})),
        form(("go-02", {"ARG0": "a", "ARG1": "a"})),
        form(("go-02", {"ARG0": "a", "ARG1": "b"})),
    ] * 20
    for made in (wrong_forms(forms, seed)[0], forms_of_others(forms, seed)):
        assert len(made) == len(forms)
        assert all(right.text != wrong.text for right, wrong in zip(forms, made, strict=True))


def test_a_kind_that_is_impossible_falls_to_another():
    bare = [form(("go-02", {})), form(("run-02", {}))] * 50
    assert wrong_forms(bare, 0)[1] == dict.fromkeys(KINDS, 0) | {"another's form": 100}
    # nothing to exchange where there is one role, or where both have one filler; no other form where all are equal
    for roles in ({"ARG0": "a"}, {"ARG0": "a", "ARG1": "a"}):
        counts = wrong_forms([form(("go-02", roles))] * 100, 0)[1]
        assert counts["fillers swapped"] == counts["another's form"] == 0
        assert counts["roles dropped"] > 20 < counts["fillers dropped"]


def test_what_has_no_wrong_form_is_an_error():
    with pytest.raises(InputError, match="no wrong form can be made for 'go-02'"):
        wrong_forms([form(("go-02", {}))] * 3, 0)
    with pytest.raises(InputError, match="all 3 forms read 'go-02 ARG0: a'"):
        forms_of_others([form(("go-02", {"ARG0": "a"}))] * 3, 0)


def test_the_seed_decides():
    for draw in (lambda seed: wrong_forms(RICH, seed)[0], lambda seed: forms_of_others(RICH, seed)):
        first, again, other = ([one.text for one in draw(seed)] for seed in (1, 1, 2))
        assert first == again != other


def test_anothers_form_is_drawn_from_all():
    five = RICH[:5]
    drawn = {
        (right.text, forms_of_others(five, seed)[place].text) for seed in range(100) for place, right in enumerate(five)
    }
    assert drawn == {(a.text, b.text) for a, b in itertools.permutations(five, 2)}
