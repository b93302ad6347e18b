"""The rows behind one group of a comparison, on both sides."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from skillian.connectors.base import ColumnType
from skillian.data import arrow, sql
from skillian.data.comparison_plan import ComparisonPlan, Side
from skillian.data.compile import prepare
from skillian.data.filters import Condition, parse_filter
from skillian.data.ground import together
from skillian.data.query import QueryResult
from skillian.data.selection import filtered_rows
from skillian.data.values import coerce, jsonable
from skillian.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class DrillDown:
    """The rows of both sides that make up one group, as their tables hold them."""

    key: Mapping[str, object]
    a: QueryResult
    b: QueryResult

    def to_dict(self) -> dict[str, object]:
        """Return the rows for JSON."""
        key = {name: jsonable(value) for name, value in self.key.items()}
        return {"key": key, "a": self.a.to_dict(), "b": self.b.to_dict()}


async def drill_down(plan: ComparisonPlan, key: Mapping[str, object], limit: int) -> DrillDown:
    """Return at most `limit` rows of each side; `key` has a value, or None, for each dimension.

    Raises `InvalidInputError` for a key that is not one of this comparison.
    """
    if set(key) != set(plan.align_on):
        raise InvalidInputError(
            f"a group of this comparison is named by {', '.join(plan.align_on)}, not by"
            f" {', '.join(key) or 'nothing'}"
        )
    typed = {
        term.name: None if key[term.name] is None else coerce(term.name, key[term.name], term.type)
        for term in plan.a.keys
    }
    a, b = await together(_rows(plan.a, typed, limit), _rows(plan.b, typed, limit))
    return DrillDown(typed, a, b)


async def _rows(side: Side, key: Mapping[str, object], limit: int) -> QueryResult:
    source, parameters = side.source, sql.Parameters()
    where: list[Condition] = list(side.where)
    for name, value in key.items():
        term = source.dimension(name, sql.Parameters())
        where += parse_filter(name, [value], term.type)
    columns = {name: _shown(name, kind) for name, kind in source.columns.items()}
    select = filtered_rows(source, columns, where, parameters).limit(limit + 1, copy=False)
    order = [exp.Ordered(this=sql.bare(name), nulls_first=False) for name in columns]
    statement = prepare(
        select.order_by(*order, copy=False), source.connector.dialect, parameters.values
    )
    table = await source.connector.run(statement.text, statement.parameters)
    found = [tuple(row.values()) for row in arrow.rows(table)]
    return QueryResult(
        source=source.name,
        columns=tuple(columns),
        rows=tuple(found[:limit]),
        truncated=len(found) > limit,
        filters=tuple(where),
        sql=statement.text,
        parameters=statement.parameters,
    )


def _shown(name: str, kind: ColumnType) -> exp.Expr:
    """A column as it is; texts, binary floats and types unknown here as plain text."""
    value = sql.column(name, "source")
    return exp.cast(value, "TEXT") if kind.kind in {"text", "float", "other"} else value
