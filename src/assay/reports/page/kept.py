"""The page in a run folder, kept for later runs with the same settings and the same numbers."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Final

from assay.analysis.folder import STRESS_FILE, read_run
from assay.common.database import StoreError
from assay.common.kept import KeptResults, default_results, result_key
from assay.exceptions import InputError
from assay.reports.page.render import page_html, parts_of_one_run

#: The least size in bytes of the scores of a run whose page is kept; the page of fewer takes about a second.
MIN_BYTES: Final = 200_000


def page_of_run(folder: Path) -> str:
    """Return the page of a run folder, without ranks and categories: kept by an earlier run, or made and kept.

    The page of scores of less than :data:`MIN_BYTES` is made each time. In any case the evidence that the page rests
    on, if any, is in the folder afterwards, unless that cannot be written to.

    Raises:
        InputError: the run is damaged or incomplete. A cache that cannot be read or written is left alone.
    """
    run = read_run(folder)
    scores = folder / "scores.parquet"
    if not scores.is_file() or scores.stat().st_size < MIN_BYTES:
        return page_html([run], leaderboard=False, categories=False)
    # the page of one metric needs no evidence, and loads nothing of it
    from assay.analysis.recommend.evidence import read_evidence, write_evidence

    key = result_key("page", read_evidence(folder), *_inputs(folder))
    parts = parts_of_one_run(run)
    kept = None
    with suppress(InputError, StoreError), KeptResults(default_results()) as results:
        kept = results.find(key)
    if kept is not None:
        kept_page: str = kept["page"]
        # the time and the command of the earlier run are replaced by those of this one
        for kept_part, part in zip(kept["parts"], parts, strict=True):
            kept_page = kept_page.replace(kept_part, part, 1)
        write_evidence(folder, kept["evidence"])
        return kept_page
    page = page_html([run], leaderboard=False, categories=False)
    with suppress(InputError, StoreError), KeptResults(default_results()) as results:
        results.keep(key, {"page": page, "parts": parts, "evidence": read_evidence(folder)})
    return page


def _inputs(folder: Path) -> list[object]:
    """Return all that the page of a run follows from, but for the evidence and :func:`parts_of_one_run`.

    These are the settings of the run, without what tells one run from the next with the same scores, and the digests of
    its other files; None for a file that the folder lacks.
    """
    settings = json.loads((folder / "run.json").read_text(encoding="utf-8", errors="surrogatepass"))
    for key in ("created", "seconds", "environment"):
        settings.pop(key, None)
    for metric in settings["metrics"]:
        for key in ("seconds", "scored", "stored"):
            metric.pop(key, None)
        metric.get("cost", {}).pop("peak_memory_mb", None)
    inputs: list[object] = [settings]
    for file_name in ("agreement.json", "scores.parquet", "pairs.parquet", STRESS_FILE):
        file = folder / file_name
        inputs.append(hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else None)
    return inputs
