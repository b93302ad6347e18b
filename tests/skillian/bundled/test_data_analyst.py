"""The tools as a model calls them: inputs, results, bounds, and errors as objects."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices
from skillian.demo.ledger import write_demo
from skillian.skills.loader import BUNDLED, load_skill

Call = Callable[..., Awaitable[dict[str, Any]]]

BOTH = {"source_a": "fi_reporting", "source_b": "bpc_reporting", "measures": ["amount"]}
SECRETS = ("1001", "2024004", "2024012", "400000", "192258.87", "6586678.06", "CC100")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's sources with a long text, and a second file in which the ledger is hidden."""
    path = write_demo(tmp_path_factory.mktemp("demo"))
    text = path.read_text(encoding="utf-8")
    hidden = text.replace("    table: fi_ledger\n", "    table: fi_ledger\n    values: hidden\n")
    path.with_name("hidden.yaml").write_text(hidden, encoding="utf-8")
    with duckdb.connect(path.with_name("ledger.duckdb")) as connection:
        connection.execute("ALTER TABLE fi_ledger ADD COLUMN note VARCHAR DEFAULT 'x'")
        connection.execute("UPDATE fi_ledger SET note = repeat('long', 1000)")
    return path


async def _calls(path: Path) -> AsyncIterator[Call]:
    async with DataServices(SourceRegistry.load(path)) as services:
        tools = {tool.name: tool for tool in load_skill(BUNDLED / "data-analyst", services).tools}

        async def call(name: str, **arguments: Any) -> dict[str, Any]:
            result = await tools[name].aexecute(**arguments)
            read: dict[str, Any] = json.loads(json.dumps(result))
            return read

        yield call


@pytest.fixture
async def call(demo: Path) -> AsyncIterator[Call]:
    async for each in _calls(demo):
        yield each


@pytest.fixture
async def hidden(demo: Path) -> AsyncIterator[Call]:
    """The tools, with the values of one of the two sources hidden."""
    async for each in _calls(demo.with_name("hidden.yaml")):
        yield each


def test_the_instructions_mention_every_tool_that_is_offered() -> None:
    skill = load_skill(BUNDLED / "data-analyst", None)
    names = [tool.name for tool in skill.tools]
    assert names == [
        *("list_sources", "describe_source", "query_source", "compare_sources"),
        *("explain_difference", "drill_down", "get_comparison_rows", "run_python"),
    ]
    offered = [tool.name for tool in skill.tools if tool.is_offered]
    assert all(f"`{name}`" in skill.instructions for name in offered)


async def test_sources_are_summarized(call: Call) -> None:
    first, second = (await call("list_sources"))["sources"]
    assert (first["name"], second["name"]) == ("fi_reporting", "bpc_reporting")
    assert first["dimensions"]["company"] == "text"
    assert first["measures"] == {"amount": "EUR", "documents": None}
    assert (first["row_count"], first["freshness"]) == (1440, "2024012")


async def test_a_source_is_described_with_types_and_values(call: Call) -> None:
    result = await call("describe_source", source="fi_reporting")
    assert result["dimensions"]["company"] == {
        "type": "text",
        "description": "Company code",
        "synonyms": ["company code", "entity"],
        "values": ["1001", "1002", "1003"],
        "more_values": False,
    }
    assert result["measures"]["amount"]["aggregation"] == "sum"


async def test_a_dimension_with_many_values_shows_some(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "many.duckdb") as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT range AS k, repeat('k', 300) AS v FROM range(99)"
        )
    (tmp_path / "sources.yaml").write_text(
        "connections: {main: duckdb:///many.duckdb}\n"
        "sources: {t: {connection: main, table: t, dimensions: {k: {column: k}, v: {column: v}},"
        " measures: {n: {column: k, aggregation: count}}}}\n"
    )
    async for call in _calls(tmp_path / "sources.yaml"):
        result = (await call("describe_source", source="t"))["dimensions"]
        assert result["k"]["values"] == list(range(20))
        assert result["k"]["more_values"]
        assert result["v"]["values"] == [f"{'k' * 200}… (300 characters)"]


async def test_a_comparison_gives_summary_differences_sentences_and_its_key(call: Call) -> None:
    result = await call("compare_sources", **BOTH)
    assert set(result) == {
        *(
            "kind",
            "source_a",
            "source_b",
            "summary",
            "top_differences",
            "interpretation",
            "findings",
            "cache_key",
            "scope",
        ),
    }
    assert result["summary"]["by_status"]["major_diff"] == 4
    assert result["top_differences"][0]["gap"] == "192258.87"


async def test_a_difference_is_explained_from_its_key(call: Call) -> None:
    key = (await call("compare_sources", **BOTH))["cache_key"]
    result = await call("explain_difference", cache_key=key)
    assert result["interpretation"] == [
        "98.3 % of the gross gap in amount: company 1001, with 33.1 % of the rows."
    ]
    assert result["unused_dimensions"] == ["account", "cost_centre"]
    first = result["measures"]["amount"]["breakdowns"][0]
    assert first["contributions"][0]["member"] == {"company": "1001"}
    finer = await call("explain_difference", cache_key=key, dimensions=["account", "cost_centre"])
    assert finer["grain"] == ["company", "period", "account", "cost_centre"]
    assert len(finer["measures"]["amount"]["breakdowns"]) <= 6
    assert all(
        len(each["contributions"]) <= 5 for each in finer["measures"]["amount"]["breakdowns"]
    )


