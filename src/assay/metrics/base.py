"""The base of all metrics: a declaration, options, a signature, and a score for each pair by itself."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from assay.errors import InputError, MissingExtraError, UnavailableError
from assay.metrics.name import SUBJECT, MetricName, describe_options, format_value, option, read_value
from assay.metrics.provenance import ABSENT, origin_of, own_version, version_of
from assay.progress import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from assay.metrics.work import Engine

__all__ = ["Batch", "ColumnMetric", "Context", "Declaration", "Metric", "PairMetric", "option"]


@dataclass(frozen=True)
class Batch:
    """Pairs to score, as columns of equal length.

    Attributes:
        references: the gold answers.
        candidates: the answers to judge.
        questions: the questions, or None.
        gold_answers: all gold answers of each pair, for metrics that read them together; their first one is the
            reference. None where the reference is the only one.
        reference_graphs, candidate_graphs: the AMR graphs of the texts in Penman notation; None where the data has
            none.

    Raises:
        InputError: they are not equally long.
    """

    references: Sequence[str]
    candidates: Sequence[str]
    questions: Sequence[str] | None = None
    reference_graphs: Sequence[str] | None = None
    candidate_graphs: Sequence[str] | None = None
    gold_answers: Sequence[Sequence[str]] | None = None

    def __post_init__(self) -> None:
        lengths = {name.replace("_", " "): len(column) for name, column in vars(self).items() if column is not None}
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{count} {name}" for name, count in lengths.items())
            raise InputError(f"a batch needs as many candidates as references: {shown}")

    def __len__(self) -> int:
        return len(self.references)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield (reference, candidate) in order."""
        return zip(self.references, self.candidates, strict=True)

    def take(self, indices: Sequence[int]) -> Batch:
        """Return the pairs at *indices*, in that order."""

        def pick(column: Sequence[str]) -> list[str]:
            return [column[i] for i in indices]

        def pick_optional(column: Sequence[str] | None) -> list[str] | None:
            return None if column is None else pick(column)

        return Batch(
            pick(self.references),
            pick(self.candidates),
            pick_optional(self.questions),
            pick_optional(self.reference_graphs),
            pick_optional(self.candidate_graphs),
            None if self.gold_answers is None else [self.gold_answers[i] for i in indices],
        )

    def asked(self) -> Batch:
        """Return the pairs with the question, where there is one, before both texts."""
        if self.questions is None:
            return self

        def ask(texts: Sequence[str]) -> list[str]:
            return [before(question, text) for question, text in zip(self.questions or (), texts, strict=True)]

        return dataclasses.replace(self, references=ask(self.references), candidates=ask(self.candidates))

    def swapped(self) -> Batch:
        """Return the batch with references and candidates exchanged."""
        return Batch(self.candidates, self.references, self.questions, self.candidate_graphs, self.reference_graphs)


def before(question: str, text: str) -> str:
    """Return a text after a question, as a model reads them; the text alone where there is no question."""
    return f"{question.strip()} {text}" if question.strip() else text


@dataclass(frozen=True)
class Context:
    """The data that a metric is about to score.

    Attributes:
        language: ISO 639-1 code of its texts, or None where it is unknown.
        references: gives all gold answers, in order.
    """

    language: str | None
    references: Callable[[], Sequence[str]]


