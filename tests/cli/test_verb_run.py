"""``assay run``: formats, streams, exit codes, the run folder, suites and the options."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from assay.analysis.folder import read_run
from tests.cli.calling import COLUMNS, agreement, process

FILES = {
    "run.json",
    "agreement.json",
    "agreement.csv",
    "scores.parquet",
    "pairs.parquet",
    "evidence.json",
    "report.html",
}
OWN = ("run", "--dataset", "own.csv", *COLUMNS, "--metric", "f1", "--metric", "levenshtein")


@pytest.mark.slow
def test_data_goes_to_stdout_and_the_rest_to_stderr():
    done = process(*OWN, "--format", "csv", "--out", "OUT", "--resamples", 100)
    assert done.code == 0
    assert {row["metric"] for row in done.rows} == {"f1", "levenshtein"}
    assert done.out == Path("OUT/agreement.csv").read_text(encoding="utf-8")
    assert "wrote OUT" in done.err and "next: assay compare OUT\n" in done.err
    assert process(*OWN, "--out", "OUT", "--quiet", "--resamples", 100).err == ""


@pytest.mark.slow
def test_every_format(assay):
    given = (*OWN, "--quiet", "--resamples", 100)
    table = assay(*given, "--out", "a").out
    assert "own" in table and "f1=0  n = 3" in table and "  tie-free ceiling" in table
    rows = json.loads(assay(*given, "--out", "b", "--format", "json").out)
    keys = ["dataset", "split", "bucket", "metric", "statistic", "value", "low", "high", "n", "note"]
    assert list(rows[0]) == keys
    assert rows == json.loads(Path("a/agreement.json").read_text(encoding="utf-8"))
    assert list(assay(*given, "--out", "c", "--format", "csv").rows[0]) == keys
    assert assay("table", "a", "--write", "--quiet").code == 0
    assert assay(*given, "--out", "d", "--format", "md").out == Path("a/table.md").read_text(encoding="utf-8")
    latex = assay(*given, "--out", "e", "--format", "latex").out
    assert r"\toprule" in latex and latex == Path("a/table.tex").read_text(encoding="utf-8")


def test_the_run_folder_is_complete_and_can_be_read(assay):
    assert assay(*OWN, "--out", "deep/OUT", "--resamples", 100).code == 0
    folder = Path("deep/OUT")
    assert {path.name for path in folder.iterdir()} == FILES
    run = read_run(folder)
    assert run.manifest.request.metrics == ["f1", "levenshtein"]
    assert run.manifest.failures == []
    scores = pq.read_table(folder / "scores.parquet")
    assert scores.column_names == ["dataset", "pair_id", "metric", "score"]
    assert scores.num_rows == 12
    assert [path.name for path in Path("deep").iterdir()] == ["OUT"]


def test_without_out_the_folder_has_the_name_of_the_file(assay):
    done = assay(*OWN, "--resamples", 0)
    (folder,) = Path("runs").iterdir()
    assert folder.name.startswith("own-")
    assert f"wrote {folder}" in done.err


@pytest.mark.slow
def test_the_same_seed_gives_the_same_intervals_and_another_seed_others(assay):
    given = ("run", "-d", "probe", "-m", "f1", "--limit", 40, "--bucket", "none", "--resamples", 200)
    given = (*given, "--format", "csv", "--quiet")
    first = assay(*given, "--out", "a", "--seed", 7).out
    assert assay(*given, "--out", "b", "--seed", 7).out == first
    other = assay(*given, "--out", "c", "--seed", 8)
    assert other.out != first
    values = [
        [row["value"] for row in assay(*given, "--out", name, "--seed", seed).rows]
        for name, seed in (("a", 7), ("c", 8))
    ]
    assert values[0] == values[1]


@pytest.mark.slow
def test_a_second_run_takes_its_scores_from_the_store(assay):
    assay(*OWN, "--out", "a", "--resamples", 0)
    assay(*OWN, "--out", "b", "--resamples", 0)
    assay(*OWN, "--out", "c", "--resamples", 0, "--fresh")
    counts = [
        [(metric.scored, metric.stored) for metric in read_run(Path(name)).manifest.metrics] for name in ("a", "b", "c")
    ]
    assert counts == [[(6, 0), (6, 0)], [(0, 6), (0, 6)], [(6, 0), (6, 0)]]


@pytest.mark.slow
def test_one_failing_metric_costs_the_others_nothing_and_gives_exit_code_1(assay):
    done = process(*OWN, "--metric", "meteor", "--language", "de", "--out", "OUT", "--format", "csv", "--resamples", 0)
    assert done.code == 0  # not made for German is not a failure
    assert {row["metric"] for row in done.rows} == {"f1", "levenshtein"}
    statuses = {metric.metric: metric.status for metric in read_run(Path("OUT")).manifest.metrics}
    assert statuses["meteor"] == "not applicable"

    broken = assay(*OWN, "--metric", "evaluate:nowhere.py", "--out", "OUT2", "--format", "csv", "--resamples", 0)
    assert broken.code == 1
    assert {row["metric"] for row in broken.rows} == {"f1", "levenshtein"}
    assert any(line.startswith("assay: metric evaluate:nowhere.py") for line in broken.err.splitlines())
    assert {path.name for path in Path("OUT2").iterdir()} == FILES


@pytest.mark.slow
def test_what_is_next_fits_the_folder(assay):
    own = ("run", "--dataset", "own.csv", *COLUMNS, "--resamples", 0)
    done = assay(*own, "-m", "f1", "-m", "chrf", "--out", "a run").err.splitlines()
    start = done.index("wrote a run") + 1
    assert done[start:] == [
        "look at a run/report.html",
        "next: assay compare 'a run'",
        "      assay errors 'a run'",
        "      assay baseline 'a run' --out baseline.json",
    ]
    assert "compare" not in assay(*own, "-m", "f1", "--out", "one").err, "there is nothing to compare it with"
    bundled = assay("run", "--dataset", "probe", "-m", "f1", "--limit", 40, "--resamples", 0, "--out", "probe").err
    assert "      assay run --dataset FILE --columns reference=COLUMN,candidate=COLUMN,label=COLUMN" in bundled
    failed = assay(*own, "-m", "evaluate:nowhere.py", "--out", "failed")
    assert failed.code == 1
    assert "wrote failed" in failed.err
    assert "look at" not in failed.err and "next:" not in failed.err


@pytest.mark.slow
def test_several_datasets_and_the_probe_by_subset(assay):
    done = assay(
        *("run", "--dataset", "own.csv", "--dataset", "probe", *COLUMNS, "--metric", "f1"),
        *("--resamples", 0, "--out", "OUT", "--format", "csv"),
    )
    # --columns describes files; a dataset with a card has its own reader
    assert {row["dataset"] for row in done.rows} == {"own", "probe"}
    alone = assay("run", "--dataset", "probe", *COLUMNS, "--metric", "f1")
    assert "--columns is for files of your own" in alone.complaint
    Path("named.csv").write_text("reference,candidate,label\na,a,1\na,b,0\na,a b,1\n", encoding="utf-8")
    done = assay(
        *("run", "--dataset", "named.csv", "--dataset", "probe", "--metric", "f1"),
        *("--resamples", 0, "--out", "NAMED", "--format", "csv"),
    )
    assert {row["dataset"] for row in done.rows} == {"named", "probe"}

    done = assay("run", "-d", "probe", "-m", "f1", "--bucket", "subset", "--resamples", 0, "--format", "csv")
    buckets = {row["bucket"]: int(row["n"]) for row in done.rows}
    whole = buckets.pop("all")
    assert whole >= 400 and buckets.pop("mean over subset") == whole
    assert sum(buckets.values()) == whole
    assert {"subset=acronym", "subset=negation", "subset=unit conversion"} <= set(buckets)


def test_numbers_are_never_cut_in_a_narrow_table(assay, monkeypatch):
    monkeypatch.setenv("COLUMNS", "110")
    name = "recorded:" + "c" * 70
    Path("long.csv").write_text(
        f"reference,candidate,label,{'c' * 70}\na,a,1,.1\nb,c,0,.3\nd,e f,2,.25\ng,h,0,.6\n", encoding="utf-8"
    )
    done = assay("run", "-d", "long.csv", "-m", name, "--resamples", 100, "--bucket", "none")
    probe = assay("run", "-d", "probe", "-m", "f1", "--resamples", 100, "--bucket", "subset", "--seed", 1)
    for text in (done.out, probe.out):
        assert "…" not in text
    assert done.out.count("c") >= 70


def test_a_suite_of_ones_own(assay):
    Path("mine.toml").write_text(
        'name = "mine"\ndescription = "Mine."\ndatasets = ["probe"]\nmetrics = ["em", "f1"]\n'
        'buckets = ["language"]\nstatistics = ["spearman"]\n',
        encoding="utf-8",
    )
    done = assay("run", "mine.toml", "--resamples", 0, "--out", "OUT", "--format", "csv", "--limit", 50)
    assert done.code == 0, done.err
    assert {row["statistic"] for row in done.rows} == {"spearman"}
    assert {row["metric"] for row in done.rows} == {"em", "f1"}
    assert "language=en" in {row["bucket"] for row in done.rows}
    assert read_run(Path("OUT")).manifest.request.suite == "mine"
    replaced = assay("run", "mine.toml", "-m", "dice", "--resamples", 0, "--out", "OUT2", "--format", "csv")
    assert {row["metric"] for row in replaced.rows} == {"dice"}


def test_a_suite_on_data_without_the_columns_of_its_buckets(assay):
    """Their columns are those of its own datasets; what the data have is kept, and what a user names is an error."""
    Path("mine.toml").write_text(
        'name = "mine"\ndescription = "Mine."\ndatasets = ["probe"]\nmetrics = ["f1"]\n'
        'buckets = ["subset", "number"]\n',
        encoding="utf-8",
    )
    Path("own.csv").write_text("reference,candidate,label\na 1,a 1,1\na,b,0\nb,b,1\n", encoding="utf-8")
    given = ("run", "mine.toml", "-d", "own.csv", "--resamples", 0, "--format", "csv", "-q")
    done = assay(*given, "--out", "OUT")
    assert done.code == 0, done.err
    assert {row["bucket"] for row in done.rows} == {"all", "number=yes", "number=no"}
    assert "bucket 'subset': own has no column 'subset'" in assay(*given, "-b", "subset", "--out", "OUT2").complaint


@pytest.mark.slow
def test_limit_and_duplicates(assay):
    Path("twice.csv").write_text("reference,candidate,label\na,a,1\na,a,1\na,a,0\nb,c,0\nb,b d,1\n", encoding="utf-8")
    given = ("run", "-d", "twice.csv", "-m", "f1", "--resamples", 0, "--format", "csv", "--bucket", "none", "--quiet")

    def size(*more: object) -> str:
        return assay(*given, *more).rows[0]["n"]

    assert size("--out", "a") == "5"
    assert size("--out", "b", "--drop-duplicates") == "4"
    assert size("--out", "c", "--drop-duplicates", "--limit", 3) == "3"
    assert size("--out", "d", "--keep-duplicates", "--limit", 2) == "2"
    assert read_run(Path("b")).manifest.datasets[0].duplicates_dropped == 1


def test_whole_groups_are_resampled_by_any_column_of_the_file(assay):
    lines = ["reference,candidate,label,topic"]
    lines += [f"word{i},{'word' + str(i) if i % 3 else 'x'},{i % 4},{'abcdef'[i % 6]}" for i in range(30)]
    Path("grouped.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    given = ("run", "-d", "grouped.csv", "-m", "f1", "--resamples", 200, "--bucket", "none", "--format", "csv")
    alone = assay(*given, "--out", "a").rows[0]
    by_topic = assay(*given, "--out", "b", "--group-by", "topic").rows[0]
    assert alone["value"] == by_topic["value"]
    assert (alone["low"], alone["high"]) != (by_topic["low"], by_topic["high"])
    assert read_run(Path("b")).manifest.buckets[0].groups == 6
    # a column that became a pair column keeps its own name, too
    mapped = assay(*given, "--out", "c", "--columns", "group=topic", "--bucket", "topic", "--group-by", "topic")
    assert mapped.code == 0, mapped.err
    assert "topic=a" in {row["bucket"] for row in mapped.rows}
    assert read_run(Path("c")).manifest.buckets[0].groups == 6


def test_one_group_has_no_interval(assay):
    Path("one.csv").write_text("reference,candidate,label,group\na,a,2,g\nb,c,0,g\nd,d e,1,g\n", encoding="utf-8")
    row = assay("run", "-d", "one.csv", "-m", "f1", "--bucket", "none", "--format", "csv").rows[0]
    assert (row["low"], row["high"], row["note"]) == ("", "", "no interval below 10 groups")
    assert row["value"]


def test_statistics_on_request(assay):
    Path("binary.csv").write_text("reference,candidate,label\na,a,1\nb,c,0\nd,d e,1\nf,f g,0\n", encoding="utf-8")
    given = ("run", "-d", "binary.csv", "-m", "f1", "--bucket", "none", "--format", "csv", "--resamples", 0)
    done = assay(*given, "--statistic", "auc", "--statistic", "kendall-tau-c", "--statistic", "pairwise-accuracy")
    assert [row["statistic"] for row in done.rows] == ["auc", "kendall-tau-c", "pairwise-accuracy"]
    # label 1 has the scores 1 and 2/3, label 0 the scores 0 and 2/3: three couples won, one tied
    assert float(done.rows[0]["value"]) == pytest.approx(3.5 / 4)


def test_ter_turned_is_said(assay):
    assay(*OWN, "--metric", "ter", "--out", "OUT", "--resamples", 0, "--bucket", "none")
    row = agreement(Path("OUT"))["all", "ter", "spearman"]
    assert row["note"] == "sign turned: lower is better"
    assert row["value"] > 0


def test_offline_names_the_line_that_fetches(assay):
    done = assay("run", "-d", "stsb:test", "-m", "f1", "--offline", "--out", "OUT")
    assert "assay datasets fetch stsb@2017" in done.complaint
    assert not Path("OUT").exists()
    several = assay("run", "-d", "stsb:test", "-d", "probe", "-m", "f1", "--offline", "--resamples", 0, "--out", "OUT")
    assert several.code == 1
    assert "probe@1" in several.out
    assert several.err.count("assay datasets fetch stsb@2017") == 1
    assert "stsb:test" in read_run(Path("OUT")).manifest.request.unavailable


def test_the_table_is_printed_before_the_page_is_written(assay, monkeypatch):
    from assay import Result
    from assay.exceptions import InputError

    def refuse(_):
        raise InputError("the page cannot be written")

    line = ("run", "--dataset", "own.csv", *COLUMNS, "--metric", "f1", "--resamples", 0, "--format", "csv", "--quiet")
    monkeypatch.setattr(Result, "write_page", refuse)
    done = assay(*line, "--out", "OUT")
    assert (done.code, done.err) == (2, "assay: the page cannot be written\n")
    assert {row["metric"] for row in done.rows} == {"f1"}
    assert (Path("OUT") / "run.json").exists()
    done = assay(*line, "--out", "WITHOUT", "--no-page")
    assert done.code == 0 and not (Path("WITHOUT") / "report.html").exists()
