"""Reports in a terminal: tables that fit its width, without control characters that it would interpret.

Groups become headings, and notes on rows become footnotes. If a table is too wide, heads and texts are wrapped; then
less important columns are left out with a hint; what is still too wide continues below. Numbers are never truncated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from assay.common.visible import brief_text
from assay.reports.sheets import Document, Sheet, ShortNames

#: Row names up to this length are not wrapped.
MAX_UNWRAPPED_NAME = 24
#: Words and parts of names of at most this many characters are not broken.
MAX_UNBROKEN_WORD = 16
#: The smallest width to which a text column is narrowed; the terminal wraps lines that are still too wide.
MIN_SQUEEZED_WIDTH = 8
#: The smallest width of a column of long texts.
MIN_TEXT_WIDTH = 20
#: The maximum number of notes below a table that are shown without ``--explain``.
MAX_NOTES = 4
#: Follows the name of a row that has a footnote.
FOOTNOTE_MARK = " *"


def rich_text(text: str, style: str = "") -> Text:
    """Return a Rich text in a style, with control characters spelt out by :func:`~assay.common.visible.brief_text`.

    Brackets in the text are not interpreted as Rich markup.
    """
    return Text(brief_text(text), style=style)


class TerminalReport:
    """A document for Rich to print, laid out for the width of the console.

    Args:
        document: the report.
        asking: what asks for the whole report, such as a flag. Spare rows, spare columns that do not fit, less
            important notes, the method, signatures and, above a closing, tables on parts of the data are then left out,
            with hints that name the flag. If None, everything is shown.
    """

    def __init__(self, document: Document, asking: str | None = None) -> None:
        self._document = document
        self._asking = asking

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Yield the lines and tables of the report, in order; Rich calls this method to print the report."""
        document, asking = self._document, self._asking
        names = ShortNames(document.metrics)
        yield from _styled_lines(map(names.shorten_within, document.hints), "yellow")
        for full_sheet in document.sheets:
            if full_sheet.is_of_part and document.closing and asking is not None:
                continue
            sheet = full_sheet
            if full_sheet.spare_rows and asking is not None:
                sheet = _without_spare_rows(full_sheet, asking)
            yield rich_text(names.shorten_within(sheet.title), "bold")
            yield from _styled_lines(map(names.shorten_within, sheet.facts), "dim")
            if sheet.columns:
                yield from _render_sheet(names.shorten_sheet(sheet), options.max_width, asking)
            yield from _styled_lines(_notes_below(sheet, names, asking), "dim")
            yield from _styled_lines(map(names.shorten_within, sheet.warnings), "yellow")
            yield rich_text("")
        yield from _styled_lines(map(names.shorten_within, document.warnings), "yellow")
        provenance = document.provenance
        if asking is None:
            yield from _styled_lines(document.notes, "dim")
            if provenance is not None:
                signatures = [f"{metric}: {signature}" for metric, signature in provenance.metrics.items()]
                yield from _styled_lines([provenance.method, provenance.signature, *signatures], "dim")
        elif document.notes or provenance is not None:
            part_count = sum(sheet.is_of_part for sheet in document.sheets) if document.closing else 0
            parts = f", signatures and {part_count} tables of parts" if part_count else " and signatures"
            yield rich_text(f"Method{parts}: {asking}", "dim")
        if document.closing:
            yield rich_text("")
            yield from _styled_lines(map(names.shorten_within, document.closing), "bold")


def _styled_lines(lines: Iterable[str], style: str) -> Iterator[Text]:
    for line in lines:
        yield rich_text(line, style)


def _without_spare_rows(sheet: Sheet, asking: str) -> Sheet:
    """Return a sheet without its minor rows at the end, and with a note that counts them."""
    note = f"not shown: {sheet.spare_rows:,} {sheet.spare_words} ({asking})"
    return replace(sheet, rows=sheet.rows[: -sheet.spare_rows], notes=[note, *sheet.notes])


@dataclass(frozen=True)
class _FixedWidthTable:
    """A table that keeps its width in a narrower console, where the terminal wraps its lines and truncates no number.

    Attributes:
        table: the Rich table.
        width: the number of characters in a line.
    """

    table: Table
    width: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        yield from console.render(self.table, options.update(width=self.width, no_wrap=True))


