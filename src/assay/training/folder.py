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
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.metrics.models.files import read_json
from assay.output import sweep
from assay.paths import cache_dir, private_folder, user_path
from assay.training.ranks import follows, wait_for
from assay.training.settings import TrainingSettings


@contextmanager
def locked(path: Path, busy: Callable[[], None]) -> Iterator[None]:
    """Lock a file for the block; the lock ends with the process. On systems without locks the block runs without.

    Args:
        path: the file, created if need be, in an existing folder.
        busy: called where another process has locked it; if it returns, the block begins when that lock ends.

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


#: The request, in the working folder.
REQUEST = "request.json"
#: Locked, in the working folder, for as long as a process works there.
LOCK = "lock"
#: In the working folder once the result is complete; without ``made`` beside it, the result has got its name.
FINISHED = "finished"


@dataclass(frozen=True)
class WorkFolder:
    """The folders of one training.

    Attributes:
        out: the folder of the result.
        folder: where the training works; an interrupted one resumes from it.
    """

    out: Path
    folder: Path

    @property
    def made(self) -> Path:
        """The folder that becomes :attr:`out`."""
        return self.folder / "made"

    def model(self, seed: int) -> Path:
        """Return the folder of one of several models."""
        return self.made / f"seed-{seed}"

    def checkpoints(self, seed: int) -> Path:
        """Return where the training of a seed keeps its checkpoints."""
        return self.folder / f"checkpoints-{seed}"


@contextmanager
def open_work_folder(out: str | Path, request: Mapping[str, Any]) -> Iterator[WorkFolder]:
    """Yield the folders of a training, made if need be, which no other process can open meanwhile but its followers.

    Where the block ends without an error, the result gets its name and the rest is removed.

    Args:
        out: where the result goes; absent or an empty folder.
        request: all that decides the result, as plain values; only for an equal one is a training continued.

    Raises:
        InputError: *out* holds something, cannot be made, or was taken meanwhile; a training that writes to it is
            running, or an unfinished one of another request is there; the disk is full.
    """
    out = user_path(out).absolute()
    work = WorkFolder(out, out.with_name(f".{out.name}.training"))
    if out.is_symlink() or out.is_file() or (out.is_dir() and any(out.iterdir())):
        if (work.folder / FINISHED).exists() and not work.made.exists():
            # killed between the renaming and the removal
            _remove(work.folder)
        sweep(out.parent)
        raise InputError(f"{out}: is not an empty folder; give `out` another name")
    asked = json.loads(json.dumps(request))
    if follows():
        wait_for(lambda: _read_request(work.folder / REQUEST) == asked, "the same request")
        yield work
        return
    with _locked_folder(work):
        path = work.folder / REQUEST
        if path.is_file():
            _check_same(path, asked, out)
        else:
            _write_request(path, asked, out)
        with report_full_disk(work.folder):
            yield work
        _finish(work)
    _remove(work.folder)  # only now: some network file systems keep a folder in which a file is open


def _remove(folder: Path) -> None:
    """Remove a working folder; what a kill leaves of it has a name that the next command sweeps."""
    with suppress(OSError):  # removed by another process, or in a folder that may only be read
        shutil.rmtree(folder.replace(folder.with_name(f".{uuid.uuid4().hex}.part")), ignore_errors=True)


#: What libraries say in place of the system's number where a file cannot be written to its end.
_NO_ROOM = re.compile(
    r"os error (27|28|122)\b|PytorchStreamWriter failed writing|enforce fail at inline_container|"
    r"^\d+ requested and \d+ written$"  # NumPy
)


@contextmanager
def report_full_disk(folder: Path) -> Iterator[None]:
    """Turn errors of a full disk, whichever library raises them in the block, into one line.

    Args:
        folder: what is written to; the next run resumes from the files that are complete there.

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
            f"{folder}: the disk is full; free some space and repeat the command: it resumes from what was written "
            "completely"
        ) from error


@contextmanager
def _locked_folder(work: WorkFolder) -> Iterator[None]:
    """Make the working folder and lock it."""

    def refuse() -> None:
        raise InputError(
            f"{work.out}: a training that writes to it is running; wait for it, or give `out` another name"
        )

    with ExitStack() as stack:
        try:
            work.folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(work.folder / LOCK, refuse))
        except OSError as error:
            raise _unwritable(work.out, error) from None
        yield


def _unwritable(out: Path, error: OSError) -> InputError:
    return InputError(f"{out}: cannot be written ({error.strerror}); give `out` another place")


def _write_request(path: Path, asked: object, out: Path) -> None:
    try:
        write_json(path, asked)
    except OSError as error:
        raise _unwritable(out, error) from None


