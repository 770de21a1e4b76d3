"""The cards of the package on the real data, against facts known about it."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from assay.datasets import check_dataset, describe_card, list_datasets, load_card, load_card_splits, load_dataset
from assay.datasets.locate import files_are_local
from assay.datasets.readers.evouna import gold_answers, read_evouna
from assay.datasets.readers.nq301 import read_nq301
from assay.datasets.readers.table import read_table
from assay.datasets.spec import parse_spec
from assay.exceptions import InputError
from assay.metrics import load_metric

ROWS = {
    "stsb": {"train": 5749, "dev": 1500, "test": 1379},
    "stsb-de": {"train": 5749, "dev": 1500, "test": 1379},
    "sts12": {"test": 3108, "train": 2234},
    "sts13": {"test": 1500},
    "sts14": {"test": 3750},
    "sts15": {"test": 3000},
    "sts16": {"test": 1186},
    "sick@1": {"train": 4500, "trial": 500, "test": 4927},
    "sick@2": {"train": 4439, "trial": 495, "test": 4906},
    "ukp-aspect": {"all": 3595},
    "ukp-aspect-amr": {"all": 3595},
    "bamboo-sts": {"train": 5749, "dev": 1500, "test": 1379},
    "bamboo-sick": {"train": 4500, "dev": 500, "test": 4927},
    "bamboo-para": {"train": 3576, "dev": 500, "test": 1725},
    "bamboo-role-sts": {"train": 474, "dev": 106, "test": 158},
    "bamboo-role-sick": {"train": 246, "dev": 50, "test": 238},
    "bamboo-role-para": {"train": 4736, "dev": 676, "test": 2242},
    "squad-sas": {"test": 942},
    "germanquad-sas": {"test": 422},
    "nq-open-sas@1": {"test": 3658},
    "nq-open-sas@2": {"test": 3658},
    "evouna-tq": {"all": 9690},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_rows_of_the_real_files(with_shared: Path, name: str) -> None:
    splits = load_card_splits(name, offline=True)
    assert {split: len(pairs) for split, pairs in splits.items()} == ROWS[name]
    card = load_card(name)
    for pairs in splits.values():
        assert pairs.scale == (card.scale.low, card.scale.high)
        assert np.nanmin(pairs.labels) >= card.scale.low and np.nanmax(pairs.labels) <= card.scale.high
        assert pairs.kind == "human" and pairs.language == ("de" if name in ("stsb-de", "germanquad-sas") else "en")
    errors = [f for f in check_dataset(splits, card) if f.severity == "error" and f.name != "replacement-character"]
    assert errors == []


#: Cards of every reader; their files are read once more, so those with the many graphs of BAMBOO are left out.
JOINED = [name for name in ROWS if not name.startswith("bamboo") or name == "bamboo-role-sts"]


@pytest.mark.slow
@pytest.mark.parametrize("name", JOINED)
def test_all_splits_together_have_each_pair_once(with_shared: Path, name: str) -> None:
    whole = load_dataset(f"{name}:all", offline=True)
    assert len(set(whole.column("pair_id").to_pylist())) == sum(ROWS[name].values())


OWN = [f"{entry.name}@{entry.version}" for entry in list_datasets() if entry.origin == "assay"]
#: Cards whose numbers of pairs are not repeated in this file: the number in the card is checked.
OTHERS = [name for name in OWN if not {name, name.partition("@")[0]} & set(ROWS)]


@pytest.mark.parametrize("name", OTHERS)
def test_every_other_card_is_read_where_its_files_are_on_the_machine(name: str) -> None:
    card = load_card(name)
    if not all(files_are_local(card, split) for split in card.splits):
        pytest.skip("its files are not on this machine")
    splits = load_card_splits(card, offline=True)
    assert {split: len(pairs) for split, pairs in splits.items()} == {s: x.rows for s, x in card.splits.items()}
    errors = [f for f in check_dataset(splits, card) if f.severity == "error" and f.name != "replacement-character"]
    assert errors == []


def counts(splits: dict[str, object], split: str, name: str) -> int:
    return sum(f.count for f in check_dataset(splits) if f.split == split and f.name == name)  # type: ignore[arg-type]


def test_known_faults_of_the_sts_benchmark(with_shared: Path) -> None:
    splits = load_card_splits("stsb")
    found = check_dataset(splits)
    train = {f.name: f.count for f in found if f.split == "train"}
    assert train["duplicates"] + train["swapped-duplicates"] == 57
    assert train["conflicting-labels"] == 13
    leaks = {f.split: f.count for f in found if f.name == "leaks"}
    assert leaks == {"train+test": 11, "train+dev": 6, "dev+test": 2, "train+dev+test": 1}
    assert all(len(f.examples) >= 1 for f in found)
    genres = {g for pairs in splits.values() for g in pairs.column("subset").to_pylist()}
    assert genres == {"main-captions", "main-news", "main-forums"}
    assert not any(t != t.strip() for t in splits["train"].texts()[0])


def test_german_genres_join_by_row(with_shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    german, english = load_dataset("stsb-de"), load_dataset("stsb")
    assert german.column("subset").equals(english.column("subset"))
    assert german.labels.tolist() == english.labels.tolist()
    (tmp_path / "stsb-de").symlink_to(with_shared / "stsb-de")
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))
    alone = load_dataset("stsb-de", offline=True)
    assert "subset" not in alone.table.column_names and any("no subset" in note for note in alone.notes)


def test_answer_pairs(with_shared: Path) -> None:
    squad = load_dataset("squad-sas")
    assert squad.drop_duplicates()[1] == 3
    german = load_dataset("germanquad-sas")
    assert german.notes == ("3 of 425 rows without a label left out",)
    first = load_dataset("nq-open-sas@1")
    splits = {"test": first}
    assert counts(splits, "test", "conflicting-labels") == 14
    references, candidates, _ = first.texts()
    assert sum(text == "None" for text in references + candidates) == 9
    assert any("superseded by 2" in note for note in first.notes)


def test_corrected_labels_of_nq_open(with_shared: Path) -> None:
    first, second = load_dataset("nq-open-sas@1"), load_dataset("nq-open-sas")
    assert second.version == "2"
    assert first.texts()[:2] == second.texts()[:2], "texts as first published, not as a spreadsheet left them"
    assert int((first.labels != second.labels).sum()) == 354
    checked = np.asarray(second.column("label_checked").to_pylist())
    assert (checked == "yes").sum() == 1547
    assert (first.labels == second.labels)[checked == "no"].all()
    questions, groups = second.column("question").to_pylist(), second.column("group").to_pylist()
    assert questions.count(None) == 54
    assert all(g == q if q is not None else g.startswith("pair ") for q, g in zip(questions, groups, strict=True))
    assert len({q for q in questions if q is not None}) == 863


def test_questions_of_the_recorded_scores_of_nq_open(with_shared: Path) -> None:
    """Text by text and by score they are pairs of the file with the questions; its 863 questions are the groups."""
    pairs = load_dataset("nq-open-sas-recorded")
    questions = pairs.column("question").to_pylist()
    assert pairs.column("group").to_pylist() == questions
    assert questions.count(None) == 84 and len(set(questions) - {None}) == 853
    (note,) = pairs.notes
    assert "question of 3,475 of 3,559 pairs" in note and "84 pairs" in note
    file = with_shared / "sas" / "recorded" / "nq_open_with_questions.csv"
    with file.open(encoding="utf-8", newline="") as lines:
        scores = {(row["question"], row["answer1"]): [] for row in csv.DictReader(lines)}
        lines.seek(0)
        for row in csv.DictReader(lines):
            scores[row["question"], row["answer1"]].append(float(row["sas"]))
    exact = 0
    for question, reference, score in zip(
        questions, pairs.column("reference").to_pylist(), pairs.column("sas").to_pylist(), strict=True
    ):
        if (question, reference) in scores:
            nearest = min(abs(float(score) - other) for other in scores[question, reference])
            exact += nearest < 1e-6
    assert exact > 3000, "scores of the same answers under the same question, recorded twice"


def test_sick_versions_agree(with_shared: Path) -> None:
    one, two = load_dataset("sick@1:all"), load_dataset("sick@2:all")

    def rows(p: object) -> set[tuple[object, ...]]:
        names = ("pair_id", "reference", "candidate", "label", "entailment")
        return set(zip(*(p.column(n).to_pylist() for n in names), strict=True))  # type: ignore[attr-defined]

    assert rows(two) <= rows(one) and len(rows(one) - rows(two)) == 87
    assert load_card("sick").version == "1"


def test_argument_classes(with_shared: Path) -> None:
    pairs = load_dataset("ukp-aspect")
    found = Counter(zip(pairs.column("class").to_pylist(), pairs.labels.tolist(), strict=True))
    assert found == {("NS", 0.0): 1723, ("DTORCD", 0.0): 571, ("SS", 1.0): 841, ("HS", 2.0): 460}
    assert len(set(pairs.column("subset").to_pylist())) == 28


def test_the_manifest_is_that_of_the_files(with_shared: Path) -> None:
    listed = json.loads((with_shared / "stsbenchmark" / "PROVENANCE.json").read_text())["files"]
    known = {entry["file"]: (entry["bytes"], entry["sha256"]) for entry in listed}
    for entry in load_card("stsb").files:
        assert (entry.bytes, entry.sha256) == known[entry.name]


def test_semeval_lines_stay_aligned(tmp_path: Path) -> None:
    (tmp_path / "i").write_text('a "quoted\tb\nc\td\tsource\tsource\ne\tf \n')
    (tmp_path / "g").write_text("1.5\n\n3\n")
    files = {"2016/STS2016.input.x.txt": tmp_path / "i", "2016/STS2016.gs.x.txt": tmp_path / "g"}
    options = load_card("sts16").options_of("test")
    result = read_table(files, options)
    assert result.table.to_pylist() == [
        {"pair_id": "x-1", "reference": 'a "quoted', "candidate": "b", "label": 1.5, "subset": "x"},
        {"pair_id": "x-3", "reference": "e", "candidate": "f", "label": 3.0, "subset": "x"},
    ]
    assert result.notes == ("1 of 3 rows without a label left out",)
    (tmp_path / "g").write_text("1.5\n3\n")
    with pytest.raises(InputError, match=r"g: has 2 rows; expected 3, as .*i has"):
        read_table(files, options)


def test_str_rows(tmp_path: Path) -> None:
    path = tmp_path / "sem_text_rel_ranked.csv"
    options = load_card("str-2022").options_of("all")
    path.write_text('Index,SourceID,SubsetID,PairID,Text,Score\n0,s,1,p-1,"One dog, here.\nA dog.",0.75\n')
    (row,) = read_table({"f": path}, options).table.to_pylist()
    assert row == {
        "pair_id": "p-1", "reference": "One dog, here.", "candidate": "A dog.", "label": 0.75,
        "subset": "s", "Index": "0", "SubsetID": "1",
    }  # fmt: skip
    for text in ("one sentence", '"one\ntwo\nthree"'):
        path.write_text(f"Index,SourceID,SubsetID,PairID,Text,Score\n0,s,1,p-1,{text},0.75\n")
        with pytest.raises(InputError, match=r"row 2, column Text: 'one.* has not the form"):
            read_table({"f": path}, options)


def test_gold_answers_are_divided_with_care() -> None:
    """Cells of EVOUNA: aliases of TriviaQA hold slashes themselves."""
    for cell, expected in {
        "UN/United Nations": ["UN", "United Nations"],
        "Chain of Command: The Road from 9/11 to Abu Ghraib/Hersh": [
            "Chain of Command: The Road from 9/11 to Abu Ghraib",
            "Hersh",
        ],
        "55,646/55646": ["55,646", "55646"],
        "July 20/20 July": ["July 20", "20 July"],
        "+-*//Arithmetic": ["+-*/", "Arithmetic"],
        "54 Mbit/s/54": ["54 Mbit/s", "54"],
        " a/ /b/": ["a", "b"],
    }.items():
        assert gold_answers(cell) == expected


def evouna_record(**changes: object) -> dict[str, object]:
    record: dict[str, object] = {"question": "Who?", "golden_answer": "Ann/Anne", "improper": False}
    record |= {"answer_fid": "Ann", "judge_fid": True, "answer_gpt4": "It was\u00a0Bo.", "judge_gpt4": False}
    return record | changes


def test_evouna_rows(tmp_path: Path) -> None:
    path = tmp_path / "NQ.json"
    unjudged = evouna_record(question="When?", judge_gpt4=None, answer_fid=None)
    path.write_text(json.dumps([evouna_record(), evouna_record(improper=True, judge_fid=None), unjudged]))
    result = read_evouna({"f": path}, {})
    first, second = result.table.to_pylist()
    assert first == {
        "pair_id": "1-fid", "reference": ["Ann", "Anne"], "candidate": "Ann", "label": 1.0,
        "question": "Who?", "subset": "FiD", "group": "Who?", "item": "1",
    }  # fmt: skip
    assert (second["subset"], second["candidate"], second["label"]) == ("GPT-4", "It was\u00a0Bo.", 0.0)
    assert [note.split(" ")[0] for note in result.notes] == ["1", "2"], "improper, not judged"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("[", "is not JSON"),
        ("{}", "expected a list of questions"),
        ('[{"question": "Who?"}]', "question 1: has no golden_answer, improper"),
        (json.dumps([evouna_record(judge_fid="yes")]), "judge_fid is 'yes'; expected true, false or null"),
        (json.dumps([evouna_record(answer_fid=3)]), "answer_fid is 3; expected a text"),
        (json.dumps([evouna_record(), evouna_record(golden_answer="/")]), "question 2: golden_answer has no answer"),
    ],
)
def test_what_evouna_cannot_be(tmp_path: Path, content: str, problem: str) -> None:
    path = tmp_path / "TQ.json"
    path.write_text(content)
    with pytest.raises(InputError, match=problem):
        read_evouna({"f": path}, {})


@pytest.mark.slow
def test_contains_agrees_with_people_on_evouna_as_often_as_the_published_code(with_shared: Path) -> None:
    """The shares are those of QA-Eval's lexical_match.py (Wang et al. 2023) on the same file."""
    pairs = load_dataset("evouna-tq", offline=True)
    references, candidates, _ = pairs.texts()
    metric = load_metric("contains")
    right = []
    for answers, candidate, label in zip(references, candidates, pairs.labels, strict=True):
        found = metric.score(answers, [candidate] * len(answers)).max()
        right.append(found == label)
    subsets = np.array(pairs.table.column("subset").to_pylist())
    assert np.mean(right) == pytest.approx(0.914, abs=5e-4)
    shares = {"FiD": 0.918, "GPT-3.5": 0.922, "ChatGPT": 0.922, "GPT-4": 0.911, "Bing": 0.898}
    for system, share in shares.items():
        assert np.mean(np.array(right)[subsets == system]) == pytest.approx(share, abs=5.1e-4)


