"""Published tables with a factor, a tolerance, and metrics that read a file of the user; BAMBOO's is the first."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from assay.analysis.reproduce import PublishedTable, compare_cells, load_table
from assay.manifest import AgreementRow
from assay.reports.reproduce import summarise

WORDS = "/some/where,else/glove.txt"


def table(**row):
    return PublishedTable(
        name="one",
        title="",
        source="",
        scale=100,
        columns=(
            {"title": "A", "dataset": "data:test", "bucket": "all", "statistic": "pearson"},
            {"title": "B", "dataset": "other@2", "bucket": "all", "statistic": "pair-accuracy"},
        ),
        rows=({"title": "R", "metric": "m", "printed": ("58.39", "89.87"), **row},),
    )


def found(value, other=None, metric="m", split="test"):
    rows = [("data", split, "pearson", value), ("other", "dev", "pair-accuracy", other)]
    return [
        AgreementRow(
            dataset=name,
            split=where,
            bucket="all",
            metric=metric,
            statistic=statistic,
            value=number,
            low=None,
            high=None,
            n=1,
            notes=(),
        )
        for name, where, statistic, number in rows
    ]


def verdicts(made, rows, **settings):
    return [(cell.verdict, cell.failed) for cell in compare_cells(made, rows, **settings)]


def test_values_are_held_against_the_print_in_its_unit():
    first, second = compare_cells(table(), found(0.58394, 0.89))
    assert (first.value, first.verdict) == (pytest.approx(58.394), "equal")
    assert first.difference == pytest.approx(0.004)
    assert (second.verdict, second.difference) == ("differs", pytest.approx(-0.87))


@pytest.mark.parametrize(
    ("within", "value", "verdict"),
    [
        (0.5, 0.5888, "within .5"),
        (0.5, 0.5890, "differs"),
        (0.5, 0.5790, "within .5"),
        (0.5, 0.5788, "differs"),
        (1.5, 0.5980, "within 1.5"),
        (1.5, 0.58391, "equal"),
        (None, 0.5842, "differs"),
    ],
)
def test_a_tolerance_is_a_verdict_of_its_own(within, value, verdict):
    made = table(within=within, note="why") if within else table()
    assert verdicts(made, found(value, 0.8987))[0] == (verdict, verdict == "differs")


def test_the_split_of_a_column_must_be_that_of_the_run():
    assert verdicts(table(), found(0.5839, 0.8987, split="dev")) == [("missing", True), ("equal", False)]


def test_rows_that_read_word_vectors():
    made = table(metric="m,vectors={vectors}")
    assert made.rows_with_vectors == ("R",)
    assert made.metrics() == ()
    assert verdicts(made, found(0.5839, 0.8987)) == [("left out", False)] * 2
    name = f"m,vectors={WORDS}"
    assert made.metrics(WORDS) == (name,)
    assert verdicts(made, found(0.5839, 0.8987, metric=name), vectors=WORDS) == [("equal", False)] * 2
    assert verdicts(made, [], vectors=WORDS) == [("missing", True)] * 2
    assert summarise(compare_cells(made, [])) == "0 of 2 cells equal as printed; 2 left out"


def test_a_tolerance_has_a_reason():
    with pytest.raises(ValidationError, match="a tolerance needs its reason"):
        table(within=0.5)


def test_bamboo_asks_for_what_was_published():
    bamboo = load_table("bamboo")
    assert len(bamboo.datasets) == 6
    assert bamboo.statistics == ("pearson", "pair-accuracy")
    within = {row.title: row.within for row in bamboo.rows}
    assert within == {"Smatch": 0.5, "SmatchPP": 0.5, "S2match": 0.5, "WLK-k2": 0.5, "WWLK-k2": 1.5}
    assert bamboo.metrics() == ("amr:smatch,standardize=false", "amr:smatch", "amr:wlk")
    assert len(bamboo.metrics("glove.txt")) == 5


def test_bamboo_holds_the_numbers_of_the_benchmarks_own_table(shared_data):
    heads, *lines = [
        [cell.strip().rstrip(",") for cell in line.split("|")[1:-1]]
        for line in (shared_data / "bamboo" / "README.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("| ") and line.count("|") > 12
    ]
    printed = {line[0]: dict(zip(heads, line, strict=True)) for line in lines}
    chosen = ("STS", "SICK", "PARA", "STS(role)", "SICK(role)", "PARA(role)")
    for row in load_table("bamboo").rows:
        assert row.printed == tuple(printed[row.title][head] for head in chosen)
