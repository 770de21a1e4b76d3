"""Computes BERTScore: greedy matching, token weights from a corpus, baselines, and the package bert-score.

Zhang et al. (2020), "BERTScore: Evaluating Text Generation with BERT", section 3.
"""

from __future__ import annotations

import csv
import functools
import hashlib
import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.common.output import atomic_write
from assay.common.transfer import disk_errors
from assay.exceptions import InputError, MissingExtraError
from assay.metrics.base import Batch
from assay.metrics.neural.embeddings import TextEmbeddings
from assay.metrics.neural.limits import UNLIMITED
from assay.metrics.neural.loading import load_tokenizer
from assay.metrics.neural.runtime import import_torch
from assay.metrics.neural.tokens import tokenize
from assay.metrics.neural.views import Preparation
from assay.paths import cache_dir, make_private_folder, user_path

if TYPE_CHECKING:
    import torch


#: A function from the token numbers of texts to the weights of all their tokens, one text after another.
TokenWeighting = Callable[[Sequence[Sequence[int]]], NDArray[np.float64]]
#: Embeddings, weights and presence of the tokens of the references or of the candidates, see :func:`_gather_tokens`.
_MatchedSide = tuple["torch.Tensor", "torch.Tensor", "torch.Tensor"]

#: Most numbers in the padded similarity matrices and embeddings of a batch of pairs, on a CPU and on a GPU.
CPU_CELLS, GPU_CELLS = 2**22, 2**26
#: The longest text of a batch of pairs may be this many times as long as its shortest, plus two tokens.
MAX_LENGTH_RATIO = 1.25
#: F is 0 if the absolute value of precision plus recall is at most this.
NEARLY_ZERO = 1e-6
#: The number of random pairs whose mean score is the baseline.
RANDOM_PAIRS = 1000
_BASELINE_COLUMNS = {"precision": "P", "recall": "R", "f": "F"}


