"""What a mid-tuning works with: the encoder of sentences and forms, its losses, nearest neighbours, and the steps
of training one model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from assay.errors import InputError, UnavailableError
from assay.metrics.models import locate
from assay.metrics.neural.runtime import Runtime
from assay.paths import user_path
from assay.progress import Progress
from assay.training.data import Examples, Source, hold_out_rows, load_examples, plain_labels, text_key
from assay.training.job import Job as SharedJob
from assay.training.job import take_device
from assay.training.loop import Trained, schedule_of
from assay.training.midtuning.forms import Forms, SemanticForm, others_forms, read_forms, wrong_forms
from assay.training.midtuning.settings import MidTuningSettings
from assay.training.models import Inputs, alike, load_bi_encoder, table_of_texts, train_last_layers
from assay.training.pairwise.losses import CPU_SPARE, CPU_TOKENS, GPU_SPARE, GPU_TOKENS, BiLoss, PairLoss, SoftmaxLoss
from assay.training.pairwise.trainer import BatchPlan, by_length, train_pairs

# The encoder of sentences and forms: mean pooling, and a special token for each side.

#: The paper's special tokens, before a sentence and before a PropBank form.
SENTENCE, FORM = "[_EN_]", "[_SRLMR_]"
#: How far the first embedding of a special token is from the mean, in standard deviations of each dimension.
SPREAD = 0.1


def make_ready(whole: Any, seed: int, name: str) -> None:
    """Give a model of sentence-transformers mean pooling and the special tokens, in place.

    Each token gets a row of its own in the embeddings: their mean, and a little of their spread drawn by *seed*, so
    that the two differ. A model that has the tokens keeps them. Its own default prompt goes: it is trained without.

    Raises:
        UnavailableError: it has no transformer with a table of embeddings.
    """
    from sentence_transformers.sentence_transformer.modules import Pooling

    body = getattr(whole[0], "model", None)
    if body is None or not hasattr(body, "get_input_embeddings"):
        raise UnavailableError(f"model {name}: has no transformer that could learn special tokens")
    for place, module in enumerate(whole):
        if isinstance(module, Pooling):
            whole[place] = Pooling(whole[0].get_embedding_dimension(), pooling_mode="mean")
    whole.default_prompt_name = None
    _add_tokens(body, whole.tokenizer, seed)


def _add_tokens(body: Any, tokenizer: Any, seed: int) -> None:
    from transformers import AddedToken

    known = tokenizer.get_vocab()
    new = [token for token in (SENTENCE, FORM) if token not in known]
    tokenizer.add_tokens([AddedToken(token, special=True, normalized=False) for token in new], special_tokens=True)
    before = body.get_input_embeddings().weight.detach().clone()
    if len(tokenizer) > len(before):  # some models have more rows than tokens
        body.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    dice = torch.Generator().manual_seed(seed)
    drawn = torch.randn(len(new), before.shape[1], generator=dice).to(before)
    rows = body.get_input_embeddings().weight
    with torch.no_grad():
        for token, noise in zip(new, drawn, strict=True):
            rows[tokenizer.convert_tokens_to_ids(token)] = before.mean(dim=0) + SPREAD * before.std(dim=0) * noise


def name_prompt(whole: Any) -> None:
    """Have a model put the token of a sentence before a text where its prompt ``sentence`` is asked for.

    It is no default: on the development pairs of STS-B, models mid-tuned from MiniLM agree better with people without
    it, under both objectives.
    """
    whole.prompts = {**whole.prompts, "sentence": f"{SENTENCE} "}


def embed(whole: Any, texts: Sequence[str], device: str) -> torch.Tensor:
    """Return the embeddings of n texts as a model gives them to anybody, with its default prompt.

    Args:
        whole: the model of sentence-transformers; left in the mode for use.
        texts: n of them.
        device: where the model is.

    Returns:
        float32 on the CPU, shape (n, dimensions).
    """
    whole.eval()
    table = table_of_texts(whole, texts)
    cpu = device == "cpu"
    parts = list(alike(table.lengths, CPU_TOKENS if cpu else GPU_TOKENS, CPU_SPARE if cpu else GPU_SPARE))
    with torch.inference_mode():
        found = [whole(table.padded(part, device))["sentence_embedding"].float().cpu() for part in parts]
    return torch.cat(found)[torch.argsort(torch.cat(parts))]


# The two objectives that align a sentence with its form.


class TripletLoss(BiLoss):
    """A sentence is to be nearer to its form than to a wrong one, by a margin (Umair and Ferraro, equation 1).

    max(||s - r+||² - ||s - r-||² + margin, 0), with squared Euclidean distances, as it is printed. The text beside the
    equation says "Euclidean distance", and sentence-transformers' loss of this name takes it unsquared, with a margin
    of 5, which no two embeddings of length 1 can reach. The square has the same order and a gradient that does not
    blow up where two embeddings meet.

    One encoder reads both sides, as in Sentence-BERT, whose design the paper takes over. It writes of two encoders E1
    and E2, started alike, and of special tokens that tell a sentence from a form, which only a shared encoder needs.

    Args:
        model, inputs, tokens: see :class:`~assay.training.pairwise.losses.PairLoss`; rows have three texts: the
            sentence, its form and a wrong one, and the label 1.
        margin: the epsilon.
    """

    def __init__(self, model: Any, inputs: Inputs, tokens: int | None, margin: float) -> None:
        super().__init__(model, inputs, tokens)
        self._margin = margin

    def outputs(self, rows: torch.Tensor) -> torch.Tensor:
        """Return squared distances of each sentence to its form and to the wrong one, shape (k, 2)."""
        sentence, right, wrong = self.embeddings(rows)
        return torch.stack([(sentence - other).square().sum(dim=1) for other in (right, wrong)], dim=1)

    def row_losses(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the loss of each row, shape (k,)."""
        return functional.relu(outputs[:, 0] - outputs[:, 1] + self._margin)

    def scores(self, outputs: torch.Tensor) -> torch.Tensor:
        """Return 1 where the sentence is nearer to its form, else 0, shape (k,)."""
        return outputs[:, 0] < outputs[:, 1]


