"""Files that other people published with human judgements, read by one line each as they are stored.

Each is read a second time by other code (json, csv or pandas); pairs, labels and SciPy's coefficients must be equal.
"""

from __future__ import annotations

import csv
import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import assay
from assay.datasets import load_dataset

#: Rows of (gold answers, candidate, label).
Rows = list[tuple[Any, str, float]]


def json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def plain_tsv(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.open(encoding="utf-8-sig"), delimiter="\t", quoting=csv.QUOTE_NONE))


def jsick(path: Path) -> Rows:
    rows = []
    for row in plain_tsv(path):
        given = [unicodedata.normalize("NFKC", row[f"relatedness_score_Ja{i}"]).strip() for i in (1, 2, 3)]
        labels = [float(label) for label in given if label]
        rows.append((row["sentence_A_Ja"], row["sentence_B_Ja"], float(np.mean(labels))))
    return rows


def klue(path: Path) -> Rows:
    rows = json.loads(path.read_text(encoding="utf-8"))
    return [(row["sentence1"], row["sentence2"], row["labels"]["real-label"]) for row in rows]


def asset(path: Path) -> Rows:
    frame = pd.read_csv(path, keep_default_na=False)
    means = frame.groupby(["original", "simplification", "aspect"], sort=False)["rating"].mean()
    return [(original, simplification, mean) for (original, simplification, _), mean in means.items()]


def flickr(path: Path) -> Rows:
    rows: dict[tuple[str, ...], list[float]] = {}
    for image in json.loads(path.read_text(encoding="utf-8")).values():
        for judgement in image["human_judgement"]:
            rows.setdefault((*image["ground_truth"], judgement["caption"]), []).append(judgement["rating"])
    return [(list(texts[:-1]), texts[-1], float(np.mean(ratings))) for texts, ratings in rows.items()]


def kpqa(label: str, *references: str) -> Callable[[Path], Rows]:
    def read(path: Path) -> Rows:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
        golds = [list(dict.fromkeys(row[name] for name in references)) for _, row in frame.iterrows()]
        return list(zip(golds, frame["answer"], frame[label].astype(float), strict=True))

    return read


def twitter(path: Path) -> Rows:
    rows = []
    # split at \n alone: the texts may have other signs that end lines
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line.strip():
            first, second, votes = line.split("\t")[:3]
            rows.append((first, second, int(votes[1]) / int(votes[3])))
    return rows


SETS: dict[str, tuple[str, dict[str, Any], Callable[[Path], Rows]]] = {
    "jsick": (
        "jsick/jsick/jsick-all-annotations.tsv",
        {
            "columns": "reference=sentence_A_Ja,candidate=sentence_B_Ja,"
            "label=relatedness_score_Ja1+relatedness_score_Ja2+relatedness_score_Ja3"
        },
        jsick,
    ),
    "jsts": (
        "jsts/datasets/jsts-v1.3/valid-v1.3.json",
        {},
        lambda path: [(row["sentence1"], row["sentence2"], row["label"]) for row in json_lines(path)],
    ),
    "klue-sts": (
        "klue-sts/klue_benchmark/klue-sts-v1.1/klue-sts-v1.1_dev.json",
        {"columns": "label=labels.real-label"},
        klue,
    ),
    "korsts": (
        "korsts/KorSTS/sts-test.tsv",
        {},
        lambda path: [(row["sentence1"], row["sentence2"], float(row["score"])) for row in plain_tsv(path)],
    ),
    "simqg": (
        "simqg/dataset/simqg_mturk_average_scores.tsv",
        {"columns": "reference=REFQ,candidate=GENQ,label=SIMILAR"},
        lambda path: [(row["REFQ"], row["GENQ"], float(row["SIMILAR"])) for row in plain_tsv(path)],
    ),
    "asset": (
        "asset-human/human_ratings/human_ratings.csv",
        {"columns": "reference=original,candidate=simplification,label=rating,subset=aspect"},
        asset,
    ),
    "flickr8k-expert": (
        "flickr8k-expert/flickr8k.json",
        {
            "columns": "reference=ground_truth,candidate=human_judgement.caption,label=human_judgement.rating",
            "annotator": "-",
        },
        flickr,
    ),
    "kpqa-narrativeqa": (
        "kpqa/data/human_eval/nrqa_mhpgm.csv",
        {"columns": "reference=reference1+reference2,candidate=answer,label=scores"},
        kpqa("scores", "reference1", "reference2"),
    ),
    # the header is shifted: the judgement stands below reference2
    "kpqa-semeval": (
        "kpqa/data/human_eval/semeval_mhpgm.csv",
        {"columns": "reference=reference1,candidate=answer,label=reference2"},
        kpqa("reference2", "reference1"),
    ),
    "dialsummeval": (
        "dialsummeval/annotation_campus/human_judgment.jsonl",
        {"columns": "reference=dialogue,candidate=summary,label=annotations.relevance"},
        lambda path: [
            (row["dialogue"], row["summary"], float(np.mean([each["relevance"] for each in row["annotations"]])))
            for row in json_lines(path)
        ],
    ),
    # no header; the last ten lines have an empty cell too many
    "twitter-url": (
        "twitter-url/Twitter_URL_Corpus_testNew.larger.txt",
        {"columns": "reference=1,candidate=2,label=3"},
        twitter,
    ),
    "realsumm": (
        "realsumm/realsumm.jsonl",
        {"columns": "label=litepyramid_recall"},
        lambda path: [(row["references"], row["candidate"], row["litepyramid_recall"]) for row in json_lines(path)],
    ),
    "summeval": (
        "summeval/summeval.jsonl",
        {"columns": "label=coherence"},
        lambda path: [(row["references"], row["candidate"], row["coherence"]) for row in json_lines(path)],
    ),
}


