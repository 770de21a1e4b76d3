"""What decides the numbers of a model, and where they are computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

__all__ = ["ModelEngine"]


@dataclass(frozen=True)
class ModelEngine:
    """The settings that metrics of one model must share to share its session; see :class:`assay.metrics.work.Engine`.

    Attributes:
        folder: the checked model folder.
        digest: of its files.
        backend: ``torch``, ``onnxruntime`` or ``openvino``.
        precision: ``fp32``, ``bf16``, ``fp16`` or ``int8``.
        devices: torch's names; several hold a copy of the model each.
        threads: of the CPU, or None for the cores that are free.
        tokens: tokens in a batch.
        reads_pairs: whether the model reads both texts of a pair at once.
    """

    reads_pairs: ClassVar[bool] = False

    folder: str
    digest: str
    backend: str
    precision: str
    devices: tuple[str, ...]
    threads: int | None
    tokens: int
