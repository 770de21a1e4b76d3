"""The session of a cross-encoder, which reads both texts of a pair in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.common.progress import scaled_shares
from assay.exceptions import UnavailableError
from assay.metrics.models import describe
from assay.metrics.neural.backends import open_scorer_bodies
from assay.metrics.neural.body import ScorerBody, accepts_types
from assay.metrics.neural.loading import LoadedScorer, load_scorer
from assay.metrics.neural.pairs import OrderedPair, PairScoring
from assay.metrics.neural.runtime import import_torch
from assay.metrics.neural.session import ModelEngine, ModelSession
from assay.metrics.neural.tokens import Packed, tokenize
from assay.metrics.neural.views import Preparation

#: Pairs that are tokenized before the first of them are computed.
PAIRS_TOKENIZED = 8192
#: Families whose head reads the last position, which is padding in a batch of several lengths.
READS_LAST_POSITION = frozenset({"xlnet"})


@dataclass(frozen=True)
class CrossEngine(ModelEngine):
    """The settings that decide the scores of a cross-encoder."""

    reads_pairs: ClassVar[bool] = True

    @property
    def pairs(self) -> int:
        """The number of pairs in a unit of work, larger on a GPU, which takes less time for each."""
        return 512 if self.devices == ("cpu",) else 16384

    def open(self) -> CrossSession:
        """Load the model and return its session.

        Raises:
            MissingExtraError: a package is not installed.
            UnavailableError: the model cannot be loaded, or is not a sequence classifier.
            InputError: the backend does not support the precision.
        """
        return CrossSession(self)


class CrossSession(PairScoring, ModelSession[LoadedScorer, ScorerBody]):
    """A cross-encoder in memory.

    Args:
        engine: the settings.

    Raises:
        MissingExtraError: a package is not installed.
        UnavailableError: the model cannot be loaded, or is not a sequence classifier.
        InputError: the backend does not support the precision.
    """

    #: The number of outputs, and whether the model takes segment numbers; set by :meth:`_keep_parts`.
    _outputs: int
    _accepts_types: bool

    def __init__(self, engine: CrossEngine) -> None:
        folder = Path(engine.folder)
        architecture = describe(folder).architecture or ""
        if not architecture.endswith("ForSequenceClassification"):
            raise UnavailableError(
                f"model {folder}: is a {architecture or 'model without a named class'}, which scores no pairs",
                "name a cross-encoder (…ForSequenceClassification), or use bi-encoder:MODEL",
            )
        super().__init__(engine, load_scorer, open_scorer_bodies)
        if describe(folder).model_type in READS_LAST_POSITION:
            self._packer.pads = False
        self._with_types = "token_type_ids" in self._tokenizer.model_input_names and self._accepts_types

    def _keep_parts(self, copies: Sequence[LoadedScorer]) -> None:
        """Keep the activation that the model declares, its number of outputs, and whether it takes segment numbers."""
        self.activation = copies[0].activation
        self._outputs = int(copies[0].model.config.num_labels)
        self._accepts_types = accepts_types(copies[0].model)

    def logits_of_pairs(
        self, pairs: Sequence[OrderedPair], limit: int, prefix: str
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the logits of n pairs, and whether each was cut; see :meth:`PairScoring.logits_of_pairs`."""
        torch = import_torch()
        preparation = Preparation(limit)
        first = [prefix + preparation.apply(text) for text, _ in pairs]
        second = [preparation.apply(text) for _, text in pairs]
        computed: list[tuple[NDArray[np.intp], Any]] = []
        cut: list[bool] = []
        # a GPU computes one part while the next one is tokenized
        for start in range(0, len(pairs), PAIRS_TOKENIZED):
            part = slice(start, start + PAIRS_TOKENIZED)
            tokens = tokenize(self._tokenizer, first[part], limit, second[part], with_types=self._with_types)

            def step(number: int, body: ScorerBody, batch: Packed, start: int = start) -> None:
                with torch.inference_mode():
                    computed.append((start + batch.items, body.logits(batch).float()))

            with scaled_shares(start / len(pairs), min(1.0, part.stop / len(pairs))):
                self._run(tokens, step)
            cut += [pair.cut for pair in tokens]
        logits = np.zeros((len(pairs), self._outputs))
        for items, values in computed:
            # copied after the last batch: each copy waits for the GPU
            logits[items] = values.cpu().numpy()
        return logits, np.array(cut, dtype=np.bool_)
