"""Training of models: bi-encoders, cross-encoders, S3BERT, augmented pairs and mid-tuning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from assay.api.values import Report, several
from assay.benchmark.progress import Progress, Silent
from assay.datasets.columns import columns_text
from assay.metrics.neural.runtime import Runtime, use_runtime
from assay.reports.sheets import Document, write
from assay.reports.train import agreement_document, alignment_document, aspects_document, neighbours_document
from assay.training.augmented.settings import AugmentedSettings
from assay.training.folder import Render, Results
from assay.training.midtuning.settings import MidTuningSettings
from assay.training.pairwise.settings import RECIPES
from assay.training.s3bert.settings import S3BertSettings
from assay.training.settings import check_packages

__all__ = ["Train", "run_recipe", "train_augmented", "train_mid_tuning", "train_pairs", "train_s3bert"]


# The way from what was asked of a recipe to its results: device, progress and rendering.

Asked_contra = TypeVar("Asked_contra", contravariant=True)
Asked = TypeVar("Asked")


class Train(Protocol[Asked_contra]):
    """The whole of a recipe: it trains what was asked for, and writes a folder."""

    def __call__(
        self, asked: Asked_contra, out: Path, /, *, runtime: Runtime, render: Render, progress: Progress
    ) -> Results:
        """Return the results; see :func:`run_recipe`."""
        ...


def run_recipe(
    train: Train[Asked],
    asked: Asked,
    out: str | Path,
    document: Callable[[Mapping[str, Any]], Document],
    *,
    device: str,
    threads: int | None,
    progress: Progress | None,
) -> Results:
    """Return the results of a recipe.

    Args:
        train: the recipe.
        asked: its settings.
        out: the folder of the model.
        document: lays out the results that stand in the folder and on the card.
        device, threads: of the training and of every model that it reads.
        progress: told of every step.
    """
    runtime = Runtime(device=device, threads=threads)
    with use_runtime(runtime):
        return train(
            asked,
            Path(out),
            runtime=runtime,
            render=lambda results: write(document(results), "md"),
            progress=progress or Silent(),
        )


# Training of models that assay's metrics read.


def train_s3bert(
    base: str,
    pairs: str | Sequence[str],
    out: str | Path,
    *,
    dev: str | Sequence[str] | None = (),
    test: str | Sequence[str] | None = (),
    columns: str | Mapping[str, str] | None = None,
    device: str = "auto",
    threads: int | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Report:
    """Train sentence embeddings whose parts measure aspects of meaning, and write the model to a folder.

    Opitz and Frank 2022, "SBERT studies Meaning Representations".

    Args:
        base: the sentence encoder to start from: a folder, a hub id or a short name.
        pairs: datasets of pairs with AMR graphs.
        out: the folder of the model, absent or empty; a training that was stopped continues when it is asked for again.
        dev, test: held-out datasets; without *dev* a tenth of the pairs is cut off, without *test* a tenth of the rest.
        columns: which columns of files of your own are what, as for :func:`assay.run`; a dataset with a card has its
            own reader.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:N`` or ``mps``.
        threads: of a CPU; by default the cores that are free.
        progress: told of every step.
        **settings: as in :class:`assay.training.s3bert.settings.S3BertSettings`.

    Returns:
        How well each aspect is followed on the test pairs, beside the partitions of the base, and whether the whole
        embedding still agrees with human labels. The folder holds the same as ``results.json`` and ``results.md``.

    Raises:
        InputError: something that was asked for cannot be used.
        UnavailableError: the base or the metrics cannot be had.
        MissingExtraError: a package for training is not installed.
    """
    asked = S3BertSettings(
        base, several(pairs), dev=several(dev), test=several(test), columns=columns_text(columns), **settings
    )
    check_packages()
    # torch comes with it
    from assay.training.s3bert.recipe import train_s3bert as train

    found = run_recipe(train, asked, out, aspects_document, device=device, threads=threads, progress=progress)
    return Report(aspects_document(found))


# Training of bi-encoders and cross-encoders on labelled pairs.


def train_pairs(
    recipe: Literal["bi-encoder", "cross-encoder"],
    base: str,
    pairs: str | Sequence[str],
    out: str | Path,
    *,
    dev: str | Sequence[str] | None = (),
    test: str | Sequence[str] | None = (),
    columns: str | Mapping[str, str] | None = None,
    device: str = "auto",
    threads: int | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Report:
    """Train a model on labelled pairs, and write it to a folder that metrics load.

    Args:
        recipe: which kind of model.
        base: the model to start from: a folder, a hub id or a short name.
        pairs: datasets of labelled pairs.
        out: the folder of the model, absent or empty; a training that was stopped continues when it is asked for again.
        dev, test: held-out datasets; without *dev* a tenth of the pairs is cut off, without *test* a tenth of the rest.
        columns: which columns of files of your own are what, as for :func:`assay.run`; a dataset with a card has its
            own reader.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:N``, ``mps`` or ``all``.
        threads: of a CPU; by default the cores that are free.
        progress: told of every step.
        **settings: as in :class:`assay.training.pairwise.settings.PairSettings`.

    Returns:
        Agreement with people on the test pairs before and after. The folder holds the same as ``results.json`` and
        ``results.md``.

    Raises:
        InputError: something that was asked for cannot be used.
        UnavailableError: the model cannot be had.
        MissingExtraError: a package for training is not installed.
    """
    asked = RECIPES[recipe](
        base, several(pairs), dev=several(dev), test=several(test), columns=columns_text(columns), **settings
    )
    check_packages()
    # torch comes with it
    from assay.training.pairwise.recipe import train_on_pairs

    found = run_recipe(
        train_on_pairs, asked, out, agreement_document, device=device, threads=threads, progress=progress
    )
    return Report(agreement_document(found))


# Training of a bi-encoder on pairs that are made: entities, aliases, numbers (Augmented SBERT).


def train_augmented(
    base: str,
    out: str | Path,
    *,
    entities: str | Path | None = None,
    labeller: str | None = None,
    device: str = "auto",
    threads: int | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Report:
    """Make pairs of entities and of numbers, have a cross-encoder label the random ones, and train a bi-encoder.

    Args:
        base: the sentence encoder to start from: a folder, a hub id or a short name.
        out: the folder of the model, absent or empty; a training that was stopped continues when it is asked for again.
        entities: a file with the columns ``name`` and ``aliases``.
        labeller: a cross-encoder, as it stands after ``cross-encoder:``.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:N``, ``mps`` or ``all``.
        threads: of a CPU; by default the cores that are free.
        progress: told of every step.
        **settings: as in :class:`assay.training.augmented.settings.AugmentedSettings`.

    Returns:
        Agreement with the labels of held-out pairs before and after, which is not agreement with people.

    Raises:
        InputError: something that was asked for cannot be used.
        UnavailableError: a model cannot be had.
        MissingExtraError: a package for training is not installed.
    """
    asked = AugmentedSettings(base, entities=None if entities is None else str(entities), labeller=labeller, **settings)
    check_packages()
    # torch comes with it
    from assay.training.augmented.recipe import train_augmented as train

    found = run_recipe(train, asked, out, agreement_document, device=device, threads=threads, progress=progress)
    return Report(agreement_document(found))


# Training of encoders that align sentences with their semantic forms.


def train_mid_tuning(
    base: str,
    forms: str | Sequence[str],
    out: str | Path,
    *,
    test: str | Sequence[str] | None = (),
    columns: str | Mapping[str, str] | None = None,
    device: str = "auto",
    threads: int | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Report:
    """Train a sentence encoder on sentences and their semantic forms, and write it to a folder that metrics load.

    Args:
        base: the encoder to start from: a folder, a hub id or a short name.
        forms: datasets with AMR graphs, files of graphs, or files of frames (``.jsonl``).
        out: the folder of the model, absent or empty; a training that was stopped continues when it is asked for again.
        test: labelled pairs on which it is evaluated before and after.
        columns: which columns of files of your own are what, as for :func:`assay.run`; a dataset with a card has its
            own reader.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:N``, ``mps`` or ``all``.
        threads: of a CPU; by default the cores that are free.
        progress: told of every step.
        **settings: as in :class:`assay.training.midtuning.settings.MidTuningSettings`.

    Returns:
        Agreement with people on the test pairs before and after, how well forms are told apart, and the nearest
        neighbours of a few sentences. The folder holds the same as ``results.json``, ``results.md`` and
        ``neighbours.md``.

    Raises:
        InputError: something that was asked for cannot be used.
        UnavailableError: the model cannot be had.
        MissingExtraError: a package for training or for AMR graphs is not installed.
    """
    asked = MidTuningSettings(base, several(forms), test=several(test), columns=columns_text(columns), **settings)
    check_packages()
    # torch comes with it
    from assay.training.midtuning.recipe import train_mid_tuning as train

    whole = partial(train, render_neighbours=lambda records: write(neighbours_document(records), "md"))
    found = run_recipe(whole, asked, out, alignment_document, device=device, threads=threads, progress=progress)
    return Report(alignment_document(found))
