"""Packages read without importing their modules: lazy imports of names, and declarations found in the source text."""

from __future__ import annotations

import ast
import functools
import pkgutil
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple


def lazy_attributes(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a package that imports its names only under ``if TYPE_CHECKING:``.

    ``__getattr__`` imports the module of a name on first use. It looks the module up in that same block, which type
    checkers and editors read, so that each name is written only once: ``from assay.metrics.base import Metric as
    Metric``, which says that the package exports it. Assign both functions in the ``else:`` of the block: a type
    checker that saw a ``__getattr__`` would accept any name. ``__all__`` and ``__dir__`` are these names and those that
    the package assigns itself, sorted. For any other name ``__getattr__`` raises AttributeError, and both functions
    raise ImportError if the package has no source.

    Args:
        package: the ``__name__`` of the package, whose imports must be absolute.
    """

    def load_attribute(name: str) -> Any:
        if name == "__all__":
            return list_names()
        try:
            module, original_name = _names_of(package).imported[name]
        except KeyError:
            raise AttributeError(f"module {package!r} has no attribute {name!r}") from None
        return getattr(import_module(module), original_name)

    def list_names() -> list[str]:
        names = _names_of(package)
        return sorted([*names.imported, *names.assigned])

    return load_attribute, list_names


class _Names(NamedTuple):
    """The public names of a package.

    Attributes:
        imported: the module, and the name in that module, of each name that is imported for type checkers.
        assigned: the names that the package assigns itself.
    """

    imported: dict[str, tuple[str, str]]
    assigned: list[str]


@functools.cache
def _names_of(package: str) -> _Names:
    """Return the public names of a package, as its source text has them.

    Raises:
        ImportError: the package has no source, such as one of compiled files alone.
    """
    source = pkgutil.get_data(package, "__init__.py")
    if source is None:
        raise ImportError(f"the source of {package} is not at hand: its names cannot be found")
    names = _Names({}, [])
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Assign):
            names.assigned.extend(target.id for target in statement.targets if isinstance(target, ast.Name))
        elif isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING":
            for import_statement in statement.body:
                names.imported.update(_imported_names(import_statement))
    return names


def _imported_names(statement: ast.stmt) -> dict[str, tuple[str, str]]:
    """Return the module, and the name in it, of each name that ``from MODULE import …`` imports; else nothing."""
    if not isinstance(statement, ast.ImportFrom) or not statement.module:
        return {}
    return {alias.asname or alias.name: (statement.module, alias.name) for alias in statement.names}


def find_declarations(package: str, pattern: re.Pattern[str]) -> dict[str, str]:
    """Return ``module:attribute`` of each declaration in the modules of a package, by the name that it declares.

    Declarations are found by text search. This way a built-in metric or reader is a single file, and listing them
    imports none of them.

    Args:
        package: the dotted name of the package; subpackages are not searched.
        pattern: a pattern of a declaration, with the groups ``name`` and ``attribute``. Of two declarations of one name
            the later module's counts, in alphabetical order.
    """
    declarations = {}
    [folder] = import_module(package).__path__
    for source in sorted(Path(folder).glob("*.py")):
        for match in pattern.finditer(source.read_text(encoding="utf-8")):
            declarations[match["name"]] = f"{package}.{source.stem}:{match['attribute']}"
    return declarations
