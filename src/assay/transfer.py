"""Files from elsewhere: downloads that resume, checksums, and wheels of a package index.

It serves datasets and models alike and knows neither.
"""

from __future__ import annotations

import errno
import hashlib
import lzma
import os
import re
import struct
import subprocess
import sys
import tarfile
import time
import uuid
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from assay.errors import InputError, summary_of
from assay.paths import private_folder

CHUNK = 1 << 16
ATTEMPTS = 4
TIMEOUT = (10, 60)  # seconds to connect, and between two pieces
#: Seconds after which an index that does not answer is given up.
WHEEL_TIMEOUT = 300
#: All that a package index is asked for. pip also takes addresses, files and options in this place, and runs the build
#: code of what they lead to.
PINNED = re.compile(r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?==[A-Za-z0-9][\w.+-]*", re.ASCII)

#: What the texts of errors of the connection mean.
_CAUSES = {
    "Name or service not known": "the name of the server is not known (no network?)",
    "NameResolutionError": "the name of the server is not known (no network?)",
    "Connection refused": "the server refuses the connection",
    "CERTIFICATE_VERIFY_FAILED": "the server's certificate is not trusted",
    "timed out": "the server did not answer in time",
    "IncompleteRead": "the connection was cut",
}

#: What zipfile, tarfile and gzip raise for archives that are damaged or made to harm.
ARCHIVE_ERRORS = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    OverflowError,
    RuntimeError,  # an encrypted zip, and as NotImplementedError an unknown way of packing
)

#: Called as progress(file, bytes done, bytes in all or None).
DownloadProgress = Callable[[str, int, int | None], None]


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def describe_mismatch(path: Path, expected: str, got: str) -> str:
    """Return the line about a wrong checksum."""
    return f"{path} has the SHA-256 {got}; expected {expected}"


class WheelError(Exception):
    """A wheel was not downloaded; the text says why."""


class DownloadError(Exception):
    """A download did not succeed; the text says why.

    Attributes:
        mismatch: whether a file came, but another one than expected.
    """

    def __init__(self, message: str, *, mismatch: bool = False) -> None:
        super().__init__(message)
        self.mismatch = mismatch


