"""``assay systems`` on preferences between the answers of two systems."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assay as package
from assay.datasets import load_dataset
from assay.exceptions import InputError
from tests.cli.calling import call

TRUE = {"alpha": 1.2, "beta": 0.4, "gamma": 0.0, "delta": -0.9}
COLUMNS = "candidate=a,other=b,preference=winner"


def rows(questions: int = 50) -> list[dict[str, Any]]:
    """Preferences of people who follow the model, one in ten a tie; the gold answer is what the better system says."""
    dice = np.random.default_rng(5)
    made = []
    for question in range(questions):
        for _ in range(4):
            first, second = dice.choice(list(TRUE), 2, replace=False).tolist()
            chance = 1 / (1 + np.exp(TRUE[second] - TRUE[first]))
            winner = "tie" if dice.random() < 0.1 else "model_a" if dice.random() < chance else "model_b"
            made.append({
                "question": f"q{question}",
                "reference": f"gold {question} one two",
                "a": f"gold {question} {first} {'one two' if dice.random() < chance else ''}",
                "b": f"gold {question} {second}",
                "model_a": first,
                "model_b": second,
                "winner": winner,
            })  # fmt: skip
    return made


def write(path: Path, made: list[dict[str, Any]]) -> str:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(made[0]))
        writer.writeheader()
        writer.writerows(made)
    return str(path)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("duels")
    package.run(write(folder / "d.csv", rows()), ["f1"], columns=COLUMNS, out=folder / "run", resamples=0, page=False)
    return folder / "run"


def test_strengths_of_people_and_of_a_metric(run: Path) -> None:
    done = call("systems", str(run), "--format", "json")
    assert done.code == 0, done.err
    records = json.loads(done.out)
    people = {r["system"]: r for r in records if r["kind"] == "strength" and r["by"] == "people"}
    assert list(people) == ["alpha", "beta", "gamma", "delta"]
    made = rows()
    outcome = {"model_a": 1.0, "model_b": 0.0, "tie": 0.5}
    for system, record in people.items():
        won = [outcome[row["winner"]] for row in made if row["model_a"] == system]
        won += [1 - outcome[row["winner"]] for row in made if row["model_b"] == system]
        assert record["won"] == pytest.approx(np.mean(won)) and record["preferences"] == len(made)
        assert record["low"] < record["value"] < record["high"]
    # the likelihood has its maximum there: what is expected is what was seen
    for system in TRUE:
        expected = seen = 0.0
        for row in made:
            pair = row["model_a"], row["model_b"]
            if system in pair:
                other = people[pair[1 - pair.index(system)]]["value"]
                expected += 1 / (1 + np.exp(other - people[system]["value"]))
                seen += outcome[row["winner"]] if pair[0] == system else 1 - outcome[row["winner"]]
        assert expected == pytest.approx(seen, abs=1e-6)
    (metric,) = [r for r in records if r["kind"] == "preference"]
    scores = (
        package.load_metric("f1")
        .score([row["reference"] for row in made for _ in "ab"], [row[side] for row in made for side in "ab"])
        .reshape(-1, 2)
    )
    preferred = np.array([outcome[row["winner"]] for row in made])
    by_metric = (np.sign(scores[:, 0] - scores[:, 1]) + 1) / 2
    decided = preferred != 0.5
    assert metric["accuracy"] == pytest.approx(1 - np.abs(by_metric - preferred)[decided].mean())
    table = call("systems", str(run))
    assert "200 preferences between 4 systems" in table.out and "resampled by question, 50 groups" in table.out
    assert "Bradley and Terry" in call("systems", str(run), "--explain").out


def test_some_of_the_systems_and_no_intervals(run: Path) -> None:
    done = call("systems", str(run), "--only", "alpha", "--only", "delta", "--resamples", "0", "--format", "json")
    records = [r for r in json.loads(done.out) if r["kind"] == "strength" and r["by"] == "people"]
    assert [r["system"] for r in records] == ["alpha", "delta"] and records[0]["low"] is None
    odds = records[0]["won"] / (1 - records[0]["won"])
    assert records[0]["value"] - records[1]["value"] == pytest.approx(np.log(odds))
    assert call("systems", str(run), "--only", "alpha", "--only", "zeta").code == 2
    table = call("systems", str(run), "--resamples", "0", "--explain").out
    assert "Bradley and Terry" in table and "bootstrap intervals" not in table


def test_the_order_of_rows_and_sides_changes_nothing(tmp_path: Path, run: Path) -> None:
    swapped = [
        row | {"a": row["b"], "b": row["a"], "model_a": row["model_b"], "model_b": row["model_a"],
               "winner": {"model_a": "model_b", "model_b": "model_a"}.get(row["winner"], "tie")}
        for row in reversed(rows())
    ]  # fmt: skip
    package.run(
        write(tmp_path / "d.csv", swapped), ["f1"], columns=COLUMNS, out=tmp_path / "run", resamples=0, page=False
    )
    first, second = (
        {
            (r["by"], r["system"]): r["value"]
            for r in package.systems(path, resamples=0).records.to_dict("records")
            if r["kind"] == "strength"
        }
        for path in (run, tmp_path / "run")
    )
    assert first.keys() == second.keys()
    assert all(second[key] == pytest.approx(value, abs=1e-9) for key, value in first.items())


def test_the_winner_may_be_named() -> None:
    made = [row | {"winner": row.get(row["winner"], "tie")} for row in rows()]
    by_name, by_side = load_dataset(made, columns=COLUMNS), load_dataset(rows(), columns=COLUMNS)
    assert by_name.labels.tolist() == by_side.labels.tolist()
    assert any(note.endswith("which winner names") for note in by_name.notes)
    renamed = [
        {{"model_a": "left by", "model_b": "right by"}.get(name, name): cell for name, cell in row.items()}
        for row in made
    ]
    mapped = load_dataset(renamed, columns=f"{COLUMNS},system=left by+right by")
    assert mapped.column("system").to_pylist() == by_side.column("system").to_pylist()


@pytest.mark.parametrize(
    ("columns", "change", "problem"),
    [
        (f"{COLUMNS},system=model_a", {}, "the two answers of a preference are of two systems"),
        (f"{COLUMNS},system=model_a+modle_b", {}, "has no column 'modle_b'. Did you mean 'model_b'"),
        ("candidate=a,system=model_a+model_b", {}, "a preference needs two answers and which is better"),
        (COLUMNS, {"system": "x"}, "has a column 'system' beside preferences"),
        (COLUMNS, {"winner": "nobody"}, "the preference 'nobody' is unknown"),
    ],
)
def test_what_is_no_preference(columns: str, change: dict[str, str], problem: str) -> None:
    with pytest.raises(InputError, match=re.escape(problem)):
        load_dataset([row | change for row in rows(2)], columns=columns)


def test_systems_that_are_unknown_or_never_lost(tmp_path: Path) -> None:
    nameless = [{name: cell for name, cell in row.items() if not name.startswith("model")} for row in rows(10)]
    path = write(tmp_path / "d.csv", nameless)
    package.run(path, ["f1"], columns=COLUMNS, out=tmp_path / "run", resamples=0, page=False)
    with pytest.raises(InputError, match=r"has preferences and not the systems.*system=SYSTEM_A"):
        package.systems(tmp_path / "run")
    always = [row | {"winner": "model_a" if row["model_a"] < row["model_b"] else "model_b"} for row in rows(10)]
    path = write(tmp_path / "e.csv", always)
    package.run(path, ["f1"], columns=COLUMNS, out=tmp_path / "won", resamples=0, page=False)
    shown = package.systems(tmp_path / "won", resamples=200)
    strengths = [r for r in shown.records.to_dict("records") if r["kind"] == "strength" and r["by"] == "people"]
    assert [r["system"] for r in strengths] == sorted(TRUE) and all(np.isnan(r["value"]) for r in strengths)
    assert "people: no strengths, since some systems never won against the others" in shown.to_markdown()
