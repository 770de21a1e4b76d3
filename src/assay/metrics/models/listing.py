"""The models that need no search: those with a short name, and those in the cache."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote

from assay.metrics.models.hub import kept_models
from assay.metrics.models.manifest import known_wheels
from assay.metrics.models.reference import ModelReference
from assay.metrics.models.wheels import wheel_folder, wheels_home

__all__ = ["ListedModel", "list_models"]


@dataclass(frozen=True)
class ListedModel:
    """A line of the list.

    Attributes:
        model: what to write.
        title: what it is, or where it is from.
        here: whether it is on this machine.
    """

    model: str
    title: str
    here: bool


def list_models() -> list[ListedModel]:
    """Return the models with a short name, then what else the cache has; folders of the user are not listed."""
    named = []
    folders = set()
    for entry in known_wheels().values():
        folder = wheel_folder(ModelReference.parse(str(entry["name"])))
        named.append(ListedModel(str(entry["name"]), str(entry["title"]), folder is not None and folder.is_dir()))
        folders.add(folder)
    wheels = []
    for folder in sorted(wheels_home().glob("[!.]*/*")):
        project, version, digest = folder.parent.name.rsplit("-", 2)
        if folder not in folders:
            text = f"pypi:{project}=={version}#{unquote(folder.name)}@sha256:{digest}"
            wheels.append(ListedModel(text, "from a wheel", True))
    return [*named, *wheels, *(ListedModel(str(reference), "from the hub", True) for reference in kept_models())]
