"""The length in tokens at which a model cuts a text, and the number of its layers, as its libraries load them."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from assay.metrics.models.description import ModelDescription, describe

#: The limit of a model without one. Tokenizers declare 10³⁰ then, which is more than tokenizers accept.
UNLIMITED = 10**6


def text_limit(folder: Path, *, saved_by: str | None = None, max_length: int | None = None) -> int:
    """Return the number of tokens at which a text is cut, special ones included; :data:`UNLIMITED` if there is none.

    It is *max_length* if given, or else the limit in the files of sentence-transformers if they apply, or else the
    lower one of the limits of tokenizer and model. It never exceeds the number of the model's positions.

    Args:
        folder: the checked model folder.
        saved_by: the class of sentence-transformers that loads the model; None if none does. Only with it do the files
            of sentence-transformers apply, and only if it saved them.
        max_length: a limit that replaces those of the files; None to read these.

    Raises:
        InputError: a file of the model is malformed.
    """
    description = describe(folder)
    saving_class = description.library_class or "SentenceTransformer"
    library_files_apply = bool(description.modules) and saved_by == saving_class
    limit = description.tokenizer_limit
    if max_length is not None:
        limit = max_length
    elif library_files_apply and description.max_seq_length is not None:
        limit = description.max_seq_length
    limits = (UNLIMITED, limit, _positions(folder, description))
    return min(number for number in limits if number is not None)


def layer_count(folder: Path) -> int | None:
    """Return the number of transformer layers, of the encoder if there is a decoder too; None if it is unknown.

    Raises:
        InputError: a file of the model is malformed.
    """
    description = describe(folder)
    if description.layers is not None:
        return description.layers
    layers = getattr(_library_config(str(folder / (description.transformer or ""))), "num_hidden_layers", None)
    return layers if isinstance(layers, int) else None


def _positions(folder: Path, description: ModelDescription) -> int | None:
    """Return the most tokens for which the model has positions; None if it has no such limit."""
    positions = description.max_positions
    if positions is None:
        # a file may leave out what is the default of its family
        positions = getattr(
            _library_config(str(folder / (description.transformer or ""))), "max_position_embeddings", None
        )
    # XLNet has -1 for no limit
    if not isinstance(positions, int) or positions <= 0:
        return None
    return positions - (description.reserved_positions or 0)


@functools.lru_cache(maxsize=32)
def _library_config(folder: str) -> Any:
    """Return the configuration in a folder as transformers loads it; None if transformers does not know it."""
    try:
        from transformers import AutoConfig

        return AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    # not installed, or a configuration that transformers refuses: loading the model reports it
    except (ImportError, OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
