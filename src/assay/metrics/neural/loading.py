"""Loads models and tokenizers with sentence-transformers and transformers: safetensors only, no remote code.

A model is refused unless every weight behind a score comes from its files.
"""

from __future__ import annotations

import functools
import re
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from assay.exceptions import AssayError, MissingExtraError, UnavailableError, summary_of
from assay.metrics.models.description import describe
from assay.metrics.neural.runtime import dtype_of

#: Packages that the extra ``neural`` installs.
_EXTRA_PACKAGES = frozenset(("torch", "transformers", "sentence_transformers", "tokenizers", "safetensors"))


@dataclass(frozen=True)
class LoadedModel:
    """A model in memory.

    Attributes:
        model: the model, an object of transformers.
        tokenizer: its tokenizer, an object of transformers.
    """

    model: Any
    tokenizer: Any


@dataclass(frozen=True)
class LoadedEncoder(LoadedModel):
    """An encoder of single texts.

    Attributes:
        tail: the modules of sentence-transformers behind the model, such as pooling, dense and normalize.
    """

    tail: tuple[Any, ...]


@dataclass(frozen=True)
class LoadedScorer(LoadedModel):
    """A cross-encoder, which turns a pair of texts into one number, or into one for each class.

    Attributes:
        activation: the activation that the model declares, a module of torch.nn.
    """

    activation: Any


def load_encoder(folder: Path, precision: str, device: str) -> LoadedEncoder:
    """Return the encoder in a model folder in evaluation mode, with its tokenizer and the modules behind it.

    Without files of sentence-transformers, the only module behind it is mean pooling.

    Args:
        folder: the checked folder.
        precision: the precision of the weights: ``fp32``, ``bf16`` or ``fp16``.
        device: torch's name of the device.

    Raises:
        MissingExtraError: a library is not installed.
        UnavailableError: the libraries cannot load the folder, it lacks weights, or its first module is not supported.
    """
    encoder = load_library_encoder(folder, precision, device)
    body, *tail = list(encoder)
    if getattr(body, "transformer_task", None) != "feature-extraction":
        raise UnavailableError(
            f"model {folder}: begins with {type(body).__name__}, not with a transformer of token embeddings",
            "use bi-encoder:MODEL, or another model",
        )
    return LoadedEncoder(body.model, encoder.tokenizer, tuple(tail))


def load_library_encoder(folder: Path, precision: str, device: str) -> Any:
    """Return the sentence encoder in a model folder in evaluation mode, an object of sentence-transformers.

    Arguments and errors are those of :func:`load_encoder`, except that any first module is supported.
    """
    with _one_line_errors(folder):
        from sentence_transformers import SentenceTransformer

        with require_all_weights(folder, "hidden states"):
            encoder = SentenceTransformer(str(folder), **_loading_arguments(precision, device))
        # the metric shortens the embeddings
        encoder.truncate_dim = None
        encoder.eval()
        _break_card_cycle(encoder)
        return encoder


def load_scorer(folder: Path, precision: str, device: str) -> LoadedScorer:
    """Return the cross-encoder in a model folder in evaluation mode, with its tokenizer and its activation.

    The arguments are those of :func:`load_encoder`.

    Raises:
        MissingExtraError: a library is not installed.
        UnavailableError: the libraries cannot load the folder, it lacks weights, or its tokenizer has no padding token.
    """
    scorer = load_library_scorer(folder, precision, device)
    model, tokenizer = scorer[0].model, scorer.tokenizer
    if model.config.pad_token_id is None:
        # a decoder finds the last token of a text before its padding
        model.config.pad_token_id = tokenizer.pad_token_id
    if model.config.pad_token_id is None:
        raise UnavailableError(
            f"model {folder}: its tokenizer has no padding token",
            "add pad_token to tokenizer_config.json, such as the token that ends a text",
        )
    return LoadedScorer(model, tokenizer, scorer.activation_fn)


