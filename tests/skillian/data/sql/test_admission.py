import logging

import duckdb
import pytest
from sqlglot import exp

from skillian.connectors.dialects import compile_sql
from skillian.data.sql.admission import admit_expression, admit_query
from skillian.errors import QueryError

# Over a row, in DuckDB; and dates, which each dialect reads and writes in its own way.
ADMITTED = {
    "duckdb": (
        *("amount * 0.01", "CASE WHEN side = 'S' THEN amount ELSE -amount END"),
        *("CAST(amount AS DECIMAL(18, 2))", "COALESCE(amount, 0) + ABS(tax)"),
        "IF(kind IN ('a', 'b') AND NOT gone IS NULL, 1, 0)",
        *('"weird ""name""" || upper(trim(x))', "CAST(STRPTIME(day, '%d.%m.%Y') AS DATE)"),
        *("STRFTIME(day, '%Y-%m')", "DATE_TRUNC('month', day)"),
        "LPAD(SPLIT_PART(code, '-', 1), 6, '0') || LEFT(x, 2) || RIGHT(x, 2)",
        "FLOOR(amount) + CEIL(amount) * SIGN(amount) + DAY(day) + STRPOS(x, 'a')",
    ),
    "postgres": (
        *("TO_DATE(x, 'DD.MM.YYYY')", "TO_TIMESTAMP(x, 'DD.MM.YYYY')", "TO_CHAR(x, 'YYYY-MM')"),
    ),
    "mysql": ("STR_TO_DATE(x, '%d.%m.%Y')", "DATE_FORMAT(x, '%Y-%m')"),
    "sqlite": ("STRFTIME('%Y-%m', x)",),
    "spark": ("TO_DATE(x, 'dd.MM.yyyy')", "DATE_FORMAT(x, 'yyyy-MM')"),
    "clickhouse": ("formatDateTime(x, '%Y-%m')",),
    "bigquery": ("PARSE_DATE('%d.%m.%Y', x)",),
}


@pytest.mark.parametrize(
    ("dialect", "text"), [(dialect, text) for dialect in ADMITTED for text in ADMITTED[dialect]]
)
def test_expressions_over_a_row_are_admitted(dialect: str, text: str) -> None:
    written = admit_expression(text, dialect).sql(dialect)
    assert written == text or dialect == "duckdb"


# Expressions by their dialect and why they are refused.
REFUSED = {
    ("duckdb", "not allowed"): (
        *("NOW()", "STRFTIME(CURRENT_TIMESTAMP, '%Y')", "STRFTIME(NOW(), '%Y')"),
        *("STRPTIME(CAST(RANDOM() AS TEXT), '%Y')", "DATE_TRUNC('month', CURRENT_DATE)"),
        *("LPAD(getenv('HOME'), 9, ' ')", "LEFT(current_setting('home_directory'), 9)"),
        *("SPLIT_PART(read_text('/etc/passwd'), ':', 1)", "FLOOR(nextval('s'))"),
        *("read_csv('/etc/passwd')", "(SELECT 1)", "$p0", "?", "COLUMNS('a')"),
    ),
    ("sqlite", "not allowed"): (
        *("STRFTIME('%Y')", "STRFTIME('%Y', 'now')", "STRFTIME('%Y', ' NOW ')", "DATE()"),
        "STRFTIME('%Y', CASE WHEN x THEN 'now' END)",
    ),
    ("postgres", "not allowed"): (
        *("CAST('today' AS DATE)", "'now'::timestamptz", "DATE_TRUNC('month', 'now'::timestamp)"),
        "TO_CHAR(CLOCK_TIMESTAMP(), 'YYYY')",
    ),
    ("mysql", "not allowed"): (
        *("DATE_FORMAT(SYSDATE(), '%Y')", "STR_TO_DATE(LOAD_FILE('/etc/passwd'), '%Y')"),
    ),
    ("clickhouse", "not allowed"): ("formatDateTime(now(), '%Y')",),
    ("duckdb", "getenv is not allowed"): ("getenv('HOME')",),
    ("duckdb", "Sum is not allowed"): ("SUM(amount)",),
    ("duckdb", "Star is not allowed"): ("*",),
    ("duckdb", "without its table"): ("t.amount",),
    ("duckdb", "multiply instead"): ("amount / 100",),
    ("duckdb", "single SQL expression"): (
        *("amount; DROP TABLE t", "amount +", "", "(" * 20_000 + "1" + ")" * 20_000),
    ),
}


@pytest.mark.parametrize(("dialect", "reason"), REFUSED)
def test_other_expressions_are_refused_with_the_reason(dialect: str, reason: str) -> None:
    for text in REFUSED[dialect, reason]:
        with pytest.raises(QueryError, match=reason):
            admit_expression(text, dialect)


