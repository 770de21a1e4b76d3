"""What a fast GPU waits for: the work of the processor around a model, the model itself replaced by nothing.

A card that takes no time at all would be as fast as this thread prepares its batches and reads what comes out. Tokens
are made by threads of their own on both sides and are not counted; they are the same work.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from assay.datasets import load_dataset
from assay.metrics import Batch, load_metric
from tests.performance.ratio import medians

torch = pytest.importorskip("torch", reason="torch is absent: pip install assay[neural]")
pytest.importorskip("sentence_transformers", reason="sentence-transformers is absent: pip install assay[neural]")

from assay.metrics.neural import body  # noqa: E402
from assay.metrics.neural.runtime import Runtime, use_runtime  # noqa: E402
from assay.metrics.work import open_session, release_sessions  # noqa: E402

#: Pairs in a unit of work on a GPU, tokens in a batch there, and the pairs in a batch of the library.
UNIT, TOKENS, LIBRARY = 16384, 65536, 2048
WIDTH = 8


def nothing(rows: int, tokens: int) -> torch.Tensor:
    """Return hidden states that cost no time: narrow, since a card would add them up."""
    return NOTHING[: rows * tokens].view(rows, tokens, WIDTH)


NOTHING = torch.randn(4 * TOKENS, WIDTH, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def pairs(shared_data, monkeypatch) -> Batch:
    """Pairs of STS-B made distinct by a running number, so that no text comes twice."""
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "true")
    references, candidates, _ = load_dataset("stsb:test").texts()
    n = len(references)
    return Batch(*([f"{texts[i % n]} {i}" for i in range(UNIT)] for texts in (references, candidates)))


def of_library(kind: str, folder: str, pairs: Batch) -> Callable[[], object]:
    from sentence_transformers import CrossEncoder, SentenceTransformer, util

    texts = [*pairs.references, *pairs.candidates]
    if kind == "bi-encoder":
        encoder = SentenceTransformer(folder, device="cpu")

        def cosines() -> object:
            found = encoder.encode(texts, batch_size=LIBRARY, convert_to_tensor=True, show_progress_bar=False)
            return util.pairwise_cos_sim(found[:UNIT], found[UNIT:]).numpy()

        return cosines
    if kind == "cross-encoder":
        scorer, both = CrossEncoder(folder, device="cpu"), list(pairs.pairs())
        return lambda: scorer.predict(both, batch_size=LIBRARY, convert_to_tensor=True, show_progress_bar=False).numpy()
    bert_score = pytest.importorskip("bert_score", reason="bert-score is absent: pip install assay[neural]")
    matcher = bert_score.BERTScorer(model_type=folder, num_layers=6, device="cpu", nthreads=0)
    return lambda: matcher.score([*pairs.candidates], [*pairs.references], batch_size=LIBRARY)[2].numpy()


@pytest.mark.parametrize("kind", ["bi-encoder", "bertscore", "cross-encoder"])
def test_the_processor_around_a_model(kind, pairs, real_models, monkeypatch, capsys):
    from transformers.modeling_outputs import BaseModelOutputWithPoolingAndCrossAttentions, SequenceClassifierOutput
    from transformers.models.bert import modeling_bert

    torch.set_num_threads(1)
    folder = str(real_models / ("cross-encoder" if kind == "cross-encoder" else "minilm"))
    metric = load_metric(f"{kind}:{folder},precision=fp32")
    with use_runtime(Runtime(device="cpu", threads=1, tokens=TOKENS)):
        session = open_session(metric.needs())
    library = of_library(kind, folder, pairs)

    def hidden_states(self, batch, layers):
        return dict.fromkeys(layers, nothing(*batch.ids.shape))

    def encode(self, input_ids=None, return_dict=True, **given):
        states = nothing(*input_ids.shape)
        if not return_dict:
            return states, None, (states,) * 7
        return BaseModelOutputWithPoolingAndCrossAttentions(last_hidden_state=states, hidden_states=(states,) * 7)

    def classify(self, input_ids=None, **given):
        return SequenceClassifierOutput(logits=nothing(*input_ids.shape)[:, 0, :1])

    monkeypatch.setattr(body.TorchBody, "hidden_states", hidden_states)
    monkeypatch.setattr(body.TorchScorerBody, "logits", lambda self, batch: nothing(*batch.ids.shape)[:, 0, :1])
    monkeypatch.setattr(modeling_bert.BertModel, "forward", encode)
    monkeypatch.setattr(modeling_bert.BertForSequenceClassification, "forward", classify)
    ways = {"library": library, "assay": lambda: session.score([metric], pairs)}
    try:
        for way in ways.values():
            way()
        times = medians(ways, clock=time.thread_time)
    finally:
        release_sessions()
    micros = {name: 1e6 * taken / (2 * UNIT) for name, taken in times.items()}
    ratio = times["library"] / times["assay"]
    with capsys.disabled():
        print(
            f"\n{kind}: {micros['library']:.1f} us a text around the model, assay {micros['assay']:.1f}: {ratio:.1f} x"
        )
    assert np.isfinite(ratio) and ratio >= 2
