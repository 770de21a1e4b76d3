"""The whole training of a bi-encoder or cross-encoder: data, one model a seed, its evaluation, and the card that
describes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.datasets.annotation_graph import describe_graph
from assay.progress import Progress
from assay.training.evaluation import agreement_before_and_after, over_seeds, plain_scores
from assay.training.folder import Render, Results, Workplace, make_models, open_workplace
from assay.training.job import Card, write_model
from assay.training.pairwise.job import PairwiseJob, fit, prepare, start
from assay.training.pairwise.settings import PairSettings
from assay.training.pairwise.trainer import score_rows
from assay.training.ranks import follows

__all__ = ["describe", "make_all", "train_on_pairs"]


# The card of a model trained on labelled pairs.

_TITLES = {"bi-encoder": "Bi-encoder", "cross-encoder": "Cross-encoder"}
_LOSSES = {
    "cosine": "the squared difference of cosine and label",
    "cosent": "CoSENT over the couples of pairs of a batch",
    "softmax": "cross-entropy of a linear layer over both embeddings and their difference, which is not kept",
    "bce": "binary cross-entropy against the label",
    "mse": "the squared difference of output and label",
    "cross-entropy": "cross-entropy of the classes",
}
_LIMITS = (
    "It was trained and tested on the datasets named above; other texts and languages are untested.",
    "Held-out pairs are not trained on; single texts of them may be, in other pairs: the counts above say how many.",
    "Intervals over the test pairs hold pairs that share a text for independent, unless the data has groups.",
)
_MACHINE = "Test labels were made by machine: agreement with them is not agreement with people."


def describe(facts: Mapping[str, Any]) -> Card:
    """Return the card of a model, from what ``training.json`` holds."""
    settings, recipe = facts["settings"], facts["model"]
    part = f"its last {settings['layers']} layers" if settings["layers"] else "all of it"
    graph, loss = facts["annotation_graph"], _LOSSES[facts["loss"]]
    like = settings["batches"] == "length"
    batches = "batches of like length" if like else f"batches by the annotation graph ({settings['batches']})"
    about = (
        f"A {recipe} trained on labelled pairs: {part}, with {loss}; {batches}. "
        f"The training pairs have {graph['texts']:,} texts of degree {graph['degree']['mean']:.2f} ± "
        f"{graph['degree']['deviation']:.2f}."
    )
    if facts["classes"]:
        about += f" It was trained to tell {', '.join(facts['classes'])} apart."
    if facts["recipe"] == "augmented":
        about += " The pairs were made and labelled by machine, see pairs.parquet."
    best = ", ".join(f"{name.replace('_', ' ')} {value:.4f}" for name, value in facts["best"].items())
    return Card(
        title=_TITLES[recipe],
        about=about,
        seeds=f"{facts['seed']} for the order of the pairs and what is drawn, {settings['seed']} for what is cut off",
        best=best,
        use=_use(recipe, bool(facts["classes"])),
        limits=[*_LIMITS, *([_MACHINE] if "machine_labels" in facts["results"] else [])],
    )


def _use(recipe: str, classes: bool) -> list[str]:
    if recipe == "cross-encoder" and classes:
        return ['CrossEncoder("FOLDER").predict([("TEXT", "TEXT")])  # of sentence-transformers: logits of the classes']
    metrics = ["cross-encoder"] if recipe == "cross-encoder" else ["bi-encoder", "bertscore", "pooled"]
    return [f"assay run --dataset DATASET --metric {metric}:FOLDER" for metric in metrics]


# The whole training of a bi-encoder or cross-encoder: data, one model a seed, evaluation, and what is left behind.


def train_on_pairs(settings: PairSettings, *, render: Render, progress: Progress) -> Results:
    """Train a model, or one a seed, and write its folder in one step; an interrupted training resumes.

    Args:
        settings: of the training; with several seeds, its folder has a folder ``seed-N`` for each and a summary.
        render: gives results as Markdown.
        progress: told of every step.

    Returns:
        ``agreement``: records as in :mod:`~assay.training.evaluation`; ``scores``: the trained model's, as a
        comparison over seeds reads them; ``seeds``: theirs.

    Raises:
        InputError: something that was asked for cannot be used.
        UnavailableError: the model cannot be had here.
    """
    job = prepare(settings, settings.runtime, progress)
    with open_workplace(settings.out, job.plain_request()) as place:
        return make_all(job, place, render)


def make_all(job: PairwiseJob, place: Workplace, render: Render) -> Results:
    """Train and evaluate what is not made yet, a model or one a seed, and lay out the folder that is left.

    Args:
        job: the training.
        place: where it works.
        render: gives results as Markdown.

    Returns:
        See :func:`train_on_pairs`.
    """
    settings = job.settings

    def make(seed: int, new: Path) -> None:
        _make(job, place.checkpoints(seed), render, seed, new)

    return make_models(place, settings.seed, settings.seeds, make, _summary, render)


def _summary(found: list[Results]) -> Results:
    """Return the results of several models as one; the scores are those of a model alone."""
    whole = found[0] | {"agreement": over_seeds([one["agreement"] for one in found])}
    return {name: value for name, value in whole.items() if name != "scores"}


def _make(job: PairwiseJob, checkpoints: Path, render: Render, seed: int, new: Path) -> None:
    """Train and evaluate one model into a new folder."""
    before = job.before
    loss = start(job, seed)
    test = job.sets["test"]
    trained = fit(job, loss, seed, checkpoints)
    if follows():
        return
    job.progress.begin("evaluation", 0)
    after = score_rows(loss, job.rows["test"])[0]
    records = agreement_before_and_after(test, job.labels[job.rows["test"]], before, after, seed)
    results: Results = {"agreement": records, "scores": plain_scores(records), "seeds": [seed]}
    if machine := [one.full_name for one in test.sources if one.kind == "machine"]:
        results["machine_labels"] = machine
    facts = job.facts(
        seed,
        model=job.settings.recipe,
        counts=dict(job.counts) | {"inputs_cut_off": loss.inputs.table.cut},
        annotation_graph=describe_graph(job.graph),
        loss=job.settings.chosen_loss,
        classes=job.classes,
        **trained.facts,
        results=results,
    )
    write_model(new, loss.whole, trained.history, facts, describe(facts), job.sources, render)
