"""What ``mkdocs build`` adds to the pages in this folder: pages that are generated from assay, never written by hand."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import assay
from assay.api.cards import metric_card
from assay.common.visible import markdown_table
from assay.datasets import list_datasets
from assay.datasets.card_page import dataset_card
from assay.metrics import list_metrics

#: The run folder behind the leaderboard page; docs/leaderboard.md has the command that made it.
RUN = Path(__file__).parent / "examples" / "leaderboard"
BOARD = """# A leaderboard to play with

[Open the leaderboard](board.html): sort, filter by task, language, licence, cost and statistic, and tick two metrics to
see where each wins. It shows nine metrics on twelve small samples, from a run that comes with the source, so that its
differences are rough; [how the run was made](../leaderboard.md#to-play-with).

Your own runs become such a page:

```sh
assay report runs/one runs/two --for leaderboard --out board.html
```
"""


def generated_pages() -> Iterator[tuple[str, str]]:
    """Yield the path below docs/ and the text of each generated page.

    These are a card per metric and per dataset in Markdown, with their indexes, and the leaderboard.
    """
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
    yield "board/index.md", BOARD
    with tempfile.TemporaryDirectory() as folder:
        page = assay.report(RUN, Path(folder) / "board.html", audience="leaderboard")
        yield "board/board.html", page.read_text(encoding="utf-8")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages to the site."""
    for path, text in generated_pages():
        files.append(File.generated(config, path, content=text))
    return files
