from pathlib import Path

import pytest

from skillian.data.connections import Connections
from skillian.data.definitions import Limits, Thresholds
from skillian.data.sources import SourceRegistry
from skillian.errors import ConfigurationError, SourceNotFoundError, UnavailableError

GOOD = """
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
    path.write_text(GOOD)
    return SourceRegistry.load(path)


def test_sources_are_found_by_name(registry: SourceRegistry) -> None:
    assert registry.names == ("fi_reporting", "bpc_reporting")
    assert registry.get("fi_reporting").table == "t"


def test_an_unknown_source_tells_the_nearest(registry: SourceRegistry) -> None:
    with pytest.raises(SourceNotFoundError) as refused:
        registry.get("fi_report")
    assert refused.value.available_sources == ("fi_reporting", "bpc_reporting")


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
        monkeypatch.setenv("SKILLIAN_TEST_URL", "oracle://u:secret@h/x")
        with pytest.raises(UnavailableError, match="unknown kind of database") as refused:
            connections.get("late")
        assert "secret" not in str(refused.value)
        monkeypatch.setenv("SKILLIAN_TEST_URL", "duckdb:///x.duckdb")
        assert connections.get("late") is connections.get("late")


def test_thresholds_go_from_wide_to_narrow(registry: SourceRegistry) -> None:
    pair = frozenset({"fi_reporting", "bpc_reporting"})
    told = registry.comparison.thresholds_for(pair, "amount")
    assert told == Thresholds.model_validate(
        {
            "match": {"absolute": "1", "percentage": "2"},
            "minor_diff": {"absolute": "30"},
        }
    )
    alone = registry.comparison.thresholds_for(frozenset({"fi_reporting"}), "other")
    assert alone.match == Limits.model_validate({"absolute": 1, "percentage": 1})
    assert alone.minor_diff == Limits()
    assert alone.settled().minor_diff == Limits.model_validate({"absolute": 0, "percentage": 0})


def test_a_missing_or_unreadable_file_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="SKILLIAN_SOURCES"):
        SourceRegistry.load(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"a: \xe9\n")
    with pytest.raises(ConfigurationError, match="not UTF-8"):
        SourceRegistry.load(tmp_path / "latin.yaml")


def test_what_two_sources_share_is_in_the_order_of_the_first(tmp_path: Path) -> None:
    (tmp_path / "sources.yaml").write_text(
        """
connections: {db: 'duckdb:///x.duckdb'}
sources:
  a:
    connection: db
    table: t
    dimensions: {z: {column: z}, y: {column: y}, x: {column: x}}
    measures: {n: {column: n, aggregation: sum}, m: {column: m, aggregation: sum}}
  b:
    connection: db
    table: t
    dimensions: {x: {column: x}, z: {column: z}}
    measures: {m: {column: m, aggregation: sum}}
comparison: {default_align_on: [x, y]}
""",
        encoding="utf-8",
    )
    shared = SourceRegistry.load(tmp_path / "sources.yaml").shared("a", "b")
    assert (shared.dimensions, shared.measures, shared.align_on) == (("z", "x"), ("m",), ("x",))
