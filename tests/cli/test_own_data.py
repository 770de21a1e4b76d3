"""Files of one's own: four formats, text that stays text, several gold answers, annotators, recorded scores."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.analysis.folder import read_run
from assay.reports.run import document
from tests.cli.calling import COLUMNS, agreement, process

ROWS = [
    {"gold": "None", "answer": "None", "human": 2.0, "ask": "q1"},
    {"gold": "007", "answer": "7", "human": 0.0, "ask": "q2"},
    {"gold": "blue", "answer": "", "human": 0.0, "ask": "q3"},
    {"gold": "NA", "answer": "NA", "human": 1.0, "ask": "q4"},
]
MAPPED = ("--columns", "reference=gold,candidate=answer,label=human,question=ask")


def write(form: str) -> str:
    name = f"pairs.{form}"
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), name)
    elif form == "jsonl":
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    else:
        mark = "," if form == "csv" else "\t"
        lines = [mark.join(ROWS[0]), *(mark.join(str(cell) for cell in row.values()) for row in ROWS)]
        Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return name


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "parquet"])
def test_text_stays_text_in_every_format(assay, form):
    done = assay("run", "-d", write(form), *MAPPED, "-m", "em", "--resamples", 0, "--out", "OUT", "-b", "none")
    assert done.code == 0, done.err
    pairs = pq.read_table("OUT/pairs.parquet").to_pylist()
    assert [pair["reference"] for pair in pairs] == [["None"], ["007"], ["blue"], ["NA"]]
    assert [pair["candidate"] for pair in pairs] == ["None", "7", "", "NA"]
    assert [pair["question"] for pair in pairs] == ["q1", "q2", "q3", "q4"]
    assert pq.read_table("OUT/scores.parquet").column("score").to_pylist() == [1, 0, 0, 1]


@pytest.mark.parametrize(("choice", "expected"), [("best", [1.0, 0.0, 1.0]), ("mean", [0.5, 0.0, 1.0])])
def test_several_gold_answers(assay, choice, expected):
    Path("lists.csv").write_text(
        'reference,candidate,label\n"[""New York"", ""Berlin""]",Berlin,2\n"[""a""]",b,0\n"[""x"", ""x""]",x,1\n',
        encoding="utf-8",
    )
    given = ("run", "-d", "lists.csv", "-m", "em", "--resamples", 0, "-b", "none")
    assert assay(*given, "--references", choice, "--out", "OUT").code == 0
    assert pq.read_table("OUT/scores.parquet").column("score").to_pylist() == expected
    assert f"references:{choice}" in read_run(Path("OUT")).manifest.signature


@pytest.mark.slow
def test_several_annotators_give_their_mean_and_its_reliability(assay):
    lines = ["reference,candidate,a,b,c"]
    lines += [f"word{i},{'word' + str(i) if i % 2 else 'x'},{i % 3},{(i + i // 5) % 3},{i % 3}" for i in range(24)]
    Path("many.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    given = ("--columns", "label=a+b+c", "-m", "f1", "--out", "OUT", "--resamples", 0, "--explain")
    done = assay("run", "-d", "many.csv", *given)
    assert done.code == 0, done.err
    labels = pq.read_table("OUT/pairs.parquet").column("label").to_pylist()
    assert labels[5] == pytest.approx((2 + 0 + 2) / 3)
    shown = " ".join(done.out.split())
    assert "reliability of the labels (split-half, 3 annotators) r .659" in shown
    assert "upper bound for a metric r .812" in shown and "ceiling (split-half" not in shown
    assert "Krippendorff's α nominal" in shown and "an annotator with the mean of the others ρ" in shown
    # a folder of an older version: its reliability takes halves as equal, and no bound follows
    manifest = json.loads(Path("OUT/run.json").read_text(encoding="utf-8"))
    for bucket in manifest["buckets"]:
        if bucket["reliability"]:
            bucket["reliability"] = {"pearson": 0.725, "spearman": 0.7, "annotators": 3, "n": 24, "splits": 1000}
    Path("OUT/run.json").write_text(json.dumps(manifest), encoding="utf-8")
    older = " ".join(document(read_run(Path("OUT"))).sheets[0].groups["all"])
    assert "(split-half, 3 annotators, as if halves were equal) r .725" in older and "bound" not in older
    # what one annotator said is not a score of a metric
    complaint = assay("agree", "many.csv", "--columns", "label=a+b+c").complaint
    assert "no numeric column beside the label" in complaint


def test_recorded_scores_of_the_file_and_of_another(assay):
    Path("beside.csv").write_text("points\n3\n1\n5\n2\n6\n4\n", encoding="utf-8")
    metrics = ("-m", "recorded:second", "-m", "recorded:beside.csv#points")
    done = assay("run", "-d", "own.csv", *COLUMNS, *metrics, "-b", "none", "--resamples", 0, "--out", "OUT")
    assert done.code == 0, done.err
    scores = pq.read_table("OUT/scores.parquet").to_pylist()
    assert [row["score"] for row in scores] == [2, 1, 2, 0, 1, 1, 3, 1, 5, 2, 6, 4]
    assert ("all", "recorded:beside.csv#points", "kendall") in agreement(Path("OUT"))
    # rows that are left out of the data are left out of the file beside it
    limited = assay("run", "-d", "own.csv", *COLUMNS, *metrics, "--limit", 4, "--resamples", 0, "--out", "OUT2")
    assert limited.code == 0, limited.err


def test_a_file_beside_the_data_must_be_in_step(assay):
    Path("short.csv").write_text("points\n3\n1\n", encoding="utf-8")
    complaint = assay("run", "-d", "own.csv", *COLUMNS, "-m", "recorded:short.csv#points").complaint
    assert "has 2 rows, own has 6" in complaint
    Path("short.csv").write_text("points\n3\n1\n5\nlow\n6\n4\n", encoding="utf-8")
    complaint = assay("run", "-d", "own.csv", *COLUMNS, "-m", "recorded:short.csv#points").complaint
    assert "short.csv" in complaint and "pair 5" in complaint and "'low'" in complaint
    complaint = assay("run", "-d", "own.csv", *COLUMNS, "-m", "recorded:short.csv#point").complaint
    assert "Did you mean 'points'?" in complaint


def test_what_the_data_says_of_itself_is_used(assay):
    Path("rich.csv").write_text(
        "pair_id,reference,candidate,label,subset,language,group\n"
        "p1,a,a,1,x,en,g1\np2,b,c,0,x,de,g1\np3,d,d e,1,y,en,g2\np4,7 km,8 km,0,y,de,g3\n",
        encoding="utf-8",
    )
    done = assay("run", "-d", "rich.csv", "-m", "f1", "--resamples", 100, "--format", "csv", "--out", "OUT",
                 "-b", "subset", "-b", "language", "-b", "number", "-b", "label<0.5", "-b", "f1:0,0.5,1",
                 "-b", "subset+language")  # fmt: skip
    assert done.code == 0, done.err
    sizes = {row["bucket"]: int(row["n"]) for row in done.rows}
    assert sizes == {
        "all": 4, "subset=x": 2, "subset=y": 2, "language=de": 2, "language=en": 2, "number=yes": 1, "number=no": 3,
        "label<0.5": 2, "label>=0.5": 2, "0<=f1<0.5": 1, "0.5<=f1<=1": 3, "subset=x+language=de": 1,
        "subset=x+language=en": 1, "subset=y+language=de": 1, "subset=y+language=en": 1,
        "mean over subset": 4, "mean over language": 4,
    }  # fmt: skip
    assert read_run(Path("OUT")).manifest.datasets[0].group == "group"
    assert pq.read_table("OUT/pairs.parquet").column("pair_id").to_pylist() == ["p1", "p2", "p3", "p4"]


WORDS = "reference,candidate,label,question\n" + "".join(
    f"{gold},{answer},{label},q{number}\n"
    for number in range(6)
    for gold, answer, label in (("a|b", "b", "yes"), ("c d|e", "d", ""), ("f", "g", "no"), ("h|i", "i", "Yes"))
)
READING = ("--separator", "|", "--drop-unlabelled", "--group-by", "question", "--resamples", 0, "-b", "none")


def test_a_run_records_how_its_file_was_read_and_verify_reads_it_so(assay):
    Path("words.csv").write_text(WORDS, encoding="utf-8")
    done = assay("run", "-d", "mine=words.csv", *READING, "-m", "em", "--sample", 10, "--seed", 5, "--out", "OUT")
    assert done.code == 0, done.err
    assert "6 of 24 rows without a label left out" in done.out and "labels: no as 0, yes as 1" in done.out
    (record,) = read_run(Path("OUT")).manifest.datasets
    assert (record.name, record.n, record.separator, record.drop_unlabelled) == ("mine", 9, "|", True)
    verified = assay("verify", "OUT", "--quiet", "--format", "json")
    assert verified.code == 0, verified.out
    Path("words.csv").write_text(WORDS.replace("a|b", "a|x"), encoding="utf-8")
    assert assay("verify", "OUT", "--quiet").code == 1


def test_a_wrong_reading_is_announced_by_every_report(assay):
    Path("words.csv").write_text(WORDS.replace("|e", ""), encoding="utf-8")
    done = assay("run", "-d", "words.csv", *READING, "-m", "em", "-m", "f1", "--out", "A")
    assert done.code == 0 and "hold '|'" not in done.out
    assert assay("run", "-d", "words.csv", *READING[2:], "-m", "em", "-m", "f1", "--out", "B").code == 0
    for verb in (("compare", "B", "--resamples", 100, "--permutations", 100), ("leaderboard", "B"), ("errors", "B")):
        done = assay(*verb, "--format", "md")
        assert done.code == 0, done.err
        assert "--separator '|'" in done.out.replace("\\", ""), verb


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_standard_input(form):
    path = Path(write(form))
    columns = [str(part) for part in MAPPED]
    args = ["run", "-d", "-", *columns, "-m", "em", "--resamples", "0", "-b", "none", "--out", "OUT"]
    done = process(*args, stdin=path.read_text(encoding="utf-8"))
    assert done.code == 0, done.err
    assert "stdin" in done.out
    assert pq.read_table("OUT/scores.parquet").column("score").to_pylist() == [1, 0, 0, 1]
    empty = process(*args[:-1], "OTHER", stdin="")
    assert empty.code == 2 and "standard input is empty" in empty.complaint


@pytest.mark.slow
def test_standard_input_is_called_so_in_errors_and_in_the_name_of_a_run():
    rows = "reference\tcandidate\tlabel\n" + 'a\t"b" c\t1\nb\tb\t2\nc\td\t1\n'
    # a row that is short in either reading
    quoted = process("run", "-d", "-.tsv", "-m", "em", stdin=rows + "e\n")
    assert quoted.code == 2
    assert "standard input, row 2: a quote is opened here" in quoted.complaint
    assert "(standard input: -.tab)" in quoted.complaint
    missing = process("run", "-d", "-.tab", "--columns", "label=score", "-m", "em", stdin=rows)
    assert "standard input, for label=score: has no column" in missing.complaint
    done = process("run", "-d", "-.tab", "-m", "em", "--resamples", "0", stdin=rows)
    assert done.code == 0, done.err
    (folder,) = Path("runs").iterdir()
    assert folder.name.startswith("stdin-")


def test_settings_of_own_files_are_refused_for_cards(assay):
    for setting in (("--separator", "|"), ("--labels", "no=0,yes=1"), ("--drop-unlabelled",)):
        done = assay("run", "-d", "probe", "-m", "f1", *setting)
        assert f"{setting[0]} is for files of your own" in done.complaint
    done = assay("run", "-d", "probe", "-m", "f1", "--limit", 5, "--sample", 5)
    assert "give one of them" in done.complaint


def test_a_file_or_a_dataset_is_run_by_its_name_alone(assay):
    Path("words.csv").write_text(WORDS, encoding="utf-8")
    done = assay("run", "words.csv", *READING, "-m", "em", "--out", "OUT")
    assert done.code == 0, done.err
    assert read_run(Path("OUT")).manifest.datasets[0].n == 18
    done = assay("run", "probe", "-d", "words.csv", *READING[:3], "-m", "em", "--resamples", 0, "--out", "BOTH")
    assert done.code == 0, done.err
    assert [data.name for data in read_run(Path("BOTH")).manifest.datasets] == ["probe", "words"]
    assert "there is no suite 'quickstrt'. Did you mean 'quickstart'?" in assay("run", "quickstrt").complaint
    assert "absent.csv: there is no such file" in assay("run", "absent.csv", "-m", "em").complaint
