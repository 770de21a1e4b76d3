"""A model's tokenizer without the model, for what is counted over tokens."""

from __future__ import annotations

import functools
from typing import Any

from assay.errors import MissingExtraError

__all__ = ["load_tokenizer"]


@functools.lru_cache(maxsize=4)
def load_tokenizer(folder: str, digest: str) -> Any:
    """Return the tokenizer of a checked model folder; *digest* tells two states of a folder apart.

    Raises:
        MissingExtraError: transformers is not installed.
    """
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise MissingExtraError(error.name or "transformers", "neural") from error
    return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
