"""The cards of pairwise classification: rows, shares of yes, and the degrees that table 1 of their paper prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.datasets import list_datasets, load_card, load_card_splits
from assay.datasets.annotation_graph import describe_graph, graph_of
from assay.datasets.card_file import card_from_fields
from assay.exceptions import InputError

#: By card: rows and rows with the label 1 of each split, then mean and deviation of the degree, as printed by Waldis,
#: Beck and Gurevych (2022), table 1. That of QNLI is of the whole set, of which the development part is here.
TASKS = {
    "rte": ({"train": (2490, 1249), "dev": (277, 146)}, False, ("1.1", "0.6")),
    "qnli-dev": ({"dev": (5463, 2702)}, False, None),
    "ukp-aspect-binary": ({"all": (3595, 1301)}, False, ("3.5", "3.0")),
    "argkp-topics": ({"train": (24093, 4998), "test": (3426, 552)}, False, ("7.1", "18.1")),
    "ukpconvarg1": ({"all": (11650, 5872)}, True, ("22.2", "4.6")),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_rows_labels_and_degrees(with_shared: Path, name: str) -> None:
    sizes, directed, degree = TASKS[name]
    splits = load_card_splits(name, offline=True)
    assert {split: (len(pairs), int((pairs.labels == 1).sum())) for split, pairs in splits.items()} == sizes
    assert all(set(pairs.labels.tolist()) == {0.0, 1.0} and pairs.scale == (0.0, 1.0) for pairs in splits.values())
    if degree is not None:
        # ArgKP is the part that was published first
        parts = [splits["train"]] if name == "argkp-topics" else list(splits.values())
        found = describe_graph(graph_of(parts, directed=directed))["degree"]
        assert (f"{found['mean']:.1f}", f"{found['deviation']:.1f}") == degree


@pytest.mark.slow
def test_topics_to_test_are_none_to_train(with_shared: Path) -> None:
    splits = load_card_splits("argkp-topics", offline=True)
    topics = {name: set(pairs.column("group").to_pylist()) for name, pairs in splits.items()}
    assert (len(topics["train"]), len(topics["test"])) == (28, 3) and not topics["train"] & topics["test"]
    rows = load_card_splits("kpa-2021", offline=True)["test"]
    assert sorted(zip(*splits["test"].texts()[:2], strict=True)) == sorted(zip(*rows.texts()[:2], strict=True))


#: By task of encoders: rows to train on (0 for folds), rows to test, and classes, as SentEval, GLUE, SuperGLUE and the
#: readme files of the copies say.
ENCODER_TASKS = {
    **{
        f"xprobe-{name}": (10000, 10000, 2)
        for name in (
            "bigram-shift",
            "coordination-inversion",
            "object-number",
            "odd-man-out",
            "subject-number",
            "tense",
        )
    },
    "xprobe-sentence-length": (4998, 4998, 6),
    "xprobe-word-content": (10000, 10000, 1000),
    "cr": (0, 3775, 2),
    "mr": (0, 10662, 2),
    "mpqa": (0, 10606, 2),
    "subj": (0, 10000, 2),
    "trec": (5452, 500, 6),
    "mrpc": (4076, 1725, 2),
    "sick": (5000, 4927, 3),
    "rte": (2490, 277, 2),
    "cola": (8551, 1043, 2),
    "qnli-dev": (0, 5463, 2),
    "boolq-val": (0, 3270, 2),
    "cb-val": (0, 56, 3),
    "copa-balanced": (0, 2000, 2),
    "wsc-val": (0, 104, 2),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENCODER_TASKS)
def test_rows_and_classes_of_tasks_of_encoders(with_shared: Path, name: str) -> None:
    protocol = load_card(name).classification
    assert protocol is not None
    parts = load_card_splits(name, offline=True)
    train, test, classes = ENCODER_TASKS[name]
    assert sum(len(parts[split]) for split in protocol.train_splits) == train
    assert len(parts[protocol.test]) == test
    assert len(set(parts[protocol.test].column(protocol.column).to_pylist())) == classes


def test_every_task_of_encoders_is_known() -> None:
    cards = [entry.card for entry in list_datasets() if entry.card is not None and entry.origin == "assay"]
    assert {card.name for card in cards if card.classification is not None} == set(ENCODER_TASKS)


def test_a_task_names_splits_that_exist() -> None:
    card = load_card("trec")
    assert card.classification is not None
    fields = card.model_dump(exclude={"origin"}) | {"classification": {"suites": ["transfer"], "test": "absent"}}
    with pytest.raises(InputError, match="classification names the split 'absent'"):
        card_from_fields(fields, "card")
