"""docs/leaderboard-answers.md: every free metric on every available dataset, by bucket, with its speed.

python -m tests.leaderboard_answers FOLDER

scores docs/leaderboard-answers.toml and docs/leaderboard-answers-large.toml into FOLDER, unless the runs exist there,
and writes docs/leaderboard-answers.md and the page FOLDER/page/index.html. Datasets and models that are unavailable on
this machine are left out, and the document lists them.
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

import assay
from assay.analysis.folder import read_run
from assay.common.numbers import short

REPOSITORY = Path(__file__).resolve().parents[1]
DOCUMENT = REPOSITORY / "docs" / "leaderboard-answers.md"
SUITES = (DOCUMENT.with_name("leaderboard-answers.toml"), DOCUMENT.with_name("leaderboard-answers-large.toml"))
#: Buckets are columns.
BUCKETS = ("all", "f1=0", "f1>0")
#: The coefficient of a dataset whose labels have two values, and of all others.
STATISTICS = {"evouna-tq": "auc"}
OTHERS = "spearman"
TITLES = {"auc": "AUC", "spearman": "Spearman ρ"}


def records_of(run: Path, dataset: str) -> pd.DataFrame:
    """Return the records of ``assay leaderboard`` for a dataset of a run."""
    by = STATISTICS.get(dataset.partition("@")[0], OTHERS)
    board = assay.leaderboard(run, datasets=[dataset], buckets=BUCKETS, statistics=[by], by=by)
    return board.records


def cell(record: pd.Series, by: str) -> str:
    """Return a coefficient with its interval, bold where the metric could be the best; a dash where it is undefined.

    A dagger marks an interval that is too narrow, since few pairs differ in score or label.
    """
    if math.isnan(record[by]):
        return "–"
    value, low, high = (short(record[key], digits) for key, digits in ((by, 3), (f"{by}_low", 2), (f"{by}_high", 2)))
    text = f"{value} [{low}, {high}]{' †' if record['rare'] else ''}"
    return f"**{text}**" if record["could_be_best"] in (True, 1) else text


def table(records: pd.DataFrame) -> Iterator[str]:
    """Yield the lines of a dataset's table: one row per metric, the best on all pairs first."""
    by = records["by"].iloc[0]
    in_bucket = {bucket: part.set_index("metric") for bucket, part in records.groupby("bucket", sort=False)}
    buckets = [bucket for bucket in BUCKETS if bucket in in_bucket]
    sizes = {bucket: int(in_bucket[bucket]["n"].max()) for bucket in buckets}
    yield f"| {TITLES[by]} | " + " | ".join(f"{bucket} (n = {sizes[bucket]:,})" for bucket in buckets) + " | pairs/s |"
    yield "|---|" + "---:|" * (len(buckets) + 1)
    for metric, first in in_bucket[buckets[0]].sort_values(by, ascending=False, na_position="last").iterrows():
        cells = [cell(in_bucket[bucket].loc[metric], by) for bucket in buckets]
        speed = first["pairs_per_second"]
        cells.append("–" if speed is None or math.isnan(speed) else f"{speed:,.0f}")
        yield f"| `{metric}` | " + " | ".join(cells) + " |"


def lines(runs: Sequence[Path]) -> Iterator[str]:
    """Yield the lines of the document."""
    # the text above the first dataset is written by hand
    yield DOCUMENT.read_text(encoding="utf-8").partition("\n## ")[0].rstrip()
    failures: dict[str, None] = {}
    for run in runs:
        manifest = read_run(run).manifest
        failures |= dict.fromkeys(manifest.failures)
        for dataset in manifest.datasets:
            yield from ("", f"## {dataset.name}", "", *table(records_of(run, dataset.name)))
    if failures:
        yield from ("", "## Unavailable", "", *[f"- {line}" for line in failures])


def main(folder: Path) -> None:
    """Score what the folder lacks, and write the document and the page."""
    runs = [folder / suite.stem for suite in SUITES]
    for suite, run in zip(SUITES, runs, strict=True):
        if not (run / "run.json").is_file():
            # some datasets and models may be absent, which is no reason to stop
            subprocess.run([sys.executable, "-m", "assay", "run", str(suite), "--out", str(run)], check=False)
    DOCUMENT.write_text("\n".join(lines(runs)) + "\n", encoding="utf-8")
    assay.report(runs, folder / "page")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
