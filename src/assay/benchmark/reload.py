"""Reloading of the data of a run from its source, for ``verify``, and what may be opened of what a run names."""

from __future__ import annotations

from dataclasses import fields
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.analysis.data import ScoredDataset
from assay.analysis.verify import ReloadedData
from assay.benchmark.request import Request
from assay.common.addresses import is_address
from assay.common.messages import Message, Setting
from assay.datasets import Pairs, join_graphs, load_card, load_dataset
from assay.datasets.files import digest_of_files, is_table_file
from assay.datasets.reading import Reading
from assay.datasets.scored import load_scored_pairs
from assay.exceptions import AssayError, InputError
from assay.manifest import Manifest
from assay.paths import path_exists

if TYPE_CHECKING:
    import pyarrow as pa


def reload_dataset(
    data: ScoredDataset, request: Request, manifest: Manifest, *, trusted: bool
) -> tuple[ReloadedData, Pairs | None]:
    """Load a dataset of a run from its source again, and compare it with the pairs that the run used.

    A card is found by its name and version; data files and graph files are read from the paths in the run. Columns are
    read as the run recorded them.

    Args:
        data: the dataset in the run folder.
        request: the settings of the run; they select the rows and name the graph files.
        manifest: the manifest of the run.
        trusted: whether a card may be read from a file that the run names, and a link be followed; otherwise only
            registered cards and files that are no links are read.

    Returns:
        The result of the comparison, and all pairs of the source; None if the source is unavailable or cannot be read,
        for which the result has the reason.
    """
    facts = data.facts
    source = facts.source
    reason = _reason_not_to_reload(data, request, trusted=trusted)
    if reason:
        return ReloadedData(data.name, "unavailable", source, {}, reason), None
    # absolute, so that nothing in it is read as a home folder, as standard input or as NAME=FILE
    path = Path(source).absolute()
    is_own_file = not facts.version
    is_untouched = is_own_file and not request.graphs and digest_of_files(path) == facts.sha256
    try:
        if is_own_file:
            pairs = _load_from_file(data, path, manifest.environment.argv)
        else:
            card = load_card(_card_name(data), data.facts.version)
            pairs = load_dataset(card, split=data.facts.split or None, offline=request.offline)
        if request.graphs:
            pairs = join_graphs(pairs, request.graphs)
        return _compare_with_stored(data, pairs, request, manifest, source), pairs
    except AssayError as error:
        if is_untouched:
            note = Message("by its checksum; it could not be read again: ", error.message)
            return ReloadedData(data.name, "same", source, {}, note), None
        return ReloadedData(data.name, "changed" if is_own_file else "unavailable", source, {}, error.message), None


def _reason_not_to_reload(data: ScoredDataset, request: Request, *, trusted: bool) -> str:
    """Return the reason why a dataset of a run is not loaded again; empty if it can be loaded.

    Args:
        data: the dataset in the run folder.
        request: the settings of the run, which name the graph files.
        trusted: whether a card, or the target of a link, may be read from a file that the run names.
    """
    source = data.facts.source
    if not data.facts.version:
        if not is_table_file(source):
            return "it was never a file or a dataset with a card"
        if not path_exists(Path(source)):
            if is_address(source):
                return "it came from an address, which is not read again"
            return "there is no such file, seen from this folder"
        reason = reason_not_to_open(source, data.name, trusted=trusted)
        if reason:
            return reason
    elif _card_name(data).endswith(".toml") and not trusted:
        return f"its card is a file that the run names, and is not read; if you trust it: {trust_option(data.name)}"
    for graph_files in request.graphs.values():
        for file in graph_files:
            if not (path_exists(file) and Path(file).is_file()):
                return f"there is no such file of graphs, seen from this folder: {file}"
            reason = reason_not_to_open(str(file), data.name, trusted=trusted)
            if reason:
                return reason
    return ""


def _card_name(data: ScoredDataset) -> str:
    # if a run has several versions or splits of a card, its datasets are called NAME@VERSION or NAME:SPLIT
    return data.name.partition("@")[0].partition(":")[0]


def _load_from_file(data: ScoredDataset, path: Path, argv: list[str]) -> Pairs:
    """Return the pairs of a file, read with the columns and the split of the run.

    Args:
        data: the dataset in the run folder.
        path: the path of the file.
        argv: the command line of the run, for runs that did not record how their columns were read.

    Raises:
        InputError: the file cannot be read, or lacks a text column whose texts the run used.
    """
    facts = data.facts
    # older runs recorded only their command line
    has_columns = "columns" in facts.model_fields_set
    columns = (facts.columns or None) if has_columns else _columns_option(argv)
    settings = {field.name: getattr(facts, field.name) for field in fields(Reading)}
    reading = Reading(**settings | {"columns": columns})
    if facts.split:
        return load_dataset(path, **vars(reading), split=facts.split)
    pairs, missing_columns = load_scored_pairs(path, reading)
    for column_name in missing_columns:
        # a run of recorded scores may have had no texts either: its cells are empty, or lists of empty gold answers
        cells = data.table.column(column_name).to_pylist()
        texts = chain.from_iterable(cell if isinstance(cell, list) else [cell] for cell in cells)
        if any(texts):
            raise InputError(f"{path}: has no column {column_name!r}, and the run does not say which one it was")
    return pairs


