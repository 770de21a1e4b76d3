"""Perturbations by name: the built-in ones of this package, and those that other packages register."""

from __future__ import annotations

import functools
import re
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import get_args

from assay.common.lazy import find_declarations
from assay.exceptions import InputError, UnavailableError, unavailable_on_error, unknown_name
from assay.perturbations.base import Expected, Perturbation

#: The entry point group through which other packages register perturbations.
GROUP = "assay.perturbations"

_PERTURBATION = re.compile(r"^(?P<attribute>\w+) = Perturbation\(\s*name=\"(?P<name>[^\"]+)\"", re.MULTILINE)


@functools.cache
def built_in() -> dict[str, str]:
    """Return where each built-in perturbation is declared, as "module:attribute", by its name; sorted by name.

    The declarations are found in the source files of this package, without importing them.
    """
    return dict(sorted(find_declarations("assay.perturbations", _PERTURBATION).items()))


def _registered_by_others() -> dict[str, EntryPoint]:
    """Return the entry points of other packages' perturbations by name, sorted.

    An entry point with the name of a built-in perturbation is ignored; of several with one name, one is taken.
    """
    points = entry_points(group=GROUP)
    return {point.name: point for point in sorted(points, key=lambda point: point.name) if point.name not in built_in()}


def load_perturbation(name: str) -> Perturbation:
    """Return a perturbation by its name.

    Raises:
        InputError: there is no perturbation of that name; the message has the most similar names.
        UnavailableError: the perturbation of another package cannot be imported, or is no :class:`Perturbation`.
    """
    if name in built_in():
        module, _, attribute = built_in()[name].partition(":")
        perturbation: Perturbation = getattr(import_module(module), attribute)
        return perturbation
    plugins = _registered_by_others()
    if name not in plugins:
        raise InputError(unknown_name("there is no perturbation", name, [*built_in(), *plugins]))
    description = f"the perturbation {name!r} ({plugins[name].value})"
    with unavailable_on_error(f"{description} cannot be loaded"):
        loaded = plugins[name].load()
    if not isinstance(loaded, Perturbation):
        raise UnavailableError(f"{description} is not a Perturbation of assay")
    return loaded


def list_perturbations() -> tuple[list[Perturbation], list[str]]:
    """Return the perturbations that can be loaded, and one message for each that cannot.

    They are sorted by expected effect, in the order of :data:`~assay.perturbations.base.Expected`, and then by name.
    """
    loaded: list[Perturbation] = []
    failures: list[str] = []
    for name in [*built_in(), *_registered_by_others()]:
        try:
            loaded.append(load_perturbation(name))
        except UnavailableError as error:
            failures.append(error.message)
    order = get_args(Expected)
    return sorted(loaded, key=lambda perturbation: (order.index(perturbation.expected), perturbation.name)), failures
