"""The parts of a mid-tuning: the encoder of sentences and forms, its losses, nearest neighbours, and the training of
one model.
"""

from __future__ import annotations

import contextlib
import copy
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

from assay.common.progress import Progress
from assay.exceptions import InputError, UnavailableError
from assay.language.texts import text_key
from assay.metrics.models import locate
from assay.metrics.neural.runtime import Runtime
from assay.paths import user_path
from assay.training.data import Examples, Source, load_examples
from assay.training.job import Job as SharedJob
from assay.training.job import prepare_device
from assay.training.labels import plain_labels
from assay.training.loop import TrainingCourse, schedule_of
from assay.training.midtuning.forms import SemanticForm
from assay.training.midtuning.negatives import forms_of_others, wrong_forms
from assay.training.midtuning.reader import Forms, read_forms
from assay.training.midtuning.settings import MidTuningSettings
from assay.training.models import Inputs, freeze_except_last_layers, length_groups, load_bi_encoder, table_of_texts
from assay.training.pairwise.losses import BiLoss, SoftmaxLoss, pass_limits
from assay.training.pairwise.read_rows import train_only_read_rows
from assay.training.pairwise.trainer import BatchPlan, batches_by_length, train_pairs
from assay.training.sets import hold_out_rows

# The encoder of sentences and forms: mean pooling, and a special token for each side.

#: The paper's special token before a sentence.
SENTENCE_TOKEN = "[_EN_]"
#: The special token before a form, by formalism. The paper prints that of PropBank alone; FrameNet's is assay's own.
FORM_TOKENS = {"propbank": "[_SRLMR_]", "framenet": "[_FNMR_]"}
#: How far the first embedding of a special token is from the mean, in standard deviations of each dimension.
NOISE_DEVIATION = 0.1


def prepare_model(model: Any, seed: int, name: str, form_token: str) -> None:
    """Give a sentence-transformers model mean pooling and the special tokens, and remove its default prompt, in place.

    Mean pooling replaces the pooling that the model has; a model without a pooling module gets none. The embedding of a
    new token is the mean of all embeddings plus small noise drawn with *seed*, so that the two tokens differ. A model
    that already has the tokens keeps their embeddings.

    Args:
        model: the sentence-transformers model.
        seed: the seed of the noise.
        name: the name of the model in error messages.
        form_token: the special token before a form.

    Raises:
        UnavailableError: the model has no transformer with an embedding table.
    """
    from sentence_transformers.sentence_transformer.modules import Pooling

    body = getattr(model[0], "model", None)
    if body is None or not hasattr(body, "get_input_embeddings"):
        raise UnavailableError(f"model {name}: has no transformer that could learn special tokens")
    for index, module in enumerate(model):
        if isinstance(module, Pooling):
            model[index] = Pooling(model[0].get_embedding_dimension(), pooling_mode="mean")
    model.default_prompt_name = None
    _add_special_tokens(body, model.tokenizer, seed, (SENTENCE_TOKEN, form_token))


def _add_special_tokens(body: Any, tokenizer: Any, seed: int, tokens: Sequence[str]) -> None:
    """Add those special tokens that a tokenizer lacks, with the mean of all embeddings plus noise as their embeddings.

    Args:
        body: the transformers model, changed in place.
        tokenizer: its tokenizer, changed in place.
        seed: the seed of the noise in the embeddings.
        tokens: the special tokens.
    """
    from transformers import AddedToken

    vocabulary = tokenizer.get_vocab()
    new_tokens = [token for token in tokens if token not in vocabulary]
    tokenizer.add_tokens(
        [AddedToken(token, special=True, normalized=False) for token in new_tokens], special_tokens=True
    )
    old_rows = body.get_input_embeddings().weight.detach().clone()
    if len(tokenizer) > len(old_rows):  # not always: some models have more rows than tokens
        body.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    rng = torch.Generator().manual_seed(seed)
    noises = torch.randn(len(new_tokens), old_rows.shape[1], generator=rng).to(old_rows)
    mean, deviation = old_rows.mean(dim=0), old_rows.std(dim=0)
    rows = body.get_input_embeddings().weight
    with torch.no_grad():
        for token, noise in zip(new_tokens, noises, strict=True):
            rows[tokenizer.convert_tokens_to_ids(token)] = mean + NOISE_DEVIATION * deviation * noise


