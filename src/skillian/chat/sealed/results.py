"""Results of the tools that read sources, as a language model reads them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from skillian.chat.sealed.plain import Vouched, is_code, is_number
from skillian.chat.sealed.printed import printed
from skillian.chat.sealed.stand_ins import StandIns, spliced
from skillian.offline.language.filters import as_mapping

RUN_PYTHON = "run_python"
READERS = frozenset(
    {
        *("list_sources", "describe_source", "query_source", "compare_sources"),
        *("explain_difference", "drill_down", "get_comparison_rows", RUN_PYTHON),
    }
)
"""The tools whose results have texts of sources."""
_OF_CELLS = frozenset(
    {
        "cells",
        "changes",
        "filters",
        "freshness",
        "member",
        "own",
        "pairs",
        "parameters",
        "value",
        "values",
    }
)
"""Parts of results below which every text may be of a source; `key` and `rows` depend on it."""
_OF_CODE = {"output", "value", "code_error", "name"}
_HOLDS = " holds "
_MARK = re.compile("['\"]")
_INSIDE = {mark: re.compile(rf"(?:[^{mark}\\]|\\.)*+", re.DOTALL) for mark in "'\""}
_CACHE_KEY = re.compile(r'(?<!\\)"cache_key": ?("[0-9a-f]{16,64}")')
_LOST = "the result was too long to be kept; call the tool again, and ask for less"
_MOST_KNOWN = 256
"""For how many results, of at most `_SHORT` characters, their cells are kept."""
_SHORT = 10_000


@dataclass(frozen=True, slots=True)
class SealedReading:
    """Decides which texts of a result a language model reads, and seals the others.

    Attributes:
        stand_ins: Names the others.
        vouched: What the user and the catalogue vouch for.
        by_code: What the code of the model vouches for in addition.
    """

    stand_ins: StandIns
    vouched: Vouched
    by_code: Vouched

    def text(self, tool: str, text: str) -> str:
        """The text of a result."""
        known = _with_cells(text) if tool != RUN_PYTHON and len(text) <= _SHORT else None
        if known and not self.stand_ins.has_cells and all(map(self.vouched.__contains__, known[1])):
            return known[0]
        value, rest = _parsed(text)
        if value is None:
            return _lost(text) if text.startswith("{") else self.stand_ins.closed(text)
        sealed = json.dumps(self.result(tool, value), ensure_ascii=False)
        return sealed + self.stand_ins.closed(rest)

    def result(self, tool: str, value: Mapping[str, Any]) -> dict[str, Any]:
        """A result."""
        if value.get("error"):
            return {**value, "message": self._message(value)}
        if tool == RUN_PYTHON:
            return {**value, **self._of_code(value)}
        # First the cells, so that the sentences around them are read with their names.
        sealed = _mapped(value, self.cell, lambda text: text)
        if isinstance(refused := sealed.get("not_compared"), list):
            columns = cast("Sequence[Mapping[str, Any]]", refused)
            sealed["not_compared"] = [
                {**each, "reason": self._held(str(each.get("reason", "")))} for each in columns
            ]
        if self.stand_ins.has_cells:
            sealed = _mapped(sealed, lambda text: text, self.stand_ins.closed)
        return cast("dict[str, Any]", sealed)

    def cell(self, text: str) -> str:
        """A text of a source, or its name."""
        if is_code(text) or text in self.vouched:
            return text
        return self.stand_ins.cell(text)

    def condition(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of an earlier call, in which the texts of sources were put."""
        return {
            name: _every(value, self.cell)
            if name in {"filters", "key"}
            else self.stand_ins.closed_value(value)
            for name, value in arguments.items()
        }

    def _of_code(self, value: Mapping[str, Any]) -> dict[str, Any]:
        files = cast("Sequence[Mapping[str, Any]]", value.get("artifacts") or ())
        # First the tables, whose whole cells have their names in the text as well.
        tables = _every(value.get("tables"), self._strictly)
        return {
            "tables": tables,
            **{
                name: self._printed(part)
                for name, part in value.items()
                if name in _OF_CODE and isinstance(part, str)
            },
            "artifacts": [{**each, "name": self._printed(str(each.get("name")))} for each in files],
        }

    def _printed(self, text: str) -> str:
        return printed(text, self.by_code, self.stand_ins)

    def _strictly(self, text: str) -> str:
        """A value that code has made, or its name: a single word is not enough."""
        if is_number(text) or text in self.by_code:
            return text
        return self.stand_ins.cell(text)

    def _message(self, error: Mapping[str, Any]) -> str:
        """The message of an error; of a database, from its first quotation mark to its last."""
        message = self._held(self.stand_ins.closed(str(error.get("message"))))
        quotations = list(_quotations(message))
        is_clear = all(self._is_plain(message[start + 1 : end - 1]) for start, end in quotations)
        is_clear &= not _MARK.search(spliced(message, ((*each, "") for each in quotations)))
        if error.get("type") == "query_error" and not is_clear:
            marks = [match.start() for match in _MARK.finditer(message)]
            inside = message[marks[0] + 1 : marks[-1]]
            return f"{message[: marks[0]]}'{self.stand_ins.name(inside)}'{message[marks[-1] + 1 :]}"
        return spliced(message, ((s, e, self._quotation(message[s:e])) for s, e in quotations))

    def _held(self, reason: str) -> str:
        """A reason that may end with values: those that a column holds."""
        start = reason.find(_HOLDS) + len(_HOLDS)
        return (
            reason if start < len(_HOLDS) else reason[:start] + self.stand_ins.cell(reason[start:])
        )

    def _quotation(self, text: str) -> str:
        inside = text[1:-1]
        return text if self._is_plain(inside) else f"'{self.stand_ins.name(inside)}'"

    def _is_plain(self, text: str) -> bool:
        return is_code(text) or text in self.vouched or self.stand_ins.text(text) is not None


