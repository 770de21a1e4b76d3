"""One model: sentence-transformers' trainer over texts whose frozen part is computed already."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformerTrainer

from assay.training.loop import Course, Kept, arguments, train
from assay.training.progress import Progress
from assay.training.s3bert.frozen import FrozenTexts, upper_embeddings
from assay.training.s3bert.layers import Halves
from assay.training.s3bert.losses import S3BertLoss
from assay.training.s3bert.settings import Settings
from assay.training.s3bert.targets import ScoredPairs
from datasets import Dataset

__all__ = ["Trained", "embed_texts", "train_one"]

#: Texts embedded at a time where no gradient is wanted.
MANY = 512


@dataclass(frozen=True)
class Trained:
    """What a training gave; the model itself is changed in place.

    Attributes:
        history: the trainer's log, a record a step.
        scales: the learned factor of each aspect, by name.
        best_step: the step of lowest development loss.
        best_loss: that loss.
        steps: in all.
    """

    history: Sequence[Mapping[str, float]]
    scales: dict[str, float]
    best_step: int
    best_loss: float
    steps: int


class AspectTrainer(Kept, SentenceTransformerTrainer):  # type: ignore[misc]  # sentence-transformers has no types here
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
    settings: Settings,
    course: Course,
    folder: Path,
    device: str,
    progress: Progress,
) -> Trained:
    """Train the upper layers of a model; a training that was killed continues from its last checkpoint.

    Args:
        halves: the base, changed in place.
        frozen: what its frozen layers say of all texts.
        numbers: of the texts in *frozen*.
        sets: training and development pairs.
        aspects: names of the targets' columns.
        settings: the request.
        course: its pace, with the seed of this model.
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
        args=arguments(folder, course, device),
        train_dataset=_rows(sets[0], 0),
        eval_dataset=_rows(sets[1], len(sets[0])),
        loss=loss,
        data_collator=_Gather(torch.tensor(firsts), torch.tensor(seconds), targets),
    )
    trainer.aspects = aspects
    history = train(trainer, folder, progress, f"training, seed {course.seed}")
    scales = dict(zip(aspects, loss.scales.tolist(), strict=True))
    state = trainer.state
    return Trained(history, scales, int(state.best_global_step), float(state.best_metric), int(state.global_step))


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
        for part in torch.split(numbers, MANY):
            found[part.numpy()] = upper_embeddings(halves, frozen, part).float().cpu().numpy()
    return found


def _embed(halves: Halves, frozen: FrozenTexts, texts: torch.Tensor, device: str) -> torch.Tensor:
    """Return embeddings for a step: on a GPU that has it in bfloat16, the losses stay in single precision."""
    half = device.startswith("cuda") and torch.cuda.is_bf16_supported(including_emulation=False)
    with torch.autocast("cuda", torch.bfloat16) if half else contextlib.nullcontext():
        return upper_embeddings(halves, frozen, texts.cpu())
