"""The result of a stress test as plain values, and the file that a run folder keeps of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from pydantic import FiniteFloat, TypeAdapter, ValidationError

from assay.analysis.stress import FILE_NAME
from assay.analysis.stress.effects import Effect
from assay.errors import InputError
from assay.output import atomic_write, json_text

#: The version of the schema of the file.
SCHEMA = 1


@dataclass(frozen=True)
class Subject:
    """One metric on one dataset.

    Attributes:
        dataset: the name of the dataset.
        title: the title of the dataset in tables.
        metric: the name of the metric.
        n: the number of pairs of the dataset.
        verdicts: the origin of the verdicts, in words; empty without verdicts.
        agreement: the share of verdicts on the original pairs that people agree with; None without labels.
        effects: the effects of the perturbations that apply.
        signature: the short signature of the metric.
        notes: caveats.
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
    """The effects of perturbations on metrics.

    Attributes:
        subjects: the results, ordered by dataset and then by metric.
        notes: lines on perturbations that were left out, with the reason.
        draws: the signature of intervals and perturbations.
        interval: a description of the intervals; empty without intervals.
        hints: hints that the data may have been read differently than the user intended.
        schema: the version of the file's schema.
    """

    subjects: tuple[Subject, ...]
    notes: tuple[str, ...]
    draws: str
    interval: str
    hints: tuple[str, ...] = ()
    schema: int = SCHEMA


_STUDY = TypeAdapter(StressStudy)


def save_study(study: StressStudy, folder: Path) -> Path:
    """Write a study into a run folder atomically, and return the path of the file."""
    path = folder / FILE_NAME
    with atomic_write(path) as scratch:
        # texts may have lone surrogates, which UTF-8 refuses; in JSON strings their escapes stand for them
        scratch.write_text(
            json_text(_STUDY.dump_python(study, mode="json")), encoding="utf-8", errors="backslashreplace"
        )
    return path


def read_study(folder: Path) -> StressStudy | None:
    """Return the study in a run folder, validated; None if there is none.

    Raises:
        InputError: it is not a file that ``assay stress`` wrote, or that of a newer assay.
    """
    path = folder / FILE_NAME
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
    # a ValidationError is a ValueError; deeply nested JSON exhausts the recursion of the parser
    except (OSError, ValueError, RecursionError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        raise InputError(
            f"{path}: is not a result of assay stress ({reason}); remove it, or run assay stress again"
        ) from None
