"""The one statement of a row comparison: it returns the rows that differ, and counts.

Each row of the result has a class: `DIFFERING`, `ONLY_A`, `ONLY_B`, `DUPLICATE` (a key that occurs
more than once on a side) or `COUNTS` (how many rows each side has).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from skillian.data import sql
from skillian.data.sql import KeyColumn, same_key
from skillian.data.tables.cells import CellPair, exact_in_mysql, family_of, form, shown
from skillian.data.tables.changes import changed
from skillian.data.tables.columns import ColumnPair
from skillian.data.tables.types import CellType, transported
from skillian.data.tables.unequal import differs

DIFFERING, ONLY_A, ONLY_B, DUPLICATE, COUNTS = range(5)
_REPEATED_KEYS = "repeated_keys"

RowsOf = Callable[[Sequence[exp.Expr]], exp.Select]
"""Returns a SELECT of these expressions over the rows of a side."""


@dataclass(frozen=True, slots=True)
class TableSide:
    """The rows of a side in the database that compares; `values` has a cell for each pair."""

    values: tuple[exp.Expr, ...]
    rows: RowsOf


@dataclass(frozen=True, slots=True)
class LoneColumn:
    """A column that only one side has: 0 for a, 1 for b.

    The value is that of a cell in the database that compares.
    """

    name: str
    side: int
    type: CellType
    value: exp.Expr

    def text(self, value: exp.Expr, dialect: str) -> exp.Expr:
        """A cell as text for people."""
        cells = CellPair(self.type, self.type, family_of(self.type, self.type))
        if dialect == "mysql" and not exact_in_mysql(cells, is_key=False):
            return sql.as_text(transported(self.type, value, dialect).value)
        return sql.as_text(shown(cells, self.side, value, dialect))


@dataclass(frozen=True, slots=True)
class TablePlan:
    """What is compared where.

    Attributes:
        pairs: The columns, those of the key first.
        keys: How many columns the key has; 0 to compare rows with their counts.
        a: The rows of a.
        b: The rows of b.
        dialect: The sqlglot dialect of the statement.
        unique: Whether the database guarantees that no key is repeated.
        required: The columns of the key, by index, that the database keeps from being NULL.
        equal_rows: The rows of each side that are known to be equal and are not among its rows.
        repeats: Whether keys may be repeated; their rows are then left out of the comparison.
        whole: Whether a row that differs is returned with all of its cells, not only with those
            that differ.
        lone: The columns of one side whose cells are returned of rows that only this side has.
    """

    pairs: tuple[ColumnPair, ...]
    keys: int
    a: TableSide
    b: TableSide
    dialect: str
    unique: bool = False
    required: frozenset[int] = frozenset()
    equal_rows: int = 0
    repeats: bool = False
    whole: bool = False
    lone: tuple[LoneColumn, ...] = ()

    @property
    def sides(self) -> tuple[TableSide, TableSide]:
        """Both sides."""
        return self.a, self.b

    def columns(self) -> dict[str, str]:
        """The names and DuckDB types of the result's columns."""
        columns = {"class": "BIGINT", "rows_a": "BIGINT", "rows_b": "BIGINT"}
        columns |= {f"k{index}": "VARCHAR" for index in range(self.keys)}
        for index in range(self.keys, len(self.pairs)):
            columns |= {f"d{index}": "BOOLEAN", f"a{index}": "VARCHAR", f"b{index}": "VARCHAR"}
        return columns | {f"x{number}": "VARCHAR" for number in range(len(self.lone))}


def differences(plan: TablePlan) -> exp.Query:
    """The statement."""
    if not plan.keys:
        return exp.union(_counts(plan), _multiset(plan), distinct=False, copy=False)
    result = exp.union(_counts(plan), _joined(plan), distinct=False, copy=False)
    if plan.repeats:
        result = exp.union(result, _repeated(plan), distinct=False, copy=False)
        name = sql.name(_REPEATED_KEYS)
        result.with_(name, as_=_repeated_keys(plan), materialized=True, copy=False)
    return result


