"""``assay rate``, ``assay annotate`` and ``assay score --decision``: from labelled answers to those nobody labelled."""

from __future__ import annotations

import csv
import json
import re
import shutil

import numpy as np
import pytest

import assay as package
from assay.analysis.data import read_datasets
from assay.analysis.folder import read_run
from assay.analysis.rate.sampling import draw_answers
from assay.analysis.recommend.best_systems import best_systems
from assay.analysis.settings import SystemSettings
from assay.analysis.systems import study_systems
from assay.exceptions import InputError
from assay.statistics.expectation import expected_labels

WORDS = [f"word{number}" for number in range(30)]
#: The share of right answers of each system, and how often f1 misjudges an answer.
SHARES = {"alpha": 0.6, "beta": 0.8}
NOISE = 0.1


def made_rows(seed, n, *, shares=SHARES):
    """Answers of two systems to n questions each: right ones repeat the gold answer, but for some of either kind."""
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(n):
        gold = " ".join(rng.choice(WORDS, 3, replace=False))
        for system, share in shares.items():
            right = rng.random() < share
            looks_right = right != (rng.random() < NOISE)
            words = gold.split()
            answer = gold if looks_right else " ".join([words[0], *rng.choice(["sun", "moon", "star", "sky"], 2)])
            rows.append((f"q{seed}-{item}", gold, answer, system, "right" if right else "wrong"))
    return rows


def write(path, rows, *, labels=True):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["question", "reference", "candidate", "system", *(["label"] if labels else [])])
        writer.writerows(row if labels else row[:-1] for row in rows)


def true_shares(rows):
    return {
        system: np.mean([row[-1] == "right" for row in rows if row[3] == system]) for system in {row[3] for row in rows}
    }


@pytest.fixture(scope="module")
def labelled_folder(tmp_path_factory):
    """A folder with a decision, labelled and new answers."""
    folder = tmp_path_factory.mktemp("decided")
    write(folder / "labelled.csv", made_rows(1, 100))
    write(folder / "new.csv", made_rows(2, 600), labels=False)
    settings = {"labels": "right=1,wrong=0", "metrics": ["f1"], "resamples": 100, "cost": "fp=2,fn=1"}
    package.recommend(folder / "labelled.csv", **settings, store=folder / "scores.sqlite", out=folder / "decision")
    return folder


@pytest.fixture
def decided(assay, workplace, monkeypatch, labelled_folder):
    """The same in the working folder."""
    monkeypatch.setenv("ASSAY_CACHE", str(workplace / "cache"))
    shutil.copytree(labelled_folder, workplace, dirs_exist_ok=True)
    return assay


def test_each_share_is_in_its_interval_and_better_known_than_by_labels_alone(decided):
    done = decided("rate", "new.csv", "--decision", "decision", "-f", "json", "-q")
    assert done.code == 0, done.err
    truth = true_shares(made_rows(2, 600))
    found = {row["part"]: row for row in json.loads(done.out)["estimates"]}
    assert found.keys() == {"all", "alpha", "beta"}
    for system, share in truth.items():
        row = found[system]
        assert row["low"] < share < row["high"]
        assert (row["answers"], row["labelled"], row["borrowed"]) == (600, 100, False)
        # a metric that is right on nine of ten answers more than doubles what labels are worth
        assert row["worth_labels"] > 150
        assert row["high"] - row["low"] < row["labels_high"] - row["labels_low"]
        assert row["rogan_gladen_low"] < share < row["rogan_gladen_high"]
    (difference,) = json.loads(done.out)["differences"]
    assert (difference["first"], difference["second"]) == ("beta", "alpha")
    assert difference["low"] < truth["beta"] - truth["alpha"] < difference["high"]
    text = decided("rate", "new.csv", "--decision", "decision").out
    assert "your 200 labels with f1 are worth" in text.replace("\n", " ")


