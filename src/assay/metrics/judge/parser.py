"""The verdict that a reply states in words. The rules are those of :func:`read_verdict`; no verdict beats a guess."""

# ruff: noqa: RUF001  replies have typographic quotation marks and dashes

from __future__ import annotations

import functools
import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from assay.metrics.judge.reasoning import split_reasoning


class Rule(StrEnum):
    """How a reply was read, in words; in the order from the plainest reply to the hardest."""

    PROBABILITIES = "probabilities of the first token"
    JSON = "field of a JSON object"
    BEGINNING = "begins the reply"
    LABEL = "after a label"
    ENDING = "ends the reply"
    CHANGED = "after the last of several labels, which contradict"
    # without a verdict
    REFUSED = "refused, or an error"
    TOO_LONG = "prompt too long"
    CUT_OFF = "cut off before a verdict"
    CONTRADICTION = "begins with one verdict and ends with another"
    UNLIKELY = "first token not a verdict, or verdicts too unlikely"
    NONE = "no verdict"


class Stated(NamedTuple):
    """The verdict of a reply, None if it states none, and the rule by which it was read."""

    verdict: str | None
    rule: Rule


def read_verdict(reply: str, verdicts: Sequence[str], *, is_cut: bool = False) -> Stated:
    """Return the verdict that a reply states.

    Args:
        reply: the text of the reply; reasoning in it is not read.
        verdicts: the words of the scale, in lower case and in order: ``yes, no`` or ``1, 2, 3, 4, 5``.
        is_cut: whether the reply reached its limit of tokens, so that the end of the text is not the end of the reply.
    """
    # a reply is read several times: for the score, for the counts and to be shown
    read = _read_short if len(reply) <= LONGEST_CACHED else _read
    return read(reply, tuple(verdicts), is_cut)


def _read(reply: str, verdicts: tuple[str, ...], is_cut: bool) -> Stated:
    answer = split_reasoning(reply)
    if answer.is_open:
        return Stated(None, Rule.CUT_OFF)
    grammar = _grammar(verdicts)
    # 1. the field "verdict" of a JSON object, else its "grade", "score" …, else its "answer"
    has_field, verdict = grammar.json_field(answer.text)
    if has_field:
        return Stated(verdict, Rule.JSON if verdict else Rule.NONE)
    # the scale as the judge repeats it ("1 to 5", "yes or no") and abbreviations ("Nº 5") are not verdicts
    text = grammar.without_scale(answer.text)
    # 2. the last verdict after a label: "Verdict:", "Grade (…):", "Answer:", "Final …", bold, boxed, [[…]], <verdict>
    labelled = list(grammar.labelled(text, is_cut=is_cut))
    if labelled:
        return Stated(labelled[-1], Rule.LABEL if len(set(labelled)) == 1 else Rule.CHANGED)
    # 3. a verdict that begins the reply and ends its sentence, clause or line there: "Yes.", "4/5", "No, since …"
    first, is_concluded = grammar.beginning(text, is_cut=is_cut)
    # 4. a verdict that ends the reply, as a conclusion: "…, so no.", "this gets a 3"
    last = None if is_cut else grammar.ending(text)
    if first and last and first != last:
        return Stated(None, Rule.CONTRADICTION)
    if is_concluded:
        return Stated(first, Rule.BEGINNING)
    if last:
        return Stated(last, Rule.ENDING)
    return Stated(None, Rule.CUT_OFF if is_cut else Rule.NONE)


#: Longest reply in characters whose reading is kept in memory.
LONGEST_CACHED = 4000
_read_short = functools.lru_cache(maxsize=8192)(_read)


def opening_verdict(reply: str, verdicts: Sequence[str]) -> str | None:
    """Return the verdict that begins a reply and ends its sentence, clause or line there; None if none does.

    Unlike in :func:`read_verdict`, the reply may go on and conclude something else, or be cut.
    """
    grammar = _grammar(tuple(verdicts))
    verdict, is_concluded = grammar.beginning(grammar.without_scale(split_reasoning(reply).text), is_cut=False)
    return verdict if is_concluded else None


