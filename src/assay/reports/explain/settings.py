"""Settings of ``assay explain``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from assay.errors import InputError
from assay.settings import Graphs, Hardware, Limited, Offline, OwnData, setting


@dataclass(frozen=True)
class ExplainSettings(OwnData, Graphs, Limited, Hardware, Offline):
    """What is explained: two texts, or pairs of some data, under one metric."""

    reference: str | None = setting("The first text.", None, argument=True)
    candidate: str | None = setting("The second text.", None, argument=True)
    _: KW_ONLY
    metric: Any = setting(
        "s3bert:FOLDER, bertscore:MODEL, cross-encoder:MODEL, sas, or amr:smatch.",
        flags=("--metric", "-m"),
        metavar="METRIC",
    )
    pairs: Any = setting(
        "Instead of two texts: a file, or a dataset.",
        None,
        flags=("--pairs", "-p", "--dataset", "-d"),
        metavar="DATASET",
    )
    pair_ids: Sequence[str] = setting(
        "Only the pair with this pair_id. In a file without that column it is the number of the row; the "
        "header of a CSV is row 1.",
        (),
        flags=("--pair",),
        metavar="ID",
    )

    def check(self) -> None:
        """Refuse one text alone, and texts beside data."""
        texts = [text for text in (self.reference, self.candidate) if text is not None]
        if len(texts) != (0 if self.pairs is not None else 2):
            raise InputError("explain what? give two texts, or data with `pairs`, and not both")
