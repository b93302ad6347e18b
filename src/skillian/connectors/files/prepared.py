"""Copies of files that DuckDB cannot read as they are: packed, in another encoding, JSON."""

import codecs
import csv
import gzip
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from io import BufferedIOBase, TextIOWrapper
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TextIO, cast
from zlib import error as zlib_error

from skillian.connectors.files.options import FileOptions
from skillian.errors import QueryError

PACKED = ".gz"
JSON = frozenset({".json", ".jsonl", ".ndjson"})

_CHUNK = 1 << 20
MAX_LINE = 2_097_152
"""The most bytes of a line that DuckDB reads; a longer last line it may leave out."""
TOO_LONG = f"it is longer than {MAX_LINE} bytes, the most that a line may have"

# A packed file that unpacks to more than both is refused before it fills the disk.
_MAX_UNPACKED = 100 * 2**20
_MAX_RATIO = 200
_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
# Excel reads this line, and programs write it for Excel.
_SEPARATOR = re.compile(r'"?sep=([^\w\s"]|\t)"?\n', re.IGNORECASE)
# Python reads whole numbers of up to 4,300 digits.
_MAX_ZEROS = 4300
_NAMED = 5
_BLANK = " \t\r\n\ufeff"
_UTF8 = frozenset({"", "utf-8", "utf-8-sig"})


class Prepared(NamedTuple):
    """A file of CSV that can be read.

    Attributes:
        path: The file, or its copy.
        offset: How many lines fewer it has before its first record than the file.
        texts: The columns whose values are texts, even those that look like numbers.
        is_canonical: Whether it is written as CSV is, whatever the options say about the file.
        delimiter: What separates its cells, if a line `sep=;` of a spreadsheet says it.
        remark: How it is read, where that is not obvious; as of `Table`.
    """

    path: Path
    offset: int = 0
    texts: frozenset[str] = frozenset()
    is_canonical: bool = False
    delimiter: str = ""
    remark: str = ""


class _Packed(gzip.GzipFile):
    """A packed file; raises `QueryError` where it unpacks to too much."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._limit = unpacked_limit(path.stat().st_size)
        self._file = path.name

    def read1(self, size: int = -1) -> bytes:
        part = super().read1(size)
        if self.tell() > self._limit:
            raise QueryError(f"{self._file}: {TOO_PACKED}; if that is right, unpack it first")
        return part


TOO_PACKED = f"it unpacks to more than {_MAX_RATIO} times its size"


def unpacked_limit(size: int) -> int:
    """How many bytes a packed file of this size may unpack to."""
    return max(_MAX_UNPACKED, _MAX_RATIO * size)


def suffix_of(path: Path) -> str:
    """The suffix that tells the format: `.csv` for `old.csv.gz`."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix == PACKED else suffix


def prepared(path: Path, options: FileOptions, folder: Path) -> Prepared:
    """The file, or a copy in `folder`; raises `QueryError` for a damaged file."""
    marked = _encoding(path)
    encoding = options.encoding or marked
    if marked and not codecs.lookup(encoding).name.startswith("utf-16"):
        raise QueryError(f"{path.name}: it begins with the mark of UTF-16; leave out the encoding")
    is_json = suffix_of(path) in JSON
    is_plain = path.suffix.lower() != PACKED and encoding in _UTF8
    before, delimiter = _before_header(path, options, encoding)
    if is_plain and not is_json and options.header == 1 and not before:
        return Prepared(path)
    copy = folder / f"{len(list(folder.iterdir()))}.csv"
    try:
        with _opened(path) as binary:
            text = TextIOWrapper(cast("Any", binary), encoding or "utf-8-sig", newline="",
                                 errors="strict" if encoding else "surrogateescape")  # fmt: skip
            with copy.open("w", encoding="utf-8", errors="surrogateescape", newline="") as target:
                if is_json:
                    texts, remark = _write_json(path, text, target, options.null)
                    return Prepared(copy, 0, texts, is_canonical=True, remark=remark)
                left_out = _write_lines(path, text, target, options, before)
                return Prepared(copy, left_out, delimiter=delimiter)
    except UnicodeError:
        raise QueryError(_undecodable(path, encoding or "utf-8")) from None
    except (EOFError, gzip.BadGzipFile, zlib_error):
        raise QueryError(f"{path.name}: it is not a complete gzip file; pack it again") from None


def _encoding(path: Path) -> str:
    with _opened(path) as file:
        try:
            start = file.read(2)
        except (EOFError, gzip.BadGzipFile, zlib_error):
            return ""
    return _MARKS.get(start, "")