#: Words whose value a judge states as its verdict, after which "is" and "of" may stand in place of a colon.
_NOUNS = r"(?:verdict|grade|score|rating|judge?ment|decision|conclusion|assessment)"
#: What precedes such a word where it names no verdict: "highest score: 5", "answer to grade: Paris".
_NO_LABEL = re.compile(
    r"\b(?:to|to be|max(?:imum|imal)?|min(?:imum|imal)?|highest|lowest|best|possible|top|full|perfect|passing)[ *_-]*$",
    re.IGNORECASE,
)
#: What precedes "answer" where it is an answer of the data.
_OF_DATA = re.compile(
    r"\b(?:right|correct|gold(?:en)?|reference|expected|true|actual|candidate|given|submitted|student|model|user|system"
    r"|first|second|other|proposed|generated|predicted|wrong"
    r"|his|her|their|its|this|that|an|one)(?:['’]s)?[ *_-]*$",
    re.IGNORECASE,
)
#: What precedes a verdict word that is the content of a field of the data: "Answer to grade: no".
_FIELD = re.compile(
    r"\b(?:to (?:grade|judge|score|rate)|candidates?|references?|gold|right|correct|expected|response|student|"
    r"(?:right|correct|gold|reference|candidate|expected|given|student['’]?s?)\s+answer)"
    r"[ *_\"]*(?::|\bis\b|\bwas\b)\W*$",
    re.IGNORECASE,
)
#: What precedes a verdict word that somebody else said, or that is denied or weighed.
_NOT_CONCLUDED = re.compile(
    r"(?:\b(?:says|said|saying|states?|stated|claims?|claimed|replie[sd]|answers|answered|reads|writes|wrote|means?"
    r"|not|cannot|never|neither|nor|whether|if|unless|than|instead|least|most|almost|nearly|about|around|between|either"
    r"|or|maybe|perhaps|possibly|hard|hardly|unsure|there|was|were|had|until|would-be)|n['’]t)\b(?:\W+\w+){0,2}\W*$",
    re.IGNORECASE,
)
#: What precedes a verdict word that concludes: punctuation, or one of these words.
_CONCLUDES = re.compile(
    r"(?:^|[;:.!?—–\n=→(*\"“«|]\s*|\s-\s|(?<!\d),\s*|\b(?:so|thus|hence|therefore|say|a|an|it|this|with|gives?|gets?"
    r"|deserves|merits|earns|rate|grade|score|conclude|clearly|definitely|simply|just|then)\s+)$",
    re.IGNORECASE,
)
#: Words that take back, or weigh, what precedes them; and those that limit it, where it has no label.
_TURN = re.compile(r"\b(?:wait|actually|hmm+|maybe|perhaps|rather|unless|if|otherwise|or)\b", re.IGNORECASE)
_LIMIT = re.compile(r"\b(?:but|however|although|though|yet|except)\b", re.IGNORECASE)
#: Marks that open or close a quotation, emphasis, a bracket, a formula or a tag.
_OPEN = r"(?:[^\w.,;?!…\\]|_|\\text\{|\\boxed\{|\\\()*"
_CLOSE = re.compile(r"(?:[*_\"'`”’»›)\]}$|]|\\\)|</?\w+>)+")
_SOFT = re.compile(r"\s*[,:(–—]|\s+-\s|\s+(?:because|since|as|given|due)\b", re.IGNORECASE)
_LIST = re.compile(r"\n[^\w\n]{0,10}\d{1,2}\s*[.):–-]")
#: Fields of JSON objects that state a verdict, the first that an object has.
_FIELDS = tuple(
    rf"(?:final|overall)?_?{names}"
    for names in ("verdict", "(?:grade|score|rating|judge?ment|decision)", "(?:answer|correct|label|result)")
)


@functools.lru_cache(maxsize=16)
def _grammar(verdicts: tuple[str, ...]) -> _Grammar:
    return _Grammar(verdicts)


