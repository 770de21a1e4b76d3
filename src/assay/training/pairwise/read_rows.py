"""Trains only the embedding rows whose tokens occur in the texts of a training.

The gradient of the full table, its norm and the optimizer's step cost the same for rows that no text reads, whose
gradient is zero: in a small model with a large vocabulary, more than all layers together.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from assay.training.models import TokenTable


class ReadRows(nn.Module):  # type: ignore[misc]  # torch has no types here
    """Replaces an embedding table by those of its rows that texts read; embeds their tokens as the table does.

    Args:
        table: the full table; :meth:`copy_to_table` copies the trained rows into it.
        row_numbers: the numbers of the rows that are read, sorted, shape (r,).

    Attributes:
        new_indices: the index among the r rows of each row of the full table, int64; 0 for rows that are not read.
    """

    def __init__(self, table: nn.Embedding, row_numbers: torch.Tensor) -> None:
        super().__init__()
        self.row_numbers = row_numbers.to(table.weight.device)
        self._table = (table,)  # in a tuple, or torch would register its weight as a parameter
        self.weight = nn.Parameter(table.weight.detach()[self.row_numbers].clone())
        new_indices = torch.zeros(len(table.weight), dtype=torch.int64, device=table.weight.device)
        new_indices[self.row_numbers] = torch.arange(len(row_numbers), device=new_indices.device)
        self.register_buffer("new_indices", new_indices, persistent=False)
        # The padding token has no gradient in the full table, so it must have none here.
        self._padding = None if table.padding_idx is None else int(new_indices[table.padding_idx])

    @property
    def table(self) -> nn.Embedding:
        """The full table."""
        return self._table[0]

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the embeddings of tokens, shape of *ids* plus (dimensions,); their rows must be among those read."""
        embeddings: torch.Tensor = functional.embedding(self.new_indices[ids], self.weight, self._padding)
        return embeddings

    def copy_to_table(self) -> None:
        """Copy the trained rows into the full table."""
        weight = self.table.weight
        with torch.no_grad():
            weight[self.row_numbers.to(weight.device)] = self.weight.to(weight)

    def copy_from_table(self) -> None:
        """Copy the rows from the full table, in place."""
        weight = self.table.weight
        with torch.no_grad():
            self.weight.copy_(weight[self.row_numbers.to(weight.device)])


@contextmanager
def train_only_read_rows(model: Any, tokens: TokenTable) -> Iterator[None]:
    """Inside the block, train only those rows of a model's embedding table that its texts read.

    At the end, also after an error, the full table is put back with the trained rows in it.

    Every step is the same as with the full table, except that rows that are not read have no weight decay: they keep
    their values. A model is left unchanged if it has no plain embedding table, or if this table is frozen, shares its
    weight with another part of the model, or has options such as a maximal norm.

    Args:
        model: a sentence-transformers model, changed in place.
        tokens: the tokens of all texts that the model will read.
    """
    body = getattr(model[0], "model", None)
    table = _embedding_table(body)
    if body is None or type(table) is not nn.Embedding or not _is_trained_alone(body, table):
        yield
        return
    pads = [tokens.pad]
    if table.padding_idx is not None:
        pads.append(table.padding_idx)
    read_ids = torch.cat([tokens.ids.long(), torch.tensor(pads)])
    rows = ReadRows(table, torch.unique(read_ids))
    body.set_input_embeddings(rows)
    try:
        yield
    finally:
        rows.copy_to_table()
        body.set_input_embeddings(table)


def _embedding_table(body: Any) -> Any:
    """Return the embedding table of a transformer, or None if it has none."""
    return body.get_input_embeddings() if hasattr(body, "get_input_embeddings") else None


def _is_trained_alone(body: Any, table: nn.Embedding) -> bool:
    """Return whether a table is trained without special options and its weight is not tied to another parameter."""
    has_options = table.max_norm is not None or table.sparse or table.scale_grad_by_freq
    uses = [name for name, value in body.named_parameters(remove_duplicate=False) if value is table.weight]
    return table.weight.requires_grad and not has_options and len(uses) == 1


@contextmanager
def restore_whole_table(model: Any) -> Iterator[None]:
    """Inside the block, restore a model's full embedding table so that the model can be saved or loaded.

    At the end the rows that are trained are read from the table again. A model with its full table is left unchanged.
    """
    body = getattr(model[0], "model", None)
    rows = _embedding_table(body)
    if body is None or not isinstance(rows, ReadRows):
        yield
        return
    rows.copy_to_table()
    body.set_input_embeddings(rows.table)
    try:
        yield
    finally:
        rows.copy_from_table()
        body.set_input_embeddings(rows)
