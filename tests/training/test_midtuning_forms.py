"""Semantic forms: from AMR graphs and from files of frames."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("penman", reason="penman is absent: pip install assay[amr]")

from assay.exceptions import InputError
from assay.language.amr import parse_graph
from assay.training.midtuning.forms import Frame, SemanticForm, make_frame
from assay.training.midtuning.graphs import form_of_graph
from assay.training.midtuning.reader import read_forms

#: Each graph beside its form, read off by hand.
GRAPHS = {
    # a node that two frames share fills a role of both; its sense goes
    "(w / want-01 :ARG0 (b / boy :mod (t / tall)) :ARG1 (g / go-02 :ARG0 b))": (
        "want-01 ARG0: tall boy, ARG1: go tall boy; go-02 ARG0: tall boy"
    ),
    # an inverted role belongs to the frame, not to the node it is written at
    '(b / boy :ARG0-of (s / see-01 :ARG1 (p / person :name (n / name :op2 "Smith" :op1 "Ann") :wiki "Ann_Smith")))': (
        "see-01 ARG0: boy, ARG1: Ann Smith"
    ),
    # core roles in order, then the others; constants are fillers, too
    '(s / say-01 :polarity - :time (d / date-entity :year 2012 :month 5) :ARG1 (x / thing) :ARG0 (i / i) :mode "x")': (
        "say-01 ARG0: i, ARG1: thing, time: 2012 5, polarity: not, mode: x"
    ),
    # conjunction between its parts; a kind of quantity is not a word; a negation comes first
    "(a / age-01 :ARG1 (c / and :op1 (d / dog) :op2 (e / cat)) :ARG2 (t / x-quantity :quant 6 :unit (y / year)))": (
        "age-01 ARG1: dog and cat, ARG2: 6 year"
    ),
    "(l / like-01 :ARG1 (r / run-02 :polarity - :manner (f / fast)))": "like-01 ARG1: not run fast; run-02 "
    "manner: fast, polarity: not",
    # what refers to itself is said once, and not without end
    "(k / know-01 :ARG0 (m / man :ARG1-of k) :ARG1 m)": "know-01 ARG0: man, ARG1: man",
    "(t / think-01 :ARG1 (h / thing :part (o / box :part h)))": "think-01 ARG1: thing box",
    # eight words at most
    "(s / see-01 :ARG1 (a / a :part (b / b :part (c / c :part (d / d :part (e / e :part (f / f :part (g / g :part "
    "(h / h :part (i / i))))))))))": "see-01 ARG1: a b c d e f g h",
    "(x / give-up-07)": "give-up-07",
}


@pytest.mark.parametrize("text", GRAPHS)
def test_the_form_of_a_graph(text):
    assert form_of_graph(parse_graph(text)).text == GRAPHS[text]


@pytest.mark.parametrize("text", ["(c / chapter :mod 1)", '(d / date-entity :time "3-01")', "(p / |2-01|)"])
def test_a_graph_without_frames_has_no_form(text):
    assert form_of_graph(parse_graph(text)) is None


def test_roles_have_one_order_whoever_wrote_them():
    given = [("ARGM-TMP", "now"), ("ARG2", "c"), ("ARGM-LOC", "here"), ("ARG0", "a"), ("ARGM-TMP", "now")]
    assert make_frame("put-01", given).roles == (
        ("ARG0", "a"), ("ARG2", "c"), ("ARGM-TMP", "now"), ("ARGM-LOC", "here"),
    )  # fmt: skip
    assert SemanticForm((Frame("put-01", (("ARG0", ""), ("ARG1", "b"))),)).text == "put-01 ARG0:, ARG1: b"


def lines(path, *records):
    path.write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in records), encoding="utf-8")
    return str(path)


def a_line(sentence, *frames):
    return {"sentence": sentence, "frames": [{"predicate": name, "roles": roles} for name, roles in frames]}


FOUR = [a_line(f"boy {k} runs", ("run-02", {"ARG0": f"boy {k}"})) for k in range(4)]


def test_a_file_of_frames(tmp_path):
    path = lines(
        tmp_path / "frames.jsonl",
        *FOUR,
        "",
        a_line("Ah!"),
        a_line("BOY 2 runs.", ("run-02", {})),
        a_line("I see  you", ("see-01", {"ARG1": " you\n", "ARG0": "I"}), ("be-01", {})),
        a_line("A test sentence", ("see-01", {})),
    )
    found = read_forms([path], limit=None, held_out={"a test sentence"})
    assert found.sentences == (*(f"boy {k} runs" for k in range(4)), "I see you")
    assert found.forms[-1].text == "see-01 ARG0: I, ARG1: you; be-01"
    assert found.counts == {
        "sentences_read": 8, "sentences_without_frame": 1, "sentences_held_out": 1, "sentences_more_than_once": 1,
    }  # fmt: skip
    assert (found.sources[0].spec, len(found.sources[0].digest)) == (path, 64)
    assert len(read_forms([path], limit=4, held_out=set())) == 4


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("{", r"line 5: is not JSON"),
        ('{"sentence": "A \\ud83d", "frames": []}', r"line 5: holds \\ud83d, half of a surrogate pair"),
        ([1], r"line 5: expected an object such as"),
        ({"frames": []}, r"line 5: 'sentence' must be a text that is not empty"),
        ({"sentence": " ", "frames": []}, r"line 5: 'sentence' must be a text that is not empty"),
        ({"sentence": "A"}, r"line 5: 'frames' must be a list"),
        ({"sentence": "A", "frames": [{}, 3]}, r"line 5, frame 1: 'predicate' must be a text"),
        ({"sentence": "A", "frames": ["see"]}, r"line 5, frame 1: expected an object"),
        ({"sentence": "A", "frames": [{"predicate": "a", "roles": []}]}, r"line 5, frame 1: 'roles' must be an object"),
        (a_line("A", ("a-01", {}), ("b-01", {"ARG0": 3})), r"line 5, frame 2: 'ARG0' must be a text that is not empty"),
        (a_line("A", ("a-01", {" ": "x"})), r"line 5, frame 1: a role has no name"),
        (
            '{"sentence": "A", "frames": [{"predicate": "a", "roles": {"A0": "x", "A0": "y"}}]}',
            r"line 5: the key 'A0' appears twice",
        ),
    ],
)
def test_a_bad_line_is_named(tmp_path, record, message):
    path = lines(tmp_path / "frames.jsonl", *FOUR, record)
    with pytest.raises(InputError, match=message) as error:
        read_forms([path], limit=None, held_out=set())
    assert str(error.value).startswith(path)
    assert "\n" not in str(error.value)


def test_a_file_below_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    lines(tmp_path / "frames.jsonl", *FOUR)
    found = read_forms(["~/frames.jsonl"], limit=None, held_out=set())
    assert len(found) == 4
    assert found.sources[0].spec == "~/frames.jsonl"


def test_sources_that_cannot_be_used(tmp_path, pairs_file):
    with pytest.raises(InputError, match="cannot be read as a file of frames"):
        read_forms([str(tmp_path / "none.jsonl")], limit=None, held_out=set())
    with pytest.raises(InputError, match=r"no path can be this \(holds NUL\)"):
        read_forms(["a\0.jsonl"], limit=None, held_out=set())
    (tmp_path / "latin.jsonl").write_bytes(b'{"sentence": "\xe9"}')
    with pytest.raises(InputError, match=r"latin.jsonl.*UTF-8"):
        read_forms([str(tmp_path / "latin.jsonl")], limit=None, held_out=set())
    with pytest.raises(InputError, match=r"1 sentences with a form are left, 4 are needed \(sentences read 1,"):
        read_forms([lines(tmp_path / "one.jsonl", FOUR[0])], limit=None, held_out=set())
    (tmp_path / "graphs.txt").write_text("(r / run-02)\n")
    with pytest.raises(InputError, match=r"graphs.txt, line 1: the graph has no sentence"):
        read_forms([str(tmp_path / "graphs.txt")], limit=None, held_out=set())
    with pytest.raises(InputError, match=r"row 1, column candidate_graph: not a graph in Penman notation"):
        read_forms([pairs_file(4, candidate_graph="(r / run-02")], limit=None, held_out=set())


def test_pairs_with_graphs(pairs_file):
    path = pairs_file(4, reference_graph="(r / run-02 :ARG0 (b / boy))", candidate_graph="(b / boy)")
    found = read_forms([path], limit=None, held_out=set())
    assert {form.text for form in found.forms} == {"run-02 ARG0: boy"}
    assert (found.counts["sentences_read"], found.counts["sentences_without_frame"]) == (8, 4)


def test_the_little_prince(shared_data):
    found = read_forms([str(shared_data / "amr-little-prince/amr-bank-struct-v3.0.txt")], limit=None, held_out=set())
    # 1,562 graphs; "Chapter 1 ." is the first, and has no frame
    assert found.counts["sentences_read"] == 1562
    assert sum(found.counts.values()) - 1562 + len(found) == 1562
    assert found.forms[0].text == (
        "see-01 ARG0: i, ARG1: magnificent picture True Stories from Nature, mod: once, time: age i 6 year; "
        "age-01 ARG1: i, ARG2: 6 year"
    )
    assert all("\n" not in form.text and '"' not in form.text for form in found.forms)
