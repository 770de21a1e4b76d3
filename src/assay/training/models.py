"""Loads the models that are trained, and tokenizes each distinct text once.

Models are loaded in single precision and without code from their folders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from assay.common.messages import Message, Setting
from assay.exceptions import InputError, UnavailableError, summary_of
from assay.metrics.models.description import describe
from assay.metrics.models.layouts import special_computation
from assay.metrics.neural.cross import READS_LAST_POSITION
from assay.metrics.neural.limits import UNLIMITED, text_limit
from assay.metrics.neural.loading import Use, require_all_weights, silence_libraries
from assay.metrics.neural.tokens import tokenize

# Token tables: all texts of a training are tokenized once; a batch gathers its rows and pads them to its longest text.


class TokenTable:
    """The token ids of n model inputs, special tokens included.

    Args:
        ids: the token ids of all inputs, one input after another, int32, shape (tokens,).
        lengths: the number of tokens of each input, int64, shape (n,).
        pad: the id of the padding token.
        types: the segment ids of all tokens, int32, shape (tokens,), or None if the model reads none.
        truncated: the number of inputs that were too long for the model and lost their end.
    """

    def __init__(
        self, ids: torch.Tensor, lengths: torch.Tensor, pad: int, types: torch.Tensor | None, truncated: int
    ) -> None:
        self.ids, self.lengths, self.pad, self.types, self.truncated = ids, lengths, pad, types, truncated
        self.starts = torch.cumsum(lengths, 0) - lengths

    def __len__(self) -> int:
        return len(self.lengths)

    def padded_batch(self, numbers: torch.Tensor, device: Any) -> dict[str, torch.Tensor]:
        """Return a model's arguments for b inputs by name: int64 tensors of shape (b, l), padded on the right.

        l is the length of the longest of these inputs. The arguments are ``input_ids``, ``attention_mask`` and, if the
        table has segment ids, ``token_type_ids``.

        Args:
            numbers: the indices of the inputs in the table, int64, shape (b,), on the CPU.
            device: the device of the returned tensors.
        """
        lengths = self.lengths[numbers]
        positions = torch.arange(int(lengths.max()))
        mask = positions < lengths[:, None]
        # Padding may point past the last token: any valid index does, since the mask hides what is read there.
        index = (self.starts[numbers][:, None] + positions).clamp_(max=len(self.ids) - 1)
        features = {"input_ids": torch.where(mask, self.ids[index], self.pad).long(), "attention_mask": mask.long()}
        if self.types is not None:
            features["token_type_ids"] = torch.where(mask, self.types[index], 0).long()
        return {name: value.to(device, non_blocking=True) for name, value in features.items()}


def length_groups(lengths: torch.Tensor, budget: int, spare: int) -> Iterator[torch.Tensor]:
    """Yield the indices of a batch's inputs in groups of similar length, so that little padding is computed.

    The grouping does not change the gradient of the batch.

    Args:
        lengths: the number of tokens of each input, shape (b,).
        budget: the most tokens of a group, padding included; an input longer than that is a group of its own.
        spare: the padding tokens that a group may have, because they cost less than one more group.
    """
    order = torch.argsort(lengths, stable=True)
    sizes = lengths[order].tolist()
    start, padding = 0, 0
    for end in range(1, len(sizes) + 1):
        if end < len(sizes):
            # Lengths ascend, so adding the next input would pad every earlier input of the group to its length.
            padding += (end - start) * (sizes[end] - sizes[end - 1])
            if padding <= spare and sizes[end] * (end + 1 - start) <= budget:
                continue
        yield order[start:end]
        start, padding = end, 0


def table_of_texts(model: Any, texts: Sequence[str]) -> TokenTable:
    """Return the tokens of n texts as a bi-encoder reads them: after its default prompt, cut to its maximum length.

    Args:
        model: a sentence-transformers model.
        texts: the texts, without the prompt.
    """
    prompt = _default_prompt(model)
    return _token_table(model, [prompt + text for text in texts], None)


def table_of_pairs(model: Any, firsts: Sequence[str], seconds: Sequence[str]) -> TokenTable:
    """Return the tokens of n pairs of texts as a cross-encoder reads them: as one input per pair.

    The default prompt of the model is put before the first text. Inputs are cut to the model's maximum length.

    Args:
        model: a sentence-transformers model.
        firsts, seconds: the texts of the pairs.
    """
    prompt = _default_prompt(model)
    return _token_table(model, [prompt + text for text in firsts], seconds)


def _default_prompt(model: Any) -> str:
    """Return the text that a sentence-transformers model puts before an input by default; empty for none."""
    name = model.default_prompt_name
    return (model.prompts.get(name) if name else None) or ""


def _token_table(model: Any, firsts: Sequence[str], seconds: Sequence[str] | None) -> TokenTable:
    """Return the tokens of n texts, or, with *seconds*, of n pairs of texts, cut to the model's maximum length.

    The table has segment ids if the model's tokenizer names them as an input.
    """
    tokenizer = model.tokenizer
    reads_types = "token_type_ids" in tokenizer.model_input_names
    max_tokens = int(model.max_seq_length or tokenizer.model_max_length)
    tokenized = tokenize(tokenizer, firsts, max_tokens, seconds, with_types=reads_types)
    lengths = np.array([len(tokens.ids) for tokens in tokenized], dtype=np.int64)
    ids = np.fromiter((id_ for tokens in tokenized for id_ in tokens.ids), dtype=np.int32, count=int(lengths.sum()))
    types = None
    if reads_types:
        types = torch.from_numpy(
            np.fromiter((type_ for tokens in tokenized for type_ in tokens.types or ()), dtype=np.int32, count=len(ids))
        )
    truncated = sum(tokens.cut for tokens in tokenized)
    return TokenTable(torch.from_numpy(ids), torch.from_numpy(lengths), int(tokenizer.pad_token_id), types, truncated)


# Model inputs: the tokens and labels of the rows of a training on pairs.


@dataclass(frozen=True, eq=False)
class Inputs:
    """The model inputs and labels of n rows: those of all sets, one set after another.

    Attributes:
        table: the tokens of the distinct texts (bi-encoder) or of the pairs (cross-encoder).
        first, second: the indices in the table of each row's inputs, int64, shape (n,); equal for a cross-encoder,
            which reads both texts as one input.
        labels: float32 in [0, 1], or int64 class numbers, shape (n,).
        third: like *first*, for rows of three texts; None for rows of two.
    """

    table: TokenTable
    first: torch.Tensor
    second: torch.Tensor
    labels: torch.Tensor
    third: torch.Tensor | None = None

    @property
    def sides(self) -> tuple[torch.Tensor, ...]:
        """The table indices of each row's inputs: two or three tensors of shape (n,)."""
        return (self.first, self.second) if self.third is None else (self.first, self.second, self.third)

    @property
    def lengths(self) -> torch.Tensor:
        """The number of tokens of each row's longest input, shape (n,)."""
        return torch.stack([self.table.lengths[side] for side in self.sides]).amax(dim=0)


