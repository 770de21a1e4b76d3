"""Pairs of large files are kept as they were read, and found again only where reading would give the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.common.kept import default_results
from assay.datasets import card_pairs, kept, load_dataset
from assay.datasets.card import Card
from assay.datasets.card_file import card_from_fields

MakeCard = Callable[..., dict[str, Any]]


def write(folder: Path, *names: str, rows: int = 9000, word: str = "x") -> None:
    for name in names:
        lines = [f"a {name} {i},b {word} {i},{i % 5}" for i in range(rows)]
        (folder / name).write_text("\n".join(["reference,candidate,label", *lines]) + "\n", encoding="utf-8")


@pytest.fixture
def make(card_of: MakeCard, own_cache: Path, tmp_path: Path) -> Callable[..., Card]:
    def card(*names: str, **options: Any) -> Card:
        fields = card_of(
            reader="table",
            options={"add": {"question": "Q{row}"}, **options},
            splits={"test": {"files": list(names)}},
            files=[{"name": name} for name in names],
            sources=[{"kind": "path", "path": "{name}"}],
        )
        return card_from_fields(fields, str(tmp_path / "card.toml"))

    return card


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Path]]:
    """The files of each call of a reader."""
    calls: list[dict[str, Path]] = []
    run = card_pairs._run_reader
    monkeypatch.setattr(
        card_pairs, "_run_reader", lambda reader, paths, *more: calls.append(paths) or run(reader, paths, *more)
    )
    return calls


def test_pairs_are_found_again(make: Callable[..., Card], tmp_path: Path, readings: list[Any]) -> None:
    write(tmp_path, "one.csv")
    first, second = load_dataset(make("one.csv")), load_dataset(make("one.csv"))
    assert len(readings) == 1 and len(first) == 9000
    assert second.table.equals(first.table, check_metadata=True) and second.table.schema == first.table.schema
    assert (second.notes, second.digest, second.sha256) == (first.notes, first.digest, first.sha256)


def test_notes_are_kept(make: Callable[..., Card], tmp_path: Path, readings: list[Any]) -> None:
    write(tmp_path, "one.csv")
    with (tmp_path / "one.csv").open("a", encoding="utf-8") as file:
        file.write("a,b,\n")
    notes = [load_dataset(make("one.csv", drop_unlabelled=True)).notes for _ in range(2)]
    assert len(readings) == 1 and notes[0] == notes[1] and any("1" in note for note in notes[0])


@pytest.mark.parametrize("changed", ["content", "option", "order", "code"])
def test_what_would_be_read_otherwise_is_read(
    make: Callable[..., Card], tmp_path: Path, readings: list[Any], monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    write(tmp_path, "one.csv", "two.csv")
    first = load_dataset(make("one.csv", "two.csv"))
    names, options = ["one.csv", "two.csv"], {}
    if changed == "content":
        write(tmp_path, "one.csv", word="y")
    elif changed == "option":
        options = {"skip": [1, 0]}
    elif changed == "order":
        names = names[::-1]
    else:
        monkeypatch.setattr("assay.common.kept._code_digest", lambda: b"other")
    second = load_dataset(make(*names, **options))
    assert len(readings) == 2 and second.table.equals(first.table) == (changed == "code")


def test_small_files_are_read(make: Callable[..., Card], tmp_path: Path, readings: list[Any]) -> None:
    write(tmp_path, "one.csv", rows=3)
    load_dataset(make("one.csv"))
    load_dataset(make("one.csv"))
    assert len(readings) == 2 and not default_results().exists()


@pytest.mark.parametrize("state", ["damaged", "no folder", "value"])
def test_a_cache_that_cannot_be_used_is_left_alone(
    make: Callable[..., Card], tmp_path: Path, readings: list[Any], monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    write(tmp_path, "one.csv")
    first = load_dataset(make("one.csv"))
    if state == "damaged":
        default_results().write_bytes(b"no database" * 100)
    elif state == "no folder":
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "file"))
    else:
        with kept.KeptResults(default_results()) as results, results._transaction():
            results._connection.execute("UPDATE results SET value = ?", (b"half",))
    assert load_dataset(make("one.csv")).table.equals(first.table) and len(readings) == 2


def test_the_code_of_another_package_is_always_asked(
    make: Callable[..., Card], tmp_path: Path, readings: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "one.csv")
    monkeypatch.setattr(card_pairs, "built_in_readers", dict)
    load_dataset(make("one.csv"))
    load_dataset(make("one.csv"))
    assert len(readings) == 2
