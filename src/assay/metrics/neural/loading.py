"""Models and tokenizers into memory, by sentence-transformers and transformers: safetensors only, no remote code."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import AssayError, MissingExtraError, UnavailableError, summary_of
from assay.metrics.neural.runtime import dtype_of
from assay.metrics.neural.weights import whole_weights

#: Modules that come with the extra ``neural``.
_OF_EXTRA = frozenset(("torch", "transformers", "sentence_transformers", "tokenizers", "safetensors"))


@dataclass(frozen=True)
class LoadedModel:
    """A model in memory.

    Attributes:
        model: transformers' model.
        tokenizer: transformers' tokenizer.
    """

    model: Any
    tokenizer: Any


@dataclass(frozen=True)
class LoadedEncoder(LoadedModel):
    """An encoder of single texts.

    Attributes:
        tail: the modules of sentence-transformers behind the model (pooling, dense, normalize).
    """

    tail: tuple[Any, ...]


@dataclass(frozen=True)
class LoadedScorer(LoadedModel):
    """A cross-encoder: pairs of texts to one number.

    Attributes:
        activation: the declared activation, a module of torch.nn.
    """

    activation: Any


def load_encoder(folder: Path, precision: str, device: str) -> LoadedEncoder:
    """Load a folder as encoder; without sentence-transformers files its tail is a mean over the tokens.

    Raises:
        MissingExtraError: sentence-transformers is not installed.
        UnavailableError: the libraries cannot load the folder, or it lacks weights.
    """
    with _loading(folder):
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.base.modules import Transformer

        with whole_weights(folder, "hidden states"):
            whole = SentenceTransformer(str(folder), **_settings(precision, device))
        body, *tail = list(whole)
        if not isinstance(body, Transformer):
            raise UnavailableError(f"model {folder}: its first module is {type(body).__name__}, not a Transformer")
        for module in tail:
            if getattr(module, "include_prompt", True) is False:
                raise UnavailableError(f"model {folder}: leaves the prompt out of its pooling, which is not supported")
        whole.eval()
        _untie(whole)
        return LoadedEncoder(body.model, whole.tokenizer, tuple(tail))


def load_scorer(folder: Path, precision: str, device: str) -> LoadedScorer:
    """Load a folder as cross-encoder.

    Raises:
        MissingExtraError: sentence-transformers is not installed.
        UnavailableError: the libraries cannot load the folder, it lacks weights, or it has not one output.
    """
    with _loading(folder):
        from sentence_transformers import CrossEncoder

        with whole_weights(folder, "head"):
            whole = CrossEncoder(str(folder), **_settings(precision, device))
        if whole.num_labels != 1:
            raise UnavailableError(
                f"model {folder}: has {whole.num_labels} outputs, a similarity needs one",
                "choose a cross-encoder for similarity, or train one",
            )
        whole.eval()
        _untie(whole)
        return LoadedScorer(whole[0].model, whole.tokenizer, whole.activation_fn)


def load_causal(folder: Path, precision: str, device: str) -> LoadedModel:
    """Load a folder as causal language model.

    Raises:
        MissingExtraError: transformers is not installed.
        UnavailableError: transformers cannot load the folder, or it lacks weights.
    """
    with _loading(folder):
        from transformers import AutoModelForCausalLM, AutoTokenizer

        where: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
        with whole_weights(folder, "head"):
            model = AutoModelForCausalLM.from_pretrained(
                str(folder), use_safetensors=True, dtype=dtype_of(precision), **where
            )
        tokenizer = AutoTokenizer.from_pretrained(str(folder), **where)
        return LoadedModel(model.to(device).eval(), tokenizer)


def parameters_of(model: Any) -> int:
    """Return the number of parameters of a model."""
    return sum(parameter.numel() for parameter in model.parameters())


def _untie(whole: Any) -> None:
    """Break the reference cycle of model and model card: a model would stay in memory until the next collection."""
    card = getattr(whole, "model_card_data", None)
    if card is not None:
        card.model = None


def _settings(precision: str, device: str) -> dict[str, Any]:
    model = {"use_safetensors": True, "dtype": dtype_of(precision)}
    return {"device": device, "trust_remote_code": False, "local_files_only": True, "model_kwargs": model}


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the libraries' bars and notices to themselves.

    Raises:
        MissingExtraError: transformers is not installed.
    """
    try:
        from transformers.utils import logging
    except ImportError as error:
        raise MissingExtraError(error.name or "transformers", "neural") from error
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


@contextmanager
def _loading(folder: Path) -> Iterator[None]:
    """Turn what the libraries raise into one line."""
    try:
        with quiet():
            yield
    except AssayError:
        raise
    except ModuleNotFoundError as error:
        name = error.name or "sentence-transformers"
        if name.partition(".")[0] not in _OF_EXTRA:
            # what a model needs beside them
            reason = f"model {folder} needs the package {name}, which is not installed"
            raise UnavailableError(reason, f"pip install {name}") from error
        raise MissingExtraError(name, "neural") from error
    except (ImportError, OSError, ValueError, KeyError, RuntimeError, TypeError, AttributeError) as error:
        raise UnavailableError(f"model {folder} cannot be loaded ({summary_of(error)})") from error


@functools.lru_cache(maxsize=4)
def load_tokenizer(folder: str, digest: str) -> Any:
    """Return the tokenizer of a checked model folder; *digest* tells two states of a folder apart.

    Raises:
        MissingExtraError: transformers is not installed.
    """
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise MissingExtraError(error.name or "transformers", "neural") from error
    return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
