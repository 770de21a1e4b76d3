"""The datasets by name: the cards of this package and those of installed packages, and which one a name means."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from assay.datasets.card import Card
from assay.datasets.card_file import card_from_fields, read_card
from assay.datasets.spec import parse_spec
from assay.exceptions import AssayError, InputError, unavailable_on_error, unknown_name
from assay.paths import check_is_no_run, path_exists, user_path

#: The entry point group with which other packages add cards.
GROUP = "assay.datasets"


@dataclass(frozen=True)
class DatasetEntry:
    """One card in the list of datasets.

    Attributes:
        name: the dataset's name.
        version: the card's version; empty if the card cannot be read.
        origin: the package that provides the card.
        card: the card; None if it cannot be used.
        error: the reason why the card cannot be used; empty if it can.
        default: whether the dataset's name without a version means this card.
    """

    name: str
    version: str
    origin: str
    card: Card | None
    error: str = ""
    default: bool = True


def list_datasets() -> list[DatasetEntry]:
    """Return an entry for every card of this package and of installed ones, sorted by name, version and origin.

    A card that cannot be used is listed with its error.
    """
    entries = [DatasetEntry(card.name, card.version, "assay", card) for card in _bundled_cards()]
    for entry_point in _installed_entry_points(tuple(sys.path)):
        entries.append(_entry_of(entry_point, {(entry.name, entry.version) for entry in entries}))
    entries.sort(key=lambda entry: (entry.name, entry.version, entry.origin))
    cards_by_name: defaultdict[str, list[Card]] = defaultdict(list)
    for entry in entries:
        if entry.card is not None:
            cards_by_name[entry.name].append(entry.card)
    default_cards = {name: _default_card(cards) for name, cards in cards_by_name.items()}
    return [
        replace(entry, default=entry.card is not None and entry.card is default_cards[entry.name]) for entry in entries
    ]


def _entry_of(entry_point: EntryPoint, taken: Collection[tuple[str, str]]) -> DatasetEntry:
    """Return the entry of a card that an installed package adds, with an error if it cannot be used.

    Args:
        entry_point: the entry point of the package.
        taken: name and version of each card that is listed already.
    """
    origin = entry_point.dist.name if entry_point.dist is not None else "unknown"
    try:
        card = _card_from_entry_point(entry_point)
    except AssayError as error:
        return DatasetEntry(entry_point.name, "", origin, None, error=error.message)
    if (card.name, card.version) in taken:
        return DatasetEntry(card.name, card.version, origin, None, f"{card.name}@{card.version} is already there")
    return DatasetEntry(card.name, card.version, origin, card)


def load_card(name: str | Path, version: str | None = None) -> Card:
    """Return the card called ``NAME`` or ``NAME@VERSION``, or the card in a TOML file.

    Without a version, the default one is returned: the preferred card, or the last one, among those that are not
    superseded.

    Args:
        name: the name, with or without a version, or the path of a .toml file. A split after it is ignored.
        version: the version; it takes precedence over the one in *name*, and is ignored for a file.

    Raises:
        InputError: there is no such name or version (the message lists similar ones), *name* ends in a colon or an
            ``@``, or the card is invalid.
    """
    if str(name).endswith(".toml"):
        return read_card(name)
    card_name, spec_version, _ = parse_spec(str(name))
    version = version or spec_version
    all_entries = list_datasets()
    cards = [entry.card for entry in all_entries if entry.name == card_name and entry.card is not None]
    if not cards:
        raise _no_card_error(card_name, all_entries)
    if version is None:
        return _default_card(cards)
    for card in cards:
        if card.version == version:
            return card
    raise InputError(unknown_name(f"dataset {card_name!r} has no version", version, [card.version for card in cards]))


def _no_card_error(name: str, entries: list[DatasetEntry]) -> InputError:
    """Return the error to raise for a name without a usable card: what it is instead, or similar names.

    Args:
        name: the name, which may be a path.
        entries: the entries of all cards.
    """
    for entry in entries:
        if entry.name == name:
            return InputError(f"dataset {name!r} (from {entry.origin}): {entry.error}")
    if path_exists(name) and Path(name).is_file():
        return InputError(f"{name}: is a file, and no card; a card is a .toml file")
    try:
        check_is_no_run(user_path(name))
    except InputError as error:
        return error
    if path_exists(name) and Path(name).is_dir():
        return InputError(
            f"{name}: is a folder, and no card; a card is a .toml file, a folder of Parquet parts is written {name}/"
        )
    known_names = sorted({entry.name for entry in entries})
    return InputError(unknown_name("there is no file and no dataset", name, known_names))


def _default_card(cards: list[Card]) -> Card:
    """Return the card that a name without a version means.

    This is the first preferred card, or else the last card, among those that are not superseded (among all cards if
    each is superseded).

    Args:
        cards: the cards of one name, sorted by version; at least one.
    """
    current = [card for card in cards if not card.superseded_by] or cards
    return next((card for card in current if card.preferred), current[-1])


@cache
def _installed_entry_points(path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Return the entry points of installed packages for dataset cards.

    Cached, since reading the metadata of all packages is slow.

    Args:
        path: ``sys.path`` as a tuple; only the key of the cache, so that a changed path is searched anew.
    """
    return tuple(entry_points(group=GROUP))


@cache
def _bundled_cards() -> tuple[Card, ...]:
    """Return the cards in the package, sorted by file name; cached, since they cannot change while assay runs."""
    folder = Path(__file__).parent / "cards"
    return tuple(read_card(path) for path in sorted(folder.glob("*.toml")))


def _card_from_entry_point(point: EntryPoint) -> Card:
    """Return the card behind an entry point: a card, its fields as a dict, its path, or a function that returns these.

    Raises:
        AssayError: the entry point cannot be loaded, or is something else.
        InputError: the card is invalid, or its file cannot be read.
    """
    with unavailable_on_error(f"entry point {point.value} cannot be loaded"):
        value = point.load()
        if callable(value) and not isinstance(value, Card):
            value = value()
    if isinstance(value, Card):
        return value
    if isinstance(value, dict):
        return card_from_fields(value, f"entry point {point.name}")
    if isinstance(value, str | Path):
        return read_card(value)
    raise AssayError(
        f"entry point {point.value} gives {type(value).__name__}; expected a card, its path, its fields as a dict, "
        "or a function that returns one of these"
    )
