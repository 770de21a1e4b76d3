"""The configuration file with defaults for the command line, and the defaults that a command used.

The file is ``assay.toml``, or the section ``[tool.assay]`` of ``pyproject.toml``. Only the command line reads it;
Python functions use their arguments alone. See ``assay.cli.configuration`` for how values become options.
"""

from __future__ import annotations

import json
import os
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.common.addresses import public_values
from assay.exceptions import InputError
from assay.paths import read_settings_file

NAME = "assay.toml"
PYPROJECT = "pyproject.toml"


@dataclass(frozen=True)
class Configuration:
    """The values of a configuration file, or only the values that one command used.

    Attributes:
        file: the path of the file.
        values: the keys and tables as TOML has them, or the used settings by name.
    """

    file: Path
    values: dict[str, Any] = field(default_factory=dict)

    def names(self, text: str) -> bool:
        """Tell whether a text is one of the values, or one behind a prefix, as ``cross-encoder:PATH`` for ``PATH``.

        Items of lists are values, too. Numbers, tables and empty texts are not compared.
        """
        for value in self.values.values():
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, str) and item and (text == item or text.endswith(f":{item}")):
                    return True
        return False

    def table_header(self, *verb: str) -> str:
        """Return the header of a verb's table in this file, such as ``[run]``; without a verb, that of the top level.

        The top level of ``assay.toml`` has no header: the result is empty.
        """
        top_level = ("tool", "assay") if self.file.name == PYPROJECT else ()
        keys = (*top_level, *verb)
        return f"[{'.'.join(keys)}]" if keys else ""

    @property
    def line(self) -> str:
        """The keys and values in one line, such as ``resamples = 0, seed = 1``, without secrets in addresses."""
        values = public_values(self.values)
        return ", ".join(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in values.items())


#: The configuration values that the running command uses; None if it uses none, and for Python users.
APPLIED: ContextVar[Configuration | None] = ContextVar("configuration", default=None)


def find_configuration(start: Path) -> Configuration | None:
    """Return the nearest configuration in a folder or its parents; None if there is none, or the folder was removed.

    Within a folder ``assay.toml`` comes first; a ``pyproject.toml`` without a section of assay is passed over. The
    search ends at the root of the repository or at the home folder. If the folder is in neither, only the folder itself
    is searched, since its parents may belong to someone else.

    Raises:
        InputError: a file cannot be read, is not TOML, or is a link out of these folders, or its section of assay is
            not a table.
    """
    try:
        folders = _folders_to_search(start.resolve())
    except FileNotFoundError:
        # the working directory was removed
        return None
    for folder in folders:
        for name in (NAME, PYPROJECT):
            file = folder / name
            # unlike the methods of Path, access does not raise if a parent folder may not be read
            if not os.access(file, os.F_OK):
                continue
            # a repository of somebody else could otherwise have any file of the user read, and named in messages
            if file.is_symlink() and not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(folders[-1])):
                raise InputError(
                    f"{file}: is a link out of {folders[-1]}, which is not followed; copy the file, or run "
                    "assay --no-config"
                )
            values = _read_toml(file)
            if values is not None:
                return Configuration(file, values)
    return None


def _folders_to_search(start: Path) -> list[Path]:
    """Return a folder and its parents up to its repository or the home folder; only itself if it is in neither."""
    # if the home folder is unknown, this is no parent of *start*; Path.home would raise
    home = Path(os.path.realpath(os.path.expanduser("~")))  # noqa: PTH111
    folders: list[Path] = []
    for folder in (start, *start.parents):
        folders.append(folder)
        if folder == home or os.access(folder / ".git", os.F_OK):
            return folders
    return [start]


def _read_toml(file: Path) -> dict[str, Any] | None:
    """Return the values in a configuration file; None for a ``pyproject.toml`` without a section of assay.

    Raises:
        InputError: the file cannot be read, is not TOML, or its section is not a table.
    """
    import tomllib

    try:
        text = read_settings_file(file).decode("utf-8")
        # a file of another project is not parsed, so that a mistake in it is not an error here
        if file.name == PYPROJECT and "assay" not in text:
            return None
        values = tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{file}: cannot be read: {reason}; mend it, or run assay --no-config") from None
    if file.name == NAME:
        return values
    tool = values.get("tool")
    section = tool.get("assay") if isinstance(tool, dict) else None
    if section is not None and not isinstance(section, dict):
        raise InputError(f"{file}: tool.assay must be a table, [tool.assay]")
    return section
