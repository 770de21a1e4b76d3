"""Every command that assay prints can be copied into a shell: names with blanks are quoted, and the verb takes it."""

from __future__ import annotations

import ast
import html
import random
import re
import shlex
from pathlib import Path

import pytest
import typer

import assay
from assay.benchmark.reload import trust_option
from assay.cli import app, verbs
from assay.common.addresses import command_line
from assay.datasets.grouping import SuggestedGroups
from assay.training.pairwise.settings import PairSettings
from tests.cli.calling import Done, call

SOURCE = Path(assay.__file__).parent
WORDS = ["red", "green", "blue", "dog", "cat", "house", "tree", "car", "sky", "sea"]
METRIC = "static:my vec/v.txt"
RUN, DATA = "my runs/one", "my data.csv"
#: What stands for something of the user's own in a command, and what a user of this test puts there.
OWN = {"RUN": RUN, "FILE": DATA, "FOLDER": "my model", "DATASET": DATA, "OUT.csv": "my out.csv", "NEW.csv": DATA}
#: Verbs that would go to the network, or delete; their words are read and not run.
NOT_RUN = {"cache", "datasets", "models"}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a blank in its name, with pairs and word vectors whose names have blanks, too."""
    folder = tmp_path / "my place"
    (folder / "my vec").mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("ASSAY_CACHE", str(folder / "my cache"))
    rng = random.Random(0)
    vectors = [f"{word} {' '.join(f'{rng.gauss(0, 1):.3f}' for _ in range(8))}\n" for word in WORDS]
    Path("my vec/v.txt").write_text("".join(vectors), "utf-8")
    rows = ["reference,candidate,label,my topic\n"]
    for row in range(120):
        gold = rng.choices(WORDS, k=5)
        answer = [word if rng.random() < 0.6 else rng.choice(WORDS) for word in gold]
        same = sum(one == other for one, other in zip(gold, answer, strict=True))
        rows.append(f"{' '.join(gold)},{' '.join(answer)},{same // 2},{row // 6}\n")
    Path(DATA).write_text("".join(rows), "utf-8")
    return folder


@pytest.fixture
def shown(monkeypatch):
    """The commands that were made since the test began, as text."""
    made: list[str] = []
    join = shlex.join

    def join_and_note(words):
        text = join(words)
        if list(words)[:1] == ["assay"]:
            made.append(text)
        return text

    monkeypatch.setattr(shlex, "join", join_and_note)
    return made


def run_of_two_metrics() -> Done:
    done = call("run", "-d", DATA, "-m", "f1", "-m", METRIC, "--resamples", 100, "--group-by", "my topic", "--out", RUN)
    assert done.code == 0, done.err
    return done


def words_of(command: str) -> list[str]:
    """Return the words of a command as a shell splits it, with something of the user's own for its placeholders."""
    first, *words = shlex.split(command)
    assert first == "assay"
    for name, value in OWN.items():
        words = [re.sub(rf"(?<![\w.]){re.escape(name)}(?![\w.])", value, word) for word in words]
    return words


def check_parsed(command: str) -> None:
    """Assert that the command line reads a command, and finds every word of it that is no flag."""
    words = words_of(command)
    read = typer.main.get_command(app)
    while hasattr(read, "commands"):
        read = read.commands[words.pop(0)]
    context = read.make_context(read.name, list(words), resilient_parsing="--help" in words)
    values = str([list(value) if isinstance(value, tuple) else value for value in context.params.values()])
    for word in words:
        if not word.startswith("-"):
            assert repr(word) in values or f"({word!r}" in values or word in values, (word, values)


def check_run(command: str) -> None:
    """Assert that a command does what it says: it ends well, or reports a regression that there is not."""
    check_parsed(command)
    words = words_of(command)
    if words[0] not in NOT_RUN:
        done = call(*words)
        assert done.code == 0, (command, done.err)


def test_the_hints_of_a_run_and_the_command_on_its_page(place, shown):
    done = run_of_two_metrics()
    hints = [
        line.removeprefix("next:").strip() for line in done.err.splitlines() if "assay " in line and "wrote" not in line
    ]
    assert "run with --group-by 'my topic'" not in done.err, "the groups are named already"
    assert [hint for hint in hints if hint.startswith("assay ")] == [
        f"assay compare '{RUN}'",
        f"assay errors '{RUN}'",
        f"assay baseline '{RUN}' --out baseline.json",
    ]
    page = html.unescape(Path(RUN, "report.html").read_text("utf-8"))
    for command in dict.fromkeys(shown):
        assert command in done.err + page, command
        check_run(command)


def test_options_that_are_suggested_are_quoted():
    assert "run with --group-by 'my topic' (" in SuggestedGroups("my topic", 100, 60, 20, None).message
    assert trust_option(METRIC) == "--trust 'static:my vec/v.txt'"


