"""AMR graphs beside texts: in a table, from files, in the cards that have them."""

from __future__ import annotations

import gzip
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.datasets import check_dataset, join_graphs, load_card, load_dataset
from assay.datasets.readers.table import read_table
from assay.exceptions import InputError

ROWS = [
    {"pair_id": "x", "reference": "A boy.", "candidate": "A girl.", "label": 1},
    {"pair_id": "y", "reference": "A man.", "candidate": "A boy.", "label": 0},
]
BOY, GIRL, MAN = "(b / boy)", "(g / girl)", "(m / man)"


def write(path: Path, *graphs: str) -> Path:
    path.write_text("\n\n".join(graphs) + "\n", encoding="utf-8")
    return path


def columns(pairs) -> tuple[list[str], list[str]]:
    return tuple(pairs.table.column(f"{side}_graph").to_pylist() for side in ("reference", "candidate"))


def test_graphs_join_by_row_from_any_number_of_files(tmp_path: Path) -> None:
    one, two, both = (tmp_path / name for name in ("a.amr", "b.amr", "c.amr"))
    write(one, BOY), write(two, MAN), write(both, GIRL, BOY)
    pairs = join_graphs(load_dataset(ROWS), f"reference={one}+{two},candidate={both}")
    assert columns(pairs) == ([BOY, MAN], [GIRL, BOY])
    assert pairs.notes[-1] == f"graphs from {one}, {two}, {both}"
    assert pairs.digest != load_dataset(ROWS).digest


def test_graphs_join_by_identifier_where_these_are_the_pair_ids(tmp_path: Path) -> None:
    left = write(tmp_path / "a.amr", f"# ::id y\n{MAN}", f"# ::id z\n{GIRL}", f"# ::id x\n{BOY}")
    right = write(tmp_path / "b.amr", GIRL, BOY)
    assert columns(join_graphs(load_dataset(ROWS), {"reference": [left], "candidate": [right]})) == (
        [BOY, MAN],
        [GIRL, BOY],
    )


def test_a_pair_whose_identifier_has_no_graph_or_two_is_refused(tmp_path: Path) -> None:
    right = write(tmp_path / "b.amr", GIRL, BOY)
    some = write(tmp_path / "some.amr", f"# ::id x\n{BOY}", f"# ::id z\n{MAN}")
    with pytest.raises(InputError, match=r"some\.amr: the ::id of 1 graphs is a pair_id of data, but the pair 'y'"):
        join_graphs(load_dataset(ROWS), {"reference": [some], "candidate": [right]})
    twice = write(tmp_path / "twice.amr", f"# ::id x\n{BOY}", f"# ::id y\n{MAN}", f"# ::id x\n{GIRL}")
    places = f"{twice}, line 8: the ::id 'x' already appears at {twice}, line 2"
    with pytest.raises(InputError, match=re.escape(places)):
        join_graphs(load_dataset(ROWS), {"reference": [twice], "candidate": [right]})
    unused = write(
        tmp_path / "unused.amr", *(f"# ::id {i}\n{g}" for i, g in zip("zyzx", (GIRL, MAN, GIRL, BOY), strict=True))
    )
    assert columns(join_graphs(load_dataset(ROWS), {"reference": [unused], "candidate": [right]}))[0] == [BOY, MAN]
    others = write(tmp_path / "others.amr", f"# ::id u\n{BOY}", f"# ::id v\n{MAN}")
    assert columns(join_graphs(load_dataset(ROWS), {"reference": [others], "candidate": [right]}))[0] == [BOY, MAN]


def test_several_gold_answers_have_no_graphs() -> None:
    row = {"reference": ["A boy.", "A lad."], "candidate": "A girl.", "label": 1, "reference_graph": BOY}
    with pytest.raises(InputError, match="data in memory: has several gold answers a pair; graphs are read for one"):
        load_dataset([row])
    assert len(load_dataset([row | {"reference": ["A boy."]}])) == 1
    assert len(load_dataset([row | {"reference_graph": ""}])) == 1


def test_graphs_in_a_table_need_no_penman(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "penman", None)
    pairs = load_dataset([row | {"reference_graph": BOY, "candidate_graph": "(g / girl"} for row in ROWS])
    assert columns(pairs) == ([BOY, BOY], ["(g / girl", "(g / girl"])


def test_graphs_of_a_card_are_replaced_and_those_of_ones_own_data_are_not(tmp_path: Path) -> None:
    left, right = write(tmp_path / "a.amr", BOY, MAN), write(tmp_path / "b.amr", GIRL, BOY)
    own = load_dataset([row | {"candidate_graph": MAN} for row in ROWS])
    with pytest.raises(InputError, match=r"^graphs: data has candidate_graph already; give the graphs in one way$"):
        join_graphs(own, {"reference": [left], "candidate": [right]})
    card = replace(own, kind="human")
    assert columns(join_graphs(card, {"reference": [left], "candidate": [right]})) == ([BOY, MAN], [GIRL, BOY])


