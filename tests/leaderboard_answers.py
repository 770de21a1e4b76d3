"""docs/leaderboard-answers.md: every free metric on every available dataset, by bucket, with its speed.

python -m tests.leaderboard_answers FOLDER

scores docs/leaderboard-answers.toml and docs/leaderboard-answers-large.toml into FOLDER, unless the runs exist there,
and writes docs/leaderboard-answers.csv, docs/leaderboard-answers.md and the page FOLDER/page/index.html. Datasets and
models that are unavailable on this machine are left out, and printed.
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

import assay
from assay.analysis.folder import read_run

REPOSITORY = Path(__file__).resolve().parents[1]
DOCUMENT = REPOSITORY / "docs" / "leaderboard-answers.md"
TABLE = DOCUMENT.with_suffix(".csv")
SUITES = (DOCUMENT.with_name("leaderboard-answers.toml"), DOCUMENT.with_name("leaderboard-answers-large.toml"))
#: Buckets are columns.
BUCKETS = ("all", "f1=0", "f1>0")
#: The coefficient of a dataset whose labels have two values, and of all others.
STATISTICS = {"evouna-tq": "auc"}
OTHERS = "spearman"
TITLES = {"auc": "AUC", "spearman": "ρ"}
#: The buckets of the document; the table has all.
SHOWN = ("all", "f1=0")
#: How many metrics that could be the best are named.
NAMED = 3


def records_of(run: Path, dataset: str) -> pd.DataFrame:
    """Return the records of ``assay leaderboard`` for a dataset of a run."""
    by = STATISTICS.get(dataset.partition("@")[0], OTHERS)
    board = assay.leaderboard(run, datasets=[dataset], buckets=BUCKETS, statistics=[by], by=by)
    return board.records


def rows_of(records: pd.DataFrame, dataset: str) -> Iterator[dict[str, object]]:
    """Yield the lines of a dataset in the table: one for each bucket and metric, the best on all pairs first.

    A value, with the bounds of its interval, is empty where the coefficient is undefined.
    """
    by = records["by"].iloc[0]
    in_bucket = {bucket: part.set_index("metric") for bucket, part in records.groupby("bucket", sort=False)}
    buckets = [bucket for bucket in BUCKETS if bucket in in_bucket]
    best_first = in_bucket[buckets[0]].sort_values(by, ascending=False, na_position="last")
    for metric, speed in best_first["pairs_per_second"].items():
        for bucket in buckets:
            record = in_bucket[bucket].loc[metric]
            shown = not math.isnan(record[by])
            yield {
                "dataset": dataset,
                "bucket": bucket,
                "n": int(in_bucket[bucket]["n"].max()),
                "metric": metric,
                "statistic": by,
                "value": f"{record[by]:.3f}" if shown else "",
                "low": f"{record[f'{by}_low']:.2f}" if shown else "",
                "high": f"{record[f'{by}_high']:.2f}" if shown else "",
                "could_be_best": "yes" if shown and record["could_be_best"] in (True, 1) else "",
                "rare": "yes" if shown and record["rare"] else "",
                "pairs_per_second": "" if speed is None or math.isnan(speed) else f"{speed:.0f}",
            }


def lines(rows: Sequence[Mapping[str, object]]) -> Iterator[str]:
    """Yield the lines of the document: for each dataset and bucket the highest metric, and those that could be best."""
    # the text above the table is written by hand
    yield DOCUMENT.read_text(encoding="utf-8").partition("\n| dataset |")[0]
    yield "| dataset | bucket | n | highest | | could be the best as well |"
    yield "|---|---|---:|---|---:|---|"
    table = pd.DataFrame(rows)
    for (dataset, bucket), part in table[table["bucket"].isin(SHOWN)].groupby(["dataset", "bucket"], sort=False):
        candidates = part[(part["value"] != "") & (part["rare"] == "")]
        candidates = candidates.sort_values(
            "value", key=lambda values: values.astype(float), ascending=False, kind="stable"
        )
        if candidates.empty:
            continue
        best = candidates.iloc[0]
        others = [f"`{metric}`" for metric in candidates["metric"][1:][candidates["could_be_best"][1:] == "yes"]]
        named = ", ".join(others[:NAMED]) + (f" and {len(others) - NAMED} more" if len(others) > NAMED else "")
        value = f"{TITLES[best['statistic']]} {best['value']} [{best['low']}, {best['high']}]".replace("0.", ".")
        yield f"| {dataset} | {bucket} | {int(best['n']):,} | `{best['metric']}` | {value} | {named} |"


def main(folder: Path) -> None:
    """Score what the folder lacks, and write the document and the page."""
    runs = [folder / suite.stem for suite in SUITES]
    for suite, run in zip(SUITES, runs, strict=True):
        if not (run / "run.json").is_file():
            # some datasets and models may be absent, which is no reason to stop
            subprocess.run([sys.executable, "-m", "assay", "run", str(suite), "--out", str(run)], check=False)
    rows: list[dict[str, object]] = []
    for run in runs:
        manifest = read_run(run).manifest
        for failure in manifest.failures:
            print(failure, file=sys.stderr)
        for dataset in manifest.datasets:
            rows += rows_of(records_of(run, dataset.name), dataset.name)
    pd.DataFrame(rows).to_csv(TABLE, index=False)
    DOCUMENT.write_text("\n".join(lines(rows)) + "\n", encoding="utf-8")
    assay.report(runs, folder / "page")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
