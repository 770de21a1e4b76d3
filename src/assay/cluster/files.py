"""Sends files that work reads to nodes that lack them: once per node, verified by digest, kept in the node's cache."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.cluster.connection import import_ray
from assay.common.output import exclusive_lock
from assay.exceptions import AssayError, UnavailableError
from assay.metrics.models.files import files_digest, list_files
from assay.metrics.provenance import file_digest
from assay.paths import cache_dir, make_private_folder

#: The size in bytes of the chunks of a file, and so the memory that a node needs for a file.
CHUNK_BYTES = 64 * 2**20


class NodeError(UnavailableError):
    """A node cannot do the work: its files or packages differ from the driver's, or its disk fails."""


class MissingFilesError(AssayError):
    """A node lacks files that the driver can send.

    Args:
        digests: the digests of the missing files and folders.
    """

    def __init__(self, digests: Sequence[str]) -> None:
        super().__init__(f"{len(digests)} files or folders are missing on the node")
        self.digests = tuple(digests)

    def __reduce__(self) -> tuple[Any, ...]:
        # By default, unpickling would pass the message to the constructor in place of the digests.
        return type(self), (self.digests,)


@dataclass(frozen=True)
class Content:
    """A file, or files below a folder.

    Attributes:
        path: the path of the file or folder.
        names: the names of the files, relative to the folder; empty for a single file.
        digest: the digest of all files.
    """

    path: Path
    names: tuple[str, ...]
    digest: str

    @classmethod
    def from_path(cls, path: Path) -> Content:
        """Return the content of a path: a file, or a folder with all of its files.

        Raises:
            InputError: the folder has more files or levels than that of a model.
            OSError: a file cannot be read.
        """
        if not path.is_dir():
            return cls(path, (), file_digest(path))
        names = list_files(path)
        return cls(path, names, files_digest(path, names))

    def is_at(self, path: Path) -> bool:
        """Return whether another path holds the same content; False if it cannot be read."""
        try:
            return self.digest == (files_digest(path, self.names) if self.names else file_digest(path))
        except OSError:
            return False


@dataclass(frozen=True)
class Parcel:
    """A content in Ray's store.

    Attributes:
        content: the content, with its path on the driver.
        parts: for each file, its name relative to the folder (empty for a single file) and Ray's references to its
            chunks, in order.
    """

    content: Content
    parts: tuple[tuple[str, tuple[Any, ...]], ...]


def pack_content(content: Content) -> Parcel:
    """Put a content into Ray's store, in chunks, and return the parcel that refers to it.

    Raises:
        OSError: a file cannot be read.
    """
    ray = import_ray()
    content_files = []
    # A single file has no names below its path: the path itself is read.
    for name in content.names or ("",):
        path = content.path / name if name else content.path
        content_files.append((name, tuple(ray.put(chunk) for chunk in _file_chunks(path))))
    return Parcel(content, tuple(content_files))


def _file_chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            yield chunk


def sent_copy_path(content: Content) -> Path:
    """Return the path at which this node keeps a content that was sent to it."""
    return cache_dir() / "sent" / content.digest[:32] / content.path.name


def receive_parcels(parcels: Sequence[Parcel]) -> None:
    """Write sent contents into the cache of this node, unless they are there already.

    Raises:
        NodeError: a written content has another digest than the sent one.
        OSError: a file cannot be written.
    """
    for parcel in parcels:
        target = sent_copy_path(parcel.content)
        cache_folder = target.parent.parent
        if not cache_folder.exists():
            make_private_folder(cache_folder)
        with exclusive_lock(cache_folder):
            if not parcel.content.is_at(target):
                _write_parcel(parcel, target)


def _write_parcel(parcel: Parcel, target: Path) -> None:
    """Write a content to a temporary folder, verify its digest, and rename it to *target*, which is replaced.

    Raises:
        NodeError: the written content has another digest than the sent one.
        OSError: a file cannot be written.
    """
    shutil.rmtree(target.parent, ignore_errors=True)
    with tempfile.TemporaryDirectory(suffix=".part", dir=target.parent.parent) as unfinished:
        root = Path(unfinished) / target.name
        for name, references in parcel.parts:
            path = root / name if name else root
            path.parent.mkdir(parents=True, exist_ok=True)
            _write_chunks(references, path)
        if not parcel.content.is_at(root):
            raise NodeError(f"{target}: what was written is not what was sent", "check the disk of that node")
        target.parent.mkdir()
        root.rename(target)


def _write_chunks(references: Sequence[Any], path: Path) -> None:
    """Write the chunks that Ray's references stand for to a file; an OSError names the file."""
    ray = import_ray()
    try:
        with path.open("wb") as stream:
            for reference in references:
                stream.write(ray.get(reference))
    except OSError as error:
        # The error of a full disk does not name the path.
        raise OSError(error.errno, error.strerror, str(path)) from error
