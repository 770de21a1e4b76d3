"""Fine-tuning a bi-encoder on name pairs against sentence-transformers' trainer with its defaults.

The same model, pairs, batch size, number of steps, learning rate and loss; one thread. Both ways are the whole of a
training, with loading the model and the checkpoint at the end. What assay does once for all 26,923 training pairs,
tokenizing, is counted in by the share of the pairs trained on; all rows of the embeddings that these pairs read are
trained, as they would be in the whole training.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.performance.ratio import medians

torch = pytest.importorskip("torch", reason="torch is absent: pip install assay[train]")
pytest.importorskip("accelerate", reason="accelerate is absent: pip install assay[train]")

from assay.common.progress import Silent  # noqa: E402
from assay.metrics.neural.loading import silence_libraries  # noqa: E402
from assay.training.data import load_examples  # noqa: E402
from assay.training.loop import Schedule  # noqa: E402
from assay.training.models import (  # noqa: E402
    Inputs,
    load_bi_encoder,
    table_of_texts,
)
from assay.training.pairwise.losses import make_loss  # noqa: E402
from assay.training.pairwise.trainer import (  # noqa: E402
    plan_epochs,
    train_pairs,
)

RATE, ROUNDS = 5e-5, 3
#: Pairs a step of sentence-transformers' defaults, to which the bound of 1.5 belongs; with more of them there is
#: little to gain but padding.
DEFAULT = 8
#: Pairs that ours evaluates on at the end: two is the fewest there can be.
DEV = 2


class Losses:
    """The losses of a training's batches, and when each was computed."""

    def __init__(self) -> None:
        self._values: list[Any] = []
        self.times: list[float] = []

    def listen_to(self, loss: Any) -> Any:
        """Have a loss write down the value of every training batch; a GPU is not waited for."""

        def note(module: Any, inputs: Any, value: Any) -> None:
            if module.model.training:
                self._values.append(value.detach())
                self.times.append(time.perf_counter())

        loss.register_forward_hook(note)
        return loss

    def values(self) -> list[float]:
        return [float(value) for value in self._values]


def theirs(base: Path, examples: Any, rows: np.ndarray, size: int, device: str = "cpu") -> Losses:
    """Train as sentence-transformers' documentation has it, on a GPU in bf16; return the loss of every batch."""
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer.losses import CosineSimilarityLoss

    losses = Losses()
    with silence_libraries(), tempfile.TemporaryDirectory() as folder:
        model = SentenceTransformer(str(base), device=device)
        part = examples.take(rows)
        columns = {"one": part.references, "other": part.candidates, "score": part.labels}
        arguments = SentenceTransformerTrainingArguments(
            folder, num_train_epochs=1, use_cpu=device == "cpu", bf16=device != "cpu", report_to=[], disable_tqdm=True
        )
        assert arguments.learning_rate == RATE
        if size != arguments.per_device_train_batch_size:
            arguments.per_device_train_batch_size = size
        data = Dataset.from_dict({name: list(values) for name, values in columns.items()})
        loss = losses.listen_to(CosineSimilarityLoss(model))
        SentenceTransformerTrainer(model=model, args=arguments, train_dataset=data, loss=loss).train()
    return losses


def ours(
    base: Path, numbers: dict[str, int], table: Any, examples: Any, rows: np.ndarray, size: int, device: str = "cpu"
) -> Losses:
    """Train as assay does; return the loss of every batch."""
    losses = Losses()
    with tempfile.TemporaryDirectory() as folder:
        whole = load_bi_encoder(base, device)
        part = examples.take(np.concatenate([rows, rows[:DEV]]))
        first, second = (torch.tensor([numbers[text] for text in side]) for side in (part.references, part.candidates))
        inputs = Inputs(table, first, second, torch.from_numpy(part.labels).float())
        loss = losses.listen_to(make_loss("cosine", whole, inputs, None, 0))
        plan = plan_epochs("length", None, inputs.lengths.numpy()[: len(rows)], size, 0)
        course = Schedule(1, size, RATE, 0, len(plan), 0)
        dev = np.arange(len(rows), len(rows) + DEV)
        train_pairs("bi-encoder", loss, plan, dev, course, Path(folder), device, Silent())
    return losses


@pytest.mark.parametrize(("size", "steps"), [(DEFAULT, 60), (16, 32), (64, 12)])
def test_pairs_per_second(real_models, shared_data, monkeypatch, capsys, size, steps):
    torch.set_num_threads(1)
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    base = real_models / "minilm"
    examples = load_examples(["name-pairs:train"], limit=None)
    rows = np.random.default_rng(0).permutation(len(examples))[: size * steps]
    start = time.process_time()
    texts = sorted(examples.texts)
    table = table_of_texts(load_bi_encoder(base, "cpu"), texts)
    once = (time.process_time() - start) * len(rows) / len(examples)
    numbers = {text: number for number, text in enumerate(texts)}
    found: dict[str, Losses] = {}
    ways = {
        "sentence-transformers": lambda: found.update(theirs=theirs(base, examples, rows, size)),
        "assay": lambda: found.update(ours=ours(base, numbers, table, examples, rows, size)),
    }
    taken = medians(ways, ROUNDS)
    taken["assay"] += once
    rates = {name: len(rows) / seconds for name, seconds in taken.items()}
    ratio = rates["assay"] / rates["sentence-transformers"]
    one, other = (np.array(found[side].values()) for side in ("theirs", "ours"))
    assert len(one) == len(other) == steps
    # both ways learn from the same pairs in other batches: their means differ by what the drawing of batches and of
    # dropout makes them differ, of which the spread of the batches tells the size
    noise = 3 * float(np.sqrt((one.var(ddof=1) + other.var(ddof=1)) / steps))
    with capsys.disabled():
        print(
            f"\nfine-tuning on {len(rows)} name pairs, {size} a step: sentence-transformers "
            f"{rates['sentence-transformers']:.1f} pairs/s, assay {rates['assay']:.1f} pairs/s, {ratio:.2f} times; "
            f"mean loss {one.mean():.5f} and {other.mean():.5f}, noise {noise:.5f}"
        )
    assert abs(one.mean() - other.mean()) < noise
    if size == DEFAULT:
        assert ratio >= 1.5
