"""Folders as sentence-transformers saves them, with random weights: every module and setting of its version 6.

``python -m tests.metrics.architectures`` prints the table of docs/architectures.md.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.metrics.architectures import make_model
from tests.metrics.models.tiny import WORDS, make_bert, make_causal


def change(path: Path, **changes: Any) -> None:
    """Change entries of a JSON file; an entry of None is removed."""
    content = json.loads(path.read_text()) | changes if path.exists() else changes
    path.write_text(json.dumps({key: value for key, value in content.items() if value is not None}))


def saved(folder: Path, *modules: Any, **options: Any) -> Path:
    """Save modules of sentence-transformers as one model; return the folder."""
    from sentence_transformers import SentenceTransformer

    SentenceTransformer(modules=list(modules), device="cpu", **options).save(str(folder))
    return folder


def static_embedding(folder: Path) -> Any:
    import torch
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from transformers import AutoTokenizer

    make_bert(folder)
    torch.manual_seed(0)
    return StaticEmbedding(AutoTokenizer.from_pretrained(folder), embedding_dim=16)


def parts_of(folder: Path) -> tuple[Any, Any]:
    """Return the transformer of a new model and mean pooling of sentence-transformers."""
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    make_bert(folder)
    return Transformer(str(folder)), Pooling(32, "mean")


PROMPTS: dict[str, Any] = {"prompts": {"query": "water horse: ", "document": "tree: "}, "default_prompt_name": "query"}


def weighted_layers(folder: Path) -> Path:
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling, WeightedLayerPooling

    make_bert(folder / "base")
    body = Transformer(str(folder / "base"), config_kwargs={"output_hidden_states": True})
    return saved(folder / "model", body, WeightedLayerPooling(32, 2, 0), Pooling(32, "mean"))


def router(folder: Path) -> Path:
    from sentence_transformers.base.modules import Router

    body, pooling = parts_of(folder / "base")
    routes = {"query": [static_embedding(folder / "static")], "document": [body, pooling]}
    return saved(folder / "model", Router(routes, default_route="document"))


def static_and_normalize(folder: Path) -> Path:
    from sentence_transformers.base.modules import Normalize

    return saved(folder / "model", static_embedding(folder / "static"), Normalize(), **PROMPTS)


def pooling_without_prompt(folder: Path) -> Path:
    from sentence_transformers.sentence_transformer.modules import Pooling

    body, _ = parts_of(folder / "base")
    return saved(folder / "model", body, Pooling(32, "mean", include_prompt=False), **PROMPTS)


def several_poolings(folder: Path) -> Path:
    from sentence_transformers.sentence_transformer.modules import Pooling

    body, _ = parts_of(folder / "base")
    modes = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")
    return saved(folder / "model", body, Pooling(32, modes), **PROMPTS)


def convolution(folder: Path) -> Path:
    from sentence_transformers.sentence_transformer.modules import CNN, Pooling

    body, _ = parts_of(folder / "base")
    return saved(folder / "model", body, CNN(32, 8), Pooling(24, "mean"))


def dense_and_others(folder: Path) -> Path:
    from sentence_transformers.base.modules import Dense, Normalize
    from sentence_transformers.sentence_transformer.modules import Dropout, LayerNorm

    body, pooling = parts_of(folder / "base")
    return saved(folder / "model", body, pooling, LayerNorm(32), Dense(32, 12), Dropout(0.5), Normalize())


def dense_of_tokens(folder: Path) -> Path:
    from sentence_transformers.base.modules import Dense
    from sentence_transformers.sentence_transformer.modules import Pooling

    body, _ = parts_of(folder / "base")
    names = {"module_input_name": "token_embeddings", "module_output_name": "token_embeddings"}
    return saved(folder / "model", body, Dense(32, 12, **names), Pooling(12, "max"))


def calls_without_special_tokens(folder: Path) -> Path:
    _, pooling = parts_of(folder / "base")
    from sentence_transformers.base.modules import Transformer

    body = Transformer(str(folder / "base"), processing_kwargs={"text": {"add_special_tokens": False}})
    return saved(folder / "model", body, pooling)


def lower_case(folder: Path) -> Path:
    from sentence_transformers.base.modules import Transformer

    _, pooling = parts_of(folder / "base")
    body = Transformer(str(folder / "base"), do_lower_case=True, max_seq_length=12)
    return saved(folder / "model", body, pooling)


def other_output(folder: Path) -> Path:
    """The pooler's output is the embedding."""
    from sentence_transformers.base.modules import Transformer

    make_bert(folder / "base")
    config: Any = {"text": {"method": "forward", "method_output_name": "pooler_output"}}
    body = Transformer(str(folder / "base"), modality_config=config, module_output_name="sentence_embedding")
    return saved(folder / "model", body)


