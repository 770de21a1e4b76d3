"""Python functions as metrics, registered for the current process."""

from __future__ import annotations

import functools
import hashlib
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

from assay.common.progress import track_progress
from assay.exceptions import AssayError, InputError, error_location, summary_of
from assay.metrics.base import Batch, Declaration, Metric
from assay.metrics.name import MetricName
from assay.metrics.registry import Entry, registry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])
#: The origin of such a metric in lists.
ORIGIN = "this process"
#: The names of the first parameter by which a function of lists is recognised.
_LIST_PARAMETERS = ("references", "candidates", "predictions", "hypotheses", "gold_answers")
#: Beginnings of the names of two parameters by which a function is recognised that takes the candidate first.
_CANDIDATE_NAMES, _REFERENCE_NAMES = ("cand", "pred", "hyp"), ("ref", "gold", "target", "truth", "expected")
#: The number of characters of a text that a message shows.
_MAX_SHOWN_CHARACTERS = 60


@dataclass(frozen=True)
class FunctionMetric(Metric):
    """A metric that is a Python function; each function gets its own subclass, see :func:`function_metric`.

    The score store does not keep its scores, since its signature does not cover everything that the function reads.

    Attributes:
        function: the function of two texts (reference, candidate), or of two lists of texts.
        takes_lists: whether the function takes lists.
        candidate_first: whether the function takes the candidate first, as those of sacrebleu and evaluate do.
        signed: what determines the scores, by name; empty for the code of the function.
    """

    function: ClassVar[Callable[..., Any]]
    takes_lists: ClassVar[bool]
    candidate_first: ClassVar[bool]
    signed: ClassVar[tuple[tuple[str, str], ...]]

    is_stored: ClassVar[bool] = False

    def score(self, batch: Batch) -> NDArray[np.float64]:
        """Return one score per pair: float64, shape ``(len(batch),)``.

        Raises:
            AssayError: a function of two texts raised an exception or returned no number (the message has the pair), or
                a function of lists returned anything but a list with a number for each pair.
            Exception: whatever a function of lists raised.
        """
        import numpy as np

        if self.takes_lists:
            return self._score_lists(batch)
        scores = np.empty(len(batch))
        for row, (reference, candidate) in enumerate(track_progress(batch.pairs(), len(batch))):
            scores[row] = self._score_pair(reference, candidate)
        return scores

    def _score_lists(self, batch: Batch) -> NDArray[np.float64]:
        """Return the scores of n pairs by one call of a function of lists, float64, shape (n,).

        Raises:
            AssayError: the function returned anything but a list of n numbers.
            Exception: whatever the function raised.
        """
        import numpy as np

        returned = self._call(list(batch.references), list(batch.candidates))
        try:
            values = np.asarray(returned, dtype=np.float64)
        except (TypeError, ValueError):
            values = None
        if values is not None and values.shape == (len(batch),):
            return values
        if values is None or values.ndim == 0:
            problem = _quoted_start(returned)
        elif values.ndim == 1:
            problem = f"{values.size} scores"
        else:
            problem = f"an array of shape {values.shape}"
        raise AssayError(f"returned {problem} for {len(batch)} pairs, expected a list with a number for each")

    def _score_pair(self, reference: str, candidate: str) -> float:
        """Return the score of a pair by one call of a function of two texts.

        Raises:
            AssayError: the function raised an exception or returned no number; the message has the pair.
        """
        pair = f"for the pair with reference {_quoted_start(reference)}, candidate {_quoted_start(candidate)}"
        try:
            returned = self._call(reference, candidate)
        except Exception as error:
            raise AssayError(f"{summary_of(error)} ({error_location(error)}), {pair}") from error
        try:
            return float(single_score(returned))
        except (TypeError, ValueError) as error:
            problem = f"returned {_quoted_start(returned)}, expected a number ({summary_of(error)})"
            raise AssayError(f"{problem}, {pair}") from None

    def _call(self, references: Any, candidates: Any) -> Any:
        """Return what the function returns for a pair, or for lists of texts, in the order of its parameters."""
        texts = (candidates, references) if self.candidate_first else (references, candidates)
        return type(self).function(*texts)

    def data_signature(self) -> dict[str, str]:
        """Return ``signed``; if it is empty, the function's name and 16 hex digits of a digest of its code.

        The code is the function's own bytecode and constants, without that of the functions that it calls. An object
        without bytecode counts by its ``repr()``.
        """
        if type(self).signed:
            return dict(type(self).signed)
        function = inspect.unwrap(type(self).function)
        code = getattr(function, "__code__", None)
        # a callable object or a function in C has no code
        content = repr(function).encode() if code is None else code.co_code + repr(code.co_consts).encode()
        qualified_name = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '')}"
        return {"function": qualified_name, "code": hashlib.sha256(content).hexdigest()[:16]}


def _quoted_start(value: object) -> str:
    """Return a text in quotes, or another value as Python shows it, on one line and shortened."""
    if not isinstance(value, str):
        value = " ".join(repr(value).split())
        return value if len(value) <= _MAX_SHOWN_CHARACTERS else f"{value[:_MAX_SHOWN_CHARACTERS]}…"
    return repr(value if len(value) <= _MAX_SHOWN_CHARACTERS else f"{value[:_MAX_SHOWN_CHARACTERS]}…")


