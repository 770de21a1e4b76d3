"""Contexts: a field of the data that prompts of judges may show, kept and shown like the question."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

import assay
from assay.datasets import load_dataset
from assay.exceptions import InputError
from assay.metrics import Batch, load_metric
from tests.cli.calling import call
from tests.judge_server import serve
from tests.judge_server.protocol import Behaviour

ROWS: list[dict[str, Any]] = [
    {
        "question": f"q {row}?",
        "reference": f"g{row}",
        "candidate": f"g{row % 5}",
        "label": row % 2,
        "context": f"p{row}",
    }
    for row in range(20)
]
PROMPT = """
user = "Passages: {{ context }} Question: {{ question }} Answer: {{ candidate }}. Is it right? Reply with yes or no."
"""


@pytest.mark.parametrize(
    ("cells", "columns", "expected"),
    [
        (["a b", "", "c"], None, ["a b", "", "c"]),
        (["a b", None, "c"], None, ["a b", "", "c"]),
        ([["a", "b"], ["c"], []], None, ["a\n\nb", "c", ""]),
        ([["a", "b"], "c", None], None, ["a\n\nb", "c", ""]),
        (["['a', 'b']", '["c"]', ""], None, ["a\n\nb", "c", ""]),
        (["", "['a', 'b']", None], None, ["", "a\n\nb", ""]),
        (["['a', 'b']", "[]", "['c']"], None, ["a\n\nb", "", "c"]),
        (["['a', 'b']", "[c]", ""], None, ["['a', 'b']", "[c]", ""]),
    ],
)
def test_texts_and_lists_are_contexts(cells: list[Any], columns: str | None, expected: list[str]) -> None:
    rows = [{**row, "context": cell} for row, cell in zip(ROWS, cells, strict=False)]
    assert load_dataset(rows).contexts() == expected
    named = [{"passages" if name == "context" else name: cell for name, cell in row.items()} for row in rows]
    assert load_dataset(named).contexts() is None
    pairs = load_dataset(named, columns="context=passages")
    assert pairs.contexts() == expected
    assert pairs.column("passages").to_pylist() == pairs.table.column("context").to_pylist()


def test_paths_and_usual_names_of_contexts(tmp_path: Path) -> None:
    rows = [{"query": "q", "response": "a", "label": 1, "retrieved_contexts": ["p", "q"]} for _ in range(2)]
    pairs = load_dataset(rows)
    assert pairs.contexts() == ["p\n\nq"] * 2 and "context is retrieved_contexts" in " ".join(pairs.notes)
    docs = [{**ROWS[0], "docs": [{"text": "p"}, {"text": "q"}]}]
    assert load_dataset(docs, columns="context=docs.text").contexts() == ["p\n\nq"]


def test_another_column_of_that_name_stays_what_it_is() -> None:
    frame = pd.DataFrame([{**row, "context": row["label"] * 2} for row in ROWS])
    pairs = load_dataset(frame)
    assert pairs.contexts() is None and pairs.column("context").to_pylist() == frame["context"].tolist()
    nested = [{**row, "context": {"title": ["x"], "rows": [["y"]]}} for row in ROWS]
    assert len(load_dataset(nested)) == len(ROWS)
    with pytest.raises(InputError, match="column context: holds an object; expected a text"):
        load_dataset(nested, columns="context=context")


def test_digests_have_the_context() -> None:
    before = load_dataset(ROWS)
    other = load_dataset([{**row, "context": "other"} for row in ROWS])
    # the digest of the pair columns is that of data without contexts
    assert before.digest == other.digest and before.other_columns_digest != other.other_columns_digest
    assert len(load_dataset([*ROWS, {**ROWS[0], "context": "other"}]).drop_duplicates()[0]) == len(ROWS) + 1


def test_annotations_with_other_contexts_are_other_pairs() -> None:
    rows = [
        {**ROWS[0], "context": f"p{number // 2}", "label": number % 2, "worker": "ab"[number % 2]}
        for number in range(8)
    ]
    assert len(load_dataset(rows)) == 4


def test_a_judge_reads_contexts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    (tmp_path / "p.toml").write_text(PROMPT)
    path = tmp_path / "d.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)))
    with serve(Behaviour()) as server:
        judge = f"judge:stand-in,endpoint={server.url},prompt={tmp_path / 'p.toml'}"
        first = assay.run(path, [judge, "f1"], out=tmp_path / "run", resamples=0)
        assert len(server.calls) == len(ROWS)
        others = [{**row, "context": f"other {row['context']}"} for row in ROWS]
        second = assay.run([others], [judge], resamples=0)
        assert len(server.calls) == 2 * len(ROWS)
        assert first.scores["score"].tolist()[: len(ROWS)] != second.scores["score"].tolist()
        explained = call("explain", "--pairs", str(path), "-m", judge, "--limit", "1")
        assert "Passages: p0" in explained.out
        lacking = assay.run([[{**row, "context": None} for row in ROWS]], [judge, "f1"], resamples=0)
        assert "shows the context, and the data has none" in lacking.failures[0]
    kept = pq.read_table(tmp_path / "run/pairs.parquet")
    assert kept.column("context").to_pylist() == [row["context"] for row in ROWS]
    errors = call("errors", str(tmp_path / "run"), "--format", "json")
    records = json.loads(errors.out)
    assert '"context": "p' in json.dumps(records)
    page = (tmp_path / "run/report.html").read_text(encoding="utf-8")
    assert '"context"' in page


def test_metrics_declare_contexts(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(PROMPT)
    judge = load_metric(f"judge:m,endpoint=http://localhost:1/v1,prompt={tmp_path / 'p.toml'}")
    assert judge.declaration.reads_context and not judge.declaration.reads_reference
    batch = Batch(["", ""], ["a", "b"], ["q", "r"], contexts=["p1", "p2"])
    assert [conversation[0][-1].content for conversation in judge.conversations(batch.take([1]))] == [
        "Passages: p2 Question: r Answer: b. Is it right? Reply with yes or no."
    ]
    assert batch.swapped().contexts == ["p1", "p2"]
