"""The contents of the cache, and the removal of parts of it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.benchmark.embeddings import default_embeddings
from assay.benchmark.store import default_store
from assay.common.kept import default_results
from assay.exceptions import InputError, unknown_name
from assay.metrics.judge.replies import reply_store_path
from assay.paths import cache_dir

#: Kinds of files in the cache, each with a description and the consequence of removing them.
KINDS = {
    "scores": "scores of earlier runs; computed anew",
    "results": "pairs of datasets as they were read, agreement and comparisons of earlier runs; computed anew",
    "embeddings": "embeddings of texts of tasks; computed anew",
    "replies": "replies of judges at endpoints; paid for anew",
    "models": "models that were downloaded",
    "datasets": "datasets that were downloaded",
    "converted": "models converted for other backends; converted anew",
    "vectors": "word vectors in binary form; read anew",
    "corpora": "word frequencies of BERTScore; counted anew",
    "crossval": "scores of models trained on folds; trained anew",
    "sent": "models and files that the driver of a cluster sent; sent anew",
    "targets": "scores that trainings aim at; computed anew",
    "unfinished": "downloads that did not end",
}
SECONDS_PER_DAY = 86_400


@dataclass(frozen=True)
class CacheEntry:
    """One kind of files in the cache.

    Attributes:
        kind: a key of :data:`KINDS`.
        paths: the files and folders of that kind.
        files: the number of files in them.
        size: the total size of the files in bytes.
        newest: the time of the last write, in seconds since 1970; None if there are no files.
    """

    kind: str
    paths: tuple[Path, ...]
    files: int
    size: int
    newest: float | None


def list_cache() -> list[CacheEntry]:
    """Return the contents of the cache, in the order of :data:`KINDS`; a kind without files has an entry, too."""
    return [_cache_entry(kind, [path for part in _parts_of_kind(kind) for path in part]) for kind in KINDS]


def prune_cache(kinds: Sequence[str], *, older_than: float = 0.0, dry_run: bool = False) -> list[CacheEntry]:
    """Remove the files of some kinds from the cache, and return what was removed, one entry per requested kind.

    Args:
        kinds: keys of :data:`KINDS`, or ``all``.
        older_than: the minimum number of days since the last write to a file or folder, which is removed or kept as a
            whole, such as the file with the scores of all runs; 0 to remove all.
        dry_run: whether to remove nothing and only return what would be removed.

    Raises:
        InputError: an unknown kind, or a negative age.
        OSError: a file cannot be removed.
    """
    for kind in kinds:
        if kind not in (*KINDS, "all"):
            raise InputError(unknown_name("the cache has no kind", kind, ["all", *KINDS]))
    if older_than < 0:
        raise InputError("must be 0 days or more", setting="older_than", value=f"{older_than:g}")
    cutoff_time = time.time() - older_than * SECONDS_PER_DAY
    removed = []
    for kind in KINDS if "all" in kinds else dict.fromkeys(kinds):
        old_parts = [part for part in _parts_of_kind(kind) if max(map(_latest_write_time, part)) <= cutoff_time]
        paths = [path for part in old_parts for path in part]
        removed.append(_cache_entry(kind, paths))
        if not dry_run:
            for path in paths:
                _remove_path(path)
    return removed


def _parts_of_kind(kind: str) -> list[list[Path]]:
    """Return the parts of a kind, each a list of files and folders that are removed or kept together."""
    folder = cache_dir()
    stores = {
        "scores": default_store(),
        "results": default_results(),
        "embeddings": default_embeddings(),
        "replies": reply_store_path(),
    }
    if kind in stores:
        # a database has files beside it, of which the log holds what was written last
        store = stores[kind]
        files = sorted(store.parent.glob(f"{store.name}*"))
        return [files] if files else []
    if kind == "unfinished":
        return [[path] for path in sorted([*folder.glob("wheel-*"), *folder.rglob("*.part")])]
    # models and datasets have one more level of folders: models are in the folder of their hub, and each version of a
    # dataset is in the folder of the dataset
    pattern = "*/*" if kind in ("models", "datasets") else "*"
    return [[path] for path in sorted((folder / kind).glob(pattern)) if path.suffix != ".part"]


def _cache_entry(kind: str, paths: Sequence[Path]) -> CacheEntry:
    """Return the entry of a kind for some of its paths, with the number and the size of the files below them."""
    files = [file for path in paths for file in _files_below(path)]
    sizes = [file.stat().st_size for file in files]
    newest = max((_latest_write_time(path) for path in paths), default=None)
    return CacheEntry(kind, tuple(paths), len(files), sum(sizes), newest)


def _files_below(path: Path) -> list[Path]:
    """Return the files at or below a path; a link counts only as the path itself, and unfinished files do not count."""
    if path.is_symlink() or not path.is_dir():
        return [path]
    return [file for file in path.rglob("*") if file.is_file() and not file.is_symlink() and file.suffix != ".part"]


def _latest_write_time(path: Path) -> float:
    """Return the time of the last write to a file at or below a path, in seconds since 1970.

    Unfinished files do not count. If there is no file, it is the time of the path itself.
    """
    write_times = [file.lstat().st_mtime for file in _files_below(path)]
    return max(write_times, default=path.lstat().st_mtime)


def _remove_path(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
