"""The files in zip and tar archives, unpacked to a temporary folder within limits."""

from __future__ import annotations

import atexit
import functools
import tarfile
import tempfile
import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from assay.common.transfer import ARCHIVE_ERRORS
from assay.datasets.sources import MAX_TAR_HEADERS
from assay.exceptions import InputError, summary_of

#: The ends of the names of archives.
ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz")
#: A file may unpack to this number of bytes, or to this multiple of its size if that is more.
MAX_UNPACKED_BYTES, MAX_UNPACKED_RATIO = 1 << 30, 100


def is_archive(path: str | Path) -> bool:
    """Tell whether a name is that of an archive."""
    return Path(path).name.lower().endswith(ARCHIVES)


def archive_members(path: Path) -> list[str]:
    """Return the names of the files in an archive, each once, without those that macOS adds (``__MACOSX/…``, ``._…``).

    Raises:
        InputError: the archive is damaged or encrypted, or a tar archive holds more than the limits allow.
    """
    status = path.stat()
    return list(_members(path, status.st_mtime_ns, status.st_size))


@functools.lru_cache(maxsize=16)
def _members(path: Path, _changed: int, size: int) -> tuple[str, ...]:
    """Return the names of the files; cached by the time of the last change and the size.

    Raises:
        InputError: see :func:`archive_members`.
    """
    with _damage_as_error(path):
        return tuple(dict.fromkeys(name for name, _ in _files(path, unpacked_limit(size))))


def unpacked_members(path: Path, names: Collection[str]) -> dict[str, Path]:
    """Return the paths of files of an archive by name, unpacked together; they are deleted when the process ends.

    Args:
        path: the path of the archive.
        names: names from :func:`archive_members`.

    Raises:
        InputError: the archive is damaged or encrypted, has several files of one of the names, or the files together
            are larger than the limit.
    """
    status = path.stat()
    return _unpack(path, frozenset(names), status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=16)
def _unpack(path: Path, names: frozenset[str], _changed: int, size: int) -> dict[str, Path]:
    """Return the paths of the unpacked files; cached by the time of the last change and the size.

    Raises:
        InputError: see :func:`unpacked_members`.
    """
    limit = unpacked_limit(size)
    folder = temporary_folder()
    paths: dict[str, Path] = {}
    written = 0
    with _damage_as_error(path):
        for name, stream in _files(path, limit):
            if name not in names:
                continue
            if name in paths:
                raise InputError(f"{path}: has several files of the name {name!r}; pack the one that counts alone")
            # numbered, since files in several folders of the archive may have one name
            paths[name] = folder / str(len(paths)) / Path(name).name
            paths[name].parent.mkdir()
            written += copy_bounded(path, stream, paths[name], limit - written)
    return paths


def _files(path: Path, limit: int) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield the name and the content of each regular file in an archive, without those that macOS adds.

    Args:
        path: the archive.
        limit: the number of bytes of a tar archive that are read at most.

    Raises:
        InputError: a tar archive holds more bytes or headers than the limits allow. A damaged or encrypted archive
            raises the exceptions that :func:`_damage_as_error` turns into one.
    """
    if not zipfile.is_zipfile(path):
        yield from _files_of_tar(path, limit)
        return
    with zipfile.ZipFile(path) as archive:
        for name in filter(_is_wanted, archive.namelist()):
            with archive.open(name) as stream:
                yield name, stream


def _files_of_tar(path: Path, limit: int) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield the name and the content of each regular file in a tar archive; see :func:`_files`.

    Raises:
        InputError: the archive is larger than the limit, has too many headers, or is followed by further bytes.
    """
    with tarfile.open(path) as archive:
        header_count = 0
        for member in archive:
            header_count += len(member.pax_headers)
            if header_count > MAX_TAR_HEADERS or archive.offset > limit:
                raise InputError(f"{path}: holds more than {limit:,} bytes or {MAX_TAR_HEADERS:,} headers")
            content = archive.extractfile(member) if member.isreg() and _is_wanted(member.name) else None
            if content is not None:
                yield member.name, content
        if archive.fileobj is None:
            return
        # only zeros may follow: a damaged header ends the members, and so does the end of the first of joined archives
        archive.fileobj.seek(archive.offset)
        while block := archive.fileobj.read(1 << 20):
            if archive.fileobj.tell() > limit:
                raise InputError(f"{path}: holds more than {limit:,} bytes")
            if block.strip(b"\0"):
                raise InputError(
                    f"{path}: has further bytes behind the end of its last file, as damaged archives and several joined"
                    " ones have; get the file again, or pack what is needed in one archive"
                )


def _is_wanted(name: str) -> bool:
    """Tell whether a name in an archive is that of a file, and not one that macOS added."""
    *folders, file = name.split("/")
    return file not in ("", ".", "..", ".DS_Store") and "__MACOSX" not in folders and not file.startswith("._")


def unpacked_limit(size: int) -> int:
    """Return the number of bytes to which a file of this size may unpack."""
    return max(MAX_UNPACKED_BYTES, MAX_UNPACKED_RATIO * size)


@contextmanager
def _damage_as_error(path: Path) -> Iterator[None]:
    """Turn the exceptions of damaged and encrypted archives in the block into an InputError; others pass unchanged."""
    try:
        yield
    except InputError:
        raise
    except (*ARCHIVE_ERRORS, NotImplementedError) as error:
        raise InputError(f"{path}: cannot be unpacked ({summary_of(error, 200)}); get the file again") from None


def copy_bounded(path: Path, stream: IO[bytes], target: Path, limit: int) -> int:
    """Write the content of a stream of *path* to a new file, and return its size in bytes.

    Args:
        path: the archive or compressed file, for the message.
        stream: the unpacked content.
        target: the path of the new file.
        limit: the largest size.

    Raises:
        InputError: the content is larger than *limit* bytes.
    """
    with target.open("wb") as file:
        while block := stream.read(1 << 20):
            file.write(block)
            if file.tell() > limit:
                raise InputError(f"{path}: unpacks to more than {limit:,} bytes; unpack it yourself if that is right")
        return file.tell()


def temporary_folder() -> Path:
    """Return the path of a new folder, which is deleted when the process ends."""
    folder = tempfile.TemporaryDirectory(prefix="assay-")
    atexit.register(folder.cleanup)
    return Path(folder.name)
