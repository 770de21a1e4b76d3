"""The card of an S3BERT model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.training.card import Card

__all__ = ["describe"]

_LIMITS = (
    "The aspects are what AMR metrics measure on graphs that a parser wrote; what the parser gets wrong, they learn.",
    "An aspect's score is a cosine, not a probability: read it beside what is usual for such pairs (assay explain).",
    "It was trained and tested on sentences of the datasets named above; other texts and languages are untested.",
    "Held-out pairs are not trained on; single texts of them may be, in other pairs: the counts above say how many.",
    "Dropout is off in training, and models of several seeds differ in the order of the pairs alone.",
    "Intervals and p values over the test pairs take pairs that share a sentence for independent.",
)


def describe(facts: Mapping[str, Any]) -> Card:
    """Return the card of a model, from what ``training.json`` holds."""
    settings = facts["settings"]
    parts = [name for name in ("decomposition", "consistency") if settings[name]]
    about = (
        f"Sentence embeddings in which {settings['width']} dimensions each measure one of {len(facts['scales'])} "
        "aspects of meaning (Opitz and Frank 2022, SBERT studies Meaning Representations); the last "
        f"{settings['layers']} layers were trained with {' and '.join(parts)}. "
        "`s3bert.json` says which dimensions are whose."
    )
    return Card(
        title="S3BERT",
        about=about,
        seeds=f"{facts['seed']} for the order of the pairs, {settings['seed']} for what is cut off and the negatives",
        best=f"development loss {facts['best_dev_loss']:.6f}",
        use=(
            "assay run --dataset bamboo-sts --metric s3bert:FOLDER",
            'assay explain "TEXT" "TEXT" --metric s3bert:FOLDER',
        ),
        limits=(*_LIMITS, _batches(settings)),
        made_with={"targets made from": facts["targets"]["made_from"]},
    )


def _batches(settings: Mapping[str, Any]) -> str:
    """Return what the batches hold: fewer distinct texts than pairs."""
    distinct = settings["batch_size"] // (1 + settings["negatives"])
    return (
        f"A batch of {settings['batch_size']} has pairs and their negatives together, so that the consistency is over "
        f"about {distinct} x {distinct} different pairs of texts a step."
    )
