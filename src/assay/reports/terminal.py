"""A report in a terminal: tables that fit its width, and no text that acts on it.

Groups become headings, notes on rows footnotes. Where a table is too wide, heads and texts take several lines, then
columns that say less are left out with a hint, and what is still too wide goes on below. A number is never cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from assay.reports.sheets import Document, Sheet, ShortNames
from assay.visible import brief

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment
    from rich.table import Table
    from rich.text import Text

#: A name of a row that is not longer is not wrapped.
SHORT_NAME = 24
#: Width that a word, or the longest part of a name, keeps before it is broken.
LONGEST_PIECE = 16
#: Width below which no text is squeezed: what is still too wide then, a terminal wraps.
SHORTEST_LINE = 8
#: Width of the narrowest column of long texts.
NARROWEST_TEXT = 20
#: Notes below a table that are shown without ``--explain``.
MOST_NOTES = 4
#: Stands behind the name of a row that has a footnote.
MARK = " *"
#: What the last line says where more is known.
HINT = "Method and signatures: --explain"


def rich_text(text: str, style: str = "") -> Text:
    """Return text for Rich to print in a style: nothing in it is markup, and :func:`~assay.visible.brief` shows it."""
    return _printed(brief(text), style)


def _printed(text: str, style: str = "") -> Text:
    """Return text that is brief already, broken into lines, as :func:`rich_text` does."""
    from rich.text import Text

    return Text(text, style=style)


class TerminalReport:
    """A document for Rich to print, laid out for the width of the console.

    Args:
        document: the report.
        explain: whether to show every column and note, method and signatures; else the tables and the few notes that
            change what they say.
    """

    def __init__(self, document: Document, *, explain: bool = True) -> None:
        self._document = document
        self._explain = explain

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Yield the lines and tables."""
        document, explain = self._document, self._explain
        names = ShortNames(document.metrics)
        yield from _lines(map(names.within, document.hints), "yellow")
        for whole in document.sheets:
            sheet = whole if explain else _without_spare_rows(whole)
            yield rich_text(names.within(sheet.title), "bold")
            yield from _lines(map(names.within, sheet.facts), "dim")
            if sheet.columns:
                yield from _table(names.in_sheet(sheet), options.max_width, explain=explain)
            yield from _lines(_notes_below(sheet, names, explain=explain), "dim")
            yield from _lines(map(names.within, sheet.warnings), "yellow")
            yield rich_text("")
        yield from _lines(map(names.within, document.warnings), "yellow")
        made = document.provenance
        if explain:
            yield from _lines(document.notes, "dim")
        elif document.notes or made is not None:
            yield rich_text(HINT, "dim")
        if explain and made is not None:
            yield from _lines([made.method, made.signature], "dim")
            yield from _lines([f"{metric}: {signature}" for metric, signature in made.metrics.items()], "dim")


def _lines(lines: Iterable[str], style: str) -> Iterator[Text]:
    for line in lines:
        yield rich_text(line, style)


def _without_spare_rows(sheet: Sheet) -> Sheet:
    """Return a sheet without the last rows that say little, and with a note that counts them."""
    if not sheet.spare_rows:
        return sheet
    line = f"not shown: {sheet.spare_rows:,} {sheet.spare_words} (--explain)"
    return replace(sheet, rows=sheet.rows[: -sheet.spare_rows], notes=[line, *sheet.notes])


@dataclass(frozen=True)
class _Wide:
    """A table that keeps its width where a console has less: the terminal wraps its lines, and no number is cut."""

    table: Table
    width: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        yield from console.render(self.table, options.update(width=self.width, no_wrap=True))


# Notes.


def _notes_below(sheet: Sheet, names: ShortNames, *, explain: bool) -> list[str]:
    """Return the lines below a table: facts of groups, footnotes and notes, or of these the first few."""
    # a heading shows the first fact of its group
    more = {group: facts for group, facts in sheet.groups.items() if len(facts) > 1}
    of_groups = replace(sheet, groups=more).facts_of_groups()
    if explain:
        return [*of_groups, *_footnotes(sheet), *sheet.notes]
    notes = [names.within(note) for note in (*_footnotes(sheet), *sheet.notes)]
    if len(notes) > MOST_NOTES + 1:
        notes = [*notes[:MOST_NOTES], f"{len(notes) - MOST_NOTES} more notes: --explain"]
    # the first group is all pairs: how many have which label, ties, and how reliable the labels are
    return [*of_groups[:1], *notes]


