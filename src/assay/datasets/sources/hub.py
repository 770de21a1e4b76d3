"""A dataset repository of the Hugging Face hub, through huggingface_hub."""

from __future__ import annotations

from pathlib import Path

from assay.datasets.card import FileEntry, SourceEntry
from assay.datasets.sources.archives import store
from assay.datasets.sources.base import Context, SourceMiss
from assay.transfer.download import disk_errors

__all__ = ["from_hub"]


def from_hub(source: SourceEntry, entry: FileEntry, context: Context) -> Path:
    """Fetch a file at a pinned revision; the hub's own cache keeps it, the copy in assay's cache is checked."""
    context.need_network()
    try:
        from huggingface_hub import hf_hub_download
    except ImportError:
        raise SourceMiss('needs the package huggingface_hub: pip install "assay[hf]"') from None
    if context.progress is not None:
        context.progress(entry.name, 0, entry.bytes)
    target = context.cache_path(entry.name)
    with disk_errors(target):
        try:
            found = hf_hub_download(
                repo_id=source.repo,
                filename=source.path_of(entry.name),
                repo_type="dataset",
                revision=source.revision,
                cache_dir=str(context.cache_path(".hub")),
            )
        except Exception as error:
            if isinstance(error, OSError) and error.errno is not None and "space" in str(error):
                raise
            line = next((part.strip() for part in str(error).splitlines() if part.strip()), "")
            raise SourceMiss(f"{type(error).__name__}: {line}") from None
        return store(Path(found).read_bytes(), target, entry)
