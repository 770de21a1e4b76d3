"""What the checks find in data made for them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assay.datasets import check_dataset, load_dataset
from assay.datasets.checks import looks_encoded_twice


def names(rows: list[tuple[str, str, float]], **changes: object) -> dict[str, int]:
    pairs = replace(load_dataset(rows), **changes)  # type: ignore[arg-type]
    return {finding.name: finding.count for finding in check_dataset({"test": pairs})}


def test_good_data_has_no_findings() -> None:
    assert names([("a", "b", 1), ("b", "c", 2), ("Müller", "naïve – “ja” €5 Ärger", 0)], scale=(0, 2)) == {}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("a", "b", 1), ("a", "b", 1), ("x", "y", 0)], {"duplicates": 1}),
        ([("a", "b", 1), ("b", "a", 1), ("x", "y", 0)], {"swapped-duplicates": 1}),
        ([("a", "b", 1), ("b", "a", 2)], {"swapped-duplicates": 1, "conflicting-labels": 1}),
        ([("a", "b", 1), ("a", "b", 2), ("a", "b", 0)], {"duplicates": 2, "conflicting-labels": 1}),
        ([("a", "a", 1), ("b", "b", 2)], {}),
        ([("a", "b", 1), ("c", "d", 3), ("e", "f", -1)], {"out-of-scale": 2}),
        ([("a", "", 1), (" ", "b", 2)], {"blank-texts": 2}),
        ([("MÃ¼ller", "a", 1), ("b", "itâ€™s", 2)], {"encoded-twice": 2}),
        ([("a\ufffdb", "x", 1), ("c", "d\x07", 2)], {"replacement-character": 1, "control-characters": 1}),
        ([("caf\\u00e9", "x", 1), ("a &amp; b", "y", 2)], {"escape-sequences": 2}),
        ([("a", "b", 1), ("c", "d", 1)], {"constant-label": 2}),
    ],
)
def test_each_fault_is_found(rows: list[tuple[str, str, float]], expected: dict[str, int]) -> None:
    assert names(rows, scale=(0, 2)) == expected


def test_leaks_and_unlabelled() -> None:
    train = load_dataset([("a", "b", 1), ("c", "d", 0)])
    test = load_dataset([("b", "a", 2), ("e", "f", None)], allow_unlabelled=True)
    found = {(f.name, f.split): f.count for f in check_dataset({"train": train, "test": test})}
    assert found[("leaks", "train+test")] == 1 and found[("unlabelled", "test")] == 1


def test_the_question_counts() -> None:
    rows = [{"question": q, "reference": "a", "candidate": "b", "label": n} for q, n in (("x", 1), ("y", 2))]
    assert check_dataset({"test": load_dataset(rows)}) == []


@pytest.mark.parametrize("text", ["Müller", "Ärger", "„Ä“", "São Tomé", "Âge", "façade", "Ω", "naïve…"])
def test_sound_texts(text: str) -> None:
    assert not looks_encoded_twice(text)


@pytest.mark.parametrize("text", ["Müller", "Ärger", "São", "Σ σ", "日本", "–", "€"])
def test_texts_encoded_twice(text: str) -> None:
    assert looks_encoded_twice(text.encode().decode("latin-1"))
