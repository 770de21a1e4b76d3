"""Descriptions of metrics in lines of text: promises, options, and the signature on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING

from assay.common.messages import Message
from assay.exceptions import UnavailableError
from assay.metrics.base import Declaration, Metric
from assay.metrics.load import load_metric
from assay.metrics.name import SUBJECT, MetricName, Option, format_value, options_of
from assay.metrics.presets import presets
from assay.metrics.registry import registry


def describe_metric(name: str) -> list[str]:
    """Return a description of a metric as lines of text.

    The last line has the signature on this machine, or the reason why the metric is not available here. It is left out
    if *name* lacks a subject that the metric needs.

    Raises:
        InputError: unknown metric, option or option set; an invalid value, or none for an option without a default; or
            the metric cannot use a file or model that its name names.
        UnavailableError: a third party's metric cannot be imported.
    """
    parsed = MetricName.parse(name)
    entry = registry().find(parsed.name)
    cls = entry.load()
    by_language = presets().get(cls.declaration.name, {})
    is_buildable = cls.declaration.subject is None or parsed.subject is not None or bool(by_language)
    # options may change the declaration, so that of the built metric takes precedence
    metric = load_metric(name) if is_buildable else None
    declaration = cls.declaration if metric is None else metric.declaration
    if metric is None:
        options = options_of(cls)
    else:
        options = {key: option for key, option in options_of(type(metric)).items() if metric.takes(key)}
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
        language_text = "any language" if language == "*" else language
        # the subject stands first in a metric's name, without a key
        options = [str(value) if key == SUBJECT else f"{key}={value}" for key, value in preset.items()]
        lines.append(f"preset for {language_text}: {', '.join(options)}")
    return lines


def _option_lines(declaration: Declaration, options: dict[str, Option]) -> list[str]:
    """Return one line per option except the subject, and one per option set."""
    lines = []
    for key, declared in options.items():
        if key != SUBJECT:
            default = "needed"
            if declared.default is not MISSING:
                default = f"default {format_value(declared.default) or 'an empty one'}"
            lines.append(f"option {declared.name}: {declared.help} ({declared.valid_values}; {default})")
    for title, option_set in declaration.option_sets.items():
        values = ", ".join(f"{key}={format_value(value)}" for key, value in option_set.items())
        lines.append(f"option set {declaration.name}:{title}: {values}")
    return lines


def _declaration_lines(declaration: Declaration, origin: str) -> list[str]:
    """Return lines on a metric's declaration: its promises, such as range and symmetry, its packages and its source.

    Args:
        declaration: the declaration.
        origin: what provides the metric: ``assay``, or the name of a distribution.
    """
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
    """Return a line with the metric's signature on this machine, or the reason why it is unavailable.

    Raises:
        InputError: a file or model that the metric's name names cannot be used.
    """
    try:
        metric.check_available()
    except UnavailableError as error:
        return Message("not available here: ", error.message)
    return f"signature: {metric.long_signature()}"
