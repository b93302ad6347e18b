"""Proves declared sources against their data: every fault at once, with counts and examples."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from skillian.data import sql
from skillian.data.declare.sources import Connections, SourceRegistry
from skillian.data.query.binding import Binder, BoundSource
from skillian.data.query.filters import filtered_rows
from skillian.data.query.measures import (
    ask_one,
    code_of,
    exact_measures,
    finite,
    number_of,
    result_scale,
)
from skillian.data.query.unfit import unfit_test
from skillian.data.sql.values import jsonable
from skillian.errors import ToolError

MAX_ROWS = 1_000_000
MAX_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found about one part of a source; only a fault has to be mended."""

    source: str
    part: str
    text: str
    is_fault: bool = False


async def check_sources(
    registry: SourceRegistry, starting: Callable[[str], None] | None = None
) -> AsyncGenerator[Finding]:
    """Give what is found about all sources, in file order; nothing but the findings is raised.

    Of a source with more than `MAX_ROWS` rows, only so many are looked at, and a source is given
    up after `MAX_SECONDS`; the findings say so. `starting` is called with the name of each source.
    """
    loop = asyncio.get_running_loop()
    async with Connections(registry) as connections:
        binder = Binder(registry, connections)
        for name in registry.names:
            if starting is not None:
                starting(name)
            left = _parts(registry, name)
            deadline = loop.time() + MAX_SECONDS
            async with aclosing(_checked(registry, binder, name)) as findings:
                while True:
                    try:
                        async with asyncio.timeout_at(deadline):
                            finding = await anext(findings, None)
                    except TimeoutError:
                        yield Finding(name, "source", _unfinished(left), is_fault=True)
                        break
                    if finding is None:
                        break
                    left = [part for part in left if part != finding.part]
                    yield finding


def _parts(registry: SourceRegistry, name: str) -> list[str]:
    definition = registry.get(name)
    keys = [key for key in registry.comparison.default_align_on if key in definition.dimensions]
    return [
        "source",
        *(f"dimension {each}" for each in definition.dimensions),
        *(f"measure {each}" for each in definition.measures),
        *([f"by {', '.join(keys)}"] if keys else []),
    ]


def _unfinished(left: Sequence[str]) -> str:
    return (
        f"stopped after {MAX_SECONDS} s, with these not checked: {', '.join(left)}; declare a"
        " `query` of fewer rows in place of the table to check them"
    )


async def _checked(registry: SourceRegistry, binder: Binder, name: str) -> AsyncGenerator[Finding]:
    try:
        source = await binder.bind(name)
        rows = await _row_count(source)
    except ToolError as error:
        yield Finding(name, "source", str(error), is_fault=True)
        return
    told = f"{rows} rows"
    if rows > MAX_ROWS:
        told += f", of which {MAX_ROWS} are looked at below"
        source, rows = replace(source, first_rows=MAX_ROWS), MAX_ROWS
    yield Finding(name, "source", told)
    sound: list[str] = []
    async for finding in _columns(source, rows):
        yield finding
        if not finding.is_fault:
            sound.append(finding.part)
    default = registry.comparison.default_align_on
    keys = [key for key in default if f"dimension {key}" in sound]
    if keys:
        yield await _keys(source, keys)


async def _row_count(source: BoundSource) -> int:
    row = await _ask(source, {"row_count": exp.Count(this=exp.Star())}, sql.Parameters())
    return int(row["row_count"])


@dataclass(frozen=True, slots=True)
class _Part:
    """What to ask about one dimension or measure, and how its answer reads."""

    name: str
    value: exp.Expr
    wanted: Mapping[str, exp.Expr]
    told: Callable[[Mapping[str, Any]], str]


async def _columns(source: BoundSource, rows: int) -> AsyncGenerator[Finding]:
    """Give a finding for each dimension and measure: asked together, and alone if that fails."""
    definition, parameters = source.definition, sql.Parameters()
    parts: list[_Part | Finding] = [
        *(_dimension(source, name, rows, parameters) for name in definition.dimensions),
        *[await _measure(source, name) for name in definition.measures],
    ]
    whole = [part for part in parts if isinstance(part, _Part)]
    wanted = {
        f"{name}_{index}": value.copy()
        for index, part in enumerate(whole)
        for name, value in part.wanted.items()
    }
    try:
        row: Mapping[str, Any] = await _ask(source, wanted, parameters) if wanted else {}
    except ToolError:
        for part in parts:
            yield (
                part if isinstance(part, Finding) else await _alone(source, part, parameters, rows)
            )
        return
    for part in parts:
        if isinstance(part, Finding):
            yield part
            continue
        index = whole.index(part)
        found = {name: row[f"{name}_{index}"] for name in part.wanted}
        yield Finding(source.name, part.name, part.told(found))


async def _alone(
    source: BoundSource, part: _Part, parameters: sql.Parameters, rows: int
) -> Finding:
    try:
        row = await _ask(source, part.wanted, parameters)
    except ToolError as error:
        why = await _unfit(source, part.value, parameters, rows) or str(error)
        return Finding(source.name, part.name, why, is_fault=True)
    return Finding(source.name, part.name, part.told(row))


def _dimension(
    source: BoundSource, name: str, rows: int, parameters: sql.Parameters
) -> _Part | Finding:
    part = f"dimension {name}"
    try:
        term = source.dimension(name, parameters)
    except ToolError as error:
        return Finding(source.name, part, str(error), is_fault=True)
    # As text, so that the database has to make every value: it may count them without.
    last = exp.Max(this=exp.cast(term.value.copy(), "TEXT"))
    wanted = {"filled": exp.Count(this=term.value.copy()), "last": last}

    def told(row: Mapping[str, Any]) -> str:
        missing = rows - int(row["filled"])
        kind = term.type.kind
        return f"{kind}; {missing} of {rows} rows have none" if missing else kind

    return _Part(part, term.value, wanted, told)


async def _measure(source: BoundSource, name: str) -> _Part | Finding:
    part = f"measure {name}"
    try:
        (term,) = await exact_measures(source, [name])
        scale = result_scale(term)
        wanted = {"total": finite(term, term.value.copy(), term.code, scale)}
        code = code_of(term, term.value.copy(), term.code, scale)
        wanted |= {} if code is None else {"code": code}
    except ToolError as error:
        return Finding(source.name, part, str(error), is_fault=True)

    def told(row: Mapping[str, Any]) -> str:
        total = number_of(row["total"], row.get("code"))
        return f"{term.definition.aggregation} {jsonable(total)}"

    return _Part(part, term.value, wanted, told)


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
