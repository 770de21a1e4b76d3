"""Metrics in a file of the user's: what loads, what is said of the rest, and that nobody else's text runs one."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import assay as package
from assay.exceptions import InputError
from assay.metrics import load_metric
from assay.metrics.load import UntrustedMetricError, foreign_code_of, load_untrusted_metric
from assay.metrics.template import write_template
from tests.cli.calling import call

FILE = """
from dataclasses import dataclass
from pathlib import Path
from assay.metrics import Declaration, PairMetric, option
from neighbour_of_one_test import LIMIT

Path("ran").touch()

@dataclass(frozen=True)
class Share(PairMetric):
    case: bool = option(False, "whether case counts")
    declaration = Declaration("share", "share of words", perfect=1.0)

    def scorer(self):
        def score(reference, candidate):
            pair = (reference, candidate) if self.case else (reference.lower(), candidate.lower())
            left, right = (set(text.split()) for text in pair)
            return min(LIMIT, len(left & right) / max(1, len(left | right)))
        return score

def first(reference, candidate):
    return float(reference[:1] == candidate[:1])
"""
ROWS = "reference,candidate,label\na b,A c,1\nb,b,2\nc d,d e,0\nx y,x,1\nq r,q r,2\nm n,o p,0\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "my metrics").mkdir()
    (tmp_path / "my metrics" / "mine.py").write_text(FILE, encoding="utf-8")
    (tmp_path / "my metrics" / "neighbour_of_one_test.py").write_text("LIMIT = 1.0\n", encoding="utf-8")
    (tmp_path / "x.csv").write_text(ROWS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "scores"),
    [
        ("my metrics/mine.py:Share", [1 / 3, 1.0]),
        ("./my metrics/mine.py:Share,case=true", [0.0, 1.0]),
        ("own=my metrics/mine.py:Share", [1 / 3, 1.0]),
        ("my metrics/mine.py:first", [0.0, 1.0]),
    ],
)
def test_a_class_or_a_function_of_a_file(folder: Path, name: str, scores: list[float]) -> None:
    metric = load_metric(name)
    assert metric.score(["a b", "b"], ["A c", "b"]).tolist() == pytest.approx(scores)
    assert str(metric) == ("own" if name.startswith("own=") else name)
    # a change of the file changes the signature
    code = metric.signature()["code"]
    with (folder / "my metrics" / "mine.py").open("a") as file:
        file.write("\n# another line\n")
    assert load_metric(name).signature()["code"] != code


def test_a_module_that_is_installed(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.syspath_prepend(folder / "my metrics")
    shutil.copy(folder / "my metrics" / "mine.py", folder / "my metrics" / "module_of_one_test.py")
    assert load_metric("module_of_one_test:first").score(["a"], ["ab"]).tolist() == [1.0]


def test_the_signature_has_the_code_of_the_module_that_was_imported(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.syspath_prepend(folder / "my metrics")
    file = folder / "my metrics" / "edited_module_of_one_test.py"
    file.write_text("def first(reference, candidate):\n    return 0.25\n", encoding="utf-8")
    before = load_metric("edited_module_of_one_test:first")
    file.write_text("def first(reference, candidate):\n    return 0.75  # edited\n", encoding="utf-8")
    after = load_metric("edited_module_of_one_test:first")
    assert after.score(["a"], ["a"]).tolist() == [0.25], "Python keeps a module that was imported"
    assert after.signature() == before.signature()


def test_a_module_of_the_working_folder(folder: Path) -> None:
    """An installed program does not look there, but a user does."""
    (folder / "package_of_one_test").mkdir()
    (folder / "package_of_one_test" / "__init__.py").touch()
    text = "def length(reference, candidate):\n    return len(candidate)\n"
    (folder / "package_of_one_test" / "own.py").write_text(text, encoding="utf-8")
    code = "import sys; sys.path.remove(''); from assay.cli import app; app(sys.argv[1:])"
    words = ["run", "x.csv", "-m", "package_of_one_test.own:length", "-m", "f1", "--resamples", "0", "--out", "RUN"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "own:length" in done.stdout, done.stderr
    # a run folder that names it is not trusted, as with a file
    words = ["verify", "RUN", "-q", "--format", "json"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    outcomes = [one["outcome"] for one in json.loads(done.stdout)["metrics"]]
    assert outcomes == ["not recomputed", "same"], done.stdout


def test_objects_of_a_file_that_can_be_called(folder: Path) -> None:
    (folder / "objects.py").write_text(
        "import functools\n"
        "class Times:\n"
        "    def __init__(self, factor):\n"
        "        self.factor = factor\n"
        "    def __call__(self, reference, candidate):\n"
        "        return self.factor * len(candidate)\n"
        "twice = Times(2)\n"
        "length = lambda reference, candidate: len(candidate)\n"
        "def power(reference, candidate, exponent):\n"
        "    return len(candidate) ** exponent\n"
        "square = functools.partial(power, exponent=2)\n",
        encoding="utf-8",
    )
    for name, score in (("twice", 6.0), ("length", 3.0), ("square", 9.0)):
        metric = load_metric(f"objects.py:{name}")
        assert metric.score(["a"], ["abc"]).tolist() == [score]
        assert {"function", "code"} <= set(metric.signature())


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        (
            "my metrics/mine.py:Shar",
            "has no metric class or function 'Shar'. Did you mean 'Share'? Valid: Share, first.",
        ),
        ("my metrics/other.py:Share", "there is no file my metrics/other.py"),
        ("broken.py:X", "broken.py cannot be imported: ZeroDivisionError: division by zero"),
        ("my metrics/mine.py:Share,cas=true", "has no option 'cas'. Did you mean 'case'"),
        ("blue:Share", "there is no metric 'blue'"),
        ("my metrics/min.py:Share", "there is no file my metrics/min.py. Did you mean 'my metrics/mine.py'?"),
        ("plain.py", "name the class or function in it, such as plain.py:first"),
        ("./plain.py", "name the class or function in it, such as ./plain.py:first"),
        ("wrong.py:X", "wrong.py cannot be imported: SyntaxError: expected ':' (wrong.py, line 1)"),
        ("ends.py:X", "ends.py cannot be imported: SystemExit: 4"),
        ("numpy._core._multiarray_umath:add", "has no source in Python, which the signature needs; call it in a"),
        ("relative.py:X", "relative.py cannot be imported: ImportError: attempted relative import"),
    ],
)
def test_what_cannot_be_loaded(folder: Path, name: str, problem: str) -> None:
    for file, text in (
        ("broken.py", "x = 1 / 0\n"),
        ("wrong.py", "def x()\n    return 1\n"),
        ("plain.py", "def first(reference, candidate):\n    return 1\n"),
        ("ends.py", "raise SystemExit(4)\n"),
        ("relative.py", "from .mine import first\n"),
    ):
        (folder / file).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(problem)):
        load_metric(name)


def test_a_text_of_somebody_else_runs_no_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "my metrics/mine.py:Share"
    with pytest.raises(UntrustedMetricError):
        load_untrusted_metric(name)
    assert foreign_code_of(name) == name
    monkeypatch.syspath_prepend(folder / "my metrics")
    with pytest.raises(UntrustedMetricError):
        load_untrusted_metric("mine:Share")
    suite = f'name = "s"\ndescription = "d"\ndatasets = ["x.csv"]\nmetrics = ["{name}"]\n'
    (folder / "suite.toml").write_text(suite, encoding="utf-8")
    assert "would run code" in call("run", "suite.toml", "--out", "o").err
    (folder / "assay.toml").write_text(f'metric = ["f1", "{name}"]\n', encoding="utf-8")
    done = call("run", "x.csv", "--out", "o")
    assert done.code == 2 and "would run code" in done.err
    assert not (folder / "ran").exists()


@pytest.mark.slow
def test_a_run_and_its_verification_by_another(folder: Path) -> None:
    name = "my metrics/mine.py:Share"
    assert call("run", "x.csv", "-m", name, "-m", "f1", "--out", "RUN", "--resamples", 0).code == 0
    (folder / "ran").unlink()
    # in a process of its own, where the file was not loaded
    code = "import sys; from assay.cli import app; app(['verify', 'RUN', '-q', '--format', 'json', *sys.argv[1:]])"
    for trust, outcome in (((), "not recomputed"), (("--trust", name), "same")):
        done = subprocess.run([sys.executable, "-c", code, *trust], capture_output=True, text=True, check=False)
        outcomes = {one["metric"]: one["outcome"] for one in json.loads(done.stdout)["metrics"]}
        assert outcomes[name] == outcome, done.stderr
        assert (folder / "ran").exists() == bool(trust)


@pytest.mark.slow
def test_a_new_metric_passes_its_own_tests_and_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert call("metrics", "new", "shared-words").code == 0
    folder = tmp_path / "assay-shared-words"
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert tested.returncode == 0 and "3 passed" in tested.stdout, tested.stdout
    name = f"{folder / 'shared_words.py'}:SharedWords"
    assert name in package.run("probe", [name, "f1"], resamples=0).pairs
    for wrong, problem in (("f1", "is the name of a metric of assay"), ("Shared Words", "expected lower-case words")):
        done = call("metrics", "new", wrong)
        assert done.code == 2 and problem in done.err
    assert "exists already" in call("metrics", "new", "shared-words").err


def test_a_new_metric_whose_class_would_be_a_word_of_python_is_a_module(tmp_path: Path) -> None:
    module, cls = write_template("none", tmp_path / "folder")
    assert load_metric(f"{module}:{cls}").score(["a b"], ["a"]).tolist() == [0.5]
