"""Cross-validation: the agreement of metrics by fold and by source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assay.analysis.data import ScoredDataset
from assay.analysis.pair_codes import cells_of, group_codes, pair_codes
from assay.analysis.thresholds.training import find_threshold
from assay.common.declarations import setting
from assay.common.messages import Setting
from assay.exceptions import InputError
from assay.settings import Graphs, Limited, OwnData, ScoreStore, Scoring, check_seed, parse_scale
from assay.statistics.agreement import Estimate
from assay.statistics.coefficients import CLASS_MEASURES, check_statistics, statistics_help
from assay.statistics.concordance import Floats
from assay.statistics.crossvalidation import (
    Average,
    CrossValidated,
    Partition,
    Rows,
    ScoresOf,
    cross_validate,
    join_codes,
    leave_one_value_out,
    lookup_of_scores,
    make_folds,
)

#: The default number of folds, as in STR-2022.
DEFAULT_FOLD_COUNT = 5


@dataclass(frozen=True)
class CrossvalSettings(OwnData, Graphs, Limited, Scoring, ScoreStore):
    """Settings of ``assay crossval``.

    Raises:
        InputError: a value out of its range, no such statistic, or settings for scoring beside runs that are scored.
    """

    runs: Sequence[str | Path] = setting(
        "Run folders, or files with a label and score columns; none to score `datasets` here.", (), argument=True
    )
    _: KW_ONLY
    datasets: Any | Sequence[Any] = setting(
        "A dataset of the runs [default: all]; without runs, NAME[@VERSION][:SPLIT] or a file.",
        (),
        flags=("--dataset", "-d"),
        metavar="DATASET",
    )
    metrics: Sequence[Any] = setting(
        "A metric of the runs [default: all]; without runs, any. Names: assay metrics list.",
        (),
        flags=("--metric", "-m"),
        metavar="METRIC",
    )
    train: Sequence[str] = setting("A model to train anew for every fold: RECIPE:BASE[,setting=value]…", ())
    classes: str | None = setting(
        "A column with classes, such as entailment, for `train` to learn instead of the label.", None, metavar="COLUMN"
    )
    seeds: int = setting("Models to train per fold, with successive seeds; each has a row.", 1, at_least=1)
    results: str | Path | None = setting(
        "Also write the averages over folds of trained models as CSV, for assay significance.", None, metavar="FILE"
    )
    scale: str | None = setting(
        "Lowest and highest label, for `train`, if the data does not declare them [default: 0,1].",
        None,
        parse=parse_scale,
        metavar="LOW,HIGH",
    )
    folds: int = setting("Number of folds.", DEFAULT_FOLD_COUNT)
    by: str | None = setting("Leave out each value of a column in turn, such as subset.", None, metavar="COLUMN")
    group_by: str | None = setting(
        "Keep pairs with the same value of a column in one fold [default: the data's groups].", None, metavar="COLUMN"
    )
    drop_duplicates: bool = setting("Drop repeated pairs with the same label.", False)
    statistics: Sequence[str] = setting(
        f"{statistics_help()} Or {', '.join(CLASS_MEASURES)}: of classes, or of yes/no at the best threshold in "
        "training.",
        (),
        flags=("--statistic",),
        metavar="NAME",
    )
    seed: int = setting("Seed of the assignment of pairs to folds.", 0)

    def check(self) -> None:
        """Check the settings, and fill in the default coefficients.

        Raises:
            InputError: there are fewer than two folds, or the seed is invalid; a setting for scoring is given for a
                run, or one for training without a model to train; a recipe sets the seed that ``seeds`` counts from;
                or statistics are unknown, or of decisions and of scores at once.
        """
        if self.folds < 2:
            raise InputError(
                "expected 2 or more; one fold is tested, the others trained on", setting="folds", value=self.folds
            )
        check_seed(self.seed)
        if self.scale is not None and not self.train:
            raise InputError(
                "is for models that are trained here; name one with ",
                Setting("train"),
                setting="scale",
                value=self.scale,
            )
        if self.runs:
            for name, value in self.scoring_settings().items():
                default = getattr(CrossvalSettings, name)
                # progress is shown for runs, too
                if value != default and name != "progress":
                    raise InputError("is for data that is scored here, not for a run", setting=name)
        for name in ("classes", "results"):
            if getattr(self, name) is not None and not self.train:
                raise InputError("is for models that are trained here; name one with ", Setting("train"), setting=name)
        if self.seeds > 1 and any(",seed=" in recipe for recipe in self.train):
            raise InputError("counts from the seed 0; leave seed out of ", Setting("train"), setting="seeds")
        # the class is frozen
        object.__setattr__(self, "statistics", self._checked_statistics())

    def _checked_statistics(self) -> tuple[str, ...]:
        """Return the statistics without duplicates, or the defaults: measures of decisions if classes are learned.

        Raises:
            InputError: a name is unknown, or measures of decisions stand beside coefficients of scores.
        """
        names = tuple(self.statistics) or (CLASS_MEASURES if self.classes else ())
        of_decisions = [name for name in names if name in CLASS_MEASURES]
        if not of_decisions and not self.classes:
            return check_statistics(names)
        if len(of_decisions) < len(names):
            advice = f"with classes, name {', '.join(CLASS_MEASURES)}" if self.classes else "name these or others alone"
            raise InputError(
                f"measures of decisions and coefficients of scores exclude each other; {advice}",
                setting="statistics",
                value=", ".join(names),
            )
        return tuple(dict.fromkeys(of_decisions))

    @property
    def decides(self) -> bool:
        """Whether methods decide classes, instead of giving scores."""
        return self.statistics[0] in CLASS_MEASURES

    def scoring_settings(self) -> dict[str, Any]:
        """Return the settings for scoring, as keyword arguments of :func:`assay.run`."""
        inherited_settings = self.values_of(OwnData, Graphs, Limited, Scoring, ScoreStore)
        return {**inherited_settings, "drop_duplicates": self.drop_duplicates}

    @property
    def signature(self) -> str:
        """The settings in one line, with which another person can repeat the division into folds."""
        group_field = f"|group:{self.group_by}" if self.group_by else ""
        return f"folds:{self.folds}|by:{self.by or 'none'}{group_field}|seed:{self.seed}"


#: The source of pairs with an empty cell in the column of sources.
NO_SOURCE = "(empty)"


@dataclass(frozen=True)
class DatasetValidation:
    """The cross-validation of one dataset.

    Attributes:
        run: the title of the run; empty if there is only one.
        dataset: the dataset's name in the run.
        title: the dataset's title in tables.
        division: a short phrase on how the pairs were divided, such as ``5 folds of pairs``.
        results: the cross-validation of each method, by name in the order of the methods.
        notes: caveats, such as pairs that were left out.
    """

    run: str
    dataset: str
    title: str
    division: str
    results: dict[str, CrossValidated]
    notes: list[str]


def class_labels(data: ScoredDataset, column: str | None) -> tuple[Floats, tuple[str, ...]]:
    """Return the class number of each pair, shape (n,), and the names of the classes.

    Args:
        data: the pairs.
        column: the column with the classes; None for labels of two values, no (0) and yes (1).

    Raises:
        InputError: the column is missing or holds lists, a cell of it is empty, or the labels have another number of
            values than two.
    """
    if column is None:
        values, numbers = np.unique(data.labels, return_inverse=True)
        if len(values) != 2:
            raise InputError(
                f"{data.name}: decisions of yes or no need labels of two values, and there are {len(values)}; "
                "with more classes, name their column: ",
                Setting("classes"),
            )
        return numbers.astype(np.float64), ("no", "yes")
    cells = cells_of(data, column)
    for row, cell in enumerate(cells, start=1):
        if cell in (None, ""):
            raise InputError(f"{data.name}, pair {row}: has no class", setting="classes", value=column)
    names = tuple(sorted({str(cell) for cell in cells}))
    return np.array([names.index(str(cell)) for cell in cells], dtype=np.float64), names


def deciding_method(scores_of: ScoresOf, labels: Floats) -> ScoresOf:
    """Return a method that decides yes (1) or no (0) at the best threshold on the training rows; NaN without a score.

    Without a score on any training row there is no threshold, and all decisions are NaN.

    Args:
        scores_of: a method that needs no training, whose higher scores mean yes.
        labels: the labels 0 and 1, shape (n,); the training rows with a score have both.
    """

    def decide_rows(train: Rows, test: Rows) -> Floats:
        train_scores, scores = scores_of(train, train), scores_of(train, test)
        is_scored = np.isfinite(train_scores)
        if not is_scored.any():
            return np.full(len(test), np.nan)
        threshold = find_threshold(train_scores[is_scored], labels[train][is_scored])
        return np.where(np.isfinite(scores), scores >= threshold, np.nan)

    return decide_rows


def recorded_methods(data: ScoredDataset, metrics: Sequence[str], settings: CrossvalSettings) -> dict[str, ScoresOf]:
    """Return the wanted metrics of a run, or all if none is named, as methods that look up the recorded scores.

    They decide at a threshold if decisions are measured; there are none if classes are learned, which no score tells
    apart.

    Args:
        data: the pairs with their scores.
        metrics: the names of the wanted metrics.
        settings: what is measured, and whether classes are learned.

    Raises:
        InputError: the run has no scores of one of the metrics, or the labels of decisions have not two values.
    """
    if settings.classes:
        return {}
    methods = {name: lookup_of_scores(data.oriented_scores(name)) for name in data.find_metrics(list(metrics))}
    if not settings.decides:
        return methods
    labels = class_labels(data, None)[0]
    return {name: deciding_method(scores_of, labels) for name, scores_of in methods.items()}


def cross_validate_methods(
    data: ScoredDataset, settings: CrossvalSettings, methods: Mapping[str, ScoresOf], run: str = ""
) -> DatasetValidation:
    """Return the cross-validation of several methods on the same folds.

    Args:
        data: the pairs with labels.
        settings: the settings of the division and the coefficients.
        methods: the methods by name; their higher scores mean more similar.
        run: the title of the run, if there are several.

    Raises:
        InputError: the pairs cannot be divided as requested, there is no method, or the labels or the column of classes
            do not have classes to decide.
    """
    if not methods:
        raise InputError(f"{data.run.title}: {data.name} has no scores of any metric")
    partition, division = divide(data, settings)
    labels = class_labels(data, settings.classes)[0] if settings.decides else data.labels
    validations = {}
    for name, scores_of in methods.items():
        validations[name] = cross_validate(labels, partition, scores_of, settings.statistics)
    notes = []
    for name in validations:
        if name in data.metrics and not data.metrics[name].declared.higher_is_better:
            notes.append(f"{name}: a low score means similar; the sign of its coefficients is turned")
    for name, validation in validations.items():
        if validation.missing:
            notes.append(f"{name}: {validation.missing:,} pairs have no score and are left out")
    title = f"{data.title}, {run}" if run else data.title
    return DatasetValidation(
        run=run, dataset=data.name, title=title, division=division, results=validations, notes=notes
    )


def divide(data: ScoredDataset, settings: CrossvalSettings) -> tuple[Partition, str]:
    """Return the division of a dataset's pairs, and a short phrase that describes it.

    Pairs of one group are never on both sides of a split. Neither are pairs whose texts differ only in order, case or
    punctuation.

    Args:
        data: the pairs.
        settings: the number of folds and their seed, the column of groups, and that of sources to leave out in turn.

    Raises:
        InputError: there are fewer than two pairs or groups that differ, or fewer than folds; a column is missing,
            holds lists, or does not distinguish sources; or an older folder lacks the groups of the run.
    """
    groups, text_codes = group_codes(data, settings.group_by), pair_codes(data)
    if groups is None:
        units, codes = "pairs", text_codes
    else:
        units = f"whole groups ({settings.group_by or data.facts.group})"
        codes = join_codes(groups, text_codes)
    folds = make_folds(codes, settings.folds, np.random.default_rng(settings.seed))
    division = f"{settings.folds} folds of {units}"
    if settings.by is None:
        return Partition(folds, {}, ()), division
    sources = [NO_SOURCE if cell in (None, "") else str(cell) for cell in cells_of(data, settings.by)]
    source_count = len(set(sources))
    if source_count < 2 or source_count == len(sources):
        column_content = "one value" if source_count < 2 else "another value for every pair"
        raise InputError(
            f"{data.name} has {column_content} there, which tells no sources apart", setting="by", value=settings.by
        )
    left_out = leave_one_value_out(sources, codes)
    return Partition(folds, {fold.name: fold.test for fold in left_out}, left_out), division


def unused_pair_notes(partition: Partition) -> list[str]:
    """Return one line per source for which pairs of other sources are not trained on when it is left out.

    These pairs have the same texts as one of its pairs, or are in one of its groups.
    """
    pair_count = sum(len(fold.test) for fold in partition.folds)
    unused_counts = {fold.name: pair_count - len(fold.train) - len(fold.test) for fold in partition.left_out}
    return [
        f"{name} left out: {count:,} pairs of other sources are the same as one of its pairs, or are in one of its "
        "groups; they are not trained on"
        for name, count in unused_counts.items()
        if count
    ]


def validation_records(validation: DatasetValidation, statistics: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the records of averages, pooled values and single folds of each method, for all pairs and for each source.

    Args:
        validation: the cross-validation of a dataset.
        statistics: the names of the coefficients, in the order of the records of a method.
    """
    for metric, result in validation.results.items():
        for statistic in statistics:
            average, pooled = result.average[statistic], result.pooled[statistic]
            yield from _coefficient_records(
                validation,
                metric,
                source="",
                statistic=statistic,
                average=average,
                estimate_name="pooled",
                estimate=pooled,
            )
            for source in result.sources:
                tested, left_out = source.tested[statistic], source.left_out[statistic]
                yield from _coefficient_records(
                    validation,
                    metric,
                    source=source.name,
                    statistic=statistic,
                    average=tested,
                    estimate_name="left out",
                    estimate=left_out,
                )