async def test_the_rows_behind_a_group_are_shown_and_bounded(call: Call) -> None:
    compared = await call("compare_sources", **BOTH)
    key = compared["top_differences"][0]["key"]
    result = await call("drill_down", cache_key=compared["cache_key"], key=key, limit=7)
    assert result["key"] == {"company": "1001", "period": "2024004"}
    assert (len(result["a"]["rows"]), len(result["b"]["rows"])) == (7, 7)
    assert result["a"]["truncated"]
    note = result["a"]["columns"].index("note")
    assert result["a"]["rows"][0][note] == f"{'long' * 50}… (4000 characters)"


async def test_groups_are_paged(call: Call) -> None:
    key = (await call("compare_sources", **BOTH))["cache_key"]
    first = await call("get_comparison_rows", cache_key=key, limit=4)
    rest = await call("get_comparison_rows", cache_key=key, offset=4, limit=4)
    assert first["total"] == rest["total"] == 6
    assert (len(first["rows"]), len(rest["rows"])) == (4, 2)
    missing = await call("get_comparison_rows", cache_key=key, status="missing_in_b")
    assert [row["key"]["period"] for row in missing["rows"]] == ["2024007"]
    two = await call("get_comparison_rows", cache_key=key, status=["missing_in_b", "minor_diff"])
    assert two["total"] == 2


@pytest.mark.parametrize(
    ("tool", "arguments", "kind", "text"),
    [
        ("describe_source", {"source": "fi_report"}, "not_found", "fi_reporting"),
        ("compare_sources", {**BOTH, "source_a": "bpc"}, "not_found", "bpc_reporting"),
        ("compare_sources", {**BOTH, "measures": ["amont"]}, "not_found", "amount"),
        ("compare_sources", {**BOTH, "measures": []}, "validation_error", "measures"),
        ("compare_sources", {**BOTH, "by": ["company"]}, "validation_error", "by"),
        ("explain_difference", {"cache_key": "x"}, "validation_error", "compare the sources again"),
        ("drill_down", {"cache_key": "x", "key": {}}, "validation_error", "compare the sources"),
        ("get_comparison_rows", {"cache_key": "x", "status": "odd"}, "validation_error", "status"),
        ("get_comparison_rows", {"cache_key": "x", "limit": 101}, "validation_error", "limit"),
        ("query_source", {"source": "fi_reporting"}, "validation_error", "name dimensions"),
    ],
)
async def test_a_failure_is_an_object_with_its_type(
    tool: str, arguments: dict[str, Any], kind: str, text: str, call: Call
) -> None:
    result = await call(tool, **arguments)
    assert (result["error"], result["type"]) == (True, kind)
    assert text in json.dumps(result)


async def test_a_wrong_key_of_a_group_is_reported_with_its_dimensions(call: Call) -> None:
    key = (await call("compare_sources", **BOTH))["cache_key"]
    result = await call("drill_down", cache_key=key, key={"company": "1001"})
    assert result["type"] == "validation_error"
    assert "company, period" in result["message"]


async def test_a_model_gets_only_counts_and_shares_of_hidden_values(hidden: Call) -> None:
    compared = await hidden("compare_sources", **BOTH)
    assert compared["summary"]["by_status"]["major_diff"] == 4
    assert compared["top_differences"] == []
    assert "30 of 36 groups match (83.3 %)" in compared["interpretation"][0]
    explained = await hidden("explain_difference", cache_key=compared["cache_key"])
    assert explained["interpretation"] == [
        "1 of 3 members of company with a gap carry 80 % or more of the gross gap in amount."
    ]
    first = explained["measures"]["amount"]["breakdowns"][0]
    assert first["gross_shares"] == ["98.3 %", "1.6 %", "0.0 %"]
    listed = await hidden("list_sources")
    described = await hidden("describe_source", source="fi_reporting")
    assert described["dimensions"]["company"]["type"] == "text"
    assert (described["values"], described["freshness"]) == ("hidden", None)
    text = json.dumps([compared, explained, listed["sources"][0], described])
    assert [secret for secret in SECRETS if secret in text] == []


async def test_hidden_rows_are_refused_with_the_reason(hidden: Call) -> None:
    key = (await hidden("compare_sources", **BOTH))["cache_key"]
    group = {"company": "1001", "period": "2024004"}
    for refused in (
        await hidden("query_source", source="fi_reporting", measures=["amount"]),
        await hidden("drill_down", cache_key=key, key=group),
        await hidden("get_comparison_rows", cache_key=key),
    ):
        assert refused["type"] == "runtime_error"
        assert "values of fi_reporting are hidden from language models" in refused["message"]
    open_one = await hidden("query_source", source="bpc_reporting", measures=["amount"])
    assert open_one["rows"] == [["6446372.27"]]


async def test_database_errors_with_hidden_values_are_withheld(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "t.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT 'secret-7' AS k")
    source = (
        "{connection: main, table: t, dimensions: {k: {column: k, type: integer}},"
        " measures: {n: {column: k, aggregation: count}}}"
    )
    hidden = source.replace("table: t", "table: t, values: hidden")
    (tmp_path / "sources.yaml").write_text(
        "connections: {main: duckdb:///t.duckdb}\n"
        f"sources:\n  open: {source}\n  other: {source}\n  shut: {hidden}\n"
    )
    asked = {"measures": ["n"], "align_on": ["k"]}
    async for call in _calls(tmp_path / "sources.yaml"):
        error = await call("compare_sources", source_a="open", source_b="other", **asked)
        assert "secret-7" in error["message"]
        kept = await call("compare_sources", source_a="open", source_b="shut", **asked)
        assert kept["type"] == "query_error"
        assert "secret" not in kept["message"]
        assert "skillian compare" in kept["message"]
