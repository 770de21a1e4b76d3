"""What every recipe adds to the sentence-transformers trainers: resuming, curves, progress and a reproducible order."""

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

from assay.exceptions import InputError
from assay.metrics.models.files import check_safetensors
from assay.metrics.neural.loading import silence_libraries
from assay.metrics.neural.runtime import without_cudnn_attention
from assay.training.ranks import is_follower, process_count, wait_for_all

if TYPE_CHECKING:
    from assay.common.progress import Progress

#: The file with the loss's own learnable parameters, in a checkpoint beside the model.
LOSS_FILE = "loss.safetensors"
#: Steps between two points of the training curve.
STEPS_PER_POINT = 50
#: Rows or texts computed at a time if no gradient is needed.
SCORED_AT_ONCE = 512


@dataclass(frozen=True)
class Schedule:
    """How long and how fast a model learns.

    Attributes:
        epochs: the number of passes over the training pairs.
        batch_size: the number of pairs per step.
        learning_rate: the learning rate after the warm-up; from there it falls linearly to 0 at the last step.
        warmup: the number of steps over which the learning rate rises from 0.
        eval_steps: the number of steps between two evaluations on the development set, each of which saves a
            checkpoint; the last step is evaluated in any case.
        seed: the seed of the order of the pairs.
        steps: the number of steps after which the training ends; None for all steps of the epochs.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    warmup: int
    eval_steps: int
    seed: int
    steps: int | None = None


@dataclass(frozen=True)
class TrainingCourse:
    """The course of a training; the model itself is changed in place.

    Attributes:
        history: the trainer's log, one record per logged step.
        measure: the name of the measure that was compared on the development set.
        best_step: the step with the best value of the measure.
        best_value: the value at that step.
        steps: the number of steps in all.
    """

    history: Sequence[Mapping[str, float]]
    measure: str
    best_step: int
    best_value: float
    steps: int

    @property
    def facts(self) -> dict[str, Any]:
        """All but the history, as written to ``training.json``."""
        return {"steps": self.steps, "best_step": self.best_step, "best": {f"dev_{self.measure}": self.best_value}}


class _EpochSettings(Protocol):
    """Settings of a schedule: the warm-up is a share of the steps; 0 evaluation steps means one per epoch."""

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


def schedule_of(settings: _EpochSettings, batches: int, seed: int, steps: int | None = None) -> Schedule:
    """Return the schedule of a training, which is evaluated at least once.

    Args:
        settings: the settings; their warm-up is a share of the steps, and 0 evaluation steps mean one epoch.
        batches: the number of batches per epoch, which the processes that train together divide among themselves.
        seed: the seed of the order of the pairs.
        steps: the number of steps instead of epochs; None for the steps of the epochs.
    """
    epoch_steps = math.ceil(batches / process_count())
    total_steps = steps or epoch_steps * settings.epochs
    return Schedule(
        epochs=settings.epochs,
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        warmup=round(settings.warmup * total_steps),
        # without an end of an epoch in so few steps, the last one is evaluated
        eval_steps=min(settings.eval_steps or epoch_steps, total_steps),
        seed=seed,
        steps=steps,
    )


class ResumableTrainer:
    """Mixin for a sentence-transformers trainer: checkpoints keep the loss's own parameters, and curves all digits.

    Without these parameters in the checkpoint, a resumed training would start them anew.
    """

    # Attributes of the trainer.
    model: Any
    loss: Any
    args: Any
    state: Any
    accum_loss_components: dict[str, dict[str, Any]]
    # The weight of the last batch in the curves.
    _weight: int = 1

    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        """Do nothing, so that the trainer writes no card: assay writes one of its own."""

    def get_batch_sampler(self, dataset: Any, batch_size: int, drop_last: bool, **settings: Any) -> Any:
        """Return a sampler of batches whose order depends on seed and epoch alone, also when the training resumes.

        Rows with the same ``unit`` in the dataset stay together. The other *settings* of the trainer have no effect.
        """
        return _ShuffledBatches(dataset, batch_size=batch_size, drop_last=drop_last, seed=self.args.seed)

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        """Write the model of a checkpoint and, as :data:`LOSS_FILE`, the loss's own parameters."""
        folder = Path(output_dir or self.args.output_dir)
        self.model.save_pretrained(str(folder), create_model_card=False)
        save_file(
            {name: value.detach().cpu().contiguous() for name, value in self._loss_parameters()}, folder / LOSS_FILE
        )

    def _load_from_checkpoint(self, checkpoint_path: str) -> None:
        """Load the model of a checkpoint and the loss's own parameters, in place."""
        super()._load_from_checkpoint(checkpoint_path)  # type: ignore[misc]  # a method of the trainer
        parameters = load_file(Path(checkpoint_path) / LOSS_FILE)
        with torch.no_grad():
            for name, value in self._loss_parameters():
                value.copy_(parameters[name])

    def _load_best_model(self) -> None:
        """Load the best checkpoint; raises InputError for a damaged one, which sentence-transformers would ignore."""
        wait_for_all()  # the first process may still be writing it
        best = Path(self.state.best_model_checkpoint)
        fault = fault_of_checkpoint(best)
        if fault is not None:
            path, reason = fault
            raise InputError(f"{path}: {reason}; it is of the best model so far: remove {best.parent} and train again")
        self._load_from_checkpoint(str(best))
        wait_for_all()  # the first process may remove the checkpoint, so the others must have read it

    def _loss_parameters(self) -> list[tuple[str, Any]]:
        """Return the parameters of the loss that are not the model's."""
        return [(name, value) for name, value in self.loss.named_parameters() if not name.startswith("model.")]

    def compute_loss(self, model: Any, inputs: dict[str, Any], *args: Any, **settings: Any) -> Any:
        """Return the loss of a batch, and remember the weight of the batch in the curves.

        In an evaluation this is its number of pairs, because the last batch may be smaller; in a training it is 1.
        """
        self._weight = 1 if self.model.training else len(inputs["label"])
        return super().compute_loss(model, inputs, *args, **settings)  # type: ignore[misc]  # a method of the trainer

    def track_loss_components(self, loss: dict[str, Any]) -> None:
        """Add the components of a batch's loss to the running sums, times the weight of the batch.

        The sum named ``steps`` adds up the weights.
        """
        sums = self.accum_loss_components["train" if self.model.training else "eval"]
        for name, value in (loss | {"steps": torch.ones(())}).items():
            sums[name] = sums.get(name, 0.0) + self._weight * value.detach()

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Log the mean components of the loss with all their digits, and extra curves at an evaluation.

        sentence-transformers would round the components to four digits.
        """
        if "loss" in logs:
            logs = logs | self._pop_mean_components("train")
        elif "eval_loss" in logs:
            logs = logs | self._pop_mean_components("eval")
        super().log(logs, start_time)  # type: ignore[misc]  # a method of the trainer

    def _pop_mean_components(self, kind: str) -> dict[str, float]:
        """Return the mean components of the loss since the last log, and reset their sums.

        For an evaluation the extra curves are added. For a loss without components the result is empty.

        Args:
            kind: ``train`` or ``eval``.
        """
        sums = self.accum_loss_components.get(kind, {})
        steps = float(sums.get("steps", 0))
        if not steps:
            return {}
        # Without sums, sentence-transformers adds no rounded means of its own.
        self.accum_loss_components[kind] = {}
        prefix = "eval_" if kind == "eval" else ""
        means = {f"{prefix}{name}": float(value) / steps for name, value in sums.items() if name != "steps"}
        if kind == "eval":
            means |= self.extra_curves()
        return means

    def extra_curves(self) -> dict[str, float]:
        """Return further values for the curves at an evaluation, by name; none unless a subclass has some.

        It is called only for a loss with components.
        """
        return {}


class _ShuffledBatches(DefaultBatchSampler):  # type: ignore[misc]  # sentence-transformers has no types here
    """Batches of row numbers, shuffled anew every epoch; rows with the same ``unit`` in the dataset stay together."""

    def __init__(self, dataset: Any, **settings: Any) -> None:
        super().__init__(dataset, **settings)
        has_units = "unit" in dataset.column_names
        units = list(dataset["unit"]) if has_units else list(range(len(dataset)))
        self.units = torch.unique(torch.tensor(units), return_inverse=True)[1]

    def __iter__(self) -> Iterator[list[int]]:
        """Yield the row numbers of each batch of the current epoch; a smaller last one only without ``drop_last``."""
        # The factor exceeds any number of epochs, so that different seeds never share the order of an epoch.
        rng = torch.Generator().manual_seed(1_000_003 * self.seed + self.epoch)
        unit_ranks = torch.randperm(int(self.units.max()) + 1, generator=rng)
        for part in torch.split(torch.argsort(unit_ranks[self.units], stable=True), self.batch_size):
            if len(part) == self.batch_size or not self.drop_last:
                yield part.tolist()


class _LastStepEvaluator(TrainerCallback):  # type: ignore[misc]  # transformers has no types here
    """Evaluates and saves the last step; some versions of transformers skip it if ``eval_steps`` does not divide it."""

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step >= state.max_steps:
            control.should_evaluate = control.should_save = True


class _ProgressReporter(TrainerCallback):  # type: ignore[misc]  # transformers has no types here
    """Reports the steps of a training and its results on the development set.

    Args:
        progress: receives each step, and a line at each evaluation.
        title: the name of the training in these lines.
    """

    def __init__(self, progress: Progress, title: str) -> None:
        self._progress, self._title = progress, title

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._progress.begin(self._title, state.max_steps)
        self._progress.advance(state.global_step)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._progress.advance(1)

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: dict[str, float], **_: Any) -> None:
        key = args.metric_for_best_model
        dev_result = f"dev {key.removeprefix('eval_')} {metrics[key]:.5f}"
        self._progress.say(f"{self._title}: step {state.global_step:,} of {state.max_steps:,}, {dev_result}")


def has_bfloat16(device: str) -> bool:
    """Return whether a device is a GPU that computes in bfloat16."""
    return device.startswith("cuda") and torch.cuda.is_bf16_supported(including_emulation=False)


def trainer_arguments(
    folder: Path,
    schedule: Schedule,
    device: str,
    *,
    arguments_class: Any = SentenceTransformerTrainingArguments,
    measure: str = "loss",
    mixed_precision: bool = False,
) -> Any:
    """Return the arguments of a trainer that keeps its last checkpoint and the best one.

    As a side effect, an indexed GPU such as ``cuda:1`` becomes torch's current device.

    Args:
        folder: the folder for checkpoints.
        schedule: how long and how fast the model learns.
        device: torch's name of the device; no other GPU is used.
        arguments_class: the class of the returned arguments.
        measure: what is compared on the development set: ``loss``, or a measure of which higher values are better.
        mixed_precision: whether to compute in bfloat16 on a GPU that supports it; weights and losses stay in single
            precision.
    """
    use_bfloat16 = mixed_precision and has_bfloat16(device)
    training_arguments = arguments_class(
        output_dir=str(folder),
        num_train_epochs=schedule.epochs,
        max_steps=schedule.steps or -1,
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
        metric_for_best_model=f"eval_{measure}",
        greater_is_better=measure != "loss",
        bf16=use_bfloat16,
        logging_steps=min(STEPS_PER_POINT, schedule.eval_steps),
        seed=schedule.seed,
        use_cpu=device == "cpu",
        dataloader_pin_memory=device.startswith("cuda"),
        disable_tqdm=True,
        # would wait for the GPU at every step; DivergedError tells of losses that are no numbers
        logging_nan_inf_filter=False,
        report_to=[],
    )
    if device.startswith("cuda"):
        training_arguments._n_gpu = 1  # otherwise the trainer would distribute a batch over all visible GPUs
    if ":" in device:
        torch.cuda.set_device(device)
    return training_arguments


def run_trainer(
    trainer: Any, folder: Path, progress: Progress, title: str, *, measure: str = "loss", callbacks: Sequence[Any] = ()
) -> TrainingCourse:
    """Run a trainer from its last undamaged checkpoint, or from the start, and return the course of the training.

    Damaged checkpoints after that one are reported and removed. Afterwards the trainer's model is the best one.

    Args:
        trainer: a trainer whose arguments come from :func:`trainer_arguments`.
        folder: the folder of its checkpoints.
        progress: receives each step and evaluation.
        title: the name of the training in messages to the user.
        measure: what is compared on the development set, as given to :func:`trainer_arguments`.
        callbacks: further transformers callbacks.

    Raises:
        InputError: the checkpoint of the best model is damaged at the end of the training.
        Exception: what the trainer, its evaluator or a callback raises, such as a DivergedError.
    """
    trainer.remove_callback(PrinterCallback)  # it prints to stdout, which is for data
    for callback in (_LastStepEvaluator(), _ProgressReporter(progress, title), *callbacks):
        trainer.add_callback(callback)
    checkpoint, damaged = last_checkpoint(folder)
    for path, fault in damaged.items():
        progress.say(f"{title}: {path}: {fault}; goes back to the checkpoint before")
    wait_for_all()  # every process must have checked all checkpoints before any is removed
    if not is_follower():
        for path in damaged:
            # A damaged checkpoint of a later step would count as the newest: the trainer, which keeps only a few,
            # would remove the checkpoints that it writes from here on.
            shutil.rmtree(path.parent)
    wait_for_all()  # the training starts only once the damaged checkpoints are gone
    if checkpoint is not None:
        progress.say(f"{title}: resumes from step {checkpoint.name.rpartition('-')[2]}")
    with silence_libraries(), without_cudnn_attention():
        trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    state = trainer.state
    return TrainingCourse(
        history=state.log_history,
        measure=measure,
        best_step=int(state.best_global_step),
        best_value=float(state.best_metric),
        steps=int(state.global_step),
    )


def last_checkpoint(folder: Path) -> tuple[Path | None, dict[Path, str]]:
    """Return the last undamaged checkpoint, or None, and the faults of the damaged ones after it.

    The faults are by path, the path of one file per damaged checkpoint. A checkpoint without a readable
    ``trainer_state.json``, the file that is written last, was interrupted: it is skipped without a report, and the
    trainer writes it again.
    """
    complete = []  # folders named checkpoint-STEP
    for path in folder.glob("checkpoint-*"):
        with contextlib.suppress(OSError, ValueError):
            json.loads((path / "trainer_state.json").read_text(encoding="utf-8"))
            complete.append(path)
    damaged: dict[Path, str] = {}
    for path in sorted(complete, key=lambda path: int(path.name.rpartition("-")[2]), reverse=True):
        fault = fault_of_checkpoint(path)
        if fault is None:
            return path, damaged
        damaged_file, reason = fault
        damaged[damaged_file] = reason
    return None, damaged


def fault_of_checkpoint(folder: Path) -> tuple[Path, str] | None:
    """Return the first missing or truncated file of a checkpoint with its fault, or None if no fault is found.

    A missing file is noticed if it is that of the loss, the optimizer or the schedule. Of weights only the header is
    read and compared with the size of the file, of archives such as the optimizer's only the end.
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
