"""The files of a model folder: which decide the numbers, their digest, and their JSON."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from assay.errors import InputError
from assay.metrics.provenance import file_digest

__all__ = ["BESIDE", "CARD", "SMALL", "WEIGHTS", "decides", "digest_of", "list_files", "read_json"]

#: Patterns of the files that decide the numbers: weights, and all that is small.
WEIGHTS = ("*.safetensors",)
SMALL = ("*.json", "*.txt", "*.model", "*.bpe", "*.vocab", "*.tiktoken")
#: Decides no number, but says for which languages a model is.
CARD = "README.md"
#: Files that decide no number and come along: the card, and the scores by which one of S3BERT is called usual.
BESIDE = (CARD, "s3bert-reference.parquet")
_SUFFIXES = frozenset(pattern[1:] for pattern in WEIGHTS + SMALL)


def decides(name: str) -> bool:
    """Tell whether the file of that relative name decides the numbers; hidden files and folders never do."""
    path = PurePosixPath(name)
    return path.suffix in _SUFFIXES and not any(part.startswith(".") for part in path.parts)


def list_files(folder: Path) -> tuple[str, ...]:
    """Return the relative names of all files below a folder, sorted, with ``/``; linked folders are entered once."""
    names: list[str] = []
    entered: set[str] = set()
    for root, folders, files in os.walk(folder, followlinks=True):
        real = os.path.realpath(root)
        if real in entered:
            folders.clear()
            continue
        entered.add(real)
        here = Path(root)
        names += [(here / name).relative_to(folder).as_posix() for name in files if (here / name).is_file()]
    return tuple(sorted(names))


def digest_of(folder: Path, names: Iterable[str]) -> str:
    """Return the SHA-256, in hex, over the sorted (relative name, SHA-256) of files."""
    whole = hashlib.sha256()
    for name in sorted(names):
        whole.update(f"{name}\0{file_digest(folder / name)}\n".encode())
    return whole.hexdigest()


def read_json(path: Path, kind: type[dict[str, Any]] | type[list[Any]] = dict) -> Any:
    """Return the JSON object (or list) of a file; an empty one where there is no such file.

    Raises:
        InputError: it is no JSON, or JSON of another kind.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return kind()
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: no JSON ({error})") from None
    if not isinstance(value, kind):
        raise InputError(f"{path}: expected a JSON {'object' if kind is dict else 'list'}")
    return value
