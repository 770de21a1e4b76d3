"""The errors that a user of assay can meet, each with the exit code the command line gives it.

A message is one line that names what was wrong, where (file, row, column) and what to do about it.
"""

from __future__ import annotations

import difflib
import functools
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class AssayError(Exception):
    """Something that was asked for failed; the rest, if any, was saved (exit code 1)."""

    exit_code = 1


class InputError(AssayError):
    """Bad usage or bad input: the user can mend it (exit code 2)."""

    exit_code = 2


class ChecksumError(InputError):
    """A file is not the one that its card describes."""


class OfflineError(InputError):
    """Something would have to come over the network, and the network was forbidden."""


class WorkerDiedError(AssayError):
    """A piece of work ended every process that had it."""


class ClusterError(InputError):
    """The machines that do the work cannot be used, or none of them is left: the run ends; what was scored is kept."""


class UnavailableError(AssayError):
    """A metric or dataset is unavailable on this machine as it is.

    Attributes:
        reason: what is missing, in a few words.
        remedy: the exact command that makes it available, or an instruction where no single command does.
    """

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(f"{reason}: {remedy}" if remedy else reason)
        self.reason = reason
        self.remedy = remedy

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what makes it anew in another process: *args* has the message alone."""
        return type(self), (self.reason, self.remedy)


class MissingExtraError(UnavailableError):
    """An optional package is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"the package {package} is not installed", install_extra(extra))
        self.package = package
        self.extra = extra

    def __reduce__(self) -> tuple[Any, ...]:
        """See :meth:`UnavailableError.__reduce__`."""
        return type(self), (self.package, self.extra)


@functools.cache
def install_extra(extra: str) -> str:
    """Return the command that adds an extra to this assay, from where it was installed: a checkout, a wheel, an index.

    Read from ``direct_url.json`` of the installed package (PEP 610), which pip writes unless it took an index.
    """
    # here, since the help of the command line needs none of it
    import json
    import shlex
    from importlib import metadata

    try:
        direct_url = metadata.distribution("assay").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        # the folder src of a checkout is on the path
        return f"pip install -e {shlex.quote(f'{Path(__file__).parents[2]}[{extra}]')}"
    return f"pip install {_requirement(extra, json.loads(direct_url or '{}'))}"


def _requirement(extra: str, origin: Mapping[str, Any]) -> str:
    """Return what pip installs for assay with an extra, quoted for a shell.

    Args:
        extra: such as ``neural``.
        origin: contents of ``direct_url.json``; empty for an index.
    """
    import shlex
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    url = str(origin.get("url", ""))
    if url.startswith("file:") and "vcs_info" not in origin:
        path = url2pathname(urlsplit(url).path)
        editable = "-e " if origin.get("dir_info", {}).get("editable") else ""
        return editable + shlex.quote(f"{path}[{extra}]")
    if "vcs_info" in origin:
        url = f"{origin['vcs_info'].get('vcs', 'git')}+{url}@{origin['vcs_info'].get('commit_id', 'HEAD')}"
    return shlex.quote(f"assay[{extra}] @ {url}") if url else f'"assay[{extra}]"'


def summary_of(error: BaseException, limit: int = 300, *, skip: str | None = None) -> str:
    """Return a foreign library's error as one line, such as ``ValueError: unexpected key``.

    Args:
        error: what was raised.
        limit: most characters of the text.
        skip: lines that begin so are left out where there are others.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    informative = [line for line in lines if skip is None or not line.startswith(skip)]
    text = (informative or lines or ["no reason given"])[0]
    return f"{type(error).__name__}: {text[:limit]}"


@contextmanager
def code_of_others(what: str, remedy: str = "") -> Iterator[None]:
    """Turn whatever the code of another package raises, also by ``sys.exit``, into an UnavailableError.

    Args:
        what: what could not be done, as the message begins.
        remedy: what to do about it.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise UnavailableError(f"{what} ({summary_of(error)})", remedy) from error


def raised_at(error: BaseException) -> str:
    """Return the last line of code that an error passed, as ``FILE, line 7``."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}, line {frames[-1].lineno}" if frames else "nowhere"


def suggest(word: str, choices: Iterable[str], limit: int = 3) -> str:
    """Return `` Did you mean 'a' or 'b'?`` with the names nearest to *word*, or an empty string."""
    near = difflib.get_close_matches(word.lower(), list(choices), n=limit, cutoff=0.5)
    if not near:
        return ""
    return " Did you mean " + " or ".join(repr(name) for name in near) + "?"


def unknown_name(lack: str, name: str, choices: Iterable[str]) -> str:
    """Return the line for a name that is none of those there are: the nearest ones, and all that may be written.

    Args:
        lack: what has no such name, ending where the name follows: ``runs/a: has no bucket``.
        name: what was asked for.
        choices: the names there are, in the order in which they are shown.

    Example:
        >>> unknown_name("there is no suite", "defalt", ["default", "quick"])
        "there is no suite 'defalt'. Did you mean 'default'? Valid: default, quick."
    """
    valid = list(choices)
    return f"{lack} {name!r}.{suggest(name, valid)} " + (f"Valid: {', '.join(valid)}." if valid else "There is none.")
