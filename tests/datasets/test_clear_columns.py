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
#: Verdicts of two other people: each of the three is alone in one verdict of twelve, at least.
SECOND, THIRD = [*VERDICTS, *["right"] * 3], [*VERDICTS, *["right"] * 3, *VERDICTS, "wrong", "wrong", "right"]
CLEAR = {
    "two people": (rows({"Anna": VERDICTS, "Ben": VERDICTS}), "label=Anna+Ben"),
    "three people": (rows({"Anna": VERDICTS, "Ben": SECOND, "Zoé": THIRD}), "label=Anna+Ben+Zoé"),
    # names do not tell programs and aspects from people, which the first line of the output says that it took them for
    "programs with names of one word": (rows({"Gemma": VERDICTS, "Prometheus": SECOND}), "label=Gemma+Prometheus"),
    "a plain name": (rows({"Verdict": ["Incorrect", "correct "]}), "label=Verdict"),
    "some cells empty": (rows({"Annotator": [*VERDICTS, ""]}), "label=Annotator"),
    "grades of people": (rows({"Expert": [0, 1, 2, 3]}), "label=Expert"),
    "beside descriptions": (rows({"Right": VERDICTS}, System=["s1", "s2"], topic=["art", "law", "war"]), "label=Right"),
    "numbered judges": (rows({"judge_1": VERDICTS, "judge_2": VERDICTS}), "label=judge_1+judge_2"),
    "numbered, grades": (rows({"rater_1": [0, 1, 2], "rater_2": [0, 2, 1]}), "label=rater_1+rater_2"),
    "numbered, yes and no": (
        rows({"annotator1": ["no", "yes"], "annotator2": ["no", "yes"]}),
        "label=annotator1+annotator2",
    ),
    "other names of texts": (rows({"rater": VERDICTS}, gold="target", answer="response"), "label=rater"),
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
    "the agreed label among people": rows({"Anna": VERDICTS, "Ben": SECOND, "Zoé": THIRD, "Consensus": VERDICTS}),
    "the agreed label among two": rows({"Anna": VERDICTS, "Ben": SECOND, "Resolved": VERDICTS}),
    "names in small letters": rows({"grammar": VERDICTS, "content": SECOND}),
    "a label beside a name": rows({"Anna": VERDICTS, "Judge": SECOND}),
    "numbers of one column": rows({"Fold": [1, 2, 3]}),
    "numbered, no annotators": rows({"q1": [0, 1, 2], "q2": [0, 2, 1]}),
    "two kinds of words": rows({"Anna": VERDICTS, "checked": ["yes", "no"]}),
    "a word that is no verdict": rows({"Anna": [*VERDICTS * 5, "partly"]}),
    "two references": rows({"Anna": VERDICTS}, target=["x"]),
    "two answers": rows({"Anna": VERDICTS}, response=["x"]),
    "no reference": [{k: v for k, v in row.items() if k != "Gold"} for row in rows({"Anna": VERDICTS})],
    "a reference of another name": rows({"Anna": VERDICTS}, gold="Solution"),
    "parts of one answer": rows({"Verdict": VERDICTS}, golds=PARTS),
    "grades beside a result": rows({"points": [0, 1, 2, 3], "result": ["correct", "incorrect"]}),
    "grades of another name": rows({"Verdict": VERDICTS, "Marie": [0, 1, 2, 3]}),
    "grades in words": rows({"Verdict": VERDICTS, "Marie": ["good", "fair", "poor"]}),
    "grades of many values": rows({"Verdict": VERDICTS, "points": [number / 7 for number in range(60)]}),
    "a result alone": rows({"result": VERDICTS}),
    "a name alone": rows({"Chris": VERDICTS}),
    **{
        f"a judge {name}": rows({name: VERDICTS})
        for name in ("isCorrectGPT4", "deepseek", "openai_verdict", "prometheus", "gemma", "Kimi", "judge", "human_gpt")
    },
    "judges that agree": rows({"Gemma2": VERDICTS, "Prometheus": SECOND}),
    "units and derivation": rows({"units": VERDICTS, "derivation": VERDICTS}),
    "verdict and clarity": rows({"verdict": VERDICTS, "clarity": VERDICTS}),
    "aspects in capitals": rows({"Verdict": VERDICTS, "Depth": VERDICTS}),
    "items": rows({"a1": ["no", "yes"], "a2": ["no", "yes"]}),
    "names that do not agree": rows({"Anna": VERDICTS, "Ben": VERDICTS[::-1]}),
    "an odd cell": rows({"rater_1": [0, 1, 2], "rater_2": [*[0, 2, 1] * 10, "2?"]}),
    "an odd word": rows({"Anna": VERDICTS, "Ben": [*VERDICTS * 10, "see above"]}),
    "a person in other words": rows({"annotator_1": VERDICTS, "annotator_2": ["bad", "fine"]}),
}


@pytest.mark.parametrize("case", DOUBTFUL)
def test_doubtful_columns(case):
    assert not clear_settings(DOUBTFUL[case])


def test_a_separator_is_clear_where_one_of_the_answers_is_enough():
    settings = clear_settings(rows({"Verdict": VERDICTS}, golds=ALIASES))
    assert settings["separator"] == "/"


MOSTLY_WRONG = ["wrong", "right", "wrong", "wrong"]


@pytest.mark.parametrize(("labels", "wholes"), [(MOSTLY_WRONG, 0), (MOSTLY_WRONG, 6), (VERDICTS, 6)])
def test_a_separator_is_not_clear_where_labels_refute_it(labels, wholes):
    """Answers with one of several parts are mostly wrong, or less often right than those with all parts."""
    table = rows({"Verdict": labels}, golds=[gold.replace("/", ", ") for gold in ALIASES], n=120)
    for number, row in enumerate(table):
        parts = row["Gold"].split(", ")
        row |= {"Answer": " and ".join(parts), "Verdict": "right"} if number < wholes else {"Answer": parts[0]}
    assert not clear_settings(table)


def test_recommend_reads_what_is_clear_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    table = rows({"Anna": VERDICTS, "Ben": VERDICTS}, golds=ALIASES)
    report = assay.recommend(table, ["f1"], resamples=100)
    columns = "reference=Gold,candidate=Answer,label=Anna+Ben,question=Question"
    said = f'read with `columns="{columns}"` `separator="/"` by the names and cells of its columns, '
    said += "Anna and Ben as labels of 2 people; "
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
