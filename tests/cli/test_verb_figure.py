"""``assay figure``."""

from __future__ import annotations

import os
import re
import signal
import subprocess

import pytest

from tests.cli.calling import COLUMNS, OWN, call, command

pytest.importorskip("matplotlib", reason='figures need pip install "assay[plots]"')


@pytest.fixture
def folder(tmp_path):
    data = tmp_path / "own.csv"
    data.write_text(OWN, encoding="utf-8")
    done = call("run", "-d", data, *COLUMNS, "-m", "f1", "-m", "chrf", "--out", tmp_path / "run", "-q")
    assert done.code == 0, done.err
    return tmp_path / "run"


@pytest.mark.slow
def test_it_writes_the_figure_and_says_so(folder, tmp_path):
    out = tmp_path / "out.svg"
    done = call("figure", folder, "--out", out, "--metric", "chrf", "--bucket", "all", "--statistic", "pearson")
    assert (done.code, done.out) == (0, "")
    assert re.fullmatch(rf"wrote {re.escape(str(out))} \(\d+ kB\)\n", done.err)
    text = out.read_text(encoding="utf-8")
    assert ">chrf<" in text
    assert ">f1<" not in text
    assert "Pearson r" in text
    assert call("figure", folder, "--out", out, "--kind", "scores", "-q").err == ""
    assert "label (pairs)" in out.read_text(encoding="utf-8")


def test_a_file_of_scores_is_drawn_too(tmp_path):
    scored = tmp_path / "scored.csv"
    scored.write_text("label,mine\n1,.2\n2,.1\n3,.9\n4,.8\n", encoding="utf-8")
    assert call("figure", scored, "--out", tmp_path / "out.png", "-q").code == 0
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")


def test_what_cannot_be_drawn_is_one_line(folder, tmp_path):
    assert (
        "has no layers of one model" in call("figure", folder, "-o", tmp_path / "a.pdf", "--kind", "layers").complaint
    )
    assert "must end in" in call("figure", folder, "-o", tmp_path / "a.gif").complaint
    assert "no such run folder" in call("figure", tmp_path / "absent", "-o", tmp_path / "a.pdf").complaint


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
@pytest.mark.parametrize("ending", ["pdf", "svg", "png"])
def test_a_full_disk_is_one_line_and_nothing_half_written(folder, tmp_path, ending):
    """The limit of a file's size stands in for a full disk: the same error at the same call."""
    import resource

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    (tmp_path / "out").mkdir()
    line = command("figure", folder, "--out", tmp_path / "out" / f"f.{ending}")
    # Python would cut the bytecode of modules that it compiles at the same limit, and fail on it ever after
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(line, preexec_fn=limit, capture_output=True, text=True, timeout=100, env=environment)
    assert done.returncode == 2
    (said,) = done.stderr.splitlines()
    assert f"f.{ending}: cannot be written (File too large); give --out another place" in said
    assert list((tmp_path / "out").iterdir()) == []
