"""A corpus as a text file, a line a text: for weights of tokens and for baselines."""

from __future__ import annotations

import functools
import hashlib
import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.metrics.neural.inputs import Prep, tokenize
from assay.metrics.neural.tokenizers import load_tokenizer
from assay.output import written_whole
from assay.paths import cache_dir
from assay.transfer.download import disk_errors

__all__ = ["Weigh", "keep_corpus", "plain_weights", "read_corpus", "token_weights"]

#: Weights of token numbers, the same shape.
Weigh = Callable[[NDArray[np.int64]], NDArray[np.float64]]


def read_corpus(path: str) -> list[str]:
    """Return the lines of a corpus that are not blank.

    Raises:
        InputError: there is no such file, it is no UTF-8, or it has no text.
    """
    try:
        lines = Path(path).expanduser().read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: this corpus cannot be read ({error}); expected UTF-8, a line a text") from None
    texts = [line.strip() for line in lines if line.strip()]
    if not texts:
        raise InputError(f"{path}: this corpus has no text; expected a line a text")
    return texts


def keep_corpus(texts: Sequence[str]) -> Path:
    """Write texts as a corpus into the cache, under the digest of its content; return where."""
    content = "\n".join(" ".join(text.split()) for text in texts).encode("utf-8", "replace")
    folder = cache_dir() / "corpora"
    path = folder / f"{hashlib.sha256(content).hexdigest()[:32]}.txt"
    if not path.is_file():
        with disk_errors(path):
            folder.mkdir(parents=True, exist_ok=True)
            with written_whole(path) as scratch:
                scratch.write_bytes(content)
    return path


@functools.lru_cache(maxsize=8)
def plain_weights(folder: str, digest: str) -> Weigh:
    """Return weights of 1, and 0 for the tokens that begin and end a text."""
    special = _special(folder, digest)

    def weigh(ids: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.where(np.isin(ids, special), 0.0, 1.0)

    return weigh


@functools.lru_cache(maxsize=8)
def token_weights(folder: str, digest: str, path: str, corpus: str, prep: Prep) -> Weigh:
    """Return inverse document frequencies: log((N + 1) / (c + 1)) for a token that c of N texts have.

    Args:
        folder: the model.
        digest: of the model.
        path: the corpus.
        corpus: digest of the corpus; tells two states of the file apart.
        prep: how texts are made ready.
    """
    texts = [prep.apply(text) for text in read_corpus(path)]
    counts: Counter[int] = Counter()
    for one in tokenize(load_tokenizer(folder, digest), texts, prep.limit):
        counts.update(set(one.ids))
    known = np.array(sorted(counts), dtype=np.int64)
    whole = math.log(len(texts) + 1)
    values = np.array([whole - math.log(counts[int(token)] + 1) for token in known])
    special = _special(folder, digest)

    def weigh(ids: NDArray[np.int64]) -> NDArray[np.float64]:
        place = np.searchsorted(known, ids).clip(max=len(known) - 1)
        found = np.where(known[place] == ids, values[place], whole)
        return np.where(np.isin(ids, special), 0.0, found)

    return weigh


def _special(folder: str, digest: str) -> list[int]:
    tokenizer = load_tokenizer(folder, digest)
    return [token for token in (tokenizer.cls_token_id, tokenizer.sep_token_id) if token is not None]
