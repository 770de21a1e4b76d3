"""What the jobs of all recipes share, and the files written for each trained model: its card and its loss curves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from assay.common.output import write_records
from assay.common.progress import Progress
from assay.common.visible import code_block, code_span
from assay.metrics.models import LocatedModel
from assay.metrics.neural.loading import silence_libraries
from assay.metrics.neural.runtime import Runtime, devices_of, set_threads
from assay.training.data import Examples, Source
from assay.training.folder import Render, write_json, write_results
from assay.training.ranks import own_device
from assay.training.settings import TrainingSettings, versions

# The card of a trained model: what the model is, its base and data, how it was made, its results and its limits.


@dataclass(frozen=True)
class Card:
    """The parts of a model's card that a recipe writes; the rest follows from the facts of the training.

    Attributes:
        title: the heading.
        about: a paragraph on what the model is.
        seeds: a line on what the seeds decided.
        best: a line on the best result on the development set.
        use: lines of shell or Python that use the model.
        limits: what a user should know, one line per limit.
        made_with: further facts on how the model was made, by name.
    """

    title: str
    about: str
    seeds: str
    best: str
    use: Sequence[str]
    limits: Sequence[str]
    made_with: Mapping[str, str] = field(default_factory=dict)


def best_line(facts: Mapping[str, Any]) -> str:
    """Return the results on the development set at the best step, as in ``dev loss 0.0123``, for a card."""
    return ", ".join(f"{name.replace('_', ' ')} {value:.4f}" for name, value in facts["best"].items())


def layers_line(settings: Mapping[str, Any]) -> str:
    """Return the part of a model that was trained, as in ``its last 2 layers`` or ``all of it``, for a card."""
    return f"its last {settings['layers']} layers" if settings["layers"] else "all of it"


def write_card(
    card: Card, facts: Mapping[str, Any], data: Mapping[str, Sequence[Source]], results: str, folder: Path
) -> None:
    """Write a model's card, ``README.md`` with the front matter that model hubs read.

    Args:
        card: the recipe's parts of the card.
        facts: the content of ``training.json``.
        data: the datasets, by use.
        results: the tables of results, in Markdown.
        folder: the folder of the model.
    """
    (folder / "README.md").write_text(_card_text(card, facts, data, results), encoding="utf-8")


def _card_text(card: Card, facts: Mapping[str, Any], data: Mapping[str, Sequence[Source]], results: str) -> str:
    """Return a model's card in Markdown with its front matter; the arguments are those of :func:`write_card`."""
    made_with = {
        "seed": card.seeds,
        **card.made_with,
        "base digest": facts["base"]["digest"],
        "best of the evaluations": f"step {facts['best_step']} of {facts['steps']}, {card.best}",
        "device": f"{facts['device']}, {facts['threads']} threads",
        "versions": ", ".join(f"{name} {version}" for name, version in facts["versions"].items()),
    }
    counts = {name.replace("_", " "): f"{count:,}" for name, count in facts["counts"].items()}
    paragraphs = [
        _front_matter(data),
        f"# {card.title}",
        card.about,
        f"Base model: {code_span(str(facts['base']['name']))}. {_DERIVED_WORK}",
        "## Use\n\n" + code_block("\n".join(card.use)),
        "## How it was made\n\n" + code_block(facts["command"]),
        _dataset_table(data),
        "\n".join(f"- {name}: {count}" for name, count in counts.items()),
        "\n".join(f"- {name}: {fact}" for name, fact in made_with.items()),
        "## Results\n\n" + results.strip(),
        "## Limits\n\n" + "\n".join(f"- {line}" for line in card.limits),
    ]
    return "\n\n".join(paragraphs) + "\n"


def _front_matter(data: Mapping[str, Sequence[Source]]) -> str:
    """Return the facts that model hubs read from a card: the library, the task, and the languages of the data."""
    languages = sorted({source.language for source in chain.from_iterable(data.values()) if source.language})
    lines = ["---", "library_name: sentence-transformers", "pipeline_tag: sentence-similarity"]
    if languages:
        lines += ["language:", *(f"- {language}" for language in languages)]
    lines += ["tags:", "- sentence-transformers", "- sentence-similarity", "---"]
    return "\n".join(lines)


_DERIVED_WORK = "It is a derived work: the base's licence and those of the data below apply to it."


def _dataset_table(data: Mapping[str, Sequence[Source]]) -> str:
    """Return the datasets of a model, by use, as a Markdown table."""
    lines = ["| used for | dataset | version | licence, as its card says | digest |", "|---|---|---|---|---|"]
    for use, sources in data.items():
        for source in sources:
            lines.append(
                f"| {use} | {_table_cell(source.spec)} | {source.version or '–'} | {_table_cell(source.licence)} "
                f"| `{source.digest[:16]}` |"
            )
    return "\n".join(lines)


def _table_cell(text: str) -> str:
    """Return a text as a cell of a Markdown table: escaped, on one line."""
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())


# The course of a training: a table of losses by step.

