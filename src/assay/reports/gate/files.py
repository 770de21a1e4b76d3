"""Writing the gate's files."""

from __future__ import annotations

import errno
from pathlib import Path

from assay.errors import InputError

__all__ = ["write_file"]


def write_file(path: Path, text: str) -> None:
    """Write text to a file; folders above it are made.

    Raises:
        InputError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="surrogatepass", newline="\n")
    except OSError as error:
        why = "the disk is full" if error.errno == errno.ENOSPC else error.strerror or str(error)
        raise InputError(f"{path}: cannot be written ({why})") from error