def _undecodable(path: Path, encoding: str) -> str:
    """Where a file is not in an encoding: its line, and the byte."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line = 1
    with _opened(path) as file:
        found = "the end"
        try:
            for part in file:
                line += decoder.decode(part).count("\n")
            decoder.decode(b"", final=True)
        except UnicodeDecodeError as error:
            found = f"byte 0x{error.object[error.start]:02x}"
        except UnicodeError:  # UTF-16 without its mark
            found = "the start"
    return (
        f"{path.name}, line {line}: {found} is not {encoding}; name the encoding, such as"
        " encoding=latin-1"
    )


def _opened(path: Path) -> BufferedIOBase:
    is_packed = path.suffix.lower() == PACKED
    return cast("BufferedIOBase", _Packed(path) if is_packed else path.open("rb"))


def _before_header(path: Path, options: FileOptions, encoding: str) -> tuple[int, str]:
    """How many empty lines and lines `sep=;` are above the names, and what the latter says."""
    if suffix_of(path) in JSON or options.header != 1:
        return 0, ""
    delimiter = ""
    with (
        suppress(UnicodeError, EOFError, gzip.BadGzipFile, zlib_error),
        _opened(path) as binary,
        TextIOWrapper(cast("Any", binary), encoding or "utf-8-sig", errors="replace") as text,
    ):
        for number in count():
            line = text.readline(MAX_LINE)
            says = _SEPARATOR.fullmatch(line)
            if says and not delimiter:
                delimiter = says[1]
            elif not line or not line.isspace():
                return (number if line else 0), delimiter
    return 0, ""


def _write_lines(
    path: Path, text: TextIO, target: TextIO, options: FileOptions, before: int
) -> int:
    """Copy the lines from the header on; without one, write one. Returns the lines left out."""
    for _ in range(before):
        text.readline()
    for number in range(1, options.header):
        if not text.readline():
            raise QueryError(f"{path.name}: header={options.header}, but it has {number - 1} lines")
    if options.header == 0:
        first = text.readline()
        if not first:
            raise QueryError(f"{path.name}: it is empty")
        delimiter = options.delimiter or max("\t;|,", key=first.count)
        cells = next(csv.reader([first], delimiter=delimiter, quotechar=options.quote))
        names = [f"column_{place}" for place in range(1, len(cells) + 1)]
        target.write(delimiter.join(names) + "\n" + first)
    while chunk := text.read(_CHUNK):
        target.write(chunk)
    return options.header - 1 + before


def place_in_json(path: Path, options: FileOptions, column: str, value: str) -> str:
    """The place of the first object with this text under a key; empty if there is none."""
    encoding = options.encoding or _encoding(path) or "utf-8-sig"
    with _opened(path) as binary, TextIOWrapper(cast("Any", binary), encoding) as text:
        _, entries = _listed(path, text)
        for place, record in _records(path, text, entries):
            if record.get(column) is not None and _text(record[column]) == value:
                return place
    return ""


def _remark(where: str, mixed: Sequence[str]) -> str:
    """The remark on where the rows are, and on columns with texts and other values."""
    parts = [where] if where else []
    more = f" and {len(mixed) - _NAMED} more" if len(mixed) > _NAMED else ""
    if mixed:
        names = ", ".join(mixed[:_NAMED])
        parts.append(f"has texts and other values in {names}{more}: all are texts")
    return ", and ".join(parts)


def _write_json(
    path: Path, text: TextIO, target: TextIO, null: tuple[str, ...]
) -> tuple[frozenset[str], str]:
    """Write the objects of a JSON file as CSV; returns the columns with texts, and a remark."""
    columns: dict[str, None] = {}
    texts: set[str] = set()
    others: set[str] = set()
    where, entries = _listed(path, text)
    for _, record in _records(path, text, entries):
        columns |= dict.fromkeys(record)
        for name, value in record.items():
            if isinstance(value, str | dict | list):
                if value not in null:
                    texts.add(name)
            elif value is not None and not (null and _text(value) in null):
                others.add(name)
    if not columns:
        raise QueryError(f"{path.name}: it has no objects, whose keys are the columns")
    _write_line(path, "its keys", target, ",".join(_quoted(name) for name in columns))
    for place, record in _records(path, text, entries):
        cells = [_cell(record.get(name), null) for name in columns]
        # A line without any sign would be no record.
        line = ",".join(cells) if len(cells) > 1 or cells[0] else '""'
        if len(line) > MAX_LINE // 4 and len(line.encode(errors="replace")) >= MAX_LINE:
            raise QueryError(f"{path.name}, {place}: {TOO_LONG}")
        _write_line(path, place, target, line)
    mixed = [name for name in columns if name in texts & others]
    return frozenset(texts), _remark(where, mixed)


def _write_line(path: Path, place: str, target: TextIO, line: str) -> None:
    try:
        target.write(line + "\n")
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):x}"
        raise QueryError(
            f"{path.name}, {place}: {half} is only half of a character; write both halves"
        ) from None


def _listed(path: Path, text: TextIO) -> tuple[str, list[Any] | None]:
    """The objects of a file that is an array or one object with them, and a remark on the latter.

    They are its only array of objects, or all of its members if these have a key in common; the
    names of members are the column `key`. It is None if the file has one object on each line. A
    file of one line may be either: unless its suffix is `.json`, its object has rows only if it has
    nothing else.
    """
    start = next((line for line in text if line.strip(_BLANK)), "").strip(_BLANK)
    is_line = _is_whole(start)
    has_more = is_line and any(line.strip(_BLANK) for line in text)
    text.seek(0)
    if has_more or not start:
        return "", None
    found = _parsed(path, text.read(), 1)
    if not isinstance(found, dict):
        return "", [*found] if isinstance(found, list) else [found]
    members = cast("dict[str, Any]", found)
    objects = [*members.values()]
    if len(members) > 1 and _are_objects(objects) and {*objects[0]}.intersection(*objects[1:]):
        key, taken = "key", {name.casefold() for each in objects for name in each}
        while key in taken:
            key += "_"
        rows = [{key: name, **each} for name, each in members.items()]
        return f"has its rows in the members of one object, whose names are the column {key}", rows
    is_page = not is_line or suffix_of(path) == ".json"
    arrays = _arrays(members) or [
        (f"{name}.{inner}", rows)
        for name, value in members.items()
        if is_page and isinstance(value, dict)
        for inner, rows in _arrays(cast("dict[str, Any]", value))
    ]
    if len(arrays) == 1 and (is_page or len(members) == 1):
        [(name, rows)] = arrays
        return f"has its rows in {name}", rows
    if is_line:
        return "", None
    raise QueryError(
        f"{path.name}: it is one object with {len(arrays)} arrays of objects; write one object on"
        " each line, or one array of objects"
    )


def _is_whole(line: str) -> bool:
    """Whether a line is complete, and not the beginning of an array or of a longer object."""
    try:
        json.loads(line)
    except json.JSONDecodeError as error:
        return error.pos < len(line)
    except (ValueError, RecursionError):  # which reading it again reports
        pass
    return not line.startswith("[")


def _arrays(members: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in members.items() if _are_objects(value)]


def _are_objects(value: object) -> bool:
    """Whether a value is an array of objects."""
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(each, dict) for each in cast("list[object]", value))


def _records(
    path: Path, text: TextIO, entries: Sequence[Any] | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects with their places: those of an array, or one on each line."""
    for number, entry in enumerate(entries or (), 1):
        yield f"entry {number}", _object(path, entry, f"entry {number}")
    text.seek(0)
    for number, line in enumerate(text if entries is None else (), 1):
        if line.strip(_BLANK):
            place = f"line {number}"
            yield place, _object(path, _parsed(path, line.strip(), number), place)


