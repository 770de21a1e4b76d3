"""Addresses: the protocols that are read, and how addresses and commands are written without what may be secret."""

from __future__ import annotations

import re
import shlex
from typing import Any
from urllib.parse import quote, unquote

from assay.exceptions import InputError, summary_of

#: The protocols that are read. fsspec knows many more, and some of them act on what a file says, such as
#: ``reference``, whose files are templates, or start other programs; others come with any installed package.
PROTOCOLS = ("file", "http", "https", "s3", "gs", "abfs", "hf")
#: Protocols that need no network.
LOCAL_PROTOCOLS = ("file", "memory")

#: The beginning of an address; a single letter before the colon is a drive of Windows instead. Protocols may be chained
#: in front of it, ``simplecache::s3://``, which is refused.
_ADDRESS_START = re.compile(r"(?:[A-Za-z][A-Za-z0-9+._-]*::)*[A-Za-z][A-Za-z0-9+._-]+://.", re.DOTALL)
#: An address with ``:SPLIT`` after the name of its file. A colon in the server or in a query separates nothing.
_WITH_SPLIT = re.compile(r"(?P<address>[^?#]*://[^/?#]*/[^?#]*)(?<!:):(?P<split>[^/:?#]+)")
#: What an address begins with; for the usual protocols also with another number of slashes, or backslashes, since a
#: mistyped password is still one. Of bounded length, since a search tries every letter as the first one.
_BEGINNING = (
    r"(?<![A-Za-z0-9+._-])(?i:https?|ftp|s3|gs|abfss?|hf):[/\\]{0,9}(?=[^\s/\\])|[A-Za-z][A-Za-z0-9+._-]{0,40}://"
)
_PROTOCOL = re.compile(_BEGINNING)
#: A run of a text that holds an address, without the punctuation that follows it in a sentence.
_ADDRESS_IN_TEXT = re.compile(rf"(?:{_BEGINNING})\S*")
_PUNCTUATION = ".,:;)]}'\"`>"
#: The server of an address if it can hold no secret: a name or number, without a user, with or without a port.
_PLAIN_SERVER = re.compile(r"(?:[^:@\[\]]*|\[[^@\[\]]*\])(?::\d+)?")
#: Protocols whose addresses have the name of a container before the ``@``.
_CONTAINERS = ("abfs://", "abfss://")
_SERVER_WITH_CONTAINER = re.compile(r"[a-z0-9$-]+@[a-z0-9]+\.(?:dfs|blob)\.[a-z.]+")


def is_address(text: object) -> bool:
    """Tell whether a text is an address such as ``s3://bucket/x.parquet``, also with ``:SPLIT`` at the end."""
    return _ADDRESS_START.match(str(text)) is not None


def split_of_address(text: str) -> tuple[str, str | None] | None:
    """Return the address and the split of ``ADDRESS[:SPLIT]``; None if the text is neither."""
    if not is_address(text):
        return None
    match = _WITH_SPLIT.fullmatch(text)
    return (text, None) if match is None else (match["address"], match["split"])


def protocol_of(address: str) -> str:
    """Return the protocol of an address.

    Raises:
        InputError: it is not one of :data:`PROTOCOLS`, or several are chained by ``::``.
    """
    protocol = address.partition("://")[0]
    if "::" in address:
        raise InputError(f"{public_address(address)}: chains addresses by '::', which are not read; give the last one")
    if protocol not in PROTOCOLS:
        raise InputError(
            f"{public_address(address)}: addresses of {protocol}:// are not read; those of "
            f"{', '.join(PROTOCOLS)} are, or give a file"
        )
    return protocol


def is_encrypted_or_local(address: str) -> bool:
    """Tell whether an address has the form ``https://SERVER/…``, or ``http://`` with this machine as its server.

    False if it holds a user or a password, behind which a server can hide: ``http://localhost:x@example.com/``.
    """
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(address)
        server, _ = parts.hostname, parts.port
    except ValueError:
        return False
    # libraries read these characters in different ways
    if "@" in parts.netloc or not server or re.search(r"[\\\s\x00-\x20\x7f]", address):
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and server in ("localhost", "127.0.0.1", "::1"))


