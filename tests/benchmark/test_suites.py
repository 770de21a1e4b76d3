"""The suites of the package: their datasets exist, and none is forgotten; samples and languages of a suite."""

from __future__ import annotations

from pathlib import Path

import pytest

import assay
from assay.benchmark.suite import is_suite, load_suite, shipped_suites
from assay.datasets import list_datasets, load_card
from assay.datasets.card import TASKS
from assay.datasets.spec import parse_spec
from assay.exceptions import InputError
from assay.metrics import load_metric

#: Why datasets with labels by people are not in the atlas and the suite of their task.
LEFT_OUT = {
    "bamboo-para": "graphs",
    "bamboo-sick": "graphs of sick",
    "bamboo-sts": "graphs of stsb",
    "bamboo-role-para": "graphs alone",
    "bamboo-role-sick": "graphs alone",
    "bamboo-role-sts": "graphs alone",
    "germanquad-sas-recorded": "the pairs of germanquad-sas",
    "squad-sas-layers": "the pairs of squad-sas",
    "squad-sas-recorded": "the pairs of squad-sas",
    "nq-open-sas-recorded": "the pairs of nq-open-sas",
    "ukp-aspect-amr": "the pairs of ukp-aspect",
    "kpa-2021": "pairs of argkp-2021",
    "argkp-topics": "the pairs of argkp-2021",
    "ukp-aspect-binary": "the pairs of ukp-aspect",
    "rte": "entailment, to learn as a class",
    "qnli-dev": "whether a sentence answers, to learn as a class",
    **dict.fromkeys(("cr", "mr", "mpqa", "subj", "trec", "cola"), "single texts, with classes to learn"),
    **dict.fromkeys(("boolq-val", "cb-val", "copa-balanced", "mrpc", "wsc-val"), "classes to learn"),
    "ukpconvarg1": "which argument convinces, which no similarity tells",
}


def names_of(suite: str) -> set[str]:
    return {parse_spec(spec)[0] for spec in load_suite(suite).datasets}


@pytest.mark.parametrize("name", sorted(shipped_suites()))
def test_what_a_suite_lists_exists(name: str) -> None:
    suite = load_suite(name)
    assert suite.name == name and suite.description and is_suite(name)
    assert len(set(suite.datasets)) == len(suite.datasets)
    for spec in suite.datasets:
        dataset, version, splits = parse_spec(spec)
        card = load_card(dataset, version)
        assert splits in (None, ("all",)) or set(splits) <= set(card.splits), spec
    for metric in suite.metrics:
        load_metric(metric)


@pytest.mark.parametrize("task", TASKS)
def test_the_suite_of_a_task_has_every_dataset_of_it(task: str) -> None:
    cards = [entry.card for entry in list_datasets() if entry.origin == "assay" and entry.default and entry.card]
    of_task = {card.name for card in cards if task in card.tasks and card.kind == "human" and card.name not in LEFT_OUT}
    assert names_of(task) == of_task


def test_the_atlas_has_every_dataset_with_labels_by_people() -> None:
    cards = [entry.card for entry in list_datasets() if entry.origin == "assay" and entry.default and entry.card]
    assert names_of("atlas") == {card.name for card in cards if card.kind == "human"} - set(LEFT_OUT)
    assert load_suite("atlas").sample is not None


def test_the_multilingual_suite_has_every_split_in_another_language() -> None:
    found = set()
    for spec in load_suite("atlas").datasets:
        name, _, splits = parse_spec(spec)
        card = load_card(name)
        languages = card.languages_of(splits[0] if splits else card.default_split)
        if languages and languages != ("en",):
            found.add(spec)
    assert set(load_suite("multilingual").datasets) == found


def write_suite(more: str = "", datasets: str = '"probe"') -> str:
    Path("mine.toml").write_text(
        f'name = "mine"\ndescription = "mine"\ndatasets = [{datasets}]\nmetrics = ["f1"]\n{more}', encoding="utf-8"
    )
    return "mine.toml"


def test_a_suite_may_draw_a_sample_of_its_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    suite = write_suite("sample = 30\n")

    def sizes(**settings: object) -> int:
        return len(assay.run(suite=suite, resamples=0, buckets=["none"], **settings).scores)

    assert sizes() == 30
    # what is asked for comes first, and other data are not the suite's
    assert sizes(sample=20) == 20 and sizes(limit=10) == 10
    own = [(f"a {i}", f"a {i + i % 2}", i % 3) for i in range(40)]
    assert sizes(datasets=[own]) == 40
    with pytest.raises(InputError, match="sample"):
        load_suite(write_suite("sample = 0\n"))


def test_a_language_chooses_datasets_of_a_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ko.csv").write_text("reference,candidate,label\na,b,1\nc,d,0\ne,e,2\n", encoding="utf-8")
    card = (
        'name = "ko"\nversion = "1"\ntitle = "ko"\nlanguage = "ko"\nlicence = "x"\ncitation = "x"\n'
        'reader = "table"\ndefault_split = "a"\nscale = { low = 0, high = 2, meaning = "x" }\n'
        'splits = { a = { files = ["ko.csv"] } }\n[[files]]\nname = "ko.csv"\n'
        '[[sources]]\nkind = "path"\npath = "ko.csv"\n'
    )
    (tmp_path / "ko.toml").write_text(card, encoding="utf-8")
    suite = write_suite(datasets='"probe", "ko.toml"')
    result = assay.run(suite=suite, language="ko", resamples=0)
    assert set(result.scores["dataset"]) == {"ko"}
    with pytest.raises(InputError, match="no dataset of the suite mine has texts in that language"):
        assay.run(suite=suite, language="xx", resamples=0)


def test_splits_of_one_dataset_are_named_by_what_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text(
            f"reference,candidate,label\n{name},b,1\nc,{name},0\ne,e,2\n", encoding="utf-8"
        )
    card = (
        'name = "two"\nversion = "1"\ntitle = "two"\nlicence = "x"\ncitation = "x"\nreader = "table"\n'
        'default_split = "a"\nscale = { low = 0, high = 2, meaning = "x" }\n'
        'splits = { a = { files = ["a.csv"], language = "kk" }, b = { files = ["b.csv"], language = "ky" } }\n'
        '[[files]]\nname = "a.csv"\n[[files]]\nname = "b.csv"\n[[sources]]\nkind = "path"\n'
    )
    (tmp_path / "two.toml").write_text(card, encoding="utf-8")
    result = assay.run(["two.toml:a", "two.toml:b"], ["f1"], resamples=0)
    assert set(result.scores["dataset"]) == {"two:a", "two:b"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('metrcs = ["f1"]', "mine.toml: metrcs: there is no such setting. Did you mean 'metrics'?"),
        ("sample = 0", "mine.toml: sample: Input should be greater than or equal to 1"),
        ('optional = ["zz"]', "mine.toml: optional names 'zz', which is none of the metrics"),
    ],
)
def test_a_suite_with_a_fault_says_what_and_suggests_for_unknown_settings_alone(tmp_path, monkeypatch, line, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        load_suite(write_suite(f"{line}\n"))
    assert str(caught.value) == said
