"""Where a training works and what it leaves: a hidden folder until it is done, then renamed as a whole."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import InputError

__all__ = ["Workplace", "open_workplace", "write_json"]

#: What was asked for, in the working folder.
REQUEST = "request.json"


@dataclass(frozen=True)
class Workplace:
    """The folders of one training.

    Attributes:
        out: where the result will stand.
        folder: where the training works; a killed one continues from it.
        resumed: whether an earlier training with the same request left something there.
    """

    out: Path
    folder: Path
    resumed: bool

    @property
    def made(self) -> Path:
        """The folder that becomes :attr:`out`."""
        return self.folder / "made"

    def finish(self) -> None:
        """Give the result its name and remove the rest.

        Raises:
            InputError: *out* was taken meanwhile.
        """
        try:
            if self.out.is_dir():
                self.out.rmdir()  # an empty one may be replaced
            self.made.rename(self.out)
        except OSError as error:
            raise InputError(f"{self.out}: cannot be written ({error.strerror}); the model is in {self.made}") from None
        shutil.rmtree(self.folder)


def open_workplace(out: Path, request: Mapping[str, Any]) -> Workplace:
    """Return the folders of a training, made if need be.

    Args:
        out: where the result goes; absent or an empty folder.
        request: all that decides the result, as plain values; only for an equal one is a training continued.

    Raises:
        InputError: *out* holds something, cannot be made, or an unfinished training of another request is there.
    """
    out = out.absolute()
    if out.is_symlink() or out.is_file() or (out.is_dir() and any(out.iterdir())):
        raise InputError(f"{out}: is not an empty folder; give --out another name")
    folder = out.with_name(f".{out.name}.training")
    asked = json.loads(json.dumps(request))
    path = folder / REQUEST
    resumed = path.is_file()
    if resumed:
        _check_same(path, asked, out)
        return Workplace(out, folder, resumed)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(path, asked)
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror}); give --out another place") from None
    return Workplace(out, folder, resumed)


def _check_same(path: Path, asked: dict[str, Any], out: Path) -> None:
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        held = {}
    if held == asked:
        return
    keys = sorted(key for key in {*held, *asked} if held.get(key) != asked.get(key)) if isinstance(held, dict) else []
    raise InputError(
        f"{out}: an unfinished training with another request is in {path.parent} (it differs in {', '.join(keys)}); "
        f"continue it as it was asked for, remove that folder, or give --out another name"
    )


def write_json(path: Path, value: object) -> None:
    """Write a value as JSON in one step, so that a killed process leaves the old file or the new one."""
    scratch = path.with_name(f".{path.name}.new")
    scratch.write_text(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
    scratch.replace(path)
