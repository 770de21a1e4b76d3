"""Vectors of a tokenizer's tokens, as sentence-transformers (StaticEmbedding) and model2vec save them in a folder."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.exceptions import InputError, MissingExtraError, UnavailableError
from assay.metrics.models.files import SINGLE_WEIGHTS, module_folders, read_json
from assay.metrics.provenance import file_digest

_TOKENIZER_FILE = "tokenizer.json"
#: The names of the table in the weights: that of sentence-transformers, and that of model2vec.
_TABLE_NAMES = ("embedding.weight", "embeddings")
_LIBRARY_CONFIG = "config_sentence_transformers.json"


@dataclass(frozen=True, eq=False)
class TokenVectors:
    """Vectors by the number of a token.

    Attributes:
        table: the vectors, floating point, shape (tokens, dimensions).
        tokenizer: the tokenizer, an object of the package tokenizers.
    """

    table: NDArray[Any]
    tokenizer: Any

    @property
    def dimensions(self) -> int:
        """The number of dimensions of a vector."""
        return int(self.table.shape[1])

    def rows_of_texts(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the numbers of the rows of each text's tokens, in order; an empty text has none."""
        # tokenizers reject lone surrogates
        valid = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        return [encoding.ids for encoding in self.tokenizer.encode_batch(valid, add_special_tokens=False)]

    def vectors_at(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return the vectors in some rows, float32, shape ``(len(rows), dimensions)``."""
        return np.asarray(self.table[rows], dtype=np.float32)


def token_folder(path: Path) -> Path | None:
    """Return the folder of a model's token vectors and their tokenizer.

    It is *path* or a folder in it; None if *path* is a file, or a folder of something else.

    Raises:
        InputError: a configuration in the folder is malformed.
    """
    if not path.is_dir():
        return None
    (relative, module_class), *_ = module_folders(path, str(path))
    if module_class is None:
        is_one = read_json(path / "config.json").get("model_type") == "model2vec"
    else:
        is_one = module_class.rpartition(".")[2] == "StaticEmbedding"
    return path / relative if is_one else None


def check_token_folder(path: Path, folder: Path) -> None:
    """Check that the score of a text depends on nothing but the mean of the vectors of its tokens.

    Args:
        path: the folder of the model.
        folder: the folder of the vectors, as :func:`token_folder` returns it.

    Raises:
        InputError: a file is missing, or a configuration is malformed.
        UnavailableError: the files ask for more, which the library computes.
    """
    for name in (SINGLE_WEIGHTS, _TOKENIZER_FILE):
        if not (folder / name).is_file():
            raise InputError(
                f"{folder}: a folder of token vectors needs {SINGLE_WEIGHTS} and {_TOKENIZER_FILE}; there is no {name}"
            )
    config = read_json(path / _LIBRARY_CONFIG)
    further_modules = [str(name).rpartition(".")[2] for _, name in module_folders(path, str(path))[1:]]
    reasons = [f"its module {name} (modules.json)" for name in further_modules if name != "Normalize"]
    reasons += [f"its {key} ({_LIBRARY_CONFIG})" for key in ("default_prompt_name", "truncate_dim") if config.get(key)]
    if reasons:
        raise UnavailableError(f"{path}: cannot be read by static because of {reasons[0]}", "use bi-encoder:FOLDER")


def token_digest(folder: Path) -> str:
    """Return the SHA-256 digest, in hexadecimal, of the vectors and the tokenizer of a folder."""
    digests = file_digest(folder / SINGLE_WEIGHTS) + file_digest(folder / _TOKENIZER_FILE)
    return hashlib.sha256(digests.encode()).hexdigest()


@functools.lru_cache(maxsize=4)
def open_token_vectors(folder: Path, digest: str) -> TokenVectors:
    """Return the vectors of a folder with their tokenizer; cached.

    Args:
        folder: the folder, as :func:`token_folder` returns it.
        digest: its digest by :func:`token_digest`, so that changed files are read again.

    Raises:
        MissingExtraError: safetensors or tokenizers is not installed.
        InputError: a file is broken, or has no table of vectors.
    """
    try:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtraError(error.name or "tokenizers", "neural") from error
    path = folder / SINGLE_WEIGHTS
    try:
        weights = load_file(path)
        tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER_FILE))
    # tokenizers raises Exception itself
    except Exception as error:  # noqa: BLE001
        raise InputError(f"{folder}: its token vectors cannot be read ({error})") from None
    tables = [weights[name] for name in _TABLE_NAMES if name in weights]
    if not tables or tables[0].ndim != 2:
        raise InputError(f"{path}: expected a table named {' or '.join(_TABLE_NAMES)}, found {', '.join(weights)}")
    table = _fold(tables[0], weights.get("mapping"), weights.get("weights"))
    size = tokenizer.get_vocab_size()
    if len(table) < size or not np.isfinite(table).all():
        raise InputError(f"{path}: expected {size} finite vectors, one a token of {_TOKENIZER_FILE}")
    tokenizer.no_padding()
    return TokenVectors(table, tokenizer)


def _fold(table: NDArray[Any], rows: NDArray[Any] | None, weights: NDArray[Any] | None) -> NDArray[Any]:
    """Return one vector a token, of model2vec's table with the row and the weight of each token, if it has these."""
    of_tokens = table if rows is None else table[rows.astype(np.intp)]
    return of_tokens if weights is None else of_tokens.astype(np.float32) * weights.astype(np.float32)[:, None]
