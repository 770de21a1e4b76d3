"""What a server may send that repeats the key of its caller, in any place and encoding, and a search for what is kept.

The search has its own list of encodings, so that it does not miss what assay misses.
"""

from __future__ import annotations

import base64
import codecs
import functools
import html
import json
import logging
import random
import sqlite3
import urllib.parse
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

KEY = "sk-proj-Vb7qXw2LrT9mZc4KdYp6_Hq"


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


#: Encodings of a key; each is looked for in what was kept.
FORMS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "upper case": str.upper,
    "lower case": str.lower,
    "swapped case": str.swapcase,
    "backwards": lambda key: key[::-1],
    "rot13": lambda key: codecs.encode(key, "rot13"),
    "hex": lambda key: key.encode().hex(),
    "hex with colons": lambda key: ":".join(f"{byte:02X}" for byte in key.encode()),
    "decimal": lambda key: str(list(key.encode())),
    "octal": lambda key: "".join(f"\\{byte:03o}" for byte in key.encode()),
    "binary": lambda key: " ".join(f"{byte:08b}" for byte in key.encode()),
    "C": lambda key: ",".join(f"0x{byte:02x}" for byte in key.encode()),
    "base64": lambda key: _base64(key.encode()),
    "base64 of user:key": lambda key: _base64(f"user:{key}".encode()),
    "base64 of a header": lambda key: _base64(f"Authorization: Bearer {key}\r\n".encode()),
    "base64 for addresses": lambda key: base64.urlsafe_b64encode(f"k={key}".encode()).decode(),
    "base64 of UTF-16": lambda key: _base64(key.encode("utf-16")),
    "base64 twice": lambda key: _base64(_base64(key.encode()).encode()),
    "base64 in lines": lambda key: "\r\n".join(_base64(key.encode())[i : i + 8] for i in range(0, 48, 8)),
    "base32": lambda key: base64.b32encode(key.encode()).decode(),
    "base32 of user:key": lambda key: base64.b32encode(f"user:{key}".encode()).decode(),
}
#: Ways of writing a text that hide it from a plain search; one or two are laid over an encoding.
ESCAPES: dict[str, Callable[[str], str]] = {
    "none": str,
    "quoted": urllib.parse.quote,
    "percent signs": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "some percent signs": lambda text: "".join(
        f"%{ord(c):02x}" if i % 3 == 1 and c < "\x7f" else c for i, c in enumerate(text)
    ),
    "HTML": lambda text: "".join(f"&#{ord(character)};" for character in text),
    "hexadecimal HTML": lambda text: "".join(f"&#x{ord(character):x};" for character in text),
    "HTML's own": html.escape,
    "JSON": lambda text: "".join(f"\\u{ord(character):04x}" for character in text if character < "\U00010000"),
    "some of JSON": lambda text: "".join(f"\\u{ord(c):04X}" if i % 4 == 2 else c for i, c in enumerate(text)),
    "JSON's own": lambda text: json.dumps(text)[1:-1],
    "Python": lambda text: "".join(f"\\x{byte:02x}" for byte in text.encode()),
    "e-mail": lambda text: "".join(f"={byte:02X}" for byte in text.encode()),
    "spaces": " ".join,
    "zero width": "\u200b".join,
    "accents": "\u0301".join,
    "hyphens": "-".join,
    "full width": lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
    "a sentence": lambda text: f"yes, for the key {text} is right",
    "cut": lambda text: text[: 2 * len(text) // 3],
}
#: Places in a chat completion that take a text, as paths.
PLACES: tuple[tuple[Any, ...], ...] = (
    ("choices", 0, "message", "content"),
    ("choices", 0, "message", "refusal"),
    ("choices", 0, "finish_reason"),
    ("choices", 0, "logprobs", "content", 0, "top_logprobs", 0, "token"),
    ("choices", 0, "logprobs", "content", 0, "top_logprobs", 1, "token"),
    ("choices", 0, "logprobs", "content", 0, "token"),
    ("model",),
    ("system_fingerprint",),
    ("id",),
    ("usage", "prompt_tokens"),
    ("error",),
    ("choices",),
    ("extra",),
)
HEADERS = (
    "Content-Type",
    "X-Request-Id",
    "Set-Cookie",
    "Retry-After",
    "Location",
    "Content-Encoding",
    "X-Should-Retry",
)


def completion() -> dict[str, Any]:
    """Return a completion that has every place."""
    tokens = [{"token": word, "logprob": -0.7} for word in ("yes", "no", "Yes", "maybe", "a", "b", "c", "d")]
    position = {"token": "yes", "logprob": -0.7, "top_logprobs": tokens}
    message = {"role": "assistant", "content": "yes", "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": {"content": [position]}}
    usage = {"prompt_tokens": 50, "completion_tokens": 1}
    return {"id": "c", "model": "m", "system_fingerprint": "fp", "choices": [choice], "usage": usage}


def hidden_key(dice: random.Random) -> str:
    """Return the key in a random encoding, with up to two random escapes over it."""
    text = dice.choice(list(FORMS.values()))(KEY)
    for _ in range(dice.randint(0, 2)):
        text = dice.choice(list(ESCAPES.values()))(text)
    return text


def put(body: Any, place: tuple[Any, ...], text: str) -> None:
    """Put a text at a place of a completion, or instead of what would hold the place, if that is a text already."""
    for step in place[:-1]:
        if isinstance(body[step], str):
            body[step] = text
            return
        body = body[step]
    body[place[-1]] = text


def answer_with_key(dice: random.Random) -> bytes:
    """Return an answer, from its status line on, that has the key in one or two random places and encodings."""
    status, reason, headers, body = 200, "OK", {"Content-Type": "application/json"}, completion()
    content: bytes | None = None
    for _ in range(dice.choice((1, 1, 2))):
        text, kind = (
            hidden_key(dice),
            dice.choice(("place", "place", "place", "pieces", "name", "header", "error", "body", "reason")),
        )
        if kind == "place":
            put(body, dice.choice(PLACES), text)
        elif kind == "pieces":
            tokens = (
                body["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
                if isinstance(body["choices"], list)
                else []
            )
            size = -(-len(text) // len(tokens)) if tokens else 1
            for number, token in enumerate(tokens):
                token["token"] = text[number * size : (number + 1) * size]
        elif kind == "name":
            body[text] = 1
        elif kind == "header":
            headers[dice.choice(HEADERS)] = "".join(c for c in text if c.isascii() and c.isprintable())
            status = dice.choice((200, 307, 429, 500))
        elif kind == "error":
            status = dice.choice((400, 401, 403, 404, 409, 413, 422, 429, 500, 503, 302, 418))
            error = {"message": f"no: {text}", "code": dice.choice((None, text))}
            content = json.dumps(
                dice.choice(({"error": error}, {"detail": text}, {"error": text}, [text], text))
            ).encode()
        elif kind == "body":
            page = f"<html><title>{text}</title>{json.dumps(body)}"
            content = page.encode(dice.choice(("utf-8", "utf-16", "utf-16-le")), "replace")
        else:
            reason = "".join(c for c in text if c.isascii() and c.isprintable())
    if content is None:
        content = json.dumps(body, ensure_ascii=dice.random() < 0.5).encode("utf-8", "replace")
    if dice.random() < 0.2 and "Content-Encoding" not in headers:
        content, headers["Content-Encoding"] = zlib.compress(content), "gzip"
    if dice.random() < 0.05:
        content = content[: dice.randrange(len(content))]
    lines = [f"{name}: {value}" for name, value in headers.items()]
    return (
        "\r\n".join([f"HTTP/1.1 {status} {reason}", *lines, f"Content-Length: {len(content)}", "", ""]).encode()
        + content
    )


def compact(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def traces_in(kept: str) -> list[str]:
    """Return the encodings of which a text has half or more, whatever lies between their letters and digits."""
    text = compact(kept)
    return [name for name, parts in _parts().items() if len(text) >= 16 and any(part in text for part in parts)]


@functools.cache
def _parts() -> dict[str, list[str]]:
    """Return the halves of each encoding, at least 16 letters and digits long, by its name."""
    parts = {}
    for name, form in FORMS.items():
        encoded = compact(form(KEY))
        size = max(16, len(encoded) // 2)
        parts[name] = [encoded[i : i + size] for i in range(len(encoded) - size + 1)]
    return parts


def cells_of(database: Path) -> str:
    """Return everything that is in the tables of a database, with the strings of JSON also as they are meant."""
    cells = []
    with sqlite3.connect(database) as connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for row in connection.execute(f"SELECT * FROM {table}"):
                cells += [str(cell) for cell in row]
                cells += [str(json.loads(cell)) for cell in row if isinstance(cell, str) and cell.startswith("{")]
    return "\n".join(cells)


class Lines(logging.Handler):
    """A handler that keeps the lines of all loggers."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@contextmanager
def everything_logged() -> Iterator[list[str]]:
    """Yield the lines that are logged in the block, at the lowest level."""
    handler, root = Lines(), logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield handler.lines
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
