"""The promises of docs/security.md with the tests that hold them, and the result of each now.

python -m tests.promises [arguments of pytest]
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
PAGE = REPOSITORY / "docs" / "security.md"


@dataclass(frozen=True)
class Promise:
    """A row of the page: what may be hostile, what assay promises for it, and the tests, as pytest names them."""

    matter: str
    text: str
    tests: tuple[str, ...]


def read_promises(page: Path = PAGE) -> Iterator[Promise]:
    """Yield the promises of the page, in order."""
    matter = ""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            matter = line.removeprefix("## ")
        if line.startswith("| ") and not line.startswith("| promise |"):
            _, text, tests, _ = line.split("|")
            yield Promise(matter, text.strip(), tuple(re.findall(r"`(tests/[^`]+)`", tests)))


class Results:
    """A plugin of pytest that keeps the outcome of each test, without its parameters."""

    def __init__(self) -> None:
        self.outcomes: dict[str, list[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the outcome of a call, or of a setup or teardown that did not pass."""
        if report.when == "call" or report.outcome != "passed":
            self.outcomes.setdefault(report.nodeid.partition("[")[0], []).append(report.outcome)


def main() -> int:
    """Run the tests of all promises, print the outcomes of each, and return the exit code of pytest."""
    promises = list(read_promises())
    names = sorted({name for promise in promises for name in promise.tests})
    results = Results()
    code = pytest.main([*names, "-q", *sys.argv[1:]], plugins=[results])
    for promise in promises:
        print(f"\n{promise.matter}: {promise.text}")
        for name in promise.tests:
            outcomes = results.outcomes.get(name, [])
            counts = ", ".join(f"{outcomes.count(word)} {word}" for word in sorted(set(outcomes)))
            print(f"    {name}: {counts or 'not run'}")
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
