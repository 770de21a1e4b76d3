"""Downloads models from the Hugging Face hub with huggingface_hub, and finds them in its cache.

A cached model is used without a request to the hub, even if the reference is a branch, so that the model does not
change between two runs. To use a newer state of a branch, name its commit.
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

from assay.common.output import atomic_write
from assay.common.transfer import disk_errors
from assay.exceptions import ChecksumError, MissingExtraError, UnavailableError, summary_of
from assay.metrics.models.files import (
    ACCOMPANYING_FILES,
    SMALL_FILES,
    WEIGHT_FILES,
    check_code,
    check_model,
    check_names,
    influences_scores,
)
from assay.metrics.models.reference import ModelOfflineError, ModelReference, near_model_folders
from assay.metrics.provenance import file_digest
from assay.paths import cache_dir, make_private_folder, user_path

#: Attempts to download the weights of a model.
ATTEMPTS = 3


def fetch_hub_model(reference: ModelReference, *, offline: bool) -> tuple[Path, str]:
    """Return the folder of a hub model and its commit, after a download if need be.

    Only files that influence scores and :data:`~assay.metrics.models.files.ACCOMPANYING_FILES` are downloaded, the
    weights only after the other files have passed the checks. With *offline* or ``HF_HUB_OFFLINE`` only the local cache
    is read, and nothing in it is checked here.

    Raises:
        MissingExtraError: huggingface_hub is not installed.
        ModelOfflineError: the model is not cached, and the network is forbidden.
        ChecksumError: a file does not match the checksum on the hub.
        UnavailableError: the hub refuses access, or the download fails.
        UnsafeModelError: the model has only pickled weights, or code of its own.
        InputError: the model is incomplete or invalid, or the disk is full or not writable.
    """
    completed = _completed_model(reference)
    if completed is not None:
        return completed
    try:
        from huggingface_hub import constants
    except ImportError:
        raise MissingExtraError("huggingface_hub", "hf") from None
    if offline or constants.HF_HUB_OFFLINE:
        return _cached_model(reference, forbidden_by_variable=not offline)
    return _download(reference)


def _cached_model(reference: ModelReference, *, forbidden_by_variable: bool) -> tuple[Path, str]:
    """Return the folder and the commit of a model in the cache of huggingface_hub, for instance from ``hf download``.

    Args:
        reference: the parsed name of the model.
        forbidden_by_variable: whether HF_HUB_OFFLINE alone forbids the network, which changes the message.

    Raises:
        ModelOfflineError: the model is not in the cache.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    patterns = [*SMALL_FILES, *WEIGHT_FILES, *ACCOMPANYING_FILES]
    try:
        folder = snapshot_download(
            reference.name, revision=reference.revision, allow_patterns=patterns, local_files_only=True
        )
    except LocalEntryNotFoundError:
        reason = "HF_HUB_OFFLINE forbids the network" if forbidden_by_variable else "the network is forbidden"
        raise ModelOfflineError(reference, reason, unset=forbidden_by_variable) from None
    return Path(folder), Path(folder).name


def _download(reference: ModelReference) -> tuple[Path, str]:
    """Download a model, and return its folder and its commit.

    The list of files is checked first, then the small files, so that a refused model costs no download of weights. In
    the end the files that influence scores are compared with the checksums of the hub. The errors are those of
    :func:`fetch_hub_model`.
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
        folder = Path(
            snapshot_download(reference.name, revision=commit, allow_patterns=[*SMALL_FILES, *ACCOMPANYING_FILES])
        )
    check_code(folder, where=where)
    with _hub_errors(reference):
        _download_weights(reference, commit)
    downloaded = [sibling for sibling in siblings if influences_scores(str(sibling.rfilename))]
    for sibling in downloaded:
        _verify_checksum(folder, sibling, where)
    check_model(folder, where=where, left_out=names)
    _mark_complete(reference, folder, commit, [str(sibling.rfilename) for sibling in downloaded])
    return folder, commit


def _download_weights(reference: ModelReference, commit: str) -> None:
    """Download the weights and other needed files of a model, in up to :data:`ATTEMPTS` attempts if errors may pass.

    Within one attempt huggingface_hub resumes a file (by Range, once 10 MiB of it are on disk). But it gives up at once
    if the connection is reset or the server answers 5xx, and drops the file in progress. Complete files are kept.

    Args:
        reference: the parsed name of the model.
        commit: the commit to download.

    Raises:
        Exception: the error of huggingface_hub that is not transient, or that of the last attempt.
    """
    from huggingface_hub import snapshot_download

    for attempt in range(ATTEMPTS):
        try:
            snapshot_download(
                reference.name, revision=commit, allow_patterns=[*SMALL_FILES, *WEIGHT_FILES, *ACCOMPANYING_FILES]
            )
        except Exception as error:
            if attempt == ATTEMPTS - 1 or not _is_possibly_transient(error):
                raise
            time.sleep(1 + attempt)
        else:
            return


def _is_possibly_transient(error: Exception) -> bool:
    """Tell whether an error may be transient.

    Connection errors are recognised by class name, since huggingface_hub has changed its HTTP library twice.
    """
    status = _http_status(error)
    if status is not None:
        return status >= 500
    return bool({"TransportError", "RequestException"} & {kind.__name__ for kind in type(error).__mro__})


def _http_status(error: BaseException) -> int | None:
    """Return the HTTP status of the response that an error of huggingface_hub is about; None if there is none."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    return status if isinstance(status, int) else None


