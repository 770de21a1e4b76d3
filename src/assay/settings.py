"""Settings that several verbs share, as base classes; a verb lists them in the order of its ``--help``.

How a setting is declared is in :mod:`assay.common.declarations`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from assay.common.declarations import Settings, is_whole_number, setting
from assay.common.messages import Setting
from assay.exceptions import InputError
from assay.statistics.coefficients import INTERVALS, MIN_INFLUENCE_PAIRS, statistics_help

if TYPE_CHECKING:
    from assay.common.progress import Progress

#: Minimum number of draws for an interval or a test; with fewer, each tail has only two or three.
FEWEST_DRAWS = 100
#: Minimum number of draws beyond each bound of a percentile interval, so that no bound is a single extreme draw; equal
#: to the number that :data:`FEWEST_DRAWS` draws leave at a level of 95%.
DRAWS_BEYOND = 2.5


def check_seed(seed: int) -> None:
    """Raise InputError for a seed that is not an integer, or is negative."""
    if not is_whole_number(seed):
        raise InputError("must be a whole number", setting="seed", value=seed)
    if seed < 0:
        raise InputError("must not be negative", setting="seed", value=seed)


def check_level(confidence: float, resamples: int = 0) -> None:
    """Check a confidence level.

    Args:
        confidence: the level.
        resamples: the number of draws whose percentiles are the bounds of the interval; 0 for no such interval.

    Raises:
        InputError: the level is not in (0.5, 1), or it is too high for the number of draws.
    """
    if not isinstance(confidence, Real) or not 0.5 < confidence < 1:
        raise InputError("must lie between 0.5 and 1, such as 0.95", setting="confidence", value=confidence)
    # rounded, since 1 - .9 is slightly less than .1 in floating point, which would demand one draw too many
    needed = math.ceil(round(2 * DRAWS_BEYOND / (1 - confidence), 3))
    if 0 < resamples < needed:
        draws_beyond = resamples * (1 - confidence) / 2
        raise InputError(
            f"{resamples:,} resamples leave {draws_beyond:.1g} beyond each bound, too few to place it; use ",
            Setting("resamples", needed),
            " or more, or a lower level",
            setting="confidence",
            value=confidence,
        )


def check_resamples(
    resamples: int, *, none_allowed: bool = False, most: int | None = None, option: str = "resamples"
) -> None:
    """Check a number of draws.

    Args:
        resamples: the number of draws.
        none_allowed: whether 0 is allowed.
        most: the highest number allowed; None for no limit.
        option: the name of the setting in messages.

    Raises:
        InputError: the number is not an integer, is below :data:`FEWEST_DRAWS`, or is too high.
    """
    if not is_whole_number(resamples):
        raise InputError("must be a whole number", setting=option, value=resamples)
    if resamples < FEWEST_DRAWS and not (none_allowed and resamples == 0):
        alternative = "; 0 for none" if none_allowed else ""
        needs = f"an interval or a test needs at least {FEWEST_DRAWS} draws"
        raise InputError(f"{needs}{alternative}", setting=option, value=resamples)
    if most is not None and resamples > most:
        raise InputError(f"more than {most:,} draws tell no more", setting=option, value=resamples)


def parse_scale(text: str) -> tuple[float, float]:
    """Parse ``LOW,HIGH`` and return the lowest and the highest label.

    Raises:
        InputError: the text does not have this form, the first number is not below the second, or one is infinite.
    """
    try:
        low, high = (float(bound) for bound in text.split(","))
    except ValueError:
        raise InputError(
            "must be two numbers with a comma between them, such as 0,5", setting="scale", value=text
        ) from None
    # not low >= high, which NaN would pass
    if not low < high:
        raise InputError("the first number must be below the second", setting="scale", value=text)
    if math.isinf(low) or math.isinf(high):
        raise InputError("both numbers must be finite", setting="scale", value=text)
    return low, high


@dataclass(frozen=True, kw_only=True)
class OwnColumns(Settings):
    """The settings that tell how a table of the user's own is read: its columns and cells."""

    columns: str | Mapping[str, str] | None = setting(
        "The columns: reference=answer1,candidate=answer2,label=a1+a2,question=q", None
    )
    separator: str | None = setting(
        "The separator of several gold answers in a reference: '|'; json if cells are lists.",
        None,
        metavar="TEXT",
    )
    labels: str | Mapping[str, float] | None = setting(
        "The number of each word that is a label: no=0,partly=1,yes=2", None, metavar="WORD=NUMBER,…"
    )
    drop_unlabelled: bool = setting("Leave out rows without a label.", False)
    missing: str | Sequence[str] | None = setting(
        "Words that mean that there is no label or score, besides NA, none, null, - and the like: unsure,-1",
        None,
        metavar="WORD,…",
    )
    annotator: str | None = setting(
        "The column that names the annotator, if a row is one annotation of a pair; - for none.", None, metavar="COLUMN"
    )
    encoding: str | None = setting("The encoding of a text file, such as cp1252; found if not given.", None)
    member: str | None = setting(
        "The file in an archive, the sheet of a workbook or the list in a JSON file.", None, metavar="NAME"
    )


