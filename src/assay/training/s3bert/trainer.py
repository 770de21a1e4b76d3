"""One S3BERT model: its loss (Opitz and Frank 2022, section 3), and sentence-transformers' trainer over texts
whose frozen part is computed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformerTrainer
from torch import nn
from torch.nn.functional import cosine_similarity, normalize

from assay.progress import Progress
from assay.training.loop import SCORED_AT_ONCE, ResumableTrainer, Schedule, Trained, arguments, has_bfloat16, train
from assay.training.s3bert.frozen import FrozenTexts, Halves, upper_embeddings
from assay.training.s3bert.settings import S3BertSettings
from assay.training.s3bert.targets import ScoredPairs

# The loss of S3BERT (Opitz and Frank 2022, section 3): decomposition into aspects, consistency with the base.


def sub_cosines(first: torch.Tensor, second: torch.Tensor, aspects: int, width: int) -> torch.Tensor:
    """Return the cosine of each sub-embedding, shape (b, aspects).

    Args:
        first, second: embeddings, shape (b, dimensions).
        aspects: how many sub-embeddings stand at the beginning.
        width: dimensions of each.
    """
    shape = (len(first), aspects, width)
    cut = aspects * width
    return cosine_similarity(first[:, :cut].reshape(shape), second[:, :cut].reshape(shape), dim=-1)


def decomposition(
    first: torch.Tensor, second: torch.Tensor, targets: torch.Tensor, scales: torch.Tensor, width: int
) -> torch.Tensor:
    """Return the mean over pairs of equation 3: mean squared error of scaled sub-embedding cosines, a scalar.

    Args:
        first, second: embeddings, shape (b, dimensions).
        targets: scores of the AMR metrics, shape (b, aspects).
        scales: one learnable factor an aspect, shape (aspects,).
        width: dimensions of an aspect.
    """
    predicted = scales * sub_cosines(first, second, len(scales), width)
    return (targets - predicted).square().mean()


def consistency(
    first: torch.Tensor, second: torch.Tensor, base_first: torch.Tensor, base_second: torch.Tensor
) -> torch.Tensor:
    """Return the mean over all b x b pairs of equations 4 and 5: squared difference to the base's cosine, a scalar.

    Args:
        first, second: embeddings, shape (b, dimensions).
        base_first, base_second: those of the frozen base.
    """
    own = normalize(first, dim=-1) @ normalize(second, dim=-1).T
    base = normalize(base_first, dim=-1) @ normalize(base_second, dim=-1).T
    return (base - own).square().mean()


class S3BertLoss(nn.Module):  # type: ignore[misc]  # torch has no types here
    """Equation 6: alpha times decomposition plus consistency, over a batch of pairs.

    A batch holds whole units of pairs that exchanged candidates, so that its texts come again in the negatives: of a
    batch of 64 with one negative a pair, consistency compares about 32 x 32 different pairs of texts, each four times.

    Args:
        model: what is trained; held so that its parameters are found.
        embed: numbers of texts to their embeddings by the model, shape (b, dimensions).
        teacher: embeddings of all texts by the frozen base.
        aspects: how many there are.
        width: dimensions of each.
        alpha: weight of the decomposition.
        parts: which of ``decomposition`` and ``consistency`` are in force.
    """

    def __init__(
        self,
        model: Any,
        embed: Callable[[torch.Tensor], torch.Tensor],
        teacher: torch.Tensor,
        *,
        aspects: int,
        width: int,
        alpha: float = 1.0,
        parts: Sequence[str] = ("decomposition", "consistency"),
    ) -> None:
        super().__init__()
        self.model = model
        self.scales = nn.Parameter(torch.ones(aspects))
        self._embed, self._teacher = embed, teacher
        self._width, self._alpha, self._parts = width, alpha, tuple(parts)

    def forward(self, features: Sequence[torch.Tensor], labels: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return the parts of the loss, whose sum is trained.

        Args:
            features: numbers of the first texts and of the second ones, int64, shape (b,) each, on the CPU.
            labels: the AMR metrics' scores, shape (b, aspects).
        """
        first, second = features
        numbers, places = torch.unique(torch.cat([first, second]), return_inverse=True)
        embedded = self._embed(numbers).float()
        one, other = embedded[places[: len(first)]], embedded[places[len(first) :]]
        found: dict[str, torch.Tensor] = {}
        if "decomposition" in self._parts:
            found["decomposition"] = self._alpha * decomposition(one, other, labels, self.scales, self._width)
        if "consistency" in self._parts:
            found["consistency"] = consistency(one, other, self._teacher[first], self._teacher[second])
        return found


# One model: sentence-transformers' trainer over texts whose frozen part is computed already.


