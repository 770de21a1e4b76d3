"""Metric ``amr``: what two AMR graphs have in common, aspect by aspect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from assay.amr import ASPECTS
from assay.errors import AssayError, InputError, unknown_name
from assay.metrics.amr.aspect import ALIGNED, SETS, WITH_VECTORS, AspectSettings
from assay.metrics.base import Batch, Declaration, Metric, option
from assay.metrics.provenance import version_of
from assay.paths import user_path

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from assay.metrics.work import Engine

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
_GLOBAL = "Opitz and Frank 2022, SBERT studies Meaning Representations"
_FINE = "Damonte, Cohen and Satta 2017, An Incremental Parser for Abstract Meaning Representation"
_KERNEL = "Opitz, Daza and Frank 2021, Weisfeiler-Leman in the Bamboo"
_CITATIONS: Final = {
    "smatch": "Cai and Knight 2013, Smatch; Opitz 2023, SMATCH++",
    "wlk": _KERNEL,
    "wwlk": _KERNEL,
    "s2match": "Opitz, Parcalabescu and Frank 2020, AMR Similarity Metrics from Principles",
    **dict.fromkeys((*SETS, "unlabeled", "coreference", "srl"), _FINE),
}


@dataclass(frozen=True)
class Amr(Metric):
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
    cutoff: float = option(0.95, "cosines of word vectors up to it are no match", minimum=0, maximum=1)
    diffsense: float = option(0.5, "factor of a match of other senses", minimum=0, maximum=1)
    concept_weight: float = option(1.0, "what a match of concepts is worth; 3 focuses on concepts", minimum=1)
    engine: Literal["assay", "smatchpp"] = option("assay", "smatchpp runs the package itself, pair by pair")
    parser: str | None = option(None, "amrlib:FOLDER parses the texts that have no graph")

    declaration = Declaration(
        name="amr",
        kind="amr",
        summary="similarity of AMR graphs, by aspect",
        symmetric=True,
        perfect=1.0,
        reads_graphs=True,
        whole="amr",
        citation=_GLOBAL,
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
            aspect=self.subject, citation=_CITATIONS.get(self.subject, _GLOBAL), provider=self._packages_needed()
        )

    def _check_options(self) -> None:
        """Raise InputError if the aspect does not exist, or an option does not fit it."""
        if self.subject not in _NAMES:
            raise InputError(unknown_name("metric 'amr' has no aspect", self.subject, (*_NAMES, _ALL)))
        for name, _ in self._changed():
            if not self.takes(name):
                aspects = ", ".join(_ASPECTS_WITH[name])
                raise InputError(f"metric 'amr:{self.subject}' does not take {name}; {aspects} do")
        if self.subject in WITH_VECTORS and not self.vectors:
            raise InputError(f"metric 'amr:{self.subject}' needs word vectors: write amr:{self.subject},vectors=FILE")
        if self.engine == "smatchpp" and (self.solver != "exact" or not self.standardize):
            raise InputError("metric 'amr:smatch': engine=smatchpp aligns optimally and standardizes only")

    def _packages_needed(self) -> tuple[str, ...]:
        """Return the packages that compute the aspect; their versions may change a score, and are in the signature."""
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
        changed = {name: getattr(self, name) for name, _ in self._changed()}
        metrics = []
        for aspect in ASPECTS:
            options = {name: value for name, value in changed.items() if aspect in _ASPECTS_WITH.get(name, _NAMES)}
            metrics.append(type(self)(aspect, **options))
        return tuple(metrics)

    def takes(self, name: str) -> bool:
        """Tell whether the aspect accepts an option; see :class:`Metric`."""
        return self.subject == _ALL or self.subject in _ASPECTS_WITH.get(name, _NAMES)

    def settings(self) -> AspectSettings:
        """Return the aspect and the settings of its computation.

        Raises:
            InputError: the metric is ``amr:all``.
        """
        self._refuse_all()
        return AspectSettings(
            self.subject,
            self.solver,
            self.seed,
            self.standardize,
            self.iterations,
            self.vectors or "",
            self.cutoff,
            self.diffsense,
            self.concept_weight,
        )

    def check_available(self) -> None:
        """Return if the packages are installed, and word vectors and parser exist."""
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
        """Return the paths of the word vectors and of the parser's folder, if there are any."""
        from assay.metrics.amr.parsing import PARSER

        return tuple(path for path in (self.vectors, (self.parser or "").removeprefix(PARSER)) if path)

    def needs(self) -> Engine:
        """Return the engine that compares graphs, which all aspects share."""
        from assay.metrics.neural.runtime import current_runtime, free_cores

        if self.engine == "smatchpp":
            from assay.metrics.amr.session import SmatchppEngine

            return SmatchppEngine(self.parser or "")
        from assay.metrics.amr.session import AmrEngine

        return AmrEngine(current_runtime().threads or free_cores(), self.parser or "")

    def score(self, batch: Batch) -> NDArray[np.float64]:
        """Return one score per pair, float64, shape ``(len(batch),)``.

        Raises:
            InputError: the metric is ``amr:all``, or a text has no graph or an unreadable one.
            UnavailableError: a package is missing, or a process ended.
        """
        from assay.metrics.work import open_session, release_sessions

        self._refuse_all()
        self.check_available()
        try:
            values: NDArray[np.float64] = open_session(self.needs()).score([self], batch).values[:, 0]
        except (AssayError, KeyboardInterrupt):
            release_sessions()
            raise
        return values

    def data_signature(self) -> dict[str, str]:
        """Return the digests of the word vectors and of the parser's model, with the version of amrlib."""
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
        """Return the signature without the options that the aspect does not accept; see :class:`Metric`."""
        return {key: value for key, value in super().signature().items() if self.takes(key)}

    def _refuse_all(self) -> None:
        if self.subject == _ALL:
            raise InputError(f"metric {str(self)!r} means fifteen metrics: name one of them, such as amr:smatch")
