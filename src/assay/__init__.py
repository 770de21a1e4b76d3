"""assay: how far can a similarity metric be trusted?

The public API; every name is loaded when it is first used, so that ``import assay`` stays light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.common.lazy import lazy_attributes

if TYPE_CHECKING:
    from assay.api.agree import agree as agree
    from assay.api.annotate import annotate as annotate
    from assay.api.baseline import baseline as baseline
    from assay.api.bws import bws as bws
    from assay.api.cache import list_cache as list_cache
    from assay.api.cache import prune_cache as prune_cache
    from assay.api.check import Checked as Checked
    from assay.api.check import check as check
    from assay.api.combine import combine as combine
    from assay.api.compare import compare as compare
    from assay.api.crossval import crossval as crossval
    from assay.api.doctor import doctor as doctor
    from assay.api.downstream import downstream as downstream
    from assay.api.errors import errors as errors
    from assay.api.errors import evaluate_categories as evaluate_categories
    from assay.api.evaluator import AssayEvaluator as AssayEvaluator
    from assay.api.explain import Explained as Explained
    from assay.api.explain import explain as explain
    from assay.api.figure import figure as figure
    from assay.api.leaderboard import leaderboard as leaderboard
    from assay.api.power import power as power
    from assay.api.profile import profile as profile
    from assay.api.rate import Rated as Rated
    from assay.api.rate import rate as rate
    from assay.api.recommend import recommend as recommend
    from assay.api.relatedness import relatedness as relatedness
    from assay.api.report import report as report
    from assay.api.reproduce import list_published as list_published
    from assay.api.reproduce import reproduce as reproduce
    from assay.api.result import Result as Result
    from assay.api.run import estimate as estimate
    from assay.api.run import run as run
    from assay.api.sample import sample as sample
    from assay.api.score import score as score
    from assay.api.significance import significance as significance
    from assay.api.stress import estimate_stress as estimate_stress
    from assay.api.stress import stress as stress
    from assay.api.sweep import sweep as sweep
    from assay.api.systems import systems as systems
    from assay.api.table import table as table
    from assay.api.thresholds import thresholds as thresholds
    from assay.api.train import train_augmented as train_augmented
    from assay.api.train import train_bi_encoder as train_bi_encoder
    from assay.api.train import train_cross_encoder as train_cross_encoder
    from assay.api.train import train_mid_tuning as train_mid_tuning
    from assay.api.train import train_s3bert as train_s3bert
    from assay.api.tune import tune as tune
    from assay.api.tuples import tuples as tuples
    from assay.api.values import Report as Report
    from assay.api.verify import verify as verify
    from assay.datasets import Pairs as Pairs
    from assay.datasets import load_dataset as load_dataset
    from assay.exceptions import AssayError as AssayError
    from assay.exceptions import InputError as InputError
    from assay.exceptions import UnavailableError as UnavailableError
    from assay.metrics import Batch as Batch
    from assay.metrics import Metric as Metric
    from assay.metrics import MetricName as MetricName
    from assay.metrics import as_evaluate as as_evaluate
    from assay.metrics import list_metrics as list_metrics
    from assay.metrics import load_metric as load_metric
    from assay.metrics import metric as metric
else:
    __getattr__, __dir__ = lazy_attributes(__name__)

__version__ = "0.1.0"
