"""Which hand-written SQL is allowed: every node of its tree must be on a list.

An allowlist also refuses functions that nobody thought of.
"""

import logging
import re
from collections.abc import Iterator

from sqlglot import exp, parse
from sqlglot.errors import SqlglotError

from skillian.errors import QueryError

# Otherwise its warnings, such as of EXPLAIN, would be printed.
logging.getLogger("sqlglot").addHandler(logging.NullHandler())

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
_TIMES = (exp.AtTimeZone, exp.DateAdd, exp.DateDiff, exp.DateSub, exp.Extract, exp.LastDay,
          exp.StrToTime, exp.TimestampAdd, exp.TimestampDiff, exp.TimestampTrunc,
          exp.TimeStrToTime, exp.TimeToStr, exp.TimeToUnix, exp.TsOrDsToDate,
          exp.TsOrDsToTimestamp)  # fmt: skip
_PRESENT = frozenset({"now", "today", "tomorrow", "yesterday"})
_WORD = re.compile(r"[a-z]+")
_QUERY: frozenset[type[exp.Expr]] = _VALUES | {
    # clauses
    exp.Alias, exp.CTE, exp.Cube, exp.Distinct, exp.Except, exp.Exists, exp.Fetch, exp.Final,
    exp.From, exp.Group, exp.GroupingSets, exp.Having, exp.Intersect, exp.Join, exp.Lateral,
    exp.Limit, exp.LimitOptions, exp.Offset, exp.Order, exp.Ordered, exp.Qualify, exp.Rollup,
    exp.Select, exp.Star, exp.Subquery, exp.Table, exp.TableAlias, exp.Union, exp.Unnest,
    exp.Values, exp.Where, exp.With,
    # aggregates and windows
    exp.ArrayAgg, exp.Avg, exp.BitwiseAndAgg, exp.BitwiseOrAgg, exp.Count, exp.CountIf,
    exp.CumeDist, exp.DenseRank, exp.Filter, exp.FirstValue, exp.GroupConcat, exp.IgnoreNulls,
    exp.Lag, exp.LastValue, exp.Lead, exp.LogicalAnd, exp.LogicalOr, exp.Max, exp.Median, exp.Min,
    exp.NthValue, exp.Ntile, exp.PercentRank, exp.PercentileCont, exp.PercentileDisc, exp.Rank,
    exp.RespectNulls, exp.RowNumber, exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Sum,
    exp.Variance, exp.VariancePop, exp.Window, exp.WindowSpec, exp.WithinGroup,
    # texts
    exp.Ascii, exp.Chr, exp.ConcatWs, exp.Contains, exp.EndsWith, exp.Escape, exp.Format, exp.Hex,
    exp.ILike, exp.Initcap, exp.MD5, exp.Overlay, exp.RegexpCount, exp.RegexpExtract,
    exp.RegexpExtractAll, exp.RegexpFullMatch, exp.RegexpILike, exp.RegexpLike, exp.RegexpReplace,
    exp.RegexpSubstr, exp.Repeat, exp.Reverse, exp.SHA, exp.SHA2, exp.StartsWith,
    exp.StringToArray, exp.SubstringIndex, exp.Translate,
    # numbers
    exp.Any, exp.BitwiseAnd, exp.BitwiseLeftShift, exp.BitwiseNot, exp.BitwiseOr,
    exp.BitwiseRightShift, exp.BitwiseXor, exp.Cbrt, exp.Div, exp.Exp, exp.Ln,
    exp.NullSafeEQ, exp.NullSafeNEQ, exp.Pi, exp.Pow, exp.Sqrt, exp.Trunc, exp.WidthBucket,
    # times
    exp.AtTimeZone, exp.DateAdd, exp.DateDiff, exp.DateFromParts, exp.DateSub, exp.DayOfMonth,
    exp.DayOfWeek, exp.DayOfWeekIso, exp.DayOfYear, exp.Hour, exp.Interval, exp.LastDay,
    exp.Minute, exp.Monthname, exp.Quarter, exp.Second, exp.TimestampAdd, exp.TimestampDiff,
    exp.TimeToUnix, exp.UnixToTime, exp.Week, exp.WeekOfYear,
    # lists and JSON
    exp.Array, exp.ArrayContains, exp.ArrayContainsAll, exp.ArraySize, exp.ArraySort,
    exp.ArrayToString, exp.Bracket, exp.Dot, exp.Explode, exp.ExplodingGenerateSeries,
    exp.GenerateSeries, exp.JSONBContainsTopKey, exp.JSONBExtract, exp.JSONBExtractScalar,
    exp.JSONExtract, exp.JSONExtractScalar, exp.JSONKeys, exp.JSONPath, exp.JSONPathKey,
    exp.JSONPathRoot, exp.JSONPathSubscript, exp.JSONType, exp.JSONValue,
    exp.PropertyEQ, exp.Slice, exp.Struct,
}  # fmt: skip
_FUNCTIONS = frozenset(
    {
        "cardinality", "date_part", "every", "gcd", "json_array_length", "json_length",
        "json_typeof", "json_unquote", "json_valid", "jsonb_array_length",
        "jsonb_extract_path_text", "jsonb_typeof", "make_date", "printf", "regexp_match",
        "regexp_matches", "regexp_split_to_array",
    }
)  # fmt: skip
"""Functions that sqlglot has no class for, and whose value depends on their arguments alone."""
_OF_SQLITE = frozenset({exp.Collate, exp.Date, exp.Glob, exp.HexString, exp.Log, exp.Typeof,
                        exp.Unhex, exp.Unicode})  # fmt: skip
