"""Perturbations: changes of a pair under which a score must stay, must not rise or must fall.

The files declare :class:`~assay.perturbations.base.Perturbation` objects: a name, a summary, the expected effect on
the score, and the function that changes a pair. Files are searched for such declarations without importing them.
Other packages register perturbations by an entry point; ``docs/extending.md`` has an example. ``assay stress`` applies
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.common.lazy import lazy_attributes

if TYPE_CHECKING:
    from assay.perturbations.base import Perturbation as Perturbation
    from assay.perturbations.base import TextPair as TextPair
    from assay.perturbations.registry import built_in as built_in
    from assay.perturbations.registry import list_perturbations as list_perturbations
    from assay.perturbations.registry import load_perturbation as load_perturbation
else:
    __getattr__, __dir__ = lazy_attributes(__name__)
