"""What stands in a run folder twice, or that its manifest does not know: the mark of a file changed by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from assay.errors import InputError
from assay.reports.folder import RunFolder

__all__ = ["check_strays"]


def check_strays(run: RunFolder, folder: Path) -> None:
    """Raise where the files of a folder speak of other datasets or metrics than ``run.json``.

    Readers pass over what the manifest does not name, so that a number which was put in, or one whose metric was taken
    out, would never be looked at.

    Args:
        run: as read from *folder*.
        folder: its tables are such that :func:`assay.reports.data.read_datasets` could read them.

    Raises:
        InputError: ``run.json`` has a dataset, or a metric of one, twice; another file has rows of a dataset, split or
            metric of which it has no scores.
    """
    datasets, statuses = run.manifest["datasets"], run.manifest["metrics"]
    _refuse(run, "run.json lists {} twice", _repeated(one["name"] for one in datasets))
    _refuse(run, "run.json lists {} twice", _repeated(_of(one["metric"], one["dataset"]) for one in statuses))
    splits = {one["name"]: one["split"] for one in datasets}
    done = {(one["dataset"], one["metric"]) for one in statuses if one["status"] == "done"}

    rows = {(row["dataset"], row["split"], row["metric"]) for row in run.agreement}
    unknown = {dataset for dataset, _, _ in rows} - set(splits)
    _refuse(run, "agreement.json has rows of {}, of which run.json knows nothing", unknown)
    unknown = {f"{dataset}, split {split!r}" for dataset, split, _ in rows if split != splits[dataset]}
    _refuse(run, "agreement.json has rows of {}, of which run.json knows nothing", unknown)
    unknown = {_of(metric, dataset) for dataset, _, metric in rows if (dataset, metric) not in done}
    _refuse(run, "agreement.json has rows of {}, of which run.json has no scores", unknown)

    unknown = {dataset for (dataset,) in _held(folder / "pairs.parquet", "dataset")} - set(splits)
    _refuse(run, "pairs.parquet has pairs of {}, of which run.json knows nothing", unknown)
    scored = _held(folder / "scores.parquet", "dataset", "metric")
    unknown = {_of(metric, dataset) for dataset, metric in scored if (dataset, metric) not in done}
    _refuse(run, "scores.parquet has scores of {}, of which run.json has none", unknown)


def _refuse(run: RunFolder, said: str, names: Iterable[str]) -> None:
    if found := sorted(names):
        raise InputError(f"{run.title}: {said.format(', '.join(found))}: the folder was changed; run it again")


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def _of(metric: str, dataset: str) -> str:
    return f"{metric} on {dataset}"


def _held(file: Path, *columns: str) -> set[tuple[str, ...]]:
    """Return which combinations of names stand in these columns of a table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not set(columns) <= set(pq.read_schema(file).names):
        # a run without pairs has tables without columns
        return set()
    table = pq.read_table(file, columns=list(columns))
    # names that repeat are a dictionary, which cannot be grouped over several parts
    table = table.cast(pa.schema([(column, pa.string()) for column in columns]))
    found = table.group_by(list(columns)).aggregate([]).to_pylist()
    return {tuple(str(row[column]) for column in columns) for row in found}
