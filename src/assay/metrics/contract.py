"""The contract of metrics, as checks that run on any metric, including third-party ones."""

from __future__ import annotations

import dataclasses
import math
import pickle
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from assay.exceptions import AssayError, InputError, error_location
from assay.metrics.base import Batch, ColumnMetric, Metric
from assay.metrics.load import load_metric
from assay.metrics.name import SUBJECT, MetricName, Option, options_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# (reference, candidate): equal, similar and different texts, short and long, in several scripts, numbers, punctuation
_PAIRS = (
    ("Berlin", "Berlin"),
    ("the capital of France", "Paris is the capital of France"),
    ("Normandy", "a region in the north of France"),
    ("seven", "7"),
    ("Müller", "Möller"),
    ("Ä", "Ä"),
    ("東京タワー", "東京"),
    ("don't stop", "do not stop"),
    ("1,000.5 km", "1000.5 kilometres"),
    ("one two three four five six", "six five four three two one"),
    ("a a a b", "a b b b"),
    ("...", "!!!"),
    ("yes", "no"),
    ("He said: “no”.", "He said no"),
)
_EMPTY = (("", ""), ("", "answer"), ("answer", ""), (" ", "answer"))


class ContractFinding(NamedTuple):
    """The outcome of one check.

    Attributes:
        check: the name of the check.
        passed: whether the metric passed.
        detail: the values found, or the reason why nothing was checked.
    """

    check: str
    passed: bool
    detail: str


def check_metric(metric: str | MetricName | Metric) -> list[ContractFinding]:
    """Check that a metric keeps its promises, and return one finding per check; works on any plugin.

    The checks are: the declaration, the round trip of the name, pickling and the signature; then on eighteen pairs or
    their texts: finite scores, the declared range, the perfect score of identical texts and symmetry if they are
    declared, empty texts, independence from batch and order, and determinism. The scores of a recorded metric are not
    checked.

    Args:
        metric: the metric, or its name.

    Raises:
        InputError: the name cannot be read, has an invalid option, or stands for several other metrics; or there is no
            such metric, or a file that it needs cannot be used.
        UnavailableError: the metric cannot be computed here.
    """
    loaded = load_metric(metric)
    loaded.check_available()
    if loaded not in loaded.expand():
        raise InputError(f"metric {str(loaded)!r} means several metrics; check one of them: {loaded.expand()[0]}")
    findings = [_run_check(name, check, loaded) for name, check in _STATIC_CHECKS]
    if isinstance(loaded, ColumnMetric):
        detail = "not computed: a recorded score is read from the data"
        return [*findings, ContractFinding("scores", passed=True, detail=detail)]
    return findings + [_run_check(name, check, loaded) for name, check in _SCORE_CHECKS]


def _run_check(name: str, check: Callable[[Metric], str], metric: Metric) -> ContractFinding:
    """Return the outcome of a check of a metric as a finding under a name; any exception counts as a failure."""
    try:
        return ContractFinding(name, passed=True, detail=check(metric))
    except _BrokenError as error:
        return ContractFinding(name, passed=False, detail=str(error))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a plugin raises is the outcome of the check
        detail = f"raised {type(error).__name__}: {error} ({error_location(error)})"
        return ContractFinding(name, passed=False, detail=detail)


class _BrokenError(Exception):
    """Raised by a check for a broken promise."""


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise _BrokenError(message)


def _batch_of(pairs: tuple[tuple[str, str], ...] = _PAIRS + _EMPTY) -> Batch:
    """Return pairs as a batch with placeholder questions, contexts and graphs, for metrics that read them."""
    references, candidates = zip(*pairs, strict=True)
    return Batch(
        references,
        candidates,
        questions=["what?"] * len(pairs),
        reference_graphs=list(map(_placeholder_graph, references)),
        candidate_graphs=list(map(_placeholder_graph, candidates)),
        contexts=["a passage"] * len(pairs),
    )


