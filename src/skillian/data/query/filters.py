"""The filter language: which rows a question covers, as typed conditions on dimensions.

value                                   equal to the value
[value, …]                              one of the values; null in the list matches NULL
null                                    NULL
{"ne": value | null | [value, …]}       the opposite of the above; keeps rows with NULL
{"gte" | "gt" | "lte" | "lt": value}    ordered; several operators must all hold
{"between": [low, high]}                from low to high, both inclusive

Of two tables, `a.name` is the column of one side, unless a column of either is called `a.name`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from sqlglot import exp

from skillian.connectors.base import ColumnType
from skillian.data import sql
from skillian.data.query.binding import BoundSource, Term
from skillian.data.query.dimensions import UNSCALED
from skillian.data.query.unfit import is_empty, what_text_holds
from skillian.data.sql.values import Record, Value, coerce, is_comparable
from skillian.errors import InvalidInputError, UnknownNameError, quoted

Operator = Literal["in", "not_in", "gte", "gt", "lte", "lt"]
Filters = Mapping[str, Any]

_ORDER: dict[Operator, type[exp.Binary]] = {
    "gte": exp.GTE,
    "gt": exp.GT,
    "lte": exp.LTE,
    "lt": exp.LT,
}
_ORDERED_AS_TEXTS = frozenset({"text", "date", "other"})
_NO_TYPE = '"NULL"'
"""The type of a column of Parquet without any value."""
_WITH_FLOATS = frozenset({"duckdb", "postgres"})
_KNOWN = f"operators: {', '.join(('ne', *_ORDER, 'between'))}"

MAX_VALUES = 1000
"""The largest number of values in all filters of a question."""


@dataclass(frozen=True, slots=True)
class Condition(Record):
    """One condition on one dimension.

    Attributes:
        dimension: The dimension.
        operator: How it is compared.
        values: What it is compared with, in the dimension's type; without any, no row matches.
        side: `a` or `b` if only this side of a comparison has it.
    """

    json_names = "dimension operator values"

    dimension: str
    operator: Operator
    values: tuple[Value, ...]
    side: str = ""


def check_size(filters: Iterable[object]) -> None:
    """Raise `InvalidInputError` if filters hold more than `MAX_VALUES` values."""
    tests = (
        cast("Mapping[object, object]", each).values() if isinstance(each, Mapping) else (each,)
        for each in filters
    )
    values = sum(len(_listed(value)) for test in tests for value in test)
    if values > MAX_VALUES:
        raise InvalidInputError(
            f"the filters hold {values} values; the limit is {MAX_VALUES}, so filter by a range"
            ' such as {"between": [low, high]}, or by another dimension'
        )


def parse_filter(dimension: str, test: object, kind: ColumnType) -> tuple[Condition, ...]:
    """The conditions of one entry of `filters`.

    Raises `InvalidInputError` with the dimension, the value and the fix.
    """
    if not isinstance(test, Mapping):
        return (_membership(dimension, "in", test, kind),)
    operators = cast("Mapping[object, object]", test)
    if not operators:
        raise InvalidInputError(f"filter on {dimension!r}: {{}} has no operator; {_KNOWN}")
    return tuple(_conditions(dimension, operators, kind))


def condition_sql(
    condition: Condition, value: exp.Expr, kind: ColumnType, parameters: sql.BoundValues
) -> exp.Expr:
    """A condition as SQL over the dimension's value, its values bound."""

    def bound(item: Value) -> exp.Expr:
        # Texts are cast for engines that do not infer the type of a parameter.
        placeholder = parameters.bind(item)
        if not isinstance(item, str):
            return placeholder
        if kind.kind in {"text", "other"}:
            return sql.as_text(placeholder)
        return exp.cast(placeholder, kind.sql, dialect="duckdb")  # a time with nanoseconds

    if condition.operator in _ORDER:
        operator = _ORDER[condition.operator]
        return operator(this=value.copy(), expression=bound(condition.values[0]))
    if not condition.values:
        return exp.false()
    present = [bound(item) for item in condition.values if item is not None]
    tests: list[exp.Expr] = []
    if present:
        tests.append(exp.In(this=value.copy(), expressions=present))
    if None in condition.values:
        tests.append(sql.is_null(value))
    elif condition.operator != "in":
        # NOT IN alone drops rows with NULL.
        return exp.Paren(this=sql.any_of([exp.Not(this=tests[0]), sql.is_null(value)]))
    either = exp.Paren(this=sql.any_of(tests))
    return either if condition.operator == "in" else exp.Not(this=either)


