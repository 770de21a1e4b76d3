"""Packages read without importing their modules: lazy imports of names, and declarations found in the source text."""

from __future__ import annotations

import ast
import functools
import pkgutil
import re
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.resources import files
from typing import Any


def lazy_attributes(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a package that imports its names only under ``if TYPE_CHECKING:``.

    ``__getattr__`` imports the module of a name on first use. It looks the module up in that same block, which type
    checkers and editors read, so that each import is written only once. Assign both functions in the ``else:`` of the
    block: a type checker that saw a ``__getattr__`` would accept any name. ``__dir__`` returns ``__all__``.

    Args:
        package: the ``__name__`` of the package, whose imports must be absolute, as in
            ``from assay.metrics.base import Metric``.
    """

    def load_attribute(name: str) -> Any:
        try:
            module, original_name = _imports_for_type_checkers(package)[name]
        except KeyError:
            raise AttributeError(f"module {package!r} has no attribute {name!r}") from None
        return getattr(import_module(module), original_name)

    def list_names() -> list[str]:
        return sorted(sys.modules[package].__all__)

    return load_attribute, list_names


@functools.cache
def _imports_for_type_checkers(package: str) -> dict[str, tuple[str, str]]:
    """Return the module, and the name in that module, of each name that a package imports for type checkers.

    Raises:
        ImportError: the package has no source, such as one of compiled files alone.
    """
    source = pkgutil.get_data(package, "__init__.py")
    if source is None:
        raise ImportError(f"the source of {package} is not at hand: its names cannot be found")
    imports = {}
    for block in ast.parse(source).body:
        if not (isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"):
            continue
        for statement in block.body:
            if isinstance(statement, ast.ImportFrom) and statement.module:
                for alias in statement.names:
                    imports[alias.asname or alias.name] = statement.module, alias.name
    return imports


def find_declarations(package: str, pattern: re.Pattern[str]) -> dict[str, str]:
    """Return ``module:attribute`` of each declaration in the modules of a package, by the name that it declares.

    Declarations are found by text search. This way a built-in metric or reader is a single file, and listing them
    imports none of them.

    Args:
        package: the dotted name of the package; subpackages are not searched.
        pattern: a pattern of a declaration, with the groups ``name`` and ``attribute``.
    """
    declarations = {}
    for source in sorted(files(package).iterdir(), key=lambda item: item.name):
        if source.name.endswith(".py"):
            module = f"{package}.{source.name.removesuffix('.py')}"
            for match in pattern.finditer(source.read_text(encoding="utf-8")):
                declarations[match["name"]] = f"{module}:{match['attribute']}"
    return declarations