def add_sentence_prompt(model: Any) -> None:
    """Add a prompt named ``sentence`` to a model, which inserts the special token of a sentence before a text.

    It is not the default prompt: on the development pairs of STS-B, models mid-tuned from MiniLM agree better with
    people without it, under both objectives.
    """
    model.prompts = {**model.prompts, "sentence": f"{SENTENCE_TOKEN} "}


def embed(model: Any, texts: Sequence[str], device: str, pooling: str = "own") -> torch.Tensor:
    """Return a model's embeddings of n texts, with its default prompt.

    Args:
        model: a sentence-transformers model; left in evaluation mode.
        texts: the n texts, at least one.
        device: torch's name of the model's device.
        pooling: ``own`` for the model's pooling, ``cls`` for the last layer's embedding of the first token.

    Returns:
        float32 on the CPU, shape (n, dimensions), in the order of *texts*.
    """
    model.eval()
    table = table_of_texts(model, texts)
    groups = list(length_groups(table.lengths, *pass_limits(device)))
    embeddings = []
    with torch.inference_mode():
        for group in groups:
            output = model(table.padded_batch(group, device))
            pooled = output["token_embeddings"][:, 0] if pooling == "cls" else output["sentence_embedding"]
            embeddings.append(pooled.float().cpu())
    original_order = torch.argsort(torch.cat(groups))
    return torch.cat(embeddings)[original_order]


# The two objectives that align a sentence with its form.


