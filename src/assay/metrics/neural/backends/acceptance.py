"""Whether a converted model still says the same: its scores are held to those of torch in fp32 on a check set."""

from __future__ import annotations

import functools
import hashlib
import json
import math
import platform
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError, UnavailableError
from assay.metrics.models import describe
from assay.metrics.neural.backends.checkset import check_pairs
from assay.metrics.neural.backends.convert import first_line, write_json
from assay.metrics.neural.inputs import tokenize
from assay.metrics.neural.loading import quiet
from assay.metrics.neural.packing import Packed, Packer
from assay.metrics.neural.runtime import import_torch
from assay.metrics.neural.tokenizers import load_tokenizer
from assay.metrics.neural.views import pool

if TYPE_CHECKING:
    import torch

    from assay.metrics.neural.engine import ModelEngine

__all__ = ["LEAST", "Outputs", "accept", "agreement", "check_scores"]

#: The least rank correlation with fp32 in torch.
LEAST = 0.999
#: Tokens at which a text of the check set is cut; only models with fewer positions cut any.
LIMIT = 128
#: Scores are compared to so many decimals: the order of equal texts is noise.
DECIMALS = 6
#: What in /proc/cpuinfo says which kernels a runtime takes.
_CPU_LINES = ("model name", "cpu family", "model", "flags", "CPU implementer", "CPU part", "Features")

#: What a model gives for a batch: hidden states of some layers, each (b, l, d), or logits, (b, 1).
Outputs = Callable[[Packed], "Sequence[torch.Tensor]"]


def accept(folder: Path, engine: ModelEngine, reference: Callable[[], Outputs], converted: Outputs) -> None:
    """Return if a converted model may be used; what was found is kept beside it, once a kind of CPU.

    Args:
        folder: of the converted model.
        engine: names backend and precision.
        reference: loads the model of torch; called only where nothing is kept.
        converted: the model to check.

    Raises:
        UnavailableError: its scores correlate less than :data:`LEAST`, or the correlation is undefined, or it cannot
            be run.
    """
    key = {"cpu": _cpu(), "precision": engine.precision, "check": _check_digest(), "tokens": engine.tokens}
    path = folder / f"accepted-{hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]}.json"
    value = _read(path)
    if value is None:
        value = _compare(engine, reference, converted)
        with suppress(OSError):  # a cache that may only be read: checked again the next time
            write_json(path, key | {"spearman": value})
    if value is not None and value >= LEAST:
        return
    remedy = "take backend=torch" if engine.precision == "fp32" else "take precision=fp32"
    if value is None:
        raise UnavailableError(
            f"model {engine.folder}: its scores in {engine.backend} {engine.precision} cannot be held to fp32, since "
            "one of them gives all pairs of the check set the same score or none",
            remedy,
        )
    # cut, not rounded: a figure just below the limit must not read like the limit
    figure = f"{math.floor(value * 1e4) / 1e4:.4f}".replace("0.", ".", 1)
    raise UnavailableError(
        f"model {engine.folder}: {engine.backend} {engine.precision} keeps a Spearman of {figure} with fp32, below "
        f"{f'{LEAST}'.lstrip('0')}",
        remedy,
    )


def check_scores(engine: ModelEngine, outputs: Outputs) -> NDArray[np.float64]:
    """Return the scores of the check set, shape (k, n): a row an output, a column a pair; kind after kind.

    Of hidden states, the cosine of their means over the tokens; logits as they are. The batches are those of a run.
    """
    torch = import_torch()
    tokenizer = load_tokenizer(engine.folder, engine.digest)
    pairs = [pair for kind in check_pairs().values() for pair in kind]
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    types = "token_type_ids" in tokenizer.model_input_names
    # some families take no token at their first two positions
    places = (describe(Path(engine.folder)).max_positions or LIMIT + 2) - 2
    limit = min(LIMIT, int(tokenizer.model_max_length), places)
    packer = Packer(int(tokenizer.pad_token_id or 0), engine.tokens)
    found: list[list[Any]] = []

    def step(batch: Packed) -> None:
        with torch.inference_mode():
            values = outputs(batch)
            rows = [pool(one, batch.mask, "mean") if one.ndim == 3 else one.float() for one in values]
        found.append([batch.items, *(row.double().numpy() for row in rows)])

    def run(*sides: Sequence[str]) -> list[NDArray[np.float64]]:
        found.clear()
        packer.run(tokenize(tokenizer, sides[0], limit, *sides[1:], types=types), [("cpu", step)])
        back = np.argsort(np.concatenate([part[0] for part in found]))
        return [np.concatenate(rows)[back] for rows in list(zip(*found, strict=True))[1:]]

    if engine.reads_pairs:
        return np.stack([rows[:, 0] for rows in run([pair[0] for pair in pairs], [pair[1] for pair in pairs])])
    place = {text: row for row, text in enumerate(texts)}
    left, right = (np.array([place[pair[side]] for pair in pairs]) for side in (0, 1))
    return np.stack([_cosines(rows, left, right) for rows in run(texts)])


def agreement(reference: NDArray[np.float64], converted: NDArray[np.float64]) -> float | None:
    """Return the least Spearman of any output on any kind of pairs, or None where one is undefined.

    Args:
        reference: scores of the check set, shape (k, n).
        converted: the same of the converted model.
    """
    from scipy.stats import rankdata

    ends = np.cumsum([len(kind) for kind in check_pairs().values()])[:-1]
    least = 1.0
    for row, other in zip(np.round(reference, DECIMALS), np.round(converted, DECIMALS), strict=True):
        for part, same in zip(np.split(row, ends), np.split(other, ends), strict=True):
            if not (np.isfinite(part).all() and np.isfinite(same).all()) or np.ptp(part) == 0 or np.ptp(same) == 0:
                return None
            least = min(least, float(np.corrcoef(rankdata(part), rankdata(same))[0, 1]))
    return least


def _compare(engine: ModelEngine, reference: Callable[[], Outputs], converted: Outputs) -> float | None:
    with quiet():
        expected = check_scores(engine, reference())
        try:
            got = check_scores(engine, converted)
        except AssayError:
            raise
        except Exception as error:  # each runtime has errors of its own, without a common base
            raise UnavailableError(
                f"model {engine.folder}: what it was converted to for {engine.backend} does not run "
                f"({first_line(error)})",
                "take backend=torch",
            ) from error
    return agreement(expected, got)


def _cosines(rows: NDArray[np.float64], left: NDArray[np.intp], right: NDArray[np.intp]) -> NDArray[np.float64]:
    # what is not finite by this is told from the scores
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    found: NDArray[np.float64] = (unit[left] * unit[right]).sum(axis=1)
    return found


def _read(path: Path) -> float | None:
    try:
        return float(json.loads(path.read_text(encoding="utf-8"))["spearman"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


@functools.cache
def _check_digest() -> str:
    return hashlib.sha256(json.dumps([LIMIT, DECIMALS, check_pairs()]).encode()).hexdigest()[:16]


@functools.cache
def _cpu() -> str:
    """Return what tells kinds of CPU apart; a name alone does not where a machine is virtual."""
    try:
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").partition("\n\n")[0]
    except OSError:
        return platform.processor() or platform.machine()
    fields = [line.partition(":") for line in first.splitlines()]
    return "; ".join(value.strip() for name, _, value in fields if name.strip() in _CPU_LINES) or platform.machine()
