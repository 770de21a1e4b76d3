"""Paths that a user named: what no path can be ends in one line that says why."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import assay
from assay.common.configuration import PYPROJECT, find_configuration
from assay.exceptions import InputError
from assay.paths import path_exists, user_path
from tests.cli.calling import call

PAIRS = [{"reference": "a", "candidate": "b" * number, "label": number % 2} for number in range(1, 7)]
NO_PATHS = {
    "x" * 5000: "longer than the name of a file can be",
    "/".join(["d" * 200] * 30): "longer than the name of a file can be",
    "a\0b": "holds NUL",
    "~nosuchuser/x": "there is no user 'nosuchuser' on this machine",
    "\ud800a": "half a character",
}


@pytest.mark.parametrize("text", list(NO_PATHS))
def test_what_is_no_path(text):
    with pytest.raises(InputError, match=NO_PATHS[text]) as caught:
        user_path(text)
    assert len(str(caught.value).splitlines()) == 1
    assert not path_exists(text)


def test_home_and_names_that_begin_with_a_tilde(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert user_path("~/x") == tmp_path / "x"
    Path("~nosuchuser").mkdir()
    assert user_path("~nosuchuser") == Path("~nosuchuser")


def test_a_tilde_without_a_home_folder(monkeypatch):
    def unknown(path):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", unknown)
    with pytest.raises(InputError, match=r"^~/x: your home folder is unknown; write the path in full"):
        user_path("~/x")


@pytest.mark.parametrize("text", list(NO_PATHS))
@pytest.mark.parametrize("place", ["file", "named", "toml", "out", "store", "run", "baseline", "model", "layout"])
def test_every_place_where_one_is_named(text, place):
    run = {"resamples": 0, "buckets": ["none"]}
    calls = {
        "file": lambda: assay.run(f"{text}.csv", ["f1"], **run),
        "named": lambda: assay.run(f"mine={text}.csv", ["f1"], **run),
        "toml": lambda: assay.run(f"{text}.toml", ["f1"], **run),
        "out": lambda: assay.run(PAIRS, ["f1"], out=text, **run),
        "store": lambda: assay.run(PAIRS, ["f1"], store=text, **run),
        "run": lambda: assay.compare(text),
        "baseline": lambda: assay.baseline(text, "b.json"),
        "model": lambda: assay.run(PAIRS, [f"bi-encoder:{text}"], **run),
        "layout": lambda: assay.load_metric(f"s3bert:here,layout={text}").check_available(),
    }
    with pytest.raises(InputError) as caught:
        calls[place]()
    assert len(str(caught.value).splitlines()) == 1


def test_the_command_line_says_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "there is no user 'nosuchuser'" in call("run", "~nosuchuser/x.csv", "-m", "f1").complaint
    assert not list(tmp_path.iterdir())


def make_pipe(path):
    os.mkfifo(path)


def make_endless(path):
    path.symlink_to("/dev/zero")


def make_large(path):
    with path.open("wb") as stream:
        stream.truncate(1 << 40)


#: Commands that read a file of settings, with its name.
COMMANDS = {
    "assay.toml": ["run", "probe", "-m", "f1"],
    "pyproject.toml": ["run", "probe", "-m", "f1"],
    "prices.toml": ["run", "probe", "-m", "f1", "--prices", "prices.toml"],
    "prompt.toml": ["run", "probe", "-m", "judge:x,endpoint=http://127.0.0.1:9/v1,key=none,prompt=./prompt.toml"],
    "suite.toml": ["run", "suite.toml"],
    "card.toml": ["datasets", "show", "card.toml"],
    "combined.json": ["metrics", "show", "combined:."],
    "space.toml": ["tune", "bi-encoder", "--pairs", "probe", "--base", "x", "--out", "o", "--space", "space.toml"],
    "pairs.csv": ["run", "pairs.csv", "-m", "f1"],
    "pairs.parquet": ["datasets", "show", "pairs.parquet"],
}


@pytest.mark.parametrize("make", [make_pipe, make_endless, make_large])
@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_no_regular_file_is_refused_by_its_name(name, make, tmp_path, monkeypatch):
    """Nothing waits for a pipe, and no file of settings is read without an end."""
    if make is make_large and name.startswith("pairs"):
        pytest.skip("a table may be of any size")
    monkeypatch.chdir(tmp_path)
    make(tmp_path / name)
    done = call(*COMMANDS[name])
    assert done.code in (0, 1, 2)
    output = done.out + done.err
    assert any(text in output for text in ("a pipe, a device or a socket", "bytes", "is a link out of")), output
    assert name.partition(".")[0] in output


def test_a_configuration_that_is_a_link_out_of_the_repository_is_not_read(tmp_path, monkeypatch):
    (tmp_path / "private.toml").write_text("password = 'sesame'\n", encoding="utf-8")
    repository = tmp_path / "repository"
    (repository / ".git").mkdir(parents=True)
    (repository / "inside.toml").write_text("seed = 3\n", encoding="utf-8")
    monkeypatch.chdir(repository)
    links = [("../private.toml", "assay.toml"), ("/etc/passwd", "assay.toml"), ("../private.toml", PYPROJECT)]
    for target, name in links:
        (repository / name).symlink_to(target)
        done = call("run", "probe", "-m", "f1")
        assert done.code == 2 and f"{name}: is a link out of {repository}" in done.err
        assert "password" not in done.err
        (repository / name).unlink()
    (repository / "assay.toml").symlink_to("inside.toml")
    assert find_configuration(repository).values == {"seed": 3}