# Notes.


def _notes_below(sheet: Sheet, names: ShortNames, asking: str | None) -> list[str]:
    """Return the lines below a table: facts on groups that have several, footnotes and notes.

    If *asking* is not None, these are the facts on the first group and at most :data:`MAX_NOTES` of the other lines,
    followed by a line with the number of those left out and what asks for them. A single line is not left out, since
    the line that counts it would take its place.

    Args:
        sheet: the table.
        names: the short names of metrics, for the lines of a shortened report.
        asking: what asks for the whole report; None to show it.
    """
    # the heading of a group already shows its first fact
    groups_with_further_facts = {group: facts for group, facts in sheet.groups.items() if len(facts) > 1}
    group_lines = replace(sheet, groups=groups_with_further_facts).facts_of_groups()
    if asking is None:
        return [*group_lines, *_footnote_lines(sheet), *sheet.notes]
    notes = [names.shorten_within(note) for note in (*_footnote_lines(sheet), *sheet.notes)]
    if len(notes) > MAX_NOTES + 1:
        notes = [*notes[:MAX_NOTES], f"{len(notes) - MAX_NOTES} more notes: {asking}"]
    # the first group is the bucket of all pairs; its facts are the distribution, ties and reliability of the labels
    return [*group_lines[:1], *notes]


def _footnote_lines(sheet: Sheet) -> list[str]:
    """Return one line per note, with the rows that it belongs to: ``* constant score: f1 (all, f1=0)``."""
    # for each note the names of its rows, and for each of them the groups in which the row has it
    groups_by_name_and_note: dict[str, dict[str, list[str]]] = {}
    # a sheet without remarks has no list of them
    for row, notes in zip(sheet.rows, sheet.row_notes, strict=False):
        for note in notes:
            groups = groups_by_name_and_note.setdefault(note, {}).setdefault(row[sheet.label_column], [])
            if sheet.groups:
                groups.append(row[0])
    lines = []
    for note, groups_by_name in groups_by_name_and_note.items():
        names = [f"{name} ({', '.join(groups)})" if groups else name for name, groups in groups_by_name.items()]
        lines.append(f"* {note}: {', '.join(names)}")
    return lines


# The table: its columns and their widths.


@dataclass(frozen=True)
class _ColumnBlock:
    """Columns that are printed side by side.

    Attributes:
        widths: the width of each column in characters, by its index in the sheet.
        gap: the number of spaces between two columns.
    """

    widths: Mapping[int, int]
    gap: int

    @property
    def width(self) -> int:
        """The number of characters in a line."""
        return sum(self.widths.values()) + self.gap * (len(self.widths) - 1)


def _render_sheet(sheet: Sheet, width: int, asking: str | None) -> Iterator[RenderableType]:
    """Yield the printed parts of a table.

    They are one block if the table fits into *width*. If not, and *asking* is not None, spare columns are left out
    until it fits, and a last line names them; a table that is still too wide is printed as several blocks.

    Args:
        sheet: the table.
        width: the number of characters in a line of the terminal.
        asking: what asks for all columns, for the line that names those left out; None to keep all.
    """
    sheet = _with_printed_texts(sheet)
    column_indices = sheet.shown_columns()
    block = _fit_block(sheet, column_indices, width)
    hidden_heads: list[str] = []
    while block is None and asking is not None and any(sheet.columns[index].spare for index in column_indices):
        most_spare = max(column_indices, key=lambda index: (sheet.columns[index].spare, index))
        # in the order of the table: of equally spare columns the last is removed first
        hidden_heads.insert(0, sheet.columns[most_spare].head)
        column_indices.remove(most_spare)
        block = _fit_block(sheet, column_indices, width)
    blocks = [block] if block is not None else _split_into_blocks(sheet, column_indices, width)
    for index, column_block in enumerate(blocks):
        if index:
            yield rich_text("")
        yield from _render_block(sheet, column_block)
    if hidden_heads:
        yield rich_text(f"not shown in {width} columns: {', '.join(hidden_heads)} ({asking})", "dim")


