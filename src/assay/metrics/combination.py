"""What ``assay combine`` learned, as a file: members, the function, and what they were learned from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from assay.errors import InputError
from assay.lexicon.properties import OF_QUESTION, PROPERTIES, TextPair, properties_of
from assay.metrics.base import Batch, Metric
from assay.metrics.work import open_session
from assay.statistics.learners import Learned, Linear, Step
from assay.statistics.trees import Trees, check_trees, import_lightgbm

if TYPE_CHECKING:
    from assay.statistics.concordance import Floats

#: The file of a folder that has everything; the others are for readers.
FILE = "combined.json"
#: Version of that file.
FORMAT = 1
#: Bytes at most: a file of the user's own, but not one that fills the memory.
LARGEST = 50 * 2**20


class _Plain(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Member(_Plain):
    """A metric that is read.

    Attributes:
        metric: its name.
        higher_is_better: whether its scores are read as they are; else negated.
        signature: everything that changes its scores, when the combination was learned.
        pairs_per_second: then; None where it was not known.
    """

    metric: str
    higher_is_better: bool
    signature: dict[str, str]
    pairs_per_second: float | None = None


class LinearStep(_Plain):
    """See :class:`~assay.statistics.learners.Linear` and :class:`~assay.statistics.learners.Step`."""

    kind: Literal["linear"]
    intercept: float
    weights: tuple[float, ...]
    offset: float
    slope: float = Field(ge=0)


class TreesStep(_Plain):
    """See :class:`~assay.statistics.learners.Trees` and :class:`~assay.statistics.learners.Step`."""

    kind: Literal["trees"]
    trees: str
    offset: float
    slope: float = Field(ge=0)


class CombinedFile(_Plain):
    """What ``combined.json`` holds.

    Attributes:
        format: of the file.
        members: the metrics, in the order of the inputs.
        properties: names of :data:`~assay.lexicon.properties.PROPERTIES`, the inputs after them.
        means: of the inputs, over the pairs that were learned from.
        levels, low, high: see :class:`~assay.statistics.learners.Learned`.
        steps: the function.
        learned_from: title and digest of the data, pairs, coefficient, settings, agreement by cross-validation.
        digest: SHA-256 of all other fields; a file changed by hand has another.
    """

    format: Literal[1]
    members: tuple[Member, ...] = Field(min_length=1)
    properties: tuple[str, ...] = ()
    means: tuple[float, ...]
    levels: tuple[float, ...]
    low: float
    high: float
    steps: tuple[LinearStep | TreesStep, ...] = Field(min_length=1)
    learned_from: dict[str, Any]
    digest: str = ""

    def own_digest(self) -> str:
        """Return the digest of all fields but that of the digest itself."""
        plain = self.model_dump(mode="json", exclude={"digest"})
        return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()

    @property
    def reads_question(self) -> bool:
        """Whether some property is one of the question."""
        return bool(OF_QUESTION.intersection(self.properties))

    def check_packages(self) -> None:
        """Return when what computes the function is installed.

        Raises:
            MissingExtraError: it is not.
        """
        if any(isinstance(step, TreesStep) for step in self.steps):
            import_lightgbm()

    def inputs_of(self, scores: Sequence[Floats], texts: Sequence[TextPair]) -> Floats:
        """Return what the function reads, shape (n, inputs).

        Args:
            scores: of each member as it gives them, shape (n,) each.
            texts: of each pair; may be empty where no property is read.
        """
        inputs = np.empty((len(scores[0]), len(self.means)))
        for column, (member, values) in enumerate(zip(self.members, scores, strict=True)):
            inputs[:, column] = values if member.higher_is_better else -values
        if self.properties:
            inputs[:, len(self.members) :] = properties_of(texts, self.properties)
        return inputs

    def learned(self) -> Learned:
        """Return the function."""
        all_inputs = tuple(range(len(self.means)))
        steps = []
        for step in self.steps:
            function = (
                Linear(step.intercept, step.weights) if isinstance(step, LinearStep) else Trees(step.trees, all_inputs)
            )
            steps.append(Step(function, step.offset, step.slope))
        return Learned(self.levels, self.low, self.high, tuple(steps))


def read_combined(folder: Path) -> CombinedFile:
    """Read and check the file of a folder.

    Raises:
        InputError: it is absent, no such file, of another version, or was changed.
    """
    path = folder / FILE
    try:
        stat = path.stat()
    except OSError:
        raise InputError(f"{folder}: is no folder of assay combine (it has no {FILE})") from None
    return _read(path, (stat.st_mtime_ns, stat.st_size))


@lru_cache(maxsize=32)
def _read(path: Path, version: tuple[int, int]) -> CombinedFile:
    remedy = "learn the combination again"
    if version[1] > LARGEST:
        raise InputError(f"{path}: has {version[1]:,} bytes, more than a combination has; {remedy}")
    try:
        found = CombinedFile.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise InputError(f"{path}: cannot be read ({where}: {first['msg']}); {remedy}") from None
    except (OSError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read ({error}); {remedy}") from None
    inputs = len(found.members) + len(found.properties)
    sizes = [len(step.weights) for step in found.steps if isinstance(step, LinearStep)]
    unknown = [name for name in found.properties if name not in PROPERTIES]
    steps = max(1, len(found.levels) - 1)
    if unknown or len(found.means) != inputs or len(found.steps) != steps or any(size != inputs for size in sizes):
        raise InputError(f"{path}: its parts do not fit each other; {remedy}")
    try:
        for step in found.steps:
            if isinstance(step, TreesStep):
                check_trees(step.trees, inputs)
    except ValueError as error:
        raise InputError(f"{path}: its trees cannot be read ({error}); {remedy}") from None
    if found.digest != found.own_digest():
        raise InputError(f"{path}: was changed after it was learned (its digest is another); {remedy}")
    return found


def best_scores(metric: Metric, batch: Batch) -> Floats:
    """Return the score of each pair, shape (n,), of several gold answers the best one."""
    session = open_session(metric.needs(), keep=True)
    if batch.gold_answers is None or metric.declaration.reads_all_references:
        values: Floats = session.score([metric], batch).values[:, 0]
        return values
    rows = np.repeat(np.arange(len(batch)), [len(golds) for golds in batch.gold_answers])
    each = batch.take(rows.tolist())
    alone = Batch([gold for golds in batch.gold_answers for gold in golds], each.candidates, each.questions)
    scores = session.score([metric], alone).values[:, 0]
    best_of = np.fmax if metric.declaration.higher_is_better else np.fmin
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    best: Floats = best_of.reduceat(scores, starts) if len(scores) else scores
    return best
