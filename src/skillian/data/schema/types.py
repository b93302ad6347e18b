"""What a column can hold, by the text of its type, and what of it another type holds."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal

from skillian.connectors.base import ColumnType, Declaration, Table
from skillian.data.schema.engines import AFFINITIES, BY_KIND, MATRIX, TYPES, Family, LogicalType

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
        return next((names[known] for part, known in AFFINITIES if part in name), None)
    if name.startswith("interval "):  # its fields
        return names.get("interval")
    return names.get(name.removesuffix(" unsigned"))


def _of_kind(kind: ColumnType) -> LogicalType:
    name = f"decimal(38,{kind.scale})" if kind.kind == "decimal" else BY_KIND.get(kind.kind)
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
    """The name of a type, in lower case and without its brackets, and what is in them.

    Spark writes a collation behind it, which is left out.
    """
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
    name = name.partition(" collate ")[0]
    return name, [each for each in arguments if each]


RelationKind = Literal["equivalent", "widens", "loses", "differs"]
Loss = Literal["range", "precision", "zone", "length", "padding", "time", "values", "fields"]

LOSSES: Mapping[Loss, str] = {
    "range": "values outside its range",
    "precision": "digits",
    "zone": "the time zone",
    "length": "what is longer",
    "padding": "the end of values, which it pads",
    "time": "the time of day",
    "values": "values that it does not list or cannot read",
    "fields": "fields that it does not have",
}
"""What is lost, in words."""
TELLING: frozenset[Loss] = frozenset(LOSSES.keys() - {"zone", "fields"})
"""What a value that is the same on both sides has not lost."""


@dataclass(frozen=True, slots=True)
class Relation:
    """How a type relates to another one that is to hold its values.

    Attributes:
        kind: `equivalent`: both hold the same values. `widens`: the other holds all of them, and
            more. `loses`: some of them change or do not fit. `differs`: they are values of another
            kind, with no form that both have.
        losses: What is lost.
    """

    kind: RelationKind
    losses: tuple[Loss, ...] = ()


def relation(a: LogicalType, b: LogicalType) -> Relation:
    """What becomes of the values of type `a` in a column of type `b`."""
    losses = _losses(a, b)
    if losses is None:
        return Relation("differs")
    if losses:
        return Relation("loses", tuple(sorted(losses)))
    return Relation("equivalent" if _losses(b, a) == _NOTHING else "widens")


_Lost = frozenset[Loss]
_NOTHING: _Lost = frozenset()
_NUMBERS = frozenset({"boolean", "integer", "decimal"})
_LARGEST_FLOAT = {24: Decimal("3.4028234e38"), 53: Decimal("1.7976931348623157e308")}
_CHARACTER_BYTES = 4
# The characters of a value as text; None: without a limit.
_AS_TEXT: Mapping[Family, int | None] = {"uuid": 36, "json": None}


def _losses(a: LogicalType, b: LogicalType) -> _Lost | None:
    """What values of `a` lose in `b`; None if there is no form that both have."""
    return _RULES[MATRIX[a.family, b.family]](a, b)


def _nothing(_a: LogicalType, _b: LogicalType) -> _Lost:
    return _NOTHING


def _always(*losses: Loss) -> "_Rule":
    return lambda a, b: frozenset(losses) | _moments(a, b)


def _moments(a: LogicalType, b: LogicalType) -> _Lost:
    """Years or hours, and the digits of a second."""
    lost = set[Loss]()
    if not _within(a, b):
        lost.add("range")
    if a.digits is not None and b.digits is not None and a.digits > b.digits:
        lost.add("precision")
    return frozenset(lost)


def _within(a: LogicalType, b: LogicalType) -> bool:
    below = b.low is None or (a.low is not None and b.low <= a.low)
    above = b.high is None or (a.high is not None and a.high <= b.high)
    return below and above


def _numbers(a: LogicalType, b: LogicalType) -> _Lost:
    """Numbers of four families; a boolean counts as 0 and 1."""
    if a.family == b.family == "boolean":
        return _NOTHING
    if a.family == "float":
        return _of_float(a, b)
    if b.family == "float":
        return _as_float(a, b)
    lost = set[Loss]()
    if not _within(_whole(a), _whole(b)):
        lost.add("range")
    if b.scale is not None and (a.scale is None or a.scale > b.scale):
        lost.add("precision")
    return frozenset(lost)


def _whole(kind: LogicalType) -> LogicalType:
    """The range of a number's whole part."""
    if kind.family != "decimal":
        return kind
    if kind.digits is None:
        return LogicalType("integer")
    high = 10 ** max(kind.digits - (kind.scale or 0), 0) - 1
    return LogicalType("integer", -high, high)


def _of_float(a: LogicalType, b: LogicalType) -> _Lost:
    if b.family == "float":
        fits = (a.digits or 0) <= (b.digits or 0)
        return _NOTHING if fits else frozenset({"precision", "range"})
    if b.family == "decimal" and b.digits is None:
        return _NOTHING
    high = _whole(b).high
    in_range = high is None or high >= _LARGEST_FLOAT[a.digits or 0]
    return frozenset({"precision"}) if in_range else frozenset({"precision", "range"})