@dataclass(frozen=True)
class Declaration:
    """What a metric promises of its scores, and what readers are told of it; ``assay metrics check`` tests it.

    Only *name* and *summary* must be given. Nothing is checked when it is made: a contradiction, such as a *perfect*
    score out of range, is a finding of :func:`~assay.metrics.contract.check_metric`.

    Attributes:
        name: how users write the metric: letters, digits, ``.``, ``_``, ``-``, not taken in the registry. It is part of
            the signature.
        summary: one line for ``assay metrics list``, without a full stop.
        low, high: bounds of the score, inclusive, ``low < high``; ``-math.inf`` and ``math.inf`` where there is none.
            A run reports scores outside, ``assay errors`` reads scores from 0 to 1 by thresholds.
        higher_is_better: False where a low score means similar (TER); agreement is then computed on the negated score.
        symmetric: whether exchanging reference and candidate leaves the score as it is, within *tolerance*.
        perfect: the score of two identical texts that are not empty, in [low, high]; None where it depends on the text.
        languages: ISO 639-1 codes in lower case, such as ``frozenset({"en"})``, that it is made for; None for any. On
            data of another language it is *not applicable*.
        reads_question: whether the question changes the score; without, ``Batch.questions`` must not be read.
        reads_graphs: whether it compares the AMR graphs of the texts, which the data must then have.
        reads_all_references: whether it reads all gold answers of a pair at once, in ``Batch.gold_answers``. Otherwise
            each is scored by itself, and the best score counts, or the mean.
        aspect: the aspect of meaning that it measures, such as ``negation``; empty for a metric of the whole.
        whole: the name of the metric of which it is an aspect; empty for a metric of the whole.
        citation: the paper or script it comes from.
        option_sets: named sets of options, used as ``name:set``: ``{"paper": {"lowercase": False}}``.
        subject: what the text after the colon means, such as ``MODEL``; None where it can only be an option set. The
            class then has a field ``subject``.
        provider: the packages that compute it, by their names on PyPI; their versions are in the signature, so that
            another version computes its scores anew.
        tolerance: how much two computations of one score may differ, such as alone and in a batch; 0 or more, in the
            unit of the score. 1e-9 suits arithmetic in double precision, 1e-5 cosines of single precision.
        extra: the extra of assay that installs the packages; None for a metric of your own package, where messages say
            ``pip install PACKAGE``.
        kind: its family, by which leaderboards filter: ``lexical``, ``embedding``, ``cross-encoder``, ``amr``,
            ``recorded``, or a word of your own.
    """

    name: str
    summary: str
    low: float = 0.0
    high: float = 1.0
    higher_is_better: bool = True
    symmetric: bool = False
    perfect: float | None = None
    languages: frozenset[str] | None = None
    reads_question: bool = False
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

    def check_packages(self) -> None:
        """Return when the packages that compute the metric are installed.

        Raises:
            UnavailableError: with the command that installs them.
        """
        for package in self.provider:
            if version_of(package) != ABSENT:
                continue
            if self.extra is not None:
                raise MissingExtraError(package, self.extra)
            raise UnavailableError(f"the package {package} is not installed", f"pip install {package}")


#: What ``score`` takes, for messages.
_USUAL = "references and candidates, in this order, a list of texts each"
_SEVERAL = ". assay.run and assay.as_evaluate take several references a pair"


def _column(metric: Metric, name: str, texts: Any) -> Sequence[str]:
    """Return a column of texts as a batch has it: a list or tuple as it is, a pandas or NumPy column as a list."""
    column = texts.tolist() if hasattr(texts, "tolist") else texts
    if isinstance(column, str) or not isinstance(column, Sequence):
        raise InputError(f"metric {metric}: {name} is {_kind(column)}; score takes {_USUAL}")
    for row, text in enumerate(column):
        if not isinstance(text, str):
            several = _SEVERAL if isinstance(text, Sequence) else ""
            raise InputError(f"metric {metric}: {name}[{row}] is {_kind(text)}; score takes {_USUAL}{several}")
    return column


def _kind(value: Any) -> str:
    """Return what a value is, for a message: ``None``, or its type."""
    return "None" if value is None else f"of type {type(value).__name__}"


