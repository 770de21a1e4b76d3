"""The output folder of a training, which is hidden until it is complete, and the scores that a training caches.

Several seeds have one subfolder each. An interrupted training resumes from the hidden folder and the cached scores.
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

from assay.common.messages import Setting
from assay.common.output import remove_leftovers
from assay.exceptions import InputError
from assay.metrics.models.files import read_json
from assay.paths import cache_dir, make_private_folder, user_path
from assay.training.ranks import is_follower, wait_for
from assay.training.settings import TrainingSettings


@contextmanager
def lock_file(path: Path, on_busy: Callable[[], None]) -> Iterator[None]:
    """Hold an exclusive lock on a file while the block runs; it is also released if the process dies.

    Where the system or the file system cannot lock files, nothing is locked and the block runs all the same.

    Args:
        path: the file to lock, in an existing folder; it is created if missing.
        on_busy: called once if another process holds the lock. It may raise to give up; otherwise the block waits until
            that lock is released.

    Raises:
        OSError: the file cannot be opened.
        Exception: what *on_busy* raises.
    """
    with path.open("ab") as stream:
        _lock_stream(stream, on_busy)
        yield


def _lock_stream(stream: IO[bytes], on_busy: Callable[[], None]) -> None:
    """Lock an open file until it is closed; do nothing if the system or the file system has no locks.

    If another process holds the lock, *on_busy* is called, and may raise; then the lock is waited for.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        on_busy()
        fcntl.flock(stream, fcntl.LOCK_EX)
    except OSError:  # a file system without locks
        return


#: The file with the request, in the working folder.
REQUEST = "request.json"
#: The file that a process keeps locked while it works in the working folder.
LOCK = "lock"
#: The file that marks a complete result in the working folder; once the folder of the result is gone
#: too, it was renamed to its place.
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
    def result_folder(self) -> Path:
        """The folder that becomes :attr:`out` once the training is complete."""
        return self.folder / "made"

    def model_folder(self, seed: int) -> Path:
        """Return the folder of one of several models."""
        return self.result_folder / f"seed-{seed}"

    def checkpoints_folder(self, seed: int) -> Path:
        """Return the folder for the checkpoints of a seed's training."""
        return self.folder / f"checkpoints-{seed}"


@contextmanager
def open_work_folder(out: str | Path, request: Mapping[str, Any]) -> Iterator[WorkFolder]:
    """Yield the folders of a training, created if missing and locked against all processes but its followers.

    If the block ends without an error, the result is renamed to *out* and the working folder is removed. After an error
    the working folder stays, so that the training can resume. A follower waits until the leader has stored an equal
    request, and leaves creation, locking and renaming to it.

    Args:
        out: the folder of the result; it must be missing or empty, and no symbolic link.
        request: everything that decides the result, as plain values; an unfinished training resumes only for an equal
            request.

    Raises:
        InputError: *out* is not empty, cannot be written, or was created meanwhile; another training writes to it; an
            unfinished training of another request is there; or the disk is full.
        UnavailableError: the leader of this follower does not store the request in time.
    """
    target = user_path(out).absolute()
    work = WorkFolder(target, target.with_name(f".{target.name}.training"))
    is_taken = target.is_symlink() or target.is_file() or (target.is_dir() and any(target.iterdir()))
    if is_taken:
        if (work.folder / FINISHED).exists() and not work.result_folder.exists():
            # A training was killed after its result was renamed, before its working folder was removed.
            _remove_folder(work.folder)
        remove_leftovers(target.parent)
        raise InputError(f"{target}: is not an empty folder; give ", Setting("out"), " another name")
    plain_request = json.loads(json.dumps(request))  # in the form in which a stored request is read back
    if is_follower():
        wait_for(lambda: _read_request(work.folder / REQUEST) == plain_request, "the same request")
        yield work
        return
    with _locked_folder(work):
        request_path = work.folder / REQUEST
        if request_path.is_file():
            _check_same_request(request_path, plain_request, target)
        else:
            _write_request(request_path, plain_request, target)
        with report_full_disk(work.folder):
            yield work
        _finish_folder(work)
    # Removed only once the lock file is closed: some network file systems keep a folder in which a file is open.
    _remove_folder(work.folder)


