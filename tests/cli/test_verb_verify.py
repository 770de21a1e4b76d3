"""``assay verify``: runs made here, recomputed as they are and after something was changed on purpose."""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import assay as library
from assay.analysis.folder import read_run
from assay.reports.formats import format_document
from assay.reports.run import document

#: Words in common decide the lexical scores; no two rows are alike.
ROWS = [
    {
        "id": f"p{i}",
        "gold": f"the answer number {i}",
        "answer": f"answer {i}" if i % 3 else f"something else {i * i}",
        "human": i % 3,
        "kind": "ab"[i % 2],
        "asked": f"q{i // 2}",
        "points": i * i / 7,
    }
    for i in range(30)
]
COLUMNS = ("--columns", "pair_id=id,reference=gold,candidate=answer,label=human,subset=kind")
RULES = ("-b", "f1", "-b", "kind+f1", "-b", "subset=a", "-b", "subset", "-b", "length:1,3,9")
RUN = ("run", "-d", "file.csv", *COLUMNS, "--resamples", 100, "--seed", 4, "--quiet", "--out", "RUN")
METRICS = ("-m", "f1", "-m", "ter", "-m", "chrf")


def save(rows: list[dict[str, object]], name: str = "file.csv") -> None:
    lines = [",".join(rows[0]), *(",".join(str(cell) for cell in row.values()) for row in rows)]
    Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture(autouse=True)
def file() -> None:
    save(ROWS)


