"""A model repository of the Hugging Face hub, through huggingface_hub and its cache.

A cached model is used without asking the hub, also for a branch, so that it does not change between two runs. To follow
a branch, give the new commit.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from assay.errors import ChecksumError, MissingExtraError, OfflineError, UnavailableError, summary_of
from assay.metrics.models.files import BESIDE, SMALL, WEIGHTS, check_code, check_model, check_names, decides
from assay.metrics.models.reference import ModelReference
from assay.metrics.provenance import file_digest
from assay.output import written_whole
from assay.paths import cache_dir, private_folder
from assay.transfer import disk_errors

ATTEMPTS = 3


def from_hub(reference: ModelReference, *, offline: bool) -> tuple[Path, str]:
    """Return the folder of a hub model and its commit, after downloading it if need be.

    Only files that decide the numbers are downloaded, the weights after all else has passed the checks. With *offline*
    or ``HF_HUB_OFFLINE`` only the local cache is read.

    Raises:
        MissingExtraError: huggingface_hub is not installed.
        OfflineError: it is not cached, and the network is forbidden.
        ChecksumError: a file is not the one that the hub lists.
        UnavailableError: the hub refuses it, or the download failed.
        UnsafeModelError: the model is refused.
    """
    remembered = _recall(reference)
    if remembered is not None:
        return remembered
    try:
        from huggingface_hub import constants
    except ImportError:
        raise MissingExtraError("huggingface_hub", "hf") from None
    if offline or constants.HF_HUB_OFFLINE:
        return _cached(reference, by_variable=not offline)
    return _download(reference)


def _cached(reference: ModelReference, *, by_variable: bool) -> tuple[Path, str]:
    """Return what the hub's own cache has, for instance from ``hf download``."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    patterns = [*SMALL, *WEIGHTS, *BESIDE]
    try:
        folder = snapshot_download(
            reference.name, revision=reference.revision, allow_patterns=patterns, local_files_only=True
        )
    except LocalEntryNotFoundError:
        reason = "HF_HUB_OFFLINE forbids the network" if by_variable else "the network is forbidden"
        command = ("unset HF_HUB_OFFLINE; " if by_variable else "") + reference.fetch_line
        raise OfflineError(f"model {reference} is not on this machine and {reason}; get it with: {command}") from None
    return Path(folder), Path(folder).name


def _download(reference: ModelReference) -> tuple[Path, str]:
    """Download a model and return its folder and commit.

    First the list of files is checked, then the small files, so that a model that would be refused costs no download of
    weights; then everything is compared with the hub's checksums.
    """
    from huggingface_hub import HfApi, snapshot_download

    where = str(reference)
    with _hub_errors(reference):
        info = HfApi().model_info(reference.name, revision=reference.revision, files_metadata=True)
    commit = str(info.sha)
    siblings = list(info.siblings or ())
    names = [str(sibling.rfilename) for sibling in siblings]
    check_names(names, where=where)
    with _hub_errors(reference):
        folder = Path(snapshot_download(reference.name, revision=commit, allow_patterns=[*SMALL, *BESIDE]))
    check_code(folder, where=where)
    with _hub_errors(reference):
        _download_weights(reference, commit)
    downloaded = [sibling for sibling in siblings if decides(str(sibling.rfilename))]
    for sibling in downloaded:
        _verify(folder, sibling, where)
    check_model(folder, where=where, left_out=names)
    _remember(reference, folder, commit, [str(sibling.rfilename) for sibling in downloaded])
    return folder, commit


def _download_weights(reference: ModelReference, commit: str) -> None:
    """Download all files, with new attempts where the connection breaks.

    huggingface_hub resumes inside one attempt (Range, once a piece of 10 MiB is on the disk), but gives up at once when
    the connection is reset or the answer is a 5xx, and then drops the file in progress. Complete files stay.
    """
    from huggingface_hub import snapshot_download

    for attempt in range(ATTEMPTS):
        try:
            snapshot_download(reference.name, revision=commit, allow_patterns=[*SMALL, *WEIGHTS, *BESIDE])
        except Exception as error:
            if attempt == ATTEMPTS - 1 or not _may_pass(error):
                raise
            time.sleep(1 + attempt)
        else:
            return


def _may_pass(error: Exception) -> bool:
    """Tell whether an error may not come again; by name, since huggingface_hub has changed its HTTP library twice."""
    status = _status(error)
    if status is not None:
        return status >= 500
    return bool({"TransportError", "RequestException"} & {kind.__name__ for kind in type(error).__mro__})


