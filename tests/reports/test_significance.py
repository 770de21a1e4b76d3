"""Systems with several seeds: the tables from results whose truth is known, and inputs of every kind."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import assay
from assay.analysis.significance.reading import read_results
from assay.analysis.significance.testing import SignificanceSettings, compare_samples, group_results, system_pairs
from assay.exceptions import InputError
from assay.statistics.significance import adjust_p_values

DATASETS = ("sick", "sts-b", "ukp")
#: By how many standard deviations a system is better than the baseline on each dataset.
TRUTH = {"base": (0, 0, 0), "better": (4, 4, 0), "worse": (-4, 0, -4)}


def write_table(path, truth=TRUTH, seeds=10, statistics=("spearman",)):
    rng = np.random.default_rng(7)
    lines = ["system,dataset,statistic,seed,value"]
    for system, shifts in truth.items():
        for dataset, shift in zip(DATASETS, shifts, strict=True):
            for statistic in statistics:
                values = 0.8 + 0.01 * (shift + rng.normal(size=seeds))
                lines += [f"{system},{dataset},{statistic},{seed},{value:.6f}" for seed, value in enumerate(values)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_known_truth(tmp_path):
    """Table 2 and 3 of Waldis et al.: every test finds the four true differences and no other."""
    report = assay.significance(write_table(tmp_path / "results.csv"))
    for row in report.records.to_dict("records"):
        shift = TRUTH[row["first"]][DATASETS.index(row["dataset"])]
        every = ["ASO", "U", "bootstrap", "t"]
        assert row["better_by"] == (every if shift > 0 else [])
        assert row["worse_by"] == (every if shift < 0 else [])
        assert row["second"] == "base"
    counts = {row["system"]: row for row in json.loads(report.to_json())["counts"]}
    assert set(counts) == {"better", "worse"}
    assert [counts["better"][test] for test in ("ASO", "U", "bootstrap", "t", "all")] == [[2, 0]] * 5
    assert [counts["worse"][test] for test in ("ASO", "U", "bootstrap", "t", "all")] == [[0, 2]] * 5
    shown = report.to_markdown()
    assert "| better | 2/0 | 2/0 | 2/0 | 2/0 | 2/0 | 3 |" in shown
    assert "(10) [1,3,5,7] |" in shown
    assert "(10) [2,4,6,8] |" in shown


def test_every_couple(tmp_path):
    report = assay.significance(write_table(tmp_path / "results.csv"), all_pairs=True)
    couples = {(row["first"], row["second"]) for row in report.records.to_dict("records")}
    assert couples == {("base", "better"), ("base", "worse"), ("better", "worse")}
    counts = {row["system"]: row["t"] for row in json.loads(report.to_json())["counts"]}
    # against base and worse: better wins 2 + 3; base loses 2 and wins 2; worse loses 2 + 3
    assert counts == {"base": [2, 2], "better": [5, 0], "worse": [0, 5]}


def test_means_and_deviations(tmp_path):
    table = tmp_path / "results.csv"
    table.write_text(
        "system,dataset,seed,value\n" + "".join(f"{s},d,{k},{v}\n" for s in "ab" for k, v in enumerate((0.7, 0.8, 0.9)))
    )
    report = assay.significance(table)
    results = json.loads(report.to_json())["results"]
    assert [(one["mean"], one["sd"], one["seeds"]) for one in results] == [
        (pytest.approx(0.8), pytest.approx(0.1), 3)
    ] * 2
    assert ".800 ± .100 (3)" in report.to_markdown()
    row = report.records.iloc[0]
    # equal samples: nothing that could be violated
    assert row["violation_ratio"] == 0.5
    assert row["epsilon_better"] >= 0.5
    assert row["epsilon_worse"] >= 0.5
    # 3 against 3 are completely apart by chance in one case of 20
    assert (
        "with probability 0.05, which almost stochastic order accepts at any level, here 0.01" in report.to_markdown()
    )


def test_one_family_is_a_statistic_in_one_direction(tmp_path):
    table = write_table(tmp_path / "results.csv", statistics=("pearson", "spearman"))
    samples = group_results(read_results([table])[0])
    couples = system_pairs(samples, None, False)
    found = compare_samples(samples, couples, SignificanceSettings(correction="holm"))
    for statistic in ("pearson", "spearman"):
        rows = [row for row in found if row.statistic == statistic]
        assert len(rows) == 6
        for side in ("better", "worse"):
            raw = np.array([getattr(row.raw["t"], side) for row in rows])
            assert [getattr(row.adjusted["t"], side) for row in rows] == pytest.approx(
                adjust_p_values(raw, "holm").tolist()
            )
    bonferroni = compare_samples(samples, couples, SignificanceSettings(correction="bonferroni"))
    none = compare_samples(samples, couples, SignificanceSettings(correction="none"))
    printed = compare_samples(samples, couples, SignificanceSettings(correction="aso"))
    for strict, free, mixed in zip(bonferroni, none, printed, strict=True):
        assert (mixed.order, mixed.adjusted) == (strict.order, free.adjusted)
        assert strict.order.ratio == free.order.ratio
        assert strict.order.better >= free.order.better
        assert strict.adjusted["U"].better == pytest.approx(min(1, 6 * free.raw["U"].better))
        assert free.adjusted["U"] == free.raw["U"]


def test_a_further_system_changes_no_draw(tmp_path):
    with_three = assay.significance(write_table(tmp_path / "three.csv"), correction="none").records
    two = {name: TRUTH[name] for name in ("base", "better")}
    with_two = assay.significance(write_table(tmp_path / "two.csv", two), correction="none").records
    both = with_three[with_three["first"] == "better"]
    assert both["epsilon_better"].tolist() == with_two["epsilon_better"].tolist()
    assert both["p_bootstrap_better"].tolist() == with_two["p_bootstrap_better"].tolist()


def test_resamples_follow_the_correction():
    assert SignificanceSettings(resamples=1000).needed_resamples(100) == 4000
    assert SignificanceSettings(resamples=1000, correction="none").needed_resamples(100) == 1000
    assert SignificanceSettings(resamples=1000).needed_resamples(2) == 1000
    assert SignificanceSettings(resamples=1000, alpha=1e-9).needed_resamples(2) == 10_000
    assert SignificanceSettings(resamples=50_000, alpha=1e-9).needed_resamples(2) == 50_000


def test_too_few_resamples_are_told(tmp_path):
    report = assay.significance(write_table(tmp_path / "results.csv"), alpha=1e-5)
    assert "10,000 resamples are too few for 6 comparisons at 1e-05" in report.to_markdown()


def test_systems_that_do_not_vary(tmp_path):
    table = tmp_path / "results.csv"
    table.write_text(
        "system,dataset,seed,value\n"
        + "".join(f"{s},d,{k},{v}\n" for s, v in (("a", 0.7), ("b", 0.8)) for k in range(5))
    )
    report = assay.significance(table)
    held = json.loads(report.to_json())["comparisons"][0]
    assert held["p_welch_better"] is None
    assert held["adjusted_p_bootstrap_worse"] is None
    assert held["p_brown_forsythe"] is None
    assert "nan" not in report.to_csv().lower()
    assert held["better_by"] == ["ASO", "U"]


def write_folder(folder, values, *, dataset="sts-b", statistic="spearman"):
    for seed, value in enumerate(values):
        place = folder / f"seed-{seed}"
        place.mkdir(parents=True)
        scores = [{"dataset": dataset, "statistic": statistic, "value": value}]
        (place / "results.json").write_text(json.dumps({"scores": scores, "command": "…"}), encoding="utf-8")
    return folder


def test_folders_of_trainings(tmp_path):
    one = write_folder(tmp_path / "one", (0.80, 0.81, 0.82, 0.83))
    other = write_folder(tmp_path / "other", (0.70, 0.71, 0.72, 0.73))
    (other / "seed-3" / "results.json").unlink()
    report = assay.significance([f"base={other}", one])
    results = [tuple(one.values()) for one in json.loads(report.to_json())["results"]]
    assert results == [
        ("sts-b", "spearman", "base", pytest.approx(0.71), pytest.approx(0.01), 3),
        ("sts-b", "spearman", "one", pytest.approx(0.815), pytest.approx(math.sqrt(1 / 6000)), 4),
    ]
    notes = json.loads(report.to_json())["notes"]
    assert "has no results.json; that seed of base is left out" in notes[0]
    assert notes[1] == "sts-b, Spearman ρ: base: 3 seeds where others have 4, without 3"


def test_folders_of_one_seed_each(tmp_path):
    asked = []
    for system, level in (("one", 0.8), ("other", 0.7)):
        for number in range(3):
            folder = write_folder(tmp_path / f"{system}-{number}", (level + number / 100,))
            (folder / "seed-0" / "results.json").rename(folder / "results.json")
            (folder / "seed-0").rmdir()
            asked.append(f"{system}={folder}")
    rows, notes = read_results(asked)
    assert not notes
    assert [(row.system, row.seed) for row in rows[:3]] == [("one", f"one-{number}") for number in range(3)]
    assert assay.significance(asked).records["second"].tolist() == ["one"]


def test_jsonl_is_the_same_as_csv(tmp_path):
    table = write_table(tmp_path / "results.csv")
    rows, _ = read_results([table])
    columns = ("system", "dataset", "statistic", "value")
    lines = [json.dumps({name: getattr(row, name) for name in columns} | {"seed": int(row.seed)}) for row in rows]
    (tmp_path / "results.jsonl").write_text("\n\n".join(lines) + "\n")
    assert assay.significance(tmp_path / "results.jsonl").to_json() == assay.significance(table).to_json()


def test_names_cannot_act_on_a_terminal(tmp_path):
    table = write_table(tmp_path / "results.csv")
    table.write_text(table.read_text().replace("worse", "\x1b[2Jworse").replace("ukp", '"uk\np"'))
    report = assay.significance(table)
    assert "\x1b" not in report.to_markdown() + report.to_json()
    assert {row["dataset"] for row in report.records.to_dict("records")} == {"sick", "sts-b", "uk p"}
    with pytest.raises(InputError) as caught:
        assay.significance(table, baseline="wors")
    assert "\x1b" not in str(caught.value)


HEAD = "system,dataset,seed,value\n"
GOOD = "".join(f"{system},d,{seed},0.{seed + 5}\n" for system in "ab" for seed in range(3))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (HEAD + GOOD + "a,d,3,high\n", "row 8: value is 'high', no finite number"),
        (HEAD + GOOD + "a,d,3,nan\n", "row 8: value is 'nan', no finite number"),
        (HEAD + GOOD + "a,d,3\n", "row 8: has 3 cells; the header has 4"),
        (HEAD + GOOD + ",d,3,0.5\n", "row 8: system is ''; write a name"),
        (HEAD + GOOD + "a,d,2,0.5\n", "row 8: 'a' has a second value on 'd' for seed '2', after"),
        (HEAD + GOOD + "c,d,0,0.5\n", "row 8: 'c' has 1 of the 3 seeds that a test needs at least (value on 'd')"),
        (HEAD + GOOD.replace("b,d,0", "\nb,d,0") + "a,d,3,nan\n", "row 9: value is 'nan', no finite number"),
        ("seed," + HEAD + "1,a,d,1,1\n", "the column 'seed' appears twice"),
        (HEAD + GOOD[: len(GOOD) // 2], "'a' is the only system"),
        (HEAD, "has no rows"),
        ("", "has no column system, dataset, seed, value"),
        ("system,dataset,value\na,d,1\n", "has no column seed"),
        (HEAD + 'a,d,1,"0.5\n', "is not valid CSV"),
        (HEAD + GOOD.replace("b,d", "b,e"), "no dataset has results of both b and a"),
    ],
)
def test_bad_tables(tmp_path, text, complaint):
    (tmp_path / "results.csv").write_text(text)
    with pytest.raises(InputError) as caught:
        assay.significance(tmp_path / "results.csv")
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "is not valid JSON"),
        ("[]", 'should hold a JSON object with "scores"'),
        ('{"scores": []}', 'should hold a JSON object with "scores"'),
        ('{"scores": [3]}', 'should hold a JSON object with "scores"'),
        ('{"scores": [{"dataset": "d", "value": null}]}', "score 1: value is None, no finite number"),
        ('{"scores": [{"dataset": "d", "value": NaN}]}', "score 1: value is nan, no finite number"),
        ('{"scores": [{"dataset": "d", "value": true}]}', "score 1: value is True, no finite number"),
        ('{"scores": [{"value": 1}]}', "score 1: dataset is None; write a name"),
    ],
)
def test_bad_folders(tmp_path, text, complaint):
    folder = write_folder(tmp_path / "one", (0.8, 0.8, 0.8))
    (folder / "seed-1" / "results.json").write_text(text)
    with pytest.raises(InputError) as caught:
        assay.significance([folder])
    assert f"{folder / 'seed-1' / 'results.json'}: {complaint}" in str(caught.value)


def test_bad_places_and_settings(tmp_path):
    table = write_table(tmp_path / "results.csv")
    (tmp_path / "empty").mkdir()
    (tmp_path / "latin.csv").write_bytes(HEAD.encode() + b"caf\xe9,d,1,1\n")
    (tmp_path / "list.jsonl").write_text("\n[1]\n")
    cases = [
        ({"results": tmp_path / "nowhere"}, "there is no such file or folder"),
        ({"results": tmp_path / "empty"}, "has neither seed-0/results.json nor results.json"),
        ({"results": tmp_path / "latin.csv"}, "is not UTF-8"),
        ({"results": tmp_path / "list.jsonl"}, "line 2: should be a JSON object"),
        ({"results": [f"one={table}"]}, "NAME= goes before a folder"),
        ({"results": table, "baseline": "bass"}, "baseline: the results have no system 'bass'. Did you mean 'base'?"),
        ({"results": table, "baseline": "base", "all_pairs": True}, "give one of the two"),
        ({"results": table, "tau": 0.6}, "tau=0.6: must lie above 0 and be at most .5"),
        ({"results": table, "alpha": 0}, "alpha=0: must lie between 0 and .5"),
        ({"results": table, "confidence": 1}, "confidence=1: must lie between 0.5 and 1"),
        ({"results": table, "resamples": 3}, "at least 100"),
        ({"results": table, "seed": -1}, "must not be negative"),
    ]
    for arguments, complaint in cases:
        with pytest.raises(InputError) as caught:
            assay.significance(**arguments)
        assert complaint in str(caught.value)