def _quotations(text: str) -> Iterator[tuple[int, int]]:
    """Yield where a text quotes another: start and end, with the marks."""
    at, endless = 0, ""
    while found := _MARK.search(text, at):
        mark, at = found[0], found.end()
        inside = None if mark in endless else _INSIDE[mark].match(text, at)
        if inside is None:
            continue
        if text.startswith(mark, inside.end()):
            at = inside.end() + 1
            yield found.start(), at
        else:
            endless += mark  # no later one is closed either


def columns_of(text: str) -> Iterator[str]:
    """Yield the columns of a comparison of whole rows, as code names them too."""
    value = _parsed(text)[0] if '"columns"' in text else None
    columns = (value or {}).get("columns")
    if value is not None and isinstance(columns, list):
        pairs = map(as_mapping, cast("list[object]", columns))
        names = [each[side] for each in pairs for side in "ab" if side in each]
        names += as_mapping(value.get("key")).get("columns", ())
        for name in map(str, names):
            yield from (name, f"{name} a", f"{name} b")


def _parsed(text: str) -> tuple[dict[str, Any] | None, str]:
    """A JSON object and what follows it; None if the text does not begin with a whole one."""
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return None, text
    if not isinstance(value, dict):
        return None, text
    return cast("dict[str, Any]", value), text[end:]


@lru_cache(maxsize=_MOST_KNOWN)
def _with_cells(text: str) -> tuple[str, frozenset[str]] | None:
    """A result as it is written here, and its cells that are not codes; None for other results."""
    value, rest = _parsed(text)
    if value is None or value.get("error") or value.get("not_compared"):
        return None
    cells: set[str] = set()

    def noted(cell: str) -> str:
        cells.add(cell)
        return cell

    _mapped(value, noted, str)
    written = json.dumps(value, ensure_ascii=False) + rest
    return written, frozenset(each for each in cells if not is_code(each))


def _lost(text: str) -> str:
    """What remains of a result that was cut."""
    key = _CACHE_KEY.search(text)
    known = {} if key is None else {"cache_key": json.loads(key[1])}
    return json.dumps({"left_out": _LOST, **known})


def _mapped(value: Any, cell: Callable[[str], str], other: Callable[[str], str]) -> Any:
    """A result with its texts replaced, those of sources and those of the host."""
    if isinstance(value, str):
        return other(value)
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, Any]", value).items()
        return {
            name: _every(part, cell) if _has_cells(name, part) else _mapped(part, cell, other)
            for name, part in entries
        }
    if isinstance(value, list):
        return [_mapped(each, cell, other) for each in cast("Sequence[Any]", value)]
    return value


def _has_cells(name: str, part: Any) -> bool:
    if name == "key":  # of a group or a row; that of a comparison names columns
        return not isinstance(as_mapping(part).get("columns"), list)
    if name == "rows":  # of a query; those of a comparison have keys and cells
        rows = cast("Sequence[object]", part) if isinstance(part, list) else ()
        return any(isinstance(each, list) for each in rows)
    return name in _OF_CELLS


def _every(value: Any, change: Callable[[str], str]) -> Any:
    """A value with all of its texts changed, those of names of columns excepted."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, Any]", value).items()
        return {name: _every(part, change) for name, part in entries}
    if isinstance(value, list):
        return [_every(each, change) for each in cast("Sequence[Any]", value)]
    return value
