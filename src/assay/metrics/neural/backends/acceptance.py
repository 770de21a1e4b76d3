"""Checks that a converted model still computes the same: compares its scores on a check set with torch's in fp32."""

from __future__ import annotations

import functools
import hashlib
import json
import math
import platform
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.exceptions import AssayError, UnavailableError
from assay.metrics.neural.backends.cache import error_summary, write_json
from assay.metrics.neural.embeddings import pool_tokens
from assay.metrics.neural.limits import text_limit
from assay.metrics.neural.loading import load_tokenizer, silence_libraries
from assay.metrics.neural.runtime import import_torch
from assay.metrics.neural.tokens import Packed, Packer, tokenize

if TYPE_CHECKING:
    import torch

    from assay.metrics.neural.session import ModelEngine

#: The least accepted rank correlation with fp32 in torch.
MIN_CORRELATION = 0.999
#: The number of tokens at which a text of the check set is cut; in fact only models with fewer positions cut any.
LIMIT = 128
#: Decimals to which scores are rounded before they are ranked: the order of nearly equal scores is noise.
DECIMALS = 6
#: Fields of /proc/cpuinfo that decide which kernels a runtime uses.
_CPU_FIELDS = ("model name", "cpu family", "model", "flags", "CPU implementer", "CPU part", "Features")

#: A function from a batch to the outputs of a model: hidden states of some layers, each (b, l, d), or logits, (b, k).
Outputs = Callable[[Packed], "Sequence[torch.Tensor]"]

# The check set: English and German pairs of answers and of sentences, from equal in meaning to unrelated. It was
# written for this purpose and not taken from a dataset, so that no benchmark's own pairs decide which model may be used
# on it.
#
# A sentence has one phrase from each column; the columns differ in length so that combinations rarely repeat.
_SENTENCES = (
    (
        ("The old baker", "A young teacher", "My neighbour", "The captain of the ship", "Our doctor", "The new mayor"),
        ("sold", "repaired", "painted", "found", "lost"),
        ("a red bicycle", "the broken clock", "three wooden chairs", "an expensive ring", "her letters", "the piano"),
        ("in the village", "near the harbour", "behind the station", "on the island", "at school"),
        ("last summer.", "before the war.", "on a rainy evening.", "two years ago.", "in March 1987."),
    ),
    (
        ("Der alte Bäcker", "Eine junge Lehrerin", "Mein Nachbar", "Der Kapitän", "Unsere Ärztin", "Die Königin"),
        ("verkaufte", "reparierte", "bemalte", "fand", "verlor"),
        ("ein rotes Fahrrad", "die kaputte Uhr", "drei Holzstühle", "einen teuren Ring", "ihre Briefe", "das Klavier"),
        ("im Dorf", "am Hafen", "hinter dem Bahnhof", "auf der Insel", "in der Schule"),
        ("im letzten Sommer.", "vor dem Krieg.", "an einem Abend im Regen.", "vor zwei Jahren.", "im März 1987."),
    ),
)

# Each line: an answer, a paraphrase, and a different answer that is similar in form or meaning.
_ANSWERS = """
eleven | 11 | seven
1969 | July 1969 | 1996
Marie Curie | Curie | Pierre Curie
the Pacific Ocean | Pacific | the Atlantic Ocean
the United States | America | the United Kingdom
J. S. Bach | Johann Sebastian Bach | C. P. E. Bach
two million | about 2,000,000 | two billion
in the spring | during springtime | in the autumn
carbon dioxide | CO2 | carbon monoxide
a heart attack | myocardial infarction | a stroke
the Prime Minister | head of the government | the President of the Senate
40 kilometres | roughly 25 miles | 40 metres
because it was too cold | due to the low temperature | because it was too late
the right to vote | suffrage | the right to remain silent
zwölf | 12 | zwei
Köln | die Stadt Köln | Bonn
der Bundeskanzler | der Regierungschef | der Bundespräsident
im 19. Jahrhundert | zwischen 1800 und 1900 | im 9. Jahrhundert
Goethe | Johann Wolfgang von Goethe | Friedrich Schiller
weil es regnete | wegen des Regens | obwohl es regnete
die Ostsee | das Baltische Meer | die Nordsee
etwa 500 Euro | rund fünfhundert Euro | etwa 500 Menschen
ein Auto | ein Pkw | ein Fahrrad
Herzinfarkt | Infarkt des Herzens | Schlaganfall
seit dem Mittelalter | schon im Mittelalter | erst seit der Neuzeit
ja | jawohl | nein
"""

