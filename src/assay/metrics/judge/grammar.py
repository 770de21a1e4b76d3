"""The patterns by which a verdict is recognised in a text: what concludes, and what only mentions a verdict word."""

# ruff: noqa: RUF001  replies have typographic quotation marks and dashes

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from assay.metrics.judge import wording

#: Most characters of a line after a verdict in which words that take it back are looked for.
LONGEST_REST = 400
#: Characters before a label or a verdict word that tell what it is about.
_CHARACTERS_BEFORE = 80
#: Of these, the last ones, in which what directly precedes a word is looked for.
_CHARACTERS_CLOSE_BEFORE = 40
#: Underscores around a word or a phrase, which are emphasis as in Markdown; not those within snake_case.
_EMPHASIS = re.compile(r"(?<!\w)_+|(?<=[^\W_])_+(?!\w)")
#: Marks that open or close a quotation, emphasis, a bracket, a formula or a tag.
_OPEN = r"(?:[^\w.,;?!…\\]|_|\\(?:text|math)\w{0,8}\{|\\boxed\{|\\\(){0,20}"
_CLOSE = re.compile(r"(?:[*_\"'`”’»›)\]}$|]|\\\)|</?\w+>)+")
_SOFT = re.compile(r"\s*[,:(–—]|\s+-\s|\s+(?:because|since|as|given|due)\b", re.IGNORECASE)
_LIST = re.compile(r"\n[^\w\n]{0,10}\d{1,2}[*_]{0,3}\s*[.):=–-]")
_SENTENCE = re.compile(r"[.;!?](?=\s|$)|\n")
#: A box of a list of choices, by whether it is ticked.
_UNTICKED, _TICKED = r"(?:\[\s?\]|\(\s\)|[☐□○◯])", re.compile(r"[\[(][xX✓✔][\])]|[☑☒✅●◉]")
#: The beginning of an item of a list or of a row of a table.
_ITEM = re.compile(r"\s*(?:[-*•+|]|\d{1,2}[.)])\s")


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
        self._high = verdicts[-1]
        words = "|".join(map(re.escape, verdicts))
        #: Another scale than that of the judge; None for words, of which no other scale is looked for.
        self._other_scale: re.Pattern[str] | None = None
        if self.is_numeric:
            word, scale = _number_pattern(words, self._high), _numeric_scale_pattern(verdicts)
            self._other_scale = re.compile(_other_scale_pattern(self._high), re.IGNORECASE)
        else:
            # "no" is no verdict in no-one, and "yes" none in yes-ish
            word = rf"(?<![\w.~])(?P<verdict>{words})(?![\w-]|[./]\w|['’]\w)"
            low, high = (rf"[\"'*“‘`]{{0,3}}{end}[\"'*”’`]{{0,3}}" for end in (verdicts[0], self._high))
            between = r"\s*(?:/|\||,?\s(?:or|and|vs\.?)\s)\s*"
            # the scale as the judge repeats it: "yes or no", "'no' / 'yes'", "yes-no", "y/n"
            scale = rf"\b(?:either\s+)?{low}{between}{high}|\b(?:either\s+)?{high}{between}{low}"
            scale += rf"|\b{verdicts[0]}-{self._high}\b|\by/n\b"
        self._word = re.compile(word, re.IGNORECASE)
        marks = r"[^\w\n~→>–—-]{0,8}"
        self._listed = re.compile(rf"{word}{marks}[,/|&]{marks}$", re.IGNORECASE)
        abbreviation = r"\bn(?:[º°]|\.º|[oº]\.?º)\s*\d+|№\s*\d+|(?<=\w)\s+no\.\s*\d+"
        self._scale = re.compile(rf"{scale}|{abbreviation}", re.IGNORECASE)
        self._unticked = re.compile(rf"{_UNTICKED}\s*(?:{words})\b", re.IGNORECASE)
        self._label = re.compile(_label_pattern(is_numeric=self.is_numeric), re.IGNORECASE)

    def without_scale(self, text: str) -> str:
        """Return a text in plain characters, without the scale as the judge repeats it, abbreviations, empty boxes.

        Emphasis is written with asterisks: __yes__ is **yes**.
        """
        # Cf: characters without width, such as joiners and soft hyphens
        visible = "".join(character for character in text if unicodedata.category(character) != "Cf")
        starred = _EMPHASIS.sub(lambda marks: "*" * len(marks[0]), visible)
        without_boxes = _TICKED.sub("", self._unticked.sub(" ", starred))
        # abbreviations are taken out before º becomes o
        plain = unicodedata.normalize("NFKC", self._scale.sub(" ", without_boxes))
        return self._scale.sub(" ", plain)

    def has_other_scale(self, text: str) -> bool:
        """Tell whether a text without the scale of the judge states another one: "Score (0-10): 5", "4 (out of 10)"."""
        return self._other_scale is not None and self._other_scale.search(text) is not None

    def is_other_end(self, value: object) -> bool:
        """Tell whether a number, or the end of a scale such as "1-10", is not the highest verdict of the scale."""
        end = _END_OF_SCALE.fullmatch(str(value))
        return self.is_numeric and end is not None and float(end[1]) != float(self._high)

    def find_labels(self, text: str, *, is_cut: bool) -> list[Label]:
        """Return the verdicts after labels, in order; empty if there is none.

        Args:
            text: the text, without the scale.
            is_cut: whether the end of the text is where the reply was cut.
        """
        labels = []
        position = 0
        while label := self._label.search(text, position):
            position = label.start() + 1
            before = text[max(0, label.start() - _CHARACTERS_BEFORE) : label.start()]
            match = self._word.match(text, label.end())
            if match is None or self._follows_other(before, match["verdict"]):
                continue
            if not self._is_of_judge(label, before) or not self._belongs_to(label, before, match):
                continue
            line = text[match.end() :].split("\n", 1)[0]
            is_last = is_cut and match.end() + len(line) == len(text)
            if self._is_concluded(match, line, wording.TURN, is_cut=is_last):
                name, is_final = _name_of(label, before)
                labels.append(Label(match["verdict"].lower(), name, is_final, label.start()))
        return labels

    def _is_of_judge(self, label: re.Match[str], before: str) -> bool:
        """Tell whether a label is one of the judge's own verdict by what precedes it: no quotation, no supposition.

        Args:
            label: the match of the label.
            before: the characters that precede it.
        """
        if wording.SUPPOSED.search(re.split(r"[.;!?\n]", before)[-1]) or wording.QUOTED.search(before):
            return False
        is_named = label["noun"] or label["is"] or label["answer"] or (not self.is_numeric and label["correct"])
        if is_named and wording.NO_LABEL.search(before):
            return False
        may_be_of_data = label["answer"] or label["bold"] or label["is"]
        if may_be_of_data and wording.OF_DATA.search(before):
            return False
        return not (label["bold"] and (_is_about_other(before) or _is_unconcluded(before)))

    def _belongs_to(self, label: re.Match[str], before_label: str, verdict: re.Match[str]) -> bool:
        """Tell whether the verdict word after a label is what it labels, by the words around both.

        Args:
            label: the match of the label.
            before_label: the characters that precede the label.
            verdict: the match of the word, in the same text.
        """
        text, end = verdict.string, verdict.end()
        rest_of_line = text[end:].split("\n", 1)[0]
        if label["bold"]:
            # the bold part is the verdict alone, and names nothing: a list may have its numbers in bold
            closing = re.match(r"\*\*" if self.is_numeric else r"[.!]?\*\*", rest_of_line)
            if closing is None or re.match(r"\s*[:(–—]", rest_of_line[closing.end() :]):
                return False
        if label["of"] and _SOFT.match(rest_of_line):
            # "a score of 5, the best, needs the year" gives no grade, unlike "it gets a score of 5, since"
            is_given = wording.GIVES.search(before_label[-_CHARACTERS_CLOSE_BEFORE:])
            if not is_given:
                return False
        return not (label["answer"] and wording.NEXT_FIELD.match(text, end))

    def concluding_labels(self, labelled: Sequence[Label], text: str) -> list[Label]:
        """Return those of several verdicts after labels that are on the whole; empty if none is.

        If they agree, it is all of them; none if the last is on something in particular ("Accuracy score: 4") and the
        text names several things with verdicts that differ. If they contradict each other, those on something in
        particular do not count, also if they follow a final verdict; nor do the items of a list of grades.

        Args:
            labelled: the verdicts after labels, at least one.
            text: the text that they are in.
        """
        if len({label.verdict for label in labelled}) == 1:
            is_partial = labelled[-1].name and not labelled[-1].is_final and self.names_several(text)
            return [] if is_partial else list(labelled)
        of_whole = [label for label in labelled if label.is_final or not label.name]
        if len(of_whole) > 1 and not of_whole[-1].is_final:
            # the numbers of their lines; a label may begin with the end of the line before
            lines = [text[: label.start + 1].rstrip("\n").count("\n") for label in of_whole[-2:]]
            rows = text.split("\n")
            is_listed = lines[1] - lines[0] == 1 and all(_ITEM.match(rows[line]) for line in lines)
            if is_listed and of_whole[-1].verdict != of_whole[-2].verdict:
                return []
        return of_whole

    def beginning_verdict(self, text: str, *, is_cut: bool) -> tuple[str | None, bool]:
        """Return the verdict word that begins a text, None without one, and whether it is a conclusion.

        Args:
            text: the text, without the scale.
            is_cut: whether the end of the text is where the reply was cut.
        """
        start = len(text) - len(re.sub(r"^[\W_]+", "", text))
        match = self._word.match(text, start)
        if match is None:
            return None, False
        verdict, tail = match["verdict"].lower(), text[match.end() :]
        # in "4. 5" either number may be the verdict
        if re.match(r"\.\s*\d", tail):
            return verdict, False
        if self.is_numeric and _is_item_number(text[:start], tail):
            return verdict, False
        return verdict, self._is_concluded(match, tail, wording.TURN, wording.LIMIT, is_cut=is_cut)

    def _is_concluded(self, match: re.Match[str], tail: str, *taking_back: re.Pattern[str], is_cut: bool) -> bool:
        """Tell whether a verdict word is a conclusion.

        Args:
            match: the word.
            tail: the text that follows it, up to the end of the line or of the reply.
            taking_back: words that take the verdict back where the sentence goes on.
            is_cut: whether the end of *tail* is where the reply was cut.
        """
        closing = _CLOSE.match(tail)
        text_after = tail[closing.end() :] if closing else tail
        if not text_after.strip():
            # of a reply that was cut here, the word may go on, unless the word is all of it
            return "\n" in text_after or not is_cut or not match.string[: match.start()].strip()
        if re.match(r"\s*(?:[.!;。]|\n)", text_after):
            return True
        if is_cut or _SOFT.match(text_after) is None:
            return False
        if len(text_after) > LONGEST_REST:
            # so that many verdicts in a long line take no quadratic time
            text_after = text_after[: LONGEST_REST // 2] + text_after[-LONGEST_REST // 2 :]
        verdict = match["verdict"].lower()
        if any(pattern.search(text_after) for pattern in taking_back):
            return False
        if not self.is_numeric:
            # "No, there are no errors" concludes nothing
            reason = _SENTENCE.split(text_after)[0]
            if wording.HEDGE.fullmatch(reason) or wording.reason_verdict(reason) not in (None, verdict):
                return False
        return self.ending_verdict(text_after)[0] in (None, verdict)

    def ending_verdict(self, text: str) -> tuple[str | None, bool]:
        """Return the verdict word that ends a text, None without one, and whether it is a conclusion.

        It is None, too, if the word is denied, supposed, about something else than the whole answer, listed after
        another verdict, or a part of the reason of one ("no because … yes").
        """
        match = next(reversed(list(self._word.finditer(text))), None)
        # what ends within braces is a part of JSON that cannot be read
        if match is None or re.search(r"[\w?%}]", text[match.end() :]):
            return None, False
        before = text[: match.start()].rstrip("*_\"'`“‘«([{")
        if _is_about_other(before) or _is_unconcluded(before) or wording.SUPPOSITION.search(before[-200:]):
            return None, False
        # what the last sentence states before its reason, and the reason
        stated, _, reason = re.split(r"[;.!?\n]", before)[-1].partition(" because ")
        if self._follows_other(before, match["verdict"]) or (reason and self._word.search(stated)):
            return None, False
        is_answer = not self.is_numeric and re.search(r"\b(?:answer|verdict) (?:is|would be):?\s*$", before)
        is_concluded = wording.CONCLUDES.search(before[-200:]) and not wording.ABBREVIATION.search(before[-20:])
        return match["verdict"].lower(), bool(is_concluded or is_answer)

    def _follows_other(self, before: str, verdict: str) -> bool:
        """Tell whether a verdict is listed after another one, with no word between them: "[[3]], [[4]]"."""
        listed_verdict = self._listed.search(before[-_CHARACTERS_CLOSE_BEFORE:])
        return listed_verdict is not None and listed_verdict["verdict"].lower() != verdict.lower()

    def has_lines_of_verdicts(self, text: str) -> bool:
        """Tell whether a text has lines that are nothing but a verdict and differ."""
        matches = [self._word.fullmatch(line.strip(" *_.`\t\r")) for line in text.split("\n")]
        return len({match["verdict"].lower() for match in matches if match}) > 1

    def names_several(self, text: str) -> bool:
        """Tell whether a text names several things with verdicts that differ, the last of which is not the whole."""
        named_verdicts = []
        for match in self._word.finditer(text):
            before = text[max(0, match.start() - _CHARACTERS_BEFORE) : match.start()]
            name = wording.NAME.search(before) or re.search(r"(?:^|\n)\s*(\d{1,2}[.)]|[-*•])\s+$", before)
            named_verdicts.append((match["verdict"].lower(), name[1].lower() if name else ""))
        last = named_verdicts[-1][1] if named_verdicts else ""
        if not last or not wording.FINAL.isdisjoint(re.findall(r"\w+", last)):
            return False
        return len({verdict for verdict, name in named_verdicts if name}) > 1


#: What stands between the ends of a scale of numbers: "1 to 5", "1-5", "1 … 5".
_DASH = r"\s*(?:-|–|—|−|~|to|through|\.\.+|…)\s*"
#: A number, or a scale, whose end is the last number: "10", "1-10", "/10", "[1, 10]".
_END_OF_SCALE = re.compile(rf"\[?(?:\d+(?:{_DASH}|\s*,\s*))?/?(\d+(?:\.\d+)?)\]?", re.IGNORECASE)


def _number_pattern(numbers: str, high: str) -> str:
    """Return the pattern of a verdict that is a number, which is its group ``verdict``.

    4 is no verdict in 4.5, 14, -4, ~4, >4, 4/10, 3-4, 4 %, but one in 4.0 and, if 5 is the highest, in 4/5.

    Args:
        numbers: the pattern of the numbers of the scale.
        high: the highest one.
    """
    after = r"(?![\w%+]|-(?!\w|\s\w)|[.,]\d|\s*[:/–−-]\s*\d|\s+(?:%|per\s?cent)"
    after += r"|\s+(?:(?:out\s+)?of|to|or|and)\s+\d)"
    of_high = rf"(?:[*_]{{0,3}}\s*(?:/|out\s+of|of)\s*{high}(?:[.,]0+)?)?"
    no_amount = r"(?<![\w.,/+$€£−~≈±≤≥-])(?<![~≈±≤≥]\s)(?<!\s[<>])(?<!\s[<>]\s)(?<!\d[–—])"
    return rf"{no_amount}(?P<verdict>{numbers})(?:[.,]0+)?{of_high}{after}"


def _numeric_scale_pattern(verdicts: tuple[str, ...]) -> str:
    """Return the pattern of the scale of numbers as a judge repeats it: "1 to 5", "1, 2, 3, 4 or 5", "out of 5"."""
    low, high = verdicts[0], verdicts[-1]
    note = r"(?:\s*\([^()\n]{0,60}\))?"
    listed = r"(?:\s*[,/|]\s*(?:(?:or|and)\s+)?|\s+(?:or|and)\s+)".join(map(re.escape, verdicts))
    scale = rf"\b(?:{low}{note}{_DASH}{high}{note}|{listed}|between\s+{low}\s+and\s+{high})(?![\w]|[.,/]\d)"
    scale += rf"|\bout\s+of\s+{high}\b(?<!\d\sout\sof\s{high})|\bscale\s+of\s+{high}\b"
    return scale + rf"|\[\s*{low}\s*,\s*{high}\s*\]"


def _other_scale_pattern(high: str) -> str:
    """Return the pattern of another scale of numbers, in a text without that of the judge, whose highest is *high*."""
    span = rf"\d{{1,3}}(?:{_DASH}|\s+(?:and|or|bis|oder|à|ou|y|o)\s+)\d{{1,3}}\b"
    nouns = rf"\b(?:scale|range|{wording.NOUNS})\b"
    named = rf"{nouns}(?:[^\w\n]|\b(?:of|from|between|scale|range)\b){{0,8}}\b{span}"
    return (
        rf"{named}|\bscale\s+of\s+\d|[(\[,]\s*(?:out\s+)?of\s+\d"
        r"|\bout\s+of\s+(?:\d{1,3}|ten|twenty|a hundred)\s*[)\]]?\s*[:=]"
        rf"|(?:^|\n)\W{{0,5}}(?:(?:from|between)\s+)?{span}\s*[:=]\s*\d"
        r"|[\[(]\s*\d+\s*,\s*\d+\s*[\])]\W{0,3}[:=]|(?:%|\bper\s?cent\w*)\W{0,3}[:=]"
        rf"|\bmax(?:imum|imal|\.)?(?:\s+(?:score|grade|points))?[\s:=]{{1,3}}(?!{high}\b)\d"
    )


def _label_pattern(*, is_numeric: bool) -> str:
    """Return the pattern of a label, after which a verdict is expected.

    Its groups: of a label with a sign ("Grade (of 5): 4"), the word as ``noun``, ``answer``, ``final`` or, on a scale
    of words, ``correct``, and an ``aside`` before the sign; of a label with a verb ("the verdict is"), the word as
    ``is``, and ``of`` if it is "of" in place of a verb; and ``bold``, the marks that open a bold word.
    """
    aside = r"(?:\s*[(\[][^()\[\]\n]{0,60}[)\]]|\s+(?:on|from|for|of|in|out)\b[^:=\n.]{0,60}(?=[:=]))?"
    sign, end = r"(?::|=>?|->|→|⇒|–|—|\s-\s)", r"[*_\"'`”’»\])}]{0,10}"
    correct = "" if is_numeric else r"|(?P<correct>\b(?:is[ _])?(?:correct|equivalent)\b)"
    noun = wording.NOUNS
    return (
        rf"(?:(?:\b(?P<noun>{noun})|\b(?P<answer>answer)|\b(?P<final>final){correct}){end}(?P<aside>{aside}){end}"
        rf"\s{{0,5}}{sign}"
        rf"|\b(?P<is>{noun}|(?:final|my)\s+answer){end}\s+(?:is|(?P<of>of)|would\s+be|should\s+be)\b:?"
        rf"|(?:^|\n)[^\w\n]{{0,10}}(?:(?:final|my|overall)\s+)?(?:{noun}|answer)[^\w\n]{{0,10}}\n"
        r"|(?P<bold>\*\*)(?=\w)|\\f?boxe?d?\{|\[\[|(?:^|\n)####"
        # [RESULT] is how Prometheus, a model made for judging, ends
        rf"|<(?:(?:final|overall)_?)?(?:{noun}|answer|result)>|\[(?:{noun}|result)\])"
        rf"{_OPEN}(?:(?:a|an|clearly|therefore)\s+)?{_OPEN}"
    )


def _is_item_number(before: str, tail: str) -> bool:
    """Tell whether a number between two texts begins an item of a list: "1. The answer", "1) The answer"."""
    if re.match(r"\.[^\S\n]+\S", tail):
        return True
    if tail.startswith(")") and "(" not in before:
        return True
    return re.match(r"[*_]{0,3}\s*[.):–-]", tail) is not None and _LIST.search(tail) is not None


def _is_about_other(before: str) -> bool:
    """Tell whether what precedes a verdict word asks for something else: an answer of the data, or a defect."""
    return wording.FIELD.search(before[-100:]) is not None or wording.ON_DEFECT.search(before[-100:]) is not None


def _is_unconcluded(before: str) -> bool:
    """Tell whether what precedes a verdict word in its clause denies, weighs or supposes it."""
    return wording.NOT_CONCLUDED.search(wording.CLAUSE.split(before[-200:])[-1]) is not None


def _name_of(label: re.Match[str], before: str) -> tuple[str, bool]:
    """Return what a label names in particular, empty if nothing, and whether it is that of the final verdict."""
    if label["bold"]:
        # the answer to one of several questions
        question = re.search(r"([^\n.!;:?]{1,60}\?)\W*$", before)
        return (question[1].strip().lower() if question else "", False)
    match = re.search(r"(?:^|[\n|,;.])[^\w\n]{0,10}((?:[\w&/-]+[ *]+){1,3})$", before)
    words = re.findall(r"\w+", match[1].lower()) if match and (label["noun"] or label["answer"]) else []
    whose = re.match(r"\s+(?:for|of|in)\b(.*)", label["aside"] or "", re.DOTALL)
    name_words = [word for word in words if word not in wording.PLAIN]
    if whose:
        name_words.append(whose[1].strip().lower())
    is_final = not wording.FINAL.isdisjoint(words) or bool(label["final"])
    return " ".join(name_words), is_final or (label["is"] or "").lower().startswith("final")