def _status(error: BaseException) -> int | None:
    status = getattr(getattr(error, "response", None), "status_code", None)
    return status if isinstance(status, int) else None


def _verify(folder: Path, sibling: Any, where: str) -> None:
    """Compare a file with the checksum that the hub lists; another file is deleted."""
    path = folder / sibling.rfilename
    if not path.is_file():
        raise UnavailableError(f"model {where}: the hub lists {sibling.rfilename}, but the download lacks it")
    if sibling.lfs is not None:
        expected, got, kind = str(sibling.lfs["sha256"]), file_digest(path), "SHA-256"
    elif sibling.blob_id:
        # Git's name for a file: files in the repository itself have no other checksum
        content = path.read_bytes()
        got = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
        expected, kind = str(sibling.blob_id), "Git checksum"
    else:
        return
    if got != expected:
        path.resolve().unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        raise ChecksumError(f"model {where}: {sibling.rfilename} has the {kind} {got}; expected {expected}")


@contextmanager
def _hub_errors(reference: ModelReference) -> Iterator[None]:
    """Turn what huggingface_hub raises into one line with a remedy."""
    from huggingface_hub import errors

    try:
        with disk_errors(Path(reference.name)):
            yield
    except errors.GatedRepoError:
        raise UnavailableError(
            f"model {reference}: it is gated, and its owner has not granted access",
            f"accept the terms on the page of {reference.name}, then: hf auth login",
        ) from None
    except errors.RevisionNotFoundError:
        raise UnavailableError(f"model {reference}: {reference.name} has no revision {reference.revision}") from None
    except errors.RepositoryNotFoundError:
        raise UnavailableError(
            f"model {reference}: there is neither such a folder nor such a repository on the hub",
            "if it is private: hf auth login",
        ) from None
    except Exception as error:
        reason = _first_cause(error)
        status = _status(reason)
        if status in (401, 403):
            raise UnavailableError(
                f"model {reference}: the hub refuses access ({status})", "if it is private: hf auth login"
            ) from error
        problem = f"it answers {status}" if status is not None else summary_of(reason, 200)
        raise UnavailableError(
            f"model {reference} could not be downloaded from the hub ({problem})",
            f"complete files are kept; continue with: {reference.fetch_line}",
        ) from error


def _first_cause(error: BaseException) -> BaseException:
    """Return the error of the hub or the connection, which huggingface_hub wraps in one about its cache."""
    while error.__cause__ is not None and _status(error) is None:
        error = error.__cause__
    return error


def _note(reference: ModelReference, revision: str) -> Path:
    home = cache_dir() / "models" / "hub" / quote(reference.name, safe="")
    return home / f"{quote(revision, safe='')}.json"


def _remember(reference: ModelReference, folder: Path, commit: str, files: list[str]) -> None:
    """Record that a model is complete: the hub's own cache cannot tell it from one downloaded in part."""
    text = json.dumps({"commit": commit, "folder": str(folder.absolute()), "files": files}, indent=1)
    for revision in {reference.revision or "main", commit}:
        note = _note(reference, revision)
        with disk_errors(note):
            private_folder(note.parent)
            with written_whole(note) as part:
                part.write_text(text, encoding="utf-8")


def _recall(reference: ModelReference) -> tuple[Path, str] | None:
    """Return folder and commit of a model that was downloaded completely and is still there."""
    try:
        note = json.loads(_note(reference, reference.revision or "main").read_text(encoding="utf-8"))
        folder, commit = Path(note["folder"]), str(note["commit"])
        whole = all((folder / name).is_file() for name in note["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return (folder, commit) if whole else None


def kept_models() -> list[ModelReference]:
    """Return the complete hub models of the cache; a commit only where no other revision stands for it."""
    commits: dict[ModelReference, str] = {}
    for path in sorted((cache_dir() / "models" / "hub").glob("*/*.json")):
        revision = unquote(path.stem)
        reference = ModelReference("hub", unquote(path.parent.name), None if revision == "main" else revision)
        remembered = _recall(reference)
        if remembered is not None:
            _, commits[reference] = remembered
    by_revision = {(reference.name, commit) for reference, commit in commits.items() if reference.revision != commit}
    kept = []
    for reference, commit in commits.items():
        if reference.revision != commit or (reference.name, commit) not in by_revision:
            kept.append(reference)
    return kept
