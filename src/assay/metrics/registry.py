"""The registry of metrics by name, with their origins; builds and describes the metric of a name."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import MISSING, dataclass
from importlib import import_module, metadata
from typing import Any

from assay.configuration import APPLIED
from assay.errors import AssayError, InputError, UnavailableError, unavailable_on_error, unknown_name
from assay.lazy import find_declarations
from assay.messages import Message
from assay.metrics.base import Declaration, Metric
from assay.metrics.name import SUBJECT, MetricName, Option, convert_value, format_value, options_of
from assay.metrics.presets import presets
from assay.metrics.provenance import ENTRY_POINTS

#: Matches a built-in metric's class and declared name in source code, so that listing metrics imports none.
_METRIC = re.compile(
    r"^class (?P<attribute>\w+)(?:(?!^class ).)*?"
    r"^    declaration[^=\n]*= (?:(?!^class ).)*?\bname=\"(?P<name>[^\"]+)\"",
    re.DOTALL | re.MULTILINE,
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
        origin: ``assay``, or the distribution that provides it.
        version: the version of that distribution; empty for assay.
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
        """
        if isinstance(self.target, type):
            return self.target
        module, _, attribute = self.target.partition(":")
        remedy = f'pip install --upgrade --force-reinstall "{self.origin}"'
        # any failure to import a third party's module must leave the other metrics usable
        third_party_guard = unavailable_on_error(f"{self.target} of {self.origin} cannot be imported", remedy)
        with nullcontext() if self.origin == "assay" else third_party_guard:
            loaded: Any = import_module(module)
            for part in attribute.split("."):
                loaded = getattr(loaded, part)
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
            InputError: unknown metric, option set or option, an option given twice, an invalid value, a missing subject
                or option, or an alias that is the name of another metric.
            UnavailableError: a third party's metric cannot be imported.
        """
        if name.alias in self._entries and name.alias != name.name:
            # tables and filters by name would confuse the two
            raise InputError(f"metric {name.text!r}: {name.alias} is the name of another metric; give another alias")
        return self._build(self.find(name.name).load(), name)

    def build_class(self, cls: type[Metric]) -> Metric:
        """Return the metric of a class with its default options.

        Raises:
            InputError: an option has no default.
        """
        name = MetricName(cls.declaration.name)
        return self._build(cls, name)

    def _build(self, cls: type[Metric], name: MetricName) -> Metric:
        """Return the metric of a class with the subject and options of a name, which the metric keeps as its name.

        Raises:
            InputError: unknown option set or option, an option given twice, an invalid value, or a missing subject or
                option.
        """
        options = options_of(cls)
        values: dict[str, object] = {}
        if name.subject is not None:
            values |= _values_from_subject(cls, name.name, name.subject)
        seen: set[str] = set()
        for typed_key, text in name.options:
            key = typed_key.replace("-", "_")
            if key not in options or key == SUBJECT:
                valid_keys = sorted(set(options) - {SUBJECT})
                raise InputError(unknown_name(f"metric {name.name!r} has no option", typed_key, valid_keys))
            if key in seen:
                raise InputError(f"metric {str(name)!r}: the option {key!r} is given twice")
            seen.add(key)
            values[key] = convert_value(name.name, options[key], text)
        for key, declared in options.items():
            if declared.default is MISSING and key not in values:
                subject_form = f"{name.name}:{cls.declaration.subject or key.upper()}"
                form = subject_form if key == SUBJECT else f"{key}=…"
                raise InputError(f"metric {str(name)!r} needs a {key}: write {form}")
        metric = cls.with_options(**values)
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
    own = [Entry(name, target) for name, target in built_in_metrics().items()]
    # a set, because one distribution may be found on several paths
    third_party = set()
    for point in metadata.entry_points(group=ENTRY_POINTS):
        if point.dist is not None:
            third_party.add(Entry(point.name, point.value, point.dist.name, point.dist.version))
    return Registry(own + sorted(third_party, key=lambda entry: (entry.name, entry.origin)))


def load_metric(metric: str | MetricName | Metric | type[Metric] | Callable[..., Any]) -> Metric:
    """Return the metric of a name such as ``f1``, ``bleu:paper`` or ``recorded:sas``.

    Args:
        metric: the name as text or parsed, a metric (returned unchanged), a metric class whose options have defaults,
            or a function of (reference, candidate), see :func:`~assay.metrics.function.metric`.

    Raises:
        InputError: not a name, an unknown name (the message lists similar ones), an unknown option or option set, an
            invalid value, or no value for an option without a default.
        UnavailableError: a third party's metric cannot be imported.

    Example:
        >>> load_metric("bleu,smoothing=floor").smoothing
        'floor'
    """
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, type) and issubclass(metric, Metric):
        return registry().build_class(metric)
    if callable(metric) and not isinstance(metric, type):
        from assay.metrics.function import function_metric

        return function_metric(metric)
    if not isinstance(metric, str | MetricName):
        raise InputError(
            f"metric {metric!r}: expected a name such as 'f1', a metric, or a function of two texts, "
            f"not {type(metric).__name__}"
        )
    name = metric if isinstance(metric, MetricName) else MetricName.parse(metric)
    loaded = registry().build(name)
    configuration = APPLIED.get()
    if configuration is not None and configuration.names(name.text):
        # the object that is used is checked, wherever in the command it is loaded
        _refuse_reaching_out(loaded)
    return loaded


class UntrustedMetricError(UnavailableError):
    """The name of a metric, which somebody else wrote, reaches outside of the installed packages.

    Attributes:
        metric: the name of the metric.
        reached: the code, server or key that it would use.
    """

    def __init__(self, metric: str, reached: str) -> None:
        super().__init__(f"metric {metric} would run code or call a server ({reached})", "name it yourself")
        self.metric, self.reached = metric, reached

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the class and its arguments for pickling."""
        return type(self), (self.metric, self.reached)


