"""What every recipe adds to sentence-transformers' trainers: resuming, curves, progress, the order of the pairs."""

from __future__ import annotations

import contextlib
import json
import math
import shutil
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformerTrainingArguments
from sentence_transformers.base.sampler import DefaultBatchSampler
from transformers import PrinterCallback, TrainerCallback

from assay.errors import InputError
from assay.metrics.models.files import check_safetensors
from assay.metrics.neural.loading import quiet
from assay.training.ranks import follows, meet, processes

if TYPE_CHECKING:
    from assay.progress import Progress

#: The learnable parameters of the loss, beside the model in a checkpoint.
LOSS_FILE = "loss.safetensors"
#: Steps between two points of the training curve.
EVERY = 50
#: Rows or texts computed at a time where no gradient is wanted.
SCORED_AT_ONCE = 512


@dataclass(frozen=True)
class Schedule:
    """How long and how fast a model learns.

    Attributes:
        epochs: passes over the training pairs.
        batch_size: pairs a step.
        learning_rate: after the warm-up; it falls linearly to 0 at the end.
        warmup: steps over which the learning rate rises from 0.
        eval_steps: steps between two evaluations on the development set, each with a checkpoint; the last step has one.
        seed: decides the order of the pairs.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    warmup: int
    eval_steps: int
    seed: int


@dataclass(frozen=True)
class Trained:
    """The course of a training; the model itself is changed in place.

    Attributes:
        history: the trainer's log, a record a step.
        best: name of what was compared on the development set.
        best_step: the step at which it was best.
        best_value: what it was there.
        steps: in all.
    """

    history: Sequence[Mapping[str, float]]
    best: str
    best_step: int
    best_value: float
    steps: int

    @property
    def facts(self) -> dict[str, Any]:
        """All but the history, as ``training.json`` has it."""
        return {"steps": self.steps, "best_step": self.best_step, "best": {f"dev_{self.best}": self.best_value}}


class _EpochSettings(Protocol):
    """Settings with a warm-up as a share of the steps, and 0 steps between evaluations for one an epoch."""

    @property
    def epochs(self) -> int: ...
    @property
    def batch_size(self) -> int: ...
    @property
    def learning_rate(self) -> float: ...
    @property
    def warmup(self) -> float: ...
    @property
    def eval_steps(self) -> int: ...


def schedule_of(settings: _EpochSettings, batches: int, seed: int) -> Schedule:
    """Return the schedule of a training.

    Args:
        settings: of the training.
        batches: of an epoch; several processes share them.
        seed: of the order of the pairs.
    """
    epoch = math.ceil(batches / processes())
    return Schedule(
        settings.epochs,
        settings.batch_size,
        settings.learning_rate,
        round(settings.warmup * epoch * settings.epochs),
        settings.eval_steps or epoch,
        seed,
    )


class ResumableTrainer:
    """Base of the trainers, beside one of sentence-transformers: checkpoints keep the loss's own parameters.

    Without them a resumed training would begin these parameters anew. Curves are not rounded.
    """

    model: Any
    loss: Any
    args: Any
    state: Any
    _weight: int = 1
    accum_loss_components: dict[str, dict[str, Any]]

    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        """Write no card: assay writes its own."""

    def get_batch_sampler(self, dataset: Any, batch_size: int, drop_last: bool, **settings: Any) -> Any:
        """Return batches in an order that seed and epoch decide, wherever the training begins."""
        return _Shuffled(dataset, batch_size=batch_size, drop_last=drop_last, seed=self.args.seed)

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        folder = Path(output_dir or self.args.output_dir)
        self.model.save_pretrained(str(folder), create_model_card=False)
        save_file(
            {name: value.detach().cpu().contiguous() for name, value in self._loss_parameters()}, folder / LOSS_FILE
        )

    def _load_from_checkpoint(self, checkpoint_path: str) -> None:
        super()._load_from_checkpoint(checkpoint_path)  # type: ignore[misc]  # of the trainer
        parameters = load_file(Path(checkpoint_path) / LOSS_FILE)
        with torch.no_grad():
            for name, value in self._loss_parameters():
                value.copy_(parameters[name])

    def _load_best_model(self) -> None:
        """Load the best checkpoint; sentence-transformers goes on without it where that fails."""
        meet()  # the first process may still be writing it
        best = Path(self.state.best_model_checkpoint)
        fault = fault_of_checkpoint(best)
        if fault is not None:
            path, reason = fault
            raise InputError(f"{path}: {reason}; it is of the best model so far: remove {best.parent} and train again")
        self._load_from_checkpoint(str(best))
        meet()  # or remove it before others have read it

    def _loss_parameters(self) -> list[tuple[str, Any]]:
        """Return the parameters of the loss that are not the model's."""
        return [(name, value) for name, value in self.loss.named_parameters() if not name.startswith("model.")]

    def compute_loss(self, model: Any, inputs: dict[str, Any], *args: Any, **settings: Any) -> Any:
        """Compute the loss; in an evaluation, a batch weighs as many as its pairs, as the mean loss has it."""
        self._weight = 1 if self.model.training else len(inputs["label"])
        return super().compute_loss(model, inputs, *args, **settings)  # type: ignore[misc]  # of the trainer

    def track_loss_components(self, loss: dict[str, Any]) -> None:
        """Add up the parts of the loss."""
        sums = self.accum_loss_components["train" if self.model.training else "eval"]
        for name, value in (loss | {"steps": torch.ones(())}).items():
            sums[name] = sums.get(name, 0.0) + self._weight * value.detach()

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Log the parts of the loss with all their digits, where sentence-transformers rounds to four."""
        kind = "train" if "loss" in logs else "eval" if "eval_loss" in logs else None
        sums = self.accum_loss_components.get(kind, {}) if kind else {}
        steps = float(sums.get("steps", 0))
        if steps:
            prefix = "eval_" if kind == "eval" else ""
            parts = {f"{prefix}{name}": float(value) / steps for name, value in sums.items() if name != "steps"}
            logs = logs | parts | (self.extra_curves() if kind == "eval" else {})
            self.accum_loss_components[str(kind)] = {}
        super().log(logs, start_time)  # type: ignore[misc]  # of the trainer

    def extra_curves(self) -> dict[str, float]:
        """Return what else belongs into the curves at an evaluation; by default nothing."""
        return {}


class _Shuffled(DefaultBatchSampler):  # type: ignore[misc]  # sentence-transformers has no types here
    """Batches of row numbers, shuffled anew every epoch; rows of one ``unit`` of the dataset follow one another."""

    def __init__(self, dataset: Any, **settings: Any) -> None:
        super().__init__(dataset, **settings)
        units = torch.tensor(list(dataset["unit"]) if "unit" in dataset.column_names else list(range(len(dataset))))
        self.units = torch.unique(units, return_inverse=True)[1]

    def __iter__(self) -> Iterator[list[int]]:
        dice = torch.Generator().manual_seed(1_000_003 * self.seed + self.epoch)
        places = torch.randperm(int(self.units.max()) + 1, generator=dice)
        for part in torch.split(torch.argsort(places[self.units], stable=True), self.batch_size):
            if len(part) == self.batch_size or not self.drop_last:
                yield part.tolist()


class _EvaluateLastStep(TrainerCallback):  # type: ignore[misc]  # transformers has no types here
    """Evaluates and saves the last step, which not every version does where ``eval_steps`` does not divide it."""

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step >= state.max_steps:
            control.should_evaluate = control.should_save = True


class _ReportProgress(TrainerCallback):  # type: ignore[misc]  # transformers has no types here
    """Reports the steps of a training, and what it has reached on the development set."""

    def __init__(self, progress: Progress, what: str) -> None:
        self._progress, self._what = progress, what

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._progress.begin(self._what, state.max_steps)
        self._progress.advance(state.global_step)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._progress.advance(1)

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: dict[str, float], **_: Any) -> None:
        best = args.metric_for_best_model
        reached = f"dev {best.removeprefix('eval_')} {metrics[best]:.5f}"
        self._progress.say(f"{self._what}: step {state.global_step:,} of {state.max_steps:,}, {reached}")


def has_bfloat16(device: str) -> bool:
    """Return whether a device is a GPU that computes in bfloat16."""
    return device.startswith("cuda") and torch.cuda.is_bf16_supported(including_emulation=False)


def arguments(
    folder: Path,
    schedule: Schedule,
    device: str,
    *,
    kind: Any = SentenceTransformerTrainingArguments,
    best: str = "loss",
    mixed: bool = False,
) -> Any:
    """Return the arguments of a trainer that keeps the last checkpoint and the best one.

    Args:
        folder: for checkpoints.
        schedule: how long and how fast the model learns.
        device: torch's name of the device; no other GPU is used.
        kind: the class of the arguments.
        best: what is looked at on the development set: ``loss``, or something that is better the higher it is.
        mixed: whether a GPU that has bfloat16 computes in it, and keeps weights and losses in single precision.
    """
    half = mixed and has_bfloat16(device)
    made = kind(
        output_dir=str(folder),
        num_train_epochs=schedule.epochs,
        per_device_train_batch_size=schedule.batch_size,
        per_device_eval_batch_size=schedule.batch_size,
        learning_rate=schedule.learning_rate,
        warmup_steps=schedule.warmup,
        weight_decay=0.01,
        lr_scheduler_type="linear",
        eval_strategy="steps",
        eval_steps=schedule.eval_steps,
        save_strategy="steps",
        save_steps=schedule.eval_steps,
        save_total_limit=2,
        load_best_model_at_end=True,
        metric_for_best_model=f"eval_{best}",
        greater_is_better=best != "loss",
        bf16=half,
        logging_steps=min(EVERY, schedule.eval_steps),
        seed=schedule.seed,
        use_cpu=device == "cpu",
        dataloader_pin_memory=device.startswith("cuda"),
        disable_tqdm=True,
        report_to=[],
    )
    if device.startswith("cuda"):
        made._n_gpu = 1  # or the trainer spreads a batch over all that it sees
    if ":" in device:
        torch.cuda.set_device(device)
    return made


def train(
    trainer: Any, folder: Path, progress: Progress, what: str, *, best: str = "loss", callbacks: Sequence[Any] = ()
) -> Trained:
    """Run a trainer from its last complete checkpoint, or from the start; afterwards its model is the best one.

    Args:
        trainer: made with :func:`arguments`.
        folder: of its checkpoints.
        progress: told of each step and evaluation.
        what: names the training for the user.
        best: what was compared on the development set, as for :func:`arguments`.
        callbacks: of transformers, told of the trainer's events.
    """
    trainer.remove_callback(PrinterCallback)  # it writes to stdout
    for callback in (_EvaluateLastStep(), _ReportProgress(progress, what), *callbacks):
        trainer.add_callback(callback)
    checkpoint, damaged = last_checkpoint(folder)
    for path, fault in damaged.items():
        progress.say(f"{what}: {path}: {fault}; goes back to the checkpoint before")
    meet()  # each process has looked at all of them
    if not follows():
        for path in damaged:
            # or the trainer takes it for the newest, and removes those that it writes from here on
            shutil.rmtree(path.parent)
    meet()
    if checkpoint is not None:
        progress.say(f"{what}: resumes from step {checkpoint.name.rpartition('-')[2]}")
    with quiet():
        trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    state = trainer.state
    return Trained(
        state.log_history, best, int(state.best_global_step), float(state.best_metric), int(state.global_step)
    )


def last_checkpoint(folder: Path) -> tuple[Path | None, dict[Path, str]]:
    """Return the last checkpoint that is whole, or None, and what is wrong with a file of each later one.

    The state of the trainer is the last file of a checkpoint. A writer that was interrupted leaves none, or half of
    one: such a checkpoint is passed over, and the trainer writes it again.
    """
    complete = []
    for path in folder.glob("checkpoint-*"):
        with contextlib.suppress(OSError, ValueError):
            json.loads((path / "trainer_state.json").read_text(encoding="utf-8"))
            complete.append(path)
    damaged: dict[Path, str] = {}
    for path in sorted(complete, key=lambda path: int(path.name.rpartition("-")[2]), reverse=True):
        fault = fault_of_checkpoint(path)
        if fault is None:
            return path, damaged
        damaged[fault[0]] = fault[1]
    return None, damaged


def fault_of_checkpoint(folder: Path) -> tuple[Path, str] | None:
    """Return a file of a checkpoint that is missing or truncated, with what is wrong with it; None where it is whole.

    Reads the headers of weights, and that the archives of the optimizer and the schedule have an end.
    """
    for name in (LOSS_FILE, "optimizer.pt", "scheduler.pt"):
        if not (folder / name).is_file():
            return folder / name, "is missing"
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".safetensors":
            try:
                check_safetensors(path, str(folder))
            except InputError:
                return path, "is truncated"
        elif path.suffix in (".pt", ".pth", ".bin") and not zipfile.is_zipfile(path):
            return path, "is truncated"
    return None
