"""``assay.toml`` and ``[tool.assay]``: which file, which verbs, what may not be set, and what wrong files are told."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import get_origin

import pytest
import typer

import assay as package
from assay.cli import app
from assay.cli.configuration import MAPPING_OPTIONS, OPTIONS_WITH_PATHS, REFUSED, Option, defaults_of, options_of
from assay.cli.doctor import configuration_findings
from assay.common.configuration import APPLIED, Configuration, find_configuration
from assay.common.declarations import union_members
from assay.exceptions import InputError
from assay.metrics import list_metrics, load_metric
from assay.metrics.combined import bundled_folders
from assay.metrics.load import UntrustedMetricError
from assay.metrics.name import options_of as metric_options
from tests.cli.calling import COLUMNS, OWN
from tests.cli.test_settings import COMMANDS

#: Options whose text is not a path, file, metric or code: names, numbers, rules, columns.
PLAIN_TEXT = {
    *("baseline", "bucket", "buckets", "budget", "by", "caption", "classes", "columns", "controls", "cost", "device"),
    *("forms", "group_by", "item", "kinds", "label", "labels", "language", "languages", "lengths", "loss", "numbers"),
    *("annotator", "encoding", "learners", "system_by", "task", "member", "missing", "perturbations"),
    *("measure", "per", "prior"),
    *("id", "length", "shared", "show", "text"),
    *("number_range", "objective", "pair_ids", "positive", "recipe", "scale", "scores", "separator", "space"),
    *("each", "note", "only", "title", "split_by", "statistic", "statistics", "study", "subset", "system", "tune"),
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A repository whose folder ``deep`` is the working directory, with a file of pairs at its root."""
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    (root / "deep").mkdir()
    (root / "my.csv").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(root / "deep")
    return root


def write(root, text, name="assay.toml"):
    (root / name).write_text(text, encoding="utf-8")


def doctor():
    return configuration_findings(typer.main.get_command(app))


def test_a_file_gives_defaults_and_the_command_line_wins(project, assay):
    write(
        project,
        'seed = 7\nmetric = ["f1", "chrf"]\nmargin = 0.1\nby = "system"\n[run]\ndataset = "./my.csv"\nbucket = "none"\n'
        'columns = {reference = "gold", candidate = "answer", label = "human"}\npage = false\n',
    )
    done = assay("run", "--out", "a")
    assert done.code == 0, done.err
    assert done.err.startswith(f"from {Path('..', 'assay.toml')}: seed = 7, ")
    manifest = json.loads((project / "deep/a/run.json").read_text(encoding="utf-8"))
    assert manifest["request"]["seed"] == 7
    assert manifest["request"]["metrics"] == ["f1", "chrf"]
    assert manifest["request"]["buckets"] == ["none"]
    assert manifest["environment"]["configuration"] == str(project / "assay.toml")
    assert set(manifest["environment"]["configured"]) == {"seed", "metrics", "datasets", "buckets", "columns", "page"}
    assert not (project / "deep/a/report.html").exists()

    assert assay("run", "--out", "b", "--seed", "0", "-m", "f1", "-q").code == 0
    manifest = json.loads((project / "deep/b/run.json").read_text(encoding="utf-8"))
    assert (manifest["request"]["seed"], manifest["request"]["metrics"]) == (0, ["f1"])
    assert set(manifest["environment"]["configured"]) == {"datasets", "buckets", "columns", "page"}


@pytest.mark.slow
def test_a_page_shows_what_came_from_the_file(project, assay):
    write(project, 'metric = "f1"\n[run]\nbucket = "none"\n')
    assert assay("run", project / "my.csv", *COLUMNS, "--out", "a", "-q").code == 0
    page = (project / "deep/a/report.html").read_text(encoding="utf-8")
    shown = "<code>metrics = [&#34;f1&#34;], buckets = [&#34;none&#34;]</code>"
    assert f"Settings from a configuration file: {shown}" in page
    assert str(project / "assay.toml") not in page, "a page tells nothing of the machine"
    assert assay("--no-config", "run", project / "my.csv", *COLUMNS, "-m", "f1", "--out", "b", "-q").code == 0
    assert "configuration file" not in (project / "deep/b/report.html").read_text(encoding="utf-8")


