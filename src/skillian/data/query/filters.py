"""The filter language: which rows take part, as typed conditions on dimensions.

value                                   equal to it
[value, …]                              one of them; null among them is meant too
null                                    no value
{"ne": value | null | [value, …]}       the opposite of the above; keeps rows without a value
{"gte" | "gt" | "lte" | "lt": value}    in order; several may be given, all must hold
{"between": [low, high]}                from low to high, both included
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from sqlglot import exp

from skillian.connectors.base import ColumnType
from skillian.data import sql
from skillian.data.query.binding import BoundSource
from skillian.data.sql.values import Value, coerce, jsonable
from skillian.errors import InvalidInputError, quoted

Operator = Literal["in", "not_in", "gte", "gt", "lte", "lt"]
Filters = Mapping[str, Any]

_ORDER: dict[Operator, type[exp.Binary]] = {
    "gte": exp.GTE,
    "gt": exp.GT,
    "lte": exp.LTE,
    "lt": exp.LT,
}
_OPERATORS = ("ne", *_ORDER, "between")

MAX_VALUES = 1000
"""How many values all filters of a question may hold together."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition on one dimension; `values` have the dimension's type."""

    dimension: str
    operator: Operator
    values: tuple[Value, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the condition as it was understood, for JSON."""
        values = [jsonable(value) for value in self.values]
        return {"dimension": self.dimension, "operator": self.operator, "values": values}


def written_filter(operator: str, text: str) -> object:
    """Return the filter that a person wrote as an operator and a text.

    `in` and `not_in` take values with commas between them, `between` two with `..`; `empty` and
    `not_empty` take nothing, the others one value. Raises `InvalidInputError` for no such operator.
    """
    values = [part.strip() for part in text.split(",") if part.strip()]
    if operator in {"empty", "not_empty"}:
        return None if operator == "empty" else {"ne": None}
    if operator == "in":
        return values
    if operator == "not_in":
        return {"ne": values}
    if operator == "between":
        return {"between": [part.strip() for part in text.split("..")]}
    if operator in _ORDER:
        return {operator: text.strip()}
    raise InvalidInputError(f"no operator {quoted(operator)}")


def check_size(filters: Iterable[object]) -> None:
    """Raise `InvalidInputError` where filters hold more than `MAX_VALUES` values."""
    values = sum(map(_size, filters))
    if values > MAX_VALUES:
        raise InvalidInputError(
            f"the filters hold {values} values; {MAX_VALUES} are the limit, so filter by a range"
            ' such as {"between": [low, high]}, or by another dimension'
        )


def _size(given: object) -> int:
    if isinstance(given, Mapping):
        return sum(map(_length, cast("Mapping[object, object]", given).values()))
    return _length(given)


def _length(given: object) -> int:
    return len(_list(given)) if _is_list(given) else 1


def parse_filter(dimension: str, given: object, kind: ColumnType) -> tuple[Condition, ...]:
    """Return the conditions that one entry of `filters` stands for.

    Raises `InvalidInputError` naming the dimension, the value and what would be right.
    """
    if not isinstance(given, Mapping):
        return (_membership(dimension, "in", given, kind),)
    operators = cast("Mapping[object, object]", given)
    if not operators:
        raise InvalidInputError(f"filter on {dimension!r}: {{}} names no operator; {_known()}")
    return tuple(_conditions(dimension, operators, kind))


def condition_sql(
    condition: Condition, value: exp.Expr, kind: ColumnType, parameters: sql.Parameters
) -> exp.Expr:
    """Return a condition as SQL over the dimension's value, its values bound."""

    def bound(item: Value) -> exp.Expr:
        # Texts are typed for engines that do not guess a parameter's type.
        placeholder = parameters.bind(item)
        return sql.as_text(placeholder) if kind.kind == "text" else placeholder

    if condition.operator in _ORDER:
        operator = _ORDER[condition.operator]
        return operator(this=value.copy(), expression=bound(condition.values[0]))
    present = [item for item in condition.values if item is not None]
    tests: list[exp.Expr] = []
    if present:
        tests.append(exp.In(this=value.copy(), expressions=[bound(item) for item in present]))
    if len(present) < len(condition.values):
        tests.append(exp.Is(this=value.copy(), expression=exp.Null()))
    if condition.operator == "in":
        return exp.Paren(this=sql.any_of(tests))
    if len(present) == len(condition.values):
        # NOT IN alone drops the rows without a value.
        missing = exp.Is(this=value.copy(), expression=exp.Null())
        return exp.Paren(this=sql.any_of([exp.Not(this=tests[0]), missing]))
    return exp.Not(this=exp.Paren(this=sql.any_of(tests)))


def _conditions(
    dimension: str, given: Mapping[object, object], kind: ColumnType
) -> Iterator[Condition]:
    for operator, value in given.items():
        if operator == "ne":
            yield _membership(dimension, "not_in", value, kind)
        elif operator == "between":
            yield from _between(dimension, value, kind)
        elif operator in _ORDER:
            yield _order(dimension, operator, value, kind)
        else:
            raise InvalidInputError(
                f"filter on {dimension!r}: no operator {quoted(operator)}; {_known()}"
            )


def _membership(dimension: str, operator: Operator, given: object, kind: ColumnType) -> Condition:
    values = _list(given) if _is_list(given) else [given]
    if not values:
        raise InvalidInputError(
            f"filter on {dimension!r}: an empty list keeps no row; leave it out"
        )
    typed = (None if value is None else coerce(dimension, value, kind) for value in values)
    return Condition(dimension, operator, tuple(dict.fromkeys(typed)))


def _order(dimension: str, operator: Operator, given: object, kind: ColumnType) -> Condition:
    if given is None or kind.kind == "boolean":
        raise InvalidInputError(
            f"filter on {dimension!r}: {quoted(given)} has no order for {operator!r}"
        )
    return Condition(dimension, operator, (coerce(dimension, given, kind),))


def _between(dimension: str, given: object, kind: ColumnType) -> Iterator[Condition]:
    bounds = _list(given) if _is_list(given) else []
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


def _is_list(given: object) -> bool:
    return isinstance(given, Sequence) and not isinstance(given, str | bytes)


def _list(given: object) -> list[object]:
    return list(cast("Sequence[object]", given))


def _known() -> str:
    return f"operators: {', '.join(_OPERATORS)}"


def conditions(source: BoundSource, filters: Filters | None) -> tuple[Condition, ...]:
    """Return the filters as typed conditions on the source's dimensions.

    Raises `InvalidInputError` for a value that does not fit, too many values, or a filter on a
    measure, and `UnknownNameError` for a dimension that is not declared.
    """
    check_size((filters or {}).values())
    found: list[Condition] = []
    for name, given in (filters or {}).items():
        if name in source.definition.measures:
            raise InvalidInputError(
                f"filter on {name!r}: it is a measure of {source.name}; filters take dimensions"
            )
        kind = source.dimension(name, sql.Parameters()).type
        found.extend(parse_filter(name, given, kind))
    return tuple(found)


def filtered_rows(
    source: BoundSource,
    values: Mapping[str, exp.Expr],
    where: Sequence[Condition],
    parameters: sql.Parameters,
) -> exp.Select:
    """Return `SELECT value AS "name", … FROM source WHERE conditions`."""
    columns = [sql.named(value.copy(), name) for name, value in values.items()]
    select = source.rows(exp.Select(expressions=columns or [exp.Literal.number(1)]))
    tests: list[exp.Expr] = []
    for condition in where:
        term = source.dimension(condition.dimension, parameters)
        tests.append(condition_sql(condition, term.value, term.type, parameters))
    return select.where(sql.all_of(tests), copy=False) if tests else select
