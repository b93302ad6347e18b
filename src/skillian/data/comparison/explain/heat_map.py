"""The gap of one measure over the members of two dimensions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from skillian.connectors.base import Kind
from skillian.connectors.duckdb.engine import Workspace, stored_type
from skillian.data.comparison.page import position
from skillian.data.comparison.plan import ComparisonPlan
from skillian.data.sql.values import Record, none_last, python_rows, python_value
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
    """The map of the groups that differ in `table`, and of the keys of `equal` groups.

    Raises `UnknownNameError` for a name that is not in the comparison, and `InvalidInputError` for
    the same dimension twice.
    """
    if dimensions[0] == dimensions[1]:
        raise InvalidInputError("a heat map needs two different dimensions")
    keys = [position("dimension", name, plan.align_on) for name in dimensions]
    index = position("measure", measure, [each.name for each in plan.measures])
    cells = python_rows(await workspace.run(_statement(table, plan, keys, index), {}))
    rows, columns = (
        _Axis.read(
            axis, cells, plan.a.keys[key].type.kind, [each[name] for each in equal] if cells else ()
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
        cls, name: str, cells: Sequence[Mapping[str, Any]], kind: Kind, matching: Iterable[object]
    ) -> "_Axis":
        known = {python_value(row[name], kind) for row in cells}
        total = int(cells[0][f"{name}_members"]) if cells else 0
        every = known.union(matching)
        members = sorted(every if len(every) <= SIDE else known, key=none_last)
        places = {member: place for place, member in enumerate(members)}
        return cls(kind, tuple(members), places, total - len(known))

    def place(self, value: object) -> int:
        return self.places[python_value(value, self.kind)]


def _statement(table: str, plan: ComparisonPlan, keys: Sequence[int], index: int) -> str:
    """The cells of the `SIDE` largest members of each axis."""
    number = stored_type("decimal", plan.measures[index].scale)
    gaps = (f"gap_{each} <> 0" for each in range(len(plan.measures)))
    columns = {axis: f"key_{key}" for axis, key in zip(_AXES, keys, strict=True)}
    named = (f'{key} AS "{axis}"' for axis, key in columns.items())
    weights = (f'SUM(gross) OVER (PARTITION BY "{axis}") AS {axis}_gross' for axis in _AXES)
    ranks = (
        f'DENSE_RANK() OVER (ORDER BY {axis}_gross DESC, "{axis}" NULLS LAST) AS {axis}_rank'
        for axis in _AXES
    )
    members = (f"MAX({axis}_rank) OVER () AS {axis}_members" for axis in _AXES)
    few = (f"{axis}_rank <= {SIDE}" for axis in _AXES)
    return f"""
WITH cells AS (
    SELECT {", ".join(named)},
        CAST(SUM(gap_{index}) AS {number}) AS net, CAST(SUM(ABS(gap_{index})) AS {number}) AS gross,
        COUNT(CASE WHEN status_{index} <> 'match' THEN 1 END) AS "groups"
    FROM "{table}" WHERE {" OR ".join(["status <> 'match'", *gaps])}
    GROUP BY {", ".join(columns.values())}
), weighed AS (SELECT *, {", ".join(weights)} FROM cells),
ranked AS (SELECT *, {", ".join(ranks)} FROM weighed),
counted AS (SELECT *, {", ".join(members)} FROM ranked)
SELECT * FROM counted WHERE {" AND ".join(few)}
"""  # noqa: S608 - our own names
