"""Layouts, which assign the dimensions of an embedding to aspects, and the files that declare them.

Opitz and Frank (2022), "SBERT studies Meaning Representations", section 3.1: disjoint sub-embeddings, one per aspect,
and a residual for what no aspect covers. A model's folder has its layout as JSON. The layout of the published models is
a Python file of settings, which is parsed and never executed.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.exceptions import InputError, unknown_name
from assay.metrics.models import describe
from assay.metrics.models.files import module_folders, read_json

#: Names that no aspect can have: of the whole embedding, and of the dimensions that belong to no aspect.
OVERALL, RESIDUAL = "overall", "residual"
_ASPECT_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")

#: The name of the layout file in a model's folder.
LAYOUT_FILE = "s3bert.json"
SCHEMA = 1

#: Name of a metric in the file of the published models, without surrounding blanks -> aspect.
NAMES = {
    "Concepts": "concepts",
    "Frames": "frames",
    "Named Ent.": "named-entities",
    "Negations": "negation",
    "Reentrancies": "coreference",
    "SRL": "srl",
    "Smatch": "smatch",
    "Unlabeled": "unlabeled",
    "max_indegree_sim": "max-indegree",
    "max_outdegree_sim": "max-outdegree",
    "max_degree_sim": "max-degree",
    "root_sim": "root",
    "quant_sim": "quantifiers",
    "score_wlk": "wlk",
    "score_wwlk": "wwlk",
}
#: The first two features in that file, which are the two texts.
INPUTS = ["input1", "input2"]
#: The settings in that file that define the layout.
SETTINGS = ("FEATURES", "N", "FEATURE_DIM")
#: The syntax nodes that the value of any other setting may have.
_ALLOWED_NODES = (ast.Constant, ast.Name, ast.Load, ast.BinOp, ast.Add, ast.UnaryOp, ast.USub, ast.List, ast.Tuple)


@dataclass(frozen=True)
class Layout:
    """A partition of the dimensions of an embedding.

    Attributes:
        aspects: the name of each aspect, its first dimension, and one past its last; dimensions count from 0, and the
            ranges are adjacent.
        dimensions: the number of dimensions of the embedding; those after the last aspect are the residual.

    Raises:
        InputError: there is no aspect, a name is invalid or occurs twice, a range is empty or begins below 0, or ranges
            overlap, leave a gap or exceed the embedding.
    """

    aspects: tuple[tuple[str, int, int], ...]
    dimensions: int

    def __post_init__(self) -> None:
        """Check the names, then that the ranges are adjacent and within the embedding; raise InputError if not."""
        if not self.aspects:
            raise InputError("layout: it has no aspect")
        self._check_names()
        previous_name, previous_stop = "", 0
        by_range = sorted(self.aspects, key=lambda aspect: aspect[1:])
        for name, first, stop in by_range:
            if first < 0:
                raise InputError(f"layout: {name} begins at dimension {first}; dimensions count from 0")
            if first >= stop:
                raise InputError(f"layout: {name} has the range {first} to {stop}; the first must be below the end")
            if first < previous_stop:
                raise InputError(
                    f"layout: {name} begins at dimension {first}, inside {previous_name}, which ends at {previous_stop}"
                )
            if first > previous_stop:
                raise InputError(
                    f"layout: {name} begins at dimension {first}, and {previous_stop} belongs to no aspect; the "
                    "residual comes last"
                )
            if stop > self.dimensions:
                raise InputError(f"layout: {name} ends at dimension {stop}, the embedding has {self.dimensions}")
            previous_name, previous_stop = name, stop

    def _check_names(self) -> None:
        """Check that the names of the aspects are valid and distinct.

        Raises:
            InputError: a name is invalid or occurs twice.
        """
        names = self.names
        for name in names:
            if _ASPECT_NAME.fullmatch(name) is None or name in (OVERALL, RESIDUAL):
                raise InputError(
                    f"layout: {name!r} is not a name of an aspect; valid: small letters, digits and hyphens, "
                    f"but not {OVERALL} or {RESIDUAL}"
                )
            if names.count(name) > 1:
                raise InputError(f"layout: the aspect {name} occurs twice")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the aspects, in the order of the layout."""
        return tuple(name for name, _, _ in self.aspects)

    @property
    def residual_range(self) -> tuple[int, int]:
        """The first dimension of the residual, and one past its last; both are equal if there is no residual."""
        return max(stop for _, _, stop in self.aspects), self.dimensions

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the parts with a score: the aspects, and the residual if there is one."""
        first, stop = self.residual_range
        return self.names if first == stop else (*self.names, RESIDUAL)

    def range_of(self, part: str) -> tuple[int, int]:
        """Return the first dimension of an aspect or of the residual, and one past its last.

        Raises:
            InputError: there is no such part.
        """
        if part not in self.parts:
            raise InputError(unknown_name("the layout has no aspect", part, self.parts))
        if part == RESIDUAL:
            return self.residual_range
        return next((first, stop) for name, first, stop in self.aspects if name == part)

    @property
    def digest(self) -> str:
        """The first twelve hexadecimal digits of a SHA-256 digest of the ranges and the number of dimensions."""
        return hashlib.sha256(repr((self.aspects, self.dimensions)).encode()).hexdigest()[:12]


def even_layout(names: Sequence[str], width: int, dimensions: int) -> Layout:
    """Return a layout in which each aspect has *width* dimensions, in order.

    Args:
        names: the names of the aspects.
        width: the number of dimensions of each aspect.
        dimensions: the number of dimensions of the embedding.

    Raises:
        InputError: there is no aspect, the width is below 1, the aspects exceed the embedding, or a name is invalid or
            occurs twice.
    """
    return Layout(tuple((name, i * width, (i + 1) * width) for i, name in enumerate(names)), dimensions)


def parse_published_layout(text: str, file_name: str, dimensions: int) -> Layout:
    """Return the layout in a settings file: the FEATURES after the two inputs, each of FEATURE_DIM dimensions.

    The file may contain only assignments of literals, and ``+=`` of lists. Settings other than those of the layout
    may also be sums of literals and names (``"s3bert_" + SBERT_INIT``), which are not evaluated.

    Args:
        text: the content of the file.
        file_name: the name of the file, for messages.
        dimensions: the number of dimensions of the embedding.

    Raises:
        InputError: something is not a literal, a name is unknown, or N is not the number of names; the message has the
            file and the line.
    """
    settings = _parse_settings(text, file_name)
    features, line = _required_setting(settings, "FEATURES", list, file_name)
    if features[:2] != INPUTS:
        raise InputError(f"{file_name}, line {line}: FEATURES must begin with {', '.join(INPUTS)}")
    names = []
    for feature in features[2:]:
        name = NAMES.get(feature.strip()) if isinstance(feature, str) else None
        if name is None:
            raise InputError(f"{file_name}, line {line}: {feature!r} is none of the known names: {', '.join(NAMES)}")
        names.append(name)
    count, line = _required_setting(settings, "N", int, file_name)
    if count != len(names):
        raise InputError(f"{file_name}, line {line}: N is {count}, but FEATURES names {len(names)} metrics")
    width, line = _required_setting(settings, "FEATURE_DIM", int, file_name)
    try:
        return even_layout(names, width, dimensions)
    except InputError as error:
        raise InputError(f"{file_name}, line {line}: ", error.message) from None


def _required_setting(
    settings: dict[str, tuple[Any, int]], name: str, required_type: type, file_name: str
) -> tuple[Any, int]:
    """Return the value of a setting and the line in which it was last set.

    Args:
        settings: the value and the line of each setting, by name.
        name: the name of the setting.
        required_type: ``list`` or ``int``.
        file_name: the name of the file, for messages.

    Raises:
        InputError: the setting is missing, or of another type than *required_type*.
    """
    if name not in settings:
        raise InputError(f"{file_name}: does not set {name}; expected {', '.join(SETTINGS)}")
    value, line = settings[name]
    if type(value) is not required_type:
        expected = "a list" if required_type is list else "a whole number"
        raise InputError(f"{file_name}, line {line}: {name} must be {expected}")
    return value, line


def _parse_settings(text: str, file_name: str) -> dict[str, tuple[Any, int]]:
    """Return the value and the line of each setting of the layout in the text of a file, by name.

    Args:
        text: the content of the file.
        file_name: the name of the file, for messages.

    Raises:
        InputError: the text is no Python, or has a statement that is not allowed.
    """
    try:
        body = ast.parse(text).body
    except SyntaxError as error:
        raise InputError(f"{file_name}, line {error.lineno}: no Python ({error.msg})") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"{file_name}: no Python ({error})") from None
    settings: dict[str, tuple[Any, int]] = {}
    for statement in body:
        is_assignment = _record_assignment(statement, settings, file_name)
        if not is_assignment and not _record_extension(statement, settings, file_name):
            raise InputError(
                f"{file_name}, line {statement.lineno}: neither an assignment of a literal nor += of a list; "
                f"nothing of such a file is executed"
            )
    return settings


def _record_assignment(statement: ast.stmt, settings: dict[str, tuple[Any, int]], file_name: str) -> bool:
    """Record the value and the line of a layout setting that a statement assigns; see :func:`_parse_settings`.

    Returns:
        Whether the statement is an allowed assignment to one name, be it of a layout setting or of another one.

    Raises:
        InputError: the value of a layout setting is not a literal.
    """
    if not (isinstance(statement, ast.Assign) and len(statement.targets) == 1):
        return False
    target = statement.targets[0]
    if not isinstance(target, ast.Name):
        return False
    if target.id in SETTINGS:
        settings[target.id] = _evaluate_literal(statement.value, file_name), statement.lineno
        return True
    return all(isinstance(node, _ALLOWED_NODES) for node in ast.walk(statement.value))


def _record_extension(statement: ast.stmt, settings: dict[str, tuple[Any, int]], file_name: str) -> bool:
    """Record the longer list if a statement adds a list to a setting that is a list (``+=``).

    Returns:
        Whether the statement does that.

    Raises:
        InputError: what is added is not a literal.
    """
    if not (isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add)):
        return False
    if not isinstance(statement.target, ast.Name):
        return False
    name = statement.target.id
    value, _ = settings.get(name, (None, 0))
    added = _evaluate_literal(statement.value, file_name)
    if not (isinstance(value, list) and isinstance(added, list)):
        return False
    settings[name] = value + added, statement.lineno
    return True


def _evaluate_literal(node: ast.expr, file_name: str) -> Any:
    """Return the value of an expression without executing it.

    Raises:
        InputError: the expression is not a literal.
    """
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise InputError(
            f"{file_name}, line {node.lineno}: not a literal; nothing of such a file is executed"
        ) from None


def read_layout(folder: Path, dimensions: int) -> Layout:
    """Return the layout in a model's folder.

    Args:
        folder: the folder of the model.
        dimensions: the number of dimensions of its embeddings.

    Raises:
        InputError: there is no layout, or it is invalid or for other dimensions.
    """
    path = folder / LAYOUT_FILE
    if not path.is_file():
        raise InputError(
            f"{folder}: there is no {LAYOUT_FILE}, which assigns dimensions to aspects; "
            f"give one with layout=FILE (JSON, or the .py of the published models)"
        )
    return read_layout_file(path, dimensions)


def read_layout_file(path: Path, dimensions: int) -> Layout:
    """Return the layout in a JSON file, or in the Python file of the published models (``.py``).

    Args:
        path: the file.
        dimensions: the number of dimensions of the embedding.

    Raises:
        InputError: the file cannot be read, or its layout is invalid or for other dimensions.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    if path.suffix == ".py":
        return parse_published_layout(text, str(path), dimensions)
    try:
        value = json.loads(text, object_pairs_hook=_object_of_unique_names)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: no JSON of a layout ({error})") from None
    return _layout_from_json(value, path, dimensions)


