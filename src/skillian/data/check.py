"""Proves declared sources against their data: every fault at once, with counts and examples."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from skillian.data import sql
from skillian.data.binding import Binder, BoundSource
from skillian.data.connections import Connections
from skillian.data.exact import ask_one, exact_measures, number_of
from skillian.data.measures import code_of, finite, result_scale
from skillian.data.selection import filtered_rows
from skillian.data.sources import SourceRegistry
from skillian.data.unfit import unfit_test
from skillian.data.values import jsonable
from skillian.errors import ToolError


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found about one part of a source; only a fault has to be mended."""

    source: str
    part: str
    text: str
    is_fault: bool = False


async def check_sources(registry: SourceRegistry) -> AsyncGenerator[Finding]:
    """Give what is found about all sources, in file order; nothing but the findings is raised."""
    async with Connections(registry) as connections:
        binder = Binder(registry, connections)
        for name in registry.names:
            try:
                source = await binder.bind(name)
                rows = await _row_count(source)
            except ToolError as error:
                yield Finding(name, "source", str(error), is_fault=True)
                continue
            yield Finding(name, "source", f"{rows} rows")
            sound: list[str] = []
            for dimension in source.definition.dimensions:
                finding = await _dimension(source, dimension, rows)
                yield finding
                if not finding.is_fault:
                    sound.append(dimension)
            for measure in source.definition.measures:
                yield await _measure(source, measure, rows)
            keys = [key for key in registry.comparison.default_align_on if key in sound]
            if keys:
                yield await _keys(source, keys)


async def _row_count(source: BoundSource) -> int:
    row = await _ask(source, {"row_count": exp.Count(this=exp.Star())}, sql.Parameters())
    return int(row["row_count"])


async def _dimension(source: BoundSource, name: str, rows: int) -> Finding:
    part, parameters = f"dimension {name}", sql.Parameters()
    try:
        term = source.dimension(name, parameters)
    except ToolError as error:
        return Finding(source.name, part, str(error), is_fault=True)
    # As text, so that the database has to make every value: it may count them without.
    last = exp.Max(this=exp.cast(term.value.copy(), "TEXT"))
    wanted = {"filled": exp.Count(this=term.value.copy()), "last": last}
    try:
        row = await _ask(source, wanted, parameters)
    except ToolError as error:
        why = await _unfit(source, term.value, parameters, rows) or str(error)
        return Finding(source.name, part, why, is_fault=True)
    missing = rows - int(row["filled"])
    told = f"{term.type.kind}; {missing} of {rows} rows have none" if missing else term.type.kind
    return Finding(source.name, part, told)


async def _measure(source: BoundSource, name: str, rows: int) -> Finding:
    part, parameters = f"measure {name}", sql.Parameters()
    try:
        (term,) = await exact_measures(source, [name])
        scale = result_scale(term)
        wanted = {"total": finite(term, term.value.copy(), term.code, scale)}
        code = code_of(term, term.value.copy(), term.code, scale)
        wanted |= {} if code is None else {"code": code}
    except ToolError as error:
        return Finding(source.name, part, str(error), is_fault=True)
    try:
        row = await _ask(source, wanted, parameters)
    except ToolError as error:
        why = await _unfit(source, term.value, parameters, rows) or str(error)
        return Finding(source.name, part, why, is_fault=True)
    total = number_of(row["total"], row.get("code"))
    return Finding(source.name, part, f"{term.definition.aggregation} {jsonable(total)}")


async def _keys(source: BoundSource, keys: Sequence[str]) -> Finding:
    parameters = sql.Parameters()
    values = {
        f"key_{index}": source.dimension(key, parameters).value for index, key in enumerate(keys)
    }
    named = [sql.bare(name) for name in values]
    count = sql.named(exp.Count(this=exp.Star()), "row_count")
    rows = filtered_rows(source, values, (), parameters).subquery(sql.name("rows"), copy=False)
    groups = exp.Select(expressions=[*named, count]).from_(rows, copy=False)
    groups.group_by(*(name.copy() for name in named), copy=False)
    columns: list[exp.Expr] = [
        sql.named(exp.Count(this=exp.Star()), "group_count"),
        sql.named(exp.Max(this=sql.bare("row_count")), "most"),
    ]
    outer = exp.Select(expressions=columns)
    outer.from_(groups.subquery(sql.name("groups"), copy=False), copy=False)
    part = f"by {', '.join(keys)}"
    try:
        row = await ask_one(source, outer, parameters)
    except ToolError as error:
        return Finding(source.name, part, str(error), is_fault=True)
    most = int(row["most"] or 0)
    told = f"up to {most} rows each" if most > 1 else "one row each"
    return Finding(source.name, part, f"{row['group_count']} groups, {told}")


async def _unfit(
    source: BoundSource, value: exp.Expr, parameters: sql.Parameters, rows: int
) -> str | None:
    """Return how many values cannot be converted, with one of them, where the database tells."""
    test = unfit_test(value, source.connector.dialect)
    column = value.find(exp.Column)
    if test is None or column is None:
        return None
    wanted = {
        "unfit": exp.Count(this=exp.case().when(test, sql.one(), copy=False)),
        "example": exp.Min(
            this=exp.case().when(test.copy(), exp.cast(column.copy(), "TEXT"), copy=False)
        ),
    }
    try:
        row = await _ask(source, wanted, parameters)
    except ToolError:
        return None
    if not row["unfit"]:
        return None
    return f"{row['unfit']} of {rows} values cannot be converted, such as {row['example']!r}"


async def _ask(
    source: BoundSource, columns: Mapping[str, exp.Expr], parameters: sql.Parameters
) -> Mapping[str, Any]:
    select = exp.Select(expressions=[sql.named(value, name) for name, value in columns.items()])
    return await ask_one(source, source.rows(select), parameters)