def _split_into_blocks(sheet: Sheet, column_indices: Sequence[int], width: int) -> list[_ColumnBlock]:
    """Return the blocks of at most *width* characters into which a table is split, in the order of its columns.

    Each block repeats the key columns, or the first column if there are none. A block with a single further column may
    be wider than *width*, as far as :func:`_squeeze_block` cannot narrow it.
    """
    key_columns = [column for column in column_indices if sheet.columns[column].key] or list(column_indices[:1])
    blocks = []
    remaining = [column for column in column_indices if column not in key_columns]
    while remaining:
        # as many further columns as fit, but at least one
        added_count = 1
        while added_count < len(remaining) and _fit_block(sheet, [*key_columns, *remaining[: added_count + 1]], width):
            added_count += 1
        columns = [*key_columns, *remaining[:added_count]]
        blocks.append(_fit_block(sheet, columns, width) or _squeeze_block(sheet, columns, width))
        remaining = remaining[added_count:]
    return blocks or [_squeeze_block(sheet, key_columns, width)]


def _squeeze_block(sheet: Sheet, columns: Sequence[int], width: int) -> _ColumnBlock:
    """Return a block whose text columns are narrowed, the widest first, until it fits into *width* characters.

    A column is not narrowed below :data:`MIN_SQUEEZED_WIDTH`, and number columns keep their width, so the block may
    still be too wide.
    """
    widths = {column: _least_column_width(sheet, column) for column in columns}
    text_columns = [column for column in columns if not sheet.columns[column].number]
    while text_columns and _ColumnBlock(widths, 2).width > width:
        widest_column = max(text_columns, key=lambda column: widths[column])
        if widths[widest_column] <= MIN_SQUEEZED_WIDTH:
            break
        widths[widest_column] -= 1
    return _ColumnBlock(widths, 2)


def _fit_block(sheet: Sheet, columns: Sequence[int], width: int) -> _ColumnBlock | None:
    """Return the widest block of these columns that fits into *width* characters; None if none fits.

    The gaps between columns are narrowed first, then the columns, but none below its least width.
    """
    full_widths = {
        column: max(map(cell_len, [sheet.columns[column].head, *(row[column] for row in sheet.rows)]))
        for column in columns
    }
    for gap in (3, 2):
        block = _ColumnBlock(full_widths, gap)
        if block.width <= width:
            return block
    narrowest = _ColumnBlock({column: _least_column_width(sheet, column) for column in columns}, 2)
    if narrowest.width > width:
        return None
    widths, spare_width = dict(narrowest.widths), width - narrowest.width
    # widen the columns in turn until the width is used up
    while spare_width:
        narrow_columns = [column for column in columns if widths[column] < full_widths[column]]
        for column in narrow_columns[:spare_width]:
            widths[column] += 1
        if not narrow_columns:
            # the rest stays unused
            break
        spare_width -= min(spare_width, len(narrow_columns))
    return _ColumnBlock(widths, 2)


def _least_column_width(sheet: Sheet, column_index: int) -> int:
    """Return the smallest width of a column in characters.

    Numbers and short names are not wrapped, and heads only between words. Longer names and texts are wrapped, see
    :data:`MAX_UNWRAPPED_NAME`, :data:`MAX_UNBROKEN_WORD` and :data:`MIN_TEXT_WIDTH`.
    """
    column = sheet.columns[column_index]
    cells = [row[column_index] for row in sheet.rows]
    head_width = max(map(cell_len, column.head.split()), default=0)
    widest_cell = max(map(cell_len, cells), default=0)
    if column.number:
        return max(head_width, widest_cell)
    if column_index != sheet.label_column and not column.key:
        return max(head_width, min(widest_cell, MIN_TEXT_WIDTH))
    if widest_cell <= MAX_UNWRAPPED_NAME:
        return max(head_width, widest_cell)
    pieces = [piece for cell in cells for _, piece in _breakable_pieces(cell)]
    widest_piece = min(max(map(cell_len, pieces)), MAX_UNBROKEN_WORD)
    return max(head_width, _column_indent(sheet, column_index) + widest_piece)


def _column_indent(sheet: Sheet, column: int) -> int:
    """Return the number of spaces before a cell: two for the names of rows under a heading."""
    return 2 if sheet.groups and column == sheet.label_column else 0


