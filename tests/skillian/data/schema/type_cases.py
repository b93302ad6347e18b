"""The types of each engine that docs/types.md shows, and values that tell them apart."""

from collections.abc import Mapping

ENGINES = {
    "duckdb": "DuckDB",
    "files": "Parquet",
    "postgres": "PostgreSQL",
    "mysql": "MySQL and MariaDB",
    "sqlite": "SQLite",
    "spark": "Spark",
    "clickhouse": "ClickHouse",
}

_DUCKDB = (
    *("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT"),
    *("UINTEGER", "UBIGINT", "DECIMAL(10,2)", "DECIMAL(18,0)", "DECIMAL(38,10)", "FLOAT"),
    *("DOUBLE", "VARCHAR", "ENUM('x', 'y')", "BLOB", "BIT", "DATE", "TIME"),
    *("TIME WITH TIME ZONE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"),
    *("TIMESTAMP WITH TIME ZONE", "INTERVAL", "UUID", "JSON", "INTEGER[]"),
    *("STRUCT(a INTEGER)", "MAP(VARCHAR, INTEGER)"),
)
_NOT_IN_PARQUET = frozenset({"HUGEINT", "BIT", "ENUM('x', 'y')", "TIMESTAMP_S", "TIMESTAMP_MS"})
SHOWN: Mapping[str, tuple[str, ...]] = {
    "duckdb": _DUCKDB,
    # What Parquet's own types are read as; it has no other ones.
    "files": tuple(each for each in _DUCKDB if each not in _NOT_IN_PARQUET),
    "postgres": (
        *("boolean", "smallint", "integer", "bigint", "numeric", "numeric(10,2)"),
        *("numeric(18,0)", "numeric(38,10)", "real", "double precision", "text"),
        *("character varying(10)", "character(10)", "enum('x', 'y')", "bytea", "bit(8)"),
        *("bit varying(8)", "date", "time without time zone", "time(0) without time zone"),
        *("time with time zone", "timestamp without time zone"),
        *("timestamp(3) without time zone", "timestamp with time zone"),
        *("timestamp(0) with time zone", "interval", "uuid", "json", "jsonb", "integer[]"),
    ),
    "mysql": (
        *("tinyint(1)", "tinyint", "smallint", "mediumint", "int", "bigint", "tinyint unsigned"),
        *("smallint unsigned", "int unsigned", "bigint unsigned", "year", "decimal(10,2)"),
        *("decimal(18,0)", "decimal(65,10)", "float", "double", "char(10)", "varchar(10)"),
        *("tinytext", "text", "longtext", "enum('x','y')", "binary(16)", "varbinary(16)"),
        *("blob", "longblob", "bit(8)", "date", "time", "time(6)", "datetime", "datetime(6)"),
        *("timestamp", "timestamp(6)", "json"),
    ),
    "sqlite": (
        *("BOOLEAN", "SMALLINT", "INTEGER", "DECIMAL(10,2)", "NUMERIC", "REAL", "TEXT"),
        *("VARCHAR(10)", "BLOB", "DATE", "DATETIME", "TIMESTAMP WITH TIME ZONE"),
    ),
    "spark": (
        *("boolean", "tinyint", "smallint", "int", "bigint", "decimal(10,2)", "decimal(18,0)"),
        *("decimal(38,10)", "float", "double", "string", "varchar(10)", "char(10)", "binary"),
        *("date", "timestamp", "timestamp_ntz", "array<int>", "struct<a:int>", "map<string,int>"),
    ),
    "clickhouse": (
        *("Bool", "Int8", "Int16", "Int32", "Int64", "Int128", "Int256", "UInt8", "UInt16"),
        *("UInt32", "UInt64", "UInt256", "Decimal(10, 2)", "Decimal(18, 0)", "Decimal(38, 10)"),
        *("Decimal(76, 10)", "Float32", "Float64", "String", "FixedString(10)"),
        *("Enum8('x' = 1, 'y' = 2)", "Date", "Date32", "DateTime", "DateTime64(3)"),
        *("DateTime64(6)", "DateTime64(9)", "DateTime64(6, 'UTC')", "UUID", "Array(Int32)"),
        *("Tuple(a Int32)", "Map(String, Int32)"),
    ),
}

_POWERS = (7, 8, 15, 16, 23, 24, 31, 32, 53, 63, 64, 127, 128, 255, 256)
_DIGITS = (8, 10, 18, 28, 38, 55, 65, 66, 76)
NUMBERS = (
    *("0", "1", "2", "-1", "0.5", "0.1", "0.01", "0.001", "12345678.99", "1901", "2155", "2156"),
    *(str(2**power + step) for power in _POWERS for step in (-1, 0, 1)),
    *(str(-(2**power) - step) for power in _POWERS for step in (0, 1)),
    *(str(10**digits - step) for digits in _DIGITS for step in (0, 1)),
    *("0.0000000001", "0.00000000001", "0.00000095367431640625", str(2**1000)),
    "1" + "0" * 131,
)
TEXTS = (
    *("", "x", "y", "z", "x ", "x" * 10, "x" * 11, "ü" * 10, "x" * 255, "x" * 256),
    *("ü" * 255, "😀" * 16_383, "😀" * 16_384, "x" * 65_535, "x" * 65_536),
)
BINARIES = (
    *(b"", b"\0", b"\xff", b"\xff" * 16, b"\xff\0", b"\xff" * 17),
    *(b"\1" * 65_535, b"\1" * 65_536),
)
DAYS = (
    *("0001-01-01", "1000-01-01", "1899-12-31", "1900-01-01", "1969-12-31", "1970-01-02"),
    *("2037-12-31", "2040-01-01", "2105-12-31", "2107-01-01", "2148-12-31", "2150-01-01"),
    *("2261-12-31", "2263-01-01", "2299-12-31", "2300-01-01", "9999-12-31"),
)
MOMENTS = (
    *(f"{day} 00:00:00" for day in DAYS),
    *(f"2020-01-02 03:04:05{part}" for part in ("", ".123", ".123456", ".123456789")),
)
TIMES = ("00:00:00", "12:34:56", "12:34:56.123", "12:34:56.123456", "100:00:00", "-01:00:00")
UUIDS = ("6c84fb90-12c4-11e1-840d-7b25c5ee775a",)
JSONS = ('{"a": [1, null]}', '"text"', f'["{"x" * 70_000}"]')
