"""Options that several verbs share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.reports.formats import FORMATS

__all__ = [
    "BucketOption", "ColumnsOption", "ConfidenceOption", "DatasetOption",
    "DeviceOption", "DropDuplicatesOption", "Format", "FormatOption", "FreshOption", "GraphsOption", "GroupByOption",
    "JsonOption", "KeepModelsOption", "LanguageOption", "LimitOption", "ListFormat", "ListFormatOption",
    "MetricOption", "OfflineOption", "OptionalOutFolder", "OutFolder", "PermutationsOption", "QuietOption",
    "ReferencesOption", "ReportFormat", "ReportFormatOption", "ResamplesOption",
    "ScaleOption", "SeedOption", "ThreadsOption", "scale_text",
]  # fmt: skip


if TYPE_CHECKING:

    class ReportFormat(StrEnum):
        """How a report is printed; here are only the formats that verbs name themselves."""

        table = "table"
        json = "json"
        csv = "csv"
else:
    #: How a report is printed: as tables for a terminal, or in any format of the registry.
    ReportFormat = StrEnum("ReportFormat", {name: name for name in ("table", *FORMATS)})

Format = ReportFormat


class ListFormat(StrEnum):
    """How a list is printed."""

    table = "table"
    json = "json"


def scale_text(text: str | None) -> str | None:
    """Return ``LOW,HIGH`` as it is.

    Raises:
        BadParameter: not of that form. A blank in place of the comma would else be told of as a stray word.
    """
    if text is not None:
        from assay.errors import InputError
        from assay.settings import parse_scale

        try:
            parse_scale(text)
        except InputError as error:
            raise typer.BadParameter(str(error).partition(": ")[2]) from None
    return text


MetricOption = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        help="A metric: name[:subject][,option=value]…; repeatable. Names: assay metrics list",
    ),
]
DatasetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--dataset",
        "-d",
        help="A dataset (NAME[@VERSION][:SPLIT]) or a CSV, TSV, JSONL, Parquet file; repeatable.",
    ),
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--columns", help="Which columns are what: reference=answer1,candidate=answer2,label=a1+a2,question=q"
    ),
]
GraphsOption = Annotated[
    str | None,
    typer.Option("--graphs", help="AMR graphs of the texts, by row or ::id: reference=A.amr[+B.amr],candidate=C.amr"),
]
BucketOption = Annotated[
    list[str] | None,
    typer.Option(
        "--bucket",
        "-b",
        help="f1, f1:0,0.5,1, label<2, subset, length, number, any column; a+b combines; none.",
    ),
]
ResamplesOption = Annotated[int, typer.Option(help="Bootstrap resamples for the intervals; 0 for none.")]
ConfidenceOption = Annotated[float, typer.Option(help="Level of the intervals.")]
GroupByOption = Annotated[
    str | None,
    typer.Option("--group-by", help="Resample whole groups of this column [default: the data's own group]; none."),
]
DropDuplicatesOption = Annotated[
    bool | None,
    typer.Option("--drop-duplicates/--keep-duplicates", help="Drop pairs that repeat with the same label."),
]
SeedOption = Annotated[int, typer.Option(help="Seeds the resampling.")]
LimitOption = Annotated[int | None, typer.Option(help="Only the first so many pairs of each dataset.")]
ReferencesOption = Annotated[
    str, typer.Option("--references", help="Several gold answers: the best score, or the mean.")
]
LanguageOption = Annotated[str | None, typer.Option("--language", help="Language of your own file, such as en or de.")]
FreshOption = Annotated[bool, typer.Option("--fresh", help="Compute anew what the score store has.")]
OfflineOption = Annotated[bool, typer.Option("--offline", help="Fetch nothing.")]
DeviceOption = Annotated[
    str, typer.Option("--device", help="Where models run: auto, cpu, cuda, cuda:N, mps, all (every GPU).")
]
ThreadsOption = Annotated[
    int | None, typer.Option("--threads", help="Threads of the CPU for models [default: the cores that are free].")
]
KeepModelsOption = Annotated[bool, typer.Option("--keep-models", help="Let several models be in memory at a time.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no hints.")]
ScaleOption = Annotated[
    str | None,
    typer.Option(
        "--scale",
        metavar="LOW,HIGH",
        callback=scale_text,
        help="Lowest and highest label, where the data does not say them [default: 0,1].",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ListFormatOption = Annotated[ListFormat, typer.Option("--format", "-f", help="How the list is printed.")]
FormatOption = Annotated[ReportFormat, typer.Option("--format", "-f", help="How the table is printed.")]


PermutationsOption = Annotated[int, typer.Option(help="Draws of the permutation test.")]
ReportFormatOption = Annotated[ReportFormat, typer.Option("--format", "-f", help="How the report is printed.")]
OutFolder = Annotated[Path | None, typer.Option("--out", "-o", help="The run folder [default: runs/NAME-TIME].")]
OptionalOutFolder = Annotated[Path | None, typer.Option("--out", "-o", help="Write a run folder, too.")]
