"""The matrix of types against the types whose values a comparison of rows compares."""

import re

import pytest
from tests.skillian.data.schema.type_cases import ENGINES, SHOWN

from skillian.connectors.clickhouse.types import column_type as clickhouse_type
from skillian.connectors.duckdb.statement import column_type as duckdb_type
from skillian.connectors.mysql.types import column_type as mysql_type
from skillian.connectors.postgres.types import column_type as postgres_type
from skillian.connectors.spark.rows import column_type as spark_type
from skillian.connectors.sqlite.types import declared_type
from skillian.data.schema.types import parse_type, relation
from skillian.data.tables.cells import NotComparableError, family_of
from skillian.data.tables.types import CellType, cell_type

# Families with a form in a schema whose values a row comparison does not compare, or only in one
# engine.
_NOT_COMPARED = frozenset(
    {
        *((one, "json") for one in ("array", "struct", "map")),
        *(
            (one, other)
            for one in ("array", "struct", "map")
            for other in ("array", "struct", "map")
        ),
        ("bits", "bits"),
        ("interval", "interval"),
        ("boolean", "float"),
        ("binary", "text"),
        ("time", "timetz"),
        ("timetz", "timetz"),
        ("date", "timestamptz"),
    }
)


@pytest.mark.parametrize("engine_a", ENGINES)
def test_types_of_different_kinds_have_no_common_form_and_others_have_one(engine_a: str) -> None:
    wrong: list[str] = []
    for engine_b in ENGINES:
        for one in SHOWN[engine_a]:
            for other in SHOWN[engine_b]:
                a, b = parse_type(engine_a, one), parse_type(engine_b, other)
                try:
                    family_of(_cells(engine_a, one), _cells(engine_b, other))
                    compared = True
                except NotComparableError:
                    compared = False
                kinds = {(a.family, b.family), (b.family, a.family)}
                if compared != (relation(a, b).kind != "differs") and not kinds & _NOT_COMPARED:
                    wrong.append(f"{engine_a} {one}, {engine_b} {other}: {compared}")
    assert not wrong, "\n".join(wrong)


def _cells(engine: str, text: str) -> CellType:
    """Return the type of the cells of a column, as the connector of its engine reads it."""
    name, _, arguments = text.partition("(")
    match engine:
        case "duckdb" | "files":
            kind = duckdb_type(text)
        case "sqlite":
            kind = declared_type(text)
        case "clickhouse":
            kind = clickhouse_type(text)
        case "spark":
            kind = spark_type(text)
        case "mysql":
            scale = arguments.rstrip(")").partition(",")[2] or 0
            kind = mysql_type(name.removesuffix(" unsigned"), text, scale)
        case _:
            short = _POSTGRES.get(re.sub(r"\(\d\)", "", text), name)
            digits = re.fullmatch(r"numeric\((\d+),(\d+)\)", text)
            modifier = -1 if digits is None else (int(digits[1]) << 16 | int(digits[2])) + 4
            is_text = short in {"text", "varchar", "bpchar", "enum"}
            kind = postgres_type(short, is_text, modifier, text)
    return cell_type(kind, engine)


_POSTGRES = {
    "boolean": "bool",
    "smallint": "int2",
    "integer": "int4",
    "bigint": "int8",
    "real": "float4",
    "double precision": "float8",
    "character varying(10)": "varchar",
    "character(10)": "bpchar",
    "time without time zone": "time",
    "timestamp without time zone": "timestamp",
    "timestamp with time zone": "timestamptz",
}
