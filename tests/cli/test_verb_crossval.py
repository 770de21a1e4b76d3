"""``assay crossval`` on the command line: data scored here, runs, and the protocol of STR-2022 from file to table."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

#: Table 2 of STR-2022: pairs of each source.
SOURCES = {
    "Formality": 1000, "Goodreads": 1000, "ParaNMT": 750, "SNLI": 750, "STS": 250, "Stance": 750, "Wiki": 1000,
}  # fmt: skip


@pytest.fixture
def pairs(workplace):
    """90 pairs of two topics; the second has one label in all its pairs."""
    rng = random.Random(3)
    rows = ["reference,candidate,label,topic,asker"]
    for i in range(90):
        shared = rng.randint(0, 4)
        words = [f"w{rng.randint(0, 500)}" for _ in range(4)]
        other = words[:shared] + [f"v{rng.randint(0, 500)}" for _ in range(4 - shared)]
        label = 1 if i % 3 == 2 else shared + rng.choice([-1, 0, 1])
        rows.append(f"{' '.join(words)},{' '.join(other)},{label},{'one' if i % 3 == 2 else 'many'},a{i // 9}")
    Path("pairs.csv").write_text("\n".join(rows) + "\n")
    return Path("pairs.csv")


def records(done, **wanted):
    return [row for row in json.loads(done.out) if all(row[key] == value for key, value in wanted.items())]


@pytest.mark.parametrize("form", ["table", "csv"])
def test_formats(assay, pairs, form):
    done = assay("crossval", "-d", pairs, "-m", "dice", "-m", "ter", "--by", "topic", "-f", form, "-q")
    assert (done.code, done.err) == (0, "")
    assert "dice" in done.out and "ter" in done.out


def test_a_run_gives_what_scoring_gives(assay, pairs):
    assert assay("run", "-d", pairs, "-m", "dice", "-m", "ter", "-b", "none", "-q", "--out", "run").code == 0
    scored = assay("crossval", "-d", pairs, "-m", "dice", "-q", "-f", "json")
    for line in (["run", "-m", "dice"], ["run", "-m", "dice", "-d", "pairs"]):
        assert json.loads(assay("crossval", *line, "-f", "json").out) == json.loads(scored.out)
    both = assay("crossval", "run", "-f", "json")
    assert {row["metric"] for row in json.loads(both.out)} == {"dice", "ter"}
    assert all(row["value"] > 0.5 for row in records(both, on="pooled", statistic="pearson"))  # ter is turned


def test_several_runs_stand_side_by_side(assay, pairs):
    for name in ("one", "other"):
        assert assay("run", "-d", pairs, "-m", "dice", "-b", "none", "-q", "--seed", "1", "--out", name).code == 0
    done = assay("crossval", "one", "other", "-f", "json")
    values = {row["run"]: row["value"] for row in records(done, on="folds", statistic="kendall")}
    assert set(values) == {"one", "other"} and values["one"] == values["other"]
    assert "pairs, other: 5 folds of pairs" in assay("crossval", "one", "other").out
    assert "is given twice" in assay("crossval", "one", "one").complaint


def test_undefined_coefficients_are_told(assay, pairs):
    done = assay("crossval", "-d", pairs, "-m", "dice", "--by", "topic", "--statistic", "spearman", "-q")
    assert (
        "one: spearman undefined in 5 of 5 folds (fold 1, fold 2, fold 3, fold 4, fold 5): constant label" in done.out
    )
    assert "one: spearman undefined on all pairs: constant label" in done.out
    told = assay("crossval", "-d", pairs, "-m", "dice", "--by", "topic", "--statistic", "spearman", "-q", "-f", "json")
    (average,) = records(told, source="one", on="folds")
    assert (average["value"], average["n"], average["note"]) == (None, 30, "undefined in 5 of 5 folds")
    folds = [row for row in records(told, source="one") if row["on"].startswith("fold ")]
    assert [row["note"] for row in folds] == ["constant label"] * 5


def test_groups_stay_whole(assay, pairs):
    done = assay("crossval", "-d", pairs, "-m", "dice", "--group-by", "asker", "-q", "-f", "json", "--folds", "4")
    assert sorted(row["n"] for row in records(done, statistic="pearson") if row["on"].startswith("fold ")) == [
        18, 18, 27, 27,
    ]  # fmt: skip
    table = assay("crossval", "-d", pairs, "-m", "dice", "--group-by", "asker", "-q", "--folds", "4")
    assert "4 folds of whole groups (asker)" in table.out


def test_a_pair_and_the_same_in_another_order_case_or_marks_are_one(assay, workplace):
    rows = ["reference,candidate,label", *(f"Text {i},other {i},{i}" for i in range(10))]
    rows += [f"OTHER {i}!,text {i}.,{i}" for i in range(10)]
    Path("twins.csv").write_text("\n".join(rows) + "\n")
    line = ["crossval", "-d", "twins.csv", "-m", "dice", "-q"]
    assert "--folds 11: expected 2 to 10" in assay(*line, "--folds", "11").complaint
    done = assay(*line, "--folds", "10", "-f", "json")
    folds = [row["n"] for row in records(done, statistic="pearson") if row["on"].startswith("fold ")]
    assert folds == [2] * 10


def test_several_gold_answers_are_the_same_in_any_order(assay, workplace):
    golds = [("one", "two"), ("Two", "one."), ("one", "three"), ("four", "two"), ("x", "y")]
    lines = [{"reference": list(gold), "candidate": f"c{i // 2}", "label": i} for i, gold in enumerate(golds)]
    Path("golds.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = assay("crossval", "-d", "golds.jsonl", "-m", "dice", "-q", "--folds", "5")
    assert "--folds 5: expected 2 to 4" in done.complaint


def test_a_metric_without_scores_is_named_and_costs_the_others_nothing(assay, pairs):
    done = assay("crossval", "-d", pairs, "-m", "dice", "-m", "static:nowhere", "-q")
    assert done.code == 0
    assert "not scored: " in done.out and "nowhere" in done.out


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["-d", "pairs.csv", "-m", "dice", "--by", "topics"], "has no column 'topics'. Did you mean 'topic'"),
        (["-d", "pairs.csv", "-m", "dice", "--by", "pair_id"], "--by pair_id: pairs has another value for every pair"),
        (["-d", "pairs.csv", "-m", "dice", "--folds", "1"], "--folds 1: expected 2 or more"),
        (["-d", "pairs.csv", "-m", "dice", "--folds", "91"], "--folds 91: expected 2 to 90"),
        (["-d", "pairs.csv", "-m", "dice", "--group-by", "asker", "--folds", "11"], "--folds 11: expected 2 to 10"),
        (["-d", "pairs.csv", "-m", "dice", "--scale", "0,5"], "--scale 0,5: is for models that are trained here"),
        (["-d", "pairs.csv", "-m", "dice", "--statistic", "rho"], "no statistic 'rho'"),
        (["-d", "pairs.csv"], "no metric: give --metric"),
        (["-m", "dice"], "no dataset: name a suite"),
        (["nowhere"], "there is no such run folder"),
        (["pairs.csv", "--limit", "3"], "--limit: is for data that is scored here, not for a run"),
    ],
)
def test_refusals_are_one_line(assay, pairs, line, said):
    assert said in assay("crossval", *line, "-q").complaint


@pytest.fixture
def str_2022(tmp_path, monkeypatch):
    """A file with the columns, sources and sizes of STR-2022, and words drawn at random."""
    rng = random.Random(2022)
    folder = tmp_path / "data" / "str-2022"
    folder.mkdir(parents=True)
    with (folder / "sem_text_rel_ranked.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["Index", "SourceID", "SubsetID", "PairID", "Text", "Score"])
        for source, n in SOURCES.items():
            for i in range(n):
                first = [f"w{rng.randint(0, 3000)}" for _ in range(8)]
                kept = rng.randint(0, 8)
                second = first[:kept] + [f"w{rng.randint(0, 3000)}" for _ in range(8 - kept)]
                score = min(1.0, max(0.0, kept / 8 + rng.gauss(0, 0.3)))
                text = " ".join(first).capitalize() + ".\n" + " ".join(second)
                writer.writerow([i, source, i % 2, f"{source}-{i}", text, f"{score:.4f}"])
    monkeypatch.setenv("ASSAY_DATA", str(folder.parent))


@pytest.mark.slow
def test_the_protocol_of_str_2022_from_its_file_on(assay, str_2022):
    done = assay(
        "crossval", "-d", "str-2022", "-m", "dice", "--by", "subset", "--statistic", "spearman", "-q", "-f", "csv"
    )
    assert (done.code, done.err) == (0, "")
    rows = {(row["source"], row["on"]): row for row in done.rows}
    assert {source: int(rows[source, "left out"]["n"]) for source in SOURCES} == SOURCES
    assert [int(rows["", f"fold {i}"]["n"]) for i in range(1, 6)] == [1100] * 5
    each = [float(rows["", f"fold {i}"]["value"]) for i in range(1, 6)]
    assert float(rows["", "folds"]["value"]) == pytest.approx(np.mean(each))
    assert float(rows["", "folds"]["deviation"]) == pytest.approx(np.std(each, ddof=1))


def test_by_genre_as_scipy_has_it(assay, shared_data, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    done = assay("crossval", "-d", "stsb:test", "-m", "f1", "--by", "subset", "-q", "-f", "json")
    import assay as package

    scores = package.run("stsb:test", ["f1"], resamples=0, buckets=("none",))
    table = scores.outcome.datasets[0].pairs.table
    genres = np.array(table.column("subset").to_pylist())
    labels, values = table.column("label").to_numpy(), scores.scores["score"].to_numpy()
    for genre, n in (("main-captions", 625), ("main-forums", 254), ("main-news", 500)):
        inside = genres == genre
        (row,) = records(done, source=genre, on="left out", statistic="spearman")
        assert row["n"] == n == inside.sum()
        assert row["value"] == pytest.approx(float(stats.spearmanr(values[inside], labels[inside]).statistic))
