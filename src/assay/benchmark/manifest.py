"""The manifest of a run: what was asked for, what was found, and where."""

from __future__ import annotations

import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.benchmark.outcome import DatasetScores, Outcome
from assay.metrics.provenance import version_of
from assay.tables import RUN_SCHEMA

__all__ = ["describe_run"]

#: Packages that can change a number of a run.
_PACKAGES = (
    "assay",
    "numpy",
    "scipy",
    "pandas",
    "pyarrow",
    "sacrebleu",
    "rouge-score",
    "nltk",
    "rapidfuzz",
    "regex",
    "torch",
    "transformers",
    "tokenizers",
    "sentence-transformers",
    "onnxruntime",
    "openvino",
    "bert-score",
    "spacy",
    "POT",
    "penman",
    "smatchpp",
    "amrlib",
)


def describe_run(outcome: Outcome) -> dict[str, Any]:
    """Return the manifest of a run as plain values."""
    request = outcome.request
    return {
        "schema": RUN_SCHEMA,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "request": request.describe(),
        "request_digest": request.digest(),
        "signature": _run_signature(outcome),
        "datasets": [_describe_dataset(one) for one in outcome.datasets],
        "metrics": [vars(status) for status in outcome.metrics],
        "buckets": [vars(summary) for summary in outcome.buckets],
        "failures": outcome.failures,
        "seconds": outcome.seconds,
        "environment": _environment(),
    }


def _run_signature(outcome: Outcome) -> str:
    """Return one line that says how the numbers were resampled, in the manner of a metric's signature."""
    request = outcome.request
    parts = {
        "bootstrap": "expanded-percentile" if request.resamples else "none",
        "resamples": request.resamples,
        "confidence": request.confidence,
        "seed": request.seed,
        "group": request.group_by or "data",
        "references": request.references,
        "duplicates": "dropped" if request.drop_duplicates else "kept",
        "limit": request.limit or "none",
        "assay": version_of("assay"),
    }
    return "|".join(f"{key}:{value}" for key, value in parts.items())


def _describe_dataset(dataset: DatasetScores) -> dict[str, Any]:
    pairs = dataset.pairs
    return {
        "name": pairs.name,
        "version": pairs.version,
        "split": pairs.split,
        "language": pairs.language,
        "kind": pairs.kind,
        "scale": pairs.scale,
        "n": len(pairs),
        "source": pairs.source,
        "sha256": pairs.sha256,
        "columns": pairs.columns,
        "digest": pairs.digest,
        "notes": list(pairs.notes),
        "duplicates_dropped": dataset.duplicates_dropped,
        "group": dataset.group_column,
    }


def _environment() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "packages": {name: version_of(name) for name in _PACKAGES},
        "argv": sys.argv[1:] if Path(sys.argv[0]).name in ("assay", "__main__.py") else [],
    }
