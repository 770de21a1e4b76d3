"""Paths that a user named: what no path can be ends in one line that says why."""

from __future__ import annotations

from pathlib import Path

import pytest

import assay
from assay.errors import InputError
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
