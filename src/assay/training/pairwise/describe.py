"""The card of a model trained on labelled pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.training.card import Card

__all__ = ["describe"]

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
