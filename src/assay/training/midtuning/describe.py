"""The card of a mid-tuned encoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.training.card import Card
from assay.training.midtuning.encoder import FORM, SENTENCE

__all__ = ["describe"]

_LEARNED = {
    "triplet": "by a triplet loss over squared distances (margin {margin:g}) against a wrong form",
    "classification": "by telling right from wrong forms with a linear layer over both embeddings and their "
    "difference, which is not kept",
}
_LIMITS = (
    "Sentences of the test datasets are not trained on, in whatever case and with whatever marks.",
    "The forms are as good as who annotated or parsed them; a parser's errors are learned as well.",
    "Other texts and languages than those of the datasets above are untested.",
)


def describe(facts: Mapping[str, Any]) -> Card:
    """Return the card of a model, from what ``training.json`` holds."""
    settings = facts["settings"]
    part = f"its last {settings['layers']} layers" if settings["layers"] else "all of it"
    learned = _LEARNED[settings["objective"]].format(**settings)
    about = (
        "A sentence encoder that was mid-tuned (Umair and Ferraro) to align sentences with their semantic forms: "
        f"predicates with roles and fillers. It was trained ({part}) {learned}. One encoder read both, with mean "
        f"pooling, after the special tokens `{SENTENCE}` and `{FORM}`. By default, and in the results below, it reads "
        f"sentences without them; the prompt named `sentence` puts `{SENTENCE}` before a text."
    )
    best = ", ".join(f"{name.replace('_', ' ')} {value:.4f}" for name, value in facts["best"].items())
    return Card(
        title="Mid-tuned sentence encoder",
        about=about,
        seeds=f"{facts['seed']} for the wrong forms and the order, {settings['seed']} for what is cut off",
        best=best,
        use=[f"assay run --dataset DATASET --metric {metric}:FOLDER" for metric in ("bi-encoder", "pooled")],
        limits=_LIMITS,
        made_with={"wrong forms": ", ".join(f"{kind} {number:,}" for kind, number in facts["wrong_forms"].items())},
    )
