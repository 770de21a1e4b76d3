"""The output folder of a training: hidden until it is complete, with one subfolder per seed, and the cached scores with
which an interrupted training resumes.
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
from assay.training.ranks import is_follower, wait_for
from assay.training.settings import TrainingSettings


@contextmanager
def lock_file(path: Path, busy: Callable[[], None]) -> Iterator[None]:
    """Lock a file inside the block; the lock also ends with the process. Systems without file locks run without one.

    Args:
        path: the file, created if missing, in an existing folder.
        busy: called if another process holds the lock; if it returns, the block waits until that lock is released.

    Raises:
        OSError: the file cannot be opened.
    """
    with path.open("ab") as stream:
        _lock_stream(stream, busy)
        yield


def _lock_stream(stream: IO[bytes], busy: Callable[[], None]) -> None:
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


#: The file with the request, in the working folder.
REQUEST = "request.json"
#: The file that a process keeps locked while it works in the working folder.
LOCK = "lock"
#: The file that marks a complete result in the working folder; once ``made`` is gone too, the result was renamed.
FINISHED = "finished"


@dataclass(frozen=True)
class WorkFolder:
    """The folders of one training.

    Attributes:
        out: the folder of the result.
        folder: the hidden folder in which the training works, and from which an interrupted one resumes.
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
        """Return the folder for the checkpoints of a seed's training."""
        return self.folder / f"checkpoints-{seed}"


@contextmanager
def open_work_folder(out: str | Path, request: Mapping[str, Any]) -> Iterator[WorkFolder]:
    """Yield the folders of a training, created if missing and locked against all processes but its followers.

    If the block ends without an error, the result is renamed to *out* and the working folder is removed.

    Args:
        out: the folder of the result; it must be missing or empty.
        request: everything that decides the result, as plain values; an unfinished training resumes only for an equal
            request.

    Raises:
        InputError: *out* is not empty, cannot be written, or was created meanwhile; another training writes to it; an
            unfinished training of another request is there; or the disk is full.
    """
    out = user_path(out).absolute()
    work = WorkFolder(out, out.with_name(f".{out.name}.training"))
    if out.is_symlink() or out.is_file() or (out.is_dir() and any(out.iterdir())):
        if (work.folder / FINISHED).exists() and not work.made.exists():
            # A training was killed after its result was renamed, before its working folder was removed.
            _remove_folder(work.folder)
        sweep(out.parent)
        raise InputError(f"{out}: is not an empty folder; give `out` another name")
    plain_request = json.loads(json.dumps(request))
    if is_follower():
        wait_for(lambda: _read_request(work.folder / REQUEST) == plain_request, "the same request")
        yield work
        return
    with _locked_folder(work):
        path = work.folder / REQUEST
        if path.is_file():
            _check_same_request(path, plain_request, out)
        else:
            _write_request(path, plain_request, out)
        with report_full_disk(work.folder):
            yield work
        _finish_folder(work)
    _remove_folder(work.folder)  # only now: some network file systems keep a folder in which a file is open


def _remove_folder(folder: Path) -> None:
    """Remove a working folder, first renamed so that the next command sweeps up what a kill leaves of it."""
    with suppress(OSError):  # another process removed it, or its parent is read-only
        shutil.rmtree(folder.replace(folder.with_name(f".{uuid.uuid4().hex}.part")), ignore_errors=True)


#: Messages of libraries that report a file not written to its end without the system's error number.
_DISK_FULL_MESSAGES = re.compile(
    r"os error (27|28|122)\b|PytorchStreamWriter failed writing|enforce fail at inline_container|"
    r"^\d+ requested and \d+ written$"  # NumPy
)


@contextmanager
def report_full_disk(folder: Path) -> Iterator[None]:
    """Replace errors of a full disk in the block, from whichever library, by an InputError with one line.

    Args:
        folder: the folder that is written to; the next run resumes from its complete files.

    Raises:
        InputError: the disk is full.
    """
    try:
        yield
    except Exception as error:
        is_full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
        if not is_full and not _DISK_FULL_MESSAGES.search(str(error)):
            raise
        raise InputError(
            f"{folder}: the disk is full; free some space and repeat the command: it resumes from what was written "
            "completely"
        ) from error


@contextmanager
def _locked_folder(work: WorkFolder) -> Iterator[None]:
    """Create the working folder and keep it locked inside the block."""

    def refuse() -> None:
        raise InputError(
            f"{work.out}: a training that writes to it is running; wait for it, or give `out` another name"
        )

    with ExitStack() as stack:
        try:
            work.folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(lock_file(work.folder / LOCK, refuse))
        except OSError as error:
            raise _unwritable_error(work.out, error) from None
        yield


def _unwritable_error(out: Path, error: OSError) -> InputError:
    return InputError(f"{out}: cannot be written ({error.strerror}); give `out` another place")


def _write_request(path: Path, request: object, out: Path) -> None:
    try:
        write_json(path, request)
    except OSError as error:
        raise _unwritable_error(out, error) from None


