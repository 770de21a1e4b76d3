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
#: Families whose positions begin after the number of the padding token, so that a text can have fewer tokens.
OFFSET_POSITIONS = frozenset(
    {
        "camembert",
        "data2vec-text",
        "ibert",
        "layoutlmv3",
        "lilt",
        "longformer",
        "luke",
        "markuplm",
        "mpnet",
        "roberta",
        "roberta-prelayernorm",
        "xlm-roberta",
        "xlm-roberta-xl",
        "xmod",
    }
)
#: How the names of classes end that have a classification head.
_CLASSIFIER = "ForSequenceClassification"
#: The files in which sentence-transformers looks for the settings of its transformer, in this order, are
#: ``sentence_FAMILY_config.json``.
_SETTINGS_FAMILIES = ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")


@dataclass(frozen=True)
class ModelDescription:
    """What the files of a model declare; None for what they do not declare.

    Attributes:
        architecture: the name of the class, such as ``BertModel``.
        model_type: the model family, such as ``bert``.
        hidden_size: the number of dimensions of a token's embedding.
        layers: the number of transformer layers.
        heads: the number of attention heads of a layer.
        feed_forward_size: the width of the feed-forward network of a layer.
        vocabulary: the number of tokens in the embedding table.
        encoder_decoder: whether the model has an encoder and a decoder.
        max_positions: the number of positions in the embedding table, including those that RoBERTa reserves.
        reserved_positions: how many positions no token has: in RoBERTa and its relatives those up to the padding's.
        labels: the names of the outputs of a classification head, in order.
        modules: the class names of the sentence-transformers modules, in order.
        pooling: the kind of pooling: ``mean``, ``cls``, ``max`` …; several are joined with ``+``.
        transformer: the relative folder of the transformer, such as ``0_Transformer``, of a folder with modules.
        library_class: the class of sentence-transformers that saved the model, such as ``SentenceTransformer``.
        max_seq_length: the length in tokens at which sentence-transformers cuts a text.
        tokenizer_limit: the length in tokens at which the tokenizer cuts a text; tokenizers without one declare 10³⁰.
        lowercase: whether sentence-transformers lower-cases a text.
        normalize: whether a module scales the embeddings to length 1.
        truncate_dim: the number of leading dimensions of an embedding that sentence-transformers keeps.
        similarity: the similarity of two embeddings: ``cosine``, ``dot``, ``euclidean`` or ``manhattan``.
        prompts: the prompts, as pairs (name, text to put before the input).
        default_prompt: the name of the prompt used by default.
        languages: the language tags, as the model card has them.
    """

    architecture: str | None = None
    model_type: str | None = None
    hidden_size: int | None = None
    layers: int | None = None
    heads: int | None = None
    feed_forward_size: int | None = None
    vocabulary: int | None = None
    encoder_decoder: bool | None = None
    max_positions: int | None = None
    reserved_positions: int | None = None
    labels: tuple[str, ...] | None = None
    modules: tuple[str, ...] | None = None
    pooling: str | None = None
    transformer: str | None = None
    library_class: str | None = None
    max_seq_length: int | None = None
    tokenizer_limit: int | None = None
    lowercase: bool | None = None
    normalize: bool | None = None
    truncate_dim: int | None = None
    similarity: str | None = None
    prompts: tuple[tuple[str, str], ...] | None = None
    default_prompt: str | None = None
    languages: tuple[str, ...] | None = None


def describe(folder: Path) -> ModelDescription:
    """Return what the files in the folder of a model declare, without loading the model; files may be absent.

    Raises:
        InputError: a JSON file of the folder cannot be read, is no JSON or no object, or modules.json is malformed.
    """
    classes, folder_of = _module_classes(folder)
    transformer = folder / folder_of.get("Transformer", "")
    config = read_json(transformer / "config.json")
    settings = transformer_settings(transformer)
    tokenizer_config = read_json(transformer / "tokenizer_config.json")
    sentence_config = read_json(folder / "config_sentence_transformers.json")
    pooling = None
    if "Pooling" in folder_of:
        pooling = _pooling_name(read_json(folder / folder_of["Pooling"] / "config.json"))
    architectures = config.get("architectures")
    architecture = _string_or_none(architectures[0]) if isinstance(architectures, list) and architectures else None
    prompts = sentence_config.get("prompts")
    prompt_pairs = None
    if isinstance(prompts, dict):
        prompt_pairs = tuple((str(name), str(text)) for name, text in prompts.items())
    model_type = _string_or_none(config.get("model_type"))
    return ModelDescription(
        architecture=architecture,
        model_type=model_type,
        hidden_size=_first_integer(config, "hidden_size", "dim", "d_model", "n_embd"),
        layers=_first_integer(config, "num_hidden_layers", "n_layers", "num_layers", "n_layer"),
        heads=_first_integer(config, "num_attention_heads", "n_heads", "num_heads", "n_head"),
        feed_forward_size=_first_integer(config, "intermediate_size", "hidden_dim", "d_ff", "n_inner"),
        vocabulary=_first_integer(config, "vocab_size"),
        encoder_decoder=_bool_or_none(config.get("is_encoder_decoder")),
        max_positions=_first_integer(config, "max_position_embeddings", "n_positions"),
        reserved_positions=_reserved_positions(config) if model_type in OFFSET_POSITIONS else None,
        labels=_label_names(config) if str(architecture).endswith(_CLASSIFIER) else None,
        modules=tuple(classes) or None,
        pooling=pooling,
        transformer=folder_of.get("Transformer"),
        library_class=_string_or_none(sentence_config.get("model_type")),
        max_seq_length=_sentence_limit(settings),
        # max_len is the older name
        tokenizer_limit=_first_integer(tokenizer_config, "model_max_length", "max_len"),
        lowercase=_bool_or_none(settings.get("do_lower_case")),
        normalize="Normalize" in folder_of if classes else None,
        truncate_dim=_first_integer(sentence_config, "truncate_dim"),
        similarity=_string_or_none(sentence_config.get("similarity_fn_name")),
        prompts=prompt_pairs,
        default_prompt=_string_or_none(sentence_config.get("default_prompt_name")),
        languages=_languages_in_card(folder / CARD),
    )


