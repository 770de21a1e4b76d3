"""Settings in messages are data: flags and names are made of them, and what a file or a server says stays as it is."""

from __future__ import annotations

import ast
import asyncio
import copy
import json
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

import assay
from assay import errors
from assay.common.declarations import Settings, declarations_of
from assay.common.messages import Message, Setting, join_messages
from assay.exceptions import AssayError, InputError, UnavailableError
from tests.cli.calling import call
from tests.cli.test_settings import COMMANDS
from tests.judge_server import serve_raw

SOURCE = Path(assay.__file__).parent
MODULES = {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text("utf-8")) for path in SOURCE.rglob("*.py")}
#: Classes of assay's own errors, whose messages hold settings.
OWN_ERRORS = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, AssayError)}
TABLE = "reference,candidate,label\na b,a c,1\nb,b,2\nc d,d e,0\n"
#: How people name things: as Markdown writes code, as if a name were a setting, as if it had a value.
NAMES = ["`data`", "`label=x`", "a `metric` b", "`"]


def test_an_error_names_its_setting_to_each_reader() -> None:
    error = InputError("is for a Ray cluster; add ", Setting("engine", "ray"), setting="address", value="auto")
    assert str(error) == 'address=auto: is for a Ray cluster; add `engine="ray"`'
    assert error.message.with_flags({}) == "--address auto: is for a Ray cluster; add --engine ray"
    assert error.message.with_flags({"engine": "-e"}) == "--address auto: is for a Ray cluster; add -e ray"
    assert list(error.message.settings()) == ["address", "engine"]
    assert error.message.problem == 'is for a Ray cluster; add `engine="ray"`'


def test_a_value_to_copy_is_quoted_for_the_shell_alone() -> None:
    message = Message("say ", Setting("columns", "reference=my answer"))
    assert message == 'say `columns="reference=my answer"`'
    assert message.with_flags({}) == "say --columns 'reference=my answer'"


def test_messages_hold_messages_and_stay_whole_on_their_way() -> None:
    inner = UnavailableError(Message(Setting("offline"), " is set"), "fetch it").message
    for outer in (Message("metric x: ", inner), join_messages("; ", ["metric x", inner])):
        for same in (outer, copy.deepcopy(outer), pickle.loads(pickle.dumps(outer))):
            assert same.with_flags({}).endswith("--offline is set: fetch it")
            assert same.endswith("`offline` is set: fetch it")
    assert Message("metric x: ", inner).removeprefix("metric x: ").with_flags({}) == "--offline is set: fetch it"
    error = pickle.loads(pickle.dumps(InputError("must be above 0", setting="budget", value=0)))
    assert (str(error), error.message.with_flags({})) == ("budget=0: must be above 0", "--budget 0: must be above 0")
    assert json.loads(json.dumps(inner)) == str(inner)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("place", ["file", "label", "column", "dataset", "bucket", "metric"])
def test_a_word_of_the_user_is_no_setting(name: str, place: str, tmp_path: Path, monkeypatch) -> None:
    """The same words, as they are, on the command line and in Python."""
    monkeypatch.chdir(tmp_path)
    Path("x.csv").write_text(TABLE, "utf-8")
    arguments: dict[str, str] = {"datasets": "x.csv", "metrics": "f1"}
    if place == "file":
        arguments["datasets"] = f"{name}.csv"
    elif place == "label":
        Path("x.csv").write_text(TABLE.replace("c,1", f"c,{name}"), "utf-8")
    elif place == "column":
        Path("x.csv").write_text(TABLE.replace("reference", name), "utf-8")
    elif place == "dataset":
        Path(f"{name}.csv").write_text(TABLE, "utf-8")
        arguments |= {"datasets": f"{name}.csv", "group_by": "topic"}
    else:
        arguments["buckets" if place == "bucket" else "metrics"] = name
    with pytest.raises(AssayError) as refused:
        assay.run(**arguments, out=None)
    assert name in str(refused.value)
    flags = {"datasets": "--dataset", "metrics": "--metric", "buckets": "--bucket", "group_by": "--group-by"}
    words = [word for key, value in arguments.items() for word in (flags[key], value)]
    complaint = call("run", *words).complaint
    assert name in complaint, complaint