def make_loss(objective: str, model: Any, inputs: Inputs, tokens: int | None, margin: float) -> PairLoss:
    """Return the loss of an objective.

    Args:
        objective: ``triplet``, or ``classification``: whether a form is the sentence's, by a linear layer over both
            embeddings and their difference, as in Sentence-BERT.
        model, inputs, tokens: see :class:`~assay.training.pairwise.losses.PairLoss`.
        margin: of the triplets.
    """
    if objective == "triplet":
        return TripletLoss(model, inputs, tokens, margin)
    return SoftmaxLoss(model, inputs, tokens, classes=2)


# Which sentences a model holds for nearest to a few queries (Umair and Ferraro, table 6).

#: In a model's folder.
FILE = "neighbours.md"
#: Sentences shown for each query, as in the paper.
SHOWN = 3


def read_queries(path: str) -> tuple[str, ...]:
    """Return the lines of a text file that are not blank.

    Raises:
        InputError: the file cannot be read, or has none.
    """
    try:
        lines = user_path(path).read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(f"`queries={path}`: cannot be read ({reason})") from None
    found = tuple(line.strip() for line in lines if line.strip())
    if not found:
        raise InputError(f"`queries={path}`: has no sentence; write one a line")
    return found


def nearest(
    queries: Sequence[str], texts: Sequence[str], searched: int, embeddings: Mapping[str, NDArray[np.float32]]
) -> list[dict[str, Any]]:
    """Return for each query the three nearest of some sentences, by each model.

    Args:
        queries: all of them stand in *texts*.
        texts: n distinct sentences.
        searched: so many of them, the first ones, may be neighbours; one with the words of the query is passed over.
        embeddings: by the name of a model, shape (n, dimensions).

    Returns:
        A record a query: ``query``, and by the name of each model a list of ``text`` and ``cosine``.
    """
    places = {text: place for place, text in enumerate(texts)}
    keys = [text_key(text) for text in texts]
    found: list[dict[str, Any]] = [{"query": query} for query in queries]
    for model, table in embeddings.items():
        lengths = np.linalg.norm(table, axis=1)
        for record in found:
            own = places[record["query"]]
            cosines = (table @ table[own] / (lengths * lengths[own]))[:searched]
            order = (place for place in np.argsort(-cosines, kind="stable") if keys[place] != keys[own])
            record[model] = [{"text": texts[k], "cosine": float(cosines[k])} for k in islice(order, SHOWN)]
    return found


# What a mid-tuning works with, made ready, and the two steps of a model: start and fit.

#: Sentences of the development set whose neighbours are shown where no queries are given.
QUERIES = 5


@dataclass(frozen=True, eq=False)
class MidTuningJob(SharedJob):
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
    def embedded_texts(self) -> tuple[str, ...]:
        """The distinct texts that are embedded before and after: those that are searched, and the queries."""
        return tuple(dict.fromkeys([*self.searched, *self.queries]))

    @cached_property
    def before(self) -> torch.Tensor:
        """The embeddings of :attr:`embedded_texts` by the model that is started from, with its own pooling."""
        self.progress.begin("base", 0)
        return embed(load_bi_encoder(self.base.folder, self.device), self.embedded_texts, self.device)


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


def prepare(settings: MidTuningSettings, runtime: Runtime, progress: Progress) -> MidTuningJob:
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
    test = load_examples(settings.test, limit=settings.limit, columns=settings.column_names) if settings.test else None
    labels = plain_labels(test) if test else np.empty(0)
    asked = read_queries(settings.queries) if settings.queries is not None else ()
    held_out = {text_key(text) for text in (*(test.texts if test else ()), *asked)}
    progress.begin("forms", 0)
    forms = read_forms(settings.forms, limit=settings.limit, held_out=held_out, columns=settings.column_names)
    progress.say(", ".join(f"{name.replace('_', ' ')} {number:,}" for name, number in forms.counts.items()))
    train, dev = hold_out_rows(np.arange(len(forms)), settings.seed)
    if len(dev) < 2:
        raise InputError(f"`forms`: {len(forms)} sentences with a form are too few to hold a development set out")
    drawn = np.random.default_rng(settings.seed).permutation(dev)[:QUERIES]
    queries = tuple(dict.fromkeys(asked)) or tuple(forms.sentences[place] for place in drawn)
    parts = {"train": train, "dev": dev}
    return MidTuningJob(settings, base, device, threads, progress, forms, test, labels, parts, queries)


def start(job: MidTuningJob, seed: int) -> Started:
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


def fit(job: MidTuningJob, started: Started, seed: int, checkpoints: Path) -> Trained:
    """Train a model; afterwards it is the one of lowest development loss.

    Args:
        job: the training.
        started: the model.
        seed: of the order of the rows.
        checkpoints: a folder for them; a training that was killed continues from the last one.
    """
    settings = job.settings
    lengths = started.loss.inputs.lengths.numpy()[started.rows["train"]]
    plan = BatchPlan(partial(by_length, lengths, settings.batch_size), seed)
    schedule = schedule_of(settings, len(plan), seed)
    dev = started.rows["dev"]
    return train_pairs(
        "bi-encoder", started.loss, plan, dev, schedule, checkpoints, job.device, job.progress, best="loss"
    )
