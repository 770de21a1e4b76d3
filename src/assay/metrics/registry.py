"""The registry: which metrics there are, where each comes from, how a name becomes a metric, and its description."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterable
from dataclasses import MISSING, dataclass
from importlib import import_module, metadata

from assay.errors import InputError, UnavailableError, unknown
from assay.lazy import declared_in
from assay.metrics.base import Declaration, Metric
from assay.metrics.name import SUBJECT, MetricName, describe_options, format_value, read_value
from assay.metrics.presets import presets
from assay.metrics.provenance import ENTRY_POINTS

__all__ = ["Entry", "Registry", "describe_metric", "list_metrics", "load_metric", "registry"]


#: A class of a built-in metric and the name in its declaration.
_METRIC = re.compile(
    r"^class (?P<attribute>\w+)(?:(?!^class ).)*?"
    r"^    declaration[^=\n]*= (?:(?!^class ).)*?\bname=\"(?P<name>[^\"]+)\"",
    re.DOTALL | re.MULTILINE,
)


def built_in() -> dict[str, str]:
    """Return the built-in metrics as "module:Class" by name: those that files in ``assay/metrics`` declare."""
    declared = declared_in("assay.metrics", _METRIC) | declared_in("assay.metrics.amr", _METRIC)
    return dict(sorted(declared.items()))


@dataclass(frozen=True)
class Entry:
    """One registered metric.

    Attributes:
        name: what it is called.
        target: the class as "module:Class", or the class itself.
        origin: ``assay``, or the distribution that brings it.
        version: the version of that distribution, or an empty string.
        note: why the entry cannot be used (its name is taken), or an empty string.
    """

    name: str
    target: str | type[Metric]
    origin: str = "assay"
    version: str = ""
    note: str = ""

    def load(self) -> type[Metric]:
        """Import the class.

        Raises:
            UnavailableError: the module of a third party cannot be imported, or has no such class.
        """
        if isinstance(self.target, type):
            return self.target
        module, _, attribute = self.target.partition(":")
        remedy = f'pip install --upgrade --force-reinstall "{self.origin}"'
        try:
            found = import_module(module)
            for part in attribute.split("."):
                found = getattr(found, part)
        except Exception as error:
            if self.origin == "assay":
                raise
            # Whatever a third party's module does on import, it must not cost the other metrics.
            reason = f"{self.target} of {self.origin} cannot be imported ({type(error).__name__}: {error})"
            raise UnavailableError(reason, remedy) from error
        if not (isinstance(found, type) and issubclass(found, Metric)):
            raise UnavailableError(f"{self.target} of {self.origin} is no assay Metric class", remedy)
        return found

    @property
    def declaration(self) -> Declaration:
        """The declaration of the class (imports it)."""
        return self.load().declaration


class Registry:
    """Metrics by name, each with its origin."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries: dict[str, Entry] = {}
        self._refused: list[Entry] = []
        for entry in entries:
            self.add(entry)

    def add(self, entry: Entry) -> None:
        """Add an entry; the first of a name stays, a later one is listed with a note."""
        holder = self._entries.get(entry.name)
        if holder is None:
            self._entries[entry.name] = entry
        else:
            note = f"not usable: the name {entry.name!r} belongs to {holder.origin}"
            self._refused.append(dataclasses.replace(entry, note=note))

    def entries(self) -> list[Entry]:
        """Return all entries by name, those that cannot be used last among their name."""
        everything = [*self._entries.values(), *self._refused]
        return sorted(everything, key=lambda entry: (entry.name, bool(entry.note), entry.origin))

    def find(self, name: str) -> Entry:
        """Return the entry of *name*.

        Raises:
            InputError: there is none; the nearest names are named.
        """
        try:
            return self._entries[name]
        except KeyError:
            raise InputError(unknown("there is no metric", name, sorted(self._entries))) from None

    def build(self, name: MetricName) -> Metric:
        """Return the metric that *name* describes.

        A subject that names an option set applies it; options that are given override it. Otherwise the
        subject becomes the field ``subject``.

        Raises:
            InputError: unknown metric, option set or option, a value an option cannot have, or no subject.
            UnavailableError: a third party's metric cannot be imported.
        """
        cls = self.find(name.name).load()
        options = describe_options(cls)
        values: dict[str, object] = {}
        if name.subject is not None:
            values |= _subject(cls, name.name, name.subject)
        given: set[str] = set()
        for typed, text in name.options:
            key = typed.replace("-", "_")
            if key not in options or key == SUBJECT:
                known = sorted(set(options) - {SUBJECT})
                raise InputError(unknown(f"metric {name.name!r} has no option", typed, known))
            if key in given:
                raise InputError(f"metric {str(name)!r}: the option {key!r} is given twice")
            given.add(key)
            values[key] = read_value(name.name, options[key], text)
        missing = [key for key, item in options.items() if item.default is dataclasses.MISSING]
        for key in missing:
            if key not in values:
                form = f"{name.name}:{cls.declaration.subject or key.upper()}"
                what = form if key == SUBJECT else f"{key}=…"
                raise InputError(f"metric {str(name)!r} needs a {key}: write {what}")
        metric = cls(**values)
        object.__setattr__(metric, "_typed", name)
        return metric


