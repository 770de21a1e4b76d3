"""The command line called in this process (fast) or as a process of its own (exit codes, signals, streams)."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OWN = """id,gold,answer,human,second
1,Berlin,berlin,2,2
2,Berlin,Munich,0,1
3,007,007,2,2
4,None,,0,0
5,the NFL,National Football League,2,1
6,blue,light blue,1,1
"""
COLUMNS = ("--columns", "reference=gold,candidate=answer,label=human")


@dataclass(frozen=True)
class Done:
    """How a call ended."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, str]]:
        """Standard output read as CSV."""
        return list(csv.DictReader(io.StringIO(self.out)))

    @property
    def complaint(self) -> str:
        """The one line on standard error of a call that was refused."""
        assert self.code == 2, (self.code, self.err)
        assert self.out == ""
        lines = self.err.splitlines()
        assert len(lines) == 1, lines
        assert lines[0].startswith("assay: ")
        assert "Traceback" not in lines[0]
        return lines[0]


def call(*args: object) -> Done:
    from assay.cli import app

    out, err = io.StringIO(), io.StringIO()
    code: Any = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            app([str(arg) for arg in args], prog_name="assay")
        except SystemExit as stop:
            code = stop.code or 0
    return Done(code, out.getvalue(), err.getvalue())


def command(*args: object) -> list[str]:
    return [sys.executable, "-m", "assay", *(str(arg) for arg in args)]


def process(*args: object, stdin: str | None = None, **environment: str) -> Done:
    env = {**os.environ, **environment}
    done = subprocess.run(
        command(*args), input=stdin, capture_output=True, text=True, encoding="utf-8", env=env, timeout=120
    )
    return Done(done.returncode, done.stdout, done.stderr)


def agreement(folder: Path) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Read ``agreement.json`` by bucket, metric and statistic."""
    rows = json.loads((folder / "agreement.json").read_text(encoding="utf-8"))
    return {(row["bucket"], row["metric"], row["statistic"]): row for row in rows}