def test_systems_that_borrow_the_same_labels_do_not_average_their_errors_out(decided, workplace):
    rows = [(*row[:3], f"new{number % 10}", row[-1]) for number, row in enumerate(made_rows(3, 500))]
    write(workplace / "ten.csv", rows, labels=False)
    done = decided("rate", "ten.csv", "--decision", "decision", "-f", "json", "-q")
    found = {row["part"]: row for row in json.loads(done.out)["estimates"]}
    assert found["new3"]["borrowed"] and found["all"]["borrowed"]
    numbers = [found["all"][name] for name in ("value", "low", "high")]
    assert numbers == [found["all"][f"rogan_gladen{end}"] for end in ("", "_low", "_high")]


def test_all_answers_of_one_new_system_have_the_estimate_of_that_system(decided, workplace):
    write(workplace / "gamma.csv", made_rows(4, 200, shares={"gamma": 0.3}), labels=False)
    done = decided("rate", "gamma.csv", "--decision", "decision", "-f", "json", "-q")
    whole, gamma = json.loads(done.out)["estimates"]
    assert (whole.pop("part"), gamma.pop("part")) == ("all", "gamma")
    assert gamma["borrowed"]
    assert {name: whole[name] for name in ("value", "low", "high", "labelled", "borrowed")} == {
        name: gamma[name] for name in ("value", "low", "high", "labelled", "borrowed")
    }


def test_a_system_without_labels_borrows_the_errors_of_the_others(decided, workplace):
    write(workplace / "other.csv", made_rows(3, 200, shares={"gamma": 0.3, "beta": 0.8}), labels=False)
    done = decided("rate", "other.csv", "--decision", "decision", "-f", "json", "-q")
    found = {row["part"]: row for row in json.loads(done.out)["estimates"]}
    assert found["gamma"]["borrowed"] and not found["beta"]["borrowed"]
    # the labelled answers are right far more often; that must not draw the estimate up
    truth = true_shares(made_rows(3, 200, shares={"gamma": 0.3, "beta": 0.8}))
    assert found["gamma"]["low"] < truth["gamma"] < found["gamma"]["high"] < 0.55
    # nor that of all answers, which is the sum over systems
    assert found["all"]["borrowed"]
    assert found["all"]["low"] < np.mean(list(truth.values())) < found["all"]["high"]
    assert "* no labels of its own" in decided("rate", "other.csv", "--decision", "decision").out
    write(workplace / "wrong.csv", made_rows(4, 200, shares={"gamma": 0.05}), labels=False)
    text = decided("rate", "wrong.csv", "--decision", "decision").out
    assert "the new answers differ from the labelled ones in their scores of f1" in text.replace("\n", " ")


def test_labels_of_groups_are_worth_labels(decided, workplace):
    """Each label counts, also where the answers of both systems to a question are one group."""
    options = ("--labels", "right=1,wrong=0", "-m", "f1", "-b", "none", "--resamples", 100, "-q")
    assert decided("recommend", "labelled.csv", *options, "--group-by", "question", "-o", "grouped").code == 0
    done = decided("rate", "new.csv", "--decision", "grouped", "-f", "json", "-q")
    for part in json.loads(done.out)["estimates"]:
        assert part["labelled"] == (200 if part["part"] == "all" else 100)
        assert part["worth_labels"] > 1.2 * part["labelled"]


