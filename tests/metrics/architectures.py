"""Models of many architectures with random weights, and the scores that their libraries give to pairs of texts.

``python -m tests.metrics.architectures`` prints the tables of docs/architectures.md.
"""

from __future__ import annotations

import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.metrics import Batch, load_metric
from tests.metrics.models.tiny import save_tokenizer, vocabulary_size

_ENCODER: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 70,
    "type_vocab_size": 2,
}
_DECODER = _ENCODER | {"num_key_value_heads": 2, "head_dim": 8}
_T5: dict[str, Any] = {"decoder_start_token_id": 0} | {
    "d_model": 16,
    "d_kv": 8,
    "d_ff": 24,
    "num_layers": 2,
    "num_heads": 2,
    "num_decoder_layers": 1,
}
_BART: dict[str, Any] = {
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "max_position_embeddings": 70,
}
_GPT: dict[str, Any] = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 70}
_XLM: dict[str, Any] = {"emb_dim": 16, "n_layers": 2, "n_heads": 2, "max_position_embeddings": 70}

#: By the name of transformers, the sizes of a small model of an architecture that reads texts.
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "albert": _ENCODER | {"embedding_size": 8},
    "bart": _BART,
    "bert": _ENCODER,
    "bert-generation": _ENCODER,
    "big_bird": _ENCODER,
    "bloom": {"hidden_size": 16, "n_layer": 2, "n_head": 2},
    "camembert": _ENCODER,
    "convbert": _ENCODER | {"embedding_size": 16, "head_ratio": 1, "conv_kernel_size": 3},
    "data2vec-text": _ENCODER,
    "deberta": _ENCODER,
    "deberta-v2": _ENCODER,
    "distilbert": {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24, "max_position_embeddings": 70},
    "electra": _ENCODER | {"embedding_size": 8},
    "ernie": _ENCODER,
    "esm": _ENCODER | {"position_embedding_type": "rotary", "mask_token_id": 4},
    "eurobert": _DECODER,
    "falcon": {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "max_position_embeddings": 70},
    "flaubert": _XLM,
    "fnet": _ENCODER,
    "gemma": _DECODER,
    "gemma2": _DECODER,
    "gemma3_text": _DECODER,
    "gpt2": _GPT,
    "gpt_neo": {"hidden_size": 16, "num_layers": 2, "num_heads": 2, "attention_types": [[["global"], 2]]}
    | {"max_position_embeddings": 70},
    "gpt_neox": _ENCODER,
    "gptj": _GPT | {"rotary_dim": 4},
    "ibert": _ENCODER,
    "layoutlm": _ENCODER,
    "led": _BART
    | {"max_encoder_position_embeddings": 70, "max_decoder_position_embeddings": 70, "attention_window": 8},
    "llama": _DECODER,
    "longformer": _ENCODER | {"attention_window": 8},
    "longt5": _T5 | {"local_radius": 7},
    "luke": _ENCODER | {"entity_vocab_size": 10, "entity_emb_size": 8},
    "m2m_100": _BART,
    "marian": _BART | {"decoder_start_token_id": 0},
    "mbart": _BART,
    "megatron-bert": _ENCODER,
    "mistral": _DECODER,
    "mobilebert": _ENCODER
    | {"embedding_size": 8, "intra_bottleneck_size": 16, "true_hidden_size": 16, "use_bottleneck": False},
    "modernbert": _ENCODER,
    "mpnet": _ENCODER,
    "mra": _ENCODER,
    "mt5": _T5,
    "mvp": _BART,
    "nomic_bert": _ENCODER,
    "olmo": _DECODER,
    "olmo2": _DECODER,
    "opt": {"hidden_size": 16, "ffn_dim": 24, "word_embed_proj_dim": 16, "num_hidden_layers": 2}
    | {"num_attention_heads": 2, "max_position_embeddings": 70},
    "pegasus": _BART,
    "phi": _DECODER,
    "phi3": _DECODER,
    "plbart": _BART,
    "qwen2": _DECODER,
    "qwen3": _DECODER,
    "rembert": _ENCODER | {"input_embedding_size": 8, "output_embedding_size": 8},
    "roberta": _ENCODER,
    "roberta-prelayernorm": _ENCODER,
    "roc_bert": _ENCODER | {"enable_pronunciation": False, "enable_shape": False},
    "roformer": _ENCODER | {"embedding_size": 8},
    "smollm3": _DECODER,
    "splinter": _ENCODER,
    "squeezebert": _ENCODER
    | {"embedding_size": 16}
    | dict.fromkeys(("q_groups", "k_groups", "v_groups", "post_attention_groups", "intermediate_groups"), 1)
    | {"output_groups": 1},
    "stablelm": _DECODER,
    "starcoder2": _DECODER,
    "switch_transformers": _T5 | {"num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1, "num_experts": 2},
    "t5": _T5,
    "umt5": _T5,
    "xglm": {"d_model": 16, "num_layers": 2, "attention_heads": 2, "ffn_dim": 24, "max_position_embeddings": 70},
    "xlm": _XLM,
    "xlm-roberta": _ENCODER,
    "xlm-roberta-xl": _ENCODER,
    "xlnet": {"d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 24},
    "xmod": _ENCODER | {"languages": ["en_XX"], "default_language": "en_XX"},
    "yoso": _ENCODER,
}

#: Decoders and others that would read a segment as a token; their own tokenizers give none.
_WITHOUT_SEGMENTS = frozenset({"flaubert", "gpt2", "gpt_neo", "gptj", "xlm", "xlnet"})
#: Encoder-decoders whose encoder sentence-transformers loads with random weights; assay refuses them.
WITHOUT_LIBRARY = frozenset({"m2m_100", "marian", "pegasus"})


def make_model(folder: Path, name: str, *, labels: int | None = None, max_length: int | None = 64) -> Path:
    """Write a model of an architecture with random weights and a WordPiece tokenizer; return the folder.

    Args:
        folder: where; made if need be.
        name: a key of :data:`ARCHITECTURES`.
        labels: the outputs of a classification head; None for a model without a head.
        max_length: the limit that the tokenizer declares; None for none.
    """
    import torch
    from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification

    special = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3}
    config = AutoConfig.for_model(name, vocab_size=vocabulary_size(), **special | ARCHITECTURES[name])
    if labels is not None:
        config.num_labels = labels
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = (AutoModel if labels is None else AutoModelForSequenceClassification).from_config(config)
        for parameter in model.parameters():
            # wider than the usual start, with which all texts would have nearly the same vector
            if parameter.dim() > 1:
                torch.nn.init.normal_(parameter, std=0.3)
            else:
                # a normalisation by weights of 1 would change no cosine
                parameter.data += 0.3 * torch.randn_like(parameter)
    model.save_pretrained(str(folder))
    save_tokenizer(folder, max_length, segments=name not in _WITHOUT_SEGMENTS)
    return folder