NQ301 = "id\tQuestion\tModel answer\tAcceptable?\tannotator1\tannotator2\tannotator3\n"


def test_nq301_rows(tmp_path: Path) -> None:
    verdicts, gold = tmp_path / "human.tsv", tmp_path / "gold.jsonl"
    verdicts.write_text(f'{NQ301}1\twho\tAnn "Bo" Li\tYes\tYes\tNo\tYes\n1\twho\tCy\tNo\tNo\tNo\t\n')
    gold.write_text('{"question": "who", "answer": ["Ann", "A. Li"], "prediction": "Cy"}\n')
    files = {"human.tsv": verdicts, "gold.jsonl": gold}
    first, second = read_nq301(files, {}).table.to_pylist()
    assert first == {
        "reference": ["Ann", "A. Li"], "candidate": 'Ann "Bo" Li', "label": 1.0, "question": "who", "group": "1",
        "annotations": [1.0, 0.0, 1.0],
    }  # fmt: skip
    assert (second["label"], second["annotations"]) == (0.0, [0.0, 0.0])
    verdicts.write_text(f"{NQ301}1\twho\tAnn\tMaybe\tYes\tYes\t\n")
    with pytest.raises(InputError, match=r"row 2, column Acceptable\?: 'Maybe' is neither Yes nor No"):
        read_nq301(files, {})
    verdicts.write_text(f"{NQ301}1\twhere\tAnn\tYes\tYes\tYes\t\n")
    with pytest.raises(InputError, match="row 2: there is no gold answer to the question 'where'"):
        read_nq301(files, {})
    gold.write_text('{"question": "where", "answer": "Rome"}\n')
    with pytest.raises(InputError, match="line 1: answer is 'Rome'; expected a list"):
        read_nq301(files, {})
    verdicts.write_text("id\tQuestion\n1\twho\n")
    gold.write_text('{"question": "where", "answer": ["Rome"]}\n')
    with pytest.raises(InputError, match="has the columns id, Question; expected"):
        read_nq301(files, {})


