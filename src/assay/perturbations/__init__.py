"""Perturbations: changes of a pair under which a score must stay, must not rise or must fall, one file each.

A file here holds one :class:`~assay.perturbations.base.Perturbation`: its name, what it is, what should happen to the
score, and the function that changes a pair. It is found by its text, and other packages register theirs by an entry
point; ``docs/extending.md`` has an example. ``assay stress`` applies them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.lazy import on_first_use

if TYPE_CHECKING:
    from assay.perturbations.base import Perturbation, TextPair
    from assay.perturbations.registry import built_in, list_perturbations, load_perturbation
else:
    __getattr__, __dir__ = on_first_use(__name__)

__all__ = ["Perturbation", "TextPair", "built_in", "list_perturbations", "load_perturbation"]