#: The number of sentences per language.
_ROWS = 16


@functools.cache
def check_set_pairs() -> dict[str, tuple[tuple[str, str], ...]]:
    """Return the pairs of the check set by kind, ``answers`` and ``sentences``, about 300 in all.

    The two kinds are compared separately, because the scores of answers are closer together, so that a worse
    conversion changes their order first. No pair has two equal texts.
    """
    sentences: list[tuple[str, str]] = []
    for columns in _SENTENCES:
        for row in range(_ROWS):
            sentences += _sentence_pairs(columns, row)
    return {"answers": tuple(dict.fromkeys(_answer_pairs())), "sentences": tuple(dict.fromkeys(sentences))}


def _answer_pairs() -> list[tuple[str, str]]:
    """Return pairs of each answer with its paraphrase, with the similar answer, and with the next line's answer."""
    answers = []
    for line in _ANSWERS.strip().splitlines():
        answer, paraphrase, similar_answer = (field.strip() for field in line.split("|"))
        answers.append((answer, paraphrase, similar_answer))
    pairs: list[tuple[str, str]] = []
    for (answer, paraphrase, similar_answer), (other, *_) in zip(answers, answers[1:] + answers[:1], strict=True):
        pairs += [(answer, paraphrase), (answer, similar_answer), (paraphrase, similar_answer), (answer, other)]
    return pairs


def _sentence_pairs(columns: tuple[tuple[str, ...], ...], row: int) -> list[tuple[str, str]]:
    """Return pairs of a sentence with its beginning, and with sentences that differ in 1, 2, … and all of its phrases.

    Args:
        columns: the phrases for each part of a sentence.
        row: the number of the sentence, from 0, which decides its phrases.

    Returns:
        The pairs; those of the first sentences include two of an object alone, such as "the piano", and the sentence.
    """
    # each column has its own stride: with equal strides the columns would advance in step
    chosen = [(row * (index + 1) + index) % len(column) for index, column in enumerate(columns)]
    sentence = _join_phrases(columns, chosen)
    beginning = sentence.rsplit(" ", 2)[0] + "."
    pairs = [(sentence, beginning)]
    changed = list(chosen)
    for step in range(len(columns)):
        # change phrases from the end in even rows and from the start in odd rows: models weigh the parts differently
        index = step if row % 2 else len(columns) - 1 - step
        changed[index] = (changed[index] + 1 + row % 3) % len(columns[index])
        pairs.append((sentence, _join_phrases(columns, changed)))
    if row < len(columns[2]):
        pairs += [(columns[2][chosen[2]], sentence), (columns[2][changed[2]], sentence)]
    return pairs


def _join_phrases(columns: tuple[tuple[str, ...], ...], chosen: list[int]) -> str:
    return " ".join(column[index] for column, index in zip(columns, chosen, strict=True))


