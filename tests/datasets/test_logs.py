"""Logs of other harnesses, made by the tools themselves: gold answers, outputs and questions come out of each."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import assay
from assay.datasets import load_dataset
from assay.exceptions import InputError
from tests.cli.calling import call

LOGS = Path(__file__).parent / "logs"
QUESTIONS = [
    "What is the capital of France?",
    *("Capital of Italy?", "Capital of Germany?", "What is 4 times 11?", "Capital of Norway?", "Letter after A?"),
]
GOLDS: list[Any] = ["Paris", "Rome", "Bonn", "44", "Oslo", "B"]
ANSWERS = ["Paris", "the Rome city", "Berlin is it", "forty", "Oslo", "B"]
#: Of each file: question, gold answers and answer of every sample, and the harness's own scores.
EXPECTED: dict[str, tuple[list[tuple[str, Any, str]], dict[str, list[float]]]] = {
    "samples_capitals.jsonl": (
        list(zip(QUESTIONS, GOLDS, ANSWERS, strict=True)),
        {"exact_match": [1, 0, 0, 0, 1, 1]},
    ),
    "samples_choices.jsonl": (
        [
            ("Capital of France?", "Paris", "Paris"),
            ("Capital of Italy?", "Rome", "Paris"),
            ("Capital of Norway?", "Oslo", "Oslo"),
        ],
        {"acc": [1, 0, 1]},
    ),
    **dict.fromkeys(
        ("inspect.eval", "inspect.json"),
        (
            [
                (question, ["Rome", "Roma"] if gold == "Rome" else [gold], "it is Oslo" if gold == "Oslo" else answer)
                for question, gold, answer in zip(QUESTIONS, GOLDS, ANSWERS, strict=True)
            ],
            {"includes": [1, 1, 0, 0, 1, 1], "match": [1, 1, 0, 0, 1, 1]},
        ),
    ),
    "deepeval.json": (
        [
            ("Capital of France?", "Paris", "Paris"),
            ("Capital of Italy?", "Rome", "the Rome city"),
            ("Capital of Germany?", "Berlin", "Bonn"),
        ],
        {"Exact Match": [1, 0, 0]},
    ),
    "promptfoo.json": (
        [
            ("Capital of France?", ["Paris"], "Paris"),
            ("Capital of Italy?", ["Rome", "Roma"], "the Rome city"),
            ("Capital of Germany?", ["Berlin"], "Bonn"),
        ],
        {"score": [1, 0.5, 1], "success": [1, 0, 1]},
    ),
    "ragas.csv": (
        [("Capital of France?", "Paris", "Paris"), ("Capital of Italy?", "Rome", "the Rome city")],
        {"exact_match": [1, 0]},
    ),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_samples_of_a_log(name: str) -> None:
    rows, scores = EXPECTED[name]
    pairs = load_dataset(LOGS / name, columns=f"label={next(iter(scores))}")
    references, candidates, questions = pairs.texts()
    assert list(zip(questions or (), references, candidates, strict=True)) == rows
    assert pairs.labels.tolist() == next(iter(scores.values()))
    result = assay.run(
        LOGS / name,
        ["em", *(f"recorded:{score}" for score in scores)],
        columns=f"label={next(iter(scores))}",
        resamples=0,
        buckets=["none"],
    )
    for score, values in scores.items():
        assert result.scores[result.scores["metric"] == f"recorded:{score}"]["score"].tolist() == values


@pytest.mark.parametrize("name", EXPECTED)
def test_the_score_of_a_harness_is_no_human_label(name: str, tmp_path: Path) -> None:
    for verb in (["run", str(LOGS / name), "-m", "f1"], ["agree", str(LOGS / name)]):
        done = call(*verb)
        assert done.code == 2 and "without human labels" in done.err and "--columns label=COLUMN" in done.err, done.err
        assert len(done.err.strip().splitlines()) == 1
    scored = call("score", str(LOGS / name), "-m", "f1", "--out", str(tmp_path / "out.jsonl"))
    assert scored.code == 0, scored.err
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(lines) == len(EXPECTED[name][0]) and all("f1" in line for line in lines)


def test_contexts_and_systems_of_logs() -> None:
    deepeval = load_dataset(LOGS / "deepeval.json", columns="label=Exact Match")
    assert deepeval.contexts() == ["France is a land.\n\nParis is its capital.", "Rome.", "Berlin."]
    ragas = load_dataset(LOGS / "ragas.csv", columns="label=exact_match")
    assert ragas.contexts() == ["France.\n\nParis is it.", "Rome."]
    frame = pd.DataFrame({
        "user_input": ["q"], "response": ["a"], "reference": ["a"], "retrieved_contexts": [["p", "r"]], "recall": [0.5],
    })  # fmt: skip
    with pytest.raises(
        InputError, match=r"is a log of ragas without human labels; it has scores of its own \(recall\)"
    ):
        load_dataset(frame)
    assert load_dataset(frame.assign(human=[1])).contexts() == ["p\n\nr"]
    cases = pd.DataFrame({"input": ["q"], "actual_output": ["a"], "expected_output": ["a"], "score": [0.5]})
    with pytest.raises(InputError, match="is a log of DeepEval without human labels"):
        load_dataset(cases)
    assert len(load_dataset(cases, columns="label=score")) == 1
    inspect = load_dataset(LOGS / "inspect.eval", columns="label=includes")
    assert set(inspect.column("system").to_pylist()) == {"mockllm/model"}
    assert inspect.table.column("pair_id").to_pylist() == [f"q{number}" for number in range(6)]


def lm_eval_samples() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (LOGS / "samples_capitals.jsonl").read_text().splitlines()]


def write_lines(path: Path, samples: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, samples)), encoding="utf-8")
    return path


def test_filters_repeats_and_labels_of_lm_eval(tmp_path: Path) -> None:
    samples = lm_eval_samples()
    twice = [sample | {"filter": name} for sample in samples for name in ("strict", "flexible")]
    pairs = load_dataset(write_lines(tmp_path / "f.jsonl", twice), columns="label=exact_match")
    assert pairs.column("filter").to_pylist()[:2] == ["strict", "flexible"]
    assert pairs.table.column("pair_id").to_pylist()[:2] == ["0-strict", "0-flexible"]
    repeated = [sample | {"filtered_resps": [["one", "two"]], "target": ["x", "y"]} for sample in samples]
    pairs = load_dataset(write_lines(tmp_path / "r.jsonl", repeated), columns="label=exact_match")
    assert pairs.texts()[1][:2] == ["one", "two"] and pairs.texts()[0][0] == ["x", "y"] and len(pairs) == 12
    out = tmp_path / "out.jsonl"
    assay.score(tmp_path / "r.jsonl", ["f1"], out)
    assert [json.loads(line)["candidate"] for line in out.read_text().splitlines()][:2] == ["one", "two"]
    judged = [sample | {"doc": sample["doc"] | {"human": number % 2}} for number, sample in enumerate(samples)]
    pairs = load_dataset(write_lines(tmp_path / "h.jsonl", judged), columns="label=doc.human")
    assert pairs.labels.tolist() == [0, 1, 0, 1, 0, 1]
    asked = [sample | {"doc": {"id": 1}} for sample in samples]
    pairs = load_dataset(write_lines(tmp_path / "q.jsonl", asked), columns="label=exact_match")
    assert (pairs.texts()[2] or [])[0] == f"Q: {QUESTIONS[0]}\nA:"
    with pytest.raises(InputError, match=r"b\.jsonl, line 2: is no sample of lm-evaluation-harness"):
        load_dataset(write_lines(tmp_path / "b.jsonl", [samples[0], {"doc": 1}]))


@pytest.mark.parametrize(
    ("target", "gold"),
    [("1", "Rome"), (1, "Rome"), ("[0, 1]", ["Paris", "Rome"]), ([0, 1], ["Paris", "Rome"]), ("[1]", "Rome"),
     ("Rome", "Rome"), ("2", "2"), ("[0, 2]", "[0, 2]")],
)  # fmt: skip
def test_targets_of_choices_in_lm_eval(target: Any, gold: Any) -> None:
    """A task may have several right choices; their indices are logged as the text of a list."""
    from assay.datasets.readers.harnesses import lm_eval_records

    sample = json.loads((LOGS / "samples_choices.jsonl").read_text().splitlines()[0])
    (record,) = lm_eval_records(sample | {"target": target})
    assert (record["reference"], record["candidate"]) == (gold, "Paris")


@pytest.mark.parametrize("delimiter", ["", " "])
def test_choices_without_a_prompt_in_lm_eval(delimiter: str) -> None:
    """Mutual information takes the likelihood of each choice without the prompt, requested after all others."""
    from assay.datasets.readers.harnesses import lm_eval_records

    sample = json.loads((LOGS / "samples_choices.jsonl").read_text().splitlines()[0])
    without_prompt = {f"gen_args_{n}": {"arg_0": "", "arg_1": delimiter + c} for n, c in ((2, "Paris"), (3, "Rome"))}
    replies = [["-0.5", "True"], ["-1.0", "True"], ["-0.4", "False"], ["-0.1", "False"]]
    requests = sample["arguments"] | without_prompt
    asked = sample | {"arguments": requests, "filtered_resps": replies, "target": "1", "acc_mutual_info": 1.0}
    (record,) = lm_eval_records(asked | {"metrics": ["acc", "acc_mutual_info"]})
    assert (record["candidate"], record["reference"], record["acc_mutual_info"]) == ("Paris", "Rome", 1.0)
    # two sentences without any prompt are two choices
    sentences = {"a": {"arg_0": "", "arg_1": "He goes."}, "b": {"arg_0": "", "arg_1": "He go."}}
    (record,) = lm_eval_records(sample | {"arguments": sentences})
    assert (record["candidate"], record["reference"]) == ("He goes.", "He goes.")


def test_choices_in_the_prompts_of_lm_eval(tmp_path: Path) -> None:
    """As in Winogrande, whose prompts differ and whose continuation, which is the target, is always the same."""
    lines = (LOGS / "samples_choices.jsonl").read_text().splitlines()
    samples = [json.loads(line) | {"target": "fell."} for line in lines]
    for sample in samples:
        for argument, name in zip(sample["arguments"].values(), ("Ann", "Eve"), strict=True):
            argument |= {"arg_0": f"They ran, and {name}", "arg_1": " fell."}
    path = write_lines(tmp_path / "samples_winogrande.jsonl", samples)
    with pytest.raises(InputError, match=r"winogrande\.jsonl, line 1: the model chose between prompts") as caught:
        load_dataset(path, columns="label=acc")
    assert "\n" not in str(caught.value)


def test_other_samples_of_inspect(tmp_path: Path) -> None:
    log = json.loads((LOGS / "inspect.json").read_text(encoding="utf-8"))
    first, second, third, fourth, *_ = log["samples"]
    first["input"] = [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": [{"type": "text", "text": "attachment://a1"}]},
    ]
    first["attachments"] = {"a1": "a long question"}
    second["scores"] = {"graded": {"value": {"style": 0.5, "truth": "P"}}, "text": {"value": "good"}}
    third["metadata"] = {"human": 1}
    fourth["output"] = {"model": "m", "choices": [], "completion": ""}
    (tmp_path / "a.json").write_text(json.dumps(log), encoding="utf-8")
    pairs = load_dataset(tmp_path / "a.json", allow_unlabelled=True)
    assert (pairs.texts()[2] or [])[0] == "a long question"
    assert pairs.column("graded.truth").to_pylist()[:2] == [None, 0.5] and "text" not in pairs.table.column_names
    assert "1 of 6 samples have no output (4), read as an empty answer" in pairs.notes
    assert "score text: 1 of 6 values are no numbers, such as 'good', and are left out" in pairs.notes
    labelled = load_dataset(tmp_path / "a.json", columns="label=metadata.human", drop_unlabelled=True)
    assert len(labelled) == 1
    log["eval"]["config"] = {"epochs": 2}
    log["samples"] = [sample | {"epoch": epoch} for sample in log["samples"] for epoch in (1, 2)]
    (tmp_path / "e.json").write_text(json.dumps(log), encoding="utf-8")
    epochs = load_dataset(tmp_path / "e.json", allow_unlabelled=True)
    assert epochs.table.column("pair_id").to_pylist()[:2] == ["q0-1", "q0-2"]
    assert epochs.column("group").to_pylist()[:2] == ["q0", "q0"]


def test_an_attachment_of_inspect_that_looks_like_another_stays_as_it_is() -> None:
    from assay.datasets.readers.harnesses import inspect_record

    sample = json.loads((LOGS / "inspect.json").read_text(encoding="utf-8"))["samples"][0]
    attachments = {"a1": "attachment://a2", "a2": "another"}
    for content in ("attachment://a1", [{"type": "text", "text": "attachment://a1"}]):
        output = {"choices": [{"message": {"content": content}}]}
        record = inspect_record(sample | {"attachments": attachments, "output": output}, {})
        assert "attachment://a2" in record.values() and "another" not in record.values()


@pytest.mark.parametrize(
    ("value", "number"),
    [("3", 3.0), (" 0.5 ", 0.5), ("C", 1.0), ("I", 0.0), ("True", 1.0), ("no", 0.0), ("good", None), ("nan", None)],
)
def test_scores_that_are_texts(value: str, number: float | None) -> None:
    """Inspect takes such texts for numbers; lm-evaluation-harness writes some types of numbers as text."""
    from assay.datasets.readers.harnesses import inspect_record, lm_eval_records

    sample = json.loads((LOGS / "inspect.json").read_text(encoding="utf-8"))["samples"][0]
    scores = {"graded": {"value": value}, "parts": {"value": {"style": value}}}
    record = inspect_record(sample | {"scores": scores}, {})
    assert (record.get("graded"), record.get("parts.style")) == (number, number)
    if value not in ("C", "I"):
        (record,) = lm_eval_records(lm_eval_samples()[0] | {"exact_match": value})
        assert record.get("exact_match") == number


def test_people_who_rated_in_promptfoo(tmp_path: Path) -> None:
    """A person's verdict is the label; its form is that of the page of promptfoo, which writes it beside the others."""
    log = json.loads((LOGS / "promptfoo.json").read_text(encoding="utf-8"))
    for row, verdict in zip(log["results"]["results"], (1, 0, None), strict=True):
        if verdict is not None:
            human = {"pass": bool(verdict), "score": verdict, "reason": "Manual", "assertion": {"type": "human"}}
            row["gradingResult"]["componentResults"].insert(0, human)
    log["results"]["results"][2]["response"] = None
    path = tmp_path / "rated.json"
    path.write_text(json.dumps(log), encoding="utf-8")
    with pytest.raises(InputError, match="1 of 3 rows have no label"):
        load_dataset(path)
    pairs = load_dataset(path, drop_unlabelled=True)
    assert pairs.labels.tolist() == [1, 0] and pairs.contexts() == ["France is a land.", ""]
    assert "1 of 3 samples have no output (3), read as an empty answer" in pairs.notes
    for row in log["results"]["results"]:
        row["testCase"]["assert"] = []
        row["vars"] = {"text": "x"}
    path.write_text(json.dumps(log), encoding="utf-8")
    free = load_dataset(path, columns="label=score")
    assert not free.has_references and (free.texts()[2] or [])[0] == "Q: Capital of France?"


