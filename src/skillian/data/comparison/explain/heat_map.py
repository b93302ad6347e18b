"""The gap of one measure over the members of two dimensions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlglot import exp

from skillian.connectors.base import Kind
from skillian.connectors.duckdb.workspace import Workspace
from skillian.data import sql
from skillian.data.comparison.page import position
from skillian.data.comparison.plan import ComparisonPlan
from skillian.data.sql import prepare
from skillian.data.sql.values import Record, python_rows, python_value
from skillian.errors import InvalidInputError

SIDE = 40
_AXES = ("row", "column")


@dataclass(frozen=True, slots=True)
class HeatMapCell(Record):
    """The sums over the groups of one row and one column; `groups` counts those that do not match.

    A cell with 0 groups has only groups that match. `row` and `column` are indexes of the members
    of the map.
    """

    row: int
    column: int
    net: Decimal
    gross: Decimal
    groups: int


@dataclass(frozen=True, slots=True)
class HeatMap(Record):
    """The gap by two dimensions, with the members of the largest gross gap in their order.

    Where all members fit, those without a difference are among them. `more_rows` and `more_columns`
    count the members with a difference that are not on the map. Without differences there are no
    cells.
    """

    measure: str
    unit: str | None
    dimensions: tuple[str, str]
    rows: tuple[object, ...]
    columns: tuple[object, ...]
    cells: tuple[HeatMapCell, ...]
    more_rows: int
    more_columns: int


async def read_heat_map(
    table: str,
    workspace: Workspace,
    plan: ComparisonPlan,
    dimensions: tuple[str, str],
    measure: str,
    *,
    equal: Sequence[Mapping[str, object]],
) -> HeatMap:
    """The map of the groups in `table` (of `Differences`), and of the keys of `equal` groups.

    Raises `UnknownNameError` for a name that is not in the comparison, and `InvalidInputError` for
    the same dimension twice.
    """
    if dimensions[0] == dimensions[1]:
        raise InvalidInputError("a heat map needs two different dimensions")
    keys = [position("dimension", name, plan.align_on) for name in dimensions]
    index = position("measure", measure, [each.name for each in plan.measures])
    statement = prepare(_statement(table, plan, keys, index), workspace.dialect, {})
    cells = python_rows(await workspace.run(statement.text, statement.parameters))
    rows, columns = (
        _Axis.read(
            axis,
            cells,
            plan.a.keys[key].type.kind,
            [each[name] for each in equal] if cells else (),
        )
        for axis, key, name in zip(_AXES, keys, dimensions, strict=True)
    )
    different = {(rows.place(cell["row"]), columns.place(cell["column"])) for cell in cells}
    matching = {
        (rows.places.get(each[dimensions[0]]), columns.places.get(each[dimensions[1]]))
        for each in equal
    }
    return HeatMap(
        measure=measure,
        unit=plan.measures[index].unit,
        dimensions=dimensions,
        rows=rows.members,
        columns=columns.members,
        cells=tuple(
            HeatMapCell(
                row=rows.place(row["row"]),
                column=columns.place(row["column"]),
                net=row["net"] or Decimal(0),
                gross=row["gross"] or Decimal(0),
                groups=int(row["groups"]),
            )
            for row in cells
        )
        + tuple(
            HeatMapCell(row, column, Decimal(0), Decimal(0), 0)
            for row, column in sorted(matching - different, key=str)
            if row is not None and column is not None
        ),
        more_rows=rows.more,
        more_columns=columns.more,
    )


@dataclass(frozen=True, slots=True)
class _Axis:
    """The members of one dimension on the map, and the number of others."""

    kind: Kind
    members: tuple[object, ...]
    places: Mapping[object, int]
    more: int

    @classmethod
    def read(
        cls,
        name: str,
        cells: Sequence[Mapping[str, Any]],
        kind: Kind,
        matching: Iterable[object],
    ) -> "_Axis":
        known = {python_value(row[name], kind) for row in cells}
        total = int(cells[0][f"{name}_members"]) if cells else 0
        every = known.union(matching)
        members = sorted(every if len(every) <= SIDE else known, key=_none_last)
        places = {member: place for place, member in enumerate(members)}
        return cls(kind, tuple(members), places, total - len(known))

    def place(self, value: object) -> int:
        return self.places[python_value(value, self.kind)]


def _none_last(value: Any) -> tuple[bool, Any]:
    return (value is None, 0 if value is None else value)


def _statement(table: str, plan: ComparisonPlan, keys: Sequence[int], index: int) -> exp.Select:
    """The cells of the `SIDE` largest members of each axis."""
    cells = _cells(table, plan, keys, index).subquery(sql.name("cells"), copy=False)
    weighed = exp.Select(expressions=[exp.Star()])
    for axis in _AXES:
        weight = exp.Window(this=exp.Sum(this=sql.bare("gross")), partition_by=[sql.bare(axis)])
        weighed.select(sql.named(weight, f"{axis}_gross"), copy=False)
    weighed.from_(cells, copy=False)
    ranked = exp.Select(expressions=[exp.Star()])
    for axis in _AXES:
        ranked.select(sql.named(_rank(axis), f"{axis}_rank"), copy=False)
    ranked.from_(weighed.subquery(sql.name("weighed"), copy=False), copy=False)
    counted = exp.Select(expressions=[exp.Star()])
    for axis in _AXES:
        largest = exp.Window(this=exp.Max(this=sql.bare(f"{axis}_rank")))
        counted.select(sql.named(largest, f"{axis}_members"), copy=False)
    counted.from_(ranked.subquery(sql.name("ranked"), copy=False), copy=False)
    few = sql.all_of(
        exp.LTE(this=sql.bare(f"{axis}_rank"), expression=exp.Literal.number(SIDE))
        for axis in _AXES
    )
    select = exp.Select(expressions=[exp.Star()])
    select.from_(counted.subquery(sql.name("counted"), copy=False), copy=False)
    return select.where(few, copy=False)


def _cells(table: str, plan: ComparisonPlan, keys: Sequence[int], index: int) -> exp.Select:
    columns = [sql.bare(f"key_{key}") for key in keys]
    gap, scale = sql.bare(f"gap_{index}"), plan.measures[index].scale
    gross = exp.Sum(this=exp.Abs(this=gap.copy()))
    other = sql.negated(sql.is_text(sql.bare(f"status_{index}"), "match"))
    counted = exp.case().when(other, sql.one(), copy=False)
    select = exp.Select(
        expressions=[
            *(sql.named(column, axis) for column, axis in zip(columns, _AXES, strict=True)),
            sql.named(sql.decimal(exp.Sum(this=gap), scale), "net"),
            sql.named(sql.decimal(gross, scale), "gross"),
            sql.named(exp.Count(this=counted), "groups"),
        ]
    )
    select.from_(sql.table(table), copy=False)
    select.where(_has_difference(len(plan.measures)), copy=False)
    return select.group_by(*(column.copy() for column in columns), copy=False)


def _has_difference(measures: int) -> exp.Expr:
    """The test for groups that differ in more than their number of rows."""
    gaps = [sql.negated(sql.equals(sql.bare(f"gap_{each}"), 0)) for each in range(measures)]
    return sql.any_of([sql.negated(sql.is_text(sql.bare("status"), "match")), *gaps])


def _rank(axis: str) -> exp.Expr:
    order: list[exp.Expr] = [
        exp.Ordered(this=sql.bare(f"{axis}_gross"), desc=True),
        exp.Ordered(this=sql.bare(axis), nulls_first=False),
    ]
    return exp.Window(this=exp.DenseRank(), order=exp.Order(expressions=order))