def has_repeated_keys(plan: TablePlan) -> exp.Select:
    """A statement for whether a key is repeated on a side, in DuckDB.

    Joining the keys costs a third of grouping both sides. A row that meets n rows of the other side
    is in the join n times; so the join has as many rows of each side as the side itself only if no
    key of both sides is repeated. Keys of one side are grouped. The limit stops a join of keys that
    are often repeated.
    """
    totals = _totals(plan)
    names = ["alone", *(f"k{index}" for index in range(plan.keys))]
    counts = [
        sql.named(exp.Count(this=sql.bare(f"rows_{alias}")), f"rows_{alias}") for alias in "ab"
    ]
    joined = _joined_keys(plan)
    most = exp.Add(this=exp.Add(this=totals[0], expression=totals[1]), expression=sql.one())
    joined.set("limit", exp.Limit(expression=exp.Paren(this=most)))
    grouped = sql.select([*(sql.bare(name) for name in names), *counts], joined, "joined")
    grouped.group_by(*(sql.bare(name) for name in names), copy=False)
    test = 'COALESCE(SUM(n), 0) <> total OR COALESCE(MAX(CASE WHEN "alone" THEN n END), 0) > 1'
    tests = [
        sql.template(test, n=sql.bare(f"rows_{alias}"), total=total)
        for alias, total in zip("ab", totals, strict=True)
    ]
    return sql.select([sql.named(sql.any_of(tests), "repeated")], grouped, "grouped")


def _totals(plan: TablePlan) -> list[exp.Subquery]:
    """How many rows each side has."""
    return [exp.Subquery(this=side.rows([exp.Count(this=exp.Star())])) for side in plan.sides]


def _joined_keys(plan: TablePlan) -> exp.Select:
    """The rows of a full join of the keys; only rows without a partner show their key."""
    sides: list[exp.Expr] = []
    for side, alias in enumerate("ab"):
        keys = [sql.named(_key(plan, index, side), f"k{index}") for index in range(plan.keys)]
        rows = plan.sides[side].rows([*keys, sql.named(sql.one(), "present")])
        sides.append(rows.subquery(sql.name(alias), copy=False))
    present = [sql.column("present", alias) for alias in "ab"]
    alone = exp.Paren(this=sql.any_of(sql.is_null(each) for each in present))
    columns: list[exp.Expr] = [sql.named(alone, "alone")]
    for index in range(plan.keys):
        key = sql.column(f"k{index}", "a")
        either = exp.Coalesce(this=key, expressions=[sql.column(f"k{index}", "b")])
        shown_key = exp.case().when(alone.copy(), either, copy=False)
        columns.append(sql.named(shown_key, f"k{index}"))
    columns += [sql.named(each, f"rows_{alias}") for each, alias in zip(present, "ab", strict=True)]
    joined = exp.Select(expressions=columns).from_(sides[0], copy=False)
    return joined.join(sides[1], on=_same_key(plan, "a", "b"), join_type="full", copy=False)


def _row(plan: TablePlan, values: dict[str, exp.Expr]) -> list[exp.Expr]:
    """All columns of the result; those without a value are NULL."""
    kinds = {"BIGINT": "BIGINT", "VARCHAR": "TEXT", "BOOLEAN": "BOOLEAN"}
    if plan.dialect == "mysql":
        kinds["BOOLEAN"] = "BIGINT"
    return [
        sql.named(
            values.get(name) or exp.Cast(this=exp.Null(), to=exp.DataType.build(kinds[kind])), name
        )
        for name, kind in plan.columns().items()
    ]


def _number(value: int) -> exp.Expr:
    return exp.Cast(this=exp.Literal.number(value), to=exp.DataType.build("BIGINT"))


def _counts(plan: TablePlan) -> exp.Select:
    values: dict[str, exp.Expr] = {"class": _number(COUNTS)}
    for name, total in zip(("rows_a", "rows_b"), _totals(plan), strict=True):
        values[name] = exp.Add(this=total, expression=_number(plan.equal_rows))
    return exp.Select(expressions=_row(plan, values))


def _key(plan: TablePlan, index: int, side: int) -> exp.Expr:
    value = plan.sides[side].values[index]
    pair, value = changed(plan.pairs[index].cells, side, value, plan.dialect)
    return form(pair, side, value, plan.dialect)


def _side(plan: TablePlan, side: int, alias: str) -> exp.Subquery:
    """The keys `k0` … of a side in their common form, its cells `c0` …, and its own `x0` …."""
    columns = [sql.named(_key(plan, index, side), f"k{index}") for index in range(plan.keys)]
    values = plan.sides[side].values
    columns += [sql.named(value.copy(), f"c{index}") for index, value in enumerate(values)]
    columns += [
        sql.named(each.value.copy(), f"x{number}")
        for number, each in enumerate(plan.lone)
        if each.side == side
    ]
    # The keys that MySQL joins are never NULL.
    present = _key(plan, 0, side) if plan.dialect == "mysql" else sql.one()
    columns.append(sql.named(present, "present"))
    return plan.sides[side].rows(columns).subquery(sql.name(alias), copy=False)


