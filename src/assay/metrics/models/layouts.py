"""What a model folder of sentence-transformers computes besides a transformer of texts and modules behind it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.metrics.models.description import transformer_settings
from assay.metrics.models.files import module_folders, read_json

#: Modules that read nothing but the token embeddings and the mask, or the embedding of the text.
_MODULES_BEHIND = frozenset({"Dense", "Dropout", "LayerNorm", "Normalize", "Pooling"})
#: What the settings of a transformer say about the usual way of a sentence encoder and of a cross-encoder.
_USUAL_SETTINGS: dict[str, dict[str, Any]] = {
    "SentenceTransformer": {
        "transformer_task": "feature-extraction",
        "module_output_name": "token_embeddings",
        "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}},
    },
    "CrossEncoder": {
        "transformer_task": "sequence-classification",
        "module_output_name": "scores",
        "modality_config": {"text": {"method": "forward", "method_output_name": "logits"}},
    },
}
#: Settings that assay's own loop follows.
_FOLLOWED_SETTINGS = frozenset({"max_seq_length", "do_lower_case"})


def special_computation(folder: Path, saved_by: str) -> str | None:
    """Return what the files ask of the library that assay's own loop does not compute, for a message; None if nothing.

    Whatever is not known to be usual counts as special, so that a setting of a later version of the library does, too.

    Args:
        folder: the checked model folder.
        saved_by: the class of sentence-transformers that loads the model, which ignores the modules of other classes.

    Raises:
        InputError: a JSON file of the folder cannot be parsed, or modules.json is malformed.
    """
    library_class = read_json(folder / "config_sentence_transformers.json").get("model_type", "SentenceTransformer")
    modules = module_folders(folder, str(folder))
    (first_folder, first_class), *further_modules = modules
    if first_class is None or library_class != saved_by:
        has_template = "chat_template" in read_json(folder / "tokenizer_config.json")
        return "its chat template" if has_template or any(folder.glob("chat_template*")) else None
    for index, (relative, module_class) in enumerate(modules):
        name = str(module_class).rpartition(".")[2]
        usual_modules = {"Transformer"} if index == 0 else _MODULES_BEHIND
        if name not in usual_modules:
            return f"its module {name} (modules.json)"
        if name == "Pooling" and read_json(folder / relative / "config.json").get("include_prompt") is False:
            return f"a pooling without the prompt ({relative}/config.json)"
    if saved_by == "CrossEncoder" and further_modules:
        return "its modules behind the transformer (modules.json)"
    usual = _USUAL_SETTINGS[saved_by]
    for key, value in transformer_settings(folder / first_folder).items():
        # an empty value asks for nothing
        is_usual = key in _FOLLOWED_SETTINGS or value in (None, False, {}) or usual.get(key) == value
        if not is_usual:
            return f"its setting {key} of the transformer"
    return None
