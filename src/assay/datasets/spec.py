"""How users name a dataset: ``NAME[@VERSION][:SPLIT[+SPLIT]]``, where NAME may be the path or address of a file."""

from __future__ import annotations

from assay.common.addresses import split_of_address
from assay.exceptions import InputError


def parse_spec(spec: str) -> tuple[str, str | None, tuple[str, ...] | None]:
    """Return the name, the version and the splits of ``NAME[@VERSION][:SPLIT[+SPLIT]]``.

    The version or the splits are None if they are not given. NAME may be an address, or the path of a card or of a file
    of pairs, which may hold an ``@``; only cards have versions.

    Raises:
        InputError: nothing precedes the colon or the ``@``, or nothing follows them or a ``+``.
    """
    address = split_of_address(spec)
    if address is not None:
        name, split = address
        return name, None, (None if split is None else tuple(split.split("+")))
    name_and_version, colon, splits = spec.rpartition(":")
    if not colon or _ends_a_path(splits):
        name_and_version, splits = spec, ""
    elif not splits:
        raise InputError(f"{spec!r}: expected a split after the colon, as in {name_and_version}:test")
    name, at, version = name_and_version.rpartition("@")
    if not at or _ends_a_path(version) or _is_file_of_pairs(name_and_version):
        name, version = name_and_version, ""
    elif not version:
        raise InputError(f"{spec!r}: expected a version after the @")
    split_names = tuple(splits.split("+")) if splits else None
    if not name or "" in (split_names or ()):
        raise InputError(f"{spec!r}: expected NAME[@VERSION][:SPLIT[+SPLIT]]")
    return name, version or None, split_names


def _ends_a_path(text: str) -> bool:
    """Tell whether what follows a colon or an ``@`` belongs to a path, such as ``C:\\cards\\x.toml``."""
    return "/" in text or "\\" in text or text.endswith(".toml")


def _is_file_of_pairs(text: str) -> bool:
    """Tell whether the name of a dataset with an ``@`` in it is a file of pairs, such as ``results@v2.csv``."""
    # imported here since it brings Arrow, which a list of cards does without
    from assay.datasets.files import is_table_file

    return is_table_file(text)
