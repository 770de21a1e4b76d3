"""Cards of the atlas whose pairs come from archives, many files or nested records, read by other code."""

from __future__ import annotations

import csv
import io
import json
import re
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

#: Rows of (gold answers, candidate, label), read from the folder of the atlas.
Rows = list[tuple[list[str], str, float]]


def conala(atlas: Path) -> Rows:
    rows = []
    path = atlas / "codegen-metrics/data/to-grade/conala/conala-human-grades.json"
    for task in json.loads(path.read_text(encoding="utf-8")):
        for name, grades in task.items():
            if name.startswith("grade-") and name != "grade-snippet":
                rows.append((task["snippet"], task[name.removeprefix("grade-")], float(np.mean([*grades.values()]))))
    return rows


def hearthstone(atlas: Path) -> Rows:
    path = atlas / "codegen-metrics/data/to-grade/hs/hs-human-grades.json"
    return [
        ([card["snippet"]], card[system], float(np.mean([*card[f"grade-{system}"].values()])))
        for card in json.loads(path.read_text(encoding="utf-8"))
        for system in ("gcnn", "nl2code")
    ]


def mohler(atlas: Path) -> Rows:
    folder = atlas / "mohler/ShortAnswerGrading_v2.0/data"

    def lines(name: str) -> list[str]:
        # one file is in Latin-1, the others are UTF-8
        content = (folder / name).read_bytes()
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            text = content.decode("cp1252")
        return text.removesuffix("\n").split("\n")

    golds = dict(line.split(" ", 1) for line in lines("raw/answers"))
    rows = []
    for item in golds:
        highest = 10 if item.split(".")[0] in ("11", "12") else 5
        grades = [[float(line) for line in lines(f"scores/{item}/{name}")] for name in ("me", "other")]
        for line, *both in zip(lines(f"raw/{item}"), *grades, strict=True):
            rows.append(([golds[item]], line.removeprefix(f"{item} "), float(np.mean(both)) * 5 / highest))
    return rows


def sts17(track: str) -> Callable[[Path], Rows]:
    def rows(atlas: Path) -> Rows:
        with zipfile.ZipFile(atlas / "sts17/Sts2017.eval.v1.1.zip") as box:
            pairs = box.read(f"STS2017.eval.v1.1/STS.input.track{track}.txt").decode().removesuffix("\n").split("\n")
        with zipfile.ZipFile(atlas / "sts17/Sts2017.gs.zip") as box:
            golds = box.read(f"STS2017.gs/STS.gs.track{track}.txt").decode().split()
        cells = [line.split("\t") for line in pairs]
        return [([row[0].strip()], row[1].strip(), float(gold)) for row, gold in zip(cells, golds, strict=True)]

    return rows


def member(path: Path, name: str) -> list[str]:
    with tarfile.open(path) as tape:
        stream = tape.extractfile(name)
        assert stream is not None
        return stream.read().decode().removesuffix("\n").split("\n")


def mlqe(pair: str) -> Callable[[Path], Rows]:
    def rows(atlas: Path) -> Rows:
        folder = atlas / "mlqe-pe/data"
        judged = folder / f"direct-assessments/test/{pair}-test.tar.gz"
        header, *lines = member(judged, f"{pair}/test20.{pair.replace('-', '')}.df.short.tsv")
        place = header.split("\t").index("z_mean")
        corrected = folder / f"post-editing/test/{pair}-test.tar.gz"
        golds, outputs = (member(corrected, f"{pair}-test20/test20.{end}") for end in ("pe", "mt"))
        labels = [float(line.split("\t")[place]) for line in lines]
        return [([gold], output, label) for gold, output, label in zip(golds, outputs, labels, strict=True)]

    return rows


def sra(folder: str) -> Callable[[Path], Rows]:
    def rows(atlas: Path) -> Rows:
        numbers = {"contradictory": 0.0, "incorrect": 1.0, "correct": 2.0}
        found: Rows = []
        with zipfile.ZipFile(atlas / "sra-3way/semeval-3way.zip") as box:
            for name in box.namelist():
                if name.startswith(f"{folder}/") and name.endswith(".xml"):
                    root = ElementTree.fromstring(box.read(name))
                    golds = ["".join(gold.itertext()).strip() for gold in root.iter("referenceAnswer")]
                    for answer in root.iter("studentAnswer"):
                        found.append((golds, "".join(answer.itertext()).strip(), numbers[answer.attrib["accuracy"]]))
        return found

    return rows


