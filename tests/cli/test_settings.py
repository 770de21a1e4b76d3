"""Settings are said once: each has help, each option of the command line is a setting, and errors fit their reader."""

from __future__ import annotations

import collections.abc
import dataclasses
import inspect
import json
import re
import subprocess
import sys
from typing import Optional

import numpy as np
import pytest
import typer

import assay
from assay.cli import app, verbs
from assay.common.declarations import Settings, declarations_of, setting
from assay.common.verbs import takes_settings
from assay.exceptions import InputError
from assay.settings import Resampling
from tests.cli.calling import call

#: What a command may take beside its settings: subjects by position, and what concerns the terminal or a file beside.
SUBJECTS = {"run", "runs", "against", "results", "tuples"}
TERMINAL = {"output", "explain", "traceback", "verbose", "quiet", "out", "junit", "summary"} | {"dry_run"}
#: Verbs that list what there is: they have nothing to set.
WITHOUT_SETTINGS = {"doctor", "metrics", "models", "datasets", "cache"}
#: Other options that are not settings: a second function of the package, and text that Python has as a pair of numbers.
EXTRA = {"errors": {"evaluate", "scale"}}
ROWS = [("a b", "a c", 1.0), ("b", "b", 2.0), ("c d", "e", 0.0), ("d", "d e", 1.5)]


def leaves(command, path=()):
    """Yield every command of the command line with its words."""
    if not hasattr(command, "commands"):
        yield path, command
        return
    for name in command.commands:
        yield from leaves(command.commands[name], (*path, name))


COMMANDS = dict(leaves(typer.main.get_command(app)))
WITH_SETTINGS = {path: command for path, command in COMMANDS.items() if path[0] not in WITHOUT_SETTINGS}


@pytest.mark.parametrize("path", WITH_SETTINGS, ids=" ".join)
def test_every_option_is_a_setting_and_every_setting_has_help(path):
    command = WITH_SETTINGS[path]
    kind = command.callback.settings_class
    fields = {field.name for field in dataclasses.fields(kind) if field.init}
    settings = declarations_of(kind)
    assert fields == set(settings), "a field without a declaration"
    assert all(item.help.strip() for item in settings.values())
    options = {parameter.name: parameter for parameter in command.params}
    on_command_line = {name for name, item in settings.items() if not item.python_only}
    assert on_command_line <= set(options)
    by_position = {f"{name}_by_position" for name in on_command_line}
    extra = set(options) - on_command_line - by_position - SUBJECTS - TERMINAL
    assert extra <= EXTRA.get(path[0], set()), "an option that is not a setting"
    for name in on_command_line:
        if not settings[name].argument:
            assert options[name].help, f"{name} has no help on the command line"
            assert "`" not in options[name].help, "the command line names flags"


def test_verbs_are_the_files_of_the_command_line():
    assert list(verbs())[:3] == ["run", "score", "agree"]
    assert {path[0] for path in COMMANDS} == set(verbs())
    assert not {"command", "guard", "options"} & set(verbs())


