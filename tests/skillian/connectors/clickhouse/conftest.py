"""A server with tables of its own, for all tests of this folder."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.clickhouse import Server, clickhouse_server

from skillian.connectors import connect

TABLE = """
CREATE TABLE "a ""b"" table" (
    "select" Nullable(Decimal(17, 2)), "Größe" UInt64, code LowCardinality(Nullable(String)),
    fixed FixedString(4), side Enum8('debit' = 1, 'credit' = 2), flag Bool, small Nullable(Int16),
    huge Int128, ratio Nullable(Float64), day Date32, first Date, moment DateTime64(6),
    second DateTime, instant DateTime64(3, 'Europe/Berlin'), id UUID, list Array(UInt8),
    wide Decimal(60, 2)
) ENGINE = MergeTree ORDER BY tuple()
"""
ROW = """
INSERT INTO "a ""b"" table" VALUES (
    -0.10, 18446744073709551615, 'Größe ', 'ab', 'credit', true, -7,
    -12345678901234567890123456789012345678, 0.1, '1950-01-31', '2024-01-31',
    '2024-01-31 10:00:00.000001', '2024-01-31 10:00:00', '2024-01-31 10:00:00.25',
    '61f0c404-5cb3-11e7-907b-a6006ad3dba0', [1, 2], 1.50
), (
    NULL, 0, NULL, 'abcd', 'debit', false, NULL, 0, nan, '2024-01-31', '1970-01-01',
    '1900-01-01 00:00:00', '1970-01-01 00:00:00', '2024-07-31 10:00:00',
    '00000000-0000-0000-0000-000000000000', [], -1.50
)
"""
OTHERS = (
    "CREATE VIEW v AS SELECT toDate32('2024-01-31') AS d",
    "CREATE DATABASE other",
    "CREATE TABLE other.t (x Nullable(String)) ENGINE = MergeTree ORDER BY tuple()",
    "INSERT INTO other.t VALUES (NULL), ('7'), ('-8')",
    "CREATE TABLE bytes (x String) ENGINE = MergeTree ORDER BY tuple()",
    "INSERT INTO bytes SELECT unhex('ff41')",
)


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with clickhouse_server(tmp_path_factory.mktemp("clickhouse") / "data") as running:
        for statement in (TABLE, ROW, *OTHERS):
            running.run(statement)
        yield running


@pytest.fixture
async def connector(server: Server) -> AsyncIterator[Any]:
    opened: Any = connect("books", f"clickhouse://{server.address}", Path())
    yield opened
    await opened.aclose()
