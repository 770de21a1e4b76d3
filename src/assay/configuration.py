"""The file with defaults for the command line, and which of them a command used.

``assay.toml``, or the section ``[tool.assay]`` of ``pyproject.toml``. It is read for the command line alone: Python
functions take what they are given. See ``assay.cli.configuration`` for how values become options.
"""

from __future__ import annotations

import json
import os
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.errors import InputError

NAME = "assay.toml"
PYPROJECT = "pyproject.toml"


@dataclass(frozen=True)
class Configuration:
    """A file with defaults, and its tables as they were written; of a command, only those that it used."""

    file: Path
    values: dict[str, Any] = field(default_factory=dict)

    def table(self, *verb: str) -> str:
        """Return the head of the table of a verb, or of the top, as this file writes it; empty for that of a file."""
        words = (*(("tool", "assay") if self.file.name == PYPROJECT else ()), *verb)
        return f"[{'.'.join(words)}]" if words else ""

    @property
    def line(self) -> str:
        """The keys and values in one line."""
        return ", ".join(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in self.values.items())


#: What the command that runs took from a file; None where it took nothing, and for Python users.
APPLIED: ContextVar[Configuration | None] = ContextVar("configuration", default=None)


def find_configuration(start: Path) -> Configuration | None:
    """Return the nearest configuration of a folder and those above, up to the root of its repository or to home.

    A folder that is in neither is searched alone: those above it may be anybody's.

    Raises:
        InputError: a file cannot be read, or is no TOML.
    """
    try:
        start = start.resolve()
    except FileNotFoundError:
        # the working directory was removed
        return None
    for folder in _folders(start):
        for name in (NAME, PYPROJECT):
            file = folder / name
            # unlike a path's methods, access does not raise where a folder above may not be read
            if os.access(file, os.F_OK):
                values = _read(file)
                if values is not None:
                    return Configuration(file, values)
    return None


def _folders(start: Path) -> list[Path]:
    above = [start, *start.parents]
    # it stays "~", which is no folder, where the user has no home
    home = Path(os.path.realpath(os.path.expanduser("~")))  # noqa: PTH111  Path.home raises then
    for i, folder in enumerate(above):
        if folder == home or os.access(folder / ".git", os.F_OK):
            return above[: i + 1]
    return [start]


def _read(file: Path) -> dict[str, Any] | None:
    """Return the tables of a file; None for a ``pyproject.toml`` that has no section of assay."""
    import tomllib

    try:
        text = file.read_text(encoding="utf-8")
        if file.name == PYPROJECT and "assay" not in text:
            return None
        values = tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{file}: cannot be read: {error}; mend it, or run assay --no-config") from None
    if file.name == NAME:
        return values
    tool = values.get("tool")
    section = tool.get("assay") if isinstance(tool, dict) else None
    if section is not None and not isinstance(section, dict):
        raise InputError(f"{file}: tool.assay must be a table, [tool.assay]")
    return section
