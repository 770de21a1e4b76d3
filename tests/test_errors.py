"""The line that an unknown name is answered with."""

from __future__ import annotations

import pytest

from assay.errors import suggest, unknown_name


@pytest.mark.parametrize(
    ("name", "choices", "line"),
    [
        ("defalt", ["default", "quick"], "no suite 'defalt'. Did you mean 'default'? Valid: default, quick."),
        ("zzz", ["quick", "default"], "no suite 'zzz'. Valid: quick, default."),
        ("zzz", [], "no suite 'zzz'. There is none."),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest_and_with_all(name: str, choices: list[str], line: str) -> None:
    assert unknown_name("no suite", name, iter(choices)) == line


def test_near_names_come_nearest_first() -> None:
    assert suggest("F1", ["f10", "f1", "bleu"]) == " Did you mean 'f1' or 'f10'?"
    assert suggest("chrf", []) == ""
