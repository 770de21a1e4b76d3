"""The settings of a mid-tuning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from assay.common.declarations import Settings, setting
from assay.exceptions import InputError
from assay.training.ranks import process_count
from assay.training.settings import BaseSettings, LearningSettings, OwnColumns, TrainingSettings

#: The objectives that align a sentence with its form, the default first.
OBJECTIVES = ("triplet", "classification")
#: The suffixes of files of frames, which have one JSON object per line.
FRAME_SUFFIXES = (".jsonl", ".ndjson")


@dataclass(frozen=True)
class _FormsSettings(Settings):
    """The sentences and forms that the encoder learns from."""

    forms: Sequence[str] = setting(
        "Sentences with their forms: a dataset or file of AMR graphs, or frames.jsonl; repeatable."
    )


@dataclass(frozen=True, kw_only=True)
class MidTuningSettings(OwnColumns, LearningSettings, TrainingSettings, _FormsSettings, BaseSettings):
    """The settings of a mid-tuning; batch size, epochs and the objectives are the paper's.

    A tenth of the sentences is held out as development set, at most 2,500.
    """

    recipe: ClassVar[str] = "mid-tuning"

    objective: str = setting("What aligns a sentence with its form.", "triplet", choices=OBJECTIVES)
    test: Sequence[str] = setting(
        "Labelled pairs on which the encoder is evaluated before and after; their sentences are not trained on; "
        "repeatable.",
        (),
    )
    queries: str | None = setting(
        "A file with one sentence per line, whose nearest neighbours are shown [default: five of dev].", None
    )
    corpus: str | None = setting(
        "A file with one sentence per line, among which neighbours are searched [default: the sentences of dev and "
        "test].",
        None,
    )
    formalism: Literal["propbank", "framenet"] = setting(
        "The forms are PropBank's, as those of AMR graphs are, or FrameNet's: the token before a form.",
        "propbank",
        choices=("propbank", "framenet"),
    )
    pooling: Literal["own", "cls"] = setting(
        "How test pairs and neighbours are embedded: own, each model by its own pooling; cls, by the first token.",
        "own",
        choices=("own", "cls"),
    )
    encoders: int = setting(
        "1: one encoder reads sentences and forms. 2: forms have an encoder of their own, which starts alike and is "
        "not kept.",
        1,
        at_least=1,
    )
    # The paper does not state its margin; the squared distance of embeddings of length 1 is between 0 and 4.
    margin: float = setting("Margin of the triplets, in squared distance (epsilon in equation 1).", 1.0, above=0)
    epochs: int = setting("Passes over the sentences.", 1, at_least=1)
    batch_size: int = setting("Sentences per step; with classification, each with one form.", 64, at_least=1)

    def check(self) -> None:
        """Check the number of encoders, that there are sources, and that named columns have a table to apply to.

        Raises:
            InputError: there are more than two encoders, or two for several processes; there are no sources; the
                columns cannot be used, or another setting is invalid.
        """
        super().check()
        if self.encoders > 2:
            raise InputError("must be 1 or 2", setting="encoders", value=self.encoders)
        if self.encoders == 2 and process_count() > 1:
            # gradients of the model alone are exchanged between processes
            raise InputError("is for a training by one process", setting="encoders", value=2)
        if not self.forms:
            raise InputError("name at least one source of sentences with their forms", setting="forms")
        tables = [source for source in self.forms if not source.lower().endswith(FRAME_SUFFIXES)]
        self.check_columns(*self.test, *tables)
