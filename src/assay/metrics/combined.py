"""Metric ``combined``: one score that ``assay combine`` learned from several metrics."""

from __future__ import annotations

import copy
import functools
import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from assay.common.messages import Message
from assay.common.packages import ABSENT, version_of
from assay.exceptions import AssayError, InputError, UnavailableError
from assay.metrics.base import Batch, ColumnMetric, Context, Declaration, Metric, option
from assay.paths import suggested_path, user_path

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from assay.language.texts import TextPair
    from assay.metrics.combination import CombinedFile
    from assay.metrics.explaining.members import MembersExplanation


@functools.cache
def bundled_folders() -> dict[str, Path]:
    """Return the folders of combinations that are bundled with assay, by name.

    A folder ``answer-judge_grade`` is called ``answer-judge:grade``, since a colon in a file's name fails on Windows.
    """
    return {path.name.replace("_", ":"): path for path in sorted((Path(__file__).parent / "presets").iterdir())}


@dataclass(frozen=True)
class Combined(Metric):
    """A score learned from several metrics, on the scale of the labels: a probability if the labels are 0 and 1.

    A pair without a score from one of these metrics has no score. All gold answers of a pair are read at once; for a
    member that reads a single one, the best score counts. The score never decreases as a member's score improves.
    """

    subject: str = option(
        help="FOLDER that assay combine wrote, or one of assay: answer-judge, answer-judge:grade, answer-judge:encoder"
    )
    trust: bool = option(False, "use metrics that run code, or ask servers, which the folder names", reaches_out=True)

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
    #: The store keeps the scores of its members instead, or its own if it has no members.
    is_stored: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Declare the range of the labels, and what members and properties read, if the folder can be used.

        Without members, it is a metric of texts like any other, whose scores are stored.
        """
        super().__post_init__()
        try:
            combination, members = self.file, self.members()
        except AssayError:
            # check_available reports it when the metric is used
            return
        # not a field, as options are; a frozen dataclass allows no plain assignment
        object.__setattr__(self, "is_stored", not members)
        declarations = [metric.declaration for metric in members]
        self.redeclare(
            low=combination.low,
            high=combination.high,
            # properties are those of both texts
            reads_reference=bool(combination.properties) or any(member.reads_reference for member in declarations),
            reads_question=combination.reads_question or any(member.reads_question for member in declarations),
            reads_context=any(member.reads_context for member in declarations),
            reads_graphs=any(member.reads_graphs for member in declarations),
        )

    @property
    def path(self) -> Path:
        """The folder of the combination: the user's, or else one that is bundled with assay.

        After :meth:`version_with_digest` it may be an earlier one of the bundled folders.
        """
        if "_earlier_folder" in self.__dict__:
            earlier_folder: Path = self.__dict__["_earlier_folder"]
            return earlier_folder
        user_folder = user_path(self.subject)
        return user_folder if user_folder.exists() else bundled_folders().get(self.subject, user_folder)

    def version_with_digest(self, digest: str) -> Combined:
        """Return the combination that had this name when a run recorded its digest.

        It is another one only if assay has replaced a bundled one since, and still has the earlier one under another
        name. A combination of the user's, or one whose digest no bundled folder has, is returned unchanged.

        Args:
            digest: the value of ``combination`` in the recorded signature; empty if it has none.

        Raises:
            InputError: the folder cannot be used.
        """
        from assay.metrics.combination import read_combined

        is_bundled = self.path in bundled_folders().values()
        if not digest or not is_bundled or self.file.digest.startswith(digest):
            return self
        for folder in bundled_folders().values():
            if read_combined(folder).digest.startswith(digest):
                earlier = copy.copy(self)
                object.__setattr__(earlier, "_earlier_folder", folder)
                # anew, since the earlier one may read other columns
                earlier.__post_init__()
                return earlier
        return self

    @property
    def file(self) -> CombinedFile:
        """The content of the folder's file: members and function.

        Raises:
            InputError: the folder cannot be used.
        """
        from assay.metrics.combination import FILE_NAME, read_combined

        if (self.path / FILE_NAME).exists():
            return read_combined(self.path)
        reason, hint = f"it has no {FILE_NAME}", ""
        if not self.path.exists():
            reason = "there is no such folder"
            suggestion = suggested_path(self.path, lambda path: (path / FILE_NAME).is_file())
            hint = f". {suggestion}" if suggestion else ""
        raise InputError(
            f"{self.subject}: is not a folder of assay combine ({reason}){hint}; "
            f"assay has {', '.join(bundled_folders())}"
        )

    def members(self) -> tuple[Metric, ...]:
        """Return the metrics whose scores it combines, in the order of the inputs.

        Raises:
            InputError: the folder cannot be used, or a member is unknown, reads a column, or is itself a combination.
            UnavailableError: a member cannot be imported; or, without the option trust, it runs code or calls a server
                named in the folder, which a stranger may have written.
        """
        from assay.metrics.load import UntrustedMetricError, load_metric, load_untrusted_metric

        load_member = load_metric if self.trust else load_untrusted_metric
        members = []
        for member in self.file.members:
            try:
                metric = load_member(member.metric)
            except UntrustedMetricError as error:
                raise UnavailableError(
                    f"its member {member.metric} runs or asks what the folder names ({error.reached})",
                    f"if you trust the folder: combined:{self.subject},trust=true",
                ) from None
            if isinstance(metric, ColumnMetric | Combined):
                kind = "a column of scores" if isinstance(metric, ColumnMetric) else "itself a combination"
                raise InputError(f"{self.path}: has the member {metric}, which is {kind}; learn it again without it")
            members.append(metric)
        return tuple(members)

    def bind(self, context: Context) -> Combined:
        """Return the combination with its members bound to the data, as a run binds them.

        Raises:
            InputError, UnavailableError: as for :meth:`members`; or a member does not support the data.
        """
        members = []
        for member in self.members():
            try:
                member.for_language(context.language)
                members.append(member.bind(context))
            except UnavailableError as error:
                raise UnavailableError(Message(f"its member {member}: ", error.reason), error.remedy) from None
        bound = copy.copy(self)
        object.__setattr__(bound, "_bound_members", tuple(members))
        return bound

    def _members_for_data(self) -> tuple[Metric, ...]:
        """Return the members that :meth:`bind` has bound to data; without it, :meth:`members`."""
        bound_members: tuple[Metric, ...] | None = self.__dict__.get("_bound_members")
        return self.members() if bound_members is None else bound_members

    def price_per_1000(self) -> float | None:
        """Return 0 for a combination without members, which reads the texts itself; None if the members have prices."""
        return 0.0 if self.is_stored else None

    def foreign_code(self) -> str:
        """Return the scripts and servers that its members run or call; empty without the option trust.

        Raises:
            InputError, UnavailableError: as for :meth:`members`.
        """
        if not self.trust:
            return ""
        codes = [metric.foreign_code() for metric in self.members()]
        return ", ".join(code for code in codes if code)

    def changes_score(self, name: str) -> bool:
        """Tell whether an option changes the score; ``trust`` only allows members to be used and does not."""
        return name != "trust"

    def signature(self) -> dict[str, str]:
        """Return everything that changes the score, as texts by name in a fixed order.

        The option ``trust`` is left out, since it changes no score.
        """
        return {key: value for key, value in super().signature().items() if key != "trust"}

    def files(self) -> tuple[str, ...]:
        """Return the folder, unless it is bundled with assay."""
        return () if self.path in bundled_folders().values() else (self.subject,)

    def check_available(self) -> None:
        """Check that the folder can be used and that all members are available.

        Raises:
            InputError: the folder or a member cannot be used.
            UnavailableError: a package is missing, or a member cannot be computed.
        """
        super().check_available()
        for metric in self._members_for_data():
            metric.check_available()

    def check_members(self, signatures: Sequence[dict[str, str]]) -> None:
        """Check that the members are the same as when the combination was learned.

        Args:
            signatures: the signatures of the members, bound to the data, in their order.

        Raises:
            UnavailableError: a member differs, such as a model with other weights.
        """
        from assay.manifest import identity_of

        for member, signature in zip(self.file.members, signatures, strict=True):
            learned, current = dict(identity_of(member.signature)), dict(identity_of(signature))
            if learned != current:
                all_keys = sorted(learned.keys() | current.keys())
                differing = [key for key in all_keys if learned.get(key) != current.get(key)]
                differences = ", ".join(
                    f"{key} {current.get(key, ABSENT)}, then {learned.get(key, ABSENT)}" for key in differing
                )
                raise UnavailableError(
                    f"its member {member.metric} is another one than it was learned from ({differences})",
                    "use the same model, or learn the combination again",
                )

    def data_signature(self) -> dict[str, str]:
        """Return the digest of the combination, which covers the members' signatures, under the key ``combination``.

        It is ``absent`` if the folder cannot be used. If the combination reads features of answers, their version and
        those of what computes them follow.
        """
        try:
            combination = self.file
        except InputError:
            return {"combination": ABSENT}
        digest = {"combination": combination.digest[:16]}
        if combination.reads_features:
            from assay.language.answer_features import FEATURES_VERSION

            versions = {"unicode": unicodedata.unidata_version, "rapidfuzz": version_of("rapidfuzz")}
            return digest | {"features": FEATURES_VERSION} | versions
        return digest

    def obtain(self, *, offline: bool = False) -> None:
        """Download what the members need.

        Raises:
            AssayError: the download failed, or *offline* forbids it.
        """
        for metric in self._members_for_data():
            metric.obtain(offline=offline)

    def says(self) -> str:
        """Return a line for readers: the training data, the range of the labels, the members, the number of properties.

        Raises:
            InputError, UnavailableError: as for :meth:`members`.
        """
        combination = self.file
        data = combination.learned_from.get("data", "data")
        inputs = [str(metric) for metric in self.members()]
        if combination.properties:
            inputs.append(f"{len(combination.properties)} properties of the texts")
        return f"learned from {data}, labels {combination.low:g} to {combination.high:g}: {', '.join(inputs)}"

    def combine(self, scores: Sequence[NDArray[np.float64]], texts: Sequence[TextPair]) -> NDArray[np.float64]:
        """Return the score of each pair, float64, shape (n,); NaN if a member has no score.

        Args:
            scores: the unchanged scores of each member, shape (n,) each.
            texts: the texts of each pair; may be empty if the combination reads no properties of texts.
        """
        combination = self.file
        return combination.learned.scores(combination.inputs_of(scores, texts))

    def score(self, batch: Batch) -> NDArray[np.float64]:
        """Return one score per pair: float64, shape ``(len(batch),)``; NaN for a pair that a member cannot score.

        The scores of all members are computed first.

        Raises:
            InputError: the folder of the combination cannot be used.
            UnavailableError: a member cannot be used, or differs from the one that the combination was learned from.
            AssayError: the scores of a member cannot be computed.
        """
        from assay.language.properties import text_pairs

        texts = text_pairs(batch.gold_answers or batch.references, batch.candidates, batch.questions)
        return self.combine(self.scores_of_members(batch), texts)

    @property
    def is_explainable(self) -> bool:
        """True: the members have scores of their own."""
        return True

    def explain(self, batch: Batch) -> list[MembersExplanation]:
        """Return the contributions of the members and of the properties of the texts to the score of each pair.

        Raises:
            InputError: the folder of the combination cannot be used.
            UnavailableError: a member cannot be used, or differs from the one that the combination was learned from.
            AssayError: the scores of a member cannot be computed.
        """
        from assay.metrics.explaining.members import explain_members

        return explain_members(str(self), self.file, self.scores_of_members(batch), batch)

    def scores_of_members(self, batch: Batch) -> list[NDArray[np.float64]]:
        """Compute the scores of all members, and return them in the order of the members, float64, shape (n,) each.

        Raises:
            InputError: the folder of the combination cannot be used.
            UnavailableError: a member cannot be used, or differs from the one that the combination was learned from.
            AssayError: the scores of a member cannot be computed.
        """
        from assay.metrics.combination import best_scores

        bound = self
        if "_bound_members" not in self.__dict__:
            bound = self.bind(Context(language=None, references=lambda: batch.references))
        members = bound._members_for_data()
        self.check_members([metric.signature() for metric in members])
        return best_scores(members, batch)
