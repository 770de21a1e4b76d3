"""Settings of ``assay explain``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

from assay.common.declarations import setting
from assay.common.messages import Setting
from assay.exceptions import InputError
from assay.settings import Graphs, Hardware, Limited, Offline, OwnData, Prices


@dataclass(frozen=True)
class ExplainSettings(OwnData, Graphs, Limited, Hardware, Offline, Prices):
    """What is explained: two texts, or pairs of some data, under one metric."""

    reference: str | None = setting("The first text.", None, argument=True)
    candidate: str | None = setting("The second text.", None, argument=True)
    _: KW_ONLY
    metric: Any = setting(
        "combined:answer-judge, s3bert:FOLDER, bertscore:MODEL, cross-encoder:MODEL, sas, amr:smatch, or judge:MODEL.",
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
    svg: str | Path | None = setting("Draw the pairs into this file, too.", None)

    def check(self) -> None:
        """Raise InputError unless either two texts or some data are given."""
        texts = [text for text in (self.reference, self.candidate) if text is not None]
        expected_count = 2 if self.pairs is None else 0
        if len(texts) != expected_count:
            raise InputError("explain what? give two texts, or data with ", Setting("pairs"), ", and not both")
