"""Suites: named sets of datasets, metrics and buckets, as TOML files."""

from __future__ import annotations

import tomllib
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from assay.common.messages import Setting
from assay.exceptions import InputError, suggestion_for, unknown_name
from assay.paths import check_is_no_run, no_such_file, read_settings_file, user_path


class Suite(BaseModel):
    """A named set of datasets, metrics and bucket rules to run.

    Attributes:
        name: the name for ``assay run NAME``.
        description: a description in one line.
        datasets: dataset specifications, such as ``stsb:test``.
        metrics: metric names.
        optional: those of *metrics* whose absence does not fail the run.
        buckets: bucket rules.
        statistics: names of coefficients; empty for the default ones.
        drop_duplicates: whether duplicate pairs are left out.
        sample: the number of pairs that are drawn of each dataset, in whole groups; None for all.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    description: str
    datasets: tuple[str, ...] = Field(min_length=1)
    metrics: tuple[str, ...] = Field(min_length=1)
    optional: tuple[str, ...] = ()
    buckets: tuple[str, ...] = ("f1",)
    statistics: tuple[str, ...] = ()
    drop_duplicates: bool = False
    sample: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _check_optional(self) -> Suite:
        """Raise ValueError, which pydantic reports, for an optional metric that is none of the metrics."""
        for name in self.optional:
            if name not in self.metrics:
                raise ValueError(f"optional names {name!r}, which is none of the metrics")
        return self


def shipped_suites() -> dict[str, Traversable]:
    """Return the files of the suites that come with assay, by name."""
    folder = resources.files("assay.benchmark") / "suites"
    return {path.name.removesuffix(".toml"): path for path in folder.iterdir() if path.name.endswith(".toml")}


def is_suite(name: str) -> bool:
    """Tell whether a name is that of a shipped suite, or of a TOML file that lists datasets, as a card does not."""
    if name in shipped_suites():
        return True
    if not name.endswith(".toml"):
        return False
    try:
        return "datasets" in tomllib.loads(read_settings_file(user_path(name)).decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        return False  # what reads it as a card tells what is wrong


def load_suite(name: str) -> Suite:
    """Return the shipped suite *name*, or the suite in the TOML file at that path.

    Raises:
        InputError: there is no such suite, or the file is not a valid suite.
    """
    shipped = shipped_suites()
    if name in shipped:
        return _parse_suite(shipped[name].read_text(encoding="utf-8"), name)
    path = user_path(name)
    if path.suffix == ".toml":
        try:
            return _parse_suite(read_settings_file(path).decode("utf-8"), name)
        except FileNotFoundError:
            raise InputError(no_such_file(path, Path.is_file)) from None
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{name}: this suite cannot be read ({error})") from error
    check_is_no_run(path)
    raise InputError(
        f"{unknown_name('there is no suite', name, sorted(shipped))} A suite of your own is a .toml file; a dataset or "
        "a file of pairs goes with ",
        Setting("datasets", name),
    )


def _parse_suite(text: str, source: str) -> Suite:
    """Return the suite in a TOML text; *source* names the text in errors.

    Raises:
        InputError: the text is not valid TOML, or a field is invalid; the first such field is reported.
    """
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source}: is not valid TOML: {error}") from error
    try:
        return Suite.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        location = ".".join(str(key) for key in first["loc"])
        where = f"{source}: {location}" if location else source
        problem = first["msg"].removeprefix("Value error, ")
        if first["type"] == "extra_forbidden":
            problem = f"there is no such setting.{suggestion_for(location, Suite.model_fields)}"
        raise InputError(f"{where}: {problem}") from error
