"""Reads an XML file as nested values, without entities and documents from elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.parsers import expat

from assay.exceptions import InputError, summary_of

#: The greatest depth of elements; their text is collected at every level.
MAX_DEPTH = 100


class Element(dict[str, Any]):
    """An XML element: its attributes by ``@NAME``, and a list of its child elements by the name of each.

    Attributes:
        parts: its text and its child elements, in order.
    """

    def __init__(self, attributes: dict[str, str]) -> None:
        super().__init__({f"@{name}": value for name, value in attributes.items()})
        self.parts: list[str | Element] = []

    def text(self) -> str:
        """Return the text within the element, that of child elements included, without surrounding space."""
        return self._whole_text().strip()

    def _whole_text(self) -> str:
        return "".join(part if isinstance(part, str) else part._whole_text() for part in self.parts)


def read_xml(path: Path) -> Element:
    """Return the root element of an XML file.

    Raises:
        InputError: the file is not well-formed, declares or uses entities of its own, or is nested too deeply.
    """
    open_elements = [Element({})]

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(open_elements) > MAX_DEPTH:
            raise InputError(f"{path}: has more than {MAX_DEPTH} elements within each other")
        element = Element(attributes)
        open_elements[-1].setdefault(name, []).append(element)
        open_elements[-1].parts.append(element)
        open_elements.append(element)

    def refuse(name: str, *_: Any) -> None:
        raise InputError(f"{path}: has the entity {name!r} of its own; write out what it stands for")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: open_elements.pop()
    parser.CharacterDataHandler = lambda text: open_elements[-1].parts.append(text)
    # entities can stand for a file, an address or text without end
    parser.EntityDeclHandler = refuse
    parser.SkippedEntityHandler = refuse
    try:
        parser.Parse(path.read_bytes(), True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise InputError(f"{path}, line {error.lineno}: is not well-formed XML ({reason})") from None
    except (LookupError, ValueError) as error:
        # the encoding that the file names
        raise InputError(f"{path}: cannot be decoded ({summary_of(error)})") from None
    (root,) = (part for part in open_elements[0].parts if isinstance(part, Element))
    return root
