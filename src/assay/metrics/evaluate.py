"""Any local module of Hugging Face's ``evaluate`` as a metric."""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from assay.errors import InputError, MissingExtraError
from assay.metrics.base import Declaration, PairMetric, option
from assay.metrics.provenance import ABSENT, version_of

__all__ = ["EvaluateModule"]


@dataclass(frozen=True)
class EvaluateModule(PairMetric):
    """A metric written for ``evaluate``: a folder with a script of the same name, or the script.

    Every pair is scored alone, so that the score of a pair does not depend on the others. The module is
    Python code of yours and is run; nothing is fetched. Its range is not known.
    """

    subject: str = option(help="path of the module: a folder, or a .py file")
    key: str = option("", "which of the values it returns; needed when there are several")
    lower_is_better: bool = option(False, "a low score means similar")

    declaration: ClassVar[Declaration] = Declaration(
        name="evaluate",
        summary="a local Hugging Face evaluate module",
        low=-math.inf,
        high=math.inf,
        subject="PATH",
        provider=("evaluate", "datasets"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lower_is_better:
            self.redeclare(higher_is_better=False)

    def check_available(self) -> None:
        """Return when ``evaluate`` is installed and the module is there.

        Raises:
            MissingExtraError: a package is missing.
            InputError: there is no such module.
        """
        for package in self.declaration.provider:
            if version_of(package) == ABSENT:
                raise MissingExtraError(package, "hf")
        self._script()

    def foreign_code(self) -> str:
        """Return the path of the module."""
        return self.subject

    def data_signature(self) -> dict[str, str]:
        """Return the digest of the module's Python files."""
        try:
            return {"code": _digest(self._script())}
        except InputError:
            return {"code": ABSENT}

    def scorer(self) -> Callable[[str, str], float]:
        """Return the function (reference, candidate) -> score.

        Raises:
            MissingExtraError: ``evaluate`` is not installed.
            InputError: no such module, a module that does not compare texts, or a key it does not return.
        """
        self.check_available()
        script = self._script()
        module, many = _load(str(script), _digest(script))

        def score(reference: str, candidate: str) -> float:
            references = [[reference]] if many else [reference]
            return self._value(module.compute(predictions=[candidate], references=references))

        return score

    def _script(self) -> Path:
        path = Path(self.subject).expanduser()
        script = path if path.suffix == ".py" else path / f"{path.resolve().name}.py"
        if not script.is_file():
            raise InputError(f"metric {self}: there is no evaluate module at {self.subject!r}; expected {script}")
        return script.resolve()

    def _value(self, result: dict[str, Any]) -> float:
        numbers = {key: value for key, value in result.items() if _is_number(_single(value))}
        key = self.key or (next(iter(numbers)) if len(numbers) == 1 else "")
        if key not in numbers:
            what = f"has no number {self.key!r}" if self.key else "returns several values, choose with key="
            raise InputError(f"metric {self}: the module {what}; it returns {', '.join(sorted(numbers))}")
        return float(_single(numbers[key]))


def _single(value: Any) -> Any:
    """Return the one element of a list of one: some modules return a list with a value a pair."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return value[0] if isinstance(value, list | tuple) and len(value) == 1 else value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _digest(script: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(script.parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@functools.lru_cache(maxsize=8)
def _load(script: str, digest: str) -> tuple[Any, bool]:
    """Return the module, and whether a pair's reference must come as a list."""
    import evaluate

    module = evaluate.load(script, keep_in_memory=True)
    forms = module.features if isinstance(module.features, list) else [module.features]
    for form in forms:
        one = form.get("predictions"), form.get("references")
        if getattr(one[0], "dtype", None) != "string":
            continue
        if getattr(one[1], "dtype", None) == "string":
            return module, False
        if getattr(getattr(one[1], "feature", None), "dtype", None) == "string":
            return module, True
    raise InputError(f"metric 'evaluate:{script}': the module does not compare texts with texts")
