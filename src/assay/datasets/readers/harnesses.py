"""One sample of the log of a harness as a record: gold answers, answer, question, context, and the harness's scores.

The keys of a record are columns of a pairs table, columns of scores, and ``doc``, ``metadata`` or ``vars`` with what
else the sample has, as JSON. A sample of another form may raise a KeyError, TypeError, ValueError or AttributeError.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeGuard

import numpy as np

from assay.common.tables import finite_number
from assay.exceptions import InputError

Record = dict[str, Any]

#: The key of a record with the scores that are neither numbers nor truth values, by name: they are no column.
OTHER_SCORES = "scores that are no numbers"
#: The values of scores that Inspect writes as letters: correct, incorrect, partial, no answer.
_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
#: The words for truth values that scores may be, in small letters.
_TRUTH_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
#: Assertions of promptfoo whose value is a gold answer, the strictest first.
_GOLD_ASSERTIONS = (
    *("equals", "iequals", "similar", "factuality", "model-graded-factuality", "rouge-n", "bleu"),
    *("gleu", "meteor", "levenshtein", "contains", "icontains"),
)
#: Names of variables of promptfoo that hold a gold answer.
_GOLD_VARIABLES = ("reference", "expected", "gold", "answer", "ground_truth", "target")
#: A variable in a template of promptfoo.
_VARIABLE = re.compile(r"\{\{-?\s*(\w+)\s*-?\}\}")
#: Columns of the table of a log; a score of such a name is called ``score NAME``.
_OWN_COLUMNS = frozenset(
    (
        *("reference", "candidate", "question", "context", "label", "pair_id", "group", "system", "filter"),
        *("doc", "metadata", "vars", "subset", "split", "language", "annotations"),
    )
)


def _scores(scores: Iterable[tuple[str, Any]]) -> Record:
    """Return the scores that are numbers or truth values, also as texts, by the names of their columns.

    What else there is, such as grades in words and lists, is under :data:`OTHER_SCORES`.
    """
    columns: Record = {}
    others: Record = {}
    for name, value in scores:
        if isinstance(value, str):
            number = _TRUTH_WORDS.get(value.strip().lower(), finite_number(value))
        else:
            number = float(value) if isinstance(value, bool | int | float) else None
        if number is not None:
            columns[f"score {name}" if name in _OWN_COLUMNS else name] = number
        elif value is not None:
            others[name] = value
    return columns | ({OTHER_SCORES: others} if others else {})


# lm-evaluation-harness.


def lm_eval_records(sample: Record) -> Iterable[Record]:
    """Yield a record for each answer of a sample of lm-evaluation-harness.

    A sample without an answer gives one record, whose candidate is None.

    Raises:
        InputError: the log of such a task does not have its gold answers.
    """
    requests = sample["arguments"]
    calls = list(requests.values()) if isinstance(requests, dict) else list(requests)
    contexts_and_continuations = [_arguments(call) for call in calls]
    choices = [str(continuation).strip() for _, continuation in contexts_and_continuations]
    half = len(choices) // 2
    later_contexts = [context for context, _ in contexts_and_continuations[half:]]
    if half and choices[:half] == choices[half:] and not any(later_contexts):
        # for acc_mutual_info every choice is requested again, behind an empty prompt
        choices, sample = choices[:half], sample | {"filtered_resps": sample["filtered_resps"][:half]}
    answers, reference = _answers_and_reference(sample, choices)
    doc = sample["doc"] if isinstance(sample["doc"], dict) else {}
    score_names = sample.get("metrics") or [key for key, value in sample.items() if isinstance(value, int | float)]
    scores = _scores((name, sample.get(name)) for name in score_names if name != "doc_id")
    filter_name = None if sample.get("filter") == "none" else sample.get("filter")
    pair_id = str(sample.get("doc_id"))
    if filter_name is not None:
        pair_id += f"-{filter_name}"
    for number, answer in enumerate(answers or [None], 1):
        yield {
            "pair_id": pair_id if len(answers) < 2 else f"{pair_id}-{number}",
            "question": _question(doc) or _first_text(context for context, _ in contexts_and_continuations),
            "reference": _golds(reference),
            "candidate": None if answer is None else _plain_text(answer),
            "filter": filter_name,
            "doc": _json(sample["doc"]),
            **scores,
        }


def _answers_and_reference(sample: Record, choices: list[str]) -> tuple[list[Any], Any]:
    """Return the answers of a sample, and its gold answer.

    A task of generation has one answer or several; of a task of choices, the likeliest choice is the answer.

    Args:
        sample: the sample.
        choices: the continuation of each of its requests, which are the choices if each was answered by a likelihood.

    Raises:
        InputError: the choices are in the prompts, as in Winogrande: the log does not say which of them is right.
    """
    replies = sample["filtered_resps"]
    likelihoods = [_likelihood(reply) for reply in replies]
    if len(choices) > 1 and len(likelihoods) == len(choices) and None not in likelihoods:
        if len(set(choices)) == 1:
            raise InputError("the model chose between prompts with one continuation, and the log lacks the right one")
        likeliest = int(np.argmax(np.array(likelihoods, dtype=np.float64)))
        return [choices[likeliest]], _choices_of_target(choices, sample["target"])
    answers: list[Any] = []
    for reply in replies:
        answers += reply if _is_list(reply) else [reply]
    return answers, sample["target"]


def _choices_of_target(choices: list[str], target: Any) -> Any:
    """Return the choices whose index, or list of indices, from 0, the target of a task is; the target if it is none."""
    text = str(target)
    is_indices = re.fullmatch(r"[0-9]+|\[[0-9]+(, [0-9]+)*\]", text)
    indices = [int(index) for index in re.findall(r"[0-9]+", text)] if is_indices else []
    return [choices[index] for index in indices] if indices and max(indices) < len(choices) else target


def _arguments(call: Any) -> tuple[Any, Any]:
    """Return the context and the continuation (or the options of the generation) of a request; None without one."""
    if isinstance(call, dict):
        values = list(call.values())
    elif _is_list(call):
        values = list(call)
    else:
        values = [call]
    continuation = values[1] if len(values) > 1 else None
    return values[0], continuation


def _likelihood(reply: Any) -> float | None:
    """Return the log-likelihood in the reply to a choice, ``[number, whether it is the likeliest]``; else None."""
    pair = reply[0] if _is_list(reply) and len(reply) == 1 else reply
    if not _is_list(pair) or len(pair) != 2 or str(pair[1]) not in ("True", "False"):
        return None
    try:
        return float(pair[0])
    except (TypeError, ValueError):
        return None


# Inspect.


def inspect_record(sample: Record, header: Mapping[str, Any]) -> Record:
    """Return the record of a sample of Inspect; texts that are kept apart from it are put back.

    Args:
        sample: the sample.
        header: what the log says of its run: the model, and how often each sample was asked.
    """
    attachments = sample.get("attachments") or {}

    def text(value: Any) -> str | None:
        # a long text is stored among the attachments, and named by an address in its place
        if not isinstance(value, str):
            return None
        return str(attachments.get(value.removeprefix("attachment://"), value))

    question = sample.get("input")
    if _is_list(question):
        messages = [_message_text(message, text) for message in question if message.get("role") == "user"]
        question = "\n\n".join(filter(None, messages))
    target = sample.get("target")
    golds = [text(gold) for gold in target] if _is_list(target) else text(target)
    identifier = str(sample.get("id"))
    has_epochs = ((header.get("config") or {}).get("epochs") or 1) > 1
    return {
        "pair_id": f"{identifier}-{sample.get('epoch', 1)}" if has_epochs else identifier,
        "question": text(question),
        "reference": _golds(golds) or None,
        "candidate": _inspect_completion(sample.get("output") or {}, text),
        "group": identifier if has_epochs else None,
        "system": header.get("model"),
        "metadata": _json(sample["metadata"]) if sample.get("metadata") else None,
        **_scores(_inspect_scores(sample)),
    }


def _inspect_completion(output: Mapping[str, Any], text: Callable[[Any], str | None]) -> str | None:
    """Return the completion of an output of Inspect, or the text of its first choice.

    It is None without a choice and a completion; of an output with choices an empty completion is an answer.

    Args:
        output: the output.
        text: a function that returns the text which a value of the sample stands for.
    """
    choices = output.get("choices") or []
    completion = output.get("completion")
    if completion is None and choices:
        return _message_text(choices[0].get("message") or {}, text)
    return text(completion) if choices or completion else None


def _inspect_scores(sample: Record) -> Iterable[tuple[str, Any]]:
    """Yield the name and the value of each score of a sample, letters of verdicts as numbers.

    Of a score of several values, each is called ``NAME.PART``.
    """
    for name, score in (sample.get("scores") or {}).items():
        value = score.get("value") if isinstance(score, dict) else score
        if isinstance(value, dict):
            named_values = [(f"{name}.{key}", part_value) for key, part_value in value.items()]
        else:
            named_values = [(name, value)]
        for full_name, each_value in named_values:
            yield full_name, _LETTERS.get(str(each_value), each_value)


def _message_text(message: Mapping[str, Any], text: Callable[[Any], str | None]) -> str | None:
    """Return the text of a message, whose content is a text or a list of parts; None if it is neither.

    Args:
        message: the message.
        text: a function that returns the text which a value of the sample stands for.
    """
    content = message.get("content")
    if not _is_list(content):
        return text(content)
    texts = [text(part.get("text")) for part in content if isinstance(part, dict)]
    return "\n".join(filter(None, texts))


# promptfoo.


def promptfoo_record(row: Record) -> Record:
    """Return the record of a result of promptfoo; the verdict of a person is its label, None without one."""
    case = row.get("testCase") or {}
    variables = row.get("vars") or case.get("vars") or {}
    response = row.get("response") or {}
    prompt = row.get("prompt") or {}
    raw_prompt = prompt.get("raw") if isinstance(prompt, dict) else prompt
    provider = row.get("provider") or {}
    system = (provider.get("label") or provider.get("id")) if isinstance(provider, dict) else provider
    verdict = _verdict_of_person(row.get("gradingResult") or {})
    scores = {"score": row.get("score"), "success": row.get("success")}
    has_number = "testIdx" in row
    return {
        "pair_id": f"{row.get('testIdx')}-{row.get('promptIdx')}" if has_number else None,
        "question": _question(variables) or raw_prompt,
        "reference": _promptfoo_golds(case, variables, row.get("gradingResult") or {}),
        "candidate": _plain_text(response.get("output")),
        "context": _context(variables.get("context")),
        "label": None if verdict is None else float(verdict),
        "group": str(row["testIdx"]) if has_number else None,
        "system": system,
        "vars": _json(variables) if variables else None,
        **_scores([*scores.items(), *(row.get("namedScores") or {}).items()]),
    }


def _verdict_of_person(grading: Mapping[str, Any]) -> Any:
    """Return the last verdict that a person gave on an answer, a number or truth value; None without any."""
    verdict = None
    for component in grading.get("componentResults") or []:
        if isinstance(component, dict) and (component.get("assertion") or {}).get("type") == "human":
            verdict = component.get("score", component.get("pass"))
    return verdict


def _promptfoo_golds(case: Mapping[str, Any], variables: Mapping[str, Any], grading: Mapping[str, Any]) -> Any:
    """Return the gold answers of a test: values of the strictest assertions, or a variable; None if there is none."""
    golds_by_type: dict[str, list[str]] = {}
    for assertion in case.get("assert") or []:
        value = assertion.get("value") if isinstance(assertion, dict) else None
        values = [value] if isinstance(value, str | int | float) else value if _is_list(value) else []
        for text in map(str, values):
            gold = _filled_value(text, variables, grading)
            if gold is not None:
                golds_by_type.setdefault(assertion.get("type", ""), []).append(gold)
    for kind in _GOLD_ASSERTIONS:
        if kind in golds_by_type:
            golds = list(dict.fromkeys(golds_by_type[kind]))
            return golds[0] if len(golds) == 1 else golds
    for name in _GOLD_VARIABLES:
        if variables.get(name) not in (None, ""):
            return _golds(variables[name])
    return None


def _filled_value(text: str, variables: Mapping[str, Any], grading: Mapping[str, Any]) -> str | None:
    """Return the value of an assertion, filled in if it is a template; None if the log does not have its text.

    It has not if the value is a file, or, in logs of older versions, a template of more than variables.
    """
    for component in grading.get("componentResults") or []:
        if isinstance(component, dict) and (component.get("assertion") or {}).get("value") == text:
            filled = (component.get("metadata") or {}).get("renderedAssertionValue")
            if isinstance(filled, str):
                return filled
    rest = _VARIABLE.sub(lambda name: "" if name[1] in variables else name[0], text)
    if "{{" in rest or "{%" in rest or text.startswith(("file://", "package:")):
        return None
    return _VARIABLE.sub(lambda name: _plain_text(variables[name[1]]) or "", text)


# DeepEval.


def is_deepeval(case: Mapping[str, Any]) -> bool:
    """Tell whether an object is a test case with its scores."""
    return "metricsData" in case or "metrics_data" in case


def deepeval_record(case: Record) -> Record:
    """Return the record of a test case, whose keys have capitals in a file and underscores in Python."""

    def field(name: str) -> Any:
        first, *further_words = name.split("_")
        return case.get(name, case.get(first + "".join(map(str.title, further_words))))

    scores = [(metric.get("name"), metric.get("score")) for metric in field("metrics_data") or []]
    return {
        "pair_id": field("name"),
        "question": field("input"),
        "reference": field("expected_output"),
        "candidate": field("actual_output"),
        "context": _context(field("retrieval_context") or field("context")),
        "metadata": _json(field("metadata")) if field("metadata") else None,
        **_scores((str(name), score) for name, score in scores),
    }


# Values.


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _plain_text(value: Any) -> str | None:
    """Return a text as it is and any other value as JSON; None for None."""
    return value if value is None or isinstance(value, str) else _json(value)


def _golds(value: Any) -> Any:
    """Return gold answers as a text, or a list of texts if there are several; None for none."""
    if not _is_list(value):
        return _plain_text(value)
    golds = [_plain_text(gold) for gold in value if gold is not None]
    return golds[0] if len(golds) == 1 else golds or None


def _context(value: Any) -> str | None:
    """Return a context as a text, the texts of a list divided by blank lines; None for None."""
    return "\n\n".join(map(str, value)) if _is_list(value) else _plain_text(value)


def _question(fields: Mapping[str, Any]) -> str | None:
    """Return the question among the fields of a sample, without the rest of its prompt; None if there is none."""
    return _first_text(fields.get(name) for name in ("question", "query"))


def _first_text(values: Iterable[Any]) -> str | None:
    return next((value for value in values if isinstance(value, str)), None)


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list | tuple)