#: The file with the curves, in a model's folder.
CURVES = "curves.csv"
#: Parts of the names of logged values that are not curves.
_UNPLOTTED_PARTS = ("runtime", "per_second", "total_flos", "epoch", "grad_norm")


def write_curves(history: Sequence[Mapping[str, float]], folder: Path) -> None:
    """Write a trainer's log as :data:`CURVES`, one row per step; columns of the development set begin with ``dev_``.

    Totals of the whole training and logged values that are not curves, such as run times, are left out. A value that a
    step does not log is an empty cell.

    Args:
        history: records with ``step``, as the transformers trainer logs them.
        folder: the folder of the model.
    """
    row_of_step: dict[int, dict[str, float]] = {}
    columns: set[str] = set()
    for record in history:
        step = int(record["step"])
        row = row_of_step.setdefault(step, {"step": step})
        for name, value in record.items():
            if _is_curve(name):
                column = "dev_" + name.removeprefix("eval_") if name.startswith("eval_") else name
                row[column] = value
                columns.add(column)
    with (folder / CURVES).open("w", encoding="utf-8", newline="") as stream:
        write_records(stream, ["step", *sorted(columns)], (row_of_step[step] for step in sorted(row_of_step)))


def _is_curve(name: str) -> bool:
    """Tell whether a logged value is one of a curve; names with ``train_`` are totals of the whole training."""
    return (
        name != "step"
        and not name.startswith("train_")
        and not any(unplotted in name for unplotted in _UNPLOTTED_PARTS)
    )


# What the jobs of all recipes have in common, and the folder of each model that they make.


@dataclass(frozen=True, eq=False)
class Job(ABC):
    """What all seeds of a training share; a recipe's subclass adds its data.

    Attributes:
        settings: the settings of the training.
        base: the model that the training starts from.
        device, threads: torch's name of the device and the number of CPU threads, see :func:`prepare_device`.
        progress: receives every step.
    """

    settings: TrainingSettings
    base: LocatedModel
    device: str
    threads: int
    progress: Progress

    @property
    def request(self) -> TrainingSettings:
        """The user's settings, as they are written to the card and to ``training.json``."""
        return self.settings

    @property
    @abstractmethod
    def sources(self) -> Mapping[str, Sequence[Source]]:
        """The datasets by use, such as ``train``; the uses appear in the card and in ``training.json``."""

    @property
    def digests(self) -> dict[str, list[str]]:
        """The digests of the datasets, by use."""
        return {name: [source.digest for source in sources] for name, sources in self.sources.items()}

    def plain_request(self, **more: Any) -> dict[str, Any]:
        """Return everything that decides the result, as plain values.

        An unfinished training resumes only for an equal request, see :func:`~assay.training.folder.open_work_folder`.

        Args:
            **more: what a recipe adds.
        """
        request = {"recipe": self.request.recipe, "settings": self.request.plain_values()}
        return request | {"base": self.base.digest, "data": self.digests} | more

    def facts(self, seed: int, **more: Any) -> dict[str, Any]:
        """Return the content of ``training.json``.

        Args:
            seed: the seed of the model.
            **more: what a recipe adds, such as the results.
        """
        return {
            "recipe": self.request.recipe,
            "settings": self.request.plain_values(),
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
        sets: the sets ``train``, ``dev`` and ``test``; a trial of a hyperparameter search has no ``test``.
        counts: numbers of pairs by what became of them, for the model's card.
    """

    sets: Mapping[str, Examples]
    counts: Mapping[str, int]

    @property
    def sources(self) -> dict[str, tuple[Source, ...]]:
        """The datasets of each set."""
        return {name: examples.sources for name, examples in self.sets.items()}

    @property
    def digests(self) -> dict[str, list[str]]:
        """The digests of each set's datasets and of the choice of its pairs."""
        return {name: examples.digests for name, examples in self.sets.items()}


def prepare_device(runtime: Runtime) -> tuple[str, int]:
    """Set torch's number of CPU threads; return torch's name of the device of this process, and that number."""
    return own_device(devices_of(runtime)[0]), set_threads(runtime.threads)


def write_model(
    folder: Path,
    model: Any,
    history: Sequence[Mapping[str, float]],
    facts: Mapping[str, Any],
    card: Card,
    data: Mapping[str, Sequence[Source]],
    render: Render,
) -> None:
    """Write a trained model with its curves, facts, card and, last, its results.

    Args:
        folder: the folder of the model.
        model: a sentence-transformers model.
        history: the trainer's log, one record per logged step.
        facts: the content of ``training.json``, see :meth:`Job.facts`; its ``results`` are written as files as well.
        card: the recipe's parts of the card.
        data: the datasets, by use.
        render: returns results as Markdown.
    """
    with silence_libraries():
        model.save_pretrained(str(folder), create_model_card=False)
    write_curves(history, folder)
    write_json(folder / "training.json", facts)
    write_card(card, facts, data, render(facts["results"]), folder)
    write_results(facts["results"], folder, render)
