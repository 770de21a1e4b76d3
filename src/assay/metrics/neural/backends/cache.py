"""The cache of converted models: each is written once, under a name made of everything that decides its numbers."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray

from assay.errors import AssayError, InputError, MissingExtraError, UnavailableError, summary_of
from assay.metrics.neural.loading import quiet
from assay.metrics.provenance import file_digest
from assay.output import unfinished_folder, written_whole
from assay.paths import cache_dir, private_folder
from assay.transfer import disk_errors

#: Raised when assay converts in another way, so that older files are not found.
FORMAT = 1
#: Lists the digest of each file of a folder when it was written.
_FILES = "files.json"

#: Runs a converted model: int64 arrays of shape (b, l) by name in, float32 arrays out.
Pass = Callable[[Mapping[str, NDArray[Any]]], list[NDArray[Any]]]


class Converter(Protocol):
    """A runtime that models are converted for.

    Attributes:
        name: of the backend.
        precisions: that it has.
    """

    name: str
    precisions: tuple[str, ...]

    def key(self, precision: str) -> dict[str, str]:
        """Return what decides the converted files beside the model itself: versions, weights."""
        ...

    def write(self, module: Any, names: tuple[str, ...], precision: str, folder: Path) -> None:
        """Convert a module that takes *names* (see ``converted.py``) into files of an empty folder.

        Raises:
            UnavailableError: a package is missing.
        """
        ...

    def open(self, folder: Path, precision: str, threads: int) -> Pass:
        """Load the files.

        Raises:
            UnavailableError: this machine does not compute in that precision.
        """
        ...


def keep(model: str, key: Mapping[str, str], write: Callable[[Path], None]) -> Path:
    """Return the folder of a converted model; *write* fills it where there is none yet.

    Two processes at once both convert, and the one that ends first is kept.

    Args:
        model: its name in messages.
        key: all that decides what the files compute.
        write: called with an empty folder.

    Raises:
        InputError: the disk is full or may not be written.
        UnavailableError: the libraries cannot convert the model, or a file has changed since it was written.
    """
    text = json.dumps({**key, "format": str(FORMAT)}, sort_keys=True)
    folder = cache_dir() / "converted" / hashlib.sha256(text.encode()).hexdigest()[:32]
    with _cache_errors(folder):
        if folder.is_dir():
            _check(folder)
            return folder
        private_folder(folder.parent)
        with unfinished_folder(folder) as scratch:
            made = private_folder(scratch / "model")
            with _converting(model, key["backend"]):
                write(made)
            (made / "key.json").write_text(text + "\n", encoding="utf-8")
            digests = {path.name: file_digest(path) for path in sorted(made.iterdir())}
            (made / _FILES).write_text(json.dumps(digests, indent=1) + "\n", encoding="utf-8")
            try:
                made.rename(folder)
            except OSError:
                # a folder with files in it is not replaced: another process was quicker
                if not folder.is_dir():
                    raise
    return folder


def write_json(path: Path, value: object) -> None:
    """Write a small file as a whole."""
    with written_whole(path) as part:
        part.write_text(json.dumps(value) + "\n", encoding="utf-8")


@contextmanager
def opening(folder: Path, backend: str) -> Iterator[None]:
    """Turn what a runtime raises over files that it cannot read into one line."""
    try:
        yield
    except AssayError:
        raise
    except Exception as error:  # each runtime has errors of its own, without a common base
        raise UnavailableError(
            f"the converted model {folder} cannot be opened by {backend} ({error_summary(error)})",
            f"delete the folder {folder} and run again",
        ) from error


def error_summary(error: BaseException) -> str:
    """Return an error of a runtime as one line; openvino's begin with positions in its own code."""
    return summary_of(error, skip="Exception from ")


def import_backend(package: str, extra: str) -> Any:
    """Return a module of a runtime.

    Raises:
        MissingExtraError: it is not installed; *extra* of assay installs it.
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise MissingExtraError((error.name or package).replace("_", "-"), extra) from error


@contextmanager
def _cache_errors(folder: Path) -> Iterator[None]:
    try:
        with disk_errors(folder):
            yield
    except OSError as error:
        raise InputError(
            f"{folder}: cannot be written ({error.strerror or error}); set ASSAY_CACHE to a folder that can"
        ) from error


def _check(folder: Path) -> None:
    """Compare the files with what was written: a runtime computes with damaged weights as if nothing were wrong."""
    try:
        digests = json.loads((folder / _FILES).read_text(encoding="utf-8"))
        changed = [name for name, digest in digests.items() if file_digest(folder / name) != digest]
        reason = f"{changed[0]} is not what was written" if changed else ""
    except (OSError, ValueError, AttributeError) as error:
        reason = error_summary(error)
    if reason:
        raise UnavailableError(
            f"the converted model {folder} is damaged ({reason})", f"delete the folder {folder} and run again"
        )


@contextmanager
def _converting(model: str, backend: str) -> Iterator[None]:
    try:
        with quiet():
            yield
    except (AssayError, OSError):
        raise
    except Exception as error:  # as in opening
        raise UnavailableError(
            f"model {model} cannot be converted for {backend} ({error_summary(error)})", "take backend=torch"
        ) from error
