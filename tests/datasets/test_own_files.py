"""The user's own files: text stays text, and every fault is one line that says where."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import assay
from assay.datasets import load_dataset, read_table_file
from assay.exceptions import InputError


def write(tmp_path: Path, name: str, content: str | bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def failure(path: Path, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        load_dataset(path, **options)  # type: ignore[arg-type]
    message = str(caught.value)
    assert "\n" not in message
    assert path.name in message
    return message


def test_text_is_read_as_text(tmp_path: Path) -> None:
    path = write(tmp_path, "d.csv", "\ufeffreference,candidate,label\nNone,007,1\n,NA,2.0\nnan,1e5,0\n1.50,true,1\n")
    pairs = load_dataset(path)
    references, candidates, questions = pairs.texts()
    assert references == ["None", "", "nan", "1.50"]
    assert candidates == ["007", "NA", "1e5", "true"]
    assert questions is None
    assert pairs.labels.tolist() == [1, 2, 0, 1]
    assert pairs.table.column("pair_id").to_pylist() == ["2", "3", "4", "5"]
    assert pairs.kind == "own" and pairs.name == "d" and len(pairs.sha256) == 64


def test_columns_are_mapped_and_the_others_stay(tmp_path: Path) -> None:
    path = write(tmp_path, "d.csv", ",answer1,answer2,label,sas,group\n0,a,b,1,0.5,g\n1,c,d,2,0.25,g\n")
    pairs = load_dataset(path, columns="reference=answer1,candidate=answer2,label=label", name="mine")
    assert pairs.table.column_names == ["pair_id", "reference", "candidate", "label", "group", "column_1", "sas"]
    assert pairs.column("sas").to_pylist() == ["0.5", "0.25"]
    assert pairs.column("answer1").to_pylist() == ["a", "c"], "a renamed column is still found"
    assert pairs.name == "mine"


def test_a_column_passed_over_keeps_its_content(tmp_path: Path) -> None:
    path = write(tmp_path, "d.csv", "reference,candidate,label,label_1\na,b,0,2\n")
    pairs = load_dataset(path, columns={"label": "label_1"})
    assert pairs.labels.tolist() == [2]
    assert pairs.column("source:label").to_pylist() == ["0"]


def test_several_annotators(tmp_path: Path) -> None:
    path = write(tmp_path, "d.csv", "reference,candidate,a1,a2,a3\nx,y,1,2,\nx,z,0,0,2\n")
    pairs = load_dataset(path, columns="label=a1+a2+a3")
    assert pairs.labels == pytest.approx([1.5, 2 / 3])
    assert pairs.column("annotations").to_pylist() == [[1, 2, None], [0, 0, 2]]
    assert pairs.column("a1").to_pylist() == ["1", "0"]
    path = write(tmp_path, "e.csv", "reference,candidate,a1,a2\nx,y,1,2\nx,z,,\n")
    assert "row 3" in failure(path, columns="label=a1+a2")


def test_several_gold_answers_only_where_every_cell_is_a_list(tmp_path: Path) -> None:
    rows = io.StringIO()
    writer = csv.writer(rows)
    writer.writerows([["reference", "candidate", "label"], ['["a", "b"]', "x", 1], ['["c"]', "y", 0]])
    pairs = load_dataset(write(tmp_path, "d.csv", rows.getvalue()))
    assert pairs.texts()[0] == [["a", "b"], ["c"]] and pairs.has_several_references
    writer.writerow(["plain", "z", 2])
    pairs = load_dataset(write(tmp_path, "e.csv", rows.getvalue()))
    assert pairs.texts()[0] == ['["a", "b"]', '["c"]', "plain"]
    assert "row 3" in failure(write(tmp_path, "f.csv", 'reference,candidate,label\n"[""a""]",x,1\n[],y,1\n'))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", "", ["empty"]),
        ("a.csv", "reference,candidate,label\n", ["no rows"]),
        ("a.jsonl", "\n\n", ["no rows"]),
        ("a.csv", 'reference,candidate,label\na,b,1\nc,"d,2\ne,f,1\n', ["row 3", "never closed"]),
        ("a.csv", 'reference,candidate,label\n"x\ny",b,1\nc,"d"e,2\n', ["row 3 (line 4)", "middle of a cell"]),
        ("a.csv", "reference,candidate,label\na,b,1\nc,d\n", ["row 3", "1 of 2 rows have no label"]),
        ("a.csv", "reference,candidate,label\na,b,1\nc\n", ["row 3", "1 cells", "header has 3"]),
        ("a.csv", "reference,candidate,label\na,b,c,1\n", ["row 2", "4 cells", "quotes"]),
        ("a.csv", "reference,reference,label\na,b,1\n", ["'reference'", "twice"]),
        ("a.csv", "reference,candidate,label\na,b,1\na,b,x\n", ["row 3", "column label", "'x'", "not a number"]),
        ("a.csv", "reference,candidate,label\na,b,nan\n", ["row 2", "1 of 1 rows have no label"]),
        ("a.csv", "reference,candidate,label\na,b,-inf\n", ["row 2", "not a number"]),
        ("a.csv", 'reference,candidate,label\na,b,"1,500"\n', ["row 2", "1.500"]),
        ("a.csv", "reference,candidate,label\na,b,1\n\nc,d,\n", ["row 4", "1 of 2 rows have no label"]),
        ("a.csv", "pair_id,reference,candidate,label\n1,a,b,1\n1,c,d,2\n", ["row 3", "pair_id '1'", "row 2"]),
        ("a.jsonl", '{"reference": "a", "candidate": "b", "label": 1}\n{"reference": \n', ["line 2", "JSON"]),
        ("a.jsonl", '{"reference": "a", "candidate": null, "label": 1}\n', ["line 1", "column candidate", "no text"]),
        ("a.jsonl", '{"reference": "a", "candidate": 1.5, "label": 1}\n', ["column candidate", "not text"]),
        ("a.jsonl", '{"reference": "a", "candidate": "b", "label": NaN}\n', ["line 1", "no label"]),
        ("a.jsonl", "[1]\n", ["line 1", "object"]),
        ("a.parquet", b"PAR1 nonsense", ["Parquet"]),
        ("a.xml", "<a/>", []),
    ],
)  # fmt: skip
def test_faults_are_named(tmp_path: Path, name: str, content: str | bytes, words: list[str]) -> None:
    path = write(tmp_path, name, content)
    if name.endswith(".xml"):
        with pytest.raises(InputError, match=r"\.csv"):
            read_table_file(path)
        return
    message = failure(path)
    for word in words:
        assert word in message


def test_a_missing_column_gets_the_line_that_mends_it(tmp_path: Path) -> None:
    path = write(tmp_path, "d.csv", "answer1,answer2,score,text1\na,b,1,c\n")
    assert '`columns="reference=answer1,candidate=answer2,label=score"`' in failure(path)
    assert "'answer1'" in failure(path, columns="reference=anser1,candidate=answer2")
    assert "'score'" in failure(path, columns="reference=answer1,candidate=answer2,label=scores")
    with pytest.raises(InputError, match="'reference'"):
        load_dataset(path, columns="referense=answer1")
    with pytest.raises(InputError, match="reference=answer1"):
        load_dataset(path, columns="answer1")
    with pytest.raises(InputError, match="no such file"):
        load_dataset(tmp_path / "absent.csv")


def test_unlabelled_rows_are_kept_where_that_is_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path, "d.csv", "reference,candidate,label\na,b,\nc,d,2\n")
    pairs = load_dataset(path, allow_unlabelled=True)
    assert pairs.column("label").to_pylist() == [None, 2]
    assert np.isnan(pairs.labels[0])
    path = write(tmp_path, "e.csv", "reference,candidate\na,b\n")
    assert load_dataset(path, allow_unlabelled=True).column("label").to_pylist() == [None]


def test_tab_files_have_no_quoting(tmp_path: Path) -> None:
    path = write(tmp_path, "d.tab", 'reference\tcandidate\tlabel\r\n"a\tb"c\x85d\u2028e\t1\r\n')
    assert load_dataset(path).texts()[:2] == (['"a'], ['b"c\x85d\u2028e'])
    path = write(tmp_path, "d.tsv", 'reference\tcandidate\tlabel\n"a\tb"\t"say ""so"""\t1\n')
    assert load_dataset(path).texts()[:2] == (["a\tb"], ['say "so"'])