def test_the_probe_is_here_at_once() -> None:
    pairs = load_dataset("probe", offline=True)
    assert pairs.kind == "probe" and len(pairs) >= 400 and pairs.language is None
    assert set(pairs.column("language").to_pylist()) == {"en", "de"}
    assert set(pairs.labels.tolist()) == {0.0, 1.0, 2.0}
    assert "category" not in pairs.table.column_names and len(set(pairs.column("subset").to_pylist())) >= 10


def test_specs() -> None:
    assert parse_spec("stsb") == ("stsb", None, None)
    assert parse_spec("stsb@2017:test+dev") == ("stsb", "2017", ("test", "dev"))
    assert parse_spec("C:\\data\\mine.toml") == ("C:\\data\\mine.toml", None, None)
    assert parse_spec("/a@b/mine.toml:dev") == ("/a@b/mine.toml", None, ("dev",))
    assert parse_spec("results@v2.csv:test") == ("results@v2.csv", None, ("test",))
    assert parse_spec("results@v2.csv") == ("results@v2.csv", None, None)
    for bad in ("stsb:", "stsb@", ":test", "@1", "stsb:test+", "stsb:+test", ""):
        with pytest.raises(InputError, match="expected"):
            parse_spec(bad)


def test_cards_are_listed_without_arrow() -> None:
    line = "import sys, assay.datasets.registry; sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", line], check=False).returncode == 0


