"""The encoder of sentences and forms: mean pooling, and a special token for each side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from assay.errors import UnavailableError
from assay.training.pairwise.losses import CPU_SPARE, CPU_TOKENS, GPU_SPARE, GPU_TOKENS
from assay.training.tokens import alike, table_of_texts

__all__ = ["FORM", "SENTENCE", "embed", "make_ready", "name_prompt"]

#: The paper's special tokens, before a sentence and before a PropBank form.
SENTENCE, FORM = "[_EN_]", "[_SRLMR_]"
#: How far the first embedding of a special token is from the mean, in standard deviations of each dimension.
SPREAD = 0.1


def make_ready(whole: Any, seed: int, name: str) -> None:
    """Give a model of sentence-transformers mean pooling and the special tokens, in place.

    Each token gets a row of its own in the embeddings: their mean, and a little of their spread drawn by *seed*, so
    that the two differ. A model that has the tokens keeps them. Its own default prompt goes: it is trained without.

    Raises:
        UnavailableError: it has no transformer with a table of embeddings.
    """
    from sentence_transformers.sentence_transformer.modules import Pooling

    body = getattr(whole[0], "model", None)
    if body is None or not hasattr(body, "get_input_embeddings"):
        raise UnavailableError(f"model {name}: has no transformer that could learn special tokens")
    for place, module in enumerate(whole):
        if isinstance(module, Pooling):
            whole[place] = Pooling(whole[0].get_embedding_dimension(), pooling_mode="mean")
    whole.default_prompt_name = None
    _add_tokens(body, whole.tokenizer, seed)


def _add_tokens(body: Any, tokenizer: Any, seed: int) -> None:
    from transformers import AddedToken

    known = tokenizer.get_vocab()
    new = [token for token in (SENTENCE, FORM) if token not in known]
    tokenizer.add_tokens([AddedToken(token, special=True, normalized=False) for token in new], special_tokens=True)
    before = body.get_input_embeddings().weight.detach().clone()
    if len(tokenizer) > len(before):  # some models have more rows than tokens
        body.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    dice = torch.Generator().manual_seed(seed)
    drawn = torch.randn(len(new), before.shape[1], generator=dice).to(before)
    rows = body.get_input_embeddings().weight
    with torch.no_grad():
        for token, noise in zip(new, drawn, strict=True):
            rows[tokenizer.convert_tokens_to_ids(token)] = before.mean(dim=0) + SPREAD * before.std(dim=0) * noise


def name_prompt(whole: Any) -> None:
    """Have a model put the token of a sentence before a text where its prompt ``sentence`` is asked for.

    It is no default: on the development pairs of STS-B, models mid-tuned from MiniLM agree better with people without
    it, under both objectives.
    """
    whole.prompts = {**whole.prompts, "sentence": f"{SENTENCE} "}


def embed(whole: Any, texts: Sequence[str], device: str) -> torch.Tensor:
    """Return the embeddings of n texts as a model gives them to anybody, with its default prompt.

    Args:
        whole: the model of sentence-transformers; left in the mode for use.
        texts: n of them.
        device: where the model is.

    Returns:
        float32 on the CPU, shape (n, dimensions).
    """
    whole.eval()
    table = table_of_texts(whole, texts)
    cpu = device == "cpu"
    parts = list(alike(table.lengths, CPU_TOKENS if cpu else GPU_TOKENS, CPU_SPARE if cpu else GPU_SPARE))
    with torch.inference_mode():
        found = [whole(table.padded(part, device))["sentence_embedding"].float().cpu() for part in parts]
    return torch.cat(found)[torch.argsort(torch.cat(parts))]
