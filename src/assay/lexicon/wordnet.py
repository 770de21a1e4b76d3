"""WordNet where NLTK or the operating system put it."""

from __future__ import annotations

import functools
import hashlib
import os
from pathlib import Path
from typing import Any

from assay.errors import UnavailableError
from assay.paths import cache_dir, data_dirs

__all__ = ["REMEDY", "find_wordnet", "open_wordnet", "wordnet_signature"]

REMEDY = "sudo apt-get install wordnet-base, or python -m nltk.downloader wordnet"
#: Where Debian's and Ubuntu's package wordnet-base, and Fedora's wordnet, put the files.
_SYSTEM = ("/usr/share/wordnet", "/usr/share/wordnet-3.0/dict")
_PARTS = ("noun", "verb", "adj", "adv")
#: What decides which words are synonyms.
_FILES = tuple(f"{kind}.{part}" for kind in ("index", "data") for part in _PARTS) + tuple(
    f"{part}.exc" for part in _PARTS
)


def find_wordnet() -> Any | None:
    """Return where WordNet is, as a ``pathlib.Path`` or one of NLTK's path pointers, or None.

    Looked for in ``$WNSEARCHDIR``, a folder ``wordnet`` of ``$ASSAY_DATA`` or the cache, NLTK's data path (folder or
    archive), and where operating systems put it.
    """
    folders = [Path(value) for value in [os.environ.get("WNSEARCHDIR")] if value]
    folders += [folder / "wordnet" for folder in [*data_dirs(), cache_dir()]]
    for folder in folders:
        if _complete(folder):
            return folder
    from nltk.data import find

    for resource in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):
        try:
            return find(resource)
        except LookupError:
            continue
    return next((Path(folder) for folder in _SYSTEM if _complete(Path(folder))), None)


def _complete(folder: Path) -> bool:
    return all((folder / name).is_file() for name in _FILES)


def _located() -> Any:
    found = find_wordnet()
    if found is None:
        raise UnavailableError("WordNet is not on this machine", REMEDY)
    return found


def open_wordnet() -> Any:
    """Return NLTK's reader of the WordNet found, one a process and place.

    Raises:
        UnavailableError: there is none.
    """
    root = _located()
    try:
        return _open(root)
    except PermissionError as error:
        reason = f"NLTK does not read the WordNet in {root} ({error})"
        raise UnavailableError(reason, f"chmod -R go-w {root}") from error


@functools.lru_cache(maxsize=2)
def _open(root: Any) -> Any:
    import warnings

    import nltk.data

    from assay.lexicon.wordnet_reader import EnglishReader

    if isinstance(root, Path) and str(root) not in nltk.data.path:
        # NLTK reads only from folders on its data path; this is how it is told of another one.
        nltk.data.path.append(str(root))
    with warnings.catch_warnings():
        # English is all that is asked of it; that other languages are missing is no news.
        warnings.filterwarnings("ignore", message="The multilingual functions")
        return EnglishReader(str(root) if isinstance(root, Path) else root, None)


def wordnet_signature() -> str:
    """Return version and digest of the WordNet found (``3.0-0123456789abcdef``), or ``absent``."""
    root = find_wordnet()
    return "absent" if root is None else _signature(root)


@functools.lru_cache(maxsize=2)
def _signature(root: Any) -> str:
    digest = hashlib.sha256()
    version = "unknown"
    for name in _FILES:
        content = (root / name).read_bytes() if isinstance(root, Path) else _read(root, name)
        if name == "data.adj":
            # The licence at the top of every data file names the version.
            head = content[:3000].decode("ascii", "replace").split("WordNet ")
            version = next((part.split()[0] for part in head[1:] if " Copyright" in part[:16]), version)
        digest.update(f"{name}:{len(content)}:".encode())
        digest.update(content)
    return f"{version}-{digest.hexdigest()[:16]}"


def _read(root: Any, name: str) -> bytes:
    with root.join(name).open() as stream:
        content: bytes = stream.read()
    return content