def check_conversion(folder: Path, engine: ModelEngine, reference: Callable[[], Outputs], converted: Outputs) -> None:
    """Check that a converted model scores like the original.

    The correlation is cached in its folder by kind of CPU, precision and batch size, unless it is undefined.

    Args:
        folder: the folder of the converted model.
        engine: the settings: backend, precision and batch size.
        reference: the function that loads the model in torch; called only if no result is cached.
        converted: the converted model.

    Raises:
        UnavailableError: the correlation of the scores is below :data:`MIN_CORRELATION` or undefined, or the model
            does not run.
    """
    key = {"cpu": _cpu_kind(), "precision": engine.precision, "check": _check_set_digest(), "tokens": engine.tokens}
    path = folder / f"accepted-{hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]}.json"
    correlation = _read_agreement(path)
    if correlation is None:
        correlation = _agreement_with_torch(engine, reference, converted)
        with suppress(OSError):  # the cache is read-only: the next run checks again
            write_json(path, key | {"spearman": correlation})
    if correlation is not None and correlation >= MIN_CORRELATION:
        return
    remedy = "take backend=torch" if engine.precision == "fp32" else "take precision=fp32"
    if correlation is None:
        raise UnavailableError(
            f"model {engine.folder}: its scores in {engine.backend} {engine.precision} cannot be compared with fp32, "
            "since one of them gives all pairs of the check set the same score or none",
            remedy,
        )
    # rounded down, so that a value just below the limit does not look like the limit; without the zero before the point
    correlation_text = f"{math.floor(correlation * 1e4) / 1e4:.4f}".replace("0.", ".", 1)
    limit = str(MIN_CORRELATION).lstrip("0")
    raise UnavailableError(
        f"model {engine.folder}: {engine.backend} {engine.precision} keeps a Spearman of {correlation_text} with fp32,"
        f" below {limit}",
        remedy,
    )


def check_set_scores(engine: ModelEngine, outputs: Outputs) -> NDArray[np.float64]:
    """Return the scores of the check set, float64, shape (k, n): one row per output, one column per pair.

    The pairs are in the order of :func:`check_set_pairs`, one kind after the other. The scores of a pair are its logits
    if the model reads pairs, or else the cosine of the means of its texts' hidden states. The batches are formed as in
    a run.

    Args:
        engine: the settings, which name the model and the most tokens in a batch.
        outputs: the model.
    """
    pairs = list(chain.from_iterable(check_set_pairs().values()))
    first = [text for text, _ in pairs]
    second = [text for _, text in pairs]
    if engine.reads_pairs:
        logits = _run_in_batches(engine, outputs, first, second)
        return np.concatenate([values.T for values in logits])
    texts = list(dict.fromkeys(chain.from_iterable(pairs)))
    row_of = {text: row for row, text in enumerate(texts)}
    left = np.array([row_of[text] for text in first])
    right = np.array([row_of[text] for text in second])
    means = _run_in_batches(engine, outputs, texts)
    return np.stack([_cosine_scores(vectors, left, right) for vectors in means])


def _run_in_batches(
    engine: ModelEngine, outputs: Outputs, texts: Sequence[str], second_texts: Sequence[str] | None = None
) -> list[NDArray[np.float64]]:
    """Return each output for n texts, or pairs of texts: means over the tokens, shape (n, d), or logits, shape (n, k).

    The texts are padded and batched as in a run, since the result of a runtime may depend on the shape of a batch.

    Args:
        engine: the settings, which name the model and the most tokens in a batch.
        outputs: the model.
        texts: the texts, or the first text of each pair.
        second_texts: the second text of each pair; None for single texts.
    """
    torch = import_torch()
    tokenizer = load_tokenizer(engine.folder, engine.digest)
    limit = min(LIMIT, text_limit(Path(engine.folder)))
    with_types = "token_type_ids" in tokenizer.model_input_names
    computed: list[tuple[NDArray[np.intp], list[NDArray[np.float64]]]] = []

    def step(batch: Packed) -> None:
        rows = []
        with torch.inference_mode():
            for states in outputs(batch):
                # hidden states have three axes, logits two
                values = pool_tokens(states, batch.mask, "mean") if states.ndim == 3 else states.float()
                rows.append(values.double().numpy())
        computed.append((batch.items, rows))

    packer = Packer(int(tokenizer.pad_token_id or 0), engine.tokens)
    packer.run(tokenize(tokenizer, texts, limit, second_texts, with_types=with_types), [("cpu", step)])
    # batches are ordered by length: join the values of each output and restore the order of the texts
    original_order = np.argsort(np.concatenate([items for items, _ in computed]))
    batches_of_outputs = zip(*[rows for _, rows in computed], strict=True)
    return [np.concatenate(batches)[original_order] for batches in batches_of_outputs]


