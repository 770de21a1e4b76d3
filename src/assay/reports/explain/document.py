"""Explanations of scores as tables, one per pair of texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from assay.common.messages import Message
from assay.common.numbers import short, signed
from assay.reports.sheets import Column, Document, Sheet, table_rows

#: An explanation as plain values: the result of ``Explanation.as_dict``, with ``pair_id`` if the pairs have ids.
ExplanationValues = Mapping[str, Any]


def to_document(explanations: Sequence[ExplanationValues], costs: Sequence[str | Message] = ()) -> Document:
    """Return a document with one sheet per explanation and one record per item, such as an aspect, token or triple.

    Args:
        explanations: the explanations of one metric, and hence of one kind; as JSON they are written as they are.
        costs: lines on what the explained pairs cost, and what all would.
    """
    sheets = [_SHEETS_BY_KIND[explanation["kind"]](explanation) for explanation in explanations]
    if costs:
        sheets.append(Sheet("Tokens and price", (), (), notes=costs))
    records = []
    for number, explanation in enumerate(explanations, 1):
        records += _item_records(number, explanation)
    return Document(sheets, records, value=list(explanations))


def _explanation_sheet(
    explanation: ExplanationValues,
    columns: Sequence[Column],
    items: Iterable[Mapping[str, Any]],
    notes: Sequence[str] = (),
    facts: Sequence[str] = (),
    marked: frozenset[int] = frozenset(),
) -> Sheet:
    """Return a sheet with the two texts as title, after the id of the pair if it has one, and the score as first fact.

    Args:
        explanation: the explanation, whose notes follow *notes*.
        columns: the columns of the table.
        items: what its rows are about.
        notes: the first lines below the table.
        facts: further lines above the table.
        marked: the indices of rows to emphasise.
    """
    id_prefix = f"{explanation['pair_id']}: " if explanation.get("pair_id") else ""
    title = f"{id_prefix}{explanation['reference']} | {explanation['candidate']}"
    score = f"{explanation['metric']}: {short(explanation['score'], 3)}"
    rows = table_rows(columns, items)
    return Sheet(title, columns, rows, (score, *facts), (*notes, *explanation["notes"]), marked=marked)


# Aspects of meaning, compared with the usual range for pairs of that overall score.


def _aspects_sheet(explanation: ExplanationValues) -> Sheet:
    """Return the table of aspects, in which unusual aspects are marked; the first note names them.

    Without reference pairs to compare with, the table has only the aspects and their scores.
    """
    items = explanation["aspects"]
    columns = [
        Column("aspect", cell=lambda item: item["aspect"]),
        Column("score", number=True, cell=lambda item: short(item["score"], 2)),
    ]
    if explanation["compared"] is None:
        return _explanation_sheet(explanation, columns, items)
    columns += [
        Column("median", number=True, cell=lambda item: short(item["usual"]["median"], 2)),
        Column("usual", number=True, cell=lambda item: _range_text(item["usual"])),
        Column("lower", number=True, cell=lambda item: f"{item['usual']['lower']:.0%}"),
        Column("", cell=lambda item: item["usual"]["unusual"]),
    ]
    marked = frozenset(number for number, item in enumerate(items) if item["usual"]["unusual"])
    return _explanation_sheet(
        explanation, columns, items, [unusual_aspects_line(explanation), _usual_note(explanation)], marked=marked
    )


def unusual_aspects_line(explanation: ExplanationValues) -> str:
    """Return a line that names the aspects outside their usual range, or says that there are none.

    Low aspects come before high ones; among each, the one farthest outside its range comes first. The explanation must
    have been compared with reference pairs.
    """
    phrases = []
    for direction in ("low", "high"):
        unusual = [aspect for aspect in explanation["aspects"] if aspect["usual"]["unusual"] == direction]
        unusual.sort(key=_distance_outside_usual, reverse=True)
        if unusual:
            phrases.append(f"unusually {direction}: " + "; ".join(map(_unusual_aspect_phrase, unusual)))
    return "; ".join(phrases) if phrases else "no aspect is unusual for pairs of this overall score"


def _distance_outside_usual(aspect: Mapping[str, Any]) -> float:
    usual = aspect["usual"]
    return float(max(usual["low"] - aspect["score"], aspect["score"] - usual["high"]))


def _unusual_aspect_phrase(aspect: Mapping[str, Any]) -> str:
    return f"{aspect['aspect']} {short(aspect['score'], 2)}, usual {_range_text(aspect['usual'])}"


def _range_text(interval: Mapping[str, Any]) -> str:
    return f"{short(interval['low'], 2)} to {short(interval['high'], 2)}"


def _usual_note(explanation: ExplanationValues) -> str:
    """Return a line that defines the usual range, and states how many aspects are unusual by chance alone."""
    reference_set = explanation["compared"]
    count = len(explanation["aspects"])
    # the usual range leaves out 10% of the pairs
    expected_count = count / 10
    return (
        f"usual: from the 5% to the 95% quantile of the {reference_set['pairs']} reference pairs, of"
        f" {reference_set['total']}, that are nearest in overall score ({_range_text(reference_set)}); lower: the share"
        f" of them below the score. So about {expected_count:.1f} of {count} aspects are unusual in an ordinary pair"
    )


# Tables of token matches, omitted words, aligned graphs, verdicts of a judge, and members of a combination.


def _tokens_sheet(explanation: ExplanationValues) -> Sheet:
    """Return the table of the tokens of both texts, each with its partner in BERTScore, their cosine and its weight."""
    columns = [
        Column("text", cell=lambda item: item["side"]),
        Column("token", cell=lambda item: item["token"]),
        Column("best partner", cell=lambda item: item["partner"]),
        Column("cosine", number=True, cell=lambda item: short(item["similarity"], 2)),
        Column("weight", number=True, cell=lambda item: f"{item['weight']:.2f}"),
    ]
    note = "recall is the weighted mean of the reference's cosines, precision of the candidate's"
    fact = f"precision {short(explanation['precision'], 3)}, recall {short(explanation['recall'], 3)}"
    return _explanation_sheet(explanation, columns, explanation["tokens"], [note], [fact])


def _words_sheet(explanation: ExplanationValues) -> Sheet:
    """Return the table of words, each with what it adds to the score, and the word of the other text it goes with.

    The last two cells of a word that goes with none are empty.
    """
    columns = [
        Column("text", cell=lambda item: item["side"]),
        Column("word", cell=lambda item: item["word"]),
        Column("change", number=True, cell=lambda item: signed(item["change"])),
        Column("goes with", cell=lambda item: item["partner"] or ""),
        Column(
            "together",
            number=True,
            cell=lambda item: "" if item["together"] is None else signed(item["together"]),
        ),
    ]
    notes = [
        "change: the score with the word minus the score without it",
        "goes with: the word of the other text with which leaving out both costs least beyond leaving out each",
    ]
    return _explanation_sheet(explanation, columns, explanation["words"], notes)


def _graphs_sheet(explanation: ExplanationValues) -> Sheet:
    """Return the table of the triples of both graphs: matching triples share a row, any other has a row of its own.

    The facts are the number of matches, whether the alignment is known to be the best, and the aligned nodes.
    """
    columns = [
        Column("reference", cell=lambda triple: triple["reference"] or ""),
        Column("candidate", cell=lambda triple: triple["candidate"] or ""),
        Column("match", cell=lambda triple: "" if None in (triple["reference"], triple["candidate"]) else "yes"),
    ]
    triple_counts = f"{explanation['reference_triples']} and {explanation['candidate_triples']}"
    aligned = [node for node in explanation["nodes"] if node["reference"] and node["candidate"]]
    facts = [
        f"triples that match: {explanation['matched']} of {triple_counts}",
        f"the alignment is {'optimal' if explanation['optimal'] else 'not proven optimal'}",
        "aligned: " + ", ".join(f"{node['reference']} = {node['candidate']}" for node in aligned),
    ]
    return _explanation_sheet(explanation, columns, explanation["triples"], facts=facts)


def _verdicts_sheet(explanation: ExplanationValues) -> Sheet:
    """Return the table of a judge's replies, each with the probability of every verdict and the value of the reply.

    Unknown numbers are dashes; the notes are the prompt and what the model thought before it replied.
    """

    def probability_column(verdict: str) -> Column:
        return Column(f"p({verdict})", number=True, cell=lambda reply: short(reply["probabilities"].get(verdict), 3))

    columns = [
        Column("order", number=True, cell=lambda reply: str(reply["order"])),
        Column("sample", number=True, cell=lambda reply: str(reply["sample"])),
        Column("reply", cell=lambda reply: reply["reply"]),
        *map(probability_column, explanation["verdicts"]),
        Column("worth", number=True, cell=lambda reply: short(reply["worth"], 3)),
        Column("read by", cell=lambda reply: reply["rule"]),
    ]
    notes = [f"asked: {text}" for text in explanation["prompt"]]
    notes += [f"reasoning, not read: {item['reasoning']}" for item in explanation["replies"] if item["reasoning"]]
    return _explanation_sheet(explanation, columns, explanation["replies"], notes)


#: How many of the inputs that move a score most are explained in words.
_EXPLAINED_INPUTS = 4


def _members_sheet(explanation: ExplanationValues) -> Sheet:
    """Return the table of a combination's inputs: value, mean and effect on the score.

    The first row has the score of mean inputs; the effects add up to the difference between it and the score. Features
    of answers are in the order of their effects, and notes explain those with the largest. An unknown effect is a dash.
    """
    # the first row, which has no input of its own
    base = {"input": "mean inputs"}

    def effect(member: Mapping[str, Any]) -> str:
        if member is base:
            return short(explanation["base"], 2)
        return "–" if member["moved"] is None else signed(member["moved"], 2)

    columns = [
        Column("input", cell=lambda item: item["input"]),
        Column("score", number=True, cell=lambda item: "" if item is base else short(item["value"], 3)),
        Column("mean", number=True, cell=lambda item: "" if item is base else short(item["mean"], 3)),
        Column(f"moves it by ({explanation['unit']})", number=True, cell=effect),
    ]
    moving = sorted(explanation["members"], key=lambda item: -abs(item["moved"] or 0.0))
    explained = [item for item in moving if item["meaning"] and item["moved"]]
    notes = [_member_note(item) for item in explained[:_EXPLAINED_INPUTS]]
    if explained and explanation["unit"] == "log-odds":
        notes.insert(0, "the log-odds add up to those of the verdict: above 0, its probability is above .5")
    rows = moving if explained else explanation["members"]
    return _explanation_sheet(explanation, columns, [base, *rows], notes)


def _member_note(member: Mapping[str, Any]) -> str:
    """Return in words what a feature of an answer did to the score."""
    effect = "raises" if member["moved"] > 0 else "lowers"
    # a share of 0 is told by its value, a condition that does not hold is not
    absent = "" if member["value"] or member["meaning"].startswith("share") else "not the case that "
    return f"{member['input']} {short(member['value'], 2)} {effect} it: {absent}{member['meaning']}"


_SHEETS_BY_KIND: dict[str, Callable[[ExplanationValues], Sheet]] = {
    "aspects": _aspects_sheet,
    "tokens": _tokens_sheet,
    "words": _words_sheet,
    "graphs": _graphs_sheet,
    "verdicts": _verdicts_sheet,
    "members": _members_sheet,
}


# Flat records: the fields of the pair, then those of one item.

#: Kind of explanation -> the key of its items; there is one record per item.
_ITEM_KEYS = {
    "aspects": "aspects",
    "tokens": "tokens",
    "words": "words",
    "graphs": "triples",
    "verdicts": "replies",
    "members": "members",
}
#: The keys of an item whose values are mappings, which get columns of their own.
_NESTED_KEYS = ("usual", "probabilities")


def _item_records(number: int, explanation: ExplanationValues) -> list[dict[str, Any]]:
    """Return one flat record per item of an explanation, with the fields of the pair before those of the item.

    A key of the item that the pair has as well gets the prefix ``item_``. The values of :data:`_NESTED_KEYS` become
    fields: those of the usual range by their names, and the probability of each verdict as ``p_VERDICT``. *number* is
    the number of the pair, from 1.
    """
    names = ("pair_id", "metric", "reference", "candidate", "score")
    pair_fields = {"pair": number} | {name: explanation[name] for name in names if name in explanation}
    records = []
    for item in explanation[_ITEM_KEYS[explanation["kind"]]]:
        item_fields = {}
        for key, value in item.items():
            if key not in _NESTED_KEYS:
                # a key that the pair has as well gets a prefix
                item_fields[f"item_{key}" if key in pair_fields else key] = value
        usual_range = item.get("usual") or {}
        records.append(
            pair_fields
            | item_fields
            | usual_range
            | {f"p_{verdict}": probability for verdict, probability in item.get("probabilities", {}).items()}
        )
    return records
