"""`compare_sources` without measures: whole rows, as a model asks for and reads them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices
from skillian.skills.loader import BUNDLED, load_skill

Call = Callable[..., Awaitable[dict[str, Any]]]

SOURCES = """
connections: {books: duckdb:///books.duckdb}
sources:
  staff: {connection: books, table: staff, VALUES
    dimensions: {id: {column: id}}, measures: {age: {column: age, aggregation: sum}}}
  copy: {connection: books, table: copy,
    dimensions: {id: {column: id}}, measures: {age: {column: age, aggregation: sum}}}
"""
BOTH = {"source_a": "staff", "source_b": "copy"}
SECRETS = ("Aurelia", "Boris", "777", "4321")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with duckdb.connect(str(tmp_path / "books.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE staff AS SELECT * FROM (VALUES (4321, 'Aurelia', 30), (2, 'Bo', 40),"
            " (3, 'Cy', 50)) t(id, name, age)"
        )
        connection.execute("CREATE TABLE copy AS FROM staff")
        connection.execute("UPDATE copy SET name = 'Boris', age = 777 WHERE id = 4321")
        connection.execute("DELETE FROM copy WHERE id = 2")
    (tmp_path / "shown.yaml").write_text(SOURCES.replace(" VALUES", ""))
    (tmp_path / "hidden.yaml").write_text(SOURCES.replace("VALUES", "values: hidden,"))
    return tmp_path


async def _calls(path: Path) -> AsyncIterator[Call]:
    async with DataServices(SourceRegistry.load(path)) as services:
        [tool] = [
            tool
            for tool in load_skill(BUNDLED / "data-analyst", services).tools
            if tool.name == "compare_sources"
        ]

        async def call(**arguments: Any) -> dict[str, Any]:
            read: dict[str, Any] = json.loads(json.dumps(await tool.aexecute(**arguments)))
            return read

        yield call


@pytest.fixture
async def call(folder: Path) -> AsyncIterator[Call]:
    async for each in _calls(folder / "shown.yaml"):
        yield each


@pytest.fixture
async def hidden(folder: Path) -> AsyncIterator[Call]:
    async for each in _calls(folder / "hidden.yaml"):
        yield each


async def test_whole_rows_are_compared_without_measures(call: Call) -> None:
    result = await call(**BOTH)
    assert (result["kind"], result["equal"]) == ("rows", False)
    assert result["key"]["columns"] == ["id"]
    assert (result["rows"]["matched"], result["rows"]["only_in_a"]) == (1, 1)
    assert {column["a"] for column in result["columns"]} == {"name", "age"}
    assert result["samples"]["differing"][0]["cells"]["name"] == {"a": "Aurelia", "b": "Boris"}
    assert "proof" not in result
    assert result["interpretation"]


async def test_the_scope_of_whole_rows_is_stated(call: Call) -> None:
    rules = {"columns": {"age": {"absolute": 5}}}
    result = await call(**BOTH, key=["id"], filters={"id": [1, 2]}, rules=rules)
    *parts, time = result["scope"]
    assert parts[:4] == ["staff and copy", "whole rows", "id: 1, 2", "by id"]
    assert "(age)" in parts[4]
    assert time.startswith("as of ")


async def test_columns_can_be_ignored(call: Call) -> None:
    result = await call(**BOTH, key=["id"], ignore=["name"])
    assert [column["a"] for column in result["columns"]] == ["age"]


async def test_of_hidden_values_no_model_counts_the_rows_with_a_value(hidden: Call) -> None:
    refused = json.dumps(await hidden(**BOTH, filters={"name": "Boris"}))
    assert "may only name a declared dimension" in refused
    assert "rows" not in json.loads(refused)


async def test_of_hidden_values_a_model_gets_counts_only(hidden: Call) -> None:
    result = await hidden(**BOTH)
    assert result["rows"]["differing"] == 1
    assert {column["a"]: column["mismatches"] for column in result["columns"]} == {
        "name": 1,
        "age": 1,
    }
    text = json.dumps(result)
    assert not [secret for secret in SECRETS if secret in text]


@pytest.mark.parametrize("key", [None, ["id"], ["age"]])
async def test_of_hidden_values_no_refusal_names_one(
    folder: Path, hidden: Call, key: list[str] | None
) -> None:
    with duckdb.connect(str(folder / "books.duckdb")) as connection:
        table = "CREATE OR REPLACE TABLE {} AS SELECT {} AS id, 40 AS age FROM range(2)"
        connection.execute(table.format("staff", "777"))
        connection.execute(table.format("copy", "'0777'"))
    result = await hidden(**BOTH, key=key)
    assert "id" in json.dumps(result)
    assert "777" not in json.dumps(result)


@pytest.mark.parametrize(
    "arguments",
    [
        {"measures": ["age"], "key": ["id"]},
        {"align_on": ["id"]},
        {"thresholds": {"match": {"absolute": 1}}},
        {"key": ["nothing"]},
        {"ignore": ["nothing"]},
    ],
)
async def test_arguments_that_do_not_fit_are_refused_with_the_remedy(
    call: Call, arguments: dict[str, Any]
) -> None:
    result = await call(**BOTH, **arguments)
    assert result["error"] is True
    assert result["message"]


async def test_long_texts_are_cut(folder: Path, call: Call) -> None:
    with duckdb.connect(str(folder / "books.duckdb")) as connection:
        connection.execute("UPDATE copy SET name = repeat('x', 100000)")
    assert len(json.dumps(await call(**BOTH))) < 5000