@pytest.mark.parametrize(
    ("value", "rendered", "gold"),
    [
        ("{{city}}", None, "Paris {{x}}"),
        ("The city {{ city }}", None, "The city Paris {{x}}"),
        (["{{city}}", "Lutetia"], None, ["Paris {{x}}", "Lutetia"]),
        ("{{ city | lower }}", "paris", "paris"),
        # what the log does not have: the variable "answer" is then the gold answer
        ("{{ city | lower }}", None, "other"),
        ("{{ absent }}", None, "other"),
        ("{% if x %}Paris{% endif %}", None, "other"),
        ("file://gold.txt", None, "other"),
    ],
)
def test_templates_of_gold_answers_in_promptfoo(value: Any, rendered: str | None, gold: Any) -> None:
    """Newer versions keep what a template became beside the result of an assertion."""
    from assay.datasets.readers.harnesses import promptfoo_record

    assertion = {"type": "equals", "value": value}
    component = {"pass": True, "assertion": assertion, "metadata": {"renderedAssertionValue": rendered}}
    row = {
        "testCase": {"assert": [assertion]},
        "vars": {"city": "Paris {{x}}", "answer": "other"},
        "gradingResult": {"componentResults": [component if rendered else {"pass": True, "assertion": assertion}]},
    }
    assert promptfoo_record(row)["reference"] == gold


