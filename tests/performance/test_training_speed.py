"""Training S3BERT on cached layers against the loop that runs all layers: same batches, same losses, one thread."""

from __future__ import annotations

import time

import numpy as np
import pytest

from tests.performance.ratio import medians

torch = pytest.importorskip("torch", reason="torch is absent: pip install assay[train]")
pytest.importorskip("accelerate", reason="accelerate is absent: pip install assay[train]")

from assay.metrics import Batch  # noqa: E402
from assay.training.data import load_examples  # noqa: E402
from assay.training.models import load_bi_encoder  # noqa: E402
from assay.training.s3bert.frozen import (  # noqa: E402
    freeze_texts,
    split_encoder,
    upper_embeddings,
)
from assay.training.s3bert.targets import score_pairs  # noqa: E402
from assay.training.s3bert.trainer import S3BertLoss, consistency_loss, decomposition_loss  # noqa: E402

SPECS = ("bamboo-sts:train", "bamboo-sick:train", "bamboo-para:train")
#: Pairs of each dataset; batches are as in a training, 64 pairs and negatives.
LIMIT, SIZE, STEPS, ROUNDS = 128, 64, 2, 3


class Scorer:
    """Targets cost no step anything; any will do."""

    names = tuple("abcdefghijklmno")
    signature = "random"

    def score(self, batch: Batch) -> np.ndarray:
        return np.random.default_rng(len(batch)).random((len(batch), 15))


class Quiet:
    """A progress that shows nothing."""

    def begin(self, what, total):
        pass

    def advance(self, units):
        pass

    def say(self, line):
        pass


def steps(loss, batches):
    """Return what makes a few steps of training and gives the losses."""
    optimizer = torch.optim.AdamW([value for value in loss.parameters() if value.requires_grad], lr=1e-5)
    order = iter(batches * 100)

    def run():
        found = []
        for _ in range(STEPS):
            first, second, targets = next(order)
            total = sum(loss([first, second], targets).values())
            total.backward()
            optimizer.step()
            optimizer.zero_grad()
            found.append(total.item())
        return found

    return run


def test_steps_per_second(real_models, shared_data, monkeypatch, capsys):
    torch.set_num_threads(1)
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    examples = load_examples(SPECS, limit=LIMIT, graphs=True)
    pairs = score_pairs("train", examples, negatives=1, seed=0, scorer=Scorer(), progress=Quiet())
    texts = sorted({*pairs.references, *pairs.candidates})
    numbers = {text: number for number, text in enumerate(texts)}
    units = np.random.default_rng(0).permutation(pairs.unit.max() + 1)
    rows = np.argsort(units[pairs.unit], kind="stable")
    batches = [
        (
            torch.tensor([numbers[pairs.references[row]] for row in part]),
            torch.tensor([numbers[pairs.candidates[row]] for row in part]),
            torch.from_numpy(pairs.scores[part]),
        )
        for part in np.split(rows, range(SIZE, len(rows), SIZE))[:-1]
    ]

    halves = split_encoder(load_bi_encoder(real_models / "minilm", "cpu"), 2, "minilm")
    begun = time.process_time()
    frozen = freeze_texts(halves, texts, "cpu", advance=lambda number: None)
    once = time.process_time() - begun
    ours = S3BertLoss(
        halves.whole, lambda one: upper_embeddings(halves, frozen, one), frozen.teacher, aspects=15, width=16
    )

    # as one would write it: both sides of a batch through all layers of the model, and of the frozen base
    model = split_encoder(load_bi_encoder(real_models / "minilm", "cpu"), 2, "minilm").whole
    base = load_bi_encoder(real_models / "minilm", "cpu").eval()

    def embed(whole, side):
        inputs = whole.preprocess([texts[number] for number in side.tolist()])
        return whole(inputs)["sentence_embedding"]

    class Plain(S3BertLoss):
        def forward(self, features, labels):
            one, other = (embed(model, side) for side in features)
            with torch.no_grad():
                teacher = [embed(base, side) for side in features]
            return {
                "decomposition": decomposition_loss(one, other, labels, self.scales, 16),
                "consistency": consistency_loss(one, other, *teacher),
            }

    plain = Plain(model, lambda one: one, frozen.teacher, aspects=15, width=16)
    ways = {"all layers": steps(plain, batches), "cached": steps(ours, batches)}
    first = {name: way() for name, way in ways.items()}  # warms up as well
    assert first["cached"] == pytest.approx(first["all layers"], abs=1e-5)
    taken = medians(ways, ROUNDS)
    rates = {name: STEPS / seconds for name, seconds in taken.items()}
    ratio = rates["cached"] / rates["all layers"]
    tokens = float(frozen.lengths.float().mean())
    with capsys.disabled():
        print(
            f"\ntraining S3BERT, {SIZE} pairs a step, {tokens:.1f} tokens a text: all layers "
            f"{rates['all layers']:.2f} steps/s, cached {rates['cached']:.2f} steps/s, {ratio:.1f} times; "
            f"the frozen layers once: {1000 * once / len(texts):.1f} ms a text"
        )
    assert ratio >= 3
