"""Bi-encoder: the cosine of two sentence embeddings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from assay.exceptions import InputError, UnavailableError
from assay.metrics.base import Declaration, option
from assay.metrics.models.layouts import special_computation
from assay.metrics.neural.readers import EncoderBased
from assay.metrics.neural.views import OUTPUT_LAYER, Preparation, View

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from assay.metrics.base import Engine
    from assay.metrics.neural.embeddings import TextEmbeddings

#: The prefixes that families of models were trained with, by a short name.
KNOWN_PROMPTS = {"e5": "query: "}


@dataclass(frozen=True)
class BiEncoder(EncoderBased):
    """Cosine of the embeddings of reference and candidate, in [-1, 1]; both texts are prepared in the same way.

    With the option ``similarity`` it is their inner product, or a distance with a minus sign.
    """

    prompt: str | None = option(None, "a prompt by its name: one of the model's own, or e5; by default the model's own")
    prefix: str | None = option(None, "a text put before each input, instead of a prompt")
    truncate_dim: int | None = option(
        None, "leading dimensions of an embedding that count; by default what the model's files say, or all", minimum=1
    )
    similarity: Literal["cosine", "dot", "euclidean", "manhattan"] = option(
        "cosine", "how two embeddings are compared; a distance is negative, so that more is more similar"
    )

    declaration = Declaration(
        name="bi-encoder",
        kind="embedding",
        summary="cosine of sentence embeddings",
        formula="cos(e(reference), e(candidate))",
        low=-1.0,
        symmetric=True,
        citation="Reimers and Gurevych 2019, Sentence-BERT; preset: Mustafazade and Ebbinghaus 2022",
        subject="MODEL",
        provider=("torch", "transformers", "sentence-transformers"),
        tolerance=1e-5,
        extra="neural",
    )

    def __post_init__(self) -> None:
        """Declare the range of the similarity, and refuse a prompt together with a prefix.

        Raises:
            InputError: an option has an invalid value, or both a prompt and a prefix are given.
        """
        super().__post_init__()
        if self.prompt is not None and self.prefix is not None:
            raise InputError(
                f"metric {self.declaration.name!r}: prompt and prefix are two names of one thing; give one of them"
            )
        if self.similarity != "cosine":
            self.redeclare(low=float("-inf"), high=float("inf") if self.similarity == "dot" else 0.0)

    @property
    def library_class(self) -> str:
        """The class of sentence-transformers that loads the model, whose length limit applies."""
        return "SentenceTransformer"

    def check_available(self) -> None:
        """Check that the packages are installed and that a sentence encoder is on this machine.

        Raises:
            MissingExtraError: a package is not installed.
            UnavailableError: the model is not on this machine, or is a model of another kind.
        """
        super().check_available()
        self._refuse_other_kinds()

    def needs(self) -> Engine:
        """Return the engine: assay's own loop, or sentence-transformers if the model computes more than that loop.

        Raises:
            UnavailableError: the model is not on this machine, or is a model of another kind.
            InputError: this machine has no such device, or the device does not support the precision; or a model for
                sentence-transformers is to run in another backend than torch.
        """
        self._refuse_other_kinds()
        special = special_computation(self.located().folder, self.library_class)
        if special is None:
            from assay.metrics.neural.encoder import EncoderEngine

            return self.engine_of(EncoderEngine)
        from assay.metrics.neural.library import LibraryEngine

        if self.backend != "torch":
            raise InputError(f"metric {self}: because of {special} it runs in torch only; leave out backend")
        return self.engine_of(LibraryEngine)

    def _refuse_other_kinds(self) -> None:
        """Refuse a model that gives no embedding of a text.

        Raises:
            UnavailableError: the model is not on this machine; or it is a cross-encoder, a sparse encoder, an encoder
                of several vectors, a classifier, or a model of model2vec without ``modules.json``.
        """
        folder, description = self.located().folder, self.description()
        kind = description.library_class or self.library_class
        if kind != self.library_class:
            raise UnavailableError(
                f"model {folder}: is a {kind} (config_sentence_transformers.json), not a sentence encoder",
                "use cross-encoder:MODEL" if kind == "CrossEncoder" else "use pooled:MODEL, or a sentence encoder",
            )
        if description.modules is None and description.model_type == "model2vec":
            raise UnavailableError(f"model {folder}: is a model of model2vec without modules.json", "use static:FOLDER")
        if description.modules is None and str(description.architecture).endswith("ForSequenceClassification"):
            raise UnavailableError(
                f"model {folder}: is a classifier ({description.architecture} in config.json), not a sentence encoder",
                "use cross-encoder:MODEL, or pooled:MODEL for its token embeddings",
            )

    def resolve_prefix(self) -> str:
        """Return the text that is put before each input; empty for none.

        It is the first that exists of: the option *prefix*; the prompt named by the option *prompt*, from the model or
        from :data:`KNOWN_PROMPTS`; the model's default prompt; the prompt of the E5 family for its models.

        Raises:
            UnavailableError: the model is not on this machine.
            InputError: there is no prompt of that name.
        """
        if self.prefix is None and self.prompt is None and _is_e5(str(self.subject)):
            default = self.description().default_prompt
            if default is None:
                return KNOWN_PROMPTS["e5"]
        return self.text_before(self.prompt, self.prefix, KNOWN_PROMPTS)

    def says(self) -> str:
        """Return a note that names the model, and with ``similarity=cosine`` another similarity that its files declare.

        Raises:
            UnavailableError: the model is not on this machine.
        """
        declared = self.description().similarity
        if declared in (None, "cosine") or self.similarity != "cosine":
            return super().says()
        return f"{super().says()}, which declares the similarity {declared}; similarity={declared} uses it"

    def dimensions(self) -> int | None:
        """Return the number of leading dimensions of an embedding that count, by the option or else the model's files.

        It is None if all count.

        Raises:
            UnavailableError: the model is not on this machine.
        """
        if self.truncate_dim is not None:
            return self.truncate_dim
        description = self.description()
        return description.truncate_dim if description.modules else None

    def signature(self) -> dict[str, str]:
        """Return everything that changes the score, in a fixed order.

        Options that older versions lacked are left out while they have no effect, so that older signatures stay valid.
        The number of dimensions is in ``dimensions`` instead, whether the option or the model's files set it.

        Raises:
            UnavailableError: the model is not on this machine.
            InputError: the model has no prompt of the name in the option ``prompt``.
        """
        signature = super().signature()
        del signature["truncate_dim"]
        if self.similarity == "cosine":
            del signature["similarity"]
        return signature

    def view(self) -> View:
        """Return the view that reads the sentence embedding of each text, with the prefix before the text.

        Raises:
            UnavailableError: the model is not on this machine.
            InputError: the model has no prompt of the name in the option ``prompt``.
        """
        lowercase = self.description().lowercase is True
        # white space around an answer means nothing; older versions of sentence-transformers strip it as well
        preparation = Preparation(limit=self.limit(), prefix=self.resolve_prefix(), strip=True, lowercase=lowercase)
        # layers are counted in the encoder: of a model with a decoder, only the output is the embedding
        is_special = special_computation(self.located().folder, self.library_class) is not None
        layer = OUTPUT_LAYER if is_special or self.description().encoder_decoder else self.resolve_layer(None)
        return View(preparation, "sentence", layer)

    def data_signature(self) -> dict[str, str]:
        """Return what the model adds to the signature, its kind of pooling, and the prefix if there is one.

        Raises:
            UnavailableError: the model is not on this machine.
            InputError: the model has no prompt of the name in the option ``prompt``.
        """
        signature = super().data_signature() | {"pooling": self.description().pooling or "mean"}
        prefix = self.resolve_prefix()
        if prefix:
            signature["before"] = prefix
        dimensions = self.dimensions()
        if dimensions is not None:
            signature["dimensions"] = str(dimensions)
        return signature

    def compare(
        self, embeddings: TextEmbeddings, left: NDArray[np.intp], right: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Return the similarity of each pair's embeddings, float64, shape (n,).

        The cosine is in [-1, 1]; distances have a minus sign.

        Args:
            embeddings: one vector per distinct text.
            left: the index of each reference, shape (n,).
            right: the index of each candidate, shape (n,).
        """
        from assay.metrics.neural.embeddings import compare_vectors

        return compare_vectors(embeddings, left, right, self.similarity, self.dimensions())


def _is_e5(model: str) -> bool:
    """Tell whether a hub id is a model of the E5 family, whose prompt is in the model card but not in its files."""
    owner, _, name = model.partition("@")[0].partition("/")
    return owner == "intfloat" and "e5" in name.split("-") and "instruct" not in name
