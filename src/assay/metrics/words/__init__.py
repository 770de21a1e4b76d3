"""Tables of word vectors: read from any of their usual formats, kept memory-mapped, looked up by word.

Every name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.metrics.words.vectors import WordVectors, check_source, open_vectors, source_digest

_HOMES = {
    "WordVectors": "vectors",
    "check_source": "vectors",
    "open_vectors": "vectors",
    "source_digest": "vectors",
}

__all__ = ["WordVectors", "check_source", "open_vectors", "source_digest"]


def __getattr__(name: str) -> Any:
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module 'assay.metrics.words' has no attribute {name!r}") from None
    return getattr(import_module(f"assay.metrics.words.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
