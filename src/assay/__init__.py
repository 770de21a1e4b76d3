"""assay: how far can a similarity metric be trusted?

The public API; every name is loaded when it is first used, so that ``import assay`` stays light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.lazy import on_first_use

if TYPE_CHECKING:
    from assay.api import (
        Report,
        Result,
        compare,
        explain,
        figure,
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
else:
    __getattr__, __dir__ = on_first_use(__name__)

__version__ = "0.1.0"

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
    "figure",
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
