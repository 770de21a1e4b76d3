"""Base classes of metrics: a metric has a declaration, options and a signature, and scores each pair independently."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from assay.errors import InputError, MissingExtraError, UnavailableError
from assay.metrics.name import SUBJECT, MetricName, convert_value, format_value, option, options_of
from assay.metrics.provenance import ABSENT, origin_of, own_version, version_of
from assay.progress import track_progress

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
        gold_answers: all gold answers of each pair, for metrics that read them together; the first one is the
            reference. None if the reference is the only gold answer.
        reference_graphs, candidate_graphs: the AMR graphs of the texts in Penman notation; None if the data has no
            graphs.

    Raises:
        InputError: the columns differ in length.
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
        """Return an iterator over the pairs (reference, candidate), in order."""
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
        """Return the batch with each question put before both texts of its pair; the batch itself without questions.

        A blank question leaves its texts unchanged. The gold answers and the graphs stay as they are.
        """
        questions = self.questions
        if questions is None:
            return self

        def prepend_questions(texts: Sequence[str]) -> list[str]:
            return [prepend_question(question, text) for question, text in zip(questions, texts, strict=True)]

        references, candidates = prepend_questions(self.references), prepend_questions(self.candidates)
        return dataclasses.replace(self, references=references, candidates=candidates)

    def swapped(self) -> Batch:
        """Return the batch with references and candidates, and their graphs, exchanged; without ``gold_answers``."""
        return Batch(self.candidates, self.references, self.questions, self.candidate_graphs, self.reference_graphs)


def prepend_question(question: str, text: str) -> str:
    """Return the question, a space and the text as one input for a model; the text alone if the question is blank.

    Outer white space of the question is removed.
    """
    return f"{question.strip()} {text}" if question.strip() else text


@dataclass(frozen=True)
class Context:
    """The data that a metric is about to score.

    Attributes:
        language: the ISO 639-1 code of its texts; None if unknown.
        references: a function that returns all gold answers, in order.
    """

    language: str | None
    references: Callable[[], Sequence[str]]


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
        reads_question: whether the question changes the score; if False, ``Batch.questions`` must not be read.
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


#: The arguments that ``score`` accepts, for messages.
_ARGUMENTS = "references and candidates, in this order, a list of texts each"
_SEVERAL_REFERENCES = ". assay.run and assay.as_evaluate take several references per pair"


def _text_column(metric: Metric, name: str, texts: Any) -> Sequence[str]:
    """Return a column of texts for a batch: a sequence unchanged, a pandas or NumPy column as a list.

    Args:
        metric: the metric, for messages.
        name: the column's name, for messages.
        texts: the column as the caller passed it.

    Raises:
        InputError: the column is not a sequence, is a single text, or has an element that is not a text.
    """
    column = texts.tolist() if hasattr(texts, "tolist") else texts
    if isinstance(column, str) or not isinstance(column, Sequence):
        raise InputError(f"metric {metric}: {name} is {_type_text(column)}; score takes {_ARGUMENTS}")
    for row, text in enumerate(column):
        if not isinstance(text, str):
            several = _SEVERAL_REFERENCES if isinstance(text, Sequence) else ""
            raise InputError(f"metric {metric}: {name}[{row}] is {_type_text(text)}; score takes {_ARGUMENTS}{several}")
    return column


def _type_text(value: Any) -> str:
    """Return the type of a value for a message, such as ``of type int``; ``None`` if the value is None."""
    return "None" if value is None else f"of type {type(value).__name__}"


def _accept_columns(score: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method ``score`` wrapped so that it accepts a batch, or a batch's columns by position or by name.

    Raises:
        InputError: from the wrapper, if the arguments are not the columns of a batch.
    """

    @functools.wraps(score)
    def score_batch_or_columns(self: Metric, batch: Any = None, *columns: Any, **named_columns: Any) -> Any:
        if isinstance(batch, Batch):
            return score(self, batch, *columns, **named_columns)
        # without a batch, the first positional argument is a column; it is None if all columns are named
        positional_columns = () if batch is None else (batch, *columns)
        try:
            arguments = inspect.signature(Batch).bind(*positional_columns, **named_columns).arguments
        except TypeError as error:
            raise InputError(f"metric {self}: {error}; score takes {_ARGUMENTS}, or a Batch") from None
        texts = {name: _text_column(self, name, column) for name, column in arguments.items() if column is not None}
        return score(self, Batch(**texts))

    return score_batch_or_columns


