"""The error that a server states in the body of an answer, in its own words."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from assay.common.visible import brief_text


class StatedError(NamedTuple):
    """An error that a server states in the body of an answer: its status, 0 if it names none, and its reason."""

    status: int
    reason: str


#: Most characters of a server's reason that a message shows.
LONGEST_REASON = 300


def stated_error(body: Any) -> StatedError | None:
    """Return the error that the JSON of an answer states, in the server's own words; None if it states none.

    Servers have many forms: ``{"error": {"message": …, "code": …}}``, ``{"error": "…"}``, ``{"errors": […]}``,
    ``{"object": "error", "message": …}``, ``{"detail": …}``, ``{"message": …}``. The reason is shortened to
    :data:`LONGEST_REASON` characters on one line, with the code that the server states.
    """
    if not isinstance(body, dict) or body.get("choices"):
        return None
    error = _first_of(body, "error", "errors", "detail", "message")
    while isinstance(error, list) and error:
        error = error[0]
    if not error:
        return None
    # an error that is only a text has its code, if any, beside it
    error_object = error if isinstance(error, dict) else body | {"message": error}
    code = str(_first_of(error_object, "code", "status", "status_code", "error_code") or "")
    message = _first_of(error_object, "message", "msg", "detail") or error
    reason = f"{message} ({code})" if code else str(message)
    status = int(code) if code.isdecimal() and 400 <= int(code) < 600 else 0
    return StatedError(status, brief_text(" ".join(reason[:LONGEST_REASON].split())))


def _first_of(values: dict[str, Any], *keys: str) -> Any:
    """Return the first value under one of some keys that is neither empty nor zero; None if there is none."""
    return next((values[key] for key in keys if values.get(key)), None)


def error_within(content: bytes) -> StatedError | None:
    """Return the error that an answer with a status of success states in place of a completion; None if it has none."""
    try:
        return stated_error(json.loads(content))
    except (ValueError, RecursionError):
        return None
