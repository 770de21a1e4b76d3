"""Which proposals of columns are beyond doubt, so that recommend reads the data with them."""

from __future__ import annotations

import pytest

import assay
from assay.datasets import load_dataset
from assay.datasets.columns import MissingColumnsError

ALIASES = ["Paris/City of Light", "Berlin/Spree Athens", "Rome/Eternal City"]
PARTS = ["red/blue", "salt/pepper", "north/south"]


def rows(labels, gold="Gold", answer="Answer", golds=("one", "two", "three"), n=60, **more):
    """Return n answers, with the labels that each column gives in turn, and further columns of the same kind.

    Two of three answers have the first of several gold answers, or all of them if these are parts.
    """
    table = []
    for row in range(n):
        text = golds[row % len(golds)]
        found = text.replace("/", " and ") if golds is PARTS else text.split("/")[0]
        answers = {"Question": f"q{row}", gold: text, answer: f"It is {found}." if row % 3 else "No idea."}
        others = {name: values[row % len(values)] for name, values in more.items()}
        table.append(
            answers | others | {name: words[(row + (row == 7)) % len(words)] for name, words in labels.items()}
        )
    return table


def clear_settings(table):
    with pytest.raises(MissingColumnsError) as raised:
        load_dataset(table)
    return raised.value.clear_settings


VERDICTS = ["wrong", "right", "right"]
CLEAR = {
    "two people": (rows({"Anna": VERDICTS, "Ben": VERDICTS}), "label=Anna+Ben"),
    "one person": (rows({"Chris": ["Incorrect", "correct "]}), "label=Chris"),
    "some cells empty": (rows({"Dora": [*VERDICTS, ""]}), "label=Dora"),
    "numbered, grades": (rows({"rater_1": [0, 1, 2], "rater_2": [0, 2, 1]}), "label=rater_1+rater_2"),
    "numbered, yes and no": (rows({"a1": ["no", "yes"], "a2": ["no", "yes"]}), "label=a1+a2"),
    "other names of texts": (rows({"Eve": VERDICTS}, gold="target", answer="response"), "label=Eve"),
}


@pytest.mark.parametrize("case", CLEAR)
def test_clear_columns(case):
    table, label = CLEAR[case]
    settings = clear_settings(table)
    assert label in settings["columns"].split(",") and "separator" not in settings
    assert len(load_dataset(table, **settings, drop_unlabelled=True)) > 40


DOUBTFUL = {
    "yes and no may be anything": rows({"has_image": ["yes", "no"]}),
    "a judge among people": rows({"Anna": VERDICTS, "gpt-4": VERDICTS}),
    "a program's verdict": rows({"exact_match": VERDICTS}),
    "the agreed label among people": rows({"Anna": VERDICTS, "Ben": VERDICTS, "Consensus": VERDICTS}),
    "aspects": rows({"Grammar": VERDICTS, "Content": VERDICTS}),
    "numbers of one column": rows({"Fold": [1, 2, 3]}),
    "numbered, no annotators": rows({"q1": [0, 1, 2], "q2": [0, 2, 1]}),
    "two kinds of words": rows({"Anna": VERDICTS, "checked": ["yes", "no"]}),
    "a word that is no verdict": rows({"Anna": [*VERDICTS * 5, "partly"]}),
    "two references": rows({"Anna": VERDICTS}, target=["x"]),
    "two answers": rows({"Anna": VERDICTS}, response=["x"]),
    "no reference": [{k: v for k, v in row.items() if k != "Gold"} for row in rows({"Anna": VERDICTS})],
    "a reference of another name": rows({"Anna": VERDICTS}, gold="Solution"),
    "parts of one answer": rows({"Anna": VERDICTS}, golds=PARTS),
}


@pytest.mark.parametrize("case", DOUBTFUL)
def test_doubtful_columns(case):
    assert not clear_settings(DOUBTFUL[case])


def test_a_separator_is_clear_where_one_of_the_answers_is_enough():
    settings = clear_settings(rows({"Anna": VERDICTS}, golds=ALIASES))
    assert settings["separator"] == "/"


def test_recommend_reads_what_is_clear_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    table = rows({"Anna": VERDICTS, "Ben": VERDICTS}, golds=ALIASES)
    report = assay.recommend(table, ["f1"], resamples=100)
    columns = "reference=Gold,candidate=Answer,label=Anna+Ben,question=Question"
    said = f'read with `columns="{columns}"` `separator="/"` by the names and cells of its columns; '
    said += "say `columns` if not so"
    assert report.document.hints[0] == said
    named = assay.recommend(table, ["f1"], columns=columns, separator="/", resamples=100)
    assert said not in named.document.hints
    values = [
        [(record["bucket"], record["use"], record["highest_value"]) for record in found.document.records]
        for found in (report, named)
    ]
    assert values[0] == values[1] and values[0][0][1] == "f1"
    # what is in doubt is refused, and so is everything by the verbs that do not end with a decision
    for verb, data in ((assay.recommend, DOUBTFUL["a judge among people"]), (assay.run, table)):
        with pytest.raises(MissingColumnsError, match="Say which is which"):
            verb(data, ["f1"])