def agreement(reference: NDArray[np.float64], converted: NDArray[np.float64]) -> float | None:
    """Return the lowest Spearman correlation over all outputs and kinds of pairs, in [-1, 1]; None if one is undefined.

    Args:
        reference: the scores of the check set in torch, shape (k, n).
        converted: the scores of the converted model, shape (k, n).
    """
    from scipy.stats import rankdata

    ends = np.cumsum([len(kind) for kind in check_set_pairs().values()])[:-1]
    lowest = 1.0
    for row, other_row in zip(np.round(reference, DECIMALS), np.round(converted, DECIMALS), strict=True):
        for scores, other_scores in zip(np.split(row, ends), np.split(other_row, ends), strict=True):
            are_finite = np.isfinite(scores).all() and np.isfinite(other_scores).all()
            if not are_finite or min(np.ptp(scores), np.ptp(other_scores)) == 0:
                return None
            lowest = min(lowest, float(np.corrcoef(rankdata(scores), rankdata(other_scores))[0, 1]))
    return lowest


def _agreement_with_torch(engine: ModelEngine, reference: Callable[[], Outputs], converted: Outputs) -> float | None:
    """Return the agreement of both models on the check set, see :func:`agreement`; None if it is undefined.

    Args:
        engine: the settings.
        reference: the function that loads the model in torch.
        converted: the converted model.

    Raises:
        UnavailableError: the converted model does not run.
    """
    with silence_libraries():
        expected = check_set_scores(engine, reference())
        try:
            computed = check_set_scores(engine, converted)
        except AssayError:
            raise
        except Exception as error:  # each runtime has errors of its own, without a common base
            raise UnavailableError(
                f"model {engine.folder}: its conversion for {engine.backend} does not run ({error_summary(error)})",
                "take backend=torch",
            ) from error
    return agreement(expected, computed)


def _cosine_scores(
    vectors: NDArray[np.float64], left: NDArray[np.intp], right: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the cosine of the vectors *left* and *right* of each pair, shape (n,); NaN if one is zero or not finite.

    Args:
        vectors: one vector per text, shape (t, d).
        left: the index of each pair's first text, shape (n,).
        right: the index of each pair's second text, shape (n,).
    """
    # no warnings: agreement() returns None for scores that are not finite
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        unit_vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines: NDArray[np.float64] = (unit_vectors[left] * unit_vectors[right]).sum(axis=1)
    return cosines


def _read_agreement(path: Path) -> float | None:
    """Return the agreement that an earlier check has cached; None if there is none, or the file cannot be read."""
    try:
        return float(json.loads(path.read_text(encoding="utf-8"))["spearman"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


@functools.cache
def _check_set_digest() -> str:
    return hashlib.sha256(json.dumps([LIMIT, DECIMALS, check_set_pairs()]).encode()).hexdigest()[:16]


@functools.cache
def _cpu_kind() -> str:
    """Return a text that identifies the kind of CPU: its model and its instruction sets, read once per process.

    The model name alone would not do on a virtual machine, which may lack some of the instruction sets.
    """
    try:
        content = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or platform.machine()
    # the first paragraph describes the first core
    first_core, _, _ = content.partition("\n\n")
    values = []
    for line in first_core.splitlines():
        name, _, value = line.partition(":")
        if name.strip() in _CPU_FIELDS:
            values.append(value.strip())
    return "; ".join(values) or platform.machine()
