"""Trains one S3BERT model: its loss (Opitz and Frank 2022, section 3), and the sentence-transformers trainer over the
precomputed output of the frozen layers.
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

from assay.common.progress import Progress
from assay.training.loop import (
    SCORED_AT_ONCE,
    ResumableTrainer,
    Schedule,
    TrainingCourse,
    has_bfloat16,
    run_trainer,
    trainer_arguments,
)
from assay.training.s3bert.frozen import FrozenTexts, Halves, upper_embeddings
from assay.training.s3bert.settings import S3BertSettings
from assay.training.s3bert.targets import ScoredPairs

# The loss of S3BERT (Opitz and Frank 2022, section 3): decomposition into aspects, consistency with the base.


def sub_cosines(first: torch.Tensor, second: torch.Tensor, aspects: int, width: int) -> torch.Tensor:
    """Return the cosine of each pair's sub-embeddings, shape (b, aspects).

    Args:
        first, second: the embeddings of the pairs, shape (b, dimensions).
        aspects: the number of sub-embeddings, which are at the beginning of an embedding.
        width: the number of dimensions of each.
    """
    shape = (len(first), aspects, width)
    cut = aspects * width
    return cosine_similarity(first[:, :cut].reshape(shape), second[:, :cut].reshape(shape), dim=-1)


def sub_closeness(first: torch.Tensor, second: torch.Tensor, aspects: int, width: int) -> torch.Tensor:
    """Return 1 - L1 distance of each pair's sub-embeddings, shape (b, aspects), as the authors' program compares them.

    Args:
        first, second, aspects, width: as in :func:`sub_cosines`.
    """
    cut = aspects * width
    return 1 - (first[:, :cut] - second[:, :cut]).abs().reshape(len(first), aspects, width).sum(dim=-1)


def decomposition_loss(
    first: torch.Tensor,
    second: torch.Tensor,
    targets: torch.Tensor,
    scales: torch.Tensor,
    width: int,
    compare: Callable[[torch.Tensor, torch.Tensor, int, int], torch.Tensor] = sub_cosines,
) -> torch.Tensor:
    """Return equation 3 averaged over pairs: the mean squared error of scaled sub-embedding cosines, a scalar.

    Args:
        first, second: the embeddings of the pairs, shape (b, dimensions).
        targets: the scores of the AMR metrics, shape (b, aspects).
        scales: one learnable factor per aspect, shape (aspects,).
        width: the number of dimensions of an aspect.
        compare: how sub-embeddings are compared.
    """
    predicted = scales * compare(first, second, len(scales), width)
    return (targets - predicted).square().mean()


def consistency_loss(
    first: torch.Tensor, second: torch.Tensor, base_first: torch.Tensor, base_second: torch.Tensor
) -> torch.Tensor:
    """Return equations 4 and 5: the mean squared difference from the base's cosines over all b x b pairs, a scalar.

    Args:
        first, second: the embeddings of the pairs, shape (b, dimensions).
        base_first, base_second: the embeddings of the same texts by the frozen base, shape (b, dimensions).
    """
    similarities = normalize(first, dim=-1) @ normalize(second, dim=-1).T
    base = normalize(base_first, dim=-1) @ normalize(base_second, dim=-1).T
    return (base - similarities).square().mean()


#: The factor of both cosines in the consistency loss of the authors' program.
PROGRAM_SCALE = 5.0


class S3BertLoss(nn.Module):  # type: ignore[misc]  # torch has no types here
    """Equation 6: alpha times decomposition plus consistency, over a batch of pairs.

    A batch holds whole units of pairs that exchanged candidates, so its texts occur again in the negatives: in a batch
    of 64 with one negative per pair, consistency compares about 32 x 32 different pairs of texts, each four times.

    Args:
        model: the model that is trained; kept as an attribute so that torch finds its parameters.
        embed: returns the model's embeddings of n texts, shape (n, dimensions), from their numbers, int64, shape (n,);
            called once per batch, with gradients.
        teacher: the embeddings of all texts by the frozen base, shape (texts, dimensions).
        aspects: the number of aspects.
        width: the number of dimensions of each aspect.
        alpha: the weight of the decomposition.
        parts: the parts of the loss that are used: ``decomposition``, ``consistency`` or both.
        is_program: whether aspects are compared by :func:`sub_closeness`, and consistency is scaled, as in the
            authors' program.

    Attributes:
        active: those of the parts that the next batch computes; all of them unless a trainer takes turns.
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
        is_program: bool = False,
    ) -> None:
        super().__init__()
        self.model = model
        self.scales = nn.Parameter(torch.ones(aspects))
        self._embed, self._teacher = embed, teacher
        self._width, self._alpha, self.active = width, alpha, tuple(parts)
        self._compare = sub_closeness if is_program else sub_cosines
        self._consistency_weight = PROGRAM_SCALE**2 if is_program else 1.0

    def forward(self, features: Sequence[torch.Tensor], labels: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return the parts of the loss by name; the trainer minimises their sum.

        Args:
            features: the numbers of the first texts and of the second texts, int64, shape (b,) each, on the CPU.
            labels: the scores of the AMR metrics, shape (b, aspects).
        """
        first, second = features
        numbers, indices = torch.unique(torch.cat([first, second]), return_inverse=True)
        embedded = self._embed(numbers).float()
        left, right = embedded[indices[: len(first)]], embedded[indices[len(first) :]]
        losses: dict[str, torch.Tensor] = {}
        if "decomposition" in self.active:
            decomposition = decomposition_loss(left, right, labels, self.scales, self._width, self._compare)
            losses["decomposition"] = self._alpha * decomposition
        if "consistency" in self.active:
            consistency = consistency_loss(left, right, self._teacher[first], self._teacher[second])
            losses["consistency"] = self._consistency_weight * consistency
        return losses


# The training of one model over the precomputed output of the frozen layers.


@dataclass(frozen=True)
class AspectTrainingCourse(TrainingCourse):
    """The course of a training; the model itself is changed in place.

    Attributes:
        scales: the learned factor of each aspect, by the aspect's name.
    """

    scales: dict[str, float]


class AspectTrainer(ResumableTrainer, SentenceTransformerTrainer):  # type: ignore[misc]  # sentence-transformers has no types here
    """A sentence-transformers trainer whose batches hold the numbers of texts instead of their tokens.

    Attributes:
        aspects: the names of the aspects, in the order of the loss's scales; set before the training.
    """

    aspects: Sequence[str] = ()

    def collect_features(self, inputs: dict[str, Any]) -> tuple[list[Any], Any]:
        """Return the inputs of the loss from a collated batch: the text numbers of each side, and the targets."""
        return [torch.from_numpy(inputs[side]) for side in ("reference", "candidate")], inputs["label"]

    def extra_curves(self) -> dict[str, float]:
        """Return the current learned factor of each aspect, as ``beta_NAME``, for the history of the training."""
        return {f"beta_{name}": value for name, value in zip(self.aspects, self.loss.scales.tolist(), strict=True)}


class TurnsTrainer(AspectTrainer):
    """Trains as the authors' program does: every batch makes a step for consistency, and then one for decomposition.

    Each loss has its own optimiser, so that their weights have no effect: Adam's steps do not depend on the scale of a
    loss. The trainer's own optimiser is that of the decomposition; both have its learning rate. The program draws a
    batch of its own for each loss; here both have the same.
    """

    #: The file with the state of the optimiser for consistency, in a checkpoint.
    OPTIMIZER_FILE = "consistency-optimizer.pt"
    # The optimiser for consistency, once it is needed, and its state in the checkpoint that the training resumes from.
    _own_optimizer: torch.optim.Optimizer | None = None
    _resumed_state: Mapping[str, Any] | None = None

    def training_step(self, model: Any, inputs: dict[str, Any], *args: Any) -> Any:
        """Make the step for consistency, then compute the gradient of the decomposition; return both losses' sum."""
        consistency_optimizer = self._consistency_optimizer()
        self.loss.active = ("consistency",)
        total = super().training_step(model, inputs, *args)
        nn.utils.clip_grad_norm_(model.parameters(), self.args.max_grad_norm)
        consistency_optimizer.step()
        model.zero_grad()
        self.loss.active = ("decomposition",)
        total = total + super().training_step(model, inputs, *args)
        self.loss.active = ("decomposition", "consistency")
        return total

    def track_loss_components(self, loss: dict[str, Any]) -> None:
        """Add the components of a batch's loss to the running sums; both parts of a training step count as one."""
        super().track_loss_components(loss)
        if self.loss.active == ("consistency",):
            self.accum_loss_components["train"]["steps"] -= self._weight

    def _consistency_optimizer(self) -> torch.optim.Optimizer:
        """Return the optimiser for consistency, of the same kind and with the same learning rate as the trainer's.

        The first call makes it, for the parameters of the model alone, with the state of the checkpoint if the training
        resumes; every call sets the learning rate.
        """
        # accelerate wraps the trainer's optimiser
        trainer_optimizer: Any = getattr(self.optimizer, "optimizer", self.optimizer)
        if self._own_optimizer is None:
            model_parameters = {id(parameter) for parameter in self.model.parameters()}
            groups = []
            for group in trainer_optimizer.param_groups:
                parameters = [parameter for parameter in group["params"] if id(parameter) in model_parameters]
                if parameters:
                    groups.append(group | {"params": parameters})
            self._own_optimizer = type(trainer_optimizer)(groups)
            if self._resumed_state is not None:
                self._own_optimizer.load_state_dict(self._resumed_state)
        for group in self._own_optimizer.param_groups:
            group["lr"] = trainer_optimizer.param_groups[0]["lr"]
        return self._own_optimizer

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        super()._save(output_dir, state_dict)
        folder = Path(output_dir or self.args.output_dir)
        torch.save(self._consistency_optimizer().state_dict(), folder / self.OPTIMIZER_FILE)

    def _load_from_checkpoint(self, checkpoint_path: str) -> None:
        super()._load_from_checkpoint(checkpoint_path)
        path = Path(checkpoint_path) / self.OPTIMIZER_FILE
        self._resumed_state = torch.load(path, map_location=self.args.device, weights_only=True)


class _RowCollator:
    """Collates rows of the table of pairs into a batch.

    Args:
        first, second: the numbers of each row's texts, shape (n,).
        targets: the scores of each row, shape (n, aspects).
    """

    #: An attribute of sentence-transformers' collators, which its trainers pass on to samplers.
    valid_label_columns: tuple[str, ...] = ()

    def __init__(self, first: NDArray[np.int64], second: NDArray[np.int64], targets: torch.Tensor) -> None:
        self._first, self._second, self._targets = first, second, targets

    def __call__(self, rows: Sequence[Mapping[str, int]]) -> dict[str, Any]:
        """Return the batch of b dataset rows: ``reference``, ``candidate`` and ``label``, with b as first dimension.

        The numbers of texts are arrays of NumPy, since the trainer moves tensors to the device: to read them there
        would wait for all the work that a GPU still has.
        """
        index = np.array([row["row"] for row in rows])
        return {"reference": self._first[index], "candidate": self._second[index], "label": self._targets[index]}


def train_aspects(
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
) -> AspectTrainingCourse:
    """Train the upper layers of a model and return the course; an interrupted training continues from a checkpoint.

    Afterwards the model has the weights of the step with the lowest loss on the development pairs.

    Args:
        halves: the base model, changed in place.
        frozen: the output of its frozen layers for all texts.
        numbers: the index of each text in *frozen*.
        sets: the training pairs and the development pairs.
        aspects: the names of the targets' columns.
        settings: the settings of the training.
        schedule: how long and how fast the model learns, with the seed of this model.
        folder: the folder for checkpoints.
        device: torch's name of the device.
        progress: receives each step.

    Raises:
        InputError: the checkpoint of the best model is damaged at the end of the training.
    """
    loss = S3BertLoss(
        halves.whole,
        lambda texts: _embed_for_step(halves, frozen, texts, device),
        frozen.teacher,
        aspects=len(aspects),
        width=settings.width,
        alpha=settings.alpha,
        parts=settings.parts,
        is_program=settings.variant == "program",
    )
    firsts = [numbers[text] for pairs in sets for text in pairs.references]
    seconds = [numbers[text] for pairs in sets for text in pairs.candidates]
    targets = torch.from_numpy(np.concatenate([pairs.scores for pairs in sets]))
    trainer_class = TurnsTrainer if settings.variant == "program" else AspectTrainer
    trainer = trainer_class(
        model=halves.whole,
        args=trainer_arguments(folder, schedule, device),
        train_dataset=_dataset_of_rows(sets[0], 0),
        eval_dataset=_dataset_of_rows(sets[1], len(sets[0])),
        loss=loss,
        data_collator=_RowCollator(np.array(firsts), np.array(seconds), targets),
    )
    trainer.aspects = aspects
    course = run_trainer(trainer, folder, progress, f"training, seed {schedule.seed}")
    return AspectTrainingCourse(**vars(course), scales=dict(zip(aspects, loss.scales.tolist(), strict=True)))


def _dataset_of_rows(pairs: ScoredPairs, start: int) -> Any:
    """Return a dataset with a row for each pair: ``row``, its number counted from *start*, and ``unit``, its unit."""
    return Dataset.from_dict({"row": list(range(start, start + len(pairs))), "unit": pairs.unit.tolist()})


def embed_texts(halves: Halves, frozen: FrozenTexts, wanted: Sequence[int]) -> NDArray[np.float32]:
    """Return the model's current embeddings of texts, float32, shape (n, dimensions); NaN for texts not wanted.

    Args:
        halves: the model.
        frozen: the output of its frozen layers for n texts.
        wanted: the indices in *frozen* of the texts to embed.
    """
    numbers = torch.tensor(wanted)
    embeddings = np.full((len(frozen), halves.dimensions), np.nan, dtype=np.float32)
    with torch.inference_mode():
        for part in torch.split(numbers, SCORED_AT_ONCE):
            embeddings[part.numpy()] = upper_embeddings(halves, frozen, part).float().cpu().numpy()
    return embeddings


def _embed_for_step(halves: Halves, frozen: FrozenTexts, wanted: torch.Tensor, device: str) -> torch.Tensor:
    """Return the embeddings of b texts for a step, shape (b, dimensions), in bfloat16 on a GPU that supports it.

    Args:
        halves: the model.
        frozen: the output of its frozen layers.
        wanted: the indices in *frozen* of the texts to embed, int64, shape (b,), on the CPU.
        device: torch's name of the device.
    """
    precision = torch.autocast("cuda", torch.bfloat16) if has_bfloat16(device) else contextlib.nullcontext()
    with precision:
        return upper_embeddings(halves, frozen, wanted)
