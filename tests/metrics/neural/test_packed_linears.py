"""Linear layers by oneDNN: which are replaced, and that they compute the same."""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from assay.metrics.neural import body as linear
from assay.metrics.neural.body import pack_linears

pytestmark = pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64")
    or not torch.backends.mkldnn.is_available()
    or not hasattr(torch.ops.mkldnn, "_reorder_linear_weight"),
    reason="this machine or this torch has no such kernels",
)


class Twice(torch.nn.Linear):
    """A linear layer that computes something else."""

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return 2 * super().forward(states)


def make_model() -> torch.nn.Sequential:
    torch.manual_seed(0)
    inner = torch.nn.Sequential(torch.nn.Linear(7, 5, bias=False), torch.nn.Tanh(), Twice(5, 3))
    return torch.nn.Sequential(torch.nn.Linear(6, 7), inner, torch.nn.Linear(3, 2)).eval()


def trial_of(model: torch.nn.Module) -> Callable[[], torch.Tensor]:
    states = torch.ones(1, 6, dtype=next(model.parameters()).dtype)
    return lambda: model(states)


def by_numpy(model: torch.nn.Sequential, states: np.ndarray) -> np.ndarray:
    weights = {name: value.detach().double().numpy() for name, value in model.named_parameters()}
    states = states @ weights["0.weight"].T + weights["0.bias"]
    states = np.tanh(states @ weights["1.0.weight"].T)
    states = 2 * (states @ weights["1.2.weight"].T + weights["1.2.bias"])
    return states @ weights["2.weight"].T + weights["2.bias"]


def kinds(model: torch.nn.Sequential) -> list[str]:
    return [type(module).__name__ for module in (model[0], *model[1], model[2])]


@pytest.mark.parametrize("shape", [(1, 6), (4, 6), (2, 3, 6), (1500, 6)])
def test_the_same_numbers(shape: tuple[int, ...]) -> None:
    model = make_model()
    states = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    expected = by_numpy(model, states.double().numpy())
    pack_linears(model, trial_of(model))
    with torch.inference_mode():
        got = model(states)
    assert got.shape == expected.shape
    assert got.numpy() == pytest.approx(expected, abs=1e-5)


def test_linear_layers_are_replaced_however_deep_and_nothing_else() -> None:
    model = make_model()
    pack_linears(model, trial_of(model))
    assert kinds(model) == ["PackedLinear", "PackedLinear", "Tanh", "Twice", "PackedLinear"]
    assert [name for name, _ in model.named_parameters()] == ["1.2.weight", "1.2.bias"]


class UsesTheType(torch.nn.Module):
    """Reads the type of a layer's weights, as T5 does."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(6, 7)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return self.inner(states.to(self.inner.weight.dtype)) / self.inner.in_features


class UsesTheWeights(UsesTheType):
    """Multiplies by a layer's weights without calling the layer."""

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.linear(states, self.inner.weight) + self.inner.bias


class AsksForTheClass(UsesTheType):
    """Computes something else where a layer is of another class."""

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return self.inner(states) * (1 if isinstance(self.inner, torch.nn.Linear) else 2)


class NeedsAMethod(UsesTheType):
    """Calls a method that only torch's own layer has."""

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return self.inner(states) + len(self.inner.extra_repr())


@pytest.mark.parametrize(
    ("kind", "is_packed"),
    [(UsesTheType, True), (UsesTheWeights, False), (AsksForTheClass, False), (NeedsAMethod, False)],
)
def test_layers_stay_where_a_model_needs_more_than_their_output(kind: type[UsesTheType], is_packed: bool) -> None:
    torch.manual_seed(0)
    model = kind().eval()
    states = torch.randn(3, 6)
    with torch.inference_mode():
        expected = model(states)
    pack_linears(model, trial_of(model))
    assert (type(model.inner).__name__ == "PackedLinear") is is_packed
    with torch.inference_mode():
        assert torch.allclose(model(states), expected, atol=1e-6)


def test_double_precision_is_left_alone() -> None:
    model = make_model().double()
    pack_linears(model, trial_of(model))
    assert kinds(model) == ["Linear", "Linear", "Tanh", "Twice", "Linear"]


def test_the_layout_takes_no_gradients() -> None:
    model = make_model()
    pack_linears(model, trial_of(model))
    assert not model[0](torch.ones(1, 6)).requires_grad


class Kernels:
    """torch's kernels with one of them gone."""

    def __init__(self, *there: str) -> None:
        vars(self).update(dict.fromkeys(there))


@pytest.mark.parametrize("lacking", ["machine", "mkldnn", "pointwise", "reorder"])
def test_where_something_is_lacking_the_model_stays(monkeypatch: pytest.MonkeyPatch, lacking: str) -> None:
    class Torch:
        """torch, as another machine has it."""

        def __getattr__(self, name: str) -> Any:
            return getattr(torch, name)

    fake: Any = Torch()
    if lacking == "machine":
        monkeypatch.setattr(platform, "machine", lambda: "arm64")
    elif lacking == "mkldnn":
        monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    else:
        there = {"pointwise": "_reorder_linear_weight", "reorder": "_linear_pointwise"}[lacking]
        fake.ops = type("Ops", (), {"mkldnn": Kernels(there)})
        monkeypatch.setattr(linear, "import_torch", lambda: fake)
    model = make_model()
    pack_linears(model, trial_of(model))
    assert kinds(model) == ["Linear", "Linear", "Tanh", "Twice", "Linear"]


def test_amd64_is_the_same_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "AMD64")
    model = make_model()
    pack_linears(model, trial_of(model))
    assert kinds(model)[0] == "PackedLinear"
