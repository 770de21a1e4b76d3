"""The transformer itself: hidden states and logits are those of transformers, layers left out or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    DistilBertModel,
    GPT2Config,
    GPT2Model,
    MPNetConfig,
    MPNetModel,
    RobertaConfig,
    RobertaForSequenceClassification,
    RobertaModel,
)

from assay.metrics.neural.body import TorchBody, TorchScorerBody, inputs_of
from assay.metrics.neural.tokens import Packed

SIZES: dict[str, Any] = {
    "vocab_size": 40,
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 20,
    "initializer_range": 0.5,
}
DISTIL: dict[str, Any] = {
    "vocab_size": 40,
    "dim": 16,
    "n_layers": 3,
    "n_heads": 2,
    "hidden_dim": 24,
    "max_position_embeddings": 20,
    "initializer_range": 0.5,
}


def make(kind: str) -> Any:
    """Return a model with random weights and the number of its padding token."""
    torch.manual_seed(0)
    if kind == "bert":
        return BertModel(BertConfig(**SIZES)).eval()
    if kind == "roberta":
        return RobertaModel(RobertaConfig(**SIZES)).eval()
    if kind == "mpnet":
        return MPNetModel(MPNetConfig(**SIZES)).eval()
    if kind == "distilbert":
        return DistilBertModel(DistilBertConfig(**DISTIL)).eval()
    config = GPT2Config(vocab_size=40, n_embd=16, n_layer=3, n_head=2, n_positions=20, bos_token_id=2, eos_token_id=2)
    return GPT2Model(config).eval()


def batch_of(lengths: list[int], *, types: bool = False, seed: int = 0) -> Packed:
    generator = torch.Generator().manual_seed(seed)
    sizes = np.array(lengths, dtype=np.intp)
    mask = (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]).long()
    ids = torch.where(mask.bool(), torch.randint(3, 40, mask.shape, generator=generator), 1)
    kinds = torch.randint(0, 2, mask.shape, generator=generator) * mask if types else None
    return Packed(np.arange(len(lengths)), sizes, ids, mask, kinds, unpadded=len(set(lengths)) == 1)


def one_by_one(model: Any, batch: Packed, row: int) -> dict[str, torch.Tensor]:
    """Return the arguments for one text of a batch, without its padding."""
    size = int(batch.sizes[row])
    inputs = {"input_ids": batch.ids[row : row + 1, :size]}
    return inputs if batch.types is None else {**inputs, "token_type_ids": batch.types[row : row + 1, :size]}


KINDS = ["bert", "roberta", "mpnet", "distilbert", "gpt2"]
ASKED = [{0}, {1}, {2}, {3}, {0, 3}, {1, 2}, {0, 1, 2, 3}]


@pytest.mark.parametrize("kind", KINDS)
def test_hidden_states_are_those_of_transformers_text_by_text(kind: str) -> None:
    reference, batch = make(kind), batch_of([5, 2, 5, 3])
    with torch.no_grad():
        expected = [
            list(reference(**one_by_one(reference, batch, row), output_hidden_states=True).hidden_states)
            for row in range(4)
        ]
        if kind == "gpt2":
            # the states of a layer are those of the model that ends there
            expected = [[*map(reference.ln_f, states[:-1]), states[-1]] for states in expected]
    body = TorchBody(make(kind), "cpu")
    assert body.layers == 3 and body.device == "cpu"
    body.prepare({1})
    # in this order: what one question leaves out must be there for the next
    for layers in ASKED:
        found = body.hidden_states(batch, layers)
        assert set(found) == layers
        for layer in layers:
            assert found[layer].shape == (4, 5, 16)
            for row, size in enumerate(batch.sizes):
                got, wanted = found[layer][row, :size], expected[row][layer][0]
                assert torch.allclose(got, wanted, atol=2e-5), f"{layers}: layer {layer} of text {row}"


@pytest.mark.parametrize(("kind", "cut"), [("bert", True), ("mpnet", True), ("distilbert", True), ("gpt2", False)])
def test_layers_above_the_highest_are_left_out_where_that_changes_nothing(kind: str, cut: bool) -> None:
    model = make(kind)
    stack = {"bert": "encoder.layer", "mpnet": "encoder.layer", "distilbert": "transformer.layer", "gpt2": "h"}[kind]
    whole, runs = model.get_submodule(stack), [0, 0, 0]
    for number, layer in enumerate(whole):

        def count(*_: Any, number: int = number) -> None:
            runs[number] += 1

        layer.register_forward_hook(count)
    body = TorchBody(model, "cpu")
    for layers, expected in (({0}, [1, 0, 0]), ({1}, [1, 0, 0]), ({0, 2}, [1, 1, 0]), ({3}, [1, 1, 1])):
        runs[:] = [0, 0, 0]
        body.hidden_states(batch_of([3, 2]), layers)
        assert runs == (expected if cut else [1, 1, 1])
        assert model.get_submodule(stack) is whole and len(whole) == 3, "all are there again"


def test_what_fails_leaves_the_layers_there() -> None:
    model = make("bert")
    body, batch = TorchBody(model, "cpu"), batch_of([3])
    broken = Packed(batch.items, batch.sizes, batch.ids + 1000, batch.mask, None, unpadded=True)
    with pytest.raises(IndexError):
        body.hidden_states(broken, {1})
    assert len(model.encoder.layer) == 3


def test_the_last_layer_alone_asks_for_no_others() -> None:
    model = make("bert")
    body, asked, forward = TorchBody(model, "cpu"), [], model.forward

    def watched(*arguments: Any, **options: Any) -> Any:
        asked.append(bool(options.get("output_hidden_states")))
        return forward(*arguments, **options)

    model.forward = watched
    for layers in ({3}, {2, 3}, {2}):
        body.hidden_states(batch_of([3, 2]), layers)
    assert asked == [False, True, True]


def test_hidden_states_have_no_gradients() -> None:
    body = TorchBody(make("bert"), "cpu")
    assert not any(
        states.requires_grad for layers in ({1}, {3}) for states in body.hidden_states(batch_of([2]), layers).values()
    )


def test_the_arguments_of_a_model() -> None:
    unpadded, padded, typed = batch_of([2, 2]), batch_of([2, 1]), batch_of([2, 1], types=True)
    assert set(inputs_of(unpadded)) == {"input_ids"} and inputs_of(unpadded)["input_ids"] is unpadded.ids
    assert set(inputs_of(padded)) == {"input_ids", "attention_mask"}
    assert inputs_of(padded)["attention_mask"] is padded.mask
    assert inputs_of(typed)["token_type_ids"] is typed.types
    assert set(inputs_of(batch_of([2, 2], types=True))) == {"input_ids", "token_type_ids"}


def make_scorer(kind: str) -> Any:
    torch.manual_seed(0)
    if kind == "bert":
        return BertForSequenceClassification(BertConfig(**SIZES, num_labels=1)).eval()
    if kind == "roberta":
        return RobertaForSequenceClassification(RobertaConfig(**SIZES, num_labels=1)).eval()
    return DistilBertForSequenceClassification(DistilBertConfig(**DISTIL, num_labels=1)).eval()


def last_layer(model: Any, kind: str) -> Any:
    return model.distilbert.transformer.layer[-1] if kind == "distilbert" else getattr(model, kind).encoder.layer[-1]


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert"])
@pytest.mark.parametrize("lengths", [[5, 2, 4], [4, 4]])
def test_logits_are_those_of_transformers_text_by_text(kind: str, lengths: list[int]) -> None:
    batch, reference = batch_of(lengths, types=kind == "bert"), make_scorer(kind)
    with torch.no_grad():
        expected = [reference(**one_by_one(reference, batch, row)).logits[0, 0].item() for row in range(len(lengths))]
        body = TorchScorerBody(make_scorer(kind), "cpu")
        found = body.logits(batch)
    assert len(set(expected)) == len(lengths) and body.device == "cpu"
    assert found.shape == (len(lengths), 1)
    assert found[:, 0].tolist() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("kind", "tokens"), [("bert", 1), ("roberta", 1), ("distilbert", 5)])
def test_the_last_layer_computes_the_token_that_is_read(kind: str, tokens: int) -> None:
    model = make_scorer(kind)
    last, seen = last_layer(model, kind), []
    part = last.ffn if kind == "distilbert" else last.intermediate
    part.register_forward_hook(lambda _, inputs, __: seen.append(inputs[0].shape[1]))
    with torch.no_grad():
        TorchScorerBody(model, "cpu").logits(batch_of([5, 3]))
    assert seen == [tokens]


def test_a_model_is_taken_twice_without_harm() -> None:
    model = make_scorer("bert")
    TorchScorerBody(model, "cpu")
    once = vars(last_layer(model, "bert"))["feed_forward_chunk"]
    TorchScorerBody(model, "cpu")
    assert vars(last_layer(model, "bert"))["feed_forward_chunk"] is once


class Named:
    """What has the attributes given."""

    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


def test_a_layer_without_that_part_computes_every_token() -> None:
    """As in versions of transformers whose layers have no such method: with the same logits."""
    model, batch = make_scorer("bert"), batch_of([5, 3])
    last, seen = last_layer(model, "bert"), []
    with torch.no_grad():
        expected = model(input_ids=batch.ids, attention_mask=batch.mask).logits

        class Layer(type(last)):  # type: ignore[misc]
            """A layer whose method nobody else finds."""

            inside = False

            @property
            def feed_forward_chunk(self) -> Any:
                if not self.inside:
                    raise AttributeError("this version has no such method")
                return super().feed_forward_chunk

            def forward(self, *args: Any, **kwargs: Any) -> Any:
                self.inside = True
                try:
                    return super().forward(*args, **kwargs)
                finally:
                    self.inside = False

        last.__class__ = Layer
        last.intermediate.register_forward_hook(lambda _, inputs, __: seen.append(inputs[0].shape[1]))
        found = TorchScorerBody(model, "cpu").logits(batch)
    assert seen == [5]
    assert found.tolist() == expected.tolist()


def test_a_model_without_layers_stays_as_it_is() -> None:
    config = Named(model_type="bert")
    for inner in (Named(encoder=Named(layer=[Named()])), Named(encoder=Named()), Named()):
        model = Named(config=config, base_model_prefix="inner", inner=inner)
        assert TorchScorerBody(model, "cpu").model is model
        assert [vars(layer) for layer in getattr(getattr(inner, "encoder", None), "layer", [])] in ([], [{}])


@pytest.mark.parametrize(("family", "expected"), [("electra", ["a"]), ("a family of its own", ["a", "b", "c"])])
def test_a_family_whose_classifier_is_not_known_computes_every_token(family: str, expected: list[str]) -> None:
    class Layer:
        """A layer that has that part."""

        def feed_forward_chunk(self, states: np.ndarray) -> np.ndarray:
            return states

    layers = [Layer(), Layer()]
    inner = Named(encoder=Named(layer=layers))
    TorchScorerBody(Named(config=Named(model_type=family), base_model_prefix="inner", inner=inner), "cpu")
    states = np.array([["a", "b", "c"]])
    assert layers[0].feed_forward_chunk(states).tolist() == [["a", "b", "c"]], "the last layer only"
    assert layers[1].feed_forward_chunk(states).tolist() == [expected]