class TripletLoss(BiLoss):
    """Triplet loss: a sentence should be nearer to its form than to a wrong one by a margin (Umair and Ferraro, eq. 1).

    max(||s - r+||² - ||s - r-||² + margin, 0), with squared Euclidean distances as in the printed equation. The text
    beside it says "Euclidean distance", and the loss of this name in sentence-transformers does not square, with a
    margin of 5, which embeddings of length 1 cannot reach. The square has the same order, and its gradient stays
    bounded where two embeddings meet.

    By default one encoder reads both sides, as in Sentence-BERT, whose design the paper adopts. The paper describes two
    encoders E1 and E2 with the same initial weights, but also special tokens that distinguish a sentence from a form,
    which only a shared encoder needs: it can be read both ways.

    Args:
        model, inputs, tokens: the model that is trained, the tokens and labels of all rows, and the most tokens of one
            pass, as in :class:`~assay.training.pairwise.losses.PairLoss`; each row has three texts (the sentence, its
            form and a wrong form) and the label 1.
        margin: the margin, epsilon in the equation.
    """

    def __init__(self, model: Any, inputs: Inputs, tokens: int | None, margin: float) -> None:
        super().__init__(model, inputs, tokens)
        self._margin = margin

    def outputs(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the squared distances of each sentence from its form and from the wrong one, shape (k, 2)."""
        sentence, right, wrong = self.embeddings(rows)
        return torch.stack([(sentence - other).square().sum(dim=1) for other in (right, wrong)], dim=1)

    def row_losses(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the triplet loss of each row, shape (k,); all labels are 1 and are ignored."""
        return functional.relu(outputs[:, 0] - outputs[:, 1] + self._margin)

    def scores(self, outputs: torch.Tensor) -> torch.Tensor:
        """Return whether each sentence is nearer to its form than to the wrong one, bool, shape (k,)."""
        return outputs[:, 0] < outputs[:, 1]


def make_loss(objective: str, model: Any, inputs: Inputs, tokens: int | None, margin: float) -> BiLoss:
    """Return the loss that trains a model by one of the two objectives.

    Args:
        objective: ``triplet``, or ``classification``: a linear layer over both embeddings and their difference decides
            whether a form belongs to the sentence, as in Sentence-BERT.
        model, inputs, tokens: the model that is trained, the tokens and labels of all rows, and the most tokens of one
            pass, as in :class:`~assay.training.pairwise.losses.PairLoss`.
        margin: the margin of the triplet loss; ``classification`` ignores it.
    """
    if objective == "triplet":
        return TripletLoss(model, inputs, tokens, margin)
    return SoftmaxLoss(model, inputs, tokens, classes=2)


# The nearest neighbours of a few queries by the embeddings of a model (Umair and Ferraro, table 6).

#: The file with the neighbours, in a model's folder.
NEIGHBOURS_FILE = "neighbours.md"
#: The number of neighbours shown for each query, as in the paper.
NEIGHBOURS_PER_QUERY = 3


def read_sentences(path: str, setting: str) -> tuple[str, ...]:
    """Return the lines of a text file that are not blank, without whitespace around them.

    Args:
        path: the file.
        setting: the setting that names it, for messages.

    Raises:
        InputError: the file cannot be read, or all its lines are blank.
    """
    try:
        lines = user_path(path).read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(f"cannot be read ({reason})", setting=setting, value=path) from None
    sentences = tuple(line.strip() for line in lines if line.strip())
    if not sentences:
        raise InputError("has no sentence; write one a line", setting=setting, value=path)
    return sentences


def nearest_neighbours(
    queries: Sequence[str], texts: Sequence[str], searched: int, embeddings: Mapping[str, NDArray[np.float32]]
) -> list[dict[str, Any]]:
    """Return up to three nearest neighbours of each query, by the cosine of each model's embeddings.

    Args:
        queries: the queries; all of them must be among *texts*.
        texts: n distinct sentences.
        searched: the number of sentences, from the start of *texts*, that may be neighbours; a sentence with the same
            words as the query is skipped.
        embeddings: the embeddings of *texts* by each model, by its name, shape (n, dimensions).

    Returns:
        One record per query, in their order: ``query``, and for each model, by its name, a list of records of ``text``
        and ``cosine``, the nearest neighbour first.
    """
    indices = {text: index for index, text in enumerate(texts)}
    keys = [text_key(text) for text in texts]
    records: list[dict[str, Any]] = [{"query": query} for query in queries]
    for model, table in embeddings.items():
        lengths = np.linalg.norm(table, axis=1)
        for record in records:
            row = indices[record["query"]]
            cosines = (table @ table[row] / (lengths * lengths[row]))[:searched]
            other_sentences = (index for index in np.argsort(-cosines, kind="stable") if keys[index] != keys[row])
            record[model] = [
                {"text": texts[index], "cosine": float(cosines[index])}
                for index in islice(other_sentences, NEIGHBOURS_PER_QUERY)
            ]
    return records


# The job of a mid-tuning, and the two steps of training a model: start and fit.

#: The number of development sentences whose neighbours are shown if no queries are named.
QUERIES = 5


@dataclass(frozen=True, eq=False)
class MidTuningJob(SharedJob):
    """What all seeds of a mid-tuning share.

    Attributes:
        settings: the settings of the training.
        forms: the sentences and their forms.
        test: the labelled test pairs; None if no test dataset is named.
        labels: the labels of the test pairs; empty if there are none.
        parts: the indices in *forms* of the sets ``train`` and ``dev``.
        queries: the sentences whose neighbours are shown.
        corpus: the sentences that may be neighbours; empty for those of the development set and of the test pairs.
    """

    settings: MidTuningSettings
    forms: Forms
    test: Examples | None
    labels: NDArray[np.float64]
    parts: Mapping[str, NDArray[np.int64]]
    queries: tuple[str, ...]
    corpus: tuple[str, ...] = ()

    @property
    def form_token(self) -> str:
        """The special token before a form."""
        return FORM_TOKENS[self.settings.formalism]

    @property
    def sources(self) -> dict[str, tuple[Source, ...]]:
        """The datasets and files by their use: ``forms``, and ``test`` if there are test pairs."""
        return {"forms": self.forms.sources} | ({"test": self.test.sources} if self.test else {})

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of sentences and pairs for the model's card, by name, such as ``train_sentences``."""
        sizes = {f"{name}_sentences": len(indices) for name, indices in self.parts.items()}
        return sizes | {"test_pairs": len(self.test) if self.test else 0} | self.forms.counts

    @cached_property
    def searched_sentences(self) -> tuple[str, ...]:
        """The distinct sentences that may be neighbours: the corpus, or the development set and the test pairs."""
        if self.corpus:
            return tuple(dict.fromkeys(self.corpus))
        dev = [self.forms.sentences[index] for index in self.parts["dev"]]
        test = [*self.test.references, *self.test.candidates] if self.test else []
        return tuple(dict.fromkeys([*dev, *test]))

    @cached_property
    def embedded_texts(self) -> tuple[str, ...]:
        """The distinct texts embedded before and after: :attr:`searched_sentences`, the queries and the test pairs."""
        test = [*self.test.references, *self.test.candidates] if self.test else []
        return tuple(dict.fromkeys([*self.searched_sentences, *self.queries, *test]))

    @cached_property
    def base_embeddings(self) -> torch.Tensor:
        """The embeddings of :attr:`embedded_texts` by the base model, shape (n, dimensions).

        They are computed at the first use, which loads the base model and may therefore raise UnavailableError.
        """
        self.progress.begin("base", 0)
        model = load_bi_encoder(self.base.folder, self.device)
        return embed(model, self.embedded_texts, self.device, self.settings.pooling)


@dataclass(frozen=True, eq=False)
class StartedModel:
    """A model before its training.

    Attributes:
        loss: the loss, which holds the model and its inputs.
        rows: the row numbers of the sets ``train`` and ``dev`` in the inputs of the loss, int64.
        kinds: the number of wrong forms of each kind in the training rows.
    """

    loss: BiLoss
    rows: Mapping[str, NDArray[np.int64]]
    kinds: Mapping[str, int]


def prepare_job(settings: MidTuningSettings, runtime: Runtime, progress: Progress) -> MidTuningJob:
    """Locate the model, read the test pairs and the forms, and return the job of training the one on the others.

    Sentences of test pairs and of queries are not trained on. If no queries are named, up to five sentences of the
    development set are drawn.

    Args:
        settings: the settings of the training.
        runtime: the device, and the number of threads that torch is set to use.
        progress: receives a line with the counts of sentences by what became of them.

    Raises:
        InputError: a setting or a dataset cannot be used, or too few sentences have a form.
        UnavailableError: the model or a dataset is unavailable.
    """
    base = locate(settings.base)
    device, threads = prepare_device(runtime)
    test = load_examples(settings.test, limit=settings.limit, columns=settings.columns_spec) if settings.test else None
    labels = plain_labels(test) if test else np.empty(0)
    named_queries = read_sentences(settings.queries, "queries") if settings.queries is not None else ()
    corpus = read_sentences(settings.corpus, "corpus") if settings.corpus is not None else ()
    test_texts = test.texts if test else ()
    held_out = {text_key(text) for text in (*test_texts, *named_queries)}
    progress.begin("forms", 0)
    forms = read_forms(settings.forms, limit=settings.limit, held_out=held_out, columns=settings.columns_spec)
    progress.say(", ".join(f"{name.replace('_', ' ')} {number:,}" for name, number in forms.counts.items()))
    train, dev = hold_out_rows(np.arange(len(forms)), settings.seed)
    if len(dev) < 2:
        raise InputError(
            f"{len(forms)} sentences with a form are too few to hold out a development set", setting="forms"
        )
    drawn = np.random.default_rng(settings.seed).permutation(dev)[:QUERIES]
    queries = tuple(dict.fromkeys(named_queries)) or tuple(forms.sentences[index] for index in drawn)
    return MidTuningJob(
        settings=settings,
        base=base,
        device=device,
        threads=threads,
        progress=progress,
        forms=forms,
        test=test,
        labels=labels,
        parts={"train": train, "dev": dev},
        queries=queries,
        corpus=corpus,
    )


def start_model(job: MidTuningJob, seed: int) -> StartedModel:
    """Return the model that a training starts from, on the job's device, and its rows.

    The seed draws the embeddings of new tokens, the weights of a head, and the wrong forms; torch's global generator is
    seeded with it.

    The triplet objective has one row per sentence (sentence, form, wrong form). The classification objective has two:
    the sentence with its form (label 1) and with the wrong form (label 0). With two encoders, the loss also holds a
    copy of the model that reads the forms.

    Raises:
        InputError: the model has too few layers, or no wrong form can be made of one of the forms.
        UnavailableError: the base model cannot be loaded, or lacks an embedding table or a list of layers.
    """
    settings = job.settings
    torch.manual_seed(seed)
    model = load_bi_encoder(job.base.folder, job.device)
    prepare_model(model, seed, settings.base, job.form_token)
    freeze_except_last_layers(model, settings.layers, settings.base)
    text_numbers: dict[str, int] = {}
    records: list[list[int]] = []  # one per row: the numbers of its texts, then its label
    rows: dict[str, NDArray[np.int64]] = {}
    kinds: dict[str, int] = {}

    def text_number(mark: str, text: str) -> int:
        return text_numbers.setdefault(f"{mark} {text}", len(text_numbers))

    for name, indices in job.parts.items():
        forms = [job.forms.forms[index] for index in indices]
        negatives, kind_counts = _draw_negatives(settings.objective, forms, seed)
        if name == "train":
            kinds = kind_counts
        first_row = len(records)
        for index, form, wrong_form in zip(indices, forms, negatives, strict=True):
            sentence = text_number(SENTENCE_TOKEN, job.forms.sentences[index])
            right = text_number(job.form_token, form.text)
            wrong = text_number(job.form_token, wrong_form.text)
            if settings.objective == "triplet":
                records.append([sentence, right, wrong, 1])
            else:
                records += [[sentence, right, 1], [sentence, wrong, 0]]
        rows[name] = np.arange(first_row, len(records))
    columns = torch.tensor(records).T.contiguous()
    third = columns[2] if settings.objective == "triplet" else None
    inputs = Inputs(table_of_texts(model, list(text_numbers)), columns[0], columns[1], columns[-1], third)
    loss = make_loss(settings.objective, model, inputs, settings.tokens, settings.margin)
    if settings.encoders == 2:
        loss.second_model = copy.deepcopy(model)  # that of forms, with the same initial weights
    return StartedModel(loss.to(job.device), rows, kinds)


def _draw_negatives(objective: str, forms: list[SemanticForm], seed: int) -> tuple[list[SemanticForm], dict[str, int]]:
    """Return one wrong form for each form, as the objective needs it, and the number of wrong forms of each kind.

    For a classification, all of them are forms of other sentences.

    Raises:
        InputError: no wrong form can be made of one of the forms.
    """
    if objective == "triplet":
        return wrong_forms(forms, seed)
    return forms_of_others(forms, seed), {"another's form": len(forms)}


def fit_model(job: MidTuningJob, started: StartedModel, seed: int, checkpoints: Path) -> TrainingCourse:
    """Train a model and return the course of the training.

    Afterwards the model has the weights of the step with the lowest loss on the development set.

    Args:
        job: the training.
        started: the model, changed in place, and its rows.
        seed: the seed of the order of the rows.
        checkpoints: the folder of checkpoints; an interrupted training continues from the last one.

    Raises:
        DivergedError: a loss on the development set is no longer a finite number.
        InputError: the checkpoint of the best model is damaged at the end of the training.
    """
    settings = job.settings
    lengths = started.loss.inputs.lengths.numpy()[started.rows["train"]]
    plan = BatchPlan(partial(batches_by_length, lengths, settings.batch_size), seed)
    schedule = schedule_of(settings, len(plan), seed)
    dev = started.rows["dev"]
    second, table = started.loss.second_model, started.loss.inputs.table
    # train_pairs does the same for the first model
    with contextlib.nullcontext() if second is None else train_only_read_rows(second, table):
        return train_pairs(
            "bi-encoder", started.loss, plan, dev, schedule, checkpoints, job.device, job.progress, measure="loss"
        )
