"""The Python API: what the command line does, for Python users; names are loaded when first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.lazy import on_first_use

# No module has the name of its function: once imported, it would hide the function.
if TYPE_CHECKING:
    from assay.api.augmented import train_augmented
    from assay.api.comparing import compare
    from assay.api.crossvalidating import crossval
    from assay.api.deciding import thresholds
    from assay.api.diagnosis import diagnose
    from assay.api.explaining import Explained, explain
    from assay.api.figures import figure
    from assay.api.files import agree_file, score_file
    from assay.api.finding import evaluate_categories, find_errors
    from assay.api.gating import Checked, baseline, check
    from assay.api.midtuning import train_mid_tuning
    from assay.api.paging import report
    from assay.api.pairwise import train_pairs
    from assay.api.profiling import profile
    from assay.api.published import list_published, reproduce
    from assay.api.ranking import leaderboard
    from assay.api.recommending import recommend
    from assay.api.relating import relatedness
    from assay.api.reporting import Report
    from assay.api.result import Result
    from assay.api.running import run
    from assay.api.scaling import best_worst
    from assay.api.significance import compare_systems
    from assay.api.sweeping import sweep
    from assay.api.training import train_s3bert
    from assay.api.tuning import tune
    from assay.api.verifying import verify
else:
    __getattr__, __dir__ = on_first_use(__name__)

__all__ = [
    "Checked",
    "Explained",
    "Report",
    "Result",
    "agree_file",
    "baseline",
    "best_worst",
    "check",
    "compare",
    "compare_systems",
    "crossval",
    "diagnose",
    "evaluate_categories",
    "explain",
    "figure",
    "find_errors",
    "leaderboard",
    "list_published",
    "profile",
    "recommend",
    "relatedness",
    "report",
    "reproduce",
    "run",
    "score_file",
    "sweep",
    "thresholds",
    "train_augmented",
    "train_mid_tuning",
    "train_pairs",
    "train_s3bert",
    "tune",
    "verify",
]
