"""Keys whose columns have other types on the two sides: of files that is often one bad value."""

from dataclasses import replace

from sqlglot import exp

from skillian.connectors.base import ColumnType, Kind
from skillian.data.binding import Term
from skillian.data.comparison_plan import Side
from skillian.data.unfit import is_empty, misfits, shown
from skillian.errors import QueryError

_GOALS: dict[Kind, str] = {
    "integer": "BIGINT",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMPTZ",
}


async def with_same_types(a: Side, b: Side) -> tuple[Side, Side]:
    """Return both sides, a text key without any value in the type of the other side.

    So a file that has only its header can be compared. Raises `QueryError` naming the values that
    keep a text from being of the other side's type.
    """
    pairs = list(zip(a.keys, b.keys, strict=True))
    keys_a = [await _typed(a, one, b, other) for one, other in pairs]
    keys_b = [await _typed(b, other, a, one) for one, other in pairs]
    return replace(a, keys=tuple(keys_a)), replace(b, keys=tuple(keys_b))


async def _typed(side: Side, term: Term, other: Side, like: Term) -> Term:
    goal = _goal(like.type)
    if term.type.kind != "text" or goal is None or side.source.connector.dialect != "duckdb":
        return term
    source = side.source
    if await is_empty(source, term.value):
        kind = exp.DataType.build(goal.sql, dialect="duckdb")
        return Term(term.name, exp.cast(term.value.copy(), kind), goal)
    values = await misfits(source, term.value, goal)
    if values:
        raise QueryError(
            f"{term.name!r} is {like.type.sql} in {other.source.name}, but in {source.name} it also"
            f" holds {await shown(source, term.value, values)}. Correct these values, or declare in"
            f" a sources.yaml the same `type` for the dimension {term.name!r} of both, such as"
            " `type: text`"
        )
    return term


def _goal(like: ColumnType) -> ColumnType | None:
    if like.kind == "decimal":
        return ColumnType("decimal", f"DECIMAL(38,{like.scale})", like.scale)
    sql = _GOALS.get(like.kind)
    return None if sql is None else ColumnType(like.kind, sql)