def _subject(cls: type[Metric], name: str, subject: str) -> dict[str, object]:
    sets = cls.declaration.option_sets
    if subject in sets:
        return dict(sets[subject])
    if SUBJECT in describe_options(cls):
        return {SUBJECT: subject}
    raise InputError(unknown(f"metric {name!r} has no option set", subject, sorted(sets)))


@functools.cache
def registry() -> Registry:
    """Return the registry of this process: assay's metrics and those of installed distributions."""
    own = [Entry(name, target) for name, target in built_in().items()]
    found = [
        Entry(point.name, point.value, point.dist.name, point.dist.version)
        for point in metadata.entry_points(group=ENTRY_POINTS)
        if point.dist is not None
    ]
    return Registry(own + sorted(set(found), key=lambda entry: (entry.name, entry.origin)))


def load_metric(metric: str | MetricName | Metric) -> Metric:
    """Return the metric of a name such as ``f1``, ``bleu:paper`` or ``recorded:sas``.

    Args:
        metric: the text, the parsed name, or a metric (returned as it is).

    Raises:
        InputError: no name, unknown name (with the nearest ones), unknown option or option set, bad value.
        UnavailableError: a third party's metric cannot be imported.

    Example:
        >>> load_metric("bleu,smoothing=floor").smoothing
        'floor'
    """
    if isinstance(metric, Metric):
        return metric
    if not isinstance(metric, str | MetricName):
        raise InputError(f"metric {metric!r}: expected a name such as 'f1', or a metric, not {type(metric).__name__}")
    name = metric if isinstance(metric, MetricName) else MetricName.parse(metric)
    return registry().build(name)


def list_metrics() -> list[Entry]:
    """Return all registered metrics with their origin; imports none of them."""
    return registry().entries()


# A metric described for a reader: what it promises, its options, its signature here.


def describe_metric(name: str) -> list[str]:
    """Return lines about a metric, with the signature it has on this machine where it can be built without more.

    Raises:
        InputError: unknown metric, option or option set.
        UnavailableError: a third party's metric that cannot be imported.
    """
    parsed = MetricName.parse(name)
    entry = registry().find(parsed.name)
    cls = entry.load()
    known = presets().get(cls.declaration.name, {})
    buildable = cls.declaration.subject is None or parsed.subject is not None or bool(known)
    # options may change what a metric promises
    loaded = load_metric(name) if buildable else None
    held = cls.declaration if loaded is None else loaded.declaration
    options = {key: item for key, item in describe_options(cls).items() if loaded is None or loaded.takes(key)}
    lines = [
        f"{held.name}: {held.summary}",
        f"range: {held.low:g} to {held.high:g}, {'higher' if held.higher_is_better else 'lower'} is better",
        f"kind: {held.kind}",
        f"symmetric: {_yes(held.symmetric)}; reads the question: {_yes(held.reads_question)}",
        f"languages: {'any' if held.languages is None else ', '.join(sorted(held.languages))}",
        f"computed by: {', '.join(held.provider) or 'assay'}; brought by {entry.origin}",
    ]
    if held.citation:
        lines.append(f"source: {held.citation}")
    if held.subject:
        alone = f"{held.name}, or " if known else ""
        lines.append(f"write: {alone}{held.name}:{held.subject.upper()}")
        if SUBJECT in options:
            lines.append(f"{held.subject.upper()}: {options[SUBJECT].help}")
    for language, chosen in known.items():
        for_whom = "any language" if language == "*" else language
        shown = ", ".join(str(value) if key == SUBJECT else f"{key}={value}" for key, value in chosen.items())
        lines.append(f"preset for {for_whom}: {shown}")
    for key, item in options.items():
        if key == SUBJECT:
            continue
        default = "needed" if item.default is MISSING else f"default {format_value(item.default) or 'an empty one'}"
        lines.append(f"option {key}: {item.help} ({item.valid}; {default})")
    for title, values in held.option_sets.items():
        shown = ", ".join(f"{key}={format_value(value)}" for key, value in values.items())
        lines.append(f"option set {held.name}:{title}: {shown}")
    return lines + ([] if loaded is None else _signature(loaded))


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _signature(metric: Metric) -> list[str]:
    try:
        metric.check_available()
    except UnavailableError as error:
        return [f"not available here: {error}"]
    return [f"signature: {metric.long_signature()}"]
