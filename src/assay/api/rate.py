"""``assay rate``: the share right of answers that nobody labelled."""

from __future__ import annotations

from assay.analysis.rate.answers import join_answers
from assay.analysis.rate.kept import keep_rating
from assay.analysis.rate.rating import Rating, rate_answers
from assay.analysis.rate.settings import RateSettings
from assay.analysis.systems import find_system_column
from assay.api.decided import score_by_decision
from assay.api.values import Report
from assay.common.verbs import verb
from assay.reports.rate import to_document


class Rated(Report):
    """The estimates for new answers, as values and as tables.

    Attributes:
        found: the estimates as values.
    """

    def __init__(self, found: Rating, hints: tuple[str, ...]) -> None:
        super().__init__(to_document(found, hints))
        self.found = found


@verb(
    RateSettings,
    (
        "Estimate the share right, or the mean label, of new answers that nobody labelled, by system.\n\nThe scores of "
        "the metric are corrected by its errors on the labelled answers of the folder (prediction-powered inference), "
        "so that the interval holds whatever the metric is worth."
    ),
    "assay rate new.csv --decision decision/",
    "assay rate new.csv --decision decision/ --by topic",
)
def rate(settings: RateSettings) -> Rated:
    """Estimate the share right, or the mean label, of answers that nobody labelled.

    Labelled and new answers must come from the same kind of answers: a part without labels of its own, and new answers
    that look different, are pointed out. Labels in the new file have to be valid, but are not used.

    Returns:
        The estimates of all answers, of each system and of further parts, and the differences of systems.

    Raises:
        InputError: a file or folder cannot be read or lacks a column; there are too few labels; the labelled answers
            are a sheet that was drawn from others, or their weights or strata cannot be used; the metric has changed
            since, or would run code or call a server and is not named; or, with *keep*, the folder cannot be written.
        MissingExtraError: a file, such as a workbook, needs a package that is not installed.
        AssayError: the metric cannot be built, is unavailable, or gave no scores.
    """
    scored_answers = score_by_decision(settings, settings.decision, settings.metric)
    answers = join_answers(
        scored_answers.decision, scored_answers.data, scored_answers.pairs.table, scored_answers.scores
    )
    system = find_system_column(answers.new_table, settings.system)
    rating = rate_answers(answers, scored_answers.pairs.name, system, settings.by, settings.confidence)
    if settings.keep:
        keep_rating(scored_answers.data.run, rating.to_keep())
    return Rated(rating, scored_answers.hints)
