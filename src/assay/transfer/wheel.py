"""A wheel of a package index: a way in where nothing but the index can be reached.

pip finds and downloads the wheel, so that the user's index, proxy and certificate settings hold. Nothing is installed
and no code of the package runs.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

__all__ = ["WheelError", "download_wheel"]

#: Seconds after which an index that does not answer is given up.
TIMEOUT = 300


class WheelError(Exception):
    """The wheel did not come; the text says why."""


def download_wheel(requirement: str, folder: Path) -> Path:
    """Download the wheel of ``NAME==VERSION`` into *folder* and return its path.

    Raises:
        WheelError: pip is missing, or says no.
    """
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    command += ["--no-input", "--disable-pip-version-check", "--dest", str(folder), requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        raise WheelError(f"the package index did not answer within {TIMEOUT} s") from None
    except OSError as error:
        raise WheelError(f"pip could not be started ({error})") from None
    if done.returncode:
        if "No module named pip" in done.stderr:
            raise WheelError("this Python has no pip to fetch it with; add it with: python -m ensurepip")
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip().startswith("ERROR")]
        raise WheelError(f"pip says: {(lines or [f'exit code {done.returncode}'])[0].removeprefix('ERROR: ')}")
    wheels = sorted(folder.glob("*.whl"))
    if not wheels:
        raise WheelError(f"pip brought no wheel for {requirement}")
    return wheels[0]
