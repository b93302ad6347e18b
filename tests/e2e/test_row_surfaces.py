"""Whole rows compared over HTTP, by an MCP client and from a saved file: the same exact results.

The expected counts are computed in plain Python from the rows of `SIDES`.
"""

from __future__ import annotations

import json
import math
import operator
import subprocess
import unicodedata
from collections import Counter
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import aiohttp
import duckdb
import pytest
import yaml
from mcp import Client as McpClient
from tests.support.serving import COMMAND, UNCOUNTED, Serving, serving

Row = dict[str, Any]
Options = dict[str, Any]

COLUMNS = {
    "id": "INTEGER",
    "code": "VARCHAR",
    "name": "VARCHAR",
    "amount": "DECIMAL(12,4)",
    "ratio": "DOUBLE",
    "born": "DATE",
    "seen": "TIMESTAMP",
    "ok": "BOOLEAN",
}
FAMILIES = {
    "id": "number",
    "amount": "number",
    "ratio": "float",
    "born": "date",
    "seen": "timestamp",
    "ok": "boolean",
    "code": "text",
    "name": "text",
}
D, T = date(2024, 2, 28), datetime(2024, 2, 28, 12, 0, 0, 400_000)  # noqa: DTZ001 - no zone


def _row(number: int, **changes: Any) -> Row:
    row: Row = {
        "id": number,
        "code": f"k{number}",
        "name": "Ann",
        "amount": Decimal("10.0000"),
        "ratio": 0.5,
        "born": D,
        "seen": T,
        "ok": True,
    }
    return row | changes


NULLS = dict.fromkeys([*COLUMNS][2:])
SIDES: dict[str, list[Row]] = {
    "old": [*(_row(n) for n in range(1, 16)), _row(16, **NULLS), _row(20), _row(21, name="")],
    "new": [
        _row(1),
        _row(2, name=" Ann "),
        _row(3, name="ANN", code="K3"),
        _row(4, name="A\u030ann", code=" k4"),
        _row(5, name="A  nn"),
        _row(6, name="", amount=None),
        _row(7, amount=Decimal("10.0100")),
        _row(8, amount=Decimal("10.1000"), ratio=0.55),
        _row(9, ratio=math.nan),
        _row(10, ratio=0.1 + 0.2 + 0.2, ok=False),
        _row(11, born=D + timedelta(days=1)),
        _row(12, seen=T + timedelta(seconds=0.3)),
        _row(13, seen=T + timedelta(seconds=60)),
        _row(14, ok=None, amount=Decimal("-10.0000")),
        _row(15, name=None),
        _row(16, **NULLS),
        _row(21, name=None),
        _row(30),
    ],
    "twice": [_row(1), _row(1), _row(2), _row(2, name="Bob"), _row(40)],
}
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
TESTS = {"gte": "ge", "lt": "lt", "gt": "gt", "ne": "ne"}
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
    "a filter that is no filter": ({"filters": {"id": {"like": "a"}}}, "like"),
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


def _parametrized(names: Sequence[str], fast: Sequence[str]) -> pytest.MarkDecorator:
    params = [pytest.param(n, marks=() if n in fast else pytest.mark.campaign) for n in names]
    return pytest.mark.parametrize("name", params)


@_parametrized([*CASES], FAST)
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


@pytest.mark.campaign
def test_saved_comparisons_give_what_plain_python_gives(served: tuple[Serving, Path]) -> None:
    _, folder = served
    requests = {name: request_of(options) for name, options in CASES.items()}
    results = run_saved(folder, requests)
    for name, request in requests.items():
        assert result_of(results[name]) == counted(request), name


@_parametrized([*REFUSED], ("too many digits", "a rule that does not fit"))
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


def counted(request: Options) -> dict[str, Any]:
    """Compare the rows of `SIDES` in plain Python."""
    sides = [[row for row in SIDES[source] if _kept(row, request)] for source in _sources(request)]
    rules = request.get("rules", {})
    unpaired = request["source_b"] == "renamed" and "map" not in request
    chosen = {name.lower() for name in request.get("columns", COLUMNS)}
    chosen -= {*request.get("ignore", ()), *(["name"] if unpaired else [])}
    if request.get("multiset"):
        names = [name for name in COLUMNS if name in chosen]
        return _multiset(sides[0], sides[1], names, rules)
    key = request.get("key", ["id"])
    keyed = [_by_key(side, key, rules) for side in sides]
    repeated = {k for side in keyed for k, rows in side.items() if len(rows) > 1}
    both = [k for k in keyed[0] if k in keyed[1] and k not in repeated]
    columns: Counter[str] = Counter()
    differing = 0
    for k in both:
        a, b = keyed[0][k][0], keyed[1][k][0]
        unequal = [n for n in chosen - {*key} if not _equal(n, a[n], b[n], rules)]
        columns.update(unequal)
        differing += bool(unequal)
    only = [sum(k not in other and k not in repeated for k in one) for one, other in _ways(keyed)]
    in_repeated = tuple(sum(len(side.get(k, ())) for k in repeated) for side in keyed)
    return {
        "rows": {
            "a": len(sides[0]),
            "b": len(sides[1]),
            "matched": len(both) - differing,
            "differing": differing,
            "only_in_a": only[0],
            "only_in_b": only[1],
        },
        "columns": dict(columns),
        "repeated": in_repeated,
        "equal": not (differing or any(only) or any(in_repeated) or unpaired),
    }


