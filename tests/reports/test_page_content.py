"""The page as text: its numbers, what it says of settings and failures, and that no text of the data becomes markup."""

from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser

import pytest

import assay
from assay.analysis.folder import read_run
from assay.exceptions import InputError
from assay.reports.page.render import page_html, write_page
from tests.reports.page_run import edit, make_run


@pytest.fixture
def folder(tmp_path):
    return make_run(tmp_path)


class _Outline(HTMLParser):
    """Tags in order, texts outside of scripts and styles, ids, and references to ids."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts, self.ids, self.targets, self.open = [], [], [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        held = dict(attributes)
        self.tags.append((tag, held))
        if tag not in ("meta", "link", "br", "wbr", "input"):
            self.open.append(tag)
        if "id" in held:
            self.ids.append(held["id"])
        self.targets += [held["href"][1:]] if held.get("href", "").startswith("#") else []
        self.targets += held.get("aria-labelledby", "").split()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"script", "style"} & set(self.open):
            self.texts.append(data)


def test_the_table_has_the_numbers_of_the_run(folder):
    page = page_html([read_run(folder)], leaderboard=False)
    for row in read_run(folder).agreement:
        if row.value is not None:
            assert f'data-bucket="{row.bucket.replace(">", "&gt;")}" data-value="{row.value}"' in page
    assert page.count('class="sortable agreement"') == 3


def test_an_undefined_value_is_a_dash_with_its_reason(folder):
    rows = read_run(folder).agreement
    (row,) = [row for row in rows if (row.bucket, row.metric, row.statistic) == ("f1=0", "f1", "spearman")]
    assert row.value is None
    assert row.notes == ("constant score",)
    page = page_html([read_run(folder)], leaderboard=False)
    (mark,) = re.findall(r'id="(note-unit-0-spearman-\w)"><sup>\w</sup> constant score', page)
    assert f'data-bucket="f1=0" data-value="">–<sup><a href="#{mark}"' in page


def test_it_is_whole_and_every_reference_leads_somewhere(folder):
    outline = _Outline(page_html([read_run(folder)]))
    assert outline.open == []
    assert len(outline.ids) == len(set(outline.ids))
    assert set(outline.targets) <= set(outline.ids)
    assert {tag for tag, _ in outline.tags} >= {"header", "nav", "main", "footer", "svg", "title", "desc", "caption"}
    drawings = [held for tag, held in outline.tags if tag == "svg"]
    assert drawings
    assert all(held["role"] == "img" and held["aria-labelledby"] for held in drawings)


def test_nothing_is_loaded_from_elsewhere(folder):
    outline = _Outline(page_html([read_run(folder)]))
    loaded = [
        (tag, held) for tag, held in outline.tags if held.get("src") or (tag == "link" and held["href"] != "data:,")
    ]
    assert loaded == []
    (policy,) = [held["content"] for tag, held in outline.tags if held.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ")


@pytest.mark.slow
def test_names_from_the_run_are_shown_as_text(folder):
    odd = '<img src=x onerror="alert(1)">&amp;'

    def change(run):
        run["datasets"][0]["version"] = odd
        run["datasets"][0]["notes"] = [odd, "half \ud83d of a pair"]
        run["environment"]["argv"] = ["run", odd]
        run["metrics"][0]["signature"]["option"] = odd
        run["metrics"][0]["says"] = odd

    page = page_html([edit(folder, "run.json", change)])
    assert "<img" not in page
    shown = " ".join(_Outline(page).texts)
    assert shown.count(odd) >= 5
    written = write_page([read_run(folder)], folder.parent / "page").read_text(encoding="utf-8")
    assert r"half \ud83d of a pair" in written


def test_how_to_reproduce(folder):
    arguments = ["run", "-d", "my data.csv", "-m", "f1"]
    run = edit(folder, "run.json", lambda held: held["environment"].update(argv=arguments))
    texts = " ".join(_Outline(page_html([run], leaderboard=False)).texts)
    assert "assay run -d 'my data.csv' -m f1" in texts
    for status in run.manifest.metrics:
        assert status.short_signature.replace("|", "") in texts.replace(" ", "").replace("|", "")
    assert run.manifest.datasets[0].digest in texts
    assert f"numpy {run.manifest.environment.packages['numpy']}" in texts
    assert "95% bootstrap intervals (expanded percentile) from 100 resamples, seed 0" in texts


def test_a_run_without_intervals(tmp_path):
    page = page_html([read_run(make_run(tmp_path, resamples=0, buckets=["none"]))])
    assert "no intervals were computed" in page
    assert 'class="interval"' not in page
    assert 'class="value"' in page


def test_a_metric_that_failed_is_named(folder):
    def change(run):
        run["metrics"][2].update(status="failed", reason="it broke", remedy="mend it")

    edit(
        folder, "agreement.json", lambda rows: rows.__setitem__(slice(None), [r for r in rows if r["metric"] != "ter"])
    )
    page = page_html([edit(folder, "run.json", change)])
    assert "ter: failed, it broke -&gt; mend it" in page
    assert "2 metrics compared with people on 1 dataset<" in page


def test_a_run_in_which_nothing_worked(folder):
    def change(run):
        for status in run["metrics"]:
            status.update(status="failed", reason="it broke", remedy="")

    edit(folder, "agreement.json", lambda rows: rows.clear())
    page = page_html([edit(folder, "run.json", change)])
    assert "No metric has a value on this dataset." in page
    assert "ter: failed, it broke" in page
    assert "There is nothing to rank" in page


def test_a_run_without_datasets(folder):
    edit(folder, "agreement.json", lambda rows: rows.clear())
    page = page_html([edit(folder, "run.json", lambda run: run.update(datasets=[], metrics=[], buckets=[]))])
    assert "0 metrics compared with people on 0 datasets" in page


@pytest.mark.slow
def test_several_runs(folder, tmp_path):
    other = make_run(tmp_path / "elsewhere", "other", resamples=0)
    page = page_html([read_run(folder), read_run(other)], leaderboard=False)
    texts = " ".join(_Outline(page).texts)
    assert "data [run]" in texts and "data [other]" in texts
    assert "Scores of all pairs, one strip per dataset" in texts
    assert page.count('type="application/octet-stream"') == 2


def test_runs_whose_folders_have_the_same_name(folder, tmp_path):
    other = tmp_path / "elsewhere" / "run"
    shutil.copytree(folder, other)
    texts = " ".join(_Outline(page_html([read_run(folder), read_run(other)], leaderboard=False)).texts)
    assert f"data [{folder}]" in texts and f"data [{other}]" in texts


@pytest.mark.slow
def test_a_dataset_is_called_the_same_all_over_the_page(folder, tmp_path):
    changed = tmp_path / "changed"
    run = make_run(tmp_path, "alone")
    shutil.copytree(folder, changed)
    edit(run, "run.json", lambda held: held["datasets"][0].update(digest="another"))
    page = page_html([read_run(folder), read_run(run)])
    board = page[page.index('<section id="leaderboard"') : page.index('<section id="distributions"')]
    article = page[page.index('<section id="agreement"') : page.index('<section id="leaderboard"')]
    for title in ("data [run]", "data [alone]"):
        assert f">{title}, all<" in board
        assert f">{title}</h3>" in article


def test_no_run():
    with pytest.raises(InputError, match="no run: give one run folder or more"):
        page_html([])


def test_a_run_given_twice(folder):
    with pytest.raises(InputError, match="is given twice"):
        page_html([read_run(folder), read_run(folder / ".." / "run")])


@pytest.mark.slow
def test_the_same_run_gives_the_same_page(folder):
    assert page_html([read_run(folder)]) == page_html([read_run(folder)])


@pytest.mark.slow
def test_the_leaderboard_is_that_of_the_runs(folder):
    texts = _Outline(page_html([read_run(folder)])).texts
    assert "Each rank is followed by the ranks that the tests of all pairs of metrics leave possible" in " ".join(texts)
    assert texts.count("alike") == 3
    assert "Leaderboard" not in _Outline(page_html([read_run(folder)], leaderboard=False)).texts


@pytest.mark.slow
def test_a_leaderboard_that_would_take_long_is_left_out(folder, monkeypatch):
    # 3 metrics, 64 pairs and as many in f1=0 and f1>0 together, 1,000 resamples
    monkeypatch.setattr("assay.reports.page.parts.MAX_RANKING_WORK", 3 * 128 * 1000)
    assert 'id="leaderboard"' in page_html([read_run(folder)])
    assert "assay leaderboard computes them" not in page_html([read_run(folder)])
    monkeypatch.setattr("assay.reports.page.parts.MAX_RANKING_WORK", 3 * 128 * 1000 - 1)
    page = page_html([read_run(folder)])
    assert "assay leaderboard computes them" in page
    assert "alike" not in page


@pytest.mark.slow
def test_a_folder_of_its_own(folder, tmp_path):
    run = read_run(folder)
    out = tmp_path / "deep" / "page"
    assert write_page([run], out, leaderboard=False) == out / "index.html"
    assert [path.name for path in out.iterdir()] == ["index.html"]
    before = (out / "index.html").read_bytes()
    write_page([run], out)
    assert (out / "index.html").read_bytes() != before
    (out / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"page: holds notes.txt; give `out` a folder of its own"):
        write_page([run], out)
    assert (out / "notes.txt").read_text() == "mine"
    with pytest.raises(InputError, match="is not a folder"):
        write_page([run], out / "notes.txt")


def test_a_foreign_page_is_kept(folder, tmp_path):
    site = tmp_path / "site"
    (site / "index.html").mkdir(parents=True)
    with pytest.raises(InputError, match=r"index.html: is not a page of assay"):
        write_page([read_run(folder)], site)
    (site / "index.html").rmdir()
    (site / "index.html").write_text("<!doctype html><title>mine</title>")
    with pytest.raises(InputError, match=r"index.html: is not a page of assay"):
        write_page([read_run(folder)], site)
    assert "mine" in (site / "index.html").read_text()


@pytest.mark.slow
def test_the_leaderboard_names_files_by_what_tells_them_apart(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    metrics = []
    for name, step in (("one", 1), ("two", -1)):
        file = tmp_path / name / "scores.csv"
        file.parent.mkdir()
        file.write_text("\n".join(["score", *(str(number * step % 7) for number in range(12))]))
        metrics.append(f"recorded:{file}#score")
    pairs = [{"reference": f"a {number}", "candidate": "b", "label": number % 5} for number in range(12)]
    assay.run([pairs], metrics, out=tmp_path / "run", resamples=0)
    page = page_html([read_run(tmp_path / "run")], categories=False)
    ranks = page[page.index('<section id="leaderboard"') : page.index("How ranks are tested")]
    assert "<td>recorded:…/one/scores.csv#score</td>" in ranks
    assert str(tmp_path) not in ranks