@contextmanager
def disk_errors(target: Path) -> Iterator[None]:
    """Turn the error of a full or read-only disk into one clear line."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise InputError(
                f"{target}: the disk is full; free some space or set ASSAY_CACHE to a folder on another disk"
            ) from None
        if error.errno in (errno.EACCES, errno.EROFS, errno.EPERM):
            raise InputError(
                f"{target}: may not be written ({error.strerror}); set ASSAY_CACHE to a folder that may"
            ) from None
        raise


def download(
    url: str, target: Path, *, size: int | None, sha256: str | None, progress: DownloadProgress | None = None
) -> Path:
    """Download a file to *target*, continuing where an earlier attempt stopped; return *target*.

    What has come so far is in ``<target>.<checksum>.part``, which one process at a time writes; another process that
    downloads the same file meanwhile uses a temporary name of its own.

    Args:
        url: the address.
        target: the path of the file.
        size: its size in bytes, if known.
        sha256: its checksum, if known.
        progress: called as progress(file, bytes done, bytes in all or None).

    Raises:
        DownloadError: it could not be downloaded, or another file came.
        InputError: the disk is full or may not be written.
    """
    if target.is_file() and sha256 is not None and sha256_of(target) == sha256:
        return target
    with disk_errors(target):
        private_folder(target.parent)
        with _part(target, sha256 or "") as (part, stream):
            try:
                _fill(url, stream, target.name, size, progress)
                if sha256 is not None and sha256_of(part) != sha256:
                    # what was there before may have been the start of another file: try once more from the start
                    _truncate(stream)
                    _fill(url, stream, target.name, size, progress)
                    _check_sha256(url, part, stream, sha256)
                part.replace(target)
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT):
                    part.unlink(missing_ok=True)
                raise
    return target


def _check_sha256(url: str, part: Path, stream: IO[bytes], sha256: str) -> None:
    """Refuse a complete file with another checksum, and delete it.

    Raises:
        DownloadError: the address has another file.
    """
    got = sha256_of(part)
    if got != sha256:
        _truncate(stream)
        part.unlink(missing_ok=True)
        raise DownloadError(f"{url} gives a file with the SHA-256 {got}; expected {sha256}", mismatch=True)


@contextmanager
def _part(target: Path, checksum: str) -> Iterator[tuple[Path, IO[bytes]]]:
    """Yield the file that is written until it is whole: the shared one, or one of this process while it is in use."""
    shared = target.with_name(f"{target.name}.{checksum[:12] or 'new'}.part")
    stream = _open_locked(shared)
    if stream is not None:
        with stream:
            try:
                yield shared, stream
            finally:
                # nothing came: there is nothing to continue from
                if not os.fstat(stream.fileno()).st_size:
                    shared.unlink(missing_ok=True)
        return
    private = target.with_name(f"{target.name}.{uuid.uuid4().hex[:12]}.part")
    try:
        with private.open("w+b") as stream:
            yield private, stream
    finally:
        private.unlink(missing_ok=True)


def _open_locked(path: Path) -> IO[bytes] | None:
    """Open the part file if no other process writes it; None where it does, or where files cannot be locked."""
    try:
        import fcntl
    except ImportError:  # Windows: without the lock each download has its own name and starts afresh
        return None
    stream = path.open("a+b")
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Between opening and locking, the file may have become the finished one.
        if os.fstat(stream.fileno()).st_ino == path.stat().st_ino:
            return stream
    except OSError:
        pass
    stream.close()
    return None


def _truncate(stream: IO[bytes]) -> None:
    stream.seek(0)
    stream.truncate()


def _fill(url: str, stream: IO[bytes], name: str, size: int | None, progress: DownloadProgress | None) -> None:
    """Append to *stream* until the file is whole, in several attempts.

    Raises:
        DownloadError: the server refuses the file, or the last attempt failed as well.
    """
    problem = ""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(0.2 * attempt)
        problem = _fill_once(url, stream, name, size, progress)
        if not problem:
            return
    raise DownloadError(f"{url}: {problem} ({ATTEMPTS} attempts)")


def _fill_once(url: str, stream: IO[bytes], name: str, size: int | None, progress: DownloadProgress | None) -> str:
    """Append to *stream* in one attempt; return why another one is needed, or an empty text when the file is whole.

    Raises:
        DownloadError: the server refuses the file.
    """
    import requests
    import urllib3

    have = stream.seek(0, os.SEEK_END)
    if size is not None and have == size:
        return ""
    if size is not None and have > size:
        _truncate(stream)
        have = 0
    headers = {"Accept-Encoding": "identity"}  # so that sizes and ranges mean bytes of the file
    if have:
        headers["Range"] = f"bytes={have}-"
    try:
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as answer:
            if answer.status_code == 416:
                _truncate(stream)
                return "the server has no such range"
            if answer.status_code >= 500:
                return f"the server answers {answer.status_code}"
            if answer.status_code >= 400:
                raise DownloadError(f"the server answers {answer.status_code} for {url}")
            if have and not _continues(answer, have):
                _truncate(stream)
                have = 0
            _append(answer, stream, name, have, size, progress)
    except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
        return _cause(error)
    if size is None or stream.tell() == size:
        return ""
    return f"{stream.tell()} of {size} bytes came"


def _continues(answer: object, have: int) -> bool:
    """Tell whether the answer continues at byte *have* (a server may ignore the range and start again)."""
    status = getattr(answer, "status_code", 0)
    content_range = str(getattr(answer, "headers", {}).get("Content-Range", ""))
    return status == 206 and content_range.replace(" ", "").startswith(f"bytes{have}-")


def _append(
    answer: object, stream: IO[bytes], name: str, have: int, size: int | None, progress: DownloadProgress | None
) -> None:
    """Write the pieces of an answer; more than *size* bytes are another file."""
    done = have
    for piece in answer.iter_content(CHUNK):  # type: ignore[attr-defined]
        if size is not None and done + len(piece) > size:
            _truncate(stream)
            raise DownloadError(f"the server sends more than the {size} bytes of {name}", mismatch=True)
        stream.write(piece)
        done += len(piece)
        if progress is not None:
            progress(name, done, size)
    stream.flush()


def _cause(error: Exception) -> str:
    """Return the innermost cause in a few words; the errors that wrap it add nothing."""
    text = str(error)
    for sign, meaning in _CAUSES.items():
        if sign in text:
            return meaning
    return summary_of(error, 200)


def download_wheel(requirement: str, folder: Path) -> Path:
    """Download the wheel of ``NAME==VERSION`` into *folder* and return its path.

    pip finds and downloads it, so that the user's index, proxy and certificate settings apply. Nothing is installed and
    no code of the package runs.

    Raises:
        WheelError: the requirement has another form, or pip is missing or failed.
    """
    if not PINNED.fullmatch(requirement):
        raise WheelError(f"{requirement!r} is not NAME==VERSION")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    command += ["--no-input", "--disable-pip-version-check", "--dest", str(folder), requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=WHEEL_TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        raise WheelError(f"the package index did not answer within {WHEEL_TIMEOUT} s") from None
    except OSError as error:
        raise WheelError(f"pip could not be started ({error})") from None
    if done.returncode:
        if "No module named pip" in done.stderr:
            raise WheelError("this Python has no pip to download it with; install it with: python -m ensurepip")
        errors = [line.strip() for line in done.stderr.splitlines() if line.strip().startswith("ERROR")]
        reason = errors[0].removeprefix("ERROR: ") if errors else f"exit code {done.returncode}"
        raise WheelError(f"pip says: {reason}")
    wheels = sorted(folder.glob("*.whl"))
    if not wheels:
        raise WheelError(f"pip downloaded no wheel for {requirement}")
    return wheels[0]
