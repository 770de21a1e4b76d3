"""The removal of an API key from what a server sends: as it is, in usual encodings, and in pieces."""

from __future__ import annotations

import base64
import codecs
import functools
import hashlib
import html
import json
import logging
import math
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote

#: What is shown in place of the key.
MARK = "***"
#: A key of fewer characters, such as ``none``, is no secret and occurs in other words.
SHORTEST_KEY = 5
#: The fewest letters and digits of an encoding that are looked for; fewer would occur in other words.
SHORTEST_FORM = 8
#: A part of a long encoding is hidden if it has a third of its letters and digits, and at least so many.
SHORTEST_PART = 12
#: The end of the group of the names of fields.
NAME = "\0"
#: How often escapes are undone: a key in an address that is part of another address was quoted twice.
ROUNDS = 3
#: Letters and digits in a row that are looked up first, at a few positions only.
PROBE = 6

_ESCAPE = re.compile(
    r"\\u([0-9A-Fa-f]{4})|\\u\{([0-9A-Fa-f]{1,6})\}|\\x([0-9A-Fa-f]{2})|=([0-9A-Fa-f]{2})|(\\[bfnrt\\\"'/])|=\r?\n"
)


class HiddenKey:
    """An API key that must not be shown, and the encodings in which a server may repeat it.

    Letter case and everything but letters and digits are ignored, so that a key with other capitals, spaces, line ends
    or quotes is found, too. The encodings are percent signs, HTML and JSON escapes (undone up to :data:`ROUNDS` times),
    hexadecimal, decimal and octal codes, base64 and base32 at any place of a longer text (``user:key``), base64 of
    base64, ROT13, and the key backwards.

    Attributes:
        repeats: the number of bodies and headers in which the key was found.
    """

    def __init__(self, key: str) -> None:
        self.repeats = 0
        #: Equal for equal keys.
        self.identity = hashlib.sha256(key.encode()).hexdigest()
        self._literal = re.compile(re.escape(key), re.IGNORECASE) if len(key) >= SHORTEST_KEY else None
        #: By a number of letters and digits, the parts of that length that are hidden.
        self._parts = _parts(key) if self._literal else {}
        self._probes = _probes(key) if self._literal else frozenset()
        #: Every part has a probe at one of so many positions in a row.
        self._stride = min(self._parts, default=PROBE) - PROBE + 1

    def __repr__(self) -> str:
        """Return a text without the key, for tracebacks that show variables."""
        return "HiddenKey()"

    def hide(self, text: str) -> str:
        """Return a text in which :data:`MARK` replaces the key; the text itself if the key is not in it.

        A result with the mark has escapes undone everywhere. If the key is still found after :data:`ROUNDS` rounds, the
        result is the mark alone.
        """
        if self._literal is None:
            return text
        hidden = text
        for _ in range(ROUNDS):
            marked = self._mark_deepest(hidden)
            if marked == hidden:
                self.repeats += hidden != text
                return hidden
            hidden = marked
        # still found in what was left of it: made so on purpose
        self.repeats += 1
        return MARK

    def _mark_deepest(self, text: str) -> str:
        """Return a text with marks, after as many rounds of undoing escapes as show the key; else the text itself."""
        levels = [text]
        for _ in range(ROUNDS):
            undone = _undo_escapes(levels[-1])
            if undone == levels[-1]:
                break
            levels.append(undone)
        # the deepest first: escapes hide a part of the key from a search that ignores them
        for level in reversed(levels):
            marked = self._mark(level)
            if marked != level:
                return marked
        return text

    def hide_body(self, content: bytes) -> bytes:
        """Return the body of an answer without the key.

        A body that is JSON is searched as the values that it stands for, one by one and joined, so that no way of
        writing them and no division into pieces hides the key; the result is written anew from these values. Any other
        body is searched as text.
        """
        if self._literal is None:
            return content
        try:
            value = json.loads(content)
            strings = list(_strings_in(value, ""))
            hidden = iter(self._hide_pieces([text for _, text in strings], [group for group, _ in strings]))
            return json.dumps(_with_strings(value, hidden)).encode()
        except (ValueError, RecursionError):
            return self.hide(content.decode("utf-8", "replace")).encode()

    def _hide_pieces(self, texts: list[str], groups: list[str]) -> list[str]:
        """Return texts without the key; those that show it only together are replaced as wholes.

        Args:
            texts: n texts.
            groups: n names, which end with :data:`NAME` for names of fields. The texts of each group are searched
                joined, and so are all texts, and all that are no names.
        """
        before = self.repeats
        hidden = [self.hide(text) if len(text) >= SHORTEST_KEY else text for text in texts]
        compacts = [_compact(text) for text in hidden]
        members: dict[str, list[int]] = {}
        for index, group in enumerate(groups):
            members.setdefault(group, []).append(index)
        values = [index for index, group in enumerate(groups) if not group.endswith(NAME)]
        for indices in (range(len(texts)), values, *members.values()):
            all_characters = "".join([compacts[index] for index in indices])
            for first, last in self._ranges(all_characters, SHORTEST_PART):
                # the texts that have any of these characters
                end = 0
                for index in indices:
                    begin, end = end, end + len(compacts[index])
                    if begin < last and first < end:
                        hidden[index] = MARK
        # one body counts once, in however many of its texts the key was found
        self.repeats = before + (hidden != texts)
        return hidden

    def _mark(self, text: str) -> str:
        """Return a text with a mark in place of each range of characters that shows the key."""
        marked = text if self._literal is None else self._literal.sub(MARK, text)
        ranges = self._ranges(_compact(marked))
        if not ranges:
            return marked
        # of each letter or digit of the compact text, the index of its character: a ligature stands for several letters
        character_indices: list[int] = []
        for index, character in enumerate(marked):
            character_indices += [index] * len(_compact(character))
        # from the end, so that the indices before stay right
        for first, last in reversed(ranges):
            marked = marked[: character_indices[first]] + MARK + marked[character_indices[last - 1] + 1 :]
        return marked

    def _ranges(self, compact: str, shortest: int = 0) -> list[tuple[int, int]]:
        """Return the ranges of a text of letters and digits that show the key, in order and without overlap.

        A range is its first index and the one after its last.

        Args:
            compact: the text.
            shortest: parts with fewer letters and digits are not looked for.
        """
        probes = (compact[i : i + PROBE] in self._probes for i in range(0, len(compact) - PROBE + 1, self._stride))
        if not any(probes):
            return []
        all_ranges = []
        for size, parts in self._parts.items():
            if size >= shortest:
                starts = range(len(compact) - size + 1)
                all_ranges += [(start, start + size) for start in starts if compact[start : start + size] in parts]
        ranges: list[tuple[int, int]] = []
        for start, end in sorted(all_ranges):
            if ranges and start <= ranges[-1][1]:
                # it overlaps the range before it, or follows at once
                earlier_start, earlier_end = ranges.pop()
                ranges.append((earlier_start, max(end, earlier_end)))
            else:
                ranges.append((start, end))
        return ranges


