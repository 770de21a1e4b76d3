"""A wheel of a package index: a way in where nothing but the index can be reached.

pip finds and downloads the wheel, so that the user's index, proxy and certificate settings hold. Nothing is installed
and no code of the package runs.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

__all__ = ["PINNED", "WheelError", "download_wheel"]

#: All that is asked of an index. pip also takes addresses, files and options in this place, and runs the build code of
#: what they lead to.
PINNED = re.compile(r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?==[A-Za-z0-9][\w.+-]*", re.ASCII)

#: Seconds after which an index that does not answer is given up.
TIMEOUT = 300


class WheelError(Exception):
    """The wheel did not come; the text says why."""


def download_wheel(requirement: str, folder: Path) -> Path:
    """Download the wheel of ``NAME==VERSION`` into *folder* and return its path.

    Raises:
        WheelError: the requirement has another form, or pip is missing, or says no.
    """
    if not PINNED.fullmatch(requirement):
        raise WheelError(f"{requirement!r} is not NAME==VERSION")
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