_TIMES_OF_SQLITE = frozenset(
    {"date", "datetime", "julianday", "strftime", "time", "timediff", "unixepoch"}
)
_FUNCTIONS_OF_SQLITE = _TIMES_OF_SQLITE | frozenset(
    {"json", "likely", "octet_length", "quote", "total", "unlikely", "zeroblob"}
)
_LOCAL = frozenset({"localtime", "subsec", "subsecond", "utc"})
"""What else SQLite's functions read as the present, or by the settings of this machine."""
_BY_POSITION = (exp.FirstValue, exp.Lag, exp.LastValue, exp.Lead, exp.NthValue, exp.Ntile,
                exp.RowNumber)  # fmt: skip
_REWRITTEN = frozenset({"databricks", "mysql", "spark"})
"""Dialects in which `RegexpLike` is a test of ours, which is written in another way."""


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
    """The tree of one SELECT over plain tables; raises `QueryError` for others.

    It may be read several times, so it may only depend on its tables, and has an order wherever
    its rows depend on one.
    """
    tree = _parse_one(text, dialect)
    while type(tree) is exp.Subquery and not tree.alias and [*_stated(tree)] == ["this"]:
        tree = tree.this
    if not isinstance(tree, exp.Query):
        raise QueryError("a source's query must be a single SELECT")
    _admit(tree, _QUERY, dialect)
    for node in tree.walk():
        if node.args.get("settings"):
            raise QueryError("SETTINGS are not allowed in hand-written SQL; leave them out")
        if _is_function_of_rows(node, dialect):
            raise QueryError(f"{node.sql(dialect)}: table functions are not allowed")
        if reason := _without_order(node):
            raise QueryError(
                f"{reason}, so that it returns other rows or values each time it is read; add"
                " ORDER BY, with columns that tell the rows apart"
            )
    if isinstance(tree, exp.Select):
        return tree
    return exp.select("*").from_(tree.subquery("query"))


def _is_function_of_rows(node: exp.Expr, dialect: str) -> bool:
    """Whether a function is read as a table, or a list that may be of any length is made.

    PostgreSQL reads a column of such rows as a call: `s.f` is `f(s)`, of any function.
    """
    if dialect == "postgres":
        is_lateral = isinstance(node, exp.Lateral) and not isinstance(node.this, exp.Subquery)
        is_table = isinstance(node, exp.Table) and not isinstance(node.this, exp.Identifier)
        return is_lateral or is_table or isinstance(node, exp.Unnest)
    if isinstance(node, exp.Table):
        return not isinstance(node.this, exp.Identifier | exp.GenerateSeries)
    return isinstance(node, exp.GenerateSeries) and not isinstance(node.parent, exp.Table)


def _stated(tree: exp.Expr) -> Iterator[str]:
    return (name for name, value in tree.args.items() if value)


