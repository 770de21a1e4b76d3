"""The GitHub Action and the pre-commit hook, run as their services run them."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")

pytestmark = pytest.mark.slow
REPOSITORY = Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((REPOSITORY / "action.yml").read_text(encoding="utf-8"))
(HOOK,) = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
BASH = shutil.which("bash")


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A project with a file of pairs, a run of token F1 and its baseline, made by the command line."""
    folder = tmp_path_factory.mktemp("project")
    rows = [("x y", "x y", 2), ("x y", "x z", 1), ("x y", "u v", 0)] * 20
    lines = [f"{reference} {i},{candidate} {i + i % 2},{label}" for i, (reference, candidate, label) in enumerate(rows)]
    (folder / "my pairs.csv").write_text("\n".join(["reference,candidate,label", *lines]))
    for line in ("run -d 'my pairs.csv' -m f1 -q --out before", "baseline before --out baseline.json -q"):
        subprocess.run([sys.executable, "-m", "assay", *shlex.split(line)], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture
def project(template, tmp_path, monkeypatch):
    """A copy of the project as the current folder, with the command ``assay`` of this Python."""
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


@pytest.mark.skipif(BASH is None, reason="there is no bash")
class TestAction:
    @pytest.fixture
    def act(self, project):
        """Run the last step of the action with these inputs as GitHub does; return the exit code and the summary."""

        def run(**inputs):
            given = {name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()} | inputs
            given["out"] = given["out"].replace("${{ runner.temp }}", str(project / "runner temp"))
            step = ACTION["runs"]["steps"][-1]
            environment = {
                name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda match: given[match[1]], text)
                for name, text in step["env"].items()
            }
            summary = project / "summary.md"
            summary.write_text("before\n")
            script = project / "script.sh"
            script.write_text(step["run"])
            done = subprocess.run(
                [BASH, "--noprofile", "--norc", "-eo", "pipefail", str(script)],
                env={**os.environ, **environment, "GITHUB_STEP_SUMMARY": str(summary)},
                capture_output=True,
                text=True,
            )
            return done.returncode, summary.read_text(), done.stderr

        return run

    def test_passes(self, act, project):
        code, summary, said = act(run="--dataset 'my pairs.csv' --metric f1", baseline="baseline.json")
        assert code == 0, said
        assert summary.startswith("before\n### Gate passed: 1 unchanged")
        assert sorted(path.name for path in (project / "runner temp" / "assay").iterdir()) == [
            "check.md",
            "check.xml",
            "run",
        ]

    @pytest.mark.parametrize(
        "text", ["nonsense = 1", "[check]\nmargin = 10", "[run]\nmetric = 'em'\nlimit = 2", "margin = "]
    )
    def test_a_configuration_of_the_repository_decides_nothing(self, act, project, text):
        (project / "assay.toml").write_text(f"{text}\n")
        code, summary, said = act(run="--dataset 'my pairs.csv' --metric f1", baseline="baseline.json")
        assert code == 0 and "### Gate passed: 1 unchanged" in summary, said
        assert "assay.toml" not in said

    def test_fails_where_a_metric_is_gone(self, act):
        code, summary, _ = act(run="-d 'my pairs.csv' -m em", baseline="baseline.json")
        assert code == 3
        assert "### Gate FAILED: 1 missing" in summary

    def test_further_arguments_of_the_check(self, act):
        inputs = {"run": "-d 'my pairs.csv' -m em -m f1", "baseline": "baseline.json"}
        assert act(**inputs, check="--metric f1 --bucket 'f1>0'")[0] == 0
        code, summary, said = act(**inputs, check="--metric chrf")
        assert (code, summary) == (2, "before\n")
        assert "has 'chrf'" in said

    def test_a_run_that_cannot_start(self, act):
        code, summary, said = act(run="-d nofile.csv -m f1", baseline="baseline.json")
        assert (code, summary) == (2, "before\n")
        assert "there is no such file" in said

    def test_an_input_is_no_code(self, act, project):
        code, _, _ = act(run="-d 'my pairs.csv' -m f1; touch hacked", baseline="$(touch hacked)")
        assert code == 2
        assert not (project / "hacked").exists()


def test_every_input_that_is_used_is_declared():
    text = (REPOSITORY / "action.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"inputs\.(\w+)", text)) == set(ACTION["inputs"])
    assert ACTION["runs"]["using"] == "composite"
    assert all(step["shell"] == "bash" for step in ACTION["runs"]["steps"])
    # an input stands in a variable, never in a script
    assert not any("${{" in step["run"] for step in ACTION["runs"]["steps"])


def test_the_hook(project):
    assert (HOOK["language"], HOOK["pass_filenames"]) == ("python", False)
    command = [*shlex.split(HOOK["entry"]), "before", "--against", "baseline.json"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0
    assert "Gate passed: 1 unchanged" in done.stdout
    Path("baseline.json").write_text("{}")
    assert subprocess.run(command, capture_output=True, text=True).returncode == 2
