"""docs/leaderboard.md: what to use for each task and language, over the atlas, and the best metrics of each dataset.

python -m tests.leaderboard FOLDER

scores a sample of every dataset of the suite ``atlas`` into FOLDER/atlas, unless the run exists there, and writes
docs/leaderboard.md and the table that ``assay datasets show`` reads. A run that was killed goes on from its scores.
Datasets and models that are unavailable on this machine are left out, and the document lists them.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import assay
from assay.analysis.folder import read_run
from assay.common.numbers import Number
from assay.datasets.best_metrics import COLUMNS, FILE

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
#: The least number of datasets for a sentence on pairs without a common word, of which many datasets have few.
MIN_DATASETS = 2


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


def lines(run: Path, records: pd.DataFrame, apart: pd.DataFrame) -> Iterator[str]:
    """Yield the lines of the document.

    Args:
        run: the run.
        records: what to use for each group on all pairs.
        apart: what to use for each task on pairs without a common word.
    """
    # the text above the first table is written by hand
    yield DOCUMENT.read_text(encoding="utf-8").partition("\n## For each task")[0].rstrip()
    of_group = dict(iter(records.groupby("per")))
    yield from ("", "## For each task", "", *map(item, of_group["task"]["sentence"]))
    sentences = apart[(apart["datasets"] >= MIN_DATASETS) & apart["highest"].notna()]["sentence"]
    yield from ("", "## Where no word is in common", "", *map(item, sentences))
    yield from ("", "## For each family of languages", "", *map(item, of_group["family"]["sentence"]))
    yield from ("", "## For each language", "", "| language | sets | highest | Spearman ρ |", "|---|---:|---|---:|")
    for row in of_group["language"].to_dict("records"):
        yield f"| {row['group']} | {row['datasets']} | {named(row['highest'])} | {value(row)} |"
    yield from (
        "",
        "## For each set",
        "",
        "| set | pairs | highest | Spearman ρ | as good |",
        "|---|---:|---|---:|---|",
    )
    for row in of_group["dataset"].to_dict("records"):
        yield f"| {row['group']} | {row['n']} | {named(row['highest'])} | {value(row)} | {row['as_good'] or '–'} |"
    failures = read_run(run).manifest.failures
    if failures:
        yield from ("", "## Unavailable", "", *map(item, failures))


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
    text = "\n".join(lines(run, records, apart)) + "\n"
    DOCUMENT.write_text(text, encoding="utf-8")
    table = best_metrics(run, records)
    table.to_csv(REPOSITORY / "src" / "assay" / "datasets" / FILE, index=False, lineterminator="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