def _placeholder_graph(text: str) -> str:
    """Return a placeholder AMR graph for a text: a chain of its words, equal for equal texts."""
    words = re.findall(r"\w+", text.lower()) or ["amr-empty"]
    nodes = [f"(n{index} / {word}" for index, word in enumerate(words)]
    graph = nodes[0]
    for index, node in enumerate(nodes[1:], start=1):
        graph += f" :ARG{index} {node}"
    return graph + ")" * len(words)


def _checked_scores(metric: Metric, batch: Batch) -> NDArray[np.float64]:
    """Return the scores of a batch after checking their type and shape.

    Raises:
        _BrokenError: the scores are not float64 of shape (n,), or a pair cannot be scored (the message shows it).
        Exception: whatever the metric raises for the batch, if each of its pairs alone can be scored.
    """
    import numpy as np

    try:
        scores = metric.score(batch)
    except Exception as error:
        pair = _raising_pair(metric, batch)
        if pair is None:
            raise
        reason = f"raised {type(error).__name__}: {error} ({error_location(error)})"
        raise _BrokenError(f"{reason}, for reference {pair[0]!r} and candidate {pair[1]!r}") from error
    _require(
        type(scores) is np.ndarray and scores.dtype == np.float64 and scores.shape == (len(batch),),
        f"expected a float64 array of shape ({len(batch)},), got {type(scores).__name__} "
        f"{getattr(scores, 'dtype', '')} {getattr(scores, 'shape', '')}",
    )
    return scores


def _raising_pair(metric: Metric, batch: Batch) -> tuple[str, str] | None:
    """Return the first pair (reference, candidate) that cannot be scored alone; None if every pair can."""
    for row, pair in enumerate(batch.pairs()):
        try:
            metric.score(batch.take([row]))
        except Exception:  # noqa: BLE001 - whatever a plugin raises
            return pair
    return None


def _require_equal(
    metric: Metric, left: NDArray[np.float64], right: NDArray[np.float64], batch: Batch, condition: str
) -> None:
    """Check that two scores of each pair differ by no more than the metric's tolerance; NaN equals NaN.

    Args:
        metric: the metric.
        left, right: the two scores of each pair, shape (n,) each.
        batch: the pairs.
        condition: how the two scores came about, for the beginning of the message.

    Raises:
        _BrokenError: some pairs differ; the message shows the first.
    """
    import numpy as np

    tolerance = metric.declaration.tolerance
    differing = np.flatnonzero(~np.isclose(left, right, rtol=0, atol=tolerance, equal_nan=True))
    if len(differing):
        row = int(differing[0])
        pair = (batch.references[row], batch.candidates[row])
        scores = f"{left[row]:.6g} and {right[row]:.6g}"
        raise _BrokenError(f"{condition}: {pair} has {scores} ({len(differing)} pairs differ)")


# The checks: each returns the detail of a finding, or raises _BrokenError if the promise is broken.


def _check_declaration(metric: Metric) -> str:
    """Check that the declaration does not contradict itself.

    Raises:
        _BrokenError: bounds, perfect score, tolerance, languages or summary are not as :class:`Declaration` says.
    """
    declared = metric.declaration
    low, high, perfect = declared.low, declared.high, declared.perfect
    _require(low < high, f"low={low:g} and high={high:g}: low is the lower bound")
    in_range = perfect is None or low <= perfect <= high
    _require(in_range, f"perfect={perfect}: is not in the declared range, {low:g} to {high:g}")
    _require(0 <= declared.tolerance < math.inf, f"tolerance={declared.tolerance:g}: must be 0 or more, and finite")
    for code in sorted(declared.languages or ()):
        is_code = re.fullmatch("[a-z]{2,3}", code) is not None
        _require(is_code, f"languages: {code!r} is not an ISO 639 code, such as 'en'")
    _require(bool(declared.summary) and "\n" not in declared.summary, "summary: must be one line")
    return "consistent"


def _check_name(metric: Metric) -> str:
    """Check that the metric's name is read back as the same metric, and return the name.

    Raises:
        _BrokenError: it is read back as another metric.
    """
    reloaded = load_metric(MetricName.parse(metric.name.text))
    _require(reloaded == metric, f"{metric} is read back as another metric: {reloaded!r}")
    return str(metric)


