"""The rows of a table of embeddings that the texts of a training read, trained without the others.

A gradient of the whole table, its norm and the optimizer's step over it cost as much for rows that no text reads, whose
gradient is zero, as for the others: in a small model with a large vocabulary more than all layers together.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from assay.training.tokens import TokenTable

__all__ = ["ReadRows", "only_read_rows", "with_whole_table"]


class ReadRows(nn.Module):  # type: ignore[misc]  # torch has no types here
    """Stands in for a table of embeddings; gives the same for every token that is read.

    Args:
        table: the whole one; what is learned is written into it by :meth:`write`.
        read: numbers of the rows that are read, sorted, shape (r,).
    """

    def __init__(self, table: nn.Embedding, read: torch.Tensor) -> None:
        super().__init__()
        self.read = read.to(table.weight.device)
        self._table = (table,)  # a tuple, or its weight would be a parameter
        self.weight = nn.Parameter(table.weight.detach()[self.read].clone())
        places = torch.zeros(len(table.weight), dtype=torch.int64, device=table.weight.device)
        places[self.read] = torch.arange(len(read), device=places.device)
        self.register_buffer("places", places, persistent=False)
        # the padding token has no gradient in the whole table, and has none here
        self._padding = None if table.padding_idx is None else int(places[table.padding_idx])

    @property
    def table(self) -> nn.Embedding:
        """The whole table."""
        return self._table[0]

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return embeddings of tokens that are read, shape of *ids* plus (dimensions,)."""
        found: torch.Tensor = functional.embedding(self.places[ids], self.weight, self._padding)
        return found

    def write(self) -> None:
        """Write the rows into the whole table."""
        whole = self.table.weight
        with torch.no_grad():
            whole[self.read.to(whole.device)] = self.weight.to(whole)

    def fetch(self) -> None:
        """Take the rows from the whole table, in place."""
        whole = self.table.weight
        with torch.no_grad():
            self.weight.copy_(whole[self.read.to(whole.device)])


@contextmanager
def only_read_rows(whole: Any, tokens: TokenTable) -> Iterator[None]:
    """Have a model train the rows of its table of embeddings that its texts read, and no others, inside the block.

    Each step is the one that it would be with all rows, but for the weight decay of rows that are not read: they stay
    what they are. A model without a plain table of embeddings, or with a frozen one, is left as it is.

    Args:
        whole: the model of sentence-transformers, changed in place.
        tokens: of all texts that it will see.
    """
    body = getattr(whole[0], "model", None)
    table = _table_of(body)
    if body is None or type(table) is not nn.Embedding or not _is_its_own(body, table):
        yield
        return
    pads = [tokens.pad, *([] if table.padding_idx is None else [table.padding_idx])]
    rows = ReadRows(table, torch.unique(torch.cat([tokens.ids.long(), torch.tensor(pads)])))
    body.set_input_embeddings(rows)
    try:
        yield
    finally:
        rows.write()
        body.set_input_embeddings(table)


def _table_of(body: Any) -> Any:
    """Return the table of embeddings of a transformer, or None where there is none."""
    return body.get_input_embeddings() if hasattr(body, "get_input_embeddings") else None


def _is_its_own(body: Any, table: nn.Embedding) -> bool:
    """Return whether a table is trained in the plain way and its weight stands nowhere else in the model."""
    plain = table.weight.requires_grad and table.max_norm is None and not table.sparse and not table.scale_grad_by_freq
    places = [name for name, value in body.named_parameters(remove_duplicate=False) if value is table.weight]
    return plain and len(places) == 1


@contextmanager
def with_whole_table(whole: Any) -> Iterator[None]:
    """Give a model its whole table back for as long as the block runs, to be saved or loaded."""
    body = getattr(whole[0], "model", None)
    rows = _table_of(body)
    if body is None or not isinstance(rows, ReadRows):
        yield
        return
    rows.write()
    body.set_input_embeddings(rows.table)
    try:
        yield
    finally:
        rows.fetch()
        body.set_input_embeddings(rows)