def test_jsonl_keeps_types_and_takes_lists(tmp_path: Path) -> None:
    lines = [
        {"reference": ["a", "b"], "candidate": "x", "label": 1, "extra": 1},
        {"reference": "c", "candidate": 7, "label": 0.5, "extra": {"k": 1}},
    ]
    pairs = load_dataset(write(tmp_path, "d.jsonl", "\n\n".join(map(json.dumps, lines))))
    assert pairs.texts()[:2] == ([["a", "b"], ["c"]], ["x", "7"])
    assert pairs.labels.tolist() == [1, 0.5]
    assert pairs.column("extra").to_pylist() == ["1", '{"k": 1}']
    assert pairs.table.column("pair_id").to_pylist() == ["1", "3"]


@pytest.mark.parametrize("block", [1, 2, 3, 20_000])
@pytest.mark.parametrize(
    ("cells", "answers"),
    [
        ([["a", "b"], 5, ["c"], True], [["a", "b"], ["5"], ["c"], ["true"]]),
        ([5, 6, ["a", "b"], ["c"]], [["5"], ["6"], ["a", "b"], ["c"]]),
        ([[1969], [1, 2], ["a", 7], "c"], [["1969"], ["1", "2"], ["a", "7"], ["c"]]),
        ([True, False, "a", ["b"]], [["true"], ["false"], ["a"], ["b"]]),
        ([5, "a", 7, True], ["5", "a", "7", "true"]),
    ],
)
def test_types_are_those_of_the_whole_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cells: list[object], answers: list[object], block: int
) -> None:
    """No cell is read otherwise because of the lines it was read with."""
    monkeypatch.setattr("assay.datasets.readers.jsonl.BLOCK_ROWS", block)
    rows = [{"reference": cell, "candidate": "x", "label": row} for row, cell in enumerate(cells)]
    path = write(tmp_path, "d.jsonl", "\n".join(map(json.dumps, rows)))
    assert load_dataset(path).texts()[0] == answers
    assert load_dataset(rows).texts()[0] == answers


