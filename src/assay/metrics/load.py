"""Metrics by name, loaded: from what the user writes, or from a file that somebody else may have written."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from assay.common.configuration import APPLIED
from assay.exceptions import AssayError, InputError, UnavailableError
from assay.metrics.base import Metric
from assay.metrics.code import load_code, names_code
from assay.metrics.name import SUBJECT, MetricName, format_value, options_of
from assay.metrics.registry import registry


def load_metric(
    metric: str | MetricName | Metric | type[Metric] | Callable[..., Any] | tuple[str, Any] | Any,
) -> Metric:
    """Return the metric of a name such as ``f1``, ``bleu:paper`` or ``recorded:sas``.

    Args:
        metric: the name as text or parsed, a metric (returned unchanged), a metric class whose options have defaults,
            a function of (reference, candidate), see :func:`~assay.metrics.function.metric`, or an object of another
            library, see :mod:`assay.metrics.objects`; or a pair of the name that tables show and any of these.

    Raises:
        InputError: not a name, an unknown name (the message lists similar ones), an unknown option or option set, an
            invalid value, no value for an option without a default, or code of the user's that cannot be used.
        UnavailableError: a third party's metric cannot be imported, or Jinja, which fills in the prompts of judges, is
            not installed.
        UntrustedMetricError: the configuration file has the name, and the metric runs code, calls a server or reads a
            key.

    Example:
        >>> load_metric("bleu,smoothing=floor").smoothing
        'floor'
    """
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, type) and issubclass(metric, Metric):
        return registry().build_class(metric)
    if isinstance(metric, tuple) and len(metric) == 2 and isinstance(metric[0], str):
        return _load_under_name(*metric)
    if not isinstance(metric, str | MetricName):
        return _load_object(metric)
    name = metric if isinstance(metric, MetricName) else MetricName.parse(metric)
    configuration = APPLIED.get()
    is_from_file = configuration is not None and configuration.names(name.text)
    if names_code(name):
        if is_from_file:
            raise UntrustedMetricError(name.text, f"{name.name}:{name.subject}")
        return load_code(name)
    loaded = registry().build(name)
    if is_from_file:
        # the object that is used is checked, wherever in the command it is loaded
        _refuse_reaching_out(loaded)
    return loaded


def _load_object(value: Any) -> Metric:
    """Return the metric of a function, or of an object of another library.

    Raises:
        InputError: the object is of another kind or compares no two texts, or the name of the function cannot be that
            of a metric or belongs to another one.
    """
    from assay.metrics.function import function_metric
    from assay.metrics.objects import metric_of_object

    if isinstance(value, type):
        problem = f"not a class; make an object of it: {value.__name__}()"
    else:
        metric = metric_of_object(value)
        if metric is not None:
            return metric
        if callable(value):
            return function_metric(value)
        problem = f"not {type(value).__name__}"
    raise InputError(
        f"metric {value!r}: expected a name such as 'f1', a metric, a function of two texts, a model of "
        f"sentence-transformers, or a metric of evaluate or sacrebleu, {problem}"
    )


def _load_under_name(name: str, metric: Any) -> Metric:
    """Return a metric that tables show under a name of the user's.

    Raises:
        InputError: no metric can have the name, or another one has it; and as for :func:`load_metric`.
        UnavailableError: as for :func:`load_metric`.
    """
    from assay.metrics.function import check_name, function_metric

    is_lambda = getattr(metric, "__name__", "") == "<lambda>"
    loaded = copy.copy(function_metric(metric, name=name) if is_lambda else load_metric(metric))
    if loaded.name.name != name:
        check_name(name)
    # as for a metric that is loaded by a name with an alias
    object.__setattr__(loaded, "_typed", replace(loaded.name, alias=name))
    return loaded


class UntrustedMetricError(UnavailableError):
    """The name of a metric, which somebody else wrote, reaches outside of the installed packages.

    Attributes:
        metric: the name of the metric.
        reached: the code, server or key that it would use.
    """

    def __init__(self, metric: str, reached: str) -> None:
        super().__init__(f"metric {metric} would run code or call a server ({reached})", "name it yourself")
        self.metric, self.reached = metric, reached

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the class and its arguments for pickling."""
        return type(self), (self.metric, self.reached)


def load_untrusted_metric(name: str) -> Metric:
    """Return the metric of a name that a file has: a configuration, a run, a combination or a suite.

    Somebody else may have written the file, so use the metric that this returns: it is the object that was checked.

    Raises:
        UntrustedMetricError: the metric runs code, calls a server or reads a key.
        InputError, UnavailableError: as for :func:`load_metric`; what cannot be built is not known to be harmless.
    """
    parsed = MetricName.parse(name)
    if names_code(parsed):
        # loading it would run it already
        raise UntrustedMetricError(name, f"{parsed.name}:{parsed.subject}")
    metric = load_metric(parsed)
    _refuse_reaching_out(metric)
    return metric


def foreign_code_of(name: str) -> str:
    """Return the code or server that a metric of a name would use, as :meth:`Metric.foreign_code`; runs none of it.

    Empty for a metric that uses neither.

    Raises:
        InputError, UnavailableError: as for :func:`load_metric`.
    """
    parsed = MetricName.parse(name)
    return parsed.text if names_code(parsed) else load_metric(parsed).foreign_code()


def _refuse_reaching_out(metric: Metric) -> None:
    """Raise UntrustedMetricError for a metric that runs code or calls a server, or whose options name or allow that.

    Raises:
        UntrustedMetricError: the metric reaches out in one of these ways.
        AssayError: what it reaches cannot be determined, and no option says it.
    """
    reaching = []
    for key, declared in options_of(type(metric)).items():
        value = getattr(metric, key)
        if declared.reaches_out and value is not None and value != declared.default:
            reaching.append(str(value) if key == SUBJECT else f"{declared.name}={format_value(value)}")
    try:
        reached = metric.foreign_code()
    except AssayError:
        # such as a combination whose members cannot be loaded
        if not reaching:
            raise
        reached = ""
    if reached or reaching:
        raise UntrustedMetricError(str(metric), reached or ", ".join(reaching))
