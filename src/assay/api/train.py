"""``assay train``: train models that metrics read.

An interrupted training resumes with the same command.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol, TypeVar

from assay.api.values import Report
from assay.common.progress import Progress, Silent
from assay.common.verbs import verb
from assay.metrics.neural.runtime import use_runtime
from assay.reports.formats import format_document
from assay.reports.sheets import Document
from assay.reports.train import agreement_document, alignment_document, aspects_document, neighbours_document
from assay.training.augmented.settings import AugmentedSettings
from assay.training.folder import Render, Results
from assay.training.midtuning.settings import MidTuningSettings
from assay.training.pairwise.settings import BiEncoderSettings, CrossEncoderSettings, PairSettings
from assay.training.s3bert.settings import S3BertSettings
from assay.training.settings import TrainingSettings, check_packages

Request_contra = TypeVar("Request_contra", contravariant=True)
Request = TypeVar("Request")


class TrainingRecipe(Protocol[Request_contra]):
    """A complete training recipe: a function that trains a model as requested and writes its folder."""

    def __call__(self, request: Request_contra, /, *, render: Render, progress: Progress) -> Results:
        """Train the model, write its folder, and return the results.

        Args:
            request: the settings of the recipe, or a search over them.
            render: a function that returns results as Markdown, for the folder and the model card.
            progress: receives the progress of the work.

        Raises:
            InputError: a setting, a dataset or the folder cannot be used, the training diverged, or the disk is full.
            UnavailableError: a model, a dataset or a metric is unavailable.
            SystemExit: of several processes that train together, this one follows the leader, which has the results.
        """
        ...


def run_recipe(
    recipe: TrainingRecipe[Request],
    request: Request,
    settings: TrainingSettings,
    document: Callable[[Mapping[str, Any]], Document],
) -> Results:
    """Run a recipe and return its results.

    Args:
        recipe: the function that trains and evaluates the model, and writes its folder.
        request: the settings of the recipe, or a search over them.
        settings: the device, threads and progress for the training and for every model that it loads.
        document: a function that lays out the results for the folder and the model card.

    Raises:
        InputError, UnavailableError, SystemExit: as for :class:`TrainingRecipe`.
    """
    with use_runtime(settings.runtime):
        return recipe(
            request,
            render=lambda results: format_document(document(results), "md"),
            progress=settings.progress or Silent(),
        )


@verb(
    AugmentedSettings,
    "Train a sentence encoder on pairs that are made: names with aliases, names at random, numbers (Augmented SBERT).",
    (
        "assay train augmented --base all-MiniLM-L6-v2 --labeller my-cross-encoder --entities people.csv "
        "--numbers en,de --out my-model"
    ),
)
def train_augmented(settings: AugmentedSettings) -> Report:
    """Make pairs of entities and of numbers, have a cross-encoder label the random ones, and train a bi-encoder.

    Args:
        out: the folder of the model, absent or empty; an interrupted training resumes with the same arguments.

    Returns:
        Agreement with the labels of held-out pairs before and after, which is not agreement with people.

    Raises:
        InputError: a setting, a file or the folder cannot be used, the training diverged, or the disk is full.
        UnavailableError: a model, or the address of the entities, is unavailable.
        MissingExtraError: a package for training is not installed.
        SystemExit: of several processes that train together, this one follows the leader, which has the results.
    """
    check_packages()
    from assay.training.augmented.recipe import train_augmented as train  # imports torch

    return Report(agreement_document(run_recipe(train, settings, settings, agreement_document)))


@verb(
    BiEncoderSettings,
    "Train a sentence encoder whose cosine is the score, for bi-encoder:, bertscore: and pooled:.",
    (
        "assay train bi-encoder --base all-MiniLM-L6-v2 --pairs stsb:train --dev stsb:dev --test stsb:test "
        "--out my-model"
    ),
)
def train_bi_encoder(settings: BiEncoderSettings) -> Report:
    """Train a sentence encoder on labelled pairs, and write it to a folder that metrics load.

    Args:
        out: the folder of the model, absent or empty; an interrupted training resumes with the same arguments.

    Returns:
        Agreement with people on the test pairs before and after. The folder holds the same as ``results.json`` and
        ``results.md``.

    Raises:
        InputError: a setting, a dataset or the folder cannot be used, the training diverged, or the disk is full.
        UnavailableError: the model or a dataset is unavailable.
        MissingExtraError: a package for training is not installed.
        SystemExit: of several processes that train together, this one follows the leader, which has the results.
    """
    return _train_on_pairs(settings)


@verb(
    CrossEncoderSettings,
    "Train a model that reads both texts at once, for cross-encoder:; the base may be an encoder of single texts.",
    (
        "assay train cross-encoder --base all-MiniLM-L6-v2 --pairs stsb:train --dev stsb:dev --test stsb:test "
        "--out my-model"
    ),
)
def train_cross_encoder(settings: CrossEncoderSettings) -> Report:
    """Train a model that reads both texts at once on labelled pairs, and write it to a folder that metrics load.

    Args:
        out: the folder of the model, absent or empty; an interrupted training resumes with the same arguments.

    Returns:
        Agreement with people on the test pairs before and after. The folder holds the same as ``results.json`` and
        ``results.md``.

    Raises:
        InputError: a setting, a dataset or the folder cannot be used, the training diverged, or the disk is full.
        UnavailableError: the model or a dataset is unavailable.
        MissingExtraError: a package for training is not installed.
        SystemExit: of several processes that train together, this one follows the leader, which has the results.
    """
    return _train_on_pairs(settings)


def _train_on_pairs(settings: PairSettings) -> Report:
    check_packages()
    from assay.training.pairwise.recipe import train_on_pairs  # imports torch

    return Report(agreement_document(run_recipe(train_on_pairs, settings, settings, agreement_document)))


@verb(
    MidTuningSettings,
    "Train a sentence encoder to align sentences with their frames of predicates, roles and fillers.",
    "assay train mid-tuning --base all-MiniLM-L6-v2 --forms bamboo-sts:train --test stsb:test --out my-model",
)
def train_mid_tuning(settings: MidTuningSettings) -> Report:
    """Train a sentence encoder on sentences and their semantic forms, and write it to a folder that metrics load.

    Args:
        out: the folder of the model, absent or empty; an interrupted training resumes with the same arguments.

    Returns:
        Agreement with people on the test pairs before and after, how well forms are told apart, and the nearest
        neighbours of a few sentences. The folder holds the same as ``results.json``, ``results.md`` and
        ``neighbours.md``.

    Raises:
        InputError: a setting, a dataset or the folder cannot be used, the training diverged, or the disk is full.
        UnavailableError: the model or a dataset is unavailable.
        MissingExtraError: a package for training or for AMR graphs is not installed.
        SystemExit: of several processes that train together, this one follows the leader, which has the results.
    """
    check_packages()
    from assay.training.midtuning.recipe import train_mid_tuning as train  # imports torch

    recipe = partial(train, render_neighbours=lambda records: format_document(neighbours_document(records), "md"))
    return Report(alignment_document(run_recipe(recipe, settings, settings, alignment_document)))


@verb(
    S3BertSettings,
    "Train sentence embeddings whose parts measure aspects of meaning (S3BERT).",
    (
        "assay train s3bert --base all-MiniLM-L6-v2 --pairs bamboo-sts:train --dev bamboo-sts:dev "
        "--test bamboo-sts:test --vectors glove.txt --out s3bert-minilm"
    ),
)
def train_s3bert(settings: S3BertSettings) -> Report:
    """Train sentence embeddings whose parts measure aspects of meaning, and write the model to a folder.

    Opitz and Frank 2022, "SBERT studies Meaning Representations".

    Args:
        out: the folder of the model, absent or empty; an interrupted training resumes with the same arguments.

    Returns:
        How well each aspect is followed on the test pairs, beside the partitions of the base, and whether the whole
        embedding still agrees with human labels. The folder holds the same as ``results.json`` and ``results.md``.

    Raises:
        InputError: a setting, a dataset or the folder cannot be used, or the disk is full.
        UnavailableError: the base, a dataset or a metric is unavailable, the base cannot be split into frozen and
            trained layers or into aspects, or several processes were started to train together.
        MissingExtraError: a package for training is not installed.
    """
    check_packages()
    from assay.training.s3bert.recipe import train_s3bert as train  # imports torch

    return Report(aspects_document(run_recipe(train, settings, settings, aspects_document)))
