"""The output folder of a training: hidden until it is complete, one subfolder a seed, with cached scores so that a
killed training resumes.
"""

from __future__ import annotations

import errno
import hashlib
import json
import re
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.metrics.models.files import read_json
from assay.paths import cache_dir
from assay.training.ranks import follows, wait_for

__all__ = [
    "CHUNK",
    "RESULTS",
    "Render",
    "Results",
    "Workplace",
    "keep",
    "kept_scores",
    "locked",
    "make_models",
    "open_workplace",
    "told_of_room",
    "write_json",
    "write_results",
]


# A file that one process at a time may hold.


@contextmanager
def locked(path: Path, busy: Callable[[], None]) -> Iterator[None]:
    """Hold a file locked in the block; the lock ends with the process. Some systems cannot lock, and go without.

    Args:
        path: the file, made if need be, in a folder that is there.
        busy: called where somebody else holds it; where it returns, the block begins as soon as that one lets go.

    Raises:
        OSError: the file cannot be opened.
    """
    with path.open("ab") as stream:
        _lock(stream, busy)
        yield


def _lock(stream: IO[bytes], busy: Callable[[], None]) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        busy()
        fcntl.flock(stream, fcntl.LOCK_EX)
    except OSError:  # a file system without locks
        return


# Where a training works and what it leaves: a hidden folder until it is done, then renamed as a whole.

#: What was asked for, in the working folder.
REQUEST = "request.json"
#: Held locked, in the working folder, for as long as a process works there.
LOCK = "lock"


@dataclass(frozen=True)
class Workplace:
    """The folders of one training.

    Attributes:
        out: where the result will stand.
        folder: where the training works; a killed one continues from it.
    """

    out: Path
    folder: Path

    @property
    def made(self) -> Path:
        """The folder that becomes :attr:`out`."""
        return self.folder / "made"

    def checkpoints(self, seed: int) -> Path:
        """Return where the training of a seed keeps its checkpoints."""
        return self.folder / f"checkpoints-{seed}"


@contextmanager
def open_workplace(out: str | Path, request: Mapping[str, Any]) -> Iterator[Workplace]:
    """Yield the folders of a training, made if need be, which no other process can open meanwhile but its followers.

    Where the block ends without an error, the result gets its name and the rest is removed.

    Args:
        out: where the result goes; absent or an empty folder.
        request: all that decides the result, as plain values; only for an equal one is a training continued.

    Raises:
        InputError: *out* holds something, cannot be made, or was taken meanwhile; a training that writes to it is
            running, or an unfinished one of another request is there; the disk is full.
    """
    out = Path(out).absolute()
    if out.is_symlink() or out.is_file() or (out.is_dir() and any(out.iterdir())):
        raise InputError(f"{out}: is not an empty folder; give `out` another name")
    place = Workplace(out, out.with_name(f".{out.name}.training"))
    asked = json.loads(json.dumps(request))
    if follows():
        wait_for(lambda: _held(place.folder / REQUEST) == asked, "the same request")
        yield place
        return
    with _opened(place):
        path = place.folder / REQUEST
        if path.is_file():
            _check_same(path, asked, out)
        else:
            _write_request(path, asked, out)
        with told_of_room(place.folder):
            yield place
        _finish(place)
    shutil.rmtree(place.folder)  # only now: some network file systems keep a folder in which a file is open


#: What libraries say in place of the system's number where a file cannot be written to its end.
_NO_ROOM = re.compile(
    r"os error (27|28|122)\b|PytorchStreamWriter failed writing|enforce fail at inline_container|"
    r"^\d+ requested and \d+ written$"  # NumPy
)


@contextmanager
def told_of_room(folder: Path) -> Iterator[None]:
    """Turn what is raised in the block where a disk is full into one line.

    Args:
        folder: what is written to; what stands there whole is used when it is asked for again.

    Raises:
        InputError: the disk is full.
    """
    try:
        yield
    except Exception as error:
        full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
        if not full and not _NO_ROOM.search(str(error)):
            raise
        raise InputError(
            f"{folder}: there is no room to write; make some, then ask for it again: it continues from what was last "
            "written whole"
        ) from error


@contextmanager
def _opened(place: Workplace) -> Iterator[None]:
    """Make the working folder and lock it."""

    def refuse() -> None:
        raise InputError(
            f"{place.out}: a training that writes to it is running; wait for it, or give `out` another name"
        )

    with ExitStack() as stack:
        try:
            place.folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(place.folder / LOCK, refuse))
        except OSError as error:
            raise _unwritable(place.out, error) from None
        yield


def _unwritable(out: Path, error: OSError) -> InputError:
    return InputError(f"{out}: cannot be written ({error.strerror}); give `out` another place")


