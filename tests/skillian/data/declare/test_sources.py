from pathlib import Path

import pytest
from tests.support.asking import two_sources

from skillian.data.declare.document import read_yaml
from skillian.data.declare.saved import read_saved
from skillian.data.declare.sources import Connections, SourceRegistry, read_definitions
from skillian.errors import ConfigurationError, UnavailableError

LEDGERS = two_sources(
    "company: {column: c}",
    "amount: {column: m, aggregation: sum}",
    tables=("connection: db, table: t", "connection: late, table: t"),
    connections="db: 'duckdb:///${SKILLIAN_TEST_NAME}.duckdb', late: '${SKILLIAN_TEST_URL}'",
)


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
        ("{column: c}", "{column: c, type: money}", 8, "`money` is not a type"),
        ("{column: c}", "{column: c, normalise: [lower]}", 8, "`lower` is not a step"),
        ("{column: c}", "{column: c, type: integer, format: '%Y'}", 8, "`format` needs"),
        ("duckdb:///x.duckdb", "teradata://u:p@h/x", 2, "unknown kind of database"),
    ],
)
def test_each_kind_of_fault(old: str, new: str, line: int, message: str) -> None:
    [fault] = faults(GOOD.replace(old, new, 1))
    assert fault.startswith(f"s.yaml:{line}: ")
    assert message in fault


# A line of the settings of comparisons, and what is said of it.
SETTINGS = {
    "default_align_on: [company, perid]": "there is no `perid`",
    "cache_ttl_seconds: soon": "",
    "thresholds: {match: {absolute: -1}}": "",
    "thresholds: {minor: {absolute: 1}}": "did you mean `minor_diff`?",
    "pairs: [{sources: [a], thresholds: {}}]": "",
    "pairs: [{sources: [a, b], thresholds: {}}]": "there is no `b`",
    "measures: {amont: {thresholds: {}}}": "there is no `amont`",
}


def test_faults_of_the_comparison_settings() -> None:
    for setting, message in SETTINGS.items():
        [fault] = faults(f"{GOOD}comparison:\n  {setting}\n")
        assert fault.startswith("s.yaml:12: "), setting
        assert message in fault


@pytest.mark.parametrize("url", ["duckdb://user:hunter2@host/x", '"duckdb://user:hunter2@\\t/x"'])
@pytest.mark.parametrize("other_fault", ["", "tables: {}\n"])
def test_a_url_in_place_of_a_connection_never_shows(url: str, other_fault: str) -> None:
    messages = "".join(faults(GOOD.replace("connection: db", f"connection: {url}") + other_fault))
    messages += "".join(faults(GOOD.replace("duckdb:///x.duckdb", f"[{url}]")))
    assert "hunter2" not in messages
    assert "x.duckdb" not in repr(read_definitions(GOOD, "s.yaml"))
    assert "`duckdb://…`" in messages or "'duckdb://…'" in messages


SOURCES = """
connections: {main: duckdb:///ledger.duckdb}
sources:
  ledger:
    connection: main
    table: t
    dimensions: {company: {column: company}, period: {column: period}}
    measures: {amount: {column: amount, aggregation: sum}}
  plan:
    connection: main
    table: u
    dimensions: {company: {column: company}}
    measures: {amount: {column: amount, aggregation: sum}}
"""


HEAD = "sources: ../sources.yaml\ncompare:\n  - name: x\n"
LINE = "compare: [{name: yes, a: ledger, b: plan, measures: [v]}]\n"
UNDECLARED = """    a: leger
    b: plan
    measures:
      - amount
      - amounts
    align_on: [period]
    filters:
      year: 2024
  - {name: x, a: ledger, b: plan, measures: [amount]}
"""
# A file of saved comparisons, an aggregation of its sources, its faults, and what some say.
SAVED: dict[str, tuple[str, str, list[str], tuple[str, ...]]] = {
    "its form": (
        f"{HEAD}    a: ledger\n    measure: [amount]\n    measures: 7\n    fail_on: always\n",
        *("sum", ["close 3", "close 5", "close 6", "close 7"]),
        ("`b` is missing", "did you mean `measures`?"),
    ),
    "names that are not declared": (
        *(HEAD + UNDECLARED, "sum", [f"close {line}" for line in (4, 8, 9, 11, 12)]),
        ("nearest first: ledger", "there is no dimension 'period' in plan", "is repeated"),
    ),
    "keys that do not exist, whatever their value": (
        f"""{HEAD}    a: ledger
    b: plan
    rules: {{all: {{trimm: true}}}}
    measurs: true
  - {{name: z, a: ledger, b: plan, measures: true}}
""",
        *("sum", ["close 6", "close 7", "close 8"]),
        ("unknown key `trimm`", "unknown key `measurs`", "`true` without quotes"),
    ),
    "both files": (f"sources: ../sources.yaml\n{LINE}", "summ", ["sources 8", "close 2"], ()),
    "no sources": (
        f"\nsources: x.yaml\n{LINE.replace('yes', 'x')}",
        "sum",
        ["close 2"],
        ("no file `x.yaml`",),
    ),
}


