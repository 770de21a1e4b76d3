"""Tables of word vectors: read from the usual formats, memory-mapped, looked up by word.

Each name is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.common.lazy import lazy_attributes

if TYPE_CHECKING:
    from assay.metrics.words.vectors import WordVectors as WordVectors
    from assay.metrics.words.vectors import check_source as check_source
    from assay.metrics.words.vectors import open_vectors as open_vectors
    from assay.metrics.words.vectors import source_digest as source_digest
else:
    __getattr__, __dir__ = lazy_attributes(__name__)