def _write_request(path: Path, asked: object, out: Path) -> None:
    try:
        write_json(path, asked)
    except OSError as error:
        raise _unwritable(out, error) from None


def _finish(place: Workplace) -> None:
    try:
        if place.out.is_dir():
            place.out.rmdir()  # an empty one may be replaced
        place.made.rename(place.out)
    except OSError as error:
        raise InputError(f"{place.out}: cannot be written ({error.strerror}); the model is in {place.made}") from None


def _held(path: Path) -> Any:
    """Return the request in a file; nothing where there is none, or a broken one."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}


def _check_same(path: Path, asked: dict[str, Any], out: Path) -> None:
    held = _held(path)
    if held == asked:
        return
    keys = sorted(key for key in {*held, *asked} if held.get(key) != asked.get(key)) if isinstance(held, dict) else []
    raise InputError(
        f"{out}: an unfinished training with another request is in {path.parent} (it differs in {', '.join(keys)}); "
        f"continue it as it was asked for, remove that folder, or give `out` another name"
    )


def write_json(path: Path, value: object) -> None:
    """Write a value as JSON in one step, so that a killed process leaves the old file or the new one."""
    scratch = path.with_name(f".{path.name}.new")
    scratch.write_text(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
    scratch.replace(path)


# Scores that are computed once: kept in the cache chunk by chunk, so that a killed training loses one chunk.

#: Pairs scored at a time: what a kill can lose.
CHUNK = 1024


def kept_scores(
    signature: str, texts: Iterable[str], compute: Callable[[], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return the scores of a chunk from the cache; compute and keep them where they are not there.

    Args:
        signature: of what computes; changes when the scores may change.
        texts: all that the scores are of, in order.
        compute: gives the scores.

    Raises:
        InputError: the disk is full.
    """
    whole = hashlib.sha256(signature.encode())
    for text in texts:
        whole.update(hashlib.sha256(text.encode()).digest())
    path = cache_dir() / "targets" / f"{whole.hexdigest()[:32]}.npy"
    if path.is_file():
        held: NDArray[np.float64] = np.load(path, allow_pickle=False)
        return held
    scores = compute()
    keep(path, scores)
    return scores


def keep(path: Path, scores: NDArray[np.float64]) -> None:
    """Write scores to a file, ``.npy``, in one step; where that fails, nothing is left of it.

    Raises:
        InputError: the disk is full.
    """
    scratch = path.with_suffix(f".{uuid.uuid4().hex[:8]}.npy")
    with told_of_room(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            np.save(scratch, scores)
            scratch.replace(path)
        finally:
            scratch.unlink(missing_ok=True)


# One model a seed, each made in a folder of its own and renamed when it is whole, so that a killed one goes on.

#: The results as JSON; the same as Markdown stands beside it.
RESULTS = "results.json"
Results = dict[str, Any]
#: Gives results as Markdown.
Render = Callable[[Results], str]


def make_models(
    place: Workplace,
    first: int,
    number: int | None,
    make: Callable[[int, Path], None],
    summarise: Callable[[list[Results]], Results],
    render: Render,
) -> Results:
    """Make what is not made yet, and return the results, of several models a summary with ``seeds``.

    Args:
        place: of the training; with a number, a folder ``seed-N`` for each model and a summary are left in it.
        first: the first seed.
        number: of models, or None for one model.
        make: trains a model of a seed into a folder that is there, and writes its results last; in a process that
            follows another one it trains and writes nothing, and the process ends after the last seed.
        summarise: makes one of the results of several models.
        render: gives results as Markdown.
    """
    seeds = list(range(first, first + (number or 1)))
    found = []
    for seed in seeds:
        made = place.made if number is None else place.made / f"seed-{seed}"
        if not (made / RESULTS).is_file():
            new = place.folder / f"new-{seed}"
            if follows():
                make(seed, new)
                continue
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir()
            make(seed, new)
            made.parent.mkdir(exist_ok=True)
            new.rename(made)
            shutil.rmtree(place.checkpoints(seed), ignore_errors=True)
        if not follows():
            found.append(read_json(made / RESULTS))
    if follows():
        raise SystemExit(0)  # its work ends with the last training
    results: Results = found[0] if len(found) == 1 else summarise(found) | {"seeds": seeds}
    if number is not None:
        write_results(results, place.made, render)
    return results


def write_results(results: Mapping[str, Any], folder: Path, render: Render) -> None:
    """Write results as JSON and, by *render*, as Markdown."""
    # the Markdown first: the JSON says that all is there
    (folder / RESULTS).with_suffix(".md").write_text(render(dict(results)), encoding="utf-8")
    write_json(folder / RESULTS, results)
