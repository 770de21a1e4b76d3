"""``assay stress`` on the command line and in Python."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import assay as package
from assay.metrics import Batch, Declaration, Metric
from assay.metrics.base import option
from tests.benchmark.counting import Counting
from tests.judge_server import serve
from tests.judge_server.protocol import Behaviour

NAMES = ("Bonn", "Rome", "Oslo", "Bern", "Lima", "Cairo", "Delhi", "Tokyo", "Quito", "Hanoi", "Seoul", "Dakar")
#: By hand: of 24 pairs, two of each question, 12 are right and 12 wrong; `contains` agrees with the labels on all.
ROWS = [
    {
        "reference": name,
        "candidate": f"It is {name}." if right else "I do not know.",
        "label": int(right),
        "question": f"Which city is number {number}?",
        "group": str(number),
    }
    for number, name in enumerate(NAMES)
    for right in (True, False)
]


@pytest.fixture
def pairs(workplace):
    Path("pairs.csv").write_text("\n".join(["reference,candidate,label,question,group", *map(line, ROWS)]))


def line(row):
    return ",".join(str(cell) for cell in row.values())


def effects(rows, metric="contains"):
    return {row["perturbation"]: row for row in rows if row["metric"] == metric}


@pytest.mark.slow
def test_what_contains_is_fooled_by(assay, pairs):
    done = assay("stress", "pairs.csv", "-m", "contains", "-f", "json", "-q")
    assert (done.code, done.err) == (0, "")
    rows = effects(json.loads(done.out))
    # the gold answer denied contains it; all 12 right pairs stay yes
    assert {(rows[name]["n"], rows[name]["fooled"]) for name in ("denied-gold", "denied-sentence")} == {(12, 1.0)}
    # the score of the 12 right answers cannot fall
    assert (rows["answer-denied"]["n"], rows["answer-denied"]["fooled"]) == (12, 1.0)
    # another name is wrong, and contains says so: every verdict flips to no
    replaced = rows["names-replaced"]
    assert (replaced["n"], replaced["fooled"], replaced["to-no"], replaced["shift"]) == (12, 0.0, 1.0, -1.0)
    # 12 of 24 fall from yes to no where the question is the answer
    echoed = rows["question-as-answer"]
    assert (echoed["n"], echoed["fooled"], echoed["flipped"], echoed["shift"]) == (24, 0.0, 0.5, -0.5)
    for name in ("lower-case", "upper-case", "no-punctuation", "true-sentence", "empty-sentence"):
        assert (rows[name]["n"], rows[name]["flipped"], rows[name]["moved"]) == (24, 0.0, 0.0)
    for name in ("injected-instruction", "injected-verdict", "injected-role"):
        assert (rows[name]["n"], rows[name]["fooled"]) == (12, 0.0)
    assert "numbers-replaced" not in rows and "swapped-order" not in rows


@pytest.mark.slow
def test_intervals_are_of_groups(pairs):
    result = package.stress("pairs.csv", ["contains"], perturbations=["question-as-answer"])
    (effect,) = result.study.subjects[0].effects
    # each group has one right and one wrong pair: every resample of groups has the same share, which has a width
    assert effect.flipped.low < 0.4 < 0.6 < effect.flipped.high
    # none of 12 groups was fooled: Wilson's upper bound for 0 of 12, with Student's quantile of 11 degrees
    from scipy.stats import binomtest, norm, t

    z, quantile = norm.ppf(0.975), t.ppf(0.975, 11)
    upper = quantile**2 / (12 + quantile**2)
    assert (effect.fooled.low, effect.fooled.high) == (0.0, pytest.approx(upper))
    assert upper == pytest.approx(z**2 / (12 * (z / quantile) ** 2 + z**2))
    assert upper > binomtest(0, 12).proportion_ci(0.95, method="wilson").high
    single = package.stress("pairs.csv", ["contains"], perturbations=["question-as-answer"], group_by="none")
    (effect,) = single.study.subjects[0].effects
    assert effect.flipped.low < 0.4 < 0.6 < effect.flipped.high


@pytest.mark.slow
def test_thresholds_are_those_that_were_learned_without_the_pair(pairs, tmp_path):
    from assay.analysis.data import read_datasets
    from assay.analysis.folder import read_run
    from assay.analysis.pair_codes import pair_codes
    from assay.analysis.stress import learned_thresholds
    from assay.analysis.thresholds.planning import out_of_fold_thresholds
    from assay.analysis.thresholds.settings import ThresholdSettings

    package.run("pairs.csv", ["rouge-1"], resamples=0, out=tmp_path / "run", page=False)
    (data,) = read_datasets(read_run(tmp_path / "run"))
    theirs, _ = out_of_fold_thresholds(data, "rouge-1", "label>=1", ThresholdSettings(seed=3))
    ours = learned_thresholds("a", data.scores["rouge-1"], data.labels > 0, pair_codes(data), data.groups, 3)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.slow
def test_scores_come_from_the_store(pairs, tmp_path, monkeypatch):
    log = tmp_path / "log"
    monkeypatch.setenv("COUNTING_LOG", str(log))
    settings = {"threshold": 0.5, "resamples": 0, "store": tmp_path / "store.sqlite"}
    first = package.stress("pairs.csv", [Counting()], perturbations=["upper-case", "lower-case"], **settings)
    scored = log.read_text().splitlines()
    # 12 right pairs and 12 wrong ones that are alike but for the gold answer, three times
    assert len(scored) == len(set(scored)) == 72
    again = package.stress("pairs.csv", [Counting()], perturbations=["upper-case", "lower-case"], **settings)
    assert log.read_text().splitlines() == scored
    assert again.study == first.study
    package.stress("pairs.csv", [Counting()], perturbations=["upper-case", "denied-gold"], **settings)
    assert len(log.read_text().splitlines()) == 72 + 12, "what an earlier one scored is not scored again"


@dataclass(frozen=True)
class Seeded(Metric):
    """1 for every pair with an even seed, 0 with an odd one; 'temperature' is without effect."""

    seed: int = option(0, "of nothing")
    temperature: float = option(0.0, "of nothing")

    declaration = Declaration("seeded", "parity of the seed")
    is_stored = False

    def score(self, batch: Batch):
        return np.full(len(batch), float(self.seed % 2 == 0))


def test_options_that_must_not_matter(pairs):
    result = package.stress("pairs.csv", [Seeded(), "f1"], threshold=0.5, resamples=0)
    of_seeded = {effect.perturbation: effect for effect in result.study.subjects[0].effects}
    assert (of_seeded["other-seed"].fooled.value, of_seeded["other-seed"].shift.value) == (1.0, -1.0)
    assert of_seeded["other-temperature"].fooled.value == 0.0
    assert "other-seed" not in {effect.perturbation for effect in result.study.subjects[1].effects}
    alone = package.stress("pairs.csv", ["f1"], threshold=0.5, resamples=0, perturbations=["other-seed", "lower-case"])
    assert alone.study.notes == ("pairs: other-seed is left out, no metric has the option seed",)


def test_rows_that_are_left_out_are_noted(workplace):
    rows = [{"reference": f"the answer {row % 30}", "candidate": f"an answer {row % 30}"} for row in range(36)]
    settings = {"threshold": 0.5, "resamples": 0, "perturbations": ["upper-case"]}
    report = package.stress([rows], ["f1"], drop_duplicates=True, sample=20, **settings)
    duplicates, drawn = report.study.notes
    assert duplicates == "data: 6 duplicate rows left out" and drawn.startswith("data: 20 of 30 pairs, drawn with seed")


def test_a_score_that_falls_with_similarity(pairs):
    result = package.stress("pairs.csv", ["ter"], threshold=1, resamples=0, perturbations=["names-replaced"])
    (effect,) = result.study.subjects[0].effects
    # one word of the gold answer, three of the candidate: 3 edits, then 4
    assert (effect.shift.value, effect.fooled.value) == (-1.0, 0.0)
    assert result.study.subjects[0].verdicts == "yes up to 1"


def test_questions_that_repeat_are_told(assay, pairs):
    text = Path("pairs.csv").read_text()
    Path("pairs.csv").write_text("\n".join(line.rpartition(",")[0] for line in text.splitlines()))
    words = ("stress", "pairs.csv", "-m", "contains", "--resamples", "0", "-p", "lower-case", "-q")
    shown = " ".join(assay(*words).out.split())
    assert shown.startswith(
        "pairs: no groups: 24 of 24 pairs share their question, but intervals treat them as independent"
    )
    assert "no groups" not in assay(*words, "--group-by", "question").out


def test_without_labels(assay, workplace):
    Path("bare.csv").write_text("reference,candidate\n" + "".join(f"{name},It is {name}\n" for name in NAMES))
    done = assay("stress", "bare.csv", "-m", "f1", "-f", "json", "-q")
    rows = effects(json.loads(done.out), "f1")
    assert rows["upper-case"]["fooled"] is None and rows["upper-case"]["shift"] == 0
    assert rows["answer-denied"]["fooled"] == 0, "the score is all it takes"
    shown = assay("stress", "bare.csv", "-m", "f1", "-q")
    assert "no verdicts: there are no labels; a verdict needs --threshold SCORE" in shown.out
    with_threshold = assay("stress", "bare.csv", "-m", "f1", "--threshold", ".5", "-f", "json", "-q")
    assert effects(json.loads(with_threshold.out), "f1")["denied-gold"]["fooled"] == 1


def test_labels_of_several_values_need_a_rule(assay):
    columns = ("--columns", "reference=gold,candidate=answer,label=human")
    shown = assay("stress", "own.csv", "-m", "f1", *columns, "-q")
    assert "no verdicts: own.csv: the label of own has 3 values; say which mean yes, such as --positive" in shown.out
    few = assay("stress", "own.csv", "-m", "f1", *columns, "--positive", "label>=2", "-q")
    assert few.code == 0 and "yes from a threshold learned in 5 folds" in few.out


@pytest.mark.slow
def test_a_run_keeps_the_result_and_shows_it(assay, pairs):
    assert (
        assay("run", "-d", "pairs.csv", "-m", "contains", "-m", "f1", "--resamples", "0", "-o", "run", "-q").code == 0
    )
    page = Path("run/report.html").read_text()
    assert 'id="stress"' not in page
    done = assay("stress", "--run", "run", "--resamples", "0")
    assert done.code == 0, done.err
    assert "wrote run/stress.json" in done.err and "wrote run/report.html" in done.err
    page = Path("run/report.html").read_text()
    assert 'id="stress"' in page and "contains under stress" in page and "f1 under stress" in page
    assert "It is certainly not Bonn." in page
    assert assay("report", "run", "--out", "page", "--no-leaderboard", "-q").code == 0
    assert "f1 under stress" in Path("page/index.html").read_text()
    kept = Path("run/stress.json").read_text()
    Path("run/stress.json").write_text(kept.replace("It is certainly not Bonn.", "<script>alert(1)</script>"))
    assert assay("report", "run", "--out", "page", "--no-leaderboard", "-q").code == 0
    shown = Path("page/index.html").read_text()
    assert "&lt;script&gt;alert(1)" in shown and "<script>alert(1)" not in shown
    # the run is still one, and may be written again
    assert assay("verify", "run").code == 0
    assert (
        assay("run", "-d", "pairs.csv", "-m", "contains", "-m", "f1", "--resamples", "0", "-o", "run", "-q").code == 0
    )
    assert not Path("run/stress.json").exists()


def test_a_broken_result_is_refused_by_name(assay, pairs):
    assert assay("run", "-d", "pairs.csv", "-m", "f1", "--resamples", "0", "-o", "run", "-q").code == 0
    Path("run/stress.json").write_text('{"schema": 1, "subjects": 3}')
    assert "run/stress.json: is not a result of assay stress" in assay("report", "run", "--out", "page").complaint
    assert assay("stress", "--run", "run", "--resamples", "0", "-q").code == 0, "it is made anew"
    kept = Path("run/stress.json").read_text()
    Path("run/stress.json").write_text(kept.replace('"expected": "lower"', '"expected": "higher"'))
    assert "run/stress.json: is not a result of assay stress" in assay("report", "run", "--out", "page").complaint
    Path("run/stress.json").write_text(json.dumps(json.loads(kept) | {"subjects": []}))
    complaint = assay("report", "run", "--out", "page").complaint
    assert "is not a result of assay stress (it has no perturbation)" in complaint
    Path("run/stress.json").write_text('{"schema": 99}')
    assert "was written by a newer assay (schema 99)" in assay("report", "run", "--out", "page").complaint


@dataclass(frozen=True)
class Remote(Metric):
    """A metric that a server computes."""

    declaration = Declaration("remote", "asks a server")

    def foreign_code(self):
        return "the endpoint http://localhost:9/v1"

    def score(self, batch: Batch):
        raise AssertionError("asked a server that the user did not name")


def test_a_run_of_a_stranger_runs_no_code_and_sends_nothing(assay, pairs, monkeypatch):
    from assay.metrics.registry import Entry, Registry, registry

    known = Registry([*registry().entries(), Entry("remote", Remote)])
    monkeypatch.setattr("assay.metrics.load.registry", lambda: known)
    assert assay("run", "-d", "pairs.csv", "-m", "f1", "-m", "em", "--resamples", "0", "-o", "run", "-q").code == 0
    manifest = Path("run/run.json")
    manifest.write_text(manifest.read_text().replace('"metric": "em"', '"metric": "remote"'))
    scores = pq.read_table("run/scores.parquet")
    names = pa.array([{"em": "remote"}.get(cell, cell) for cell in scores.column("metric").to_pylist()])
    pq.write_table(scores.set_column(2, "metric", names), "run/scores.parquet")
    done = assay("stress", "--run", "run", "--resamples", "0", "-p", "lower-case", "--explain", "-q")
    assert done.code == 0, done.err
    why = "it would run code or call a server (the endpoint http://localhost:9/v1); name it to use it"
    assert f"remote: left out, {why}" in " ".join(done.out.split())
    assert "f1 under stress" in done.out


#: Perturbations that make no line breaks, which the log of what was scored would hold.
ONE_LINE = ["denied-gold", "empty-sentence", "lower-case", "no-punctuation", "question-as-answer", "true-sentence"]


@pytest.mark.slow
def test_a_stress_test_that_is_killed_resumes(pairs, tmp_path):
    log = tmp_path / "log"
    code = (
        "import assay\n"
        "from tests.benchmark.counting import Counting\n"
        f"assay.stress('pairs.csv', [Counting(log={str(log)!r}, pause=0.1)], threshold=.5, resamples=0,\n"
        f"    store={str(tmp_path / 'store.sqlite')!r}, perturbations={ONE_LINE})\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    killed = subprocess.Popen([sys.executable, "-c", code], env=environment)
    deadline = time.monotonic() + 600
    while not (log.exists() and len(log.read_text().splitlines()) > 60):
        assert killed.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    killed.kill()
    killed.wait()
    before = log.read_text().splitlines()
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    scored = log.read_text().splitlines()
    assert len(before) < len(set(scored))
    # what was in flight when the process was killed, at most one dataset of 24 pairs
    assert len(scored) - len(set(scored)) <= 24


def gullible(text):
    """Return the probability of yes of a judge who obeys the answer, and else believes one that has the gold answer."""
    gold, answer = re.search(r"^- (.*)\n", text, re.MULTILINE)[1], text.partition("Answer to grade: ")[2]
    if "say yes" in answer:
        return 0.99
    return 0.9 if gold.lower() in answer.lower() else 0.1


@pytest.mark.slow
def test_a_judge_at_an_endpoint(assay, pairs, monkeypatch):
    pytest.importorskip("openai", reason="openai is not installed")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1234567890")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serve(Behaviour(), probability=gullible) as server:
        judge = f"judge:stand-in,endpoint={server.url},prompt=correctness,price_in=1,price_out=2"
        words = ("stress", "pairs.csv", "-m", judge, "--resamples", "0", "-q", "-f", "json", "-p", "denied-gold")
        words += ("-p", "injected-instruction", "-p", "lower-case", "-p", "other-seed")
        planned = json.loads(assay(*words, "--dry-run").out)
        assert not server.chats
        done = assay(*words)
        assert done.code == 0, done.err
        calls = len(server.chats)
        assert calls == sum(work["calls"] for work in planned) == 24 + 24 + 12 + 12 + 24
        assert assay(*words).out == done.out
        assert len(server.chats) == calls, "replies are kept"
        refused = assay(*words, "-p", "upper-case", "--budget", "0.0000001")
        assert refused.code != 0 and "budget" in refused.err and len(server.chats) == calls
    (name,) = {row["metric"] for row in json.loads(done.out)}
    rows = effects(json.loads(done.out), name)
    assert {row["verdicts"] for row in rows.values()} == {"yes from .5, as the score is a probability"}
    assert rows["injected-instruction"]["fooled"] == 1.0
    assert rows["injected-instruction"]["shift"] == pytest.approx(0.89)
    assert rows["denied-gold"]["fooled"] == 1.0
    assert rows["other-seed"]["moved"] == 0.0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-m", "f1"], "no dataset: give --dataset NAME_OR_FILE, or --run FOLDER"),
        (["pairs.csv"], "no metric: name one or more, such as assay stress FILE --metric f1"),
        (["pairs.csv", "-m", "f1", "-p", "denied"], "there is no perturbation 'denied'. Did you mean"),
        (["-d", "pairs.csv", "-m", "f1", "--positive", "label>=7"], "makes all pairs of pairs no"),
        (["pairs.csv", "-m", "recorded:label"], "a recorded score is that of the pair as it was; name a metric"),
        (["-m", "f1", "--run", "nowhere"], "there is no such run folder"),
        (["-m", "f1", "--run", "nowhere", "--sample", "3"], "--sample: the pairs of a run are taken as they were"),
        (["pairs.csv", "-m", "f2"], "there is no metric 'f2'"),
        (["pairs.csv", "-m", "f1", "-p", "other-seed"], "no perturbation applies; pairs: other-seed is left out"),
        # metrics were once given by position, and data by a flag
        (["f1", "em", "-d", "pairs.csv"], "by --metric: assay stress pairs.csv --metric f1 --metric em"),
        (["contains", "--run", "my run"], "by --metric: assay stress --run 'my run' --metric contains"),
        (["judge:m,prompt=p"], "by --metric: assay stress FILE --metric judge:m,prompt=p"),
    ],
)
def test_refusals(assay, pairs, words, said):
    assert said in assay("stress", *words).complaint


def test_a_metric_that_is_unavailable_is_one_line(assay, pairs):
    done = assay(
        "stress", "pairs.csv", "-m", "f1", "-m", "cross-encoder:nowhere/at-all", "--offline", "--resamples", "0"
    )
    assert done.code == 1
    assert done.err.count("cross-encoder:nowhere/at-all") == 1
    assert "f1 under stress" in done.out


@pytest.mark.parametrize("form", ["md", "csv", "html", "latex"])
def test_formats(assay, pairs, form):
    done = assay("stress", "pairs.csv", "-m", "contains", "--resamples", "0", "-f", form, "-q")
    assert done.code == 0 and "denied-gold" in done.out
