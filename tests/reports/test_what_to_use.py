"""What to use per language or task: computed from the boards of the datasets, against SciPy and made verdicts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

import assay
from assay.analysis.leaderboard.field import FieldVerdict
from assay.common.numbers import Number
from assay.datasets import load_dataset
from assay.exceptions import InputError
from assay.reports.field import sentence

#: Noise of each score beside the labels; ``poor`` knows nothing of them.
NOISE = {"good": 0.3, "fair": 0.5, "weak": 3.0, "poor": None}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("field")
    made = []
    for number, language in enumerate(("az", "kk", "ky", "de")):
        rng = np.random.default_rng(number)
        labels = rng.integers(0, 6, 120).astype(float)
        columns = {
            "reference": [f"r{i}" for i in range(120)],
            "candidate": [f"c{i}" for i in range(120)],
            "label": labels,
        }
        for name, noise in NOISE.items():
            signal = 0.0 if noise is None else labels
            columns[name] = signal + rng.normal(size=120) * (noise or 1.0)
        file = folder / f"{language}.csv"
        pd.DataFrame(columns).to_csv(file, index=False)
        metrics = [f"recorded:{name}" for name in NOISE]
        assay.run([file], metrics, language=language, out=folder / language, resamples=0, page=False)
        made.append((folder / language, labels, columns))
    return made


def test_groups_are_means_over_their_datasets(runs):
    records = assay.leaderboard([run for run, _, _ in runs], per=["family"], by="spearman").records.set_index("group")
    assert list(records.index) == ["Germanic", "Turkic"]
    turkic = [(labels, columns) for _, labels, columns in runs[:3]]
    means = {}
    for name in NOISE:
        values = [spearmanr(columns[name], labels).statistic for labels, columns in turkic]
        means[name] = np.tanh(np.mean(np.arctanh(values)))
    row = records.loc["Turkic"]
    assert (row["datasets"], row["n"], row["best_on"]) == (3, 360, 3)
    assert row["highest"] == "recorded:good" and means["good"] == max(means.values())
    # weights by precision are nearly equal here
    assert row["value"] == pytest.approx(means["good"], abs=0.01)
    assert row["new_low"] <= row["low"] < row["value"] < row["high"] <= row["new_high"]
    assert row["never"].split("; ") == ["recorded:fair", "recorded:weak", "recorded:poor"]
    german = records.loc["Germanic"]
    labels, columns = runs[3][1:]
    assert german["value"] == pytest.approx(spearmanr(columns["good"], labels).statistic)
    assert german["datasets"] == 1 and np.isnan(german["new_low"])


def test_different_data_of_one_name_has_a_row_each(tmp_path):
    runs = []
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        labels = rng.normal(size=60)
        columns = {"good": labels + rng.normal(size=60), "poor": rng.normal(size=60)}
        rows = [
            {"reference": f"r{seed} {i}", "candidate": "c", "label": labels[i]} | {k: v[i] for k, v in columns.items()}
            for i in range(60)
        ]
        path = tmp_path / f"run{seed}"
        metrics = [f"recorded:{name}" for name in columns]
        assay.run(load_dataset(rows, name="same"), metrics, resamples=100, page=False, out=path)
        runs.append(path)
    records = assay.leaderboard(runs, per=["dataset"], by="spearman").records
    assert list(records["group"]) == ["same [run1]", "same [run2]"]
    assert list(records["datasets"]) == [1, 1]


def test_a_metric_that_is_best_somewhere_is_never_named_as_never(runs):
    records = assay.leaderboard([run for run, _, _ in runs], per=["language"]).records
    assert list(records["group"]) == ["az", "de", "kk", "ky"]
    boards = assay.leaderboard([run for run, _, _ in runs], by="spearman").records
    for row in records.to_dict("records"):
        (title,) = {name for name in boards["dataset"] if name.startswith(row["group"])}
        board = boards[(boards["dataset"] == title) & (boards["bucket"] == "all")]
        best = set(board[board["could_be_best"].isin([True, 1])]["metric"])
        assert row["highest"] in best and not best & set(row["never"].split("; "))


def test_where_little_may_be_expected_no_metric_is_named(runs):
    settings = {"metrics": ["recorded:weak", "recorded:poor"], "per": ["family"]}
    row = assay.leaderboard([run for run, _, _ in runs], **settings).records.set_index("group").loc["Turkic"]
    assert not row["reliable"] and row["sentence"].startswith("Turkic: rely on no metric of these; the highest is")


def test_datasets_without_a_task_are_an_error(runs):
    with pytest.raises(InputError, match="the task of no dataset is known"):
        assay.leaderboard([run for run, _, _ in runs], per=["task"])


def test_sentences():
    class Line:
        metric = "chrf"

    def verdict(value, new, alike=(), never=(), datasets=4, bucket="all"):
        return FieldVerdict("answers", bucket, datasets, 400, Line(), value, new, 2, alike, never)

    sure = verdict(Number(0.6, 0.5, 0.7), Number(0.6, 0.35, 0.8), ("f1", "ter", "bleu", "meteor"), ("em", "length"))
    assert sentence(sure, "Spearman ρ") == (
        "answers: use chrf (Spearman ρ .600 [.50, .70] on 4 sets, .35 to .80 on a set not seen); "
        "as good may be f1, ter, bleu and 1 more. Never: em, length."
    )
    unsure = verdict(Number(0.2, 0.1, 0.3), Number(0.2, -0.1, 0.5), bucket="f1=0")
    assert sentence(unsure, "Spearman ρ") == (
        "answers, where no word is in common: rely on no metric of these; the highest is chrf "
        "(Spearman ρ .200 [.10, .30] on 4 sets, -.10 to .50 on a set not seen)."
    )
    alone = verdict(Number(0.6, 0.5, 0.7), Number(), datasets=1)
    assert sentence(alone, "AUC") == "answers: use chrf (AUC .600 [.50, .70] on one set)."
    assert verdict(Number(0.6), Number()).is_reliable is False, "without an interval nothing is known"


def test_tasks_are_those_of_the_cards(shared_data, tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    names = ["mohler", "saf-en:unseen-answers", "simqg", "sts17:es-es"]
    assay.run(names, ["f1", "em"], sample=60, buckets=["none"], out=tmp_path / "run", resamples=0, page=False)
    records = assay.leaderboard(tmp_path / "run", per=["task"], by="spearman").records.set_index("group")
    from assay.datasets import load_card

    expected = {task for name in names for task in load_card(name.partition(":")[0]).tasks}
    assert set(records.index) == expected
