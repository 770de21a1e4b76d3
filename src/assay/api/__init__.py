"""The Python API: what the command line does, for Python users; names are loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.api.augmented import train_augmented
    from assay.api.comparing import compare
    from assay.api.crossvalidating import crossval
    from assay.api.deciding import thresholds
    from assay.api.diagnosis import diagnose
    from assay.api.explaining import Explained, explain
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

#: No module has the name of its function: once imported, it would hide the function.
_HOMES = {
    "Checked": "gating",
    "Explained": "explaining",
    "Report": "reporting",
    "Result": "result",
    "agree_file": "files",
    "baseline": "gating",
    "best_worst": "scaling",
    "check": "gating",
    "compare": "comparing",
    "compare_systems": "significance",
    "crossval": "crossvalidating",
    "diagnose": "diagnosis",
    "evaluate_categories": "finding",
    "explain": "explaining",
    "find_errors": "finding",
    "leaderboard": "ranking",
    "list_published": "published",
    "profile": "profiling",
    "recommend": "recommending",
    "relatedness": "relating",
    "report": "paging",
    "reproduce": "published",
    "run": "running",
    "score_file": "files",
    "sweep": "sweeping",
    "thresholds": "deciding",
    "train_augmented": "augmented",
    "train_mid_tuning": "midtuning",
    "train_pairs": "pairwise",
    "train_s3bert": "training",
    "tune": "tuning",
    "verify": "verifying",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