def _check_pickle(metric: Metric) -> str:
    """Check that pickling and unpickling returns an equal metric with the same signature.

    Raises:
        _BrokenError: it returns another metric, or one with another signature.
    """
    copy = pickle.loads(pickle.dumps(metric))
    _require(copy == metric and copy.signature() == metric.signature(), "another metric comes back")
    return "equal after a round trip"


def _check_signature(metric: Metric) -> str:
    """Check that the signature is text, has assay's version and changes with each option; return its short form.

    The subject, options that do not change the score, and options for which no other value is tried are exempt.

    Raises:
        _BrokenError: one of these does not hold.
    """
    signature = metric.signature()
    for key, value in signature.items():
        _require(isinstance(key, str) and isinstance(value, str), f"{key!r}: {value!r} is not text")
    _require("assay" in signature, "the version of assay is missing")
    for key, other_values in _other_values_by_option(metric).items():
        if not other_values:
            continue
        # one change suffices, since a default such as "auto" may be equivalent to one of the other values
        changed = any(_changes_signature(metric, key, other, signature) for other in other_values)
        _require(changed, f"it does not change with the option {key!r}")
    return metric.short_signature()


def _changes_signature(metric: Metric, key: str, value: object, signature: dict[str, str]) -> bool:
    """Tell whether another value of an option changes the metric's signature; True if the metric refuses the value."""
    try:
        return dataclasses.replace(metric, **{key: value}).signature() != signature
    except AssayError:
        # the metric accepts fewer values than the option's type, or the value needs something that is not installed
        return True


def _other_values_by_option(metric: Metric) -> dict[str, Sequence[object]]:
    """Return values other than the current one by the name of each option that changes the score; some have none."""
    other_values = {}
    for key, declared in options_of(type(metric)).items():
        if key != SUBJECT and metric.changes_score(key):
            other_values[key] = _values_other_than(getattr(metric, key), declared)
    return other_values


def _values_other_than(value: object, declared: Option) -> Sequence[object]:
    """Return values of an option other than *value*: all other choices of a ``choice``, else at most one value.

    The result is empty if the limits of the option allow none of the numbers that are tried.
    """
    if declared.kind == "choice":
        return [choice for choice in declared.choices if choice != value]
    if declared.kind == "bool":
        return [not value]
    if declared.kind == "str":
        return [f"{value}x"]
    low = declared.minimum if declared.minimum is not None else -math.inf
    high = declared.maximum if declared.maximum is not None else math.inf
    # a number with the value none is tried around 0
    current = value if isinstance(value, int | float) else 0
    if declared.kind == "int":
        candidates: tuple[float, ...] = (current + 1, current - 1)
    else:
        candidates = (current + 1.0, current - 1.0, current / 2, (low + high) / 2)
    return [other for other in candidates if low <= other <= high and other != value][:1]


def _check_finite(metric: Metric) -> str:
    """Check that every pair has a finite score, and return the number of pairs.

    Raises:
        _BrokenError: a score is NaN or infinite.
    """
    import numpy as np

    batch = _batch_of()
    scores = _checked_scores(metric, batch)
    not_finite = np.flatnonzero(~np.isfinite(scores))
    if len(not_finite):
        row = int(not_finite[0])
        raise _BrokenError(f"{(batch.references[row], batch.candidates[row])} has {scores[row]}")
    return f"{len(batch)} pairs"


def _check_range(metric: Metric) -> str:
    """Check that scores are in the declared range, and return the range.

    Raises:
        _BrokenError: a score is outside the declared range.
    """
    import numpy as np

    low, high = metric.declaration.low, metric.declaration.high
    batch = _batch_of()
    scores = _checked_scores(metric, batch)
    slack = metric.declaration.tolerance
    # negated, so that NaN counts as outside
    outside = np.flatnonzero(~((scores >= low - slack) & (scores <= high + slack)))
    if len(outside):
        row = int(outside[0])
        pair = (batch.references[row], batch.candidates[row])
        observed = f"found {scores.min():.6g} to {scores.max():.6g}: {pair} has {scores[row]:.6g}"
        raise _BrokenError(f"declared {low:g} to {high:g}, {observed} ({len(outside)} pairs are outside)")
    return f"{low:g} to {high:g}"


