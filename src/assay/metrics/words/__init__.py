"""Tables of word vectors: read from the usual formats, memory-mapped, looked up by word.

Each name is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.common.lazy import lazy_attributes

if TYPE_CHECKING:
    from assay.metrics.words.vectors import WordVectors, check_source, open_vectors, source_digest
else:
    __getattr__, __dir__ = lazy_attributes(__name__)

__all__ = ["WordVectors", "check_source", "open_vectors", "source_digest"]