def match_tokens(
    embeddings: TextEmbeddings,
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    weigh: TokenWeighting,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return precision and recall of n pairs, each of shape (n,), in [-1, 1]; both are 0 if a text has no weight.

    Each token is matched to the most similar token of the other text. Tokens of weight 0, such as special tokens, may
    be matched but do not count themselves. Padded cells of the similarity matrix are -inf, not 0: a 0 would win against
    negative similarities, and the value of a pair would depend on the padding in its batch.

    Args:
        embeddings: the token embeddings of the texts.
        left: the indices of the references, shape (n,).
        right: the indices of the candidates, shape (n,).
        weigh: the function that returns the weights of tokens.

    Raises:
        torch.OutOfMemoryError: a single pair does not fit.
    """
    torch = import_torch()
    starts = embeddings.starts
    assert starts is not None  # noqa: S101 - embeddings of tokens have starts
    unit_vectors = torch.nn.functional.normalize(embeddings.values, dim=1)
    dimensions = unit_vectors.shape[1]
    sizes = np.array([len(ids) for ids in embeddings.ids], dtype=np.intp)
    token_weights = weigh(embeddings.ids)
    weights = torch.from_numpy(token_weights).to(unit_vectors.device, torch.float32)
    text_of_token = np.repeat(np.arange(len(sizes)), sizes)
    text_weights = np.bincount(text_of_token, token_weights, len(sizes))
    max_cells = CPU_CELLS if unit_vectors.device.type == "cpu" else GPU_CELLS
    precision, recall = np.zeros(len(left)), np.zeros(len(left))
    longest = np.maximum(sizes[left], sizes[right])
    # sorted by length, so that a batch needs little padding
    by_length = np.argsort(longest, kind="stable")
    order = by_length[(text_weights[left[by_length]] > 0) & (text_weights[right[by_length]] > 0)]
    start = 0
    while start < len(order):
        length = int(longest[order[start]])
        cells_per_pair = max(1, (dimensions + length) * length)
        batch = order[start : start + max(1, max_cells // cells_per_pair)]
        # end the batch before pairs that are much longer than its first one
        longest_in_batch = length * MAX_LENGTH_RATIO + 2
        batch = batch[: int(np.searchsorted(longest[batch], longest_in_batch, side="right"))]
        try:
            with torch.inference_mode():
                references = _gather_tokens(unit_vectors, weights, starts, sizes, left[batch])
                candidates = _gather_tokens(unit_vectors, weights, starts, sizes, right[batch])
                precision[batch], recall[batch] = _precision_and_recall(references, candidates)
        except torch.OutOfMemoryError:
            if len(batch) == 1:
                raise
            # try again with half as many pairs
            max_cells = len(batch) * cells_per_pair // 2
            continue
        start += len(batch)
    return precision, recall


def _precision_and_recall(
    references: _MatchedSide, candidates: _MatchedSide
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return precision and recall of a batch of b pairs, each of shape (b,), in [-1, 1].

    Args:
        references: the tokens of the references, see :func:`_gather_tokens`.
        candidates: the tokens of the candidates.
    """
    torch = import_torch()
    candidate_embeddings, candidate_weights, candidate_present = candidates
    reference_embeddings, reference_weights, reference_present = references
    similarities = torch.bmm(candidate_embeddings, reference_embeddings.transpose(1, 2))
    absent = ~(candidate_present.unsqueeze(2) & reference_present.unsqueeze(1))
    similarities = similarities.masked_fill_(absent, -torch.inf)
    precision = _weighted_mean(similarities.amax(dim=2), candidate_weights, candidate_present)
    recall = _weighted_mean(similarities.amax(dim=1), reference_weights, reference_present)
    return precision, recall


def _gather_tokens(
    unit_vectors: torch.Tensor,
    weights: torch.Tensor,
    starts: NDArray[np.intp],
    sizes: NDArray[np.intp],
    texts: NDArray[np.intp],
) -> _MatchedSide:
    """Gather the tokens of b texts into padded tensors.

    Args:
        unit_vectors: the embeddings of all tokens, scaled to length 1, one row per token.
        weights: the weight of each token.
        starts: the first row of each text.
        sizes: the number of tokens of each text.
        texts: the indices of the texts, shape (b,).

    Returns:
        The embeddings, shape (b, l, d), the weights, shape (b, l), and which cells have a token, shape (b, l), where l
        is the length of the longest text.
    """
    torch = import_torch()
    columns = np.arange(int(sizes[texts].max()))
    first_rows = starts[texts][:, None]
    token_mask = columns < sizes[texts][:, None]
    # padded cells read the first token of their text, whose weight is then set to 0
    rows = np.where(token_mask, first_rows + columns, first_rows)
    index = torch.from_numpy(rows).to(unit_vectors.device)
    present = torch.from_numpy(token_mask).to(unit_vectors.device)
    return unit_vectors[index], weights[index] * present, present


def _weighted_mean(best: torch.Tensor, weights: torch.Tensor, present: torch.Tensor) -> NDArray[np.float64]:
    """Return the weighted mean similarity of each text's tokens, shape (b,); 0 if no token of the text has a weight.

    Args:
        best: the highest similarity of each token, shape (b, l); -inf for padding.
        weights: the weights of the tokens, shape (b, l).
        present: which cells have a token, shape (b, l).
    """
    torch = import_torch()
    best, weights = best.cpu().double(), weights.cpu().double()
    total = weights.sum(dim=1)
    # where() instead of a product alone: -inf times a weight of 0 is NaN
    sums = torch.where(present.cpu() & (weights != 0), best * weights, 0.0).sum(dim=1)
    means: NDArray[np.float64] = torch.where(total > 0, sums / total, 0.0).numpy()
    return means


def harmonic_mean(precision: NDArray[np.float64], recall: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return F = 2PR / (P + R) of each pair, shape (n,); 0 if P + R is nearly 0.

    F is in [-1, 1] if P and R have the same sign, as they nearly always do. Otherwise it is unbounded, as in the
    package bert-score.
    """
    total = precision + recall
    defined = np.abs(total) > NEARLY_ZERO
    return np.where(defined, 2 * precision * recall / np.where(defined, total, 1.0), 0.0)


def read_corpus(path: str) -> list[str]:
    """Return the lines of a corpus file, stripped, without the blank ones.

    Raises:
        InputError: the file cannot be read, is not UTF-8, or has no text.
    """
    try:
        lines = user_path(path).read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: this corpus cannot be read ({error}); expected UTF-8, one line per text") from None
    texts = [line.strip() for line in lines if line.strip()]
    if not texts:
        raise InputError(f"{path}: this corpus has no text; expected one line per text")
    return texts


def store_corpus(texts: Sequence[str]) -> Path:
    """Write a corpus to the cache, unless it is there, and return the path of the file.

    The file has one line per text, with white space collapsed and ``?`` in place of unpaired surrogates. Its name is
    the digest of its content.

    Raises:
        InputError: the disk is full or not writable.
    """
    # a text with line breaks must stay one line, and a lone surrogate, which some files have, cannot be encoded
    content = "\n".join(" ".join(text.split()) for text in texts).encode("utf-8", "replace")
    folder = cache_dir() / "corpora"
    path = folder / f"{hashlib.sha256(content).hexdigest()[:32]}.txt"
    if not path.is_file():
        with disk_errors(path):
            make_private_folder(folder)
            with atomic_write(path) as scratch:
                scratch.write_bytes(content)
    return path


@functools.lru_cache(maxsize=8)
def equal_weighting(folder: str, digest: str) -> TokenWeighting:
    """Return the function that weighs tokens equally: 1, and 0 for those that :func:`_weighting_of_texts` excludes.

    Args:
        folder: the folder of the model.
        digest: the digest of the model.
    """
    return _weighting_of_texts(folder, digest, lambda ids: np.ones(len(ids)))


@functools.lru_cache(maxsize=8)
def idf_weighting(folder: str, digest: str, path: str, corpus: str, preparation: Preparation) -> TokenWeighting:
    """Return the function that weighs tokens by inverse document frequency in a corpus.

    The weight is log((N + 1) / (c + 1)) for a token that occurs in c of N texts, and 0 for those that
    :func:`_weighting_of_texts` excludes.

    Args:
        folder: the folder of the model.
        digest: the digest of the model.
        path: the path of the corpus.
        corpus: the digest of the corpus; a part of the cache's key, so that a file that has changed is read again.
        preparation: the preparation of the texts.

    Raises:
        InputError: the corpus cannot be read.
    """
    texts = [preparation.apply(text) for text in read_corpus(path)]
    text_counts: Counter[int] = Counter()
    for tokens in tokenize(load_tokenizer(folder, digest), texts, preparation.limit):
        text_counts.update(set(tokens.ids))
    corpus_tokens = np.array(sorted(text_counts), dtype=np.int64)
    unseen_weight = math.log(len(texts) + 1)
    corpus_weights = np.array([unseen_weight - math.log(text_counts[int(token)] + 1) for token in corpus_tokens])

    def weigh(ids: NDArray[np.int64]) -> NDArray[np.float64]:
        index = np.searchsorted(corpus_tokens, ids).clip(max=len(corpus_tokens) - 1)
        return np.where(corpus_tokens[index] == ids, corpus_weights[index], unseen_weight)

    return _weighting_of_texts(folder, digest, weigh)


def _weighting_of_texts(
    folder: str, digest: str, weigh: Callable[[NDArray[np.int64]], NDArray[np.float64]]
) -> TokenWeighting:
    """Return a weighting by a function of token numbers, with 0 for tokens that do not count.

    As in the package, these are the tokens [CLS] and [SEP] of the tokenizer, and all tokens of a blank text: that of T5
    has the token for the end of a text, which counts in other texts.
    """
    tokenizer = load_tokenizer(folder, digest)
    special = [token for token in (tokenizer.cls_token_id, tokenizer.sep_token_id) if token is not None]
    blank = list(tokenize(tokenizer, [""], UNLIMITED)[0].ids)

    def weigh_texts(texts: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        sizes = [len(ids) for ids in texts]
        ids = np.fromiter(chain.from_iterable(texts), dtype=np.int64, count=sum(sizes))
        is_blank = np.repeat(np.array([list(text) == blank for text in texts], dtype=np.bool_), sizes)
        weights: NDArray[np.float64] = np.where(np.isin(ids, special) | is_blank, 0.0, weigh(ids))
        return weights

    return weigh_texts


def read_baseline(path: str, layer: int, output: str) -> float:
    """Return the baseline of a layer from a CSV or TSV file with the header ``LAYER,P,R,F``.

    The baseline b is the mean score of unrelated texts; a score s is rescaled to (s - b) / (1 - b).

    Args:
        path: the path of the file.
        layer: the number of the layer.
        output: ``precision``, ``recall`` or ``f``.

    Raises:
        InputError: the file cannot be read, lacks the layer, or has a value that is not a number below 1.
    """
    try:
        text = user_path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: this baseline cannot be read ({error})") from None
    rows = list(csv.DictReader(text.splitlines(), delimiter="\t" if "\t" in text.partition("\n")[0] else ","))
    column = _BASELINE_COLUMNS[output]
    for number, row in enumerate(rows, start=2):
        if (row.get("LAYER") or "").strip() != str(layer):
            continue
        try:
            value = float(row[column])
        except (KeyError, TypeError, ValueError):
            # fails the next check, which reports the text
            value = math.nan
        if not -math.inf < value < 1:
            raise InputError(f"{path}, line {number}: {column} is {row.get(column)!r}; expected a number below 1")
        return value
    raise InputError(f"{path}: has no row for layer {layer}; expected lines LAYER,P,R,F")


def random_pairs(path: str) -> Batch:
    """Return :data:`RANDOM_PAIRS` pairs of different lines of a corpus, drawn with a fixed seed.

    Raises:
        InputError: the corpus cannot be read, or has fewer than two different texts.
    """
    texts = list(dict.fromkeys(read_corpus(path)))
    if len(texts) < 2:
        raise InputError(f"{path}: a baseline needs at least two different texts")
    generator = np.random.default_rng(0)
    first = generator.integers(len(texts), size=RANDOM_PAIRS)
    # an offset of at least 1 pairs no text with itself
    second = (first + generator.integers(1, len(texts), size=RANDOM_PAIRS)) % len(texts)
    return Batch([texts[i] for i in first], [texts[i] for i in second])


def recommended_layer(name: str) -> int | None:
    """Return the layer that the package bert-score recommends for a hub model, or None if it does not list the model.

    Raises:
        MissingExtraError: the package is not installed.
    """
    try:
        from bert_score.utils import model2layers
    except ImportError as error:
        raise MissingExtraError(error.name or "bert-score", "neural") from error
    layer = model2layers.get(name, model2layers.get(name.rpartition("/")[2]))
    return None if layer is None else int(layer)
