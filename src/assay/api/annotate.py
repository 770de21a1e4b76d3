"""``assay annotate``: a sheet of the answers to label next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from assay.analysis.rate.answers import texts_of
from assay.analysis.rate.sampling import Drawn, draw_answers
from assay.analysis.rate.settings import AnnotateSettings
from assay.analysis.systems import find_system_column
from assay.api.decided import ScoredAnswers, score_by_decision
from assay.api.writing import check_output_path, write_table
from assay.common.messages import Setting
from assay.common.tables import STRATUM, STRATUM_SIZE, WEIGHT
from assay.common.verbs import verb
from assay.exceptions import InputError
from assay.paths import user_path

if TYPE_CHECKING:
    import pyarrow as pa

#: The columns of a pairs table that a sheet leaves out: people should see neither labels nor what assay adds.
_LEFT_OUT = ("label", "annotations", "reference_graph", "candidate_graph")


@verb(
    AnnotateSettings,
    (
        "Draw the answers to label next, and write a sheet to fill in.\n\nAnswers are drawn at random within strata of "
        "system and score, more of them where labels vary more, so that assay rate gains most. Fill in the column "
        "label and run assay recommend on the sheet."
    ),
    "assay annotate new.csv --decision decision/ -n 50 --out sheet.csv",
    next="recommend {out} --drop-unlabelled --out FOLDER",
)
def annotate(settings: AnnotateSettings) -> Path:
    """Write a sheet of new answers to label, drawn so that :func:`assay.rate` gains most, and return its path.

    The sheet holds the texts, the other columns of the file except annotations and graphs, an empty column ``label``,
    and how the answer was drawn: ``stratum``, ``stratum_size`` and ``weight`` (how many answers it stands for).
    :func:`assay.rate` reads these. The score of the metric, which would sway people, is not in it. With *doubles*, a
    column ``annotator`` says who labels which row.

    Raises:
        InputError: *out* exists or cannot be written; the file or the folder of the decision cannot be read; the folder
            names no metric; the metric has changed since, or would run code or call a server and is not named; there is
            no such column of systems; the file has fewer answers than are to be drawn, or more of these are to be
            labelled twice than are drawn.
        MissingExtraError: a file, such as a workbook, needs a package that is not installed.
        AssayError: the metric cannot be built, is unavailable, or gave no scores.
    """
    out = user_path(settings.out)
    check_output_path(user_path(settings.file), out)
    if out.exists():
        raise InputError(f"{out}: exists, and may hold labels; give ", Setting("out"), " another name")
    scored_answers = score_by_decision(settings, settings.decision, settings.metric)
    system = find_system_column(scored_answers.pairs.table, settings.system)
    systems = None if system is None else texts_of(scored_answers.pairs.table, system)
    expected = np.clip(scored_answers.decision.expectation.of(scored_answers.scores), 0.0, 1.0)
    drawn = draw_answers(
        expected, systems, settings.n, kind=scored_answers.decision.kind, doubles=settings.doubles, seed=settings.seed
    )
    write_table(_sheet(scored_answers, drawn), out)
    return out


def _sheet(scored_answers: ScoredAnswers, drawn: Drawn) -> pa.Table:
    """Return the sheet of the drawn answers, with an empty column ``label`` and the stratum and weight of each.

    If a second annotator labels some of them as well, these rows follow those of the first, and a column ``annotator``
    tells whose a row is.

    Args:
        scored_answers: the new answers, in the order that the row indices of *drawn* count.
        drawn: the answers to label.
    """
    import pyarrow as pa

    # indices into drawn.rows: all for the first annotator, then those for the second
    draw_indices = np.concatenate([np.arange(len(drawn.rows)), np.flatnonzero(np.isin(drawn.rows, drawn.second))])
    # the columns that are written anew, and the ids, which would number the rows of another file
    left_out = (*_LEFT_OUT, "pair_id", STRATUM, STRATUM_SIZE, WEIGHT, *(["annotator"] if len(drawn.second) else []))
    kept_columns = [name for name in scored_answers.pairs.table.column_names if name not in left_out]
    table = scored_answers.pairs.table.select(kept_columns).take(pa.array(drawn.rows[draw_indices]))
    table = table.append_column("label", pa.nulls(len(draw_indices), pa.string()))
    if len(drawn.second):
        annotators = ["first"] * len(drawn.rows) + ["second"] * len(drawn.second)
        table = table.append_column("annotator", pa.array(annotators))
    table = table.append_column(STRATUM, pa.array([drawn.strata[index] for index in draw_indices]))
    table = table.append_column(STRATUM_SIZE, pa.array(drawn.sizes[draw_indices]))
    return table.append_column(WEIGHT, pa.array(drawn.weights[draw_indices].round(6)))
