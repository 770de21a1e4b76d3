"""``assay leaderboard``: rank metrics over runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from assay.analysis.data import ALL
from assay.analysis.folder import missing_metric_lines
from assay.analysis.leaderboard.field import FieldVerdict, verdict_of
from assay.analysis.leaderboard.join import Filters, JoinedDataset, join_runs
from assay.analysis.leaderboard.measurements import boards, boards_of_groups, resample_count
from assay.analysis.leaderboard.settings import LeaderboardSettings
from assay.api.files import Run, open_runs
from assay.api.values import Report
from assay.common.progress import Silent
from assay.common.verbs import verb
from assay.datasets import Card, list_datasets
from assay.exceptions import InputError
from assay.reports.field import to_document as field_document
from assay.reports.leaderboard import to_document
from assay.reports.sheets import Document, with_signatures
from assay.statistics.coefficients import (
    OF_TWO_LABELS,
    OF_VOTES,
    calibrated_forms,
    check_statistics,
    deciding_statistic,
    default_statistics,
)

#: The family of a language by its code, as ISO 639-5 groups them: only languages of the datasets that come with assay,
#: and their neighbours.
FAMILIES: Mapping[str, str] = {
    **dict.fromkeys(("en", "de", "nl", "sv", "da", "no"), "Germanic"),
    **dict.fromkeys(("fr", "es", "it", "pt", "ro", "ca"), "Romance"),
    **dict.fromkeys(("ru", "pl", "cs", "uk", "bg"), "Slavic"),
    **dict.fromkeys(("az", "kk", "ky", "ug", "uz", "tr"), "Turkic"),
    **dict.fromkeys(("as", "bn", "gu", "hi", "mai", "mr", "ne", "pa", "si", "ur"), "Indo-Aryan"),
    **dict.fromkeys(("kn", "ml", "ta", "te"), "Dravidian"),
    **dict.fromkeys(("ig", "ki", "sw", "tw", "xh", "yo", "zu"), "Niger-Congo"),
    **dict.fromkeys(("ar", "ary", "arz", "ha", "he", "so", "am"), "Afro-Asiatic"),
    **dict.fromkeys(("et", "fi", "hu"), "Finno-Ugric"),
}


@verb(
    LeaderboardSettings,
    "Rank metrics per dataset and bucket and over all datasets; what cannot be told apart shares a rank.",
    "assay leaderboard runs/one runs/two --language en --format md",
    "assay leaderboard runs/atlas --per task",
    runs="Run folders, or files with a label and score columns.",
)
def leaderboard(runs: Run | Sequence[Run], settings: LeaderboardSettings) -> Report:
    """Rank metrics over any number of runs, per dataset and bucket and over all datasets.

    Each rank has a confidence set, from tests of all pairs of metrics.

    Args:
        runs: run folders, results of :func:`assay.run`, or files with a label and score columns.
        statistics: the coefficients to show besides the one that ranks; by default Pearson, Spearman and Kendall, after
            the AUC if that ranks by default.

    Returns:
        A report with one record per metric, dataset and bucket, and per metric over all datasets; with *per*, one per
            group of datasets and bucket.

    Raises:
        InputError: no run is given or one cannot be read, a filter matches nothing, a statistic is unknown, no dataset
            has a group to show by *per*, or a value is outside its range.
    """
    if not isinstance(runs, Run) and not runs:
        raise InputError("no run: give one run folder or more")
    progress = settings.progress or Silent()
    buckets = settings.buckets
    check_statistics([*settings.statistics, settings.by] if settings.by else settings.statistics)
    filters = Filters(
        tuple(settings.metrics), tuple(settings.datasets), tuple(settings.languages), tuple(settings.kinds)
    )
    with open_runs(runs) as opened:
        datasets = join_runs(opened, filters)
        of_votes = [dataset.data.vote_statistic for dataset in datasets if not dataset.unranked]
        by = settings.by or deciding_statistic(of_votes, calibrate_ties=settings.calibrate_ties)
        # an AUC is shown by default only where it ranks without having been asked for
        is_auc_by_default = settings.by is None and by in (OF_TWO_LABELS, OF_VOTES)
        default = default_statistics([by if is_auc_by_default else None])
        statistics = check_statistics([*(settings.statistics or default), by])
        if settings.calibrate_ties:
            (by,) = calibrated_forms([by])
            statistics = calibrated_forms(statistics)
        settings = replace(settings, statistics=statistics)
        progress.begin("comparing metrics", resample_count(datasets, settings, buckets))
        if settings.per:
            return Report(_per_group(datasets, settings, by, missing_metric_lines(opened)))
        ranked_boards = boards(datasets, settings, by=by, buckets=buckets, advance=progress.advance)
        board_document = to_document(ranked_boards, settings, by, missing_metric_lines(opened))
        return Report(with_signatures(board_document, [dataset.data for dataset in datasets], (), settings.signature))


def _per_group(
    datasets: Sequence[JoinedDataset], settings: LeaderboardSettings, by: str, absent: list[str]
) -> Document:
    """Return the tables of what to use per task, language and so on, in each wanted bucket, by default all pairs.

    Args:
        datasets: the datasets with their scores.
        settings: the groupings in ``per``, the buckets and the tests.
        by: the coefficient that ranks.
        absent: one line for each metric without scores, for the notes.

    Raises:
        InputError: no dataset has a known task, language or family, or one of the buckets.
    """
    progress = settings.progress or Silent()
    groups: dict[tuple[str, str], list[str]] = {}
    for grouping in settings.per:
        of_grouping = _groups(datasets, grouping)
        if not of_grouping:
            raise InputError(f"the {grouping} of no dataset is known", setting="per")
        groups |= {(grouping, title): members for title, members in of_grouping.items()}
    verdicts: dict[tuple[str, str], list[FieldVerdict]] = {}
    for bucket in settings.buckets or (ALL,):
        boards_by_group = boards_of_groups(datasets, groups, settings, by=by, bucket=bucket, advance=progress.advance)
        for (grouping, title), group in boards_by_group.items():
            verdicts.setdefault((grouping, bucket), []).append(verdict_of(title, group, by))
    ordered = sorted(verdicts.items(), key=lambda item: settings.per.index(item[0][0]))
    return field_document(dict(ordered), settings, by, absent)


def _groups(datasets: Sequence[JoinedDataset], grouping: str) -> dict[str, list[str]]:
    """Return the titles of the datasets of each group, by the title of the group, in the order of these.

    A dataset with several tasks is in several groups, one whose task, language or family is unknown in none. As a group
    of its own, a dataset has its name, or its title if others have the same name.

    Args:
        datasets: the datasets.
        grouping: what they are grouped by: ``task``, ``language``, ``family`` or ``dataset``.
    """
    count_of_name = Counter(dataset.data.name for dataset in datasets)
    groups: dict[str, list[str]] = {}
    for dataset, card in with_cards(datasets):
        facts = dataset.data.facts
        titles: dict[str, Sequence[str | None]] = {
            "task": () if card is None else card.tasks,
            "language": (facts.language,),
            "family": (None if facts.language is None else FAMILIES.get(facts.language),),
            "dataset": (facts.name if count_of_name[facts.name] == 1 else dataset.title,),
        }
        for title in titles[grouping]:
            if title:
                groups.setdefault(title, []).append(dataset.title)
    return {title: groups[title] for title in sorted(groups)}


def with_cards(datasets: Sequence[JoinedDataset]) -> Iterator[tuple[JoinedDataset, Card | None]]:
    """Yield each dataset with the registered card, in the version that the run read; None for one without.

    A file that has the name of a card is none of its versions: it has no version.
    """
    cards = {(entry.name, entry.version): entry.card for entry in list_datasets() if entry.card is not None}
    for dataset in datasets:
        facts = dataset.data.facts
        yield dataset, cards.get((facts.name.partition(":")[0].partition("@")[0], facts.version))