def _same_key(plan: TablePlan, one: str, other: str) -> exp.Expr:
    """The test whether a row of a relation and a row of another one have the same key."""
    key = [
        KeyColumn(f"k{index}", index in plan.required, _filler_family(pair))
        for index, pair in enumerate(plan.pairs[: plan.keys])
    ]
    return same_key(key, one, other, plan.dialect)


def _filler_family(pair: ColumnPair) -> str:
    cells = pair.cells
    is_text = cells.family in {"float", "uuid"} and cells.a.kind != cells.b.kind
    return "text" if is_text else cells.family


def _joined(plan: TablePlan) -> exp.Select:
    """The rows without a partner, and the pairs of rows that differ, with their cells."""
    missing = [sql.is_null(sql.bare(f"{alias}_present")) for alias in "ab"]
    values: dict[str, exp.Expr] = {
        "class": exp.case()
        .when(missing[1], _number(ONLY_A))
        .when(missing[0], _number(ONLY_B))
        .else_(_number(DIFFERING))
    }
    for index, pair in enumerate(plan.pairs):
        a, b = (
            shown(pair.cells, side, sql.bare(f"{alias}_c{index}"), plan.dialect)
            for side, alias in enumerate("ab")
        )
        if index < plan.keys:
            values[f"k{index}"] = exp.Coalesce(this=a, expressions=[b])
            continue
        values[f"d{index}"] = sql.bare(f"d{index}")
        for alias, text in zip("ab", (a, b), strict=True):
            case = exp.Case(ifs=[exp.If(this=sql.bare(f"d{index}"), true=text)])
            values[f"{alias}{index}"] = text if plan.whole else case
    for number, each in enumerate(plan.lone):
        text = each.text(sql.bare(f"x{number}"), plan.dialect)
        values[f"x{number}"] = exp.case().when(missing[1 - each.side], text)
    return sql.select(_row(plan, values), _marked_rows(plan), "marked")


def _marked_rows(plan: TablePlan) -> exp.Select:
    """The unequal rows with `d0` …, whether both rows exist and these cells differ."""
    columns: list[exp.Expr] = [sql.bare(f"{alias}_present") for alias in "ab"]
    for index, pair in enumerate(plan.pairs):
        a, b = (sql.bare(f"{alias}_c{index}") for alias in "ab")
        columns += [a, b]
        if index >= plan.keys:
            different = differs(pair.cells, a.copy(), b.copy(), plan.dialect)
            marked = exp.And(this=sql.bare("has_both"), expression=different)
            columns.append(sql.named(marked, f"d{index}"))
    columns += [sql.bare(f"x{number}") for number in range(len(plan.lone))]
    return sql.select(columns, _unequal_rows(plan), "unequal")


def _unequal_rows(plan: TablePlan) -> exp.Query:
    """The cells of rows without a partner, and of pairs of rows that differ."""
    sides = [_side(plan, index, alias) for index, alias in enumerate("ab")]
    if plan.repeats:
        sides = [
            _without_repeats(plan, side, alias) for side, alias in zip(sides, "ab", strict=True)
        ]
    a, b = sides
    names = [*(f"c{index}" for index in range(len(plan.pairs))), "present"]
    columns = [
        sql.named(sql.column(name, alias), f"{alias}_{name}") for alias in "ab" for name in names
    ]
    columns += [
        sql.named(sql.column(f"x{number}", "ab"[each.side]), f"x{number}")
        for number, each in enumerate(plan.lone)
    ]
    tests = [sql.is_null(sql.column("present", alias)) for alias in "ab"]
    tests += [
        differs(
            plan.pairs[index].cells,
            sql.column(f"c{index}", "a"),
            sql.column(f"c{index}", "b"),
            plan.dialect,
        )
        for index in range(plan.keys, len(plan.pairs))
    ]
    alone = exp.Paren(this=sql.any_of(test.copy() for test in tests[:2]))
    columns.append(sql.named(exp.Not(this=alone), "has_both"))
    select = exp.Select(expressions=columns).from_(a, copy=False)
    same = _same_key(plan, "a", "b")
    if plan.dialect == "mysql":  # it has no full join
        right = select.copy().join(b.copy(), on=same.copy(), join_type="RIGHT", copy=False)
        right.where(tests[0].copy(), copy=False)
        left = select.join(b, on=same, join_type="LEFT", copy=False)
        left.where(sql.any_of(tests[1:]), copy=False)
        return exp.union(left, right, distinct=False, copy=False)
    select = select.join(b, on=same, join_type="FULL", copy=False)
    # The result is small, which a query planner may not expect: it would plan for as many texts as
    # there are rows.
    select.meta["apart"] = True
    return select.where(sql.any_of(tests), copy=False)