def _columns_option(argv: list[str]) -> str | None:
    """Return the value of ``--columns`` on a command line; None if it has no such option."""
    for word, following in pairwise([*argv, ""]):
        if word == "--columns":
            return following
        if word.startswith("--columns="):
            return word.removeprefix("--columns=")
    return None


def _compare_with_stored(
    data: ScoredDataset, pairs: Pairs, request: Request, manifest: Manifest, source: str
) -> ReloadedData:
    """Return whether the data is the same, was changed at its source, or was changed in the run folder.

    Args:
        data: the dataset in the run folder.
        pairs: all pairs of the source as it is now.
        request: the settings of the run, which select the rows.
        manifest: the manifest of the run, with the digests of the data.
        source: the origin of the data, for the result.

    Raises:
        InputError: the source lacks the group column.
    """
    used_pairs, _ = request.choose_rows(pairs)
    counts = {description: count for description, count in _count_differences(data, used_pairs).items() if count}
    if not used_pairs.has_digest(data.facts.digest):
        note = "" if counts else "the same texts and labels; their order, or annotations, are others"
        return ReloadedData(data.name, "changed", source, counts, note)
    if counts:
        return ReloadedData(data.name, "folder changed", source, counts, "the source has the same content as then")
    recorded_digest = next(
        (record.other_columns for record in manifest.request.datasets if record.name == data.name), None
    )
    has_changed = recorded_digest not in (None, pairs.other_columns_digest)
    return ReloadedData(data.name, "same", source, {}, "further columns changed" if has_changed else "")


def _count_differences(data: ScoredDataset, reloaded: Pairs) -> dict[str, int]:
    """Return the number of removed rows, of new rows, and of changed cells in each column, by description.

    All cells with contents count as changed in a column that the source no longer has.

    Args:
        data: the dataset in the run folder.
        reloaded: the pairs that the run would use now; rows are matched by ``pair_id``.
    """
    import pyarrow.compute as pc

    recorded = data.table
    ids = reloaded.table.column("pair_id").combine_chunks()
    row_indices = pc.index_in(recorded.column("pair_id").combine_chunks(), ids)
    missing_row_count = row_indices.null_count
    counts = {"rows gone": missing_row_count, "rows new": len(reloaded) - (len(recorded) - missing_row_count)}
    kept_rows = recorded.filter(pc.is_valid(row_indices))
    rows = pc.drop_null(row_indices)
    for name in recorded.column_names:
        if name == "pair_id":
            continue
        # in a run folder the group column is always called group
        column = data.facts.group if name == "group" and data.facts.group else name
        if column not in reloaded.table.column_names and kept_rows.column(name).null_count == len(kept_rows):
            # a column of another dataset of the run
            continue
        stored_cells = _comparable_cells(kept_rows.column(name))
        try:
            reloaded_cells = _comparable_cells(reloaded.column(column).take(rows))
        except InputError:
            reloaded_cells = [None] * len(stored_cells)
        cell_pairs = zip(stored_cells, reloaded_cells, strict=True)
        counts[f"other {column}"] = sum(stored != current for stored, current in cell_pairs)
    return counts


def _comparable_cells(column: pa.ChunkedArray) -> list[Any]:
    """Return cells in a form that does not depend on the source's types: floats, text, or lists of more than one item.

    An empty list stays one; None stands for an empty cell.
    """
    import pyarrow as pa

    is_plain = pa.types.is_floating(column.type) or pa.types.is_nested(column.type)
    cells: list[Any] = (column if is_plain else column.cast(pa.string())).to_pylist()
    # a single gold answer equals a list of one
    return [cell[0] if isinstance(cell, list) and len(cell) == 1 else cell for cell in cells]


def reason_not_to_open(file: str | Path, dataset: str, *, trusted: bool) -> str:
    """Return the reason why a file that a run names is not opened; empty if it may be.

    A pipe or a device would block or have no end. A link leads to another file than the run names: the link and its
    target may both come from somebody else, or the target from the user, who would not want it to be read. In a
    relative path a folder may be the link as well.

    Args:
        file: the path, which exists.
        dataset: the name of the dataset or metric, for the option in the reason.
        trusted: whether links are followed.
    """
    path = Path(file)
    if not (path.is_file() or path.is_dir()):
        return f"{file} is a pipe, a device or a socket, not a file"
    steps = [path] if path.is_absolute() else [path, *path.parents]
    link = next((step for step in steps if step.is_symlink()), None)
    if link is not None and not trusted:
        return f"{link} is a link to another file, and is not followed; if you trust it: {trust_option(dataset)}"
    return ""


def trust_option(name: str) -> str:
    """Return the option of ``assay verify`` that trusts a metric or dataset, quoted for a shell."""
    return Setting("trust", name).with_flag({})