@dataclass(frozen=True)
class TrainedAspects(Trained):
    """The course of a training; the model itself is changed in place.

    Attributes:
        scales: the learned factor of each aspect, by name.
    """

    scales: dict[str, float]


class AspectTrainer(ResumableTrainer, SentenceTransformerTrainer):  # type: ignore[misc]  # sentence-transformers has no types here
    """The trainer; a batch holds numbers of texts in place of their tokens."""

    aspects: Sequence[str] = ()

    def collect_features(self, inputs: dict[str, Any]) -> tuple[list[Any], Any]:
        """Return the numbers of the texts of each side, and the targets."""
        return [inputs["reference"], inputs["candidate"]], inputs["label"]

    def extra_curves(self) -> dict[str, float]:
        """Return the factors of the aspects, which move with the training."""
        return {f"beta_{name}": value for name, value in zip(self.aspects, self.loss.scales.tolist(), strict=True)}


class _Gather:
    """Rows of the table of pairs to a batch.

    Args:
        first, second: number of each row's texts, shape (n,).
        targets: shape (n, k).
    """

    valid_label_columns: tuple[str, ...] = ()

    def __init__(self, first: torch.Tensor, second: torch.Tensor, targets: torch.Tensor) -> None:
        self._columns = {"reference": first, "candidate": second, "label": targets}

    def __call__(self, rows: Sequence[Mapping[str, int]]) -> dict[str, torch.Tensor]:
        index = torch.tensor([row["row"] for row in rows])
        return {name: column[index] for name, column in self._columns.items()}


def train_one(
    halves: Halves,
    frozen: FrozenTexts,
    numbers: Mapping[str, int],
    sets: tuple[ScoredPairs, ScoredPairs],
    aspects: Sequence[str],
    settings: S3BertSettings,
    schedule: Schedule,
    folder: Path,
    device: str,
    progress: Progress,
) -> TrainedAspects:
    """Train the upper layers of a model; a training that was killed continues from its last checkpoint.

    Args:
        halves: the base, changed in place.
        frozen: what its frozen layers say of all texts.
        numbers: of the texts in *frozen*.
        sets: training and development pairs.
        aspects: names of the targets' columns.
        settings: the request.
        schedule: how long and how fast it learns, with the seed of this model.
        folder: for checkpoints.
        device: torch's name of the device.
        progress: told of each step.
    """
    loss = S3BertLoss(
        halves.whole,
        lambda texts: _embed(halves, frozen, texts, device),
        frozen.teacher,
        aspects=len(aspects),
        width=settings.width,
        alpha=settings.alpha,
        parts=settings.parts,
    )
    firsts = [numbers[text] for pairs in sets for text in pairs.references]
    seconds = [numbers[text] for pairs in sets for text in pairs.candidates]
    targets = torch.from_numpy(np.concatenate([pairs.scores for pairs in sets]))
    trainer = AspectTrainer(
        model=halves.whole,
        args=arguments(folder, schedule, device),
        train_dataset=_rows(sets[0], 0),
        eval_dataset=_rows(sets[1], len(sets[0])),
        loss=loss,
        data_collator=_Gather(torch.tensor(firsts), torch.tensor(seconds), targets),
    )
    trainer.aspects = aspects
    trained = train(trainer, folder, progress, f"training, seed {schedule.seed}")
    return TrainedAspects(**vars(trained), scales=dict(zip(aspects, loss.scales.tolist(), strict=True)))


def _rows(pairs: ScoredPairs, start: int) -> Any:
    """Return the dataset of a set of pairs: the numbers of its rows in the table of all, and their units."""
    return Dataset.from_dict({"row": list(range(start, start + len(pairs))), "unit": pairs.unit.tolist()})


def embed_texts(halves: Halves, frozen: FrozenTexts, wanted: Sequence[int]) -> NDArray[np.float32]:
    """Return the embeddings of texts by the model as it is now, float32, shape (n, dimensions); NaN for the others.

    Args:
        halves: the model.
        frozen: what its frozen layers say of n texts.
        wanted: numbers of the texts.
    """
    numbers = torch.tensor(wanted)
    found = np.full((len(frozen), halves.dimensions), np.nan, dtype=np.float32)
    with torch.inference_mode():
        for part in torch.split(numbers, SCORED_AT_ONCE):
            found[part.numpy()] = upper_embeddings(halves, frozen, part).float().cpu().numpy()
    return found


def _embed(halves: Halves, frozen: FrozenTexts, texts: torch.Tensor, device: str) -> torch.Tensor:
    """Return embeddings for a step: on a GPU that has it in bfloat16, the losses stay in single precision."""
    with torch.autocast("cuda", torch.bfloat16) if has_bfloat16(device) else contextlib.nullcontext():
        return upper_embeddings(halves, frozen, texts.cpu())
