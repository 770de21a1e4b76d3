"""Cards by name: those of the package, those of other packages, those in a file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from assay.datasets.card import Card, card_from, read_card
from assay.errors import AssayError, InputError, unknown

__all__ = ["DatasetEntry", "list_datasets", "load_card", "parse_spec"]

GROUP = "assay.datasets"


@dataclass(frozen=True)
class DatasetEntry:
    """One card in the list: its name and version, who brings it, and why it cannot be read, if so."""

    name: str
    version: str
    origin: str
    card: Card | None
    error: str = ""
    default: bool = True


def parse_spec(spec: str) -> tuple[str, str | None, tuple[str, ...] | None]:
    """Split ``NAME[@VERSION][:SPLIT[+SPLIT]]`` (NAME may be a path to a .toml card)."""
    head, colon, splits = spec.rpartition(":")
    if not colon or "/" in splits or "\\" in splits or splits.endswith(".toml"):
        head, splits = spec, ""
    elif not splits:
        raise InputError(f"{spec!r}: expected a split after the colon, as in {head}:test")
    name, at, version = head.rpartition("@")
    if not at or "/" in version or "\\" in version or version.endswith(".toml"):
        name, version = head, ""
    elif not version:
        raise InputError(f"{spec!r}: expected a version after the @")
    return name, version or None, tuple(splits.split("+")) if splits else None


def list_datasets() -> list[DatasetEntry]:
    """Return every known card by name and version; a card that cannot be read stands there with its error."""
    entries = [DatasetEntry(c.name, c.version, "assay", c) for c in _bundled()]
    for point in entry_points(group=GROUP):
        origin = point.dist.name if point.dist is not None else "unknown"
        try:
            card = _from_entry_point(point)
        except Exception as error:  # noqa: BLE001  whatever another package's code raises is reported
            entries.append(DatasetEntry(point.name, "", origin, None, error=str(error)))
            continue
        if any(e.name == card.name and e.version == card.version for e in entries):
            problem = f"{card.name}@{card.version} is already there"
            entries.append(DatasetEntry(card.name, card.version, origin, None, error=problem, default=False))
        else:
            entries.append(DatasetEntry(card.name, card.version, origin, card))
    marked = []
    for entry in sorted(entries, key=lambda e: (e.name, e.version, e.origin)):
        same = [e.card for e in entries if e.name == entry.name and e.card is not None]
        chosen = entry.card is not None and entry.card is _choose(same)
        marked.append(DatasetEntry(entry.name, entry.version, entry.origin, entry.card, entry.error, chosen))
    return marked


def load_card(name: str | Path, version: str | None = None) -> Card:
    """Return the card of that name (``NAME`` or ``NAME@VERSION``), or the one in a TOML file.

    Without a version it is the one that no other supersedes.

    Raises:
        InputError: no such name or version (with the nearest ones), or an invalid card.
    """
    text = str(name)
    if text.endswith(".toml"):
        return read_card(text)
    text, inner, _ = parse_spec(text)
    version = version or inner
    entries = [entry for entry in list_datasets() if entry.name == text]
    cards = [entry.card for entry in entries if entry.card is not None]
    if not cards:
        if entries:
            raise InputError(f"dataset {text!r} (from {entries[0].origin}): {entries[0].error}")
        if Path(text).is_file():
            raise InputError(f"{text}: is a file, and no card; a card is a .toml file")
        names = sorted({entry.name for entry in list_datasets()})
        raise InputError(unknown("there is no file and no dataset", text, names))
    if version is None:
        return _choose(cards)
    for card in cards:
        if card.version == version:
            return card
    raise InputError(unknown(f"dataset {text!r} has no version", version, [card.version for card in cards]))


def _choose(cards: list[Card]) -> Card:
    current = [card for card in cards if not card.superseded_by] or cards
    return next((card for card in current if card.preferred), current[-1])


@cache
def _bundled() -> tuple[Card, ...]:
    folder = Path(__file__).parent / "cards"
    return tuple(read_card(path) for path in sorted(folder.glob("*.toml")))


def _from_entry_point(point: Any) -> Card:
    """Return the card behind an entry point: a path to a TOML file, or a callable that returns path or card."""
    value = point.load()
    if callable(value) and not isinstance(value, Card):
        value = value()
    if isinstance(value, Card):
        return value
    if isinstance(value, dict):
        return card_from(value, f"entry point {point.name}")
    if isinstance(value, str | Path):
        return read_card(value)
    raise AssayError(f"entry point {point.value} gives {type(value).__name__}; expected a path to a card")