@pytest.mark.parametrize("block", [1, 20_000])
def test_a_fraction_among_answers_is_refused_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr("assay.datasets.readers.jsonl.BLOCK_ROWS", block)
    lines = [{"reference": cell, "candidate": "x", "label": 1} for cell in (["a"], "b", [1.50], 2)]
    assert "line 3, column reference" in failure(write(tmp_path, "d.jsonl", "\n".join(map(json.dumps, lines))))


def test_parquet_lists_categories_and_nulls(tmp_path: Path) -> None:
    table = pa.table(
        {
            "reference": pa.array([["a"], ["b", "c"]], pa.large_list(pa.large_string())),
            "candidate": pa.array(["x", "y"]).dictionary_encode(),
            "label": pa.array([1, 2], pa.int8()),
        }
    )
    path = tmp_path / "d.parquet"
    pq.write_table(table, path)
    pairs = load_dataset(path)
    assert pairs.table.schema.field("reference").type == pa.list_(pa.string())
    assert pairs.texts()[:2] == ([["a"], ["b", "c"]], ["x", "y"])
    pq.write_table(table.set_column(1, "candidate", pa.array(["x", None])), path)
    assert "row 2, column candidate" in failure(path)
    pq.write_table(table.set_column(0, "reference", pa.array([["a"], ["b", None]])), path)
    assert "row 2, column reference" in failure(path)
    pq.write_table(table.set_column(0, "reference", pa.array([["a"], []], pa.list_(pa.string()))), path)
    assert "row 2, column reference" in failure(path)


def test_answers_that_are_all_an_empty_list_are_text(tmp_path: Path) -> None:
    path = write(tmp_path, "d.csv", "reference,candidate,label\n[],[],1\n[],x,0\n")
    assert load_dataset(path).texts()[0] == ["[]", "[]"]


