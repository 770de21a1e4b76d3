"""The former home of :mod:`assay.progress`."""

from __future__ import annotations

from assay.progress import Progress, Silent

__all__ = ["Progress", "Silent"]