def test_files_of_a_split_that_there_is_not() -> None:
    card = load_card("probe")
    assert files_are_local(card) and files_are_local(card, "all")
    with pytest.raises(InputError, match="dataset probe has no split 'tset'"):
        files_are_local(card, "tset")


def test_names_that_there_are_not(with_shared: Path) -> None:
    for spec, words in (
        ("stbs", "Did you mean .*'stsb'"),
        ("stsb:tset", "Did you mean 'test'"),
        ("nq-open-sas@3", "Valid: 1, 2"),
        ("stsb:test+test", "named twice"),
    ):
        with pytest.raises(InputError, match=words):
            load_dataset(spec)
    with pytest.raises(InputError, match="`columns` is for"):
        load_dataset("probe", columns="reference=a")


def test_installed_packages_are_looked_through_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    monkeypatch.setattr("assay.datasets.registry.entry_points", lambda group: looked.append(group) or ())
    monkeypatch.syspath_prepend(str(tmp_path))
    assert load_card("probe") == load_card("probe")
    with pytest.raises(InputError, match="no dataset 'prboe'"):
        load_card("prboe")
    assert looked == ["assay.datasets"]


def test_cards_are_shown_and_third_parties_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = json.loads(json.dumps(describe_card(load_card("stsb"))))
    assert shown["splits"]["test"] == 1379 and shown["here"] is False and "CC BY-SA" in shown["licence"]
    info = tmp_path / "their_data-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-data\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[assay.datasets]\ntheirs = their_data:card\nbroken = their_data:absent\n")
    (tmp_path / "their_data.py").write_text(
        "from pathlib import Path\ndef card():\n    return Path(__file__).with_name('theirs.toml')\n"
    )
    own = Path(sys.modules["assay.datasets"].__file__ or "").parent / "cards" / "probe.toml"
    (tmp_path / "theirs.toml").write_text(own.read_text().replace('name = "probe"', 'name = "theirs"'))
    monkeypatch.syspath_prepend(str(tmp_path))
    entries = {entry.name: entry for entry in list_datasets()}
    assert entries["theirs"].origin == "their-data" and len(load_dataset("theirs")) >= 400
    assert "absent" in entries["broken"].error
    with pytest.raises(InputError, match="their-data"):
        load_card("broken")


def test_a_package_adds_an_older_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "their_data-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-data\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[assay.datasets]\nolder = older_data:CARD\n")
    (tmp_path / "older_data.py").write_text(f"CARD = {str(tmp_path / 'older.toml')!r}\n")
    card = load_card("probe")
    own = Path(sys.modules["assay.datasets"].__file__ or "").parent / "cards" / "probe.toml"
    (tmp_path / "older.toml").write_text(own.read_text().replace(f'version = "{card.version}"', 'version = "0"'))
    monkeypatch.syspath_prepend(str(tmp_path))
    assert {entry.version: entry.default for entry in list_datasets() if entry.name == "probe"} == {
        "0": False,
        card.version: True,
    }
    assert load_card("probe").version == card.version
