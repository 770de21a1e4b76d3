"""Sources on this machine: a path, the package itself, the folders of $ASSAY_DATA, the cache."""

from __future__ import annotations

import gzip
from pathlib import Path

from assay.datasets.card import FileEntry, SourceEntry
from assay.datasets.sources.archives import store
from assay.datasets.sources.base import Context, MismatchMiss, SourceMiss, verify
from assay.paths import cache_dir, data_dirs

__all__ = ["from_cache", "from_data_dirs", "from_package", "from_path"]


def from_path(source: SourceEntry, entry: FileEntry, context: Context) -> Path:
    """Find a file by its path; a relative one starts at the card."""
    path = Path(source.path_of(entry.name)).expanduser()
    if not path.is_absolute() and context.card.origin:
        path = Path(context.card.origin).parent / path
    return _present(path)


def from_package(source: SourceEntry, entry: FileEntry, context: Context) -> Path:
    """Find a file that is part of the package."""
    return _present(Path(__file__).parents[1] / source.path_of(entry.name))


def from_cache(source: SourceEntry, entry: FileEntry, context: Context) -> Path:
    """Find a file that was fetched before, for this card or (by a path of its own) for another one."""
    if source.path == "{name}":
        return _present(context.cache_path(entry.name))
    return _present(cache_dir() / "datasets" / source.path_of(entry.name))


def from_data_dirs(source: SourceEntry, entry: FileEntry, context: Context) -> Path:
    """Find a file under DIR/<card>, DIR/<folder of the card> or DIR itself, for each DIR of $ASSAY_DATA.

    One that lies there with gzip (NAME.gz) is unpacked into the cache.
    """
    folders = data_dirs()
    if not folders:
        raise SourceMiss("not set")
    name = source.path_of(entry.name)
    wrong: MismatchMiss | None = None
    for folder in folders:
        for place in dict.fromkeys((folder / context.card.name, folder / source.folder, folder)):
            for path in dict.fromkeys((place / name, place / Path(name).name)):
                for found, take in ((path, _verified), (path.with_name(f"{path.name}.gz"), _unpacked)):
                    try:
                        if found.is_file():
                            return take(found, entry, context)
                    except MismatchMiss as miss:
                        wrong = wrong or miss
    if wrong is not None:
        raise wrong
    raise SourceMiss("no such file there")


def _verified(path: Path, entry: FileEntry, context: Context) -> Path:
    verify(path, entry)
    return path


def _unpacked(packed: Path, entry: FileEntry, context: Context) -> Path:
    target = context.cache_path(entry.name)
    if target.is_file():
        try:
            verify(target, entry)
        except MismatchMiss:
            target.unlink()
        else:
            return target
    try:
        with gzip.open(packed) as stream:
            # no more than the card says, and one byte that would show that there is more
            content = stream.read(-1 if entry.bytes is None else entry.bytes + 1)
    except (OSError, EOFError) as error:
        raise SourceMiss(f"{packed} cannot be unpacked ({error})") from None
    return store(content, target, entry)


def _present(path: Path) -> Path:
    if not path.is_file():
        raise SourceMiss("no such file there")
    return path