@pytest.mark.parametrize("of", SAVED)
def test_all_faults_of_saved_comparisons_have_their_lines(tmp_path: Path, of: str) -> None:
    text, aggregation, places, said = SAVED[of]
    (tmp_path / "sources.yaml").write_text(SOURCES.replace("sum", aggregation, 1))
    path = tmp_path / "specs" / "close.yaml"
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(ConfigurationError) as raised:
        read_saved(path)
    faults = raised.value.faults
    assert [f"{Path(each.file).stem} {each.line}" for each in faults] == places
    assert [words for words in said if words not in "".join(map(str, faults))] == []


@pytest.mark.parametrize("content", [b"\xff\xfe", None])
def test_a_file_that_cannot_be_read_is_a_fault(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "close.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"close\.yaml:1"):
        read_saved(path)


def test_scalars_stay_text_and_every_part_has_its_line() -> None:
    document = read_yaml("a: 0.10\nb:\n  - 001\n  - ~\nc: {d: 'yes'}\n", "x.yaml")
    assert document.data == {"a": "0.10", "b": ["001", None], "c": {"d": "yes"}}
    assert document.faults == []
    assert document.lines["b", 1] == 4
    assert document.lines["c", "d"] == 5
    assert document.line_of(("b", 0, "deeper", "still")) == 3


@pytest.mark.parametrize("word", ["on", "yes", "No", "off", "true"])
def test_a_name_that_yaml_takes_for_a_boolean_is_a_fault(word: str) -> None:
    document = read_yaml(f"x: 1\n{word}: 2\ny: [{word}]\n", "x.yaml")
    assert [fault.line for fault in document.faults] == [2, 3]
    assert f'write "{word}" in quotes' in str(document.faults[0])


def test_aliases_repeat_what_they_stand_for() -> None:
    text = "a: &x {k: 1}\nb: *x\nc: {<<: *x, l: 2}\nd: {<<: [*x, {k: 3, m: 4}], l: *x}\n"
    document = read_yaml(text, "f.yaml")
    assert document.faults == []
    assert document.data == {
        "a": {"k": "1"},
        "b": {"k": "1"},
        "c": {"k": "1", "l": "2"},
        "d": {"k": "1", "m": "4", "l": {"k": "1"}},
    }


def levels(first: str, *parts: str) -> str:
    """30 lines, each of which repeats the one before."""
    lines = [f"a0: &a0 [{first}]"]
    lines += [f"a{n}: &a{n} [{', '.join(parts).format(n - 1)}]" for n in range(1, 30)]
    return "\n".join(lines)


FAULTS = (
    ("a: 1\nb: 2\na: 3\n", 3, "the key `a` is repeated from line 1"),
    ("a: &x [1]\nb: {<<: *x}\n", 2, "`<<` takes an alias of a mapping"),
    (levels("x, x, x, x, x, x, x, x, x", *["*a{0}"] * 9), 6, "more than 100000 values"),
    (levels("x", "*a{0}"), 20, "is nested more than 20 levels"),
    ("a: &a\n  b: *a\n", 2, "the alias `a` stands for itself"),
    ("a: 1\nb: *c\n", 2, "the alias `c` is not defined above this line"),
    ("[" * 500, 1, "more than 20"),
    ("a: 1\nb: [1\nc: 2\n", 3, "this is not YAML"),
    # Tags never run.
    ("a: !!python/object/apply:os.system [ls]\n", 1, "is not supported"),
    ("? [1, 2]\n: x\n", 1, "a key must be a name"),
    ("~: y\n", 1, "a key must be a name"),
)


@pytest.mark.parametrize(("text", "line", "said"), FAULTS, ids=[said for *_, said in FAULTS])
def test_a_fault_has_its_line(text: str, line: int, said: str) -> None:
    [fault] = read_yaml(text, "x.yaml").faults
    assert (fault.line, said in fault.message) == (line, True), fault
