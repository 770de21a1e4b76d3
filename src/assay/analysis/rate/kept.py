"""The estimates that ``assay rate --keep`` keeps in the folder of the decision, for the page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from assay.analysis.folder import RunFolder
from assay.analysis.recommend.evidence import folder_digest, read_kept_file
from assay.common.output import atomic_write
from assay.exceptions import InputError

#: The file in a run folder.
FILE_NAME = "rates.json"
#: The version of the file; a file of another version is not read.
VERSION = 1


@dataclass(frozen=True)
class KeptPart:
    """The estimate for all new answers, or for a part of them.

    Attributes:
        column: the column whose value the part has; empty for all answers.
        name: the value, or ``all``.
        answers: the number of new answers.
        labelled: the number of labelled answers that the estimate rests on.
        borrowed: whether these are answers of other parts.
        value, low, high: the estimate with its interval; None if undefined.
    """

    column: str
    name: str
    answers: int
    labelled: int
    borrowed: bool
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class KeptRating:
    """The estimates for one file of new answers.

    Attributes:
        title: the name of the new answers.
        metric: the metric whose scores were corrected.
        kind: ``share`` of yes, or ``mean`` label.
        positive: the rule for the labels that mean yes; None if the labels are votes or grades.
        confidence: the level of the intervals.
        parts: the estimates, that of all answers first.
        warnings: why the estimates may not hold.
    """

    title: str
    metric: str
    kind: Literal["share", "mean"]
    positive: str | None
    confidence: float
    parts: list[KeptPart]
    warnings: list[str]


_ADAPTER = TypeAdapter(list[KeptRating])


def keep_rating(run: RunFolder, rating: KeptRating) -> None:
    """Keep the estimates for new answers in the folder of the labelled ones, in place of earlier ones of this name.

    Nothing is written for a run without a folder.

    Raises:
        InputError: the folder cannot be written, or the file in it was changed by hand.
    """
    if run.path is None:
        return
    ratings = [earlier for earlier in kept_ratings(run) if earlier.title != rating.title]
    contents = {
        "version": VERSION,
        "digest": folder_digest(run.path),
        "ratings": _ADAPTER.dump_python([*ratings, rating]),
    }
    try:
        with atomic_write(run.path / FILE_NAME) as file:
            file.write_text(json.dumps(contents, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{run.path / FILE_NAME}: cannot be written ({error.strerror or error})") from error


def kept_ratings(run: RunFolder) -> Sequence[KeptRating]:
    """Return the estimates in the file; none if it is absent, damaged, or of other scores or another version.

    Raises:
        InputError: the file was changed by hand.
    """
    if run.path is None:
        return []
    contents = read_kept_file(run.path, FILE_NAME, VERSION)
    if contents is None:
        return []
    try:
        return _ADAPTER.validate_python(contents.get("ratings"))
    except ValidationError as error:
        raise InputError(f"{run.path / FILE_NAME}: was changed by hand; run assay rate --keep again") from error