def _coefficient_records(
    validation: DatasetValidation,
    metric: str,
    source: str,
    statistic: str,
    average: Average,
    estimate_name: str,
    estimate: Estimate,
) -> Iterator[dict[str, Any]]:
    """Yield the records of a coefficient: its average over folds, *estimate* on all pairs, and the value in each fold.

    Args:
        validation: the cross-validation of a dataset.
        metric: the name of the method.
        source: the name of the source; empty for all pairs.
        statistic: the name of the coefficient.
        average: the average over folds.
        estimate_name: what *estimate* is called in its record, ``pooled`` or ``left out``.
        estimate: the value on all pairs together.
    """
    shared = {
        "run": validation.run,
        "dataset": validation.dataset,
        "metric": metric,
        "source": source,
        "statistic": statistic,
    }
    note = f"undefined in {len(average.undefined)} of {len(average.folds)} folds" if average.undefined else ""
    yield shared | {
        "on": "folds",
        "value": average.value,
        "deviation": average.deviation,
        "n": sum(result.n for _, result in average.folds),
        "note": note,
    }
    for evaluated_on, result in ((estimate_name, estimate), *average.folds):
        yield shared | {
            "on": evaluated_on,
            "value": result.value,
            "deviation": None,
            "n": result.n,
            "note": result.note,
        }
