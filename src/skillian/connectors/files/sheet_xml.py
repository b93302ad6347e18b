"""What python-calamine does not say of the cells of a workbook: read from the XML of `.xlsx`.

It reads a formula without a stored result as an empty cell, and a negative number in a format of
dates as a time of day. The formats `.xls` and `.xlsb` store a result with each formula.
"""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple
from xml.etree.ElementTree import Element, iterparse
from zipfile import ZipFile

Place = tuple[int, int]
"""The row and the column of a cell, both from 0."""

_REFERENCE = re.compile(r"([A-Z]+)([0-9]+)")
_FORMULA = re.compile(rb"[<:]f[\s/>]")
_CHUNK = 1 << 20
_LETTERS = 26
# A formula of these kinds fills the cells of its `ref`, of which only the first names it.
_SPILLS = frozenset({"array", "dataTable"})


class _Cell(NamedTuple):
    place: Place
    xml: Element

    def part(self, tag: str) -> Element | None:
        return next((each for each in self.xml if _name(each) == tag), None)

    @property
    def number(self) -> str:
        """The number that is stored; empty for another value."""
        value = self.part("v")
        is_number = value is not None and self.xml.get("t", "n") == "n"
        return (value.text or "").strip() if value is not None and is_number else ""


class WorkbookXml:
    """The XML of an `.xlsx` or `.xlsm` file; of another format, it knows nothing of any sheet."""

    def __init__(self, parts: ZipFile) -> None:
        self._parts = parts
        self._names = {name.replace("\\", "/").lower(): name for name in parts.namelist()}

    def formulas_without_result(self, sheet: str) -> Iterator[Place]:
        """Yield the cells of a sheet with a formula whose result is not stored.

        A program that does not compute says that formulas are to be computed when the file is
        opened; it stores nothing, or 0.
        """
        if not self._has_formula(sheet):
            return
        for cell in self._cells(sheet):
            formula = cell.part("f")
            if formula is None or cell.part("is") is not None or self._has_result(cell):
                continue
            yield cell.place
            if formula.get("t") in _SPILLS:
                row, column = cell.place
                _, last = place_of(formula.get("ref", "").rpartition(":")[2], cell.place)
                yield from ((row, each) for each in range(column + 1, last + 1))

    def negative_numbers(self, sheet: str) -> Iterator[Place]:
        """Yield the cells of a sheet with a number below zero."""
        return (cell.place for cell in self._cells(sheet) if cell.number.startswith("-"))

    def _has_result(self, cell: _Cell) -> bool:
        value = cell.part("v")
        if value is None:
            return False
        # A formula may have an empty text as its result.
        is_text = cell.xml.get("t") == "str"
        return is_text or (bool(value.text) and not (self._is_due and cell.number == "0"))

    @cached_property
    def _is_due(self) -> bool:
        """Whether all formulas are to be computed when the file is opened."""
        with self._parts.open(self._names["xl/workbook.xml"]) as file:
            settings = [each for _, each in iterparse(file) if _name(each) == "calcPr"]  # noqa: S314 - see _cells
        return any(each.get("fullCalcOnLoad") in {"1", "true"} for each in settings)

    @cached_property
    def _sheets(self) -> dict[str, str]:
        """The part of the file that has each sheet."""
        if "xl/workbook.xml" not in self._names:
            return {}
        targets: dict[str, str] = {}
        with self._parts.open(self._names["xl/_rels/workbook.xml.rels"]) as file:
            for _, each in iterparse(file):  # noqa: S314 - see _cells
                target = each.get("Target", "").lstrip("/").removeprefix("xl/")
                targets[each.get("Id", "")] = self._names.get(f"xl/{target}".lower(), "")
        with self._parts.open(self._names["xl/workbook.xml"]) as file:
            return {
                each.get("name", ""): targets[identity]
                for _, each in iterparse(file)  # noqa: S314 - see _cells
                if _name(each) == "sheet"
                for key, identity in each.items()
                if key.endswith("}id")
            }

    def _has_formula(self, sheet: str) -> bool:
        """Whether a sheet has any formula, of which most have none."""
        if sheet not in self._sheets:
            return False
        before = b""
        with self._parts.open(self._sheets[sheet]) as file:
            while chunk := file.read(_CHUNK):
                if _FORMULA.search(before[-3:] + chunk):
                    return True
                before = chunk
        return False

    def _cells(self, sheet: str) -> Iterator[_Cell]:
        """Yield the cells of a sheet that are stored, with their places."""
        if sheet not in self._sheets:
            return
        row, column = -1, -1
        # Expat limits how far entities expand, and reads no other files.
        with self._parts.open(self._sheets[sheet]) as file:
            for event, each in iterparse(file, ("start", "end")):  # noqa: S314 - see above
                name = _name(each)
                if event == "start" and name == "row":
                    row, column = int(each.get("r", row + 2)) - 1, -1
                elif event == "end" and name == "c":
                    row, column = place_of(each.get("r", ""), (row, column + 1))
                    yield _Cell((row, column), each)
                elif event == "end" and name == "row":
                    each.clear()


def place_of(reference: str, default: Place) -> Place:
    """The place of a cell such as `B7`; the default for any other text."""
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        return default
    column = 0
    for letter in match[1]:
        column = column * _LETTERS + ord(letter) - ord("A") + 1
    return int(match[2]) - 1, column - 1


def letters_of(column: int) -> str:
    """The letters of a column by its index: 0 is A, 26 is AA."""
    before, last = divmod(column, _LETTERS)
    return (letters_of(before - 1) if before else "") + chr(ord("A") + last)


def _name(element: Element) -> str:
    """The name of an element, whatever its namespace."""
    return element.tag.rpartition("}")[2]