def load_library_scorer(folder: Path, precision: str, device: str) -> Any:
    """Return the cross-encoder in a model folder in evaluation mode, an object of sentence-transformers.

    Arguments and errors are those of :func:`load_scorer`, except that a padding token is not required.
    """
    with _one_line_errors(folder):
        from sentence_transformers import CrossEncoder

        with require_all_weights(folder, "head"):
            cross_encoder = CrossEncoder(str(folder), **_loading_arguments(precision, device))
        cross_encoder.eval()
        _break_card_cycle(cross_encoder)
        return cross_encoder


def load_causal_model(folder: Path, precision: str, device: str) -> LoadedModel:
    """Return the causal language model in a model folder in evaluation mode, with its tokenizer.

    The arguments are those of :func:`load_encoder`.

    Raises:
        MissingExtraError: a library is not installed.
        UnavailableError: the libraries cannot load the folder, or it lacks weights.
    """
    with _one_line_errors(folder):
        from transformers import AutoModelForCausalLM, AutoTokenizer

        settings: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
        with require_all_weights(folder, "head"):
            model = AutoModelForCausalLM.from_pretrained(
                str(folder), use_safetensors=True, dtype=dtype_of(precision), **settings
            )
        tokenizer = AutoTokenizer.from_pretrained(str(folder), **settings)
        return LoadedModel(model.to(device).eval(), tokenizer)


def count_parameters(model: Any) -> int:
    """Return the number of parameters of a model."""
    return sum(parameter.numel() for parameter in model.parameters())


def _break_card_cycle(model: Any) -> None:
    """Break the reference cycle of a model and its card, so that its memory is freed without a garbage collection."""
    card = getattr(model, "model_card_data", None)
    if card is not None:
        card.model = None


def _loading_arguments(precision: str, device: str) -> dict[str, Any]:
    """Return the arguments, by name, with which sentence-transformers loads a model: safetensors, no remote code."""
    model_kwargs = {"use_safetensors": True, "dtype": dtype_of(precision)}
    return {"device": device, "trust_remote_code": False, "local_files_only": True, "model_kwargs": model_kwargs}