@dataclass(frozen=True, kw_only=True)
class OwnData(OwnColumns):
    """The settings that tell how data of the user's own is read, with its language."""

    language: str | None = setting(
        "Language of your own data, such as en or de; of datasets with several, the one to read.", None
    )


@dataclass(frozen=True, kw_only=True)
class Graphs(Settings):
    """The setting with the AMR graphs of the texts."""

    graphs: str | Mapping[str, Sequence[str | Path]] | None = setting(
        "AMR graphs of the texts, by row or ::id: reference=A.amr[+B.amr],candidate=C.amr", None
    )


@dataclass(frozen=True, kw_only=True)
class Limited(Settings):
    """The setting that limits how much of the data is used."""

    limit: int | None = setting("Only the first N pairs of each dataset.", None, at_least=1, metavar="N")


@dataclass(frozen=True, kw_only=True)
class Seeded(Settings):
    """The seed of work that draws at random; the same seed gives the same draws."""

    seed: int = setting("Seed of every random draw.", 0)

    def check(self) -> None:
        """Raise InputError for a seed that is not an integer, or is negative."""
        super().check()
        check_seed(self.seed)


@dataclass(frozen=True, kw_only=True)
class Resampling(Seeded):
    """The settings of intervals that are drawn by resampling.

    Attributes:
        NONE_ALLOWED: whether 0 resamples are allowed, for no intervals.
        resamples: the number of bootstrap resamples, at least :data:`FEWEST_DRAWS`, and more for a high level.
        confidence: the level of the intervals, in (0.5, 1).
        seed: the seed of the resamples, see :func:`~assay.statistics.resampling.seed_of`; not negative.

    Raises:
        InputError: a value out of its range.
    """

    NONE_ALLOWED: ClassVar[bool] = True

    resamples: int = setting("Bootstrap resamples for the intervals; 0 for none.", 1000)
    confidence: float = setting("Level of the intervals.", 0.95)

    def check(self) -> None:
        """Raise InputError for an invalid number of resamples, level or seed, or too few resamples for the level."""
        check_resamples(self.resamples, none_allowed=self.NONE_ALLOWED)
        check_level(self.confidence, self.resamples)
        super().check()


@dataclass(frozen=True, kw_only=True)
class AgreementIntervals(Resampling):
    """The settings of intervals of agreement, and of its differences."""

    interval: Literal["auto", "bootstrap", "influence"] = setting(
        f"Intervals from resamples, or from the influence of each pair, in one pass; auto: influence from "
        f"{MIN_INFLUENCE_PAIRS:,} pairs on.",
        "auto",
        choices=INTERVALS,
    )


@dataclass(frozen=True, kw_only=True)
class ChosenRows(Settings):
    """The settings that tell which pairs of the data are used, and which of them belong together."""

    group_by: str | None = setting(
        "Resample whole groups of this column [default: the data's own groups]; none for single pairs.",
        None,
        metavar="COLUMN",
    )
    sample: int | None = setting(
        "A random sample of this many pairs of each dataset; groups stay whole.", None, at_least=1, metavar="N"
    )
    drop_duplicates: bool | None = setting(
        "Drop repeated pairs with the same label.", None, flags=("--drop-duplicates/--keep-duplicates",)
    )


#: The bucket rules of a run that names none.
DEFAULT_BUCKETS = ("f1",)


@dataclass(frozen=True, kw_only=True)
class AgreementSettings(ChosenRows, AgreementIntervals):
    """The settings of the agreement of scores with labels."""

    buckets: Sequence[str] = setting(
        "f1, f1:0,0.5,1, label<2, subset, length, number, any column; a+b combines; none.",
        (),
        flags=("--bucket", "-b"),
        metavar="RULE",
    )
    statistics: Sequence[str] = setting(statistics_help(), (), flags=("--statistic",), metavar="NAME")


@dataclass(frozen=True, kw_only=True)
class AdjustedAgreement(AgreementSettings):
    """The settings of agreement, with what it is adjusted for."""

    controls: Sequence[str] = setting(
        "Also show agreement with length, f1, number or a column held constant; a+b holds both constant.",
        (),
        flags=("--control",),
        metavar="RULE",
    )