class KeyFilter(logging.Filter):
    """A filter of log records of HTTP libraries, which log what a server sends: keys are hidden in their messages."""

    def __init__(self) -> None:
        super().__init__()
        self._keys: dict[str, HiddenKey] = {}

    def add(self, key: HiddenKey) -> None:
        """Hide a key from now on, in the records of all clients."""
        self._keys[key.identity] = key

    def filter(self, record: logging.LogRecord) -> bool:
        """Hide the keys in a record; every record passes."""
        message = record.getMessage()
        for key in list(self._keys.values()):
            message = key.hide(message)
        record.msg, record.args = message, ()
        return True


@functools.lru_cache(maxsize=8)
def _parts(key: str) -> dict[int, frozenset[str]]:
    """Return the parts of the encodings of a key that must not be shown, by their numbers of letters and digits."""
    parts_of_size: dict[int, set[str]] = {}
    for form in _forms(key):
        # a third of a form tells too much already; a server may have cut the rest
        size = min(len(form), max(SHORTEST_PART, len(form) // 3))
        parts_of_size.setdefault(size, set()).update(form[i : i + size] for i in range(len(form) - size + 1))
    return {size: frozenset(strings) for size, strings in parts_of_size.items()}


@functools.lru_cache(maxsize=8)
def _probes(key: str) -> frozenset[str]:
    """Return the letters and digits in a row that occur in the encodings of a key."""
    return frozenset(form[i : i + PROBE] for form in _forms(key) for i in range(len(form) - PROBE + 1))


def _forms(key: str) -> Iterator[str]:
    """Yield the encodings of a key, each reduced to its letters and digits, of at least :data:`SHORTEST_FORM`."""
    content = key.encode()
    in_base64 = base64.b64encode(content)
    forms = [key, key[::-1], codecs.encode(key, "rot13")]
    # each byte as a number: hexadecimal, decimal, octal, binary, and as escapes (x6b, 0x6b, u006b)
    for number_format in ("02x", "d", "03o", "o", "08b"):
        forms.append("".join(format(byte, number_format) for byte in content))
    for prefix in ("x", "0x", "u00", "u"):
        forms.append("".join(f"{prefix}{byte:02x}" for byte in content))
    for data in (content, key.encode("utf-16-le"), key.encode("utf-16-be"), in_base64, in_base64.rstrip(b"=")):
        forms += _shifted(data, base64.b64encode, 6)
    forms += _shifted(content, base64.b32encode, 5)
    forms.append(base64.b16encode(in_base64).decode())
    for compact in dict.fromkeys(map(_compact, forms)):
        if len(compact) >= SHORTEST_FORM:
            yield compact


def _shifted(data: bytes, encode: Callable[[bytes], bytes], bits: int) -> list[str]:
    """Return the characters that data has in an encoding, for each place where it may begin in a longer text.

    Args:
        data: the bytes.
        encode: the function of the module base64.
        bits: the bits of a character: 6 for base 64, 5 for base 32.
    """
    texts = []
    for before in range(3 if bits == 6 else 5):
        encoded = encode(bytes(before) + data).decode()
        # without the characters at both ends that also depend on what is before and after
        first = math.ceil(8 * before / bits)
        texts.append(encoded[first : 8 * (before + len(data)) // bits])
    return texts


def _compact(text: str) -> str:
    """Return the letters and digits of a text in lower case, with other forms of a letter replaced by the usual one."""
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text)
    return "".join(filter(str.isalnum, text.casefold()))


def _undo_escapes(text: str) -> str:
    """Return a text with percent signs, HTML entities and escapes of JSON, Python and e-mail undone once."""
    if "%" in text:
        text = unquote(text)
    if "&" in text:
        text = html.unescape(text)
    if "\\" not in text and "=" not in text:
        return text
    text = _ESCAPE.sub(_escaped_character, text)
    # JSON writes a character such as an emoji as two escapes, of which a cut text may have one
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _escaped_character(match: re.Match[str]) -> str:
    """Return the character that an escape stands for, or a space for one of white space.

    A key may go on after a space. An escape with a code beyond Unicode is returned as it is.
    """
    *hexadecimal_codes, one_character_escape = match.groups()
    if one_character_escape:
        character = one_character_escape[1]
        return character if character in "\\\"'/" else " "
    written_code = next(filter(None, hexadecimal_codes), None)
    if written_code is None:
        # the end of a line in an e-mail
        return " "
    code = int(written_code, 16)
    return chr(code) if code <= 0x10FFFF else match.group()


def _strings_in(value: Any, group: str) -> Iterator[tuple[str, str]]:
    """Yield each string in a JSON value after the name of its group: all keys of the same place, and all values."""
    if isinstance(value, str):
        yield group, value
    elif isinstance(value, list):
        for item in value:
            yield from _strings_in(item, group)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield group + NAME, name
            yield from _strings_in(item, f"{group}.{name}")


def _with_strings(value: Any, strings: Iterator[str]) -> Any:
    """Return a JSON value with other strings, taken in the order of :func:`_strings_in`."""
    if isinstance(value, str):
        return next(strings)
    if isinstance(value, list):
        return [_with_strings(item, strings) for item in value]
    if isinstance(value, dict):
        return {next(strings): _with_strings(item, strings) for item in value.values()}
    return value
