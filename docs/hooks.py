"""What ``mkdocs build`` adds to the pages in this folder: pages that are generated from assay, never written by hand."""

from __future__ import annotations

from collections.abc import Iterator

from assay.api.cards import markdown_table, metric_card
from assay.api.dataset_cards import dataset_card
from assay.datasets import list_datasets
from assay.metrics import list_metrics
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files


def generated_pages() -> Iterator[tuple[str, str]]:
    """Yield the path below docs/ and the Markdown of each generated page: a card per metric and per dataset."""
    metrics = [entry.name for entry in list_metrics() if entry.origin == "assay"]
    rows = []
    for name in metrics:
        card = metric_card(name)
        yield f"metric-cards/{name}.md", card
        # the first line below the title
        rows.append((f"[{name}]({name}.md)", card.split("\n")[2].partition(". ")[0]))
    yield "metric-cards/index.md", "\n".join(["# Cards of metrics", "", *markdown_table(("metric", "what"), rows)])
    rows = []
    for entry in list_datasets():
        if entry.card is not None and entry.default and entry.origin == "assay":
            card = entry.card
            yield f"dataset-cards/{card.name}.md", dataset_card(card)
            rows.append(
                (f"[{card.name}]({card.name}.md)", ", ".join(card.tasks), ", ".join(card.languages), card.title)
            )
    heads = ("dataset", "task", "language", "what")
    yield "dataset-cards/index.md", "\n".join(["# Cards of datasets", "", *markdown_table(heads, rows)])


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages to the site."""
    for path, text in generated_pages():
        files.append(File.generated(config, path, content=text))
    return files
