"""What the types of each engine hold, in terms that all engines share."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from skillian.connectors.base import FRAMES, Kind

Family = Literal[
    "boolean",
    "integer",
    "decimal",
    "float",
    "text",
    "binary",
    "bits",
    "date",
    "time",
    "timetz",
    "timestamp",
    "timestamptz",
    "interval",
    "uuid",
    "json",
    "array",
    "struct",
    "map",
    "other",
]
FAMILIES: tuple[Family, ...] = get_args(Family)


@dataclass(frozen=True, slots=True)
class LogicalType:
    """The values that a column can hold.

    Attributes:
        family: What kind of values.
        low: The smallest whole number, the first full year, or the smallest hour; None: no limit.
        high: The same for the largest.
        digits: Of a decimal its digits in all, of a float the bits of its fraction, of a time the
            digits of a second; None: no limit.
        scale: The digits of a decimal after the point; None: no limit.
        length: The longest text in characters, the most bytes, or the most bits; None: no limit.
        in_bytes: Whether the length of a text counts bytes, of which a character takes up to four.
        fixed: Whether shorter values are padded to the length, so that a text loses its trailing
            spaces, and bytes come back with more.
        open: Whether it holds more than it says: a text any bytes, an array further arrays.
        members: The only values of an enumeration.
        parts: The names and types of a struct's fields, the element of an array, or the key and
            the value of a map.
        name: The database's name for a type that has no family.
    """

    family: Family
    low: int | None = None
    high: int | None = None
    digits: int | None = None
    scale: int | None = 0
    length: int | None = None
    in_bytes: bool = False
    fixed: bool = False
    open: bool = False
    members: tuple[str, ...] = ()
    parts: tuple[tuple[str, "LogicalType"], ...] = ()
    name: str = ""


def _integer(bits: int, *, signed: bool = True) -> LogicalType:
    power = bits - 1 if signed else bits
    return LogicalType("integer", -(2**power) if signed else 0, 2**power - 1)


def _decimal(digits: int | None = None, scale: int | None = None) -> LogicalType:
    return LogicalType("decimal", digits=digits, scale=scale)


def _moment(
    family: Family, digits: int | None = None, low: int = 1, high: int = 9999
) -> LogicalType:
    return LogicalType(family, low, high, digits)


def _time(digits: int, family: Family = "time", hours: int | None = None) -> LogicalType:
    return LogicalType(family, 0 if hours is None else -hours, hours or 24, digits)


_BOOLEAN = LogicalType("boolean", 0, 1)
_FLOAT32, _FLOAT64 = LogicalType("float", digits=24), LogicalType("float", digits=53)
_TEXT, _BINARY, _BITS = LogicalType("text"), LogicalType("binary"), LogicalType("bits")
_BYTES = LogicalType("text", open=True)
_CHAR = LogicalType("text", length=1, fixed=True)
_ENUM = LogicalType("text")
_DATE = _moment("date")
_JSON, _UUID, _INTERVAL = LogicalType("json"), LogicalType("uuid"), LogicalType("interval")
_ARRAY, _STRUCT, _MAP = LogicalType("array"), LogicalType("struct"), LogicalType("map")


def _text_bytes(length: int) -> LogicalType:
    return LogicalType("text", length=length, in_bytes=True)


_WIDTHS = {"tinyint": 8, "smallint": 16, "integer": 32, "bigint": 64, "hugeint": 128}
_MYSQL_WIDTHS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
_DUCKDB = {
    "boolean": _BOOLEAN,
    **{name: _integer(bits) for name, bits in _WIDTHS.items()},
    **{f"u{name}": _integer(bits, signed=False) for name, bits in _WIDTHS.items()},
    "bignum": LogicalType("integer"),
    "decimal": _decimal(18, 3),
    "float": _FLOAT32,
    "double": _FLOAT64,
    "varchar": _TEXT,
    "enum": _ENUM,
    "blob": _BINARY,
    "bit": _BITS,
    "date": _DATE,
    "time": _time(6),
    "time_ns": _time(9),
    "time with time zone": _time(6, "timetz"),
    "timestamp": _moment("timestamp", 6),
    "timestamp_s": _moment("timestamp", 0),
    "timestamp_ms": _moment("timestamp", 3),
    "timestamp_ns": _moment("timestamp", 9, 1678, 2261),
    "timestamp with time zone": _moment("timestamptz", 6),
    "timestamptz_ns": _moment("timestamptz", 9, 1678, 2261),
    "interval": _INTERVAL,
    "uuid": _UUID,
    "json": _JSON,
    "struct": _STRUCT,
    "map": _MAP,
}

TYPES: Mapping[str, Mapping[str, LogicalType]] = {
    "duckdb": _DUCKDB,
    "postgres": {
        "boolean": _BOOLEAN,
        "smallint": _integer(16),
        "integer": _integer(32),
        "bigint": _integer(64),
        "oid": _integer(32, signed=False),
        "numeric": _decimal(),
        "real": _FLOAT32,
        "double precision": _FLOAT64,
        "text": _TEXT,
        "character varying": _TEXT,
        "character": _CHAR,
        "bpchar": _TEXT,
        "citext": _TEXT,
        "name": LogicalType("text", length=63, in_bytes=True),
        "enum": _ENUM,
        "bytea": _BINARY,
        "bit": LogicalType("bits", length=1, fixed=True),
        '"char"': LogicalType("text", length=1, in_bytes=True),
        "bit varying": _BITS,
        "date": _DATE,
        "time without time zone": _time(6),
        "time with time zone": _time(6, "timetz"),
        "timestamp without time zone": _moment("timestamp", 6),
        "timestamp with time zone": _moment("timestamptz", 6),
        "interval": _INTERVAL,
        "uuid": _UUID,
        "json": _JSON,
        "jsonb": _JSON,
    },
    "mysql": {
        "tinyint(1)": LogicalType("boolean", -128, 127),  # its BOOLEAN, which may also hold 2
        **{name: _integer(bits) for name, bits in _MYSQL_WIDTHS.items()},
        **{
            f"{name} unsigned": _integer(bits, signed=False) for name, bits in _MYSQL_WIDTHS.items()
        },
        "year": LogicalType("integer", 1901, 2155),
        "decimal": _decimal(10, 0),
        "float": _FLOAT32,
        "double": _FLOAT64,
        "char": _CHAR,
        "varchar": _TEXT,
        "tinytext": _text_bytes(2**8 - 1),
        "text": _text_bytes(2**16 - 1),
        "mediumtext": _text_bytes(2**24 - 1),
        "longtext": _TEXT,
        "enum": _ENUM,
        "set": LogicalType("text", name="set"),
        "binary": LogicalType("binary", length=1, fixed=True),
        "varbinary": _BINARY,
        "tinyblob": LogicalType("binary", length=2**8 - 1),
        "blob": LogicalType("binary", length=2**16 - 1),
        "mediumblob": LogicalType("binary", length=2**24 - 1),
        "longblob": _BINARY,
        "bit": LogicalType("bits", length=1, fixed=True),
        "date": _DATE,
        "time": _time(0, hours=838),
        "datetime": _moment("timestamp", 0),
        "timestamp": _moment("timestamptz", 0, 1970, 2037),
        "uuid": _UUID,
        "json": _JSON,
    },
    # SQLite enforces no type: what counts is the declaration that a value is read as.
    "sqlite": {
        "boolean": _BOOLEAN,
        "tinyint": _integer(8),
        "smallint": _integer(16),
        **dict.fromkeys(("integer", "int", "bigint"), _integer(64)),
        "decimal": _decimal(),
        "numeric": _decimal(19),  # beyond 64 bits it keeps a float
        **dict.fromkeys(("real", "double", "float"), _FLOAT64),
        **dict.fromkeys(("text", "varchar", "char"), _TEXT),
        "blob": _BINARY,
        "date": _DATE,
        "time": _time(6),
        **dict.fromkeys(("datetime", "timestamp"), _moment("timestamp", 6)),
        **dict.fromkeys(("timestamp with time zone", "timestamptz"), _moment("timestamptz", 6)),
        "uuid": _UUID,
        "json": _JSON,
    },
    "files": _DUCKDB,  # which reads them
    FRAMES: _DUCKDB,
    "spark": {
        "boolean": _BOOLEAN,
        "tinyint": _integer(8),
        "smallint": _integer(16),
        "int": _integer(32),
        "bigint": _integer(64),
        "decimal": _decimal(10, 0),
        "float": _FLOAT32,
        "double": _FLOAT64,
        "string": _TEXT,
        "varchar": _TEXT,
        "char": _CHAR,
        "binary": _BINARY,
        "date": _DATE,
        "time": _time(6),
        "timestamp": _moment("timestamptz", 6),
        "timestamp_ntz": _moment("timestamp", 6),
        "interval": _INTERVAL,
        "array": _ARRAY,
        "struct": _STRUCT,
        "map": _MAP,
    },
    "clickhouse": {
        "bool": _BOOLEAN,
        **{f"int{bits}": _integer(bits) for bits in (8, 16, 32, 64, 128, 256)},
        **{f"uint{bits}": _integer(bits, signed=False) for bits in (8, 16, 32, 64, 128, 256)},
        "decimal": _decimal(10, 0),
        "float32": _FLOAT32,
        "float64": _FLOAT64,
        "string": _BYTES,
        "fixedstring": LogicalType("text", length=1, in_bytes=True, fixed=True, open=True),
        "enum8": _ENUM,
        "enum16": _ENUM,
        "date": _moment("date", None, 1970, 2148),
        "date32": _DATE,
        "datetime": _moment("timestamp", 0, 1970, 2105),
        "datetime64": _moment("timestamp", 3),
        "time": _time(0, hours=999),
        "time64": _time(3, hours=999),
        "ipv4": LogicalType("text", length=15),
        "ipv6": LogicalType("text", length=45),
        "uuid": _UUID,
        "json": _JSON,
        "array": _ARRAY,
        "tuple": _STRUCT,
        "map": _MAP,
    },
}
"""What the types of each engine hold, by their names in its catalogue, in lower case.

