"""The card of a dataset as a page in Markdown, from its files on this machine, if any, and shipped runs, too."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from assay.common.addresses import command_line
from assay.common.numbers import label_texts, short
from assay.common.visible import markdown_table
from assay.datasets.best_metrics import best_metrics_of
from assay.datasets.card import Card
from assay.datasets.measured import shipped_measures
from assay.datasets.measures import NO_LICENCE
from assay.datasets.show import describe_card

#: The number of characters that are shown of each text of a sample.
MAX_TEXT = 160


def dataset_card(card: Card) -> str:
    """Return the card of a dataset as Markdown: what it is, how people labelled it, and the best metrics.

    The distribution of labels and their ceiling are those of the files on this machine, or else what was measured on
    them before. Sample pairs are there if the files are, and if a licence is stated.
    """
    description = describe_card(card)
    measures = description.get("measured") or shipped_measures(card) or {}
    lines = [f"# {card.name}", "", f"{card.title.rstrip('.')}. {card.description}".strip(), ""]
    lines += ["```sh", command_line("datasets", "fetch", card.name)]
    lines += [command_line("run", "-d", card.name, "-m", "f1", "-m", "chrf"), "```", ""]
    if card.instructions:
        lines += [card.instructions, ""]
    known_facts = [(name, text) for name, text in _facts(card).items() if text]
    lines += markdown_table(("property", "value"), known_facts)
    lines += ["", "## Splits", "", *markdown_table(("split", "pairs"), _split_rows(card))]
    lines += _label_lines(measures)
    lines += _sample_lines(card, description)
    lines += _best_metric_lines(card.name)
    if card.notes:
        lines += ["", "## Notes", "", *(f"- {note}" for note in card.notes)]
    return "\n".join(lines).rstrip() + "\n"


def _facts(card: Card) -> dict[str, str]:
    """Return the text of each property of a dataset by its name; empty if the card does not state it."""
    people = "" if card.annotators is None else f"{card.annotators} people a pair"
    kind = {"human": "people", "probe": "a rule (probe set)", "machine": "a model or a rule"}[card.kind]
    return {
        "task": ", ".join(card.tasks),
        "language": ", ".join(card.languages),
        "labels": f"by {kind}, {card.scale.low:g} to {card.scale.high:g}: {card.scale.meaning}",
        "annotators": people,
        "groups": card.group and f"`{card.group}`: whole groups are resampled and split",
        "systems": card.system and f"`{card.system}`",
        "reference": card.reference,
        "licence": card.licence,
        "paper": card.citation,
        "source": f"<{card.homepage}>" if card.homepage.startswith("http") else card.homepage,
    }


def _split_rows(card: Card) -> list[tuple[str, str]]:
    """Return the name of each split, with a mark at the default one of several, and its number of pairs, or ``?``."""
    rows = []
    for name, split in card.splits.items():
        default = " (default)" if name == card.default_split and len(card.splits) > 1 else ""
        rows.append((f"`{card.name}:{name}`{default}", "?" if split.rows is None else f"{split.rows:,}"))
    return rows


def _label_lines(measures: Mapping[str, Any]) -> list[str]:
    """Return the lines on the labels of the default split; none if they were not measured.

    Args:
        measures: what :func:`~assay.datasets.measures.measure_labels` returns; empty if nothing was measured.
    """
    counts = measures.get("labels")
    # texts that wait for labels have no counts
    if not counts:
        return []
    largest_count = max(counts.values())
    rows = [(label, f"{count:,}", "█" * round(20 * count / largest_count)) for label, count in counts.items()]
    lines = ["", f"## Labels of {measures['split']}", "", *markdown_table(("label", "pairs", ""), rows), ""]
    if "ceiling" in measures:
        lines.append(f"- Ceiling of a score without ties: {_numbers(measures['ceiling'])}.")
    if "reliability" in measures:
        reliability = measures["reliability"]
        alpha = _numbers({"Krippendorff's α": reliability["alpha_interval"]})
        bound = _numbers({"r": reliability["bound_pearson"], "ρ": reliability["bound_spearman"]})
        lines += [f"- Agreement of annotators: {alpha}.", f"- Upper bound for a metric: {bound}."]
    return lines


def _numbers(values: Mapping[str, float | None]) -> str:
    return ", ".join(f"{name} {'–' if value is None else short(value, 3)}" for name, value in values.items())


def _sample_lines(card: Card, description: Mapping[str, Any]) -> list[str]:
    """Return the lines of sample pairs, if the files are on this machine; without a licence a line that says so.

    Args:
        card: the card.
        description: what :func:`~assay.datasets.show.describe_card` returns.
    """
    samples = description.get("samples") or []
    if not samples:
        return ["", "No sample pairs: no licence is stated."] if card.licence.startswith(NO_LICENCE) else []
    rows = []
    labels = label_texts([sample["label"] for sample in samples])
    for sample, label in zip(samples, labels, strict=True):
        reference = sample.get("reference") or [""]
        gold = reference[0] if isinstance(reference, list) else reference
        rows.append((brief_markdown(gold), brief_markdown(sample.get("candidate")), label))
    return ["", "## Sample pairs", "", *markdown_table(("reference", "candidate", "label"), rows)]


def brief_markdown(text: str | None) -> str:
    """Return a text of the data as Markdown that shows it as it is, of at most :data:`MAX_TEXT` characters and ``…``.

    Runs of space become one blank; None gives an empty text.
    """
    shortened = " ".join((text or "").split())
    shortened = shortened if len(shortened) <= MAX_TEXT else f"{shortened[:MAX_TEXT]}…"
    # entities, since a text may hold anything that Markdown or HTML reads
    return re.sub(r"[\\\\`*_{}\[\]<>#&|~]", lambda mark: f"&#{ord(mark[0])};", shortened)


def _best_metric_lines(name: str) -> list[str]:
    """Return the lines on the best metrics of each split of a dataset, with those that could be the best, too."""
    rows = []
    for best in best_metrics_of(name):
        interval = "" if best["low"] is None else f" [{short(best['low'], 2)}, {short(best['high'], 2)}]"
        correlation = f"{short(best['spearman'], 2)}{interval}"
        as_good_text = ", ".join(f"`{metric}`" for metric in best["as_good"])
        rows.append((best["split"] or "all", f"`{best['metric']}`", correlation, as_good_text, str(best["n"])))
    if not rows:
        return []
    columns = ("split", "highest", "Spearman ρ", "could be the best, too", "pairs")
    return ["", "## Best metrics", "", "Free metrics on a sample.", "", *markdown_table(columns, rows)]
