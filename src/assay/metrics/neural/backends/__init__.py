"""Which runtime computes a model: torch, or one that it is converted for once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.metrics.neural.body import Body, ScorerBody, TorchBody, TorchScorerBody

if TYPE_CHECKING:
    from assay.metrics.neural.cross import CrossEngine
    from assay.metrics.neural.encoder import EncoderEngine

__all__ = ["open_encoder_body", "open_scorer_body"]


def open_encoder_body(model: Any, device: str, engine: EncoderEngine, *, threads: int) -> Body:
    """Return the body of an encoder on a device.

    Args:
        model: transformers' model, on the device; in fp32 for another backend than torch.
        device: torch's name of it.
        engine: names backend and precision.
        threads: of the CPU.

    Raises:
        InputError: the backend has no such precision.
        UnavailableError: a package is missing, the model cannot be converted, or its scores change too much.
    """
    if engine.backend == "torch":
        return TorchBody(model, device)
    from assay.metrics.neural.backends.converted import ConvertedBody

    return ConvertedBody(model, engine, threads)


def open_scorer_body(model: Any, device: str, engine: CrossEngine, *, threads: int) -> ScorerBody:
    """Return the body of a cross-encoder on a device; see :func:`open_encoder_body`."""
    if engine.backend == "torch":
        return TorchScorerBody(model, device)
    from assay.metrics.neural.backends.converted import ConvertedScorerBody

    return ConvertedScorerBody(model, engine, threads)
