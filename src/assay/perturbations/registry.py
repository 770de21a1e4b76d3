"""Perturbations by name: those of the files here, and those that other packages register."""

from __future__ import annotations

import functools
import re
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import get_args

from assay.errors import InputError, UnavailableError, code_of_others, unknown_name
from assay.lazy import declared_in
from assay.perturbations.base import Expected, Perturbation

#: The entry point group through which other packages register perturbations.
GROUP = "assay.perturbations"

_PERTURBATION = re.compile(r"^(?P<attribute>\w+) = Perturbation\(\s*name=\"(?P<name>[^\"]+)\"", re.MULTILINE)


@functools.cache
def built_in() -> dict[str, str]:
    """Return the built-in perturbations as "module:attribute" by name: those that files in this package declare."""
    return dict(sorted(declared_in("assay.perturbations", _PERTURBATION).items()))


def _of_others() -> dict[str, EntryPoint]:
    """Return those of installed packages by name; a name of assay's own stays assay's."""
    points = entry_points(group=GROUP)
    return {point.name: point for point in sorted(points, key=lambda point: point.name) if point.name not in built_in()}


def load_perturbation(name: str) -> Perturbation:
    """Return a perturbation by its name.

    Raises:
        InputError: there is none; the message has the nearest names.
        UnavailableError: that of another package cannot be imported, or is no perturbation.
    """
    if name in built_in():
        module, _, attribute = built_in()[name].partition(":")
        own: Perturbation = getattr(import_module(module), attribute)
        return own
    others = _of_others()
    if name not in others:
        raise InputError(unknown_name("there is no perturbation", name, [*built_in(), *others]))
    what = f"the perturbation {name!r} ({others[name].value})"
    with code_of_others(f"{what} cannot be loaded"):
        loaded = others[name].load()
    if not isinstance(loaded, Perturbation):
        raise UnavailableError(f"{what} is no Perturbation of assay")
    return loaded


def list_perturbations() -> tuple[list[Perturbation], list[str]]:
    """Return all perturbations by what is expected, then by name; and a line for each that cannot be loaded."""
    loaded, failures = [], []
    for name in [*built_in(), *_of_others()]:
        try:
            loaded.append(load_perturbation(name))
        except UnavailableError as error:
            failures.append(str(error))
    order = get_args(Expected)
    return sorted(loaded, key=lambda item: (order.index(item.expected), item.name)), failures
