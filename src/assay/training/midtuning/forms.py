"""Semantic forms of sentences: frames with roles and fillers, made from AMR graphs or read from files, and wrong
forms as negatives.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from assay.amr import Graph, check_block, parse_graph, read_graph_file
from assay.datasets.files import is_table_file
from assay.datasets.readers.delimited import check_encoding
from assay.errors import InputError
from assay.metrics.provenance import file_digest
from assay.training.data import Examples, Source, load_examples, text_key
from assay.training.midtuning.settings import FRAME_FILES

# Semantic forms: frames of predicates with their roles and fillers.

#: Roles that belong to the sense of a predicate, in PropBank's and in AMR's spelling; they come first in a frame.
_CORE = re.compile(r"(?i)A(RG)?\d")


@dataclass(frozen=True)
class Frame:
    """A predicate with what takes part in it.

    Attributes:
        predicate: with its sense, ``want-01``.
        roles: (role, filler) in order, such as ``("ARG0", "boy")``; a role may come twice, and a filler that was taken
            away is an empty text.
    """

    predicate: str
    roles: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """``want-01 ARG0: boy, ARG1: go boy``; a role without filler ends with its colon."""
        roles = ", ".join(f"{role}: {filler}".rstrip() for role, filler in self.roles)
        return f"{self.predicate} {roles}".rstrip()


@dataclass(frozen=True)
class SemanticForm:
    """The frames of a sentence, at least one.

    Attributes:
        frames: in the order of their source.
    """

    frames: tuple[Frame, ...]

    @cached_property
    def text(self) -> str:
        """The form as an encoder reads it: its frames, joined by semicolons.

        The paper does not print its notation. This one spends one token on each joint and keeps the names of roles, so
        that a form without a role, without a filler or with two fillers exchanged reads differently.

        Example:
            >>> SemanticForm((Frame("want-01", (("ARG0", "boy"),)), Frame("go-02", ()))).text
            'want-01 ARG0: boy; go-02'
        """
        return "; ".join(frame.text for frame in self.frames)

    @cached_property
    def places(self) -> list[tuple[int, int]]:
        """Number of the frame, and of the role in it, of every role."""
        return [(number, place) for number, frame in enumerate(self.frames) for place in range(len(frame.roles))]


def make_frame(predicate: str, roles: Iterable[tuple[str, str]]) -> Frame:
    """Return a frame whose core roles come first, in order of their names, and then the others as they were given."""
    given = list(dict.fromkeys(roles))
    core = sorted((one for one in given if _CORE.match(one[0])), key=lambda one: one[0])
    return Frame(predicate, (*core, *(one for one in given if not _CORE.match(one[0]))))


# Semantic forms of AMR graphs: every node whose concept is a PropBank frame, with words for what fills its roles.

#: A concept that is a frame, ``cut-01``, and the sense in it.
_FRAME = re.compile(r"[\W\d]*+[^\W\d].*-\d{2,}")
_SENSE = re.compile(r"-\d{2,}$")
#: Concepts that name a kind of AMR's own and no word of the sentence: what is at them says it.
_KIND = re.compile(r".*-(entity|quantity)")
_OPERAND = re.compile(r"op(\d+)")
#: What is said before the concept that it modifies; what fills any other role is said after it.
_BEFORE = frozenset({"mod", "quant", "poss", "ord", "degree", "polarity"})
#: Addresses of encyclopedias, which no sentence has.
_LEFT_OUT = frozenset({"wiki"})
#: Words of a filler at most. A subgraph may hold all the rest of the sentence.
WORDS = 8


def form_of_graph(graph: Graph) -> SemanticForm | None:
    """Return the form of a graph, or None where no concept is a frame.

    Frames stand in the order of their nodes in the text. A frame's roles are all relations and constants at its node
    but ``wiki``, inverted ones turned round. The filler is the subgraph below the target in words, the first
    eight of them: concepts without sense; a name's words in place of the concept that it names; modifiers before
    the concept, all else after it; operands of ``and`` and ``or`` joined by the concept; ``not`` for a negation. A
    node that is reached twice is said once.

    Example:
        >>> from assay.amr import parse_graph
        >>> form_of_graph(parse_graph("(w / want-01 :ARG0 (b / boy :mod (t / tall)) :ARG1 (g / go-02 :ARG0 b))")).text
        'want-01 ARG0: tall boy, ARG1: go tall boy; go-02 ARG0: tall boy'
    """
    wording = _Wording(graph)
    frames = []
    for node, concept in enumerate(graph.concepts):
        if _FRAME.fullmatch(_unquoted(concept)):
            frames.append(wording.frame(node))
    return SemanticForm(tuple(frames)) if frames else None


class _Wording:
    """Puts nodes of a graph into words."""

    def __init__(self, graph: Graph) -> None:
        self._concepts = [_unquoted(concept) for concept in graph.concepts]
        self._children: list[list[tuple[str, int]]] = [[] for _ in graph.concepts]
        self._constants: list[list[tuple[str, str]]] = [[] for _ in graph.concepts]
        for source, role, target in graph.relations:
            self._children[source].append((role, target))
        for source, role, constant in graph.attributes:
            if role not in _LEFT_OUT:
                self._constants[source].append((role, _constant_words(role, constant)))

    def frame(self, node: int) -> Frame:
        roles = []
        for role, target in self._children[node]:
            if words := self._words(target, {node}):
                roles.append((role, " ".join(words[:WORDS])))
        return make_frame(self._concepts[node], [*roles, *self._constants[node]])

    def _words(self, node: int, visited: set[int]) -> list[str]:
        """Return the words of the subgraph below a node: modifiers, the concept, then all else; a node once."""
        if node in visited:
            return []
        visited.add(node)
        concept = self._concepts[node]
        if concept == "name":
            return [word for _, word in sorted(self._constants[node], key=lambda one: _operand_number(one[0]))]
        for role, target in self._children[node]:
            if role == "name" and (words := self._words(target, visited)):
                return words
        joined = concept in ("and", "or")
        before: list[str] = []
        after: list[str] = []
        for role, words in self._parts(node, visited):
            if joined and role.startswith("op") and after:
                after.append(concept)
            (before if role in _BEFORE else after).extend(words)
        own = [] if (joined and after) or _KIND.fullmatch(concept) else _plain(concept)
        return [*before, *own, *after] or _plain(concept)

    def _parts(self, node: int, visited: set[int]) -> Iterator[tuple[str, list[str]]]:
        """Yield what is at a node, role by role."""
        for role, word in self._constants[node]:
            yield role, [word]
        for role, target in self._children[node]:
            if words := self._words(target, visited):
                yield role, words


def _plain(concept: str) -> list[str]:
    return _SENSE.sub("", concept).replace("-", " ").split()


def _unquoted(text: str) -> str:
    return " ".join(text.strip('"').split())


def _constant_words(role: str, constant: str) -> str:
    return "not" if (role, constant) == ("polarity", "-") else _unquoted(constant)


def _operand_number(role: str) -> int:
    found = _OPERAND.fullmatch(role)
    return int(found[1]) if found else 0


# Sentences with their forms, read from datasets with AMR graphs, files of graphs, and files of frames.

_SHAPE = '{"sentence": TEXT, "frames": [{"predicate": TEXT, "roles": {"ARG0": TEXT}}]}'


@dataclass(frozen=True, eq=False)
class Forms:
    """Sentences with their forms, n of them; no sentence twice.

    Attributes:
        sentences: the texts.
        forms: of each sentence.
        sources: where they are from.
        counts: of sentences, by what became of them.
    """

    sentences: tuple[str, ...]
    forms: tuple[SemanticForm, ...]
    sources: tuple[Source, ...]
    counts: dict[str, int]

    def __len__(self) -> int:
        return len(self.sentences)


def read_forms(specs: Sequence[str], *, limit: int | None, held_out: set[str], columns: str | None = None) -> Forms:
    """Read sentences and forms, one source after another.

    Args:
        specs: ``.jsonl`` is a file of frames, ``{"sentence": ..., "frames": [{"predicate": "want-01", "roles": {"ARG0":
            "the boy"}}]}``; another file that is no table is one of graphs in Penman notation with ``# ::snt``; all
            else is a dataset with the graphs of both texts of its pairs.
        limit: only the first N pairs, graphs or lines of each.
        held_out: keys of sentences that are left out, see :func:`~assay.training.data.text_key`.
        columns: see :func:`~assay.training.data.load_examples`.

    Raises:
        InputError: a source cannot be read or a part of it is wrong, with file and row; or fewer than four sentences
            with a form are left.
    """
    kept: dict[str, tuple[str, SemanticForm]] = {}
    sources: list[Source] = []
    counts = dict.fromkeys(
        ("sentences_read", "sentences_without_frame", "sentences_held_out", "sentences_more_than_once"), 0
    )
    for spec in specs:
        its_sources, with_forms = _open(spec, limit, columns)
        sources += its_sources
        for sentence, form in with_forms:
            key = text_key(sentence)
            counts["sentences_read"] += 1
            if form is None:
                counts["sentences_without_frame"] += 1
            elif key in held_out:
                counts["sentences_held_out"] += 1
            elif key in kept:
                counts["sentences_more_than_once"] += 1
            else:
                kept[key] = (sentence, form)
    if len(kept) < 4:
        listed = ", ".join(f"{name.replace('_', ' ')} {number:,}" for name, number in counts.items())
        raise InputError(f"`forms`: {len(kept)} sentences with a form are left, 4 are needed ({listed})")
    sentences, forms = zip(*kept.values(), strict=True)
    return Forms(sentences, forms, tuple(sources), counts)


_Sentences = Iterator[tuple[str, SemanticForm | None]]


def _open(spec: str, limit: int | None, columns: str | None) -> tuple[Sequence[Source], _Sentences]:
    path = Path(spec)
    if path.suffix.lower() in FRAME_FILES:
        lines = _lines(path)[:limit]
        return [_source(path)], (_sentence_of(path, number, line) for number, line in lines)
    if path.is_file() and not is_table_file(path):
        return [_source(path)], _of_graph_file(path, limit)
    examples = load_examples([spec], limit=limit, graphs=True, columns=columns)
    return examples.sources, _of_dataset(examples)


def _source(path: Path) -> Source:
    return Source(str(path), path.name, "", "", None, "own data, no licence stated", file_digest(path))


def _of_dataset(examples: Examples) -> _Sentences:
    texts = zip(examples.references, examples.candidates, strict=True)
    graphs = zip(examples.reference_graphs, examples.candidate_graphs, strict=True)
    for pair, pairs_graphs in zip(texts, graphs, strict=True):
        for text, graph in zip(pair, pairs_graphs, strict=True):
            yield text, form_of_graph(parse_graph(graph))


def _of_graph_file(path: Path, limit: int | None) -> _Sentences:
    for block in read_graph_file(path)[:limit]:
        if not block.sentence:
            raise InputError(f"{block.where}: the graph has no sentence; write it above, after '# ::snt '")
        yield block.sentence, form_of_graph(check_block(block))


def _lines(path: Path) -> list[tuple[int, str]]:
    """Return the lines of a file that are not blank, with their numbers from 1."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        check_encoding(path)
        raise
    except OSError as error:
        raise InputError(f"{path}: cannot be read as a file of frames ({error.strerror})") from None
    # not splitlines: JSON may hold other separators of lines within its texts
    return [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def _sentence_of(path: Path, number: int, line: str) -> tuple[str, SemanticForm | None]:
    where = f"{path}, line {number}"
    try:
        record = json.loads(line, object_pairs_hook=lambda pairs: _object(pairs, where))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: is not JSON ({error})") from None
    if not isinstance(record, dict):
        raise InputError(f"{where}: expected an object such as {_SHAPE}")
    sentence, frames = _text(record, "sentence", where), record.get("frames")
    if not isinstance(frames, list):
        raise InputError(f"{where}: 'frames' must be a list, as in {_SHAPE}")
    made = tuple(_frame(frame, f"{where}, frame {place}") for place, frame in enumerate(frames, 1))
    return sentence, SemanticForm(made) if made else None


def _object(pairs: list[tuple[str, Any]], where: str) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{where}: the key {twice!r} appears twice in one object; JSON keeps one of them")
    return made


def _frame(frame: Any, where: str) -> Frame:
    if not isinstance(frame, dict):
        raise InputError(f"{where}: expected an object, as in {_SHAPE}")
    roles = frame.get("roles", {})
    if not isinstance(roles, dict):
        raise InputError(f"{where}: 'roles' must be an object of role and filler, as in {_SHAPE}")
    fillers = [(" ".join(role.split()), _text(roles, role, where)) for role in roles]
    if not all(role for role, _ in fillers):
        raise InputError(f"{where}: a role has no name")
    return make_frame(_text(frame, "predicate", where), fillers)


def _text(record: dict[str, Any], name: str, where: str) -> str:
    """Return a text of an object with single blanks between its words; it must not be empty."""
    value = record.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{where}: {name!r} must be a text that is not empty")
    return " ".join(value.split())


# Wrong forms as negatives.

#: How a wrong form comes about: roles go with their fillers; fillers go and their roles stay; the fillers of two roles
#: of one frame change places; another sentence's form stands for it.
KINDS = ("roles dropped", "fillers dropped", "fillers swapped", "another's form")


def wrong_forms(forms: Sequence[SemanticForm], seed: int) -> tuple[list[SemanticForm], dict[str, int]]:
    """Return a wrong form for each right one, and how many there are of each kind.

    Each kind is as likely as any other (the paper gives no shares). Where the one that was drawn is impossible, such as
    a swap where there is one role alone, another takes its place, again by the draw. How many roles or fillers go is
    drawn too, from one to all. No wrong form reads as the right one.

    Args:
        forms: n of them.
        seed: decides everything.

    Raises:
        InputError: a form has no role and no other form differs from it.
    """
    dice = np.random.default_rng(seed)
    wrongs, kinds = [], Counter[str]()
    for number, form in enumerate(forms):
        for kind in dice.permutation(len(KINDS)):
            wrong = _wrong_form(KINDS[kind], forms, number, dice)
            if wrong is not None and wrong.text != form.text:
                wrongs.append(wrong)
                kinds[KINDS[kind]] += 1
                break
        else:
            raise InputError(f"no wrong form can be made for {form.text!r}: it has no role, and no other form differs")
    return wrongs, {kind: kinds[kind] for kind in KINDS}


def others_forms(forms: Sequence[SemanticForm], seed: int) -> list[SemanticForm]:
    """Return for each form one that another sentence has, and that reads differently; drawn by *seed*.

    Raises:
        InputError: all forms are equal.
    """
    dice = np.random.default_rng(seed)
    found = []
    for number, form in enumerate(forms):
        other = _other(forms, number, dice)
        if other is None:
            raise InputError(f"all {len(forms):,} forms read {form.text!r}; at least two different ones are needed")
        found.append(other)
    return found


def _wrong_form(
    kind: str, forms: Sequence[SemanticForm], number: int, dice: np.random.Generator
) -> SemanticForm | None:
    """Return a wrong form of a kind for a form, or None where it is impossible."""
    form = forms[number]
    if kind == "another's form":
        return _other(forms, number, dice)
    if kind == "fillers swapped":
        return _swapped(form, dice)
    if not form.places:
        return None
    chosen = dice.permutation(len(form.places))[: dice.integers(1, len(form.places) + 1)]
    taken = {form.places[place] for place in chosen}
    return _without(form, taken, keep_roles=kind == "fillers dropped")


def _without(form: SemanticForm, taken: set[tuple[int, int]], *, keep_roles: bool) -> SemanticForm:
    """Return the form without the fillers at some places, and without their roles."""
    frames = []
    for number, frame in enumerate(form.frames):
        roles = [
            (role, "" if (number, place) in taken else filler)
            for place, (role, filler) in enumerate(frame.roles)
            if keep_roles or (number, place) not in taken
        ]
        frames.append(Frame(frame.predicate, tuple(roles)))
    return SemanticForm(tuple(frames))


def _swapped(form: SemanticForm, dice: np.random.Generator) -> SemanticForm | None:
    """Return the form with the fillers of two roles of one frame exchanged, or None where no such swap changes it."""
    swaps: list[tuple[int, int, int]] = []
    for number, frame in enumerate(form.frames):
        for later, (role, filler) in enumerate(frame.roles):
            for earlier, (other_role, other_filler) in enumerate(frame.roles[:later]):
                if filler != other_filler and role != other_role:
                    swaps.append((number, later, earlier))
    if not swaps:
        return None
    number, later, earlier = swaps[dice.integers(len(swaps))]
    roles = list(form.frames[number].roles)
    (later_role, later_filler), (earlier_role, earlier_filler) = roles[later], roles[earlier]
    roles[later], roles[earlier] = (later_role, earlier_filler), (earlier_role, later_filler)
    frames = list(form.frames)
    frames[number] = Frame(frames[number].predicate, tuple(roles))
    return SemanticForm(tuple(frames))


def _other(forms: Sequence[SemanticForm], number: int, dice: np.random.Generator) -> SemanticForm | None:
    """Return the form at a place that is drawn, or the next one after it that differs, or None where none does."""
    start = int(dice.integers(len(forms)))
    for place in range(len(forms)):
        other = forms[(start + place) % len(forms)]
        if other.text != forms[number].text:
            return other
    return None