def _with_printed_texts(sheet: Sheet) -> Sheet:
    """Return a sheet whose heads and cells are as they are printed, with no cell missing.

    The name of a row is indented under a heading, and marked if the row has a footnote. The names of groups, which are
    in no printed column, stay as they are.
    """
    label = sheet.label_column
    rows = []
    for number, row in enumerate(sheet.rows):
        missing_cells = [""] * (len(sheet.columns) - len(row))
        cells = [*row[:label], *map(brief_text, row[label:]), *missing_cells]
        mark = FOOTNOTE_MARK if sheet.row_notes and sheet.row_notes[number] else ""
        cells[label] = " " * _column_indent(sheet, label) + cells[label] + mark
        rows.append(cells)
    columns = [replace(column, head=brief_text(column.head)) for column in sheet.columns]
    return replace(sheet, columns=columns, rows=rows)


# The table: its lines.


def _render_block(sheet: Sheet, block: _ColumnBlock) -> Iterator[RenderableType]:
    """Yield the printed parts of a block: heads, a rule, and the rows, those of each group below its heading if any."""
    heads = _empty_block_table(sheet, block)
    wrapped_heads = [_wrap_text(sheet.columns[column].head, width) for column, width in block.widths.items()]
    heads.add_row(*(Text(head, style="bold") for head in wrapped_heads))
    yield _FixedWidthTable(heads, block.width)
    yield rich_text("─" * block.width)
    for group_index, (heading, rows) in enumerate(sheet.grouped_rows()):
        if heading:
            if group_index:
                yield rich_text("")
            yield rich_text("  ".join(heading), "bold")
        table = _empty_block_table(sheet, block)
        for row in rows:
            row_style = "dim" if row in sheet.asides else ""
            cells = []
            for column, width in block.widths.items():
                text = _wrap_text(sheet.rows[row][column], width, _column_indent(sheet, column))
                cells.append(Text(text, style="bold" if sheet.is_emphasised(row, column) else row_style))
            table.add_row(*cells)
        if rows:
            yield _FixedWidthTable(table, block.width)


def _empty_block_table(sheet: Sheet, block: _ColumnBlock) -> Table:
    """Return an empty table with fixed column widths and without a head, so that several tables align."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, block.gap, 0, 0))
    for column, width in block.widths.items():
        justify = "right" if sheet.columns[column].number else "left"
        # mypy infers str for *justify*, where Rich declares a Literal
        table.add_column(justify=justify, width=width, no_wrap=True, overflow="fold")  # type: ignore[arg-type]
    return table


def _wrap_text(text: str, width: int, indent: int = 0) -> str:
    """Return text wrapped to *width*: between words, in a long name after ``,:/=``, and elsewhere only if needed.

    Args:
        text: text that is brief already and begins with its indentation.
        width: the number of characters in a line.
        indent: the number of spaces before each line.
    """
    if cell_len(text) <= width:
        return text
    lines, line = [], ""
    for gap, piece in _breakable_pieces(text):
        if line and cell_len(line + gap + piece) <= width - indent:
            line += gap + piece
            continue
        if line:
            lines.append(line)
        # a piece that is wider than a line is cut
        *full_lines, line = chop_cells(piece, max(width - indent, 1))
        lines += full_lines
    return "\n".join(" " * indent + wrapped_line for wrapped_line in [*lines, line])


def _breakable_pieces(text: str) -> Iterator[tuple[str, str]]:
    """Yield the pieces of a text between which a line may break, each as (preceding space or empty, piece).

    Only words longer than :data:`MAX_UNBROKEN_WORD` are divided, after ``,:/=``. A footnote mark is not a piece of its
    own, so that it stays beside the end of a name.
    """
    words = text.removesuffix(FOOTNOTE_MARK).split() or [""]
    if text.endswith(FOOTNOTE_MARK):
        words[-1] += FOOTNOTE_MARK
    for word in words:
        if cell_len(word) <= MAX_UNBROKEN_WORD:
            yield " ", word
            continue
        gap = " "
        for piece in re.findall(r"[^,:/=]+[,:/=]*|[,:/=]+", word):
            yield gap, piece
            gap = ""
