"""An https address: a file, or a member of an archive."""

from __future__ import annotations

from pathlib import Path

from assay.datasets.card import FileEntry, SourceEntry, fill
from assay.datasets.sources.archives import read_member, store
from assay.datasets.sources.base import Context, MismatchMiss, SourceMiss
from assay.transfer.download import DownloadError, download

__all__ = ["from_web"]


def from_web(source: SourceEntry, entry: FileEntry, context: Context) -> Path:
    """Download a file into the cache (or take it out of an archive that is downloaded)."""
    context.need_network()
    target = context.cache_path(entry.name)
    try:
        if not source.archive:
            url = fill(source.url, source.path_of(entry.name))
            download(url, target, size=entry.bytes, sha256=entry.sha256, progress=context.progress)
            return target
        archive = context.cache_path("archives") / source.url.rsplit("/", 1)[-1]
        download(
            source.url, archive, size=source.archive_bytes, sha256=source.archive_sha256, progress=context.progress
        )
    except DownloadError as error:
        raise (MismatchMiss if error.mismatch else SourceMiss)(str(error)) from None
    # The archive stays: the other files of the card are in it as well.
    return store(read_member(archive, source.path_of(entry.name), entry), target, entry)
