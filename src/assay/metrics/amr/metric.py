"""Metric ``amr``: what two AMR graphs have in common, aspect by aspect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from assay.common.packages import version_of
from assay.exceptions import AssayError, InputError, unknown_name
from assay.language.amr import ASPECTS
from assay.metrics.amr.aspect import ALIGNED, SETS, WITH_VECTORS, AspectMetric, AspectSettings
from assay.metrics.base import Batch, Declaration, Metric, option
from assay.paths import user_path

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from assay.metrics.base import Engine
    from assay.metrics.explaining.explanation import Explanation

_ALL: Final = "all"
_NAMES: Final = (*ASPECTS, "bag-of-nodes", "s2match")
#: Option -> the aspects whose scores it changes; all other aspects refuse the option.
_ASPECTS_WITH: Final = {
    "solver": ALIGNED,
    "seed": ALIGNED,
    "standardize": (*ALIGNED, *SETS),
    "vectors": WITH_VECTORS,
    "iterations": ("wlk", "wwlk"),
    "cutoff": ("s2match",),
    "diffsense": ("s2match",),
    "concept_weight": ("s2match",),
    "engine": ("smatch",),
}
_GLOBAL_CITATION = "Opitz and Frank 2022, SBERT studies Meaning Representations"
_ASPECT_CITATION = "Damonte, Cohen and Satta 2017, An Incremental Parser for Abstract Meaning Representation"
_KERNEL_CITATION = "Opitz, Daza and Frank 2021, Weisfeiler-Leman in the Bamboo"
_CITATIONS: Final = {
    "smatch": "Cai and Knight 2013, Smatch; Opitz 2023, SMATCH++",
    "wlk": _KERNEL_CITATION,
    "wwlk": _KERNEL_CITATION,
    "s2match": "Opitz, Parcalabescu and Frank 2020, AMR Similarity Metrics from Principles",
    **dict.fromkeys((*SETS, "unlabeled", "coreference", "srl"), _ASPECT_CITATION),
}


@dataclass(frozen=True)
class Amr(AspectMetric):
    """Similarity of the AMR graphs of two texts in one aspect, from 0 to 1; ``amr:all`` means the fifteen.

    It is 1 where the aspect is absent from both graphs, as in Opitz and Frank 2022. Alignments are optimal, which is
    proven for each pair; ``solver=hill-climbing`` takes the best of five climbs, a lower bound.
    """

    subject: str = option(_ALL, f"{', '.join(_NAMES)}; all is the first fifteen")
    solver: Literal["exact", "hill-climbing"] = option("exact", "how graphs are aligned: optimally, or nearly so")
    seed: int = option(0, "of the restarts of hill climbing", minimum=0)
    standardize: bool = option(
        True,
        "compare graphs in one form: case, quotes, domain and mod, frames that stand for a relation (SMATCH++)",
    )
    vectors: str | None = option(None, "FILE of word vectors (word2vec, GloVe, fastText .vec), or a folder")
    iterations: int = option(2, "rounds of the Weisfeiler-Leman kernels", minimum=0)
    cutoff: float = option(0.95, "cosines of word vectors up to it are not a match", minimum=0, maximum=1)
    diffsense: float = option(0.5, "factor of a match of other senses", minimum=0, maximum=1)
    concept_weight: float = option(1.0, "what a match of concepts is worth; 3 focuses on concepts", minimum=1)
    engine: Literal["assay", "smatchpp"] = option("assay", "smatchpp runs the package itself, pair by pair")
    parser: str | None = option(None, "amrlib:FOLDER parses the texts that have no graph", reaches_out=True)

    declaration = Declaration(
        name="amr",
        kind="amr",
        summary="similarity of AMR graphs, by aspect",
        symmetric=True,
        perfect=1.0,
        reads_graphs=True,
        whole="amr",
        citation=_GLOBAL_CITATION,
        subject="ASPECT",
        provider=("penman", "scipy"),
        extra="amr",
        tolerance=1e-6,
    )

    def __post_init__(self) -> None:
        """Check the aspect and its options, and declare what is specific to the aspect."""
        super().__post_init__()
        if self.subject == _ALL:
            return
        self._check_options()
        self.redeclare(
            aspect=self.subject,
            citation=_CITATIONS.get(self.subject, _GLOBAL_CITATION),
            provider=self._required_packages(),
        )

    def _check_options(self) -> None:
        """Check that the aspect exists and that the options fit it.

        Raises:
            InputError: there is no such aspect, it does not take an option, it needs word vectors and none are given,
                or the engine does not offer the solver or the form of the graphs.
        """
        if self.subject not in _NAMES:
            raise InputError(unknown_name("metric 'amr' has no aspect", self.subject, (*_NAMES, _ALL)))
        for key, _ in self._changed_options():
            if not self.takes(key):
                aspects = ", ".join(_ASPECTS_WITH[key])
                raise InputError(f"metric 'amr:{self.subject}' does not take {key}; {aspects} do")
        if self.subject in WITH_VECTORS and not self.vectors:
            raise InputError(f"metric 'amr:{self.subject}' needs word vectors: write amr:{self.subject},vectors=FILE")
        is_as_in_smatchpp = self.solver == "exact" and self.standardize
        if self.engine == "smatchpp" and not is_as_in_smatchpp:
            raise InputError("metric 'amr:smatch': engine=smatchpp aligns optimally and standardizes only")

    def _required_packages(self) -> tuple[str, ...]:
        """Return the names on PyPI of the packages that compute the aspect, whose versions the signature includes."""
        packages = ["penman"]
        if self.subject in ALIGNED:
            packages.append("scipy")
        if self.subject == "wwlk":
            packages.append("POT")
        if self.engine == "smatchpp":
            packages.append("smatchpp")
        return tuple(packages)

    def expand(self) -> tuple[Metric, ...]:
        """Return one metric per aspect for ``amr:all``, each with the options that it accepts; otherwise itself.

        Raises:
            InputError: the metric is ``amr:all`` without word vectors.
        """
        if self.subject != _ALL:
            return (self,)
        if not self.vectors:
            raise InputError(f"metric {str(self)!r} needs word vectors for some aspects: write amr:all,vectors=FILE")
        changed = {key: getattr(self, key) for key, _ in self._changed_options()}
        metrics = []
        for aspect in ASPECTS:
            options = {key: value for key, value in changed.items() if aspect in _ASPECTS_WITH.get(key, _NAMES)}
            metrics.append(type(self)(aspect, **options))
        return tuple(metrics)

    def takes(self, name: str) -> bool:
        """Tell whether an option affects the aspect; ``amr:all`` takes every option."""
        return self.subject == _ALL or self.subject in _ASPECTS_WITH.get(name, _NAMES)

    def settings(self) -> AspectSettings:
        """Return the aspect and the settings of its computation.

        Raises:
            InputError: the metric is ``amr:all``.
        """
        self._refuse_all()
        return AspectSettings(
            aspect=self.subject,
            solver=self.solver,
            seed=self.seed,
            standardize=self.standardize,
            iterations=self.iterations,
            vectors=self.vectors or "",
            cutoff=self.cutoff,
            diffsense=self.diffsense,
            concept_weight=self.concept_weight,
        )

    def check_available(self) -> None:
        """Check that the packages are installed, and that the word vectors and the parser exist.

        Raises:
            InputError: there are no such word vectors, or there is no such parser.
            UnavailableError: a package is not installed.
        """
        super().check_available()
        if self.vectors:
            from assay.metrics.words import check_source

            check_source(user_path(self.vectors))
        if self.parser:
            from assay.metrics.amr.parsing import check_parser

            check_parser(self.parser)

    def foreign_code(self) -> str:
        """Return the parser: amrlib may unpickle files of its folder, which can run code. Empty without a parser."""
        return self.parser or ""

    def files(self) -> tuple[str, ...]:
        """Return the paths of the word vectors and of the parser's folder, as the user typed them, if there are any."""
        from assay.metrics.amr.parsing import PARSER

        parser_folder = (self.parser or "").removeprefix(PARSER)
        return tuple(path for path in (self.vectors, parser_folder) if path)

    def needs(self) -> Engine:
        """Return assay's engine that compares graphs, which all aspects share, or that of ``engine=smatchpp``."""
        from assay.metrics.amr.session import AmrEngine, SmatchppEngine

        if self.engine == "smatchpp":
            return SmatchppEngine(self.parser or "")
        from assay.common.processes import free_cores
        from assay.metrics.neural.runtime import current_runtime

        return AmrEngine(current_runtime().threads or free_cores(), self.parser or "")

    def score(self, batch: Batch) -> NDArray[np.float64]:
        """Return one score per pair, float64, shape ``(len(batch),)``.

        After an error or an interruption, all open sessions are closed.

        Raises:
            InputError: the metric is ``amr:all``; there are no such word vectors, or they are broken; there is no such
                parser; a text has no graph or an unreadable one.
            UnavailableError: a package is missing.
            WorkerDiedError: some pairs ended two processes, for example because memory ran out.
            AssayError: no optimal alignment of a pair was found.
        """
        from assay.metrics.work import open_session, release_sessions

        self._refuse_all()
        self.check_available()
        try:
            values: NDArray[np.float64] = open_session(self.needs()).score([self], batch).values[:, 0]
        except (AssayError, KeyboardInterrupt):
            # ends the processes, which may be in the middle of a chunk
            release_sessions()
            raise
        return values

    @property
    def is_explainable(self) -> bool:
        """Whether the aspect is ``smatch``, whose alignment can be shown."""
        return self.subject == "smatch"

    def explain(self, batch: Batch) -> Sequence[Explanation]:
        """Return the alignment of each pair of graphs; for ``engine=smatchpp`` that of assay's own engine.

        Raises:
            NotExplainableError: the aspect has no alignment to show.
            InputError: a text has no graph, or its graph cannot be read; or there is no such parser.
            UnavailableError: a text has to be parsed, and amrlib is not installed.
            AssayError: no optimal alignment of a pair was found.
        """
        from assay.metrics.explaining.graphs import explain_graphs

        if not self.is_explainable:
            return super().explain(batch)
        return explain_graphs(str(self), self.settings(), self.parser or "", batch)

    def data_signature(self) -> dict[str, str]:
        """Return the digests of the word vectors and of the parser's model, if any, and with it amrlib's version.

        Raises:
            InputError: there are no such word vectors, or there is no such parser.
            UnavailableError: there is a parser, and amrlib is not installed.
        """
        signature: dict[str, str] = {}
        if self.vectors:
            from assay.metrics.words import check_source, source_digest

            path = user_path(self.vectors)
            check_source(path)
            signature["vectors"] = f"{path.name}@{source_digest(path)[:16]}"
        if self.parser:
            from assay.metrics.amr.parsing import parser_digest

            signature |= {"parser": parser_digest(self.parser), "amrlib": version_of("amrlib")}
        return signature

    def signature(self) -> dict[str, str]:
        """Return everything that changes the score, as texts by name in a fixed order.

        The options that the aspect does not accept are left out.
        """
        return {key: value for key, value in super().signature().items() if self.takes(key)}

    def _refuse_all(self) -> None:
        if self.subject == _ALL:
            raise InputError(f"metric {str(self)!r} means fifteen metrics: name one of them, such as amr:smatch")
