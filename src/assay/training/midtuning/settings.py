"""What can be asked of a mid-tuning."""

from __future__ import annotations

from dataclasses import dataclass

from assay.errors import InputError
from assay.training.settings import RecipeSettings

__all__ = ["FRAME_FILES", "OBJECTIVES", "MidTuningSettings"]

#: What aligns a sentence with its form, the first being the default.
OBJECTIVES = ("triplet", "classification")
#: Files of frames, one JSON object a line.
FRAME_FILES = (".jsonl", ".ndjson")


@dataclass(frozen=True)
class MidTuningSettings(RecipeSettings):
    """The request; batch size, epochs and the objectives are the paper's.

    Attributes:
        base: the encoder to start from: a folder, a hub id or a short name.
        forms: sentences with their forms: datasets with AMR graphs, files of graphs, or files of frames; see
            :func:`~assay.training.midtuning.forms.read_forms`. A tenth of the sentences is cut off as development
            set, at most 2,500.
        objective: one of :data:`OBJECTIVES`.
        test: labelled pairs on which the encoder is evaluated before and after; their sentences are not trained on.
        queries: a file with a sentence a line, whose nearest neighbours are shown; None for five sentences of the
            development set.
        epochs, batch_size, learning_rate, eval_steps: see :class:`~assay.training.loop.Course`; 0 evaluations by steps
            for one an epoch.
        warmup: share of the steps over which the learning rate rises from 0.
        margin: the epsilon of equation 1, in squared distance. The paper does not say its own. Of embeddings of length
            1, squared distances go from 0 to 4.
        layers: only the last so many layers are trained, so that the special tokens keep their first embeddings; None
            for all of the model.
        tokens: in a pass, padding included; None for what suits the device.
        seed: of what is cut off, the special tokens, the wrong forms, dropout and the order of the sentences.
        seeds: train so many models, with the seeds from *seed* on; None for one model.
        limit: only the first so many pairs, graphs or lines of each source, and pairs of each test dataset.
        columns: which columns of tables of one's own are what, as after ``--columns``.

    Raises:
        InputError: a value outside its range.
    """

    recipe = "mid-tuning"

    base: str
    forms: tuple[str, ...]
    objective: str = "triplet"
    test: tuple[str, ...] = ()
    queries: str | None = None
    epochs: int = 1
    batch_size: int = 64
    learning_rate: float = 2e-5
    warmup: float = 0.1
    eval_steps: int = 0
    margin: float = 1.0
    layers: int | None = None
    tokens: int | None = None
    seed: int = 0
    seeds: int | None = None
    limit: int | None = None
    columns: str | None = None

    def __post_init__(self) -> None:
        if not self.forms:
            raise InputError("`forms`: name at least one source of sentences with their forms")
        self.check_one_of("objective", OBJECTIVES)
        self.check_at_least(
            epochs=1, batch_size=1, eval_steps=0, layers=1, tokens=1, seed=0, seeds=1, limit=1, warmup=0
        )
        self.check_positive("learning_rate", "margin")
        if not self.warmup < 1:
            raise InputError(f"`warmup={self.warmup}`: is a share of the steps, below 1")
        self.check_columns(*self.test, *(one for one in self.forms if not one.lower().endswith(FRAME_FILES)))
