"""Batches and losses in the trainers of sentence-transformers as they are: the same model as assay's own training."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
from sentence_transformers import (
    CrossEncoderTrainer,
    CrossEncoderTrainingArguments,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)

from assay.datasets.annotation_graph import build_graph
from assay.training.loop import Schedule, trainer_arguments
from assay.training.models import bi_inputs, cross_inputs, load_bi_encoder, load_cross_encoder
from assay.training.pairwise.losses import make_loss
from assay.training.pairwise.trainer import Collate, DevAgreement, PlanSampler, plan_epochs, train_pairs
from tests.training.training_run import Slow, made_pairs

ROWS, DEV = 40, np.arange(40, 60)


def start(base, cross, strategy):
    """Return the loss with its model, and the plan, of sixty pairs."""
    torch.manual_seed(0)
    pairs = made_pairs(60, 1)
    firsts, seconds = [one["reference"] for one in pairs], [one["candidate"] for one in pairs]
    labels = torch.tensor([one["label"] for one in pairs], dtype=torch.float32)
    if cross:
        model = load_cross_encoder(base, "cpu", outputs=1, activation=torch.nn.Sigmoid(), seed=0)
    else:
        model = load_bi_encoder(base, "cpu")
    inputs = (cross_inputs if cross else bi_inputs)(model, firsts, seconds, labels)
    graph = build_graph(firsts[:ROWS], seconds[:ROWS])
    plan = plan_epochs(strategy, graph, inputs.lengths.numpy()[:ROWS], 8, 0)
    return make_loss("bce" if cross else "cosine", model, inputs, None, 0), plan


@pytest.mark.parametrize("cross", [False, True])
@pytest.mark.parametrize("strategy", ["node", "edge-2"])
def test_unmodified_trainers_take_sampler_collator_and_loss(tiny_base, tmp_path, cross, strategy):
    loss, plan = start(tiny_base, cross, strategy)
    course = Schedule(2, 8, 1e-3, 0, len(plan), 0)
    train_pairs("cross-encoder" if cross else "bi-encoder", loss, plan, DEV, course, tmp_path / "own", "cpu", Slow(0))
    own = {name: value.clone() for name, value in loss.unwrapped_model.state_dict().items()}

    loss, plan = start(tiny_base, cross, strategy)
    before = {name: value.clone() for name, value in loss.unwrapped_model.state_dict().items()}
    kind = CrossEncoderTrainingArguments if cross else SentenceTransformerTrainingArguments
    made = trainer_arguments(tmp_path / "plain", course, "cpu", arguments_class=kind, measure="spearman")
    made.batch_sampler = partial(PlanSampler, plan=plan)
    (CrossEncoderTrainer if cross else SentenceTransformerTrainer)(
        model=loss.model,
        args=made,
        train_dataset=plan.dataset,
        data_collator=Collate(plan),
        loss=loss,
        evaluator=DevAgreement(loss, DEV),
    ).train()
    moved = 0
    for name, value in loss.unwrapped_model.state_dict().items():
        same = own[name]
        if name.endswith("word_embeddings.weight"):
            read = (same != before[name]).any(dim=1)  # assay leaves the others as they are; here their weights decay
            assert 5 < read.sum() < len(read)
            value, same = value[read], same[read]
        torch.testing.assert_close(value, same, rtol=0, atol=1e-6, msg=name)
        moved += not torch.equal(own[name], before[name])
    assert moved > 10