class _Grammar:
    """The patterns of a scale.

    Args:
        verdicts: the words of the scale.
    """

    def __init__(self, verdicts: tuple[str, ...]) -> None:
        self.is_numeric = verdicts[0].isdecimal()
        words = "|".join(map(re.escape, verdicts))
        low, high = verdicts[0], verdicts[-1]
        if self.is_numeric:
            # 4 is no verdict in 4.5, 14, -4, 4/10, 3-4, 4 %, but one in 4.0, 4/5 and "4 out of 5" if 5 is the highest
            after = r"(?![\w%+]|[.,:/]\d|\s*[/–−-]\s*\d|\s+(?:%|(?:out\s+)?of\s+\d|to\s+\d|or\s+\d|and\s+\d))"
            of_high = rf"(?:\s*(?:/|out\s+of|of)\s*{high}(?:[.,]0+)?)?"
            self._word = re.compile(
                rf"(?<![\w.,/+$€£−-])(?P<verdict>{words})(?:[.,]0+)?{of_high}{after}", re.IGNORECASE
            )
            note, dash = r"(?:\s*\([^()\n]{0,60}\))?", r"\s*(?:-|–|—|−|to|through|\.\.+|…)\s*"
            listed = r"(?:\s*[,/|]\s*|\s*,?\s+(?:or|and)\s+)".join(map(re.escape, verdicts))
            scale = rf"\b(?:{low}{note}{dash}{high}{note}|{listed}|between\s+{low}\s+and\s+{high})(?![\w]|[.,/]\d)"
            scale += rf"|\bout\s+of\s+{high}\b(?<!\d\sout\sof\s{high})|\bscale\s+of\s+{high}\b"
        else:
            # "no" is no verdict in no-one, and "yes" none in yes-ish
            self._word = re.compile(rf"(?<![\w.])(?P<verdict>{words})(?![\w-]|[./]\w|['’]\w)", re.IGNORECASE)
            quoted = [rf"[\"'*“‘`]{{0,3}}{word}[\"'*”’`]{{0,3}}" for word in (low, high)]
            between = r"\s*(?:/|\||,?\s(?:or|and|vs\.?)\s)\s*"
            scale = rf"\b(?:either\s+)?{quoted[0]}{between}{quoted[1]}|\b(?:either\s+)?{quoted[1]}{between}{quoted[0]}"
            scale += rf"|\b{low}-{high}\b|\by/n\b"
        abbreviation = r"\bn(?:[º°]|\.º|[oº]\.?º)\s*\d+|№\s*\d+|(?<=\w)\s+no\.\s*\d+"
        self._scale = re.compile(rf"{scale}|{abbreviation}", re.IGNORECASE)
        aside = r"(?:\s*[(\[][^()\[\]\n]{0,60}[)\]]|\s+(?:on|from|for|of|in|out)\b[^:=\n.]{0,60}(?=[:=]))?"
        sign, end = r"(?::|=>?|->|→|⇒|–|—|\s-\s)", r"[*_\"'`”’»\])}]{0,10}"
        correct = "" if self.is_numeric else r"|(?P<correct>\b(?:is[ _])?(?:correct|equivalent)\b)"
        self._label = re.compile(
            rf"(?:(?:\b(?P<noun>{_NOUNS})|\b(?P<answer>answer)|\bfinal{correct}){end}{aside}{end}\s{{0,5}}{sign}"
            rf"|\b(?P<is>{_NOUNS}|(?:final|my)\s+answer){end}\s+(?:is|of|would\s+be|should\s+be)\b:?"
            rf"|(?:^|\n)[^\w\n]{{0,10}}(?:(?:final|my|overall)\s+)?(?:{_NOUNS}|answer)[^\w\n]{{0,10}}\n"
            r"|(?P<bold>\*\*|__)(?=\w)|\\boxed\{|\[\[|(?:^|\n)####"
            rf"|<(?:{_NOUNS}|(?:final_?)?answer|result)>){_OPEN}(?:(?:a|an|clearly|therefore)\s+)?{_OPEN}",
            re.IGNORECASE,
        )

    def without_scale(self, text: str) -> str:
        """Return a text in plain characters, without the scale as the judge repeats it and without abbreviations."""
        text = "".join(character for character in text if unicodedata.category(character) != "Cf")
        # abbreviations are taken out before º becomes o
        plain = unicodedata.normalize("NFKC", self._scale.sub(" ", text))
        return self._scale.sub(" ", plain)

    def json_field(self, text: str) -> tuple[bool, str | None]:
        """Tell whether the last JSON object with a field for a verdict has one, and return that verdict.

        A field of another name than "verdict" counts only if it has a verdict, unless the whole reply is the object.
        """
        for value in reversed(list(_json_objects(text))):
            for pattern in _FIELDS:
                for name, content in value.items():
                    if re.fullmatch(pattern, name.strip(), re.IGNORECASE):
                        verdict = self._of_value(content)
                        if verdict or pattern == _FIELDS[0]:
                            return True, verdict
        return False, None

    def _of_value(self, value: Any) -> str | None:
        """Return the verdict that a value in JSON is: a number, a text that begins with one, or true and false."""
        if isinstance(value, bool):
            value = "" if self.is_numeric else ("yes" if value else "no")
        if not isinstance(value, str | int | float):
            return None
        verdict, is_concluded = self.beginning(self.without_scale(str(value)), is_cut=False)
        return verdict if is_concluded else None

    def labelled(self, text: str, *, is_cut: bool) -> Iterator[str]:
        """Yield the verdicts after labels, in order."""
        position = 0
        while label := self._label.search(text, position):
            position = label.start() + 1
            before = text[max(0, label.start() - 40) : label.start()]
            named = label["noun"] or label["is"] or label["answer"]
            if named and _NO_LABEL.search(before):
                continue
            if (label["answer"] or label["bold"] or label["is"]) and _OF_DATA.search(before):
                continue
            if label["bold"] and _NOT_CONCLUDED.search(before):
                continue
            match = self._word.match(text, label.end())
            if match is None:
                continue
            line = text[match.end() :].split("\n", 1)[0]
            is_last = is_cut and match.end() + len(line) == len(text)
            if label["bold"]:
                # a list may have its numbers in bold
                closed = re.match(rf"{'' if self.is_numeric else '[.!]?'}{re.escape(label['bold'])}", line)
                if closed is None or re.match(r"\s*[:(–—]", line[closed.end() :]):
                    continue
            if self._is_concluded(match, line, _TURN, is_cut=is_last):
                yield match["verdict"].lower()

    def beginning(self, text: str, *, is_cut: bool) -> tuple[str | None, bool]:
        """Return the verdict word that begins a text, None without one, and whether it is a conclusion."""
        start = len(text) - len(re.sub(r"^[\W_]+", "", text))
        match = self._word.match(text, start)
        if match is None:
            return None, False
        tail = text[match.end() :]
        is_item = self.is_numeric and (
            re.match(r"\.[^\S\n]+\S", tail)
            or (tail.startswith(")") and "(" not in text[:start])
            or (re.match(r"\s*[.):–-]", tail) and _LIST.search(tail))
        )
        if is_item or re.match(r"\.\s*\d", tail):
            return match["verdict"].lower(), False
        is_concluded = self._is_concluded(match, tail, _TURN, _LIMIT, is_cut=is_cut)
        return match["verdict"].lower(), is_concluded

    def _is_concluded(self, match: re.Match[str], tail: str, *taking_back: re.Pattern[str], is_cut: bool) -> bool:
        """Tell whether a verdict word is a conclusion.

        Args:
            match: the word.
            tail: the text that follows it, up to the end of the line or of the reply.
            taking_back: words that take the verdict back where the sentence goes on.
            is_cut: whether the end of *tail* is where the reply was cut.
        """
        closing = _CLOSE.match(tail)
        rest = tail[closing.end() :] if closing else tail
        if not rest.strip():
            # of a reply that was cut here, the word may go on, unless the word is all of it
            return "\n" in rest or not is_cut or not match.string[: match.start()].strip()
        if re.match(r"\s*(?:[.!;。]|\n)", rest):
            return True
        if is_cut or _SOFT.match(rest) is None:
            return False
        is_taken_back = any(pattern.search(rest) for pattern in taking_back)
        return not is_taken_back and self.ending(rest) in (None, match["verdict"].lower())

    def ending(self, text: str) -> str | None:
        """Return the verdict that ends a text as its conclusion; None if none does."""
        match = next(reversed(list(self._word.finditer(text))), None)
        if match is None or re.search(r"[\w?%]", text[match.end() :]):
            return None
        before = text[: match.start()].rstrip("*_\"'`“‘«([{")
        clause = re.split(r"[,;:.!?—–\n]", before)[-1]
        if _NOT_CONCLUDED.search(clause) or _FIELD.search(before[-100:]):
            return None
        if self.is_numeric:
            # "rate this answer 4 out of 5"
            is_concluded = re.search(r"/|out", match.group()) is not None
        else:
            is_concluded = re.search(r"\b(?:answer|verdict) (?:is|would be) $", before) is not None
        return match["verdict"].lower() if is_concluded or _CONCLUDES.search(before) else None


def _json_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in a text, those within another one too."""
    decoder, position = json.JSONDecoder(), text.find("{")
    # each failure costs a pass over the text
    for _ in range(50):
        if position < 0:
            return
        try:
            value, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            end = position + 1
        else:
            yield from _objects_within(value)
        position = text.find("{", end)


def _objects_within(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in a value: the inner ones first."""
    if isinstance(value, dict):
        for item in value.values():
            yield from _objects_within(item)
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _objects_within(item)
