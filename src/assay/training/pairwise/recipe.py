"""The recipes bi-encoder and cross-encoder from start to end: data, one model per seed, its evaluation and its card."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from assay.analysis.thresholds.training import are_yes_or_no, find_threshold
from assay.common.addresses import command_line
from assay.common.progress import Progress
from assay.datasets.annotation_graph import describe_graph
from assay.training.evaluation import (
    agreement_before_and_after,
    agreement_over_seeds,
    comparable_scores,
    decisions_before_and_after,
)
from assay.training.folder import Render, Results, WorkFolder, make_models, open_work_folder
from assay.training.job import Card, best_line, layers_line, write_model
from assay.training.pairwise.job import PairwiseJob, fit_model, prepare_job, start_model
from assay.training.pairwise.settings import PairSettings
from assay.training.pairwise.trainer import score_rows
from assay.training.ranks import is_follower

_TITLES = {"bi-encoder": "Bi-encoder", "cross-encoder": "Cross-encoder"}
_LOSSES = {
    "cosine": "the squared difference of cosine and label",
    "cosent": "CoSENT over every two pairs of a batch",
    "softmax": "cross-entropy of a linear layer over both embeddings and their difference, which is not kept",
    "bce": "binary cross-entropy against the label, of a bi-encoder after the sigmoid of the cosine",
    "mse": "the squared difference of output and label",
    "cross-entropy": "cross-entropy of the classes",
}
_LIMITS = (
    "It was trained and tested on the datasets named above; other texts and languages are untested.",
    "Held-out pairs are not trained on; single texts of them may be, in other pairs: the counts above say how many.",
    "Intervals over the test pairs treat pairs that share a text as independent, unless the data has groups.",
)
_MACHINE_LIMIT = "Test labels were made by machine: agreement with them is not agreement with people."


def describe_model(facts: Mapping[str, Any]) -> Card:
    """Return the card of a model, from the content of its ``training.json``."""
    settings, recipe = facts["settings"], facts["model"]
    graph, loss = facts["annotation_graph"], _LOSSES[facts["loss"]]
    by_length = settings["batches"] == "length"
    batches = "batches of like length" if by_length else f"batches by the annotation graph ({settings['batches']})"
    description = (
        f"A {recipe} trained on labelled pairs: {layers_line(settings)}, with {loss}; {batches}. "
        f"The training pairs have {graph['texts']:,} texts of degree {graph['degree']['mean']:.2f} ± "
        f"{graph['degree']['deviation']:.2f}."
    )
    if facts["classes"]:
        description += f" It was trained to tell {', '.join(facts['classes'])} apart."
    if facts["recipe"] == "augmented":
        description += " The pairs were made and labelled by machine, see pairs.parquet."
    limits = list(_LIMITS)
    if "machine_labels" in facts["results"]:
        limits.append(_MACHINE_LIMIT)
    return Card(
        title=_TITLES[recipe],
        about=description,
        seeds=f"{facts['seed']} for the order of the pairs and what is drawn, {settings['seed']} for what is held out",
        best=best_line(facts),
        use=_usage_of_model(recipe, bool(facts["classes"])),
        limits=limits,
    )


def _usage_of_model(recipe: str, has_classes: bool) -> list[str]:
    """Return the lines of a card that use a model: as metrics, or, for a cross-encoder of classes, in Python."""
    if recipe == "cross-encoder" and has_classes:
        return ['CrossEncoder("FOLDER").predict([("TEXT", "TEXT")])  # of sentence-transformers: logits of the classes']
    metrics = ["cross-encoder"] if recipe == "cross-encoder" else ["bi-encoder", "bertscore", "pooled"]
    return [command_line("run", "--dataset", "DATASET", "--metric", f"{metric}:FOLDER") for metric in metrics]


def train_on_pairs(settings: PairSettings, *, render: Render, progress: Progress) -> Results:
    """Train one model, or one per seed, and write the output folder once all is complete; interrupted trainings resume.

    Args:
        settings: the settings; for several seeds, the output folder has a folder ``seed-N`` for each and a summary.
        render: returns results as Markdown.
        progress: receives every step.

    Returns:
        ``agreement``: records as in :mod:`~assay.training.evaluation`; ``scores``, for a single model: its records for
        a comparison over seeds; ``seeds``: the seeds; ``machine_labels``, if there are any: the names of the test
        datasets that were labelled by machine.

    Raises:
        InputError: a setting, a dataset or the output folder cannot be used, training diverged, or the disk is full.
        UnavailableError: the base model or a dataset is unavailable.
        SystemExit: of several processes that train together, this one follows the leader, which has the results.
    """
    job = prepare_job(settings, settings.runtime, progress)
    with open_work_folder(settings.out, job.plain_request()) as work:
        return make_all_models(job, work, render)


def make_all_models(job: PairwiseJob, work: WorkFolder, render: Render) -> Results:
    """Train, evaluate and write the models that do not exist yet, and a summary if there are several.

    Args:
        job: the training.
        work: the folders of the training.
        render: returns results as Markdown.

    Returns:
        The results of the model, or their summary, as :func:`train_on_pairs` returns them.

    Raises:
        InputError: the model has too few layers, or the training diverged.
        UnavailableError: the base model cannot be loaded or trained.
        SystemExit: as by :func:`train_on_pairs`, after the last model.
    """
    return make_models(work, job.settings, partial(_make_pair_model, job, render), _summarise_seeds, render)


def _summarise_seeds(seed_results: list[Results]) -> Results:
    """Return the combined results of the models of several seeds, without ``scores``, which belong to one model."""
    agreement = agreement_over_seeds([results["agreement"] for results in seed_results])
    summary = seed_results[0] | {"agreement": agreement}
    return {name: value for name, value in summary.items() if name != "scores"}


def _make_pair_model(job: PairwiseJob, render: Render, seed: int, checkpoints: Path, model_folder: Path) -> None:
    """Train the model of one seed, evaluate it, and write it to a folder with its card and results.

    Of several processes that train together, the leader alone evaluates and writes.

    Args:
        job: the training.
        render: returns results as Markdown.
        seed: the seed of this model.
        checkpoints: the folder of checkpoints, from which an interrupted training continues.
        model_folder: the folder to write to.

    Raises:
        InputError: the model has too few layers, or the training diverged.
        UnavailableError: the base model cannot be loaded or trained.
    """
    base_scores = job.base_scores
    loss = start_model(job, seed)
    trained = fit_model(job, loss, seed, checkpoints)
    if is_follower():
        return
    job.progress.begin("evaluation", 0)
    test = job.sets["test"]
    test_labels, dev_labels = job.labels[job.rows["test"]], job.labels[job.rows["dev"]]
    trained_scores = score_rows(loss, job.rows["test"])[0]
    records = agreement_before_and_after(test, test_labels, base_scores, trained_scores, seed)
    has_decisions = not job.classes and are_yes_or_no(dev_labels) and are_yes_or_no(test_labels)
    if has_decisions:
        trained_dev_scores = score_rows(loss, job.rows["dev"])[0]
        thresholds = [
            None if dev_scores is None else find_threshold(dev_scores, dev_labels)
            for dev_scores in (job.base_dev_scores, trained_dev_scores)
        ]
        records += decisions_before_and_after(test, test_labels, (base_scores, trained_scores), thresholds)
    results: Results = {"agreement": records, "scores": comparable_scores(records), "seeds": [seed]}
    labelled_by_machine = [source.full_name for source in test.sources if source.kind == "machine"]
    if labelled_by_machine:
        results["machine_labels"] = labelled_by_machine
    facts = job.facts(
        seed,
        model=job.settings.recipe,
        counts=dict(job.counts) | {"inputs_cut_off": loss.inputs.table.truncated},
        annotation_graph=describe_graph(job.graph),
        loss=job.settings.chosen_loss,
        classes=job.classes,
        **trained.facts,
        results=results,
    )
    write_model(model_folder, loss.unwrapped_model, trained.history, facts, describe_model(facts), job.sources, render)
