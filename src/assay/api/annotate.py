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
from assay.exceptions import InputError
from assay.paths import user_path
from assay.settings import verb

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

    The sheet holds the texts, every column of the file, an empty column ``label``, and how the answer was drawn:
    ``stratum``, ``stratum_size`` and ``weight`` (how many answers it stands for). :func:`assay.rate` reads these. It
    shows no score, which would sway people. With *doubles*, a column ``annotator`` says who labels which row.

    Raises:
        InputError: *out* exists, or cannot be written; the file has too few answers; or as for :func:`assay.rate`.
        AssayError: the metric gave no scores.
    """
    out = user_path(settings.out)
    check_output_path(user_path(settings.file), out)
    if out.exists():
        raise InputError(f"{out}: exists, and may hold labels; give ", Setting("out"), " another name")
    scored = score_by_decision(settings, settings.metric)
    system = find_system_column(scored.pairs.table, settings.system)
    systems = None if system is None else texts_of(scored.pairs.table, system)
    expected = np.clip(scored.decision.expectation.of(scored.scores), 0.0, 1.0)
    drawn = draw_answers(
        expected, systems, settings.n, kind=scored.decision.kind, doubles=settings.doubles, seed=settings.seed
    )
    write_table(_sheet(scored, drawn), out)
    return out


def _sheet(scored: ScoredAnswers, drawn: Drawn) -> pa.Table:
    """Return the rows of the first annotator, and then those that a second one labels as well."""
    import pyarrow as pa

    draw_indices = np.concatenate([np.arange(len(drawn.rows)), np.flatnonzero(np.isin(drawn.rows, drawn.second))])
    left_out = (*_LEFT_OUT, "pair_id", STRATUM, WEIGHT)
    kept_columns = [name for name in scored.pairs.table.column_names if name not in left_out]
    table = scored.pairs.table.select(kept_columns).take(pa.array(drawn.rows[draw_indices]))
    table = table.append_column("label", pa.nulls(len(draw_indices), pa.string()))
    if len(drawn.second):
        annotators = ["first"] * len(drawn.rows) + ["second"] * len(drawn.second)
        table = table.append_column("annotator", pa.array(annotators))
    table = table.append_column(STRATUM, pa.array([drawn.strata[index] for index in draw_indices]))
    table = table.append_column(STRATUM_SIZE, pa.array(drawn.sizes[draw_indices]))
    return table.append_column(WEIGHT, pa.array(drawn.weights[draw_indices].round(6)))