# Each gives what it gives in DuckDB when it is run as it is written.
QUERIES = (
    "SELECT id, v * 2 AS c FROM t WHERE n = 'Ann'",
    "SELECT t.*, u.id AS other FROM main.t JOIN t AS u ON t.id = u.id",
    "WITH w AS (SELECT n, SUM(v) AS v FROM t GROUP BY n HAVING SUM(v) > 0) SELECT * FROM w",
    "SELECT id FROM (SELECT id FROM t UNION ALL SELECT id FROM t) AS both_",
    "SELECT * FROM t ORDER BY n NULLS LAST, id LIMIT 2 OFFSET 1",
    "SELECT id FROM t ORDER BY id FETCH FIRST 2 ROWS ONLY",
    "(SELECT id FROM t) UNION (SELECT 7) ORDER BY id DESC LIMIT 2",
    "SELECT id FROM t EXCEPT SELECT 1 -- and a comment",
    "(SELECT id FROM t); -- done",
    "FROM t SELECT id WHERE id / 2 > 0.5",
    "SELECT id, ROW_NUMBER() OVER (PARTITION BY n ORDER BY id) AS r, SUM(v) OVER () AS s FROM t",
    "SELECT id, LAG(id, 1) OVER w AS l FROM t WINDOW w AS (ORDER BY id)",
    "SELECT id FROM t QUALIFY RANK() OVER (PARTITION BY n ORDER BY id DESC) = 1",
    "SELECT DISTINCT ON (n) n, id FROM t ORDER BY n, id",
    "SELECT id FROM t WHERE n ILIKE 'a%' OR n LIKE 'b!_%' ESCAPE '!'",
    (
        "SELECT regexp_replace(n, '[nb]+', 'm', 'g') AS a, regexp_extract(n, '(.)n', 1) AS b,"
        " regexp_matches(n, '^A') AS c, regexp_split_to_array(n, 'n') AS d FROM t"
    ),
    (
        "SELECT concat_ws('-', n, id) AS a, j->>'a' AS b, json_extract(j, '$.a[0]') AS c,"
        " json_array_length((j->'a')) AS d FROM t"
    ),
    (
        "SELECT n, list(id ORDER BY id) AS ids, string_agg(n, ',' ORDER BY id) AS s,"
        " count(*) FILTER (WHERE id > 1) AS c, median(v) AS m FROM t GROUP BY ALL"
    ),
    "SELECT id, x FROM t CROSS JOIN unnest([1, 2]) AS u (x)",
    "SELECT unnest([1, 2, 3]) AS x, [1, 2][1] AS y, len([1]) AS z",
    "SELECT i FROM range(5) AS r (i) UNION ALL SELECT * FROM generate_series(1, 2)",
    (
        "SELECT w.n, d + INTERVAL 1 DAY AS next, date_diff('day', d, DATE '2024-03-01') AS days"
        " FROM t JOIN (VALUES (1, 'a')) AS w (id, n) USING (id)"
    ),
)
NO_QUERIES = {
    ("duckdb", "not allowed"): (
        *("SELECT * FROM read_csv('x')", "SELECT * FROM glob('*')", "SELECT a INTO u FROM t"),
        *("SELECT a FROM t FOR UPDATE", "SELECT current_date", "SELECT random() FROM t"),
        *("SELECT a FROM t USING SAMPLE 10%", "SELECT getenv('HOME')", "SELECT nextval('s')"),
        *("SELECT a FROM t, unnest(read_text('x'))", "SELECT concat_ws(',', current_setting('x'))"),
        *("SELECT date_diff('day', d, 'today') FROM t", "SELECT any_value(a) FROM t"),
        *("SELECT json_execute_serialized_sql(a) FROM t", "SELECT age(d) FROM t"),
        *("SELECT json_array_length(j->'a') FROM t", "SELECT len(range(100000000)) FROM t"),
    ),
    ("duckdb", "no ORDER BY"): (
        *("SELECT a FROM t LIMIT 5", "SELECT a FROM t FETCH FIRST 5 ROWS ONLY"),
        *("SELECT a FROM t WHERE a IN (SELECT a FROM t LIMIT 1)", "(SELECT a FROM t) LIMIT 1"),
        *("SELECT a FROM t UNION ALL SELECT a FROM t LIMIT 1", "SELECT list(a) FROM t"),
        *("SELECT ROW_NUMBER() OVER (PARTITION BY a) FROM t", "SELECT string_agg(a, ',') FROM t"),
        *("SELECT LAG(a) OVER w FROM t WINDOW w AS (), v AS (ORDER BY a)", "SELECT ARRAY(FROM t)"),
        *("SELECT SUM(a) OVER (ROWS 1 PRECEDING) FROM t", "SELECT DISTINCT ON (a) a, b FROM t"),
    ),
    ("duckdb", "single SELECT"): (
        *("INSERT INTO t VALUES (1)", "COPY t TO 'x'", "EXPLAIN SELECT 1"),
    ),
    ("duckdb", "single SQL expression"): ("SELECT 1; SELECT 2",),
    # What is a call or the present here.
    ("postgres", "not allowed"): (
        *("SELECT (a).pg_read_file FROM t", "SELECT (ARRAY['/etc/passwd'])[1].pg_read_file"),
        "SELECT s.pg_read_file FROM unnest(ARRAY['/etc/passwd']) s",
        "SELECT s.current_setting FROM t, LATERAL unnest(t.names) AS s (x)",
        "SELECT s.pg_sleep FROM generate_series(1, 3) s",
        "SELECT s.pg_sleep FROM t CROSS JOIN LATERAL generate_series(1, t.a) s",
        "SELECT s.pg_sleep FROM t, LATERAL upper(t.a) s",
        "SELECT a FROM t WHERE CAST('now\t' AS DATE) > d",
    ),
    ("clickhouse", "not allowed"): (
        *("SELECT id FROM t SETTINGS limit = 2", "SELECT id FROM t PREWHERE a"),
        "SELECT id FROM (SELECT id FROM t SETTINGS limit = 2) AS x",
    ),
    ("sqlite", "not allowed"): tuple(
        f"SELECT {text} AS v FROM t"  # noqa: S608 - written here
        for text in (
            *("RANDOM()", "RANDOMBLOB(3)", "LOAD_EXTENSION('x')", "CHANGES()"),
            *("CURRENT_TIMESTAMP", "DATE()", "DATETIME()", "JULIANDAY()", "TIME('now')"),
            *("UNIXEPOCH('subsec')", "DATE(a, 'localtime')", "DATETIME(a, 'utc')"),
            *("STRFTIME('%s', 'now', '1 day')", 'DATE("now")', "STRFTIME('%s')"),
        )
    ),
    ("clickhouse", "no ORDER BY in a window"): ("SELECT first_value(a) FROM t",),
    ("spark", "no ORDER BY in a window"): ("SELECT first_value(a) FROM t",),
    # What its dialect rewrites.
    ("mysql", "RegexpLike is not allowed"): ("SELECT a FROM t WHERE a REGEXP 'x'",),
}
_TABLE = """
CREATE TABLE t AS SELECT * FROM (VALUES (1, 'Ann', 1.50, DATE '2024-01-31', '{"a": [7]}'::JSON),
    (2, 'b_b', 2.25, DATE '2024-02-29', '{"a": 2}'), (3, NULL, NULL, NULL, NULL))
    AS rows_ (id, n, v, d, j)
"""


