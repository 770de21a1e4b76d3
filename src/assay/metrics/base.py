"""Base classes of metrics: a metric has a declaration, options and a signature, and scores each pair independently."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from assay.common.packages import version_of
from assay.common.progress import track_progress
from assay.exceptions import AssayError, InputError, UnavailableError
from assay.metrics.batch import Batch, Context
from assay.metrics.declaration import Declaration
from assay.metrics.name import SUBJECT, MetricName, convert_value, format_value, option, options_of
from assay.metrics.provenance import origin_of, own_version

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from assay.metrics.explaining.explanation import Explanation
    from assay.metrics.scores import Scores

__all__ = ["Batch", "ColumnMetric", "Context", "Declaration", "Engine", "Metric", "PairMetric", "Session", "option"]


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
            hint = _SEVERAL_REFERENCES if isinstance(text, Sequence) else ""
            raise InputError(f"metric {metric}: {name}[{row}] is {_type_text(text)}; score takes {_ARGUMENTS}{hint}")
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


class Session(Protocol):
    """A costly resource, such as a model in memory, that is held while pairs are scored."""

    def score(self, metrics: Sequence[Metric], batch: Batch, again: Collection[str] = ()) -> Scores:
        """Return the scores of a batch under metrics with this session's engine.

        Args:
            metrics: the m metrics.
            batch: the n pairs.
            again: texts of the batch that a later batch will contain too, so that keeping their embeddings pays off.

        Raises:
            AssayError: the scores cannot be computed.
        """
        ...

    def cost(self) -> dict[str, Any]:
        """Return the cost of the work so far, such as a price or numbers of tokens, as plain values by name."""
        ...

    def close(self) -> None:
        """Free what the session holds, such as memory and processes; it is not used afterwards."""
        ...


class Engine(Hashable, Protocol):
    """The description of a resource that scoring needs; metrics with equal engines share a session.

    It can be pickled.
    """

    @property
    def pairs(self) -> int:
        """The number of pairs in a unit of work, which are the most that an interrupted run loses."""
        ...

    def open(self) -> Session:
        """Load the resource and return its session.

        Raises:
            AssayError: the resource cannot be loaded, such as a model that is damaged.
        """
        ...


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
        """Check the value of each option, and convert it to the option's type; a value may be written as text.

        Raises:
            InputError: an option has an invalid value.
        """
        for key, declared in options_of(type(self)).items():
            value = convert_value(self.declaration.name, declared, getattr(self, key))
            # a frozen dataclass allows no plain assignment
            object.__setattr__(self, key, value)

    @classmethod
    def with_options(cls, **values: Any) -> Metric:
        """Return the metric with these options; by default one of this class.

        A metric that has a class for each way to compute it chooses the class here.

        Args:
            **values: the value of each option that was set, by its name.

        Raises:
            InputError: an option has an invalid value.
        """
        return cls(**values)

    @abstractmethod
    def score(self, batch: Batch) -> NDArray[np.float64]:
        """Return one score per pair: float64, shape ``(len(batch),)``.

        The score of a pair depends on that pair alone, not on the rest of the batch or its order. Callers may pass the
        columns of a batch instead, by position or by name, as lists or as pandas or NumPy columns:
        ``metric.score(references, candidates)``.

        Raises:
            InputError: the columns are not lists of texts of one length, or one that the metric reads is missing.
            AssayError: the scores cannot be computed.
        """

    def compute(self, *, predictions: Any, references: Any, questions: Any = None) -> dict[str, Any]:
        """Return what ``compute`` of a module of Hugging Face's evaluate returns.

        Args:
            predictions: the candidates.
            references: the reference of each candidate, or a list of references, of which the best score counts.
            questions: the question of each candidate, for a metric that reads it.

        Returns:
            The mean under the metric's name, and the list of scores under ``scores``. A candidate's score is NaN if
            that with one of its references is, and then so is the mean.

        Raises:
            InputError: there is no pair, the columns have different lengths, a candidate has no reference, or one of
                them is not a text.
            AssayError: the scores cannot be computed, or the metric gave another number of them.
        """
        import numpy as np

        predictions = list(predictions)
        golds = [[reference] if isinstance(reference, str) else list(reference) for reference in references]
        if len(golds) != len(predictions) or not golds:
            raise InputError(
                f"metric {self}: {len(predictions)} predictions and {len(golds)} references; compute takes one of each "
                "per pair, and at least one pair"
            )
        if not all(golds):
            raise InputError(f"metric {self}: the prediction at {golds.index([])} has no reference")
        # each candidate is scored with each of its references
        sizes = [len(golds_of_candidate) for golds_of_candidate in golds]
        columns: dict[str, Any] = {
            "references": list(chain.from_iterable(golds)),
            "candidates": list(chain.from_iterable(map(repeat, predictions, sizes))),
        }
        if questions is not None:
            questions = list(questions)
            if len(questions) != len(predictions):
                raise InputError(f"metric {self}: {len(questions)} questions and {len(predictions)} predictions")
            columns["questions"] = list(chain.from_iterable(map(repeat, questions, sizes)))
        scores = np.asarray(self.score(**columns), dtype=np.float64)
        if scores.shape != (sum(sizes),):
            raise AssayError(f"metric {self}: gave scores of shape {scores.shape} for {sum(sizes)} pairs")
        best_of = np.maximum if self.declaration.higher_is_better else np.minimum
        best_scores = best_of.reduceat(scores, np.cumsum([0, *sizes[:-1]]))
        return {str(self): float(best_scores.mean()), "scores": best_scores.tolist()}

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
        """Tell whether an option applies to this metric; by default every option does."""
        return True

    def changes_score(self, name: str) -> bool:
        """Tell whether an option can change the score, and is in the signature; by default if the metric takes it."""
        return self.takes(name)

    def needs(self) -> Engine | None:
        """Return the engine that scoring needs, such as a loaded model; by default None.

        Metrics with equal engines share one.
        """
        return None

    def flags(self, batch: Batch) -> NDArray[np.uint8]:
        """Return the flags of each score (see :class:`assay.metrics.scores.Flag`): uint8, shape ``(len(batch),)``.

        By default no flag is set. Metrics with an engine return their flags together with the scores instead.
        """
        import numpy as np

        return np.zeros(len(batch), dtype=np.uint8)

    @property
    def is_explainable(self) -> bool:
        """Whether :meth:`explain` shows what a score consists of; by default False."""
        return False

    def explain(self, batch: Batch) -> Sequence[Explanation]:
        """Return the explanation of the score of each pair; the metric must be bound and available.

        Raises:
            NotExplainableError: the score has no parts to show.
            InputError: the data lacks what the metric needs.
            AssayError: the scores cannot be computed.
        """
        from assay.metrics.explaining.explanation import NotExplainableError

        raise NotExplainableError(str(self))

    def price_per_1000(self) -> float | None:
        """Return the price of 1,000 distinct pairs if it is known without scoring any; by default None.

        A metric that pays for every pair may know the price from earlier pairs, so that it is available even to a run
        whose scores were all in the store. This price takes precedence over the one that the engine reports.
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
        """Return the script or server outside of the installed packages that scoring runs or calls; empty without one.

        By default it is empty except for a metric of the user's own code: then it is the file or module, with the class
        or function. Messages show the text, such as ``the endpoint http://localhost/v1``. If it is not empty, a metric
        whose name somebody else wrote (in a run, a folder or a configuration) is used only if the user trusts it.
        """
        typed_name = self._typed_name
        # a name that is not the declared one is that of a file or a module
        is_code = typed_name is not None and typed_name.name != self.declaration.name
        return f"{typed_name.name}:{typed_name.subject}" if typed_name is not None and is_code else ""

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

        This is the metric, its subject, every option, :meth:`data_signature`, the versions of the packages that compute
        it, the origin of a third-party metric's code, and assay's version.

        Raises:
            AssayError: :meth:`data_signature` raises it, for example if the metric's model is not on this machine.
        """
        fields = {declared.name: format_value(getattr(self, key)) for key, declared in options_of(type(self)).items()}
        return {"metric": self.declaration.name} | fields | self.data_signature() | self._package_versions()

    def long_signature(self) -> str:
        """Return the signature as one line: ``bleu|smoothing:exp|…|sacrebleu:2.6.0|assay:0.1.0``."""
        return _signature_line(self.signature())

    def short_signature(self) -> str:
        """Return the signature as one line, without the options that have their default values."""
        subject = {SUBJECT: getattr(self, SUBJECT)} if hasattr(self, SUBJECT) else {}
        own_parts = {"metric": self.declaration.name} | subject | dict(self._changed_options())
        return _signature_line(own_parts | self.data_signature() | self._package_versions())

    def redeclare(self, **changes: Any) -> None:
        """Replace fields of this object's declaration, for options that change what the metric promises."""
        object.__setattr__(self, "declaration", dataclasses.replace(self.declaration, **changes))

    def _changed_options(self) -> tuple[tuple[str, str], ...]:
        """Return (option, value as text) of each option, except the subject, whose value is not the default."""
        changed = []
        for key, declared in options_of(type(self)).items():
            if key == SUBJECT:
                continue
            value = getattr(self, key)
            if value != declared.default:
                changed.append((declared.name, format_value(value)))
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


def _signature_line(value_by_key: Mapping[str, str]) -> str:
    """Return the parts of a signature as one line; of the first part, the metric's name, only the value is written."""
    (_, name), *further_parts = value_by_key.items()
    return "|".join([name, *(f"{key}:{value}" for key, value in further_parts)])
