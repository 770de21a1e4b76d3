"""docs/leaderboard.md and the table of best metrics: made by one command, here of a few datasets; cells again."""

from __future__ import annotations

import csv
import re
import shlex

import pytest

import assay
from assay.analysis.folder import read_run
from assay.datasets import load_card
from assay.datasets.best_metrics import best_metrics_of
from tests import leaderboard
from tests.cli.calling import call
from tests.leaderboard import DOCUMENT, METRICS, REPOSITORY, SAMPLE

TABLE = REPOSITORY / "src" / "assay" / "datasets" / "best_metrics.csv"


def test_the_command_on_a_few_datasets(shared_data, tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    datasets, metrics = ("kardes-sts:kk", "kardes-sts:uz", "mohler", "simqg"), ("f1", "em", "chrf")
    run = leaderboard.score(tmp_path, datasets, metrics)
    kept = (run / "run.json").read_bytes()
    assert leaderboard.score(tmp_path, datasets, metrics) == run and (run / "run.json").read_bytes() == kept
    records = leaderboard.verdicts(run, "all", ("task", "family", "language", "dataset"))
    apart = leaderboard.verdicts(run, "f1=0", ("task",))
    text = "\n".join(leaderboard.lines(run, records, apart))
    for title in ("Turkic: ", "sentences: ", "grading: ", "## For each language"):
        assert f"\n- {title}" in text or f"\n{title}" in text, title
    table = leaderboard.best_metrics(run, records)
    seconds = leaderboard.costs(run, metrics)
    assert set(seconds) == set(metrics) and all(value >= 0 for value in seconds.values())
    rows = [line for line in leaderboard.cost_lines(seconds, table) if line.startswith("| `")]
    assert len(rows) == len(metrics)
    assert sum(int(row.split("|")[3]) for row in rows) == len(table)
    assert table["dataset"].tolist() == ["kardes-sts", "kardes-sts", "mohler", "simqg"]
    assert table["split"].tolist()[:2] == ["kk", "uz"]
    one = assay.run(["kardes-sts:kk"], ["chrf"], sample=SAMPLE, statistics=["spearman"], buckets=["none"], resamples=0)
    shown = records.set_index(["per", "group"]).loc[("language", "kk")]
    if shown["highest"] == "chrf":
        assert shown["value"] == pytest.approx(one.agreement["value"].iloc[0], abs=1e-12)


def shipped():
    with TABLE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_each_row_of_the_table_is_of_a_card():
    rows = shipped()
    assert len(rows) > 80
    for row in rows:
        assert row["split"] in {"", *load_card(row["dataset"]).splits}, row
        assert row["metric"] in METRICS and set(filter(None, row["as_good"].split("; "))) <= set(METRICS)
        assert int(row["n"]) > 0 and -1 <= float(row["spearman"]) <= 1


@pytest.mark.parametrize("dataset", ["mohler", "kardes-sts:uz", "sts17:es-es", "simqg", "saf-de:unseen-answers"])
def test_a_row_of_the_table_again(dataset, shared_data, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    name, _, split = dataset.partition(":")
    [best] = [best for best in best_metrics_of(name) if best["split"] in (split, "") or not split]
    if best["metric"].startswith("static"):
        pytest.skip("needs word vectors")
    run = assay.run([dataset], [best["metric"]], sample=SAMPLE, statistics=["spearman"], buckets=["none"], resamples=0)
    row = run.agreement.iloc[0]
    assert (round(row["value"], 3), row["n"]) == (best["spearman"], best["n"])


def test_show_names_the_best_metrics():
    out = call("datasets", "show", "kardes-sts").out
    for best in best_metrics_of("kardes-sts"):
        assert f"best metric of {best['split']}: {best['metric']}, Spearman ρ " in out
    assert best_metrics_of("probe") == []


def could_be_best(row, metric):
    return metric == row["metric"] or metric in row["as_good"].split("; ")


def test_the_run_of_the_site_is_small_and_makes_its_leaderboard(tmp_path):
    folder = REPOSITORY / "docs" / "examples" / "leaderboard"
    assert sum(path.stat().st_size for path in folder.iterdir()) < 500_000
    page = assay.report(folder, tmp_path / "board.html", audience="leaderboard").read_text(encoding="utf-8")
    assert "<h1>Leaderboard: 9 metrics on 12 datasets</h1>" in page
    run = read_run(folder)
    assert not run.manifest.failures
    # the command of the document is that of the run
    written = DOCUMENT.read_text(encoding="utf-8").partition("## To play with")[2]
    command = re.search(r"```sh\n(assay .*?)\n```", written, re.DOTALL)
    assert command is not None
    arguments = shlex.split(command[1].replace("\\\n", ""))[1:]
    assert [one for one in arguments if "/examples/" not in one] == [*run.manifest.environment.argv[:-1]]


def test_what_surprised_is_what_the_table_says():
    rows, page = shipped(), " ".join(DOCUMENT.read_text(encoding="utf-8").split())
    turkic = [row for row in rows if row["dataset"] == "kardes-sts"]
    assert len(turkic) == 5 and {row["metric"] for row in turkic} == {"chrf"}
    families = page.partition("## For each family of languages")[2].partition("## For each language")[0]
    named = re.findall(r"- ([\w-]+): use (?:[^(]+) \([^)]* on a set not seen\)", families)
    assert named == ["Turkic"]
    tasks = {row["dataset"]: load_card(row["dataset"]).tasks for row in rows}
    translation = [row["metric"] for row in rows if "translation" in tasks[row["dataset"]]]
    counts = translation.count("levenshtein"), len(translation), translation.count("bleu")
    assert "is the highest on {} of {} sets; BLEU, which was made for translation, on {}.".format(*counts) in page
    length = sum(could_be_best(row, "length") for row in rows)
    assert f"`length`, could be the best metric on {length} of {len(rows)} sets" in page
    highest = [f"{row['dataset']}:{row['split']}" for row in rows if row["metric"] == "length"]
    assert len(highest) == 2 and "On two sets, `{}` and `{}`, it is the highest.".format(*highest) in page
    exact = sum(could_be_best(row, "em") for row in rows)
    assert f"Exact match, `em`, could be the best on {exact} of {len(rows)} sets." in page
    known = [row for row in rows if row["low"]]
    near_zero = [row for row in known if float(row["low"]) < 0]
    assert f"On {len(near_zero)} of the {len(known)} sets with an interval" in page
    assert {("emnlp17-nlg", "informativeness"), ("afrimte", "eng-twi")} <= {
        (row["dataset"], row["split"]) for row in near_zero
    }
