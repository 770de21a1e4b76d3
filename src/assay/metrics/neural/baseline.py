"""Baselines that BERTScore is rescaled with: (score - b) / (1 - b), b the score of texts that do not belong together.

Zhang et al. (2020), section 3, "Baseline rescaling".
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np

from assay.errors import InputError
from assay.metrics.base import Batch
from assay.metrics.neural.corpus import read_corpus

__all__ = ["PAIRS", "random_pairs", "read_baseline"]

#: Random pairs whose mean is the baseline.
PAIRS = 1000
_COLUMNS = {"precision": "P", "recall": "R", "f": "F"}


def read_baseline(path: str, layer: int, output: str) -> float:
    """Return the baseline of a layer from a file with the header ``LAYER,P,R,F``.

    Raises:
        InputError: there is no such file or layer, or a cell is no number below 1.
    """
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: this baseline cannot be read ({error})") from None
    rows = list(csv.DictReader(text.splitlines(), delimiter="\t" if "\t" in text.partition("\n")[0] else ","))
    column = _COLUMNS[output]
    for number, row in enumerate(rows, start=2):
        if (row.get("LAYER") or "").strip() != str(layer):
            continue
        try:
            value = float(row[column])
        except (KeyError, TypeError, ValueError):
            value = math.nan
        if not -math.inf < value < 1:
            raise InputError(f"{path}, line {number}: {column} is {row.get(column)!r}; expected a number below 1")
        return value
    raise InputError(f"{path}: has no row for layer {layer}; expected lines LAYER,P,R,F")


def random_pairs(path: str) -> Batch:
    """Return pairs of different lines of a corpus, drawn with a fixed seed.

    Raises:
        InputError: the corpus has fewer than two different texts.
    """
    texts = list(dict.fromkeys(read_corpus(path)))
    if len(texts) < 2:
        raise InputError(f"{path}: a baseline needs at least two different texts")
    generator = np.random.default_rng(0)
    first = generator.integers(len(texts), size=PAIRS)
    second = (first + generator.integers(1, len(texts), size=PAIRS)) % len(texts)
    return Batch([texts[i] for i in first], [texts[i] for i in second])
