"""BERTScore: greedy matching of contextual token embeddings."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

from assay.exceptions import InputError
from assay.metrics.base import Batch, Context, Declaration, option
from assay.metrics.neural.readers import TokenMatcher
from assay.metrics.neural.runtime import current_runtime, devices_of
from assay.metrics.neural.views import Preparation, View
from assay.metrics.provenance import file_digest
from assay.paths import user_path

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from assay.metrics.base import Engine
    from assay.metrics.explaining.tokens import TokenExplanation
    from assay.metrics.neural.bertscore import TokenWeighting
    from assay.metrics.neural.embeddings import TextEmbeddings

#: The beginning of a value of ``rescale`` that names a corpus.
_CORPUS = "corpus:"
_PROVIDER = ("torch", "transformers", "sentence-transformers")


@dataclass(frozen=True)
class BertScore(TokenMatcher):
    """BERTScore of candidate against reference; 0, before rescaling, where a text is empty.

    Precision and recall are in [-1, 1] unless rescaled; so is F, except for the rare pair where one of them is negative
    and the other is not. The scores of single pairs are those of the package bert-score. In a batch the package's own
    scores differ: its mask of zeros beats negative similarities wherever a pair is padded.
    """

    layer: int | None = option(
        None,
        "0 for the input embeddings, then the layers from 1; none for the package's choice where it knows the model, "
        "else the last",
        minimum=0,
    )
    output: Literal["f", "precision", "recall"] = option("f", "what is the score")
    idf: str = option(
        "none", "weights of tokens: none; references, those of the dataset; or a text file, a line a text"
    )
    rescale: str = option("none", "baseline: none; a file LAYER,P,R,F; or corpus:FILE for random pairs of its lines")
    engine: Literal["assay", "bert-score"] = option("assay", "bert-score runs the package itself, pair by pair")

    declaration = Declaration(
        name="bertscore",
        kind="embedding",
        summary="greedy matching of contextual token embeddings",
        formula="2PR / (P + R), P and R the mean highest cosine of each token of one text to those of the other",
        low=-1.0,
        citation="Zhang et al. 2020, BERTScore: Evaluating Text Generation with BERT",
        subject="MODEL",
        provider=_PROVIDER,
        tolerance=1e-5,
        extra="neural",
    )

    def __post_init__(self) -> None:
        """Declare the range, symmetry and packages of these options, and refuse what the package cannot compute.

        Raises:
            InputError: an option has an invalid value; or ``engine=bert-score`` is combined with another backend than
                torch, or a precision other than ``fp32`` and ``auto``.
        """
        super().__post_init__()
        if self.rescale != "none":
            self.redeclare(low=float("-inf"))
        if self.output == "f":
            self.redeclare(symmetric=True, low=float("-inf"), high=float("inf"))
        if self.engine == "bert-score":
            self.redeclare(provider=(*_PROVIDER, "bert-score"))
            if self.backend != "torch" or self.precision not in ("auto", "fp32"):
                raise InputError("metric 'bertscore': engine=bert-score runs in torch and fp32 only")

    def bind(self, context: Context) -> Self:
        """Return the metric with its model and, for ``idf=references``, with the corpus of the dataset's references.

        That corpus is written to a file in the cache, which the option ``idf`` of the result names.

        Raises:
            UnavailableError: the preset has no model for the language.
            InputError: the cache cannot be written.
        """
        bound = super().bind(context)
        if self.idf != "references":
            return bound
        from assay.metrics.neural.bertscore import store_corpus

        return dataclasses.replace(bound, idf=str(store_corpus(context.references())))

    def files(self) -> tuple[str, ...]:
        """Return the files that the options name: the corpus of the token weights, and the baseline or its corpus.

        There may be neither; for ``idf=references`` the corpus is not a file of the user.
        """
        paths = () if self.idf in ("none", "references") else (self.idf,)
        return paths if self.rescale == "none" else (*paths, self.rescale.removeprefix(_CORPUS))

    def view(self) -> View:
        """Return the view that reads the token embeddings of the chosen layer."""
        return View(self._preparation(), "tokens", self.chosen_layer())

    def chosen_layer(self) -> int:
        """Return the number of the layer whose embeddings are compared, from 1; 0 for the input embeddings.

        It is that of the option ``layer``; without one, the layer that bert-score recommends for a model of the hub, or
        else the last one.

        Raises:
            UnavailableError: the model is not on this machine.
            InputError: the model has no such layer.
        """
        layer = self.layer
        reference = self.located().reference
        if layer is None and reference.kind == "hub":
            from assay.metrics.neural.bertscore import recommended_layer

            layer = recommended_layer(reference.name)
        return self.resolve_layer(layer)

    def needs(self) -> Engine:
        """Return the engine: the encoder, or for ``engine=bert-score`` the package with its settings.

        Raises:
            UnavailableError: the model is not on this machine.
            InputError: the model has no such layer; this machine has no such device, or the device does not support the
                precision.
        """
        if self.engine == "assay":
            from assay.metrics.neural.encoder import EncoderEngine

            return self.engine_of(EncoderEngine)
        from assay.metrics.neural.bertscore_package import BertScorePackageEngine

        model, description = self.located(), self.description()
        runtime = current_runtime()
        return BertScorePackageEngine(
            folder=str(model.folder / (description.transformer or "")),
            digest=model.digest,
            model_type=description.model_type or "",
            layer=self.chosen_layer(),
            preparation=self._preparation(),
            idf=None if self.idf == "none" else self.idf,
            device=devices_of(runtime)[0],
            threads=runtime.threads,
        )

    @property
    def is_explainable(self) -> bool:
        """True: tokens are matched."""
        return True

    def explain(self, batch: Batch) -> list[TokenExplanation]:
        """Return the token matches of each pair; for ``engine=bert-score`` those of assay's own engine.

        Raises:
            UnavailableError: the model is not on this machine.
            InputError: the model has no such layer, the corpus or the baseline cannot be read, or ``idf=references`` is
                used without a dataset.
            AssayError: the scores cannot be computed.
        """
        from assay.metrics.explaining.tokens import explain_tokens

        metric = dataclasses.replace(self, engine="assay")
        return explain_tokens(metric, metric.token_weighting(), batch)

    def data_signature(self) -> dict[str, str]:
        """Return what the model adds to the signature, the layer, and digests of the corpus and of the baseline.

        Raises:
            UnavailableError: the model is not on this machine.
            InputError: the model has no such layer, the corpus or the baseline cannot be read, or ``idf=references`` is
                used without a dataset.
        """
        from assay.metrics.neural.bertscore import RANDOM_PAIRS, read_baseline, read_corpus

        signature = {"layer": str(self.chosen_layer())}
        if self.idf != "none":
            signature["idf"] = self._corpus_digest()
        if self.rescale.startswith(_CORPUS):
            path = user_path(self.rescale.removeprefix(_CORPUS))
            # read only as a check, here and below: an error is reported before any pair is scored
            read_corpus(str(path))
            signature["rescale"] = f"{RANDOM_PAIRS} random pairs of {file_digest(path)[:16]}"
        elif self.rescale != "none":
            read_baseline(self.rescale, self.chosen_layer(), self.output)
            signature["rescale"] = file_digest(user_path(self.rescale))[:16]
        return super().data_signature() | signature

    def compare(
        self, embeddings: TextEmbeddings, left: NDArray[np.intp], right: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Return the chosen output of each pair, float64, shape (n,); 0 before rescaling if a text has no weight.

        Args:
            embeddings: the token embeddings of the distinct texts.
            left: the index of each reference, shape (n,).
            right: the index of each candidate, shape (n,).

        Raises:
            InputError: the corpus or the baseline cannot be read, or ``idf=references`` is used without a dataset.
            AssayError: the baseline, a score of random pairs, cannot be computed.
        """
        from assay.metrics.neural.bertscore import harmonic_mean, match_tokens

        precision, recall = match_tokens(embeddings, left, right, self.token_weighting())
        return self.chosen_output({"precision": precision, "recall": recall, "f": harmonic_mean(precision, recall)})

    def token_weighting(self) -> TokenWeighting:
        """Return the function that maps the token ids of texts to the weights of all their tokens.

        The weights are inverse document frequencies if there is a corpus, else 1; the tokens [CLS] and [SEP] and all
        tokens of a blank text have 0.

        Raises:
            UnavailableError: the model is not on this machine.
            InputError: the corpus cannot be read, or ``idf=references`` is used without a dataset.
        """
        from assay.metrics.neural.bertscore import equal_weighting, idf_weighting

        model = self.located()
        if self.idf == "none":
            return equal_weighting(str(model.folder), model.digest)
        return idf_weighting(str(model.folder), model.digest, self.idf, self._corpus_digest(), self._preparation())

    def chosen_output(self, outputs: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return the output that the options choose, float64, shape (n,), rescaled by the baseline if there is one.

        Args:
            outputs: the arrays ``precision``, ``recall`` and ``f``, shape (n,) each.

        Raises:
            InputError: the file or the corpus of the baseline cannot be read.
            AssayError: the scores of the random pairs of a corpus cannot be computed.
        """
        scores = outputs[self.output]
        if self.rescale == "none":
            return scores
        baseline = self._baseline()
        return (scores - baseline) / (1.0 - baseline)

    def _preparation(self) -> Preparation:
        """Return how the texts are prepared, which is the same for pairs and for the corpus of the token weights."""
        # as in the package: without a leading space these tokenizers would split the first word in another way
        leading_space = self.description().model_type in ("roberta", "gpt2")
        return Preparation(limit=self.limit(), strip=True, leading_space=leading_space)

    def _corpus_digest(self) -> str:
        """Return the first 16 hex digits of the digest of the corpus for the token weights.

        Raises:
            InputError: the corpus cannot be read, or the option is ``idf=references`` and the metric is not bound to a
                dataset.
        """
        from assay.metrics.neural.bertscore import read_corpus

        if self.idf == "references":
            raise InputError(f"metric {self}: idf=references needs a dataset; elsewhere give idf=FILE")
        read_corpus(self.idf)
        return file_digest(user_path(self.idf))[:16]

    def _baseline(self) -> float:
        """Return the baseline to rescale by, from its file, where it is below 1, or as the mean score of random pairs.

        Raises:
            InputError: the file or the corpus of the baseline cannot be read.
            AssayError: the scores of the random pairs of a corpus cannot be computed.
        """
        from assay.metrics.neural.bertscore import read_baseline

        if not self.rescale.startswith(_CORPUS):
            return read_baseline(self.rescale, self.chosen_layer(), self.output)
        path = user_path(self.rescale.removeprefix(_CORPUS))
        return _mean_score_of_random_pairs(dataclasses.replace(self, rescale="none"), str(path), file_digest(path))


@functools.lru_cache(maxsize=32)
def _mean_score_of_random_pairs(metric: BertScore, path: str, digest: str) -> float:
    """Return the mean score of random pairs of lines of a corpus; cached.

    Args:
        metric: the metric, without rescaling.
        path: the path of the corpus.
        digest: the digest of the corpus; not read, but a part of the cache's key, so that a changed corpus is scored
            anew.

    Raises:
        InputError: the corpus cannot be read.
        AssayError: the scores cannot be computed.
    """
    from assay.metrics.neural.bertscore import random_pairs
    from assay.metrics.work import open_session

    return float(open_session(metric.needs(), keep=True).score([metric], random_pairs(path)).values.mean())


@dataclass(frozen=True)
class BertScoreVanilla(BertScore):
    """BERTScore, by default from the second layer of a model that was not trained for similarity, by language."""

    layer: int | None = option(
        2, "0 for the input embeddings, then the layers from 1; none as for bertscore", minimum=0
    )

    declaration = dataclasses.replace(
        BertScore.declaration,
        name="bertscore-vanilla",
        summary="BERTScore, layer 2 of bert-base-uncased or gelectra-base",
        citation="Mustafazade and Ebbinghaus 2022, Evaluation of Semantic Answer Similarity Metrics, section 4",
    )


@dataclass(frozen=True)
class BertScoreTrained(BertScore):
    """BERTScore, by default from the last layer of a model that was trained for sentence similarity."""

    declaration = dataclasses.replace(
        BertScore.declaration,
        name="bertscore-trained",
        summary="BERTScore, last layer of a multilingual sentence encoder",
        citation="Mustafazade and Ebbinghaus 2022, Evaluation of Semantic Answer Similarity Metrics, section 4",
    )