def test_archives_of_inspect_in_either_compression(tmp_path: Path) -> None:
    """Older versions write deflate; the one kept here is Zstandard, which zipfile cannot read."""
    log = json.loads((LOGS / "inspect.json").read_text(encoding="utf-8"))
    with zipfile.ZipFile(tmp_path / "d.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/start.json", json.dumps({"eval": log["eval"]}))
        for sample in log["samples"]:
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
    with zipfile.ZipFile(LOGS / "inspect.eval") as kept:
        assert {entry.compress_type for entry in kept.infolist()} == {93}
    old, new = (load_dataset(path, columns="label=match") for path in (tmp_path / "d.eval", LOGS / "inspect.eval"))
    assert old.texts() == new.texts()
    (tmp_path / "x.eval").write_bytes((LOGS / "inspect.eval").read_bytes()[:5000])
    with pytest.raises(InputError, match=r"x\.eval: is not a readable log of Inspect"):
        load_dataset(tmp_path / "x.eval")
    with zipfile.ZipFile(tmp_path / "n.eval", "w") as archive:
        archive.writestr("_journal/start.json", json.dumps({"eval": log["eval"]}))
    with pytest.raises(InputError, match="the log of Inspect has no samples"):
        load_dataset(tmp_path / "n.eval")


def test_results_of_deepeval_in_python() -> None:
    dumped = {
        "test_results": [
            {
                "name": "t",
                "input": "q",
                "actual_output": "a",
                "expected_output": "b",
                "retrieval_context": ["p"],
                "metrics_data": [{"name": "G-Eval", "score": 0.25}, {"name": "label", "score": 1}],
            }
        ]
    }
    path = LOGS.parent / "never.json"
    from assay.datasets.readers.logs import log_of_json

    table = log_of_json(dumped, path)
    assert table is not None and table.table.to_pylist() == [
        {
            "pair_id": "t", "question": "q", "reference": "b", "candidate": "a", "context": "p",
            "G-Eval": 0.25, "score label": 1.0,
        }
    ]  # fmt: skip


