"""The result of a comparison, for programs, tests and notebooks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from decimal import Context, localcontext
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillian.data.results.groups import MeasureSummary
from skillian.data.results.rows import ColumnResult
from skillian.data.schema.diff import SchemaDiff
from skillian.data.sql.values import jsonable, python_rows
from skillian.display import as_text, cell_in_words, cells_in_words, cut, show_rows
from skillian.errors import InvalidInputError, quoted
from skillian.library.running import run
from skillian.reports.outcome import ROWS, Compared, Format
from skillian.reports.replacing import write_whole

if TYPE_CHECKING:
    from skillian.data.tables.why.results import Why
    from skillian.library.kept import RowsFile

_SHOWN = 10


class Rows:
    """Rows that differ, as an Arrow table; any library that reads Arrow streams takes them.

    Args:
        table: The `pyarrow.Table`.
    """

    def __init__(self, table: Any) -> None:
        self._table = table

    def to_arrow(self) -> Any:
        """The rows as a `pyarrow.Table`."""
        return self._table

    def to_pandas(self) -> Any:
        """The rows as a data frame of pandas."""
        return self._table.to_pandas()

    def to_polars(self) -> Any:
        """The rows as a data frame of polars."""
        polars: Any = import_module("polars")  # which only who calls this needs
        return polars.from_arrow(self._table)

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return list(self._table.column_names)

    def __len__(self) -> int:
        """The number of rows."""
        return int(self._table.num_rows)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as an Arrow stream."""
        return self._table.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        """The number of rows, and the names of the columns."""
        return f"<{len(self):,} rows: {', '.join(self.column_names)}>"


