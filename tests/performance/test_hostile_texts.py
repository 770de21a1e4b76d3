"""Texts made to slow a reader down: its time grows with their length, not with the square of it.

Of a text and a twentieth of it, in one run; backtracking would take 400 times as long.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable

import pytest

from assay.analysis.categories import Tagger
from assay.common.tables import short_names
from assay.datasets import read_table_file
from assay.exceptions import InputError
from assay.language.amr import parse_block, read_graph_file

GRAPHS = {
    "quotes that do not close": '"\\' * 20_000,
    "blank lines": "\n" * 200_000,
    "space in a header": "# ::snt" + " " * 200_000 + "x",
    "one quote too many": '"' * 20_001,
}


def growth(work: Callable[[str], object], text: str) -> float:
    """Return how many times as long the whole text takes as a twentieth of it, in CPU time, the best of some."""

    def seconds(part: str, times: int) -> float:
        found = []
        for _ in range(times):
            started = time.process_time()
            work(part)
            found.append(time.process_time() - started)
        return min(found)

    return seconds(text, 3) / max(seconds(text[: len(text) // 20], 10), 1e-4)


@pytest.mark.parametrize("name", GRAPHS)
def test_reading_a_graph(tmp_path, name):
    file = tmp_path / "graphs.amr"

    def read(text):
        file.write_text(text + "\n(a / b)\n", encoding="utf-8")
        for block in read_graph_file(file):
            with contextlib.suppress(InputError):
                parse_block(block)

    assert growth(read, GRAPHS[name]) < 80


ANSWERS = {
    "digits that end in a letter": "9" * 60_000 + "x",
    "symbols of elements": "A" * 60_000 + "1b",
    "names of places": "abd " * 6_000,
}


@pytest.mark.parametrize("name", ANSWERS)
def test_the_rules_of_an_answer(name):
    tagger = Tagger("en")
    # what they load is not part of it
    tagger.tag("5 km in 1990", "Paris", "when")
    # other texts each time, since those that were read are remembered
    times = itertools.count()
    assert growth(lambda text: tagger.tag(f"{next(times)} {text}", "7 miles"), ANSWERS[name]) < 80


def test_the_short_name_of_a_metric():
    assert growth(lambda name: short_names([name]), "a" + ":" * 60_000 + "/") < 80


def test_lines_that_share_few_keys(tmp_path):
    file = tmp_path / "keys.jsonl"

    def read(text):
        file.write_text(text[: text.rindex("\n") + 1], encoding="utf-8")
        read_table_file(file)

    assert growth(read, "".join(f'{{"a": 1, "key{number:04}": 1}}\n' for number in range(2_000))) < 80
