"""What embeddings cost on one thread of a CPU, beside sentence-transformers and the products of matrices alone.

python -m tests.performance.embeddings MODEL [SENTENCES]
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer

import assay
from assay.benchmark.embeddings import EmbeddingStore, embed_texts
from assay.metrics import load_metric
from assay.metrics.neural.runtime import Runtime, use_runtime

ROUNDS = 3


def seconds_of(work: Callable[[], object]) -> float:
    """Return the CPU time of a call."""
    started = time.process_time()
    work()
    return time.process_time() - started


def seconds_of_products(model: SentenceTransformer, tokens: int) -> tuple[float, float]:
    """Return the rate of one large product of matrices in GFLOP/s, and the seconds of all products of the layers at it.

    The products are those of queries, keys, values and outputs, and of the two steps between layers, for each token;
    those of attention over pairs of tokens are left out.
    """
    settings = model[0].model.config
    width, inner = settings.hidden_size, settings.intermediate_size
    left, right = torch.randn(512, width), torch.randn(width, inner)
    repeats = 100
    seconds_of(lambda: [left @ right for _ in range(repeats)])
    rate = 2 * 512 * width * inner * repeats / seconds_of(lambda: [left @ right for _ in range(repeats)])
    needed = tokens * settings.num_hidden_layers * 2 * (4 * width * width + 2 * width * inner)
    return rate / 1e9, needed / rate


def main(name: str, count: int) -> None:
    """Print the seconds of each way to embed the same sentences, alternating, and their ratios."""
    torch.set_num_threads(1)
    sentences = sorted(set(assay.load_dataset("subj").sample(count, 0).texts()[1]))
    model = SentenceTransformer(name, device="cpu")
    tokens = sum(len(ids) for ids in model.tokenizer(sentences)["input_ids"])
    times: dict[str, list[float]] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        EmbeddingStore(Path(folder) / "store.sqlite") as store,
        use_runtime(Runtime("cpu", 1)),
    ):
        for backend in ("torch", "onnxruntime", "openvino"):
            metric = load_metric(f"bi-encoder:{name},backend={backend}")
            embed = partial(embed_texts, metric, sentences, store, fresh=True, advance=lambda count: None)
            embed()  # loads the model
            for _ in range(ROUNDS):
                library = seconds_of(lambda: model.encode(sentences, show_progress_bar=False))
                times.setdefault(f"encode, beside {backend}", []).append(library)
                times.setdefault(backend, []).append(seconds_of(embed))
    print(f"{len(sentences)} sentences, {tokens:,} tokens", flush=True)
    for what, seconds in times.items():
        print(f"{what}: {', '.join(f'{one:.2f}' for one in seconds)} s")
    rate, products = seconds_of_products(model, tokens)
    print(f"products of matrices alone, at {rate:.0f} GFLOP/s: {products:.2f} s")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200)
