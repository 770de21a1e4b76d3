"""The files of a new metric: a module, its test, and the package that registers it."""

from __future__ import annotations

import re
from keyword import iskeyword
from pathlib import Path

from assay.common.output import atomic_write
from assay.exceptions import InputError
from assay.metrics.registry import registry

_MODULE = '''"""The metric {name}."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from assay.metrics import Declaration, PairMetric, option


@dataclass(frozen=True)
class {cls}(PairMetric):
    """Share of the reference's words that the candidate has, from 0 to 1; write here what yours computes."""

    case: bool = option(False, "whether upper and lower case differ")

    declaration = Declaration("{name}", "share of the reference's words that the candidate has", perfect=1.0)

    def scorer(self) -> Callable[[str, str], float]:
        """Return the function of (reference, candidate) that gives the score."""

        def score(reference: str, candidate: str) -> float:
            if not self.case:
                reference, candidate = reference.lower(), candidate.lower()
            words, known = reference.split(), set(candidate.split())
            if not words:
                return float(not known)
            return sum(word in known for word in words) / len(words)

        return score
'''

_TEST = '''"""Tests of the metric {name}: pytest"""

from pathlib import Path

import pytest

from assay import load_metric
from assay.metrics import check_metric

NAME = f"{{Path(__file__).parent / '{module}.py'}}:{cls}"


def test_it_keeps_the_promises_of_a_metric() -> None:
    assert [finding for finding in check_metric(NAME) if not finding.passed] == []


@pytest.mark.parametrize(("reference", "candidate", "score"), [("a red car", "the red car", 2 / 3), ("a", "b", 0.0)])
def test_scores(reference: str, candidate: str, score: float) -> None:
    assert load_metric(NAME).score([reference], [candidate]).tolist() == [pytest.approx(score)]
'''

_PACKAGE = """[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "assay-{name}"
version = "0.1.0"
dependencies = ["assay"]

# installed, it is the metric {name} for everybody
[project.entry-points."assay.metrics"]
{name} = "{module}:{cls}"

[tool.hatch.build.targets.wheel]
only-include = ["{module}.py"]
"""


def write_template(name: str, folder: Path) -> tuple[Path, str]:
    """Write a new metric into a folder that does not exist yet, and return its file and the name of its class.

    Args:
        name: the name of the metric: lower-case words with hyphens between them.
        folder: the folder to make, with the module, its test and ``pyproject.toml``.

    Raises:
        InputError: the name has another form, or another metric has it; the folder exists or cannot be written.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise InputError(f"{name!r}: expected lower-case words with hyphens between them, such as shared-words")
    holder = next((entry for entry in registry().entries() if entry.name == name), None)
    if holder is not None:
        raise InputError(f"{name!r} is the name of a metric of {holder.origin}; take another")
    if folder.exists():
        raise InputError(f"{folder}: exists already; name another folder, or remove it")
    module = name.replace("-", "_")
    cls = "".join(word.capitalize() for word in name.split("-"))
    if iskeyword(cls):
        # None, True or False
        cls += "Metric"
    try:
        folder.mkdir(parents=True)
        template_of_file = {f"{module}.py": _MODULE, f"test_{module}.py": _TEST, "pyproject.toml": _PACKAGE}
        for file, template in template_of_file.items():
            with atomic_write(folder / file) as path:
                path.write_text(template.format(name=name, module=module, cls=cls), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror or error})") from error
    return folder / f"{module}.py", cls