def _remove_folder(folder: Path) -> None:
    """Remove a working folder, as far as possible; errors are ignored.

    It is renamed first, so that a later command removes what is left of it if this process is killed meanwhile.
    """
    with suppress(OSError):  # another process removed it, or its parent is read-only
        shutil.rmtree(folder.replace(folder.with_name(f".{uuid.uuid4().hex}.part")), ignore_errors=True)


#: Messages by which libraries report that a file was not written to its end, without the system's error number.
_DISK_FULL_MESSAGES = re.compile(
    r"os error (27|28|122)\b|PytorchStreamWriter failed writing|enforce fail at inline_container|"
    r"^\d+ requested and \d+ written$"  # NumPy
)


@contextmanager
def report_full_disk(folder: Path) -> Iterator[None]:
    """Replace errors of a full disk in the block, from whichever library, by an InputError with one line.

    A used-up quota and a file that is too large for its file system count as a full disk.

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
    """Create the working folder and keep it locked inside the block.

    Raises:
        InputError: another training holds the lock, or the folder cannot be written.
    """

    def refuse() -> None:
        raise InputError(
            f"{work.out}: a training that writes to it is running; wait for it, or give ",
            Setting("out"),
            " another name",
        )

    # The stack separates the errors of locking, which are translated, from those of the block.
    with ExitStack() as stack:
        try:
            work.folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(lock_file(work.folder / LOCK, refuse))
        except OSError as error:
            raise _unwritable_error(work.out, error) from None
        yield


def _unwritable_error(out: Path, error: OSError) -> InputError:
    return InputError(f"{out}: cannot be written ({error.strerror}); give ", Setting("out"), " another place")


def _write_request(path: Path, request: object, out: Path) -> None:
    """Write a request; raises InputError, which names the folder of the result, if that fails."""
    try:
        write_json(path, request)
    except OSError as error:
        raise _unwritable_error(out, error) from None


def _finish_folder(work: WorkFolder) -> None:
    """Rename the complete result to its place, which may be an empty folder; raises InputError if that fails."""
    try:
        (work.folder / FINISHED).touch()
        if work.out.is_dir():
            work.out.rmdir()  # it is empty, and not every system renames a folder onto another one
        work.result_folder.rename(work.out)
    except OSError as error:
        raise InputError(
            f"{work.out}: cannot be written ({error.strerror}); the model is in {work.result_folder}"
        ) from None


def _read_request(path: Path) -> dict[str, Any]:
    """Return the request in a file; an empty dict if the file is missing, or damaged so that it has no JSON object."""
    try:
        request = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError, RecursionError):
        return {}
    return request if isinstance(request, dict) else {}


def _check_same_request(path: Path, request: dict[str, Any], out: Path) -> None:
    """Raise InputError, with the keys that differ, unless the unfinished training in a folder has the same request."""
    earlier = _read_request(path)
    if earlier == request:
        return
    keys = sorted(key for key in {*earlier, *request} if earlier.get(key) != request.get(key))
    raise InputError(
        f"{out}: an unfinished training with another request is in {path.parent} (it differs in {', '.join(keys)}); "
        "continue it as it was asked for, remove that folder, or give ",
        Setting("out"),
        " another name",
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
    """Return the scores of a chunk of pairs, shape (n,), from the cache; if missing or damaged, compute and cache them.

    Args:
        signature: the identity of the metrics that compute the scores; it changes whenever the scores may change.
        texts: all texts that the scores depend on, in order.
        compute: returns the scores; called only if the cache lacks them.

    Raises:
        InputError: the disk is full.
        OSError: the cache cannot be read or written for another reason.
        Exception: what *compute* raises; nothing is cached then.
    """
    digest = hashlib.sha256(signature.encode())
    for text in texts:
        digest.update(hashlib.sha256(text.encode()).digest())
    path = cache_dir() / "targets" / f"{digest.hexdigest()[:32]}.npy"
    scores = load_scores(path)
    if scores is None:
        scores = compute()
        save_scores(path, scores)
    return scores


def load_scores(path: Path) -> NDArray[np.float64] | None:
    """Return the scores in a ``.npy`` file that :func:`save_scores` wrote; None if it is missing or damaged."""
    try:
        scores: NDArray[np.float64] = np.load(path, allow_pickle=False)
    except (FileNotFoundError, ValueError, EOFError):
        return None
    return scores


def save_scores(path: Path, scores: NDArray[np.float64]) -> None:
    """Write scores to a ``.npy`` file atomically, and create its folder if missing; if that fails, no file is left.

    Raises:
        InputError: the disk is full.
        OSError: the file cannot be written for another reason.
    """
    scratch = path.with_suffix(f".{uuid.uuid4().hex[:8]}.npy")  # np.save would append a missing .npy
    with report_full_disk(path.parent):
        make_private_folder(path.parent)
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


#: Trains and evaluates a model; called with its seed, a folder for checkpoints and the folder of the model, in which it
#: writes the results last. In a process that follows another one it trains but writes nothing.
MakeModel = Callable[[int, Path, Path], None]


def make_models(
    work: WorkFolder,
    settings: TrainingSettings,
    make: MakeModel,
    summarise: Callable[[list[Results]], Results],
    render: Render,
) -> Results:
    """Make the models that do not exist yet, and return the results of the training.

    Without the setting ``seeds`` these are the results of the only model. With it, each model has a folder ``seed-N``;
    the summary of their results, or the results of a single seed, are written beside these folders and returned.

    Args:
        work: the folders of the training.
        settings: the settings, with the seeds.
        make: trains, evaluates and writes one model.
        summarise: combines the results of several models into one summary, to which the list ``seeds`` is added.
        render: returns results as Markdown.

    Raises:
        SystemExit: the last model is made, and this process follows another one, which has the results.
        Exception: what *make* raises.
    """
    has_seed_folders = settings.seeds is not None
    seeds = list(range(settings.seed, settings.seed + (settings.seeds or 1)))
    for seed in seeds:
        model_folder = work.model_folder(seed) if has_seed_folders else work.result_folder
        if not (model_folder / RESULTS).is_file():
            _make_model(work, seed, make, model_folder)
    if is_follower():
        raise SystemExit(0)  # the leader alone has results to return
    if not has_seed_folders:
        return _read_results(work.result_folder)
    results_of_seeds = [_read_results(work.model_folder(seed)) for seed in seeds]
    results = results_of_seeds[0] if len(seeds) == 1 else summarise(results_of_seeds) | {"seeds": seeds}
    write_results(results, work.result_folder, render)
    return results


def _make_model(work: WorkFolder, seed: int, make: MakeModel, model_folder: Path) -> None:
    """Make a model in a temporary folder, rename that to *model_folder*, and remove the checkpoints of the seed.

    A process that follows another one only takes part in making the model.
    """
    unfinished = work.folder / f"new-{seed}"
    checkpoints = work.checkpoints_folder(seed)
    if is_follower():
        make(seed, checkpoints, unfinished)
        return
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    make(seed, checkpoints, unfinished)
    model_folder.parent.mkdir(exist_ok=True)
    unfinished.rename(model_folder)
    shutil.rmtree(checkpoints, ignore_errors=True)


def _read_results(model_folder: Path) -> Results:
    results: Results = read_json(model_folder / RESULTS)
    return results


def write_results(results: Mapping[str, Any], folder: Path, render: Render) -> None:
    """Write results into a folder as JSON and, by *render*, as Markdown; the JSON file marks a model as complete."""
    # The Markdown comes first, so that a model that counts as complete has both.
    (folder / RESULTS).with_suffix(".md").write_text(render(dict(results)), encoding="utf-8")
    write_json(folder / RESULTS, results)
