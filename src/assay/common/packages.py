"""Installed distributions."""

from __future__ import annotations

import functools
from importlib import metadata

#: The version or digest of something that is not installed or missing.
ABSENT = "absent"


def version_of(package: str) -> str:
    """Return the installed version of a distribution, or ``absent``; one installed later is found."""
    try:
        return _installed_version(package)
    except metadata.PackageNotFoundError:
        return ABSENT


@functools.cache
def _installed_version(package: str) -> str:
    """Return the version of a distribution: the one line of its metadata, which Python parses with all licences in it.

    Raises:
        PackageNotFoundError: it is not installed; this is not cached.
    """
    distribution = metadata.distribution(package)
    _, _, rest = (distribution.read_text("METADATA") or "").partition("\nVersion:")
    return rest.partition("\n")[0].strip() or distribution.version
