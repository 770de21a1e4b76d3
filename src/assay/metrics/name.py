"""The name of a metric: a value with a text form that needs no quoting in a shell."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from assay.errors import InputError

__all__ = ["MetricName"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_OPTION = re.compile(r",([A-Za-z_][A-Za-z0-9_-]*)=")
_FORM = "name[:subject][,option=value]…"


@dataclass(frozen=True, eq=False)
class MetricName:
    """``name[:subject][,option=value]…``: what was typed, taken apart.

    The subject is a model, a file, a column or a named option set. It may hold commas and colons: an
    option starts only at ``,word=``. A value ends where the next option starts. Two names are equal when
    their texts are.

    Attributes:
        name: the metric's name in the registry.
        subject: the text after the first colon, or None.
        options: pairs (option, value as text) in the order typed.
        text: the whole name as typed.

    Raises:
        InputError: the parts cannot be written so that they can be read again.

    Example:
        >>> MetricName.parse("bleu:paper,smoothing=exp").options
        (('smoothing', 'exp'),)
    """

    name: str
    subject: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    text: str = field(init=False)

    def __post_init__(self) -> None:
        subject = "" if self.subject is None else f":{self.subject}"
        text = self.name + subject + "".join(f",{key}={value}" for key, value in self.options)
        object.__setattr__(self, "text", text)
        if _take_apart(text) != (self.name, self.subject, self.options):
            raise InputError(f"the metric name {text!r} cannot be read back as {_FORM}")

    @classmethod
    def parse(cls, text: str) -> MetricName:
        """Read a name; ``str()`` of the result is *text*.

        Raises:
            InputError: *text* has not the form, or gives an option twice.
        """
        return cls(*_take_apart(text))

    def __str__(self) -> str:
        return self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, MetricName) else NotImplemented


def _take_apart(text: str) -> tuple[str, str | None, tuple[tuple[str, str], ...]]:
    head = _NAME.match(text)
    if head is None:
        raise InputError(f"metric {text!r}: expected {_FORM}, starting with a letter or digit")
    rest = text[head.end() :]
    starts = list(_OPTION.finditer(rest))
    before = rest[: starts[0].start()] if starts else rest
    if before and not before.startswith(":"):
        raise InputError(f"metric {text!r}: expected {_FORM}, found {before!r} after {head.group()!r}")
    if before == ":":
        raise InputError(f"metric {text!r}: nothing stands after the colon; expected {_FORM}")
    ends = [match.start() for match in starts[1:]] + [len(rest)]
    options = tuple((match.group(1), rest[match.end() : end]) for match, end in zip(starts, ends, strict=False))
    keys = [key for key, _ in options]
    for key in keys:
        if keys.count(key) > 1:
            raise InputError(f"metric {text!r}: the option {key!r} is given twice")
    return head.group(), before[1:] or None, options