def test_numbers_of_graphs_do_not_count_where_pairs_have_no_names(tmp_path: Path) -> None:
    rows = [{key: value for key, value in row.items() if key != "pair_id"} for row in ROWS]
    left = write(tmp_path / "a.amr", f"# ::id 1\n{BOY}", f"# ::id 2\n{MAN}")
    right = write(tmp_path / "b.amr", f"# ::id 1\n{GIRL}", f"# ::id 1\n{BOY}")
    pairs = join_graphs(load_dataset(rows), f"reference={left},candidate={right}")
    assert pairs.table.column("pair_id").to_pylist() == ["0", "1"]
    assert columns(pairs) == ([BOY, MAN], [GIRL, BOY])


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ("reference={a}", "the candidates have no file of graphs"),
        ("reference={a},candidate={three}", r"three\.amr: has 3 graphs for the candidates of 2 pairs"),
        ("reference={a},candidate={broken}", r"broken\.amr, line 4: not a graph in Penman notation"),
        ("reference={a},candidate={a}/no", "cannot be read as a file of graphs"),
        ("refrence={a},candidate={a}", "graphs='refrence="),
        ("reference={a},reference={a}", "graphs='reference="),
        ("reference={a}+,candidate={a}", "graphs='reference="),
    ],
)
def test_faults_name_file_and_line(tmp_path: Path, graphs: str, message: str) -> None:
    files = {
        "a": write(tmp_path / "a.amr", BOY, MAN),
        "three": write(tmp_path / "three.amr", BOY, MAN, GIRL),
        "broken": write(tmp_path / "broken.amr", BOY, "# ::id 2\n(b / boy"),
    }
    with pytest.raises(InputError, match=message):
        join_graphs(load_dataset(ROWS), graphs.format(**files))


def test_graphs_in_a_table_are_checked_by_row_and_column(tmp_path: Path) -> None:
    rows = [row | {"reference_graph": BOY, "amr": GIRL} for row in ROWS]
    pairs = load_dataset(rows, columns={"candidate_graph": "amr"})
    assert columns(pairs) == ([BOY, BOY], [GIRL, GIRL])
    rows[1]["amr"] = "(g / girl"
    with pytest.raises(InputError, match="data in memory, row 1, column candidate_graph: not a graph"):
        load_dataset(rows, columns={"candidate_graph": "amr"})
    file = tmp_path / "pairs.csv"
    file.write_text("reference,candidate,label,reference_graph\na,b,1,(b / boy)\na,c,2,\nd,e,0,(b boy)\n")
    with pytest.raises(InputError, match=re.escape(f"{file}, row 4, column reference_graph: not a graph")) as caught:
        load_dataset(file)
    assert str(caught.value).endswith("; mend the graph, or leave the cell empty")


def test_pairs_without_texts_are_told_apart_by_their_graphs() -> None:
    blank = {"reference": "", "candidate": "", "candidate_graph": GIRL}
    rows = [blank | {"reference_graph": graph, "label": label} for graph, label in ((BOY, 0), (MAN, 1), (BOY, 0))]
    pairs = load_dataset(rows)
    assert pairs.drop_duplicates()[1] == 1
    found = {finding.name: finding.count for finding in check_dataset({"test": pairs})}
    assert found["duplicates"] == 1
    assert "conflicting-labels" not in found


@pytest.mark.slow
def test_bamboo_gives_sentences_with_their_graphs(with_shared: Path) -> None:
    pairs = load_dataset("bamboo-sts:test")
    first = pairs.table.slice(0, 1).to_pylist()[0]
    assert (first["reference"], first["label"], first["subset"]) == (
        "A girl is styling her hair.",
        0.5,
        "main-captions",
    )
    assert first["reference_graph"].startswith("(xv0 / style-01")
    whole = load_dataset("stsb:test")
    assert whole.table.column("candidate").to_pylist() == pairs.table.column("candidate").to_pylist()
    assert np.allclose(whole.labels / 5, pairs.labels)
    sick = load_dataset("bamboo-sick:test")
    assert np.allclose((load_dataset("sick:test").labels - 1) / 4, sick.labels)
    assert set(load_dataset("bamboo-para:test").labels) == {0.0, 1.0}


@pytest.mark.slow
def test_roles_stand_two_by_two(with_shared: Path) -> None:
    pairs = load_dataset("bamboo-role-para:test")
    rows = pairs.table.to_pylist()
    assert [row["label"] for row in rows[:4]] == [0, 1, 0, 1]
    assert [row["group"] for row in rows[:4]] == ["1", "1", "2", "2"]
    assert rows[0]["reference_graph"] == rows[1]["reference_graph"] != rows[2]["reference_graph"]
    assert rows[0]["candidate_graph"] != rows[1]["candidate_graph"]


@pytest.mark.slow
def test_arguments_have_the_graphs_of_their_sentences(with_shared: Path) -> None:
    pairs = load_dataset("ukp-aspect-amr")
    rows = pairs.table.to_pylist()
    assert rows[0]["reference"].startswith("3D Printed Products Can Improve Health")
    assert "print-01" in rows[0]["reference_graph"]
    assert (
        pairs.table.column("candidate").to_pylist() == load_dataset("ukp-aspect").table.column("candidate").to_pylist()
    )


def test_a_graph_of_another_sentence_is_refused(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "bamboo" / "sts"
    plain = tmp_path / "src.amr"
    graphs = gzip.decompress((folder / "main" / "src.dev.amr.gz").read_bytes()).decode()
    plain.write_text(graphs.replace("A young child is riding a horse.", "A child is riding a horse."))
    files = {
        "sts/main/src.dev.amr": plain,
        "sts/main/tgt.dev.amr": folder / "main" / "tgt.dev.amr.gz",
        "sts/dev.y": folder / "dev.y",
        "sts/orig.dev.txt": folder / "orig.dev.txt",
    }
    problem = r"src\.amr, graph 2: belongs to 'A child is riding a horse\.'; expected 'A young child is riding"
    with pytest.raises(InputError, match=problem):
        read_table(files, load_card("bamboo-sts").options_of("dev"))