@pytest.mark.parametrize("text", QUERIES)
def test_a_query_is_admitted_and_stays_what_it_is(text: str) -> None:
    with duckdb.connect() as database:
        database.execute(_TABLE)
        before = database.execute(text).fetchall()
        after = database.execute(compile_sql(admit_query(text, "duckdb"), "duckdb")).fetchall()
    assert sorted(map(str, after)) == sorted(map(str, before)) != []


@pytest.mark.parametrize(("dialect", "reason"), NO_QUERIES)
def test_other_queries_are_refused_with_the_reason(
    dialect: str, reason: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(logging.root, "handlers", [])  # as in a program that sets none
    for text in NO_QUERIES[dialect, reason]:
        with pytest.raises(QueryError, match=reason):
            admit_query(text, dialect)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "text",
    [
        *("DATE(a, '+1 day')", "DATETIME(a, 'unixepoch')", "JULIANDAY(a)", "STRFTIME('%Y', a, b)"),
        *("TYPEOF(a)", "a GLOB 'x*'", "a COLLATE NOCASE", "HEX(x'00')", "TOTAL(a)", "LOG10(a)"),
    ],
)
def test_functions_of_sqlite_are_admitted_only_there(text: str) -> None:
    admit_query(f"SELECT {text} AS v FROM t", "sqlite")  # noqa: S608 - written above
    with pytest.raises(QueryError):
        admit_expression(text, "sqlite")


def test_what_one_dialect_has_is_admitted() -> None:
    text = "SELECT id FROM t AS x FINAL WHERE id > 1"
    assert admit_query(text, "clickhouse").sql("clickhouse") == text
    assert admit_query("SELECT a FROM t WHERE a ~ 'x'", "postgres").find(exp.RegexpLike)
