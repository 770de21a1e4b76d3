"""The session of the package bert-score itself, which computes BERTScore pair by pair."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from assay.exceptions import MissingExtraError
from assay.metrics.base import Batch, Metric
from assay.metrics.neural.bertscore import read_corpus
from assay.metrics.neural.loading import count_parameters, require_all_weights, silence_libraries
from assay.metrics.neural.runtime import set_threads
from assay.metrics.neural.session import Meter, add_questions, blank_flags, flags_of, one_line_failures
from assay.metrics.neural.tokens import tokenize
from assay.metrics.neural.views import Preparation
from assay.metrics.scores import Scores

if TYPE_CHECKING:
    from assay.metrics.neural.readers import TokenMatcher


@dataclass(frozen=True)
class BertScorePackageEngine:
    """The settings under which the package bert-score itself computes BERTScore.

    It gets one pair at a time, since its values depend on the batch.

    Attributes:
        folder: the checked folder of the transformer.
        digest: the digest of the model's files.
        model_type: the family of the model, such as ``bert``.
        layer: the layer whose embeddings are compared.
        preparation: the preparation of the texts.
        idf: the path of a corpus for the token weights, or None for equal weights.
        device: torch's name of the device.
        threads: the number of CPU threads, or None for one per free core.
    """

    folder: str
    digest: str
    model_type: str
    layer: int
    preparation: Preparation
    idf: str | None
    device: str
    threads: int | None

    @property
    def pairs(self) -> int:
        """The number of pairs in a unit of work; small, since the package scores one pair at a time."""
        return 256

    def open(self) -> BertScorePackageSession:
        """Load the model and return its session.

        Raises:
            MissingExtraError: the package is not installed.
            UnavailableError: the model lacks weights, or the package does not know its architecture.
            InputError: the corpus cannot be read.
        """
        return BertScorePackageSession(self)


#: Families that the package loads as the encoder of a T5.
_T5_FAMILIES = frozenset({"t5", "mt5"})


class _Folder(str):
    """The path of a model, in which the package finds the letters ``t5`` only if the model is a T5 or a relative.

    The package looks for these letters in the path, and finds the layers of a T5 only if they are there.

    Attributes:
        is_t5: whether the model is a T5 or a relative.
    """

    is_t5: bool = False

    def __contains__(self, text: object) -> bool:
        return self.is_t5 if text == "t5" else isinstance(text, str) and super().__contains__(text)


class BertScorePackageSession:
    """The package bert-score with a model in memory.

    Args:
        engine: the settings of the package.

    Raises:
        MissingExtraError: the package is not installed.
        UnavailableError: the model lacks weights, or the package does not know its architecture.
        InputError: the corpus cannot be read.
    """

    def __init__(self, engine: BertScorePackageEngine) -> None:
        try:
            from bert_score import BERTScorer
        except ImportError as error:
            raise MissingExtraError(error.name or "bert-score", "neural") from error
        self._meter = Meter((engine.device,))
        self._engine = engine
        set_threads(engine.threads)
        sentences = None if engine.idf is None else read_corpus(engine.idf)
        folder = _Folder(Path(engine.folder).resolve())
        folder.is_t5 = engine.model_type in _T5_FAMILIES
        with self._one_line_failures(), silence_libraries(), require_all_weights(Path(engine.folder), "hidden states"):
            self._scorer: Any = BERTScorer(
                model_type=folder,
                num_layers=engine.layer,
                idf=sentences is not None,
                device=engine.device,
                batch_size=1,
                # counts the corpus in this process, without a pool of processes
                nthreads=0,
            )
            _prepare_tokenizer(self._scorer._tokenizer, engine.preparation)
            if sentences is not None:
                self._scorer.compute_idf(sentences)
        self._meter.record_loaded(count_parameters(self._scorer._model))

    def score(self, metrics: Sequence[Metric], batch: Batch, again: Collection[str] = ()) -> Scores:
        """Return the scores of n pairs under m metrics.

        Pairs with a blank text, on which the package may break, have precision, recall and F of 0. The seconds of each
        metric are the time of all metrics together; *again* is not used.

        Raises:
            UnavailableError: the package fails on a pair.
        """
        started = time.perf_counter()
        blank, batch = blank_flags(batch), add_questions(metrics, batch)
        outputs = np.zeros((len(batch), 3))
        nothing_to_match = blank_flags(batch) != 0
        for row, (reference, candidate) in enumerate(batch.pairs()):
            if not nothing_to_match[row]:
                # the package warns on stderr
                with self._one_line_failures(), contextlib.redirect_stderr(io.StringIO()):
                    precision, recall, f = self._scorer.score([_valid(candidate)], [_valid(reference)])
                outputs[row] = float(precision[0]), float(recall[0]), float(f[0])
        self._meter.add_texts(2 * int((~nothing_to_match).sum()), 0)
        flags = blank | flags_of(batch, self._cut(batch.references), self._cut(batch.candidates))
        seconds = time.perf_counter() - started
        by_name = {"precision": outputs[:, 0], "recall": outputs[:, 1], "f": outputs[:, 2]}
        columns = [cast("TokenMatcher", metric).chosen_output(by_name) for metric in metrics]
        return Scores(
            values=np.stack(columns, axis=1),
            flags=np.stack([flags] * len(metrics), axis=1),
            seconds=np.full(len(metrics), seconds),
        )

    def _one_line_failures(self) -> contextlib.AbstractContextManager[None]:
        """Return a context in which an error of the package becomes one of assay with a message of one line."""
        problem = f"cannot be computed by the package bert-score at layer {self._engine.layer}"
        return one_line_failures(self._engine.folder, problem, "use engine=assay")

    def _cut(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether the package cuts it."""
        prepared = [self._engine.preparation.apply(text) for text in texts]
        return [tokens.cut for tokens in tokenize(self._scorer._tokenizer, prepared, self._engine.preparation.limit)]

    def cost(self) -> dict[str, Any]:
        """Return the counts of :meth:`Meter.cost`; that of tokens is 0, since the package does not tell it."""
        return self._meter.cost()

    def close(self) -> None:
        """Free the memory of the model."""
        self._scorer = None
        self._meter.close()


def _prepare_tokenizer(tokenizer: Any, preparation: Preparation) -> None:
    """Let a tokenizer of transformers prepare texts as the package asks for, where it calls it.

    The package cuts texts at the limit of the tokenizer, which may be higher than the model's. It asks for a space
    before a text of RoBERTa and GPT-2, which transformers 5 ignores.
    """
    tokenizer.model_max_length = preparation.limit
    if preparation.leading_space:
        encode = tokenizer.encode
        tokenizer.encode = lambda text, **options: encode(f" {text}", **options)


def _valid(text: str) -> str:
    """Return the text with ``?`` in place of unpaired surrogates, which tokenizers reject."""
    return text.encode("utf-8", "replace").decode("utf-8")