def saf(folder: str) -> Callable[[Path], Rows]:
    def rows(atlas: Path) -> Rows:
        found: Rows = []
        paths = (atlas / "saf/data" / folder).glob("*.xml")
        for path in sorted(paths, key=lambda path: [int(number) for number in re.findall(r"\d+", path.name)]):
            root = ElementTree.fromstring(path.read_bytes())
            golds = [(gold.text or "").strip() for gold in root.iter("referenceAnswer")]
            for answer in root.iter("studentAnswer"):
                text = "".join(response.itertext()).strip() if (response := answer.find("response")) is not None else ""
                found.append((golds, text, float(answer.findtext("score") or "")))
        return found

    return rows


def afrimte(pair: str) -> Callable[[Path], Rows]:
    def rows(atlas: Path) -> Rows:
        path = atlas / "africomet-challenge/wmt2024_challenge_set.tgz"
        start = f"AfriMTE-ade-devtest-v2-with-score/AfriMTE-ade-devtest-v2.{pair}"
        golds, outputs, scores = (member(path, f"{start}.{end}.txt") for end in ("ref", "hyp-1", "score"))
        return [([gold], output, float(score)) for gold, output, score in zip(golds, outputs, scores, strict=True)]

    return rows


def argkp(atlas: Path) -> Rows:
    with zipfile.ZipFile(atlas.parent / "tasks/argkp-2021/IBM_Debater_(R)_ArgKP-2021.zip") as box:
        text = box.read("ArgKP-2021_dataset.csv").decode("utf-8")
    return [
        ([row["key_point"]], row["argument"], float(row["label"]))
        for row in csv.DictReader(io.StringIO(text, newline=""))
    ]


def kpa(atlas: Path) -> Rows:
    def table(name: str) -> list[dict[str, str]]:
        with (atlas.parent / f"tasks/kpa-2021/test_data/{name}_test.csv").open(encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream))

    arguments = {row["arg_id"]: row["argument"] for row in table("arguments")}
    points = {row["key_point_id"]: row["key_point"] for row in table("key_points")}
    return [([points[row["key_point_id"]]], arguments[row["arg_id"]], float(row["label"])) for row in table("labels")]


def klue(atlas: Path) -> Rows:
    path = atlas / "klue-sts/klue_benchmark/klue-sts-v1.1/klue-sts-v1.1_dev.json"
    return [
        ([pair["sentence1"]], pair["sentence2"], float(pair["labels"]["real-label"]))
        for pair in json.loads(path.read_text(encoding="utf-8"))
    ]


def flickr(atlas: Path) -> Rows:
    found: Rows = []
    for image in json.loads((atlas / "flickr8k-expert/flickr8k.json").read_text(encoding="utf-8")).values():
        ratings: dict[str, list[float]] = {}
        for judged in image["human_judgement"]:
            ratings.setdefault(judged["caption"], []).append(judged["rating"])
        found += [(image["ground_truth"], caption, float(np.mean(three))) for caption, three in ratings.items()]
    return found


def squality(aspect: str) -> Callable[[Path], Rows]:
    def rows(atlas: Path) -> Rows:
        path = atlas / "squality/human-eval/all-responses.jsonl"
        return [
            (
                [answers["human"]["response"]],
                answers[system]["response"],
                answers[system]["overall"][f"{aspect}-rating"],
            )
            for line in path.read_text(encoding="utf-8").splitlines()
            for answers in json.loads(line)["questions"].values()
            for system in ("bart", "bart-dpr")
        ]

    return rows