def _finish_folder(work: WorkFolder) -> None:
    try:
        (work.folder / FINISHED).touch()
        if work.out.is_dir():
            work.out.rmdir()  # an empty one may be replaced
        work.made.rename(work.out)
    except OSError as error:
        raise InputError(f"{work.out}: cannot be written ({error.strerror}); the model is in {work.made}") from None


def _read_request(path: Path) -> Any:
    """Return the request in a file; an empty dict if the file is missing or broken."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError, RecursionError):
        return {}


def _check_same_request(path: Path, request: dict[str, Any], out: Path) -> None:
    earlier = _read_request(path)
    if earlier == request:
        return
    keys: list[str] = []
    if isinstance(earlier, dict):
        keys = sorted(key for key in {*earlier, *request} if earlier.get(key) != request.get(key))
    raise InputError(
        f"{out}: an unfinished training with another request is in {path.parent} (it differs in {', '.join(keys)}); "
        f"continue it as it was asked for, remove that folder, or give `out` another name"
    )


def write_json(path: Path, value: object) -> None:
    """Write a value as JSON atomically: an interrupted process leaves either the old file or the new one."""
    scratch = path.with_name(f".{path.name}.new")
    scratch.write_text(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
    scratch.replace(path)


#: The number of pairs that are scored and cached together, and that an interrupted training can lose.
PAIRS_PER_CHUNK = 1024


def cached_scores(
    signature: str, texts: Iterable[str], compute: Callable[[], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return the scores of a chunk from the cache; if they are missing, compute and cache them.

    Args:
        signature: the identity of the metrics that compute the scores; it changes whenever the scores may change.
        texts: all texts that the scores depend on, in order.
        compute: returns the scores.

    Raises:
        InputError: the disk is full.
    """
    digest = hashlib.sha256(signature.encode())
    for text in texts:
        digest.update(hashlib.sha256(text.encode()).digest())
    path = cache_dir() / "targets" / f"{digest.hexdigest()[:32]}.npy"
    if path.is_file():
        cached: NDArray[np.float64] = np.load(path, allow_pickle=False)
        return cached
    scores = compute()
    save_scores(path, scores)
    return scores


def save_scores(path: Path, scores: NDArray[np.float64]) -> None:
    """Write scores to a ``.npy`` file atomically; if that fails, no file is left.

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


#: The file with the results as JSON; a file beside it has them as Markdown.
RESULTS = "results.json"
Results = dict[str, Any]
#: Returns results as Markdown.
Render = Callable[[Results], str]


#: Trains and evaluates a model, from its seed, a folder for checkpoints and the folder of the model, in which the
#: results are written last. In a process that follows another one it trains and writes nothing.
MakeModel = Callable[[int, Path, Path], None]


def make_models(
    work: WorkFolder,
    settings: TrainingSettings,
    make: MakeModel,
    summarise: Callable[[list[Results]], Results],
    render: Render,
) -> Results:
    """Make the models that do not exist yet, and return the results; for several seeds, a summary with ``seeds``.

    A process that follows another one exits after the last model.

    Args:
        work: the folders of the training; for several seeds, they get a folder ``seed-N`` for each model and a summary.
        settings: the settings, with the seeds.
        make: trains, evaluates and writes one model.
        summarise: combines the results of several models into one summary.
        render: returns results as Markdown.
    """
    several = settings.seeds is not None
    seeds = list(range(settings.seed, settings.seed + (settings.seeds or 1)))
    for seed in seeds:
        model = work.model(seed) if several else work.made
        if not (model / RESULTS).is_file():
            _make_model(work, seed, make, model)
    if is_follower():
        raise SystemExit(0)
    if not several:
        return _read_results(work.made)
    results_of_seeds = [_read_results(work.model(seed)) for seed in seeds]
    results = results_of_seeds[0] if len(seeds) == 1 else summarise(results_of_seeds) | {"seeds": seeds}
    write_results(results, work.made, render)
    return results


def _make_model(work: WorkFolder, seed: int, make: MakeModel, model: Path) -> None:
    """Make a model in a temporary folder, which is renamed to *model* once it is complete."""
    unfinished = work.folder / f"new-{seed}"
    checkpoints = work.checkpoints(seed)
    if is_follower():
        make(seed, checkpoints, unfinished)
        return
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    make(seed, checkpoints, unfinished)
    model.parent.mkdir(exist_ok=True)
    unfinished.rename(model)
    shutil.rmtree(checkpoints, ignore_errors=True)


def _read_results(model: Path) -> Results:
    results: Results = read_json(model / RESULTS)
    return results


def write_results(results: Mapping[str, Any], folder: Path, render: Render) -> None:
    """Write results as JSON and, by *render*, as Markdown."""
    # The Markdown comes first, because the JSON file marks a model as complete.
    (folder / RESULTS).with_suffix(".md").write_text(render(dict(results)), encoding="utf-8")
    write_json(folder / RESULTS, results)
