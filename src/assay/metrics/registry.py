"""The registry of metrics by name, with their origins; builds the metric of a name."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import MISSING, dataclass
from importlib import import_module, metadata
from keyword import iskeyword
from typing import Any

from assay.common.lazy import find_declarations
from assay.exceptions import InputError, UnavailableError, unavailable_on_error, unknown_name
from assay.metrics.base import Declaration, Metric
from assay.metrics.name import SUBJECT, MetricName, convert_value, options_of
from assay.metrics.provenance import ENTRY_POINTS

#: Matches a built-in metric's class and declared name in source code, so that listing metrics imports none.
_METRIC = re.compile(
    # by lines, up to the next class: by characters it takes ten times as long
    r"^class (?P<attribute>\w+).*\n(?:(?!class ).*\n)*?"
    r"    declaration[^=\n]*= (?:.*\n(?!class ))*?.*?\bname=\"(?P<name>[^\"]+)\"",
    re.MULTILINE,
)


def built_in_metrics() -> dict[str, str]:
    """Return the class of each built-in metric as "module:Class", by the metric's name in alphabetical order.

    They are found in the source files, so that no module is imported.
    """
    declared: dict[str, str] = {}
    for package in ("assay.metrics", "assay.metrics.amr", "assay.metrics.judge"):
        declared |= find_declarations(package, _METRIC)
    return dict(sorted(declared.items()))


@dataclass(frozen=True)
class Entry:
    """One registered metric.

    Attributes:
        name: the metric's name, as in metric names.
        target: the class as "module:Class", or the class itself.
        origin: ``assay``, the distribution that provides the metric, or ``this process`` for a Python function.
        version: the version of that distribution; empty for the other origins.
        note: the reason why the entry cannot be used (its name is taken); empty if it can.
    """

    name: str
    target: str | type[Metric]
    origin: str = "assay"
    version: str = ""
    note: str = ""

    def load(self) -> type[Metric]:
        """Return the class, importing its module if necessary.

        Raises:
            UnavailableError: a third party's module cannot be imported, or the target is not a metric class.
            ImportError: a module of assay cannot be imported.
        """
        if isinstance(self.target, type):
            return self.target
        module, _, attribute = self.target.partition(":")
        remedy = f'pip install --upgrade --force-reinstall "{self.origin}"'
        failure = f"{self.target} of {self.origin} cannot be imported"
        # any failure to import a third party's module must leave the other metrics usable
        with nullcontext() if self.origin == "assay" else unavailable_on_error(failure, remedy):
            loaded: Any = import_module(module)
            for name in attribute.split("."):
                loaded = getattr(loaded, name)
        if not (isinstance(loaded, type) and issubclass(loaded, Metric)):
            raise UnavailableError(f"{self.target} of {self.origin} is not an assay Metric class", remedy)
        return loaded

    @property
    def declaration(self) -> Declaration:
        """The declaration of the class, whose module is imported if necessary.

        Raises:
            UnavailableError: a third party's module cannot be imported, or the target is not a metric class.
        """
        return self.load().declaration


class Registry:
    """Metrics by name, each with its origin.

    Args:
        entries: the first entries, added in this order.
    """

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries: dict[str, Entry] = {}
        self._refused: list[Entry] = []
        for entry in entries:
            self.add(entry)

    def add(self, entry: Entry) -> None:
        """Add an entry; of several entries with one name, the first is used and the others are listed with a note."""
        holder = self._entries.get(entry.name)
        if holder is None:
            self._entries[entry.name] = entry
        else:
            note = f"not usable: the name {entry.name!r} belongs to {holder.origin}"
            self._refused.append(dataclasses.replace(entry, note=note))

    def replace(self, entry: Entry) -> None:
        """Add an entry, replacing the entry of that name if there is one."""
        self._entries[entry.name] = entry

    def entries(self) -> list[Entry]:
        """Return all entries sorted by name; of one name, those that cannot be used come last."""
        all_entries = [*self._entries.values(), *self._refused]
        return sorted(all_entries, key=lambda entry: (entry.name, bool(entry.note), entry.origin))

    def find(self, name: str) -> Entry:
        """Return the entry called *name*.

        Raises:
            InputError: there is no such entry; the message lists similar names.
        """
        try:
            return self._entries[name]
        except KeyError:
            raise InputError(unknown_name("there is no metric", name, sorted(self._entries))) from None

    def build(self, name: MetricName) -> Metric:
        """Return the metric that *name* describes.

        A subject that names an option set applies that set; options in the name override it. Any other subject becomes
        the field ``subject``.

        Raises:
            InputError: unknown metric, option set or option, an option given twice, an invalid value, options that
                contradict each other, a missing subject or option, or an alias that is the name of another metric.
            UnavailableError: a third party's metric cannot be imported, or Jinja, which fills in the prompts of judges,
                is not installed.
        """
        if name.alias in self._entries and name.alias != name.name:
            # tables and filters by name would confuse the two
            raise InputError(f"metric {name.text!r}: {name.alias} is the name of another metric; give another alias")
        cls = self.find(name.name).load()
        values = {} if name.subject is None else _values_from_subject(cls, name.name, name.subject)
        return self._build(cls, name, values)

    def build_class(self, cls: type[Metric], name: MetricName | None = None) -> Metric:
        """Return the metric of a class.

        Args:
            cls: the class.
            name: the name under which the user loads the class, with its options; None for the declared name and the
                default options.

        Raises:
            InputError: an unknown option, an invalid value, options that contradict each other, or no value for an
                option without a default.
        """
        return self._build(cls, name or MetricName(cls.declaration.name), {})

    def _build(self, cls: type[Metric], name: MetricName, values: dict[str, object]) -> Metric:
        """Return the metric of a class with the options of a name, which the metric keeps as its name.

        Args:
            cls: the class.
            name: the name, whose options override *values*.
            values: the fields that the subject of the name stands for.

        Raises:
            InputError: an unknown option, an option given twice, an invalid value, options that contradict each other,
                or a missing subject or option.
        """
        options = options_of(cls)
        option_values: dict[str, object] = {}
        for typed_key, text in name.options:
            word = typed_key.replace("-", "_")
            key = f"{word}_" if iskeyword(word) else word
            if key not in options or key == SUBJECT:
                valid_keys = sorted({option.name for option in options.values()} - {SUBJECT})
                raise InputError(unknown_name(f"metric {name.name!r} has no option", typed_key, valid_keys))
            if key in option_values:
                raise InputError(f"metric {str(name)!r}: the option {options[key].name!r} is given twice")
            option_values[key] = convert_value(name.name, options[key], text)
        all_values = values | option_values
        for key, declared in options.items():
            if declared.default is MISSING and key not in all_values:
                subject_form = f"{name.name}:{cls.declaration.subject or key.upper()}"
                form = subject_form if key == SUBJECT else f"{declared.name}=…"
                raise InputError(f"metric {str(name)!r} needs a {declared.name}: write {form}")
        metric = cls.with_options(**all_values)
        object.__setattr__(metric, "_typed", name)
        return metric


def _values_from_subject(cls: type[Metric], name: str, subject: str) -> dict[str, object]:
    """Return the field values that a subject stands for: those of an option set, or the field ``subject``.

    Raises:
        InputError: the metric has neither such an option set nor a subject.
    """
    sets = cls.declaration.option_sets
    if subject in sets:
        return dict(sets[subject])
    if SUBJECT in options_of(cls):
        return {SUBJECT: subject}
    raise InputError(unknown_name(f"metric {name!r} has no option set", subject, sorted(sets)))


@functools.cache
def registry() -> Registry:
    """Return the registry of this process: assay's metrics and those of installed distributions."""
    built_in = [Entry(name, target) for name, target in built_in_metrics().items()]
    # a set, because one distribution may be found on several paths
    third_party = set()
    for point in metadata.entry_points(group=ENTRY_POINTS):
        if point.dist is not None:
            third_party.add(Entry(point.name, point.value, point.dist.name, point.dist.version))
    return Registry(built_in + sorted(third_party, key=lambda entry: (entry.name, entry.origin)))


def list_metrics() -> list[Entry]:
    """Return all registered metrics with their origins, without importing them."""
    return registry().entries()
