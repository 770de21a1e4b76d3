"""The page of a run that is kept for later runs: found for the same numbers, and for nothing else."""

from __future__ import annotations

import json

import pytest

import assay
from assay.analysis.folder import read_run
from assay.analysis.recommend.evidence import FILE_NAME, read_evidence, write_evidence
from assay.benchmark.folder import PAGE
from assay.common.kept import default_results
from assay.reports.page import kept
from assay.reports.page.render import page_html
from tests.reports.page_run import edit, make_run


@pytest.fixture
def pages(tmp_path, monkeypatch):
    """The runs whose page was made, not kept, in a cache of their own; pages of small runs are kept, too."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(kept, "MIN_BYTES", 0)
    made = []

    def counted(runs, **settings):
        made.append(runs[0].path.name)
        return page_html(runs, **settings)

    monkeypatch.setattr(kept, "page_html", counted)
    return made


@pytest.fixture
def run(tmp_path, pages):
    """A run whose scores were computed; later ones take them from the store, with the speed of this one."""
    folder = make_run(tmp_path, "first")
    assert pages == ["first"]
    pages.clear()
    return folder


def test_a_second_run_has_the_page_it_would_have_made_and_its_evidence(tmp_path, run, pages):
    second = make_run(tmp_path, "second")
    assert not pages
    assert (second / PAGE).read_text(encoding="utf-8") == page_html(
        [read_run(second)], leaderboard=False, categories=False
    )
    first_evidence, evidence = (
        json.loads((folder / FILE_NAME).read_text(encoding="utf-8")) for folder in (run, second)
    )
    assert evidence["datasets"] == first_evidence["datasets"]
    # readers take it as the evidence of this folder
    assert read_evidence(second) == evidence["datasets"]


def test_what_was_made_when_and_by_which_command_is_that_of_the_run(tmp_path, run, pages):
    edit(run, "run.json", lambda values: values.update(created="2031-05-06T07:08:09+00:00"))
    edit(run, "run.json", lambda values: values["environment"].update(argv=["run", "other.csv"], platform="Other-1.0"))
    page = kept.page_of_run(run)
    assert not pages
    assert "scored 2031-05-06." in page
    assert "Made on 2031-05-06" in page
    assert "run other.csv" in page
    assert "; Other-1.0.</p>" in page
    assert page == page_html([read_run(run)], leaderboard=False, categories=False)


@pytest.mark.parametrize("settings", [{"metrics": ["f1", "chrf"]}, {"resamples": 200}, {"buckets": ["none"]}])
def test_another_run_has_a_page_of_its_own(tmp_path, run, pages, settings):
    make_run(tmp_path, "other", **settings)
    assert pages == ["other"]


def test_the_limits_of_the_evidence_stay_and_make_a_page_of_their_own(run, pages):
    kept.page_of_run(run)
    before = read_evidence(run)
    (name,) = before
    limited = {name: before[name] | {"limits": before[name]["limits"] | {"max_loss": 0.2}}}
    write_evidence(run, limited)
    pages.clear()
    kept.page_of_run(run)
    assert pages == ["first"]
    kept.page_of_run(run)
    assert pages == ["first"]
    assert read_evidence(run) == limited


def test_a_stress_test_makes_another_page(run, pages):
    before = (run / PAGE).read_text(encoding="utf-8")
    assay.stress(run=run, threshold=0.5)
    assert pages == ["first"]
    assert (run / PAGE).read_text(encoding="utf-8") != before


def test_a_cache_that_cannot_be_used_is_left_alone(run, pages):
    expected = page_html([read_run(run)], leaderboard=False, categories=False)
    default_results().write_bytes(b"no database at all, but long enough to be read as one")
    assert kept.page_of_run(run) == expected
    assert pages == ["first"]
