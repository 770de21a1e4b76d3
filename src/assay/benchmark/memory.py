"""Peak memory of this process."""

from __future__ import annotations

import sys
from pathlib import Path


def reset_peak() -> None:
    """Reset the peak memory of this process if the system supports it."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        # unsupported or forbidden: the peak then counts from the start of the process
        return


def peak_memory() -> int:
    """Return the peak memory in MB (10⁶ bytes): since :func:`reset_peak` on Linux, else since the process started."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return round(int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6)
    except (OSError, IndexError, ValueError):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        # macOS reports bytes, other systems KiB
        return round(peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6)
