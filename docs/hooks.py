"""What ``mkdocs build`` adds to the pages in this folder: pages that are generated from assay, never written by hand."""

from __future__ import annotations

from collections.abc import Iterator

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files


def generated_pages() -> Iterator[tuple[str, str]]:
    """Yield the path below docs/ and the Markdown of each generated page."""
    yield from ()


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages to the site."""
    for path, text in generated_pages():
        files.append(File.generated(config, path, content=text))
    return files
