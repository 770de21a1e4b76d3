"""The words and marks around a verdict: what names it, concludes it, takes it back, or speaks of something else."""

# ruff: noqa: RUF001  replies have typographic quotation marks and dashes

from __future__ import annotations

import re

#: Words whose value a judge states as its verdict, after which "is" and "of" may stand in place of a colon.
NOUNS = r"(?:verdict|grade|score|rating|judge?ment|decision|conclusion|assessment)"
#: What precedes such a word where it names no verdict: "highest score: 5", "answer to grade: Paris".
NO_LABEL = re.compile(
    r"\b(?:to|to be|max(?:imum|imal)?|min(?:imum|imal)?|highest|lowest|best|possible|top|full|perfect|passing"
    r"|confidence|certainty|previous|initial|base|original|expected|no|not"
    r"|(?:want|request|demand|require|need|ask)s?(?: for)?(?: an?)?)[ *_-]*\Z",
    re.IGNORECASE,
)
#: What precedes "answer" where it is an answer of the data.
OF_DATA = re.compile(
    r"\b(?:right|correct|gold(?:en)?|reference|expected|true|actual|candidate|given|submitted|student|model|user|system"
    r"|first|second|other|proposed|generated|predicted|wrong"
    r"|his|her|their|its|this|that|an|one)(?:['’]s)?[ *_-]*$",
    re.IGNORECASE,
)
#: What precedes a verdict word that is the content of a field of the data: "Answer to grade: no".
FIELD = re.compile(
    r"\b(?:to (?:grade|judge|score|rate)|candidates?|references?|gold|right|correct|expected|response|student|both"
    r"|texts|(?:right|correct|gold|reference|candidate|expected|given|student['’]?s?)\s+answer)"
    r"[ *_\"]*(?::|\bis\b|\bwas\b)\W*$",
    re.IGNORECASE,
)
#: What follows an "answer" that is a field of the data.
NEXT_FIELD = re.compile(
    r"\W*\n\W*(?:expected|references?|gold|candidate|(?:right|correct)\s+answer)\b[^\n:]{0,20}:", re.IGNORECASE
)
#: The beginning of a quotation within a line: 'the answer contains "'.
QUOTED = re.compile(r"\w[^\n]*[\s(][\"'“‘«`„]\s*(?:\w+\s+){0,2}$")
_DEFECT = (
    r"(?:error|mistake|contradict|differ|discrepan|deviat|mismatch|conflict|hallucinat|miss|omi(?:t|ss)|wrong|incorrect"
    r"|inaccura|false|fault|flaw|issue|problem|lack|doubt|irrelevan|unsupported|unsafe|harm)\w*"
)
_NAME_WORD = r"(?:(?!(?:is|are|was|were|has|have)\b)\w+[ _/-]+)"
#: What precedes a verdict word that is about a defect, or a part: "Errors: no", "Is it wrong? No", "Partly: yes".
ON_DEFECT = re.compile(
    rf"(?:\b(?:{_DEFECT}|not)\b[^\n.!;:?]{{0,60}}\?"
    rf"|(?:^|[\n.,;!|])[^\w\n]{{0,10}}(?:is[ _]+)?{_NAME_WORD}{{0,3}}(?:{_DEFECT}|not|part(?:ly|ial\w*))"
    r"(?:[ _/-]+\w+){0,3}[\"'*_`]{0,4}\s*[:=|])\W{0,10}$",
    re.IGNORECASE,
)
#: Words that say whether an answer is right. "The correct year" does not, nor does "they differ only in wording".
_JUDGES = re.compile(
    r"(?P<good>(?<!the )(?<!a )(?<!its )\b(?:correct|right|accurate|fine|true)\b"
    r"|\b(?:same|equivalent|identical|match(?:es)?|agree|present|mean)\b)"
    rf"|\b(?P<bad>{_DEFECT}|fails?)\b(?!\s+(?:only|slightly|merely|(?:in\s+)?(?:word|spell|phras|form)))",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"(?:\b(?:no|not|never|nothing|without|neither|nor|none|cannot|hardly)|n['’]t)(?:\W+\w+){0,3}\W*$", re.IGNORECASE
)
_UNIMPORTANT = re.compile(r"\bonly\s+(?:\w+\s+)?$", re.IGNORECASE)
#: The rest of a reply that limits its verdict: "Yes, partially".
HEDGE = re.compile(r"\W*(?:part(?:ly|ial\w*)|in part|somewhat|mostly|kind of|sort of)\W*", re.IGNORECASE)


def reason_verdict(reason: str) -> str | None:
    """Return the verdict, yes or no, that the first judging word of a reason supports; None without such a word."""
    for word in _JUDGES.finditer(reason):
        before = reason[: word.start()][-80:]
        if word["bad"] and _UNIMPORTANT.search(before):
            continue
        is_good, is_negated = bool(word["good"]), bool(_NEGATED.search(before))
        # "not right" supports no, "not wrong" supports yes
        return "yes" if is_good != is_negated else "no"
    return None