def test_a_file_may_be_ignored_and_python_functions_do_not_read_it(project, assay, monkeypatch):
    write(project, "seed = 7\nnonsense = 1\n")
    arguments = ("run", project / "my.csv", *COLUMNS, "-m", "f1", "-q", "--bucket", "none")
    assert "nonsense" in assay(*arguments, "--out", "a").complaint
    assert assay("--no-config", *arguments, "--out", "a").code == 0
    monkeypatch.setenv("ASSAY_NO_CONFIG", "1")
    assert assay(*arguments, "--out", "b").code == 0
    for folder in "ab":
        manifest = json.loads((project / f"deep/{folder}/run.json").read_text(encoding="utf-8"))
        assert (manifest["request"]["seed"], manifest["environment"]["configured"]) == (0, {})
    monkeypatch.delenv("ASSAY_NO_CONFIG")
    package.run([("a", "b", 1.0), ("a", "a", 2.0)], ["f1"], out=project / "c", page=False)
    assert json.loads((project / "c/run.json").read_text(encoding="utf-8"))["request"]["seed"] == 0
    assert APPLIED.get() is None


def test_every_setting_that_is_a_mapping_may_be_a_table():
    mappings = set()
    for command in COMMANDS.values():
        settings = getattr(command.callback, "settings_class", None)
        for name, hint in ({} if settings is None else settings.setting_types()).items():
            if any(get_origin(member) is Mapping for member in union_members(hint)):
                mappings.add(name)
    assert mappings == MAPPING_OPTIONS
    cost = options_of(COMMANDS["thresholds",])["cost"]
    assert cost.parse({"fp": 5, "fn": 1}, Path()) == "fp=5,fn=1"


def test_a_dataset_by_position_takes_the_place_of_configured_ones(project, assay):
    lines = (project / "my.csv").read_text(encoding="utf-8").splitlines()
    (project / "other.csv").write_text("\n".join([*lines, *lines[1:]]) + "\n", encoding="utf-8")
    write(project, 'dataset = "./my.csv"\ncolumns = "reference=gold,candidate=answer,label=human"\nmetric = "f1"\n')
    for file, out in ((project / "my.csv", "same"), (project / "other.csv", "other")):
        done = assay("run", file, "--bucket", "none", "--out", out)
        assert done.code == 0, done.err
        assert "my.csv" not in done.err.splitlines()[0]
        manifest = json.loads((project / "deep" / out / "run.json").read_text(encoding="utf-8"))
        assert [dataset["name"] for dataset in manifest["datasets"]] == [file.stem]
        assert "datasets" not in manifest["environment"]["configured"]
    # what is not a dataset is no reason to forget the configured one
    done = assay("run", "nothing", "--out", "c")
    assert done.code == 2 and "there is no suite 'nothing'" in done.err