def load_untrusted_metric(name: str) -> Metric:
    """Return the metric of a name that a file has: a configuration, a run, a combination or a suite.

    Somebody else may have written the file. The metric is checked as it was built from the name, and is the one to use.

    Raises:
        UntrustedMetricError: the metric runs code, calls a server or reads a key.
        InputError, UnavailableError: as for :func:`load_metric`; what cannot be built is not known to be harmless.
    """
    metric = load_metric(name)
    _refuse_reaching_out(metric)
    return metric


def _refuse_reaching_out(metric: Metric) -> None:
    """Raise UntrustedMetricError for a metric that runs code, calls a server or has an option that allows it."""
    reaching = []
    for key, declared in options_of(type(metric)).items():
        value = getattr(metric, key)
        if declared.reaches_out and value is not None and value != declared.default:
            reaching.append(str(value) if key == SUBJECT else f"{key}={format_value(value)}")
    try:
        reached = metric.foreign_code()
    except AssayError:
        # such as a combination whose members cannot be loaded
        if not reaching:
            raise
        reached = ""
    if reached or reaching:
        raise UntrustedMetricError(str(metric), reached or ", ".join(reaching))


def list_metrics() -> list[Entry]:
    """Return all registered metrics with their origins, without importing them."""
    return registry().entries()


def describe_metric(name: str) -> list[str]:
    """Return a description of a metric as lines of text.

    The last line has the signature on this machine, or the reason why the metric is not available here. It is left out
    if *name* lacks a subject that the metric needs.

    Raises:
        InputError: unknown metric, option or option set.
        UnavailableError: a third party's metric cannot be imported.
    """
    parsed = MetricName.parse(name)
    entry = registry().find(parsed.name)
    cls = entry.load()
    by_language = presets().get(cls.declaration.name, {})
    buildable = cls.declaration.subject is None or parsed.subject is not None or bool(by_language)
    # options may change the declaration, so that of the built metric takes precedence
    metric = load_metric(name) if buildable else None
    declaration = cls.declaration if metric is None else metric.declaration
    options = options_of(cls)
    if metric is not None:
        options = {key: value for key, value in options_of(type(metric)).items() if metric.takes(key)}
    lines = _declaration_lines(declaration, entry.origin)
    if declaration.subject:
        lines += _subject_lines(declaration, options.get(SUBJECT), optional=bool(by_language))
    lines += _preset_lines(by_language)
    lines += _option_lines(declaration, options)
    if metric is not None:
        lines.append(_signature_line(metric))
    return lines


def _preset_lines(by_language: Mapping[str, Mapping[str, object]]) -> list[str]:
    """Return one line per preset, with the options that it sets.

    Args:
        by_language: the options of each preset by language; ``*`` stands for any language.
    """
    lines = []
    for language, preset in by_language.items():
        values = ", ".join(str(value) if key == SUBJECT else f"{key}={value}" for key, value in preset.items())
        lines.append(f"preset for {'any language' if language == '*' else language}: {values}")
    return lines


def _option_lines(declaration: Declaration, options: dict[str, Option]) -> list[str]:
    """Return one line per option except the subject, and one per option set."""
    lines = []
    for key, declared in options.items():
        if key != SUBJECT:
            lines.append(f"option {key}: {declared.help} ({declared.valid_values}; {_default_text(declared)})")
    for title, option_set in declaration.option_sets.items():
        values = ", ".join(f"{key}={format_value(value)}" for key, value in option_set.items())
        lines.append(f"option set {declaration.name}:{title}: {values}")
    return lines


def _default_text(declared: Option) -> str:
    if declared.default is MISSING:
        return "needed"
    return f"default {format_value(declared.default) or 'an empty one'}"


def _declaration_lines(declaration: Declaration, origin: str) -> list[str]:
    """Return lines on a metric's declaration: its promises, such as range and symmetry, its packages and its source."""
    languages = "any" if declaration.languages is None else ", ".join(sorted(declaration.languages))
    better = "higher" if declaration.higher_is_better else "lower"
    lines = [
        f"{declaration.name}: {declaration.summary}",
        f"range: {declaration.low:g} to {declaration.high:g}, {better} is better",
        f"kind: {declaration.kind}",
        f"symmetric: {_yes_or_no(declaration.symmetric)}; reads the question: {_yes_or_no(declaration.reads_question)}",
        f"languages: {languages}",
        f"computed by: {', '.join(declaration.provider) or origin}; part of {origin}",
    ]
    if declaration.citation:
        lines.append(f"source: {declaration.citation}")
    return lines


def _subject_lines(declaration: Declaration, subject: Option | None, *, optional: bool) -> list[str]:
    """Return lines on the subject of a metric: how to write it, and what it means.

    Args:
        declaration: the metric's declaration, which has a subject.
        subject: the option for the subject; None if there is none.
        optional: whether the metric can also be written without a subject.
    """
    placeholder = str(declaration.subject).upper()
    bare_name = f"{declaration.name}, or " if optional else ""
    lines = [f"write: {bare_name}{declaration.name}:{placeholder}"]
    if subject is not None:
        lines.append(f"{placeholder}: {subject.help}")
    return lines


def _yes_or_no(value: bool) -> str:
    return "yes" if value else "no"


def _signature_line(metric: Metric) -> str:
    """Return a line with the metric's signature on this machine, or the reason why it is unavailable."""
    try:
        metric.check_available()
    except UnavailableError as error:
        return Message("not available here: ", error.message)
    return f"signature: {metric.long_signature()}"