def _as_float(a: LogicalType, b: LogicalType) -> _Lost:
    """A float holds whole numbers of as many bits as its fraction has, and no decimal ones."""
    whole, bits = _whole(a), b.digits or 0
    largest = None
    if whole.low is not None and whole.high is not None:
        largest = max(abs(whole.low), abs(whole.high))
    lost = set[Loss]()
    if a.scale is None or a.scale > 0 or largest is None or largest > 2**bits:
        lost.add("precision")
    if largest is None or largest > _LARGEST_FLOAT[bits]:
        lost.add("range")
    return frozenset(lost)


def _texts(a: LogicalType, b: LogicalType) -> _Lost:
    lost = set[Loss]()
    if b.members:
        listed = a.name == b.name and a.members and {*a.members} <= {*b.members}
        return _NOTHING if listed else frozenset({"values"})
    longest = max(map(len, a.members)) if a.members and not a.name else a.length
    if not _fits(longest, a, b):
        lost.add("length")
    elif b.fixed and not _is_padded(a, b):
        lost.add("padding")
    return frozenset(lost)


def _is_padded(a: LogicalType, b: LogicalType) -> bool:
    """Whether values of `a` are the same after `b` has padded them."""
    if a.members:
        return not any(member.endswith(" ") for member in a.members)
    if b.open and a.family == "text":
        return True  # ClickHouse pads with bytes that it does not give back
    # Spaces at the end of a text do not count; bytes do.
    padded = a.fixed and not a.open
    return padded and (a.family == "text" or a.length == b.length)


def _fits(length: int | None, a: LogicalType, b: LogicalType) -> bool:
    """Whether texts or bytes of up to this length fit."""
    if b.length is None or length is None:
        return b.length is None
    bytes_each = _CHARACTER_BYTES if b.in_bytes and a.family == "text" and not a.in_bytes else 1
    return length * bytes_each <= b.length


def _as_text(a: LogicalType, b: LogicalType) -> _Lost:
    if b.members:
        return frozenset({"values"})
    return _NOTHING if _fits(_AS_TEXT[a.family], a, b) else frozenset({"length"})


def _bytes(a: LogicalType, b: LogicalType) -> _Lost | None:
    """Bytes as a text, or the other way round: for texts that are bytes."""
    text = a if a.family == "text" else b
    return _texts(a, b) if text.open else None


def _elements(a: LogicalType, b: LogicalType) -> _Lost | None:
    """Arrays and maps; PostgreSQL's arrays hold arrays of any depth."""
    if b.open:
        while a.parts and a.parts[0][1].family == "array":
            a = a.parts[0][1]
    lost: _Lost = frozenset({"length"}) if b.length not in {None, a.length} else _NOTHING
    pairs = zip(a.parts, b.parts, strict=False)
    return _together(lost, (_losses(one, other) for (_, one), (_, other) in pairs))


def _fields(a: LogicalType, b: LogicalType) -> _Lost | None:
    known = {name.casefold(): kind for name, kind in b.parts}
    missing: _Lost = frozenset({"fields"})
    parts = ((known.get(name.casefold()), kind) for name, kind in a.parts)
    return _together(
        _NOTHING, (missing if other is None else _losses(kind, other) for other, kind in parts)
    )


def _together(lost: _Lost, parts: Iterable[_Lost | None]) -> _Lost | None:
    """What is lost of a value and of its parts; None if a part has no form that both have."""
    for part in parts:
        if part is None:
            return None
        lost |= part
    return lost


def _named(a: LogicalType, b: LogicalType) -> _Lost | None:
    return _NOTHING if a.name.casefold() == b.name.casefold() else None


def _bits(a: LogicalType, b: LogicalType) -> _Lost:
    fits = _fits(a.length, a, b) and not (b.fixed and (not a.fixed or a.length != b.length))
    return _NOTHING if fits else frozenset({"length"})


_Rule = Callable[[LogicalType, LogicalType], _Lost | None]
_FAMILY_RULES: Mapping[Family, _Rule] = {
    **dict.fromkeys(("boolean", "integer", "decimal", "float"), _numbers),
    **dict.fromkeys(("text", "binary"), _texts),
    "bits": _bits,
    **dict.fromkeys(("date", "time", "timetz", "timestamp", "timestamptz"), _moments),
    **dict.fromkeys(("interval", "uuid", "json"), _nothing),
    **dict.fromkeys(("array", "map"), _elements),
    "struct": _fields,
    "other": _named,
}
_RULES: Mapping[str, _Rule] = {
    ".": lambda _a, _b: None,
    "=": lambda a, b: _FAMILY_RULES[a.family](a, b),
    "n": _numbers,
    "x": _as_text,
    "o": _nothing,
    "v": lambda _a, _b: frozenset({"values"}),
    "d": _moments,
    "t": _always("time"),
    "z": _always("zone"),
    "b": _always("time", "zone"),
    "r": _bytes,
}
