"""Queries of one source: its measures by dimensions, or its rows as the table holds them."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import cast

from sqlglot import exp

from skillian.connectors.base import ColumnType, Kind
from skillian.connectors.dialects import compile_sql
from skillian.data import sql
from skillian.data.query.binding import Binder, BoundSource, MeasureTerm, Term
from skillian.data.query.filters import Condition, Filters, conditions, filtered_rows
from skillian.data.query.measures import code_of, exact_measures, finite, number_of, result_scale
from skillian.data.sql import Statement, prepare
from skillian.data.sql.values import Record, python_rows, python_value
from skillian.errors import InvalidInputError, UnknownNameError

DEFAULT_LIMIT = 100
MAX_LIMIT = 1000

_ROWS = "rows"
_SHORTEST_CUT = 60
_CODE = "code of measure "  # no source has such a name: it holds what no decimal does


@dataclass(frozen=True, slots=True)
class QueryResult(Record):
    """The result of one query of one source.

    `rows` are in the order of `columns`; measures are `Decimal` or None. `truncated` means that
    there were more rows than the limit, and `tied` that the next one has the same values as the
    last one in the columns of the order that was asked for.
    """

    json_names = "source columns rows row_count truncated tied filters sql parameters"

    source: str
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    truncated: bool
    filters: tuple[Condition, ...]
    sql: str
    parameters: Mapping[str, object]
    tied: bool = False

    @property
    def row_count(self) -> int:
        """The number of rows in this result."""
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class _CheckedQuery:
    """A checked query: what to group by, what to aggregate, which rows, in which order."""

    dimensions: tuple[Term, ...]
    measures: tuple[MeasureTerm, ...]
    where: tuple[Condition, ...]
    order: tuple[tuple[str, bool], ...]


class QueryEngine:
    """Queries single sources, each by one SELECT."""

    def __init__(self, binder: Binder) -> None:
        self._binder = binder

    async def query(
        self,
        source: str,
        dimensions: Sequence[str] | None = None,
        measures: Sequence[str] | None = None,
        filters: Filters | None = None,
        *,
        order: Sequence[str] | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> QueryResult:
        """The measures for each combination of the dimensions, or only the combinations.

        `order` names columns of the result, with a leading `-` for descending; by default rows are
        ordered by the dimensions. `limit` is at most `MAX_LIMIT` rows. Raises `InvalidInputError`,
        `UnknownNameError` (with the nearest names) or `QueryError`.
        """
        names = tuple(dict.fromkeys(dimensions or ())), tuple(dict.fromkeys(measures or ()))
        if not 1 <= limit <= MAX_LIMIT:
            raise InvalidInputError(f"limit must be from 1 to {MAX_LIMIT}, not {limit}")
        bound = await self._binder.bind(source)
        if not any(names):
            raise InvalidInputError(f"name dimensions or measures of {source}; {_offer(bound)}")
        parameters = sql.BoundValues()
        where = conditions(bound, filters)
        checked = _CheckedQuery(
            dimensions=tuple(bound.dimension(name, parameters) for name in names[0]),
            measures=await exact_measures(bound, names[1], where),
            where=where,
            order=_order(order, (*names[0], *names[1])),
        )
        statement = await asyncio.to_thread(
            lambda: compile_sql(
                _statement(bound, checked, limit, parameters), bound.connector.dialect
            )
        )
        table = await bound.connector.run(statement, parameters.values)
        kinds: list[Kind] = [term.type.kind for term in checked.dimensions]
        rows = tuple(_row(row, kinds, checked.measures) for row in python_rows(table))
        columns = (*names[0], *names[1])
        ordered = [columns.index(name) for name, _ in checked.order]
        ends = {tuple(row[at] for at in ordered) for row in rows[limit - 1 :]}
        return QueryResult(
            source=source,
            columns=columns,
            rows=rows[:limit],
            truncated=len(rows) > limit,
            filters=checked.where,
            sql=statement,
            parameters=parameters.values,
            tied=bool(ordered) and len(rows) > limit and len(ends) == 1,
        )


def _row(
    row: Mapping[str, object], kinds: Sequence[Kind], measures: Sequence[MeasureTerm]
) -> tuple[object, ...]:
    """A row of the result: dimensions of these kinds, then measures."""
    values = tuple(row.values())
    result = [python_value(value, kind) for value, kind in zip(values, kinds, strict=False)]
    for index, value in enumerate(values[len(kinds) : len(kinds) + len(measures)]):
        number = cast("Decimal | None", value)
        result.append(number_of(number, row.get(f"{_CODE}{index}")))
    return tuple(result)


def _offer(bound: BoundSource) -> str:
    dimensions, measures = bound.definition.dimensions, bound.definition.measures
    return f"dimensions: {', '.join(dimensions)}; measures: {', '.join(measures)}"


def _order(order: Sequence[str] | None, columns: Sequence[str]) -> tuple[tuple[str, bool], ...]:
    """The columns to order by, each with whether it descends."""
    ordered: list[tuple[str, bool]] = []
    for name in order or ():
        if name in columns:
            ordered.append((name, False))
        elif name.startswith("-") and name[1:] in columns:
            ordered.append((name[1:], True))
        else:
            raise UnknownNameError("column", name.removeprefix("-"), columns, "the result")
    return tuple(ordered)


def _statement(
    bound: BoundSource, query: _CheckedQuery, limit: int, parameters: sql.BoundValues
) -> exp.Select:
    terms = (*query.dimensions, *query.measures)
    aliases = {term.name: _alias(index, term.name) for index, term in enumerate(terms)}
    values = {aliases[term.name]: term.value for term in terms}
    for index, measure in enumerate(query.measures):
        if measure.code is not None:
            values[f"{_CODE}{index}"] = measure.code
    rows = filtered_rows(bound, values, query.where, parameters)
    keys = [sql.column(aliases[term.name], _ROWS) for term in query.dimensions]
    totals: list[exp.Expr] = []
    codes: list[exp.Expr] = []
    for index, term in enumerate(query.measures):
        value, scale = sql.column(aliases[term.name], _ROWS), result_scale(term)
        row_code = None if term.code is None else sql.column(f"{_CODE}{index}", _ROWS)
        totals.append(sql.named(finite(term, value, row_code, scale), aliases[term.name]))
        code = code_of(term, value, row_code, scale)
        codes += [] if code is None else [sql.named(code, f"{_CODE}{index}")]
    select = sql.select([*keys, *totals, *codes], rows, _ROWS)
    if keys:
        select = select.group_by(*(key.copy() for key in keys))
    named = {name for name, _ in query.order}
    ties = [(term.name, False) for term in query.dimensions if term.name not in named]
    ordered = [
        exp.Ordered(this=exp.column(sql.name(aliases[name])), desc=down, nulls_first=False)
        for name, down in (*query.order, *ties)
    ]
    if ordered:
        select = select.order_by(*ordered)
    # One row more than the limit shows whether there are more.
    return select.limit(limit + 1)


def _alias(index: int, name: str) -> str:
    """A column's alias in the statement: its name, unless a database might cut it."""
    return name if len(name.encode()) <= _SHORTEST_CUT else f"c{index}"