def chat_template(folder: Path) -> Path:
    make_bert(folder)
    (folder / "chat_template.jinja").write_text(
        "{% for message in messages %}water {{ message['content'] }}{% endfor %}"
    )
    return folder


def unpadded(folder: Path) -> Path:
    from sentence_transformers.base.modules import Transformer

    _, pooling = parts_of(folder / "base")
    return saved(folder / "model", Transformer(str(folder / "base"), unpad_inputs=False), pooling)


def lengths_by_task(folder: Path) -> Path:
    from sentence_transformers.base.modules import Transformer

    _, pooling = parts_of(folder / "base")
    return saved(folder / "model", Transformer(str(folder / "base"), query_length=8, document_length=9), pooling)


def strided_convolution(folder: Path) -> Path:
    from sentence_transformers.sentence_transformer.modules import CNN, Pooling

    body, _ = parts_of(folder / "base")
    return saved(folder / "model", body, CNN(32, 6, [1, 5], [1, 1]), Pooling(12, "max"))


def word_table(longest: int) -> Any:
    """Return the module of word vectors, which cuts texts at so many words."""
    import torch
    from sentence_transformers.sentence_transformer.modules import WordEmbeddings
    from sentence_transformers.sentence_transformer.modules.tokenizer import WhitespaceTokenizer

    torch.manual_seed(0)
    return WordEmbeddings(WhitespaceTokenizer(list(WORDS)), torch.randn(len(WORDS), 16), True, max_seq_length=longest)


def recurrent(folder: Path) -> Path:
    from sentence_transformers.sentence_transformer.modules import LSTM, Pooling

    layers = LSTM(16, 8, num_layers=2, dropout=0.3, bidirectional=False)
    return saved(folder / "model", word_table(60), layers, Pooling(8, "mean"))


def bag_of_words(folder: Path) -> Path:
    from sentence_transformers.base.modules import Dense
    from sentence_transformers.sentence_transformer.modules import BoW

    words = list(WORDS)
    weights = {word: 1 + number % 5 for number, word in enumerate(words)}
    bag = BoW(words, weights, unknown_word_weight=0.5, cumulative_term_frequency=False)
    return saved(folder / "model", bag, Dense(len(words), 12))


def word_vectors(folder: Path) -> Path:
    from sentence_transformers.sentence_transformer.modules import Pooling, WordWeights

    weights = WordWeights(list(WORDS), {word: 1 + n % 5 for n, word in enumerate(WORDS)}, unknown_word_weight=0.3)
    return saved(folder / "model", word_table(9), weights, Pooling(16, "mean"))


def residual_dense(folder: Path) -> Path:
    import torch
    from sentence_transformers.base.modules import Dense

    body, pooling = parts_of(folder / "base")
    dense = Dense(32, 12, bias=False, activation_function=torch.nn.GELU(), use_residual=True)
    return saved(folder / "model", body, pooling, dense)


def normalize_of_tokens(folder: Path) -> Path:
    from sentence_transformers.base.modules import Normalize

    body, pooling = parts_of(folder / "base")
    names = {"module_input_name": "token_embeddings", "module_output_name": "token_embeddings"}
    return saved(folder / "model", body, Normalize(**names), pooling)


def shortened(folder: Path) -> Path:
    return saved(folder / "model", *parts_of(folder / "base"), truncate_dim=9, similarity_fn_name="cosine", **PROMPTS)


def router_of_tasks(folder: Path) -> Path:
    from sentence_transformers.base.modules import Router

    routes = {"short": [static_embedding(folder / "static")], "long": list(parts_of(folder / "base"))}
    mappings = {("query", None): "short", (None, "text"): "long"}
    return saved(
        folder / "model", Router(routes, default_route="short", allow_empty_key=False, route_mappings=mappings)
    )


