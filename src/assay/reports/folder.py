"""Reading a run folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import InputError
from assay.reports.manifest import check_manifest
from assay.tables import RUN_SCHEMA

__all__ = ["RunFolder", "read_run", "run_titles"]


@dataclass(frozen=True)
class RunFolder:
    """A run as it stands on disk.

    Attributes:
        path: the folder, or None for a run that was not written.
        manifest: ``run.json``.
        agreement: ``agreement.json``, one object a number.
        source: what the user named, where that is not the folder: a file with scores.
    """

    path: Path | None
    manifest: dict[str, Any]
    agreement: list[dict[str, Any]]
    source: Path | None = None

    @property
    def title(self) -> str:
        """How messages name it."""
        named = self.source or self.path
        return "this run" if named is None else str(named)


def read_run(path: Path) -> RunFolder:
    """Read a run folder.

    Raises:
        InputError: a file is missing or broken, or was written by a newer assay; the folder's name is no UTF-8.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError:
        # PyArrow opens no file there
        raise InputError(f"{str(path)!r}: this name is no UTF-8; rename the folder") from None
    manifest = _read(path, "run.json", dict)
    schema = manifest.get("schema")
    if not isinstance(schema, int):
        raise InputError(f"{path / 'run.json'}: has no schema version; is this a run folder of assay?")
    if schema > RUN_SCHEMA:
        raise InputError(
            f"{path}: was written by a newer assay (schema {schema}, this one reads up to {RUN_SCHEMA}); "
            "update assay with: pip install --upgrade assay"
        )
    agreement = _read(path, "agreement.json", list)
    check_manifest(path, manifest, agreement)
    return RunFolder(path, manifest, agreement)


def run_titles(runs: Sequence[RunFolder]) -> list[str]:
    """Return what to call each run: the name of its folder or file, or the path where two have the same name.

    Raises:
        InputError: a run is given twice.
    """
    places = [named.resolve() if (named := run.source or run.path) else None for run in runs]
    for place in places:
        if place is not None and places.count(place) > 1:
            raise InputError(f"{place}: is given twice; give each run once")
    names = [place.name if place else run.title for place, run in zip(places, runs, strict=True)]
    return [name if names.count(name) == 1 else run.title for name, run in zip(names, runs, strict=True)]


def _read(folder: Path, name: str, kind: type) -> Any:
    path = folder / name
    if not folder.is_dir():
        if folder.is_file():
            raise InputError(f"{folder}: is a file; assay agree {folder} --out RUN makes a run of its scores")
        raise InputError(f"{folder}: there is no such run folder")
    if not path.is_file():
        raise InputError(f"{folder}: is no run folder, {name} is missing")
    try:
        # earlier versions wrote as it was what of a file's name is no UTF-8
        value = json.loads(path.read_text(encoding="utf-8", errors="surrogatepass"))
    except (ValueError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path}: is no valid JSON ({error})") from error
    if not isinstance(value, kind):
        raise InputError(f"{path}: should hold a JSON {'object' if kind is dict else 'list'}")
    return value
