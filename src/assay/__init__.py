"""assay: how far can a similarity metric be trusted?

The public API; every name is loaded when it is first used, so that ``import assay`` stays light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.common.lazy import lazy_attributes

if TYPE_CHECKING:
    from assay.api.agree import agree
    from assay.api.annotate import annotate
    from assay.api.baseline import baseline
    from assay.api.bws import bws
    from assay.api.cache import list_cache, prune_cache
    from assay.api.check import Checked, check
    from assay.api.combine import combine
    from assay.api.compare import compare
    from assay.api.crossval import crossval
    from assay.api.doctor import doctor
    from assay.api.downstream import downstream
    from assay.api.errors import errors, evaluate_categories
    from assay.api.evaluator import AssayEvaluator
    from assay.api.explain import Explained, explain
    from assay.api.figure import figure
    from assay.api.leaderboard import leaderboard
    from assay.api.power import power
    from assay.api.profile import profile
    from assay.api.rate import Rated, rate
    from assay.api.recommend import recommend
    from assay.api.relatedness import relatedness
    from assay.api.report import report
    from assay.api.reproduce import list_published, reproduce
    from assay.api.result import Result
    from assay.api.run import estimate, run
    from assay.api.sample import sample
    from assay.api.score import score
    from assay.api.significance import significance
    from assay.api.stress import estimate_stress, stress
    from assay.api.sweep import sweep
    from assay.api.systems import systems
    from assay.api.table import table
    from assay.api.thresholds import thresholds
    from assay.api.train import (
        train_augmented,
        train_bi_encoder,
        train_cross_encoder,
        train_mid_tuning,
        train_s3bert,
    )
    from assay.api.tune import tune
    from assay.api.tuples import tuples
    from assay.api.values import Report
    from assay.api.verify import verify
    from assay.datasets import Pairs, load_dataset
    from assay.exceptions import AssayError, InputError, UnavailableError
    from assay.metrics import Batch, Metric, MetricName, as_evaluate, list_metrics, load_metric, metric
else:
    __getattr__, __dir__ = lazy_attributes(__name__)

__version__ = "0.1.0"

__all__ = [
    "AssayError",
    "AssayEvaluator",
    "Batch",
    "Checked",
    "Explained",
    "InputError",
    "Metric",
    "MetricName",
    "Pairs",
    "Rated",
    "Report",
    "Result",
    "UnavailableError",
    "__version__",
    "agree",
    "annotate",
    "as_evaluate",
    "baseline",
    "bws",
    "check",
    "combine",
    "compare",
    "crossval",
    "doctor",
    "downstream",
    "errors",
    "estimate",
    "estimate_stress",
    "evaluate_categories",
    "explain",
    "figure",
    "leaderboard",
    "list_cache",
    "list_metrics",
    "list_published",
    "load_dataset",
    "load_metric",
    "metric",
    "power",
    "profile",
    "prune_cache",
    "rate",
    "recommend",
    "relatedness",
    "report",
    "reproduce",
    "run",
    "sample",
    "score",
    "significance",
    "stress",
    "sweep",
    "systems",
    "table",
    "thresholds",
    "train_augmented",
    "train_bi_encoder",
    "train_cross_encoder",
    "train_mid_tuning",
    "train_s3bert",
    "tune",
    "tuples",
    "verify",
]
