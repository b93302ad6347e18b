"""The rows behind one group, each next to its counterpart, and the cells that differ."""

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations

from sqlglot import exp

from skillian.data import sql
from skillian.data.comparison.plan import ComparisonPlan, Side, common_columns
from skillian.data.comparison.rows import conditions_of, typed_key
from skillian.data.query.binding import BoundSource
from skillian.data.query.engine import stored_value
from skillian.data.query.filters import filtered_rows
from skillian.data.results.groups import EXACT
from skillian.data.schema.diff import pair_columns
from skillian.data.sql import prepare
from skillian.data.sql.values import jsonable, python_rows
from skillian.tasks import together

_ADDITIVE = ("sum", "avg", "min", "max")
_SCORED = 30
"""The number of columns by which the likeness of two rows is judged."""
_KEY_COLUMNS = 2

Row = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class PairedRow:
    """A row of a next to its counterpart in b.

    Attributes:
        a: The values of a: those of the common columns, then those that only a has; None
            without a counterpart in a.
        b: The same for b.
        differing: The positions of the common columns whose values differ.
    """

    a: Row | None
    b: Row | None
    differing: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PairedRows:
    """The rows of one group in both sources.

    Attributes:
        columns: The columns that both sides have: dimensions and measures by their declared names.
        only_a: The columns that only a has.
        only_b: The same for b.
        rows: Those that differ first, then those without a counterpart, then equal ones.
        matched_by: The columns that identify a row; empty if rows were matched by likeness.
        rows_a: The number of rows that were read of a.
        rows_b: The same for b.
        is_truncated: Whether a side has more rows than were read.
        statements: The SQL of a and of b.
    """

    key: Mapping[str, object]
    source_a: str
    source_b: str
    columns: tuple[str, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    rows: tuple[PairedRow, ...]
    matched_by: tuple[str, ...]
    rows_a: int
    rows_b: int
    is_truncated: bool
    statements: tuple[str, str]


async def paired_rows(plan: ComparisonPlan, key: Mapping[str, object], limit: int) -> PairedRows:
    """At most `limit` rows of each side; raises as `drill_down` does."""
    typed = typed_key(plan, key)
    columns = _common_columns(plan)
    a, b = await together(
        _side_rows(plan.a, typed, [(each.a, each.term) for each in columns], limit),
        _side_rows(plan.b, typed, [(each.b, each.term) for each in columns], limit),
    )
    keys = [index for index, each in enumerate(columns) if each.may_identify]
    pairs, by = await asyncio.to_thread(match_rows, a.compared, b.compared, keys)
    rows = tuple(
        PairedRow(
            None if pair.a is None else a.shown[pair.a],
            None if pair.b is None else b.shown[pair.b],
            pair.differing,
        )
        for pair in pairs
    )
    return PairedRows(
        key=typed,
        source_a=plan.a.source.name,
        source_b=plan.b.source.name,
        columns=tuple(each.name for each in columns),
        only_a=a.others,
        only_b=b.others,
        rows=rows,
        matched_by=tuple(columns[index].name for index in by),
        rows_a=len(a.shown),
        rows_b=len(b.shown),
        is_truncated=a.is_truncated or b.is_truncated,
        statements=(a.sql, b.sql),
    )


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of both sides.

    Attributes:
        term: The dimension or measure; None for columns that are paired by their names.
        a: The column of a that is shown; None for a measure with an expression.
        b: The same for b.
    """

    name: str
    term: str | None
    a: str | None
    b: str | None
    may_identify: bool = True


def _common_columns(plan: ComparisonPlan) -> list[_Column]:
    """The dimensions and measures of both sources, and other columns with the same name.

    The dimensions of the group are left out, because they are equal in all of its rows.
    """
    a, b = plan.a.source, plan.b.source
    columns = [
        _Column(name, name, one, other, may_identify=aggregation not in _ADDITIVE)
        for name, one, other, aggregation in common_columns(a, b)
        if name not in plan.align_on
    ]
    used_a = {*(each.a for each in columns), *_grouped(a, plan.align_on)}
    used_b = {*(each.b for each in columns), *_grouped(b, plan.align_on)}
    rest = pair_columns(
        [name for name in a.columns if name not in used_a],
        [name for name in b.columns if name not in used_b],
    )
    return [*columns, *(_Column(one, None, one, other) for one, other in rest.items())]


def _grouped(source: BoundSource, align_on: Iterable[str]) -> set[str | None]:
    """The columns of a source that are equal in all rows of a group."""
    dimensions = source.definition.dimensions
    return {source.column_of(dimensions[name].column) for name in align_on}


@dataclass(frozen=True, slots=True)
class _SideRows:
    """The rows of one side: their common columns as compared, and all columns as shown."""

    compared: list[tuple[str | None, ...]]
    shown: list[Row]
    others: tuple[str, ...]
    is_truncated: bool
    sql: str


async def _side_rows(
    side: Side,
    key: Mapping[str, object],
    columns: Sequence[tuple[str | None, str | None]],
    limit: int,
) -> _SideRows:
    """Read one side; `columns` are the shown column and the logical name of each common column."""
    source = side.source
    measured = [name for _, name in columns if name and name not in source.definition.dimensions]
    types = {term.name: term for term in await source.measures(measured)}
    parameters = sql.BoundValues()
    # Numbered, since names may repeat and a database may cut long ones.
    values: dict[str, exp.Expr] = {}
    for index, (column, name) in enumerate(columns):
        if name is not None:
            term = types.get(name) or source.dimension(name, parameters)
            # As text, if Python has no exact value for its type.
            is_exact = term.type.kind not in {"float", "other"}
            values[f"t{index}"] = term.value if is_exact else sql.as_text(term.value)
        if column is not None:
            values[f"c{index}"] = stored_value(column, source.columns[column])
    shown = {column for column, _ in columns}
    grouped = _grouped(source, key)
    others = [name for name in source.columns if name not in shown and name not in grouped]
    for index, name in enumerate(others):
        values[f"o{index}"] = stored_value(name, source.columns[name])
    select = filtered_rows(source, values, conditions_of(side, key), parameters)
    order = [exp.Ordered(this=sql.bare(name), nulls_first=False) for name in values]
    select = select.order_by(*order, copy=False).limit(limit + 1, copy=False)
    statement = prepare(select, source.connector.dialect, parameters.values)
    read = python_rows(await source.connector.run(statement.text, statement.parameters))
    rows = read[:limit]
    at = [
        (f"t{index}" if name is not None else f"c{index}", f"c{index}" if column else f"t{index}")
        for index, (column, name) in enumerate(columns)
    ]
    return _SideRows(
        compared=[tuple(_canonical(row[compared]) for compared, _ in at) for row in rows],
        shown=[
            (*(row[show] for _, show in at), *(row[f"o{index}"] for index in range(len(others))))
            for row in rows
        ],
        others=tuple(others),
        is_truncated=len(read) > limit,
        sql=statement.text,
    )


def _canonical(value: object) -> str | None:
    """A text that is the same for equal values, whatever the type of their column."""
    if isinstance(value, Decimal) and value.is_finite():
        return f"{value.normalize(EXACT):f}" if value else "0"
    return None if value is None else str(jsonable(value))


@dataclass(frozen=True, slots=True)
class Match:
    """The positions of two rows, or of one without a counterpart, and of the cells that differ."""

    a: int | None
    b: int | None
    differing: tuple[int, ...] = ()


Cells = tuple[str | None, ...]


def match_rows(
    a: Sequence[Cells], b: Sequence[Cells], identifying: Sequence[int]
) -> tuple[list[Match], tuple[int, ...]]:
    """Match rows by a key if a column, or a pair of columns, is one, and otherwise by likeness.

    Equal rows are always a match. By likeness, two rows match if more than half of their cells are
    equal, the most alike first; a rare value counts more than a frequent one. `identifying` are the
    positions of the columns that may be a key.

    Returns:
        The matches: those that differ, those without a counterpart, and equal ones. Then the
        positions of the key's columns.
    """
    equal = list(_equal_rows(a, b))
    rest_a = _without(range(len(a)), {one for one, _ in equal})
    rest_b = _without(range(len(b)), {other for _, other in equal})
    by = _key(a, b, identifying)
    if by:
        one, other = _keys(a, by), _keys(b, by)
        alike = {(one[key], other[key]) for key in one.keys() & other.keys()}
        unequal = sorted(alike - set(equal))
    else:
        unequal = sorted(_by_likeness(a, b, rest_a, rest_b))
    lone_a = _without(rest_a, {one for one, _ in unequal})
    lone_b = _without(rest_b, {other for _, other in unequal})
    return [
        *(Match(one, other, _differing(a[one], b[other])) for one, other in unequal),
        *(Match(one, None) for one in lone_a),
        *(Match(None, other) for other in lone_b),
        *(Match(one, other) for one, other in equal),
    ], by


def _without(rows: Sequence[int], matched: set[int]) -> list[int]:
    return [row for row in rows if row not in matched]


def _differing(a: Cells, b: Cells) -> tuple[int, ...]:
    return tuple(index for index, (one, other) in enumerate(zip(a, b, strict=True)) if one != other)


def _equal_rows(a: Sequence[Cells], b: Sequence[Cells]) -> Iterator[tuple[int, int]]:
    free: defaultdict[Cells, deque[int]] = defaultdict(deque)
    for index, cells in enumerate(b):
        free[cells].append(index)
    for index, cells in enumerate(a):
        if free.get(cells):
            yield index, free[cells].popleft()


def _key(a: Sequence[Cells], b: Sequence[Cells], identifying: Sequence[int]) -> tuple[int, ...]:
    """The fewest columns that name each row of both sides, most of them on both."""
    for count in range(1, _KEY_COLUMNS + 1):
        for columns in combinations(identifying[:_SCORED], count):
            one, other = _keys(a, columns), _keys(b, columns)
            if len(one) == len(a) and len(other) == len(b):
                both = len(one.keys() & other.keys())
                if 2 * both >= min(len(a), len(b)) > 0:
                    return columns
    return ()


def _keys(rows: Sequence[Cells], columns: Sequence[int]) -> dict[Cells, int]:
    """The row of each key; a row without a complete key has none."""
    keys = ((tuple(cells[index] for index in columns), row) for row, cells in enumerate(rows))
    return {key: row for key, row in keys if None not in key}


def _by_likeness(
    a: Sequence[Cells], b: Sequence[Cells], rest_a: Sequence[int], rest_b: Sequence[int]
) -> Iterator[tuple[int, int]]:
    width = min(len(a[0]), _SCORED) if rest_a and rest_b else 0
    counts = [Counter(row[index] for row in (*a, *b)) for index in range(width)]
    total = len(a) + len(b)
    scored: list[tuple[int, int, int]] = []
    for one in rest_a:
        for other in rest_b:
            equal = [index for index in range(width) if a[one][index] == b[other][index]]
            if 2 * len(equal) > width:
                score = sum(total // counts[index][a[one][index]] for index in equal)
                scored.append((-score, one, other))
    taken_a, taken_b = set[int](), set[int]()
    for _, one, other in sorted(scored):
        if one not in taken_a and other not in taken_b:
            taken_a.add(one)
            taken_b.add(other)
            yield one, other