def indic(file: str) -> Callable[[Path], Rows]:
    def rows(atlas: Path) -> Rows:
        lines = (atlas / "indic-mt-eval/Dataset" / file).read_text(encoding="utf-8").split("\n")
        records = [json.loads(line) for line in lines if line.strip()]
        return [([row["ref"]], row["translation"], float(row["da_norm_score"])) for row in records]

    return rows


_TRACKS = ("1.ar-ar", "2.ar-en", "3.es-es", "4a.es-en", "4b.es-en", "5.en-en")
_STS17 = {("es-en-mt" if track[:2] == "4b" else track.partition(".")[2]): track for track in _TRACKS}
_MLQE = ("en-de", "en-zh", "et-en", "ne-en", "ro-en", "ru-en", "si-en")
_SRA = ("unseen-answers", "unseen-questions", "unseen-domains")
_SAF = {"train": "training", "unseen-answers": "unseen_answers", "unseen-questions": "unseen_questions"}
_AFRIMTE = (
    *("ary-fra", "eng-arz", "eng-fra", "eng-hau", "eng-ibo", "eng-kik", "eng-luo", "eng-som", "eng-swh", "eng-twi"),
    *("eng-xho", "eng-yor", "yor-eng"),
)
_INDIC = {
    "gu": "Indic MT Eval/Guj_test.jsonl",
    "hi": "Indic MT Eval/Hin_test.jsonl",
    "ml": "Indic MT Eval/Mal_test.jsonl",
    "mr": "Indic MT Eval/Mar_test.jsonl",
    "ta": "Indic MT Eval/Tam_test.jsonl",
    "as": "Zero Shot/assamese.jsonl",
    "kn": "Zero Shot/kannada.jsonl",
    "mai": "Zero Shot/maithili.jsonl",
    "pa": "Zero Shot/punjabi.jsonl",
}

#: For each split of a card, the function that reads its rows.
SETS: dict[str, Callable[[Path], Rows]] = {
    "conala-grades": conala,
    "hearthstone-grades": hearthstone,
    "mohler": mohler,
    **{f"sts17:{split}": sts17(track) for split, track in _STS17.items()},
    **{f"mlqe-pe:{pair}": mlqe(pair) for pair in _MLQE},
    "beetle:train": sra("training/3way/beetle"),
    **{f"beetle:{part}": sra(f"test/3way/beetle/test-{part}") for part in _SRA[:2]},
    "scientsbank:train": sra("training/3way/sciEntsBank"),
    **{f"scientsbank:{part}": sra(f"test/3way/sciEntsBank/test-{part}") for part in _SRA},
    **{f"saf-en:{split}": saf(f"{folder}/english") for split, folder in _SAF.items()},
    **{f"saf-de:{split}": saf(f"{folder}/german") for split, folder in _SAF.items()},
    **{f"afrimte:{pair}": afrimte(pair) for pair in _AFRIMTE},
    "argkp-2021": argkp,
    "kpa-2021": kpa,
    "klue-sts": klue,
    "flickr8k-expert": flickr,
    "squality:overall": squality("overall"),
    "squality:correctness": squality("correctness"),
    "squality:coverage": squality("selection"),
    **{f"indic-mt-eval:{code}": indic(file) for code, file in _INDIC.items()},
}


def all_of(card: str) -> tuple[str, ...]:
    """Return the splits of a card, as they are in :data:`SETS`."""
    return tuple(name for name in SETS if name.partition(":")[0] == card)


#: Spearman's coefficient of token F1 with the label, as measured on the pairs of some splits together.
MEASURED = {
    ("conala-grades",): 0.63,
    ("mohler",): 0.45,
    ("sts17:ar-ar",): 0.62,
    ("sts17:es-es",): 0.72,
    ("sts17:en-en",): 0.73,
    all_of("mlqe-pe"): 0.44,
    all_of("beetle"): 0.46,
    all_of("scientsbank"): 0.33,
    all_of("saf-en"): 0.46,
    all_of("saf-de"): 0.47,
    all_of("afrimte"): 0.19,
    ("argkp-2021",): 0.18,
    ("klue-sts",): 0.33,
    ("flickr8k-expert",): 0.46,
    ("squality:overall",): 0.24,
    all_of("indic-mt-eval"): 0.26,
}