class Comparison:
    """What a comparison found; `skillian.compare` makes it.

    It has no truth value: ask for `equal`.

    Args:
        outcome: The result.
        kept: The rows that differ.
        why: Looks for what explains them.
        remarks: How the sides were read.
        files: The files that were compared, which no report replaces.
    """

    def __init__(
        self,
        outcome: Compared,
        kept: RowsFile,
        why: Callable[[], Coroutine[Any, Any, Why]],
        remarks: Sequence[str] = (),
        files: Collection[Path] = (),
    ) -> None:
        self._outcome = outcome
        self._why = why
        self._kept = kept
        self._remarks = tuple(remarks)
        self._files = files

    @property
    def equal(self) -> bool:
        """Whether there is no finding: all rows or groups match, and the schemas fit."""
        return self._outcome.verdict == "equal"

    @property
    def sentences(self) -> tuple[str, ...]:
        """The result in words, the most important first."""
        with localcontext(Context()):
            return (*self._outcome.sentences, *self._remarks)

    @property
    def summary(self) -> str:
        """The result as a text: the sentences, and the first rows that differ as a table."""
        headings, rows = self._first()
        text = as_text(lambda console: show_rows(console, headings, rows)) if rows else ""
        lines = [line.rstrip() for line in text.splitlines()]
        total = len(self.rows())
        if total > _SHOWN:
            unit = self._outcome.comparison.subject.unit
            lines.append(f"... and {total - _SHOWN:,} more {unit}")
        return "\n".join([*self.sentences, *lines])

    @property
    def counts(self) -> Mapping[str, int]:
        """How many rows are in each class, or groups if measures were compared."""
        return self._outcome.result.counts

    @property
    def columns(self) -> tuple[ColumnResult, ...]:
        """The columns of whole rows that were compared, with their mismatches."""
        return self._outcome.result.columns

    @property
    def measures(self) -> tuple[MeasureSummary, ...]:
        """The measures that were compared, over all groups."""
        return self._outcome.result.measures

    @property
    def schema(self) -> SchemaDiff | None:
        """How the columns of both sides differ; None if that was not compared."""
        return self._outcome.result.schema

    def rows(self, classes: str | Sequence[str] | None = None) -> Rows:
        """All rows that differ, with their key, the cells of both sides and the class.

        Args:
            classes: Only rows of these classes: `differs`, `only in a`, `only in b`, `duplicate
                key`; if measures were compared, those of their groups.

        Raises:
            InvalidInputError: There is no such class.
        """
        if classes is None:
            return Rows(self._kept.table())
        wanted = (classes,) if isinstance(classes, str) else tuple(classes)
        known = [*self._outcome.result.subject.classes.values()]
        for each in wanted:
            if each not in known:
                listed = ", ".join(known)
                raise InvalidInputError(f"there is no class {quoted(each)}; classes: {listed}")
        return Rows(self._kept.table(wanted))

    def why(self) -> Why:
        """What explains the rows that differ: each rule is proved by another comparison.

        The sides are read again; a data frame must be as it was. Of measures, and of rows that are
        compared without a key, nothing is named.

        Raises:
            ToolError: A side cannot be read any more.
        """
        return run(self._why())

    async def why_async(self) -> Why:
        """As `why`, for callers that await."""
        return await self._why()

    def report(self, path: str | Path) -> None:
        """Write a report (.html, .md, .json, .xml), or all rows that differ to a file.

        Args:
            path: The file; .csv, .xlsx, .parquet and .jsonl are for all rows.

        Raises:
            InvalidInputError: No report has the suffix of the file, or it is what was compared.
            OSError: The file cannot be written.
        """
        from skillian.reports.writers import WRITERS  # noqa: PLC0415 - slow to load

        file = Path(path)
        try:
            form = Format.of_file(file, without=(Format.TABLE,))
        except ValueError as error:
            raise InvalidInputError(str(error)) from None
        if file.resolve() in self._files:
            raise InvalidInputError(f"{file} is what was compared; name another file")
        if form in ROWS:
            from skillian.reports.every_row import write_rows  # noqa: PLC0415 - slow to load

            run(write_rows(file, form, self._kept.batches()))
        else:
            with localcontext(Context()):
                text = WRITERS[form]((self._outcome,))
            write_whole(file, text)

    def assert_equal(self) -> None:
        """Raise `AssertionError` with the summary, unless there is no finding."""
        if not self.equal:
            raise AssertionError(self.summary)

    def __bool__(self) -> bool:
        """Raise `TypeError`: it could mean `equal` or its opposite."""
        raise TypeError("a comparison has no truth value; ask for its `equal`")

    def __repr__(self) -> str:
        """What was compared, and the most important sentence."""
        return f"<Comparison of {self._outcome.comparison.name}: {self.sentences[0]}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        parts = [f"<p>{escape(sentence)}</p>" for sentence in self.sentences]
        headings, rows = self._first()
        if rows:
            parts.append(f"<table><thead>{_line('th', headings)}</thead><tbody>")
            parts += [_line("td", row) for row in rows]
            parts.append("</tbody></table>")
        return "".join(parts)

    def _first(self) -> tuple[list[str], list[list[str]]]:
        """The first rows that differ, a cell that differs on each line, and their headings."""
        table = self._kept.table()
        rows = python_rows(table.slice(0, _SHOWN))
        keys = len(self._outcome.result.key_columns)
        if not self.columns or not keys:
            names = list(table.column_names)
            return names, [[_in_words(row[name]) for name in names] for row in rows]
        # Two cells of each column follow the class, what differs, the numbers of rows and the key.
        cells = table.column_names[4 + keys :]
        pairs = [
            (each.a, *names)
            for each, *names in zip(self.columns, cells[::2], cells[1::2], strict=False)
        ]
        named = list(table.column_names[4 : 4 + keys])
        lines: list[list[str]] = []
        for row in rows:
            start = [_in_words(row[name]) for name in ("class", *named)]
            differing = (row["differing"] or "").split(", ")
            cells = [
                [*start, name, *cells_in_words(_text(row[a]), _text(row[b]))]
                for name, a, b in pairs
                if name in differing and row["class"] == "differs"
            ]
            lines += cells or [[*start, "", "", ""]]
        return ["class", *named, "column", "a", "b"], lines


def _line(tag: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def _in_words(value: object) -> str:
    return cut(cell_in_words(_text(value)))


def _text(value: object) -> str | None:
    return None if value is None else str(jsonable(value))
