"""The cache of converted models: each is written once, under a digest of everything that decides its numbers."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray

from assay.common.output import atomic_write, unfinished_folder
from assay.common.transfer import disk_errors
from assay.exceptions import AssayError, InputError, MissingExtraError, UnavailableError, summary_of
from assay.metrics.neural.loading import silence_libraries
from assay.metrics.provenance import file_digest
from assay.paths import cache_dir, make_private_folder

#: Part of the key of every file: increase it when the conversion changes, so that older files are not used.
FORMAT = 2
#: The file with the digest of each other file in the folder at the time of writing.
_FILES = "files.json"

#: A function that runs a converted model: from int64 arrays of shape (b, l) by name to float32 arrays.
Pass = Callable[[Mapping[str, NDArray[Any]]], list[NDArray[Any]]]


class Converter(Protocol):
    """A runtime for which models are converted.

    Attributes:
        name: the name of the backend.
        precisions: the precisions that it supports.
    """

    name: str
    precisions: tuple[str, ...]

    def key(self, precision: str) -> dict[str, str]:
        """Return by name what decides the converted files besides the model: package versions, format of the weights.

        Args:
            precision: one of ``precisions``.
        """
        ...

    def write(self, module: Any, names: tuple[str, ...], precision: str, folder: Path) -> None:
        """Convert a module of torch, and write the files into an empty folder.

        Args:
            module: the module, in evaluation mode; its outputs are a tuple of tensors.
            names: the names of its inputs, in order.
            precision: one of ``precisions``.
            folder: the empty folder.

        Raises:
            UnavailableError: a package is missing.
        """
        ...

    def open(self, folder: Path, precision: str, threads: int) -> Pass:
        """Load the files of a folder, and return the function that runs the model.

        Args:
            folder: the folder that :meth:`write` filled.
            precision: one of ``precisions``.
            threads: the number of CPU threads.

        Raises:
            UnavailableError: this machine does not support the precision, or the files cannot be read.
        """
        ...


def keep_conversion(model: str, key: Mapping[str, str], write: Callable[[Path], None]) -> Path:
    """Return the folder of a converted model in the cache; if there is none yet, *write* fills it.

    The files of an existing folder are compared with the digests that were recorded when they were written. If two
    processes convert the same model at once, the result of the first to finish is kept.

    Args:
        model: the name of the model in messages.
        key: everything that decides what the files compute; ``backend`` names the runtime.
        write: the function that converts the model; called with an empty folder.

    Raises:
        InputError: the disk is full or not writable.
        UnavailableError: a package is missing, the libraries cannot convert the model, or a file has changed since it
            was written.
    """
    text = json.dumps({**key, "format": str(FORMAT)}, sort_keys=True)
    folder = cache_dir() / "converted" / hashlib.sha256(text.encode()).hexdigest()[:32]
    with _cache_errors(folder):
        if folder.is_dir():
            _check_digests(folder)
            return folder
        make_private_folder(folder.parent)
        with unfinished_folder(folder) as scratch:
            model_folder = make_private_folder(scratch / "model")
            with _conversion_errors(model, key["backend"]):
                write(model_folder)
            (model_folder / "key.json").write_text(text + "\n", encoding="utf-8")
            digests = {path.name: file_digest(path) for path in sorted(model_folder.iterdir())}
            (model_folder / _FILES).write_text(json.dumps(digests, indent=1) + "\n", encoding="utf-8")
            try:
                model_folder.rename(folder)
            except OSError:
                # rename() does not replace a folder with files: another process has finished first
                if not folder.is_dir():
                    raise
    return folder


def write_json(path: Path, value: object) -> None:
    """Write a value as a JSON file, atomically."""
    with atomic_write(path) as temporary_file:
        temporary_file.write_text(json.dumps(value) + "\n", encoding="utf-8")


@contextmanager
def runtime_errors(folder: Path, backend: str) -> Iterator[None]:
    """Turn errors of a runtime that reads converted files within the block into an UnavailableError with a remedy.

    Errors of assay pass unchanged.

    Args:
        folder: the folder of the converted model.
        backend: the name of the runtime.
    """
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
    """Return an error of a runtime as one line, without the positions in C++ code with which openvino begins."""
    return summary_of(error, skip="Exception from ")


def import_backend(package: str, extra: str) -> Any:
    """Import and return a module of a runtime.

    Raises:
        MissingExtraError: it is not installed; the extra *extra* of assay installs it.
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise MissingExtraError((error.name or package).replace("_", "-"), extra) from error


@contextmanager
def _cache_errors(folder: Path) -> Iterator[None]:
    """Turn any OSError within the block into an InputError with a remedy; *folder* is what was to be written."""
    try:
        with disk_errors(folder):
            yield
    except OSError as error:
        raise InputError(
            f"{folder}: cannot be written ({error.strerror or error}); set ASSAY_CACHE to a folder that can"
        ) from error


def _check_digests(folder: Path) -> None:
    """Compare the files with their recorded digests, because a runtime computes with damaged weights without an error.

    Raises:
        UnavailableError: a file differs from what was written, or cannot be read.
    """
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
def _conversion_errors(model: str, backend: str) -> Iterator[None]:
    """Turn errors of a conversion within the block into an UnavailableError with a remedy, and silence the libraries.

    Errors of assay and of the operating system pass unchanged.

    Args:
        model: the name of the model, for messages.
        backend: the name of the runtime.
    """
    try:
        with silence_libraries():
            yield
    except (AssayError, OSError):
        raise
    except Exception as error:  # as in runtime_errors(): no common base
        raise UnavailableError(
            f"model {model} cannot be converted for {backend} ({error_summary(error)})", "take backend=torch"
        ) from error