def _repeated_keys(plan: TablePlan) -> exp.Query:
    """The keys that are repeated on a side; only keys are read for it."""
    selects: list[exp.Select] = []
    for side in (0, 1):
        keys = [sql.named(_key(plan, index, side), f"k{index}") for index in range(plan.keys)]
        names = [sql.bare(f"k{index}") for index in range(plan.keys)]
        columns = [*names, sql.named(sql.one(), "present")]
        select = sql.select(columns, plan.sides[side].rows(keys), "rows")
        select.group_by(*(each.copy() for each in names), copy=False)
        count = exp.Count(this=exp.Star())
        selects.append(select.having(exp.GT(this=count, expression=sql.one()), copy=False))
    return exp.union(*selects, distinct=True, copy=False)


def _repeated(plan: TablePlan) -> exp.Select:
    """The keys that are repeated on a side, with their number of rows on each."""
    selects: list[exp.Select] = []
    names = [f"{letter}{index}" for letter in "kt" for index in range(plan.keys)]
    for side in (0, 1):
        columns = [sql.named(_key(plan, index, side), f"k{index}") for index in range(plan.keys)]
        for index, pair in enumerate(plan.pairs[: plan.keys]):
            text = shown(pair.cells, side, plan.sides[side].values[index], plan.dialect)
            columns.append(sql.named(text, f"t{index}"))
        listed: list[exp.Expr] = [sql.column(name, "rows") for name in names]
        listed += _one_row_of(side)
        select = sql.select(listed, plan.sides[side].rows(columns), "rows")
        same = _same_key(plan, "rows", "repeated")
        selects.append(select.join(_repeats(), on=same, copy=False))
    values = _summed(DUPLICATE)
    values |= {f"k{index}": exp.Min(this=sql.bare(f"t{index}")) for index in range(plan.keys)}
    every = exp.union(*selects, distinct=False, copy=False)
    select = sql.select(_row(plan, values), every, "every")
    return select.group_by(*(sql.bare(f"k{index}") for index in range(plan.keys)), copy=False)


def _one_row_of(side: int) -> list[exp.Expr]:
    """The numbers of rows of both sides for a row of one."""
    return [sql.named(_number(int(side == each)), f"rows_{'ab'[each]}") for each in (0, 1)]


def _summed(kind: int) -> dict[str, exp.Expr]:
    """A class, and the sums of the numbers of rows."""
    totals = {name: exp.Sum(this=sql.bare(name)) for name in ("rows_a", "rows_b")}
    bigint = exp.DataType.build("BIGINT")
    sums = {name: exp.Cast(this=total, to=bigint.copy()) for name, total in totals.items()}
    return {"class": _number(kind), **sums}


def _repeats() -> exp.Expr:
    return exp.alias_(sql.table(_REPEATED_KEYS), sql.name("repeated"), table=True)


def _without_repeats(plan: TablePlan, side: exp.Subquery, alias: str) -> exp.Subquery:
    """The rows of a side whose key is not repeated on either side."""
    select = exp.Select(expressions=[exp.Column(this=exp.Star(), table=sql.name("rows"))])
    side.set("alias", exp.TableAlias(this=sql.name("rows")))
    same = _same_key(plan, "rows", "repeated")
    select = select.from_(side, copy=False).join(_repeats(), on=same, join_type="LEFT", copy=False)
    select = select.where(sql.is_null(sql.column("present", "repeated")), copy=False)
    return select.subquery(sql.name(alias), copy=False)


def _multiset(plan: TablePlan) -> exp.Select:
    """The rows whose number differs, each with its number on both sides."""
    count = len(plan.pairs)
    selects: list[exp.Select] = []
    for side in (0, 1):
        columns: list[exp.Expr] = []
        for index, pair in enumerate(plan.pairs):
            value = plan.sides[side].values[index]
            columns.append(sql.named(_key(plan, index, side), f"k{index}"))
            text = shown(pair.cells, side, value, plan.dialect)
            columns.append(sql.named(text, f"t{index}"))
        columns += _one_row_of(side)
        selects.append(plan.sides[side].rows(columns))
    keys = [sql.bare(f"k{index}") for index in range(count)]
    totals = [exp.Sum(this=sql.bare(name)) for name in ("rows_a", "rows_b")]
    values = _summed(DIFFERING)
    for index in range(count):
        values[f"a{index}"] = exp.Min(this=sql.bare(f"t{index}"))
    every = exp.union(*selects, distinct=False, copy=False)
    select = sql.select(_row(plan, values), every, "every")
    select = select.group_by(*keys, copy=False)
    return select.having(exp.NEQ(this=totals[0], expression=totals[1]), copy=False)
