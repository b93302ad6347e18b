"""What a column can hold, by the text of its type in the catalogue."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from skillian.connectors.base import ColumnType, Declaration, Kind, Table
from skillian.data.schema.engines import TYPES, Family, LogicalType

# For engines that are not in `TYPES`, in the words of DuckDB.
_BY_KIND: Mapping[Kind, str] = {
    "text": "varchar",
    "integer": "bigint",
    "float": "double",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "timestamp with time zone",
}
# SQLite's rules for names that are not in its table, in their order.
_AFFINITIES = (
    ("int", "bigint"),
    ("char", "text"),
    ("clob", "text"),
    ("text", "text"),
    ("blob", "blob"),
    ("real", "real"),
    ("floa", "real"),
    ("doub", "real"),
    ("bool", "boolean"),
    ("timestamp", "timestamp"),
    ("datetime", "datetime"),
)
_WRAPPERS = frozenset({"nullable", "lowcardinality"})
_NANOSECONDS = 9
_QUOTES = "'\"`"
_FIELD = re.compile(
    r'(?P<name>"(?:[^"]|"")+"|`(?:[^`]|``)+`|\w+)(?:\s+|\s*:\s*)(?P<type>\S.*)', re.DOTALL
)


def logical_type(table: Table, column: str) -> LogicalType:
    """What a column can hold, by its declaration or otherwise by the type of its values."""
    kind = table.columns[column]
    declared = table.declared.get(column, Declaration()).type or kind.sql
    if table.engine in TYPES:
        return parse_type(table.engine, declared)
    return _of_kind(kind)


def parse_type(engine: str, text: str) -> LogicalType:
    """What a type can hold by its text in the catalogue of an engine of `TYPES`."""
    text = " ".join(text.split())
    if text.endswith("]") and "[" in text:
        head, _, size = text[:-1].rpartition("[")
        element = parse_type(engine, head)
        length = int(size) if size.isdecimal() else None
        is_open = engine == "postgres"
        return LogicalType("array", length=length, open=is_open, parts=(("", element),))
    name, arguments = _split(text)
    if name in _WRAPPERS and arguments:
        return parse_type(engine, arguments[0])
    names = TYPES[engine]
    template = names.get(text.lower()) or names.get(name)
    if template is None:
        template = _template(engine, name)
    if template is None:
        return LogicalType("other", name=text or "untyped")
    return _with_arguments(engine, template, arguments)


def _template(engine: str, name: str) -> LogicalType | None:
    """The type for a name that is not in the table of its engine as it stands."""
    names = TYPES[engine]
    if engine == "sqlite":
        return next((names[known] for part, known in _AFFINITIES if part in name), None)
    if name.startswith("interval "):  # its fields
        return names.get("interval")
    return names.get(name.removesuffix(" unsigned"))


def _of_kind(kind: ColumnType) -> LogicalType:
    name = f"decimal(38,{kind.scale})" if kind.kind == "decimal" else _BY_KIND.get(kind.kind)
    return LogicalType("other", name=kind.sql) if name is None else parse_type("duckdb", name)


def _with_arguments(engine: str, template: LogicalType, arguments: Sequence[str]) -> LogicalType:
    """The type with what its brackets say."""
    numbers = [int(each) for each in arguments if each.lstrip("-").isdecimal()]
    changes: dict[str, Any] = {}  # none for the display width of an integer
    match template.family:
        case "decimal" if numbers:
            changes = {"digits": numbers[0], "scale": numbers[1] if len(numbers) > 1 else 0}
        case "array" | "struct" | "map":
            changes = {"parts": _parts(engine, template.family, arguments)}
        case "text" if not numbers:
            changes = {"members": tuple(_member(each) for each in arguments)}
        case "text" | "binary" | "bits" if numbers:
            changes = {"length": numbers[0]}
        case "time" | "timetz" | "timestamp" | "timestamptz":
            return _moment_of(template, numbers, zoned=len(numbers) < len(arguments))
        case _:
            pass
    return replace(template, **changes)


def _moment_of(template: LogicalType, numbers: Sequence[int], *, zoned: bool) -> LogicalType:
    digits = numbers[0] if numbers else template.digits
    low, high = template.low, template.high
    if digits == _NANOSECONDS and template.family in {"timestamp", "timestamptz"}:
        low, high = 1678, 2261
    family: Family = "timestamptz" if zoned else template.family
    return replace(template, family=family, digits=digits, low=low, high=high)


def _parts(
    engine: str, family: Family, arguments: Sequence[str]
) -> tuple[tuple[str, LogicalType], ...]:
    if family != "struct":
        return tuple(("", parse_type(engine, each)) for each in arguments)
    fields = [_FIELD.fullmatch(each) for each in arguments]
    return tuple(
        (str(position), parse_type(engine, text))
        if match is None
        else (_unquoted(match["name"]), parse_type(engine, match["type"]))
        for position, (match, text) in enumerate(zip(fields, arguments, strict=True), 1)
    )


def _member(text: str) -> str:
    """A value of an enumeration; ClickHouse writes its number after it."""
    end = text.rfind("'")
    return _unquoted(text[: end + 1])


def _unquoted(text: str) -> str:
    quote = text[:1]
    if quote not in _QUOTES or not quote:
        return text
    return text[1:-1].replace(quote * 2, quote).replace(f"\\{quote}", quote)


def _split(text: str) -> tuple[str, list[str]]:
    """The name of a type, in lower case and without its brackets, and what is in them."""
    depth, quote, start = 0, "", 0
    outside: list[str] = []
    arguments: list[str] = []
    for position, character in enumerate(text):
        if quote:
            if character == quote and text[position - 1] != "\\":
                quote = ""
        elif character in _QUOTES:
            quote = character
        elif character in "(<":
            if depth == 0:
                start = position + 1
            depth += 1
        elif character in ")>" or (character == "," and depth == 1):
            if depth == 1:
                arguments.append(text[start:position].strip())
                start = position + 1
            depth -= character != ","
            continue
        if depth == 0:
            outside.append(character)
    name = " ".join("".join(outside).lower().replace("zerofill", "").split())
    return name, [each for each in arguments if each]
