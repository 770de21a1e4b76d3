"""``assay train``: a verb of its own for each recipe."""

from __future__ import annotations

import typer

from assay.cli.train.augmented import augmented
from assay.cli.train.midtuning import mid_tuning
from assay.cli.train.pairwise import bi_encoder, cross_encoder
from assay.cli.train.s3bert import s3bert

__all__ = ["app"]

_HELP = "Train models that the metrics read; a training that was stopped continues when it is asked for again."

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None, help=_HELP)
app.command("augmented")(augmented)
app.command("bi-encoder")(bi_encoder)
app.command("cross-encoder")(cross_encoder)
app.command("mid-tuning")(mid_tuning)
app.command("s3bert")(s3bert)
