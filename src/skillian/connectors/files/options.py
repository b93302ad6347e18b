"""How files are written, where their content does not say: options after the `?` of a URL."""

import codecs
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from skillian.connectors.base import path_of
from skillian.errors import UnavailableError

_HELP = (
    "they are null=NA (text that means no value; repeatable), decimal=, (decimal sign),"
    " thousands=. (separator of thousands), dates=%d.%m.%Y (how dates are written),"
    " delimiter=; (or tab), quote=' (quotation mark),"
    " encoding=latin-1, header=2 (the line with the names; 0 if there is none), and"
    " sheet=Name (of a workbook)"
)
_ONE = frozenset({"decimal", "delimiter", "quote", "thousands"})
_OF_TEXT = (*sorted({*_ONE, "dates"}), "encoding", "header", "null")
WORKBOOKS = frozenset({".xlsx", ".xlsm", ".xlsb", ".xls"})
"""The suffixes of Excel workbooks."""
# Which options a file takes, by its suffix.
_TAKEN = {
    **dict.fromkeys((".csv", ".tsv"), _OF_TEXT),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), ("encoding", "null")),
    **dict.fromkeys(WORKBOOKS, ("header", "null", "sheet")),
    ".parquet": (),
}
_SIGN = re.compile(r"%-?.|%", re.DOTALL)
_PARTS = {
    "%d": "day",
    "%-d": "day",
    "%m": "month",
    "%-m": "month",
    "%b": "month",
    "%B": "month",
    "%Y": "year",
    "%y": "year",
}
_TAB = "tab"
_MAX_HEADER = 1000


@dataclass(frozen=True, slots=True)
class FileOptions:
    """The options of the files of a connection.

    Attributes:
        null: Texts that mean no value, besides nothing.
        decimal: The decimal sign of numbers.
        thousands: What separates their thousands; empty for nothing.
        dates: How dates are written besides 2024-01-31, with the signs of `strptime`.
        delimiter: What separates the cells of a line; empty to tell by the header.
        quote: The quotation mark around a cell.
        encoding: The encoding of the text; empty for UTF-8, or UTF-16 with its mark.
        header: The line that has the columns' names, from 1; 0 for none.
        sheet: The worksheet to read; empty for all.
    """

    null: tuple[str, ...] = ()
    decimal: str = "."
    thousands: str = ""
    dates: str = ""
    delimiter: str = ""
    quote: str = '"'
    encoding: str = ""
    header: int = 1
    sheet: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether numbers and dates are written as databases write them."""
        return (self.decimal, self.thousands, self.dates) == (".", "", "")


def read_url(name: str, url: str, folder: Path) -> tuple[Path, FileOptions]:
    """Path and options of `files:///path?decimal=,`; a path that exists is taken whole.

    Raises `UnavailableError` for an unknown option, or a value that it does not take.
    """
    path = path_of(url, folder)
    text, mark, query = url.rpartition("?")
    if not mark or path.exists() or "=" not in query:
        return path, FileOptions()
    try:
        path, values = path_of(text, folder), dict_of(query)
        if not path.is_dir():
            check_taken(path, values)
        return path, read_options(values)
    except ValueError as error:
        raise UnavailableError(f"connection {name!r}: {error}") from None


def taken_options(path: Path) -> tuple[str, ...]:
    """The names of the options that a file takes; it may be packed."""
    plain = Path(path.stem) if path.suffix.lower() == ".gz" else path
    return _TAKEN.get(plain.suffix.lower(), ())


def check_taken(path: Path, names: Iterable[str]) -> None:
    """Raise `ValueError` for a known option that a file does not take."""
    for name in names:
        if name in FileOptions.__dataclass_fields__ and name not in taken_options(path):
            known = ", ".join(taken_options(path)) or "none"
            what = f"a {path.suffix} file" if path.suffix else path.name
            raise ValueError(f"{name}= does not go with {what}; options: {known}")


def split_name(name: str) -> tuple[str, str]:
    """The file and the options of `old.csv?decimal=,`; a file that exists has none."""
    file, mark, query = name.rpartition("?")
    if not mark or "=" not in query or Path(name).exists():
        return name, ""
    return file, query


def dict_of(query: str) -> dict[str, list[str]]:
    """The values of a query by name."""
    values: dict[str, list[str]] = {}
    for key, value in parse_qsl(query, keep_blank_values=True):
        values.setdefault(key, []).append(value)
    return values


def read_options(values: Mapping[str, list[str]]) -> FileOptions:
    """The options; raises `ValueError` with what is wrong."""
    read: dict[str, Any] = {"null": tuple(values.get("null", ()))}
    for key, listed in values.items():
        if key not in FileOptions.__dataclass_fields__:
            raise ValueError(f"unknown option of files {key!r}; {_HELP}")
        if key != "null":
            read[key] = _value(key, listed[-1])
    options = FileOptions(**read)
    if options.decimal == options.thousands:
        raise ValueError("the decimal sign and the separator of thousands are the same")
    return options


def is_date_format(text: str) -> bool:
    """Whether a text has a day, a month and a year with the signs of `strptime`, each once."""
    signs = (match[0] for match in _SIGN.finditer(text))
    return sorted(_PARTS.get(sign, sign) for sign in signs) == ["day", "month", "year"]


def _value(key: str, text: str) -> str | int:
    if key == "header":
        if not text.isdecimal() or int(text) > _MAX_HEADER:
            raise ValueError(f"header={text!r} is not the number of a line up to {_MAX_HEADER}")
        return int(text)
    if key == "encoding":
        try:
            return codecs.lookup(text).name
        except LookupError:
            raise ValueError(f"encoding={text!r} is not known; for example latin-1") from None
    if key == "dates" and not is_date_format(text):
        raise ValueError(
            f"dates={text!r} is not how a date is written: it needs a day (%d, or %-d without"
            " zeros), a month (%m, %-m, %b or %B) and a year (%Y or %y), each once"
        )
    if key in _ONE:
        text = "\t" if key == "delimiter" and text.lower() == _TAB else text
        if len(text) != 1 or text.isalnum() or text in "\r\n":
            raise ValueError(f"{key}={text!r} is not a single sign; {_HELP}")
    return text