def library_cosines(folder: Path, batch: Batch, **options: Any) -> NDArray[np.float64]:
    """Return the similarity of each pair by sentence-transformers itself, shape (n,).

    Args:
        folder: the folder of the model.
        batch: the n pairs.
        **options: further arguments of ``SentenceTransformer``.
    """
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu", **options)
    left, right = (model.encode(list(texts), batch_size=1) for texts in (batch.references, batch.candidates))
    scores: NDArray[np.float64] = model.similarity_pairwise(left, right).double().numpy()
    return scores


def library_logits(folder: Path, batch: Batch, **options: Any) -> NDArray[np.float64]:
    """Return the score of each pair by the CrossEncoder of sentence-transformers; arguments as above."""
    from sentence_transformers import CrossEncoder

    scores: NDArray[np.float64] = CrossEncoder(str(folder), device="cpu", **options).predict(
        list(batch.pairs()), batch_size=1
    )
    return scores


def library_bertscore(folder: Path, batch: Batch) -> NDArray[np.float64]:
    """Return F of each pair by the package bert-score from the last layer, called pair by pair, shape (n,)."""
    from collections import defaultdict

    from bert_score.utils import bert_cos_score_idf
    from sentence_transformers import SentenceTransformer
    from transformers import AutoTokenizer

    # the package loads fewer architectures; what it computes is the same for all
    model = SentenceTransformer(str(folder), device="cpu")[0].model.eval()
    if hasattr(model, "encoder") and hasattr(model, "decoder"):
        model = model.encoder
    tokenizer = AutoTokenizer.from_pretrained(folder)
    weights: defaultdict[int, float] = defaultdict(lambda: 1.0)
    weights[tokenizer.sep_token_id] = weights[tokenizer.cls_token_id] = 0.0
    scores = [
        bert_cos_score_idf(model, [reference], [candidate], tokenizer, weights, device="cpu")[0, 2].item()
        for reference, candidate in batch.pairs()
    ]
    return np.array(scores)


