"""Where the code of a metric comes from: package versions and distributions, for signatures."""

from __future__ import annotations

import functools
import hashlib
import inspect
import linecache
import sys
from importlib import metadata
from pathlib import Path

#: The entry point group through which other distributions add metrics.
ENTRY_POINTS = "assay.metrics"
#: Stands for the version of what is not installed.
ABSENT = "absent"


def own_version() -> str:
    """Return assay's version, from the loaded package, since metrics import nothing of the packages above."""
    return str(sys.modules["assay"].__version__)


@functools.cache
def version_of(package: str) -> str:
    """Return the installed version of a distribution, or ``absent``."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ABSENT


@functools.cache
def origin_of(cls: type) -> dict[str, str]:
    """Return what identifies the code of a metric class that is not assay's own; empty for assay's.

    ``{distribution: version, "code": digest of its module}`` where the class was installed; otherwise
    ``{"code": digest}`` of its file, so that a changed helper does not get the scores of the old one. In a notebook
    that is the text of the cells that define its methods; of a class typed at a prompt, its name. Code that a class
    uses from other files or cells is not part of it.
    """
    top = cls.__module__.partition(".")[0]
    if top == "assay":
        return {}
    for entry in metadata.entry_points(group=ENTRY_POINTS):
        if entry.module.partition(".")[0] == top and entry.dist is not None:
            return {entry.dist.name: entry.dist.version} | _module_digest(cls)
    for name in metadata.packages_distributions().get(top, ()):
        return {name: version_of(name)} | _module_digest(cls)
    return _module_digest(cls) or {"code": hashlib.sha256(_typed(cls).encode()).hexdigest()[:16]}


def _module_digest(cls: type) -> dict[str, str]:
    """Return a digest of the file of a class: in an editable install the version stays while the code changes."""
    module = sys.modules.get(cls.__module__)
    path = getattr(module, "__file__", None)
    return {"code": file_digest(Path(path))[:16]} if path and Path(path).is_file() else {}


def _typed(cls: type) -> str:
    """Return the source of a class without a file, as far as Python kept it; otherwise its name.

    For classes :func:`inspect.getsource` looks for a file of the module; for functions a notebook keeps their cells.
    """
    # a static method, a class method and most decorators hold the function that was typed
    methods = [value for value in vars(cls).values() if callable(value) or isinstance(value, classmethod)]
    # the names under which Python kept the text of the cells, in order and without duplicates
    sources: dict[str, None] = {}
    for method in methods:
        for function in (method, inspect.unwrap(method)):
            if inspect.isfunction(function):
                sources[function.__code__.co_filename] = None
    module = vars(sys.modules[cls.__module__]) if cls.__module__ in sys.modules else None
    lines = []
    for source in sources:
        lines += linecache.getlines(source, module)
    return "".join(lines) or f"{cls.__module__}.{cls.__qualname__}"


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal, read again when its size or time of change differs."""
    stat = path.stat()
    return _file_digest(str(path.resolve()), stat.st_size, stat.st_mtime_ns)


@functools.lru_cache(maxsize=256)
def _file_digest(path: str, size: int, changed: int) -> str:
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
