"""Arrays as text in a baseline file."""

from __future__ import annotations

import base64
import bz2


def pack(content: bytes) -> str:
    """Return bytes compressed by bzip2 and encoded as base64.

    bzip2 has one implementation, so that equal contents yield the same text on every machine; zlib has several.
    """
    return base64.b64encode(bz2.compress(content)).decode("ascii")


def unpack(text: str, n: int, *widths: int) -> bytes:
    """Return the bytes of n entries that :func:`pack` packed, one of *widths* bytes each.

    Raises:
        ValueError: the text does not encode n entries.
    """
    try:
        # at most one byte too many is unpacked: a manipulated text could expand to any size
        decoded = base64.b64decode(text, validate=True)
        content = bz2.BZ2Decompressor().decompress(decoded, max_length=max(widths) * n + 1)
    except (OSError, EOFError) as error:
        raise ValueError(str(error)) from error
    if len(content) not in [width * n for width in widths]:
        raise ValueError(f"they are not {n}")
    return content
