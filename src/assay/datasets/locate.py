"""Location of the files of a card: its sources are tried in turn, and every file is checked against the card."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from assay.common.addresses import command_line
from assay.common.transfer import DownloadProgress
from assay.datasets.card import ALL_SPLITS, NETWORK_KINDS, Card, FileEntry
from assay.datasets.registry import load_card
from assay.datasets.sources import Context, MismatchMiss, OfflineMiss, SourceMiss, checked_sha256, source_function
from assay.datasets.spec import parse_spec
from assay.exceptions import ChecksumError, InputError, OfflineError, UnavailableError, unknown_name


@dataclass(frozen=True)
class LocatedFile:
    """A checked file on this machine.

    Attributes:
        entry: the file's entry in the manifest.
        path: the path of the file.
        source: the source that provided it, in words.
        sha256: the SHA-256 (hex) of the file.
        passed_over: files of that name at earlier sources that differ from the card, each with the difference.
    """

    entry: FileEntry
    path: Path
    source: str
    sha256: str
    passed_over: tuple[str, ...] = ()


def locate_files(
    card: Card,
    names: Iterable[str],
    *,
    offline: bool = False,
    progress: DownloadProgress | None = None,
    local_only: bool = False,
) -> dict[str, LocatedFile]:
    """Return the checked files by name; files that are not on this machine are downloaded into the cache.

    Args:
        card: the card.
        names: names of files in its manifest.
        offline: whether the network is forbidden.
        progress: a callback progress(file, bytes done, total bytes or None).
        local_only: whether to use only files that are on this machine; the network is then forbidden as well.

    Raises:
        OfflineError: a file would have to be downloaded, and the network is forbidden.
        ChecksumError: a file of that name differs from the card, and no other source has the right one.
        UnavailableError: no source has the file; one line with the reason for each source.
        InputError: the disk of the cache is full or read-only.
    """
    context = Context(card=card, offline=offline or local_only, progress=progress)
    return {name: _locate_file(context, card.file(name)) for name in names}


def _locate_file(context: Context, entry: FileEntry) -> LocatedFile:
    """Return the checked file from the first source that has it.

    Raises:
        OfflineError, ChecksumError, UnavailableError: no source has the file, see :func:`_missing_file_error`.
        InputError: the disk of the cache is full or read-only.
    """
    card = context.card
    misses: list[tuple[str, SourceMiss]] = []
    for source in card.sources:
        if not source.provides(entry.name):
            continue
        try:
            path = source_function(source.kind)(source, entry, context)
            sha256 = checked_sha256(path, entry)
        except SourceMiss as miss:
            misses.append((source.describe(entry.name), miss))
        except (PermissionError, NotADirectoryError) as error:
            # another source may still have it
            unreadable = SourceMiss(f"{error.filename} cannot be read ({error.strerror})")
            misses.append((source.describe(entry.name), unreadable))
        else:
            other_files = [f"{source_text}: {miss}" for source_text, miss in misses if isinstance(miss, MismatchMiss)]
            return LocatedFile(entry, path, source.describe(), sha256, tuple(other_files))
    raise _missing_file_error(context, entry, misses)


def _missing_file_error(
    context: Context, entry: FileEntry, misses: list[tuple[str, SourceMiss]]
) -> InputError | UnavailableError:
    """Return the error to raise for a file that no source has; its type and text depend on what the user can do.

    The remedies, in order of precedence: follow the card's instructions, replace a wrong file, go online once, correct
    the paths of a card without other sources, or put the file into a folder of $ASSAY_DATA.

    Args:
        context: the card, and the settings of the search.
        entry: the file, as the card describes it.
        misses: the description of each source, and why it has not the file.
    """
    card = context.card
    description = f"dataset {card.name}@{card.version}, file {entry.name}"
    reasons = "; ".join(f"{source}: {miss}" for source, miss in misses)
    mismatches = [str(miss) for _, miss in misses if isinstance(miss, MismatchMiss)]
    is_offline = any(isinstance(miss, OfflineMiss) for _, miss in misses)
    has_address = any(source.kind in NETWORK_KINDS for source in card.sources)
    if card.instructions and not has_address:
        differences = f" ({'; '.join(mismatches)})" if mismatches else ""
        return UnavailableError(f"{description} is not here{differences}", " ".join(card.instructions.split()))
    if mismatches and not is_offline:
        return ChecksumError(f"{description} is another file than its card describes: {reasons}")
    if is_offline:
        return OfflineError(
            f"{description} is not on this machine and the network is forbidden; fetch it once with:"
            f" {command_line('datasets', 'fetch', f'{card.name}@{card.version}')} ({reasons})"
        )
    remedy = f"put the file into a folder DIR/{card.name} and set ASSAY_DATA=DIR ({reasons})"
    if card.origin and all(source.kind == "path" for source in card.sources):
        remedy = f"correct its path under sources in {card.origin} ({reasons})"
    return UnavailableError(f"{description} is not available from any of its sources", remedy)


def fetch_dataset(
    spec: str | Card,
    *,
    version: str | None = None,
    offline: bool = False,
    progress: DownloadProgress | None = None,
) -> list[LocatedFile]:
    """Return the files of a dataset, or of the splits in ``NAME:SPLIT``; those not on this machine are downloaded.

    Optional files are neither fetched nor returned. A file that splits share is returned once.

    Args:
        spec: the name or path of a card, or the card.
        version: the card's version, in place of ``@VERSION``; None for the default one.
        offline: whether the network is forbidden.
        progress: a callback progress(file, bytes done, total bytes or None).

    Raises:
        InputError: there is no such card or split, or the disk of the cache is full or read-only.
        OfflineError: a file would have to be downloaded, and the network is forbidden.
        ChecksumError: a file of that name differs from the card, and no other source has the right one.
        UnavailableError: no source has the file; one line with the reason for each source.
    """
    if isinstance(spec, Card):
        card, splits = spec, None
    else:
        dataset_name, spec_version, splits = parse_spec(spec)
        card = load_card(dataset_name, version or spec_version)
    file_names = _required_files(card, splits)
    return list(locate_files(card, file_names, offline=offline, progress=progress).values())


def _required_files(card: Card, splits: tuple[str, ...] | None) -> list[str]:
    """Return the names of the files that some splits, or all for None, cannot be read without, each once.

    Raises:
        InputError: the card has no such split.
    """
    if splits is None or splits == (ALL_SPLITS,):
        optional_files: set[str] = set()
        for split in card.splits.values():
            optional_files.update(split.optional_files)
        return [entry.name for entry in card.files if entry.name not in optional_files]
    file_names: list[str] = []
    for split_name in splits:
        if split_name not in card.splits:
            raise InputError(unknown_name(f"dataset {card.name} has no split", split_name, card.splits))
        file_names += card.splits[split_name].files
    return list(dict.fromkeys(file_names))


def files_are_local(card: Card, split: str | None = None) -> bool:
    """Tell whether the files of a split are on this machine and match the card; the network is never used.

    Args:
        card: the card.
        split: one of its splits, whose optional files do not count; None for the default split.

    Raises:
        InputError: the card has no such split.
    """
    names = _required_files(card, (split or card.default_split,))
    try:
        locate_files(card, names, local_only=True)
    except (InputError, UnavailableError):
        return False
    return True
