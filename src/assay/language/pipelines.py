"""spaCy pipelines, as the user names them: a folder, or the name of one that is installed as a package."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.exceptions import InputError, MissingExtraError

if TYPE_CHECKING:
    from spacy.language import Language


def load_pipeline(name: str | Path, exclude: Sequence[str]) -> Language:
    """Return a spaCy pipeline that tags parts of speech, loaded without some of its components.

    Args:
        name: the folder of a pipeline, or the name of one that is installed as a package.
        exclude: the names of components to leave out; those that the pipeline lacks are ignored.

    Raises:
        MissingExtraError: spaCy is not installed.
        InputError: the pipeline does not exist, cannot be loaded, or sets no parts of speech.
    """
    try:
        import spacy
    except ModuleNotFoundError as error:
        raise MissingExtraError("spacy", "spacy") from error
    try:
        pipeline = spacy.load(name, exclude=exclude)
    except (OSError, ValueError, ImportError) as error:
        message = " ".join(str(error).split())
        # spaCy's error codes for "no such package or folder" and "no such folder"
        problem = "not found" if message.startswith(("[E050]", "[E052]")) else f"cannot be loaded: {message}"
        raise InputError(
            f"spaCy pipeline {str(name)!r}: {problem}; give the folder of a pipeline, or the name of one that is "
            "installed, such as en_core_web_sm after: python -m spacy download en_core_web_sm"
        ) from error
    if not pipeline("word").has_annotation("POS"):
        raise InputError(
            f"spaCy pipeline {str(name)!r}: gives no parts of speech; choose one with a tagger or morphologizer"
        )
    return pipeline


def describe_pipeline(pipeline: Language) -> str:
    """Return the name and version of a pipeline, with the version of spaCy: ``en_core_web_sm 3.8.0 (spaCy 3.8.2)``."""
    import spacy

    meta = pipeline.meta
    return f"{meta['lang']}_{meta['name']} {meta['version']} (spaCy {spacy.__version__})"
