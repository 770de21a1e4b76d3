"""Every target by name: each reader, parser and string metric.

An input is bytes, so that one that failed is kept as a plain file.
"""

from __future__ import annotations

from tests.fuzz import addresses, answers, configurations, layouts, parsers, readers, runs, shapes, texts, trees
from tests.fuzz.target import Target

TARGETS: dict[str, Target] = {
    **readers.TARGETS,
    **runs.TARGETS,
    **shapes.TARGETS,
    **layouts.TARGETS,
    **parsers.TARGETS,
    **texts.TARGETS,
    **addresses.TARGETS,
    **configurations.TARGETS,
    **answers.TARGETS,
    **trees.TARGETS,
}
