"""The patterns by which a verdict is recognised in a text: what concludes, and what only mentions a verdict word."""

# ruff: noqa: RUF001  replies have typographic quotation marks and dashes

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

#: Words whose value a judge states as its verdict, after which "is" and "of" may stand in place of a colon.
_NOUNS = r"(?:verdict|grade|score|rating|judge?ment|decision|conclusion|assessment)"
#: What precedes such a word where it names no verdict: "highest score: 5", "answer to grade: Paris".
_NO_LABEL = re.compile(
    r"\b(?:to|to be|max(?:imum|imal)?|min(?:imum|imal)?|highest|lowest|best|possible|top|full|perfect|passing"
    r"|confidence|certainty|previous|expected)[ *_-]*$",
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
#: Words of a clause that says what a verdict would be: "if it lacked the year, the grade would be 2".
_SUPPOSED = re.compile(r"\b(?:if|unless|were|otherwise|else|had)\b", re.IGNORECASE)
#: What gives a grade: in "a score of 5, the best, needs the year" nothing does.
_GIVES = re.compile(r"\b(?:giv|gave|assign|award|deserv|earn|get|receiv|merit|warrant|rate|is|be)\w*\b", re.IGNORECASE)
#: Most characters of a line after a verdict in which words that take it back are looked for.
LONGEST_REST = 400
#: Marks that open or close a quotation, emphasis, a bracket, a formula or a tag.
_OPEN = r"(?:[^\w.,;?!…\\]|_|\\(?:text|math)\w{0,8}\{|\\boxed\{|\\\(){0,20}"
_CLOSE = re.compile(r"(?:[*_\"'`”’»›)\]}$|]|\\\)|</?\w+>)+")
_SOFT = re.compile(r"\s*[,:(–—]|\s+-\s|\s+(?:because|since|as|given|due)\b", re.IGNORECASE)
_LIST = re.compile(r"\n[^\w\n]{0,10}\d{1,2}[*_]{0,3}\s*[.):=–-]")
#: A box of a list of choices, by whether it is ticked.
_UNTICKED, _TICKED = r"(?:\[\s?\]|[☐□○◯])", re.compile(r"\[[xX✓✔]\]|[☑☒✅●◉]")
#: The beginning of an item of a list or of a row of a table.
_ITEM = re.compile(r"\s*(?:[-*•+|]|\d{1,2}[.)])\s")
#: Words before a label that do not say what in particular it grades; the first ones make its verdict the final one.
_FINAL = frozenset(("final", "overall", "total"))
_PLAIN = _FINAL | frozenset(
    ("my", "our", "the", "so", "thus", "therefore", "hence", "and", "initial", "new", "revised")
)
#: What is named before a verdict that has no label: "Accuracy: 4".
_NAME = re.compile(r"(\w[\w '’/()-]{0,60}?)[\"'*_`]{0,4}\s*[:?=|][^\w\n]{0,6}$")


class Label(NamedTuple):
    """A verdict after a label.

    Attributes:
        verdict: the verdict, in lower case.
        name: what it is the verdict on, in lower case, where the label says so: "accuracy" of "Accuracy score: 4".
        is_final: whether the label says that the verdict is the final one.
        start: where the label begins.
    """

    verdict: str
    name: str
    is_final: bool
    start: int


class Grammar:
    """The patterns of a scale.

    Args:
        verdicts: the words of the scale.
    """

    def __init__(self, verdicts: tuple[str, ...]) -> None:
        self.is_numeric = verdicts[0].isdecimal()
        words = "|".join(map(re.escape, verdicts))
        low, high = verdicts[0], verdicts[-1]
        self._high = high
        self._other_scale: re.Pattern[str] | None = None
        if self.is_numeric:
            # 4 is no verdict in 4.5, 14, -4, 4/10, 3-4, 4 %, but one in 4.0, 4/5 and "4 out of 5" if 5 is the highest
            after = r"(?![\w%+]|-(?!\w|\s\w)|[.,:/]\d|\s*[/–−-]\s*\d|\s+(?:%|per\s?cent)"
            after += r"|\s+(?:(?:out\s+)?of|to|or|and)\s+\d)"
            of_high = rf"(?:[*_]{{0,3}}\s*(?:/|out\s+of|of)\s*{high}(?:[.,]0+)?)?"
            self._word = re.compile(
                rf"(?<![\w.,/+$€£−-])(?<!\d[–—~])(?P<verdict>{words})(?:[.,]0+)?{of_high}{after}", re.IGNORECASE
            )
            note, dash = r"(?:\s*\([^()\n]{0,60}\))?", r"\s*(?:-|–|—|−|~|to|through|\.\.+|…)\s*"
            listed = r"(?:\s*[,/|]\s*(?:(?:or|and)\s+)?|\s+(?:or|and)\s+)".join(map(re.escape, verdicts))
            scale = rf"\b(?:{low}{note}{dash}{high}{note}|{listed}|between\s+{low}\s+and\s+{high})(?![\w]|[.,/]\d)"
            scale += rf"|\bout\s+of\s+{high}\b(?<!\d\sout\sof\s{high})|\bscale\s+of\s+{high}\b"
            span = rf"\d{{1,3}}(?:{dash}|\s+(?:and|or|bis|oder|à|ou|y|o)\s+)\d{{1,3}}\b"
            named = rf"\b(?:scale|range|{_NOUNS})\b(?:[^\w\n]|\b(?:of|from|between|scale|range)\b){{0,8}}\b{span}"
            self._other_scale = re.compile(
                rf"{named}|\bscale\s+of\s+\d|[(\[,]\s*out\s+of\s+\d|\bout\s+of\s+\d{{1,3}}\s*[)\]]?\s*[:=]"
                rf"|(?:^|\n)\W{{0,5}}{span}\s*[:=]\s*\d|(?:%|\bper\s?cent\w*)\W{{0,3}}[:=]",
                re.IGNORECASE,
            )
        else:
            # "no" is no verdict in no-one, and "yes" none in yes-ish
            self._word = re.compile(rf"(?<![\w.])(?P<verdict>{words})(?![\w-]|[./]\w|['’]\w)", re.IGNORECASE)
            quoted = [rf"[\"'*“‘`]{{0,3}}{word}[\"'*”’`]{{0,3}}" for word in (low, high)]
            between = r"\s*(?:/|\||,?\s(?:or|and|vs\.?)\s)\s*"
            scale = rf"\b(?:either\s+)?{quoted[0]}{between}{quoted[1]}|\b(?:either\s+)?{quoted[1]}{between}{quoted[0]}"
            scale += rf"|\b{low}-{high}\b|\by/n\b"
        abbreviation = r"\bn(?:[º°]|\.º|[oº]\.?º)\s*\d+|№\s*\d+|(?<=\w)\s+no\.\s*\d+"
        self._scale = re.compile(rf"{scale}|{abbreviation}", re.IGNORECASE)
        self._unticked = re.compile(rf"{_UNTICKED}\s*(?:{words})\b", re.IGNORECASE)
        aside = r"(?:\s*[(\[][^()\[\]\n]{0,60}[)\]]|\s+(?:on|from|for|of|in|out)\b[^:=\n.]{0,60}(?=[:=]))?"
        sign, end = r"(?::|=>?|->|→|⇒|–|—|\s-\s)", r"[*_\"'`”’»\])}]{0,10}"
        correct = "" if self.is_numeric else r"|(?P<correct>\b(?:is[ _])?(?:correct|equivalent)\b)"
        self._label = re.compile(
            rf"(?:(?:\b(?P<noun>{_NOUNS})|\b(?P<answer>answer)|\b(?P<final>final){correct}){end}(?P<aside>{aside}){end}"
            rf"\s{{0,5}}{sign}"
            rf"|\b(?P<is>{_NOUNS}|(?:final|my)\s+answer){end}\s+(?:is|(?P<of>of)|would\s+be|should\s+be)\b:?"
            rf"|(?:^|\n)[^\w\n]{{0,10}}(?:(?:final|my|overall)\s+)?(?:{_NOUNS}|answer)[^\w\n]{{0,10}}\n"
            r"|(?P<bold>\*\*|(?<!_)__)(?=\w)|\\f?boxe?d?\{|\[\[|(?:^|\n)####"
            rf"|<(?:(?:final|overall)_?)?(?:{_NOUNS}|answer|result)>){_OPEN}(?:(?:a|an|clearly|therefore)\s+)?{_OPEN}",
            re.IGNORECASE,
        )

    def without_scale(self, text: str) -> str:
        """Return a text in plain characters, without the scale as the judge repeats it, abbreviations, empty boxes."""
        text = "".join(character for character in text if unicodedata.category(character) != "Cf")
        text = _TICKED.sub("", self._unticked.sub(" ", text))
        # abbreviations are taken out before º becomes o
        plain = unicodedata.normalize("NFKC", self._scale.sub(" ", text))
        return self._scale.sub(" ", plain)

    def has_other_scale(self, text: str) -> bool:
        """Tell whether a text without the scale of the judge states another one: "Score (0-10): 5", "4 (out of 10)"."""
        return self._other_scale is not None and self._other_scale.search(text) is not None

    def is_other_end(self, value: object) -> bool:
        """Tell whether a number is not the highest verdict of the scale."""
        return self.is_numeric and isinstance(value, int | float) and value != float(self._high)

    def labelled(self, text: str, *, is_cut: bool) -> list[Label]:
        """Return the verdicts after labels, in order."""
        found = []
        position = 0
        while label := self._label.search(text, position):
            position = label.start() + 1
            before = text[max(0, label.start() - 80) : label.start()]
            named = label["noun"] or label["is"] or label["answer"]
            if named and (_NO_LABEL.search(before) or _SUPPOSED.search(re.split(r"[.;!?\n]", before)[-1])):
                continue
            if (label["answer"] or label["bold"] or label["is"]) and _OF_DATA.search(before):
                continue
            if label["bold"] and (_NOT_CONCLUDED.search(before) or _FIELD.search(before)):
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
            if label["of"] and _SOFT.match(line) and not _GIVES.search(before[-40:]):
                continue
            if self._is_concluded(match, line, _TURN, is_cut=is_last):
                name, is_final = _name_of(label, before)
                found.append(Label(match["verdict"].lower(), name, is_final, label.start()))
        return found

    def concluding(self, labelled: Sequence[Label], text: str) -> list[Label]:
        """Return those of several verdicts after labels that are on the whole; empty if none is.

        If they contradict each other, those on something in particular do not count ("Accuracy score: 4"), nor do the
        items of a list of grades; and before such a one, a final verdict is the last.

        Args:
            labelled: the verdicts after labels, at least one.
            text: the text that they are in.
        """
        if len({label.verdict for label in labelled}) == 1:
            is_partial = labelled[-1].name and not labelled[-1].is_final and self.has_several(text)
            return [] if is_partial else list(labelled)
        whole = [label for label in labelled if label.is_final or not label.name]
        if len(whole) > 1 and not whole[-1].is_final:
            lines = [text[: label.start + 1].rstrip("\n").count("\n") for label in whole[-2:]]
            rows = text.split("\n")
            is_listed = lines[1] - lines[0] == 1 and all(_ITEM.match(rows[line]) for line in lines)
            if is_listed and whole[-1].verdict != whole[-2].verdict:
                return []
        return whole

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
            or (re.match(r"[*_]{0,3}\s*[.):–-]", tail) and _LIST.search(tail))
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
        if len(rest) > LONGEST_REST:
            # so that many verdicts in a long line take no quadratic time
            rest = rest[: LONGEST_REST // 2] + rest[-LONGEST_REST // 2 :]
        is_taken_back = any(pattern.search(rest) for pattern in taking_back)
        return not is_taken_back and self.ending(rest) in (None, match["verdict"].lower())

    def ending(self, text: str) -> str | None:
        """Return the verdict that ends a text as its conclusion; None if none does."""
        match = next(reversed(list(self._word.finditer(text))), None)
        # what ends within braces is a part of JSON that cannot be read
        if match is None or re.search(r"[\w?%}]", text[match.end() :]):
            return None
        before = text[: match.start()].rstrip("*_\"'`“‘«([{")
        clause = re.split(r"[,;:.!?—–\n]", before)[-1]
        if _NOT_CONCLUDED.search(clause) or _FIELD.search(before[-100:]):
            return None
        # the reason of a verdict, such as what the right answer is
        stated, _, reason = re.split(r"[;.!?\n]", before)[-1].partition(" because ")
        if reason and self._word.search(stated):
            return None
        if self.is_numeric:
            # "rate this answer 4 out of 5"
            is_concluded = re.search(r"/|out", match.group()) is not None
        else:
            is_concluded = re.search(r"\b(?:answer|verdict) (?:is|would be) $", before) is not None
        return match["verdict"].lower() if is_concluded or _CONCLUDES.search(before) else None

    def has_several(self, text: str) -> bool:
        """Tell whether a text names several things with verdicts that differ, the last of which is not the whole."""
        found = []
        for match in self._word.finditer(text):
            before = text[max(0, match.start() - 80) : match.start()]
            name = _NAME.search(before) or re.search(r"(?:^|\n)\s*(\d{1,2}[.)]|[-*•])\s+$", before)
            found.append((match["verdict"].lower(), name[1].lower() if name else ""))
        last = found[-1][1] if found else ""
        if not last or not _FINAL.isdisjoint(re.findall(r"\w+", last)):
            return False
        return len({verdict for verdict, name in found if name}) > 1


def _name_of(label: re.Match[str], before: str) -> tuple[str, bool]:
    """Return what a label names in particular, empty if nothing, and whether it is that of the final verdict."""
    if label["bold"]:
        # the answer to one of several questions
        question = re.search(r"([^\n.!;:?]{1,60}\?)\W*$", before)
        return (question[1].strip().lower() if question else "", False)
    named = re.search(r"(?:^|[\n|,;.])[^\w\n]{0,10}((?:[\w&/-]+[ *]+){1,3})$", before)
    words = re.findall(r"\w+", named[1].lower()) if named and (label["noun"] or label["answer"]) else []
    whose = re.match(r"\s+(?:for|of|in)\b(.*)", label["aside"] or "", re.DOTALL)
    name = " ".join([word for word in words if word not in _PLAIN] + ([whose[1].strip().lower()] if whose else []))
    is_final = not _FINAL.isdisjoint(words) or bool(label["final"]) or (label["is"] or "").lower().startswith("final")
    return name, is_final
