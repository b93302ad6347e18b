import pytest

from skillian.data.reading import read_definitions
from skillian.errors import ConfigurationError

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


def test_a_good_file_has_no_fault() -> None:
    assert list(read_definitions(GOOD, "s.yaml").sources) == ["a"]


def test_three_faults_are_reported_together_each_with_line_and_mend() -> None:
    text = GOOD.replace("table: t", "tabel: t").replace("sum", "summ")
    text = text.replace("company: {column: c}", "company: {}")
    told = faults(text)
    assert [fault.split(": ")[0] for fault in told] == [
        "s.yaml:6",
        "s.yaml:8",
        "s.yaml:10",
    ]
    assert "unknown key `tabel`; did you mean `table`?" in told[0]
    assert "`column` is missing in `sources.a.dimensions.company`" in told[1]
    assert "'sum', 'count'" in told[2]


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("connection: db", "connection: dbb", 5, "there is no `dbb`; did you mean `db`?"),
        ("table: t", "table: t\n    freshness: perod", 7, "there is no `perod`"),
        ("amount: {", "Company: {", 10, "`Company` is taken by `company`"),
        ("column: m,", "column: m, expression: m,", 10, "either `column` or `expression`"),
        ("column: m,", "expression: \"getenv('HOME')\",", 10, "getenv is not admitted"),
        ("table: t", "query: DROP TABLE t", 6, "must be a single SELECT"),
        ("table: t", "table: t\n    connection: db", 7, "given before, on line 5"),
        ("{column: c}", "{column: c, type: money}", 8, "`money` is not a type"),
        ("{column: c}", "{column: c, normalise: [lower]}", 8, "`lower` is not a step"),
        ("{column: c}", "{column: c, type: integer, format: '%Y'}", 8, "`format` needs"),
        ("column: c", "column: on", 8, "`on` without quotes is a boolean"),
        ("duckdb:///x.duckdb", "oracle://u:p@h/x", 2, "unknown kind of database"),
    ],
)
def test_each_kind_of_fault(old: str, new: str, line: int, message: str) -> None:
    [told] = faults(GOOD.replace(old, new, 1))
    assert told.startswith(f"s.yaml:{line}: ")
    assert message in told


def test_faults_of_the_comparison_settings() -> None:
    told = faults(
        GOOD
        + """comparison:
  default_align_on: [company, perid]
  thresholds:
    match: {absolute: -1}
    minor: {absolute: 1}
  pairs:
    - {sources: [a], thresholds: {}}
  cache_ttl_seconds: soon
"""
    )
    assert [fault.split(": ")[0] for fault in told] == [
        "s.yaml:14",
        "s.yaml:15",
        "s.yaml:17",
        "s.yaml:18",
    ]
    assert "did you mean `minor_diff`?" in told[1]
    told = faults(
        GOOD
        + """comparison:
  default_align_on: [company, perid]
  pairs:
    - {sources: [a, b], thresholds: {}}
  measures:
    amont: {thresholds: {}}
"""
    )
    assert [fault.split(";")[0] for fault in told] == [
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
    told = "".join(faults(GOOD.replace("connection: db", f"connection: {url}") + other_fault))
    assert "hunter2" not in told
    assert "`duckdb://…`" in told or "'duckdb://…'" in told


@pytest.mark.parametrize("text", ["", "[]", "just text", "sources: {}\nconnections: {}\n"])
def test_files_that_hold_something_else(text: str) -> None:
    assert faults(text)


def test_a_file_from_hell_tells_all_its_faults_at_once() -> None:
    lines = (
        "connections: &c",
        "  db: duckdb:///x.duckdb",
        "  twice: {a: 1}",
        "  secret: duckdb:///${SKILLIAN_TEST_NOT_SET}",
        "bomb: &a [x, x]",
        "more: &b [*a, *a]",
        "loop: &loop",
        "  x: *loop",
        "sources:",
        "  s:",
        "    connection: nowhere",
        "    table: 5",
        "    dimensions: []",
        "    measures: {m: {column: c, aggregation: median}}",
    )
    told = faults("\n".join(lines))
    assert {int(fault.split(":")[1]) for fault in told} == {1, 3, 4, 5, 6, 7, 8, 11, 13, 14}
    assert "s.yaml:4: connection `secret` needs the environment variable SKILLIAN_TEST_NOT_SET" in [
        fault.partition(",")[0] for fault in told
    ]
