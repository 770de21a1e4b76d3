"""A metric described for a reader: what it promises, its options, its signature here."""

from __future__ import annotations

from dataclasses import MISSING

from assay.errors import UnavailableError
from assay.metrics.base import Metric
from assay.metrics.name import MetricName
from assay.metrics.options import SUBJECT, describe_options, format_value
from assay.metrics.presets import presets
from assay.metrics.registry import load_metric, registry

__all__ = ["describe_metric"]


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
