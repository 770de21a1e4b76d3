"""Single files out of wheels, zip and tar archives, without unpacking anything else."""

from __future__ import annotations

import hashlib
import tarfile
import zipfile
from pathlib import Path

from assay.datasets.card import FileEntry
from assay.datasets.sources.base import MismatchMiss, SourceMiss
from assay.output import written_whole
from assay.transfer.checksum import describe_mismatch
from assay.transfer.download import disk_errors

__all__ = ["read_member", "store"]


def read_member(archive: Path, member: str, entry: FileEntry) -> bytes:
    """Return the content of one regular file of an archive; nothing is written, no path of it is used.

    Raises:
        SourceMiss: no archive, or no such regular file in it.
        MismatchMiss: its size is not the one of the card, so that nothing huge is ever read.
    """
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as box:
                _check_size(box.getinfo(member).file_size, member, entry)
                return box.read(member)
        with tarfile.open(archive) as tape:
            info = tarfile.data_filter(tape.getmember(member), "/nowhere")
            stream = tape.extractfile(info) if info.isreg() else None
            if stream is None:
                raise SourceMiss(f"{member} in {archive.name} is no regular file")
            _check_size(info.size, member, entry)
            return stream.read()
    except KeyError:
        raise SourceMiss(f"{archive.name} holds no file {member}") from None
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as error:
        raise SourceMiss(f"{archive.name} cannot be read ({error})") from None


def _check_size(size: int, member: str, entry: FileEntry) -> None:
    if entry.bytes is not None and size != entry.bytes:
        raise MismatchMiss(f"{member} has {size} bytes; expected {entry.bytes}")


def store(content: bytes, target: Path, entry: FileEntry) -> Path:
    """Check content against the manifest and put it into the cache whole or not at all."""
    got = hashlib.sha256(content).hexdigest()
    if entry.sha256 is not None and got != entry.sha256:
        raise MismatchMiss(describe_mismatch(target, entry.sha256, got))
    with disk_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(target) as part:
            part.write_bytes(content)
    return target
