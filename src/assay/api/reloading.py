"""The data of a run as its source gives it now."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.api.files import load_scored
from assay.api.rescoring import trust_option
from assay.benchmark.request import Request
from assay.datasets import Pairs, join_graphs, load_card, load_dataset
from assay.datasets.columns import parse_columns
from assay.datasets.files import is_table_file
from assay.errors import AssayError, InputError
from assay.reports.data import ScoredDataset
from assay.reports.manifest import Manifest
from assay.reports.verification import DataNow
from assay.transfer.checksum import sha256_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["reload"]


def reload(data: ScoredDataset, asked: Request, manifest: Manifest, *, trusted: bool) -> tuple[DataNow, Pairs | None]:
    """Load a dataset of a run again, and hold it against what the run used.

    A card is found by its name and version, a file where the run found it, and so are files of graphs; the columns are
    those of the command line that the run recorded.

    Args:
        data: the dataset in the run folder.
        asked: what the run was asked: duplicates and limit choose the rows, graphs belong to them.
        manifest: what else the run recorded.
        trusted: whether a card may be read from a file that the run names; otherwise only registered cards are.

    Returns:
        What became of it, and all its rows; None where it cannot be had.
    """
    facts = data.facts
    source = str(facts["source"])
    path = Path(source)
    own = not facts["version"] and is_table_file(source)
    if not facts["version"] and not own:
        return DataNow(data.name, "not to be had", source, {}, "it was never a file or a dataset with a card"), None
    if own and not path.is_file():
        why = "there is no such file, seen from this folder"
        return DataNow(data.name, "not to be had", source, {}, why), None
    if not own and _card_name(data).endswith(".toml") and not trusted:
        why = f"its card is a file that the run names, and is not read; if you trust it: {trust_option(data.name)}"
        return DataNow(data.name, "not to be had", source, {}, why), None
    lost = next((file for files in asked.graphs.values() for file in files if not Path(file).is_file()), None)
    if lost is not None:
        why = f"there is no such file of graphs, seen from this folder: {lost}"
        return DataNow(data.name, "not to be had", source, {}, why), None
    untouched = own and not asked.graphs and sha256_of(path) == facts["sha256"]
    try:
        pairs = _from_file(data, path, manifest.environment.argv) if own else _from_card(data, asked.offline)
        pairs = join_graphs(pairs, asked.graphs) if asked.graphs else pairs
        return _hold(data, pairs, asked, manifest, source), pairs
    except AssayError as error:
        if untouched:
            return DataNow(data.name, "same", source, {}, f"by its checksum; it could not be read again: {error}"), None
        return DataNow(data.name, "changed" if own else "not to be had", source, {}, str(error)), None


def _card_name(data: ScoredDataset) -> str:
    # two versions or splits in one run have these in their names
    return data.name.partition("@")[0].partition(":")[0]


def _from_card(data: ScoredDataset, offline: bool) -> Pairs:
    card = load_card(_card_name(data), data.facts["version"])
    return load_dataset(card, split=data.facts["split"] or None, offline=offline)


def _from_file(data: ScoredDataset, path: Path, argv: list[str]) -> Pairs:
    # runs of before kept no more than their command line
    columns = data.facts["columns"] or None if "columns" in data.facts else _columns_of(argv)
    if data.facts["split"]:
        return load_dataset(path, columns=columns, split=data.facts["split"])
    pairs, absent = load_scored(path, parse_columns(columns))
    for name in absent:
        # a run of score columns alone has no texts
        if any(any(cell) if isinstance(cell, list) else cell for cell in data.table.column(name).to_pylist()):
            raise InputError(f"{path}: has no column {name!r}, and the run does not say which one it was")
    return pairs


def _columns_of(argv: list[str]) -> str | None:
    """Return what ``--columns`` was, as far as the run recorded its command line."""
    for word, following in pairwise([*argv, ""]):
        if word == "--columns":
            return following
        if word.startswith("--columns="):
            return word.removeprefix("--columns=")
    return None


def _hold(data: ScoredDataset, pairs: Pairs, asked: Request, manifest: Manifest, source: str) -> DataNow:
    used = pairs.drop_duplicates()[0] if asked.drop_duplicates else pairs
    used = used.limit(asked.limit)
    counts = {what: count for what, count in _count_differences(data, used).items() if count}
    if used.digest != data.facts["digest"]:
        says = "" if counts else "the same texts and labels; their order, or annotations, are others"
        return DataNow(data.name, "changed", source, counts, says)
    if counts:
        return DataNow(data.name, "folder changed", source, counts, "the source gives what it gave then")
    then = next((one.other_columns for one in manifest.request.datasets if one.name == data.name), None)
    further = then not in (None, pairs.other_digest)
    return DataNow(data.name, "same", source, {}, "further columns changed" if further else "")


def _count_differences(data: ScoredDataset, now: Pairs) -> dict[str, int]:
    """Count rows that are gone or new, and by column those whose cell is another one."""
    import pyarrow.compute as pc

    then = data.table
    ids = now.table.column("pair_id").combine_chunks()
    place = pc.index_in(then.column("pair_id").combine_chunks(), ids)
    gone = place.null_count
    counts = {"rows gone": gone, "rows new": len(now) - (len(then) - gone)}
    kept = then.filter(pc.is_valid(place))
    rows = pc.drop_null(place)
    for name in then.column_names:
        if name == "pair_id":
            continue
        # what was resampled as a whole stands under one name in every folder
        column = data.facts["group"] if name == "group" and data.facts["group"] else name
        before = _cells(kept.column(name))
        try:
            after = _cells(now.column(column).take(rows))
        except InputError:
            after = [None] * len(before)
        counts[f"other {column}"] = sum(one != other for one, other in zip(before, after, strict=True))
    return counts


def _cells(column: pa.ChunkedArray) -> list[Any]:
    """Return cells in one form, however the source typed them: numbers, lists of gold answers, otherwise text."""
    import pyarrow as pa

    cells: list[Any]
    if pa.types.is_floating(column.type):
        cells = column.to_pylist()
    elif pa.types.is_nested(column.type):
        # one gold answer is as good as a list of one
        cells = [cell[0] if cell and len(cell) == 1 else cell for cell in column.to_pylist()]
    else:
        cells = column.cast(pa.string()).to_pylist()
    return cells