def test_datasets_show_names_the_option_for_columns(project, assay):
    # two columns with a usual name of references
    text = OWN.replace("gold", "gold,expected", 1)
    lines = [text.splitlines()[0], *(line.replace(",", ",x,", 1) for line in text.splitlines()[1:])]
    (project / "my.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert "Say which is which: --columns reference=gold," in assay("datasets", "show", project / "my.csv").out


def test_a_table_of_columns_is_for_datasets_show_and_check_too(project, assay):
    write(project, 'columns = {reference = "gold", candidate = "answer", label = "human"}\n')
    for verb in ("show", "check"):
        done = assay("datasets", verb, project / "my.csv")
        assert "no column" not in done.out + done.err


def test_a_verb_that_reads_its_own_context_has_defaults_too(project, assay):
    """``assay errors`` looks at which options were written."""
    assert assay("run", project / "my.csv", *COLUMNS, "-m", "f1", "-q", "--bucket", "none", "--out", "a").code == 0
    write(project, "[errors]\ntop = 1\n")
    done = assay("errors", "a", "--format", "csv")
    assert (done.code, len(done.rows)) == (0, 1), done.err


def test_the_nearest_file_counts_up_to_the_repository_or_home(project, monkeypatch):
    write(project.parent, "seed = 1\n")
    assert find_configuration(project / "deep") is None, "above the repository"
    write(project, "[tool.other]\nx = 1\n", "pyproject.toml")
    assert find_configuration(project / "deep") is None
    write(project, "[tool.assay]\nseed = 2\n", "pyproject.toml")
    assert find_configuration(project / "deep").values == {"seed": 2}
    write(project, "seed = 3\n")
    assert find_configuration(project / "deep").values == {"seed": 3}, "assay.toml wins"
    write(project / "deep", "seed = 4\n")
    assert find_configuration(project / "deep").values == {"seed": 4}

    shutil.rmtree(project / ".git")
    (project / "deep/assay.toml").unlink()
    assert find_configuration(project / "deep") is None, "folders above may be anybody's"
    monkeypatch.setenv("HOME", str(project))
    monkeypatch.setenv("USERPROFILE", str(project))
    assert find_configuration(project / "deep").values == {"seed": 3}


def test_paths_are_relative_to_the_file(project):
    (project / "models").mkdir()
    several = Option("metrics", str, (), True, None)
    names = ["f1", "ce=cross-encoder:all-MiniLM-L6-v2,max_length=8", "bi-encoder:org/other"]
    models = Path("..", "models")
    (project / "all-MiniLM-L6-v2").mkdir()
    # there is no slash in the name of the folder: it is a model of the hub
    assert several.parse(names, project) == names
    names = ["ce=cross-encoder:./models,max_length=8", "bi-encoder:org/other"]
    assert several.parse(names, project) == [f"ce=cross-encoder:{models},max_length=8", "bi-encoder:org/other"]
    own = Option("datasets", str, (), True, None)
    assert own.parse(["mine=my.csv", "stsb:test"], project) == [f"mine={Path('..', 'my.csv')}", "stsb:test"]
    threshold = options_of(COMMANDS["errors",])["threshold"]
    assert [threshold.parse(value, project) for value in ("auto", 0.5, "0.5")] == ["auto", "0.5", "0.5"]
    assert threshold.parse("../deep/./t.json", project) == "../deep/./t.json", "there is no such file"
    (project / "t.json").write_text("{}", encoding="utf-8")
    assert threshold.parse("t.json", project) == str(Path("..", "t.json"))
    run = options_of(COMMANDS["check",])
    assert run["against"].parse("gate/baseline.json", project) == str(Path("..", "gate", "baseline.json"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sede = 1", "sede: no verb has such an option. Did you mean 'seed'"),
        ("[check]\nmargn = 1", "[check] margn: assay check has no such option. Did you mean 'margin'"),
        ("[chek]\nmargin = 1", "[chek]: there is no verb 'chek'. Did you mean 'check'"),
        ('["größe"]\nseed = 1', "[\"größe\"]: there is no verb 'größe'"),
        ("[train.s3bret]\nseed = 1", "[train.s3bret]: there is no verb 's3bret'. Did you mean 's3bert'"),
        ('seed = "1"', "seed = '1': expected a whole number"),
        ("seed = true", "seed = True: expected a whole number"),
        ("[run]\nmetric = [1]", "[run] metric = [1]: expected text"),
        ("[thresholds]\ncost = 5", "[thresholds] cost = 5: expected text"),
        ("[check]\ndrop-duplicates = 1", "[check] drop-duplicates: assay check has no such option"),
        ("[run]\ndrop-duplicates = 1", "[run] drop-duplicates = 1: expected true or false"),
        ("[explain]\nmetric = ['f1', 'chrf']", "[explain] metric = ['f1', 'chrf']: expected one value, not a list"),
        ("[run]\nlimit = 0", "[run] limit = 0: must be a whole number, at least 1"),
        ("references = 'worst'", "references = 'worst': must be best or mean"),
        ("format = 'pdf'", "format = 'pdf': must be table, "),
        ("out = 'x'", "out: names what is written, so it is for the command line only; remove the key"),
        ("[check]\njunit = 'x'", "[check] junit: names what is written"),
        ("[verify]\ntrust = ['f1']", "[verify] trust: can run code"),
        ("[run]\naddress = '10.0.0.1:6379'", "[run] address: sends data and code to another machine"),
        ("seed = ", "cannot be read: Invalid value"),
        ('"a\\nb" = 1', '"a\\nb": no verb has such an option'),
    ],
)
def test_wrong_files_end_in_one_line_and_doctor_shows_it(project, assay, text, said):
    write(project, text)
    verb = next((word for word in ("check", "explain", "thresholds", "train", "verify") if f"[{word}" in text), "run")
    line = assay(verb, *{"train": ["s3bert", "--base", "x"]}.get(verb, ["x"])).complaint
    assert line.startswith(f"assay: {project / 'assay.toml'}: ")
    assert said in line
    assert any(said in finding.detail and not finding.here for finding in doctor())


def test_a_section_of_pyproject_is_named_as_it_is_written(project, assay):
    write(project, "[tool.assay.run]\nsede = 1\n", "pyproject.toml")
    assert "pyproject.toml: [tool.assay.run] sede: assay run has no such option" in assay("run", "x").complaint
    write(project, "[tool.assay]\nsede = 1\n", "pyproject.toml")
    assert "pyproject.toml: [tool.assay] sede: no verb has such an option" in assay("run", "x").complaint
    write(project, "tool = {assay = 3}\n", "pyproject.toml")
    assert "pyproject.toml: tool.assay must be a table" in assay("run", "x").complaint


def test_without_a_working_directory_or_a_home_there_is_no_file(project, monkeypatch):
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    write(project, "seed = 3\n")
    assert find_configuration(project / "deep").values == {"seed": 3}
    gone = project / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert find_configuration(Path()) is None


def test_a_value_out_of_range_is_told_with_its_file(project, assay):
    write(project, "seed = -1\n")
    arguments = ("run", project / "my.csv", *COLUMNS, "-m", "f1", "--bucket", "none", "-q")
    line = assay(*arguments, "--out", "a").complaint
    where = f"(seed: from {project / 'assay.toml'}; assay --no-config ignores it)"
    assert line == f"assay: --seed -1: must not be negative {where}"
    assert assay(*arguments, "--out", "a", "--seed", "1").code == 0
    faults = [finding.detail for finding in doctor() if not finding.here]
    assert faults == [f"{project / 'assay.toml'}: seed=-1: must not be negative"]


@pytest.mark.slow
def test_doctor_works_beside_a_broken_file(project, assay):
    write(project, "seed = ")
    findings = json.loads(assay("doctor", "--format", "json").out)
    assert (findings[0]["kind"], findings[0]["here"]) == ("configuration", False)
    assert {finding["kind"] for finding in findings} > {"machine", "metric"}


def test_doctor_shows_the_file_its_values_and_their_verbs(project):
    assert doctor() == []
    write(project, "margin = 0.1\n[train]\nepochs = 2\n[train.s3bert]\nwidth = 3\n")
    found = {finding.name: finding.detail for finding in doctor()}
    assert found == {
        str(project / "assay.toml"): "defaults for the command line",
        "margin = 0.1": "for check, train mid-tuning",
        "epochs = 2": "for train augmented, train bi-encoder, train cross-encoder, train mid-tuning, train s3bert",
        "width = 3": "for train s3bert",
    }


EVIL = "import pathlib; pathlib.Path('ran').touch()\nraise SystemExit('ran')\n"
#: Names of metrics with what is said of them; ``../`` leads to the root of the project from the folder ``deep``.
REFUSED_METRICS = [
    ("evaluate:./evil", "would run code or call a server"),
    ("evaluate:evil/evil.py", "would run code"),
    ("evaluate:./nothing", "would run code"),
    ("f1=evaluate:./evil", "cannot be checked"),
    ("mine=evaluate:./evil,lower_is_better=true", "would run code"),
    ("judge:x,endpoint=http://127.0.0.1:9/v1,prompt=./correctness,key=MY_SECRET", "cannot be checked"),
    ("judge:x,endpoint=http://127.0.0.1:9/v1,prompt=./p.toml,key=MY_SECRET", "call a server"),
    ("judge:x,endpoint=http://127.0.0.1:9/v1,key=none", "call a server"),
    ("judge:x,endpoint=http://127.0.0.1:9/v1,prompt=./gone.toml", "cannot be checked"),
    ("judge:x,endpoint=http://127.0.0.1:9/v1,prompt=./broken.toml", "cannot be checked"),
    ("judge:x,endpoint=http://user:sesame@127.0.0.1:9/v1", "cannot be checked"),
    ("judge:x,endpoint=http://127.0.0.1:9/v1,samples=0", "cannot be checked"),
    ("judge:models/x,key=MY_SECRET", "key=MY_SECRET"),
    ("combined:./comb,trust=true", "trust=true"),
    ("combined:./comb,Trust=true", "cannot be checked"),
    ("combined:answer-judge,trust=true", "trust=true"),
    ("amr:smatch,parser=amrlib:./evil", "would run code"),
    ("amr:smatch,parser=amrlib:./gone", "would run code"),
    ("f1,nonsense=1", "cannot be checked"),
    (":f1", "cannot be checked"),
]


@pytest.fixture
def hostile(project):
    """A project with what a hostile configuration may name: a module, prompts, and a combination with the module."""
    (project / "evil").mkdir()
    (project / "evil/evil.py").write_text(EVIL, encoding="utf-8")
    (project / "correctness").mkdir()
    (project / "broken.toml").write_text("system = ", encoding="utf-8")
    (project / "p.toml").write_text(
        'scale = "yes-no"\nuser = "{{ reference }} {{ candidate }} {{ verdicts }}"\n', encoding="utf-8"
    )
    (project / "comb").mkdir()
    combined = json.loads((bundled_folders()["answer-judge:1"] / "combined.json").read_text(encoding="utf-8"))
    combined["members"][0]["metric"] = "evaluate:../evil"
    (project / "comb/combined.json").write_text(json.dumps(combined), encoding="utf-8")
    return project


@pytest.mark.parametrize("below", [True, False], ids=["in a subfolder", "beside the file"])
@pytest.mark.parametrize(("name", "said"), REFUSED_METRICS)
def test_a_metric_that_reaches_out_is_refused(hostile, assay, monkeypatch, name, said, below):
    if not below:
        monkeypatch.chdir(hostile)
    monkeypatch.setenv("MY_SECRET", "sesame")
    write(hostile, f"{'' if below else '[run]'}\nmetric = ['f1', {json.dumps(name)}]")
    done = assay("run", hostile / "my.csv", *COLUMNS)
    assert done.code == 2 and said in done.complaint and "command line" in done.complaint
    assert "sesame" not in done.out + done.err
    assert not Path("ran").exists()


def test_doctor_shows_a_metric_that_reaches_out(hostile):
    write(hostile, "metric = ['f1', 'combined:./comb,trust=true']")
    assert any("trust=true" in finding.detail and not finding.here for finding in doctor())


def test_a_metric_without_reach_is_taken_wherever_its_file_is(hostile, assay, monkeypatch):
    write(hostile, 'metric = ["f1", "bleu:paper", "recorded:scores.csv#x", "unknown-here"]')
    (hostile / "scores.csv").write_text("pair_id,x\n", encoding="utf-8")
    values = defaults_of(find_configuration(Path()), typer.main.get_command(app), "run")
    scores = Path("..", "scores.csv")
    assert values["metrics"] == ["f1", "bleu:paper", f"recorded:{scores}#x", "unknown-here"]


def test_a_labeller_is_checked_as_the_metric_that_it_is(project):
    labeller = options_of(COMMANDS["train", "augmented"])["labeller"]
    (project / "models").mkdir()
    assert labeller.parse("./models,activation=sigmoid", project) == f"{Path('..', 'models')},activation=sigmoid"
    with pytest.raises(InputError, match="cannot be checked"):
        labeller.parse("./models,endpoint=http://127.0.0.1:9/v1", project)


def test_a_path_stays_a_path(hostile, monkeypatch):
    """``./correctness`` is a folder, and ``correctness`` a prompt that comes with assay."""
    monkeypatch.chdir(hostile)
    base = options_of(COMMANDS["train", "s3bert"])["base"]
    assert base.parse("./correctness", hostile) == str(Path()) + "/correctness"
    assert base.parse("evil/../correctness", hostile) == "./correctness"
    assert base.parse("evil/evil.py", hostile) == "evil/evil.py"


def test_the_metric_that_a_verb_loads_is_the_one_that_is_checked(monkeypatch):
    """Whatever a file says between the check of its name and the use of its metric."""
    token = APPLIED.set(Configuration(Path("assay.toml"), {"metrics": ["judge:x,endpoint=http://127.0.0.1:9/v1"]}))
    try:
        with pytest.raises(UntrustedMetricError):
            load_metric("judge:x,endpoint=http://127.0.0.1:9/v1")
        assert load_metric("judge:y,endpoint=http://127.0.0.1:9/v1").endpoint, "named on the command line"
    finally:
        APPLIED.reset(token)


def test_every_option_that_names_code_or_a_server_is_declared():
    """Whatever makes ``foreign_code`` say something is an option that only the user may set."""
    reaching = {
        (entry.name, option.name)
        for entry in list_metrics()
        if entry.origin == "assay"
        for option in metric_options(entry.load()).values()
        if option.reaches_out
    }
    assert reaching == {
        ("amr", "parser"),
        ("combined", "trust"),
        ("evaluate", "subject"),
        ("judge", "endpoint"),
        ("judge", "key"),
        ("ragas", "endpoint"),
        ("ragas", "key"),
    }


@pytest.mark.parametrize("text", ["x.txt,parser=amrlib:evil", "x,cutoff=1"])
def test_a_path_does_not_become_an_option_of_a_metric(text):
    with pytest.raises(InputError, match=f"^vectors={text}: the path cannot .* rename the file$"):
        package.reproduce(reproducible(), vectors=text)


def reproducible():
    """A published table with rows that read word vectors."""
    from assay.analysis.reproduce import list_tables

    return next(table.name for table in list_tables() if table.rows_with_vectors)


def test_a_suite_of_somebody_else_is_checked_too(hostile, assay):
    for name in ("evaluate:../evil", "judge:x,endpoint=http://127.0.0.1:9/v1"):
        Path("s.toml").write_text(
            f'name = "s"\ndescription = "d"\ndatasets = ["probe"]\nmetrics = ["f1", "{name}"]\n', encoding="utf-8"
        )
        assert f"its metric {name} would run code or call a server" in assay("run", "s.toml").complaint
    assert not Path("ran").exists()


def test_every_option_with_text_was_thought_of():
    """A new option that takes text is a path, names something to write, or is plain: one of three lists has it."""
    unknown = set()
    for _, command in COMMANDS.items():
        for option in options_of(command).values():
            is_path = {str, Path} <= option._types or option.value_type is Path
            if option.value_type is str and not option.choices and not is_path:
                unknown.add(option.name)
    unknown -= PLAIN_TEXT | OPTIONS_WITH_PATHS | REFUSED.keys()
    assert not unknown, (
        "does it name a file, write one, or run code? Add it to PLAIN_TEXT, OPTIONS_WITH_PATHS or REFUSED"
    )


def test_paths_that_may_be_set_are_read_only():
    """Paths that are not refused are inputs."""
    paths = set()
    for _, command in COMMANDS.items():
        for option in options_of(command).values():
            if {str, Path} <= option._types or option.value_type is Path:
                paths.add(option.name)
    assert paths - REFUSED.keys() == {
        *(
            "against",
            "baseline_of",
            "corrected",
            "decision",
            "entities",
            "gold",
            "prices",
            "space",
            "threshold",
            "vectors",
        )
    }


def test_a_file_that_cannot_be_read_is_named(project):
    (project / "assay.toml").write_bytes(b"seed = \xff")
    with pytest.raises(InputError, match=r"assay\.toml: cannot be read: .*--no-config"):
        find_configuration(project)
