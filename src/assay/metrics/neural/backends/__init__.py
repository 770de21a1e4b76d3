"""The runtimes that compute a model: torch, or another one that it is converted for once."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from assay.metrics.neural.body import Body, ScorerBody, TorchBody, TorchScorerBody, pack_linears
from assay.metrics.neural.causal_body import CausalBody

if TYPE_CHECKING:
    from assay.metrics.neural.session import ModelEngine

__all__ = ["open_causal_bodies", "open_encoder_bodies", "open_scorer_bodies"]


def open_encoder_bodies(models: list[Any], engine: ModelEngine, threads: int) -> list[Body]:
    """Return the bodies of an encoder, one a device, or one a thread where torch computes on the CPU.

    Args:
        models: transformers' model on each device. Emptied for another backend than torch, so that both are not in
            memory at once; what is converted is loaded once more, in fp32.
        engine: names devices, backend and precision.
        threads: of the CPU.

    Raises:
        InputError: the backend has no such precision.
        UnavailableError: a package is missing.
    """
    if engine.backend == "torch":
        _pack(models, engine)
        return [TorchBody(model, device) for model, device in _for_threads(models, engine, threads)]
    from assay.metrics.neural.backends.converted import ConvertedBody

    return [ConvertedBody(_take_config(models), engine, threads)]


def open_scorer_bodies(models: list[Any], engine: ModelEngine, threads: int) -> list[ScorerBody]:
    """Return the bodies of a cross-encoder, one a device or thread; see :func:`open_encoder_bodies`.

    Raises:
        InputError: the backend has no such precision.
        UnavailableError: a package is missing, the model cannot be converted, or its scores change too much.
    """
    if engine.backend == "torch":
        _pack(models, engine)
        return [TorchScorerBody(model, device) for model, device in _for_threads(models, engine, threads)]
    from assay.metrics.neural.backends.converted import ConvertedScorerBody

    return [ConvertedScorerBody(_take_config(models), engine, threads)]


def open_causal_bodies(models: list[Any], engine: ModelEngine, threads: int) -> list[CausalBody]:
    """Return the bodies of a causal language model, one a device; torch is the only backend that it has."""
    # models that pass a state on read the weights of their layers themselves
    if not any(getattr(model, "_is_stateful", False) for model in models):
        _pack(models, engine)
    return [CausalBody(model, device, engine.precision) for model, device in zip(models, engine.devices, strict=True)]


def _pack(models: list[Any], engine: ModelEngine) -> None:
    for model, device in zip(models, engine.devices, strict=True):
        if device == "cpu":
            pack_linears(model)


def _for_threads(models: list[Any], engine: ModelEngine, threads: int) -> list[tuple[Any, str]]:
    """Return each model with its device; on the CPU as many copies as threads, which share their weights.

    Threads that compute a batch each need not wait for each other at every layer, and a batch gives the same digits
    however many of them there are. Copies, because transformers changes the modules of a model while it computes.
    """
    if engine.devices != ("cpu",):
        return list(zip(models, engine.devices, strict=True))
    weights = [*models[0].parameters(), *models[0].buffers()]
    copies = [copy.deepcopy(models[0], {id(weight): weight for weight in weights}) for _ in range(threads - 1)]
    return [(model, "cpu") for model in (models[0], *copies)]


def _take_config(models: list[Any]) -> Any:
    """Return the configuration of the models and empty their list, which frees their memory."""
    config = models[0].config
    models.clear()
    return config
