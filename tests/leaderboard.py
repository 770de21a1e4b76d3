"""docs/leaderboard.md: what to use for each task and language, over the atlas, and the best metrics of each dataset.

python -m tests.leaderboard FOLDER

scores a sample of every dataset of the suite ``atlas`` into FOLDER/atlas, unless the run exists there, and writes
docs/leaderboard.md and the tables that ``assay datasets show`` and the cards read. A run that was killed goes on from
its scores. Datasets and models that are unavailable on this machine are left out, and the document lists them.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import assay
from assay.analysis.folder import read_run
from assay.common.numbers import Number
from assay.datasets import field
from assay.datasets.best_metrics import COLUMNS, FILE
from assay.metrics import Batch, load_metric

REPOSITORY = Path(__file__).resolve().parents[1]
DOCUMENT = REPOSITORY / "docs" / "leaderboard.md"
#: Pairs of each dataset.
SAMPLE = 100
METRICS = (
    *("length", "em", "f1", "token-recall", "bleu", "rouge-1", "rouge-2", "rouge-l", "chrf", "chrf:++", "meteor"),
    *("jaccard", "cosine", "levenshtein", "jaro-winkler", "static:models/glove"),
)
#: One coefficient for all datasets, whose intervals take one pass.
SETTINGS = {"by": "spearman", "statistics": ["spearman"], "interval": "influence"}
#: The number of pairs on which the cost of a metric is measured, and of those before, on which its data is loaded.
COSTED, WARMING = 500, 20
#: The intervals of a stress test are not kept.
STRESS_RESAMPLES = 100
#: The least number of datasets for a sentence on pairs without a common word, of which many datasets have few.
MIN_DATASETS = 2


#: Which languages have a row.
OF_LANGUAGES = "Those with several sets; of one set, its highest metric is that of the language."
#: Where the values of each set stand.
OF_SETS = (
    "`assay datasets show NAME` and the card of a dataset name its highest metric and those that are as good; the "
    "table of all sets is `src/assay/datasets/best_metrics.csv`."
)


def score(folder: Path, datasets: tuple[str, ...] = (), metrics: tuple[str, ...] = METRICS) -> Path:
    """Return the run of a sample of each dataset, by default of the suite; an existing one is kept."""
    run = folder / "atlas"
    if not (run / "run.json").is_file():
        chosen = [word for name in datasets for word in ("--dataset", name)] or ["atlas"]
        named = [word for name in metrics for word in ("--metric", name)]
        settings = ["--sample", str(SAMPLE), "--bucket", "f1", "--resamples", "0", "--no-page", "--out", str(run)]
        # some datasets and models may be absent, which is no reason to stop
        subprocess.run([sys.executable, "-m", "assay", "run", *chosen, *named, *settings], check=False)
    return run


def verdicts(run: Path, bucket: str, groupings: Sequence[str]) -> pd.DataFrame:
    """Return the records of ``assay leaderboard --per`` in a bucket."""
    return assay.leaderboard(run, per=groupings, buckets=[bucket], **SETTINGS).records


def best_metrics(run: Path, records: pd.DataFrame) -> pd.DataFrame:
    """Return the best metrics of each dataset: the highest, its value, and those that could be the best, too."""
    splits = {dataset.name: dataset.split for dataset in read_run(run).manifest.datasets}
    rows = []
    for row in records[records["per"] == "dataset"].to_dict("records"):
        if row["highest"] is not None and row["value"] is not None:
            numbers = {
                name: round(row[key], 3) for name, key in (("spearman", "value"), ("low", "low"), ("high", "high"))
            }
            found = {"dataset": row["group"].partition(":")[0], "split": splits[row["group"]], "metric": row["highest"]}
            rows.append({**found, **numbers, "n": row["n"], "as_good": row["as_good"]})
    return pd.DataFrame(rows, columns=list(COLUMNS))


def field_rows(run: Path, best: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the agreement of each metric on each dataset of the run, on all pairs, without intervals.

    Args:
        run: the run.
        best: the table of best metrics.
    """
    could_be_best = set()
    for row in best.to_dict("records"):
        for metric in filter(None, (row["metric"], *row["as_good"].split("; "))):
            could_be_best.add((row["dataset"], row["split"], metric))
    folder = read_run(run)
    speeds = {(one.dataset, one.metric): one.cost.pairs_per_second for one in folder.manifest.metrics}
    rows = []
    for row in folder.agreement:
        if row.bucket != "all" or row.statistic != "spearman":
            continue
        key = (row.dataset.partition(":")[0], row.split, row.metric)
        speed = speeds.get((row.dataset, row.metric))
        rows.append(
            {"dataset": key[0], "split": key[1], "category": "", "metric": row.metric}
            | {"spearman": "" if row.value is None else round(row.value, 3), "low": "", "high": "", "n": row.n}
            | {"could_be_best": "yes" if key in could_be_best else ""}
            | {"pairs_per_second": "" if speed is None else f"{speed:.3g}"}
        )
    return rows


def probe_rows(metrics: Sequence[str]) -> list[dict[str, Any]]:
    """Return the agreement of each metric with the labels of the probe set, by category."""
    settings = {"statistics": ["spearman"], "interval": "influence"}
    table = assay.run(["probe"], metrics, buckets=["subset"], **settings).agreement
    rows = []
    for row in table[table["bucket"].str.startswith("subset=")].to_dict("records"):
        category = row["bucket"].removeprefix("subset=")
        numbers = {"spearman": "value", "low": "low", "high": "high"}
        rounded = {name: "" if pd.isna(row[key]) else round(row[key], 3) for name, key in numbers.items()}
        where = {"dataset": "probe", "split": "", "category": category, "metric": row["metric"]}
        rows.append(where | rounded | {"n": row["n"], "could_be_best": "", "pairs_per_second": ""})
    return rows


