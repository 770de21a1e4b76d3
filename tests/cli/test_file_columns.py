"""Files whose columns have other names: every verb that reads them can be told, and every hint leads on."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.calling import call

NAMES = "reference=gold,candidate=answer,label=score"
README = Path(__file__).parents[2] / "README.md"


@pytest.fixture
def answers(workplace):
    """Sixty answers with labels from 0 to 2, as the README has them."""
    # a second column with a usual name of references, so that none is taken without being told
    rows = [f"the capital of land {i},city {i} of land {i % 7},{i % 3},-" for i in range(60)]
    (workplace / "answers.csv").write_text("gold,answer,score,expected\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return workplace


@pytest.fixture
def base(workplace):
    """A tiny encoder."""
    pytest.importorskip("torch", reason="torch is absent: pip install assay[train]")
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is absent: pip install assay[train]")
    pytest.importorskip("accelerate", reason="accelerate is absent: pip install assay[train]")
    from tests.metrics.models.tiny import make_bert

    return make_bert(workplace / "base", pooling="mean")


def train(recipe, *more):
    return call("train", recipe, "--base", "base", "--out", "out", "--device", "cpu", "--threads", 1, *more)


def test_the_line_of_the_readme_trains_on_its_file(answers, base):
    text = README.read_text(encoding="utf-8").replace("\\\n", " ")
    (line,) = re.findall(r"^assay (train .*answers\.csv.*)$", text, flags=re.MULTILINE)
    done = call(
        *shlex.split(line.replace("all-MiniLM-L6-v2", "base")), "--epochs", 1, "--device", "cpu", "--threads", 1
    )
    assert done.code == 0, done.err
    facts = json.loads(Path("my-model/training.json").read_text(encoding="utf-8"))
    assert facts["settings"]["columns"] == NAMES
    assert f"--columns {NAMES}" in facts["command"]


@pytest.mark.parametrize("recipe", ["bi-encoder", "cross-encoder"])
def test_the_hint_of_a_training_leads_on(answers, base, recipe):
    given = ("--pairs", "answers.csv", "--scale", "0,2", "--epochs", 1)
    hint = train(recipe, *given).complaint.partition("Say which is which: ")[2]
    assert hint == f"--columns {NAMES}"
    assert train(recipe, *given, *hint.split()).code == 0
    told = train(recipe, *given[:-1], 2, "--columns", "reference=gold,candidate=answer", "--out", "other")
    assert "has no label, nor has another one; say which column they are: --columns label=COLUMN" in told.err


@pytest.mark.slow
def test_a_search_can_be_told(answers, base):
    pytest.importorskip("optuna", reason="optuna is absent: pip install assay[train]")
    (answers / "space.toml").write_text("[space.batch_size]\nchoices = [16]\n", encoding="utf-8")
    given = ("--base", "base", "--pairs", "answers.csv", "--scale", "0,2", "--trials", 1, "--epochs", 1)
    given = ("tune", "bi-encoder", *given, "--space", "space.toml", "--out", "tuned", "--device", "cpu", "--threads", 1)
    hint = call(*given).complaint.partition("Say which is which: ")[2]
    done = call(*given, *hint.split())
    assert done.code == 0, done.err
    facts = json.loads(Path("tuned/training.json").read_text(encoding="utf-8"))
    assert f"--columns {NAMES}" in facts["command"]


def test_recipes_on_graphs_can_be_told(answers, base):
    # what is missing after the columns are told are the graphs
    told = train("mid-tuning", "--forms", "answers.csv", "--columns", NAMES)
    assert "answers.csv: has no column 'reference_graph'" in told.complaint.partition("assay: ")[2]
    (answers / "frames.jsonl").write_text("", encoding="utf-8")
    told = train("mid-tuning", "--forms", "frames.jsonl", "--test", "answers.csv").complaint
    assert told.endswith(f"--columns {NAMES}")
    assert (
        "--forms: 0 sentences"
        in train("mid-tuning", "--forms", "frames.jsonl", "--test", "answers.csv", "--columns", NAMES).err
    )


@pytest.mark.parametrize(
    "given",
    [
        ("train", "bi-encoder", "--base", "base", "--pairs", "probe"),
        ("train", "s3bert", "--base", "base", "--pairs", "bamboo-sts:train"),
        ("train", "mid-tuning", "--base", "base", "--forms", "frames.jsonl"),
        ("tune", "cross-encoder", "--base", "base", "--pairs", "probe"),
    ],
    ids=lambda given: given[1],
)
def test_columns_without_a_file_are_refused(answers, given):
    assert "--columns is for files of your own" in call(*given, "--columns", NAMES, "--out", "out").complaint
    assert "'refrence'" in call(*given, "--columns", "refrence=gold", "--out", "out").complaint
    assert "Invalid value" not in call(*given, "--columns", "label=score", "--out", "out").complaint


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["errors", "thresholds", "compare", "leaderboard", "crossval", "report"])
def test_the_hint_of_a_report_is_a_line_that_helps(answers, verb):
    scored = answers / "scored.csv"
    rows = (answers / "answers.csv").read_text(encoding="utf-8").splitlines()
    scored.write_text(
        "\n".join([rows[0] + ",f1,label_1", *(f"{row},{i % 5 / 4},-" for i, row in enumerate(rows[1:]))]) + "\n",
        encoding="utf-8",
    )
    out = ("--out", "page.html") if verb == "report" else ()
    told = call(verb, "scored.csv", *out).complaint
    assert told.count("--columns") == 1 and "it has gold, answer, score, expected, f1, label_1." in told
    line = told.partition("makes a run of the file: assay ")[2]
    assert line == "agree scored.csv --columns label=score,reference=gold,candidate=answer --out RUN"
    assert call(*line.split()).code == 0
    more = ("--positive", "label>=2") if verb == "thresholds" else ()
    assert call(verb, "RUN", *out, *more).code == (2 if verb == "compare" else 0)  # of one metric there is no couple


@pytest.mark.parametrize("verb", ["errors", "thresholds", "compare", "leaderboard", "check"])
def test_metrics_of_a_run_are_no_names_to_look_up(verb):
    told = " ".join(call(verb, "--help").out.split())
    assert "A metric of the run; repeatable [default: every one]." in told
    assert "assay metrics list" not in told


@pytest.mark.parametrize(
    "given",
    [
        ("train", "bi-encoder", "--base", "b", "--pairs", "p.csv", "--out", "o"),
        ("tune", "bi-encoder", "--base", "b", "--pairs", "p.csv", "--out", "o"),
        ("crossval", "--dataset", "p.csv", "--train", "bi-encoder:b"),
        ("errors", "RUN"),
    ],
    ids=lambda given: given[0],
)
def test_a_scale_has_one_spelling(given):
    assert "--scale LOW,HIGH" in call(*given[: 2 if given[0] == "train" else 1], "--help").out
    for words in (("0", "2"), ("0",), ("0,a",), ("0,1,2",)):
        assert "must be two numbers with a comma between them" in call(*given, "--scale", *words).complaint
