import pytest

from skillian.data.sql.admission import admit_expression, admit_query
from skillian.errors import QueryError


@pytest.mark.parametrize(
    "text",
    [
        "amount * 0.01",
        "CASE WHEN side = 'S' THEN amount ELSE -amount END",
        "CAST(amount AS DECIMAL(18, 2))",
        "COALESCE(amount, 0) + ABS(tax)",
        "IF(kind IN ('a', 'b') AND NOT gone IS NULL, 1, 0)",
        '"weird ""name""" || upper(trim(x))',
        "CAST(STRPTIME(day, '%d.%m.%Y') AS DATE)",
        "STRFTIME(day, '%Y-%m')",
        "DATE_TRUNC('month', day)",
        "LPAD(SPLIT_PART(code, '-', 1), 6, '0') || LEFT(x, 2) || RIGHT(x, 2)",
        "FLOOR(amount) + CEIL(amount) * SIGN(amount) + DAY(day) + STRPOS(x, 'a')",
    ],
)
def test_expressions_over_a_row_are_admitted(text: str) -> None:
    assert admit_expression(text, "duckdb").sql("duckdb")


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("postgres", "TO_DATE(x, 'DD.MM.YYYY')"),
        ("postgres", "TO_TIMESTAMP(x, 'DD.MM.YYYY')"),
        ("postgres", "TO_CHAR(x, 'YYYY-MM')"),
        ("mysql", "STR_TO_DATE(x, '%d.%m.%Y')"),
        ("mysql", "DATE_FORMAT(x, '%Y-%m')"),
        ("sqlite", "STRFTIME('%Y-%m', x)"),
        ("spark", "TO_DATE(x, 'dd.MM.yyyy')"),
        ("spark", "DATE_FORMAT(x, 'yyyy-MM')"),
        ("clickhouse", "formatDateTime(x, '%Y-%m')"),
        ("bigquery", "PARSE_DATE('%d.%m.%Y', x)"),
    ],
)
def test_dates_are_read_and_written_in_each_dialect(dialect: str, text: str) -> None:
    assert admit_expression(text, dialect).sql(dialect) == text


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("duckdb", "NOW()"),
        ("duckdb", "STRFTIME(CURRENT_TIMESTAMP, '%Y')"),
        ("duckdb", "STRFTIME(NOW(), '%Y')"),
        ("duckdb", "STRPTIME(CAST(RANDOM() AS TEXT), '%Y')"),
        ("duckdb", "DATE_TRUNC('month', CURRENT_DATE)"),
        ("duckdb", "LPAD(getenv('HOME'), 9, ' ')"),
        ("duckdb", "LEFT(current_setting('home_directory'), 9)"),
        ("duckdb", "SPLIT_PART(read_text('/etc/passwd'), ':', 1)"),
        ("duckdb", "FLOOR(nextval('s'))"),
        ("sqlite", "STRFTIME('%Y')"),
        ("sqlite", "STRFTIME('%Y', 'now')"),
        ("sqlite", "STRFTIME('%Y', ' NOW ')"),
        ("sqlite", "STRFTIME('%Y', CASE WHEN x THEN 'now' END)"),
        ("sqlite", "DATE()"),
        ("postgres", "CAST('today' AS DATE)"),
        ("postgres", "'now'::timestamptz"),
        ("postgres", "DATE_TRUNC('month', 'now'::timestamp)"),
        ("postgres", "TO_CHAR(CLOCK_TIMESTAMP(), 'YYYY')"),
        ("mysql", "DATE_FORMAT(SYSDATE(), '%Y')"),
        ("mysql", "STR_TO_DATE(LOAD_FILE('/etc/passwd'), '%Y')"),
        ("clickhouse", "formatDateTime(now(), '%Y')"),
    ],
)
def test_what_depends_on_more_than_the_row_is_refused(dialect: str, text: str) -> None:
    with pytest.raises(QueryError, match="not allowed"):
        admit_expression(text, dialect)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("read_csv('/etc/passwd')", "not allowed"),
        ("getenv('HOME')", "getenv is not allowed"),
        ("(SELECT 1)", "not allowed"),
        ("SUM(amount)", "Sum is not allowed"),
        ("amount; DROP TABLE t", "single SQL expression"),
        ("$p0", "not allowed"),
        ("?", "not allowed"),
        ("t.amount", "without its table"),
        ("amount / 100", "multiply instead"),
        ("*", "Star is not allowed"),
        ("COLUMNS('a')", "not allowed"),
        ("amount +", "single SQL expression"),
        ("", "single SQL expression"),
        ("(" * 20_000 + "1" + ")" * 20_000, "single SQL expression"),
    ],
)
def test_other_expressions_are_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        admit_expression(text, "duckdb")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a, b * 2 AS c FROM t WHERE a = 'x'",
        "SELECT t.*, u.d FROM s.t JOIN u ON t.k = u.k",
        "WITH w AS (SELECT a, SUM(b) AS b FROM t GROUP BY a HAVING SUM(b) > 0) SELECT * FROM w",
        "SELECT a FROM (SELECT a FROM t UNION ALL SELECT a FROM u) AS both",
    ],
)
def test_a_single_select_over_tables_is_admitted(text: str) -> None:
    assert admit_query(text, "duckdb").sql("duckdb")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT * FROM read_csv('x')", "not allowed"),
        ("SELECT * FROM glob('*')", "not allowed"),
        ("SELECT a INTO u FROM t", "not allowed"),
        ("SELECT a FROM t FOR UPDATE", "not allowed"),
        ("INSERT INTO t VALUES (1)", "single SELECT"),
        ("SELECT 1; SELECT 2", "single SQL expression"),
        ("SELECT a FROM t UNION SELECT a FROM u", "single SELECT"),
        ("SELECT unnest(a) FROM t", "not allowed"),
        ("COPY t TO 'x'", "single SELECT"),
    ],
)
def test_other_queries_are_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        admit_query(text, "duckdb")
