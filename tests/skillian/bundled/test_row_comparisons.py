"""`compare_sources` without measures: whole rows, as a model asks for and reads them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from skillian.data.declare.saved import SavedComparison
from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices
from skillian.skills.loader import BUNDLED, load_skill
from skillian.skills.skill import in_session

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
        tools = {tool.name: tool for tool in load_skill(BUNDLED / "data-analyst", services).tools}

        async def call(name: str = "compare_sources", **arguments: Any) -> dict[str, Any]:
            with in_session("s"):
                result = await tools[name].aexecute(**arguments)
            read: dict[str, Any] = json.loads(json.dumps(result, allow_nan=False))
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


@pytest.mark.parametrize(
    "options", [{}, {"key": ["id"]}, {"key": ["age"]}, {"ignore": ["age"]}], ids=str
)
async def test_of_hidden_values_no_refusal_names_one(
    folder: Path, hidden: Call, options: dict[str, Any]
) -> None:
    with duckdb.connect(str(folder / "books.duckdb")) as connection:
        table = "CREATE OR REPLACE TABLE {} AS SELECT {} AS id, 40 AS age FROM range(2)"
        connection.execute(table.format("staff", "777"))
        connection.execute(table.format("copy", "'0777'"))
    result = await hidden(**BOTH, **options)
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


@pytest.fixture
def blanks(folder: Path) -> None:
    """Forty names, of which all have a blank after them in the copy, and ages times 12."""
    with duckdb.connect(str(folder / "books.duckdb")) as connection:
        connection.execute(
            "CREATE OR REPLACE TABLE staff AS SELECT i AS id, 'Aurelia ' || i AS name, i + 20 AS"
            " age, i % 2 = 0 AS active, DATE '2024-01-01' + i::INTEGER AS born,"
            " TIMESTAMPTZ '2024-01-01 00:00:00+00' AS seen FROM range(1, 41) t(i)"
        )
        connection.execute(
            "CREATE OR REPLACE TABLE copy AS SELECT * REPLACE (name || '  ' AS name,"
            " age * 4321 AS age) FROM staff WHERE id < 40"
        )


async def test_rows_that_differ_are_paged_by_their_key(call: Call) -> None:
    key = (await call(**BOTH))["cache_key"]
    result = await call("get_comparison_rows", cache_key=key)
    assert (result["total"], [row["status"] for row in result["rows"]]) == (
        2,
        ["differing", "only_in_a"],
    )
    first, second = result["rows"]
    assert first["cells"] == {"name": {"a": "Aurelia", "b": "Boris"}, "age": {"a": 30, "b": 777}}
    assert second["cells"]["name"] == {"a": "Bo", "b": None}
    assert result["scope"][1] == "whole rows"
    only = await call("get_comparison_rows", cache_key=key, status="only_in_a")
    assert [row["key"] for row in only["rows"]] == [{"id": 2}]
    refused = await call("get_comparison_rows", cache_key=key, status="major_diff")
    assert "only_in_a" in refused["message"]


async def test_a_page_shows_only_cells_that_differ(blanks: None, call: Call) -> None:
    key = (await call(**BOTH))["cache_key"]
    [row] = (await call("get_comparison_rows", cache_key=key, limit=1))["rows"]
    assert set(row["cells"]) == {"name", "age"}


async def test_rules_that_explain_rows_can_be_applied(blanks: None, call: Call) -> None:
    compared = await call(**BOTH)
    why = await call("explain_difference", cache_key=compared["cache_key"])
    assert {rule["option"] for rule in why["rules"]} == {
        "--rule name:trim",
        "--rule age:factor=4321",
    }
    assert len(why["interpretation"]) == 2
    assert why["scope"] == compared["scope"]
    last = why["rules"][-1]
    again = await call(**BOTH, **last["changes"])
    assert (again["rows"]["matched"], again["rows"]["a"]) == (last["matched"], last["total"])
    assert (again["rows"]["differing"], again["rows"]["only_in_a"]) == (0, 1)


async def test_rows_without_a_common_cause_are_not_explained(call: Call) -> None:
    for changes, words in (
        ({}, "No rule"),
        ({"multiset": True}, "without a key"),
        ({"filters": {"id": 3}}, "nothing to explain"),
    ):
        key = (await call(**BOTH, **changes))["cache_key"]
        why = await call("explain_difference", cache_key=key)
        assert why["rules"] == []
        assert words in why["interpretation"][0]


async def test_tools_for_measures_say_that_rows_need_another_one(call: Call) -> None:
    key = (await call(**BOTH))["cache_key"]
    for name, more in (
        ("drill_down", {"key": {"id": 1}}),
        ("explain_difference", {"dimensions": ["id"]}),
    ):
        refused = await call(name, cache_key=key, **more)
        assert refused["error"] is True
        assert "get_comparison_rows" in refused["message"]


async def test_code_has_the_rows_that_differ(blanks: None, call: Call) -> None:
    compared = await call(**BOTH)
    code = (
        "first = comparison.iloc[0]\n"
        "print(len(comparison), summary['rows_that_differ'], first['differing'],"
        " first['age b'] - first['age a'], comparison['age b'].iloc[-1])\n"
        "int((comparison['class'] == 'differs').sum())"
    )
    result = await call("run_python", code=code)
    assert result["code_error"] is None
    assert result["output"] == "40 40 name, age 90720 None\n"
    assert result["value"] == "39"
    assert result["comparison"] == compared["cache_key"]


async def test_of_hidden_values_rows_are_refused_and_rules_only_counted(
    blanks: None, hidden: Call
) -> None:
    key = (await hidden(**BOTH))["cache_key"]
    for name, more in (("get_comparison_rows", {}), ("run_python", {"code": "comparison"})):
        refused = await hidden(name, cache_key=key, **more)
        assert refused["error"] is True
        assert "hidden" in refused["message"]
    why = await hidden("explain_difference", cache_key=key)
    assert {(*rule["columns"], *rule["kinds"], rule["explained"]) for rule in why["rules"]} == {
        ("name", "trim", 39),
        ("age", "factor", 39),
    }
    assert not [secret for secret in SECRETS if secret in json.dumps(why)]


async def test_a_private_comparison_is_unknown_to_the_tools(folder: Path) -> None:
    registry = SourceRegistry.load(folder / "shown.yaml")
    question = SavedComparison.model_validate({"name": "x", "a": "staff", "b": "copy"})
    async with DataServices(registry) as services, DataServices(registry, services.memory) as own:
        key = (await own.engine.compare(question)).cache_key
        tools = {tool.name: tool for tool in load_skill(BUNDLED / "data-analyst", services).tools}
        for name, more in (
            ("get_comparison_rows", {}),
            ("explain_difference", {}),
            ("drill_down", {"key": {"id": 1}}),
            ("run_python", {"code": "comparison"}),
        ):
            refused = json.dumps(await tools[name].aexecute(cache_key=key, **more))
            assert "is unknown or has expired" in refused
            assert "Aurelia" not in refused
