"""Data without references, for judges and other metrics that need none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import assay
from assay.datasets import check_dataset, load_card_splits, load_dataset
from assay.datasets.readers.table import read_table
from assay.exceptions import InputError
from assay.metrics import Batch, Declaration, Metric
from tests.cli.calling import call
from tests.judge_server import serve
from tests.judge_server.protocol import Behaviour
from tests.judge_server.server import Server

ROWS = [
    {
        "question": f"q {row // 2}?",
        "candidate": f"{'good' if row % 3 else 'bad'} answer {row}",
        "label": int(row % 3 > 0),
    }
    for row in range(24)
]
NOTE = "no reference: metrics that compare with one are left out"
PROMPT = 'user = "Question: {{ question }} Answer: {{ candidate }}. Is it right? Reply with yes or no."'


class WordCount(Metric):
    """The number of words of the candidate."""

    declaration = Declaration("test-words", "number of words", high=1e9, reads_reference=False)

    def score(self, batch: Batch) -> list[float]:  # type: ignore[override]
        assert not any(batch.references)
        return [float(len(text)) for text in batch.candidates]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Server]:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    with serve(Behaviour()) as server:
        yield server


def write_rows(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("rename", "columns"),
    [
        ({}, None),
        ({"question": "prompt", "candidate": "response"}, None),
        ({"question": "source"}, "question=source"),
        ({"question": "source"}, "reference=-"),
        ({"candidate": "x", "label": "y"}, "candidate=x,label=y"),
        ({"question": "1", "candidate": "2", "label": "3"}, "reference=-,candidate=2,label=3"),
    ],
)
def test_what_is_read_without_a_reference(tmp_path: Path, rename: dict[str, str], columns: str | None) -> None:
    rows = [{rename.get(name, name): cell for name, cell in row.items()} for row in ROWS]
    pairs = load_dataset(write_rows(tmp_path / "d.jsonl", rows), columns=columns)
    assert not pairs.has_references and NOTE in pairs.notes
    assert pairs.texts()[1] == [row["candidate"] for row in ROWS]
    assert ("question" in pairs.table.column_names) == (columns != "reference=-" and "3" not in str(columns))
    assert load_dataset(tmp_path / "d.jsonl", columns=pairs.reading["columns"] or None).digest == pairs.digest


def test_numbers_of_columns_without_a_reference(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("q,a good answer,1\nq,bad,0\n")
    pairs = load_dataset(tmp_path / "d.csv", columns="reference=-,question=1,candidate=2,label=3")
    assert len(pairs) == 2 and not pairs.has_references
    result = read_table({"d.csv": tmp_path / "d.csv"}, {"columns": "reference=-,candidate=2,label=3"})
    assert result.table.column("reference").to_pylist() == ["", ""]


def test_a_column_that_may_be_the_reference_is_asked_for(tmp_path: Path) -> None:
    rows = [{"candidate": row["candidate"], "label": row["label"], "gold_text": "x"} for row in ROWS]
    with pytest.raises(InputError, match="has no column reference"):
        load_dataset(rows)
    # of two usual names none is chosen
    with pytest.raises(InputError, match="has no column reference"):
        load_dataset([{**row, "gold": "x", "expected": "y"} for row in ROWS])


def test_metrics_that_need_a_reference_are_left_out_with_one_line(tmp_path: Path) -> None:
    result = assay.run([ROWS], ["f1", "chrf", WordCount(), "combined:answer-judge"], resamples=0)
    assert set(result.scores["metric"]) == {"test-words"}
    records = {record.metric: record for record in result.outcome.metrics}
    assert records["f1"].status == records["chrf"].status == "not applicable"
    assert "compares with a reference" in records["f1"].reason and 'columns="reference=COLUMN"' in records["f1"].reason
    assert records["combined:answer-judge"].status == "not applicable"
    notes = result.outcome.datasets[0].pairs.notes
    assert "no bucket 'f1': there is no reference" in notes


def test_a_metric_without_reference_scores_a_pair_with_several_gold_answers_once() -> None:
    rows = [{**row, "reference": ["a", "b", str(row["label"])]} for row in ROWS]
    result = assay.run([rows], [WordCount()], resamples=0, buckets=("none",))
    assert result.scores["score"].tolist() == [len(str(row["candidate"])) for row in ROWS]
    assert result.outcome.metrics[0].scored == len(ROWS)


def test_a_judge_whose_prompt_names_no_reference(server: Server, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(PROMPT)
    path = write_rows(tmp_path / "d.jsonl", list(ROWS))
    judge = f"judge:stand-in,endpoint={server.url},prompt={tmp_path / 'p.toml'}"
    with_reference = f"judge:stand-in,endpoint={server.url}"
    run = tmp_path / "run"
    result = assay.run(path, [judge, with_reference], out=run, resamples=100, buckets=["length"])
    done, left_out = result.outcome.metrics
    assert (done.status, left_out.status) == ("done", "not applicable") and not done.flags
    assert result.scores["score"].notna().all() and len(server.calls) == len(ROWS)
    for words in (["errors", run], ["report", run, "-o", tmp_path / "p.html"], ["table", run], ["thresholds", run]):
        shown = call(*map(str, words))
        assert shown.code == 0, (words, shown.err)
    explained = call("explain", "--pairs", str(path), "-m", judge, "--limit", "2")
    assert explained.code == 0 and "q 0?" in explained.out, explained.err


def test_other_verbs_say_that_there_is_no_reference(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "d.jsonl", list(ROWS))
    shown = call("datasets", "show", str(path))
    assert shown.code == 0 and NOTE in shown.out and "has no references" in shown.out
    findings = check_dataset(load_card_splits(str(path)))
    assert not any(finding.name == "blank-texts" for finding in findings)
    checked = call("datasets", "check", str(path))
    assert checked.code == 0 and "annotation graph" not in checked.out, checked.err
    trained = call("train", "bi-encoder", "--train", str(path), "--model", "minilm", "--out", str(tmp_path / "m"))
    assert trained.code == 2 and "Traceback" not in trained.err


def test_preferences_between_answers_to_a_question() -> None:
    rows = [{"question": f"q{row}", "a": f"a{row}", "b": f"b{row} x", "winner": "ab"[row % 2]} for row in range(12)]
    pairs = load_dataset(rows, columns="candidate=a,other=b,preference=winner")
    assert len(pairs) == 24 and not pairs.has_references


def test_annotations_of_answers_to_a_question() -> None:
    rows = [
        {**row, "worker": who, "label": row["label"] + extra} for row in ROWS for who, extra in (("p", 0), ("q", 1))
    ]
    pairs = load_dataset(rows)
    assert len(pairs) == len(ROWS) and "48 annotations" in pairs.notes[-1]
