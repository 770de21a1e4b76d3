"""The errors that assay raises for users, each with its exit code on the command line.

A message is one line that says what is wrong, where (file, row, column) and what to do about it. Settings in it are
data, see :mod:`assay.common.messages`.
"""

from __future__ import annotations

import difflib
import functools
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from assay.common.messages import Message, Setting


class AssayError(Exception):
    """A requested task failed; the results of other tasks, if any, were saved (exit code 1).

    Args:
        *parts: what is wrong and the remedy, as text and the settings that are mentioned.
        setting: the name of the setting that the error is about; empty for none.
        value: the value of this setting as the message shows it; None for none.

    Attributes:
        message: all of it as data; ``str(error)`` is the text for Python users.

    Example:
        >>> str(InputError("must be above 0", setting="budget", value=0))
        'budget=0: must be above 0'
    """

    exit_code = 1

    def __init__(self, *parts: str | Setting, setting: str = "", value: object = None) -> None:
        super().__init__(*parts)
        self.message = Message(*parts, setting=setting, value=value)

    def __str__(self) -> str:
        return str(self.message)


class InputError(AssayError):
    """Wrong usage or invalid input, which the user can fix (exit code 2)."""

    exit_code = 2


class ChecksumError(InputError):
    """The checksum of a file differs from the one in its card."""


class OfflineError(InputError):
    """A download is needed, but downloads are forbidden."""


class WorkerDiedError(AssayError):
    """An item of work killed every worker process that tried it."""


class ClusterError(InputError):
    """The cluster cannot be used, or all its machines were lost; the run ends, and the scores so far are kept."""


class UnavailableError(AssayError):
    """A metric or dataset is currently unavailable on this machine.

    Attributes:
        reason: the missing thing, in a few words.
        remedy: the exact command that makes it available, or an instruction if no single command does; may be empty.
    """

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(*([reason, ": ", remedy] if remedy else [reason]))
        self.reason = reason
        self.remedy = remedy

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the class and its arguments for pickling, since *args* has only the message."""
        return type(self), (self.reason, self.remedy)


class MissingExtraError(UnavailableError):
    """An optional package is not installed.

    Attributes:
        package: the name of the package.
        extra: the extra of assay that installs it.
    """

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"the package {package} is not installed", install_command(extra))
        self.package = package
        self.extra = extra

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the class and its arguments for pickling, since *args* has only the message."""
        return type(self), (self.package, self.extra)


@functools.cache
def install_command(extra: str) -> str:
    """Return the pip command that installs an extra of assay from the origin of this installation.

    The origin is a checkout, a wheel, a repository or an index. It is in ``direct_url.json`` of the installed package
    (PEP 610), which pip writes unless it used an index. If assay is not installed, it is the checkout with this file.

    Args:
        extra: the name of the extra, such as ``neural``.
    """
    # imported here to keep assay --help fast
    import json
    import shlex
    from importlib import metadata

    try:
        direct_url = metadata.distribution("assay").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        # not installed: the folder src of a checkout is on the path
        checkout = Path(__file__).parents[2]
        return "pip install -e " + shlex.quote(f"{checkout}[{extra}]")
    origin = json.loads(direct_url or "{}")
    return f"pip install {_requirement_of_extra(extra, origin)}"


def _requirement_of_extra(extra: str, origin: Mapping[str, Any]) -> str:
    """Return the pip requirement for assay with an extra, quoted for a shell; with ``-e`` for an editable checkout.

    Args:
        extra: the name of the extra, such as ``neural``.
        origin: the contents of ``direct_url.json``; empty if assay was installed from an index.
    """
    import shlex
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    url = str(origin.get("url", ""))
    repository = origin.get("vcs_info")
    if not url:
        # double quotes, which every shell of Windows accepts as well
        return f'"assay[{extra}]"'
    if repository is not None:
        commit = f"{repository.get('vcs', 'git')}+{url}@{repository.get('commit_id', 'HEAD')}"
        return shlex.quote(f"assay[{extra}] @ {commit}")
    if url.startswith("file:"):
        path = url2pathname(urlsplit(url).path)
        editable = "-e " if origin.get("dir_info", {}).get("editable") else ""
        return editable + shlex.quote(f"{path}[{extra}]")
    return shlex.quote(f"assay[{extra}] @ {url}")


def summary_of(error: BaseException, limit: int = 300, *, skip: str | None = None) -> str:
    """Return the type of an error and the first line of its message, such as ``ValueError: unexpected key``.

    Blank lines are skipped. An error without a message gets ``no reason given`` instead.

    Args:
        error: the exception.
        limit: the maximum number of characters of that line.
        skip: a prefix of lines to ignore, unless all lines of the message have it.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    informative_lines = [line for line in lines if skip is None or not line.startswith(skip)]
    message = (informative_lines or lines or ["no reason given"])[0]
    return f"{type(error).__name__}: {message[:limit]}"


@contextmanager
def unavailable_on_error(failure: str, remedy: str = "") -> Iterator[None]:
    """Turn every exception in the block, which calls code of another package, into an UnavailableError.

    Args:
        failure: the beginning of the message, which says what could not be done.
        remedy: the instruction for the user; may be empty.

    Raises:
        UnavailableError: the block raised anything but KeyboardInterrupt, even SystemExit.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise UnavailableError(f"{failure} ({summary_of(error)})", remedy) from error


def error_location(error: BaseException) -> str:
    """Return the line of code that raised an error, as ``FILE, line 7``; ``nowhere`` without a traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}, line {frames[-1].lineno}" if frames else "nowhere"


def suggestion_for(word: str, choices: Iterable[str]) -> str:
    """Return `` Did you mean 'a' or 'b'?`` with up to three choices similar to *word*, the most similar first.

    The text is empty if no choice is similar. It begins with a blank, so that it can follow a sentence. Capitals of
    *word* count as small letters, as most names have only these.
    """
    similar = difflib.get_close_matches(word.lower(), list(choices), n=3, cutoff=0.5)
    if not similar:
        return ""
    return " Did you mean " + " or ".join(repr(name) for name in similar) + "?"


def unknown_name(problem: str, name: str, choices: Iterable[str]) -> str:
    """Return the message for an unknown name, with similar names and the list of valid ones, or that there is none.

    Args:
        problem: the beginning of the message, to which the name is appended, such as ``runs/a: has no bucket``.
        name: the unknown name.
        choices: the valid names, in the order to show them.

    Example:
        >>> unknown_name("there is no suite", "defalt", ["default", "quick"])
        "there is no suite 'defalt'. Did you mean 'default'? Valid: default, quick."
    """
    valid = list(choices)
    listing = f"Valid: {', '.join(valid)}." if valid else "There is none."
    return f"{problem} {name!r}.{suggestion_for(name, valid)} {listing}"
