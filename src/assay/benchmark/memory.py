"""Peak memory of this process."""

from __future__ import annotations

import sys
from pathlib import Path


def reset_peak() -> None:
    """Start the peak anew where the system can."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        # another system, or not allowed: the peak is then that of the whole process
        return


def peak_memory() -> int:
    """Return the peak in MB (10⁶ bytes), since :func:`reset_peak` where the system can tell."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return round(int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6)
    except (OSError, IndexError, ValueError):
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return round(most / 1e6 if sys.platform == "darwin" else most * 1024 / 1e6)
