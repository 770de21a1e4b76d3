"""The fields of cards that say what a dataset is for: tasks, languages of splits, aspects, published figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.datasets import check_dataset, list_datasets, load_card_splits, load_dataset
from assay.datasets.card import TASKS, Card
from assay.datasets.card_file import card_from_fields
from assay.datasets.locate import files_are_local
from assay.exceptions import InputError
from tests.conftest import RealModels

CARDS = [entry.card for entry in list_datasets() if entry.origin == "assay" and entry.card is not None]
FIGURES = [(card, figure) for card in CARDS for figure in card.published]
#: The metrics with a model, which a test reads from a folder of models.
MODELS = {"bi-encoder:all-MiniLM-L6-v2": "minilm"}


@pytest.mark.parametrize("card", CARDS, ids=lambda card: f"{card.name}@{card.version}")
def test_every_card_says_what_it_is_for(card: Card) -> None:
    assert set(card.tasks) <= set(TASKS) and card.tasks
    # the texts of some tasks of encoders have none
    assert card.reference or card.classification is not None
    assert card.languages or card.task == "code"


@pytest.mark.parametrize(
    ("card", "figure"), FIGURES, ids=[f"{card.name}-{f.metric}-{f.bucket}-{f.statistic}" for card, f in FIGURES]
)
def test_published_figures_are_computed_again(
    shared_data: Path, real_models: RealModels, monkeypatch: pytest.MonkeyPatch, card: Card, figure: Any
) -> None:
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    split = figure.split or card.default_split
    if not files_are_local(card, None if split == "all" else split):
        pytest.skip("its files are not on this machine")
    model = MODELS.get(figure.metric)
    metric = f"{figure.metric.partition(':')[0]}:{real_models / model}" if model else figure.metric
    pairs = load_dataset(card, split=split, offline=True)
    result = assay.run([pairs], [metric], resamples=0, buckets=["none", "f1"], statistics=[figure.statistic])
    agreement = result.agreement
    (value,) = agreement[agreement["bucket"] == figure.bucket]["value"]
    digits = len(figure.value.partition(".")[2])
    assert f"{value:.{digits}f}" == f"{float(figure.value):.{digits}f}"


def card_in_languages(tmp_path: Path, card_of: Callable[..., dict[str, Any]], **splits: dict[str, Any]) -> Card:
    """Return a card with a file of two pairs for each split."""
    for name in splits:
        (tmp_path / f"{name}.csv").write_text(f"reference,candidate,label\n{name},b,1\nc,{name},2\n", encoding="utf-8")
    content = card_of(
        language="",
        default_split=next(iter(splits)),
        splits={name: {"files": [f"{name}.csv"], "rows": 2, **facts} for name, facts in splits.items()},
        files=[{"name": f"{name}.csv"} for name in splits],
        sources=[{"kind": "path", "path": "{name}"}],
    )
    return card_from_fields(content, str(tmp_path / "card.toml"))


def test_a_language_chooses_its_splits(tmp_path: Path, card_of: Callable[..., dict[str, Any]]) -> None:
    card = card_in_languages(
        tmp_path,
        card_of,
        mixed={"language": ("es", "en")},
        spanish={"language": "es"},
        first={"language": "ko"},
        second={"language": "ko"},
    )
    assert card.languages == ("es", "en", "ko")
    assert load_dataset(card, language="es").split == "spanish"
    assert load_dataset(card, language="en").split == "mixed"
    korean = load_dataset(card, language="ko")
    assert (korean.split, korean.language, len(korean)) == ("first+second", "ko", 4)
    every = load_dataset(card, split="all")
    assert every.language is None
    assert every.column("language").to_pylist() == [None, None, "es", "es", "ko", "ko", "ko", "ko"]
    with pytest.raises(InputError, match="has no texts in the language 'kk'"):
        load_dataset(card, language="kk")
    assert load_dataset(card, split="spanish", language="es").split == "spanish"
    with pytest.raises(InputError, match="has no texts in the language 'ko'"):
        load_dataset(card, split="spanish", language="ko")


def test_the_default_split_comes_before_others_in_the_language(
    tmp_path: Path, card_of: Callable[..., dict[str, Any]]
) -> None:
    card = card_in_languages(tmp_path, card_of, test={"language": "ko"}, dev={"language": "ko"})
    assert load_dataset(card, language="ko").split == "test"


def test_splits_of_other_ranges_or_aspects_are_not_pooled(
    tmp_path: Path, card_of: Callable[..., dict[str, Any]]
) -> None:
    ranges = card_in_languages(
        tmp_path, card_of, wide={"scale": {"low": 0, "high": 100, "meaning": "per cent"}}, narrow={}
    )
    assert load_dataset(ranges, split="wide").scale == (0, 100) and load_dataset(ranges, split="narrow").scale == (0, 2)
    with pytest.raises(InputError, match=r"labels of wide \(0 to 100\) and narrow \(0 to 2\) are not comparable"):
        load_dataset(ranges, split="all")
    aspects = card_in_languages(tmp_path, card_of, fluency={"aspect": "fluency"}, meaning={"aspect": "meaning"})
    with pytest.raises(InputError, match=r"fluency \(fluency, 0 to 2\) and meaning \(meaning, 0 to 2\)"):
        load_dataset(aspects, split="fluency+meaning")


def test_the_same_pairs_judged_for_another_quality_are_no_leak(
    tmp_path: Path, card_of: Callable[..., dict[str, Any]]
) -> None:
    for aspects, count in ((("", ""), 2), (("fluency", "meaning"), 0)):
        card = card_in_languages(tmp_path, card_of, a={"aspect": aspects[0]}, b={"aspect": aspects[1]})
        for name in "ab":
            (tmp_path / f"{name}.csv").write_text("reference,candidate,label\nx,y,1\nu,v,2\n", encoding="utf-8")
        leaks = [f.count for f in check_dataset(load_card_splits(card), card) if f.name == "leaks"]
        assert sum(leaks) == count


def test_a_published_figure_names_a_split_that_exists(card_of: Callable[..., dict[str, Any]]) -> None:
    figure = {"metric": "f1", "statistic": "spearman", "value": ".50", "source": "a paper"}
    card = card_from_fields(card_of(published=[figure]), "card")
    assert card.published[0].value == ".50"
    for changes, problem in (({"split": "dev"}, "names the split 'dev'"), ({"value": 0.5}, "string")):
        with pytest.raises(InputError, match=problem):
            card_from_fields(card_of(published=[figure | changes]), "card")
    with pytest.raises(InputError, match="statistic"):
        card_from_fields(card_of(published=[figure | {"statistics": "x"}]), "card")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"task": "answer"}, "task: there is no value 'answer'. Did you mean 'answers'? Valid: answers, grading"),
        ({"task": ["answers", "grade"]}, "task.1: there is no value 'grade'. Did you mean 'grading'?"),
        ({"reference": "golden"}, "reference: there is no value 'golden'. Did you mean 'gold'? Valid: gold, peer"),
        ({"files": None}, "files: is missing"),
        ({"language": 3}, "language: Input should be a valid string"),
    ],
)
def test_a_wrong_field_is_named_with_what_it_may_be(
    card_of: Callable[..., dict[str, Any]], fields: dict[str, Any], message: str
) -> None:
    content = {name: value for name, value in card_of(**fields).items() if value is not None}
    with pytest.raises(InputError) as error:
        card_from_fields(content, "my.toml")
    assert str(error.value).startswith(f"my.toml: {message}") and "more)" not in str(error.value)


def test_a_wrong_option_is_named_as_one_of_the_card(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("reference,candidate,label\na,b,yes\nc,d,partly\n", encoding="utf-8")
    card = tmp_path / "my.toml"
    text = (
        'name = "mine"\nversion = "1"\ntitle = "m"\nlanguage = "en"\nlicence = "CC0-1.0"\ncitation = "c"\n'
        'reader = "table"\ndefault_split = "test"\n[scale]\nlow = 0\nhigh = 1\nmeaning = "m"\n[splits.test]\n'
        'files = ["d.csv"]\n[splits.test.options]\n{option}\n[[files]]\nname = "d.csv"\n[[sources]]\nkind = "path"\n'
        'path = "d.csv"\n'
    )
    card.write_text(text.replace("{option}", 'columns = "reference=reference,candidate=candidate,answer=label"'))
    with pytest.raises(InputError) as error:
        load_dataset(card)
    assert str(error.value).startswith(f"{card}: columns: a pairs table has no column 'answer'")
    card.write_text(text.replace("{option}", 'labels = "yes=1,partially=0.5"'))
    with pytest.raises(InputError) as error:
        load_dataset(card)
    assert "d.csv, row 3, column label: the label 'partly' is none of yes" in str(error.value)
    # the command line shows the option, not a flag of its own
    assert "--labels" not in error.value.message.with_flags({}) and "labels=" in str(error.value)


def test_a_path_that_is_wrong_is_named_with_its_card(tmp_path: Path, card_of: Callable[..., dict[str, Any]]) -> None:
    origin = str(tmp_path / "my.toml")
    card = card_from_fields(card_of(sources=[{"kind": "path", "path": "raw/{name}"}]), origin)
    with pytest.raises(assay.AssayError) as error:
        load_dataset(card)
    assert f"correct its path under sources in {origin} (local path raw/d.csv: no such file there)" in str(error.value)
