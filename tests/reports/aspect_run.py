"""Run folders in which metrics are the aspects of one model: scores are made up, the folders are real ones."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import assay
from assay.metrics.base import Declaration, PairMetric, option

#: As the metric of a model's folder is called.
WHOLE = "s3bert:/models/s3bert"
#: The last one is there to be escaped.
ASPECTS = (
    *("smatch", "wlk", "wwlk", "frames", "unlabeled", "named-entities", "negation", "concepts", "coreference", "srl"),
    *("max-indegree", "max-outdegree", "max-degree", "root", "quantifiers", "residual", "<b>&odd"),
)
#: Pairs of each dataset; every twelfth is a matter of negation.
N = 240


@dataclass(frozen=True)
class MadeUp(PairMetric):
    """The label, which stands in the candidate, with noise that grows with the aspect's place; in [0, 1].

    Where a word is negated, the aspect of negation is .15 and every other one .9, whatever the label.
    """

    declaration: ClassVar[Declaration] = Declaration("s3bert", "made up", subject="a folder", kind="embedding")
    subject: str = option("", help="folder and aspect")

    def __post_init__(self) -> None:
        super().__post_init__()
        folder, found, aspect = self.subject.partition("#")
        if found:
            self.redeclare(aspect=aspect, whole=f"s3bert:{folder}")

    def scorer(self) -> Callable[[str, str], float]:
        aspect = self.subject.partition("#")[2]
        place = ASPECTS.index(aspect) if aspect else 0

        def score(reference: str, candidate: str) -> float:
            if "not" in reference:
                return 0.15 if aspect == "negation" else 0.9
            noise = zlib.crc32(f"{aspect}|{reference}|{candidate}".encode()) / 2**32 - 0.5
            return min(max(float(candidate.split()[-1]) + noise * (0.2 + 0.15 * place), 0.0), 1.0)

        return score


def metrics(aspects: tuple[str, ...] = ASPECTS, *, whole: bool = True) -> list[MadeUp]:
    """Return the metric of the whole and those of its aspects."""
    folder = WHOLE.partition(":")[2]
    return [*([MadeUp(folder)] if whole else []), *(MadeUp(f"{folder}#{aspect}") for aspect in aspects)]


def rows(seed: int) -> list[dict[str, Any]]:
    """Return labelled pairs; people gave a category to those with a negation, whose label is 0."""
    found = []
    for number in range(N):
        negated = number % 12 == 5
        label = 0.0 if negated else round(zlib.crc32(f"{seed}|{number}".encode()) / 2**32, 3)
        found.append(
            {
                "reference": f"the cat {'does not see' if negated else 'sees'} window {number}",
                "candidate": f"the cat sees a window of {label}",
                "label": label,
                "category": "Negation" if negated else None,
            }
        )
    return found


def make_aspect_run(folder: Path, *, datasets: int = 2, **settings: Any) -> Path:
    """Run the model and its aspects on some datasets and return the run folder."""
    pairs = [assay.load_dataset(rows(seed), name=f"data-{seed}") for seed in range(datasets)]
    settings = {"metrics": metrics(), "buckets": ["none"], "resamples": 100, **settings}
    assay.run(pairs, out=folder, **settings)
    return folder