def _conditions(
    dimension: str, operators: Mapping[object, object], kind: ColumnType
) -> Iterator[Condition]:
    for operator, value in operators.items():
        if operator == "ne":
            yield _membership(dimension, "not_in", value, kind)
        elif operator == "between":
            yield from _between(dimension, value, kind)
        elif operator in _ORDER:
            yield _order(dimension, operator, value, kind)
        else:
            raise InvalidInputError(
                f"filter on {dimension!r}: unknown operator {quoted(operator)}; {_KNOWN}"
            )


def _membership(dimension: str, operator: Operator, value: object, kind: ColumnType) -> Condition:
    values = _listed(value)
    if not values:
        raise InvalidInputError(
            f"filter on {dimension!r}: an empty list matches no row; omit the filter"
        )
    typed = (None if each is None else coerce(dimension, each, kind) for each in values)
    return Condition(dimension, operator, tuple(dict.fromkeys(typed)))


def _order(dimension: str, operator: Operator, value: object, kind: ColumnType) -> Condition:
    if value is None or kind.kind == "boolean":
        raise InvalidInputError(
            f"filter on {dimension!r}: {quoted(value)} has no order for {operator!r}"
        )
    if kind.kind == "other":
        raise InvalidInputError(
            f"filter on {dimension!r}: filters do not order {kind.sql}; test whether there is a"
            f" value (null){', or state values' if is_comparable(kind) else ''}"
        )
    return Condition(dimension, operator, (coerce(dimension, value, kind),))


def _between(dimension: str, value: object, kind: ColumnType) -> Iterator[Condition]:
    bounds = _listed(value)
    if len(bounds) != 2:  # noqa: PLR2004 - a range has two ends
        raise InvalidInputError(f"filter on {dimension!r}: 'between' needs [low, high]")
    low = _order(dimension, "gte", bounds[0], kind)
    high = _order(dimension, "lte", bounds[1], kind)
    if cast("Any", low.values[0]) > cast("Any", high.values[0]):
        raise InvalidInputError(
            f"filter on {dimension!r}: 'between' goes from low to high, not {quoted(bounds[0])} to"
            f" {quoted(bounds[1])}"
        )
    yield from (low, high)


def _listed(value: object) -> list[object]:
    """The values of a list; any other value alone."""
    is_list = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    return list(cast("Sequence[object]", value)) if is_list else [value]


def conditions(source: BoundSource, filters: Filters | None) -> tuple[Condition, ...]:
    """The filters as typed conditions on the source's dimensions.

    Raises `InvalidInputError` for a value of the wrong type, too many values, or a filter on a
    measure, and `UnknownNameError` for an undeclared dimension.
    """
    check_size((filters or {}).values())
    parsed: list[Condition] = []
    for name, test in (filters or {}).items():
        if name in source.definition.measures:
            raise InvalidInputError(
                f"filter on {name!r}: it is a measure of {source.name}; filters take dimensions"
            )
        kind = _term(source, name, sql.BoundValues()).type
        parsed.extend(parse_filter(name, test, kind))
    return tuple(parsed)


async def check_order(*sides: tuple[BoundSource, Sequence[Condition]]) -> None:
    """Check that no column which a filter orders is a text on one side only: texts sort otherwise.

    Raises `InvalidInputError` with the texts that the column holds, and the fix.
    """
    shared = ([each for each in where if not each.side] for _, where in sides)
    for pair in zip(*shared, strict=False):
        if pair[0].operator not in _ORDER:
            continue
        sources = [source for source, _ in sides]
        terms = [
            _term(source, each.dimension, sql.BoundValues())
            for source, each in zip(sources, pair, strict=True)
        ]
        kinds = [term.type.kind for term in terms]
        if "text" not in kinds or _ORDERED_AS_TEXTS.issuperset(kinds):
            continue
        text = kinds.index("text")
        source, value, other = sources[text], terms[text].value, terms[1 - text].type
        if not await is_empty(source, value):
            holds = await what_text_holds(source, value, other.kind)
            name = pair[0].dimension
            raise InvalidInputError(
                f"filter on {name!r}: it is {other.sql} in {sources[1 - text].name},"
                f" and a text in {source.name}, which has another order"
                f"{f'; {source.name} holds {holds}' if holds else ''}; state its type as a"
                " dimension of a declared source, or, of whole rows, one filter for each side:"
                f" a.{name} and b.{name}"
            )