def _taking_columns(score: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method ``score`` that takes a batch, or the columns that make one, by place or by name."""

    @functools.wraps(score)
    def call(self: Metric, batch: Any = None, *columns: Any, **named: Any) -> Any:
        if isinstance(batch, Batch):
            return score(self, batch, *columns, **named)
        by_place = () if batch is None else (batch, *columns)
        try:
            given = inspect.signature(Batch).bind(*by_place, **named).arguments
        except TypeError as error:
            raise InputError(f"metric {self}: {error}; score takes {_USUAL}, or a Batch") from None
        texts = {name: _column(self, name, column) for name, column in given.items() if column is not None}
        return score(self, Batch(**texts))

    return call


@dataclass(frozen=True)
class Metric(ABC):
    """Base of all metrics: a frozen dataclass whose fields are its options.

    A subclass sets ``declaration`` and writes :meth:`score`. An object holds no state: what is costly to
    build is kept outside of it, so that it can be compared, hashed and sent to another process.

    Raises:
        InputError: an option has a value it cannot have.
    """

    declaration: ClassVar[Declaration]
    #: Whether the score store keeps its scores for later runs; only where the signature has all that changes them.
    is_stored: ClassVar[bool] = True
    #: Whether only the process that a user started scores it, as a judge that has a budget and keeps its replies.
    stays_here: ClassVar[bool] = False

    def __init_subclass__(cls, **settings: Any) -> None:
        """Let ``score`` take columns of texts, as a user writes them, beside a batch."""
        super().__init_subclass__(**settings)
        score = vars(cls).get("score")
        # what a decorator made of a method is left as it is
        if inspect.isfunction(score):
            cls.score = _taking_columns(score)  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        for name, item in describe_options(type(self)).items():
            value = read_value(self.declaration.name, item, getattr(self, name))
            object.__setattr__(self, name, value)

    @abstractmethod
    def score(self, batch: Batch) -> NDArray[np.float64]:
        """Return one score a pair: float64, shape ``(len(batch),)``.

        The score of a pair depends on that pair alone: not on the rest of the batch, nor on its order. Whoever calls it
        may give the columns of a batch in its place, by position or by name: ``metric.score(references, candidates)``.
        A pandas or NumPy column does as well as a list.
        """

    def expand(self) -> tuple[Metric, ...]:
        """Return the metrics that its name asks for; by default itself. A metric of aspects adds one for each."""
        return (self,)

    def members(self) -> tuple[Metric, ...]:
        """Return the metrics whose scores it is computed from; by default none.

        A run scores them first, takes from the store what it has of them, and then asks
        :meth:`~assay.metrics.combined.Combined.combine`.
        """
        return ()

    def takes(self, name: str) -> bool:
        """Tell whether an option changes this metric; by default every one does."""
        return True

    def needs(self) -> Engine | None:
        """Return what must be loaded to score, shared by all metrics with an equal one; by default nothing."""
        return None

    def flags(self, batch: Batch) -> NDArray[np.uint8]:
        """Return what a reader should know of each score, as bits: uint8, shape ``(len(batch),)``; by default nothing.

        Metrics with an engine give them with the scores.
        """
        import numpy as np

        return np.zeros(len(batch), dtype=np.uint8)

    def price_per_1000(self) -> float | None:
        """Return the price of 1,000 distinct pairs where it is known without scoring any; by default None.

        A metric that pays for every pair may know it of earlier ones, so that a run whose scores were all in the store
        has it as well. It takes precedence over what the engine reports.
        """
        return None

    @property
    def picks_by_language(self) -> bool:
        """Whether :meth:`bind` gives another metric for another language; by default not."""
        return False

    def bind(self, context: Context) -> Metric:
        """Return the metric for this data; by default itself. A preset picks its model by the language here.

        Raises:
            UnavailableError: the metric is not made for that data.
        """
        return self

    def says(self) -> str:
        """Return what a reader should know of a bound metric, such as the model it took; by default nothing."""
        return ""

    def obtain(self, *, offline: bool = False) -> None:  # noqa: B027 - most metrics need nothing
        """Download what it needs and this machine lacks, such as a model; by default nothing.

        Raises:
            AssayError: the download failed, or *offline* forbids it.
        """

    def files(self) -> tuple[str, ...]:
        """Return the files and folders that its options name, as they were typed; by default none.

        A node that lacks them gets a copy, which :func:`assay.paths.user_path` returns there.
        """
        return ()

    def foreign_code(self) -> str:
        """Return what scoring runs or calls outside of the installed packages, a script or server; by default nothing.

        ``assay verify`` takes metric names from other people's runs, and runs such code only where its user says so.
        """
        return ""

    @property
    def name(self) -> MetricName:
        """The name as it was typed; otherwise subject and the options that are not the defaults."""
        typed: MetricName | None = self.__dict__.get("_typed")
        return typed or MetricName(self.declaration.name, getattr(self, SUBJECT, None), self._changed())

    def __str__(self) -> str:
        return str(self.name)

    def check_available(self) -> None:
        """Return when the metric can be computed here; by default, when its packages are installed.

        Raises:
            UnavailableError: with the command that makes it available.
        """
        self.declaration.check_packages()

    def for_language(self, language: str | None) -> None:
        """Return when texts in *language* (None: unknown) can be scored.

        Raises:
            UnavailableError: the metric is not made for that language.
        """
        languages = self.declaration.languages
        if language is None or languages is None or language.split("-")[0].lower() in languages:
            return
        raise UnavailableError(f"not available for {language}", f"for {', '.join(sorted(languages))} only")

    def data_signature(self) -> dict[str, str]:
        """Return what else changes the number: digests of data, versions of tables. Empty by default."""
        return {}

    def signature(self) -> dict[str, str]:
        """Return everything that changes the number, in a fixed order.

        Metric, subject, every option, data digests, versions of the packages that compute it, the
        distribution of a third-party metric, and assay's version.
        """
        fields = {key: format_value(getattr(self, key)) for key in describe_options(type(self))}
        return {"metric": self.declaration.name} | fields | self.data_signature() | self._versions()

    def long_signature(self) -> str:
        """Return the signature as one line: ``bleu|smoothing:exp|…|sacrebleu:2.6.0|assay:0.1.0``."""
        return _line(self.signature())

    def short_signature(self) -> str:
        """Return the signature without the options that have their default values."""
        changed = dict(self._changed())
        subject = {SUBJECT: getattr(self, SUBJECT)} if hasattr(self, SUBJECT) else {}
        parts = {"metric": self.declaration.name} | subject | changed
        return _line(parts | self.data_signature() | self._versions())

    def redeclare(self, **changes: Any) -> None:
        """Change the declaration of this object where an option changes what is promised."""
        object.__setattr__(self, "declaration", dataclasses.replace(self.declaration, **changes))

    def _changed(self) -> tuple[tuple[str, str], ...]:
        return tuple(
            (key, format_value(getattr(self, key)))
            for key, item in describe_options(type(self)).items()
            if key != SUBJECT and getattr(self, key) != item.default
        )

    def _versions(self) -> dict[str, str]:
        packages = {package: version_of(package) for package in self.declaration.provider}
        return packages | origin_of(type(self)) | {"assay": own_version()}


@dataclass(frozen=True)
class PairMetric(Metric):
    """A metric that is a function of two texts; a subclass writes :meth:`scorer`."""

    @abstractmethod
    def scorer(self) -> Callable[[str, str], float]:
        """Return the function (reference, candidate) -> score."""

    def score(self, batch: Batch) -> NDArray[np.float64]:
        """Return one score a pair: float64, shape ``(len(batch),)``."""
        import numpy as np

        function = self.scorer()
        pairs = counted(batch.pairs(), len(batch))
        return np.fromiter((function(*pair) for pair in pairs), dtype=np.float64, count=len(batch))


@dataclass(frozen=True)
class ColumnMetric(Metric):
    """A metric whose score is in the data already.

    Attributes:
        column: the column with the score.
        file: the file with that column, its rows those of the data; None: the data itself.
    """

    @property
    @abstractmethod
    def column(self) -> str:
        """The name of the column."""

    @property
    @abstractmethod
    def file(self) -> str | None:
        """The file that has the column, or None for the data itself."""

    def score(self, batch: Batch) -> NDArray[np.float64]:
        """Refuse: a recorded score is read, not computed.

        Raises:
            InputError: always.
        """
        raise InputError(f"metric {self}: a recorded score is read from the data, it cannot be computed")


def _line(parts: Mapping[str, str]) -> str:
    (_, name), *rest = parts.items()
    return "|".join([name, *(f"{key}:{value}" for key, value in rest)])
