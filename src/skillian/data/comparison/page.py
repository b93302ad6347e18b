"""A page of a comparison's groups: which classes and values, and in which order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict
from sqlglot import exp

from skillian.connectors.base import ColumnType
from skillian.data import sql
from skillian.data.comparison.plan import ComparisonPlan
from skillian.data.comparison.results import STATUSES, Status
from skillian.data.comparison.statement import key_columns, largest_first
from skillian.data.query.filters import check_size, condition_sql, parse_filter
from skillian.data.sql.values import MAX_TEXT
from skillian.errors import InvalidInputError, UnknownNameError

Column = Literal["key", "a", "b", "gap", "size", "status", "rows_a", "rows_b"]
"""A column of the groups: `size` is |b - a|; `key` refers to a dimension, amounts to a measure."""

_OF_MEASURE = ("a", "b", "gap", "size")
_COUNT = ColumnType("integer", "BIGINT")
_CONTAINS = "contains"


class _ColumnChoice(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    column: Column
    of: str = ""


class Order(_ColumnChoice):
    """Order by a column; groups without a value in it are last."""

    descending: bool = False


class ColumnFilter(_ColumnChoice):
    """The condition for a column's value, in the filter language.

    A key may also be filtered by `{"contains": text}`, which ignores case.
    """

    filter: Any


@dataclass(frozen=True, slots=True)
class Page:
    """A selection of groups; without an order the largest difference is first.

    A limit of None means all of them.
    """

    statuses: tuple[Status, ...]
    offset: int = 0
    limit: int | None = None
    order: Order | None = None
    where: tuple[ColumnFilter, ...] = ()

    def of(
        self, select: exp.Select, plan: ComparisonPlan, parameters: sql.BoundValues
    ) -> exp.Select:
        """Restrict a SELECT of all groups to this page; the values of its conditions are bound.

        Raises `InvalidInputError` or `UnknownNameError` for an invalid order or condition.
        """
        check_size(test.filter for test in self.where)
        conditions = [sql.any_of(sql.is_text(sql.bare("status"), each) for each in self.statuses)]
        conditions += [_tested(test, plan, parameters) for test in self.where]
        select.where(*conditions, copy=False).order_by(*_ordered(self.order, plan), copy=False)
        if self.limit is not None:
            select.limit(self.limit, copy=False).offset(self.offset, copy=False)
        return select

    def counted(
        self, select: exp.Select, plan: ComparisonPlan, parameters: sql.BoundValues
    ) -> exp.Select:
        """The SELECT that counts the groups on all pages of this kind; raises as `of`."""
        everything = replace(self, offset=0, limit=None).of(select, plan, parameters)
        everything.set("order", None)
        everything.set("expressions", [sql.named(exp.Count(this=exp.Star()), "total")])
        return everything


def _ordered(order: Order | None, plan: ComparisonPlan) -> list[exp.Expr]:
    if order is None:
        return largest_first(plan, 0)
    value = _rank() if order.column == "status" else _value(order, plan)
    first = exp.Ordered(this=value, desc=order.descending, nulls_first=False)
    return [first, *(exp.Ordered(this=key, nulls_first=False) for key in key_columns(plan))]


def _rank() -> exp.Expr:
    case = exp.case()
    for number, status in enumerate(STATUSES):
        test = sql.is_text(sql.bare("status"), status)
        case = case.when(test, exp.Literal.number(number), copy=False)
    return case


def _value(choice: _ColumnChoice, plan: ComparisonPlan) -> exp.Expr:
    if choice.column == "key":
        return key_columns(plan)[_key(choice, plan)]
    if choice.column not in _OF_MEASURE:
        return sql.bare(choice.column)
    index = position("measure", choice.of, [measure.name for measure in plan.measures])
    if choice.column == "size":
        return exp.Abs(this=sql.bare(f"gap_{index}"))
    return sql.bare(f"{choice.column}_{index}")


def _key(choice: _ColumnChoice, plan: ComparisonPlan) -> int:
    return position("dimension", choice.of, plan.align_on)


def position(kind: str, name: str, names: Sequence[str]) -> int:
    """The index of a name; raises `UnknownNameError`."""
    if name not in names:
        raise UnknownNameError(kind, name, names, "this comparison")
    return names.index(name)


def _tested(test: ColumnFilter, plan: ComparisonPlan, parameters: sql.BoundValues) -> exp.Expr:
    value = _value(test, plan)
    if test.column == "status":
        raise InvalidInputError("use `status`, not a filter, to select classes")
    if test.column == "key":
        part = _contained(test.filter)
        if part is not None:
            if len(part) > MAX_TEXT:
                raise InvalidInputError(f"'contains' takes at most {MAX_TEXT} characters")
            lowered = exp.Lower(this=exp.cast(value, "TEXT"))
            text = exp.Lower(this=exp.cast(parameters.bind(part), "TEXT"))
            return exp.GT(this=exp.StrPosition(this=lowered, substr=text), expression=sql.zero())
        name, kind = test.of, plan.a.keys[_key(test, plan)].type
    elif test.column in _OF_MEASURE:
        name, kind = f"{test.column} of {test.of}", ColumnType("decimal", "DECIMAL")
    else:
        name, kind = test.column, _COUNT
    conditions = parse_filter(name, test.filter, kind)
    return sql.all_of(condition_sql(each, value, kind, parameters) for each in conditions)


def _contained(test: object) -> str | None:
    """The text of `{"contains": text}`; None for other filters."""
    if not isinstance(test, Mapping):
        return None
    operators = cast("Mapping[object, object]", test)
    part = operators.get(_CONTAINS)
    return part if isinstance(part, str) and len(operators) == 1 else None