@pytest.mark.slow
def test_help_is_light():
    code = (
        "import sys\n"
        "from typer.main import get_command\n"
        "from assay.cli import app, verbs\n"
        "root = get_command(app)\n"
        "root.get_help(root.make_context('assay', ['run'], resilient_parsing=True)) and verbs()\n"
        "print(sorted({'numpy', 'pandas'} & set(sys.modules)))\n"
        "run = root.commands['run']\n"
        "run.get_help(run.make_context('run', [], resilient_parsing=True))\n"
        "print(sorted({'numpy', 'pandas'} & set(sys.modules)))\n"
        "for verb in verbs():\n"
        "    root.commands[verb]\n"
        "print(sorted({'scipy', 'pandas', 'torch', 'matplotlib'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "[]", "[]"]


def test_signatures_list_every_setting():
    parameters = inspect.signature(assay.run).parameters
    assert list(parameters)[:2] == ["datasets", "metrics"]
    assert parameters["metrics"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert parameters["resamples"].kind is inspect.Parameter.KEYWORD_ONLY
    assert (parameters["resamples"].default, parameters["resamples"].annotation) == (1000, "int")
    assert set(parameters) >= {"buckets", "statistics", "device", "executor", "progress"}
    assert re.search(r"^    confidence: Level of the intervals", assay.run.__doc__, re.MULTILINE)
    assert assay.run.__doc__.count("    buckets:") == 1
    for name in (
        "run",
        "crossval",
        "score",
        "agree",
        "sweep",
        "recommend",
        "relatedness",
        "profile",
        "verify",
    ):
        assert "settings" not in inspect.signature(getattr(assay, name)).parameters


def test_an_unknown_or_missing_argument_is_told_of_the_function():
    with pytest.raises(TypeError, match=r"^run\(\) got an unexpected keyword argument 'metric'$"):
        assay.run(ROWS, metric="f1")
    with pytest.raises(TypeError, match=r"^sweep\(\) missing a required argument: 'metric'$"):
        assay.sweep("pairs.csv")


@pytest.mark.parametrize(
    ("verb", "python", "line", "said"),
    [
        ("run", {"resamples": 3}, ["--resamples", "3"], "an interval or a test needs at least 100 draws; 0 for none"),
        ("run", {"confidence": 95}, ["--confidence", "95"], "must lie between 0.5 and 1"),
        ("run", {"limit": 0}, ["--limit", "0"], "must be a whole number, at least 1"),
        ("run", {"seed": -1}, ["--seed", "-1"], "must not be negative"),
        ("crossval", {"folds": 1}, ["--folds", "1"], "expected 2 or more"),
        ("crossval", {"scale": "0,1"}, ["--scale", "0,1"], "is for models that are trained here; name one with"),
        ("profile", {"pairs": "a"}, ["--pairs", "a"], "must be whole numbers with commas"),
        ("run", {}, [], "no metric: give"),
    ],
)  # fmt: skip
def test_python_reads_names_and_the_command_line_flags(assay_line, verb, python, line, said):
    data = {"dataset": ROWS} if verb == "profile" else {"datasets": ROWS}
    with pytest.raises(InputError) as caught:
        getattr(assay, verb)(**data, **({"metrics": "f1"} if python else {}), **python)
    message = str(caught.value)
    assert said in message and "--" not in message
    for name in python:
        assert message.startswith(f"{name}={python[name]}: ")
    complaint = assay_line(verb, "-d", "own.csv", *(["-m", "f1"] if python else []), *line).complaint
    assert said in complaint and "`" not in complaint
    assert not line or " ".join(line) in complaint


@pytest.fixture
def assay_line(assay):
    """The command line, in a folder that has own.csv; the name ``assay`` is the package here."""
    return assay


@dataclasses.dataclass(frozen=True)
class _Toy(Resampling):
    _: dataclasses.KW_ONLY
    choice: str = setting("Which.", "a", choices=("a", "b", "c"))
    words: tuple[str, ...] = setting("Words.", ())


def test_values_are_checked_where_they_are_declared():
    assert _Toy(words="one").words == ("one",)
    assert _Toy(words=["one", "two"]).words == ("one", "two")
    assert _Toy(words=None).words == ()
    with pytest.raises(InputError, match=r"^choice=d: must be a, b or c$"):
        _Toy(choice="d")
    with pytest.raises(InputError, match=r"^seed=-1: must not be negative$"):
        _Toy(seed=-1)
    assert _Toy(resamples=200).values_of(Resampling) == {"resamples": 200, "confidence": 0.95, "seed": 0}


Words = collections.abc.Sequence[str]


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Spelled(Settings):
    """Types in other spellings than those of assay."""

    alias: Words = setting("An alias.", ())
    dotted: collections.abc.Sequence[str] = setting("A dotted name.", ())
    optional: Optional[str] = setting("An option.", None)  # noqa: UP045
    reversed: str | None = setting("None comes first.", None)
    listed: list[str] = setting("A list.", ())


@pytest.mark.parametrize("name", ["alias", "dotted", "listed"])
def test_a_sequence_is_one_by_its_type_and_not_by_its_spelling(name):
    assert getattr(_Spelled(**{name: "one"}), name) == ("one",)
    assert getattr(_Spelled(**{name: None}), name) == ()
    with pytest.raises(InputError, match=f"^{name}=5: expected text, not int$"):
        _Spelled(**{name: [5]})


@pytest.mark.parametrize("name", ["optional", "reversed"])
def test_a_text_is_one_by_its_type_and_not_by_its_spelling(name):
    assert getattr(_Spelled(**{name: "one"}), name) == "one"
    with pytest.raises(InputError, match=f"^{name}=5: expected text, not int$"):
        _Spelled(**{name: 5})


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Numbers(Settings):
    alone: float = setting("A number.", 0.0)
    several: collections.abc.Sequence[int] = setting("Some numbers.", ())


def test_numbers_of_numpy_become_plain_alone_and_in_sequences():
    numbers = _Numbers(alone=np.float32(0.5), several=np.array([1, 2]))
    assert json.loads(json.dumps(numbers.plain_values())) == {"alone": 0.5, "several": [1, 2]}


def test_a_function_takes_what_its_settings_declare():
    @takes_settings(_Toy)
    def toy(subject: str, settings: _Toy) -> tuple[str, str]:
        """Return both.

        Args:
            subject: what it is about.
        """
        return subject, settings.choice

    assert toy("x") == ("x", "a")
    assert toy(subject="x", choice="b") == ("x", "b")
    assert isinstance(_Toy(), Settings)
    assert "    choice: Which." in toy.__doc__


#: Verbs of the command line that are no function of Python's, or are several.
WITHOUT_FUNCTION = {"train", "metrics", "models", "datasets", "cache"}


def test_a_verb_has_its_name_in_python():
    assert {verb for verb in verbs() if not callable(getattr(assay, verb, None))} == WITHOUT_FUNCTION


#: Settings that name the pairs or the runs that a verb reads.
DATA = {"dataset", "datasets", "file", "run", "runs", "suite", "results", "tuples"}
#: Verbs that read no pairs and no runs, or several sets of pairs for different uses, each with a flag; the texts of
#: explain are given by position.
WITHOUT_DATA = {"reproduce", "train", "tune", "explain"}


@pytest.mark.parametrize("path", [path for path in WITH_SETTINGS if path[0] not in WITHOUT_DATA], ids=" ".join)
def test_a_verb_takes_its_data_by_position(path):
    arguments = [parameter for parameter in WITH_SETTINGS[path].params if parameter.param_type_name == "argument"]
    assert {parameter.name.removesuffix("_by_position") for parameter in arguments} & DATA


def test_data_is_given_once():
    for verb in ("recommend", "relatedness", "profile", "sweep"):
        words = ["--vectors", "v.txt"] if verb == "relatedness" else []
        words += ["-m", "f1"] if verb == "sweep" else []
        twice = call(verb, "one.csv", "--dataset", "two.csv", *words)
        assert twice.code == 2
        assert "data is given by position and by --dataset; give it once" in twice.err
    assert call("recommend").err == "assay: no DATASET is given: assay recommend DATASET (assay recommend --help)\n"