def _verify_checksum(folder: Path, sibling: Any, where: str) -> None:
    """Compare a downloaded file with the checksum that the hub lists; a mismatching file is deleted.

    A file for which the hub lists no checksum only has to exist.

    Args:
        folder: the folder of the model.
        sibling: the hub's entry for the file, an object of huggingface_hub.
        where: the name of the model, for messages.

    Raises:
        UnavailableError: the file is missing.
        ChecksumError: the checksums differ.
    """
    path = folder / sibling.rfilename
    if not path.is_file():
        raise UnavailableError(f"model {where}: the hub lists {sibling.rfilename}, but the download lacks it")
    if sibling.lfs is not None:
        expected, actual, kind = str(sibling.lfs["sha256"]), file_digest(path), "SHA-256"
    elif sibling.blob_id:
        # the only checksum of files outside LFS is their Git object name, the SHA-1 of a header and the content
        content = path.read_bytes()
        actual = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
        expected, kind = str(sibling.blob_id), "Git checksum"
    else:
        return
    if actual != expected:
        # the path in a snapshot is a link to the content in the cache: delete both
        path.resolve().unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        raise ChecksumError(f"model {where}: {sibling.rfilename} has the {kind} {actual}; expected {expected}")


@contextmanager
def _hub_errors(reference: ModelReference) -> Iterator[None]:
    """Turn errors of huggingface_hub and of the disk within the block into an error of one line.

    Raises:
        UnavailableError: the hub refuses access, has no such model or revision, or the download failed.
        InputError: the disk is full or not writable.
    """
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
            near_model_folders(user_path(reference.name)) or "if it is private: hf auth login",
        ) from None
    except Exception as error:
        reason = _root_cause(error)
        status = _http_status(reason)
        if status in (401, 403):
            raise UnavailableError(
                f"model {reference}: the hub refuses access ({status})", "if it is private: hf auth login"
            ) from error
        problem = f"it answers {status}" if status is not None else summary_of(reason, 200)
        raise UnavailableError(
            f"model {reference} could not be downloaded from the hub ({problem})",
            near_model_folders(user_path(reference.name))
            or f"complete files are kept; continue with: {reference.fetch_command}",
        ) from error


def _root_cause(error: BaseException) -> BaseException:
    """Return the first error with an HTTP status in the chain of an error's causes, or else the last of the chain.

    huggingface_hub reports some failed requests as errors about its cache, with the error of the request as the cause.
    """
    while error.__cause__ is not None and _http_status(error) is None:
        error = error.__cause__
    return error


def _completion_note_path(reference: ModelReference, revision: str) -> Path:
    """Return the path, existing or not, of the note that says that a model is complete in this revision."""
    home = cache_dir() / "models" / "hub" / quote(reference.name, safe="")
    return home / f"{quote(revision, safe='')}.json"


def _mark_complete(reference: ModelReference, folder: Path, commit: str, files: list[str]) -> None:
    """Record that all files of a model that influence scores were downloaded and verified.

    A note is written for the revision in the reference and for the commit. It is needed because the cache of
    huggingface_hub does not distinguish a complete model from a partial one.

    Args:
        reference: the parsed name of the model.
        folder: the folder of the model.
        commit: the commit that was downloaded.
        files: the paths of the files, relative to the folder.

    Raises:
        InputError: the disk is full, or the folder of the notes cannot be written.
    """
    text = json.dumps({"commit": commit, "folder": str(folder.absolute()), "files": files}, indent=1)
    for revision in {reference.revision or "main", commit}:
        note = _completion_note_path(reference, revision)
        with disk_errors(note):
            make_private_folder(note.parent)
            with atomic_write(note) as scratch:
                scratch.write_text(text, encoding="utf-8")


def _completed_model(reference: ModelReference) -> tuple[Path, str] | None:
    """Return the folder and the commit of a model that is marked as complete and whose files all exist.

    It is None if the model is not marked, the note cannot be read, or a file is missing.
    """
    try:
        note = json.loads(_completion_note_path(reference, reference.revision or "main").read_text(encoding="utf-8"))
        folder, commit = Path(note["folder"]), str(note["commit"])
        all_exist = all((folder / name).is_file() for name in note["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return (folder, commit) if all_exist else None


def cached_hub_models() -> list[ModelReference]:
    """Return the references of the complete hub models in the cache.

    A commit is left out if a branch or tag in the list has the same commit.
    """
    commits: dict[ModelReference, str] = {}
    for path in sorted((cache_dir() / "models" / "hub").glob("*/*.json")):
        revision = unquote(path.stem)
        reference = ModelReference("hub", unquote(path.parent.name), None if revision == "main" else revision)
        completed = _completed_model(reference)
        if completed is not None:
            _, commits[reference] = completed
    # (name, commit) of every model that is in the list by its branch or tag
    named_commits = {(reference.name, commit) for reference, commit in commits.items() if reference.revision != commit}
    references = []
    for reference, commit in commits.items():
        if reference.revision != commit or (reference.name, commit) not in named_commits:
            references.append(reference)
    return references