#: Saved configurations of sentence encoders.
LAYOUTS = [
    bag_of_words,
    calls_without_special_tokens,
    chat_template,
    convolution,
    dense_and_others,
    dense_of_tokens,
    lengths_by_task,
    lower_case,
    normalize_of_tokens,
    other_output,
    pooling_without_prompt,
    recurrent,
    residual_dense,
    router,
    router_of_tasks,
    several_poolings,
    shortened,
    static_and_normalize,
    strided_convolution,
    unpadded,
    weighted_layers,
    word_vectors,
]


def sparse(folder: Path) -> Path:
    from sentence_transformers import SparseEncoder
    from sentence_transformers.sparse_encoder.modules import MLMTransformer, SpladePooling
    from transformers import AutoModelForMaskedLM

    make_bert(folder / "base")
    AutoModelForMaskedLM.from_pretrained(folder / "base").save_pretrained(folder / "base")
    modules = [MLMTransformer(str(folder / "base")), SpladePooling("max")]
    SparseEncoder(modules=modules, device="cpu").save(str(folder / "model"))
    return folder / "model"


def several_vectors(folder: Path) -> Path:
    from sentence_transformers import MultiVectorEncoder

    MultiVectorEncoder(str(make_bert(folder / "base")), device="cpu").save(str(folder / "model"))
    return folder / "model"


def cross_encoder(folder: Path) -> Path:
    from sentence_transformers import CrossEncoder

    CrossEncoder(str(make_bert(folder / "base", labels=1)), device="cpu").save(str(folder / "model"))
    return folder / "model"


def classifier(folder: Path) -> Path:
    return make_bert(folder, labels=3)


#: Folders that are no sentence encoders.
OTHER_KINDS = [sparse, several_vectors, cross_encoder, classifier]


def saved_scorer(folder: Path, *modules: Any, **options: Any) -> Path:
    """Save modules of sentence-transformers as one cross-encoder; return the folder."""
    from sentence_transformers import CrossEncoder

    CrossEncoder(modules=list(modules), device="cpu", **options).save(str(folder))
    return folder


def classifier_module(folder: Path, **settings: Any) -> Any:
    """Return the module of a new classifier."""
    from sentence_transformers.base.modules import Transformer

    return Transformer(str(make_bert(folder, labels=1)), transformer_task="sequence-classification", **settings)


def cut_by_calls(folder: Path) -> Path:
    return saved_scorer(
        folder / "model", classifier_module(folder / "base", processing_kwargs={"text": {"max_length": 12}})
    )


def without_special_tokens(folder: Path) -> Path:
    calls = {"text": {"add_special_tokens": False}}
    return saved_scorer(folder / "model", classifier_module(folder / "base", processing_kwargs=calls), **PROMPTS)


def pooling_and_dense(folder: Path) -> Path:
    from sentence_transformers.base.modules import Dense, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    names = {"module_input_name": "sentence_embedding", "module_output_name": "scores"}
    body = Transformer(str(make_bert(folder / "base")))
    return saved_scorer(folder / "model", body, Pooling(32, "mean"), Dense(32, 1, **names))


def logit_of_a_token(folder: Path) -> Path:
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.cross_encoder.modules import LogitScore

    body = Transformer(str(make_causal(folder / "base")), transformer_task="text-generation")
    return saved_scorer(folder / "model", body, LogitScore(true_token_id=5, false_token_id=6))


def scorer_with_chat_template(folder: Path) -> Path:
    make_bert(folder / "model", labels=1)
    template = "{% for message in messages %}water {{ message['content'] }}{% endfor %}"
    (folder / "model" / "chat_template.jinja").write_text(template)
    return folder / "model"


def activation_and_prompt(folder: Path) -> Path:
    import torch

    return saved_scorer(folder / "model", classifier_module(folder / "base"), activation_fn=torch.nn.Tanh(), **PROMPTS)


def decoder_without_padding_in_its_configuration(folder: Path) -> Path:
    make_model(folder / "model", "gpt2", labels=1)
    change(folder / "model" / "config.json", pad_token_id=None)
    return folder / "model"


#: Saved configurations of cross-encoders.
CROSS_LAYOUTS = [
    activation_and_prompt,
    scorer_with_chat_template,
    cut_by_calls,
    decoder_without_padding_in_its_configuration,
    logit_of_a_token,
    pooling_and_dense,
    without_special_tokens,
]
