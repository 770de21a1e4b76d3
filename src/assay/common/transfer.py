"""Downloads: files with resumption and checksums, and wheels from a package index, for datasets and models alike."""

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
from typing import IO, TYPE_CHECKING

from assay.exceptions import InputError, summary_of
from assay.paths import make_private_folder

if TYPE_CHECKING:
    import requests

#: Bytes per piece of a body.
CHUNK = 1 << 16
#: Number of attempts to complete a file before a download fails.
ATTEMPTS = 4
#: Seconds to wait for a connection, and between two pieces of a body.
TIMEOUT = (10, 60)
#: Seconds to wait for a download by pip before giving up.
WHEEL_TIMEOUT = 300
#: The only form of requirement that is passed to pip. It would also accept addresses, files and options here, and run
#: the build code that they lead to.
PINNED = re.compile(r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?==[A-Za-z0-9][\w.+-]*", re.ASCII)

#: Plain explanations of connection errors, by a text that occurs in the error.
_CAUSES = {
    "Name or service not known": "the name of the server is not known (no network?)",
    "NameResolutionError": "the name of the server is not known (no network?)",
    "Connection refused": "the server refuses the connection",
    "CERTIFICATE_VERIFY_FAILED": "the server's certificate is not trusted",
    "timed out": "the server did not answer in time",
    "IncompleteRead": "the connection was cut",
}

#: Errors that zipfile, tarfile and gzip raise for damaged or malicious archives.
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
    RuntimeError,  # an encrypted zip; its subclass NotImplementedError: an unknown compression
)

#: Called as progress(name of the file, bytes received, bytes in all); the last is None if unknown.
DownloadProgress = Callable[[str, int, int | None], None]


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def mismatch_message(path: Path, expected: str, actual: str) -> str:
    """Return the message that a file has another SHA-256 than expected."""
    return f"{path} has the SHA-256 {actual}; expected {expected}"


class WheelError(Exception):
    """A wheel was not downloaded; the text says why."""


class DownloadError(Exception):
    """A download did not succeed; the text says why.

    Attributes:
        mismatch: whether a file was received, but not the expected one.
    """

    def __init__(self, message: str, *, mismatch: bool = False) -> None:
        super().__init__(message)
        self.mismatch = mismatch


#: Numbers of errors of the operating system: no room on the disk, and no right to write there.
FULL_DISK = (errno.ENOSPC, errno.EDQUOT)
NOT_WRITABLE = (errno.EACCES, errno.EROFS, errno.EPERM)


@contextmanager
def disk_errors(target: Path) -> Iterator[None]:
    """Turn errors of a full or read-only disk inside the block into an InputError about *target*.

    Raises:
        InputError: the block raised such an error; others pass unchanged.
    """
    try:
        yield
    except OSError as error:
        if error.errno in FULL_DISK:
            raise InputError(
                f"{target}: the disk is full; free some space or set ASSAY_CACHE to a folder on another disk"
            ) from None
        if error.errno in NOT_WRITABLE:
            raise InputError(
                f"{target}: may not be written ({error.strerror}); set ASSAY_CACHE to a folder that may"
            ) from None
        raise


def download(
    url: str, target: Path, *, size: int | None, sha256: str | None, progress: DownloadProgress | None = None
) -> Path:
    """Download a file to *target*, resuming an earlier attempt, and return *target*.

    The received part is kept in ``<target>.<checksum>.part``, which one process at a time writes. Another process that
    downloads the same file at the same time uses a temporary name of its own. A *target* with the right checksum is not
    downloaded again.

    Args:
        url: the address.
        target: the path of the file.
        size: its size in bytes, if known.
        sha256: its checksum, if known.
        progress: called after each piece, see :data:`DownloadProgress`; None to report nothing.

    Raises:
        DownloadError: the download failed, or the file is not the expected one.
        InputError: the disk is full or not writable.
    """
    if target.is_file() and sha256 is not None and sha256_of(target) == sha256:
        return target
    with disk_errors(target):
        make_private_folder(target.parent)
        with _open_part(target, sha256 or "") as (partial_file, stream):
            try:
                _download_rest(url, stream, target.name, size, progress)
                if sha256 is not None and sha256_of(partial_file) != sha256:
                    # the resumed part may have belonged to another file: try once more from the start
                    _truncate_file(stream)
                    _download_rest(url, stream, target.name, size, progress)
                    _check_received(url, partial_file, stream, sha256)
                partial_file.replace(target)
            except OSError as error:
                # what was received would keep the disk full
                if error.errno in FULL_DISK:
                    partial_file.unlink(missing_ok=True)
                raise
    return target