async def raw_rows(
    source: BoundSource, where: Sequence[Condition], limit: int, *, in_order: bool
) -> QueryResult:
    """At most `limit` rows that meet the conditions, with all of their columns.

    Without `in_order` the database may return any of them.
    """
    statement = await asyncio.to_thread(_raw_statement, source, where, limit, in_order)
    table = await source.connector.run(statement.text, statement.parameters)
    rows = [tuple(row.values()) for row in python_rows(table)]
    return QueryResult(
        source=source.name,
        columns=tuple(source.columns),
        rows=tuple(rows[:limit]),
        truncated=len(rows) > limit,
        filters=tuple(where),
        sql=statement.text,
        parameters=statement.parameters,
    )


def _raw_statement(
    source: BoundSource,
    where: Sequence[Condition],
    limit: int,
    in_order: bool,  # noqa: FBT001 - passed on from above
) -> Statement:
    parameters = sql.BoundValues()
    columns = {name: stored_value(name, kind) for name, kind in source.columns.items()}
    select = filtered_rows(source, columns, where, parameters).limit(limit + 1, copy=False)
    if in_order:
        order = [exp.Ordered(this=sql.bare(name), nulls_first=False) for name in columns]
        select = select.order_by(*order, copy=False)
    return prepare(select, source.connector.dialect, parameters.values)


def stored_value(name: str, kind: ColumnType) -> exp.Expr:
    """A column as its table holds it: texts, binary floats and other types as text."""
    value = sql.column(name, "source")
    return exp.cast(value, "TEXT") if kind.kind in {"text", "float", "other"} else value
