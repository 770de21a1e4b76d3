"""A study as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from assay.reports.page.render import GENERATOR, asset, environment
from assay.reports.sheets import Sheet
from assay.reports.study.document import setting_text, trial_sheet
from assay.reports.study.figures import draw_courses, draw_history, draw_settings
from assay.reports.study.reading import read_study

__all__ = ["study_html"]


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