CELLS = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00"), max_size=12)


@pytest.mark.slow
@settings(max_examples=60)
@given(rows=st.lists(st.tuples(CELLS, CELLS, st.integers(0, 5)), min_size=1, max_size=8))
def test_what_is_written_is_read(tmp_path: Path, rows: list[tuple[str, str, int]]) -> None:
    path = tmp_path / "d.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
        writer.writerow(["reference", "candidate", "label"])
        writer.writerows(rows)
    table = read_table_file(path).table
    assert table.column("reference").to_pylist() == [row[0] for row in rows]
    assert table.column("candidate").to_pylist() == [row[1] for row in rows]
    lines = "\n".join(json.dumps({"reference": a, "candidate": b, "label": n}) for a, b, n in rows)
    path = write(tmp_path, "d.jsonl", lines)
    assert load_dataset(path).texts()[1] == [row[1] for row in rows]


def test_more_rows_than_a_block(tmp_path: Path) -> None:
    n = 45_000
    lines = "".join(f'{{"reference": "r{i}", "candidate": "c", "label": {i % 3}}}\n' for i in range(n))
    pairs = load_dataset(write(tmp_path, "d.jsonl", lines))
    text = "reference,candidate,label\n" + "".join(f"r{i},c,{i % 3}\n" for i in range(n))
    other = load_dataset(write(tmp_path, "d.csv", text))
    assert len(pairs) == len(other) == n
    assert pairs.texts(n - 1)[0] == other.texts(n - 1)[0] == [f"r{n - 1}"]
    assert failure(write(tmp_path, "e.csv", text + "a,b,x\n")).count(f"row {n + 2}") == 1


@pytest.mark.parametrize("remark", ["seen [twice]", 1.5, ["a", "b"], [1, 2], None])
def test_a_column_of_that_name_need_not_be_what_annotators_gave(remark: object) -> None:
    rows = [{"reference": f"r{i}", "candidate": "c", "label": i % 3, "annotations": remark} for i in range(12)]
    pairs = load_dataset(rows)
    assert "annotations" not in pairs.table.column_names
    agreement = assay.run([pairs], ["f1"], resamples=0, buckets=["none"]).agreement
    assert set(agreement["n"]) == {12}


def test_buckets_can_be_made_of_remarks() -> None:
    rows = [
        {"reference": f"r{i}", "candidate": "c", "label": i % 3, "annotations": "late" if i < 4 else "none"}
        for i in range(12)
    ]
    pairs = load_dataset(rows)
    assert pairs.column("annotations").to_pylist() == [row["annotations"] for row in rows]
    agreement = assay.run([pairs], ["f1"], resamples=0, buckets=["annotations"]).agreement
    sizes = agreement[agreement["statistic"] == "spearman"].set_index("bucket")["n"].to_dict()
    assert (sizes["annotations=late"], sizes["annotations=none"]) == (4, 8)


def test_lists_of_numbers_are_what_annotators_gave(tmp_path: Path) -> None:
    given = [[2.0, 2.0], [0.0]]
    columns = {"reference": ["a", "b"], "candidate": ["a", "c"], "label": [2.0, 0.0], "annotations": given}
    pq.write_table(pa.table(columns), tmp_path / "d.parquet")
    assert load_dataset(tmp_path / "d.parquet").table.column("annotations").to_pylist() == given


