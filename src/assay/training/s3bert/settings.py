"""The settings of an S3BERT training."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from assay.errors import InputError
from assay.training.settings import RecipeSettings

__all__ = ["S3BertSettings"]


@dataclass(frozen=True)
class S3BertSettings(RecipeSettings):
    """The request; the defaults are those of Opitz and Frank 2022, appendix A.1.

    Attributes:
        base: the sentence encoder to start from: a folder, a hub id or a short name.
        pairs: datasets of pairs with AMR graphs.
        dev, test: held-out datasets; where there is no *dev*, a tenth of the pairs is cut off for it, then where there
            is no *test*, a tenth of what is left; at most 2,500 each, in whole groups, see
            :func:`~assay.training.data.cut_rows`.
        vectors: file of word vectors for the aspects that compare words.
        epochs, batch_size, learning_rate, warmup, eval_steps: see :class:`~assay.training.loop.Course`.
        alpha: weight of the decomposition (equation 6).
        width: dimensions of each aspect's sub-embedding.
        layers: the last so many layers are trained.
        negatives: shuffled pairs for each pair.
        decomposition, consistency: which parts of the loss are in force.
        seed: of the negatives, of what is cut off, and of the order of the pairs.
        seeds: train so many models, with the seeds from *seed* on; None for one model.
        limit: only the first so many pairs of each dataset.
        columns: which columns of files of one's own are what, as after ``--columns``.

    Raises:
        InputError: a value outside its range.
    """

    recipe = "s3bert"
    flags = MappingProxyType({"decomposition": "--no-decomposition", "consistency": "--no-consistency"})

    base: str
    pairs: tuple[str, ...]
    dev: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    vectors: str | None = None
    epochs: int = 8
    batch_size: int = 64
    learning_rate: float = 1e-5
    warmup: int = 100
    eval_steps: int = 1000
    alpha: float = 1.0
    width: int = 16
    layers: int = 2
    negatives: int = 1
    decomposition: bool = True
    consistency: bool = True
    seed: int = 0
    seeds: int | None = None
    limit: int | None = None
    columns: str | None = None

    def __post_init__(self) -> None:
        if not self.pairs:
            raise InputError("`pairs`: name at least one dataset of pairs with graphs")
        self.check_at_least(
            epochs=1, batch_size=2, eval_steps=1, width=1, layers=1, seeds=1, limit=1, warmup=0, negatives=0, seed=0
        )
        self.check_positive("learning_rate", "alpha")
        self.check_columns(*self.pairs, *self.dev, *self.test)
        if not (self.decomposition or self.consistency):
            raise InputError("`no_decomposition` and `no_consistency` leave nothing to train on; give one of them")

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the loss in force."""
        return tuple(name for name in ("decomposition", "consistency") if getattr(self, name))
