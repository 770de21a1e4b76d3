"""The layout of the published S3BERT models, which comes as a Python file of settings: read, never executed."""

from __future__ import annotations

import ast
from typing import Any

from assay.errors import InputError
from assay.metrics.aspects.layout import Layout, even_layout

__all__ = ["read_published"]

#: The names of the metrics there, and assay's; blanks around a name are left out.
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
#: What stands first among the features: the two texts.
INPUTS = ["input1", "input2"]
#: The settings that make the layout.
SETTINGS = ("FEATURES", "N", "FEATURE_DIM")
#: What the value of any other setting may be made of.
_HARMLESS = (ast.Constant, ast.Name, ast.Load, ast.BinOp, ast.Add, ast.UnaryOp, ast.USub, ast.List, ast.Tuple)


def read_published(text: str, where: str, dimensions: int) -> Layout:
    """Return the layout that a file of settings describes: FEATURES after its two inputs, each FEATURE_DIM wide.

    The file may hold assignments of literals, and ``+=`` of lists, and nothing else; other settings than these three
    may also be sums of literals and names (``"s3bert_" + SBERT_INIT``), which are not computed.

    Args:
        text: of the file.
        where: its name, for errors.
        dimensions: of the embedding.

    Raises:
        InputError: with file and line: something is no literal, a name is not known, or N is not the number of names.
    """
    found = _literals(text, where)
    features, line = _setting(found, "FEATURES", list, where)
    if features[:2] != INPUTS:
        raise InputError(f"{where}, line {line}: FEATURES must begin with {', '.join(INPUTS)}")
    names = []
    for feature in features[2:]:
        name = NAMES.get(feature.strip()) if isinstance(feature, str) else None
        if name is None:
            raise InputError(f"{where}, line {line}: {feature!r} is none of the known names: {', '.join(NAMES)}")
        names.append(name)
    count, line = _setting(found, "N", int, where)
    if count != len(names):
        raise InputError(f"{where}, line {line}: N is {count}, but FEATURES names {len(names)} metrics")
    width, line = _setting(found, "FEATURE_DIM", int, where)
    try:
        return even_layout(names, width, dimensions)
    except InputError as error:
        raise InputError(f"{where}, line {line}: {error}") from None


def _setting(found: dict[str, tuple[Any, int]], name: str, kind: type, where: str) -> tuple[Any, int]:
    """Return the value of a setting and the line it was last set in."""
    if name not in found:
        raise InputError(f"{where}: does not set {name}; expected {', '.join(SETTINGS)}")
    value, line = found[name]
    if type(value) is not kind:
        raise InputError(f"{where}, line {line}: {name} must be {'a list' if kind is list else 'a whole number'}")
    return value, line


def _literals(text: str, where: str) -> dict[str, tuple[Any, int]]:
    """Return the settings of the layout that a file assigns: value and line by name."""
    try:
        body = ast.parse(text).body
    except SyntaxError as error:
        raise InputError(f"{where}, line {error.lineno}: no Python ({error.msg})") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"{where}: no Python ({error})") from None
    found: dict[str, tuple[Any, int]] = {}
    for statement in body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Name) and target.id in SETTINGS:
                found[target.id] = _literal(statement.value, where), statement.lineno
                continue
            if isinstance(target, ast.Name) and all(isinstance(node, _HARMLESS) for node in ast.walk(statement.value)):
                continue
        if (
            isinstance(statement, ast.AugAssign)
            and isinstance(statement.op, ast.Add)
            and isinstance(statement.target, ast.Name)
        ):
            held, _ = found.get(statement.target.id, (None, 0))
            added = _literal(statement.value, where)
            if isinstance(held, list) and isinstance(added, list):
                found[statement.target.id] = held + added, statement.lineno
                continue
        raise InputError(
            f"{where}, line {statement.lineno}: neither an assignment of a literal nor += of a list; "
            f"nothing of such a file is executed"
        )
    return found


def _literal(node: ast.expr, where: str) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise InputError(f"{where}, line {node.lineno}: not a literal; nothing of such a file is executed") from None
