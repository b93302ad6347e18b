"""Checks declared sources against their data: all faults at once, with counts and examples."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from skillian.connectors import engine_of, scheme
from skillian.data import sql
from skillian.data.declare.sources import Connections, SourceRegistry
from skillian.data.query.binding import Binder, BoundSource
from skillian.data.query.filters import filtered_rows
from skillian.data.query.measures import (
    code_of,
    exact_measures,
    fetch_one,
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
class SourceFinding:
    """The result for one part of a source; only a fault needs fixing."""

    source: str
    part: str
    text: str
    is_fault: bool = False


async def check_sources(
    registry: SourceRegistry, starting: Callable[[str], None] | None = None
) -> AsyncGenerator[SourceFinding]:
    """Yield the findings of all sources, in file order; failures are findings, too.

    At most `MAX_ROWS` rows of a source are checked, for at most `MAX_SECONDS`; the findings say so.
    `starting` is called with the name of each source.
    """
    loop = asyncio.get_running_loop()
    async with Connections(registry) as connections:
        binder = Binder(registry, connections)
        for name in registry.names:
            if starting is not None:
                starting(name)
            connection = registry.get(name).connection
            engine = engine_of(scheme(registry.declared_url(connection)))
            if engine is not None and not engine.is_tried:
                yield SourceFinding(name, f"connection {connection}", f"{engine.label}")
            remaining = _parts(registry, name)
            deadline = loop.time() + MAX_SECONDS
            async with aclosing(_checked(registry, binder, name)) as findings:
                while True:
                    try:
                        async with asyncio.timeout_at(deadline):
                            finding = await anext(findings, None)
                    except TimeoutError:
                        yield SourceFinding(name, "source", _unfinished(remaining), is_fault=True)
                        break
                    if finding is None:
                        break
                    remaining = [part for part in remaining if part != finding.part]
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


def _unfinished(parts: Sequence[str]) -> str:
    return (
        f"stopped after {MAX_SECONDS} s, with these not checked: {', '.join(parts)}; declare a"
        " `query` of fewer rows instead of the table to check them"
    )


async def _checked(
    registry: SourceRegistry, binder: Binder, name: str
) -> AsyncGenerator[SourceFinding]:
    try:
        source = await binder.bind(name)
        rows = await _row_count(source)
    except ToolError as error:
        yield SourceFinding(name, "source", str(error), is_fault=True)
        return
    text = f"{rows} rows"
    if rows > MAX_ROWS:
        text += f", of which {MAX_ROWS} are checked below"
        source, rows = replace(source, first_rows=MAX_ROWS), MAX_ROWS
    yield SourceFinding(name, "source", text)
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
    row = await _ask(source, {"row_count": exp.Count(this=exp.Star())}, sql.BoundValues())
    return int(row["row_count"])


@dataclass(frozen=True, slots=True)
class _Part:
    """The columns to query for one dimension or measure, and the text for their values."""

    name: str
    value: exp.Expr
    columns: Mapping[str, exp.Expr]
    describe: Callable[[Mapping[str, Any]], str]


async def _columns(source: BoundSource, rows: int) -> AsyncGenerator[SourceFinding]:
    """Yield a finding for each dimension and measure, by one query, or one for each if it fails."""
    definition, parameters = source.definition, sql.BoundValues()
    parts: list[_Part | SourceFinding] = [
        *(_dimension(source, name, rows, parameters) for name in definition.dimensions),
        *[await _measure(source, name) for name in definition.measures],
    ]
    columns = {
        f"{name}_{index}": value.copy()
        for index, part in enumerate(parts)
        if isinstance(part, _Part)
        for name, value in part.columns.items()
    }
    row: Mapping[str, Any] | None
    try:
        row = await _ask(source, columns, parameters) if columns else {}
    except ToolError:
        row = None
    for index, part in enumerate(parts):
        if isinstance(part, SourceFinding):
            yield part
        elif row is None:
            yield await _alone(source, part, parameters, rows)
        else:
            values = {name: row[f"{name}_{index}"] for name in part.columns}
            yield SourceFinding(source.name, part.name, part.describe(values))


async def _alone(
    source: BoundSource, part: _Part, parameters: sql.BoundValues, rows: int
) -> SourceFinding:
    try:
        row = await _ask(source, part.columns, parameters)
    except ToolError as error:
        reason = await _unfit(source, part.value, parameters, rows) or str(error)
        return SourceFinding(source.name, part.name, reason, is_fault=True)
    return SourceFinding(source.name, part.name, part.describe(row))


def _dimension(
    source: BoundSource, name: str, rows: int, parameters: sql.BoundValues
) -> _Part | SourceFinding:
    part = f"dimension {name}"
    try:
        term = source.dimension(name, parameters)
    except ToolError as error:
        return SourceFinding(source.name, part, str(error), is_fault=True)
    # As text, so that the database has to compute every value, which counting might not require.
    last = exp.Max(this=exp.cast(term.value.copy(), "TEXT"))
    columns = {"filled": exp.Count(this=term.value.copy()), "last": last}

    def describe(row: Mapping[str, Any]) -> str:
        missing = rows - int(row["filled"])
        kind = term.type.kind
        return f"{kind}; {missing} of {rows} rows have no value" if missing else kind

    return _Part(part, term.value, columns, describe)


async def _measure(source: BoundSource, name: str) -> _Part | SourceFinding:
    part = f"measure {name}"
    try:
        (term,) = await exact_measures(source, [name])
        scale = result_scale(term)
        columns = {"total": finite(term, term.value.copy(), term.code, scale)}
        code = code_of(term, term.value.copy(), term.code, scale)
        columns |= {} if code is None else {"code": code}
    except ToolError as error:
        return SourceFinding(source.name, part, str(error), is_fault=True)

    def describe(row: Mapping[str, Any]) -> str:
        total = number_of(row["total"], row.get("code"))
        return f"{term.definition.aggregation} {jsonable(total)}"

    return _Part(part, term.value, columns, describe)


async def _keys(source: BoundSource, keys: Sequence[str]) -> SourceFinding:
    parameters = sql.BoundValues()
    values = {
        f"key_{index}": source.dimension(key, parameters).value for index, key in enumerate(keys)
    }
    named = [sql.bare(name) for name in values]
    count = sql.named(exp.Count(this=exp.Star()), "row_count")
    groups = sql.select([*named, count], filtered_rows(source, values, (), parameters), "rows")
    groups.group_by(*(name.copy() for name in named), copy=False)
    columns: list[exp.Expr] = [
        sql.named(exp.Count(this=exp.Star()), "group_count"),
        sql.named(exp.Max(this=sql.bare("row_count")), "most"),
    ]
    outer = sql.select(columns, groups, "groups")
    part = f"by {', '.join(keys)}"
    try:
        row = await fetch_one(source, outer, parameters)
    except ToolError as error:
        return SourceFinding(source.name, part, str(error), is_fault=True)
    most = int(row["most"] or 0)
    size = f"up to {most} rows each" if most > 1 else "one row each"
    return SourceFinding(source.name, part, f"{row['group_count']} groups, {size}")


async def _unfit(
    source: BoundSource, value: exp.Expr, parameters: sql.BoundValues, rows: int
) -> str | None:
    """How many values cannot be converted, with an example, if the database can test it."""
    test = unfit_test(value, source.connector.dialect)
    column = value.find(exp.Column)
    if test is None or column is None:
        return None
    example = "MIN(CASE WHEN unfit THEN CAST(v AS TEXT) END)"
    columns = {
        "unfit": sql.template("COUNT(CASE WHEN unfit THEN 1 END)", unfit=test),
        "example": sql.template(example, unfit=test, v=column),
    }
    try:
        row = await _ask(source, columns, parameters)
    except ToolError:
        return None
    if not row["unfit"]:
        return None
    return f"{row['unfit']} of {rows} values cannot be converted, such as {row['example']!r}"


async def _ask(
    source: BoundSource, columns: Mapping[str, exp.Expr], parameters: sql.BoundValues
) -> Mapping[str, Any]:
    select = exp.Select(expressions=[sql.named(value, name) for name, value in columns.items()])
    return await fetch_one(source, source.rows(select), parameters)