@dataclass(frozen=True, kw_only=True)
class RunFolderOutput(Settings):
    """The setting of a verb that may write a run folder beside what it prints."""

    out: str | Path | None = setting("Also write a run folder.", None, flags=("--out", "-o"), metavar="FOLDER")


@dataclass(frozen=True, kw_only=True)
class Hardware(Settings):
    """The settings of the hardware that models run on."""

    device: str = setting("Where models run: auto, cpu, cuda, cuda:N, mps, all (every GPU).", "auto")
    threads: int | None = setting("CPU threads for models [default: the number of free cores].", None, at_least=1)


@dataclass(frozen=True, kw_only=True)
class Offline(Settings):
    """The setting that forbids downloads."""

    offline: bool = setting("Download nothing.", False)


@dataclass(frozen=True, kw_only=True)
class WithProgress(Settings):
    """The setting of work that reports its progress."""

    # a verb itself gets what it means, see shown_progress
    progress: Progress | Any = setting(
        "True for a bar, False for none, or an object with the methods begin, advance and say [default: a bar in a "
        "terminal or notebook for work of more than two seconds].",
        None,
        python_only=True,
    )


@dataclass(frozen=True, kw_only=True)
class GoldAnswers(Settings):
    """The setting that tells how several gold answers become one score."""

    references: Literal["best", "mean"] = setting(
        "Several gold answers: the best score, or the mean.", "best", choices=("best", "mean")
    )


@dataclass(frozen=True, kw_only=True)
class RequestSettings(AdjustedAgreement, Limited, GoldAnswers):
    """The settings that determine the numbers of a run, beside its data and metrics.

    A setting that is added to one of these classes is recorded in ``run.json``. Where it differs from its default, it
    is part of the digest of the request and the signature of the run, see :class:`assay.manifest.RequestRecord`.
    """


#: The names of the engines that can score pairs.
ENGINES = ("local", "ray")


@dataclass(frozen=True, kw_only=True)
class Scoring(GoldAnswers, Hardware, Offline, WithProgress):
    """The settings of scoring pairs: by which engine, on which hardware, with how many processes."""

    workers: int | None = setting(
        "At most N processes score, and models use N threads; small work starts none [default: the number of free "
        "cores].",
        None,
        at_least=1,
        metavar="N",
    )
    keep_models: bool = setting("Keep several models in memory at a time.", False)
    engine: str = setting("Who scores: local, this machine; ray, a Ray cluster.", "local", choices=ENGINES)
    address: str | None = setting(
        "Head node of the Ray cluster, HOST:PORT or auto [default: $RAY_ADDRESS, else a Ray on this machine].",
        None,
        metavar="ADDRESS",
    )
    executor: Any = setting(
        "Who scores, in place of `engine` and `workers`: an executor of :mod:`assay.benchmark.executor`.",
        None,
        python_only=True,
    )

    @property
    def model_threads(self) -> int | None:
        """The number of CPU threads for models: `threads`, else `workers`; None to use all free cores."""
        return self.threads or self.workers

    def check(self) -> None:
        """Raise InputError for an address of a Ray cluster without the engine ``ray``."""
        super().check()
        if self.address is not None and self.engine != "ray":
            raise InputError(
                "is for a Ray cluster; add ", Setting("engine", "ray"), setting="address", value=self.address
            )


@dataclass(frozen=True, kw_only=True)
class Prices(Settings):
    """The setting with the prices of the tokens of judges at an endpoint."""

    prices: str | Path | None = setting(
        'TOML with prices of a million tokens: a table ["NAME"] per model, with input and output.', None, metavar="FILE"
    )


@dataclass(frozen=True, kw_only=True)
class Paid(Prices):
    """The settings that tell what judges at an endpoint cost, and may cost in all."""

    budget: float | None = setting("The highest total cost of judges; needs the prices of their tokens.", None, above=0)


@dataclass(frozen=True, kw_only=True)
class ScoreStore(Settings):
    """The settings of the score store, from which scores of earlier runs are read."""

    fresh: bool = setting("Compute scores again that the score store already has.", False)
    keep_replies: bool = setting(
        "With `fresh`, still read the replies of judges that are stored, since they were paid for.",
        False,
        python_only=True,
    )
    store: str | Path | None = setting("File of the score store; the shared one by default.", None, python_only=True)


@dataclass(frozen=True, kw_only=True)
class PaidScoring(Scoring, Paid, ScoreStore):
    """The settings of verbs that score pairs with any metric: how, at what cost, and from which store."""