@dataclass(frozen=True)
class Metric(ABC):
    """Base of all metrics: a frozen dataclass whose fields are its options.

    A subclass sets ``declaration`` and implements :meth:`score`. A metric holds no state: models and other costly
    objects are kept outside of it, so that it can be compared, hashed and sent to another process.

    Raises:
        InputError: an option has an invalid value.
    """

    declaration: ClassVar[Declaration]
    #: Whether the score store keeps its scores for later runs. Requires a signature with everything that changes them.
    is_stored: ClassVar[bool] = True
    #: Whether it is scored only in the process that the user started, such as a judge with a budget and saved replies.
    stays_here: ClassVar[bool] = False

    def __init_subclass__(cls, **settings: Any) -> None:
        """Wrap the subclass's ``score`` so that it also accepts columns of texts instead of a batch."""
        super().__init_subclass__(**settings)
        score = vars(cls).get("score")
        # a decorated method may be something other than a function; it is left unchanged
        if inspect.isfunction(score):
            cls.score = _accept_columns(score)  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        """Check the value of each option, and convert it to the option's type; a value may be written as text."""
        for key, declared in options_of(type(self)).items():
            value = convert_value(self.declaration.name, declared, getattr(self, key))
            # a frozen dataclass allows no plain assignment
            object.__setattr__(self, key, value)

    @abstractmethod
    def score(self, batch: Batch) -> NDArray[np.float64]:
        """Return one score per pair: float64, shape ``(len(batch),)``.

        The score of a pair depends on that pair alone, not on the rest of the batch or its order. Callers may pass the
        columns of a batch instead, by position or by name, as lists or as pandas or NumPy columns:
        ``metric.score(references, candidates)``.
        """

    def expand(self) -> tuple[Metric, ...]:
        """Return the metrics that its name stands for; by default only itself.

        A metric with aspects returns one metric per aspect, with or without itself.
        """
        return (self,)

    def members(self) -> tuple[Metric, ...]:
        """Return the metrics whose scores it is computed from; by default none.

        A run scores them first, reuses their stored scores, and then calls
        :meth:`~assay.metrics.combined.Combined.combine`.
        """
        return ()

    def takes(self, name: str) -> bool:
        """Tell whether an option affects this metric; by default every option does."""
        return True

    def needs(self) -> Engine | None:
        """Return the engine that scoring needs, such as a loaded model; by default None.

        Metrics with equal engines share one.
        """
        return None

    def flags(self, batch: Batch) -> NDArray[np.uint8]:
        """Return the flags of each score (see :class:`assay.metrics.work.Flag`): uint8, shape ``(len(batch),)``.

        By default no flag is set. Metrics with an engine return their flags together with the scores instead.
        """
        import numpy as np

        return np.zeros(len(batch), dtype=np.uint8)

    def price_per_1000(self) -> float | None:
        """Return the price of 1,000 distinct pairs if it is known without scoring any; by default None.

        A metric that pays for every pair may know the price from earlier pairs, so that it is available even to a run
        whose scores were all in the store. It takes precedence over the price that the engine reports.
        """
        return None

    @property
    def picks_by_language(self) -> bool:
        """Whether :meth:`bind` returns different metrics for different languages; by default False."""
        return False

    def bind(self, context: Context) -> Metric:
        """Return the metric that scores the data of *context*; by default itself.

        A metric whose model depends on the language, such as a preset, chooses the model here.

        Raises:
            UnavailableError: the metric does not support that data.
        """
        return self

    def says(self) -> str:
        """Return a note for readers about a bound metric, such as the model it uses; by default empty."""
        return ""

    def obtain(self, *, offline: bool = False) -> None:  # noqa: B027 - most metrics need nothing
        """Download what the metric needs and this machine lacks, such as a model; by default nothing.

        Raises:
            AssayError: the download failed, or *offline* forbids it.
        """

    def files(self) -> tuple[str, ...]:
        """Return the files and folders named by its options, as the user typed them; by default none.

        A cluster node that lacks them receives a copy, whose path :func:`assay.paths.user_path` returns there.
        """
        return ()

    def foreign_code(self) -> str:
        """Return the script or server outside of the installed packages that scoring runs or calls; by default empty.

        Messages show the text, such as ``the endpoint http://localhost/v1``. If it is not empty, a metric whose name
        somebody else wrote (in a run, a folder or a configuration) is used only if the user trusts it.
        """
        return ""

    @property
    def name(self) -> MetricName:
        """The name as the user typed it; if there is none, the declared name with subject and non-default options."""
        return self._typed_name or MetricName(
            self.declaration.name, getattr(self, SUBJECT, None), self._changed_options()
        )

    @property
    def _typed_name(self) -> MetricName | None:
        """The name as the user typed it; None for a metric that was not loaded by its name."""
        # not a field, since fields are options and decide which metrics are equal
        typed_name: MetricName | None = self.__dict__.get("_typed")
        return typed_name

    def __str__(self) -> str:
        return str(self.name)

    def check_available(self) -> None:
        """Check that the metric can be computed here; by default, that its packages are installed.

        Raises:
            UnavailableError: it cannot be computed; the error has the command that makes it available.
        """
        self.declaration.check_packages()

    def for_language(self, language: str | None) -> None:
        """Check that texts in a language can be scored.

        Args:
            language: an ISO 639-1 code, whose region (``en-GB``) is ignored; None, an unknown language, always passes.

        Raises:
            UnavailableError: the metric does not support that language.
        """
        languages = self.declaration.languages
        if language is None or languages is None or language.split("-")[0].lower() in languages:
            return
        raise UnavailableError(f"not available for {language}", f"for {', '.join(sorted(languages))} only")

    def data_signature(self) -> dict[str, str]:
        """Return whatever else changes the score, as texts by name; by default nothing.

        This can be digests of data and of models, and versions of tables.
        """
        return {}

    def signature(self) -> dict[str, str]:
        """Return everything that changes the score, as texts by name in a fixed order.

        This is the metric, its subject, every option, data digests, the versions of the packages that compute it, the
        origin of a third-party metric's code, and assay's version.
        """
        fields = {key: format_value(getattr(self, key)) for key in options_of(type(self))}
        return {"metric": self.declaration.name} | fields | self.data_signature() | self._package_versions()

    def long_signature(self) -> str:
        """Return the signature as one line: ``bleu|smoothing:exp|…|sacrebleu:2.6.0|assay:0.1.0``."""
        return _signature_line(self.signature())

    def short_signature(self) -> str:
        """Return the signature as one line, without the options that have their default values."""
        subject = {SUBJECT: getattr(self, SUBJECT)} if hasattr(self, SUBJECT) else {}
        parts = {"metric": self.declaration.name} | subject | dict(self._changed_options())
        return _signature_line(parts | self.data_signature() | self._package_versions())

    def redeclare(self, **changes: Any) -> None:
        """Replace fields of this object's declaration, for options that change what the metric promises."""
        object.__setattr__(self, "declaration", dataclasses.replace(self.declaration, **changes))

    def _changed_options(self) -> tuple[tuple[str, str], ...]:
        """Return (option, value as text) of each option, except the subject, whose value is not the default."""
        changed = []
        for key, item in options_of(type(self)).items():
            if key == SUBJECT:
                continue
            value = getattr(self, key)
            if value != item.default:
                changed.append((key, format_value(value)))
        return tuple(changed)

    def _package_versions(self) -> dict[str, str]:
        """Return the last parts of a signature, as texts by name.

        These are the versions of the packages, the origin of a third-party metric's code, and assay's version.
        """
        packages = {package: version_of(package) for package in self.declaration.provider}
        return packages | origin_of(type(self)) | {"assay": own_version()}