def _sources(request: Options) -> list[str]:
    names = (request["source_a"], request["source_b"])
    return ["new" if name == "renamed" else name for name in names]


def _ways(keyed: list[dict[Any, list[Row]]]) -> list[tuple[dict[Any, Any], dict[Any, Any]]]:
    return [(keyed[0], keyed[1]), (keyed[1], keyed[0])]


def _by_key(rows: Sequence[Row], key: Sequence[str], rules: Options) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        values = tuple(_normal(name, row[name], rules) for name in key)
        groups.setdefault(values, []).append(row)
    return groups


def _multiset(a: list[Row], b: list[Row], names: list[str], rules: Options) -> dict[str, Any]:
    one, other = (
        Counter(tuple(str(_normal(name, row[name], rules)) for name in names) for row in side)
        for side in (a, b)
    )
    matched = sum((one & other).values())
    return {
        "rows": {
            "a": len(a),
            "b": len(b),
            "matched": matched,
            "differing": 0,
            "only_in_a": len(a) - matched,
            "only_in_b": len(b) - matched,
        },
        "columns": {},
        "repeated": (0, 0),
        "equal": one == other,
    }


def _kept(row: Row, request: Options) -> bool:
    for name, test in request.get("filters", {}).items():
        value = row[name]
        if isinstance(test, dict):
            for name_of_test, stated in cast("Options", test).items():
                limit = date.fromisoformat(stated) if name == "born" else stated
                if value is None or not getattr(operator, TESTS[name_of_test])(value, limit):
                    return False
        elif value not in (test if isinstance(test, list) else [test]):
            return False
    return True


def _rule(name: str, rules: Options) -> Options:
    parts = (
        rules.get("all", {}),
        rules.get("types", {}).get(FAMILIES[name], {}),
        rules.get("columns", {}).get(name, {}),
    )
    merged: Options = {}
    for part in parts:
        if {"absolute", "relative"} & {*part}:  # the limits of numbers are one part
            merged = {k: v for k, v in merged.items() if k not in {"absolute", "relative"}}
        merged |= part
    return merged


def _normal(name: str, value: Any, rules: Options) -> Any:
    if not isinstance(value, str):
        return value
    rule, text = _rule(name, rules), value
    if rule.get("nfc"):
        text = unicodedata.normalize("NFC", text)
    if rule.get("collapse_whitespace"):
        stripped = " ".join(text.split())
        text = f"{' ' * text[:1].isspace()}{stripped}{' ' * text[-1:].isspace()}"
    if rule.get("trim"):
        text = text.strip()
    if rule.get("ignore_case"):
        text = text.lower()
    return None if rule.get("empty_is_null") and not text else text


def _equal(name: str, a: Any, b: Any, rules: Options) -> bool:
    one, other = _normal(name, a, rules), _normal(name, b, rules)
    if one is None or other is None:
        return one is other
    rule, family = _rule(name, rules), FAMILIES[name]
    if family in {"number", "float"} and not (math.isnan(one) or math.isnan(other)):
        x, y = (Decimal(repr(v)) if isinstance(v, float) else Decimal(v) for v in (one, other))
        limits = [Decimal(str(rule["absolute"]))] if "absolute" in rule else []
        limits += [Decimal(str(rule["relative"])) * abs(x)] if "relative" in rule else []
        return abs(x - y) <= min(limits, default=Decimal(0))
    if family in {"date", "timestamp"}:
        if family == "timestamp" and "precision" in rule:
            cut = {"second": "microsecond", "hour": "minute second microsecond"}[rule["precision"]]
            one, other = (v.replace(**dict.fromkeys(cut.split(), 0)) for v in (one, other))
        seconds = timedelta(seconds=float(rule.get("seconds", 0)))
        return bool(abs(one - other) <= seconds)
    return bool(one == other)
