"""Dataset cards read from TOML files and from fields; an invalid card is one line that names the field."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from assay.datasets.card import Card, Classification, FileEntry, PublishedFigure, Scale, SourceEntry, Split
from assay.exceptions import InputError, suggestion_for, unknown_name
from assay.paths import read_settings_file, user_path


def read_card(path: str | Path) -> Card:
    """Return the card in a TOML file, whose path becomes its origin.

    Raises:
        InputError: the file does not exist, cannot be read or is not a valid card; one line with file and field.
    """
    path = user_path(path)
    try:
        data = tomllib.loads(read_settings_file(path).decode("utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such dataset card") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not valid TOML ({error})") from None
    return card_from_fields(data, str(path))


def card_from_fields(data: dict[str, Any], origin: str) -> Card:
    """Return the card with these fields.

    Args:
        data: the fields, as TOML has them.
        origin: the path or entry point that they come from, which becomes the origin of the card.

    Raises:
        InputError: the fields are not those of a valid card; one line with origin, field, the error that helps most,
            and the number of other fields with errors.
    """
    try:
        return Card.model_validate({**data, "origin": origin})
    except ValidationError as invalid:
        errors = invalid.errors()
    error = _most_helpful(errors)
    # a value that may have several types has an error for each: count fields, not errors
    other_fields = {other["loc"][0] for other in errors if other["loc"]} - {*error["loc"][:1]}
    further = f" (and {len(other_fields)} more)" if other_fields else ""
    raise InputError(f"{origin}: {_field_of(error)}: {_message_of(error)}{further}")


def _most_helpful(errors: list[ErrorDetails]) -> ErrorDetails:
    """Return the first error of an unknown field, or else the first one that is not about a list, or else the first.

    A misspelt field causes two errors, an unknown and a missing field. Of a value that may be one or a list, the error
    of an item says more than that of the list.
    """
    unknown_fields = [error for error in errors if error["type"] == "extra_forbidden"]
    items = [error for error in errors if not isinstance(error.get("input"), list)]
    return (unknown_fields or items or errors)[0]


def _field_of(error: ErrorDetails) -> str:
    """Return the path of the faulty field, such as ``files.0.name``; ``card`` for an error of the card as a whole."""
    # pydantic adds the type that it tried to the path of a value of several types: "str", "tuple[str, ...]"
    names = [str(key) for key in error["loc"] if "[" not in str(key) and key != "str"]
    return ".".join(names) or "card"


def _message_of(error: ErrorDetails) -> str:
    """Return what is wrong with the field, with the nearest valid names or values where one is unknown."""
    match error["type"]:
        case "extra_forbidden":
            field = str(error["loc"][-1])
            return f"there is no such field.{suggestion_for(field, _valid_field_names(error['loc']))}"
        case "literal_error":
            values = re.findall(r"'([\w-]+)'", error["ctx"]["expected"])
            return unknown_name("there is no value", str(error["input"]), values)
        case "missing":
            return "is missing"
    # pydantic puts this before the text of a ValueError
    return error["msg"].removeprefix("Value error, ")


def _valid_field_names(location: tuple[int | str, ...]) -> list[str]:
    """Return the valid field names of the table in which a validation error is located.

    Args:
        location: the path of the faulty field as pydantic gives it, such as ``("files", 0, "nmae")``.
    """
    tables: dict[str, type[BaseModel]] = {
        "scale": Scale,
        "splits": Split,
        "files": FileEntry,
        "sources": SourceEntry,
        "published": PublishedFigure,
        "classification": Classification,
    }
    model: type[BaseModel] = tables.get(str(location[0]), Card) if len(location) > 1 else Card
    return list(model.model_fields)