@pytest.mark.parametrize(
    "value",
    [
        {"eval": {}, "samples": [1]},
        {"eval": {}, "samples": [{"input": [3]}]},
        {"eval": {}, "samples": [{"output": [3]}]},
        {"eval": {}, "samples": [{"scores": 3}]},
        {"eval": {}, "samples": []},
        {"results": {"results": [{"testCase": {}}, 3]}},
        {"results": {"results": [{"testCase": 3}]}},
        {"results": {"results": [{"testCase": {"assert": 3}}]}},
        {"testCases": [{"metricsData": [3]}]},
    ],
)
def test_a_sample_of_another_form_is_named(value: Any, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(InputError, match=r"x\.json(, sample \d: is no sample of \w+|: the log of \w+ has no samples)"):
        load_dataset(tmp_path / "x.json", allow_unlabelled=True)


@pytest.mark.parametrize("change", [{"arguments": 3}, {"filtered_resps": 3}, {"arguments": [[]]}, {"doc": None}])
def test_a_line_of_another_form_is_named(change: dict[str, Any], tmp_path: Path) -> None:
    samples = lm_eval_samples()
    path = write_lines(tmp_path / "x.jsonl", [samples[0], samples[1] | change])
    if change == {"doc": None}:
        assert len(load_dataset(path, columns="label=exact_match")) == 2
    else:
        with pytest.raises(InputError, match=r"x\.jsonl, line 2: is no sample of lm-evaluation-harness"):
            load_dataset(path, columns="label=exact_match")


@pytest.mark.parametrize(
    "value", [[], {}, {"results": []}, {"results": {"results": [1]}}, {"eval": {}}, {"testCases": [{"name": "x"}]}, 3]
)
def test_what_is_no_log(value: Any) -> None:
    from assay.datasets.readers.logs import log_of_json

    assert log_of_json(value, Path("x.json")) is None
