"""The aspects in which two AMR graphs are compared, by name."""

from __future__ import annotations

__all__ = ["ASPECTS"]

#: The fifteen of Opitz and Frank 2022 (S3BERT), in the order of their table 1.
ASPECTS = (
    "smatch",
    "wlk",
    "wwlk",
    "frames",
    "unlabeled",
    "named-entities",
    "negation",
    "concepts",
    "coreference",
    "srl",
    "max-indegree",
    "max-outdegree",
    "max-degree",
    "root",
    "quantifiers",
)