def _notes_on(sheet: Sheet, number: int) -> list[str]:
    """Return the notes on a row, each once."""
    cells = [sheet.cell(number, position) for position, column in enumerate(sheet.columns) if column.is_note]
    return [note for cell in cells for note in cell.split("; ") if note]


def _footnotes(sheet: Sheet) -> list[str]:
    """Return a line a note, with the rows it belongs to: ``* constant score: f1 (all, f1=0)``."""
    marked: dict[str, dict[str, list[str]]] = {}
    for number, row in enumerate(sheet.rows):
        for note in _notes_on(sheet, number):
            groups = marked.setdefault(note, {}).setdefault(row[sheet.label], [])
            if sheet.groups:
                groups.append(row[0])
    lines = []
    for note, rows in marked.items():
        names = [f"{name} ({', '.join(groups)})" if groups else name for name, groups in rows.items()]
        lines.append(f"* {note}: {', '.join(names)}")
    return lines


# The table: which columns, how wide.


@dataclass(frozen=True)
class _Block:
    """Columns that stand beside each other: the width of each, by its number, and the blanks between two."""

    widths: Mapping[int, int]
    gap: int

    @property
    def width(self) -> int:
        """Characters in a line."""
        return sum(self.widths.values()) + self.gap * (len(self.widths) - 1)


def _table(sheet: Sheet, width: int, *, explain: bool) -> Iterator[RenderableType]:
    """Yield a table as one block where it fits, without spare columns where it may leave them out, or as several."""
    shown = sheet.narrow()
    block = _fitted(sheet, shown, width)
    hidden: list[str] = []
    while block is None and not explain and any(sheet.columns[number].spare for number in shown):
        least_said = max(shown, key=lambda number: (sheet.columns[number].spare, number))
        hidden.insert(0, sheet.columns[least_said].head)
        shown.remove(least_said)
        block = _fitted(sheet, shown, width)
    blocks = [block] if block is not None else _continued(sheet, shown, width)
    for number, one in enumerate(blocks):
        if number:
            yield rich_text("")
        yield from _drawn(sheet, one)
    if hidden:
        yield rich_text(f"not shown in {width} columns: {', '.join(hidden)} (--explain)", "dim")


def _continued(sheet: Sheet, shown: Sequence[int], width: int) -> list[_Block]:
    """Return blocks below each other, which all begin with the columns that name the rows."""
    keys = [number for number in shown if sheet.columns[number].key] or list(shown[:1])
    blocks = []
    rest = [number for number in shown if number not in keys]
    while rest:
        taken = 1
        while taken < len(rest) and _fitted(sheet, [*keys, *rest[: taken + 1]], width):
            taken += 1
        columns = [*keys, *rest[:taken]]
        blocks.append(_fitted(sheet, columns, width) or _squeezed(sheet, columns, width))
        rest = rest[taken:]
    return blocks or [_squeezed(sheet, keys, width)]


def _squeezed(sheet: Sheet, columns: Sequence[int], width: int) -> _Block:
    """Return columns whose texts have lines so short that the block fits, or as short as can be read."""
    widths = dict(_least_block(sheet, columns).widths)
    texts = [number for number in columns if not sheet.columns[number].number]
    while texts and _Block(widths, 2).width > width:
        widest = max(texts, key=lambda number: widths[number])
        if widths[widest] <= SHORTEST_LINE:
            break
        widths[widest] -= 1
    return _Block(widths, 2)


def _fitted(sheet: Sheet, columns: Sequence[int], width: int) -> _Block | None:
    """Return columns with their widths, as far from each other as there is room; None where there is not enough."""
    full = {number: _full_width(sheet, number) for number in columns}
    for gap in (3, 2):
        block = _Block(full, gap)
        if block.width <= width:
            return block
    least = _least_block(sheet, columns)
    if least.width > width:
        return None
    widths, room = dict(least.widths), width - least.width
    while room:
        narrow = [number for number in columns if widths[number] < full[number]]
        for number in narrow[:room]:
            widths[number] += 1
        room -= min(room, len(narrow)) or room
    return _Block(widths, 2)


def _least_block(sheet: Sheet, columns: Sequence[int]) -> _Block:
    return _Block({number: _least_width(sheet, number) for number in columns}, 2)


