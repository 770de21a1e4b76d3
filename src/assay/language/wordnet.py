"""WordNet, as NLTK or the operating system installed it."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from assay.common.processes import collections_paused
from assay.exceptions import UnavailableError
from assay.paths import cache_dir, data_dirs

REMEDY = "sudo apt-get install wordnet-base, or python -m nltk.downloader wordnet"
#: The folders of Debian's and Ubuntu's package wordnet-base, and of Fedora's wordnet.
_SYSTEM_FOLDERS = ("/usr/share/wordnet", "/usr/share/wordnet-3.0/dict")
_PARTS = ("noun", "verb", "adj", "adv")
#: The number of bytes at the beginning of a data file that have the licence.
_LICENCE_BYTES = 3000
#: The files that decide which words are synonyms.
_SYNONYM_FILES = (
    *(f"index.{part}" for part in _PARTS),
    *(f"data.{part}" for part in _PARTS),
    *(f"{part}.exc" for part in _PARTS),
)


def find_wordnet() -> Any | None:
    """Return the path of an installed WordNet, as a ``pathlib.Path`` or a path pointer of NLTK, or None.

    Search order: ``$WNSEARCHDIR``, the folder ``wordnet`` in ``$ASSAY_DATA`` and in the cache, NLTK's data path
    (folder or archive), and the folders of operating systems.
    """
    folders = [folder / "wordnet" for folder in [*data_dirs(), cache_dir()]]
    user_folder = os.environ.get("WNSEARCHDIR")
    if user_folder:
        folders.insert(0, Path(user_folder))
    for folder in folders:
        if _is_complete(folder):
            return folder
    from nltk.data import find

    for resource in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):
        try:
            return find(resource)
        except LookupError:
            continue
    for folder in map(Path, _SYSTEM_FOLDERS):
        if _is_complete(folder):
            return folder
    return None


def _is_complete(folder: Path) -> bool:
    return all((folder / name).is_file() for name in _SYNONYM_FILES)


def _require_wordnet() -> Any:
    """Return the path of an installed WordNet as :func:`find_wordnet` does.

    Raises:
        UnavailableError: there is none.
    """
    root = find_wordnet()
    if root is None:
        raise UnavailableError("WordNet is not on this machine", REMEDY)
    return root


def open_wordnet() -> Any:
    """Return NLTK's reader of the installed WordNet, cached in the process.

    Raises:
        UnavailableError: there is no WordNet, or NLTK refuses it because of its permissions.
    """
    root = _require_wordnet()
    with _explain_refusal(root):
        return _open_reader(root)


def check_wordnet() -> None:
    """Check that a WordNet is installed and NLTK can open it; reading it, which takes a second, is left out.

    Raises:
        UnavailableError: there is no WordNet, or NLTK refuses it because of its permissions.
    """
    from nltk.data import FileSystemPathPointer

    root = _require_wordnet()
    with _explain_refusal(root):
        _add_to_nltk_path(root)
        pointer = FileSystemPathPointer(str(root)) if isinstance(root, Path) else root
        pointer.join(_SYNONYM_FILES[0]).open().close()


@contextmanager
def _explain_refusal(root: Any) -> Iterator[None]:
    """Turn a PermissionError within the block into an UnavailableError that says what to do.

    Args:
        root: the folder of WordNet, or NLTK's pointer to an archive.
    """
    try:
        yield
    except PermissionError as error:
        reason = f"NLTK does not read the WordNet in {root} ({error})"
        raise UnavailableError(reason, f"chmod -R go-w {root}") from error


def _add_to_nltk_path(root: Any) -> None:
    """Add the folder of a WordNet to the data path of NLTK, which refuses to read files elsewhere.

    NLTK's own pointers are left alone, since it found them on that path.
    """
    import nltk.data

    if isinstance(root, Path) and str(root) not in nltk.data.path:
        nltk.data.path.append(str(root))


@functools.lru_cache(maxsize=2)
def _open_reader(root: Any) -> Any:
    """Return NLTK's reader of a WordNet, with all its indices read; cached in the process.

    Args:
        root: the folder, or NLTK's pointer to an archive.
    """
    import warnings

    from assay.language.wordnet_reader import EnglishReader

    _add_to_nltk_path(root)
    with warnings.catch_warnings():
        # NLTK warns that other languages are unavailable; only English is used
        warnings.filterwarnings("ignore", message="The multilingual functions")
        # reading creates 300,000 small objects that stay: garbage collection among them would take longer than reading
        with collections_paused():
            return EnglishReader(str(root) if isinstance(root, Path) else root, None)


def wordnet_signature() -> str:
    """Return the version and digest of the installed WordNet (``3.0-0123456789abcdef``); ``absent`` without one."""
    root = find_wordnet()
    return "absent" if root is None else _version_and_digest(root)


@functools.lru_cache(maxsize=2)
def _version_and_digest(root: Any) -> str:
    """Return the version of a WordNet and 16 hex digits of the SHA-256 of its files, joined by a hyphen.

    The result is cached in the process.

    Args:
        root: the folder of WordNet, or NLTK's pointer to an archive.
    """
    digest = hashlib.sha256()
    version = "unknown"
    for name in _SYNONYM_FILES:
        content = _read_content(root, name)
        if name == "data.adj":
            version = _version_in_licence(content)
        digest.update(f"{name}:{len(content)}:".encode())
        digest.update(content)
    return f"{version}-{digest.hexdigest()[:16]}"


def _version_in_licence(content: bytes) -> str:
    """Return the version stated in the licence at the top of a data file, or ``unknown``."""
    licence = content[:_LICENCE_BYTES].decode("ascii", "replace")
    # the version, of up to six characters, is in a line such as "WordNet 3.0 Copyright 2006"; "WordNet " occurs
    # elsewhere too
    for part in licence.split("WordNet ")[1:]:
        if " Copyright" in part[:16]:
            return part.split()[0]
    return "unknown"


def _read_content(root: Any, name: str) -> bytes:
    """Return the bytes of a file of WordNet.

    Args:
        root: the folder of WordNet, or NLTK's pointer to an archive.
        name: the name of the file.
    """
    if isinstance(root, Path):
        return (root / name).read_bytes()
    with root.join(name).open() as stream:
        content: bytes = stream.read()
    return content