def test_a_sheet_goes_from_annotate_to_rate(decided, workplace):
    done = decided("annotate", "new.csv", "--decision", "decision", "-n", 120, "--doubles", 30, "--out", "sheet.csv")
    assert done.code == 0, done.err
    rows = list(csv.DictReader((workplace / "sheet.csv").open()))
    assert len(rows) == 150
    assert [row["annotator"] for row in rows] == ["first"] * 120 + ["second"] * 30
    assert not any("f1" in name for name in rows[0]), "a score would sway people"
    assert sum(float(row["weight"]) for row in rows[:120]) == pytest.approx(1200)
    truth = {(row[0], row[3]): row[4] for row in made_rows(2, 600)}
    for row in rows:
        row["label"] = truth[row["question"], row["system"]]

    def label_by(chosen, name):
        with (workplace / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(
                row | {"label": row["label"] if keep else ""} for row, keep in zip(rows, chosen, strict=True)
            )
        options = ("--labels", "right=1,wrong=0", "--drop-unlabelled", "-m", "f1", "--resamples", 100, "-q")
        made = decided("recommend", f"{name}.csv", *options, "-o", name)
        assert made.code == 0, made.err
        return decided("rate", "new.csv", "--decision", name, "--confidence", 0.99, "-f", "json", "-q")

    shares = true_shares(made_rows(2, 600))
    whole = label_by([True] * 150, "whole")
    assert whole.code == 0, whole.err
    found = {row["part"]: row for row in json.loads(whole.out)["estimates"]}
    assert found["all"]["labelled"] == 120, "two labels of one answer are one pair"
    for system, share in shares.items():
        assert found[system]["low"] < share < found[system]["high"]
    # filled in by half: what was labelled stands for its whole stratum
    half = json.loads(label_by([place % 2 == 0 for place in range(150)], "half").out)["estimates"][0]
    assert half["low"] < np.mean(list(shares.values())) < half["high"]
    # edited texts are no longer answers of the file, nor is another system's name or question
    for number, column in enumerate(("candidate", "question", "system")):
        kept = rows[0][column]
        rows[0][column] += " edited"
        edited = label_by([True] * 150, f"edited{number}")
        assert edited.code == 2
        assert "1 of the 120 answers of the sheet, the first of them 2, are not among the new answers" in edited.err
        rows[0][column] = kept
    doubled = {(row["question"], row["system"]) for row in rows[120:]}
    single = next(place for place, row in enumerate(rows) if (row["question"], row["system"]) not in doubled)
    kept = rows[single]["stratum"]
    rows[single]["stratum"] = ""
    blank = label_by([True] * 150, "blank")
    assert f"the pair {single + 2} of blank has no stratum, which says what it stands for" in blank.err
    rows[single] |= {"stratum": kept, "stratum_size": "7"}
    assert f"the stratum {kept!r} of sizes has two sizes" in label_by([True] * 150, "sizes").err


def sheet_of(decided, workplace, change):
    """Draw a sheet, label it, change its rows, and rate the new answers by it."""
    assert decided("annotate", "new.csv", "--decision", "decision", "-n", 60, "--out", "sheet.csv", "-q").code == 0
    rows = list(csv.DictReader((workplace / "sheet.csv").open()))
    truth = {(row[0], row[3]): row[4] for row in made_rows(2, 600)}
    rows = change([row | {"label": truth[row["question"], row["system"]]} for row in rows])
    with (workplace / "filled.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    options = ("--labels", "right=1,wrong=0", "--drop-unlabelled", "-m", "f1", "-b", "none", "--resamples", 100, "-q")
    made = decided("recommend", "filled.csv", *options, "-o", "filled")
    assert made.code == 0, made.err
    return decided("rate", "new.csv", "--decision", "filled", "-q")


def other_labels(rows):
    return [row | {"label": "wrong" if place % 3 else "right"} for place, row in enumerate(rows)]


def test_a_sheet_that_was_filled_in_twice_is_told(decided, workplace):
    done = sheet_of(decided, workplace, lambda rows: rows + other_labels(rows))
    assert done.code == 2
    assert "60 of the 120 answers of the sheet, the first of them 62, are repeated: keep one row" in done.err


def edited_with_two_labels(rows):
    edited = rows[0] | {"candidate": rows[0]["candidate"] + " edited"}
    return [edited | {"label": "right"}, edited | {"label": "wrong"}, *rows[1:]]


def test_every_row_that_is_none_of_the_new_answers_counts(decided, workplace):
    done = sheet_of(decided, workplace, edited_with_two_labels)
    assert done.code == 2
    assert "2 of the 61 answers of the sheet, the first of them 2, are not among the new answers" in done.err


def respaced(rows):
    """What a spreadsheet does to texts: other space around and in them."""
    return [
        row | {"candidate": f" {row['candidate'].replace(' ', chr(0xA0))} ", "reference": row["reference"] + "\r"}
        for row in rows
    ]


def test_a_sheet_with_other_space_is_that_of_the_answers(decided, workplace):
    done = sheet_of(decided, workplace, respaced)
    assert done.code == 0, done.err


@pytest.mark.parametrize("separator", ["/", ";", " | "])
def test_gold_answers_of_a_sheet_are_those_of_the_answers(decided, workplace, separator):
    """A sheet has lists of gold answers, and the file that it was drawn from a separator."""

    def with_aliases(rows):
        return [(row[0], f"{row[1]}{separator}{row[1].split()[0]}ish", *row[2:]) for row in rows]

    for name, rows in (("labelled", made_rows(1, 100)), ("new", made_rows(2, 600))):
        write(workplace / f"{name}.csv", with_aliases(rows), labels=name == "labelled")
    options = ("--labels", "right=1,wrong=0", "-m", "f1", "-b", "none", "--resamples", 100, "-q")
    assert decided("recommend", "labelled.csv", "--separator", separator, *options, "-o", "aliases").code == 0
    assert decided("annotate", "new.csv", "--decision", "aliases", "-n", 60, "-o", "sheet.csv", "-q").code == 0
    rows = list(csv.DictReader((workplace / "sheet.csv").open()))
    truth = {(row[0], row[3]): row[4] for row in made_rows(2, 600)}
    with (workplace / "filled.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(row | {"label": truth[row["question"], row["system"]]} for row in rows)
    assert decided("recommend", "filled.csv", *options, "-o", "filled").code == 0
    done = decided("rate", "new.csv", "--decision", "filled", "-q", "-f", "json")
    assert done.code == 0, done.err
    estimates = json.loads(done.out)["estimates"]
    as_told = decided("rate", "new.csv", "--decision", "filled", "-q", "-f", "json", "--separator", separator)
    assert json.loads(as_told.out)["estimates"] == estimates
    text = " ".join(decided("rate", "new.csv", "--decision", "filled", "-q").out.split())
    assert "since the labelled answers have several gold answers each; say --separator if not so" in text


@pytest.mark.parametrize("column", ["stratum_size", "weight"])
@pytest.mark.parametrize("cell", ["-3", "0", "nan", "inf", "many", ""])
def test_a_weight_that_is_no_number_above_0_is_told(decided, workplace, column, cell):
    def change(rows):
        rows[5][column] = cell
        dropped = "stratum" if column == "weight" else "no column"
        return [{name: value for name, value in row.items() if not name.startswith(dropped)} for row in rows]

    done = sheet_of(decided, workplace, change)
    assert done.code == 2
    assert f"filled: {column} of the pair 7 of filled is {cell!r}; expected a number above 0: correct it" in done.err


def test_weights_that_are_probabilities_are_told(decided, workplace):
    def change(rows):
        return [
            {name: 1 / float(cell) if name == "weight" else cell for name, cell in row.items() if "stratum" not in name}
            for row in rows
        ]

    done = sheet_of(decided, workplace, change)
    assert done.code == 0, done.err
    assert "or its weights are not 1 / the probability of being drawn" in " ".join(done.out.split())


def test_labels_that_are_all_the_same_are_told(decided, workplace):
    done = sheet_of(decided, workplace, lambda rows: [row | {"label": "right"} for row in rows])
    assert done.code == 2 and done.err.count("\n") == 1
    assert "filled: no metric has an agreement: scores or labels do not vary; add other labels" in done.err


def test_a_sheet_by_two_people_has_one_pair_of_two_labels(decided, workplace):
    def by_two(rows):
        first, second = ([row | {"annotator": name} for row in rows] for name in ("Anna", "Ben"))
        return first + other_labels(second)

    done = sheet_of(decided, workplace, by_two)
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: [row | {"stratum_size": str(3 * int(row["stratum_size"]))} for row in rows],
        # weights of another program, without strata
        lambda rows: [
            {
                name: str(2 * float(cell) + place % 2) if name == "weight" else cell
                for name, cell in row.items()
                if not name.startswith("stratum")
            }
            for place, row in enumerate(rows)
        ],
    ],
)
def test_weights_that_do_not_add_up_are_told(decided, workplace, change):
    done = sheet_of(decided, workplace, change)
    assert done.code == 0, done.err
    text = " ".join((done.out + done.err).split())
    assert " answers and there are 1,200 new ones: " in text and "the labelled answers stand for " in text


def rated(decided, workplace, rows, *names):
    with (workplace / "other.csv").open("w", newline="") as file:
        csv.writer(file).writerows([names, *rows])
    done = decided("rate", "other.csv", "--decision", "decision", "-q")
    return done.code, " ".join((done.out + done.err).split())


def test_new_answers_of_another_kind_are_told(decided, workplace):
    rows = [row[:4] for row in made_rows(3, 100)]
    names = ("question", "reference", "candidate", "system")
    code, text = rated(decided, workplace, rows, *names)
    assert code == 0 and "written otherwise" not in text and "the labelled answers are of the systems" not in text
    # another language, in the same script and in another one
    for words in ("das weiß ich leider nicht", "\u6211\u4e0d\u77e5\u9053\u7b54\u6848"):
        code, text = rated(decided, workplace, [(*row[:2], words, row[3]) for row in rows], *names)
        assert code == 0
        assert re.search(
            r"written otherwise than the labelled ones: they share \d+% of their runs of three characters with them, "
            r"and these \d+% with each other",
            text,
        )
    # a system that the labelled answers lack, and systems under another name
    code, text = rated(decided, workplace, [(*row[:3], "gamma") for row in rows], *names)
    assert code == 0 and "* no labels of its own" in text
    code, text = rated(decided, workplace, rows, *names[:3], "who")
    assert code == 0
    assert "are of the systems alpha, beta, and the new ones have no column system: name theirs" in text
    # other names of columns are recognised, or asked for
    code, text = rated(decided, workplace, rows, "question", "gold", "answer", "system")
    assert code == 0 and "beta" in text
    # systems under another name, some of them blank, and few answers
    code, text = rated(decided, workplace, rows, *names[:3], "model")
    assert code == 0 and "no labels of its own" not in text
    code, text = rated(decided, workplace, [*rows, *((*row[:3], "") for row in rows[:9])], *names)
    assert code == 0 and "9 of 209 new answers name no system and count for all alone" in text
    code, text = rated(decided, workplace, rows[:7], *names)
    assert code == 0 and "all, alpha, beta: fewer than 20 new answers; estimated is what many answers" in text
    code, text = rated(decided, workplace, rows, "question", "left", "right", "system")
    assert code == 2 and "Say which is which: --columns candidate=CANDIDATE" in text


def test_a_decision_of_another_version_is_told(decided, workplace):
    file = workplace / "decision" / "decision.json"
    kept = json.loads(file.read_text())
    # a package in another version is told, another version of the metric refused
    kept["decision"]["signature"]["assay"] = "0.0.1"
    file.write_text(json.dumps(kept))
    done = decided("rate", "new.csv", "--decision", "decision", "-q")
    assert done.code == 0 and "f1: assay 0.0.1 then, " in " ".join((done.out + done.err).split())
    kept["decision"]["signature"]["version"] = "99"
    file.write_text(json.dumps(kept))
    done = decided("rate", "new.csv", "--decision", "decision", "-q")
    assert done.code == 2 and "f1: is another metric than the labelled answers were scored by (" in done.err


def test_what_was_rated_is_kept_for_the_page(decided, workplace):
    done = decided("rate", "new.csv", "--decision", "decision", "-f", "json", "-q", "--keep")
    assert done.code == 0, done.err
    whole, *systems = json.loads(done.out)["estimates"]
    assert decided("report", "decision", "--for", "decision", "--out", "page.html").code == 0
    page = (workplace / "page.html").read_text(encoding="utf-8")
    assert f"new: 1,200 answers that nobody labelled, share right {100 * whole['value']:.1f}" in page
    for part in systems:
        assert f"{part['part']} {100 * part['value']:.1f}" in page
    for command in (
        "assay rate NEW.csv --decision decision",
        "assay baseline decision --out baseline.json --ci github --system system",
        "assay check NEW.csv --against decision --system-by rate",
    ):
        words = " ".join(f"<span>{word}</span>" for word in command.split())
        assert f"<code>{words}</code>" in page
    # the same name again takes the place of the first; other labels make the estimates void
    assert decided("rate", "new.csv", "--decision", "decision", "-q", "--keep").code == 0
    assert len(json.loads((workplace / "decision/rates.json").read_text())["ratings"]) == 1
    assert decided("report", "decision", "--for", "decision", "--out", "page.md").code == 0
    assert "What to run next" in (workplace / "page.md").read_text(encoding="utf-8")
    (workplace / "decision/rates.json").write_text(
        (workplace / "decision/rates.json").read_text().replace('"digest": "', '"digest": "0')
    )
    assert decided("report", "decision", "--for", "decision", "--out", "page.html").code == 0
    assert "nobody labelled, share right" not in (workplace / "page.html").read_text(encoding="utf-8")


def test_recommend_writes_the_page_for_a_decision(decided, workplace):
    page = (workplace / "decision/decision.html").read_text(encoding="utf-8")
    assert "Use f1, and count a score of at least" in page


def test_a_sheet_with_labels_is_not_overwritten(decided):
    call = ("annotate", "new.csv", "--decision", "decision", "--out", "sheet.csv", "-q")
    assert decided(*call).code == 0
    again = decided(*call)
    assert again.code == 2
    assert "sheet.csv: exists, and may hold labels; give --out another name" in again.err


def test_score_adds_probability_and_decision(decided, workplace):
    done = decided("score", "new.csv", "--decision", "decision", "--ask-cost", 0.2, "--out", "scored.csv")
    assert done.code == 0, done.err
    rows = list(csv.DictReader((workplace / "scored.csv").open()))
    assert len(rows) == 1200
    for row in rows:
        probability = float(row["probability"])
        # the cheaper error to expect: a false yes costs 2, a false no 1
        expected = min(2 * (1 - probability), probability)
        assert (row["decision"] == "ask") == (expected > 0.2)
        assert 0 <= probability <= 1
    assert {row["decision"] for row in rows} <= {"yes", "no", "ask"}
    # the same output again is replaced, and JSON lines hold the same
    assert decided("score", "new.csv", "--decision", "decision", "--ask-cost", 0.2, "--out", "scored.csv").code == 0
    lines = "\n".join(json.dumps({key: row[key] for key in ("reference", "candidate")}) for row in rows)
    (workplace / "new.jsonl").write_text(lines + "\n")
    assert decided("score", "new.jsonl", "--decision", "decision", "--ask-cost", 0.2, "--out", "scored.jsonl").code == 0
    read = [json.loads(line) for line in (workplace / "scored.jsonl").read_text().splitlines()]
    assert [row["decision"] for row in read] == [row["decision"] for row in rows]


def test_what_cannot_be_rated_is_said_in_one_line(decided, workplace, monkeypatch):
    few = ("recommend", "few.csv", "--labels", "right=1,wrong=0", "-m", "f1", "-m", "em", "--resamples", 100, "-q")
    write(workplace / "few.csv", made_rows(5, 8))
    assert decided(*few, "-o", "few").code == 0
    done = decided("rate", "new.csv", "--decision", "few")
    assert done.code == 2
    assert "too few pairs differ in score to know whether a metric agrees with people: f1 (4 pairs" in done.err
    done = decided("rate", "new.csv", "--decision", "few", "--metric", "f1")
    assert done.code == 2
    assert "16 labelled answers or groups of them are too few for an estimate (at least 20)" in done.err
    rows = made_rows(6, 40)
    write(workplace / "few.csv", [(*row[:4], "wrong" if place < 2 else "right") for place, row in enumerate(rows)])
    assert decided(*few, "-o", "one-sided").code == 0
    done = decided("rate", "new.csv", "--decision", "one-sided")
    assert done.code == 2
    assert "of 80 labelled answers 2 are no (at least 3)" in done.err
    assert "no column" in decided("rate", "new.csv", "--decision", "decision", "--system", "who").err
    done = decided("score", "new.csv", "--decision", "few", "--metric", "f1", "--ask-cost", 1, "--out", "x.csv")
    assert done.code == 2
    assert "--ask-cost 1.0: compares with the costs of a false yes and a false no" in done.err
    file = workplace / "decision" / "decision.json"
    kept = json.loads(file.read_text())
    kept["decision"]["signature"]["stemmer"] = "porter"
    file.write_text(json.dumps(kept))
    done = decided("rate", "new.csv", "--decision", "decision")
    assert done.code == 2
    assert "f1: is another metric than the labelled answers were scored by (stemmer porter then, none now)" in done.err
    file.write_text(json.dumps(kept | {"decision": {"metric": "f1"}}))
    assert "decision.json: was changed by hand; run recommend again" in decided(
        "rate", "new.csv", "--decision", "decision"
    ).err.replace("\n", " ")


def test_grades_have_a_mean_label(assay, workplace, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(workplace / "cache"))
    grades = {"right": 5, "wrong": 1}
    rng = np.random.default_rng(8)
    rows = [(*row[:4], int(np.clip(grades[row[4]] + rng.integers(-1, 2), 1, 5))) for row in made_rows(1, 100)]
    write(workplace / "graded.csv", rows)
    write(workplace / "new.csv", made_rows(2, 600), labels=False)
    assert assay("recommend", "graded.csv", "-m", "f1", "--resamples", 100, "-q", "-o", "graded").code == 0
    rated = package.rate("new.csv", decision="graded")
    for part in rated.found.parts[1:]:
        share = true_shares(made_rows(2, 600))[part.name]
        mean = share * (4 + 2 / 3) + (1 - share) * (1 + 1 / 3)
        assert part.estimate.low < mean < part.estimate.high
    assert "mean label of 1,200 answers: 3." in rated.to_text("md").replace("*", "")


def test_strata_hold_equal_scores_together_and_every_answer():
    expected = np.concatenate([np.full(800, 0.98), np.linspace(0.1, 0.9, 200)])
    drawn = draw_answers(expected, None, 100, kind="share", doubles=0, seed=1)
    of_sure = [stratum for row, stratum in zip(drawn.rows, drawn.strata, strict=True) if row < 800]
    assert len(set(of_sure)) == 1
    # a fifth of the answers vary most, and are most of those drawn
    assert 2 <= len(of_sure) < 60
    assert drawn.weights.sum() == pytest.approx(1000)
    with pytest.raises(InputError, match="there are only 1,000 answers"):
        draw_answers(expected, None, 1001, kind="share", doubles=0, seed=1)
    without = draw_answers(np.full(50, np.nan), ["a", "b"] * 25, 20, kind="mean", doubles=5, seed=2)
    assert set(without.strata) == {"a without score", "b without score"}
    assert len(set(without.second)) == 5


def test_recommend_ends_with_the_answer(decided):
    """Metric and threshold, errors, cost, the better system by people and by metric, and the next command."""
    options = ("--labels", "right=1,wrong=0", "-m", "f1", "--resamples", 100, "-q")
    out = decided("recommend", "labelled.csv", *options, "-o", "again").out
    closing = " ".join(out.split("--explain\n")[-1].split())
    assert "Use f1: label>=1 if its score is >= 0." in closing
    assert "of 100 decisions to differ from people's" in closing
    assert "beta against alpha: beta is better by people (+" in closing
    assert "; beta by f1 (+" in closing
    assert closing.endswith("Next: assay rate NEW.csv --decision again for answers that nobody labelled.")
    held = json.loads(decided("recommend", "labelled.csv", *options, "-f", "json").out)
    assert held["closing"][0].startswith("Use f1")
    assert held["closing"][-1].startswith("Next: the same command with --out FOLDER")


def test_the_best_of_several_systems_is_called_better_where_systems_says_so(workplace):
    # where b, c and d differ from a, which is right on the first 50 of 60 items
    differing = {"a": (), "b": (*range(10), 50, 51), "c": (*range(10, 20), 52), "d": (*range(20, 30), 53)}
    rows = []
    for item in range(60):
        for system, items in differing.items():
            label = int((item < 50) != (item in items))
            texts = {"question": f"q{item}", "reference": f"r{item}", "candidate": f"c{item}{system}"}
            rows.append({**texts, "label": label, "system": system})
    package.run([rows], ["length"], resamples=0, out=workplace / "run")
    run = read_run(workplace / "run")
    (data,) = read_datasets(run)
    (study,) = study_systems([run], SystemSettings())
    found = best_systems(run, data, "length")
    assert (study.systems[:2], (found.first, found.second)) == (("a", "b"), ("a", "b"))
    # ten items against two, exactly
    assert study.people.differences[0].p == pytest.approx(0.0386, abs=1e-3)
    assert study.people.corrected_p_values[0] > 0.05
    assert not found.people_differ


def test_the_page_for_a_decision_says_which_system_is_better(decided, workplace):
    assert decided("report", "decision", "--for", "decision", "--out", "page.html").code == 0
    page = (workplace / "page.html").read_text(encoding="utf-8")
    assert "beta against alpha: beta is better by people (+" in page
    # a column in capitals is found, too
    text = (workplace / "labelled.csv").read_text().replace("system,label", "Model,label", 1)
    (workplace / "capitals.csv").write_text(text)
    call = ("recommend", "capitals.csv", "--labels", "right=1,wrong=0", "-m", "f1", "--resamples", 100, "-q")
    assert "beta is better by people" in decided(*call, "-o", "capitals").out
    assert decided("systems", "capitals").code == 0


@pytest.mark.parametrize("name", ["mine=evaluate:./evil", "mine=judge:x,endpoint=http://127.0.0.1:9/v1"])
def test_the_folder_of_somebody_else_runs_no_code_and_calls_no_server(decided, workplace, name):
    """Only the folder says what a label stands for, so that whoever names the label has not named the code."""
    (workplace / ".git").mkdir()
    (workplace / "evil").mkdir()
    (workplace / "evil/evil.py").write_text("import pathlib\n\npathlib.Path('ran').touch()\n", encoding="utf-8")
    call = ("recommend", "labelled.csv", "--labels", "right=1,wrong=0", "-m", "mine=f1", "--resamples", 100)
    assert decided(*call, "-o", "d", "-q").code == 0
    manifest = json.loads((workplace / "d/run.json").read_text())
    manifest["request"]["metrics"] = [name]
    (workplace / "d/run.json").write_text(json.dumps(manifest))
    refused = "d: decides by mine, which runs code or calls a server; if you trust it, add --metric "
    for verb, *rest in (
        ("score", "new.csv", "-o", "o.csv"),
        ("rate", "new.csv"),
        ("annotate", "new.csv", "-n", 10, "-o", "s.csv"),
    ):
        for named in ([], ["-m", "mine"]):
            assert refused + name in decided("--no-config", verb, *rest, "--decision", "d", *named).complaint
        for named in ("mine", name):
            (workplace / "assay.toml").write_text(f"[{verb}]\ndecision = './d'\nmetric = '{named}'\n")
            assert decided(verb, *rest).code == 2
        (workplace / "assay.toml").unlink()
    assert not (workplace / "ran").exists()
    # named in full, it is called, here in vain
    assert refused not in decided("rate", "new.csv", "--decision", "d", "-m", name).err


@pytest.mark.parametrize(
    ("metric", "begins"), [("combined:answer-judge", True), ("combined:answer-judge:grade", False)]
)
def test_the_curve_of_a_judge_begins_from_its_probabilities(tmp_path, metric, begins):
    """Thirty labels of one judge: its probabilities are worth ten more; a grade is no probability."""
    rng = np.random.default_rng(3)
    rows = [
        {"reference": f"city {row} of north", "candidate": f"It is city {row if right else row + 50}.", "label": right}
        for row, right in enumerate(rng.integers(0, 2, 30).tolist())
    ]
    package.recommend(rows, [metric], out=tmp_path / "decision", resamples=100)
    kept = json.loads((tmp_path / "decision" / "decision.json").read_text())["decision"]["expectation"]
    (data,) = read_datasets(read_run(tmp_path / "decision"))
    (scores,) = data.scores.values()
    curve = expected_labels(scores, data.labels, bounded=True, probabilities=scores if begins else None)
    assert kept["intercept"] == pytest.approx(curve.intercept) and kept["slope"] == pytest.approx(curve.slope)


def test_a_sheet_has_one_column_of_annotators(decided, workplace):
    rows = list(csv.DictReader((workplace / "new.csv").open()))
    write_rows = [row | {"annotator": "someone"} for row in rows]
    with (workplace / "signed.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, write_rows[0])
        writer.writeheader()
        writer.writerows(write_rows)
    done = decided(
        "annotate", "signed.csv", "--decision", "decision", "-n", 120, "--doubles", 30, "--out", "sheet2.csv"
    )
    assert done.code == 0, done.err
    header, *_ = (workplace / "sheet2.csv").read_text().splitlines()
    assert header.split(",").count("annotator") == 1
