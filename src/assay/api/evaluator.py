"""Agreement with people, by bucket, during a training of sentence-transformers."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.api.run import run
from assay.benchmark.buckets import ALL
from assay.common.progress import reported_here
from assay.exceptions import InputError, MissingExtraError
from assay.metrics import load_metric

try:
    from sentence_transformers.sentence_transformer.evaluation import SentenceEvaluator
except ImportError:
    # the name exists without the extra, for help and for an import of all names; an evaluator cannot be made
    SentenceEvaluator = None


class AssayEvaluator(SentenceEvaluator or object):  # type: ignore[misc]
    """An evaluator for the trainers of sentence-transformers: how far the model agrees with people, bucket by bucket.

    Each evaluation scores the pairs with the model as it is, by the similarity that it declares (a CrossEncoder by its
    prediction), and returns one number per bucket and statistic, such as ``f1=0_spearman``, a number without a value
    left out. The trainer logs them; ``primary`` chooses the checkpoint.

    Args:
        data: a dataset, as the ``datasets`` of :func:`assay.run`: one name, file or object.
        buckets: the rules of buckets, beside all pairs.
        statistics: the coefficients.
        name: what the names of the numbers begin with, besides the prefix of the trainer; empty for nothing.
        primary: the bucket and statistic that chooses the best model; by default all pairs and the first statistic.
        write_csv: whether each evaluation adds a row to ``assay_evaluation.csv`` in the trainer's output folder; a
            number without a value is an empty cell there.
        **settings: further settings of :func:`assay.run`, such as ``columns``, ``sample`` or ``language``.

    Attributes:
        primary_metric: the name of the primary number, with *name* before it from the first evaluation on; the trainer
            reads it.

    Raises:
        MissingExtraError: sentence-transformers is not installed.

    Example:
        >>> evaluator = AssayEvaluator("stsb:dev", primary="f1=0_spearman")  # doctest: +SKIP
        >>> SentenceTransformerTrainer(model, …, evaluator=evaluator).train()  # doctest: +SKIP
    """

    def __init__(
        self,
        data: Any,
        *,
        buckets: Sequence[str] = ("f1",),
        statistics: Sequence[str] = ("spearman", "pearson"),
        name: str = "",
        primary: str | None = None,
        write_csv: bool = True,
        **settings: Any,
    ) -> None:
        if SentenceEvaluator is None:
            raise MissingExtraError("sentence-transformers", "train")
        super().__init__()
        self.data, self.name, self.write_csv = data, name, write_csv
        self.settings = settings | {"buckets": tuple(buckets), "statistics": tuple(statistics), "resamples": 0}
        # kept apart from primary_metric, since prefix_name_to_metrics adds the name to that
        self._primary = primary or f"{ALL}_{self.settings['statistics'][0]}"
        self.primary_metric = self._primary

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: int = -1, steps: int = -1, **_: Any
    ) -> dict[str, float]:
        """Return the agreement of the model by bucket and statistic, such as ``all_spearman``, with *name* before each.

        Numbers without a value, such as those of a bucket in which all scores are equal, are left out. The numbers are
        also kept in the data of the model card, and added to the CSV file.

        Args:
            model: a SentenceTransformer or a CrossEncoder with one output.
            output_path: the folder for the CSV file; None to write none.
            epoch, steps: when the evaluation takes place, for that file; -1 outside of a training.

        Raises:
            InputError: there is no number for the primary bucket and statistic, such as where the model gave no scores,
                or the data cannot be used.
            UnavailableError: the data is unavailable.
            OSError: the CSV file cannot be written.
        """
        metric = load_metric(model)
        with reported_here():
            # the trainer shows its own progress
            result = run(self.data, [metric], **self.settings)
        coefficients = {f"{row.bucket}_{row.statistic}": row.value for row in result.outcome.agreement}
        values = {key: float(value) for key, value in coefficients.items() if value is not None}
        if self._primary not in values:
            raise InputError(
                f"AssayEvaluator: there is no value of {self._primary}; the data has {', '.join(values) or 'none'}"
            )
        if output_path is not None and self.write_csv:
            # also those without a value, so that every row has the columns of the first
            self._add_row(Path(output_path), {"epoch": epoch, "steps": steps} | coefficients)
        value_by_name: dict[str, float] = self.prefix_name_to_metrics(values, self.name)
        self.store_metrics_in_model_card_data(model, value_by_name, epoch, steps)
        return value_by_name

    def _add_row(self, folder: Path, row: dict[str, float | None]) -> None:
        """Add a row to the CSV file of the evaluations, below a head of its keys if the file is new."""
        path = folder / "assay_evaluation.csv"
        folder.mkdir(parents=True, exist_ok=True)
        is_new = not path.exists()
        with path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(row))
            if is_new:
                writer.writeheader()
            writer.writerow(row)
