"""The file with a combination learned by ``assay combine``: members, the function, and the training data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from assay.exceptions import InputError
from assay.language.answer_features import FEATURES
from assay.language.properties import KNOWN, OF_QUESTION, properties_of
from assay.language.texts import TextPair
from assay.metrics.base import Batch, Metric
from assay.metrics.work import open_session
from assay.paths import read_settings_file
from assay.statistics.learners import Learned, Linear, Step
from assay.statistics.tree_text import parse_trees
from assay.statistics.trees import Trees

if TYPE_CHECKING:
    from assay.statistics.concordance import Floats

#: The file with the whole combination; the other files of its folder are for people to read.
FILE_NAME = "combined.json"
#: The version of the file's format.
FORMAT = 1
#: The limit on the size of the file in bytes, so that a wrong or malicious file cannot fill the memory.
MAX_FILE_BYTES = 50 * 2**20
_REMEDY = "learn the combination again"


class _FilePart(BaseModel):
    """Base of the parts of the file: unknown fields, NaN and infinite numbers are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Member(_FilePart):
    """A metric whose scores are inputs of the combination.

    Attributes:
        metric: the metric's name.
        higher_is_better: whether its scores are used unchanged; if not, they are negated.
        signature: the metric's signature when the combination was learned.
        pairs_per_second: the metric's speed at that time; None if unknown.
    """

    metric: str
    higher_is_better: bool
    signature: dict[str, str]
    pairs_per_second: float | None = None


class LinearStep(_FilePart):
    """One step of the learned function, a linear function of the inputs (:class:`~assay.statistics.learners.Linear`).

    Attributes:
        kind: the kind of function, by which the steps in the file are told apart.
        intercept: the constant of the function.
        weights: the weight of each input.
        offset, slope: the calibration ``offset + slope * value`` of the function's value.
    """

    kind: Literal["linear"]
    intercept: float
    weights: tuple[float, ...]
    offset: float
    slope: float = Field(ge=0)


class TreesStep(_FilePart):
    """One step of the learned function, boosted trees (:class:`~assay.statistics.trees.Trees`).

    Attributes:
        kind: the kind of function, by which the steps in the file are told apart.
        trees: the trees in the text format of LightGBM.
        offset, slope: the calibration ``offset + slope * value`` of the trees' value.
    """

    kind: Literal["trees"]
    trees: str
    offset: float
    slope: float = Field(ge=0)


class CombinedFile(_FilePart):
    """The content of ``combined.json``.

    Attributes:
        format: the version of the format.
        members: the metrics, in the order of the inputs; none if the function reads texts alone.
        properties: the names of the inputs after the metrics, which are in :data:`~assay.language.properties.KNOWN`.
        means: the mean of each input over the training pairs.
        levels: the labels, ascending, if the function predicts probabilities of labels; empty if it predicts a number.
        low, high: the lowest and the highest label.
        steps: the steps of the learned function: one for each level but the last; a single one without levels.
        learned_from: title and digest of the training data, number of pairs, coefficient, settings, and agreement in
            cross-validation.
        digest: the SHA-256 of all other fields, which reveals changes by hand.
    """

    format: Literal[1]
    members: tuple[Member, ...]
    properties: tuple[str, ...] = ()
    means: tuple[float, ...]
    levels: tuple[float, ...]
    low: float
    high: float
    steps: tuple[LinearStep | TreesStep, ...] = Field(min_length=1)
    learned_from: dict[str, Any]
    digest: str = ""

    def own_digest(self) -> str:
        """Return the SHA-256 digest (hexadecimal) of all fields except ``digest``, computed anew."""
        fields = self.model_dump(mode="json", exclude={"digest"})
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()

    @property
    def reads_question(self) -> bool:
        """Whether any of the properties is a property of the question."""
        return bool(OF_QUESTION.intersection(self.properties))

    @property
    def reads_features(self) -> bool:
        """Whether any of the properties is a feature of an answer."""
        return not FEATURES.keys().isdisjoint(self.properties)

    def inputs_of(self, scores: Sequence[Floats], texts: Sequence[TextPair]) -> Floats:
        """Return the inputs of the function, float64, shape (n, inputs): the members' scores, then the properties.

        The scores of a member for which low is better are negated.

        Args:
            scores: the unchanged scores of each member, shape (n,) each.
            texts: the texts of each pair; may be empty if there are no properties.
        """
        inputs = np.empty((len(scores[0]) if scores else len(texts), len(self.means)))
        for column, (member, values) in enumerate(zip(self.members, scores, strict=True)):
            inputs[:, column] = values if member.higher_is_better else -values
        if self.properties:
            inputs[:, len(self.members) :] = properties_of(texts, self.properties)
        return inputs

    @cached_property
    def learned(self) -> Learned:
        """The function from the inputs of pairs, as :meth:`inputs_of` returns them, to their scores.

        Raises:
            ValueError: trees cannot be read.
        """
        all_inputs = tuple(range(len(self.means)))
        steps = []
        for step in self.steps:
            function: Linear | Trees
            if isinstance(step, LinearStep):
                function = Linear(step.intercept, step.weights)
            else:
                function = parse_trees(step.trees, all_inputs)
            steps.append(Step(function, step.offset, step.slope))
        return Learned(self.levels, self.low, self.high, tuple(steps))


