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
    ],
)
def test_expressions_over_a_row_are_admitted(text: str) -> None:
    assert admit_expression(text, "duckdb").sql("duckdb")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("read_csv('/etc/passwd')", "not admitted"),
        ("getenv('HOME')", "getenv is not admitted"),
        ("(SELECT 1)", "not admitted"),
        ("SUM(amount)", "Sum is not admitted"),
        ("amount; DROP TABLE t", "one piece of SQL"),
        ("$p0", "not admitted"),
        ("?", "not admitted"),
        ("t.amount", "without its table"),
        ("amount / 100", "multiply instead"),
        ("*", "Star is not admitted"),
        ("COLUMNS('a')", "not admitted"),
        ("amount +", "one piece of SQL"),
        ("", "one piece of SQL"),
        ("(" * 20_000 + "1" + ")" * 20_000, "one piece of SQL"),
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
        ("SELECT * FROM read_csv('x')", "not admitted"),
        ("SELECT * FROM glob('*')", "not admitted"),
        ("SELECT a INTO u FROM t", "not admitted"),
        ("SELECT a FROM t FOR UPDATE", "not admitted"),
        ("INSERT INTO t VALUES (1)", "single SELECT"),
        ("SELECT 1; SELECT 2", "one piece of SQL"),
        ("SELECT a FROM t UNION SELECT a FROM u", "single SELECT"),
        ("SELECT unnest(a) FROM t", "not admitted"),
        ("COPY t TO 'x'", "single SELECT"),
    ],
)
def test_other_queries_are_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        admit_query(text, "duckdb")