def by_side(filters: Filters, columns: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The filters of both sides (under an empty name), of `a` and of `b`.

    The name of a column of either side has precedence.
    """
    known = {column.casefold() for column in columns}
    sides: dict[str, dict[str, Any]] = {"": {}, "a": {}, "b": {}}
    for name, test in filters.items():
        side, _, column = name.partition(".")
        is_own = side in {"a", "b"} and column and name.casefold() not in known
        sides[side if is_own else ""][column if is_own else name] = test
    return sides


def filtered_side(
    source: BoundSource, shared: Filters, own: Filters, side: str
) -> tuple[BoundSource, tuple[Condition, ...]]:
    """A side of a comparison with the columns of its filters, and their conditions.

    The `shared` filters of both sides have this source's names; `own` are those of this side, `a`
    or `b`, alone. Raises as `conditions`, and `UnknownNameError` for a name without a column.
    """
    source = source.with_columns([*shared, *own])
    known = source.definition.dimensions
    for name in (*shared, *own):
        if name not in known:
            source.table.check_readable(name)
            raise UnknownNameError("column", name, {**known, **source.columns}, source.name)
    mine = (replace(each, side=side) for each in conditions(source, own))
    return source, (*conditions(source, shared), *mine)


def stated(a: Iterable[Condition], b: Iterable[Condition]) -> tuple[Condition, ...]:
    """The conditions of two sides for a reader; those of one side are named `a.name`."""
    listed = (*a, *(each for each in b if each.side))
    return tuple(
        replace(each, dimension=f"{each.side}.{each.dimension}") if each.side else each
        for each in listed
    )


def filtered_rows(
    source: BoundSource,
    values: Mapping[str, exp.Expr],
    where: Sequence[Condition],
    parameters: sql.BoundValues,
) -> exp.Select:
    """`SELECT value AS "name", … FROM source WHERE conditions`."""
    columns = [sql.named(value.copy(), name) for name, value in values.items()]
    select = source.rows(exp.Select(expressions=columns or [exp.Literal.number(1)]))
    tests: list[exp.Expr] = []
    for condition in where:
        term = _term(source, condition.dimension, parameters)
        tests.append(condition_sql(condition, term.value, term.type, parameters))
    return select.where(sql.all_of(tests), copy=False) if tests else select


def _term(source: BoundSource, name: str, parameters: sql.BoundValues) -> Term:
    """The value that a filter tests, also of a column whose type no dimension has.

    The database compares numbers without a limit and floats with the filter exactly, NaN and
    infinities included, and UUIDs and times of day as texts. Of other such types, a filter only
    tests whether there is a value.
    """
    definition = source.definition.dimensions.get(name)
    column = None if definition is None else source.column_of(definition.column)
    if definition is None or column is None:
        return source.dimension(name, parameters)
    if definition.type or definition.normalise or definition.values:
        return source.dimension(name, parameters)
    dialect = source.connector.dialect
    kind, value = source.columns[column], sql.column(column, "source")
    if kind.sql == UNSCALED:
        return Term(name, value, ColumnType("decimal", UNSCALED))
    if kind.kind == "float":
        return Term(name, value, kind if dialect in _WITH_FLOATS else ColumnType("other", kind.sql))
    if kind.kind != "other" or kind.sql == _NO_TYPE:
        return source.dimension(name, parameters)
    # MySQL itself compares such values with texts.
    is_text = is_comparable(kind) and dialect != "mysql"
    return Term(name, sql.as_text(value) if is_text else value, kind)
