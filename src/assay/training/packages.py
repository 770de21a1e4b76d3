"""The packages that training needs, and their versions."""

from __future__ import annotations

import platform

from assay.errors import MissingExtraError
from assay.metrics.provenance import ABSENT, own_version, version_of

__all__ = ["check_packages", "versions"]

_NEEDED = ("torch", "transformers", "sentence-transformers", "accelerate", "datasets")


def check_packages() -> None:
    """Return when all of them are installed.

    Raises:
        MissingExtraError: one is not.
    """
    for package in _NEEDED:
        if version_of(package) == ABSENT:
            raise MissingExtraError(package, "train")


def versions() -> dict[str, str]:
    """Return what can change the result of a training: versions of packages, of Python and of assay."""
    return {
        "assay": own_version(),
        "python": platform.python_version(),
        **{package: version_of(package) for package in (*_NEEDED, "numpy", "scipy")},
    }
