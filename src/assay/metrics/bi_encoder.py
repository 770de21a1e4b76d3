"""Bi-encoder: the cosine of two sentence embeddings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.errors import InputError, unknown
from assay.metrics.base import Declaration, option
from assay.metrics.models.files import read_json
from assay.metrics.neural.metric import EncoderBased
from assay.metrics.neural.views import Prep, View

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from assay.metrics.neural.embeddings import TextEmbeddings

__all__ = ["BiEncoder"]

#: Texts that families of models were trained to see before each input, under a short name.
KNOWN_PROMPTS = {"e5": "query: "}


@dataclass(frozen=True)
class BiEncoder(EncoderBased):
    """Cosine of the embeddings of reference and candidate, in [-1, 1]; both texts are prepared in the same way."""

    prompt: str | None = option(None, "a prompt by its name: one of the model's own, or e5; by default the model's own")
    prefix: str | None = option(None, "a text put before each input, instead of a prompt")

    declaration = Declaration(
        name="bi-encoder",
        kind="embedding",
        summary="cosine of sentence embeddings",
        low=-1.0,
        symmetric=True,
        citation="Reimers and Gurevych 2019, Sentence-BERT; preset: Mustafazade and Ebbinghaus 2022",
        subject="MODEL",
        provider=("torch", "transformers", "sentence-transformers"),
        tolerance=1e-5,
        extra="neural",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prompt is not None and self.prefix is not None:
            raise InputError(
                f"metric {self.declaration.name!r}: prompt and prefix are two names of one thing; give one of them"
            )

    @property
    def reads_sentences(self) -> bool:
        """See :class:`ModelMetric`."""
        return True

    def text_before(self) -> str:
        """Return what is put before each text.

        Raises:
            InputError: the model has no prompt of that name.
        """
        if self.prefix is not None:
            return self.prefix
        described = self.description()
        own: Mapping[str, str] = dict(described.prompts or ())
        name = self.prompt or described.default_prompt
        if name is None:
            return KNOWN_PROMPTS["e5"] if _is_e5(str(self.subject)) else ""
        if name in own:
            return own[name]
        if name in KNOWN_PROMPTS:
            return KNOWN_PROMPTS[name]
        problem = unknown(f"metric {self}: the model has no prompt", name, sorted({*own, *KNOWN_PROMPTS}))
        raise InputError(f"{problem} Or give prefix=TEXT.")

    def view(self) -> View:
        """See :class:`EncoderBased`."""
        folder = self.located().folder
        lower = read_json(folder / "sentence_bert_config.json").get("do_lower_case") is True
        prep = Prep(limit=self.limit(), prefix=self.text_before(), strip=True, lower=lower)
        return View(prep, "sentence", self.resolve_layer(None))

    def data_signature(self) -> dict[str, str]:
        """See :class:`Metric`."""
        signature = super().data_signature() | {"pooling": self.description().pooling or "mean"}
        before = self.text_before()
        if before:
            signature["before"] = before
        return signature

    def compare(
        self, embeddings: TextEmbeddings, left: NDArray[np.intp], right: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """See :class:`EncoderBased`."""
        from assay.metrics.neural.embeddings import cosine

        return cosine(embeddings, left, right)


def _is_e5(model: str) -> bool:
    """Tell whether a hub id names a model of the E5 family, whose cards ask for a prompt that no file holds."""
    owner, _, name = model.partition("@")[0].partition("/")
    return owner == "intfloat" and "e5" in name.split("-") and "instruct" not in name