def _finish(work: WorkFolder) -> None:
    try:
        (work.folder / FINISHED).touch()
        if work.out.is_dir():
            work.out.rmdir()  # an empty one may be replaced
        work.made.rename(work.out)
    except OSError as error:
        raise InputError(f"{work.out}: cannot be written ({error.strerror}); the model is in {work.made}") from None


def _read_request(path: Path) -> Any:
    """Return the request in a file; nothing where there is none, or a broken one."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError, RecursionError):
        return {}


def _check_same(path: Path, asked: dict[str, Any], out: Path) -> None:
    earlier = _read_request(path)
    if earlier == asked:
        return
    keys: list[str] = []
    if isinstance(earlier, dict):
        keys = sorted(key for key in {*earlier, *asked} if earlier.get(key) != asked.get(key))
    raise InputError(
        f"{out}: an unfinished training with another request is in {path.parent} (it differs in {', '.join(keys)}); "
        f"continue it as it was asked for, remove that folder, or give `out` another name"
    )


def write_json(path: Path, value: object) -> None:
    """Write a value as JSON in one step: an interrupted process leaves the old file or the new one."""
    scratch = path.with_name(f".{path.name}.new")
    scratch.write_text(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
    scratch.replace(path)


#: Pairs scored at a time, and cached together: what an interrupted training can lose.
CHUNK = 1024


def cached_scores(
    signature: str, texts: Iterable[str], compute: Callable[[], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return the scores of a chunk from the cache; compute and cache them if they are missing.

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
        cached: NDArray[np.float64] = np.load(path, allow_pickle=False)
        return cached
    scores = compute()
    save_scores(path, scores)
    return scores


def save_scores(path: Path, scores: NDArray[np.float64]) -> None:
    """Write scores to a file, ``.npy``, in one step; if that fails, no file is left.

    Raises:
        InputError: the disk is full.
    """
    scratch = path.with_suffix(f".{uuid.uuid4().hex[:8]}.npy")
    with report_full_disk(path.parent):
        private_folder(path.parent)
        try:
            np.save(scratch, scores)
            scratch.replace(path)
        finally:
            scratch.unlink(missing_ok=True)


#: The results as JSON, beside the same as Markdown.
RESULTS = "results.json"
Results = dict[str, Any]
#: Gives results as Markdown.
Render = Callable[[Results], str]


#: Trains and evaluates a model: its seed, a folder for checkpoints, and the folder of the model, in which it writes the
#: results last. In a process that follows another one it trains and writes nothing.
MakeModel = Callable[[int, Path, Path], None]


def make_models(
    work: WorkFolder,
    settings: TrainingSettings,
    make: MakeModel,
    summarise: Callable[[list[Results]], Results],
    render: Render,
) -> Results:
    """Make the models that are not made yet, and return the results; of several models, a summary with ``seeds``.

    A process that follows another one ends after the last model.

    Args:
        work: folder of the training; with several seeds, a folder ``seed-N`` for each model and a summary are left.
        settings: with the seeds.
        make: makes a model.
        summarise: makes one of the results of several models.
        render: gives results as Markdown.
    """
    several = settings.seeds is not None
    seeds = list(range(settings.seed, settings.seed + (settings.seeds or 1)))
    for seed in seeds:
        model = work.model(seed) if several else work.made
        if not (model / RESULTS).is_file():
            _make_model(work, seed, make, model)
    if follows():
        raise SystemExit(0)
    if not several:
        return _read_results(work.made)
    of_seeds = [_read_results(work.model(seed)) for seed in seeds]
    results = of_seeds[0] if len(seeds) == 1 else summarise(of_seeds) | {"seeds": seeds}
    write_results(results, work.made, render)
    return results


def _make_model(work: WorkFolder, seed: int, make: MakeModel, model: Path) -> None:
    """Make a model in a new folder, which gets its name when all is there."""
    new = work.folder / f"new-{seed}"
    checkpoints = work.checkpoints(seed)
    if follows():
        make(seed, checkpoints, new)
        return
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    make(seed, checkpoints, new)
    model.parent.mkdir(exist_ok=True)
    new.rename(model)
    shutil.rmtree(checkpoints, ignore_errors=True)


def _read_results(model: Path) -> Results:
    results: Results = read_json(model / RESULTS)
    return results


def write_results(results: Mapping[str, Any], folder: Path, render: Render) -> None:
    """Write results as JSON and, by *render*, as Markdown."""
    # the Markdown first: the JSON says that all is there
    (folder / RESULTS).with_suffix(".md").write_text(render(dict(results)), encoding="utf-8")
    write_json(folder / RESULTS, results)