def _object_of_unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object as a dict; without this hook, a duplicate name would silently drop an aspect.

    Raises:
        ValueError: a name is duplicate.
    """
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("a name occurs twice")
    return values


def _layout_from_json(value: Any, path: Path, dimensions: int) -> Layout:
    """Return the layout in a parsed JSON value.

    Args:
        value: the JSON value.
        path: the file that has it, for messages.
        dimensions: the number of dimensions of the embedding.

    Raises:
        InputError: the value has another form or schema, or its layout is invalid or for other dimensions.
    """
    expected_form = f'{{"schema": {SCHEMA}, "dimensions": {dimensions}, "aspects": {{"negation": [0, 16], …}}}}'
    if not isinstance(value, dict) or not isinstance(value.get("aspects"), dict):
        raise InputError(f"{path}: expected {expected_form}")
    if value.get("schema") != SCHEMA:
        raise InputError(f"{path}: schema {value.get('schema')!r} is unknown to this version of assay; known: {SCHEMA}")
    if value.get("dimensions") != dimensions:
        raise InputError(f"{path}: is for {value.get('dimensions')!r} dimensions, the embedding has {dimensions}")
    ranges = []
    for name, ends in value["aspects"].items():
        if not (isinstance(ends, list) and len(ends) == 2 and all(type(end) is int for end in ends)):
            raise InputError(f"{path}: {name!r} has no range of two whole numbers; expected {expected_form}")
        ranges.append((name, ends[0], ends[1]))
    try:
        return Layout(tuple(ranges), dimensions)
    except InputError as error:
        raise InputError(f"{path}: ", error.message) from None


def write_layout(layout: Layout, folder: Path) -> None:
    """Write a layout into a model's folder, where :func:`read_layout` reads it; an older one is replaced."""
    # one range per line, so that the file is easy to read and edit
    ranges = ",\n".join(f'  "{name}": [{first}, {stop}]' for name, first, stop in layout.aspects)
    text = f'{{\n "schema": {SCHEMA},\n "dimensions": {layout.dimensions},\n "aspects": {{\n{ranges}\n }}\n}}\n'
    (folder / LAYOUT_FILE).write_text(text, encoding="utf-8")


def embedding_size(folder: Path) -> int:
    """Return the number of dimensions of a model's embeddings: those of the last dense layer, or else of pooling.

    Raises:
        InputError: the files of the model do not declare it, or one of them is malformed.
    """
    description = describe(folder)
    size = description.hidden_size
    if size is not None and description.pooling is not None:
        # the outputs of several poolings, such as mean+max, are concatenated
        size *= description.pooling.count("+") + 1
    for relative, module_class in module_folders(folder, str(folder)):
        # the name of the class may have a path of modules
        if module_class is not None and module_class.rpartition(".")[2] == "Dense":
            size = read_json(folder / relative / "config.json").get("out_features")
    if not isinstance(size, int):
        raise InputError(f"model {folder}: its files do not say how many dimensions an embedding has")
    return size
