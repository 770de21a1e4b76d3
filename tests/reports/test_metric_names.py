"""A metric is the same where its signature is: under an alias, or with its model in another folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import assay
from assay.exceptions import InputError
from assay.manifest import identity_of
from assay.metrics.name import MetricName

WORDS = ["one", "two", "red", "blue", "cat", "dog"]


def vectors(path: Path, seed: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    rows = [f"{word} {' '.join(f'{number:.4f}' for number in rng.normal(size=4))}" for word in WORDS]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def rows() -> list[tuple[str, str, int]]:
    rng = np.random.default_rng(0)
    texts = [(" ".join(rng.choice(WORDS, 2)), " ".join(rng.choice(WORDS, 2))) for _ in range(60)]
    return [(first, second, len(set(first.split()) & set(second.split()))) for first, second in texts]


@pytest.fixture
def first(tmp_path: Path) -> Path:
    return vectors(tmp_path / "a" / "vectors.txt", seed=1)


def run(rows: list[tuple[str, str, int]], *metrics: str) -> assay.Result:
    return assay.run([rows], list(metrics), buckets=["none"], resamples=200)


def test_the_gate_passes_between_two_places_of_the_same_weights(tmp_path: Path, rows: list, first: Path) -> None:
    kept = assay.baseline(run(rows, f"static:{first}"), tmp_path / "baseline.json")
    moved = vectors(tmp_path / "b" / "vectors.txt", seed=1)
    checked = assay.check(run(rows, f"static:{moved}"), kept, resamples=200)
    assert checked.passed
    finding = next(finding for finding in checked.found.findings if finding.kind == "other name")
    assert f"called static:{moved} in the run: the same signature" in finding.text


def test_the_gate_names_other_weights(tmp_path: Path, rows: list, first: Path) -> None:
    kept = assay.baseline(run(rows, f"static:{first}"), tmp_path / "baseline.json")
    other = vectors(tmp_path / "b" / "vectors.txt", seed=2)
    checked = assay.check(run(rows, f"static:{other}", "f1"), kept, resamples=200)
    assert not checked.passed
    missing = next(finding for finding in checked.found.findings if finding.kind == "missing")
    assert f"the run has static:{other}, the same but for its weights: " in missing.text and "vectors " in missing.text
    assert missing.text.endswith("to judge new weights, give both runs one name for them: --metric NAME=METRIC)")
    # as it says
    named = assay.baseline(run(rows, f"v=static:{first}"), tmp_path / "named.json")
    (cell,) = assay.check(run(rows, f"v=static:{other}"), named, resamples=200).found.judged
    assert cell.metric == "v" and str(cell.verdict) != "unchanged"


def test_comparisons_and_leaderboards_join_them(tmp_path: Path, rows: list, first: Path) -> None:
    moved = vectors(tmp_path / "b" / "vectors.txt", seed=1)
    before = run(rows, f"static:{first}", "f1")
    after = run(rows, f"v=static:{moved}", "f1")
    records = assay.compare([before, after], resamples=200, permutations=200).records
    assert {name.partition(" [")[0] for name in records["first"]} == {f"static:{first}", "f1"}
    # by the name in either run
    for name in (f"static:{first}", "v"):
        records = assay.compare([before, after], metrics=[name], resamples=200, permutations=200).records
        assert {name.partition(" [")[0] for name in records["first"]} == {f"static:{first}"}
    board = assay.leaderboard([before, after], resamples=200).records
    assert set(board["metric"]) == {f"static:{first}", "f1"}
    other = run(rows, f"static:{vectors(tmp_path / 'c' / 'vectors.txt', seed=2)}")
    assert assay.leaderboard([before, other], resamples=200).records["metric"].nunique() == 3


def test_an_alias_is_the_name_in_tables_and_is_verified(tmp_path: Path, rows: list, first: Path) -> None:
    result = run(rows, f"words=static:{first}", "lower.case=f1")
    assert set(result.agreement["metric"]) == {"words", "lower.case"}
    pairs = tmp_path / "pairs.csv"
    lines = [",".join(map(str, row)) for row in [("reference", "candidate", "label"), *rows]]
    pairs.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assay.run(str(pairs), [f"words=static:{first}"], buckets=["none"], resamples=200, out=tmp_path / "RUN")
    assert assay.verify(tmp_path / "RUN").found.same
    with pytest.raises(InputError, match="'f1=chrf': f1 is the name of another metric; give another alias"):
        run(rows, "f1=chrf")
    with pytest.raises(InputError, match="the metric mine is asked for twice"):
        run(rows, "mine=em", "mine=chrf")


@pytest.mark.parametrize(
    ("text", "alias", "name"),
    [
        ("ce=cross-encoder:models/x,order=mean", "ce", "cross-encoder"),
        ("bleu,smoothing=floor", "", "bleu"),
        ("recorded:a=b", "", "recorded"),
        ("x-1.b=bleu:paper,smoothing=exp", "x-1.b", "bleu"),
    ],
)
def test_aliases_are_told_from_options(text: str, alias: str, name: str) -> None:
    parsed = MetricName.parse(text)
    assert (parsed.alias, parsed.name, parsed.text) == (alias, name, text)
    assert str(parsed) == (alias or text)


def test_identity_leaves_out_versions_and_paths_but_no_option() -> None:
    signature = {"metric": "m", "subject": "/a/b", "threshold": "0.5", "digest": "abc", "torch": "2.13.0+cpu"}
    same = signature | {"subject": "/c", "torch": "2.14.0"}
    assert identity_of(signature) == identity_of(same)
    assert identity_of(signature) != identity_of(signature | {"threshold": "0.6"})
    assert identity_of(signature) != identity_of(signature | {"digest": "abd"})
    recorded = {"metric": "recorded", "subject": "sas"}
    assert identity_of(recorded) != identity_of(recorded | {"subject": "f1"})
