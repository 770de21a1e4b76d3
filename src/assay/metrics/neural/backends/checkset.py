"""Pairs that a converted model is checked on: English and German, answers and sentences, from the same to unrelated.

Made for this purpose and from no dataset, so that no benchmark's own pairs decide which model may be used on it.
"""

from __future__ import annotations

import functools

__all__ = ["check_pairs"]

# A sentence takes one phrase of each column; columns are as long as they are so that rows of them rarely meet again.
_SENTENCES = (
    (
        ("The old baker", "A young teacher", "My neighbour", "The captain of the ship", "Our doctor", "The new mayor"),
        ("sold", "repaired", "painted", "found", "lost"),
        ("a red bicycle", "the broken clock", "three wooden chairs", "an expensive ring", "her letters", "the piano"),
        ("in the village", "near the harbour", "behind the station", "on the island", "at school"),
        ("last summer.", "before the war.", "on a rainy evening.", "two years ago.", "in March 1987."),
    ),
    (
        ("Der alte Bäcker", "Eine junge Lehrerin", "Mein Nachbar", "Der Kapitän", "Unsere Ärztin", "Die Königin"),
        ("verkaufte", "reparierte", "bemalte", "fand", "verlor"),
        ("ein rotes Fahrrad", "die kaputte Uhr", "drei Holzstühle", "einen teuren Ring", "ihre Briefe", "das Klavier"),
        ("im Dorf", "am Hafen", "hinter dem Bahnhof", "auf der Insel", "in der Schule"),
        ("im letzten Sommer.", "vor dem Krieg.", "an einem Abend im Regen.", "vor zwei Jahren.", "im März 1987."),
    ),
)

# Each line: an answer, the same in other words, and one that looks like it or lies near it.
_ANSWERS = """
eleven | 11 | seven
1969 | July 1969 | 1996
Marie Curie | Curie | Pierre Curie
the Pacific Ocean | Pacific | the Atlantic Ocean
the United States | America | the United Kingdom
J. S. Bach | Johann Sebastian Bach | C. P. E. Bach
two million | about 2,000,000 | two billion
in the spring | during springtime | in the autumn
carbon dioxide | CO2 | carbon monoxide
a heart attack | myocardial infarction | a stroke
the Prime Minister | head of the government | the President of the Senate
40 kilometres | roughly 25 miles | 40 metres
because it was too cold | due to the low temperature | because it was too late
the right to vote | suffrage | the right to remain silent
zwölf | 12 | zwei
Köln | die Stadt Köln | Bonn
der Bundeskanzler | der Regierungschef | der Bundespräsident
im 19. Jahrhundert | zwischen 1800 und 1900 | im 9. Jahrhundert
Goethe | Johann Wolfgang von Goethe | Friedrich Schiller
weil es regnete | wegen des Regens | obwohl es regnete
die Ostsee | das Baltische Meer | die Nordsee
etwa 500 Euro | rund fünfhundert Euro | etwa 500 Menschen
ein Auto | ein Pkw | ein Fahrrad
Herzinfarkt | Infarkt des Herzens | Schlaganfall
seit dem Mittelalter | schon im Mittelalter | erst seit der Neuzeit
ja | jawohl | nein
"""

#: Sentences in a language.
_ROWS = 16


@functools.cache
def check_pairs() -> dict[str, tuple[tuple[str, str], ...]]:
    """Return the pairs by their kind, about 300 in all, each with two different texts.

    Sentences spread wide; answers lie closer together, so that their order is lost sooner, and are a kind of their own.
    """
    pairs: list[tuple[str, str]] = []
    for columns in _SENTENCES:
        for row in range(_ROWS):
            # other strides would walk the columns in step
            chosen = [(row * (at + 1) + at) % len(column) for at, column in enumerate(columns)]
            whole = _sentence(columns, chosen)
            pairs.append((whole, whole.rsplit(" ", 2)[0] + "."))
            changed = list(chosen)
            for step in range(len(columns)):
                # from the end in one sentence, from the start in the next: what weighs more differs by model
                at = step if row % 2 else len(columns) - 1 - step
                changed[at] = (changed[at] + 1 + row % 3) % len(columns[at])
                pairs.append((whole, _sentence(columns, changed)))
            if row < len(columns[2]):
                pairs += [(columns[2][chosen[2]], whole), (columns[2][changed[2]], whole)]
    answers = [tuple(part.strip() for part in line.split("|")) for line in _ANSWERS.strip().splitlines()]
    short: list[tuple[str, str]] = []
    for (answer, same, near), (other, *_) in zip(answers, answers[1:] + answers[:1], strict=True):
        short += [(answer, same), (answer, near), (same, near), (answer, other)]
    return {"answers": tuple(dict.fromkeys(short)), "sentences": tuple(dict.fromkeys(pairs))}


def _sentence(columns: tuple[tuple[str, ...], ...], chosen: list[int]) -> str:
    return " ".join(column[at] for column, at in zip(columns, chosen, strict=True))
