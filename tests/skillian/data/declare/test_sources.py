from pathlib import Path

import pytest
from tests.skillian.data.conftest import two_sources

from skillian.data.declare.definitions import Limits, Thresholds
from skillian.data.declare.sources import Connections, SourceRegistry, read_definitions
from skillian.errors import ConfigurationError, UnavailableError

LEDGERS = """
connections:
  db: duckdb:///${SKILLIAN_TEST_NAME}.duckdb
  late: ${SKILLIAN_TEST_URL}
sources:
  fi_reporting:
    connection: db
    table: t
    dimensions: {company: {column: c}}
    measures: {amount: {column: m, aggregation: sum}}
  bpc_reporting:
    connection: late
    table: t
    dimensions: {company: {column: c}}
    measures: {amount: {expression: m * 2, aggregation: sum}}
comparison:
  thresholds:
    match: {absolute: 1, percentage: 1}
  pairs:
    - sources: [bpc_reporting, fi_reporting]
      thresholds: {match: {percentage: 2}, minor_diff: {absolute: 20}}
  measures:
    amount: {thresholds: {minor_diff: {absolute: 30}}}
"""


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SourceRegistry:
    monkeypatch.setenv("SKILLIAN_TEST_NAME", "x")
    monkeypatch.setenv("SKILLIAN_TEST_URL", "duckdb:///y.duckdb")
    path = tmp_path / "sources.yaml"
    path.write_text(LEDGERS)
    return SourceRegistry.load(path)


def test_secrets_are_filled_in_late(
    registry: SourceRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SKILLIAN_TEST_NAME")
    with pytest.raises(UnavailableError, match="SKILLIAN_TEST_NAME, which is not set"):
        registry.url("db")
    monkeypatch.setenv("SKILLIAN_TEST_NAME", "x${SKILLIAN_TEST_URL}")
    # What a variable holds is not looked into again.
    assert registry.url("db") == "duckdb:///x${SKILLIAN_TEST_URL}.duckdb"


async def test_a_connection_known_only_later_is_opened_once(
    registry: SourceRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Connections(registry) as connections:
        monkeypatch.setenv("SKILLIAN_TEST_URL", "teradata://u:secret@h/x")
        with pytest.raises(UnavailableError, match="unknown kind of database") as refused:
            connections.get("late")
        assert "secret" not in str(refused.value)
        monkeypatch.setenv("SKILLIAN_TEST_URL", "duckdb:///x.duckdb")
        assert connections.get("late") is connections.get("late")


def test_thresholds_go_from_wide_to_narrow(registry: SourceRegistry) -> None:
    pair = frozenset({"fi_reporting", "bpc_reporting"})
    thresholds = registry.comparison.thresholds_for(pair, "amount")
    assert thresholds == Thresholds.model_validate(
        {"match": {"percentage": "2"}, "minor_diff": {"absolute": "30"}}
    )
    alone = registry.comparison.thresholds_for(frozenset({"fi_reporting"}), "other")
    assert alone.match == Limits.model_validate({"absolute": 1, "percentage": 1})
    assert alone.minor_diff == Limits()
    assert alone.settled().minor_diff == Limits.model_validate({"absolute": 0, "percentage": 0})


def test_what_two_sources_share_is_in_the_order_of_the_first(tmp_path: Path) -> None:
    m = "m: {column: m, aggregation: sum}"
    n = m.replace("m: {column: m", "n: {column: n")
    names = "z: {column: z}, y: {column: y}, x: {column: x}"
    sources = two_sources(names, f"{n}, {m}", "x, y", measures_b=m)
    fewer = "x: {column: x}, z: {column: z}".join(sources.rsplit(names, 1))
    (tmp_path / "sources.yaml").write_text(fewer)
    shared = SourceRegistry.load(tmp_path / "sources.yaml").shared("a", "b")
    assert (shared.dimensions, shared.measures, shared.align_on) == (("z", "x"), ("m",), ("x",))


GOOD = """connections:
  db: duckdb:///x.duckdb
sources:
  a:
    connection: db
    table: t
    dimensions:
      company: {column: c}
    measures:
      amount: {column: m, aggregation: sum}
"""


def faults(text: str) -> list[str]:
    with pytest.raises(ConfigurationError) as refused:
        read_definitions(text, "s.yaml")
    return [str(fault) for fault in refused.value.faults]


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("connection: db", "connection: dbb", 5, "there is no `dbb`; did you mean `db`?"),
        ("table: t", "table: t\n    freshness: perod", 7, "there is no `perod`"),
        ("amount: {", "Company: {", 10, "`Company` has the same name as `company`"),
        ("column: m,", "column: m, expression: m,", 10, "either `column` or `expression`"),
        ("column: m,", "expression: \"getenv('HOME')\",", 10, "getenv is not allowed"),
        ("table: t", "query: DROP TABLE t", 6, "must be a single SELECT"),
        ("table: t", "table: t\n    connection: db", 7, "is repeated from line 5"),
        ("{column: c}", "{column: c, type: money}", 8, "`money` is not a type"),
        ("{column: c}", "{column: c, normalise: [lower]}", 8, "`lower` is not a step"),
        ("{column: c}", "{column: c, type: integer, format: '%Y'}", 8, "`format` needs"),
        ("column: c", "column: on", 8, "`on` without quotes is a boolean"),
        ("duckdb:///x.duckdb", "teradata://u:p@h/x", 2, "unknown kind of database"),
    ],
)
def test_each_kind_of_fault(old: str, new: str, line: int, message: str) -> None:
    [fault] = faults(GOOD.replace(old, new, 1))
    assert fault.startswith(f"s.yaml:{line}: ")
    assert message in fault


def test_faults_of_the_comparison_settings() -> None:
    settings = """comparison:
  default_align_on: [company, perid]
  thresholds:
    match: {absolute: -1}
    minor: {absolute: 1}
  pairs:
    - {sources: [a], thresholds: {}}
  cache_ttl_seconds: soon
"""
    messages = faults(GOOD + settings)
    assert [fault.split(": ")[0].removeprefix("s.yaml:") for fault in messages] == [
        *("14", "15", "17", "18")
    ]
    assert "did you mean `minor_diff`?" in messages[1]
    settings = """comparison:
  default_align_on: [company, perid]
  pairs:
    - {sources: [a, b], thresholds: {}}
  measures:
    amont: {thresholds: {}}
"""
    messages = faults(GOOD + settings)
    assert [fault.split(";")[0] for fault in messages] == [
        "s.yaml:12: there is no `perid`",
        "s.yaml:14: there is no `b`",
        "s.yaml:16: there is no `amont`",
    ]


def test_secrets_and_values_never_show() -> None:
    text = GOOD.replace("duckdb:///x.duckdb", "[duckdb://user:hunter2@host/x]")
    assert "hunter2" not in "".join(faults(text))
    assert "x.duckdb" not in repr(read_definitions(GOOD, "s.yaml"))


@pytest.mark.parametrize("url", ["duckdb://user:hunter2@host/x", '"duckdb://user:hunter2@\\t/x"'])
@pytest.mark.parametrize("other_fault", ["", "tables: {}\n"])
def test_a_url_in_place_of_a_connection_never_shows(url: str, other_fault: str) -> None:
    messages = "".join(faults(GOOD.replace("connection: db", f"connection: {url}") + other_fault))
    assert "hunter2" not in messages
    assert "`duckdb://…`" in messages or "'duckdb://…'" in messages