def _check_perfect(metric: Metric) -> str:
    """Check that identical texts have the perfect score if one is declared, and return that score.

    Raises:
        _BrokenError: a text and itself have another score.
    """
    import numpy as np

    expected = metric.declaration.perfect
    if expected is None:
        return "none declared"
    batch = _batch_of(tuple((text, text) for pair in _PAIRS for text in pair))
    scores = _checked_scores(metric, batch)
    differing = np.flatnonzero(~np.isclose(scores, expected, rtol=0, atol=metric.declaration.tolerance))
    if len(differing):
        row = int(differing[0])
        text, score = batch.references[row], scores[row]
        raise _BrokenError(
            f"declared {expected:g}, but {text!r} and itself have {score:.6g} ({len(differing)} of {len(batch)} texts)"
        )
    return f"{expected:g} for identical texts"


def _check_symmetry(metric: Metric) -> str:
    """Check that exchanging the texts changes no score, if symmetry is declared.

    Raises:
        _BrokenError: a score changes.
    """
    if not metric.declaration.symmetric:
        return "not declared"
    batch = _batch_of()
    scores, exchanged_scores = _checked_scores(metric, batch), _checked_scores(metric, batch.swapped())
    _require_equal(metric, scores, exchanged_scores, batch, "declared symmetric, but exchanged")
    return "symmetric"


def _check_empty(metric: Metric) -> str:
    """Check that pairs with empty texts have finite scores, and an empty batch has none; return scores of such pairs.

    The returned text has the scores of two empty texts, of an empty reference and of an empty candidate.

    Raises:
        _BrokenError: a score is NaN or infinite, or the empty batch has scores.
    """
    import numpy as np

    scores = _checked_scores(metric, _batch_of(_EMPTY))
    _require(bool(np.isfinite(scores).all()), f"empty texts have {scores.tolist()}")
    _require(len(_checked_scores(metric, Batch([], [], []))) == 0, "an empty batch has scores")
    return f"both empty {scores[0]:g}; one empty {scores[1]:g} and {scores[2]:g}"


def _check_batch_and_order(metric: Metric) -> str:
    """Check that a score depends neither on the other pairs of its batch nor on their order.

    Raises:
        _BrokenError: a score does.
    """
    import numpy as np

    batch = _batch_of()
    together = _checked_scores(metric, batch)
    alone = np.concatenate([_checked_scores(metric, batch.take([row])) for row in range(len(batch))])
    _require_equal(metric, together, alone, batch, "in the batch and alone")
    order = [*range(1, len(batch), 2), *range(0, len(batch), 2)]
    reordered = batch.take(order)
    _require_equal(metric, together[order], _checked_scores(metric, reordered), reordered, "in order and out of order")
    return "the same alone, in a batch and in another order"


def _check_deterministic(metric: Metric) -> str:
    """Check that the metric, when loaded again, returns the same scores.

    Raises:
        _BrokenError: a score differs.
    """
    batch = _batch_of()
    scores, repeated_scores = _checked_scores(metric, batch), _checked_scores(load_metric(metric.name), batch)
    _require_equal(metric, scores, repeated_scores, batch, "scored twice")
    return "the same twice"


_STATIC_CHECKS: tuple[tuple[str, Callable[[Metric], str]], ...] = (
    ("declaration", _check_declaration),
    ("name", _check_name),
    ("pickle", _check_pickle),
    ("signature", _check_signature),
)
_SCORE_CHECKS: tuple[tuple[str, Callable[[Metric], str]], ...] = (
    ("finite", _check_finite),
    ("range", _check_range),
    ("perfect score", _check_perfect),
    ("symmetry", _check_symmetry),
    ("empty texts", _check_empty),
    ("batch and order", _check_batch_and_order),
    ("determinism", _check_deterministic),
)
