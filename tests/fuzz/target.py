"""What a target is: how to make an input, and what must hold when it is read; and the usual makers and checks."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from assay.common.visible import brief_text
from assay.exceptions import AssayError
from tests.fuzz import making

Check = Callable[[bytes, Path], None]


@dataclass(frozen=True)
class Target:
    """One reader or parser.

    Attributes:
        make: returns an input from a random source.
        check: reads an input; its folder is its own, and may hold what earlier inputs left.
    """

    make: Callable[[Random], bytes]
    check: Check


def as_file(name: str, read: Callable[[Path], object]) -> Check:
    """Return a check that writes the input to a file of a name and reads it."""

    def check(content: bytes, folder: Path) -> None:
        path = folder / name
        path.write_bytes(content)
        read(path)

    return check


def damaged(*valid: str | bytes, words: Sequence[str] = ()) -> Callable[[Random], bytes]:
    """Return a maker of damaged files."""
    contents = [one.encode() if isinstance(one, str) else one for one in valid]
    return functools.partial(making.mutated, valid=contents, words=[word.encode() for word in words])


def as_text(parse: Callable[[str], object]) -> Check:
    """Return a check that parses the input as text."""

    def check(content: bytes, folder: Path) -> None:
        parse(content.decode("utf-8", "replace"))

    return check


def text_for(random: Random, words: Sequence[str]) -> str:
    """Return words of a notation, numbers and hostile texts in a row."""
    parts = []
    for _ in range(random.randint(1, 7)):
        parts.append(random.choice(words) if random.random() < 0.75 else random.choice(making.TEXTS))
    return "".join(parts)


def written(*words: str) -> Callable[[Random], bytes]:
    """Return a maker of texts in the notation that these words are of."""
    return lambda random: text_for(random, words).encode()


def one_line(error: AssayError, content: bytes = b"\n") -> None:
    """Check that a message is shown as one line of bounded length, and is not the many lines of a library."""
    message = str(error)
    assert message.strip(), "an empty message"
    assert len(brief_text(message).splitlines()) == 1
    assert len(brief_text(message)) < 2_100
    assert "\n" not in message or b"\n" in content or b"\\n" in content, f"several lines: {message[:200]!r}"
