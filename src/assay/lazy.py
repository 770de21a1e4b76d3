"""What can be known of a package without importing its modules: the homes of its names, and what its files declare."""

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


def on_first_use(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a package that imports its names only under ``if TYPE_CHECKING:``.

    ``__getattr__`` imports the module of a name when the name is first used. It finds the module in that same block,
    which type checkers and editors read, so that each import is written once. Assign the two in the ``else:`` of the
    block: a type checker that saw a ``__getattr__`` would accept any name.

    Args:
        package: the ``__name__`` of the package; the imports are absolute, ``from assay.metrics.base import Metric``.
            ``dir()`` of it is its ``__all__``.
    """

    def load(name: str) -> Any:
        try:
            module, known_as = _homes(package)[name]
        except KeyError:
            raise AttributeError(f"module {package!r} has no attribute {name!r}") from None
        return getattr(import_module(module), known_as)

    return load, lambda: sorted(sys.modules[package].__all__)


@functools.cache
def _homes(package: str) -> dict[str, tuple[str, str]]:
    """Return each name that the package imports for type checkers, with its module and the name it has there."""
    source = pkgutil.get_data(package, "__init__.py")
    if source is None:
        raise ImportError(f"the source of {package} is not at hand: its names cannot be found")
    homes = {}
    for block in ast.parse(source).body:
        if not (isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"):
            continue
        for statement in block.body:
            if isinstance(statement, ast.ImportFrom) and statement.module:
                for alias in statement.names:
                    homes[alias.asname or alias.name] = statement.module, alias.name
    return homes


def declared_in(package: str, pattern: re.Pattern[str]) -> dict[str, str]:
    """Return what the modules of a package declare, name to ``module:attribute``, read from their text alone.

    So a built-in metric or reader is one file, and listing them imports none of them.

    Args:
        package: dotted name; modules of its own are read, not those of packages inside it.
        pattern: with the groups ``name`` and ``attribute``.
    """
    declared = {}
    for source in sorted(files(package).iterdir(), key=lambda item: item.name):
        if source.name.endswith(".py"):
            module = f"{package}.{source.name.removesuffix('.py')}"
            for match in pattern.finditer(source.read_text(encoding="utf-8")):
                declared[match["name"]] = f"{module}:{match['attribute']}"
    return declared
