"""Descriptions of a card or a file of pairs as plain data, for display."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow.compute as pc

from assay.common.tables import GRAPH_COLUMNS
from assay.datasets.annotation_graph import describe_graph, graph_of
from assay.datasets.best_metrics import best_metrics_of
from assay.datasets.card import Card
from assay.datasets.columns import MissingColumnsError
from assay.datasets.files import is_table_file, read_table_file
from assay.datasets.load import load_card_splits, load_dataset, parse_named_file
from assay.datasets.locate import files_are_local
from assay.datasets.measures import NO_LICENCE, measure_labels, sample_pairs
from assay.datasets.pairs import Pairs
from assay.datasets.reading import Reading
from assay.datasets.spec import parse_spec
from assay.exceptions import AssayError, InputError, unknown_name


def describe_card(card: Card, *, directed: bool = False, split: str | None = None) -> dict[str, Any]:
    """Return the description of a card as JSON values; nothing is downloaded.

    What is measured is present only if the files are on this machine: ``measured`` on the labels of one split,
    ``samples`` with up to five of its pairs, none if no licence is stated, and ``annotation_graph`` on all splits
    together. If these cannot be read, ``measured`` or ``annotation_graph`` has the reason as ``error``.

    Args:
        card: the card.
        directed: whether the order of two texts matters in the annotation graph.
        split: the split whose labels are measured; None for the default split.

    Raises:
        InputError: the card has no such split.
    """
    if split is not None and split not in card.splits:
        raise InputError(unknown_name(f"dataset {card.name}@{card.version} has no split", split, card.splits))
    description = _facts_of_card(card)
    measured_split = split or card.default_split
    if files_are_local(card, measured_split):
        description |= _measures_of_split(card, measured_split)
    if all(files_are_local(card, split_name) for split_name in card.splits):
        description["annotation_graph"] = _graph_measures(
            lambda: list(load_card_splits(card, offline=True).values()), directed
        )
    return description


def _facts_of_card(card: Card) -> dict[str, Any]:
    """Return what a card says, as JSON values, whether its files are on this machine, and the best metrics known."""
    own_facts_of_splits = {}
    for split_name, split in card.splits.items():
        own_facts = split.model_dump(include={"language", "scale", "aspect"})
        known_facts = {name: fact for name, fact in own_facts.items() if fact}
        if known_facts:
            own_facts_of_splits[split_name] = known_facts
    facts: dict[str, Any] = {
        "name": card.name,
        "version": card.version,
        "title": card.title,
        "kind": card.kind,
        "task": list(card.tasks),
        "language": language_value(card),
        "reference": card.reference,
        "annotators": card.annotators,
        "group": card.group,
        "system": card.system,
        "scale": card.scale.model_dump(),
        "licence": card.licence,
        "citation": card.citation,
        "homepage": card.homepage,
        "description": card.description,
        "splits": {split_name: split.rows for split_name, split in card.splits.items()},
        "split_facts": own_facts_of_splits,
        "default_split": card.default_split,
        "files": [entry.model_dump() for entry in card.files],
        "sources": [source.describe() for source in card.sources],
        "here": files_are_local(card),
        "reader": card.reader,
        "notes": list(card.notes),
        "published": [figure.model_dump() for figure in card.published],
        "best_metrics": best_metrics_of(card.name),
    }
    for name in ("supersedes", "superseded_by", "instructions"):
        value = getattr(card, name)
        if value:
            facts[name] = value
    return facts


def language_value(card: Card) -> str | list[str]:
    """Return the language of a card and its splits, a list for several, and an empty text if it is unknown."""
    if len(card.languages) > 1:
        return list(card.languages)
    return card.languages[0] if card.languages else ""


def describe_file(spec: str, *, reading: Reading | None = None, directed: bool = False) -> dict[str, Any]:
    """Return the description of a file of pairs as JSON values.

    It has the number of rows and the columns, and if present the labels, splits, groups, languages, gold answers and
    graphs. If the columns of the pairs cannot be identified, ``problem`` has the reason and the remedy instead.

    Args:
        spec: the file, optionally with a split after a colon.
        reading: the settings for reading it; None for the defaults.
        directed: whether the order of two texts matters in the annotation graph.

    Raises:
        InputError: the file cannot be read, a cell is invalid, or *reading* does not fit the file.
        UnavailableError: it is an address that cannot be reached, or needs a package that is not installed.
    """
    file = parse_named_file(spec)[1]
    reading = reading or Reading()
    path = file if is_table_file(file) else parse_spec(file)[0]
    table = read_table_file(path, **reading.of_file()).table
    description: dict[str, Any] = {"file": spec, "rows": table.num_rows, "columns": list(table.column_names)}
    try:
        pairs = load_dataset(spec, **vars(reading), allow_unlabelled=True)
    except MissingColumnsError as error:
        return description | {"problem": error.message}
    return description | _describe_pairs(pairs) | {"annotation_graph": _graph_measures(lambda: [pairs], directed)}


def _describe_pairs(pairs: Pairs) -> dict[str, Any]:
    """Return the description of pairs as JSON values: only what the pairs have, such as labels, splits and groups."""
    column_names = pairs.table.column_names
    description: dict[str, Any] = {"pairs": len(pairs)}
    if pairs.notes or pairs.hints:
        description["notes"] = [*pairs.notes, *pairs.hints]
    known_labels = pairs.labels[~np.isnan(pairs.labels)]
    if len(known_labels):
        description["labels"] = {
            "lowest": float(known_labels.min()),
            "highest": float(known_labels.max()),
            "distinct": len(np.unique(known_labels)),
            "missing": len(pairs) - len(known_labels),
        }
    if "annotations" in column_names:
        description["annotators"] = int(pc.max(pc.list_value_length(pairs.table.column("annotations"))).as_py())
    for name in ("split", "subset", "language"):
        if name in column_names:
            value_counts = pairs.table.column(name).value_counts().to_pylist()
            description[f"{name}s"] = {str(entry["values"]): entry["counts"] for entry in value_counts}
    for name in ("group", "question"):
        if name in column_names:
            description[f"{name}s"] = len(pairs.table.column(name).unique())
    if pairs.has_several_references:
        description["gold_answers"] = int(pc.sum(pc.list_value_length(pairs.table.column("reference"))).as_py())
    if all(name in column_names for name in GRAPH_COLUMNS):
        description["graphs"] = True
    return description


def _measures_of_split(card: Card, split: str) -> dict[str, Any]:
    """Return what is measured on the labels of a split, and up to five of its pairs; or the reason as ``error``.

    Without a stated licence the list of pairs is empty.
    """
    try:
        pairs = load_dataset(card, split=split, offline=True)
    except AssayError as error:
        return {"measured": {"error": error.message}}
    samples = [] if card.licence.startswith(NO_LICENCE) else sample_pairs(pairs)
    return {"measured": measure_labels(pairs), "samples": samples}


def _graph_measures(load_splits: Callable[[], list[Pairs]], directed: bool) -> dict[str, Any]:
    """Return the measures of the annotation graph, or a dict with the ``error`` if it cannot be measured.

    Args:
        load_splits: a function that returns the pairs of each split; an error that it raises is returned as well.
        directed: whether the order of two texts matters.
    """
    try:
        return describe_graph(graph_of(load_splits(), directed=directed))
    except AssayError as error:
        return {"error": error.message}
