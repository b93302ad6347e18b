"""What a comparison of two uploaded files would compare: their columns, first rows, and the key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nicegui import ui

from skillian.data.query.catalogue import Sample
from skillian.data.schema.diff import distinct_names
from skillian.data.tables.engine import TablePreview
from skillian.display import printable
from skillian.uploads.folders import Upload
from skillian.web.comparison.form.fields import select
from skillian.web.shell import text
from skillian.web.shell.elements import Heading, scroll_region
from skillian.web.shell.rows_table import rows_table


class Preview:
    """Shows the columns and the first rows of two files, and offers their key.

    Args:
        files: The two files.
        preview: What would be compared.
        samples: The first rows of each file.
    """

    def __init__(
        self, files: tuple[Upload, Upload], preview: TablePreview, samples: Sequence[Sample]
    ) -> None:
        key = preview.key
        names = [pair.a for pair in preview.pairs]
        Heading("How rows are matched", 2)
        self._proposed = list(key.columns) if key else []
        self._key = select("Key columns", names, self._proposed, multiple=True).classes("full")
        self._multiset = ui.checkbox("Rows have no key: count how often each occurs")
        self._multiset.on_value_change(lambda event: self._key.set_enabled(not event.value))
        reason = printable(key.reason if key else preview.no_key)
        ui.label(reason).classes("soft small").props["data-testid"] = "key-reason"
        _columns(files, preview)
        with ui.element("div").classes("preview-sides"):
            for name, sample in zip(_names(files), samples, strict=True):
                with ui.element("div").classes("stack"):
                    Heading(printable(f"First rows of {name}"), 3)
                    rows_table(sample.rows, sample.types)

    def read(self) -> dict[str, Any]:
        """The fields of a `SavedComparison` that the reader chose."""
        if self._multiset.value:
            return {"multiset": True}
        # A key that was only proposed gives way to another one if it is repeated on both sides.
        chosen = tuple(self._key.value)
        return {} if set(chosen) == set(self._proposed) else {"key": chosen}


def _names(files: tuple[Upload, Upload]) -> tuple[str, str]:
    return distinct_names([file.name for file in files])


def _columns(files: tuple[Upload, Upload], preview: TablePreview) -> None:
    """The columns that are compared, those that are not, and those of one side."""
    rows: list[list[str]] = [
        [pair.a if pair.a == pair.b else f"{pair.a} → {pair.b}", pair.cells.a.sql,
         pair.cells.b.sql, "compared"]
        for pair in preview.pairs
    ]  # fmt: skip
    kinds = [dict(file.columns) for file in files]
    refused = {each.column for each in preview.not_compared}
    paired = [{pair.a for pair in preview.pairs}, {pair.b for pair in preview.pairs}]
    rows += [
        [each.column, kinds[0].get(each.column, ""), kinds[1].get(each.column, ""),
         f"not compared: {each.reason}"]
        for each in preview.not_compared
    ]  # fmt: skip
    names = _names(files)
    for index, side in enumerate(names):
        for name, kind in kinds[index].items():
            if name not in paired[index] and name not in refused:
                types = [kind, ""] if index == 0 else ["", kind]
                rows.append([name, *types, f"only in {side}"])
    Heading("Columns", 2)
    with scroll_region("Columns of both files"):
        headings = ("Column", *(f"Type in {name}" for name in names), "")
        text.table(headings, rows, "Columns of both files")
