"""assay: how far can a similarity metric be trusted?

The public API; every name is loaded when it is first used, so that ``import assay`` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.api import (
        Report,
        Result,
        compare,
        explain,
        find_errors,
        leaderboard,
        profile,
        recommend,
        report,
        run,
        sweep,
        verify,
    )
    from assay.datasets import Pairs, load_dataset
    from assay.errors import AssayError, InputError, UnavailableError
    from assay.metrics import Batch, Metric, MetricName, as_evaluate, list_metrics, load_metric

__version__ = "0.1.0"

_HOMES = {
    "Report": "assay.api",
    "Result": "assay.api",
    "compare": "assay.api",
    "explain": "assay.api",
    "find_errors": "assay.api",
    "leaderboard": "assay.api",
    "recommend": "assay.api",
    "report": "assay.api",
    "verify": "assay.api",
    "profile": "assay.api",
    "run": "assay.api",
    "sweep": "assay.api",
    "Pairs": "assay.datasets",
    "load_dataset": "assay.datasets",
    "AssayError": "assay.errors",
    "InputError": "assay.errors",
    "UnavailableError": "assay.errors",
    "Batch": "assay.metrics",
    "Metric": "assay.metrics",
    "MetricName": "assay.metrics",
    "as_evaluate": "assay.metrics",
    "list_metrics": "assay.metrics",
    "load_metric": "assay.metrics",
}

__all__ = [
    "AssayError",
    "Batch",
    "InputError",
    "Metric",
    "MetricName",
    "Pairs",
    "Report",
    "Result",
    "UnavailableError",
    "__version__",
    "as_evaluate",
    "compare",
    "explain",
    "find_errors",
    "leaderboard",
    "list_metrics",
    "load_dataset",
    "load_metric",
    "profile",
    "recommend",
    "report",
    "run",
    "sweep",
    "verify",
]


def __getattr__(name: str) -> Any:
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module 'assay' has no attribute {name!r}") from None
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
