"""A hyperparameter study as tables, figures and a page."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from assay.reports.drawing import Figure, Scale, drawing, element, text
from assay.reports.layout import fit, short
from assay.reports.page.render import GENERATOR, asset, environment
from assay.reports.plots import log_ticks, ticks
from assay.reports.sheets import Column, Document, Sheet
from assay.statistics.coefficients import title_of

__all__ = [
    "Study",
    "Trial",
    "draw_courses",
    "draw_history",
    "draw_settings",
    "read_study",
    "setting_text",
    "study_document",
    "study_html",
    "trial_sheet",
]


# What ``study.json`` holds, as values.


@dataclass(frozen=True)
class Trial:
    """One training of a study.

    Attributes:
        number: counted from 0.
        state: ``complete``, ``pruned`` or ``fail``.
        settings: by name.
        value: agreement on the development set where the training was best there; None where it did not end.
        epochs: the value at the end of each epoch, the first being 1.
        seconds: how long it took, or None.
        why: what is known of a trial that failed or tried another one once more; may be empty.
    """

    number: int
    state: str
    settings: Mapping[str, Any]
    value: float | None
    epochs: Mapping[int, float]
    seconds: float | None
    why: str

    @property
    def reached(self) -> float | None:
        """The value, or that of the last epoch of a pruned trial; None for a failed one."""
        if self.state == "complete":
            return self.value
        return self.epochs[max(self.epochs)] if self.state == "pruned" and self.epochs else None


@dataclass(frozen=True)
class Study:
    """All trials.

    Attributes:
        name: of the study.
        recipe: what was trained.
        objective: name of the agreement.
        space: ``choices``, or ``low``, ``high`` and ``log``, by setting.
        trials: in the order of their numbers.
        winner: the best one.
        command: trains the winner's model.
    """

    name: str
    recipe: str
    objective: str
    space: Mapping[str, Mapping[str, Any]]
    trials: tuple[Trial, ...]
    winner: Trial
    command: str

    @property
    def title(self) -> str:
        """The objective as a reader knows it."""
        return title_of(self.objective)


def read_study(held: Mapping[str, Any]) -> Study:
    """Return the values of ``study.json``, which has been parsed."""
    trials = tuple(sorted(map(_trial, held["trials"]), key=lambda trial: trial.number))
    request = held["request"]
    return Study(
        name=held["name"],
        recipe=request["recipe"],
        objective=held["objective"],
        space=request["space"],
        trials=trials,
        winner=next(trial for trial in trials if trial.number == held["winner"]),
        command=held["command"],
    )


def _trial(held: Mapping[str, Any]) -> Trial:
    again = held["retry_of"]
    why = [] if again is None else [f"trial {again} once more"]
    if held["error"]:
        why.append(held["error"])
    elif held["state"] == "fail":
        why.append("its process ended")
    return Trial(
        number=held["number"],
        state=held["state"],
        settings=held["settings"],
        value=held["value"],
        epochs={int(epoch): value for epoch, value in held["epochs"].items()},
        seconds=held["seconds"],
        why="; ".join(why),
    )


# A study as tables.

_TRIED = (
    "Values of the development set chose the winner, so that the best of them flatters; what the model is worth, the "
    "test set says, which no trial has seen."
)


def study_document(held: Mapping[str, Any], results: Sheet) -> Document:
    """Return what ``study.json`` holds as tables: the trials, and the winner on the test set.

    Args:
        held: as it was parsed.
        results: of the winner.
    """
    return Document([trial_sheet(read_study(held)), results], list(held["trials"]), value=dict(held))


def trial_sheet(study: Study) -> Sheet:
    """Return a line a trial, the winner marked."""
    names = list(study.space)
    heads = [
        Column("trial", number=True),
        *(Column(name.replace("_", " "), number=not _named(study, name)) for name in names),
        Column("state"),
        Column("epochs done", number=True),
        Column(f"dev {study.title}", number=True),
        Column("seconds", number=True),
        Column("note"),
    ]
    rows = [_row(trial, names) for trial in study.trials]
    over = sum(trial.state in ("complete", "pruned") for trial in study.trials)
    return Sheet(
        f"Study {study.name}: {over} trials of a {study.recipe}",
        heads,
        rows,
        notes=[_TRIED],
        marked=frozenset(row for row, trial in enumerate(study.trials) if trial is study.winner),
    )


def _named(study: Study, name: str) -> bool:
    return any(isinstance(value, str) for value in study.space[name].get("choices", ()))


def _row(trial: Trial, names: list[str]) -> list[str]:
    return [
        str(trial.number),
        *(setting_text(trial.settings[name]) if name in trial.settings else "–" for name in names),
        trial.state,
        str(max(trial.epochs, default=0)),
        "–" if trial.reached is None else short(trial.reached, 4),
        "–" if trial.seconds is None else f"{trial.seconds:,.0f}",
        trial.why,
    ]


def setting_text(value: object) -> str:
    """Return the value of a setting in few characters."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


# The history of a study: values by trial, by epoch and by setting.

