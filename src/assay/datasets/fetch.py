"""From a card to files on this machine: each source in turn, and why each failed where all did."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from assay.datasets.card import Card, FileEntry
from assay.datasets.sources.base import Context, MismatchMiss, OfflineMiss, SourceMiss, load_source, verify
from assay.errors import ChecksumError, InputError, OfflineError, UnavailableError, unknown
from assay.transfer.checksum import Progress

__all__ = ["Located", "fetch_dataset", "is_here", "locate"]


@dataclass(frozen=True)
class Located:
    """A file on this machine, checked, where it came from, and files of that name that were other ones."""

    entry: FileEntry
    path: Path
    source: str
    sha256: str
    passed_over: tuple[str, ...] = ()


def locate(
    card: Card,
    names: Iterable[str],
    *,
    offline: bool = False,
    progress: Progress | None = None,
    local_only: bool = False,
) -> dict[str, Located]:
    """Return the checked file for each name, fetched if need be.

    Args:
        card: the card.
        names: names of files of its manifest.
        offline: whether the network is forbidden.
        progress: called as progress(file, bytes done, bytes in all or None).
        local_only: look only at what is on this machine, without a word on the rest.

    Raises:
        OfflineError: it would have to be fetched.
        ChecksumError: a file is there but is another one, and no other source has it.
        UnavailableError: it cannot be had; one line that says why for each source.
    """
    context = Context(card=card, offline=offline or local_only, progress=progress)
    return {name: _locate_one(context, card.file(name)) for name in names}


def _locate_one(context: Context, entry: FileEntry) -> Located:
    card = context.card
    misses: list[tuple[str, SourceMiss]] = []
    for source in card.sources:
        if not source.has(entry.name):
            continue
        try:
            path = load_source(source.kind)(source, entry, context)
            others = tuple(f"{where}: {miss}" for where, miss in misses if isinstance(miss, MismatchMiss))
            return Located(entry, path, source.describe(), verify(path, entry), others)
        except SourceMiss as miss:
            misses.append((source.describe(), miss))
        except (PermissionError, NotADirectoryError) as error:
            # another source may still have it
            misses.append((source.describe(), SourceMiss(f"{error.filename} cannot be read ({error.strerror})")))
    raise _error(context, entry, misses)


def _error(context: Context, entry: FileEntry, misses: list[tuple[str, SourceMiss]]) -> Exception:
    card = context.card
    what = f"dataset {card.name}@{card.version}, file {entry.name}"
    why = "; ".join(f"{source}: {miss}" for source, miss in misses)
    if card.instructions and not any(s.kind in ("hub", "https", "pypi") for s in card.sources):
        mismatched = [str(miss) for _, miss in misses if isinstance(miss, MismatchMiss)]
        reason = f"{what} is not here" + (f" ({'; '.join(mismatched)})" if mismatched else "")
        return UnavailableError(reason, " ".join(card.instructions.split()))
    if any(isinstance(miss, MismatchMiss) for _, miss in misses) and not any(
        isinstance(miss, OfflineMiss) for _, miss in misses
    ):
        return ChecksumError(f"{what} is another file than its card describes: {why}")
    if any(isinstance(miss, OfflineMiss) for _, miss in misses):
        return OfflineError(
            f"{what} is not on this machine and the network is forbidden; fetch it once with:"
            f" assay datasets fetch {card.name}@{card.version} ({why})"
        )
    remedy = f"put the file into a folder DIR/{card.name} and set ASSAY_DATA=DIR ({why})"
    return UnavailableError(f"{what} cannot be had from any of its sources", remedy)


def fetch_dataset(
    spec: str | Card,
    *,
    version: str | None = None,
    offline: bool = False,
    progress: Callable[[str, int, int | None], None] | None = None,
) -> list[Located]:
    """Bring every file of a dataset (or of the splits named in ``NAME:SPLIT``) onto this machine.

    Raises:
        InputError: no such card or split; otherwise as ``locate``.
    """
    from assay.datasets.registry import load_card, parse_spec

    if isinstance(spec, Card):
        card, splits = spec, None
    else:
        name, inner, splits = parse_spec(spec)
        card = load_card(name, version or inner)
    names = [entry.name for entry in card.files]
    if splits is not None and splits != ("all",):
        for split in splits:
            if split not in card.splits:
                raise InputError(unknown(f"dataset {card.name} has no split", split, card.splits))
        names = [name for split in splits for name in card.splits[split].files]
    else:
        optional = {n for s in card.splits.values() for n in s.optional_files}
        names = [name for name in names if name not in optional]
    return list(locate(card, dict.fromkeys(names), offline=offline, progress=progress).values())


def is_here(card: Card, split: str | None = None) -> bool:
    """Tell whether the files of a split (the default one for None) are on this machine, without any network."""
    names = card.splits[split or card.default_split].files
    try:
        locate(card, names, local_only=True)
    except (InputError, UnavailableError):
        return False
    return True
