"""Semantic forms of sentences (frames with roles and fillers), built from AMR graphs or read from files, and wrong
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

from assay.datasets.files import is_table_file
from assay.datasets.readers.delimited import check_encoding
from assay.exceptions import InputError
from assay.language.amr import Graph, parse_block, parse_graph, read_graph_file
from assay.metrics.provenance import file_digest
from assay.training.data import Examples, Source, load_examples, text_key
from assay.training.midtuning.settings import FRAME_SUFFIXES

# Semantic forms: frames of predicates with their roles and fillers.

#: The numbered roles, which belong to the sense of a predicate, in PropBank's and AMR's spelling; first in a frame.
_CORE = re.compile(r"(?i)A(RG)?\d")


@dataclass(frozen=True)
class Frame:
    """A predicate and its arguments.

    Attributes:
        predicate: the predicate with its sense, such as ``want-01``.
        roles: the arguments in order, as (role, filler), such as ``("ARG0", "boy")``. A role may occur repeatedly; the
            filler is an empty text if it was removed.
    """

    predicate: str
    roles: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """The frame as text: ``want-01 ARG0: boy, ARG1: go boy``; a role without filler ends with its colon."""
        roles = ", ".join(f"{role}: {filler}".rstrip() for role, filler in self.roles)
        return f"{self.predicate} {roles}".rstrip()


@dataclass(frozen=True)
class SemanticForm:
    """The frames of a sentence, at least one.

    Attributes:
        frames: the frames, in the order of their source.
    """

    frames: tuple[Frame, ...]

    @cached_property
    def text(self) -> str:
        """The form as an encoder reads it: its frames, joined by semicolons.

        The paper does not print its notation. This one spends one token on each separator and keeps the names of roles,
        so that dropping a role, dropping a filler or swapping two fillers changes the text.

        Example:
            >>> SemanticForm((Frame("want-01", (("ARG0", "boy"),)), Frame("go-02", ()))).text
            'want-01 ARG0: boy; go-02'
        """
        return "; ".join(frame.text for frame in self.frames)

    @cached_property
    def role_positions(self) -> list[tuple[int, int]]:
        """The position of every role: the index of its frame, and its own index within the frame."""
        positions = []
        for frame_index, frame in enumerate(self.frames):
            positions += [(frame_index, role_index) for role_index in range(len(frame.roles))]
        return positions


def make_frame(predicate: str, roles: Iterable[tuple[str, str]]) -> Frame:
    """Return a frame with distinct arguments: the core roles first, sorted by name, then the others in the given order.

    Args:
        predicate: the predicate with its sense.
        roles: the arguments as (role, filler), possibly repeated.
    """
    distinct = list(dict.fromkeys(roles))
    core = [argument for argument in distinct if _CORE.match(argument[0])]
    others = [argument for argument in distinct if not _CORE.match(argument[0])]
    return Frame(predicate, (*sorted(core, key=lambda argument: argument[0]), *others))


# Semantic forms of AMR graphs: one frame per node whose concept is a PropBank frame, with its fillers in words.

#: A concept that is a frame, such as ``cut-01``, and the sense in it.
_FRAME = re.compile(r"[\W\d]*+[^\W\d].*-\d{2,}")
_SENSE = re.compile(r"-\d{2,}$")
#: Concepts that name one of AMR's own types and no word of the sentence; the words are in their children.
_TYPE_CONCEPT = re.compile(r".*-(entity|quantity)")
_OPERAND = re.compile(r"op(\d+)")
#: Roles whose words precede the concept that they modify; the words of all other roles follow it.
_BEFORE = frozenset({"mod", "quant", "poss", "ord", "degree", "polarity"})
#: Roles that are left out: ``wiki`` holds links to an encyclopedia, no words of the sentence.
_SKIPPED_ROLES = frozenset({"wiki"})
#: The most words of a filler: the subgraph below it may hold all the rest of the sentence.
WORDS = 8


def form_of_graph(graph: Graph) -> SemanticForm | None:
    """Return the form of a graph, or None if no concept is a frame.

    Frames follow the order of their nodes in the graph's text. The roles of a frame are all relations and constants of
    its node except ``wiki``; inverse relations are turned round. A filler is the subgraph below the relation's target
    in words, truncated to :data:`WORDS`:

    - concepts lose their sense, and a name's words replace the concept that it names;
    - modifiers precede the concept, everything else follows it;
    - operands of ``and`` and ``or`` are joined by the concept;
    - a negation becomes ``not``;
    - a node that is reached repeatedly is written once.

    Example:
        >>> from assay.language.amr import parse_graph
        >>> form_of_graph(parse_graph("(w / want-01 :ARG0 (b / boy :mod (t / tall)) :ARG1 (g / go-02 :ARG0 b))")).text
        'want-01 ARG0: tall boy, ARG1: go tall boy; go-02 ARG0: tall boy'
    """
    wording = _Wording(graph)
    frames = []
    for node, concept in enumerate(graph.concepts):
        if _FRAME.fullmatch(_unquoted_text(concept)):
            frames.append(wording.frame(node))
    return SemanticForm(tuple(frames)) if frames else None


class _Wording:
    """Puts the nodes of one AMR graph into words, as the fillers of frames.

    Args:
        graph: the graph; its concepts and constants lose their quotation marks.
    """

    def __init__(self, graph: Graph) -> None:
        self._concepts = [_unquoted_text(concept) for concept in graph.concepts]
        self._children: list[list[tuple[str, int]]] = [[] for _ in graph.concepts]
        self._constants: list[list[tuple[str, str]]] = [[] for _ in graph.concepts]
        for source, role, target in graph.relations:
            self._children[source].append((role, target))
        for source, role, constant in graph.attributes:
            if role not in _SKIPPED_ROLES:
                words = "not" if (role, constant) == ("polarity", "-") else _unquoted_text(constant)
                self._constants[source].append((role, words))

    def frame(self, node: int) -> Frame:
        """Return the frame of a node: its concept, with a filler of at most :data:`WORDS` words for each relation."""
        roles = []
        for role, target in self._children[node]:
            if words := self._words_of_node(target, {node}):
                roles.append((role, " ".join(words[:WORDS])))
        return make_frame(self._concepts[node], [*roles, *self._constants[node]])

    def _words_of_node(self, node: int, visited: set[int]) -> list[str]:
        """Return the words of the subgraph below a node: modifiers, the concept, then everything else.

        A node with a name gives the words of the name alone; a node that was written before gives none.

        Args:
            node: the index of the node.
            visited: the nodes that were written before; extended in place.
        """
        if node in visited:
            return []
        visited.add(node)
        concept = self._concepts[node]
        if concept == "name":
            operands = sorted(self._constants[node], key=lambda operand: _operand_number(operand[0]))
            return [word for _, word in operands]
        for role, target in self._children[node]:
            if role == "name" and (words := self._words_of_node(target, visited)):
                return words
        is_conjunction = concept in ("and", "or")
        before: list[str] = []
        after: list[str] = []
        for role, words in self._parts_of_node(node, visited):
            if is_conjunction and role.startswith("op") and after:
                after.append(concept)
            (before if role in _BEFORE else after).extend(words)
        # "and" and "or" already stand between their operands, and a type such as date-entity is not a word.
        is_omitted = (is_conjunction and after) or _TYPE_CONCEPT.fullmatch(concept)
        own_words = [] if is_omitted else _words_of_concept(concept)
        return [*before, *own_words, *after] or _words_of_concept(concept)

    def _parts_of_node(self, node: int, visited: set[int]) -> Iterator[tuple[str, list[str]]]:
        """Yield the role and the words of each constant and each child of a node; skip children without words."""
        for role, word in self._constants[node]:
            yield role, [word]
        for role, target in self._children[node]:
            if words := self._words_of_node(target, visited):
                yield role, words


def _words_of_concept(concept: str) -> list[str]:
    return _SENSE.sub("", concept).replace("-", " ").split()


def _unquoted_text(text: str) -> str:
    return " ".join(text.strip('"').split())


def _operand_number(role: str) -> int:
    match = _OPERAND.fullmatch(role)
    return int(match[1]) if match else 0


# Sentences with their forms, read from datasets with AMR graphs, files of graphs, and files of frames.

_SHAPE = '{"sentence": TEXT, "frames": [{"predicate": TEXT, "roles": {"ARG0": TEXT}}]}'


@dataclass(frozen=True, eq=False)
class Forms:
    """n distinct sentences with their forms.

    Attributes:
        sentences: the texts.
        forms: the form of each sentence.
        sources: the datasets and files that they come from.
        counts: numbers of sentences by what became of them (read, without frame, held out, repeated).
    """

    sentences: tuple[str, ...]
    forms: tuple[SemanticForm, ...]
    sources: tuple[Source, ...]
    counts: dict[str, int]

    def __len__(self) -> int:
        return len(self.sentences)


def read_forms(specs: Sequence[str], *, limit: int | None, held_out: set[str], columns: str | None = None) -> Forms:
    """Return the sentences and forms of sources, one source after another; of a repeated sentence the first is kept.

    Args:
        specs: the sources. A ``.jsonl`` or ``.ndjson`` file holds frames, ``{"sentence": ..., "frames": [{"predicate":
            "want-01", "roles": {"ARG0": "the boy"}}]}``; another file that is not a table holds graphs in Penman
            notation with ``# ::snt``; everything else is a dataset with the graphs of both texts of its pairs.
        limit: the number of pairs, graphs or lines read from the start of each source; None for all.
        held_out: the keys of sentences to leave out, see :func:`~assay.training.data.text_key`.
        columns: the meaning of the columns in the user's own tables, such as ``reference=text1,candidate=text2``; None
            if they have the usual names.

    Raises:
        InputError: a source cannot be read or is malformed (the message names file and row), or fewer than four
            sentences with a form are left.
    """
    kept: dict[str, tuple[str, SemanticForm]] = {}
    sources: list[Source] = []
    counts = dict.fromkeys(
        ("sentences_read", "sentences_without_frame", "sentences_held_out", "sentences_more_than_once"), 0
    )
    for spec in specs:
        spec_sources, sentences_with_forms = _open_source(spec, limit, columns)
        sources += spec_sources
        for sentence, form in sentences_with_forms:
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
        raise InputError(f"{len(kept)} sentences with a form are left, 4 are needed ({listed})", setting="forms")
    sentences, forms = zip(*kept.values(), strict=True)
    return Forms(sentences, forms, tuple(sources), counts)


#: Sentences with their forms; None for a sentence without a frame.
_SentencesWithForms = Iterator[tuple[str, SemanticForm | None]]


def _open_source(spec: str, limit: int | None, columns: str | None) -> tuple[Sequence[Source], _SentencesWithForms]:
    """Return the facts of a source, one for each dataset or file in it, and an iterator over its sentences and forms.

    Args:
        spec: the source, one of *specs* of :func:`read_forms`.
        limit: the number of pairs, graphs or lines to read from its start; None for all.
        columns: the meaning of the columns if it is a table of the user's own; None if they have the usual names.

    Raises:
        InputError: the source cannot be read; the iterator raises it for a malformed part.
    """
    path = Path(spec)
    if path.suffix.lower() in FRAME_SUFFIXES:
        lines = _numbered_lines(path)[:limit]
        return [_file_source(path)], (_parse_line(path, number, line) for number, line in lines)
    # corpora of graphs are texts; a table of that kind would have to be named otherwise
    if path.is_file() and (path.suffix.lower() == ".txt" or not is_table_file(path)):
        return [_file_source(path)], _sentences_of_graph_file(path, limit)
    examples = load_examples([spec], limit=limit, graphs=True, columns=columns)
    return examples.sources, _sentences_of_dataset(examples)


def _file_source(path: Path) -> Source:
    return Source(str(path), path.name, "", "", None, "own data, no licence stated", file_digest(path))


def _sentences_of_dataset(examples: Examples) -> _SentencesWithForms:
    """Yield both texts of each pair, the reference first, each with the form of its graph."""
    text_pairs = zip(examples.references, examples.candidates, strict=True)
    graph_pairs = zip(examples.reference_graphs, examples.candidate_graphs, strict=True)
    for texts, graphs in zip(text_pairs, graph_pairs, strict=True):
        for text, graph in zip(texts, graphs, strict=True):
            yield text, form_of_graph(parse_graph(graph))


def _sentences_of_graph_file(path: Path, limit: int | None) -> _SentencesWithForms:
    """Yield the sentence and the form of each graph; raises InputError if a graph is malformed or has no sentence."""
    for block in read_graph_file(path)[:limit]:
        if not block.sentence:
            raise InputError(f"{block.where}: the graph has no sentence; write it above, after '# ::snt '")
        yield block.sentence, form_of_graph(parse_block(block))


def _numbered_lines(path: Path) -> list[tuple[int, str]]:
    """Return the lines of a file that are not blank, each after its line number, which starts at 1.

    Raises:
        InputError: the file cannot be opened, or is not UTF-8.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        check_encoding(path)  # raises InputError with the line
        raise
    except OSError as error:
        raise InputError(f"{path}: cannot be read as a file of frames ({error.strerror})") from None
    # splitlines would also split at separators such as U+2028, which JSON allows inside of texts.
    return [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def _parse_line(path: Path, number: int, line: str) -> tuple[str, SemanticForm | None]:
    """Return the sentence of a line and its form, which is None if the line has no frame.

    Args:
        path: the file, for messages.
        number: the number of the line, for messages.
        line: the text of the line.

    Raises:
        InputError: the line is malformed.
    """
    where = f"{path}, line {number}"
    try:
        record = json.loads(line, object_pairs_hook=lambda pairs: _reject_duplicate_keys(pairs, where))
    except (ValueError, RecursionError) as error:  # too many nested brackets exceed the recursion limit
        raise InputError(f"{where}: is not JSON ({error})") from None
    if not isinstance(record, dict):
        raise InputError(f"{where}: expected an object such as {_SHAPE}")
    sentence = _required_text(record, "sentence", where)
    frame_records = record.get("frames")
    if not isinstance(frame_records, list):
        raise InputError(f"{where}: 'frames' must be a list, as in {_SHAPE}")
    frames = []
    for frame_number, frame_record in enumerate(frame_records, 1):
        frames.append(_parse_frame(frame_record, f"{where}, frame {frame_number}"))
    return sentence, SemanticForm(tuple(frames)) if frames else None


def _reject_duplicate_keys(pairs: list[tuple[str, Any]], where: str) -> dict[str, Any]:
    """Return a JSON object's key-value pairs as a dict; raises InputError if a key occurs more than once."""
    record = dict(pairs)
    if len(record) < len(pairs):
        keys = [key for key, _ in pairs]
        duplicate = next(key for key in keys if keys.count(key) > 1)
        raise InputError(f"{where}: the key {duplicate!r} appears twice in one object; JSON keeps one of them")
    return record


def _parse_frame(record: Any, where: str) -> Frame:
    """Return the frame of a JSON value; raises InputError, with *where* the value is, if it is malformed."""
    if not isinstance(record, dict):
        raise InputError(f"{where}: expected an object, as in {_SHAPE}")
    fillers = record.get("roles", {})
    if not isinstance(fillers, dict):
        raise InputError(f"{where}: 'roles' must be an object of role and filler, as in {_SHAPE}")
    roles = [(" ".join(role.split()), _required_text(fillers, role, where)) for role in fillers]
    if not all(role for role, _ in roles):
        raise InputError(f"{where}: a role has no name")
    return make_frame(_required_text(record, "predicate", where), roles)


def _required_text(record: dict[str, Any], key: str, where: str) -> str:
    """Return the text of a key, with single spaces between its words; raises InputError if it is missing or blank."""
    value = record.get(key)
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{where}: {key!r} must be a text that is not empty")
    return " ".join(value.split())


# Wrong forms as negatives.

#: The kinds of wrong forms: some roles are dropped with their fillers; some fillers are dropped and their roles kept;
#: the fillers of two roles of one frame are swapped; the form of another sentence is taken.
KINDS = ("roles dropped", "fillers dropped", "fillers swapped", "another's form")


def wrong_forms(forms: Sequence[SemanticForm], seed: int) -> tuple[list[SemanticForm], dict[str, int]]:
    """Return one wrong form for each right one, in the same order, and the number of wrong forms of each kind by name.

    The kind is drawn with equal probabilities (the paper states none). If the drawn kind is impossible, such as a swap
    in a form with a single role, the next kind of the same random order is tried. The number of dropped roles or
    fillers is drawn too, from one to all. A wrong form never reads like the right one.

    Args:
        forms: the n right forms.
        seed: the seed of all draws.

    Raises:
        InputError: a form has no role and no other form differs from it.
    """
    rng = np.random.default_rng(seed)
    negatives, kind_counts = [], Counter[str]()
    for index, form in enumerate(forms):
        for kind_index in rng.permutation(len(KINDS)):
            kind = KINDS[kind_index]
            negative = _wrong_form(kind, forms, index, rng)
            if negative is not None and negative.text != form.text:
                negatives.append(negative)
                kind_counts[kind] += 1
                break
        else:
            raise InputError(f"no wrong form can be made for {form.text!r}: it has no role, and no other form differs")
    return negatives, {kind: kind_counts[kind] for kind in KINDS}


def forms_of_others(forms: Sequence[SemanticForm], seed: int) -> list[SemanticForm]:
    """Return for each form a form of another sentence that reads differently, drawn with *seed*.

    Raises:
        InputError: all forms are equal.
    """
    rng = np.random.default_rng(seed)
    others = []
    for index, form in enumerate(forms):
        other = _draw_other_form(forms, index, rng)
        if other is None:
            raise InputError(f"all {len(forms):,} forms read {form.text!r}; at least two different ones are needed")
        others.append(other)
    return others


def _wrong_form(kind: str, forms: Sequence[SemanticForm], index: int, rng: np.random.Generator) -> SemanticForm | None:
    """Return a wrong form of a kind for the form at *index*, which may read like it; None if the kind is impossible."""
    form = forms[index]
    if kind == "another's form":
        return _draw_other_form(forms, index, rng)
    if kind == "fillers swapped":
        return _swap_fillers(form, rng)
    if not form.role_positions:
        return None
    order = rng.permutation(len(form.role_positions))
    dropped_count = rng.integers(1, len(form.role_positions) + 1)
    dropped = {form.role_positions[number] for number in order[:dropped_count]}
    return _remove_fillers(form, dropped, keep_roles=kind == "fillers dropped")


def _remove_fillers(form: SemanticForm, dropped: set[tuple[int, int]], *, keep_roles: bool) -> SemanticForm:
    """Return the form with some fillers emptied, or with their roles removed too.

    Args:
        form: the form, which is not changed.
        dropped: the positions of the fillers, as in :attr:`SemanticForm.role_positions`.
        keep_roles: whether the roles of the fillers stay.
    """
    frames = []
    for frame_index, frame in enumerate(form.frames):
        roles = []
        for role_index, (role, filler) in enumerate(frame.roles):
            if (frame_index, role_index) not in dropped:
                roles.append((role, filler))
            elif keep_roles:
                roles.append((role, ""))
        frames.append(Frame(frame.predicate, tuple(roles)))
    return SemanticForm(tuple(frames))


def _swap_fillers(form: SemanticForm, rng: np.random.Generator) -> SemanticForm | None:
    """Return the form with the fillers of two roles of one frame swapped, or None if no swap would change it."""
    swaps: list[tuple[int, int, int]] = []  # the index of a frame, and of two of its roles
    for frame_index, frame in enumerate(form.frames):
        for later, (role, filler) in enumerate(frame.roles):
            for earlier, (other_role, other_filler) in enumerate(frame.roles[:later]):
                if filler != other_filler and role != other_role:
                    swaps.append((frame_index, later, earlier))
    if not swaps:
        return None
    frame_index, later, earlier = swaps[rng.integers(len(swaps))]
    roles = list(form.frames[frame_index].roles)
    (later_role, later_filler), (earlier_role, earlier_filler) = roles[later], roles[earlier]
    roles[later], roles[earlier] = (later_role, earlier_filler), (earlier_role, later_filler)
    frames = list(form.frames)
    frames[frame_index] = Frame(frames[frame_index].predicate, tuple(roles))
    return SemanticForm(tuple(frames))


def _draw_other_form(forms: Sequence[SemanticForm], index: int, rng: np.random.Generator) -> SemanticForm | None:
    """Return the first form, from a drawn one on, that reads differently from the form at *index*.

    The search continues at the start of *forms*; None is returned if all forms read the same.
    """
    start = int(rng.integers(len(forms)))
    for step in range(len(forms)):
        other = forms[(start + step) % len(forms)]
        if other.text != forms[index].text:
            return other
    return None
