"""How many dimensions a model's sentence embedding has, read from its files without loading it."""

from __future__ import annotations

from pathlib import Path

from assay.errors import InputError
from assay.metrics.models import describe
from assay.metrics.models.files import read_json
from assay.metrics.models.safety import module_folders

__all__ = ["embedding_size"]


def embedding_size(folder: Path) -> int:
    """Return the dimensions of the embedding: those of the last dense layer, or of what pooling gives.

    Raises:
        InputError: the files do not say it.
    """
    described = describe(folder)
    size = described.hidden_size
    if size is not None and described.pooling is not None:
        size *= described.pooling.count("+") + 1  # several ways of pooling stand side by side
    for place, kind in module_folders(folder, str(folder)):
        if kind is not None and kind.rpartition(".")[2] == "Dense":
            size = read_json(folder / place / "config.json").get("out_features")
    if not isinstance(size, int):
        raise InputError(f"model {folder}: its files do not say how many dimensions an embedding has")
    return size
