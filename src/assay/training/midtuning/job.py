"""What a mid-tuning works with, made ready, and the two steps of a model: start and fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from assay.errors import InputError
from assay.metrics.models import locate
from assay.metrics.neural.runtime import Runtime
from assay.training.cutting import cut_rows
from assay.training.data import Examples, Source, load_examples, text_key
from assay.training.job import Job as SharedJob
from assay.training.job import take_device
from assay.training.labels import plain_labels
from assay.training.loop import course_of
from assay.training.midtuning.encoder import FORM, SENTENCE, embed, make_ready
from assay.training.midtuning.forms import SemanticForm
from assay.training.midtuning.losses import make_loss
from assay.training.midtuning.negatives import others_forms, wrong_forms
from assay.training.midtuning.neighbours import read_queries
from assay.training.midtuning.reading import Forms, read_forms
from assay.training.midtuning.settings import MidTuningSettings
from assay.training.models import load_bi_encoder, train_last_layers
from assay.training.pairwise.batching import Plan, by_length
from assay.training.pairwise.inputs import Inputs
from assay.training.pairwise.losses import PairLoss
from assay.training.pairwise.trainer import Trained, train_pairs
from assay.training.progress import Progress
from assay.training.tokens import table_of_texts

__all__ = ["Job", "Started", "fit", "prepare", "start"]

#: Sentences of the development set whose neighbours are shown where no queries are given.
QUERIES = 5


@dataclass(frozen=True, eq=False)
class Job(SharedJob):
    """What all seeds of a mid-tuning share.

    Attributes:
        test: labelled pairs, or None.
        labels: of the test pairs; empty where there are none.
        parts: places in *forms* of the sets ``train`` and ``dev``.
        queries: sentences whose neighbours are shown.
    """

    settings: MidTuningSettings
    forms: Forms
    test: Examples | None
    labels: NDArray[np.float64]
    parts: Mapping[str, NDArray[np.int64]]
    queries: tuple[str, ...]

    @property
    def sources(self) -> dict[str, tuple[Source, ...]]:
        """The data by use."""
        return {"forms": self.forms.sources} | ({"test": self.test.sources} if self.test else {})

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of sentences and pairs, by what they are."""
        sizes = {f"{name}_sentences": len(places) for name, places in self.parts.items()}
        return sizes | {"test_pairs": len(self.test) if self.test else 0} | self.forms.counts

    @cached_property
    def searched(self) -> tuple[str, ...]:
        """The distinct sentences among which neighbours are looked for: of the development set and the test pairs."""
        dev = [self.forms.sentences[place] for place in self.parts["dev"]]
        test = [*self.test.references, *self.test.candidates] if self.test else []
        return tuple(dict.fromkeys([*dev, *test]))

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """The distinct texts that are embedded before and after: those that are searched, and the queries."""
        return tuple(dict.fromkeys([*self.searched, *self.queries]))

    @cached_property
    def before(self) -> torch.Tensor:
        """The embeddings of :attr:`shown` by the model that is started from, with its own pooling."""
        self.progress.begin("base", 0)
        return embed(load_bi_encoder(self.base.folder, self.device), self.shown, self.device)


@dataclass(frozen=True, eq=False)
class Started:
    """A model before its training.

    Attributes:
        loss: which holds it.
        rows: of the sets ``train`` and ``dev`` among the inputs of the loss.
        kinds: how many wrong forms of each kind the training rows have.
    """

    loss: PairLoss
    rows: Mapping[str, NDArray[np.int64]]
    kinds: Mapping[str, int]


def prepare(settings: MidTuningSettings, runtime: Runtime, progress: Progress) -> Job:
    """Find the model, read the forms and the test pairs of a request, and keep them apart.

    Args:
        settings: the request.
        runtime: device and threads.
        progress: told what is left out.

    Raises:
        InputError: something that was asked for cannot be used.
        UnavailableError: the model cannot be had here.
    """
    base = locate(settings.base)
    device, threads = take_device(runtime)
    test = load_examples(settings.test, limit=settings.limit, columns=settings.columns) if settings.test else None
    labels = plain_labels(test) if test else np.empty(0)
    asked = read_queries(settings.queries) if settings.queries is not None else ()
    held_out = {text_key(text) for text in (*(test.texts if test else ()), *asked)}
    progress.begin("forms", 0)
    forms = read_forms(settings.forms, limit=settings.limit, held_out=held_out, columns=settings.columns)
    progress.say(", ".join(f"{name.replace('_', ' ')} {number:,}" for name, number in forms.counts.items()))
    train, dev = cut_rows(np.arange(len(forms)), settings.seed)
    if len(dev) < 2:
        raise InputError(f"--forms: {len(forms)} sentences with a form are too few to cut a development set off")
    drawn = np.random.default_rng(settings.seed).permutation(dev)[:QUERIES]
    queries = tuple(dict.fromkeys(asked)) or tuple(forms.sentences[place] for place in drawn)
    parts = {"train": train, "dev": dev}
    return Job(settings, base, device, threads, progress, forms, test, labels, parts, queries)


def start(job: Job, seed: int) -> Started:
    """Return the model that a training starts from, with the rows that it learns from, as a seed has them."""
    settings = job.settings
    torch.manual_seed(seed)
    whole = load_bi_encoder(job.base.folder, job.device)
    make_ready(whole, seed, settings.base)
    train_last_layers(whole, settings.layers, settings.base)
    texts: dict[str, int] = {}
    columns: list[list[int]] = []
    rows: dict[str, NDArray[np.int64]] = {}
    kinds: dict[str, int] = {}

    def number(mark: str, text: str) -> int:
        return texts.setdefault(f"{mark} {text}", len(texts))

    for name, places in job.parts.items():
        forms = [job.forms.forms[place] for place in places]
        wrong, found = _wrong(settings.objective, forms, seed)
        kinds = kinds or found
        begun = len(columns)
        for place, right, other in zip(places, forms, wrong, strict=True):
            sentence = number(SENTENCE, job.forms.sentences[place])
            both = number(FORM, right.text), number(FORM, other.text)
            if settings.objective == "triplet":
                columns.append([sentence, *both, 1])
            else:
                columns += [[sentence, both[0], 1], [sentence, both[1], 0]]
        rows[name] = np.arange(begun, len(columns))
    made = torch.tensor(columns).T.contiguous()
    third = made[2] if settings.objective == "triplet" else None
    inputs = Inputs(table_of_texts(whole, list(texts)), made[0], made[1], made[-1], third)
    loss = make_loss(settings.objective, whole, inputs, settings.tokens, settings.margin).to(job.device)
    return Started(loss, rows, kinds)


def _wrong(objective: str, forms: list[SemanticForm], seed: int) -> tuple[list[SemanticForm], dict[str, int]]:
    if objective == "triplet":
        return wrong_forms(forms, seed)
    return others_forms(forms, seed), {"another's form": len(forms)}


def fit(job: Job, started: Started, seed: int, checkpoints: Path) -> Trained:
    """Train a model; afterwards it is the one of lowest development loss.

    Args:
        job: the training.
        started: the model.
        seed: of the order of the rows.
        checkpoints: a folder for them; a training that was killed continues from the last one.
    """
    settings = job.settings
    lengths = started.loss.inputs.lengths.numpy()[started.rows["train"]]
    plan = Plan(partial(by_length, lengths, settings.batch_size), seed)
    course = course_of(settings, len(plan), seed)
    dev = started.rows["dev"]
    return train_pairs(
        "bi-encoder", started.loss, plan, dev, course, checkpoints, job.device, job.progress, best="loss"
    )