WIDTH, HEIGHT = 820, 300
LEFT, RIGHT, TOP, BOTTOM = 54, 24, 30, 46
#: Of a panel of one setting.
PANEL, PANEL_HEIGHT, ABREAST = 340, 200, 3
#: Marks along an axis at most, and characters of a choice.
MARKS, LETTERS = 12, 9


def draw_history(study: Study) -> Figure:
    """Return the value of each trial and the best one so far."""
    trials = _drawn(study)
    marks, up = _upwards(_values(trials), HEIGHT - BOTTOM, TOP)
    last = max(trial.number for trial in trials)
    across = Scale(-0.5, last + 0.5, LEFT, WIDTH - RIGHT)
    parts = _grid(marks, up, across.start, across.end)
    parts += [
        text(across(number), up.start + 17, str(number), class_="muted", anchor="middle")
        for number in range(0, last + 1, -(-(last + 1) // 20))
    ]
    parts.append(text(across.end, up.start + 36, "trial", class_="muted", anchor="end"))
    parts.append(text(4, 14, f"{study.title}, development set", class_="muted"))
    best = _best_so_far(trials)
    points: list[tuple[float, float]] = []
    for number, value in best:  # a step where a better one comes
        points += [(across(number), points[-1][1] if points else up(value)), (across(number), up(value))]
    if points:
        points.append((across.end, points[-1][1]))
        parts.append(element("polyline", points=_path(points), class_="front"))
    parts += [_point(study, trial, across(trial.number), up) for trial in trials]
    svg = drawing(
        "history",
        WIDTH,
        HEIGHT,
        f"{study.title} by trial",
        f"A point a trial, hollow where it was pruned, and the best value so far as a line. The best is trial "
        f"{study.winner.number} with {short(study.winner.value or 0.0, 4)}.",
        *parts,
    )
    so_far = dict(best)
    held = None
    rows = []
    for trial in trials:
        held = so_far.get(trial.number, held)
        best_yet = "–" if held is None else short(held, 4)
        rows.append([str(trial.number), trial.state, short(trial.reached or 0.0, 4), best_yet])
    heads = [Column("trial", number=True), Column("state"), Column(study.title, number=True)]
    return Figure(svg, Sheet(f"{study.title} by trial", [*heads, Column("best so far", number=True)], rows))


def draw_courses(study: Study) -> Figure:
    """Return the value of each trial at the end of its epochs."""
    trials = [trial for trial in study.trials if trial.epochs]
    marks, up = _upwards([value for trial in trials for value in trial.epochs.values()], HEIGHT - BOTTOM, TOP)
    last = max(max(trial.epochs) for trial in trials)
    across = Scale(0.75, last + 0.5, LEFT, WIDTH - RIGHT)
    parts = _grid(marks, up, across.start, across.end)
    parts += [
        text(across(epoch), up.start + 17, str(epoch), class_="muted", anchor="middle")
        for epoch in range(1, last + 1, -(-last // 20))
    ]
    parts.append(text(across.end, up.start + 36, "epoch", class_="muted", anchor="end"))
    parts.append(text(4, 14, f"{study.title}, development set", class_="muted"))
    # the winner last, over the others
    for trial in sorted(trials, key=lambda trial: trial is study.winner):
        best = trial is study.winner
        places = [(across(epoch), up(value)) for epoch, value in sorted(trial.epochs.items())]
        parts.append(element("polyline", points=_path(places), class_="curve" if best else "axis"))
        for epoch, value in trial.epochs.items():
            hint = element("title", f"trial {trial.number}, epoch {epoch}: {short(value, 4)}")
            kind = "value" if best else "value hollow"
            parts.append(element("circle", hint, cx=across(epoch), cy=up(value), r=4.0 if best else 3.0, class_=kind))
    svg = drawing(
        "courses",
        WIDTH,
        HEIGHT,
        f"{study.title} by epoch",
        f"A line a trial, the winner's filled. Lines of {len(trials)} trials.",
        *parts,
    )
    rows = [
        [str(trial.number), trial.state, str(epoch), short(value, 4)]
        for trial in trials
        for epoch, value in sorted(trial.epochs.items())
    ]
    heads = [Column("trial", number=True), Column("state"), Column("epoch", number=True)]
    return Figure(svg, Sheet(f"{study.title} by epoch", [*heads, Column(study.title, number=True)], rows))


def draw_settings(study: Study) -> Figure:
    """Return a panel a setting: the values of the trials over it."""
    trials = _drawn(study)
    abreast = min(ABREAST, len(study.space))
    high = PANEL_HEIGHT + TOP + BOTTOM
    parts = [
        _panel(study, trials, name, number % abreast * PANEL, number // abreast * high)
        for number, name in enumerate(study.space)
    ]
    names = [name.replace("_", " ") for name in study.space]
    svg = drawing(
        "settings",
        abreast * PANEL,
        -(-len(names) // abreast) * high,
        f"{study.title} by setting",
        f"A panel a setting, a point a trial, hollow where it was pruned: {', '.join(names)}.",
        *parts,
    )
    heads = [Column("trial", number=True), *(Column(name) for name in names), Column(study.title, number=True)]
    rows = [
        [str(trial.number), *(setting_text(trial.settings[name]) for name in study.space), short(trial.reached or 0, 4)]
        for trial in trials
    ]
    return Figure(svg, Sheet(f"{study.title} by setting", heads, rows))


def _panel(study: Study, trials: Sequence[Trial], name: str, left: float, top: float) -> Markup:
    marks, up = _upwards(_values(trials), top + TOP + PANEL_HEIGHT, top + TOP)
    start, end = left + LEFT, left + PANEL - RIGHT
    place, words = _axis(study.space[name], start, end)
    parts = [text(start, top + 16, name.replace("_", " "), class_="strong"), *_grid(marks, up, start, end)]
    parts += [text(x, up.start + 17, word, class_="muted", anchor="middle") for x, word in words]
    parts += [_point(study, trial, place(trial.settings[name]), up) for trial in trials]
    return element("g", *parts)


def _axis(
    dimension: Mapping[str, Any], start: float, end: float
) -> tuple[Callable[[Any], float], list[tuple[float, str]]]:
    """Return where a value of a setting stands, and marks with their texts."""
    if "choices" in dimension:
        choices = list(dimension["choices"])
        scale = Scale(-0.5, len(choices) - 0.5, start, end)
        named = [(scale(at), fit(setting_text(one), LETTERS)) for at, one in enumerate(choices)]
        return lambda value: scale(choices.index(value)), named[:: -(-len(named) // MARKS)]
    low, high = dimension["low"], dimension["high"]
    if dimension["log"]:
        decades = log_ticks([low, high])
        over = Scale(math.log10(decades[0]), math.log10(decades[-1]), start, end)
        return lambda value: over(math.log10(value)), [
            (over(math.log10(one)), f"{one:.0e}" if one < 1e-3 else f"{one:g}") for one in decades
        ]
    if isinstance(low, int) and isinstance(high, int):
        whole = Scale(low - 0.5, high + 0.5, start, end)
        return whole, [(whole(one), str(one)) for one in range(low, high + 1, -(-(high - low + 1) // MARKS))]
    plain = ticks(low, high, 5)
    even = Scale(plain[0], plain[-1], start, end)
    return even, [(even(one), f"{one:g}") for one in plain]


def _drawn(study: Study) -> list[Trial]:
    """Return the trials that have a value and all settings."""
    return [
        trial for trial in study.trials if trial.reached is not None and trial.settings.keys() >= study.space.keys()
    ]


def _values(trials: Sequence[Trial]) -> list[float]:
    return [trial.reached for trial in trials if trial.reached is not None]


def _upwards(values: Sequence[float], start: float, end: float) -> tuple[list[float], Scale]:
    """Return round numbers that cover values, and the axis upwards from the first to the last of them."""
    marks = ticks(min(values), max(values), 6)
    return marks, Scale(marks[0], marks[-1], start, end)


def _grid(marks: Sequence[float], up: Scale, start: float, end: float) -> list[Markup]:
    parts = []
    for mark in marks:
        parts.append(element("line", x1=start, x2=end, y1=up(mark), y2=up(mark), class_="grid"))
        parts.append(text(start - 8, up(mark) + 4, f"{mark:g}", class_="muted", anchor="end"))
    return parts


def _best_so_far(trials: Sequence[Trial]) -> list[tuple[int, float]]:
    """Return each complete trial that is better than those before it, and its value."""
    found: list[tuple[int, float]] = []
    for trial in trials:
        if trial.value is not None and (not found or trial.value > found[-1][1]):
            found.append((trial.number, trial.value))
    return found


def _point(study: Study, trial: Trial, x: float, up: Scale) -> Markup:
    value = trial.reached or 0.0
    settings = ", ".join(f"{name.replace('_', ' ')} {setting_text(one)}" for name, one in trial.settings.items())
    hint = element("title", f"trial {trial.number}, {trial.state}: {short(value, 4)}; {settings}")
    best = trial is study.winner
    kind = "value" if trial.state == "complete" else "value hollow"
    point = element("circle", hint, cx=x, cy=up(value), r=5.5 if best else 4.0, class_=kind)
    if not best:
        return point
    return element("g", point, text(x, up(value) - 10, str(trial.number), class_="name strong", anchor="middle"))


def _path(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


# A study as one self-contained HTML page.


def study_html(held: Mapping[str, Any], results: Sheet) -> str:
    """Return what ``study.json`` holds as a page that needs no other file, no network and no script.

    Args:
        held: as it was parsed.
        results: of the winner on the test set.
    """
    study = read_study(held)
    page: str = (
        environment()
        .get_template("study.html")
        .render(
            generator=Markup(GENERATOR),
            style=Markup(asset("page.css")),
            study=study,
            over=sum(trial.state in ("complete", "pruned") for trial in study.trials),
            failed=[trial for trial in study.trials if trial.state == "fail"],
            trials=trial_sheet(study),
            results=results,
            winner=", ".join(
                f"{name.replace('_', ' ')} {setting_text(one)}" for name, one in study.winner.settings.items()
            ),
            history=draw_history(study),
            courses=draw_courses(study),
            settings=draw_settings(study),
        )
    )
    return page
