"""``assay relatedness``: which related words go with the label."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from assay.analysis.data import ScoredDataset, read_datasets
from assay.analysis.folder import read_run
from assay.analysis.relatedness import Feature, RelatednessSettings, correlate_features
from assay.analysis.settings import draws_signature
from assay.api.run import dataset_list, run
from assay.api.values import Report
from assay.common.messages import Message, Setting, join_messages
from assay.common.progress import Progress, Silent
from assay.common.verbs import verb
from assay.exceptions import InputError, MissingExtraError
from assay.metrics.overlap import Dice
from assay.metrics.static import Static
from assay.metrics.words.features import OBJECTS, SUBJECTS, Reader, SpacyReader, word_kind_features
from assay.metrics.words.vectors import open_vectors
from assay.paths import user_path
from assay.reports.relatedness import to_document
from assay.reports.sheets import with_signatures
from assay.settings import Limited, Offline, OwnData, ScoreStore


@verb(
    RelatednessSettings,
    ("Compare features of two sentences' words with the label: overlap, related words, by part of speech and role."),
    "assay relatedness stsb:test --vectors vectors.txt --pipeline en_core_web_md",
)
def relatedness(settings: RelatednessSettings) -> Report:
    """Compute how far features of the words in two sentences agree with the label of the pair.

    The study of STR-2022 (Abdalla, Vishnubhotla and Mohammad 2023), section 5: Q1 lexical overlap (``dice``), Q2
    related words (``static``, mean of all words), Q3a related words of one part of speech, Q3b of a group of them, Q4
    related subjects and objects.

    Args:
        dataset: the data, as for :func:`assay.run`, with one reference per pair.
        vectors: the file of word vectors, see :func:`assay.metrics.words.open_vectors`.
        pipeline: the folder or name of a spaCy pipeline; without it, or without spaCy, only Q1 and Q2 are answered, and
            without a parser in it, Q4 is not.

    Returns:
        A report with one record per feature and range of labels: all, the lower half, and the upper half.

    Raises:
        InputError: a setting or a file cannot be used, the data are several datasets, a metric failed, the pipeline is
            for another language, or, with a pipeline, a pair has several references.
        OfflineError: the data is not on this machine, and the network is forbidden.
        UnavailableError: the data is unavailable.
    """
    progress = settings.progress or Silent()
    overlap_metric, word_metric = Dice(), Static(subject=str(settings.vectors))
    if len(dataset_list(settings.dataset)) != 1:
        raise InputError("give one dataset; its pairs are taken apart")
    reader, notes = _open_reader(settings)
    reading_settings = settings.values_of(OwnData, Limited, Offline, ScoreStore)
    with tempfile.TemporaryDirectory(prefix="assay-") as temporary:
        folder = Path(temporary) / "run"
        result = run(
            settings.dataset,
            [overlap_metric, word_metric],
            buckets=("none",),
            resamples=0,
            drop_duplicates=settings.drop_duplicates,
            out=folder,
            page=False,
            progress=progress,
            **reading_settings,
        )
        if result.failures:
            raise InputError(join_messages("; ", result.failures))
        (data,) = read_datasets(read_run(folder))
        all_rows = np.ones(len(data), dtype=bool)
        features = [
            Feature("Q1", "lexical overlap", data.scores[str(overlap_metric)], all_rows),
            Feature("Q2", "all words", data.scores[str(word_metric)], all_rows),
        ]
        if reader is not None:
            notes += _reading_notes(reader, data)
            features += _related_word_features(data, reader, user_path(settings.vectors), progress)
        draws = draws_signature(settings)
        document = to_document(correlate_features(data, features, settings), settings, notes)
        return Report(with_signatures(document, [data], (str(overlap_metric), str(word_metric)), draws))


def _open_reader(settings: RelatednessSettings) -> tuple[Reader | None, list[str]]:
    """Return the reader of words by the pipeline; without a pipeline or spaCy, None and a note on what is left out.

    Raises:
        InputError: the pipeline cannot be loaded.
    """
    if settings.pipeline is None:
        remedy = Message("give ", Setting("pipeline"), ", the folder or name of a spaCy pipeline")
        return None, [Message("Q3 and Q4 need parts of speech: ", remedy)]
    try:
        return (settings.read_with or SpacyReader)(settings.pipeline), []
    except MissingExtraError as error:
        return None, [Message("Q3 and Q4 are left out: ", error.message)]


def _reading_notes(reader: Reader, data: ScoredDataset) -> list[str]:
    """Return notes on how a pipeline reads the words of the sentences.

    Raises:
        InputError: the pipeline is for another language.
    """
    language = data.facts.language
    if language and language != reader.language:
        raise InputError(
            f"{reader.about} is for {reader.language!r}, {data.name} is in {language!r}", setting="pipeline"
        )
    notes = [f"words read by {reader.about}"]
    if reader.parses:
        notes.append(f"subject: {', '.join(SUBJECTS)}; object: {', '.join(OBJECTS)} that is not a preposition")
        notes.append("of a triple: all words of subjects and objects of verbs that have both, as in STR-2022")
    else:
        notes.append("Q4 is left out: the pipeline has no parser")
    return notes


def _related_word_features(data: ScoredDataset, reader: Reader, vectors: Path, progress: Progress) -> list[Feature]:
    """Return the features of Q3 and, if the reader parses, of Q4, with one score per pair.

    Args:
        data: the pairs of texts.
        reader: reads the words of the texts, and their parts of speech and roles.
        vectors: the file of word vectors.
        progress: shows how many texts are read.

    Raises:
        InputError: a pair has several references, or the vectors cannot be read.
    """
    references = data.table.column("reference").to_pylist()
    if any(len(gold_answers) != 1 for gold_answers in references):
        raise InputError(f"{data.name}: some pairs have several references; two sentences are compared here")
    progress.begin("reading words", 2 * len(data))
    first_words = reader.read([gold_answers[0] for gold_answers in references])
    progress.advance(len(data))
    second_words = reader.read(data.table.column("candidate").to_pylist())
    progress.advance(len(data))
    features = word_kind_features(first_words, second_words, open_vectors(vectors), roles=reader.parses)
    return [
        Feature(feature.question, feature.name, feature.scores, feature.present, feature.question == "Q3a")
        for feature in features
    ]