Numbers in brackets replace digits, scale or length here. Years before 1 and after 9999, NaN and
the infinities are left out: not all engines hold them, and hardly a column needs them.
"""

UNSIZED = frozenset({"duckdb", "sqlite", "files", FRAMES, "spark", "clickhouse"})
"""The engines whose texts usually have no stated length."""
# For engines that are not in `TYPES`, in the words of DuckDB.
BY_KIND: Mapping[Kind, str] = {
    "text": "varchar",
    "integer": "bigint",
    "float": "double",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "timestamp with time zone",
}
# SQLite's rules for names that are not in its table, in their order.
AFFINITIES = (
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

# One row for the family of a value's type, one column for that of the type that is to hold it:
#   .  no form that both have
#   =  the rule of the family          n  the rule of numbers       x  as text, if it is long enough
#   o  its values, every one           v  loses values that it cannot read
#   d  years                           t  loses the time of day     z  loses the zone
#   b  loses the zone and the time     r  bytes, if the text holds any bytes
_GRID = """
             boo int dec flo tex bin bit dat tim ttz tst tsz int uui jso arr str map oth
boolean      =   n   n   n   .   .   .   .   .   .   .   .   .   .   .   .   .   .   .
integer      n   =   n   n   .   .   .   .   .   .   .   .   .   .   .   .   .   .   .
decimal      n   n   =   n   .   .   .   .   .   .   .   .   .   .   .   .   .   .   .
float        n   n   n   =   .   .   .   .   .   .   .   .   .   .   .   .   .   .   .
text         .   .   .   .   =   r   .   .   .   .   .   .   .   v   v   .   .   .   .
binary       .   .   .   .   r   =   .   .   .   .   .   .   .   .   .   .   .   .   .
bits         .   .   .   .   .   .   =   .   .   .   .   .   .   .   .   .   .   .   .
date         .   .   .   .   .   .   .   =   .   .   d   z   .   .   .   .   .   .   .
time         .   .   .   .   .   .   .   .   =   z   .   .   .   .   .   .   .   .   .
timetz       .   .   .   .   .   .   .   .   z   =   .   .   .   .   .   .   .   .   .
timestamp    .   .   .   .   .   .   .   t   .   .   =   z   .   .   .   .   .   .   .
timestamptz  .   .   .   .   .   .   .   b   .   .   z   =   .   .   .   .   .   .   .
interval     .   .   .   .   .   .   .   .   .   .   .   .   =   .   .   .   .   .   .
uuid         .   .   .   .   x   .   .   .   .   .   .   .   .   =   .   .   .   .   .
json         .   .   .   .   x   .   .   .   .   .   .   .   .   .   =   .   .   .   .
array        .   .   .   .   .   .   .   .   .   .   .   .   .   .   o   =   .   .   .
struct       .   .   .   .   .   .   .   .   .   .   .   .   .   .   o   .   =   .   .
map          .   .   .   .   .   .   .   .   .   .   .   .   .   .   o   .   .   =   .
other        .   .   .   .   .   .   .   .   .   .   .   .   .   .   .   .   .   .   =
"""


def _matrix() -> dict[tuple[Family, Family], str]:
    _, *lines = _GRID.strip().splitlines()
    rows = [line.split() for line in lines]
    return {
        (a, b): code
        for a, (name, *codes) in zip(FAMILIES, rows, strict=True)
        for b, code in zip(FAMILIES, codes, strict=True)
        if name == a
    }


MATRIX: Mapping[tuple[Family, Family], str] = _matrix()
"""The rule for each pair of families."""