@pytest.mark.parametrize("name", SETS)
def test_one_line_reads_what_was_published(shared_data: Path, name: str) -> None:
    file, options, read = SETS[name]
    path = shared_data / "atlas" / file
    if not path.is_file():
        pytest.skip(f"{path} is absent")
    expected = read(path)
    pairs = load_dataset(path, **options)
    references, candidates, _ = pairs.texts()
    golds = [[reference] if isinstance(reference, str) else reference for reference in references]
    wanted = [[reference] if isinstance(reference, str) else list(reference) for reference, _, _ in expected]
    assert golds == wanted
    assert candidates == [candidate for _, candidate, _ in expected]
    np.testing.assert_allclose(pairs.labels, [label for _, _, label in expected], rtol=1e-12)
    some = pairs.limit(400)
    result = assay.run([some], ["f1"], resamples=0, buckets=["none"], statistics=["pearson", "spearman", "kendall"])
    scores, labels = result.scores["score"].to_numpy(), np.array([label for _, _, label in expected[:400]])
    agreement = result.agreement
    values = agreement[agreement["bucket"] == "all"].set_index("statistic")["value"]
    assert values["pearson"] == pytest.approx(stats.pearsonr(scores, labels).statistic, abs=1e-9)
    assert values["spearman"] == pytest.approx(stats.spearmanr(scores, labels).statistic, abs=1e-9)
    assert values["kendall"] == pytest.approx(stats.kendalltau(scores, labels).statistic, abs=1e-9)


def test_a_file_of_recorded_scores_with_a_column_called_dataset(shared_data: Path) -> None:
    path = shared_data / "atlas/emnlp17-nlg/emnlp_data_medians.csv"
    if not path.is_file():
        pytest.skip(f"{path} is absent")
    agreement = assay.agree(
        path, columns="label=informativeness,label=quality", scores=["Bleu_4"], resamples=0
    ).agreement
    frame = pd.read_csv(path)
    for label in ("informativeness", "quality"):
        mine = agreement[agreement["dataset"] == f"emnlp_data_medians#{label}"].set_index("statistic")["value"]
        assert mine["spearman"] == pytest.approx(stats.spearmanr(frame["Bleu_4"], frame[label]).statistic, abs=1e-9)


def test_a_workbook_with_a_sheet_for_each_quality(shared_data: Path) -> None:
    """Means of each annotator for each system; the scores of the other systems are compared with those of GOLD."""
    path = shared_data / "atlas/dialsummeval/annotation_AMT/processed/human_by_annotator.xlsx"
    if not path.is_file():
        pytest.skip(f"{path} is absent")
    pytest.importorskip("openpyxl", reason="openpyxl is not installed (the extra excel)")
    options = {"columns": "label=GOLD", "member": "relevance", "drop_unlabelled": True}
    agreement = assay.agree(path, **options, scores=["BART", "CODS"], resamples=0).agreement
    frame = pd.read_excel(path, sheet_name="relevance")
    for system in ("BART", "CODS"):
        mine = agreement[agreement["metric"] == f"recorded:{system}"].set_index("statistic")["value"]
        both = frame[["GOLD", system]].dropna()
        assert mine["pearson"] == pytest.approx(stats.pearsonr(both["GOLD"], both[system]).statistic, abs=1e-9)
        assert mine["spearman"] == pytest.approx(stats.spearmanr(both["GOLD"], both[system]).statistic, abs=1e-9)
        assert mine["kendall"] == pytest.approx(stats.kendalltau(both["GOLD"], both[system]).statistic, abs=1e-9)