def test_a_reply_of_a_server_is_no_setting(tmp_path: Path, monkeypatch) -> None:
    body = json.dumps({"error": {"message": "unknown field `budget`, set `engine=ray` and `limit`"}})
    answer = f"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"

    async def refuse(writer: asyncio.StreamWriter) -> None:
        writer.write(answer.encode())
        await writer.drain()

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KEY", "k")
    Path("x.csv").write_text(TABLE, "utf-8")
    said = "unknown field `budget`, set `engine=ray` and `limit`"
    with serve_raw(refuse) as url:
        judge = f"judge:m,endpoint={url},key=KEY"
        result = assay.run("x.csv", [judge, "f1"], out=None, resamples=0)
        (failure,) = result.failures
        assert said in failure
        done = call("run", "-d", "x.csv", "-m", judge, "--resamples", 0, "--quiet", "--out", "o")
    assert done.code == 1
    assert said in done.err


def test_failures_of_a_run_name_flags_on_the_command_line(tmp_path: Path, monkeypatch) -> None:
    """A metric and a dataset that fail in a run that goes on: settings by name in Python and in files, else by flag."""
    monkeypatch.chdir(tmp_path)
    Path("x.csv").write_text(TABLE, "utf-8")
    judge = "judge:m,endpoint=http://127.0.0.1:9/v1,key=KEY"
    monkeypatch.setenv("KEY", "k")
    result = assay.run("x.csv", ["f1", judge], out=None, resamples=0, offline=True)
    (failure,) = result.failures
    assert failure.endswith("is not called -> leave `offline` away")
    done = call("run", "-d", "x.csv", "-m", "f1", "-m", judge, "--resamples", 0, "--offline", "--out", "o", "--quiet")
    assert done.code == 1
    assert done.err.strip().endswith("is not called -> leave --offline away")
    assert "leave --offline away" in " ".join(done.out.split()), "below the table, too"
    manifest = json.loads(Path("o/run.json").read_text("utf-8"))
    assert manifest["failures"] == [str(failure)]


def calls_of_messages(tree: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls that make an error or a message."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if name.endswith("Error") or name in ("Message", "UserMessage", "unknown_name", "join_messages"):
                yield node


def test_no_message_has_a_setting_in_its_text() -> None:
    """Nothing in backticks, and no message put into a text, which would make it plain text."""
    for module, tree in MODULES.items():
        for node in (node for message in calls_of_messages(tree) for node in ast.walk(message)):
            place = f"{module}, line {getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value.replace("`if __name__ == '__main__':`", "")
                assert "`" not in text, f"{place}: a setting belongs into Setting(…)"
            if isinstance(node, ast.FormattedValue):
                inside = ast.unparse(node.value)
                as_text = "Setting(" in inside or inside.endswith((".remedy", "error.message", "record.reason"))
                assert not as_text, f"{place}: {inside} as a part of its own"


def test_no_error_of_assay_becomes_text_on_the_way() -> None:
    """An error that is caught is passed on as ``error.message``, with its settings."""
    handlers = [
        (module, node)
        for module, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler)
    ]
    for module, handler in handlers:
        if handler.name is None or handler.type is None:
            continue
        kinds = {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)}
        # Pydantic's errors are plain text
        if not kinds <= OWN_ERRORS or module == "manifest.py":
            continue
        for node in ast.walk(ast.Module(handler.body, [])):
            is_formatted = isinstance(node, ast.FormattedValue) and ast.unparse(node.value) == handler.name
            is_text = isinstance(node, ast.Call) and ast.unparse(node) == f"str({handler.name})"
            assert not (is_formatted or is_text), f"{module}, line {handler.lineno}: pass {handler.name}.message on"


def test_every_setting_of_a_message_is_one_of_a_verb() -> None:
    """The option of a metric, or a placeholder of a prompt, has no flag."""
    names = {parameter.name for command in COMMANDS.values() for parameter in command.params}
    for command in COMMANDS.values():
        names |= set(declarations_of(getattr(command.callback, "settings_class", Settings)))
    for module, tree in MODULES.items():
        for node in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            name = node.args[0] if ast.unparse(node.func) == "Setting" else None
            for named in (name, *(keyword.value for keyword in node.keywords if keyword.arg == "setting")):
                if isinstance(named, ast.Constant):
                    assert named.value in names, f"{module}, line {node.lineno}: {named.value}"