@dataclass(frozen=True)
class PairMetric(Metric):
    """A metric that is a function of two texts; a subclass implements :meth:`scorer`."""

    @abstractmethod
    def scorer(self) -> Callable[[str, str], float]:
        """Return the function (reference, candidate) -> score.

        It is made once per batch and called once per pair, so costly preparation belongs here.
        """

    def score(self, batch: Batch) -> NDArray[np.float64]:
        """Return the result of the scorer for each pair: float64, shape ``(len(batch),)``; report the progress."""
        import numpy as np

        function = self.scorer()
        pairs = track_progress(batch.pairs(), len(batch))
        return np.fromiter((function(*pair) for pair in pairs), dtype=np.float64, count=len(batch))


@dataclass(frozen=True)
class ColumnMetric(Metric):
    """A metric whose scores are recorded in a column of the data or of a file.

    Attributes:
        column: the column with the scores.
        file: the file with that column, with the same rows as the data; None for the data itself.
    """

    @property
    @abstractmethod
    def column(self) -> str:
        """The name of the column."""

    @property
    @abstractmethod
    def file(self) -> str | None:
        """The file with the column; None for the data itself."""

    def score(self, batch: Batch) -> NDArray[np.float64]:
        """Raise InputError, since a recorded score is read from the data and cannot be computed."""
        raise InputError(f"metric {self}: a recorded score is read from the data, it cannot be computed")


def _signature_line(parts: Mapping[str, str]) -> str:
    """Return the parts of a signature as one line; of the first part, the metric's name, only the value is written."""
    (_, name), *others = parts.items()
    return "|".join([name, *(f"{key}:{value}" for key, value in others)])
