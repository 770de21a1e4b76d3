"""Packages whose names are loaded when they are first used."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

PACKAGES = ["assay", "assay.datasets", "assay.metrics", "assay.metrics.models", "assay.metrics.words"]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_has_a_home_and_dir_names_them_all(package: str) -> None:
    module = import_module(package)

    # what the package assigns itself, such as its version, is a name of it, too
    assert dir(module) == module.__all__ == sorted(module.__all__)
    assert all(getattr(module, name) is not None for name in module.__all__)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_name_that_a_package_lacks_is_an_attribute_error_that_names_both(package: str) -> None:
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        _ = import_module(package).nothing


def test_packages_import_nothing_heavy_before_a_name_is_used() -> None:
    names = ", ".join(PACKAGES)
    imports = f"import sys, {names}; print([name for name in ('numpy', 'pandas', 'pyarrow') if name in sys.modules])"
    completed = subprocess.run([sys.executable, "-c", imports], capture_output=True, text=True, check=True)

    assert completed.stdout.strip() == "[]"


def test_a_run_of_one_metric_loads_nothing_of_judges_leaderboards_thresholds_and_stress_tests(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("reference,candidate,label\n" + "a b,a c,1\nd e,d e,2\nf,g,0\n" * 4)
    code = (
        "import sys\nfrom assay.cli import main\n"
        "sys.argv = 'assay run own.csv -m f1 -b f1 -o out'.split()\n"
        "try: main()\nexcept SystemExit as end: assert not end.code\n"
        "print(*(name for name in sys.modules if name.startswith('assay.')), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = done.stderr.splitlines()[-1].split()

    assert (tmp_path / "out" / "report.html").is_file() and "assay.reports.page.render" in loaded
    unneeded = (
        "metrics.judge.judge",
        "metrics.judge.server",
        "metrics.judge.local",
        "analysis.leaderboard",
        "analysis.thresholds",
        "analysis.stress",
    )
    assert [name for name in loaded if name.startswith(tuple(f"assay.{part}" for part in unneeded))] == []


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder = tmp_path / "colours_on_first_use"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from typing import TYPE_CHECKING\n"
        "from assay.common.lazy import lazy_attributes\n"
        "if TYPE_CHECKING:\n"
        "    from colours_on_first_use.paint import red, green as grün\n"
        "else:\n"
        "    __getattr__, __dir__ = lazy_attributes(__name__)\n"
        "blue = 'in the package itself'\n",
        encoding="utf-8",
    )
    (folder / "paint.py").write_text("red, green = 1, 2\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return folder.name


def test_a_name_is_read_from_the_module_that_the_type_checker_reads(package: str) -> None:
    module = import_module(package)

    assert f"{package}.paint" not in sys.modules
    assert (module.red, module.grün, module.blue) == (1, 2, "in the package itself")
    assert module.__all__ == ["blue", "grün", "red"]
    assert f"{package}.paint" in sys.modules
    with pytest.raises(AttributeError, match="green"):
        _ = module.green
