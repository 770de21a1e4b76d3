"""The origin of a metric's code for its signature: package versions, distributions and digests."""

from __future__ import annotations

import functools
import hashlib
import inspect
import linecache
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from assay.common.packages import version_of

#: The entry point group through which other distributions add metrics.
ENTRY_POINTS = "assay.metrics"


def own_version() -> str:
    """Return assay's version, read from the loaded package, since metrics must not import from higher layers."""
    return str(sys.modules["assay"].__version__)


@functools.cache
def origin_of(cls: type) -> dict[str, str]:
    """Return the identity of a metric class's code for the signature; empty for assay's own classes.

    For a class of an installed distribution it is ``{distribution: version, "code": digest of its module}``. For any
    other class it is ``{"code": digest}``: the digest of its file, so that a changed helper does not reuse old scores;
    in a notebook, of the cells that define its methods; at a prompt, of its name. Code in other files or cells is not
    covered.
    """
    top_package = cls.__module__.partition(".")[0]
    if top_package == "assay":
        return {}
    for entry in metadata.entry_points(group=ENTRY_POINTS):
        if entry.module.partition(".")[0] == top_package and entry.dist is not None:
            return {entry.dist.name: entry.dist.version} | _module_digest(cls)
    distributions = _distributions_by_package(tuple(sys.path)).get(top_package, [])
    if distributions:
        return {distributions[0]: version_of(distributions[0])} | _module_digest(cls)
    return _module_digest(cls) or {"code": hashlib.sha256(_kept_source_or_name(cls).encode()).hexdigest()[:16]}


@functools.cache
def _distributions_by_package(search_path: tuple[str, ...]) -> Mapping[str, list[str]]:
    """Return the names of the distributions by top-level package.

    Cached, since reading the metadata of all distributions takes a third of a second.

    Args:
        search_path: ``sys.path``, so that a changed path is searched again.
    """
    return metadata.packages_distributions()


def _module_digest(cls: type) -> dict[str, str]:
    """Return 16 hex digits of the digest of the class's file under the key ``code``; an empty dict without a file.

    The version does not suffice, since in an editable install the code changes while the version stays the same.
    """
    module = sys.modules.get(cls.__module__)
    path = getattr(module, "__file__", None)
    return {"code": file_digest(Path(path))[:16]} if path and Path(path).is_file() else {}


def _kept_source_or_name(cls: type) -> str:
    """Return the source of a class without a file, as far as Python kept it, else its qualified name.

    :func:`inspect.getsource` needs a file for a class, but a notebook keeps the cells of its methods.
    """
    methods = [value for value in vars(cls).values() if callable(value) or isinstance(value, classmethod)]
    # a dict as an ordered set of the names under which Python kept the text of the cells
    cell_names: dict[str, None] = {}
    for method in methods:
        # a static method, a class method and most decorators wrap the function that the user wrote
        for function in (method, inspect.unwrap(method)):
            if inspect.isfunction(function):
                cell_names[function.__code__.co_filename] = None
    module = vars(sys.modules[cls.__module__]) if cls.__module__ in sys.modules else None
    lines = []
    for cell_name in cell_names:
        lines += linecache.getlines(cell_name, module)
    return "".join(lines) or f"{cls.__module__}.{cls.__qualname__}"


def file_digest(path: Path) -> str:
    """Return the SHA-256 digest (hexadecimal) of a file; cached until its size or modification time changes."""
    stat = path.stat()
    return _file_digest(str(path.resolve()), stat.st_size, stat.st_mtime_ns)


@functools.lru_cache(maxsize=256)
def _file_digest(path: str, size: int, modified_ns: int) -> str:
    """Return the SHA-256 digest of a file; its size and modification time only serve as keys of the cache."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