def ran(assay, *args) -> None:
    """Make a run that records its command line, as a process does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["assay", *map(str, args)])
        done = assay(*args)
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        (lambda text: text.replace("spearman,", "spearman,9", 1), "agreement.csv has value '9"),
        (lambda text: "".join(text.splitlines(keepends=True)[:-1]), "rows, agreement.json"),
        (lambda text: text.replace("f1", "chrf", 1), "agreement.csv has metric 'chrf'"),
    ],
)
def test_a_table_that_was_changed_by_hand_differs(assay, made, change, difference):
    table = Path("RUN/agreement.csv")
    table.write_bytes(change(table.read_bytes().decode()).encode())
    found = verified(assay, code=1)
    assert difference in found["table_difference"]
    assert difference in assay("verify", "RUN", "--quiet").err
    assert all(metric["outcome"] == "same" for metric in found["metrics"])
    table.unlink()
    assert verified(assay)["same"]


@pytest.fixture
def made(assay):
    """A run of three lexical metrics, grouped, with buckets that a rule and a column made."""
    ran(assay, *RUN, *METRICS, "-b", "f1", "-b", "subset", "--group-by", "asked")


def verified(assay, *args, code=0):
    done = assay("verify", "RUN", "--quiet", "--format", "json", *args)
    assert done.code == code, (done.err, done.out)
    return json.loads(done.out)


def by_metric(found, dataset="file"):
    return {one["metric"]: one for one in found["metrics"] if one["dataset"] == dataset}


def edit(name: str, change) -> None:
    path = Path("RUN") / name
    value = json.loads(path.read_text(encoding="utf-8"))
    change(value)
    path.write_text(json.dumps(value), encoding="utf-8")


def rewrite(name: str, column: str, change) -> None:
    """Write a Parquet file of the run again with other cells in one column."""
    path = Path("RUN") / name
    table = pq.read_table(path)
    place = table.column_names.index(column)
    cells = table.column(column).to_pylist()
    change(cells)
    kind = table.schema.field(column).type
    pq.write_table(table.set_column(place, column, pa.array(cells, kind)), path)


def test_an_unchanged_run_gives_the_same_numbers(assay, made):
    before = {path.name: path.read_bytes() for path in Path("RUN").iterdir()}
    found = verified(assay)
    assert found["same"] and found["sample"] is None and found["environment"] == []
    assert list(by_metric(found)) == ["f1", "ter", "chrf"]
    for one in found["metrics"]:
        assert one["outcome"] == "same" and one["changed"] == [] and one["cause"] == ""
        # all, f1=0, f1>0, subset=a, subset=b, mean over subset, three coefficients each
        assert one["agreement"]["n"] == 18 and one["scores"]["n"] == 30
    (data,) = found["data"]
    assert (data["outcome"], data["counts"], data["says"], data["source"]) == ("same", {}, "", "file.csv")
    assert {path.name: path.read_bytes() for path in Path("RUN").iterdir()} == before
    table = assay("verify", "RUN", "-q")
    assert table.code == 0 and table.err == "" and "RUN: the same numbers, 3 of 3" in table.out


def test_intervals_from_influence_values_are_made_again(assay):
    ran(assay, *RUN, *METRICS, "-b", "f1", "--interval", "influence")
    run = read_run(Path("RUN"))
    assert run.manifest.request.interval == "influence" and "|influence:all|" in run.manifest.signature
    table = format_document(document(run), "md")
    assert "95% intervals from influence values (Fisher's scale)" in table
    assert verified(assay)["same"]
    # a folder that did not record how intervals were made has them from resamples
    edit("run.json", lambda run: run["request"].pop("interval"))
    found = verified(assay, code=1)
    assert [one["agreement"]["outcome"] for one in found["metrics"]] == ["differs"] * 3


def test_intervals_of_an_older_folder_are_from_resamples(assay, made):
    run = read_run(Path("RUN"))
    assert run.manifest.request.interval == "auto" and "influence" not in run.manifest.signature
    table = format_document(document(run), "md")
    assert "95% bootstrap intervals (expanded percentile) from 100 resamples" in table
    edit("run.json", lambda run: run["request"].pop("interval"))
    assert verified(assay)["same"]


@pytest.mark.parametrize("group", [(), ("--group-by", "asked")])
def test_every_rule_of_buckets_and_its_mean(assay, group):
    ran(assay, *RUN, *METRICS, *RULES, *group, "--statistic", "kendall", "--statistic", "auc")
    rows = read_run(Path("RUN")).agreement
    means = [row for row in rows if row.bucket == "mean over subset" and row.value is not None]
    # subset=a belongs to the rule before it: one bucket is left, and a mean of one is none
    assert not means
    buckets = {row.bucket for row in rows}
    assert {"kind=a+f1=0", "subset=a", "subset!=a", "subset=b", "1<=length<3"} <= buckets
    assert verified(assay)["same"]


def test_a_mean_is_over_the_buckets_of_its_column_alone(assay):
    ran(assay, *RUN, "-m", "chrf", "-b", "subset+f1", "-b", "subset", "--statistic", "kendall")
    found = verified(assay)
    # all, four of the cross product, two of the column, their mean
    assert found["same"] and by_metric(found)["chrf"]["agreement"]["n"] == 8


def test_a_score_that_was_changed_is_found(assay, made):
    def change(cells):
        # the metrics stand one after the other, thirty rows each
        cells[30 + 7] += 0.25

    rewrite("scores.parquet", "score", change)
    found = by_metric(verified(assay, code=1))
    assert [one["outcome"] for one in found.values()] == ["same", "differs", "same"]
    scores = found["ter"]["scores"]
    assert (scores["differing"], scores["n"], scores["place"]) == (1, 30, "pair p7")
    assert scores["largest"] == pytest.approx(0.25)
    assert found["ter"]["agreement"]["outcome"] == "differs"
    assert "scores.parquet or the texts in pairs.parquet changed after the run" in found["ter"]["cause"]
    done = assay("verify", "RUN", "-q", "--format", "md")
    assert done.err == "assay: RUN: 1 of 3 differ\n"
    assert "| **1 of 30 differ, by 0.25 at most (pair p7)** |" in done.out


def test_a_changed_label_shows_in_the_agreement(assay, made):
    rewrite("pairs.parquet", "label", lambda cells: cells.__setitem__(4, 2.0 - cells[4] / 2))
    found = verified(assay, code=1)
    for one in found["metrics"]:
        assert one["agreement"]["outcome"] == "differs" and one["scores"]["outcome"] == "same"
        assert one["cause"] == "pairs.parquet was changed after the run: other label: 1"
    assert found["data"][0]["outcome"] == "folder changed"
    # where the source is gone the cause is less exact
    Path("file.csv").unlink()
    found = verified(assay, code=1)
    assert found["data"][0]["outcome"] == "unavailable"
    assert "labels, buckets or groups in pairs.parquet" in found["metrics"][0]["cause"]


def test_a_changed_bound_is_found(assay, made):
    def change(rows):
        row = next(
            row for row in rows if (row["bucket"], row["metric"], row["statistic"]) == ("f1>0", "chrf", "spearman")
        )
        row["high"] += 1e-9

    edit("agreement.json", change)
    found = by_metric(verified(assay, code=1))
    assert [one["outcome"] for one in found.values()] == ["same", "same", "differs"]
    agreement = found["chrf"]["agreement"]
    assert (agreement["differing"], agreement["place"]) == (1, "f1>0, spearman")
    assert "agreement.json" in found["chrf"]["cause"]


def test_a_changed_file_is_told(assay, made):
    rows = [dict(row) for row in ROWS]
    rows[2]["human"] = 0
    rows[3]["answer"] = rows[4]["answer"] = "another text"
    del rows[0]
    save([*rows, {**ROWS[0], "id": "new"}])
    found = verified(assay, code=1)
    (data,) = found["data"]
    assert data["outcome"] == "changed"
    assert data["counts"] == {"rows gone": 1, "rows new": 1, "other candidate": 2, "other label": 1}
    # the folder holds the texts, so the numbers are those of before
    assert {one["outcome"] for one in found["metrics"]} == {"same"}
    done = assay("verify", "RUN", "-q")
    assert done.err == "assay: RUN: changed data: file\n"


def test_a_file_whose_columns_are_not_known(assay, made):
    def forget(manifest):
        manifest["environment"].update(argv=[])
        del manifest["datasets"][0]["columns"]

    edit("run.json", forget)
    (data,) = verified(assay)["data"]
    assert data["outcome"] == "same" and data["says"].startswith("by its checksum")
    save(ROWS[:-1])
    (data,) = verified(assay, code=1)["data"]
    assert data["outcome"] == "changed" and "has no column 'reference'" in data["says"]


def test_columns_are_known_without_a_command_line(assay):
    columns = {"reference": "gold", "candidate": "answer", "label": "human"}
    library.run("file.csv", ["f1"], columns=columns, resamples=0, out="RUN")
    assert json.loads(Path("RUN/run.json").read_text())["environment"]["argv"] == []
    (data,) = verified(assay)["data"]
    assert (data["outcome"], data["says"]) == ("same", "")
    save(ROWS[:-1])
    (data,) = verified(assay, code=1)["data"]
    assert (data["outcome"], data["counts"]) == ("changed", {"rows gone": 1})


def test_columns_of_an_older_run_are_those_of_its_command_line(assay, made):
    edit("run.json", lambda manifest: manifest["datasets"][0].pop("columns"))
    (data,) = verified(assay)["data"]
    assert (data["outcome"], data["says"]) == ("same", "")


@pytest.mark.slow
def test_a_changed_signature_is_named(assay, made):
    def change(manifest):
        (chrf,) = [one for one in manifest["metrics"] if one["metric"] == "chrf"]
        chrf["signature"]["sacrebleu"] = "1.0"
        manifest["environment"]["packages"]["scipy"] = "0.1"
        manifest["environment"]["python"] = "3.0"

    edit("run.json", change)
    found = verified(assay)
    now = library.load_metric("chrf").signature()["sacrebleu"]
    assert by_metric(found)["chrf"]["changed"] == [{"what": "sacrebleu", "then": "1.0", "now": now}]
    assert [one["what"] for one in found["environment"]] == ["python", "scipy"]
    assert f"the signature changed: sacrebleu 1.0 → {now}" in " ".join(assay("verify", "RUN", "-q").out.split())
    # with other numbers it is their cause
    rewrite("scores.parquet", "score", lambda cells: cells.__setitem__(70, cells[70] + 0.1))
    assert by_metric(verified(assay, code=1))["chrf"]["cause"].startswith("the signature changed: sacrebleu 1.0")


def test_a_metric_that_is_gone_costs_the_others_nothing(assay, made):
    for name in ("run.json", "agreement.json"):
        path = Path("RUN") / name
        path.write_text(path.read_text(encoding="utf-8").replace('"ter"', '"nosuch"'), encoding="utf-8")
    rewrite(
        "scores.parquet",
        "metric",
        lambda cells: cells.__setitem__(slice(None), ["nosuch" if c == "ter" else c for c in cells]),
    )
    found = by_metric(verified(assay, code=1))
    assert [one["outcome"] for one in found.values()] == ["same", "not recomputed", "same"]
    gone = found["nosuch"]
    assert gone["agreement"]["outcome"] == "same" and "there is no metric 'nosuch'" in gone["scores"]["reason"]


def test_the_store_is_neither_read_nor_written(assay, made, own_cache):
    store = own_cache / "scores-2.sqlite"
    with sqlite3.connect(store) as opened:
        opened.execute("UPDATE scores SET score = 0.123")
    before = sqlite3.connect(store).execute("SELECT count(*), sum(score) FROM scores").fetchone()
    assert before[0] == 90
    assert verified(assay)["same"]
    assert sqlite3.connect(store).execute("SELECT count(*), sum(score) FROM scores").fetchone() == before


@pytest.mark.slow
def test_a_sample_is_seeded(assay, made):
    found = verified(assay, "--sample", 5, "--seed", 1)
    assert found["same"] and (found["sample"], found["seed"]) == (5, 1)
    assert all(one["scores"]["n"] == 5 and one["agreement"]["n"] == 18 for one in found["metrics"])
    rewrite("scores.parquet", "score", lambda cells: cells.__setitem__(slice(30), [one + 1 for one in cells[:30]]))
    first, again, other = (
        by_metric(verified(assay, "--sample", 5, "--seed", seed, code=1))["f1"] for seed in (1, 1, 2)
    )
    assert first == again and first["scores"]["differing"] == 5
    assert verified(assay, "--sample", 500, code=1)["metrics"][0]["scores"]["n"] == 30
    assert "--sample 0: must be a whole number, at least 1" in assay("verify", "RUN", "--sample", 0).complaint
    assert other["scores"]["differing"] == 5


def test_some_metrics_and_datasets_only(assay):
    save(ROWS[:20], "second.csv")
    ran(assay, *RUN, "-d", "second.csv", *METRICS)
    found = verified(assay, "-m", "chrf", "-d", "second")
    assert [(one["dataset"], one["metric"]) for one in found["metrics"]] == [("second", "chrf")]
    assert [one["dataset"] for one in found["data"]] == ["second"]
    assert len(verified(assay)["metrics"]) == 6
    assert "has no scores of 'chf'. Did you mean 'chrf'?" in assay("verify", "RUN", "-m", "chf").complaint
    assert "has no dataset 'secnd'. Did you mean 'second'?" in assay("verify", "RUN", "-d", "secnd").complaint


@pytest.mark.parametrize("choice", ["best", "mean"])
def test_several_gold_answers_are_put_together_as_in_the_run(assay, choice):
    rows = [f'"[""{row["gold"]}"", ""{row["answer"]} indeed""]",{row["answer"]},{row["human"]}' for row in ROWS]
    Path("lists.csv").write_text("\n".join(["reference,candidate,label", *rows]) + "\n", encoding="utf-8")
    given = ("run", "-d", "lists.csv", *METRICS, "--references", choice, "--resamples", 0, "-q", "--out", "RUN")
    ran(assay, *given)
    assert verified(assay)["same"] and verified(assay, "--sample", 4)["same"]
    edit("run.json", lambda manifest: manifest["request"].update(references="mean" if choice == "best" else "best"))
    assert {one["scores"]["outcome"] for one in verified(assay, code=1)["metrics"]} == {"differs"}


def test_recorded_scores_are_read_again(assay):
    save([{"pair_id": row["id"], "more": i / 3} for i, row in enumerate(ROWS)], "beside.csv")
    given = ("-m", "recorded:points", "-m", "recorded:beside.csv#more", "-m", "f1")
    ran(assay, *RUN, *given, "--limit", 20)
    found = verified(assay)
    assert found["same"] and {one["scores"]["n"] for one in found["metrics"]} == {20}
    save([{**row, "points": -1.0 if row["id"] == "p3" else row["points"]} for row in ROWS])
    found = by_metric(verified(assay, code=1))
    assert [one["outcome"] for one in found.values()] == ["differs", "same", "same"]
    # 3 * 3 / 7 - -1
    assert found["recorded:points"]["scores"]["largest"] == pytest.approx(9 / 7 + 1)
    Path("file.csv").unlink()
    found = by_metric(verified(assay, code=1))
    assert found["recorded:points"]["scores"]["outcome"] == "not recomputed"
    assert "is unavailable" in found["recorded:points"]["scores"]["reason"]
    # a file beside it is joined with what the folder holds
    assert found["recorded:beside.csv#more"]["outcome"] == found["f1"]["outcome"] == "same"
    save([{"pair_id": row["id"], "more": i / 4} for i, row in enumerate(ROWS)], "beside.csv")
    beside = by_metric(verified(assay, code=1))["recorded:beside.csv#more"]
    assert [one["what"] for one in beside["changed"]] == ["sha256"] and beside["scores"]["differing"] == 19


def test_score_columns_of_a_file_without_texts(assay):
    save([{"human": row["human"], "points": row["points"], "half": row["human"] / 2} for row in ROWS], "scored.csv")
    ran(assay, "agree", "scored.csv", "--columns", "label=human", "--resamples", 100, "-q", "--out", "RUN")
    found = verified(assay)
    assert found["same"] and list(by_metric(found, "scored")) == ["recorded:points", "recorded:half"]


def test_duplicates_left_out_and_data_that_was_never_a_file(assay, tmp_path):
    rows = [{"reference": row["gold"], "candidate": row["answer"], "label": row["human"]} for row in (*ROWS, ROWS[0])]
    result = library.run([rows], ["f1"], drop_duplicates=True, resamples=100, out="RUN")
    assert result.outcome.datasets[0].duplicates_dropped == 1
    found = verified(assay)
    assert found["same"] and found["data"][0]["outcome"] == "unavailable"
    save([ROWS[0], {**ROWS[0], "id": "again"}, *ROWS[1:]])
    Path("RUN").rename("memory")
    ran(assay, *RUN, "-m", "f1", "-m", "recorded:points", "--drop-duplicates", "--limit", 12)
    found = verified(assay)
    assert found["same"] and found["data"][0]["counts"] == {}


@pytest.mark.slow
def test_a_model_on_all_pairs_and_on_a_sample(assay, tmp_path):
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is absent: pip install assay[neural]")
    from tests.metrics.models.tiny import make_bert

    folder = make_bert(tmp_path / "encoder", pooling="mean")
    # the weights of tokens come from the references of all pairs, whatever is scored
    given = ("-m", f"bi-encoder:{folder}", "-m", f"bertscore:{folder},idf=references")
    ran(assay, *RUN, *given, "--device", "cpu", "--threads", 1)
    for sample in ((), ("--sample", 7)):
        found = verified(assay, "--device", "cpu", *sample)
        assert found["same"] and {one["tolerance"] for one in found["metrics"]} == {1e-5}
        assert {one["scores"]["n"] for one in found["metrics"]} == {7 if sample else 30}
        assert not any(one["changed"] for one in found["metrics"])
    make_bert(folder, pooling="mean", seed=1)
    for one in verified(assay, "--device", "cpu", code=1)["metrics"]:
        assert [part["what"] for part in one["changed"]] == ["digest"] and one["scores"]["differing"] > 20
        assert one["cause"].startswith("the signature changed: digest ")
    (folder / "config.json").unlink()
    for one in verified(assay, "--device", "cpu", code=1)["metrics"]:
        assert one["scores"]["outcome"] == "not recomputed" and one["agreement"]["outcome"] == "same"


def test_a_preset_takes_all_its_models_in_a_sample(assay, tmp_path, monkeypatch):
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is absent: pip install assay[neural]")
    from assay.metrics import presets
    from tests.metrics.models.tiny import make_bert

    models = {name: str(make_bert(tmp_path / name, labels=1, seed=seed)) for seed, name in enumerate(("en", "de"))}
    chosen = {"sas": {language: {"subject": model} for language, model in models.items()}}
    monkeypatch.setattr(presets, "presets", lambda: chosen)
    # one pair in German among thirty
    save([{**row, "language": "de" if row["id"] == "p17" else "en"} for row in ROWS])
    # and a file without that column, all in German
    save(ROWS[:10], "second.csv")
    ran(assay, *RUN, "-d", "second.csv", "--language", "de", "-m", "sas", "--device", "cpu", "--threads", 1)
    for sample in ((), ("--sample", 2)):
        first, second = verified(assay, "--device", "cpu", *sample)["metrics"]
        assert first["outcome"] == second["outcome"] == "same" and first["changed"] == second["changed"] == []
        assert 2 <= first["scores"]["n"] <= 4 if sample else first["scores"]["n"] == 30


@pytest.mark.parametrize("name", ["run.json", "agreement.json", "scores.parquet", "pairs.parquet"])
def test_a_folder_with_a_missing_file(assay, made, name):
    (Path("RUN") / name).unlink()
    assert name in assay("verify", "RUN").complaint


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda manifest: manifest.update(schema=99), "was written by a newer assay"),
        (lambda manifest: manifest["request"].pop("seed"), "run.json: request: seed missing"),
        (
            lambda manifest: manifest["request"].update(resamples="many"),
            "request.resamples: Input should be a valid int",
        ),
        (
            lambda manifest: manifest["request"].update(statistics=["r"]),
            "request.statistics.0: there is no statistic 'r'. Valid: pearson, spearman",
        ),
        (lambda manifest: manifest["request"].update(references="worst"), "request.references: Input should be 'best'"),
        (
            lambda manifest: manifest.update(datasets=[]),
            "agreement.json has rows of file, which run.json does not list",
        ),
        (lambda manifest: manifest["datasets"][0].pop("digest"), "datasets.0.digest: Field required"),
        (lambda manifest: manifest["metrics"][1].update(signature=[]), "metrics.1.signature: Input should be a valid"),
        (lambda manifest: manifest["environment"].update(packages=None), "environment.packages: Input should be"),
    ],
)
def test_a_manifest_that_was_changed(assay, made, change, said):
    edit("run.json", change)
    assert said in assay("verify", "RUN").complaint


@pytest.mark.parametrize("change", [lambda row: row.pop("high"), lambda row: row.update(high="high")])
def test_an_agreement_table_that_was_changed(assay, made, change):
    edit("agreement.json", lambda rows: change(rows[0]))
    assert "agreement.json: 0.high: " in assay("verify", "RUN").complaint


def test_a_dataset_with_a_card(assay, shared_data, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    given = ("run", "-d", "nq-open-sas", "-m", "f1", "-m", "ter", "--limit", 300, "-b", "number", "-q", "--out", "RUN")
    ran(assay, *given, "--offline")
    found = verified(assay, "--offline")
    assert found["same"] and found["data"][0]["outcome"] == "same" and found["data"][0]["counts"] == {}
    pairs = pq.read_table("RUN/pairs.parquet").to_pylist()
    rewrite("pairs.parquet", "candidate", lambda cells: cells.__setitem__(11, pairs[11]["reference"][0] + " indeed"))
    found = verified(assay, "--offline", code=1)
    assert found["data"][0] == {**found["data"][0], "outcome": "folder changed", "counts": {"other candidate": 1}}
    assert {one["scores"]["differing"] for one in found["metrics"]} == {1}
    assert {one["cause"] for one in found["metrics"]} == {"pairs.parquet was changed after the run: other candidate: 1"}


@pytest.mark.slow
def test_graphs_from_files_are_joined_again(assay):
    pytest.importorskip("penman", reason="penman is absent: pip install assay[amr]")
    for side in "ab":
        Path(f"{side}.amr").write_text("\n".join(f"# ::id p{i}\n(x{i} / {side}{i})\n" for i in range(30)))
    ran(assay, *RUN, "-m", "amr:smatch", "-m", "f1", "--graphs", "reference=a.amr,candidate=b.amr")
    found = verified(assay)
    assert found["same"] and found["data"][0]["outcome"] == "same", found["data"]
    # a program of one's own has no command line
    edit("run.json", lambda manifest: manifest["environment"].update(argv=["run", *COLUMNS]))
    assert verified(assay)["data"][0]["outcome"] == "same"
    again = read_run(Path("RUN")).manifest.request_digest
    Path("a.amr").rename("c.amr")
    data = verified(assay)["data"][0]
    assert (data["outcome"], data["says"]) == (
        "unavailable",
        "there is no such file of graphs, seen from this folder: a.amr",
    )
    # the same graphs from another place are the same run
    ran(assay, *RUN, "-m", "amr:smatch", "-m", "f1", "--graphs", "reference=c.amr,candidate=b.amr")
    assert read_run(Path("RUN")).manifest.request_digest == again
    Path("c.amr").write_text(Path("c.amr").read_text().replace("/ a7)", "/ b7)"))
    assert verified(assay, code=1)["data"][0]["counts"] == {"other reference_graph": 1}
