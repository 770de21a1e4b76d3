"""Three cards that were written from docs/extending.md alone, on made files of the shape of the real ones.

The real files are not among the test data. They were read once when the cards were written; the sizes, digests and
numbers of rows in the cards are theirs.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from scipy import stats

import assay
from assay.datasets import fetch_dataset, load_card, load_card_splits
from assay.datasets.card import Card
from assay.datasets.card_file import card_from_fields


def served(site: Any, name: str, contents: dict[str, str], rows: dict[str, int]) -> Card:
    """Return a card of the package with made files at a local address; only the splits in *rows* are left."""
    file = resources.files("assay.datasets") / "cards" / f"{name}.toml"
    fields = tomllib.loads(file.read_text(encoding="utf-8"))
    (address,) = (source["url"] for source in fields["sources"] if source["kind"] == "https")
    assert address.startswith("https://raw.githubusercontent.com/") and address.endswith("/{name}")
    fields["splits"] = {split: fields["splits"][split] | {"rows": count} for split, count in rows.items()}
    needed = [file for split in fields["splits"].values() for file in split["files"]]
    assert sorted(needed) == sorted(contents)
    fields["files"] = []
    for path, text in contents.items():
        content = text.encode()
        site.files["/" + quote(path)] = content
        entry = {"name": path, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        fields["files"].append(entry)
    fields["sources"] = [{"kind": "cache"}, {"kind": "https", "url": f"{site.url}/{{name}}"}]
    fields["default_split"] = next(iter(rows))
    return card_from_fields(fields, "test")


def test_csv_with_both_sentences_in_a_cell_and_a_blank_in_the_path(site: Any, own_cache: Path) -> None:
    contents = {
        "Track A/amh/amh_test_with_labels.csv": (
            'PairID,Text,Score\np1,"ሰላም ነው\nሰላም ሁን",0.75\np2,"አንድ, ሁለት\nሦስት",0.25\n'
        ),
        "Track B/afr/afr_test_with_labels.csv": "PairID,Text,Score\na1,Goeie more.\tGoeie dag.,0.69\n",
        "Track B/pan/pan_test_with_labels.csv": 'Text,Score,PairID\n"ਇੱਕ\nਦੋ",0,pan_test_00001\n',
    }
    card = served(site, "semrel-2024", contents, {"am": 2, "af": 1, "pa": 1})
    fetch_dataset(card)
    splits = load_card_splits(card, offline=True)
    assert splits["am"].texts()[:2] == (["ሰላም ነው", "አንድ, ሁለት"], ["ሰላም ሁን", "ሦስት"])
    assert splits["am"].labels.tolist() == [0.75, 0.25] and splits["am"].language == "am"
    assert splits["af"].texts()[:2] == (["Goeie more."], ["Goeie dag."])
    assert splits["pa"].texts()[:2] == (["ਇੱਕ"], ["ਦੋ"])
    assert sorted(path for _, path, _ in site.requests) == sorted("/" + quote(path) for path in contents)


def test_json_by_number_with_the_labels_of_all_annotators(site: Any, own_cache: Path) -> None:
    rows = {
        "2188": {"s1": "海洋很大。", "s2": "海洋很大。", "raw_annotation": [4.5, 5.0], "mean_score": 4.75, "std": 0.25},
        "8308": {"s1": "三步", "s2": "面团", "raw_annotation": [0.0, 1.0], "mean_score": 0.5, "std": 0.5},
        "9": {"s1": "三步走", "s2": "三步", "raw_annotation": [2.0, 3.5], "mean_score": 2.75, "std": 0.75},
    }
    content = json.dumps({key: row | {"source": "ted-x"} for key, row in rows.items()}, ensure_ascii=False)
    card = served(site, "usts", {"ustsu/test.json": content}, {"u-test": 3})
    fetch_dataset(card)
    (pairs,) = load_card_splits(card, offline=True).values()
    assert pairs.labels.tolist() == [row["mean_score"] for row in rows.values()]
    assert pairs.column("annotations").to_pylist() == [row["raw_annotation"] for row in rows.values()]
    assert pairs.column("std").to_pylist() == [0.25, 0.5, 0.75]
    assert [identifier.removeprefix("u-test-") for identifier in pairs.column("pair_id").to_pylist()] == list(rows)
    agreement = assay.run([pairs], ["rouge-1"], resamples=0, buckets=["none"], statistics=["spearman"]).agreement
    (value,) = agreement[agreement["bucket"] == "all"]["value"]
    by_hand = [1.0, 0.0, 2 * 2 / (3 + 2)]
    assert value == pytest.approx(stats.spearmanr(by_hand, [row["mean_score"] for row in rows.values()]).statistic)


def test_jsonl_with_votes_on_each_sentence_of_a_summary(site: Any, own_cache: Path) -> None:
    def sentence(text: str, *votes: str) -> dict[str, Any]:
        return {"sentence": text, "responses": [{"worker_id": i, "response": vote} for i, vote in enumerate(votes)]}

    lines = [
        {
            "article": "A dog ran. It barked.",
            "summary_sentences": [sentence("A dog ran.", "yes", "yes", "no"), sentence("It slept.", "no", "no", "no")],
        },
        {"article": "It rained.", "summary_sentences": [sentence("It rained.", "yes", "yes", "yes")]},
    ]
    content = "".join(json.dumps(line) + "\n" for line in lines)
    card = served(site, "qags", {"mturk_cnndm.jsonl": content}, {"cnndm": 3})
    fetch_dataset(card)
    (pairs,) = load_card_splits(card, offline=True).values()
    references, candidates = pairs.texts()[:2]
    assert references == ["A dog ran. It barked."] * 2 + ["It rained."]
    assert candidates == ["A dog ran.", "It slept.", "It rained."]
    assert pairs.labels.tolist() == pytest.approx([2 / 3, 0, 1])
    assert len(set(pairs.column("group").to_pylist())) == 2
    assert "annotations" in pairs.table.column_names


@pytest.mark.parametrize("name", ["semrel-2024", "usts", "qags"])
def test_no_code_and_a_stated_licence(name: str) -> None:
    card = load_card(name)
    assert card.reader == "table" and card.licence in {"MIT", "none stated"}
    assert all(file.sha256 and file.bytes for file in card.files)
    rows = {"semrel-2024": 8272, "usts": 14951, "qags": 953}
    assert sum(split.rows or 0 for split in card.splits.values()) == rows[name]


@pytest.mark.parametrize(
    ("path", "sent"),
    [("a b.csv", "a%20b.csv"), ("ä/#1.csv", "%C3%A4/%231.csv"), ("a%20b.csv", "a%20b.csv"), ("x?raw=1", "x?raw=1")],
)
def test_a_path_becomes_part_of_an_address(path: str, sent: str) -> None:
    source = load_card("usts").sources[-1].model_copy(update={"url": "https://example.org/{name}", "path": path})
    assert source.address_of("any") == f"https://example.org/{sent}"