def public_address(text: str) -> str:
    """Return a text with its addresses written without user, password and query, which may be secret.

    The last address ends where the text ends: use it for one word, such as an argument of a command, and
    :func:`public_text` for sentences.
    """
    parts = []
    rest = text
    while (match := _PROTOCOL.search(rest)) is not None:
        following = _PROTOCOL.search(rest, match.end())
        end = len(rest) if following is None else following.start()
        piece = rest[match.end() : end]
        parts.append(rest[: match.end()])
        if not _has_public_server(match.group(), piece):
            # a password that was not encoded may hold any character, even "://": the last @ ends it
            piece, end = (piece, end) if "@" in piece else (rest[match.end() :], len(rest))
            piece = piece.rpartition("@")[2] if "@" in piece else "…"
            if not _has_public_server("", piece):
                piece = "…"
        parts.append(re.split(r"[?#;&]", piece, maxsplit=1)[0])
        if re.search(r"[?#;&]", piece) is not None:
            # a query goes on to the end
            return "".join(parts)
        rest = rest[end:]
    return "".join([*parts, rest])


def public_text(text: str) -> str:
    """Return a text, such as a message, with every address in it written without user, password and query."""
    return _ADDRESS_IN_TEXT.sub(_public_match, text) if ":" in text else text


def _public_match(match: re.Match[str]) -> str:
    word = match.group().rstrip(_PUNCTUATION)
    return public_address(word) + match.group()[len(word) :]


def public_values(value: Any) -> Any:
    """Return a value of JSON, or a tuple, in which every text is written by :func:`public_address`."""
    if isinstance(value, str):
        return public_address(value)
    if isinstance(value, dict):
        return {public_values(key): public_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(public_values, value))
    return value


def _has_public_server(protocol: str, rest: str) -> bool:
    """Tell whether what follows ``protocol://`` begins with a server that has no user and no password before it."""
    server = re.split(r"[/?#]", rest, maxsplit=1)[0].removesuffix("::")
    has_container = protocol.lower() in _CONTAINERS and _SERVER_WITH_CONTAINER.fullmatch(server) is not None
    return has_container or _PLAIN_SERVER.fullmatch(server) is not None


def public_reason(error: BaseException, address: str) -> str:
    """Return a summary of an error about an address; only its type if the message has a secret of the address.

    Args:
        error: the exception of a library.
        address: the address, as the user typed it.
    """
    written = public_text(summary_of(error))
    return type(error).__name__ if any(secret in written for secret in _secrets_of(address)) else written


def _secrets_of(address: str) -> set[str]:
    """Return the parts of an address that :func:`public_address` leaves out, as they are, encoded and decoded."""
    rest, public_rest = address.partition("://")[2], public_address(address).partition("://")[2]
    parts: set[str] = set()
    if "@" in rest and "@" not in public_rest:
        user = rest.rpartition("@")[0]
        parts |= {user, user.partition(":")[2], *re.split("[:@/?#]", user)}
    for query in re.split(r"[?#;&]", rest)[1:]:
        parts |= {query, query.partition("=")[2]}
    parts = {part for part in parts if part}
    # as libraries write them in their messages
    written = (unquote, lambda part: quote(part, safe=""), lambda part: repr(part)[1:-1])
    return parts.union(*(map(write, parts) for write in written))


def command_line(*words: object) -> str:
    """Return an ``assay`` command for a shell, its words quoted: ``assay report 'my runs/one' --out page``.

    Every command that is shown comes from here. What stands for something of the user's own is in capitals. The secrets
    of addresses are left out.
    """
    return shlex.join(["assay", *(public_address(str(word)) for word in words)])
