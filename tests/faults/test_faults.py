"""A few strikes of every fault; many more with ``tox -e faults``."""

from __future__ import annotations

import random
import subprocess
import sys
import uuid

import pytest

from tests.faults.trials import Bench, Count, kill_and_finish
from tests.faults.works import Work
from tests.promises import REPOSITORY


def struck(*arguments: str) -> str:
    """Return the table of some faults; the test fails where anything came of them."""
    pytest.importorskip("fcntl", reason="there are no locks and forks here")
    command = [sys.executable, "-m", "tests.faults", *arguments]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
def test_runs():
    table = struck("--work", "run", "--kills", "3", "--times", "1", "--minutes", "5")
    assert len(table.splitlines()) == 14


@pytest.mark.slow
def test_trainings():
    pytest.importorskip("optuna", reason="optuna is absent: pip install assay[train]")
    table = struck("kill -9", "--work", "train", "--kills", "8", "--minutes", "5")
    assert len(table.splitlines()) == 2


def test_what_is_no_fault():
    command = [sys.executable, "-m", "tests.faults", "earthquake"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 2 and "no such fault: earthquake" in done.stderr


class Careless(Work):
    """Does everything that a fault must not bring about, the second time that it is done."""

    def prepare(self):
        pass

    def do(self, folder):
        (folder / "out").write_text("result")
        if folder.name != "whole":
            (folder / "out").write_text("another")
            (folder / "notes.txt").unlink()
            (folder / f".{uuid.uuid4().hex}.part").touch()

    def kept(self, folder):
        return {}

    def unkept(self, folder):
        return 0

    def repeated(self, folder, kills):
        return 0 if folder.name == "whole" else 3

    def tables(self, folder):
        return {"result": (folder / "out").read_text()}


def test_whatever_comes_of_a_fault_is_counted(tmp_path):
    pytest.importorskip("fcntl", reason="there are no locks and forks here")
    bench = Bench(Careless(tmp_path / "input"), tmp_path / "bench", random.Random(1))
    count = Count()
    kill_and_finish(bench, count, most=0)
    assert (count.lost, count.deleted, count.left, count.different) == (4, 1, 1, 1) and count.failed