@contextmanager
def silence_libraries() -> Iterator[None]:
    """Silence the progress bars, messages and warnings of transformers within the block, and all Python warnings.

    The settings of transformers are restored at the end of the block.

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
def _one_line_errors(folder: Path) -> Iterator[None]:
    """Turn errors of the libraries into errors of assay with a message of one line, and silence the libraries.

    Raises:
        MissingExtraError: a package of the extra ``neural`` is not installed.
        UnavailableError: the model in *folder* needs another package, or the libraries cannot load it.
    """
    try:
        with silence_libraries():
            yield
    except AssayError:
        raise
    except ModuleNotFoundError as error:
        name = error.name or "sentence-transformers"
        if name.partition(".")[0] not in _EXTRA_PACKAGES:
            # an extra requirement of this model
            reason = f"model {folder} needs the package {name}, which is not installed"
            raise UnavailableError(reason, f"pip install {name}") from error
        raise MissingExtraError(name, "neural") from error
    except (ImportError, OSError, ValueError, KeyError, RuntimeError, TypeError, AttributeError) as error:
        raise UnavailableError(f"model {folder} cannot be loaded ({summary_of(error)})") from error


@functools.lru_cache(maxsize=4)
def load_tokenizer(folder: str, digest: str) -> Any:
    """Return the tokenizer of a checked model folder, cached by folder and digest.

    Args:
        folder: the path of the folder.
        digest: the digest of its files, so that a folder that has changed is read again.

    Raises:
        MissingExtraError: transformers is not installed.
        Exception: any error of transformers.
    """
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise MissingExtraError(error.name or "transformers", "neural") from error
    path = Path(folder) / (describe(Path(folder)).transformer or "")
    return AutoTokenizer.from_pretrained(str(path), local_files_only=True, trust_remote_code=False)


# Checks that every weight behind a score comes from the model's files, by the load reports of transformers.
#
# If a file lacks a weight, transformers initialises it at random and only warns, so that scores would differ by run.


#: What is used of a model: its hidden states, its head, or a new head that is still to be trained.
Use = Literal["hidden states", "head", "new head"]

_POOLER = re.compile(r"(^|\.)pooler\.")
#: Buffers that older versions of transformers wrote; they are computed, not learned.
_BUFFER = re.compile(r"(^|\.)(position_ids|inv_freq)$")
_REMEDY = "use the model's original files, or save it again with save_pretrained"
#: The check replaces a method of a class while it runs: two checks at the same time would restore each other's method.
_LOCK = threading.RLock()


@contextmanager
def require_all_weights(folder: Path, use: Use) -> Iterator[None]:
    """Refuse models that transformers loads within the block without all the weights that are used.

    If only hidden states are used, the files may have the weights of a head, and may lack those of a pooler. For a new
    head they may lack those of a head, too.

    Args:
        folder: the folder of the model, for messages.
        use: the part of the model that is used.

    Raises:
        UnavailableError: weights are missing, have other shapes, or belong to a part of the model that has no such
            weight, as when they were renamed or the configuration says fewer layers.
    """
    with _load_reports() as reports:
        yield
    for model, report in reports:
        # an entry of mismatched_keys is the key, followed by the shapes
        without_values = [*report["missing_keys"], *(key for key, *_ in report["mismatched_keys"])]
        absent = [key for key in without_values if not _may_be_absent(key, model, use)]
        misplaced = [key for key in report["unexpected_keys"] if _is_misplaced(key, model)]
        if absent:
            reason = f"lacks {len(absent)} weights of its architecture ({_first_key(absent)})"
            raise UnavailableError(f"model {folder}: {reason}", _REMEDY)
        if misplaced:
            reason = f"has {len(misplaced)} weights that its configuration has no room for ({_first_key(misplaced)})"
            raise UnavailableError(f"model {folder}: {reason}", _REMEDY)


@contextmanager
def _load_reports() -> Iterator[list[tuple[Any, dict[str, Any]]]]:
    """Yield a list that collects every model that transformers loads within the block, with its load report.

    Within the block ``from_pretrained`` is replaced, because sentence-transformers and bert-score call it and drop its
    report. Such blocks in several threads run one after the other.
    """
    from transformers import PreTrainedModel

    reports: list[tuple[Any, dict[str, Any]]] = []
    original = vars(PreTrainedModel)["from_pretrained"]

    def from_pretrained(cls: type, *args: Any, **settings: Any) -> Any:
        model, report = original.__func__(cls, *args, **settings | {"output_loading_info": True})
        reports.append((model, report))
        return model

    with _LOCK:
        PreTrainedModel.from_pretrained = classmethod(from_pretrained)
        try:
            yield reports
        finally:
            PreTrainedModel.from_pretrained = original


def _may_be_absent(key: str, model: Any, use: Use) -> bool:
    """Tell whether a missing weight does not matter, since it is of an unused pooler or of a head to be trained."""
    if use == "head":
        return False
    if _POOLER.search(key):
        return True
    prefix = model.base_model_prefix
    has_head = bool(prefix) and hasattr(model, prefix)
    return use == "new head" and has_head and not key.startswith(f"{prefix}.")


def _is_misplaced(key: str, model: Any) -> bool:
    """Tell whether an unexpected weight belongs to a part that the model has, rather than to an unused head.

    The weights of a pooler and of buffers may be left over in any file, and never count.
    """
    if _POOLER.search(key) or _BUFFER.search(key):
        return False
    part_names = {name for name, _ in model.named_children()}
    prefix = model.base_model_prefix
    # a body alone names its weights without the prefix; a file of a model with a head has it
    is_body_alone = bool(prefix) and prefix not in part_names
    name_in_model = key.removeprefix(f"{prefix}.") if is_body_alone else key
    first_part = name_in_model.partition(".")[0]
    return first_part in part_names


def _first_key(keys: Iterable[str]) -> str:
    """Return the first key in alphabetical order, with an ellipsis if there are others, for a message."""
    first, *further_keys = sorted(keys)
    return f"{first}, …" if further_keys else first
