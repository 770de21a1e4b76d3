"""Reading a baseline, whatever was done to it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from assay.errors import InputError
from assay.reports.gate.baseline import BASELINE_SCHEMA, Baseline, BaselineDataset, BaselineMetric
from assay.reports.gate.packing import digest_of, unpack

__all__ = ["read_baseline"]

_REMEDY = "write it again with: assay baseline RUN --out FILE"


def read_baseline(path: Path) -> Baseline:
    """Read a baseline.

    Raises:
        InputError: there is no such file, it is no baseline, was changed by hand, or was written by a newer assay.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such baseline; {_REMEDY}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is no valid JSON ({error}); {_REMEDY}") from error
    schema = value.get("schema") if isinstance(value, dict) else None
    if not isinstance(schema, int) or isinstance(schema, bool):
        raise InputError(f"{path}: has no schema version; is this a baseline of assay? {_REMEDY}")
    if schema > BASELINE_SCHEMA:
        raise InputError(
            f"{path}: was written by a newer assay (schema {schema}, this one reads up to {BASELINE_SCHEMA}); "
            "update assay with: pip install --upgrade assay"
        )
    return _Reader(path).baseline(value)


class _Reader:
    """Takes values out of the JSON of one file; what is not there or of another kind is named by its place."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def fail(self, place: str, what: str) -> InputError:
        return InputError(f"{self.path}: {f'{place} ' if place else ''}{what}; {_REMEDY}")

    def take(self, held: dict[str, Any], key: str, kind: type | tuple[type, ...], place: str) -> Any:
        if key not in held:
            raise self.fail(place, f"has no {key!r}")
        if not isinstance(held[key], kind) or (isinstance(held[key], bool) and kind is not bool):
            raise self.fail(place, f"has another kind of {key!r} than a baseline")
        return held[key]

    def baseline(self, value: dict[str, Any]) -> Baseline:
        datasets = self.take(value, "datasets", dict, "")
        confidence = self.take(value, "confidence", (int, float), "")
        if not 0 < confidence < 1:
            raise self.fail("", f"has the confidence {confidence}, which is not between 0 and 1")
        return Baseline(
            assay=self.take(value, "assay", str, ""),
            run=self.take(value, "run", str, ""),
            confidence=float(confidence),
            datasets={name: self.dataset(self.take(datasets, name, dict, name), name) for name in datasets},
        )

    def dataset(self, held: dict[str, Any], place: str) -> BaselineDataset:
        metrics = self.take(held, "metrics", dict, place)
        n = self.take(held, "n", int, place)
        if not 0 <= n < 1 << 40:
            raise self.fail(place, f"has {n} pairs")
        return BaselineDataset(
            version=self.take(held, "version", str, place),
            split=self.take(held, "split", str, place),
            n=n,
            digest=self.take(held, "digest", str, place),
            metrics={
                name: self.metric(self.take(metrics, name, dict, place), n, f"{name} on {place}") for name in metrics
            },
        )

    def metric(self, held: dict[str, Any], n: int, place: str) -> BaselineMetric:
        speed = self.take(held, "pairs_per_second", (int, float), place) if "pairs_per_second" in held else None
        signature = self.take(held, "signature", dict, place)
        agreement = self.take(held, "agreement", dict, place)
        if not all(isinstance(part, str) for part in signature.values()):
            raise self.fail(place, "has a signature that is no list of texts")
        if not all(isinstance(one, dict) and all(map(_is_estimate, one.values())) for one in agreement.values()):
            raise self.fail(place, "has an agreement that is no [value] or [value, low, high]")
        if speed is not None and not 0 < speed < math.inf:
            raise self.fail(place, f"has the speed {speed}")
        try:
            scores = unpack(self.take(held, "scores", str, place), n)
        except ValueError as error:
            raise self.fail(place, f"has scores that cannot be read ({error})") from error
        found = BaselineMetric(signature, speed, agreement, scores)
        if digest_of(found.facts, scores) != self.take(held, "digest", str, place):
            raise self.fail(place, "does not fit its digest: it was changed by hand")
        return found


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no number")


def _is_estimate(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) in (1, 3)
        and all(isinstance(one, int | float) and math.isfinite(one) for one in value)
    )
