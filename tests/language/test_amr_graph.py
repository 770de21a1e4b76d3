"""Graphs in Penman notation, and files of them."""

import gzip
import re

import pytest

from assay.exceptions import InputError
from assay.language.amr import normalized, parse_block, parse_graph, read_graph_file

BOY = """(w / want-01
   :ARG0 (b / boy :mod (Y / Young))
   :ARG1 (g / go-02 :ARG0 b :polarity -)
   :ARG0-of (c / cause-01)
   :time "Noon")"""


def test_a_graph_has_nodes_in_order_and_inverted_roles_turned_round():
    graph = parse_graph(BOY)
    assert graph.variables == ("w", "b", "Y", "g", "c")
    assert graph.concepts == ("want-01", "boy", "Young", "go-02", "cause-01")
    assert graph.relations == ((0, "ARG0", 1), (1, "mod", 2), (0, "ARG1", 3), (3, "ARG0", 1), (4, "ARG0", 0))
    assert graph.attributes == ((3, "polarity", "-"), (0, "time", '"Noon"'))
    assert graph.root == 0


def test_a_normal_form_has_lower_case_no_quotes_mod_for_domain_and_each_triple_once():
    graph = normalized(parse_graph('(s / Small :domain (h / house :name "X" :name "x") :ARG1 h :ARG1 h)'))
    assert graph.concepts == ("small", "house")
    assert graph.relations == ((1, "mod", 0), (0, "arg1", 1))
    assert graph.attributes == ((1, "name", "x"),)


@pytest.mark.parametrize(
    "text", ["", "boy", "(b / boy", "(b / boy))", "()", "(b / boy :ARG0", "(a / b) (c / d)", "boy (b / boy)"]
)
def test_what_is_no_graph_is_refused_in_one_line(text):
    with pytest.raises(InputError, match="not a graph in Penman notation") as raised:
        parse_graph(text)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(b / boy :ARG0)", "the relation :ARG0 of b has no target"),
        ("(b / boy :mod (t / tall) :ARG0-of )", "the relation :ARG0-of of b has no target"),
        ("(b / boy :ARG0-of x)", "the relation :ARG0-of of b leads from x, which is not a variable of the graph"),
    ],
)
def test_a_relation_needs_both_ends(text, message):
    with pytest.raises(InputError, match=message):
        parse_graph(text)


def test_constants_have_any_role():
    graph = parse_graph('(b / brass :consist-of "zinc" :quant 3 :polarity - :mode imperative :instance-of e2)')
    assert [role for _, role, _ in graph.attributes] == ["consist-of", "quant", "polarity", "mode", "instance-of"]


def test_a_file_gives_its_graphs_with_identifier_sentence_and_line(tmp_path):
    file = tmp_path / "two.amr"
    head = "# a bank of graphs\n\n# ::id a.1 ::date 2012 ::preferred\n# ::snt The boy.\n"
    text = f"{head}{BOY}\n\n\n# ::snt So ::what\n(s / so)\n"
    file.write_text(text, encoding="utf-8")
    first, second = read_graph_file(file)
    assert (first.identifier, first.sentence, first.line) == ("a.1", "The boy.", 5)
    assert first.text == BOY
    assert (second.identifier, second.line, second.where) == ("", 13, f"{file}, line 13")
    packed = tmp_path / "two.amr.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert [block.text for block in read_graph_file(packed)] == [first.text, second.text]


def test_a_broken_graph_names_its_file_and_line(tmp_path):
    file = tmp_path / "bad.amr"
    file.write_text(f"{BOY}\n\n# ::id 2\n(b / boy\n  :ARG0 (g\n", encoding="utf-8")
    good, bad = read_graph_file(file)
    assert parse_block(good).concepts[0] == "want-01"
    with pytest.raises(InputError, match=re.escape(f"{file}, line 8: not a graph")):
        parse_block(bad)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "has no graph"), (b"# ::snt nothing\n", "has no graph"), (b"\xff\xfe(", "cannot be read")],
)
def test_a_file_without_graphs_is_refused(tmp_path, content, message):
    file = tmp_path / "empty.amr"
    file.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_graph_file(file)
    with pytest.raises(InputError, match="cannot be read"):
        read_graph_file(tmp_path / "absent.amr")
    broken = tmp_path / "broken.amr.gz"
    broken.write_bytes(b"no gzip")
    with pytest.raises(InputError, match="cannot be read"):
        read_graph_file(broken)


def test_every_gold_graph_of_the_little_prince_can_be_read(shared_data):
    blocks = read_graph_file(shared_data / "amr-little-prince" / "amr-bank-struct-v1.6-test.txt")
    assert len(blocks) == 143
    assert blocks[0].identifier == "lpp_1943.146"
    assert blocks[0].sentence == "Chapter 4 ."
    graphs = [parse_block(block) for block in blocks]
    assert graphs[0].concepts == ("chapter",)
    assert graphs[0].attributes == ((0, "mod", "4"),)
    assert all(all(graph.concepts) for graph in graphs)


def test_a_graph_that_is_nested_deeper_than_any_sentence_is_refused():
    nested = "(a / b" + " :x (c / d" * 5000 + ")" * 5001
    with pytest.raises(InputError, match="its nodes are nested more than 100 deep"):
        parse_graph(nested)
    assert len(parse_graph("(a / b" + "".join(f" :x (c{i} / d" for i in range(99)) + ")" * 100).variables) == 100
