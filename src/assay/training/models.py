"""Models to train, in single precision: safetensors only, no code of the model's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from assay.errors import InputError, UnavailableError
from assay.metrics.models.description import describe
from assay.metrics.neural.loading import quiet
from assay.metrics.neural.weights import Use, whole_weights

__all__ = ["has_head", "load_bi_encoder", "load_cross_encoder", "train_last_layers"]


def load_bi_encoder(folder: Path, device: str) -> Any:
    """Load a checked folder as model of sentence-transformers.

    Raises:
        UnavailableError: the libraries cannot load it, or it lacks weights.
    """
    from sentence_transformers import SentenceTransformer

    return _loaded(SentenceTransformer, folder, device, use="hidden states")


def has_head(folder: Path, outputs: int) -> bool:
    """Return whether a folder is a cross-encoder with so many outputs, so that it scores pairs as it is."""
    found = describe(folder)
    return (found.architecture or "").endswith("ForSequenceClassification") and (found.labels or 1) == outputs


def load_cross_encoder(folder: Path, device: str, *, outputs: int, activation: Any, seed: int) -> Any:
    """Load a checked folder as cross-encoder; where it has no head for so many outputs, a new one is drawn.

    Args:
        folder: of a cross-encoder, or of the encoder of single texts that becomes one.
        device: torch's name of it.
        outputs: of the head.
        activation: from logits to scores, a module of torch.nn; it is declared in the model's folder.
        seed: of a new head.

    Raises:
        UnavailableError: the libraries cannot load it, or it lacks weights.
    """
    from sentence_transformers import CrossEncoder

    torch.manual_seed(seed)
    heads = {"num_labels": outputs, "activation_fn": activation}
    if has_head(folder, outputs):
        return _loaded(CrossEncoder, folder, device, use="head", **heads)
    settings = {"ignore_mismatched_sizes": True}
    return _loaded(CrossEncoder, folder, device, use="new head", model=settings, **heads)


def train_last_layers(whole: Any, number: int | None, name: str) -> None:
    """Freeze all of a model but its last layers and what follows them, such as a head; with None nothing.

    Args:
        whole: the model of sentence-transformers.
        number: of layers.
        name: of the model, for errors.

    Raises:
        InputError: it has not so many layers.
        UnavailableError: its layers are not found.
    """
    if number is None:
        return
    body = whole[0].model
    stacks = [module for path, module in body.named_modules() if isinstance(module, nn.ModuleList) and path]
    depth = int(body.config.num_hidden_layers)
    layers = next((list(stack) for stack in stacks if len(stack) == depth), None)
    if layers is None:
        raise UnavailableError(f"model {name}: its layers are not found", "train it as a whole, without --layers")
    if number > depth:
        raise InputError(f"--layers {number}: the model has {depth} layers; valid: 1 to {depth}")
    for parameter in getattr(body, body.base_model_prefix, body).parameters():
        parameter.requires_grad_(False)
    for layer in layers[-number:]:
        layer.requires_grad_(True)


def _loaded(
    kind: Callable[..., Any],
    folder: Path,
    device: str,
    *,
    use: Use,
    model: dict[str, Any] | None = None,
    **more: Any,
) -> Any:
    settings: dict[str, Any] = {"use_safetensors": True, "dtype": torch.float32} | (model or {})
    try:
        with quiet(), whole_weights(folder, use):
            return kind(
                str(folder),
                device=device,
                trust_remote_code=False,
                local_files_only=True,
                model_kwargs=settings,
                **more,
            )
    except (OSError, ValueError, KeyError, RuntimeError, TypeError, AttributeError) as error:
        line = next((part.strip() for part in str(error).splitlines() if part.strip()), "no reason given")
        raise UnavailableError(f"model {folder} cannot be loaded ({type(error).__name__}: {line[:300]})") from error