def test_the_remedies_of_files_in_place_of_runs(place, shown):
    Path("my text.log").write_text("x", "utf-8")
    Path("my other.csv").write_text(Path(DATA).read_text("utf-8").replace("label", "my label"), "utf-8")
    assert call("report", "my text.log", "--out", "page").complaint.endswith(
        "my text.log: is a file; assay agree 'my text.log' --out RUN makes a run of its scores"
    )
    said = call("compare", "my other.csv").complaint
    assert said.endswith("assay agree 'my other.csv' --columns label=LABEL --out RUN")
    Path("my bare.csv").write_text("reference,candidate,label\na,b,1\nb,b,2\n", "utf-8")
    said += call("agree", "my bare.csv").complaint
    assert "add scores: assay score 'my bare.csv' --metric f1 --out OUT.csv" in said
    assert len(set(shown)) == 3
    for command in shown:
        check_parsed(command)
    check_run(shown[-1])


def test_what_baselines_recommendations_and_decisions_suggest(place, shown):
    run_of_two_metrics()
    shown.clear()
    said = call("baseline", RUN, "--out", "my base.json").err
    assert "next: assay check RUN --against 'my base.json'" in said
    grouped = ("--group-by", "my topic", "--resamples", 100)
    done = call("recommend", "-d", DATA, "-m", "f1", "-m", "chrf", "-m", METRIC, *grouped, "--out", "my rec")
    assert done.code == 0, done.err
    said += " ".join(done.out.split())
    decided = call("report", RUN, "--for", "decision", "--positive", "label>=2", "--out", "my page.html")
    assert decided.code == 0, decided.err
    said += html.unescape(Path("my page.html").read_text("utf-8"))
    commands = [command for command in dict.fromkeys(shown) if command in said]
    assert {words_of(command)[0] for command in commands} >= {"check", "combine", "thresholds", "recommend"}
    for command in commands:
        if command.startswith("assay recommend"):
            # the page names the rule, and not a whole command
            check_parsed(f"{command} -d '{DATA}'")
        else:
            check_run(command)


def test_what_is_missing_is_fetched_by_the_command_shown(place, shown):
    done = call("run", "-d", DATA, "-m", "bi-encoder:not/here", "--offline", "--out", "x")
    assert done.code == 1
    assert done.err.splitlines()[0].endswith("--offline is set -> assay models fetch not/here")
    said = done.err + call("models", "show", "not/here").err + call("doctor", "--format", "json").out
    missing = Path("my model folder")
    said += call("run", "-d", DATA, "-m", f"bi-encoder:{missing}", "--out", "x").err
    commands = [command for command in dict.fromkeys(shown) if command in said]
    assert "assay models fetch not/here" in commands
    assert any(command.startswith("assay datasets ") for command in commands)
    for command in commands:
        check_parsed(command)


def test_a_wrong_key_of_the_configuration_names_the_help(place, shown):
    Path("assay.toml").write_text("[run]\nsede = 1\n", "utf-8")
    assert call("run", "x").complaint.endswith("assay run --help lists the options")
    Path("assay.toml").write_text("[models.fetch]\nsede = 1\n", "utf-8")
    assert call("models", "fetch", "x").complaint.endswith("assay models fetch --help lists the options")
    Path("assay.toml").unlink()
    for command in shown:
        check_run(command) if command == "assay run --help" else check_parsed(command)


def test_the_command_of_a_model_card_trains_it_again(place):
    pairs = ("my data.csv:train", "stsb:train")
    settings = PairSettings("bi-encoder", base="my base", pairs=pairs, dev=("stsb:dev",), out="my model")
    command = settings.training_command()
    assert shlex.split(command)[:4] == ["assay", "train", "bi-encoder", "--base"]
    check_parsed(command)


def test_words_stay_words_and_secrets_stay_secret():
    words = ["report", "a b", "it's", "$HOME", "`ls`", "label>=2", "a;b", ""]
    assert shlex.split(command_line(*words)) == ["assay", *words]
    assert "secret" not in command_line("run", "-d", "https://me:secret@host/x.csv?key=secret")


def test_no_command_is_put_together_elsewhere():
    """A text with ``assay VERB`` has no words of a user behind it: these go through ``command_line``."""
    begins = re.compile(rf"\bassay (?:{'|'.join(verbs())})\b[^.;:(),]*$")
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.JoinedStr):
                continue
            for part, follower in zip(node.values, node.values[1:], strict=False):
                if isinstance(part, ast.Constant) and isinstance(follower, ast.FormattedValue):
                    text = str(part.value)
                    assert not begins.search(text), f"{path.name}, line {node.lineno}: {text}"
