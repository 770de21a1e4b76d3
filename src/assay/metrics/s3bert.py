"""S3BERT: sentence embeddings whose parts measure aspects of meaning."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from assay.exceptions import InputError, UnavailableError
from assay.metrics.aspects.layout import Layout, embedding_size, read_layout, read_layout_file
from assay.metrics.base import Batch, option
from assay.metrics.bi_encoder import BiEncoder
from assay.metrics.name import MetricName
from assay.paths import user_path

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from assay.metrics.explaining.aspects import AspectExplanation
    from assay.metrics.neural.embeddings import TextEmbeddings


@dataclass(frozen=True)
class S3Bert(BiEncoder):
    """Cosine of the embeddings of two texts, or of one aspect's dimensions of them, in [-1, 1].

    ``s3bert:MODEL`` is the whole embedding, ``s3bert:MODEL#ASPECT`` an aspect of the model's layout, and
    ``s3bert:MODEL#residual`` the dimensions of no aspect. All of one model come from one pass. The texts are prepared
    as for ``bi-encoder``, so that the whole is the score of ``bi-encoder:MODEL``.

    Opitz and Frank (2022), equation 1 and section 3.1; the learned scales of their equation 3 are not part of a score.

    Raises:
        InputError: no model, or an aspect is named twice.
    """

    aspect: str | None = option(None, "an aspect of the layout, or residual; also written after a # in the name")
    layout: str | None = option(
        None, "the layout: JSON, or the .py of the published models; by default the model's own s3bert.json"
    )

    declaration = dataclasses.replace(
        BiEncoder.declaration,
        name="s3bert",
        summary="cosine of sentence embeddings, whole and aspect by aspect",
        formula="cos(e(reference), e(candidate)), on all dimensions or those of an aspect",
        citation="Opitz and Frank 2022, SBERT studies Meaning Representations",
    )

    def __post_init__(self) -> None:
        """Move an aspect that is written in the subject to its field, and declare the aspect and its whole.

        Raises:
            InputError: no model is named, the aspect is given twice, or an option has an invalid value.
        """
        model, aspect = _split_subject(self.subject)
        if model is None:
            raise InputError("metric 's3bert' needs a model: write s3bert:FOLDER, a model that assay train s3bert made")
        if aspect is not None:
            if self.aspect is not None:
                raise InputError(f"metric 's3bert': the aspect is given twice, {aspect} and {self.aspect}")
            object.__setattr__(self, "subject", model)
            object.__setattr__(self, "aspect", aspect)
        super().__post_init__()
        if self.aspect is not None:
            self.redeclare(aspect=self.aspect, whole=str(self._name_with_aspect(None)))

    @property
    def name(self) -> MetricName:
        """The name as the user typed it; if there is none, model, ``#`` and aspect, and the non-default options."""
        return self._typed_name or self._name_with_aspect(self.aspect)

    def expand(self) -> tuple[S3Bert, ...]:
        """Return the metric of the whole embedding, then one per aspect of the layout, in its order.

        The last one is that of the residual if any dimensions are left. A metric of one aspect returns only itself.

        Raises:
            UnavailableError: the model is not on this machine.
            InputError: the model has no layout, or the layout does not fit it.
        """
        if self.aspect is not None:
            return (self,)
        return (self, *(self.aspect_metric(aspect) for aspect in self.read_layout().parts))

    def files(self) -> tuple[str, ...]:
        """Return the file of the layout as the user typed it; nothing if the layout is the model's own."""
        return () if self.layout is None else (self.layout,)

    def aspect_metric(self, aspect: str) -> Self:
        """Return the metric of one aspect with the options of this metric, and a name made from this metric's name.

        The name has no alias. That the layout has the aspect is not checked.
        """
        metric = dataclasses.replace(self, aspect=aspect)
        typed_name = self._typed_name
        if typed_name is not None:
            aspect_name = MetricName(typed_name.name, f"{self.subject}#{aspect}", typed_name.options)
            # in place of the name that Metric.name would make, which has the options in another order
            object.__setattr__(metric, "_typed", aspect_name)
            metric.redeclare(whole=str(self))
        return metric

    def read_layout(self) -> Layout:
        """Return the layout, which has the dimensions of each aspect, from the option ``layout`` or else the model.

        Raises:
            UnavailableError: the model is not on this machine.
            InputError: there is no layout, it does not fit the embedding, or the option ``truncate_dim`` is set, which
                would cut aspects.
        """
        if self.truncate_dim is not None:
            raise InputError(f"metric {self}: the layout says which dimensions count; leave truncate_dim out")
        folder = self.located().folder
        dimensions = embedding_size(folder)
        if self.layout is not None:
            return read_layout_file(user_path(self.layout), dimensions)
        return read_layout(folder, dimensions)

    def dimensions(self) -> int | None:
        """Return the number of leading dimensions that count by the model's files; None for an aspect with its own.

        Raises:
            UnavailableError: the model is not on this machine.
        """
        return super().dimensions() if self.aspect is None else None

    def span(self) -> tuple[int, int]:
        """Return the dimensions that are compared, as the first one and the one after the last.

        Raises:
            UnavailableError: the model is not on this machine.
            InputError: there is no layout, it does not fit the embedding, or it has no such aspect.
        """
        return self._span_in(self.read_layout())

    def check_available(self) -> None:
        """Check that the packages are installed, the model is on this machine, and the layout has the aspect.

        Raises:
            UnavailableError: a package or the model is missing.
            InputError: there is no layout, it does not fit the embedding, or it has no such aspect.
        """
        super().check_available()
        self.span()

    def data_signature(self) -> dict[str, str]:
        """Return what a bi-encoder adds to the signature, the layout's digest, and the dimensions that are compared.

        Raises:
            UnavailableError: the model is not on this machine.
            InputError: there is no layout, it does not fit the embedding, or it has no such aspect.
        """
        layout = self.read_layout()
        first, stop = self._span_in(layout)
        return super().data_signature() | {"layout": layout.digest, "dimensions": f"{first}-{stop}"}

    def compare(
        self, embeddings: TextEmbeddings, left: NDArray[np.intp], right: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Return the similarity of the compared dimensions of each pair, float64, shape (n,); the cosine is in [-1, 1].

        Args:
            embeddings: one vector per distinct text, all dimensions of it.
            left: the index of each reference, shape (n,).
            right: the index of each candidate, shape (n,).

        Raises:
            UnavailableError: the embedding has a different size from the one that the model's files declare.
            InputError: there is no layout, it does not fit the embedding, or it has no such aspect.
        """
        layout = self.read_layout()
        first, stop = self._span_in(layout)
        size = embeddings.values.shape[1]
        if size != layout.dimensions:
            raise UnavailableError(
                f"model {self.subject}: its embeddings have {size} dimensions, not {layout.dimensions}"
            )
        compared_embeddings = dataclasses.replace(embeddings, values=embeddings.values[:, first:stop])
        return super().compare(compared_embeddings, left, right)

    @property
    def is_explainable(self) -> bool:
        """True: the aspects have scores of their own."""
        return True

    def explain(self, batch: Batch) -> list[AspectExplanation]:
        """Return the score of each aspect of each pair, and what is usual for the overall score.

        Raises:
            UnavailableError: the model is not on this machine.
            InputError: the metric is a single aspect, the model has no layout, or the reference set lacks an aspect of
                the layout or cannot be read.
            AssayError: the model cannot be loaded, or the scores cannot be computed.
        """
        from assay.metrics.explaining.aspects import explain_aspects

        if self.aspect is not None:
            raise InputError(f"metric {self}: one aspect has no parts; explain the whole: {self.declaration.whole}")
        return explain_aspects(self.expand(), self.located().folder, self.read_layout(), batch)

    def _span_in(self, layout: Layout) -> tuple[int, int]:
        return (0, layout.dimensions) if self.aspect is None else layout.range_of(self.aspect)

    def _name_with_aspect(self, aspect: str | None) -> MetricName:
        """Return the name of the metric of an aspect with the options of this metric; None for the whole embedding."""
        options = tuple((key, value) for key, value in self._changed_options() if key != "aspect")
        subject = f"{self.subject}#{aspect}" if aspect else self.subject
        return MetricName(self.declaration.name, subject, options)


def _split_subject(subject: str | None) -> tuple[str | None, str | None]:
    """Return the model and the aspect that a subject names; each is None if the subject names none.

    The ``#`` in the name of a folder that exists, or in ``pypi:PACKAGE==VERSION#path``, begins no aspect.
    """
    if subject is None or "#" not in subject or user_path(subject).is_dir():
        return subject, None
    model, _, aspect = subject.rpartition("#")
    if model.startswith("pypi:") and "#" not in model:
        return subject, None
    return model, aspect
