"""One sample of the log of a harness as a record: gold answers, answer, question, context, and the harness's scores.

The keys of a record are columns of a pairs table, columns of scores, and ``doc``, ``metadata`` or ``vars`` with what
else the sample has, as JSON. A sample of another form may raise a KeyError, TypeError, ValueError or AttributeError.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeGuard

import numpy as np

Record = dict[str, Any]

#: The values of scores that Inspect writes as letters: correct, incorrect, partial, no answer.
_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
#: Assertions of promptfoo whose value is a gold answer, the strictest first.
_GOLD_ASSERTIONS = (
    *("equals", "iequals", "similar", "factuality", "model-graded-factuality", "rouge-n", "bleu"),
    *("gleu", "meteor", "levenshtein", "contains", "icontains"),
)
#: Names of variables of promptfoo that hold a gold answer.
_GOLD_VARIABLES = ("reference", "expected", "gold", "answer", "ground_truth", "target")
#: Columns of the table of a log; a score of such a name is called ``score NAME``.
_OWN_COLUMNS = frozenset(
    (
        *("reference", "candidate", "question", "context", "label", "pair_id", "group", "system", "filter"),
        *("doc", "metadata", "vars", "subset", "split", "language", "annotations"),
    )
)


def _scores(scores: Iterable[tuple[str, Any]]) -> Record:
    """Return the scores that are numbers or truth values, by the names of their columns."""
    columns: Record = {}
    for name, value in scores:
        if isinstance(value, bool | int | float):
            columns[f"score {name}" if name in _OWN_COLUMNS else name] = float(value)
    return columns


# lm-evaluation-harness.


def lm_eval_records(sample: Record) -> Iterable[Record]:
    """Yield a record for each answer of a sample; of choices, the likeliest is the answer."""
    asked = sample["arguments"]
    calls = list(asked.values()) if isinstance(asked, dict) else list(asked)
    contexts, continuations = zip(*(_arguments(call) for call in calls), strict=True) if calls else ((), ())
    answers = [answer for reply in sample["filtered_resps"] for answer in (reply if _is_list(reply) else [reply])]
    reference = sample["target"]
    likelihoods = [_likelihood(reply) for reply in sample["filtered_resps"]]
    if len(calls) > 1 and len(likelihoods) == len(calls) and None not in likelihoods:
        choices = [str(continuation).strip() for continuation in continuations]
        answers = [choices[int(np.argmax(np.array(likelihoods, dtype=np.float64)))]]
        place = str(reference)
        if place.isdecimal() and int(place) < len(choices):
            reference = choices[int(place)]
    doc = sample["doc"] if isinstance(sample["doc"], dict) else {}
    names = sample.get("metrics") or [name for name, value in sample.items() if isinstance(value, int | float)]
    scores = _scores((name, sample.get(name)) for name in names if name != "doc_id")
    name = f"{sample.get('doc_id')}" + ("" if sample.get("filter") in (None, "none") else f"-{sample['filter']}")
    for number, answer in enumerate(answers or [None], 1):
        yield {
            "pair_id": name if len(answers) < 2 else f"{name}-{number}",
            "question": _question(doc) or _first_text(contexts),
            "reference": _golds(reference),
            "candidate": None if answer is None else _plain_text(answer),
            "filter": None if sample.get("filter") == "none" else sample.get("filter"),
            "doc": _json(sample["doc"]),
            **scores,
        }


def _arguments(call: Any) -> tuple[Any, Any]:
    """Return the context and the continuation (or the options of the generation) of a request."""
    values = [call]
    if isinstance(call, dict):
        values = list(call.values())
    elif _is_list(call):
        values = list(call)
    return values[0], values[1] if len(values) > 1 else None


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
    """Return the record of a sample; texts that are kept apart from it are put back."""
    attached = sample.get("attachments") or {}

    def text(value: Any) -> str | None:
        return str(attached.get(value.removeprefix("attachment://"), value)) if isinstance(value, str) else None

    output = sample.get("output") or {}
    choices = output.get("choices") or []
    completion = output.get("completion")
    if completion is None and choices:
        completion = _message_text(choices[0].get("message") or {}, text)
    scores: list[tuple[str, Any]] = []
    for name, score in (sample.get("scores") or {}).items():
        value = score.get("value") if isinstance(score, dict) else score
        parts = value.items() if isinstance(value, dict) else [(None, value)]
        scores += [(name if part is None else f"{name}.{part}", _LETTERS.get(str(each), each)) for part, each in parts]
    asked = sample.get("input")
    if _is_list(asked):
        asked = "\n\n".join(filter(None, (_message_text(each, text) for each in asked if each.get("role") == "user")))
    target, epoch = sample.get("target"), sample.get("epoch", 1)
    several = ((header.get("config") or {}).get("epochs") or 1) > 1
    return {
        "pair_id": f"{sample.get('id')}-{epoch}" if several else str(sample.get("id")),
        "question": text(asked),
        "reference": _golds(list(map(text, target)) if _is_list(target) else text(target)) or None,
        "candidate": text(completion) if choices or completion else None,
        "group": str(sample.get("id")) if several else None,
        "system": header.get("model"),
        "metadata": _json(sample["metadata"]) if sample.get("metadata") else None,
        **_scores(scores),
    }


def _message_text(message: Mapping[str, Any], text: Callable[[Any], str | None]) -> str | None:
    """Return the text of a message, whose content is a text or a list of parts."""
    content = message.get("content")
    if not _is_list(content):
        return text(content)
    parts = [text(part.get("text")) for part in content if isinstance(part, dict)]
    return "\n".join(filter(None, parts))


# promptfoo.


def promptfoo_record(row: Record) -> Record:
    """Return the record of a result; the verdict of a person is its label."""
    case = row.get("testCase") or {}
    variables = row.get("vars") or case.get("vars") or {}
    response = row.get("response") or {}
    grading = row.get("gradingResult") or {}
    human = [
        part.get("score", part.get("pass"))
        for part in grading.get("componentResults") or []
        if isinstance(part, dict) and (part.get("assertion") or {}).get("type") == "human"
    ]
    provider = row.get("provider") or {}
    prompt = row.get("prompt") or {}
    own = [("score", row.get("score")), ("success", row.get("success")), *(row.get("namedScores") or {}).items()]
    return {
        "pair_id": f"{row.get('testIdx')}-{row.get('promptIdx')}" if "testIdx" in row else None,
        "question": _question(variables) or (prompt.get("raw") if isinstance(prompt, dict) else prompt),
        "reference": _promptfoo_golds(case, variables),
        "candidate": _plain_text(response.get("output")),
        "context": _context(variables.get("context")),
        "label": float(human[-1]) if human and human[-1] is not None else None,
        "group": str(row["testIdx"]) if "testIdx" in row else None,
        "system": (provider.get("label") or provider.get("id")) if isinstance(provider, dict) else provider,
        "vars": _json(variables) if variables else None,
        **_scores(own),
    }


def _promptfoo_golds(case: Mapping[str, Any], variables: Mapping[str, Any]) -> Any:
    """Return the gold answers of a test: values of the strictest assertions, or a variable; None if there is none."""
    by_type: dict[str, list[str]] = {}
    for assertion in case.get("assert") or []:
        value = assertion.get("value") if isinstance(assertion, dict) else None
        if isinstance(value, str | int | float):
            by_type.setdefault(assertion.get("type", ""), []).append(str(value))
        elif _is_list(value):
            by_type.setdefault(assertion.get("type", ""), []).extend(map(str, value))
    for kind in _GOLD_ASSERTIONS:
        if kind in by_type:
            golds = list(dict.fromkeys(by_type[kind]))
            return golds[0] if len(golds) == 1 else golds
    return next((_golds(variables[name]) for name in _GOLD_VARIABLES if variables.get(name) not in (None, "")), None)


# DeepEval.


def is_deepeval(case: Mapping[str, Any]) -> bool:
    """Tell whether an object is a test case with its scores."""
    return "metricsData" in case or "metrics_data" in case


def deepeval_record(case: Record) -> Record:
    """Return the record of a test case, whose keys have capitals in a file and underscores in Python."""

    def field(name: str) -> Any:
        first, *rest = name.split("_")
        return case.get(name, case.get(first + "".join(map(str.title, rest))))

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
    golds = [_plain_text(each) for each in value if each is not None]
    return golds[0] if len(golds) == 1 else golds or None


def _context(value: Any) -> str | None:
    """Return a context as a text; the texts of a list are divided by blank lines."""
    return "\n\n".join(map(str, value)) if _is_list(value) else _plain_text(value)


def _question(fields: Mapping[str, Any]) -> str | None:
    """Return the question among the fields of a sample, without the rest of its prompt; None if there is none."""
    return _first_text(fields.get(name) for name in ("question", "query"))


def _first_text(values: Iterable[Any]) -> str | None:
    return next((value for value in values if isinstance(value, str)), None)


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list | tuple)
