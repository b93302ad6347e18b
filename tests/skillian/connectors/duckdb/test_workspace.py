import asyncio
from collections.abc import AsyncGenerator
from decimal import Decimal

import pyarrow as pa
import pytest

from skillian.connectors.base import ArrowBatch
from skillian.connectors.duckdb.engine import Workspace, stored_type
from skillian.errors import QueryError

COLUMNS = {"key_0": stored_type("text"), "total_0": stored_type("decimal", 2)}


async def batches(*rows: list[dict[str, object]]) -> AsyncGenerator[ArrowBatch]:
    schema = pa.schema([("key_0", pa.string()), ("total_0", pa.decimal128(38, 2))])
    for batch in rows:
        yield pa.RecordBatch.from_pylist(batch, schema)


async def test_staged_rows_are_exact() -> None:
    workspace = Workspace()
    heard: list[int] = []
    one: dict[str, object] = {
        "key_0": None,
        "total_0": Decimal("999999999999999999999999999999999999.99"),
    }
    two: dict[str, object] = {"key_0": 'x"y', "total_0": None}
    name = await workspace.stage(COLUMNS, batches([one, two], [two]), heard.append)
    assert heard == [2, 3]
    table = await workspace.run(f'SELECT * FROM "{name}" ORDER BY key_0', {})  # noqa: S608
    assert table.to_pylist() == [two, two, one]
    await workspace.drop(name)
    with pytest.raises(QueryError, match="does not exist"):
        await workspace.run(f'SELECT * FROM "{name}"', {})  # noqa: S608
    await workspace.aclose()


@pytest.mark.parametrize("rows", [10, 30_000])
async def test_the_size_of_tables_is_about_their_memory(rows: int) -> None:
    workspace = Workspace()
    made = "SELECT i::TEXT AS t, i::BIGINT AS n, i::DECIMAL(38, 2) AS d FROM range($rows) r (i)"
    names = [await workspace.create(made, {"rows": rows})]
    names.append(await workspace.stage(COLUMNS, batches([{"key_0": "x"}] * rows)))
    used = "SELECT sum(memory_usage_bytes)::BIGINT AS n FROM duckdb_memory()"
    [memory] = (await workspace.run(used, {})).to_pylist()
    assert memory["n"] < 2 * workspace.size(*names) < 4 * memory["n"] + 400_000
    await workspace.aclose()


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_a_failed_or_cancelled_stage_leaves_no_table(*, is_cancelled: bool) -> None:
    waiting, going = asyncio.Event(), asyncio.Event()

    async def broken() -> AsyncGenerator[ArrowBatch]:
        async for batch in batches([{"key_0": "x", "total_0": Decimal(1)}]):
            yield batch
        waiting.set()
        await going.wait()
        raise QueryError("gone")

    workspace = Workspace()
    staging = asyncio.create_task(workspace.stage(COLUMNS, broken()))
    await waiting.wait()
    if is_cancelled:
        staging.cancel()
    else:
        going.set()
    with pytest.raises(asyncio.CancelledError if is_cancelled else QueryError):
        await staging
    left = await workspace.run("SELECT COUNT(*) AS n FROM duckdb_tables()", {})
    assert left.to_pylist() == [{"n": 0}]
    await workspace.aclose()


async def test_no_file_can_be_read() -> None:
    workspace = Workspace()
    for table in ("/etc/passwd", "x.csv"):
        with pytest.raises(QueryError):
            await workspace.run(f"SELECT * FROM '{table}'", {})  # noqa: S608
    await workspace.aclose()
