"""Messages as data: a setting in a message is an object, shown by its name in Python and by its flag on a command line.

A message becomes text at the last step, and no text is searched for settings: a file, a label or the reply of a server
may contain anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self


def default_flag(name: str) -> str:
    """Return the flag that is derived from the name of a setting, such as ``--group-by``."""
    return f"--{name.replace('_', '-')}"


@dataclass(frozen=True)
class Setting:
    """A setting that a message mentions, such as what its remedy asks to add.

    Attributes:
        name: the name of the setting in Python.
        value: the value that belongs to the mention, such as ``ray`` in ``engine="ray"``; None for none.
    """

    name: str
    value: object = None

    def __str__(self) -> str:
        """Return the setting as Python users write it: `` `engine="ray"` ``."""
        if self.value is None:
            return f"`{self.name}`"
        # not needed for assay --help
        import json

        value = json.dumps(self.value, ensure_ascii=False) if isinstance(self.value, str) else self.value
        return f"`{self.name}={value}`"

    def with_flag(self, flags: Mapping[str, str]) -> str:
        """Return the setting as the command line has it, its value quoted for a shell: ``--engine ray``."""
        flag = flags.get(self.name, default_flag(self.name))
        import shlex

        return flag if self.value is None else f"{flag} {shlex.quote(str(self.value))}"


class Message(str):
    """A line for users: the text for Python users, and what it was made of, from which the command line makes its own.

    Whoever expects text, such as a file of a run folder, gets that of Python. A text that is made from a message by an
    f-string or a method of str is plain text; pass a message on as a part of another one instead.

    Args:
        *parts: text, settings that it mentions, and other messages, in order.
        setting: the name of the setting that the message is about; empty for none.
        value: the value of this setting as the message shows it; None for none.

    Example:
        >>> message = Message("is for a Ray cluster; add ", Setting("engine", "ray"), setting="address", value="auto")
        >>> message
        'address=auto: is for a Ray cluster; add `engine="ray"`'
        >>> message.with_flags({})
        '--address auto: is for a Ray cluster; add --engine ray'
    """

    parts: tuple[str | Setting, ...]
    setting: Setting | None

    def __new__(cls, *parts: str | Setting, setting: str = "", value: object = None) -> Self:
        """Return the message, whose text is that for Python users; the arguments are those of the class."""
        text = "".join(map(str, parts))
        if setting:
            text = f"{setting}: {text}" if value is None else f"{setting}={value}: {text}"
        message = super().__new__(cls, text)
        message.parts = parts
        message.setting = Setting(setting, value) if setting else None
        return message

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what makes the message again, for pickling."""
        return _make_message, (self.parts, self.setting)

    @property
    def problem(self) -> Message:
        """The message without the setting that it is about, for callers that name it in another way."""
        return Message(*self.parts)

    def with_flags(self, flags: Mapping[str, str]) -> str:
        """Return the message as the command line shows it: ``--budget 5: must be …``.

        Args:
            flags: the flag of each setting whose flag is not derived from its name.
        """
        text = ""
        if self.setting is not None:
            # the value as it was given and not quoted, since it is not for copying
            name, value = self.setting.name, self.setting.value
            text = flags.get(name, default_flag(name)) + ("" if value is None else f" {value}") + ": "
        for part in self.parts:
            text += part.with_flag(flags) if isinstance(part, Setting) else text_with_flags(part, flags)
        return text

    def settings(self) -> Iterator[str]:
        """Yield the names of the settings that the message is about or mentions."""
        for part in (self.setting, *self.parts):
            if isinstance(part, Setting):
                yield part.name
            elif isinstance(part, Message):
                yield from part.settings()

    def removeprefix(self, prefix: str, /) -> Message:
        """Return the message without a text at its beginning.

        A message that is about a setting stays as it is, and so does one whose first part is not a text that begins
        with the whole prefix.
        """
        if self.setting is None and self.parts and isinstance(self.parts[0], str):
            return Message(self.parts[0].removeprefix(prefix), *self.parts[1:])
        return self

    def replace_text(self, old: str, new: str) -> Message:
        """Return the message with *new* in place of *old* in its text, but not in its settings."""
        new_parts: list[str | Setting] = []
        for part in self.parts:
            if isinstance(part, Message):
                new_parts.append(part.replace_text(old, new))
            elif isinstance(part, str):
                new_parts.append(part.replace(old, new))
            else:
                new_parts.append(part)
        return _make_message(tuple(new_parts), self.setting)


def _make_message(parts: tuple[str | Setting, ...], about: Setting | None) -> Message:
    return Message(*parts, setting=about.name, value=about.value) if about else Message(*parts)


def text_with_flags(line: str, flags: Mapping[str, str]) -> str:
    """Return a line as the command line shows it: a message with a flag for each setting, plain text unchanged."""
    return line.with_flags(flags) if isinstance(line, Message) else line


def join_messages(separator: str, lines: Iterable[str]) -> Message:
    """Return one message of several, as ``str.join`` does with texts."""
    parts: list[str] = []
    for line in lines:
        parts += [separator, line] if parts else [line]
    return Message(*parts)
