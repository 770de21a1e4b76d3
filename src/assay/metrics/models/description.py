"""Describes a model from the JSON files and the card in its folder, without loading the model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.metrics.models.files import CARD, module_folders, read_json

#: The pooling of each switch in the configuration of sentence-transformers.
_POOLING = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}

#: Families that reserve the first two rows of the position table, so that a text can have two tokens fewer.
_OFFSET_POSITIONS = frozenset({"roberta", "xlm-roberta", "camembert", "mpnet", "xlm-roberta-xl", "longformer"})
#: Tokenizers without a limit declare a huge length; no model has a limit as large as this.
_UNLIMITED = 10**6


@dataclass(frozen=True)
class ModelDescription:
    """What the files of a model declare; None for what they do not declare.

    Attributes:
        architecture: the name of the class, such as ``BertModel``.
        model_type: the model family, such as ``bert``.
        hidden_size: the number of dimensions of a token's embedding.
        layers: the number of transformer layers.
        max_positions: the number of positions in the embedding table, including the two that RoBERTa reserves.
        labels: the number of outputs of a classification head.
        modules: the class names of the sentence-transformers modules, in order.
        pooling: the kind of pooling: ``mean``, ``cls``, ``max`` …; several are joined with ``+``.
        max_seq_length: the length in tokens at which sentence-transformers cuts a text.
        normalize: whether a module scales the embeddings to length 1.
        prompts: the prompts, as pairs (name, text to put before the input).
        default_prompt: the name of the prompt used by default.
        languages: the language tags, as the model card has them.
    """

    architecture: str | None = None
    model_type: str | None = None
    hidden_size: int | None = None
    layers: int | None = None
    max_positions: int | None = None
    labels: int | None = None
    modules: tuple[str, ...] | None = None
    pooling: str | None = None
    max_seq_length: int | None = None
    normalize: bool | None = None
    prompts: tuple[tuple[str, str], ...] | None = None
    default_prompt: str | None = None
    languages: tuple[str, ...] | None = None


def describe(folder: Path) -> ModelDescription:
    """Return the description of a model folder.

    Raises:
        InputError: a JSON file of the folder cannot be parsed, or modules.json is malformed.
    """
    classes: list[str] = []
    # by class, the folder of its first module
    folder_of: dict[str, Path] = {}
    for relative, module_class in module_folders(folder, str(folder)):
        if module_class is not None:
            class_name = module_class.rpartition(".")[2]
            classes.append(class_name)
            folder_of.setdefault(class_name, folder / relative)
    transformer = folder_of.get("Transformer", folder)
    config = read_json(transformer / "config.json")
    sentence_config = read_json(folder / "config_sentence_transformers.json")
    architectures = config.get("architectures")
    architecture = architectures[0] if isinstance(architectures, list) and architectures else None
    pooling = _pooling_name(read_json(folder_of["Pooling"] / "config.json")) if "Pooling" in folder_of else None
    prompts = sentence_config.get("prompts")
    prompt_pairs = None
    if isinstance(prompts, dict):
        prompt_pairs = tuple((str(key), str(text)) for key, text in prompts.items())
    return ModelDescription(
        architecture=_string_or_none(architecture),
        model_type=_string_or_none(config.get("model_type")),
        hidden_size=_first_integer(config, "hidden_size", "dim", "d_model", "n_embd"),
        layers=_first_integer(config, "num_hidden_layers", "n_layers", "num_layers", "n_layer"),
        max_positions=_first_integer(config, "max_position_embeddings", "n_positions"),
        labels=_label_count(config),
        modules=tuple(classes) or None,
        pooling=pooling,
        max_seq_length=_first_integer(read_json(transformer / "sentence_bert_config.json"), "max_seq_length"),
        normalize="Normalize" in folder_of if classes else None,
        prompts=prompt_pairs,
        default_prompt=_string_or_none(sentence_config.get("default_prompt_name")),
        languages=_languages_in_card(folder / CARD),
    )


def _string_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _first_integer(config: dict[str, Any], *names: str) -> int | None:
    """Return the value of the first of these names that has an integer; None if none has.

    Several names are tried, since they differ by model family.
    """
    for name in names:
        value = config.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def _label_count(config: dict[str, Any]) -> int | None:
    labels = config.get("id2label")
    return len(labels) if isinstance(labels, dict) else _first_integer(config, "num_labels")


def _pooling_name(config: dict[str, Any]) -> str | None:
    """Return the pooling that the configuration of a Pooling module declares; None if it declares none.

    The newer and the older form of the configuration are read; several kinds of pooling are joined with ``+``.
    """
    mode = config.get("pooling_mode")  # the newer form: a word or a list of words
    if isinstance(mode, str):
        return mode
    if isinstance(mode, list):
        return "+".join(map(str, mode)) or None
    # the older form: one switch for each kind
    return "+".join(word for key, word in _POOLING.items() if config.get(key) is True) or None


def _languages_in_card(card: Path) -> tuple[str, ...] | None:
    """Return the languages in the front matter of a model card, or None if it lists none.

    Three forms are read: ``language: en``, ``language: [en, de]``, and a line ``- en`` for each language.
    """
    if not card.is_file():
        return None
    lines = card.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    if not lines or lines[0].strip() != "---":
        return None
    languages: list[str] = []
    in_list = False
    for line in lines[1:]:
        if line.strip() == "---":
            return tuple(languages) or None
        words: list[str] = []
        if in_list and line.lstrip().startswith("- "):
            words = [line.lstrip()[2:]]
        elif line.startswith("language:"):
            in_list = True
            words = line.removeprefix("language:").strip().strip("[]").split(",")
        elif line.strip() and not line.startswith((" ", "#")):
            in_list = False
        for word in words:
            # " #" begins a comment in YAML
            language = word.split(" #")[0].strip().strip("'\"")
            if language:
                languages.append(language)
    return None  # without an end it is not front matter


def token_limit(folder: Path, max_length: int | None = None, *, reads_sentences: bool = False) -> int:
    """Return the number of tokens at which a model cuts a text, special ones included.

    It is *max_length* if that is set, or else the limit in the files of sentence-transformers if *reads_sentences*, or
    else the lower one of the limits of tokenizer and model, or else 512. It never exceeds the number of the model's
    positions or, if the model declares none, the limit of the tokenizer.
    """
    described = describe(folder)
    sentence_limit = described.max_seq_length if reads_sentences else None
    tokenizer_limit = read_json(folder / "tokenizer_config.json").get("model_max_length")
    positions = described.max_positions
    if positions is not None and described.model_type in _OFFSET_POSITIONS:
        positions -= 2
    declared = [length for length in (tokenizer_limit, positions) if isinstance(length, int) and length < _UNLIMITED]
    model_limit = min(declared, default=512)
    return min(max_length or sentence_limit or model_limit, positions or model_limit)