def test_no_column_of_the_user_collides_with_those_of_a_run(tmp_path: Path) -> None:
    """Columns may have the names of what assay adds to a run, and commands find them by these names."""
    names = ["dataset", "buckets", "source:dataset", "metric", "score", "n", "all", "rank"]
    lines = [",".join(["reference", "candidate", "label", *names])]
    lines += [
        f"w{row // 2} x,w{row % 3} x,{row % 3},{','.join(f'{name}{row % 2}' for name in names)}" for row in range(12)
    ]
    path = write(tmp_path, "d.csv", "\n".join(lines))
    assay.run(path, ["f1", "chrf"], buckets=["dataset", "buckets"], out=tmp_path / "run", resamples=0, page=False)
    kept = pq.read_table(tmp_path / "run/pairs.parquet")
    assert kept.column("source:source:dataset").to_pylist()[:2] == ["dataset0", "dataset1"]
    assert kept.column("source:dataset").to_pylist()[:2] == ["source:dataset0", "source:dataset1"]
    assert kept.column("source:buckets").to_pylist()[:2] == ["buckets0", "buckets1"]
    assert kept.column("metric").to_pylist()[:2] == ["metric0", "metric1"]
    assert {"buckets=buckets0", "dataset=dataset1"} <= {
        name for cell in kept.column("buckets").to_pylist() for name in cell
    }
    found = assay.systems(tmp_path / "run", system="buckets", item="reference")
    assert "buckets1" in found.to_markdown()


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        (["80%", "5 %", "100%"], [0.8, 0.05, 1]),
        (["12,5 %", "7,0 %"], [0.125, 0.07]),
        (["8 points", "1 point", "0.5 points"], [8, 1, 0.5]),
        (["5 - Strongly agree", "1 - Strongly disagree", "5 - strongly  agree"], [5, 1, 5]),
        (["3 (fair)", "-1 (poor)"], [3, -1]),
        (["1 - bad", "5: ok", "1 - bad"], [1, 5, 1]),
        # words of yes and no of several kinds, also beside 0 and 1
        (["yes", "0", "TRUE", "N", "no"], [1, 0, 1, 0, 0]),
        (["right", "no"], [1, 0]),
    ],
)
def test_numbers_before_texts_and_mixed_words_are_labels(tmp_path: Path, cells: list[str], labels: list[float]) -> None:
    rows = "".join(f'a,b,"{cell}"\n' for cell in cells)
    pairs = load_dataset(write(tmp_path, "d.csv", f"reference,candidate,label\n{rows}"))
    assert pairs.column("label").to_pylist() == labels
    assert pairs.notes[0].startswith("labels: ")


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        # a share or a percentage?
        (["0.8", "80%"], ["row 3", "'80%'", "a percentage in each row"]),
        # a range, two texts of one number, a date, a number of thousands
        (["1-2", "3-4"], ["row 2", "'1-2'"]),
        (["1 error", "1 remark"], ["row 2", "'1 error'"]),
        (["1 May 2020", "2 May 2020"], ["row 2"]),
        (["10k", "2.k5"], ["row 2", "'10k'"]),
        # units and months
        (["2k", "1m"], ["row 2", "'2k'"]),
        (["5 min", "3 h"], ["row 2", "'5 min'"]),
        (["1 Jan", "2 Feb"], ["row 2", "'1 Jan'"]),
        # a slip beside numbers, and a single letter that may be a code
        (["1", "0", "n"], ["row 4", "'n'"]),
        (["1", "2", "yes"], ["row 4", "'yes'"]),
        (["\N{THUMBS UP SIGN}", "\N{THUMBS DOWN SIGN}"], ["row 2", "\N{THUMBS UP SIGN}=NUMBER"]),
    ],
)
def test_labels_that_are_in_doubt_are_refused(tmp_path: Path, cells: list[str], words: list[str]) -> None:
    rows = "".join(f'a,b,"{cell}"\n' for cell in cells)
    message = failure(write(tmp_path, "d.csv", f"reference,candidate,label\n{rows}"))
    for word in words:
        assert word in message


def test_candidates_that_are_lists_are_told(tmp_path: Path) -> None:
    path = write(tmp_path, "d.csv", 'reference,candidate,label\na,"[""x""]",1\nb,"[""y"", ""z""]",0\n')
    hints = load_dataset(path).hints
    assert "the candidates are lists" in hints[0] and "--columns candidate=candidate.0" in hints[0]
    with_blank = write(tmp_path, "e.csv", 'reference,candidate,label\na,"[""x""]",1\nb,,0\n')
    assert load_dataset(with_blank).hints == hints
    assert load_dataset(path, columns="candidate=candidate.0").texts()[1] == ["x", "y"]
    path = write(tmp_path, "d.jsonl", '{"reference": "a", "candidate": ["x"], "label": 1}\n')
    assert "is the path candidate.0" in failure(path)
    assert load_dataset(path, columns="candidate=candidate.0").texts()[1] == ["x"]
    path = write(tmp_path, "e.csv", 'reference,candidate,label\na,"[""x""]",1\nb,plain,0\n')
    assert not load_dataset(path).hints


