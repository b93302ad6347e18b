"""Which hand-written SQL is allowed: every node of its tree must be on a list.

An allowlist also refuses functions that nobody thought of.
"""

from sqlglot import exp, parse
from sqlglot.errors import SqlglotError

from skillian.errors import QueryError

_VALUES: frozenset[type[exp.Expr]] = frozenset(
    {
        exp.Abs, exp.Add, exp.And, exp.Between, exp.Boolean, exp.Case, exp.Cast, exp.Coalesce,
        exp.Column, exp.Concat, exp.DataType, exp.DataTypeParam, exp.DPipe, exp.EQ, exp.Extract,
        exp.Greatest, exp.GT, exp.GTE, exp.Identifier, exp.If, exp.In, exp.IntDiv, exp.Is,
        exp.Least, exp.Length, exp.Like, exp.Literal, exp.Lower, exp.LT, exp.LTE, exp.Mod,
        exp.Month, exp.Mul, exp.Neg, exp.NEQ, exp.Not, exp.Null, exp.Nullif, exp.Or, exp.Paren,
        exp.Replace, exp.Round, exp.Sub, exp.Substring, exp.Trim, exp.TryCast, exp.Tuple,
        exp.Upper, exp.Var, exp.Year,
        exp.Ceil, exp.Day, exp.Floor, exp.Left, exp.Pad, exp.Right, exp.Sign, exp.SplitPart,
        exp.StrPosition, exp.StrToDate, exp.StrToTime, exp.TimestampTrunc, exp.TimeStrToTime,
        exp.TimeToStr, exp.TsOrDsToDate, exp.TsOrDsToTimestamp,
    }
)  # fmt: skip
# Where some databases read these texts as the time of the statement.
_TIMES = (exp.StrToTime, exp.TimestampTrunc, exp.TimeStrToTime, exp.TimeToStr, exp.TsOrDsToDate,
          exp.TsOrDsToTimestamp)  # fmt: skip
_PRESENT = frozenset({"now", "today", "tomorrow", "yesterday"})
_QUERY: frozenset[type[exp.Expr]] = _VALUES | {
    exp.Alias, exp.Count, exp.CTE, exp.Distinct, exp.Exists, exp.From, exp.Group, exp.Having,
    exp.Join, exp.Max, exp.Min, exp.Select, exp.Star, exp.Subquery, exp.Sum, exp.Table,
    exp.TableAlias, exp.Union, exp.Where, exp.With,
}  # fmt: skip


def admit_expression(text: str, dialect: str) -> exp.Expr:
    """The tree of an expression over one row's columns; raises `QueryError` for others.

    Allowed are columns (without a table), literals, arithmetic without `/` (which would return
    binary floats), comparison, CASE, CAST and a few functions of text, numbers and dates whose
    value depends on nothing but the row.
    """
    tree = _parse_one(text, dialect)
    _admit(tree, _VALUES, dialect)
    for column in tree.find_all(exp.Column):
        if len(column.parts) > 1:
            raise QueryError(f"{column.sql(dialect)}: name the column without its table")
    return tree


def admit_query(text: str, dialect: str) -> exp.Select:
    """The tree of one SELECT over plain tables; raises `QueryError` for others."""
    tree = _parse_one(text, dialect)
    if not isinstance(tree, exp.Select):
        raise QueryError("a source's query must be a single SELECT")
    _admit(tree, _QUERY, dialect)
    for table in tree.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier):
            raise QueryError(f"{table.sql(dialect)}: table functions are not allowed")
    return tree


def _parse_one(text: str, dialect: str) -> exp.Expr:
    try:
        trees = parse(text, dialect=dialect)
    except (SqlglotError, RecursionError):
        trees = []
    if len(trees) != 1 or trees[0] is None:
        raise QueryError("this is not a single SQL expression or statement")
    return trees[0]


def _admit(tree: exp.Expr, allowed: frozenset[type[exp.Expr]], dialect: str) -> None:
    for node in tree.walk():
        if isinstance(node, exp.Div):
            raise QueryError(
                f"{node.sql(dialect)}: `/` returns binary floats; multiply instead, as in x * 0.01"
            )
        if type(node) not in allowed:
            what = type(node).__name__ if not isinstance(node, exp.Anonymous) else node.name
            raise QueryError(f"{what} is not allowed in hand-written SQL")
        if _reads_a_time(node) and (present := _present(node)):
            raise QueryError(f"{present} is not allowed as a time in hand-written SQL")


def _reads_a_time(node: exp.Expr) -> bool:
    if isinstance(node, exp.Cast):  # or one that gives NULL
        return node.to.is_type(*exp.DataType.TEMPORAL_TYPES)
    return isinstance(node, _TIMES)


def _present(node: exp.Expr) -> str:
    """The text in a tree that means the time of the statement; empty if there is none."""
    texts = (each.sql() for each in node.find_all(exp.Literal) if each.is_string)
    return next((text for text in texts if text.strip("' ").casefold() in _PRESENT), "")