def _module_classes(folder: Path) -> tuple[list[str], dict[str, str]]:
    """Return the class names of a model's modules in order, and by class the relative folder of its first module.

    Both are empty for a folder without modules of sentence-transformers.

    Raises:
        InputError: modules.json is malformed.
    """
    classes: list[str] = []
    folder_of: dict[str, str] = {}
    for relative, module_class in module_folders(folder, str(folder)):
        if module_class is not None:
            class_name = module_class.rpartition(".")[2]
            classes.append(class_name)
            folder_of.setdefault(class_name, relative)
    return classes, folder_of


def transformer_settings(folder: Path) -> dict[str, Any]:
    """Return what sentence-transformers saved about its transformer, of the first file in which there is something.

    Args:
        folder: the folder of the transformer.

    Raises:
        InputError: a file is not a JSON object.
    """
    for family in _SETTINGS_FAMILIES:
        settings: dict[str, Any] = read_json(folder / f"sentence_{family}_config.json")
        if settings:
            return settings
    return {}


def _sentence_limit(settings: dict[str, Any]) -> int | None:
    """Return the length in tokens at which sentence-transformers cuts a text; None if its files declare none.

    It is in the arguments of each call of the tokenizer, in those with which the tokenizer is loaded, or in
    ``max_seq_length``; the first of these that is there counts.
    """
    calls = settings.get("processing_kwargs")
    loading = settings.get("processor_kwargs", settings.get("tokenizer_args"))
    # arguments for all kinds of input come last, and win
    for section in (_section(calls, "common"), _section(calls, "text")):
        if "max_length" in section:
            return _first_integer(section, "max_length")
    if isinstance(loading, dict) and "model_max_length" in loading:
        return _first_integer(loading, "model_max_length")
    return _first_integer(settings, "max_seq_length")


def _section(config: object, key: str) -> dict[str, Any]:
    """Return the object under a key, or an empty one if there is none."""
    section = config.get(key) if isinstance(config, dict) else None
    return section if isinstance(section, dict) else {}


def _reserved_positions(config: dict[str, Any]) -> int:
    """Return the position of the first token in a model that counts from the number of the padding token."""
    # MPNet counts from 1, whatever the padding token is
    padding = 1 if config.get("model_type") == "mpnet" else config.get("pad_token_id", 1)
    return (padding if isinstance(padding, int) and not isinstance(padding, bool) else 1) + 1


def _string_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _bool_or_none(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _first_integer(config: dict[str, Any], *names: str) -> int | None:
    """Return the value of the first of these names that has an integer; None if none has.

    Several names are tried, since they differ by model family.
    """
    for name in names:
        value = config.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def _label_names(config: dict[str, Any]) -> tuple[str, ...]:
    """Return the names of the outputs of a classifier, in order; a file leaves out the default of two outputs."""
    labels = config.get("id2label")
    count = len(labels) if isinstance(labels, dict) else _first_integer(config, "num_labels") or 2
    names = labels if isinstance(labels, dict) else {}
    return tuple(str(names.get(str(number), f"LABEL_{number}")) for number in range(count))


def _pooling_name(config: dict[str, Any]) -> str | None:
    """Return the pooling that the configuration of a Pooling module declares; None if it declares none.

    The newer and the older form of the configuration are read; several kinds of pooling are joined with ``+``.
    """
    mode = config.get("pooling_mode")  # the newer form: a word or a list of words
    if isinstance(mode, str):
        return mode or None
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
