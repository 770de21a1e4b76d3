"""What a figure shows of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.errors import InputError

__all__ = ["KINDS", "Settings"]

KINDS = ("agreement", "layers", "scores")


@dataclass(frozen=True)
class Settings:
    """What a figure shows.

    Attributes:
        kind: one of :data:`KINDS`.
        statistic: of the run; Spearman's by default, where the run has it. The kind ``scores`` shows none.
        datasets, metrics, buckets: what is shown; by default all, of scores the bucket ``all``.
        width: in inches, from 1 to 100; the height follows from what is shown.

    Raises:
        InputError: a value outside its range, or a statistic where none is shown.
    """

    kind: str = "agreement"
    statistic: str | None = None
    datasets: Sequence[str] = ()
    metrics: Sequence[str] = ()
    buckets: Sequence[str] = ()
    width: float = 6.5

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"--kind {self.kind}: there are {', '.join(KINDS)}")
        if not 1 <= self.width <= 100:
            raise InputError(f"--width {self.width:g}: must be from 1 to 100 inches")
        if self.kind == "scores" and self.statistic is not None:
            raise InputError(f"--statistic {self.statistic}: has no effect beside --kind scores; leave one of them out")
