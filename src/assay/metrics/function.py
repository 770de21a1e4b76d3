"""A Python function as a metric, for as long as a process lasts."""

from __future__ import annotations

import functools
import hashlib
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

from assay.errors import AssayError, InputError, raised_at, summary_of
from assay.metrics.base import Batch, Declaration, Metric
from assay.metrics.name import MetricName
from assay.metrics.registry import Entry, registry
from assay.progress import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])
#: Where a metric of this process comes from, in lists.
ORIGIN = "this process"
#: First parameters of a function that takes lists.
_LISTS = ("references", "candidates", "predictions", "hypotheses", "gold_answers")
#: Characters of a text that a message shows.
_SHOWN = 60


@dataclass(frozen=True)
class FunctionMetric(Metric):
    """A metric that is a Python function; each function has a subclass of its own, see :func:`function_metric`.

    Its scores are not kept in the score store: a signature cannot tell what else the function reads.
    """

    function: ClassVar[Callable[..., Any]]
    takes_lists: ClassVar[bool]

    is_stored: ClassVar[bool] = False

    def score(self, batch: Batch) -> NDArray[np.float64]:
        """Return one score a pair: float64, shape ``(len(batch),)``.

        Raises:
            AssayError: the function raised, or returned something else; with the pair, where it takes single ones.
        """
        import numpy as np

        if self.takes_lists:
            values = np.asarray(type(self).function(list(batch.references), list(batch.candidates)), dtype=np.float64)
            if values.shape != (len(batch),):
                raise AssayError(f"returned {values.size} scores for {len(batch)} pairs")
            return values
        scores = np.empty(len(batch))
        for index, (reference, candidate) in enumerate(counted(batch.pairs(), len(batch))):
            scores[index] = self._of_pair(reference, candidate)
        return scores

    def _of_pair(self, reference: str, candidate: str) -> float:
        try:
            return float(type(self).function(reference, candidate))
        except Exception as error:
            pair = f"reference {_short(reference)}, candidate {_short(candidate)}"
            raise AssayError(f"{summary_of(error)} ({raised_at(error)}), for the pair with {pair}") from error

    def data_signature(self) -> dict[str, str]:
        """Return where the function is defined and a digest of its code."""
        function = inspect.unwrap(type(self).function)
        code = getattr(function, "__code__", None)
        content = repr(function).encode() if code is None else code.co_code + repr(code.co_consts).encode()
        where = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '')}"
        return {"function": where, "code": hashlib.sha256(content).hexdigest()[:16]}


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


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
) -> FunctionMetric:
    """Return a function as a metric.

    Args:
        function: of (reference, candidate), a text each, that returns a number; or of lists of them, that returns as
            many numbers.
        name: in tables; that of the function by default.
        lists: whether it takes lists; by default where its first parameter is called ``references`` or the like.
        low, high: bounds of its scores.
        higher_is_better, symmetric, perfect: see :class:`~assay.metrics.base.Declaration`.

    Raises:
        InputError: it has no name that a metric can have, or that of another metric.
    """
    title = name or str(getattr(function, "__name__", type(function).__name__))
    if title == "<lambda>":
        raise InputError("metrics: a lambda has no name; name it with assay.metric(name=…), or write a function")
    if MetricName.parse(title).text != title or ":" in title or "," in title:
        raise InputError(f"metrics: {title!r} cannot be the name of a metric; give another one: assay.metric(name=…)")
    holder = next((entry for entry in registry().entries() if entry.name == title), None)
    if holder is not None and holder.origin != ORIGIN:
        raise InputError(f"metrics: the name {title!r} belongs to {holder.origin}; give another: assay.metric(name=…)")
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
    members = {
        "__doc__": declaration.summary,
        "__module__": getattr(function, "__module__", __name__),
        "declaration": declaration,
        "function": staticmethod(function),
        "takes_lists": _takes_lists(function) if lists is None else lists,
    }
    kind: type[FunctionMetric] = dataclass(frozen=True)(type(title, (FunctionMetric,), members))
    return kind()


def _takes_lists(function: Callable[..., Any]) -> bool:
    try:
        parameters = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # a function in C without a signature
        return False
    return bool(parameters) and parameters[0] in _LISTS


@overload
def metric(function: F, /) -> F: ...


@overload
def metric(**declared: Any) -> Callable[[F], F]: ...


def metric(function: F | None = None, /, **declared: Any) -> F | Callable[[F], F]:
    """Register a function as a metric of this process, under its name; return the function as it is.

    A function of the same name that was registered before is replaced.

    Args:
        function: of (reference, candidate), or of lists of them, see :func:`function_metric`.
        **declared: ``name``, ``lists``, ``low``, ``high``, ``higher_is_better``, ``symmetric``, ``perfect``, as for
            :func:`function_metric`.

    Raises:
        InputError: the name belongs to another metric, or is none.

    Example:
        >>> @metric(low=0, high=1)
        ... def same_length(reference: str, candidate: str) -> float:
        ...     return float(len(reference) == len(candidate))
    """

    def register(function: F) -> F:
        made = function_metric(function, **declared)
        registry().replace(Entry(made.declaration.name, type(made), ORIGIN))
        return function

    return register if function is None else register(function)