def _without_order(node: exp.Expr) -> str:
    """What depends on an order that the query does not state; empty if nothing does."""
    if isinstance(node, exp.Query):
        cut = "LIMIT" if node.args.get("limit") or node.args.get("offset") else ""
        distinct = node.args.get("distinct")
        if isinstance(distinct, exp.Distinct) and distinct.args.get("on"):
            cut = cut or "DISTINCT ON"
        return f"{cut} has no ORDER BY" if cut and not node.args.get("order") else ""
    if isinstance(node, exp.FirstValue | exp.LastValue):  # elsewhere of any row
        around = node.find_ancestor(exp.Window, exp.Select)
        return "" if isinstance(around, exp.Window) else f"{node.sql()} has no ORDER BY in a window"
    if isinstance(node, exp.Window) and (node.args.get("spec") or node.this.find(*_BY_POSITION)):
        return "" if _has_order(node) else f"{node.this.sql()} has no ORDER BY in its window"
    if isinstance(node, exp.Array) and node.find(exp.Query):
        return "" if node.find(exp.Order) else "ARRAY has no ORDER BY"
    if isinstance(node, exp.ArrayAgg | exp.GroupConcat):
        around = node.find_ancestor(exp.Window, exp.WithinGroup, exp.Select)
        is_sorted = isinstance(around, exp.WithinGroup) or (
            isinstance(around, exp.Window) and _has_order(around)
        )
        return "" if is_sorted or node.find(exp.Order) else f"{node.sql()} has no ORDER BY"
    return ""


def _has_order(window: exp.Window) -> bool:
    """Whether a window is in order, also one that has its name from the clause WINDOW."""
    select = window.find_ancestor(exp.Select)
    known = select.args.get("windows") if select else None
    windows = [window, *(each for each in known or () if each.name == window.alias)]
    return any(each.args.get("order") for each in windows)


def _parse_one(text: str, dialect: str) -> exp.Expr:
    try:
        trees = parse(text, dialect=dialect)
    except (SqlglotError, RecursionError):
        trees = []
    trees = [each for each in trees if not isinstance(each, exp.Semicolon)]  # and its comment
    if len(trees) != 1 or trees[0] is None:
        raise QueryError("this is not a single SQL expression or statement")
    return trees[0]


def _admit(tree: exp.Expr, allowed: frozenset[type[exp.Expr]], dialect: str) -> None:
    for node in tree.walk():
        if isinstance(node, exp.Div) and exp.Div not in allowed:
            raise QueryError(
                f"{node.sql(dialect)}: `/` returns binary floats, or drops the rest; multiply"
                " instead, as in x * 0.01"
            )
        if not _is_admitted(node, allowed, dialect):
            what = type(node).__name__ if not isinstance(node, exp.Anonymous) else node.name
            if isinstance(node, exp.Lambda):
                what = "Lambda (write `->` of JSON in parentheses)"
            raise QueryError(
                f"{what} is not allowed in hand-written SQL, which may only use what is known to"
                " depend on nothing but the rows that it reads: not on files, settings, the time or"
                " chance; leave it out, or compute it in a view or a table of the database"
            )
        if _reads_a_time(node) and (present := _present(node, dialect)):
            raise QueryError(f"{present} is not allowed as a time in hand-written SQL")


def _is_admitted(node: exp.Expr, allowed: frozenset[type[exp.Expr]], dialect: str) -> bool:
    is_sqlite = dialect == "sqlite" and allowed is _QUERY
    if isinstance(node, exp.Anonymous):
        known = _FUNCTIONS | _FUNCTIONS_OF_SQLITE if is_sqlite else _FUNCTIONS
        return allowed is _QUERY and node.name.lower() in known
    if isinstance(node, exp.RegexpLike) and dialect in _REWRITTEN:
        return False
    if isinstance(node, exp.Dot) and dialect == "postgres":
        return False  # it reads `(x).f` as f(x), of any function
    return type(node) in allowed or (is_sqlite and type(node) in _OF_SQLITE)


def _reads_a_time(node: exp.Expr) -> bool:
    if isinstance(node, exp.Cast):  # or one that gives NULL
        return node.to.is_type(*exp.DataType.TEMPORAL_TYPES)
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in _TIMES_OF_SQLITE
    return isinstance(node, (*_TIMES, exp.Date))


def _present(node: exp.Expr, dialect: str) -> str:
    """The text in a tree that means the time of the statement; empty if there is none."""
    texts = [each.sql() for each in node.find_all(exp.Literal) if each.is_string]
    present = _PRESENT
    if dialect == "sqlite":
        if not any(node.iter_expressions()):
            return node.sql(dialect)
        # A quoted name that no column has is a text.
        texts += [each.sql() for each in node.find_all(exp.Identifier) if each.args.get("quoted")]
        present = _PRESENT | _LOCAL
    words = ((text, _WORD.findall(text.casefold())) for text in texts)
    return next((text for text, found in words if not present.isdisjoint(found)), "")