def test_the_mark_of_utf_8_is_no_other_encoding(tmp_path: Path) -> None:
    path = write(tmp_path, "d.csv", b"\xef\xbb\xbfreference,candidate,label\na,b,1\n")
    assert load_dataset(path).notes == ()


@pytest.mark.parametrize(
    ("text", "proposed"),
    [
        # two annotators in words of one kind, gold answers divided by a sign
        (
            "Question,Gold,Model,Answer,Anna,Ben\n" + 8 * "q?,a/b,m,a,right,Right\nr?,c/d,m,e,wrong,\n",
            '`columns="reference=Gold,candidate=Answer,label=Anna+Ben,question=Question"` `separator="/"`',
        ),
        # words beside yes and no are no labels
        (
            "gold,answer,first rater,second rater\n" + 9 * "a,b,yes,no\nc,d,no,yes\n" + "e,f,unsure,yes\n",
            '`columns="reference=gold,candidate=answer,label=first rater+second rater"` `missing="unsure"`',
        ),
        # grades of two people on one scale
        (
            "gold,answer,Anna,Ben,n_words\n" + 9 * "a,b,1,2,103\nc,d,5,4,220\ne,f,3,2,87\n",
            '`columns="reference=gold,candidate=answer,label=LABEL"`',
        ),
        (
            "gold,answer,Anna,Ben\n" + 9 * "a,b,1,2\nc,d,5,4\ne,f,3,2\n",
            '`columns="reference=gold,candidate=answer,label=Anna+Ben"`',
        ),
        # the verdicts of programs beside those of people
        (
            "gold,answer,gpt4_verdict,human_verdict\n" + 9 * "a,b,yes,no\nc,d,no,no\ne,f,yes,yes\n",
            '`columns="reference=gold,candidate=answer,label=human_verdict"`',
        ),
        (
            "gold,answer,llmJudge,Verdict\n" + 9 * "a,b,1,0\nc,d,0,0\ne,f,1,1\n",
            '`columns="reference=gold,candidate=answer,label=Verdict"`',
        ),
        (
            "gold,answer,judge,annotation\n" + 9 * "a,b,1,0\nc,d,0,0\ne,f,1,1\n",
            '`columns="reference=gold,candidate=answer,label=annotation"`',
        ),
        (
            "gold,answer,judge 1,judge 2\n" + 9 * "a,b,1,0\nc,d,0,0\ne,f,1,1\n",
            '`columns="reference=gold,candidate=answer,label=judge 1+judge 2"`',
        ),
        # identifiers repeat nothing, and one kind of words leaves doubt beside another
        (
            "gold,answer,id\n" + "".join(f"a,b,{number}\n" for number in range(9)),
            '`columns="reference=gold,candidate=answer,label=LABEL"`',
        ),
        (
            "gold,answer,kept,judged\n" + 9 * "a,b,yes,right\nc,d,no,wrong\n",
            '`columns="reference=gold,candidate=answer,label=LABEL"`',
        ),
    ],
)
def test_labels_and_separators_are_proposed_by_what_the_cells_hold(tmp_path: Path, text: str, proposed: str) -> None:
    assert failure(write(tmp_path, "d.csv", text)).endswith(f"Say which is which: {proposed}")


def test_a_column_of_questions_in_another_case_needs_no_name(tmp_path: Path) -> None:
    path = write(tmp_path, "d.csv", "Question,gold,out,score\nq,a,b,1\n")
    pairs = load_dataset(path, columns="reference=gold,candidate=out,label=score")
    assert pairs.column("question").to_pylist() == ["q"]
    assert "columns: question is Question" in pairs.notes
    path = write(tmp_path, "e.csv", "Question,Reference,Candidate,Label\nq,a,b,1\n")
    assert load_dataset(path).column("question").to_pylist() == ["q"]
