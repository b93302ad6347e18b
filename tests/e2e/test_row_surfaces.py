"""Whole rows compared over HTTP, by an MCP client and from a saved file: the same exact results.

The expected counts are computed in plain Python from the rows of `SIDES`.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import aiohttp
import duckdb
import pytest
import yaml
from mcp import Client as McpClient
from tests.e2e.plain_rows import COLUMNS, SIDES, Options, counted
from tests.support.serving import COMMAND, UNCOUNTED, Serving, serving

RENAMED = {"name": "title", "amount": "Amount"}
ALL = {"trim": True, "ignore_case": True, "nfc": True, "collapse_whitespace": True}
# The options as `POST /compare` takes them; `source_b` is `new` unless a case states it.
CASES: dict[str, Options] = {
    "exact": {},
    "key of two columns": {"key": ["id", "code"]},
    "key found": {"key": None},
    "trim": {"rules": {"all": {"trim": True}}},
    "case": {"rules": {"all": {"ignore_case": True}}},
    "nfc": {"rules": {"all": {"nfc": True}}},
    "white space": {"rules": {"all": {"collapse_whitespace": True}}},
    "empty": {"rules": {"all": {"empty_is_null": True}}},
    "all of text": {"rules": {"all": {**ALL, "empty_is_null": True}}},
    "text of one column": {"rules": {"columns": {"name": {"trim": True}}}},
    "text by type": {"rules": {"types": {"text": {"ignore_case": True}}}},
    "text of a column but not of all": {
        "rules": {"all": {"trim": True}, "columns": {"code": {"trim": False}}}
    },
    "a key of text, trimmed": {"key": ["code"], "rules": {"all": {"trim": True}}},
    "a key of text, exact": {"key": ["code"]},
    "a key of text, all options": {"key": ["code"], "rules": {"all": ALL}},
    "absolute": {"rules": {"all": {"absolute": "0.01"}}},
    "absolute as a number": {"rules": {"all": {"absolute": 0.1}}},
    "absolute of 0": {"rules": {"all": {"absolute": 0}}},
    "relative": {"rules": {"all": {"relative": "0.01"}}},
    "both limits": {"rules": {"all": {"absolute": "1", "relative": "0.001"}}},
    "absolute by type": {"rules": {"types": {"number": {"absolute": "0.1"}}}},
    "floats by type": {"rules": {"types": {"float": {"relative": "0.1"}}}},
    "a column precedes its type": {
        "rules": {
            "types": {"number": {"absolute": "0.1"}},
            "columns": {"amount": {"absolute": "0.01"}},
        }
    },
    "one limit replaces both": {
        "rules": {"all": {"absolute": "1"}, "columns": {"amount": {"relative": "0.001"}}}
    },
    "a limit of a column only": {"rules": {"columns": {"ratio": {"absolute": "1e-9"}}}},
    "seconds": {"rules": {"all": {"seconds": 1}}},
    "seconds of a day": {"rules": {"all": {"seconds": "86400"}}},
    "seconds of one column": {"rules": {"columns": {"seen": {"seconds": "60"}}}},
    "precision": {"rules": {"all": {"precision": "second"}}},
    "precision of an hour": {"rules": {"columns": {"seen": {"precision": "hour"}}}},
    "columns": {"columns": ["name", "ok"]},
    "columns and a rule": {"columns": ["name"], "rules": {"columns": {"name": ALL}}},
    "columns by another case": {"columns": ["NAME"]},
    "ignore": {"ignore": ["name", "seen"]},
    "columns and ignore": {"columns": ["name", "ok", "born"], "ignore": ["ok"]},
    "ignore all but the key": {"ignore": [*COLUMNS][1:]},
    "renamed, not mapped": {"source_b": "renamed"},
    "renamed, mapped": {"source_b": "renamed", "map": {"name": "title"}},
    "mapped, with a rule": {
        "source_b": "renamed",
        "map": {"name": "title"},
        "rules": {"columns": {"name": {"trim": True}}},
    },
    "mapped and chosen": {"source_b": "renamed", "map": {"name": "title"}, "columns": ["name"]},
    "filter": {"filters": {"id": [1, 2, 3]}},
    "filter by a value": {"filters": {"name": "Ann"}},
    "filter by a range": {"filters": {"id": {"gte": 10, "lt": 14}}},
    "filter by a day": {"filters": {"born": {"gt": "2024-02-28"}}},
    "filter by NULL": {"filters": {"amount": None}},
    "filter by another value": {"filters": {"id": {"ne": 2}}},
    "repeated keys": {"source_b": "twice"},
    "repeated keys on both sides": {"source_a": "twice", "source_b": "twice"},
    "multiset": {"key": None, "multiset": True},
    "multiset of repeated rows": {"key": None, "multiset": True, "source_b": "twice"},
    "multiset of some columns": {"key": None, "multiset": True, "columns": ["name", "ok"]},
    "multiset, trimmed": {"key": None, "multiset": True, "rules": {"all": {"trim": True}}},
    "the same side": {"source_b": "old"},
}
FAST = ("all of text", "both limits", "mapped, with a rule", "multiset of repeated rows")
# A part of the request, and of the reason why it is refused.
REFUSED: dict[str, tuple[Options, str]] = {
    "a key that nobody has": ({"key": ["idd"]}, "there is no column 'idd'"),
    "a column that nobody has": ({"columns": ["namee"]}, "there is no column 'namee'"),
    "a column to ignore": ({"ignore": ["namee"]}, "there is no column 'namee'"),
    "a column to map": ({"map": {"x": "name"}}, "there is no column 'x'"),
    "a column to map to": ({"map": {"name": "x"}}, "there is no column 'x'"),
    "two columns mapped to one": ({"map": {"name": "code", "code": "code"}}, "code"),
    "a rule of no column": ({"rules": {"columns": {"x": {"trim": True}}}}, "'x'"),
    "a rule that does not fit": ({"rules": {"columns": {"name": {"absolute": 1}}}}, "name"),
    "a limit for a key": ({"rules": {"columns": {"id": {"absolute": 1}}}}, "id"),
    "below 0": ({"rules": {"all": {"absolute": -1}}}, ""),
    "not a number": ({"rules": {"all": {"absolute": "NaN"}}}, ""),
    "without an end": ({"rules": {"all": {"relative": "Infinity"}}}, ""),
    "too many digits": ({"rules": {"all": {"absolute": "1e-400"}}}, ""),
    "a huge limit": ({"rules": {"all": {"absolute": "1e400"}}}, ""),
    "an unknown zone": ({"rules": {"all": {"zone": "Mars/Base"}}}, "there is no time zone"),
    "an unknown unit": ({"rules": {"all": {"precision": "week"}}}, ""),
    "an unknown type": ({"rules": {"types": {"numbers": {"absolute": 1}}}}, ""),
    "an unknown rule": ({"rules": {"all": {"trimm": True}}}, ""),
    "an unknown option": ({"tolerance": 1}, ""),
    "an empty key": ({"key": []}, ""),
    "a key of one text": ({"key": "id"}, ""),
    "a key with NUL": ({"key": ["i\0d"]}, ""),
    "a key with half a pair": ({"key": ["\ud800"]}, ""),
    "a key of 10,001 characters": ({"key": ["x" * 10_001]}, ""),
    "a key of 100 columns": ({"key": [str(n) for n in range(100)]}, ""),
    "multiset with a key": ({"multiset": True}, "key"),
    "multiset with a limit": (
        {"key": None, "multiset": True, "rules": {"columns": {"amount": {"absolute": 1}}}},
        "",
    ),
    "a filter of no column": ({"filters": {"x": 1}}, "'x'"),
    "a filter of another type": ({"filters": {"id": "abc"}}, "abc"),
    "a filter that is not a filter": ({"filters": {"id": {"like": "a"}}}, "like"),
    "a filter by half a pair": ({"filters": {"name": "\ud800"}}, ""),
    "no such source": ({"source_b": "x"}, "x"),
    "rows and groups": ({"align_on": ["id"]}, "measures"),
    "a file that was cut": ({"source_a": "ragged", "source_b": "ragged"}, "line 3"),
}


def write_sources(folder: Path) -> Path:
    """Write the tables into a DuckDB file, and a `sources.yaml` next to it."""
    with duckdb.connect(folder / "shop.duckdb") as connection:
        for name, rows in {**SIDES, "renamed": SIDES["new"]}.items():
            columns = ", ".join(
                f'"{RENAMED.get(column, column) if name == "renamed" else column}" {kind}'
                for column, kind in COLUMNS.items()
            )
            connection.execute(f"CREATE TABLE {name} ({columns})")
            marks = ", ".join("?" * len(COLUMNS))
            connection.executemany(
                f"INSERT INTO {name} VALUES ({marks})",  # noqa: S608 - our own name
                [[*row.values()] for row in rows],
            )
    (folder / "ragged.csv").write_text("id,v\n1,a\n")
    declared: dict[str, Any] = {
        name: {"connection": "shop", "table": name, "dimensions": {"id": {"column": "id"}}}
        for name in (*SIDES, "renamed")
    }
    declared["ragged"] = {
        "connection": "files",
        "table": "ragged.csv",
        "dimensions": {"id": {"column": "id"}},
    }
    connections = {"shop": "duckdb:///shop.duckdb", "files": "files:///."}
    path = folder / "sources.yaml"
    path.write_text(yaml.safe_dump({"connections": connections, "sources": declared}))
    return path


def request_of(options: Options) -> Options:
    stated = {"source_a": "old", "source_b": "new", "key": ["id"], **options}
    return {name: value for name, value in stated.items() if value is not None}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[Serving, Path]]:
    folder = tmp_path_factory.mktemp("shop")
    with serving(write_sources(folder), **UNCOUNTED) as server:
        (folder / "ragged.csv").write_text("id,v\n1,a\n2\n")
        yield server, folder


@asynccontextmanager
async def opened(server: Serving) -> AsyncGenerator[tuple[aiohttp.ClientSession, McpClient]]:
    async with (
        aiohttp.ClientSession(server.url) as http,
        McpClient(f"{server.url}/mcp", mode="auto") as tools,
    ):
        yield http, tools


@pytest.mark.parametrize("name", CASES)
async def test_each_surface_gives_what_plain_python_gives(
    served: tuple[Serving, Path], name: str
) -> None:
    server, folder = served
    request = request_of(CASES[name])
    expected = counted(request)
    async with opened(server) as (http, tools):
        async with http.post("/compare", json=request) as answer:
            body = await answer.json()
            assert answer.status == 200, body
        assert result_of(body) == expected
        called = await tools.call_tool("compare_sources", request)
        brief = cast("dict[str, Any]", called.structured_content)
        assert not called.is_error, brief
        assert brief["rows"] == body["rows"]
        assert brief["equal"] == body["equal"]
    if name in FAST:
        assert result_of(saved(folder, request)) == expected
    assert "Traceback" not in server.log


def test_saved_comparisons_give_what_plain_python_gives(served: tuple[Serving, Path]) -> None:
    _, folder = served
    requests = {name: request_of(options) for name, options in CASES.items()}
    results = run_saved(folder, requests)
    for name, request in requests.items():
        assert result_of(results[name]) == counted(request), name


@pytest.mark.parametrize("name", REFUSED)
async def test_what_is_wrong_is_refused_with_the_reason(
    served: tuple[Serving, Path], name: str
) -> None:
    server, _ = served
    options, reason = REFUSED[name]
    async with opened(server) as (http, tools):
        data = json.dumps(request_of(options)).encode()
        headers = {"Content-Type": "application/json"}
        async with http.post("/compare", data=data, headers=headers) as answer:
            text = await answer.text()
            assert 400 <= answer.status < 500, text
            assert reason in text
        if "pair" not in name:  # the client itself cannot send it
            called = await tools.call_tool("compare_sources", request_of(options))
            assert called.is_error
            assert reason in json.dumps(called.structured_content)
    assert "Traceback" not in server.log


def saved(folder: Path, request: Options) -> dict[str, Any]:
    results = run_saved(folder, {"one": request})
    return cast("dict[str, Any]", results["one"])


def run_saved(folder: Path, requests: Mapping[str, Options]) -> dict[str, Any]:
    specs = [
        {
            "name": name,
            "a": request["source_a"],
            "b": request["source_b"],
            **{key: request[key] for key in request if not key.startswith("source_")},
        }
        for name, request in requests.items()
    ]
    path = folder / "saved.yaml"
    path.write_text(yaml.safe_dump({"sources": "sources.yaml", "compare": specs}))
    done = subprocess.run(
        [COMMAND, "compare", path.name, "--format", "json"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in {0, 1}, done.stderr
    return {each["name"]: each for each in json.loads(done.stdout)["comparisons"]}


def result_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a result that plain Python computes too."""
    rows = body["rows"]
    names = ("a", "b", "matched", "differing", "only_in_a", "only_in_b")
    columns = {each["a"]: each["mismatches"] for each in body["columns"] if each["mismatches"]}
    repeated = (rows["duplicate_rows_a"], rows["duplicate_rows_b"])
    is_equal = body.get("equal", body.get("verdict") == "equal")
    return {
        "rows": {name: rows[name] for name in names},
        "columns": columns,
        "repeated": repeated,
        "equal": is_equal,
    }
