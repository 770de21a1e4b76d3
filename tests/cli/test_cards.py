"""Cards in Markdown of metrics and datasets, made from declarations and the tables that ship with assay."""

from __future__ import annotations

import csv
import re
from email import message_from_string
from statistics import fmean

import pytest

from assay.api import cards
from assay.api.cards import alternatives, metric_card
from assay.common.numbers import short
from assay.datasets import list_datasets, load_card
from assay.datasets.best_metrics import best_metrics_of
from assay.datasets.card_page import brief_markdown, dataset_card
from assay.datasets.field import field_agreement, field_stress
from assay.datasets.measured import shipped_measures
from assay.metrics import list_metrics
from tests.cli.calling import call
from tests.measured import shown_measures

METRICS = [entry.name for entry in list_metrics() if entry.origin == "assay"]
CARDS = [entry.card for entry in list_datasets() if entry.card is not None and entry.default]


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_has_a_card(name):
    card = metric_card(name)
    assert card.startswith(f"# {name}\n") and "assay run answers.csv -m " in card
    for head in ("range", "symmetric", "reads", "languages", "kind", "computed by", "licence"):
        assert f"\n| {head} | " in card
    assert ":class:" not in card and "``" not in card.replace("```", "")


def test_a_card_says_what_the_tables_say():
    card = metric_card("chrf")
    values = [value for value in field_agreement() if value.metric == "chrf" and not value.category]
    known = [value.spearman.value for value in values if value.spearman.value is not None]
    best = sum(value.could_be_best for value in values)
    assert f"Spearman's ρ on {len(known)} sets" in card and f"mean {short(fmean(known), 2)}" in card
    assert f"could be the best metric on {best} (filled)" in card
    # one circle a set and task
    assert (
        card.count("<circle") >= len(known) > 80
        and card.count("</svg>") == 1
        and "\n\n" not in re.search("<svg.*</svg>", card, re.S)[0]
    )
    seen = card.partition("**sees**")[2].partition("\n")[0]
    for value in field_agreement():
        if value.metric == "chrf" and value.category and value.spearman.low is not None:
            assert (value.category in seen) == (value.spearman.low > 0), value
    for row in field_stress():
        assert row.metric != "chrf" or f"| `{row.perturbation}` |" in card


def test_every_category_with_a_value_is_shown():
    for name in METRICS:
        seen = metric_card(name).partition("## What it sees")[2].partition("\n## ")[0]
        for value in field_agreement():
            if value.metric == name and value.category:
                assert value.category in seen, (name, value.category)
    without = metric_card("rouge-2").partition("| **has no interval** |")[2].partition("\n")[0]
    assert f"unit conversion ({short(-0.194, 2)})" in without


def test_a_card_names_the_metric_that_was_measured():
    measured = {value.metric for value in field_agreement()}
    for name in METRICS:
        note = f"were measured with `{name}"
        assert (note in metric_card(name)) == (name not in measured and any(m.startswith(f"{name}:") for m in measured))
    card = metric_card("static")
    assert "were measured with `static:models/glove`" in card and "Agreement of static:models/glove on every" in card


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ("License: \n", "not stated"),
        ("License: \n       MIT\n", "MIT"),
        ("License-Expression: \nLicense: BSD\n", "BSD"),
        ("License-Expression: MIT\nLicense: \n", "MIT"),
        ("", "not stated"),
    ],
)
def test_the_licence_of_a_package(monkeypatch, fields, shown):
    stated = message_from_string(f"Name: some\n{fields}")
    monkeypatch.setattr(cards.metadata, "metadata", lambda package: stated)
    assert cards._licence("some") == f"some: {shown}"


def test_the_nearest_alternative_is_the_most_alike():
    values = [value for value in field_agreement() if value.metric == "chrf" and not value.category]
    found = alternatives(values)
    assert found[0][0] == "chrf:++" and len(found) == 3
    assert [one.difference for one in found] == sorted(one.difference for one in found)


@pytest.mark.parametrize("metric", ["length", "chrf", "static:models/glove", "em", "meteor"])
def test_alternatives_are_compared_on_almost_the_same_sets(metric):
    """METEOR has half of the sets of the others, and exact match varies on a third of them."""
    sets: dict[str, set[str]] = {}
    for value in field_agreement():
        if not value.category and value.spearman.value is not None:
            sets.setdefault(value.metric, set()).add(value.title)
    found = alternatives([value for value in field_agreement() if value.metric == metric and not value.category])
    assert len(found) == 3
    for alternative in found:
        shared = sets[metric] & sets[alternative.metric]
        assert alternative.sets == len(shared) >= 0.9 * len(sets[metric])


def test_the_table_of_best_metrics_follows_from_the_field():
    for card in CARDS:
        for best in best_metrics_of(card.name):
            on_set = {
                value.metric: value
                for value in field_agreement()
                if (value.dataset, value.split) == (card.name, best["split"]) and not value.category
            }
            assert on_set[best["metric"]].spearman.value == best["spearman"]
            assert {name for name, value in on_set.items() if value.could_be_best} == {best["metric"], *best["as_good"]}


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_every_dataset_has_a_card(card):
    text = dataset_card(card)
    assert text.startswith(f"# {card.name}\n") and "\n| licence | " in text and f"assay run -d {card.name} " in text
    for best in best_metrics_of(card.name):
        assert f"| `{best['metric']}` |" in text


def test_texts_that_wait_for_labels_have_a_card_without_their_distribution(shared_data, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    text = dataset_card(load_card("xprobe-word-content"))
    assert "## Labels" not in text and "## Splits" in text


def test_a_card_without_files_has_what_was_measured_on_them(monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    text = dataset_card(load_card("stsb"))
    assert "## Labels of test" in text and "- Ceiling of a score without ties: " in text
    assert "- Agreement of annotators: Krippendorff's α" in dataset_card(load_card("asset-human"))
    assert "## Sample pairs" not in text
    other = load_card("stsb").model_copy(update={"version": "another"})
    assert "## Labels" not in dataset_card(other)


@pytest.mark.parametrize("name", ["stsb", "saf-en", "asset-human", "mohler"])
def test_what_ships_is_what_the_files_hold(shared_data, monkeypatch, name):
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    card = load_card(name)
    assert shown_measures(card) == shipped_measures(card)


def test_samples_are_shown_only_under_a_licence(shared_data, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    shown = dataset_card(load_card("stsb"))
    assert "## Sample pairs" in shown and "## Labels of test" in shown and "█" in shown
    kept_back = dataset_card(load_card("mohler"))
    assert "## Sample pairs" not in kept_back and "No sample pairs: no licence is stated." in kept_back


def test_texts_of_the_data_are_no_markup():
    assert brief_markdown("<b>a|b</b> `x`\n[y](z)") == ("&#60;b&#62;a&#124;b&#60;/b&#62; &#96;x&#96; &#91;y&#93;(z)")


def test_the_commands():
    assert call("metrics", "show", "f1", "--format", "markdown").out == metric_card("f1")
    assert call("datasets", "show", "probe", "--format", "markdown").out == dataset_card(load_card("probe"))
    assert "cards" not in call("metrics", "show", "f1").out
    assert call("metrics", "show", "no-such", "-f", "markdown").code == 2


def test_a_file_has_no_card(tmp_path):
    path = tmp_path / "own.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["reference", "candidate", "label"], ["a", "b", 1]])
    assert "only a dataset with a card" in call("datasets", "show", path, "--format", "markdown").complaint
