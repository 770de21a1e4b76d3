"""``assay downstream``: tasks of own cards, the run folder of decisions, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("sklearn", reason="scikit-learn is absent: pip install assay[neural]")
pytest.importorskip("torch", reason="torch is absent: pip install assay[neural]")

from tests.metrics.models.tiny import make_bert

CARD = """
name = "{name}"
version = "1"
title = "toy"
language = "en"
licence = "none"
citation = "none"
reader = "table"
default_split = "{test}"
[scale]
low = 0
high = 1
meaning = "toy"
[classification]
suites = ["validation"]
{train}test = "{test}"
measures = ["accuracy", "f1"]
[options]
format = "tab"
header = ["sentence", "other", "class"]
columns = {{ reference = "{reference}", candidate = "sentence" }}
unlabelled = true
keep = ["class"]
{splits}
[[sources]]
kind = "path"
path = "{{name}}"
"""


def rewrite(path: str, cells: list[tuple[str, str]]) -> None:
    """Write rows of a text and its class in place of those of a part, which keeps its number of rows."""
    lines = [f"{text}\tc\t{name}" for text, name in cells]
    assert len(lines) == len(Path(path).read_text().splitlines())
    Path(path).write_text("\n".join(lines) + "\n")


def write_task(name: str, rows: dict[str, int], *, paired: bool = False) -> str:
    """Write a card of a task whose class is whether a sentence has the word b, and its files; return its path."""
    splits = ""
    for split, count in rows.items():
        lines = [f"a {'b' if n % 2 else 'c'} {'d' * (n % 5)}{n}\tc {n % 3}\t{n % 2}" for n in range(count)]
        Path(f"{name}-{split}.txt").write_text("\n".join(lines) + "\n")
        splits += f'[splits.{split}]\nfiles = ["{name}-{split}.txt"]\nrows = {count}\n'
        splits += f'[[files]]\nname = "{name}-{split}.txt"\n'
    test = list(rows)[-1]
    train = 'train = "train"\n' if "train" in rows else ""
    text = CARD.format(name=name, test=test, train=train, splits=splits, reference="other" if paired else "-")
    Path(f"{name}.toml").write_text(text)
    return f"{name}.toml"


@pytest.fixture
def models(workplace: Path) -> list[str]:
    first, second = (make_bert(workplace / f"m{seed}", pooling="mean", seed=seed) for seed in (0, 1))
    return ["-m", f"before=bi-encoder:{first}", "-m", f"after=bi-encoder:{second}"]


def test_folds_and_test_parts_side_by_side(assay, models: list[str]) -> None:
    tasks = [write_task("folds", {"all": 60}), write_task("parts", {"train": 40, "test": 30}, paired=True)]
    done = assay("downstream", *tasks, *models, "--folds", 5, "--out", "run", "--format", "csv", "-q")
    assert done.code == 0, done.err
    rows = {(row["task"], row["encoder"], row["measure"]): row for row in done.rows}
    assert len(rows) == 2 * 2 * 2
    for (task, encoder, _), row in rows.items():
        assert row["protocol"] == ("folds" if task == "folds" else "test")
        assert len(row["results"].split()) == (5 if task == "folds" else 1)
        assert float(row["low"]) <= float(row["value"]) <= float(row["high"])
        assert (row["difference"] == "") == (encoder == "before" or row["measure"] == "f1")
    assert float(rows["folds", "before", "accuracy"]["value"]) > 0.9
    assert (rows["parts", "before", "accuracy"]["train"], rows["parts", "before", "accuracy"]["n"]) == ("40", "30")
    gain = rows["folds", "after", "accuracy"]
    values = [float(rows["folds", encoder, "accuracy"]["value"]) for encoder in ("before", "after")]
    assert float(gain["difference"]) == pytest.approx(values[1] - values[0], abs=1e-9)

    # the accuracy is the pair accuracy of the run, which the other verbs read
    stored = json.loads(Path("run/downstream.json").read_text())
    assert {row["task"] for row in stored["results"]} == {"folds", "parts"}
    agreement = json.loads(Path("run/agreement.json").read_text())
    shown = {(row["dataset"], row["metric"]): row["value"] for row in agreement}
    assert shown == {
        (task, encoder): pytest.approx(float(rows[task, encoder, "accuracy"]["value"]), abs=1e-9)
        for task in ("folds", "parts")
        for encoder in ("before", "after")
    }
    table = assay("table", "run", "--by", "pair-accuracy", "--format", "md", "-q")
    assert table.code == 0 and "| before |" in table.out and "| after |" in table.out
    assert assay("compare", "run", "-q").code == 0
    assert assay("report", "run", "--out", "page.html", "-q").code == 0


def test_a_second_command_embeds_nothing(assay, models: list[str]) -> None:
    task = write_task("folds", {"all": 40})
    first = assay("downstream", task, *models, "--folds", 4, "--format", "csv", "-q").rows
    again = assay("downstream", task, *models, "--folds", 4, "--format", "csv", "-q").rows
    assert {row["embedded"] for row in first} == {row["texts"] for row in first}
    assert {row["embedded"] for row in again} == {"0"}
    unchanged = ("value", "low", "high", "results", "difference", "p")
    assert [[row[name] for name in unchanged] for row in first] == [[row[name] for name in unchanged] for row in again]


def test_an_encoder_is_not_told_from_itself(assay, models: list[str]) -> None:
    task = write_task("folds", {"all": 40})
    same = [*models[:2], "-m", models[1].replace("before", "copy")]
    rows = assay("downstream", task, *same, "--folds", 4, "--format", "csv", "-q").rows
    (gain,) = [row for row in rows if row["encoder"] == "copy" and row["measure"] == "accuracy"]
    assert (float(gain["difference"]), float(gain["p"])) == (0, 1)
    assert (gain["difference_low"], gain["difference_high"]) == ("", "")
    assert gain["difference_note"] == "no interval: all folds alike"


@pytest.mark.parametrize("name", ["label", "group", "reference", "candidate", "pair_id", "annotations", "dataset"])
def test_an_encoder_may_have_the_name_of_a_column_of_the_run(assay, models: list[str], name: str) -> None:
    task = write_task("parts", {"train": 20, "test": 12})
    named = ["-m", models[1].replace("before", name), "-m", models[3].replace("after", f"{name}-2")]
    done = assay("downstream", task, *named, "--out", "run", "--format", "csv", "-q")
    assert done.code == 0, done.err
    columns = json.loads(Path("run/downstream.json").read_text())["columns"]
    assert name not in columns.values() and len(set(columns.values())) == 2
    shown = {row["metric"]: row["value"] for row in json.loads(Path("run/agreement.json").read_text())}
    accuracies = {row["encoder"]: float(row["value"]) for row in done.rows if row["measure"] == "accuracy"}
    assert shown == {columns[encoder]: pytest.approx(value, abs=1e-9) for encoder, value in accuracies.items()}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-m", "f1"], "no task: give --suite sentence-tasks or --dataset TASK"),
        (["folds.toml"], "no encoder: give --metric bi-encoder:MODEL"),
        (["folds.toml", "-m", "f1"], "metric f1: gives no vector of a text; use bi-encoder:MODEL"),
        (["probe", "-m", "f1"], "there is no task 'probe'."),
        (["folds.toml", "-m", "f1", "--baseline", "x"], "--baseline x: is none of f1"),
        (["folds.toml", "-m", "f1", "--steps", "3"], "--steps 3: is for --fine-tune"),
        (["folds.toml", "-m", "a=f1", "-m", "a=chrf"], "two encoders have the same name"),
        (["one.toml", "-m", "f1"], "has one class alone, '0'"),
        (["folds.toml", "-m", "f1", "--folds", "21"], "--folds 21: expected 2 to 20, the number of rows or groups"),
        (["rte:train", "-m", "f1"], "rte:train: a task has parts of its own; name it without one: rte"),
        (["folds.toml", "-m", "f1", "--fine-tune", "--folds", "5"], "--folds 5: has no effect with --fine-tune"),
        (["folds.toml", "-m", "f1", "--fine-tune", "--fresh"], "has no effect with --fine-tune"),
        (["folds.toml", "-m", "f1", "--fine-tune", "--classifier", "hidden"], "hidden: has no effect with --fine-tune"),
        (["folds.toml", "-m", "f1", "--out", "folds.toml"], "folds.toml: is a file; give --out another name"),
    ],
    ids=[
        *("task", "encoder", "vector", "no-task", "baseline", "steps", "names", "class"),
        *("many-folds", "part", "tuned-folds", "tuned-fresh", "tuned-classifier", "file"),
    ],
)
def test_what_is_refused(assay, words: list[str], said: str) -> None:
    write_task("folds", {"all": 20})
    write_task("one", {"all": 1})
    assert said in assay("downstream", *words).complaint


@pytest.mark.parametrize("cell", ["", "  "], ids=["empty", "blanks"])
def test_a_row_without_a_class_is_refused(assay, cell: str) -> None:
    task = write_task("parts", {"train": 20, "test": 12})
    lines = Path("parts-test.txt").read_text().splitlines()
    lines[4] = lines[4].rpartition("\t")[0] + "\t" + cell
    Path("parts-test.txt").write_text("\n".join(lines) + "\n")
    said = assay("downstream", task, "-m", "f1").complaint
    assert "parts-test.txt (parts.toml, test), row 5" in said and "no class in the column 'class'; give it one" in said


def test_f1_of_three_classes_and_two_tasks_of_one_name_are_refused(assay) -> None:
    task = write_task("three", {"all": 20})
    path = Path("three-all.txt")
    path.write_text(path.read_text().rstrip()[:-1] + "2\n")
    assert "f1 is a measure of two classes, and there are 3" in assay("downstream", task, "-m", "f1").complaint
    Path("copy.toml").write_text(Path(task).read_text())
    said = assay("downstream", task, "copy.toml", "-m", "f1").complaint
    assert "three.toml and copy.toml: both tasks are named three; leave one out, or give one card another name" in said


def test_a_task_that_is_named_twice_is_one(assay, models: list[str]) -> None:
    task = write_task("folds", {"all": 20})
    rows = assay("downstream", task, f"./{task}", *models, "--folds", 4, "--format", "csv", "-q").rows
    assert [(row["task"], row["encoder"]) for row in rows if row["measure"] == "accuracy"] == [
        ("folds", "before"),
        ("folds", "after"),
    ]


@pytest.mark.parametrize(
    ("classes", "classifier"),
    [
        ("0" * 11 + "1", "logistic"),
        ("0" * 9 + "112", "logistic"),
        ("0011", "logistic"),
        ("0123", "hidden"),
        ("01", "logistic"),
    ],
    ids=["one-of-a-class", "two-rare", "two-of-each", "one-of-each", "two-rows"],
)
def test_rare_classes_and_few_rows_give_a_table_or_one_line(
    assay, models: list[str], classes: str, classifier: str
) -> None:
    task = write_task("few", {"all": len(classes)})
    rewrite("few-all.txt", [(f"a {'bcd'[int(name) % 3]} {n}", name) for n, name in enumerate(classes)])
    Path(task).write_text(Path(task).read_text().replace('"f1"]', '"f1-macro"]'))
    done = assay("downstream", task, *models[:2], "--folds", 2, "--classifier", classifier, "--format", "csv", "-q")
    if len(set(classes)) > 2 and len(classes) > 4:
        assert done.code == 0, done.err
        assert {row["n"] for row in done.rows} == {str(len(classes))}
    else:
        assert "few: fold " in done.complaint and "rows to train on" in done.complaint


def test_a_class_of_one_part_alone(assay, models: list[str]) -> None:
    task = write_task("parts", {"train": 20, "test": 6})
    Path(task).write_text(Path(task).read_text().replace('"f1"]', '"f1-macro"]'))
    rewrite("parts-test.txt", [(f"a b {n}", "1") for n in range(6)])
    done = assay("downstream", task, *models, "--format", "csv", "-q")
    assert done.code == 0 and {row["n"] for row in done.rows} == {"6"}
    rewrite("parts-test.txt", [(f"a b {n}", "012"[n % 3]) for n in range(6)])
    assert assay("downstream", task, *models, "-q").code == 0  # the third class is decided by nobody
    rewrite("parts-train.txt", [(f"a b {n}", "1") for n in range(20)])
    said = "parts: the training part: the 20 rows to train on have one class alone"
    assert said in assay("downstream", task, *models).complaint
    said = "parts: the 20 rows to train on have one class alone"
    assert said in assay("downstream", task, *models, "--fine-tune").complaint


def test_empty_and_equal_texts_are_embedded(assay, models: list[str]) -> None:
    task = write_task("folds", {"all": 20})
    rewrite("folds-all.txt", [("", "0"), *[(f"a {'bc'[n % 2]}", str(n % 2)) for n in range(19)]])
    rows = assay("downstream", task, *models, "--folds", 2, "--format", "csv", "-q").rows
    assert {row["texts"] for row in rows} == {"3"}


def test_a_folder_is_checked_before_the_work(assay, models: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    task = write_task("folds", {"all": 20})
    words = ["downstream", task, *models, "--folds", 2, "--out", "run", "-q"]
    assert assay(*words).code == 0
    before = Path("run/agreement.json").read_bytes()
    assert assay(*words).code == 0
    assert Path("run/agreement.json").read_bytes() == before
    # nothing can be embedded any more: whatever is refused now is refused before the work
    monkeypatch.setattr("assay.api.downstream.embed_texts", None)
    said = "run: holds another run; give --out another name or remove it"
    assert said in assay(*words, "--seed", 1).complaint
    Path("run/downstream.json").write_text("[]")
    assert said in assay(*words).complaint
    Path("run/mine.txt").write_text("x")
    assert "holds mine.txt beside the run" in assay(*words).complaint


def test_groups_of_rows_are_named_where_compare_does_not_keep_them(assay, models: list[str]) -> None:
    task = write_task("folds", {"all": 20})
    card = Path(task).read_text().replace("columns = {", 'columns = { group = "other",')
    Path(task).write_text(card)
    Path("folds-all.txt").write_text("".join(f"a {'bc'[n % 2]} {n}\tc {n // 3}\t{n % 2}\n" for n in range(20)))
    words = ["downstream", task, *models, "--folds", 2]
    said = "folds: the tests here keep its groups of rows together"
    alone, done = assay(*words), assay(*words, "--out", "r")
    assert said not in alone.out + alone.err and said in done.out + done.err
    assert "expected 2 to 7, the number of rows or groups" in assay(*words[:-1], 8).complaint


def test_what_an_encoder_cannot_do_is_one_line(assay, models: list[str]) -> None:
    task = write_task("parts", {"train": 20, "test": 12})
    said = assay("downstream", task, models[0], f"{models[1]},prefix=q", "--fine-tune").complaint
    assert "a fine-tuned copy reads texts in its own way; leave out prefix=q" in said
    Path("broken").mkdir()
    Path("broken/config.json").write_text("{}")
    done = assay("downstream", task, *models[:2], "-m", "bi-encoder:broken", "--offline")
    assert done.code in (1, 2) and "broken" in done.err and "Traceback" not in done.err
    card = Path(task).read_text().replace('candidate = "sentence"', 'candidate = "text"')
    Path(task).write_text(card)
    assert "'text'" in assay("downstream", task, *models).complaint


def test_a_sample_is_the_same_for_every_encoder(assay, models: list[str]) -> None:
    task = write_task("parts", {"train": 60, "test": 50})
    rows = assay("downstream", task, *models, "--sample", 20, "--format", "csv", "-q").rows
    assert {(row["train"], row["n"]) for row in rows} == {("20", "20")}
    assert len({row["texts"] for row in rows}) == 1


@pytest.mark.slow
def test_fine_tuned_copies_are_compared_by_seed(assay, models: list[str]) -> None:
    pytest.importorskip("accelerate", reason="accelerate is absent: pip install assay[train]")
    task = write_task("parts", {"train": 40, "test": 12})
    words = ["--fine-tune", "--seeds", 2, "--steps", 2, "--threads", 1, "--out", "run", "--format", "csv", "-q"]
    done = assay("downstream", task, *models, *words)
    assert done.code == 0, done.err
    rows = [row for row in done.rows if row["measure"] == "accuracy"]
    assert {row["protocol"] for row in rows} == {"seeds"} and {row["n"] for row in rows} == {"12"}
    agreement = json.loads(Path("run/agreement.json").read_text())
    values = {row["metric"]: row["value"] for row in agreement}
    for row in rows:
        results = [float(result) for result in row["results"].split()]
        assert results == pytest.approx([values[f"{row['encoder']}-seed{seed}"] for seed in (0, 1)], abs=1e-6)
        assert float(row["value"]) == pytest.approx(sum(results) / 2, abs=1e-6)
    refused = assay("downstream", write_task("folds", {"all": 20}), *models, "--fine-tune", "--steps", 2)
    assert "folds: has no part to train on; fine-tuning needs one" in refused.complaint
