"""``assay explain``: two texts, files, datasets, pictures, and what is refused."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

pytest.importorskip("penman", reason="penman is absent: pip install assay[amr]")

FIRST = "(l / look-01 :ARG0 (c / cat :quant 2) :ARG1 (w / window))"
SECOND = "(l / look-01 :ARG0 (c / cat) :ARG1 (w / window))"
GRAPHS = ("--graphs", "reference=a.amr,candidate=b.amr")
SMATCH = ("--metric", "amr:smatch")


@pytest.fixture(autouse=True)
def files(workplace):
    (workplace / "a.amr").write_text(FIRST)
    (workplace / "b.amr").write_text(SECOND)
    rows = [
        {
            "pair_id": "p1",
            "reference": "two cats",
            "candidate": "cats",
            "reference_graph": FIRST,
            "candidate_graph": SECOND,
        },
        {
            "pair_id": "p2",
            "reference": "cats",
            "candidate": "cats",
            "reference_graph": SECOND,
            "candidate_graph": SECOND,
        },
    ]
    (workplace / "graphs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_two_texts_with_graphs(assay):
    done = assay("explain", "two cats", "cats", *SMATCH, *GRAPHS)
    assert done.code == 0
    # 6 of 7 and 6 triples: 2 * 6 / 13
    assert "amr:smatch: .923" in done.out
    assert "c/cat :quant 2" in done.out
    assert "triples that match: 6 of 7 and 6" in done.out


def test_pairs_of_a_file_and_a_picture(assay, workplace):
    done = assay("explain", "--pairs", "graphs.jsonl", *SMATCH, "-f", "json", "--svg", "out.svg")
    assert (done.code, done.err) == (0, "wrote out.svg\n")
    found = json.loads(done.out)
    assert [(one["pair_id"], one["score"]) for one in found] == [("p1", pytest.approx(12 / 13)), ("p2", 1.0)]
    assert ET.parse(workplace / "out.svg").getroot().tag.endswith("svg")
    assert assay("explain", "--pairs", "graphs.jsonl", *SMATCH, "--svg", "two.svg", "-q").err == ""
    (only,) = json.loads(assay("explain", "-p", "graphs.jsonl", "--pair", "p2", *SMATCH, "-f", "json").out)
    assert only["pair_id"] == "p2"
    rows = assay("explain", "-p", "graphs.jsonl", "--limit", "1", *SMATCH, "-f", "csv").rows
    assert [row["item_reference"] for row in rows if not row["item_candidate"]] == ["c/cat :quant 2"]


@pytest.mark.parametrize("form", ["table"])
def test_other_formats(assay, form):
    done = assay("explain", "-p", "graphs.jsonl", *SMATCH, "-f", form)
    assert done.code == 0
    assert "quant" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a", "b", "-m", "f1"), "its score has no parts to show; these have: s3bert:FOLDER"),
        (
            ("a", "b", *SMATCH),
            "no AMR graph for 1 of 1 references and 1 of 1 candidates (such as 'a'); give graphs with",
        ),
        (("a", *SMATCH), "give two texts, or data with --pairs, and not both"),
        (("a", "b", "--pairs", "graphs.jsonl", *SMATCH), "and not both"),
        (("--pairs", "graphs.jsonl", "--pair", "p3", *SMATCH), "has no pair 'p3'"),
        (("--pairs", "nowhere.csv", *SMATCH), "nowhere.csv"),
        (("a", "b", "-m", "s3bert:nowhere/else"), "nowhere/else"),
    ],
)
def test_what_cannot_be_explained_is_one_line(assay, arguments, message):
    done = assay("explain", *arguments)
    assert (done.code, done.out) == (2, "") or (done.code, done.out) == (1, "")
    assert len(done.err.splitlines()) == 1
    assert message in done.err


def test_a_gold_answer_is_a_pair_of_its_own(tmp_path):
    torch = pytest.importorskip("torch", reason="torch is absent: pip install assay[neural]")
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is absent: pip install assay[neural]")
    import assay
    from tests.metrics.models.tiny import make_bert

    torch.set_num_threads(1)
    model = make_bert(tmp_path / "encoder", pooling="mean")
    data = [{"pair_id": "q", "reference": ["red dog", "big dog"], "candidate": "dog"}]
    found = assay.explain(pairs=data, metric=f"bertscore:{model}", device="cpu", threads=1)
    assert [(one["pair_id"], one["reference"]) for one in found.explanations] == [("q", "red dog"), ("q", "big dog")]
    assert len(found.records) == 6
    assert found.to_svg().startswith("<svg")


def test_a_picture_that_cannot_be_written_costs_no_result(assay):
    done = assay("explain", "two cats", "cats", *SMATCH, *GRAPHS, "--svg", "nowhere/out.svg")
    assert done.code == 2
    assert "c/cat :quant 2" in done.out
    assert done.err == "assay: nowhere/out.svg: cannot be written (No such file or directory)\n"


def test_weights_of_a_corpus_are_those_of_the_run(tmp_path):
    torch = pytest.importorskip("torch", reason="torch is absent: pip install assay[neural]")
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is absent: pip install assay[neural]")
    import assay
    from assay.exceptions import InputError
    from tests.metrics.models.tiny import make_bert

    torch.set_num_threads(1)
    name = f"bertscore:{make_bert(tmp_path / 'encoder', pooling='mean')},idf=references"
    texts = [("red dog", "dog"), ("big dog", "red dog"), ("street", "the big street")]
    data = [{"pair_id": str(i), "reference": a, "candidate": b, "label": i} for i, (a, b) in enumerate(texts)]
    run = assay.run([data], [name], resamples=0, buckets=("none",), device="cpu", threads=1, fresh=True)
    scores = run.scores.set_index("pair_id")["score"]
    for more in ({}, {"pair_ids": ["1"]}, {"limit": 2}):
        for one in assay.explain(pairs=data, metric=name, device="cpu", threads=1, **more).explanations:
            assert one["score"] == pytest.approx(scores[one["pair_id"]], abs=1e-6)
            assert one["metric"] == name
    with pytest.raises(InputError, match="its weights come from the references of a dataset; give one with `pairs`"):
        assay.explain("red dog", "dog", metric=name, device="cpu", threads=1)


def test_the_judge_of_answers_says_what_moved_its_score_most(assay):
    arguments = ("explain", "Paris", "It is not Paris.", "-m", "combined:answer-judge")
    lines = assay(*arguments).out.splitlines()
    effects = [abs(float(line.split()[-1])) for line in lines if line.endswith(tuple("0123456789")) and "  " in line]
    base, *moved = effects[-15:]
    assert base > 0 and len(moved) == 14 and moved == sorted(moved, reverse=True)
    text = " ".join(assay(*arguments, "--explain").out.split())
    assert "denied 1.00 lowers it: a negation directly before the gold answer's words" in text
    assert "gold-phrase 1.00 raises it: the gold answer occurs in the answer word by word" in text
    assert "above 0, its probability is above .5" in text
    text = " ".join(assay("explain", "Paris", "It is", "-m", "combined:answer-judge", "--explain").out.split())
    assert "gold-words .00 lowers it: share of the gold answer's words" in text