def _full_width(sheet: Sheet, number: int) -> int:
    return max(map(_width, [_head(sheet, number), *_cells(sheet, number)]))


def _least_width(sheet: Sheet, number: int) -> int:
    """Return how narrow a column can be: numbers are never cut, heads, long names and texts are wrapped."""
    column = sheet.columns[number]
    head = max(map(_width, _head(sheet, number).split()), default=0)
    widest = max(map(_width, _cells(sheet, number)), default=0)
    if column.number:
        return max(head, widest)
    if number != sheet.label and not column.key:
        return max(head, min(widest, NARROWEST_TEXT))
    if widest <= SHORT_NAME:
        return max(head, widest)
    pieces = [piece for cell in _cells(sheet, number) for _, piece in _pieces(cell)]
    return max(head, _indent(sheet, number) + min(max(map(_width, pieces)), LONGEST_PIECE))


def _head(sheet: Sheet, number: int) -> str:
    return brief(sheet.columns[number].head)


def _cells(sheet: Sheet, number: int) -> list[str]:
    return [_shown_cell(sheet, row, number) for row in range(len(sheet.rows))]


def _indent(sheet: Sheet, column: int) -> int:
    """Return how far a cell is indented: names under a heading."""
    return 2 if sheet.groups and column == sheet.label else 0


def _shown_cell(sheet: Sheet, row: int, column: int) -> str:
    """Return a cell, brief; the name of a row under a heading is indented, with a mark where a footnote is on it."""
    cell = brief(sheet.cell(row, column))
    if column != sheet.label:
        return cell
    mark = MARK if any(_notes_on(sheet, row)) else ""
    return " " * _indent(sheet, column) + cell + mark


def _width(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


# The table: lines.


def _drawn(sheet: Sheet, block: _Block) -> Iterator[RenderableType]:
    """Yield the lines of a block: heads, a rule, and for each group its heading and rows."""
    heads = _grid(sheet, block)
    cells = []
    for number, width in block.widths.items():
        cells.append(_printed(_wrapped(_head(sheet, number), width), "bold"))
    heads.add_row(*cells)
    yield _Wide(heads, block.width)
    yield rich_text("─" * block.width)
    for place, (heading, rows) in enumerate(sheet.headed()):
        if heading:
            if place:
                yield rich_text("")
            yield rich_text("  ".join(heading), "bold")
        table = _grid(sheet, block)
        for row in rows:
            cells = []
            for column, width in block.widths.items():
                style = "bold" if sheet.stands_out(row, column) else "dim" if row in sheet.asides else ""
                text = _wrapped(_shown_cell(sheet, row, column), width, _indent(sheet, column))
                cells.append(_printed(text, style))
            table.add_row(*cells)
        if rows:
            yield _Wide(table, block.width)


def _grid(sheet: Sheet, block: _Block) -> Table:
    """Return a table of columns of fixed width, without a head, so that several align below each other."""
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, block.gap, 0, 0))
    for number, width in block.widths.items():
        justify = "right" if sheet.columns[number].number else "left"
        table.add_column(justify=justify, width=width, no_wrap=True, overflow="fold")  # type: ignore[arg-type]
    return table


def _wrapped(text: str, width: int, indent: int = 0) -> str:
    """Return text in lines of at most *width*, broken between words, in a long name after ``,:/=``, or else anywhere.

    Args:
        text: brief; begins with the indentation.
        width: characters in a line.
        indent: blanks before each line.
    """
    if _width(text) <= width:
        return text
    from rich.cells import chop_cells

    lines, line = [], ""
    for gap, piece in _pieces(text):
        if line and _width(line + gap + piece) <= width - indent:
            line += gap + piece
            continue
        lines += [line] if line else []
        *full, line = chop_cells(piece, max(width - indent, 1))
        lines += full
    return "\n".join(" " * indent + one for one in [*lines, line])


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a text between which it may be broken, each with the blank before it, if any.

    The mark of a footnote is no part of its own: it stays beside the end of a name.
    """
    *words, last = text.removesuffix(MARK).split() or [""]
    for word in [*words, last + MARK if text.endswith(MARK) else last]:
        if _width(word) <= LONGEST_PIECE:
            yield " ", word
            continue
        for place, piece in enumerate(re.findall(r"[^,:/=]+[,:/=]*|[,:/=]+", word)):
            yield "" if place else " ", piece
