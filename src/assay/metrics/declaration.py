"""The declaration of a metric: its name, its promises about its scores, and the packages that compute it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.common.packages import ABSENT, version_of
from assay.exceptions import MissingExtraError, UnavailableError


@dataclass(frozen=True)
class Declaration:
    """The promises of a metric about its scores, and its description; ``assay metrics check`` tests the promises.

    Only *name* and *summary* are required. The constructor checks nothing: a contradiction, such as a *perfect* score
    out of range, is reported by :func:`~assay.metrics.contract.check_metric`.

    Attributes:
        name: how users write the metric: letters, digits, ``.``, ``_``, ``-``, not taken in the registry. It is part of
            the signature.
        summary: one line for ``assay metrics list``, without a full stop.
        low, high: inclusive bounds of the score, ``low < high``; ``-math.inf`` or ``math.inf`` for no bound. A run
            reports scores out of bounds. ``assay errors`` applies thresholds to scores from 0 to 1.
        higher_is_better: False if a low score means similar (TER); agreement is then computed on the negated score.
        symmetric: whether exchanging reference and candidate keeps the score, within *tolerance*.
        perfect: the score of two identical texts that are not empty, in [low, high]; None if it depends on the text.
        languages: ISO 639-1 codes in lower case of the supported languages, such as ``frozenset({"en"})``; None for
            any. On data in another language the metric is *not applicable*.
        reads_reference: whether it compares with the reference; if False, the reference must not be read, and data
            without references is scored, too.
        reads_question: whether the question changes the score; if False, ``Batch.questions`` must not be read.
        reads_context: whether the context changes the score; if False, ``Batch.contexts`` must not be read.
        reads_graphs: whether it compares the AMR graphs of the texts, which the data must then have.
        reads_all_references: whether it reads all gold answers of a pair at once, in ``Batch.gold_answers``. Otherwise
            each gold answer is scored separately, and the best score counts, or the mean.
        aspect: the aspect of meaning that it measures, such as ``negation``; empty for a metric of the whole meaning.
        whole: the name of the metric of which it is an aspect; empty for a metric of the whole meaning.
        citation: the paper or script that it comes from.
        option_sets: named sets of options, used as ``name:set``: ``{"paper": {"lowercase": False}}``.
        subject: the meaning of the text after the colon, such as ``MODEL``; the class then has a field ``subject``.
            None if only an option set may follow the colon.
        provider: the packages that compute it, by their names on PyPI. Their versions are part of the signature, so
            that scores are recomputed with another version.
        tolerance: the largest difference between two computations of one score, such as alone and in a batch; 0 or
            more, in the unit of the score. 1e-9 suits double precision, 1e-5 cosines in single precision.
        extra: the extra of assay that installs the packages; None for a metric of your own package, for which messages
            say ``pip install PACKAGE``.
        kind: its family, by which leaderboards filter, such as ``lexical``, ``embedding``, ``cross-encoder``, ``amr``,
            ``judge`` or ``recorded``, or a word of your own.
        formula: how the score is computed, in one line for its card; empty if no line says it.
    """

    name: str
    summary: str
    low: float = 0.0
    high: float = 1.0
    higher_is_better: bool = True
    symmetric: bool = False
    perfect: float | None = None
    languages: frozenset[str] | None = None
    reads_reference: bool = True
    reads_question: bool = False
    reads_context: bool = False
    reads_graphs: bool = False
    reads_all_references: bool = False
    aspect: str = ""
    whole: str = ""
    citation: str = ""
    option_sets: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    subject: str | None = None
    provider: tuple[str, ...] = ()
    tolerance: float = 1e-9
    extra: str | None = None
    kind: str = "other"
    formula: str = ""

    @property
    def reads(self) -> tuple[bool, ...]:
        """The values of its ``reads_`` fields, in order; metrics with equal ones can score the same batch."""
        return (
            self.reads_reference,
            self.reads_question,
            self.reads_context,
            self.reads_graphs,
            self.reads_all_references,
        )

    def check_packages(self) -> None:
        """Check that the packages that compute the metric are installed.

        Raises:
            UnavailableError: a package is not installed; the error has the command that installs it.
        """
        for package in self.provider:
            if version_of(package) != ABSENT:
                continue
            if self.extra is not None:
                raise MissingExtraError(package, self.extra)
            raise UnavailableError(f"the package {package} is not installed", f"pip install {package}")
