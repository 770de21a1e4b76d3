"""The wheel of this checkout: built twice with equal bytes, installed in an empty environment, run elsewhere.

``python -m tests.wheel [--extra neural]`` runs the first command of the README with the wheel in the place of the
checkout. Without the extra there is no torch: the quickstart has two string metrics.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
#: What a checkout may hold beside the project, some of it large.
_BESIDE = shutil.ignore_patterns(".git", ".venv*", ".tox", ".ci-models", "__pycache__", ".*_cache", "dist", "site")

#: The time that all files in an archive get.
_EPOCH = {"SOURCE_DATE_EPOCH": "1700000000"}


def build(source: Path, folder: Path) -> dict[str, str]:
    """Build the sdist and the wheel of a checkout in a folder, and return their SHA-256 by name."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, env=os.environ | _EPOCH)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def build_twice(folder: Path) -> Path:
    """Build a copy of the checkout and a copy of that with other times, and return the wheel of the first.

    The checkout itself may change meanwhile: other tests run in it.

    Raises:
        SystemExit: the two builds differ in some byte.
    """
    original, copy = folder / "original", folder / "copy"
    shutil.copytree(REPOSITORY, original, ignore=_BESIDE)
    shutil.copytree(original, copy, copy_function=shutil.copy)
    # as in a second work tree of one repository
    (copy / ".git").write_text("gitdir: elsewhere\n")
    first, second = build(original, folder / "first"), build(copy, folder / "second")
    for name, digest in first.items():
        print(f"{digest}  {name}")
    if first != second:
        raise SystemExit(f"the second build has other bytes: {second}")
    return next((folder / "first").glob("*.whl"))


def quickstart(wheel: Path, extra: str) -> str:
    """Return the first command of the README with a wheel in the place of the checkout.

    Args:
        wheel: the path of the wheel.
        extra: the extra to install; without one, the command runs two string metrics.

    Raises:
        SystemExit: the README begins with another command.
    """
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    first_block = re.search(r"```sh\n(.*?)\n```", text, re.DOTALL)
    command = "" if first_block is None else first_block[1]
    if '".[neural]"' not in command or not command.endswith("assay run quickstart"):
        raise SystemExit(f"the first command of the README is another one: {command}")
    command = command.replace("constraints.txt", f"'{REPOSITORY / 'constraints.txt'}'")
    requirement = f"{wheel}[{extra}]" if extra else str(wheel)
    command = command.replace('".[neural]"', f"'{requirement}'")
    return command if extra else f"{command} -m f1 -m chrf"


def main() -> None:
    """Build the wheel twice, install it in an empty environment and run the first command of the README."""
    parser = argparse.ArgumentParser(prog="python -m tests.wheel", description=main.__doc__)
    parser.add_argument("--extra", default="", help="neural for the whole command of the README, with torch")
    parser.add_argument("--build-only", action="store_true", help="install nothing")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = build_twice(folder)
        if arguments.build_only:
            return
        elsewhere = folder / "elsewhere"
        elsewhere.mkdir()
        command = quickstart(wheel, arguments.extra)
        print(f"+ {command}", flush=True)
        environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "HF_HUB_OFFLINE")}
        environment |= {"ASSAY_CACHE": str(folder / "cache")}
        subprocess.run(["bash", "-c", command], cwd=elsewhere, check=True, env=environment)
        if not list(elsewhere.rglob("run.json")):
            raise SystemExit("the quickstart left no run folder")


if __name__ == "__main__":
    main()
