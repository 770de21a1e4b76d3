"""Explanations as tables: one for each pair."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.reports.layout import short, signed
from assay.reports.sheets import Column, Document, Sheet

__all__ = ["notable", "of_usual", "to_document"]


# Sentences about what is usual.


def notable(one: Mapping[str, Any]) -> str:
    """Return a line that names the aspects outside of what is usual, the farthest outside first."""
    phrases = []
    for way in ("low", "high"):
        found = [item for item in one["aspects"] if item["usual"]["unusual"] == way]
        found.sort(key=_distance, reverse=True)
        if found:
            phrases.append(f"unusually {way}: " + "; ".join(map(_phrase, found)))
    return "; ".join(phrases) if phrases else "no aspect is unusual for pairs of this overall score"


def _distance(item: Mapping[str, Any]) -> float:
    usual = item["usual"]
    return float(max(usual["low"] - item["score"], item["score"] - usual["high"]))


def _phrase(item: Mapping[str, Any]) -> str:
    usual = item["usual"]
    ends = f"{short(usual['low'], 2)} to {short(usual['high'], 2)}"
    return f"{item['aspect']} {short(item['score'], 2)}, usual {ends}"


def of_usual(one: Mapping[str, Any]) -> str:
    """Return a line that says what usual means here, and how many aspects are outside by chance alone."""
    held = one["compared"]
    count = len(one["aspects"])
    return (
        f"usual: from the 5% to the 95% quantile of the {held['pairs']} reference pairs, of {held['total']}, that are "
        f"nearest in overall score ({short(held['low'], 2)} to {short(held['high'], 2)}); lower: the share of them "
        f"below the score. So about {count / 10:.1f} of {count} aspects are unusual in an ordinary pair"
    )


# Explanations as sheets: one a pair.

_Plain = Mapping[str, Any]


def to_document(explanations: Sequence[_Plain]) -> Document:
    """Return a sheet for each explanation; the records have a row for each aspect, token, word or triple.

    Args:
        explanations: what ``Explanation.as_dict`` of the metrics gives, all of one kind; ``pair_id`` where the pairs
            have one.
    """
    sheets = [_SHEETS[one["kind"]](one) for one in explanations]
    records = [record for number, one in enumerate(explanations, 1) for record in _records(number, one)]
    return Document(sheets, records, value=list(explanations))


def _title(one: _Plain) -> str:
    """Return the head of a sheet: the two texts."""
    place = f"{one['pair_id']}: " if one.get("pair_id") else ""
    return f"{place}{one['reference']} | {one['candidate']}"


def _sheet(one: _Plain, heads: Sequence[Column], rows: Sequence[Sequence[str]], *notes: str, **more: Any) -> Sheet:
    facts = (f"{one['metric']}: {short(one['score'], 3)}", *more.pop("facts", ()))
    return Sheet(_title(one), heads, rows, facts, (*notes, *one["notes"]), **more)


def _number(head: str) -> Column:
    return Column(head, number=True)


def _aspects(one: _Plain) -> Sheet:
    """Return the aspects, those that are unusual marked and named."""
    compared = one["compared"]
    if compared is None:
        rows = [[item["aspect"], short(item["score"], 2)] for item in one["aspects"]]
        return _sheet(one, [Column("aspect"), _number("score")], rows)
    rows = []
    for item in one["aspects"]:
        usual = item["usual"]
        ends = f"{short(usual['low'], 2)} to {short(usual['high'], 2)}"
        cells = [item["aspect"], short(item["score"], 2), short(usual["median"], 2), ends]
        rows.append([*cells, f"{usual['lower']:.0%}", usual["unusual"]])
    heads = [Column("aspect"), _number("score"), _number("median"), _number("usual")]
    return _sheet(
        one,
        [*heads, _number("lower"), Column("")],
        rows,
        notable(one),
        of_usual(one),
        marked=frozenset(number for number, item in enumerate(one["aspects"]) if item["usual"]["unusual"]),
    )


def _tokens(one: _Plain) -> Sheet:
    rows = [
        [item["side"], item["token"], item["partner"], short(item["similarity"], 2), f"{item['weight']:.2f}"]
        for item in one["tokens"]
    ]
    heads = [Column("text"), Column("token"), Column("best partner"), _number("cosine"), _number("weight")]
    facts = (f"precision {short(one['precision'], 3)}, recall {short(one['recall'], 3)}",)
    note = "recall is the weighted mean of the reference's cosines, precision of the candidate's"
    return _sheet(one, heads, rows, note, facts=facts)


def _words(one: _Plain) -> Sheet:
    rows = [
        [
            item["side"],
            item["word"],
            signed(item["change"]),
            item["partner"] or "",
            "" if item["together"] is None else signed(item["together"]),
        ]
        for item in one["words"]
    ]
    heads = [Column("text"), Column("word"), _number("change"), Column("goes with"), _number("together")]
    return _sheet(
        one,
        heads,
        rows,
        "change: the score with the word less the score without it",
        "goes with: the word of the other text with which leaving out both costs least beyond leaving out each",
    )


def _graphs(one: _Plain) -> Sheet:
    rows = [
        [item["reference"] or "", item["candidate"] or "", "" if None in item.values() else "yes"]
        for item in one["triples"]
    ]
    nodes = [item for item in one["nodes"] if item["reference"] and item["candidate"]]
    facts = (
        f"triples that match: {one['matched']} of {one['reference_triples']} and {one['candidate_triples']}",
        f"the alignment is {'optimal' if one['optimal'] else 'not proven optimal'}",
        "aligned: " + ", ".join(f"{item['reference']} = {item['candidate']}" for item in nodes),
    )
    heads = [Column("reference"), Column("candidate"), Column("match")]
    return _sheet(one, heads, rows, facts=facts)


_SHEETS: dict[str, Callable[[_Plain], Sheet]] = {
    "aspects": _aspects,
    "tokens": _tokens,
    "words": _words,
    "graphs": _graphs,
}
#: The part of an explanation that has a record for each of its items.
_ITEMS = {"aspects": "aspects", "tokens": "tokens", "words": "words", "graphs": "triples"}


def _records(number: int, one: _Plain) -> list[dict[str, Any]]:
    """Return flat records: the pair, then an item of it."""
    names = ("pair_id", "metric", "reference", "candidate", "score")
    pair = {"pair": number} | {name: one[name] for name in names if name in one}
    found = []
    for item in one[_ITEMS[one["kind"]]]:
        # texts and score of the pair stand first under the same names
        own = {f"item_{key}" if key in pair else key: cell for key, cell in item.items() if key != "usual"}
        found.append(pair | own | (item.get("usual") or {}))
    return found
