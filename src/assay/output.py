"""How assay writes: a file whole or not at all, and values as JSON."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["json_text", "written_whole"]


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Give the place of a new file beside *path*, which takes the place of *path* once it is written.

    Who reads meanwhile, and who comes after a process that was killed, finds the old file or the new one. Where the
    block raises, *path* is as it was and nothing is left beside it. The file gets the permissions that any new file
    gets (the umask of the process). Its name does not grow with that of *path*, which may be as long as a name can be.

    Args:
        path: where the file shall be; its folder is there.
    """
    scratch = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        yield scratch
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def json_text(value: object) -> str:
    """Return a value as JSON to read, which ends in a newline; other scripts than Latin stay as they are.

    Raises:
        ValueError: it holds NaN or an infinity, which JSON has no word for; an undefined number is None.
    """
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