def bi_inputs(model: Any, firsts: Sequence[str], seconds: Sequence[str], labels: torch.Tensor) -> Inputs:
    """Return a bi-encoder's inputs for n pairs of texts; each distinct text is tokenized once.

    Args:
        model: a sentence-transformers model.
        firsts, seconds: the texts of the pairs.
        labels: one label per pair, see :class:`Inputs`.
    """
    texts = sorted({*firsts, *seconds})
    numbers = {text: number for number, text in enumerate(texts)}
    first = torch.tensor([numbers[text] for text in firsts])
    second = torch.tensor([numbers[text] for text in seconds])
    return Inputs(table_of_texts(model, texts), first, second, labels)


def cross_inputs(model: Any, firsts: Sequence[str], seconds: Sequence[str], labels: torch.Tensor) -> Inputs:
    """Return a cross-encoder's inputs for n pairs of texts; each pair is one input.

    Args:
        model: a sentence-transformers model.
        firsts, seconds: the texts of the pairs.
        labels: one label per pair, see :class:`Inputs`.
    """
    indices = torch.arange(len(firsts))
    return Inputs(table_of_pairs(model, firsts, seconds), indices, indices, labels)


# Loading: single precision, weights from safetensors only, no code from the model's folder.


def load_bi_encoder(folder: Path, device: str) -> Any:
    """Return the bi-encoder in a checked folder, as a SentenceTransformer.

    Raises:
        InputError: a file of the model is malformed.
        UnavailableError: it is a model of another kind, or it cannot be loaded, for a reason of :func:`_load_model`.
    """
    from sentence_transformers import SentenceTransformer

    kind = describe(folder).library_class or "SentenceTransformer"
    if kind != "SentenceTransformer":
        raise UnavailableError(
            f"model {folder} cannot be trained because it is a {kind} (config_sentence_transformers.json)",
            "train a sentence encoder, or a transformer without modules",
        )
    return _load_model(SentenceTransformer, folder, device, use="hidden states")


def has_trained_head(folder: Path, outputs: int) -> bool:
    """Return whether a folder has a cross-encoder with this many outputs, which can score pairs without training."""
    return len(describe(folder).labels or ()) == outputs


