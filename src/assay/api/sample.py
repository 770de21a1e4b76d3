"""``assay sample``: pairs of sentences to annotate, sampled by the overlap of their words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from assay.analysis.overlap_sample import (
    SampleSettings,
    dice,
    draw_from_bins,
    inverse_document_frequencies,
    pair_by_shared_words,
    random_pairs,
    words_of,
)
from assay.api.writing import check_output_path, write_table
from assay.common.messages import Setting
from assay.common.verbs import verb
from assay.datasets import read_table_file
from assay.exceptions import InputError, unknown_name
from assay.paths import user_path
from assay.settings import parse_scale

if TYPE_CHECKING:
    import pyarrow as pa

    from assay.datasets.columns import SourceTable


@verb(
    SampleSettings,
    "Sample pairs of sentences to annotate by the overlap of their words, so that they are related to every degree.",
    "assay sample sentences.csv -n 500 --out pairs.csv",
    next="tuples {out} --out sheet.csv",
)
def sample(settings: SampleSettings) -> Path:
    """Write pairs of sentences, sampled by the overlap of their words, and return the path.

    As in STR-2022 (Abdalla, Vishnubhotla and Mohammad 2023), appendix A: ``shared`` for its random pairs of Wikipedia,
    ParaNMT and Formality, ``dice`` for its paraphrases, and ``idf-dice`` for Goodreads. The columns are ``id``,
    ``reference``, ``candidate``, ``overlap`` and, if there are ranges, ``range``; sampled pairs keep their own.

    Raises:
        InputError: *out* exists or cannot be written, the file cannot be read or lacks a column, has a column that
            would be added, or has too few sentences or pairs of the wanted lengths.
        MissingExtraError: a file, such as a workbook, needs a package that is not installed.
    """
    texts_file, out = user_path(settings.file), user_path(settings.out)
    check_output_path(texts_file, out)
    if out.exists():
        raise InputError(f"{out}: exists; give ", Setting("out"), " another name")
    source = read_table_file(texts_file)
    rng = np.random.default_rng(settings.seed)
    table = _sampled_pairs(source, settings, rng) if settings.by == "dice" else _new_pairs(source, settings, rng)
    write_table(table, out)
    return out


def _texts_of(source: SourceTable, column: str, setting: str = "") -> list[str]:
    """Return a column as texts; an empty cell is an empty text.

    Args:
        source: the table.
        column: the name of the column.
        setting: the setting that names the column, for the message of an error; empty if none does.

    Raises:
        InputError: the column is missing.
    """
    if column not in source.table.column_names:
        raise InputError(
            unknown_name(f"{source.name}: has no column", column, source.table.column_names), setting=setting
        )
    return ["" if cell is None else str(cell) for cell in source.table.column(column).to_pylist()]


def _has_allowed_length(text: str, settings: SampleSettings) -> bool:
    low, high = parse_scale(settings.length)
    return low <= len(words_of(text)) <= high


def _report_left_out(source: SourceTable, rows: str, left_out: int, count: int, settings: SampleSettings) -> None:
    """Say how many rows are left out because of the length of a text.

    Args:
        source: the table, whose name begins the line.
        rows: what its rows are, in the plural.
        left_out: the number of rows left out.
        count: the number of rows.
        settings: the settings, with the wanted lengths and the progress that shows the line.
    """
    if left_out and settings.progress is not None:
        length = settings.length.replace(",", " to ")
        settings.progress.say(
            f"{source.name}: {left_out:,} of {count:,} {rows} are left out: a text has other than {length} words"
        )


def _new_pairs(source: SourceTable, settings: SampleSettings, rng: np.random.Generator) -> pa.Table:
    """Return pairs of the sentences of a file: those that share words, or drawn from random pairs by their overlap.

    A sentence that occurs several times is one sentence.

    Args:
        source: the table of the file.
        settings: the column of the sentences, the wanted lengths, and how and how many pairs are drawn.
        rng: the generator of the draws.

    Returns:
        A table with the columns ``id``, ``reference``, ``candidate``, ``overlap`` and, if pairs are drawn from ranges
        of overlap, ``range``.

    Raises:
        InputError: the column is missing, or fewer than two sentences, or too few pairs, have the wanted lengths.
    """
    import pyarrow as pa

    all_texts = _texts_of(source, settings.text, "text")
    allowed_texts = [text for text in all_texts if _has_allowed_length(text, settings)]
    texts = list(dict.fromkeys(allowed_texts))
    if len(texts) < 2:
        raise InputError(f"{source.name}: has {len(texts)} sentences of {settings.length.replace(',', ' to ')} words")
    words = [words_of(text) for text in texts]
    sets = [frozenset(text_words) for text_words in words]
    ranges: dict[str, object] = {}
    if settings.by == "shared":
        pairs = pair_by_shared_words(words, settings, rng)
        overlaps = [dice(sets[first], sets[second]) for first, second in pairs.tolist()]
    else:
        weights = inverse_document_frequencies(sets)
        candidates = random_pairs(len(texts), settings.candidates, rng)
        scores = np.array([dice(sets[first], sets[second], weights) for first, second in candidates.tolist()])
        drawn = draw_from_bins(scores, settings.n, settings.bins, settings.growth, rng)
        pairs, overlaps = candidates[drawn.rows], scores[drawn.rows].tolist()
        ranges = {"range": drawn.bins}
    _report_left_out(source, "sentences", len(all_texts) - len(allowed_texts), len(all_texts), settings)
    return pa.table(
        {
            "id": [f"p{number}" for number in range(1, len(pairs) + 1)],
            "reference": [texts[first] for first, _ in pairs.tolist()],
            "candidate": [texts[second] for _, second in pairs.tolist()],
            "overlap": overlaps,
        }
        | ranges
    )


def _sampled_pairs(source: SourceTable, settings: SampleSettings, rng: np.random.Generator) -> pa.Table:
    """Return pairs of a file, as many from each range of overlap, with all columns of the file.

    The columns ``overlap`` and ``range`` are added, and ``id`` if the file has none.

    Args:
        source: the table of the file, with the columns ``reference`` and ``candidate``.
        settings: the wanted lengths of both texts, and how many pairs are drawn from how many ranges.
        rng: the generator of the draws.

    Raises:
        InputError: a column is missing, too few pairs have the wanted lengths, or the file has a column that would be
            added.
    """
    import pyarrow as pa

    references, candidates = _texts_of(source, "reference"), _texts_of(source, "candidate")
    kept_rows: list[int] = []
    overlaps: list[float] = []
    for row, (reference, candidate) in enumerate(zip(references, candidates, strict=True)):
        if _has_allowed_length(reference, settings) and _has_allowed_length(candidate, settings):
            kept_rows.append(row)
            overlaps.append(dice(frozenset(words_of(reference)), frozenset(words_of(candidate))))
    scores = np.array(overlaps)
    drawn = draw_from_bins(scores, settings.n, settings.bins, 1.0, rng)
    table = source.table.take(pa.array(np.array(kept_rows, dtype=np.intp)[drawn.rows]))
    added = {"overlap": scores[drawn.rows], "range": drawn.bins}
    if "id" not in table.column_names:
        added["id"] = np.array([f"p{number}" for number in range(1, len(drawn.rows) + 1)])
    for name, values in added.items():
        if name in table.column_names:
            raise InputError(f"{source.name}: has a column {name}, which the sample would replace; rename it")
        table = table.append_column(name, pa.array(values))
    _report_left_out(source, "pairs", len(references) - len(kept_rows), len(references), settings)
    return table
