"""``assay run``: the main job."""

from __future__ import annotations

import shlex
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.guard import finish, guarded, print_report, progress_on_stderr
from assay.cli.options import (
    BucketOption,
    ColumnsOption,
    ConfidenceOption,
    DatasetOption,
    DeviceOption,
    DropDuplicatesOption,
    Format,
    FormatOption,
    FreshOption,
    GraphsOption,
    GroupByOption,
    KeepModelsOption,
    LanguageOption,
    LimitOption,
    MetricOption,
    OfflineOption,
    OutFolder,
    QuietOption,
    ReferencesOption,
    ResamplesOption,
    SeedOption,
    StatisticOption,
    ThreadsOption,
)
from assay.tables import NOT_BY_PEOPLE

if TYPE_CHECKING:
    from assay import Result

__all__ = ["run"]


@guarded
def run(
    suite: Annotated[
        str | None, typer.Argument(help="quickstart, answer-similarity, sts, or a suite's .toml file.")
    ] = None,
    metric: MetricOption = None,
    dataset: DatasetOption = None,
    columns: ColumnsOption = None,
    graphs: GraphsOption = None,
    bucket: BucketOption = None,
    statistic: StatisticOption = None,
    resamples: ResamplesOption = 1000,
    confidence: ConfidenceOption = 0.95,
    group_by: GroupByOption = None,
    drop_duplicates: DropDuplicatesOption = None,
    seed: SeedOption = 0,
    limit: LimitOption = None,
    references: ReferencesOption = "best",
    language: LanguageOption = None,
    out: OutFolder = None,
    fresh: FreshOption = False,
    offline: OfflineOption = False,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    keep_models: KeepModelsOption = False,
    output: FormatOption = Format.table,
    quiet: QuietOption = False,
) -> None:
    """Score labelled pairs with metrics and say how far each agrees with people.

    assay run quickstart

    assay run --dataset my.csv --columns reference=gold,candidate=answer,label=score -m f1 -m chrf
    """
    import assay

    place = out or _default_folder(suite, dataset)
    with progress_on_stderr(quiet) as progress:
        result = assay.run(
            dataset or [],
            metric or [],
            suite=suite,
            columns=columns,
            graphs=graphs,
            buckets=bucket or [],
            statistics=statistic or [],
            resamples=resamples,
            confidence=confidence,
            group_by=group_by,
            drop_duplicates=drop_duplicates,
            seed=seed,
            limit=limit,
            references=references,  # type: ignore[arg-type]
            language=language,
            out=place,
            fresh=fresh,
            offline=offline,
            device=device,
            threads=threads,
            keep_models=keep_models,
            progress=progress,
        )
    print_report(result, output)
    finish(result.failures, [] if quiet else [f"wrote {place}", *_what_next(result, place)])


def _what_next(result: Result, place: Path) -> list[str]:
    """Return lines on what can be done with the folder; none where no metric gave scores."""
    rows = [row.as_dict() for row in result.outcome.agreement]
    defined = {(row["dataset"], row["metric"]) for row in rows if row["value"] is not None}
    if not rows:
        return []
    run = shlex.quote(str(place))
    page = place / "report.html"
    lines = [f"look at {page}" if page.exists() else f"a page to look at: assay report {run} --out page"]
    if not defined:
        return lines
    several = len({dataset for dataset, _ in defined}) < len(defined)
    verbs = [f"compare {run}"] if several else []
    verbs += [f"errors {run}", f"baseline {run} --out baseline.json"]
    if all(one.pairs.kind != "own" for one in result.outcome.datasets):
        verbs.append(f"run --dataset FILE --columns reference=…,candidate=…,label=…{_metrics_hint(result)}")
    return lines + [f"{'next: ' if not number else '      '}assay {verb}" for number, verb in enumerate(verbs)]


def _metrics_hint(result: Result) -> str:
    """Name the metric with the highest Spearman over the human-labelled pairs: a place to start."""
    rows: list[dict[str, Any]] = [row.as_dict() for row in result.outcome.agreement]
    human = {one.pairs.name for one in result.outcome.datasets if one.pairs.kind not in NOT_BY_PEOPLE}
    values = {
        row["metric"]: row["value"]
        for row in rows
        if row["bucket"] == "all" and row["statistic"] == "spearman" and row["dataset"] in human and row["value"]
    }
    return f" --metric {max(values, key=lambda name: values[name])}" if values else ""


def _default_folder(suite: str | None, datasets: list[str] | None) -> Path:
    subject = Path(suite).stem if suite else Path((datasets or ["run"])[0]).stem.replace(":", "-")
    return Path("runs") / f"{subject}-{datetime.now():%Y%m%d-%H%M%S}"
