import pytest

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


REFUSED = {
    "duckdb": (
        *("NOW()", "STRFTIME(CURRENT_TIMESTAMP, '%Y')", "STRFTIME(NOW(), '%Y')"),
        *("STRPTIME(CAST(RANDOM() AS TEXT), '%Y')", "DATE_TRUNC('month', CURRENT_DATE)"),
        *("LPAD(getenv('HOME'), 9, ' ')", "LEFT(current_setting('home_directory'), 9)"),
        *("SPLIT_PART(read_text('/etc/passwd'), ':', 1)", "FLOOR(nextval('s'))"),
        *("read_csv('/etc/passwd')", "(SELECT 1)", "$p0", "?", "COLUMNS('a')"),
    ),
    "sqlite": (
        *("STRFTIME('%Y')", "STRFTIME('%Y', 'now')", "STRFTIME('%Y', ' NOW ')", "DATE()"),
        "STRFTIME('%Y', CASE WHEN x THEN 'now' END)",
    ),
    "postgres": (
        *("CAST('today' AS DATE)", "'now'::timestamptz", "DATE_TRUNC('month', 'now'::timestamp)"),
        "TO_CHAR(CLOCK_TIMESTAMP(), 'YYYY')",
    ),
    "mysql": ("DATE_FORMAT(SYSDATE(), '%Y')", "STR_TO_DATE(LOAD_FILE('/etc/passwd'), '%Y')"),
    "clickhouse": ("formatDateTime(now(), '%Y')",),
}


@pytest.mark.parametrize(
    ("dialect", "text"), [(dialect, text) for dialect in REFUSED for text in REFUSED[dialect]]
)
def test_what_depends_on_more_than_the_row_is_refused(dialect: str, text: str) -> None:
    with pytest.raises(QueryError, match="not allowed"):
        admit_expression(text, dialect)


REASONS = {
    "getenv is not allowed": ("getenv('HOME')",),
    "Sum is not allowed": ("SUM(amount)",),
    "Star is not allowed": ("*",),
    "without its table": ("t.amount",),
    "multiply instead": ("amount / 100",),
    "single SQL expression": (
        *("amount; DROP TABLE t", "amount +", "", "(" * 20_000 + "1" + ")" * 20_000),
    ),
}


def test_other_expressions_are_refused_with_the_reason() -> None:
    for reason, texts in REASONS.items():
        for text in texts:
            with pytest.raises(QueryError, match=reason):
                admit_expression(text, "duckdb")


QUERIES = (
    "SELECT a, b * 2 AS c FROM t WHERE a = 'x'",
    "SELECT t.*, u.d FROM s.t JOIN u ON t.k = u.k",
    "WITH w AS (SELECT a, SUM(b) AS b FROM t GROUP BY a HAVING SUM(b) > 0) SELECT * FROM w",
    "SELECT a FROM (SELECT a FROM t UNION ALL SELECT a FROM u) AS both",
)
NO_QUERIES = {
    "not allowed": (
        *("SELECT * FROM read_csv('x')", "SELECT * FROM glob('*')", "SELECT a INTO u FROM t"),
        *("SELECT a FROM t FOR UPDATE", "SELECT unnest(a) FROM t"),
    ),
    "single SELECT": (
        *("INSERT INTO t VALUES (1)", "SELECT a FROM t UNION SELECT a FROM u", "COPY t TO 'x'"),
    ),
    "single SQL expression": ("SELECT 1; SELECT 2",),
}


def test_a_single_select_over_tables_is_admitted_and_others_are_refused_with_the_reason() -> None:
    for text in QUERIES:
        assert admit_query(text, "duckdb").sql("duckdb")
    for reason, texts in NO_QUERIES.items():
        for text in texts:
            with pytest.raises(QueryError, match=reason):
                admit_query(text, "duckdb")
