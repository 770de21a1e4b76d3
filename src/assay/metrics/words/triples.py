"""The words of subjects and objects of complete triples: a subject, its verb and an object of the verb.

Source: de Vocht, Subject Verb Object Extractor (2020), which STR-2022 uses (Abdalla, Vishnubhotla and Mohammad 2023,
section 5.1). Its rules are followed for triples with an object; verbs without one, which later versions of the program
also return, make no triple here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

#: Dependency labels of spaCy's English pipelines.
_SUBJECTS: Final = frozenset({"nsubj", "nsubjpass", "csubj", "csubjpass", "agent", "expl"})
_OBJECTS: Final = frozenset({"dobj", "dative", "attr", "oprd"})
_CONJUNCTIONS: Final = frozenset({"and", "or", "nor", "but", "yet", "so", "for"})
_NEGATIONS: Final = frozenset({"no", "not", "n't", "never", "none"})


@dataclass(frozen=True)
class ParsedToken:
    """A token of a parsed text.

    Attributes:
        text: the token as written.
        part_of_speech: the part of speech of Universal Dependencies.
        role: the dependency label of spaCy's English pipelines.
        head: the index of its head in the text; its own index for a root.
    """

    text: str
    part_of_speech: str
    role: str
    head: int


@dataclass(frozen=True)
class TripleWords:
    """The indices of the tokens of a text that are in the subject, or in the object, of a complete triple."""

    subjects: frozenset[int]
    objects: frozenset[int]


def find_triple_words(tokens: Sequence[ParsedToken]) -> TripleWords:
    """Return which tokens of a text are in the phrase of a subject or of an object of a complete triple.

    In a text with a passive verb, subject and object of all triples change places.
    """
    text = _ParsedText(tokens)
    first: set[int] = set()
    second: set[int] = set()
    # a noun that follows a phrase extends the first phrase that it follows, of all triples of the text
    followers: set[int] = set()
    for subject, object_word in text.triples():
        pair = (object_word, subject) if text.is_passive else (subject, object_word)
        for phrase, head in zip((first, second), pair, strict=True):
            phrase |= set(text.phrase(head, followers))
    return TripleWords(frozenset(first), frozenset(second))


class _ParsedText:
    """The tokens of a text with their children."""

    def __init__(self, tokens: Sequence[ParsedToken]) -> None:
        self._tokens = tokens
        self._left: list[list[int]] = [[] for _ in tokens]
        self._right: list[list[int]] = [[] for _ in tokens]
        for index, token in enumerate(tokens):
            if index != token.head:
                (self._left if index < token.head else self._right)[token.head].append(index)
        self.is_passive = any(token.role == "auxpass" for token in tokens)

    def triples(self) -> Iterator[tuple[int, int]]:
        """Yield the head of the subject and of the object of each triple, verb by verb."""
        for verb in self._verbs():
            objects = self._objects_of(self._coordinated_verb(verb))
            for subject in self._subjects_of(verb):
                for object_word in objects:
                    yield subject, object_word

    def phrase(self, head: int, followers: set[int]) -> list[int]:
        """Return the tokens of the phrase of a head: the head with its children on each side, without negations.

        Of each side, children from the first verb or conjunction on are left out. If the first child on the right of
        the last token is a determiner or noun, its phrase is added, and the child itself to *followers*, unless it is
        there already. For "that", the phrase is that of its antecedent.

        Args:
            head: the index of the head.
            followers: the tokens that were added to earlier phrases of the text; changed in place.
        """
        is_that = self._tokens[head].text.lower() == "that"
        noun = self._antecedent_of_that if is_that and self._antecedent_of_that is not None else head
        tokens = [*self._modifiers(self._left[noun]), noun, *self._modifiers(self._right[noun])]
        for follower in self._right[tokens[-1]][:1]:
            if self._tokens[follower].part_of_speech in ("DET", "NOUN") and follower not in followers:
                followers.add(follower)
                tokens += self.phrase(follower, followers)
        return tokens

    def _verbs(self) -> list[int]:
        """Return the verbs that are no auxiliaries; all verbs and auxiliaries of a text without one."""
        verbs = [index for index in range(len(self._tokens)) if self._is_main_verb(index)]
        return verbs or [index for index, token in enumerate(self._tokens) if token.part_of_speech in ("VERB", "AUX")]

    def _is_main_verb(self, index: int) -> bool:
        token = self._tokens[index]
        return token.part_of_speech == "VERB" and token.role not in ("aux", "auxpass")

    def _coordinated_verb(self, verb: int) -> int:
        """Return the verb whose objects a verb shares: the second of "beat and hurt", or the verb itself."""
        following = self._right[verb]
        is_coordinated = bool(following) and self._tokens[following[0]].part_of_speech == "CCONJ"
        if not is_coordinated:
            return verb
        return next((index for index in following[1:] if self._is_main_verb(index)), verb)

    def _subjects_of(self, verb: int) -> list[int]:
        """Return the subjects on the left of a verb, with coordinated ones.

        Without a subject, it is the nearest noun that the verb depends on; without such a noun, the list is empty.
        """
        subjects = []
        for index in self._left[verb]:
            if self._tokens[index].role in _SUBJECTS and self._tokens[index].part_of_speech != "DET":
                subjects.append(index)
        if subjects:
            return self._with_coordinated(subjects, _SUBJECTS)
        ancestor = verb
        while self._tokens[ancestor].head != ancestor:
            ancestor = self._tokens[ancestor].head
            if self._tokens[ancestor].part_of_speech == "NOUN":
                return [ancestor]
        return []

    def _objects_of(self, verb: int) -> list[int]:
        """Return the objects on the right of a verb and of its first complement that has any, with coordinated ones.

        Which tokens count is in :meth:`_objects_among`.
        """
        objects = self._objects_among(self._right[verb], passive=self.is_passive)
        for index in self._right[verb]:
            if self._tokens[index].part_of_speech == "VERB" and self._tokens[index].role == "xcomp":
                of_complement = self._objects_among(self._right[index], passive=False)
                if of_complement:
                    objects += of_complement
                    break
        return self._with_coordinated(objects, _OBJECTS)

    def _objects_among(self, indices: list[int], *, passive: bool) -> list[int]:
        """Return the objects among some tokens, and those on the right of the prepositions among them.

        Behind a preposition, the pronoun "me" counts, too, and in a text with a passive verb the role ``pobj``.

        Args:
            indices: the tokens.
            passive: whether a token with the role ``pobj``, the object of a preposition, counts as an object itself.
        """
        objects = []
        for index in indices:
            if self._tokens[index].role in _OBJECTS or (passive and self._tokens[index].role == "pobj"):
                objects.append(index)
        prepositions = ("prep", "agent") if self.is_passive else ("prep",)
        for index in indices:
            if self._tokens[index].part_of_speech == "ADP" and self._tokens[index].role in prepositions:
                objects += [child for child in self._right[index] if self._is_object_of_preposition(child)]
        return objects

    def _is_object_of_preposition(self, index: int) -> bool:
        token = self._tokens[index]
        if token.role in _OBJECTS or (self.is_passive and token.role == "pobj"):
            return True
        return token.part_of_speech == "PRON" and token.text.lower() == "me"

    def _with_coordinated(self, heads: list[int], roles: frozenset[str]) -> list[int]:
        """Return some heads and those that a conjunction joins to them: nouns, or tokens with one of some roles."""
        words = list(heads)
        # the list grows meanwhile, since what is joined to a head may have others joined to it
        for head in words:
            right = self._right[head]
            if not any(self._tokens[index].text.lower() in _CONJUNCTIONS for index in right):
                continue
            for index in right:
                token = self._tokens[index]
                if index not in words and (token.role in roles or token.part_of_speech == "NOUN"):
                    words.append(index)
        return words

    def _modifiers(self, children: list[int]) -> Iterator[int]:
        """Yield the children before the first verb or conjunction, without negations."""
        for index in children:
            if self._tokens[index].part_of_speech in ("CCONJ", "VERB"):
                return
            if self._tokens[index].text.lower() not in _NEGATIONS:
                yield index

    @cached_property
    def _antecedent_of_that(self) -> int | None:
        """The head of the first token with "that" on its left, for which every "that" stands; None without one."""
        for index, token in enumerate(self._tokens):
            if any(self._tokens[child].text == "that" for child in self._left[index]):
                return token.head
        return None
