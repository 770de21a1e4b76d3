"""Numbers and names, formatted for use in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def natural_frequency(share: float) -> str:
    """Return a share as a natural frequency: ``24 of 100``, or ``7 of 1,000`` below two percent."""
    return f"{share * 1000:.0f} of 1,000" if 0 < share < 0.02 else f"{share * 100:.0f} of 100"


def percent_text(value: float) -> str:
    """Return a share in percent with one decimal: ``24.3%``."""
    return f"{value:.1%}"


def shorten_metric_names(text: str, names: Mapping[str, str]) -> str:
    """Return a text with full names of metrics replaced by their short names."""
    # a name may be part of a longer one, which is therefore replaced first
    for full in sorted(names, key=len, reverse=True):
        text = text.replace(full, names[full])
    return text


def metric_count_text(count: int) -> str:
    """Return a number of metrics: ``one metric``, ``6 metrics``."""
    return "one metric" if count == 1 else f"{count} metrics"


def join_names(names: Sequence[str]) -> str:
    """Return one or more names joined for a sentence: ``a, b and c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def two_digit_text(number: float) -> str:
    """Return a number, 0 or more, rounded to two significant digits: ``2``, ``2.5``, ``33``, ``1,800``."""
    if number < 10:
        return f"{number:.2g}"
    # .2g alone would write an exponent, such as 1.8e+03
    return f"{float(f'{number:.2g}'):,.0f}"
