"""Addresses: the protocols that are read, and how addresses and commands are written without what may be secret."""

from __future__ import annotations

import re
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
    """Return the address and the split, None without one, of ``ADDRESS[:SPLIT]``; None if the text is no address."""
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

    False if it holds a user or a password, behind which a server can hide (``http://localhost:x@example.com/``), or a
    blank, a backslash or a control character, which libraries read in different ways.
    """
    from urllib.parse import urlsplit

    try:
        url = urlsplit(address)
        server, _ = url.hostname, url.port
    except ValueError:
        return False
    # libraries read these characters in different ways
    if "@" in url.netloc or not server or re.search(r"[\\\s\x00-\x20\x7f]", address):
        return False
    return url.scheme == "https" or (url.scheme == "http" and server in ("localhost", "127.0.0.1", "::1"))


def public_address(text: str) -> str:
    """Return a text with its addresses written without user, password and query, which may be secret.

    An address whose server cannot be read for sure becomes ``PROTOCOL://…``. A query begins at ``?``, ``#``, ``;`` or
    ``&``, and it goes on to the end of the text, as the last address does: use this function for one word, such as an
    argument of a command, and :func:`public_text` for sentences.
    """
    parts = []
    rest = text
    while (match := _PROTOCOL.search(rest)) is not None:
        following = _PROTOCOL.search(rest, match.end())
        end = len(rest) if following is None else following.start()
        piece = rest[match.end() : end]
        parts.append(rest[: match.end()])
        if not _has_public_server(match.group(), piece):
            if "@" not in piece:
                # a password that was not encoded may hold any character, even "://": its @ may come later
                piece, end = rest[match.end() :], len(rest)
            _, at, behind = piece.rpartition("@")
            piece = behind if at and _has_public_server("", behind) else "…"
        server_and_path, *query = re.split(r"[?#;&]", piece, maxsplit=1)
        parts.append(server_and_path)
        if query:
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
    """Return a value of JSON, or a tuple, in which every text and key is written by :func:`public_address`."""
    if isinstance(value, str):
        return public_address(value)
    if isinstance(value, dict):
        return {public_values(key): public_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(public_values, value))
    return value


def _has_public_server(protocol: str, rest: str) -> bool:
    """Tell whether an address begins with a server that has no user and no password before it.

    Args:
        protocol: the beginning of the address, such as ``abfs://``, whose servers may have a container before them.
        rest: what follows it.
    """
    server = re.split(r"[/?#]", rest, maxsplit=1)[0].removesuffix("::")
    has_container = protocol.lower() in _CONTAINERS and _SERVER_WITH_CONTAINER.fullmatch(server) is not None
    return has_container or _PLAIN_SERVER.fullmatch(server) is not None


def public_reason(error: BaseException, address: str) -> str:
    """Return a summary of an error about an address; only its type if the message has a secret of the address.

    Every address in the summary is written by :func:`public_text`.

    Args:
        error: the exception of a library.
        address: the address, as the user typed it.
    """
    reason = public_text(summary_of(error))
    return type(error).__name__ if any(secret in reason for secret in _secrets_of(address)) else reason


def _secrets_of(address: str) -> set[str]:
    """Return the parts of an address that :func:`public_address` leaves out: as they are, encoded, decoded and escaped.

    If no server can be read from the address, what is in its place counts as well: it may be a user and a password.
    """
    rest, public_rest = address.partition("://")[2], public_address(address).partition("://")[2]
    secrets: set[str] = set()
    if "@" in rest and "@" not in public_rest:
        user_and_password = rest.rpartition("@")[0]
        secrets |= {user_and_password, user_and_password.partition(":")[2], *re.split("[:@/?#]", user_and_password)}
    elif public_rest.startswith("…"):
        server = rest.partition("/")[0]
        secrets |= {server, *server.split(":")}
    for parameter in re.split(r"[?#;&]", rest)[1:]:
        secrets |= {parameter, parameter.partition("=")[2]}
    secrets.discard("")
    # as libraries write them in their messages
    decoded = {unquote(part) for part in secrets}
    encoded = {quote(part, safe="") for part in secrets}
    escaped = {repr(part)[1:-1] for part in secrets}
    return secrets | decoded | encoded | escaped


def command_line(*words: object) -> str:
    """Return an ``assay`` command for a shell, its words quoted: ``assay report 'my runs/one' --out page``.

    Every command that is shown comes from here. What stands for something of the user's own is in capitals. The secrets
    of addresses are left out.
    """
    import shlex

    return shlex.join(["assay", *(public_address(str(word)) for word in words)])