def read_combined(folder: Path) -> CombinedFile:
    """Return the combination in a folder, checked; cached until the file changes.

    Raises:
        InputError: the file is absent, too large, invalid, of another version, or was changed after learning.
    """
    path = folder / FILE_NAME
    try:
        stat = path.stat()
    except OSError:
        raise InputError(f"{folder}: is not a folder of assay combine (it has no {FILE_NAME})") from None
    return _read_combined(path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=32)
def _read_combined(path: Path, size: int, modified_ns: int) -> CombinedFile:
    """Return the checked content of a file; cached, since every use of the metric asks for it.

    Args:
        path: the path of the file.
        size: its size in bytes.
        modified_ns: its modification time, so that a changed file is read again.

    Raises:
        InputError: the file is too large, cannot be read, is invalid, or was changed after learning.
    """
    if size > MAX_FILE_BYTES:
        raise InputError(f"{path}: has {size:,} bytes, more than a combination has; {_REMEDY}")
    try:
        content = CombinedFile.model_validate_json(read_settings_file(path, MAX_FILE_BYTES))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "the file"
        raise InputError(f"{path}: cannot be read ({field}: {first['msg']}); {_REMEDY}") from None
    except (OSError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read ({error}); {_REMEDY}") from None
    _check_parts(path, content)
    if content.digest != content.own_digest():
        raise InputError(f"{path}: was changed after it was learned (its digest is another); {_REMEDY}")
    return content


def _check_parts(path: Path, content: CombinedFile) -> None:
    """Check that the parts of a file fit each other, and that its trees can be read.

    There must be at least one input, as many means as inputs, as many weights in each linear step as inputs, and one
    step less than levels, but at least one.

    Raises:
        InputError: the parts do not fit each other, a property is unknown, or the trees cannot be read.
    """
    input_count = len(content.members) + len(content.properties)
    step_count = max(1, len(content.levels) - 1)
    sizes = [len(content.means), *(len(step.weights) for step in content.steps if isinstance(step, LinearStep))]
    inputs_fit = input_count > 0 and set(sizes) == {input_count} and KNOWN.issuperset(content.properties)
    if not inputs_fit or len(content.steps) != step_count:
        raise InputError(f"{path}: its parts do not fit each other; {_REMEDY}")
    try:
        # kept with the content, so that what is used later is what was read here
        content.learned  # noqa: B018
    except ValueError as error:
        raise InputError(f"{path}: its trees cannot be read ({error}); {_REMEDY}") from None


def best_scores(metrics: Sequence[Metric], batch: Batch) -> list[Floats]:
    """Return for each metric the score of each of n pairs, float64, shape (n,); the sessions stay open.

    With several gold answers the best score counts, unless the metric reads them together; it is NaN only if the metric
    has no score for any of them. Metrics of one model are scored together, so that the model reads each text once.

    Raises:
        AssayError: the scores cannot be computed.
    """
    groups: dict[tuple[Any, ...], list[int]] = {}
    for index, metric in enumerate(metrics):
        engine, declared = metric.needs(), metric.declaration
        # metrics without an engine share nothing; those of one engine must read the same texts
        own_group = index if engine is None else None
        group = (engine, own_group, declared.reads_all_references, declared.reads_question)
        groups.setdefault(group, []).append(index)
    scores_by_index: dict[int, Floats] = {}
    for indices in groups.values():
        scores = _best_scores_of([metrics[index] for index in indices], batch)
        scores_by_index |= dict(zip(indices, scores.T, strict=True))
    return [scores_by_index[index] for index in range(len(metrics))]


def _best_scores_of(metrics: Sequence[Metric], batch: Batch) -> Floats:
    """Return the best scores of n pairs under m metrics that read the same texts by one engine, shape (n, m).

    Each gold answer of a pair is scored with the candidate as a pair of its own, unless the metrics read them together.

    Raises:
        AssayError: the scores cannot be computed.
    """
    session = open_session(metrics[0].needs(), keep=True)
    if batch.gold_answers is None or metrics[0].declaration.reads_all_references:
        values: Floats = session.score(metrics, batch).values
        return values
    pairs_of_one_gold, rows = batch.by_gold_answer()
    scores: Floats = session.score(metrics, pairs_of_one_gold).values
    if not len(scores):
        return scores
    # the scores of a pair follow each other: a pair starts where the number of the row changes
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    # fmax and fmin ignore NaN, the score of a gold answer without one
    best_of = [np.fmax if metric.declaration.higher_is_better else np.fmin for metric in metrics]
    return np.column_stack([best.reduceat(column, starts) for best, column in zip(best_of, scores.T, strict=True)])
