"""Pairs that a threshold decides wrongly: learned on other pairs, given as a number, or read from a file."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

import assay
from assay.analysis.data import read_datasets
from assay.analysis.errors.divergence import find_divergence
from assay.analysis.errors.settings import Rule
from assay.analysis.errors.tags import tag_pairs
from assay.analysis.folder import read_run
from assay.analysis.thresholds.objectives import MeasureObjective
from assay.analysis.thresholds.search import best_threshold
from assay.exceptions import InputError

GOOD, TURNED = "recorded:good", "recorded:turned,lower_is_better=true"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """120 pairs with labels 0 to 2 in groups of three, two pairs without a score, and a metric from 0 to 1."""
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 3, 120)
    good = labels + rng.normal(0, 1, 120)
    good[[5, 80]] = np.nan
    frame = pd.DataFrame({
        "reference": [f"r{i} x" for i in range(120)],
        "candidate": [f"r{i} {'x' if label else 'y z'}" for i, label in enumerate(labels)],
        "label": labels,
        "group": [f"g{i // 3}" for i in range(120)],
        "good": good,
        "turned": -good,
        "category": "alias",  # of people: the rules need not read the texts
    })  # fmt: skip
    out = tmp_path_factory.mktemp("errors") / "run"
    assay.run([assay.load_dataset(frame, name="answers")], [GOOD, TURNED, "f1"], resamples=0, out=out)
    return out


@pytest.fixture(scope="module")
def data(run):
    (data,) = read_datasets(read_run(run))
    return data


def test_a_learned_threshold_comes_from_the_other_folds(run, data):
    found = find_divergence(data, GOOD, Rule(threshold="auto", positive="label>=2"))
    own = found.decisions.thresholds
    scored = np.isfinite(data.scores[GOOD])
    assert np.isnan(own[~scored]).all() and not found.mask[~scored].any()
    positive = data.labels >= 2
    values = np.unique(own[scored])
    assert len(values) == 5, "the folds of this sample differ"
    for value in values:
        others = scored & (own != value)
        assert best_threshold(data.scores[GOOD][others], positive[others], MeasureObjective("f1-macro"))[0] == value
        # whole groups are decided by one threshold
        assert set(data.groups[own == value]).isdisjoint(data.groups[others])
    assert set(found.rows) == set(np.flatnonzero(scored & ((data.scores[GOOD] >= own) != positive)))
    # the share of wrong decisions is what assay thresholds prints
    report = assay.thresholds(run, [GOOD], positive="label>=2", resamples=0)
    assert 1 - report.records["accuracy"][0] == pytest.approx(len(found.rows) / scored.sum())
    turned = find_divergence(data, TURNED, Rule(threshold="auto", positive="label>=2"))
    assert turned.rows.tolist() == found.rows.tolist()
    assert turned.condition == "score > threshold and label>=2, or score ≤ threshold and label<2"


def test_a_number_decides_on_the_scale_of_the_metric(data):
    found = find_divergence(data, GOOD, Rule(threshold=1, positive="label>0"))
    scores, labels = data.scores[GOOD], data.labels
    assert set(found.rows) == set(np.flatnonzero(((scores < 1) & (labels > 0)) | ((scores >= 1) & (labels == 0))))
    assert found.distances == pytest.approx(np.sort(np.abs(scores[found.rows] - 1))[::-1])
    assert found.condition == "score < 1 and label>0, or score ≥ 1 and label<=0"
    turned = find_divergence(data, TURNED, Rule(threshold="-1", positive="label>0"))
    assert turned.rows.tolist() == found.rows.tolist()
    assert turned.condition == "score > -1 and label>0, or score ≤ -1 and label<=0"


def test_a_file_of_thresholds_has_the_one_to_deploy(run, data, tmp_path):
    file = tmp_path / "thresholds.json"
    file.write_text(assay.thresholds(run, positive="label>=2", resamples=0).to_json())
    (saved,) = json.loads(file.read_text())
    for metric, record in zip((GOOD, TURNED, "f1"), saved["metrics"], strict=True):
        found = find_divergence(data, metric, Rule(threshold=file))
        same = find_divergence(data, metric, Rule(threshold=record["deploy"], positive="label>=2"))
        assert found.rows.tolist() == same.rows.tolist() and len(found.rows)
    shown = assay.errors(run, [TURNED], threshold=file, resamples=0)
    assert f"threshold from {file.name}" in shown.to_markdown()
    assert shown.records["threshold"].unique().tolist() == [saved["metrics"][1]["deploy"]]
    # the metric is known by its signature where its name is another
    saved["metrics"][0]["metric"] = "mine"
    file.write_text(json.dumps([saved]))
    assert find_divergence(data, GOOD, Rule(threshold=file)).decisions.rule == "label>=2"


def test_files_that_do_not_fit_are_refused_in_one_line(run, data, tmp_path):
    file = tmp_path / "thresholds.json"
    (saved,) = json.loads(assay.thresholds(run, [GOOD], positive="label>=2", resamples=0).to_json())

    def complaint(content, metric=GOOD, **rule):
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        with pytest.raises(InputError) as caught:
            find_divergence(data, metric, Rule(threshold=file, **rule))
        assert "\n" not in str(caught.value) and str(file) in str(caught.value)
        return str(caught.value)

    assert "has no threshold of f1 for answers, only of recorded:good" in complaint([saved], "f1")
    assert "learned on others, none for answers" in complaint([{**saved, "dataset": "others"}])
    assert "has thresholds for label>=2; leave `positive` out" in complaint([saved], positive="label>=1")
    other = {**saved["metrics"][0], "signature": {"name": "recorded", "subject": "better"}}
    assert "is another metric" in complaint([{**saved, "metrics": [other]}])
    for broken in ("", "reference,label\n", "{}", '[{"dataset": "answers"}]', "[1]"):
        assert "is not a file of thresholds" in complaint(broken)
    undefined = {**saved["metrics"][0], "deploy": None, "threshold": None}
    assert "is not a file of thresholds" in complaint([{**saved, "metrics": [undefined]}])
    with pytest.raises(InputError, match=r"must be auto, a number, or a file; the file cannot be read"):
        find_divergence(data, GOOD, Rule(threshold="atuo"))


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"threshold": "nan"}, "threshold=nan: must be a finite number"),
        ({"threshold": 0.5, "low": 0.1}, "low=0.1: has no effect beside `threshold`"),
        ({"threshold": "auto", "by": "rank"}, "by=rank: has no effect beside `threshold`"),
        ({"positive": "label>=2"}, "positive=label>=2: has no effect without `threshold`"),
    ],
)
def test_settings_that_contradict_each_other(rule, said):
    with pytest.raises(InputError, match=f"^{re.escape(said)}"):
        Rule(**rule)


def test_thresholds_that_cannot_decide(run, data):
    with pytest.raises(InputError, match=r"^threshold=3: f1 gives scores from 0 to 1$"):
        find_divergence(data, "f1", Rule(threshold=3, positive="label>=2"))
    with pytest.raises(InputError, match="the label of answers has 3 values; say which mean yes"):
        assay.errors(run, [GOOD], threshold="auto", resamples=0)
    with pytest.raises(InputError, match=r"^rule: holds what counts as diverging"):
        assay.errors(run, [GOOD], threshold="auto", rule=Rule(by="rank"))
    few = data.take(np.arange(3))
    with pytest.raises(InputError, match=r"^threshold=auto: none can be learned \(.*\); give a number$"):
        find_divergence(few, GOOD, Rule(threshold="auto", positive=f"label>={few.labels.max():g}"))


@pytest.fixture
def tables_of(monkeypatch):
    """Return the tables of the errors in some pairs, as text, with rules that find nothing."""
    monkeypatch.setattr("assay.analysis.errors.categories.tag_by_rules", lambda data, *_: ([()] * len(data), []))

    def make(columns, metric, **settings):
        run = assay.run([pd.DataFrame(columns)], [metric], resamples=0, buckets=["none"])
        return assay.errors(run, resamples=0, **settings).to_markdown()

    return make


def test_ranks_that_find_nothing_name_the_way_by_threshold(tables_of):
    pairs = {"reference": [f"r{i}" for i in range(8)], "candidate": "c", "label": [1, 1, 1, 1, 1, 1, 0, 0]}
    # no mid-ranks differ by half of n, though two right answers have a score of .1 and less
    near = {**pairs, "s": [0.05, 0.1, 0.7, 0.8, 0.9, 1.0, 0.0, 0.02]}
    told = "Ranks find nothing here. The scores run from 0 to 1: --by threshold looks for scores at the wrong end"
    assert told in tables_of(near, "recorded:s")
    assert told not in tables_of({**near, "s": [5.0, 10, 70, 80, 90, 100, 0, 2]}, "recorded:s")
    assert told not in tables_of(near, "recorded:s", by="threshold")


def test_long_answers_make_the_rules_unreliable(tables_of, tmp_path):
    answers = ["word " * 20] * 18 + ["word " * 21] * 2
    pairs = {"reference": [f"r{i}" for i in range(20)], "candidate": answers, "label": [0, 1] * 10}
    told = (
        "The categories are unreliable: 2 of 20 pairs, 1 of the 10 that diverge, have an answer of more than 20 words"
    )
    assert told in tables_of(pairs, "f1")
    assay.run([pd.DataFrame(pairs)], ["f1"], resamples=0, buckets=["none"], out=tmp_path / "run")
    (data,) = read_datasets(read_run(tmp_path / "run"))
    assert any("unreliable: 2 of 20 pairs have an answer of more" in line for line in tag_pairs(data, 1000).about)
    fewer = {**pairs, "candidate": ["word"] * 19 + ["word " * 21]}
    assert "unreliable" not in tables_of(fewer, "f1"), "one in twenty changes little"
    assert "unreliable" not in tables_of({**pairs, "category": "alias"}, "f1"), "people read them"