def _check_received(url: str, partial_file: Path, stream: IO[bytes], sha256: str) -> None:
    """Check that a complete part file has the expected checksum, and empty it if it has not.

    Args:
        url: the address, for the message.
        partial_file: the path of the part file.
        stream: the part file, open for writing.
        sha256: the expected SHA-256, in hex.

    Raises:
        DownloadError: its checksum is wrong.
    """
    actual = sha256_of(partial_file)
    if actual != sha256:
        # a part file that is empty is removed when it is closed
        _truncate_file(stream)
        raise DownloadError(f"{url} gives a file with the SHA-256 {actual}; expected {sha256}", mismatch=True)


@contextmanager
def _open_part(target: Path, checksum: str) -> Iterator[tuple[Path, IO[bytes]]]:
    """Yield the path and stream of a part file: the shared one, or a private one if another process is using that.

    When the block ends, a private file is removed, and a shared one only if it is empty.

    Args:
        target: the final path of the file.
        checksum: the expected SHA-256, in hex, whose beginning is in the name of a shared file; empty if unknown.
    """
    shared_path = target.with_name(f"{target.name}.{checksum[:12] or 'new'}.part")
    stream = _open_locked(shared_path)
    if stream is not None:
        with stream:
            try:
                yield shared_path, stream
            finally:
                # nothing was received, so that there is nothing to resume
                if not os.fstat(stream.fileno()).st_size:
                    shared_path.unlink(missing_ok=True)
        return
    private_path = target.with_name(f"{target.name}.{uuid.uuid4().hex[:12]}.part")
    try:
        with private_path.open("w+b") as stream:
            yield private_path, stream
    finally:
        private_path.unlink(missing_ok=True)


def _open_locked(path: Path) -> IO[bytes] | None:
    """Open a part file for appending and lock it; None if another process has the lock, or if files cannot be locked.

    The lock is held until the file is closed.
    """
    try:
        import fcntl
    except ImportError:  # Windows: without the lock each download has its own name and starts afresh
        return None
    stream = path.open("a+b")
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # between opening and locking, another process may have renamed the file to its final name
        if os.fstat(stream.fileno()).st_ino == path.stat().st_ino:
            return stream
    except OSError:
        # another process has the lock, or the file is gone
        pass
    stream.close()
    return None


def _truncate_file(stream: IO[bytes]) -> None:
    stream.seek(0)
    stream.truncate()


def _download_rest(url: str, stream: IO[bytes], name: str, size: int | None, progress: DownloadProgress | None) -> None:
    """Append to *stream* until the file is complete, in up to :data:`ATTEMPTS` attempts.

    The arguments are those of :func:`_attempt_download`. The pause before each further attempt is longer than the last.

    Raises:
        DownloadError: the server refuses the file or sends too many bytes, or all attempts failed.
        OSError: the disk is full or not writable.
    """
    problem = ""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(0.2 * attempt)
        problem = _attempt_download(url, stream, name, size, progress)
        if not problem:
            return
    raise DownloadError(f"{url}: {problem} ({ATTEMPTS} attempts)")


