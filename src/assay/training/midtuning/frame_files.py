"""Files of frames: one JSON object per line, with a sentence and its frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.datasets.readers.delimited import check_encoding
from assay.datasets.readers.jsonl import parse_json
from assay.exceptions import InputError
from assay.training.midtuning.forms import Frame, SemanticForm, make_frame

#: The content of a line, for messages.
_SHAPE = '{"sentence": TEXT, "frames": [{"predicate": TEXT, "roles": {"ARG0": TEXT}}]}'


def numbered_lines(path: Path) -> list[tuple[int, str]]:
    """Return the lines of a file that are not blank, each after its line number, which starts at 1.

    Raises:
        InputError: the file cannot be opened, or is not UTF-8.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        check_encoding(path)  # raises InputError with the line
        raise
    except OSError as error:
        raise InputError(f"{path}: cannot be read as a file of frames ({error.strerror})") from None
    # splitlines would also split at separators such as U+2028, which JSON allows inside of texts.
    return [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def parse_line(path: Path, number: int, line: str) -> tuple[str, SemanticForm | None]:
    """Return the sentence of a line and its form, which is None if the line has no frame.

    Args:
        path: the file, for messages.
        number: the number of the line, for messages.
        line: the text of the line.

    Raises:
        InputError: the line is malformed.
    """
    where = f"{path}, line {number}"
    record = parse_json(line, where)
    if not isinstance(record, dict):
        raise InputError(f"{where}: expected an object such as {_SHAPE}")
    sentence = _required_text(record, "sentence", where)
    frame_records = record.get("frames")
    if not isinstance(frame_records, list):
        raise InputError(f"{where}: 'frames' must be a list, as in {_SHAPE}")
    frames = []
    for frame_number, frame_record in enumerate(frame_records, 1):
        frames.append(_parse_frame(frame_record, f"{where}, frame {frame_number}"))
    form = SemanticForm(tuple(frames)) if frames else None
    return sentence, form


def _parse_frame(record: Any, where: str) -> Frame:
    """Return the frame of a JSON value; raises InputError, with *where* the value is, if it is malformed."""
    if not isinstance(record, dict):
        raise InputError(f"{where}: expected an object, as in {_SHAPE}")
    fillers = record.get("roles", {})
    if not isinstance(fillers, dict):
        raise InputError(f"{where}: 'roles' must be an object of role and filler, as in {_SHAPE}")
    roles = [(" ".join(role.split()), _required_text(fillers, role, where)) for role in fillers]
    if not all(role for role, _ in roles):
        raise InputError(f"{where}: a role has no name")
    return make_frame(_required_text(record, "predicate", where), roles)


def _required_text(record: dict[str, Any], key: str, where: str) -> str:
    """Return the text of a key, with single spaces between its words; raises InputError if it is missing or blank."""
    value = record.get(key)
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{where}: {key!r} must be a text that is not empty")
    return " ".join(value.split())