def load_cross_encoder(folder: Path, device: str, *, outputs: int, activation: Any, seed: int) -> Any:
    """Return the cross-encoder in a checked folder; if it has no head with this many outputs, a new one is initialised.

    As a side effect, torch's global random generator is seeded.

    Args:
        folder: the folder of a cross-encoder, or of an encoder of single texts that becomes one.
        device: torch's name of the device.
        outputs: the number of outputs of the head.
        activation: the torch module that turns logits into scores; saved with the model as its declared activation.
        seed: the seed of a new head.

    Raises:
        InputError: a file of the model is malformed.
        UnavailableError: its head cannot be trained in batches, or it cannot be loaded, for a reason of
            :func:`_load_model`.
    """
    from sentence_transformers import CrossEncoder

    family = describe(folder).model_type
    if family in READS_LAST_POSITION:
        raise UnavailableError(
            f"model {folder} cannot be trained because the head of {family} reads the last position, "
            "which is padding in a batch",
            "train another architecture",
        )
    torch.manual_seed(seed)
    head_options = {"num_labels": outputs, "activation_fn": activation}
    if has_trained_head(folder, outputs):
        return _load_model(CrossEncoder, folder, device, use="head", **head_options)
    weight_options = {"ignore_mismatched_sizes": True}  # a head of another size is replaced, not an error
    return _load_model(CrossEncoder, folder, device, use="new head", weight_options=weight_options, **head_options)


def freeze_except_last_layers(model: Any, count: int | None, name: str) -> None:
    """Freeze a model's encoder except its last transformer layers.

    A head outside the encoder keeps training. Modules inside the encoder that follow its layers, such as BERT's pooler
    or the final norm of ModernBERT, stay frozen.

    Args:
        model: a sentence-transformers model, changed in place.
        count: the number of layers to train; None leaves the model as it is.
        name: the name of the model in error messages.

    Raises:
        InputError: the model has fewer than *count* layers.
        UnavailableError: no list of layers is found in the model.
    """
    if count is None:
        return
    body = model[0].model  # the transformers model
    depth = int(body.config.num_hidden_layers)
    layers = _transformer_layers(body, depth)
    if layers is None:
        raise UnavailableError(
            f"model {name}: its layers are not found", Message("train it as a whole, without ", Setting("layers"))
        )
    if count > depth:
        raise InputError(f"the model has {depth} layers; valid: 1 to {depth}", setting="layers", value=count)
    # A model with a head holds its encoder under base_model_prefix; a model without one is the encoder.
    encoder = getattr(body, body.base_model_prefix, body)
    encoder.requires_grad_(False)
    for layer in layers[-count:]:
        layer.requires_grad_(True)


def _transformer_layers(body: nn.Module, depth: int) -> list[nn.Module] | None:
    """Return the first list of *depth* modules in a transformers model; None if it has none."""
    for path, module in body.named_modules():
        # The empty path is the model itself.
        if path and isinstance(module, nn.ModuleList) and len(module) == depth:
            return list(module)
    return None


def _load_model(
    model_class: Callable[..., Any],
    folder: Path,
    device: str,
    *,
    use: Use,
    weight_options: dict[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Return a sentence-transformers model loaded in single precision from local safetensors.

    Args:
        model_class: the class of the model.
        folder: the folder of the model, checked before.
        device: torch's name of the device.
        use: the part of the model that is used; its weights must all be in the folder.
        weight_options: further options of transformers' ``from_pretrained``; None for none.
        **options: further arguments of the class.

    Raises:
        InputError: a file of the model is malformed.
        UnavailableError: its files ask for a computation that assay lacks, the libraries cannot load it, weights are
            missing, or its tokenizer has no padding token.
    """
    model_kwargs: dict[str, Any] = {"use_safetensors": True, "dtype": torch.float32} | (weight_options or {})
    special = special_computation(folder, model_class.__name__)
    if special is not None:
        raise UnavailableError(f"model {folder} cannot be trained because of {special}", "train a model without it")
    try:
        with silence_libraries(), require_all_weights(folder, use):
            model = model_class(
                str(folder),
                device=device,
                trust_remote_code=False,
                local_files_only=True,
                model_kwargs=model_kwargs,
                **options,
            )
    # The libraries have no error of their own for a model that they cannot load: any of these may mean it.
    except (OSError, ValueError, KeyError, RuntimeError, TypeError, AttributeError) as error:
        raise UnavailableError(f"model {folder} cannot be loaded ({summary_of(error)})") from error
    if getattr(model.tokenizer, "pad_token_id", None) is None:
        raise UnavailableError(
            f"model {folder}: its tokenizer has no padding token",
            "add one to tokenizer_config.json, such as the token that ends a text",
        )
    # the same length as in a run, and saved with the model
    limit = text_limit(folder, saved_by=model_class.__name__)
    if limit < UNLIMITED:
        model.max_seq_length = limit
    return model
