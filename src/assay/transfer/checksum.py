"""Checksums, and what progress looks like."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

__all__ = ["Progress", "describe_mismatch", "sha256_of"]

#: Called as progress(file, bytes done, bytes in all or None).
Progress = Callable[[str, int, int | None], None]


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def describe_mismatch(path: Path, expected: str, got: str) -> str:
    """Return the line about a wrong checksum."""
    return f"{path} has the SHA-256 {got}; expected {expected}"