def single_score(value: Any) -> Any:
    """Return the only element of a list, tuple or array of one element, else the value itself, an array as a list."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    while isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    return value


@functools.cache
def function_metric(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    lists: bool | None = None,
    low: float = -math.inf,
    high: float = math.inf,
    higher_is_better: bool = True,
    symmetric: bool = False,
    perfect: float | None = None,
    signed: tuple[tuple[str, str], ...] = (),
) -> FunctionMetric:
    """Return a function as a metric; cached, so that a function with the same settings is always the same metric.

    Args:
        function: a function of two texts (reference, candidate) that returns a number, or of two lists of texts that
            returns one number per pair.
        name: the name in tables; None for the function's name, which a lambda lacks.
        lists: whether the function accepts lists; None to decide by the name of its first parameter, such as
            ``references``. Either way the function gets the references first, unless its parameters are named in the
            other order, such as ``predictions, references``.
        low, high: the bounds of its scores.
        higher_is_better: False if a low score means similar.
        symmetric: whether exchanging the texts keeps the score.
        perfect: the score of two identical texts that are not empty; None if it depends on the text.
        signed: what determines the scores, by name; by default the code of the function.

    Raises:
        InputError: the name is not valid for a metric, or belongs to another metric, or the function cannot be called
            with two texts.
    """
    wrapped_function = function.func if isinstance(function, functools.partial) else function
    title = name or str(getattr(wrapped_function, "__name__", type(wrapped_function).__name__))
    check_name(title)
    parameters = _parameters_of(function, title)
    declaration = Declaration(
        name=title,
        summary=(inspect.getdoc(function) or "a Python function").partition("\n")[0],
        low=low,
        high=high,
        higher_is_better=higher_is_better,
        symmetric=symmetric,
        perfect=perfect,
        kind="function",
    )
    attributes = {
        "__doc__": declaration.summary,
        "__module__": getattr(function, "__module__", __name__),
        "declaration": declaration,
        "function": staticmethod(function),
        "signed": signed,
        "takes_lists": any(name in _LIST_PARAMETERS for name in parameters[:1]) if lists is None else lists,
        "candidate_first": _takes_candidate_first(parameters),
    }
    metric_class: type[FunctionMetric] = dataclass(frozen=True)(type(title, (FunctionMetric,), attributes))
    return metric_class()


def check_name(name: str) -> None:
    """Check that a name is valid for a metric, and that no metric of assay or of another package has it.

    Raises:
        InputError: the name is not valid, or belongs to another metric.
    """
    if name == "<lambda>":
        raise InputError("metrics: a lambda has no name; name it: metrics={'NAME': lambda …}, or write a function")
    if MetricName.parse(name).text != name or ":" in name or "," in name:
        raise InputError(f"metrics: {name!r} cannot be the name of a metric; give another one: assay.metric(name=…)")
    holder = next((entry for entry in registry().entries() if entry.name == name), None)
    if holder is not None and holder.origin != ORIGIN:
        raise InputError(f"metrics: the name {name!r} belongs to {holder.origin}; give another: assay.metric(name=…)")


def _parameters_of(function: Callable[..., Any], title: str) -> list[str]:
    """Return the names of a function's parameters; none if it shows none, as some functions in C do.

    Raises:
        InputError: the function cannot be called with two texts.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return []
    try:
        signature.bind("", "")
    except TypeError as error:
        parameters = ", ".join(signature.parameters)
        raise InputError(
            f"metrics: {title}({parameters}) must take the texts (reference, candidate): {error}"
        ) from None
    return list(signature.parameters)


def _takes_candidate_first(parameters: list[str]) -> bool:
    """Tell by the names of its parameters whether a function takes the candidate before the reference."""
    first, second, *_ = (*parameters, "", "")
    return first.startswith(_CANDIDATE_NAMES) and second.startswith(_REFERENCE_NAMES)


@overload
def metric(function: F, /) -> F: ...


@overload
def metric(**declared: Any) -> Callable[[F], F]: ...


def metric(function: F | None = None, /, **declared: Any) -> F | Callable[[F], F]:
    """Register a function as a metric of this process under its name, and return the function unchanged.

    It replaces a function that was registered under the same name before. Without *function*, as in the example, the
    decorator that does this is returned.

    Args:
        function: a function of two texts or of two lists of texts, see :func:`function_metric`.
        **declared: any of the other arguments of :func:`function_metric`: ``name``, ``lists``, ``low``, ``high``,
            ``higher_is_better``, ``symmetric`` and ``perfect``.

    Raises:
        InputError: the name is not valid for a metric, or belongs to another metric, or the function cannot be called
            with two texts.

    Example:
        >>> @metric(low=0, high=1)
        ... def same_length(reference: str, candidate: str) -> float:
        ...     return float(len(reference) == len(candidate))
    """

    def register(function: F) -> F:
        registered_metric = function_metric(function, **declared)
        registry().replace(Entry(registered_metric.declaration.name, type(registered_metric), ORIGIN))
        return function

    return register if function is None else register(function)