def differences(name: str, folder: Path, batch: Batch) -> dict[str, float | None]:
    """Return by metric the largest difference from the library on a batch; None where the library has no such model.

    Args:
        name: a key of :data:`ARCHITECTURES`.
        folder: a new folder for the models.
        batch: the pairs.
    """
    encoder = make_model(folder / "encoder", name)
    cosines = library_cosines(encoder, batch)

    def difference(metric: str, expected: NDArray[np.float64]) -> float:
        return float(np.abs(load_metric(metric).score(batch) - expected).max())

    has_decoder = ARCHITECTURES[name].get("encoder_layers") is not None
    found: dict[str, float | None] = {
        "bi-encoder": difference(f"bi-encoder:{encoder}", cosines),
        # the library's cosine is of the decoder's states
        "pooled": None if has_decoder else difference(f"pooled:{encoder}", cosines),
        "bertscore": difference(f"bertscore:{encoder}", library_bertscore(encoder, batch)),
        "cross-encoder": None,
    }
    try:
        scorer = make_model(folder / "scorer", name, labels=1)
    except ValueError:
        # transformers has no such head for this architecture
        return found
    return found | {"cross-encoder": difference(f"cross-encoder:{scorer}", library_logits(scorer, batch))}


def main() -> None:
    """Print two tables of the largest differences in Markdown, by architecture and by saved configuration."""
    from transformers.utils import logging

    from tests.metrics.layouts import CROSS_LAYOUTS, LAYOUTS
    from tests.metrics.neural.texts import pairs

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "sentence-transformers"))
    print(f"{versions}, bert-score {version('bert-score')}\n")
    print("| architecture | bi-encoder | pooled | bertscore | cross-encoder |\n|---|---:|---:|---:|---:|")
    short = pairs(5)
    batch = Batch([*short.references, "water " * 90], [*short.candidates, "fire " * 80])
    with tempfile.TemporaryDirectory() as folder:
        for name in sorted(ARCHITECTURES.keys() - WITHOUT_LIBRARY):
            cells = [
                "–" if value is None else f"{value:.0e}"
                for value in differences(name, Path(folder, name), batch).values()
            ]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
        print("\n| saved configuration | metric | difference |\n|---|---|---:|")
        for metric, library, makers in (
            ("bi-encoder", library_cosines, LAYOUTS),
            ("cross-encoder", library_logits, CROSS_LAYOUTS),
        ):
            for make in makers:
                model = make(Path(folder, "layouts", make.__name__))
                difference = np.abs(load_metric(f"{metric}:{model}").score(batch) - library(model, batch)).max()
                print(f"| {make.__name__.replace('_', ' ')} | {metric} | {difference:.0e} |", flush=True)


if __name__ == "__main__":
    main()