def stress_rows(metrics: Sequence[str]) -> list[dict[str, Any]]:
    """Return how often each change of the pairs of the probe set fools each metric."""
    table = assay.stress(["probe"], metrics=metrics, resamples=STRESS_RESAMPLES).records
    rows = []
    for row in table[table["fooled"].notna()].to_dict("records"):
        rows.append({name: row[name] for name in field.STRESS_COLUMNS} | {"fooled": round(row["fooled"], 3)})
    return rows


def costs(run: Path, metrics: Sequence[str] = METRICS) -> dict[str, float]:
    """Return the CPU seconds of each metric for 1,000 pairs, on texts of all datasets of a run, as many of each.

    CPU time, unlike the speeds in the run, depends little on what else the machine does, nor on stored scores.
    """
    pairs = pd.read_parquet(run / "pairs.parquet", columns=["reference", "candidate"])
    chosen = pairs.iloc[:: max(1, len(pairs) // COSTED)]
    references = [text if isinstance(text, str) else text[0] for text in chosen["reference"]]
    batch = Batch(references, chosen["candidate"].tolist())
    seconds = {}
    for name in metrics:
        metric = load_metric(name)
        metric.check_available()
        metric.score(batch.take(range(min(WARMING, len(batch)))))
        start = time.process_time()
        metric.score(batch)
        seconds[name] = (time.process_time() - start) * 1000 / len(batch)
    return seconds


def cost_lines(seconds: dict[str, float], table: pd.DataFrame) -> Iterator[str]:
    """Yield the lines of the table of metrics: their cost, and on how many datasets they are or could be the best.

    Args:
        seconds: the CPU seconds for 1,000 pairs by metric.
        table: the best metrics of each dataset.
    """
    as_good = table["as_good"].fillna("").str.split("; ")
    yield from (
        "",
        "## For each metric",
        "",
        "| metric | CPU seconds for 1,000 pairs | highest on | could be the best on |",
    )
    yield "|---|---:|---:|---:|"
    for name in sorted(seconds, key=lambda name: seconds[name]):
        highest = table["metric"] == name
        could_be = highest | as_good.map(lambda names, name=name: name in names)
        yield f"| `{name}` | {seconds[name]:.2g} | {highest.sum()} | {could_be.sum()} |"


def lines(run: Path, records: pd.DataFrame, apart: pd.DataFrame, of_metrics: Sequence[str] = ()) -> Iterator[str]:
    """Yield the lines of the document.

    Args:
        run: the run.
        records: what to use for each group on all pairs.
        apart: what to use for each task on pairs without a common word.
        of_metrics: the lines of the table of metrics.
    """
    # the text above the first table is written by hand
    yield DOCUMENT.read_text(encoding="utf-8").partition("\n## For each task")[0].rstrip()
    of_group = dict(iter(records.groupby("per")))
    yield from ("", "## For each task", "", *map(item, of_group["task"]["sentence"]))
    sentences = apart[(apart["datasets"] >= MIN_DATASETS) & apart["highest"].notna()]["sentence"]
    yield from ("", "## Where no word is in common", "", *map(item, sentences))
    yield from of_metrics
    yield from ("", "## For each family of languages", "", *map(item, of_group["family"]["sentence"]))
    yield from ("", "## For each language", "", OF_LANGUAGES, "")
    yield from ("| language | sets | highest | Spearman ρ |", "|---|---:|---|---:|")
    languages = of_group["language"]
    for row in languages[languages["datasets"] > 1].to_dict("records"):
        yield f"| {row['group']} | {row['datasets']} | {named(row['highest'])} | {value(row)} |"
    yield from ("", "## For each set", "", OF_SETS)
    failures = read_run(run).manifest.failures
    if failures:
        yield from ("", "## Unavailable", "", *(item(failure.partition(": ")[0]) for failure in failures))


def value(row: dict[str, Any]) -> str:
    """Return the value of a record with its interval."""
    return Number(*(None if pd.isna(row[key]) else row[key] for key in ("value", "low", "high"))).text


def named(metric: str | None) -> str:
    """Return the name of a metric as code; a dash without one."""
    return "–" if metric is None else f"`{metric}`"


def item(text: str) -> str:
    """Return a text as an item of a list."""
    return f"- {text}"


def main(folder: Path) -> None:
    """Score what the folder lacks, and write the document and the table of best metrics."""
    run = score(folder)
    records, apart = verdicts(run, "all", ("task", "family", "language", "dataset")), verdicts(run, "f1=0", ("task",))
    table = best_metrics(run, records)
    text = "\n".join(lines(run, records, apart, list(cost_lines(costs(run), table)))) + "\n"
    DOCUMENT.write_text(text, encoding="utf-8")
    package = REPOSITORY / "src" / "assay" / "datasets"
    table.to_csv(package / FILE, index=False, lineterminator="\n")
    agreement = pd.DataFrame([*field_rows(run, table), *probe_rows(METRICS)], columns=list(field.AGREEMENT_COLUMNS))
    agreement.to_csv(package / field.AGREEMENT_FILE, index=False, lineterminator="\n")
    stress = pd.DataFrame(stress_rows(METRICS), columns=list(field.STRESS_COLUMNS))
    stress.to_csv(package / field.STRESS_FILE, index=False, lineterminator="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
