"""The result of a stress test as plain values, and the file that a run folder keeps of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from pydantic import FiniteFloat, TypeAdapter, ValidationError

from assay.errors import InputError
from assay.output import json_text, written_whole
from assay.reports.stress.effects import Effect

#: The file in a run folder, and the version of its form.
NAME = "stress.json"
SCHEMA = 1


@dataclass(frozen=True)
class Subject:
    """One metric on one dataset.

    Attributes:
        dataset: its name.
        title: how tables name it.
        metric: its name.
        n: pairs of the dataset.
        verdicts: where a verdict comes from, in words; empty where there are none.
        agreement: share of the verdicts on the pairs as they were that people agree with; None without labels.
        effects: of the perturbations that apply.
        signature: what makes the scores, in short.
        notes: what a reader should know beside.
    """

    dataset: str
    title: str
    metric: str
    n: int
    verdicts: str
    agreement: FiniteFloat | None
    effects: tuple[Effect, ...]
    signature: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class StressStudy:
    """What perturbations did to metrics.

    Attributes:
        subjects: by dataset, then by metric.
        notes: perturbations that were left out, and why.
        draws: how intervals and perturbations were drawn.
        interval: of the intervals, in words; empty for none.
        hints: on how the data may have been read in another way than the user meant.
        schema: version of the form.
    """

    subjects: tuple[Subject, ...]
    notes: tuple[str, ...]
    draws: str
    interval: str
    hints: tuple[str, ...] = ()
    schema: int = SCHEMA


_STUDY = TypeAdapter(StressStudy)


def save_study(study: StressStudy, folder: Path) -> Path:
    """Write a study into a run folder, whole or not at all, and return the file."""
    path = folder / NAME
    with written_whole(path) as scratch:
        scratch.write_text(
            json_text(_STUDY.dump_python(study, mode="json")), encoding="utf-8", errors="backslashreplace"
        )
    return path


def read_study(folder: Path) -> StressStudy | None:
    """Return the study in a run folder, validated; None where there is none.

    Raises:
        InputError: it is no file that ``assay stress`` wrote, or that of a newer assay.
    """
    path = folder / NAME
    if not path.is_file():
        return None
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(values, dict) and isinstance(values.get("schema"), int) and values["schema"] > SCHEMA:
            raise InputError(f"{path}: was written by a newer assay (schema {values['schema']}); update assay")
        study = _STUDY.validate_python(values)
        if not any(subject.effects for subject in study.subjects):
            raise ValueError("it has no perturbation")
        return study
    except (OSError, ValueError, RecursionError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        raise InputError(
            f"{path}: is no result of assay stress ({reason}); remove it, or run assay stress again"
        ) from None
