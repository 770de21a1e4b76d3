"""What a shell completes: verbs, options, and the names of metrics, datasets, buckets and runs."""

import os
import shutil
import subprocess
import sys

import pytest

from assay.cli.completion import complete_runs
from tests.cli.calling import COLUMNS, OWN, call

#: Runs the command line as an installed ``assay`` does.
AS_INSTALLED = "import sys; sys.argv[0] = 'assay'; from assay.cli import main; main()"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a run ``runs/mine`` of two metrics and three buckets, and ``bin/assay``."""
    folder = tmp_path_factory.mktemp("completion")
    (folder / "own.csv").write_text(OWN)
    line = ("run", folder / "own.csv", *COLUMNS, "-m", "f1", "-m", "chrf", "-b", "f1", "--resamples", 0, "-q")
    assert call(*line, "--out", folder / "runs" / "mine").code == 0
    (folder / "bin").mkdir()
    command = folder / "bin" / "assay"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{AS_INSTALLED}" "$@"\n')
    command.chmod(0o755)
    return folder


def completed_by_bash(folder, *words):
    """Return what bash offers for the last of some words, by the script that assay gives it."""
    line = 'source <(_ASSAY_COMPLETE=source_bash assay) && complete -p assay >&2 && COMP_WORDS=("$@") && '
    line += 'COMP_CWORD=$(($# - 1)) && _assay_completion assay && printf "%s\\n" "${COMPREPLY[@]}"'
    environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "--norc", "-c", line, "bash", "assay", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert "-F _assay_completion assay" in done.stderr, done.stderr
    return done.stdout.split()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("comp",), ["compare"]),
        (("compare", "runs/mine", "--perm"), ["--permutations"]),
        (("compare", ""), ["runs/mine"]),
        (("compare", "runs/mine", "-m", ""), ["f1", "chrf"]),
        (("compare", "runs/mine", "--bucket", "f1"), ["f1=0", "f1>0"]),
        (("thresholds", "runs/mine", "--dataset", ""), ["own"]),
        (("run", "--dataset", "stsb"), ["stsb", "stsb-de"]),
        (("run", "--metric", "rouge"), ["rouge-1", "rouge-2", "rouge-l"]),
        (("metrics", "show", "rouge-l"), ["rouge-l"]),
    ],
    ids=" ".join,
)
def test_bash(folder, words, expected):
    assert completed_by_bash(folder, *words) == expected


def test_a_path_of_a_run_is_completed_as_it_was_typed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for age, run in enumerate(("here", "runs/old", "runs/new")):
        manifest = tmp_path / run / "run.json"
        manifest.parent.mkdir(parents=True)
        manifest.touch()
        os.utime(manifest, (age, age))
    for typed, runs in {
        "": ["runs/new", "runs/old", "here"],
        "ru": ["runs/new", "runs/old"],
        "runs/o": ["runs/old"],
        "./h": ["./here"],
        "./runs/": ["./runs/new", "./runs/old"],
        f"{tmp_path}/runs/n": [f"{tmp_path}/runs/new"],
        "none/": [],
    }.items():
        assert complete_runs(None, typed) == runs, typed


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_an_answer_needs_no_heavy_import(folder, shell):
    code = "import sys\ntry:\n    exec(sys.argv.pop())\nexcept SystemExit:\n    pass\n"
    code += "print(sorted({'numpy', 'pandas', 'scipy', 'torch'} & set(sys.modules)), file=sys.stderr)"
    words = {
        "COMP_WORDS": "assay run --metric rou",
        "COMP_CWORD": "3",
        "_TYPER_COMPLETE_ARGS": "assay run --metric rou",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    done = subprocess.run(
        [sys.executable, "-c", code, AS_INSTALLED],
        env={**os.environ, **words, "_ASSAY_COMPLETE": f"complete_{shell}"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert all(name in done.stdout for name in ("rouge-1", "rouge-2", "rouge-l")), done
    assert done.stderr.strip() == "[]"
