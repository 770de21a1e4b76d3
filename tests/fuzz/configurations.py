"""Configurations beside files of every kind: whatever a verb takes from one was checked as it is used.

The input is JSON: the values of a configuration, and whether its folder is the working folder or the one above.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz import making
from tests.fuzz.target import Target

#: Names, files and folders that a value may hold; the files are made by :func:`_world`.
PLACES = (
    *("./correctness", "correctness", "./p.toml", "p.toml", "deep/../p.toml", "./gone.toml", "./broken.toml", "./evil"),
    *(
        "../evil",
        "evil/evil.py",
        "./comb",
        "../comb",
        "comb",
        "./nested",
        "./a,trust=true",
        "./pipe.toml",
        "./zero.toml",
    ),
    *(
        "./link.toml",
        "./link",
        "~/x",
        "/dev/zero",
        "/dev/null",
        "deep",
        "./deep",
        ".",
        "..",
        "",
        "~nosuch/x",
        "org/model",
    ),
    *("answer-judge", "all-MiniLM-L6-v2", "./x=y", "./x#y.csv#z", "amrlib:./evil", "amrlib:../evil"),
)
METRICS = (
    "f1",
    "bleu",
    "judge",
    "combined",
    "evaluate",
    "amr",
    "recorded",
    "cross-encoder",
    "bi-encoder",
    "static",
    "pooled",
)
OPTIONS = (
    *("endpoint=http://127.0.0.1:9/v1", "endpoint=S/v1", "key=MY_SECRET", "Key=MY_SECRET", "trust=true", "trust=True"),
    *("trust=false", "lower_is_better=true", "vectors={}", "parser={}", "prompt={}", "prompt={}", "endpoint=none"),
    *("samples=0", "samples=2,temperature=1", "key=none", "cut=5", "end-point=http://h/v1", "TRUST=true", "idf={}"),
)
KEYS = (
    "metric",
    "metrics",
    "labeller",
    "dataset",
    "prices",
    "against",
    "base",
    "vectors",
    "graphs",
    "train",
    "threshold",
)
VERBS = (
    "",
    "run",
    "score",
    "profile",
    "explain",
    "crossval",
    "recommend",
    "check",
    "train",
    "stress",
    "sweep",
    "table",
)
#: Verbs whose values are read from the configuration.
READ_VERBS = ("run", "explain", "check", "train", "crossval")


def metric_name(random: Random) -> str:
    """Return the name of a metric, with a subject, options and an alias or without."""
    name = random.choice(METRICS)
    if random.random() < 0.7:
        subject = random.choice(("smatch", "x", "paper", *PLACES, *PLACES))
        name += f":{subject}"
    for _ in range(random.choice((0, 0, 1, 1, 2, 3))):
        name += "," + random.choice(OPTIONS).format(random.choice(PLACES))
    if random.random() < 0.15:
        name = f"{random.choice(('mine', 'f1', 'x.y'))}={name}"
    if random.random() < 0.1:
        name = making.mutated(random, [name.encode()]).decode("utf-8", "replace")
    return name


def make(random: Random) -> bytes:
    """Return a configuration with one to three keys."""
    values: dict[str, Any] = {}
    for _ in range(random.randint(1, 3)):
        key = random.choice(("metric", *KEYS))
        if key in ("metric", "metrics"):
            value: Any = [metric_name(random) for _ in range(random.randint(1, 2))]
        elif key == "labeller":
            value = metric_name(random).partition(":")[2] or random.choice(PLACES)
        else:
            value = random.choice((random.choice(PLACES), metric_name(random), [random.choice(PLACES)]))
        verb = random.choice(VERBS)
        if verb and isinstance(values.get(verb, {}), dict):
            values.setdefault(verb, {})[key] = value
        else:
            values[key] = value
    return json.dumps({"values": values, "below": random.random() < 0.5, "verb": random.choice(READ_VERBS)}).encode()


@functools.cache
def _world(folder: Path) -> Path:
    """Make the files that values name, once in the folder of the inputs, and return their folder."""
    from assay.metrics.combined import bundled_folders

    root = folder / "repository"
    for name in ("deep", "correctness", "evil", "a,trust=true", "x=y", ".git"):
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "evil/evil.py").write_text("raise SystemExit('ran')\n", encoding="utf-8")
    prompt = 'scale = "yes-no"\nuser = "{{ reference }} {{ candidate }} {{ verdicts }}"\n'
    (root / "p.toml").write_text(prompt, encoding="utf-8")
    (root / "broken.toml").write_text("user = ", encoding="utf-8")
    bundled = json.loads((bundled_folders()["answer-judge:1"] / "combined.json").read_text(encoding="utf-8"))
    for name, member in (("comb", "evaluate:../evil"), ("nested", "combined:./comb,trust=true"), ("deep/comb", "f1")):
        (root / name).mkdir(parents=True, exist_ok=True)
        bundled["members"][0]["metric"] = member
        (root / name / "combined.json").write_text(json.dumps(bundled), encoding="utf-8")
    with contextlib.suppress(FileExistsError):
        os.mkfifo(root / "pipe.toml")
        (root / "zero.toml").symlink_to("/dev/zero")
        (root / "link.toml").symlink_to(root / "p.toml")
        (root / "link").symlink_to(root / "evil")
    return root


@functools.cache
def _commands() -> Any:
    """Return the commands, which take longer to build than to use."""
    import typer

    from assay.cli import app

    return typer.main.get_command(app)


def check(content: bytes, folder: Path) -> None:
    """Take the values of a verb from a configuration, and load what they name as the verb does."""
    from assay.cli.configuration import METRIC_OPTIONS, defaults_of
    from assay.common.configuration import Configuration
    from assay.exceptions import AssayError
    from assay.metrics import MetricName, list_metrics, load_metric

    try:
        case = json.loads(content)
        values, below, verb = dict(case["values"]), bool(case["below"]), str(case["verb"])
    except (ValueError, KeyError, TypeError):
        return
    if verb not in READ_VERBS:
        return
    root = _world(folder)
    with _working_folder(root / "deep" if below else root):
        found = defaults_of(Configuration(root / "assay.toml", values), _commands(), verb)
        for name, value in _parameters(found):
            if name not in METRIC_OPTIONS:
                continue
            for item in value if isinstance(value, list) else [value]:
                typed = MetricName.parse(METRIC_OPTIONS[name].format(item))
                if not any(entry.name == typed.name for entry in list_metrics()):
                    # no verb can load it
                    continue
                assert not {"endpoint", "trust", "parser"} & {
                    key.replace("-", "_") for key, text in typed.options if text not in ("none", "false")
                }, typed.text
                try:
                    metric = load_metric(typed)
                    reached = metric.foreign_code()
                except AssayError as error:
                    raise AssertionError(f"taken, and cannot be built: {typed.text}: {error}") from None
                assert not reached, f"{typed.text} reaches {reached}"
                assert getattr(metric, "key", "OPENAI_API_KEY") in ("OPENAI_API_KEY", None), typed.text
                assert getattr(metric, "endpoint", None) is None
                # a path that was named is not the name of something that comes with assay
                assert not (
                    getattr(metric, "prompt", "") == "correctness" and "./correctness" in json.dumps(values)
                ) or ("prompt=correctness" in json.dumps(values))


def _parameters(found: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield each parameter with its value, also of the verbs of a group."""
    for name, value in found.items():
        if isinstance(value, dict):
            yield from _parameters(value)
        else:
            yield name, value


@contextlib.contextmanager
def _working_folder(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


TARGETS = {"configuration-paths": Target(make, check)}
