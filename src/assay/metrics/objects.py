"""Objects of other libraries as metrics: what a user has in hand, without a name to type.

They are recognised by the name of their class, so that no library is imported for it. Each scores as its own library
does: an encoder by its own ``encode`` and similarity, a cross-encoder by ``predict``, a module of evaluate by
``compute`` and a metric of sacrebleu by ``sentence_score``. Their scores are not kept in the store, since an object in
memory may differ from its files; the name of a model (``bi-encoder:MODEL``) is faster.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from assay.common.packages import version_of
from assay.exceptions import InputError
from assay.metrics.function import ORIGIN, FunctionMetric, function_metric, single_score
from assay.metrics.registry import registry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def metric_of_object(value: Any) -> FunctionMetric | None:
    """Return an object of sentence-transformers, evaluate or sacrebleu as a metric; None for any other object.

    Raises:
        InputError: the object compares no two texts.
    """
    for kind in type(value).__mro__:
        package = kind.__module__.partition(".")[0]
        make = _MAKERS.get((package, kind.__name__))
        if make is not None:
            return make(value)
    return None


def _bi_encoder(model: Any) -> FunctionMetric:
    """Return a SentenceTransformer as a metric: the similarity of both embeddings that it declares, or their cosine."""

    def similarity(references: Sequence[str], candidates: Sequence[str]) -> NDArray[np.float64]:
        """Similarity of the embeddings of a SentenceTransformer."""
        import numpy as np

        texts = list(dict.fromkeys([*references, *candidates]))
        rows = {text: row for row, text in enumerate(texts)}
        embeddings = model.encode(texts, convert_to_tensor=True, show_progress_bar=False)
        left = embeddings[[rows[text] for text in references]]
        right = embeddings[[rows[text] for text in candidates]]
        return np.asarray(model.similarity_pairwise(left, right).float().cpu(), dtype=np.float64)

    is_cosine = model.similarity_fn_name in (None, "cosine")
    bounds = {"low": -1.0, "high": 1.0} if is_cosine else {}
    return function_metric(
        similarity, name=_model_name(model), lists=True, symmetric=True, signed=_weights_signature(model), **bounds
    )


def _cross_encoder(model: Any) -> FunctionMetric:
    """Return a CrossEncoder with one output as a metric.

    Raises:
        InputError: it has several outputs, such as the classes of an inference task.
    """
    outputs = getattr(getattr(model, "config", None), "num_labels", 1)
    if outputs != 1:
        raise InputError(f"metrics: this CrossEncoder has {outputs} outputs; a metric needs one number per pair")

    def prediction(references: Sequence[str], candidates: Sequence[str]) -> NDArray[np.float64]:
        """Prediction of a CrossEncoder."""
        import numpy as np

        pairs = list(zip(references, candidates, strict=True))
        return np.asarray(model.predict(pairs, show_progress_bar=False), dtype=np.float64)

    return function_metric(prediction, name=_model_name(model), lists=True, signed=_weights_signature(model))


def _evaluate_module(module: Any) -> FunctionMetric:
    """Return a module of evaluate as a metric; its score raises InputError unless the module gives just one number."""
    name = str(module.name)

    def compute(reference: str, candidate: str) -> float:
        """Result of a module of evaluate."""
        result = module.compute(predictions=[candidate], references=[reference])
        return chosen_value(result, "", f"the module {name}", "wrap it in a function that returns one of them")

    code = str(getattr(module, "_hash", "") or type(module).__module__.rpartition(".")[2])
    return function_metric(compute, name=plain_name(name), signed=(("module", name), ("code", code[:16])))


def chosen_value(result: dict[str, Any], key: str, module: str, advice: str) -> float:
    """Return the number under a key of a module's result, or its only number if the key is empty.

    Args:
        result: what ``compute`` returned.
        key: the key; empty for the only number.
        module, advice: the words of a message for the module, and for what to do if it returns several values.

    Raises:
        InputError: there is no such number, or the result has several and no key is set.
    """
    numbers = {name: value for name, value in result.items() if _is_number(single_score(value))}
    chosen_key = key or (next(iter(numbers)) if len(numbers) == 1 else "")
    if not numbers:
        raise InputError(f"{module} returns no number")
    if chosen_key not in numbers:
        problem = f"has no number {key!r}" if key else f"returns several values, {advice}"
        raise InputError(f"{module} {problem}; it returns {', '.join(sorted(numbers))}")
    return float(single_score(numbers[chosen_key]))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _sacrebleu_metric(metric: Any) -> FunctionMetric:
    """Return a metric object of sacrebleu (BLEU, CHRF, TER) as a metric, by its score of a sentence.

    It is from 0 to 100, and higher is better; that of TER is from 0 up, and lower is better.
    """

    def sentence_score(reference: str, candidate: str) -> float:
        """Sentence score of a metric of sacrebleu."""
        return float(metric.sentence_score(candidate, [reference]).score)

    name = plain_name(type(metric).__name__)
    is_distance = name == "TER"
    high = math.inf if is_distance else 100.0
    # its own signature exists only after it has scored something
    options = {key: value for key, value in vars(metric).items() if isinstance(value, str | int | float | bool)}
    signed = (("sacrebleu", version_of("sacrebleu")), *((key, str(value)) for key, value in sorted(options.items())))
    return function_metric(
        sentence_score, name=name, low=0.0, high=high, higher_is_better=not is_distance, signed=signed
    )


#: (package, class) of an object, or of a base class -> a function that returns it as a metric.
_MAKERS: dict[tuple[str, str], Callable[[Any], FunctionMetric]] = {
    ("sentence_transformers", "SentenceTransformer"): _bi_encoder,
    ("sentence_transformers", "CrossEncoder"): _cross_encoder,
    ("evaluate", "EvaluationModule"): _evaluate_module,
    ("sacrebleu", "Metric"): _sacrebleu_metric,
}


def _model_name(model: Any) -> str:
    """Return the last part of the name or path that a model was loaded from; the name of its class if it is unknown."""
    config = getattr(model, "config", None) or getattr(getattr(model[0], "auto_model", None), "config", None)
    path = str(getattr(config, "_name_or_path", "") or "")
    return plain_name(re.split(r"[/\\]", path.rstrip("/\\"))[-1] or type(model).__name__)


def plain_name(text: str) -> str:
    """Return text as a name that no metric of assay or of another package has.

    Each run of characters that no name has becomes a hyphen. Points, hyphens and underscores at the ends are dropped.
    """
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-._") or "object"
    known_names = {entry.name for entry in registry().entries() if entry.origin != ORIGIN}
    return f"{name}-object" if name in known_names else name


def _weights_signature(model: Any) -> tuple[tuple[str, str], ...]:
    """Return the library's version and the first 16 hex digits of a digest of a model's weights as they are now."""
    digest = hashlib.sha256()
    for name, weights in sorted(model.state_dict().items()):
        digest.update(name.encode() + weights.detach().cpu().float().numpy().tobytes())
    return (("sentence-transformers", version_of("sentence-transformers")), ("weights", digest.hexdigest()[:16]))