#: What precedes a verdict word in its clause if it is denied, weighed or supposed, or somebody else's.
NOT_CONCLUDED = re.compile(
    r"(?:\b(?:answers|answered|reads|means?|than|instead|least|most|almost|nearly|about|around|between|either|or"
    r"|maybe|perhaps|possibly|hard|hardly|unsure|there|was|were|had|until|would-be)\b(?:\W+\w+){0,2}\W*$"
    r"|\b(?:perfect|ideal|previous|best|better|other|references?|gold|teacher|(?<!i )gave)\b"
    r"(?:\W+(?!this\b)\w+){0,4}\W*$"
    r"|\b(?:says|said|saying|states?|stated|claims?|claimed|replie[sd]|writes|wrote|could|might|not|cannot|never"
    r"|neither|nor|whether|if|unless|anything but)\b|n['’]t\b"
    r"|\b(?:candidate|student|answer|he|she)\s+(?:gives|names|gets(?!\s+an?\b)))",
    re.IGNORECASE,
)
#: A clause before a verdict word that only supposes it: "If it lacked the year, 3".
SUPPOSITION = re.compile(r"(?:^|[.;!?\n])\W*(?:if|unless|had)\b[^.;!?\n]*[:,]\W*$", re.IGNORECASE)
#: What separates clauses.
CLAUSE = re.compile(r"[,;:.!?—–\n]|\b(?:so|thus|hence|therefore)\b", re.IGNORECASE)
#: Names of a verdict on all of an answer that are no label. Of several such names, only the first may go on.
_WHOLE = (
    r"(?:\b(?:(?:same|match\w*|equivalen\w*|agree\w*)[^\n.:;?|]{0,40}|equal|identical|correct(?:ness)?|right|acceptable"
    r"|accura(?:te|cy)|overall|final|total|average|mean|result|quality|similarity|label|output|choice|revised|correction"
    r"|antwort|urteil|bewertung|réponse|respuesta|resultado|risposta)|答案|结论|评分|判断)"
)
_ARTICLE = r"(?:an?\s+)?"
#: What precedes a verdict word that ends a reply as its conclusion.
CONCLUDES = re.compile(
    "(?:"
    # it begins a sentence or line, or follows "so"
    r"(?:^|[.!;。\n—–]|\s-\s)[^\w?:|→]*"
    r"|(?<!\bnot\s)\b(?:so|thus|hence|therefore|overall|actually|in conclusion)\b[\s,:*_]*(?:it(?:['’]s|\s+is)\s+)?"
    rf"{_ARTICLE}"
    # the name of the whole, also in a row of a table, or a question about it: "Overall: 3", "Is it right? Yes"
    rf"|(?:^|[.!;\n])[^\w\n]*(?:\w+\s+){{0,2}}\w{{0,9}}?{_WHOLE}[^\w\n]{{0,6}}(?::|=>|->|→)\W*"
    rf"|(?:^|\n)[^\w\n]*(?:\w+\s+)?(?:{NOUNS}|{_WHOLE})[^\w\n]*\|\W*"
    rf"|\b{_WHOLE}\b[^\n.?]{{0,60}}\?\W*"
    # the judge gives it: "I'd rate the answer as a"
    r"|\b(?:i|we)(?:['’](?:d|ll|m)|\s+(?:would|will|must))?(?:\s+(?:therefore|thus|still|then))?"
    r"\s+(?:rate|give|grade|score|assign|award|say|answer|conclude|choose|judge|lean|go)\b(?:\s+[\w'’]+){0,6}"
    rf"[\s:,]*{_ARTICLE}"
    rf"|(?:^|[.!;\n])\W*(?:rate|score|grade|give)\b(?:\s+[\w'’]+){{0,3}}\s+{_ARTICLE}"
    # the answer gets it: "this deserves a", "it is a"
    r"|\b(?:this|it|that|answer|response|candidate|submission|and)\s+(?:\w+ly\s+)?"
    rf"(?:gets|deserves|merits|earns|receives|warrants|scores)\s+{_ARTICLE}"
    r"|\b(?:this|it|that)(?:\s+is|['’]s)\s+an?\s+"
    ")$",
    re.IGNORECASE,
)
#: An abbreviation whose full stop ends no sentence.
ABBREVIATION = re.compile(r"\b(?:vol|fig|sec|ch|chap|vs|pp?|approx|ca|ver|art|par|eq|ex|st)\.\s*$", re.IGNORECASE)
#: Words that take back, or weigh, what precedes them; and those that limit it, where it has no label.
TURN = re.compile(r"\b(?:wait|actually|hmm+|maybe|perhaps|rather|unless|if|otherwise|or|possibly)\b", re.IGNORECASE)
LIMIT = re.compile(r"\b(?:but|however|although|though|yet|except)\b", re.IGNORECASE)
#: Words of a clause that says what a verdict would be: "if it lacked the year, the grade would be 2".
SUPPOSED = re.compile(
    r"\b(?:if|unless|were|otherwise|else|had|to (?:get|reach|earn|receive|deserve|achieve|be given))\b", re.IGNORECASE
)
#: What gives a grade: in "a score of 5, the best, needs the year" nothing does.
GIVES = re.compile(r"\b(?:giv|gave|assign|award|deserv|earn|get|receiv|merit|warrant|rate|is|be)\w*\b", re.IGNORECASE)
#: Words before a label that do not say what in particular it grades; the first ones make its verdict the final one.
FINAL = frozenset(("final", "overall", "total"))
PLAIN = FINAL | frozenset(("my", "our", "the", "so", "thus", "therefore", "hence", "and", "initial", "new", "revised"))
#: What is named before a verdict that has no label: "Accuracy: 4".
NAME = re.compile(r"(\w[\w '’/()-]{0,60}?)[\"'*_`]{0,4}\s*[:?=|][^\w\n]{0,6}$")
