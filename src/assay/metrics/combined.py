"""Metric ``combined``: one score that ``assay combine`` learned from several metrics."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from assay.errors import AssayError, InputError, UnavailableError
from assay.metrics.base import Batch, ColumnMetric, Context, Declaration, Metric, option
from assay.metrics.provenance import ABSENT
from assay.paths import user_path

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from assay.lexicon.properties import TextPair
    from assay.metrics.combination import CombinedFile


@functools.cache
def presets() -> dict[str, Path]:
    """Return the folders that come with assay, by name."""
    return {path.name: path for path in sorted((Path(__file__).parent / "presets").iterdir())}


@dataclass(frozen=True)
class Combined(Metric):
    """A score learned from several metrics, on the scale of the labels: a probability where they are 0 and 1.

    A pair of which one of these metrics has no score has none. All gold answers of a pair are read at once: of a metric
    that reads one, the best score counts. No metric lowers the score by rising.
    """

    subject: str = option(help="FOLDER that assay combine wrote, or answer-judge, which comes with assay")
    trust: bool = option(False, "use metrics that run code, or ask servers, which the folder names")

    declaration: ClassVar[Declaration] = Declaration(
        name="combined",
        kind="combined",
        summary="one score learned from several metrics by assay combine",
        low=-math.inf,
        high=math.inf,
        reads_all_references=True,
        subject="FOLDER",
        tolerance=1e-4,
    )
    #: Its members' scores are.
    is_stored: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            found, members = self.file, self.members()
        except AssayError:
            # said when it is to be used
            return
        self.redeclare(
            low=found.low,
            high=found.high,
            reads_question=any(metric.declaration.reads_question for metric in members) or found.reads_question,
            reads_graphs=any(metric.declaration.reads_graphs for metric in members),
        )

    @property
    def path(self) -> Path:
        """The folder: one of this machine, else one that comes with assay."""
        named = user_path(self.subject)
        return named if named.exists() else presets().get(self.subject, named)

    @property
    def file(self) -> CombinedFile:
        """What was learned.

        Raises:
            InputError: the folder cannot be used.
        """
        from assay.metrics.combination import FILE, read_combined

        if not (self.path / FILE).exists():
            raise InputError(
                f"{self.subject}: is no folder of assay combine (it has no {FILE}); assay has {', '.join(presets())}"
            )
        return read_combined(self.path)

    def members(self) -> tuple[Metric, ...]:
        """Return the metrics whose scores it reads.

        Raises:
            InputError: the folder cannot be used.
            UnavailableError: one of them runs code or asks a server that the folder names, which may be a stranger's.
        """
        from assay.metrics.registry import load_metric

        members = tuple(load_metric(member.metric) for member in self.file.members)
        for metric in members:
            if isinstance(metric, ColumnMetric | Combined):
                raise InputError(f"{self.path}: reads {metric}, which is no metric of texts; learn it again without it")
            if not self.trust and (code := metric.foreign_code()):
                raise UnavailableError(
                    f"its member {metric} runs or asks what the folder names ({code})",
                    f"if you trust the folder: combined:{self.subject},trust=true",
                )
        return members

    def foreign_code(self) -> str:
        """Return what its members run or call, where it may use them."""
        if not self.trust:
            return ""
        return ", ".join(code for metric in self.members() if (code := metric.foreign_code()))

    def takes(self, name: str) -> bool:
        """Tell whether an option changes the score; trust does not."""
        return name != "trust"

    def signature(self) -> dict[str, str]:
        """See :meth:`Metric.signature`; trust is no part of it."""
        return {key: value for key, value in super().signature().items() if key != "trust"}

    def files(self) -> tuple[str, ...]:
        """Return the folder, where it is one of this machine."""
        return () if self.path in presets().values() else (self.subject,)

    def check_available(self) -> None:
        """Return when the folder, what its learner needs, and all members are there.

        Raises:
            InputError: the folder cannot be used.
            UnavailableError: a member cannot be computed, or is another one than the combination was learned from.
        """
        super().check_available()
        self.file.check_packages()
        for metric in self.members():
            metric.check_available()

    def check_members(self, signatures: Sequence[dict[str, str]]) -> None:
        """Return when the members are those that the combination was learned from.

        Args:
            signatures: of the members as they are bound to the data, in their order.

        Raises:
            UnavailableError: one of them is another, such as a model with other weights.
        """
        from assay.manifest import identity_of

        for member, signature in zip(self.file.members, signatures, strict=True):
            learned, now = dict(identity_of(member.signature)), dict(identity_of(signature))
            if learned != now:
                keys = [key for key in sorted(learned.keys() | now.keys()) if learned.get(key) != now.get(key)]
                parts = ", ".join(f"{key} {now.get(key, ABSENT)}, then {learned.get(key, ABSENT)}" for key in keys)
                raise UnavailableError(
                    f"its member {member.metric} is another one than it was learned from ({parts})",
                    "take the same model, or learn the combination again",
                )

    def data_signature(self) -> dict[str, str]:
        """Return the digest of what was learned, which has the signatures of the members in it."""
        try:
            return {"combination": self.file.digest[:16]}
        except InputError:
            return {"combination": ABSENT}

    def obtain(self, *, offline: bool = False) -> None:
        """Download what the members need.

        Raises:
            AssayError: the download failed, or *offline* forbids it.
        """
        for metric in self.members():
            metric.obtain(offline=offline)

    def says(self) -> str:
        """Return what it is made of."""
        found = self.file
        data = found.learned_from.get("data", "data")
        return f"learned from {data}, labels {found.low:g} to {found.high:g}: {', '.join(map(str, self.members()))}"

    def combine(self, scores: Sequence[NDArray[np.float64]], texts: Sequence[TextPair]) -> NDArray[np.float64]:
        """Return the score of each pair, shape (n,); NaN where a member has none.

        Args:
            scores: of each member as it gives them, shape (n,) each.
            texts: of each pair; may be empty where no property is read.
        """
        found = self.file
        return found.learned().values(found.inputs_of(scores, texts))

    def score(self, batch: Batch) -> NDArray[np.float64]:
        """Return one score a pair: float64, shape ``(len(batch),)``; computes the scores of all members."""
        from assay.lexicon.properties import text_pairs

        texts = text_pairs(batch.gold_answers or batch.references, batch.candidates, batch.questions)
        return self.combine(self.scores_of_members(batch), texts)

    def scores_of_members(self, batch: Batch) -> list[NDArray[np.float64]]:
        """Return the scores of each member, computed now, shape (n,) each.

        Raises:
            UnavailableError: a member is another one than the combination was learned from.
        """
        from assay.metrics.combination import best_scores

        members = [metric.bind(Context(None, lambda: batch.references)) for metric in self.members()]
        self.check_members([metric.signature() for metric in members])
        return [best_scores(metric, batch) for metric in members]