def _parsed(path: Path, text: str, line: int) -> Any:
    def pairs(listed: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(listed)
        if len(found) < len(listed):
            names = [name for name, _ in listed]
            twice = next(name for name in names if names.count(name) > 1)
            raise QueryError(f"{path.name}, line {line}: an object has the key {twice!r} twice")
        return found

    try:
        return json.loads(text.lstrip("\ufeff"), parse_float=Decimal, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        place = line + error.lineno - 1
        raise QueryError(
            f"{path.name}, line {place}: it is not JSON: {error.msg}; write one object on each"
            " line, or one array of objects"
        ) from None
    except (ValueError, InvalidOperation):
        raise QueryError(
            f"{path.name}, line {line}: a number in it is too long; put it in quotes"
        ) from None
    except RecursionError:
        raise QueryError(f"{path.name}, line {line}: its values are nested too deeply") from None


def _object(path: Path, record: Any, place: str) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise QueryError(
            f'{path.name}, {place}: it is not an object such as {{"id": 1, "amount": 2.50}}'
        )
    return cast("dict[str, Any]", record)


def _cell(value: Any, null: tuple[str, ...]) -> str:
    """A value as a cell of CSV: texts, lists and objects are quoted, null is nothing."""
    if value is None or _text(value) in null:
        return ""
    return _quoted(_text(value)) if isinstance(value, str | list | dict) else _json(value)


def _text(value: Any) -> str:
    """A text as it is, any other value as JSON, with each digit of its numbers."""
    return value if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    if isinstance(value, dict):
        # In the order of the keys, so that the same object has the same text in each file.
        pairs = sorted(cast("dict[str, Any]", value).items())
        return "{" + ", ".join(f"{json.dumps(name)}: {_member(each)}" for name, each in pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_member(each) for each in cast("Sequence[Any]", value)) + "]"
    if isinstance(value, Decimal):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def _member(value: Any) -> str:
    """A value in an object or a list, whose numbers are written in one way: 1.0 and 1e0 as 1."""
    if not isinstance(value, Decimal) or abs(value.adjusted()) > _MAX_ZEROS:
        return _json(value)
    text = f"{value:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) if value else "0"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
