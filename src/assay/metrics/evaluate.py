"""Bridge to Hugging Face's ``evaluate``: local modules as metrics of assay, and assay's metrics as modules."""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from assay.common.packages import ABSENT
from assay.exceptions import InputError, MissingExtraError
from assay.metrics.base import Declaration, Metric, PairMetric, option
from assay.metrics.load import load_metric
from assay.metrics.name import MetricName
from assay.metrics.objects import chosen_value
from assay.paths import user_path


@dataclass(frozen=True)
class EvaluateModule(PairMetric):
    """A metric written for ``evaluate``: a folder with a script of the same name, or the script itself.

    Each pair is scored in its own call, so that its score does not depend on other pairs. The module is the user's own
    Python code and is executed; nothing is downloaded. The range of its scores is unknown.
    """

    subject: str = option(help="path of the module: a folder, or a .py file", reaches_out=True)
    key: str = option("", "which of the values it returns; needed when there are several")
    lower_is_better: bool = option(False, "a low score means similar")

    declaration: ClassVar[Declaration] = Declaration(
        name="evaluate",
        summary="a local Hugging Face evaluate module",
        low=-math.inf,
        high=math.inf,
        subject="PATH",
        provider=("evaluate", "datasets"),
        extra="hf",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lower_is_better:
            self.redeclare(higher_is_better=False)

    def check_available(self) -> None:
        """Check that ``evaluate`` is installed and the module exists.

        Raises:
            MissingExtraError: a package is missing.
            InputError: there is no such module.
        """
        super().check_available()
        # raises if there is no script
        self._script_path()

    def foreign_code(self) -> str:
        """Return the path of the module, whose code scoring runs."""
        return self.subject

    def data_signature(self) -> dict[str, str]:
        """Return the digest of the module's Python files under the key ``code``; ``absent`` if there is no module."""
        try:
            return {"code": _source_digest(self._script_path())}
        except InputError:
            return {"code": ABSENT}

    def scorer(self) -> Callable[[str, str], float]:
        """Return the function (reference, candidate) -> score, which calls the module with this pair alone.

        The function raises InputError if the result has no number under the option ``key``, or without this option
        several numbers or none.

        Raises:
            MissingExtraError: ``evaluate`` is not installed.
            InputError: there is no such module, or it does not compare texts.
            Exception: whatever running the script raises.
        """
        self.check_available()
        script = self._script_path()
        module, expects_lists = _load_module(str(script), _source_digest(script))

        def score(reference: str, candidate: str) -> float:
            references = [[reference]] if expects_lists else [reference]
            result = module.compute(predictions=[candidate], references=references)
            return chosen_value(result, self.key, f"metric {self}: the module", "choose with key=")

        return score

    def files(self) -> tuple[str, ...]:
        """Return the path of the module, a folder or a file."""
        return (self.subject,)

    def _script_path(self) -> Path:
        """Return the absolute path of the module's script.

        Raises:
            InputError: there is no such script.
        """
        path = user_path(self.subject)
        script = path if path.suffix == ".py" else path / f"{path.resolve().name}.py"
        if not script.is_file():
            raise InputError(f"metric {self}: there is no evaluate module at {self.subject!r}; expected {script}")
        return script.resolve()


def _source_digest(script: Path) -> str:
    """Return the first 16 hex digits of the SHA-256 over all Python files in the script's folder, by name and content.

    All files are covered, since the script may import its neighbours; those in subfolders are not.
    """
    digest = hashlib.sha256()
    for path in sorted(script.parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@functools.lru_cache(maxsize=8)
def _load_module(script: str, digest: str) -> tuple[Any, bool]:
    """Return the loaded module, and whether it expects a list of references for each pair; cached.

    A module that accepts both forms is called with a single reference if it names that form first.

    Args:
        script: the path of the script.
        digest: the digest of the Python files in its folder, so that a changed script is not taken from the cache.

    Raises:
        InputError: the module does not compare texts.
        Exception: whatever running the script raises.
    """
    import evaluate

    module = evaluate.load(script, keep_in_memory=True)
    forms = module.features if isinstance(module.features, list) else [module.features]
    for form in forms:
        # only a single value has a dtype, and only a list has the feature of its elements
        predictions, references = form.get("predictions"), form.get("references")
        if getattr(predictions, "dtype", None) != "string":
            continue
        if getattr(references, "dtype", None) == "string":
            return module, False
        if getattr(getattr(references, "feature", None), "dtype", None) == "string":
            return module, True
    raise InputError(f"metric 'evaluate:{script}': the module does not compare texts with texts")


def as_evaluate(metric: str | MetricName | Metric) -> Any:
    """Return a metric as an ``evaluate.Metric``, with ``compute``, ``add`` and ``add_batch``.

    ``compute(predictions=…, references=…)`` returns the mean under the metric's name as typed, and the scores of all
    pairs under ``scores``. With a list of references per prediction, the best score counts. A metric that reads the
    question also accepts ``questions``. Nothing is downloaded or written to disk. ``compute`` raises InputError if
    there is no pair to score, or only predictions or only references are given.

    Raises:
        MissingExtraError: ``evaluate`` is not installed.
        InputError: the name cannot be read, there is no such metric or option, or an option has no valid value.
        UnavailableError: a third party's metric cannot be imported.

    Example:
        >>> as_evaluate("f1").compute(predictions=["a red car"], references=["the car"])
        {'f1': 0.6666666666666666, 'scores': [0.6666666666666666]}
    """
    loaded = load_metric(metric)
    try:
        bridge_class = _bridge_class()
    except ImportError as error:
        raise MissingExtraError(error.name or "evaluate", "hf") from error
    return bridge_class(loaded)


@functools.cache
def _bridge_class() -> type:
    """Return the class of bridged metrics; it is created on first use, since its base class is in ``evaluate``."""
    import evaluate

    class AssayMetric(evaluate.Metric):  # type: ignore[misc]
        """An assay metric as a metric of ``evaluate``.

        Args:
            metric: the metric.
            **settings: further settings of ``evaluate.Metric``.
        """

        def __init__(self, metric: Metric, **settings: Any) -> None:
            self.metric = metric
            super().__init__(keep_in_memory=True, **settings)

        def _info(self) -> Any:
            """Return the metric's name, description and accepted columns, as ``evaluate`` asks for them."""
            declaration = self.metric.declaration
            columns = ["predictions", "references"]
            if declaration.reads_question:
                columns.append("questions")
            return evaluate.MetricInfo(
                module_name=str(self.metric),
                description=declaration.summary,
                citation=declaration.citation,
                inputs_description="predictions and references: a text each, or several references as a list",
                features=[_text_features(columns), _text_features(columns, several_references=True)],
            )

        def compute(self, *, predictions: Any = None, references: Any = None, **further: Any) -> Any:
            """Return the mean and the scores of the given pairs or, if none are given, of the pairs added before.

            Args:
                predictions: the candidates.
                references: the reference of each candidate, or a list of references.
                **further: ``questions``, the question of each candidate, for a metric that reads it.

            Returns:
                The mean under the metric's name, and the list of scores under ``scores``.

            Raises:
                InputError: only one of predictions and references is given, or there is no pair.
                AssayError: the scores cannot be computed.
            """
            if (predictions is None) != (references is None):
                raise InputError(
                    f"metric {self.metric}: compute takes predictions and references, one of each per pair"
                )
            # evaluate opens the writer when the first pair is added
            is_empty = self.buf_writer is None if predictions is None else not len(predictions)
            if is_empty:
                raise InputError(f"metric {self.metric}: there is no pair to score; give predictions and references")
            return super().compute(predictions=predictions, references=references, **further)

        def _compute(
            self, predictions: list[str], references: list[str] | list[list[str]], questions: list[str] | None = None
        ) -> dict[str, Any]:
            """Return the mean and the scores of the pairs that ``compute`` of the base class has gathered."""
            return self.metric.compute(predictions=predictions, references=references, questions=questions)

    return AssayMetric


def _text_features(columns: list[str], *, several_references: bool = False) -> Any:
    """Return the types of columns of texts as ``datasets.Features``; the references may be lists of texts."""
    import datasets

    text = datasets.Value("string")
    column_types: dict[str, Any] = dict.fromkeys(columns, text)
    if several_references:
        column_types["references"] = datasets.Sequence(text)
    return datasets.Features(column_types)