def _attempt_download(
    url: str, stream: IO[bytes], name: str, size: int | None, progress: DownloadProgress | None
) -> str:
    """Append to *stream* in one attempt; return why another one is needed, or an empty string if the file is complete.

    The stream is emptied first if it has more bytes than the file, or if the server cannot resume.

    Args:
        url: the address.
        stream: the part file, open for writing.
        name: the name of the file, for messages and the progress.
        size: the size of the complete file in bytes; None if unknown, so that every body counts as complete.
        progress: called after each piece, see :data:`DownloadProgress`; None to report nothing.

    Raises:
        DownloadError: the server refuses the file, or sends more bytes than *size*.
        OSError: the disk is full or not writable.
    """
    import requests
    import urllib3

    received = stream.seek(0, os.SEEK_END)
    if size is not None and received == size:
        return ""
    if size is not None and received > size:
        # what was received before belongs to another file
        _truncate_file(stream)
        received = 0
    headers = {"Accept-Encoding": "identity"}  # so that sizes and ranges mean bytes of the file
    if received:
        headers["Range"] = f"bytes={received}-"
    try:
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as response:
            if response.status_code == 416:
                # range not satisfiable: the file of the server is shorter than the part
                _truncate_file(stream)
                return "the server has no such range"
            if response.status_code >= 500:
                return f"the server answers {response.status_code}"
            if response.status_code >= 400:
                raise DownloadError(f"the server answers {response.status_code} for {url}")
            if received and not _resumes_at(response, received):
                _truncate_file(stream)
                received = 0
            _append_body(response, stream, name, received, size, progress)
    except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
        # requests lets some errors of urllib3 pass while a body is read
        return _explanation_of(error)
    if size is None or stream.tell() == size:
        return ""
    return f"{stream.tell()} of {size} bytes came"


def _resumes_at(response: requests.Response, offset: int) -> bool:
    """Tell whether a response begins at byte *offset*; a server may ignore the range and send the whole file."""
    content_range = str(response.headers.get("Content-Range", ""))
    is_partial = response.status_code == 206
    return is_partial and content_range.replace(" ", "").startswith(f"bytes{offset}-")


def _append_body(
    response: requests.Response,
    stream: IO[bytes],
    name: str,
    received: int,
    size: int | None,
    progress: DownloadProgress | None,
) -> None:
    """Write the body of a response to *stream*, which has *received* bytes already, and report progress.

    The other arguments are those of :func:`_attempt_download`.

    Raises:
        DownloadError: the body makes the file longer than *size*, so that it is another file; *stream* is emptied.
    """
    received_now = received
    for piece in response.iter_content(CHUNK):
        if size is not None and received_now + len(piece) > size:
            _truncate_file(stream)
            raise DownloadError(f"the server sends more than the {size} bytes of {name}", mismatch=True)
        stream.write(piece)
        received_now += len(piece)
        if progress is not None:
            progress(name, received_now, size)
    stream.flush()


def _explanation_of(error: Exception) -> str:
    """Return the cause of a connection error in a few words, or a summary of an unknown error."""
    text = str(error)
    for pattern, explanation in _CAUSES.items():
        if pattern in text:
            return explanation
    return summary_of(error, 200)


def download_wheel(requirement: str, folder: Path) -> Path:
    """Download the wheel of ``NAME==VERSION`` into *folder*, which has no other wheel, and return its path.

    pip finds and downloads it, so that the user's index, proxy and certificate settings apply. Nothing is installed and
    no code of the package runs.

    Raises:
        WheelError: the requirement is not of this form, pip is missing or failed, or it downloaded no wheel.
    """
    if not PINNED.fullmatch(requirement):
        raise WheelError(f"{requirement!r} is not NAME==VERSION")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    command += ["--no-input", "--disable-pip-version-check", "--dest", str(folder), requirement]
    try:
        completed = subprocess.run(command, capture_output=True, text=True, timeout=WHEEL_TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        raise WheelError(f"the package index did not answer within {WHEEL_TIMEOUT} s") from None
    except OSError as error:
        raise WheelError(f"pip could not be started ({error})") from None
    if completed.returncode:
        if "No module named pip" in completed.stderr:
            raise WheelError("this Python has no pip to download it with; install it with: python -m ensurepip")
        reason = _first_pip_error(completed.stderr) or f"exit code {completed.returncode}"
        raise WheelError(f"pip says: {reason}")
    wheels = sorted(folder.glob("*.whl"))
    if not wheels:
        raise WheelError(f"pip downloaded no wheel for {requirement}")
    return wheels[0]


def _first_pip_error(stderr: str) -> str | None:
    """Return the first line that pip marked as an error, without the mark; None if there is no such line."""
    for line in stderr.splitlines():
        if line.strip().startswith("ERROR"):
            return line.strip().removeprefix("ERROR: ")
    return None
