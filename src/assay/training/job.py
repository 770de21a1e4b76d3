"""What the jobs of all recipes share, and what is written of each trained model: its card and its loss curves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from assay.metrics.models import LocatedModel
from assay.metrics.neural.loading import quiet
from assay.metrics.neural.runtime import Runtime, device_of, set_threads
from assay.output import write_records
from assay.progress import Progress
from assay.training.data import Examples, Source
from assay.training.folder import Render, write_json, write_results
from assay.training.ranks import own_device
from assay.training.settings import TrainingSettings, versions

# The card of a trained model: what it is, from what, how it was made, what it reached, and where its limits are.


@dataclass(frozen=True)
class Card:
    """What a recipe says of its model; all else follows from the facts of the training.

    Attributes:
        title: the heading.
        about: what the model is, a paragraph.
        seeds: what the seeds decided.
        best: what the development set said at the best step.
        use: lines of shell or Python that use it.
        limits: what a user should know, a line each.
        made_with: what else it was made with, by name.
    """

    title: str
    about: str
    seeds: str
    best: str
    use: Sequence[str]
    limits: Sequence[str]
    made_with: Mapping[str, str] = field(default_factory=dict)


def best_line(facts: Mapping[str, Any]) -> str:
    """Return what the development set said at the best step, for a card."""
    return ", ".join(f"{name.replace('_', ' ')} {value:.4f}" for name, value in facts["best"].items())


def layers_line(settings: Mapping[str, Any]) -> str:
    """Return which part of a model was trained, for a card."""
    return f"its last {settings['layers']} layers" if settings["layers"] else "all of it"


def write_card(
    card: Card, facts: Mapping[str, Any], data: Mapping[str, Sequence[Source]], results: str, folder: Path
) -> None:
    """Write ``README.md`` with the front matter that model hubs read.

    Args:
        card: of the recipe.
        facts: what ``training.json`` holds.
        data: the datasets by what they were used for.
        results: tables in Markdown.
        folder: of the model.
    """
    (folder / "README.md").write_text(_text(card, facts, data, results), encoding="utf-8")


def _text(card: Card, facts: Mapping[str, Any], data: Mapping[str, Sequence[Source]], results: str) -> str:
    base = facts["base"]["name"]
    languages = sorted({one.language for sources in data.values() for one in sources if one.language})
    made_with = {
        "seed": card.seeds,
        **card.made_with,
        "base digest": facts["base"]["digest"],
        "best of the evaluations": f"step {facts['best_step']} of {facts['steps']}, {card.best}",
        "device": f"{facts['device']}, {facts['threads']} threads",
        "versions": ", ".join(f"{name} {version}" for name, version in facts["versions"].items()),
    }
    front = ["---", "library_name: sentence-transformers", "pipeline_tag: sentence-similarity"]
    if languages:
        front += ["language:", *(f"- {language}" for language in languages)]
    front += ["tags:", "- sentence-transformers", "- sentence-similarity", "---"]
    rows = [
        f"| {use} | {_cell(source.spec)} | {source.version or '–'} | {_cell(source.licence)} | `{source.digest[:16]}` |"
        for use, sources in data.items()
        for source in sources
    ]
    parts = [
        "\n".join(front),
        f"# {card.title}",
        card.about,
        f"Base model: `{base}`. It is a derived work: the base's licence and those of the data below hold for it.",
        "## Use\n\n```\n" + "\n".join(card.use) + "\n```",
        "## How it was made\n\n```\n" + facts["command"] + "\n```",
        "| used for | dataset | version | licence, as its card says | digest |\n|---|---|---|---|---|\n"
        + "\n".join(rows),
        "\n".join(f"- {name.replace('_', ' ')}: {number:,}" for name, number in facts["counts"].items()),
        "\n".join(f"- {name}: {value}" for name, value in made_with.items()),
        "## Results\n\n" + results.strip(),
        "## Limits\n\n" + "\n".join(f"- {line}" for line in card.limits),
    ]
    return "\n\n".join(parts) + "\n"


def _cell(text: str) -> str:
    """Return text for a cell of a table: what would end the cell or the line is taken out of it."""
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())


# The course of a training: losses by step, as a table.

#: The file in a model's folder.
CURVES = "curves.csv"
#: What a trainer logs besides losses; of no use to a reader of the curves.
_LEFT_OUT = ("runtime", "per_second", "total_flos", "epoch", "grad_norm")


def write_curves(history: Sequence[Mapping[str, float]], folder: Path) -> None:
    """Write what a trainer logged as CSV, a row a step; what is of the development set begins with ``dev_``.

    Args:
        history: records with ``step``, as transformers' trainer keeps them.
        folder: of the model.
    """
    rows: dict[int, dict[str, float]] = {}
    for record in history:
        row = rows.setdefault(int(record["step"]), {"step": int(record["step"])})
        for key, value in record.items():
            if key != "step" and not key.startswith("train_") and not any(part in key for part in _LEFT_OUT):
                row["dev_" + key.removeprefix("eval_") if key.startswith("eval_") else key] = value
    heads = list(dict.fromkeys(["step", *sorted({key for row in rows.values() for key in row})]))
    with (folder / CURVES).open("w", encoding="utf-8", newline="") as stream:
        write_records(stream, heads, (rows[step] for step in sorted(rows)))


# What the jobs of all recipes have in common, and what is left of each model that one makes.


@dataclass(frozen=True, eq=False)
class Job(ABC):
    """What all seeds of a training share; a recipe adds what it works with.

    Attributes:
        settings: the request.
        base: the model that is started from.
        device, threads: see :func:`take_device`.
        progress: told of every step.
    """

    settings: TrainingSettings
    base: LocatedModel
    device: str
    threads: int
    progress: Progress

    @property
    def request(self) -> TrainingSettings:
        """What was asked for, as it is written down."""
        return self.settings

    @property
    @abstractmethod
    def sources(self) -> Mapping[str, Sequence[Source]]:
        """The datasets by use."""

    @property
    def digests(self) -> dict[str, list[str]]:
        """Of the data of each use."""
        return {name: [source.digest for source in sources] for name, sources in self.sources.items()}

    def plain_request(self, **more: Any) -> dict[str, Any]:
        """Return all that decides the result, as plain values; see :func:`~assay.training.folder.open_work_folder`.

        Args:
            **more: what a recipe adds.
        """
        asked = {"recipe": self.request.recipe, "settings": self.request.plain()}
        return asked | {"base": self.base.digest, "data": self.digests} | more

    def facts(self, seed: int, **more: Any) -> dict[str, Any]:
        """Return what ``training.json`` holds.

        Args:
            seed: of the model.
            **more: what a recipe adds, its results among it.
        """
        return {
            "recipe": self.request.recipe,
            "settings": self.request.plain(),
            "seed": seed,
            "command": self.request.training_command(),
            "base": {"name": str(self.base.reference), "digest": self.base.digest, "revision": self.base.revision},
            "data": {name: [asdict(source) for source in sources] for name, sources in self.sources.items()},
            "device": self.device,
            "threads": self.threads,
            "versions": versions(),
            **more,
        }


@dataclass(frozen=True, eq=False)
class PairsJob(Job):
    """A job on sets of pairs.

    Attributes:
        sets: ``train``, ``dev`` and, but for the trial of a search, ``test``.
        counts: of pairs, for the model's card.
    """

    sets: Mapping[str, Examples]
    counts: Mapping[str, int]

    @property
    def sources(self) -> dict[str, tuple[Source, ...]]:
        """The datasets of each set."""
        return {name: one.sources for name, one in self.sets.items()}

    @property
    def digests(self) -> dict[str, list[str]]:
        """Of the data of each set, and of which of its pairs are in it."""
        return {name: one.digests for name, one in self.sets.items()}


def take_device(runtime: Runtime) -> tuple[str, int]:
    """Return the device that this process trains on, and the threads of its CPU, which are set."""
    return own_device(device_of(runtime)[0]), set_threads(runtime.threads)


def write_model(
    folder: Path,
    whole: Any,
    history: Sequence[Mapping[str, float]],
    facts: Mapping[str, Any],
    card: Card,
    data: Mapping[str, Sequence[Source]],
    render: Render,
) -> None:
    """Write a trained model with its curves, facts, card and, last, its results.

    Args:
        folder: of the model.
        whole: the model, of sentence-transformers.
        history: the trainer's log, a record a step.
        facts: see :meth:`Job.facts`.
        card: what the recipe says of the model.
        data: the datasets by use.
        render: gives results as Markdown.
    """
    with quiet():
        whole.save_pretrained(str(folder), create_model_card=False)
    write_curves(history, folder)
    write_json(folder / "training.json", facts)
    write_card(card, facts, data, render(facts["results"]), folder)
    write_results(facts["results"], folder, render)
