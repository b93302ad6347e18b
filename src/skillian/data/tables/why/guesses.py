"""Which rule may explain the differences of a column: constants that many of its rows share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from itertools import chain, combinations
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError
from sqlglot import exp

from skillian.connectors.dialects import compile_sql, filled
from skillian.connectors.duckdb.engine import Workspace
from skillian.data import sql
from skillian.data.declare.rules import Precision, Rule
from skillian.data.sql import Statement
from skillian.data.sql.values import fetch
from skillian.data.tables.cells import CellPair
from skillian.data.tables.changes import DIGITS
from skillian.data.tables.columns import ColumnPair
from skillian.data.tables.types import CellKind, CellType
from skillian.data.tables.unequal import differs

LEAST = 5
"""How many rows a cause explains at least."""
_SHARE = 0.5
_AS_GOOD = 0.995
_TRIED = 2
_PAIRED = 60
_EXACT = Context(prec=12)
# A rule states no more than 20 places; binary floats have more of them than was meant.
_PLACES = {"number": 20, "float": 9}
_MOST = 1e12
"""Nobody would state a factor beyond it, or below its inverse."""
_TYPES: dict[CellKind, CellType] = {
    "date": CellType("date", "DATE"),
    "timestamp": CellType("timestamp", "TIMESTAMP"),
    "timestamptz": CellType("timestamptz", "TIMESTAMP WITH TIME ZONE"),
    "text": CellType("text", "VARCHAR"),
}
_NONE: Mapping[str, object] = MappingProxyType({})
_TEXT = ("trim", "collapse_whitespace", "ignore_case", "nfc", "empty_is_null")
_UNITS: tuple[Precision, ...] = ("day", "hour", "minute", "second", "millisecond")
# In which times often are; of those with the same clocks, the best known is first.
_ZONES = """
Europe/Berlin Europe/London America/New_York America/Chicago America/Denver America/Los_Angeles
America/Phoenix America/Anchorage America/Halifax America/St_Johns America/Sao_Paulo
America/Argentina/Buenos_Aires America/Santiago America/Mexico_City America/Bogota
Pacific/Honolulu Europe/Athens Europe/Moscow Europe/Istanbul Africa/Cairo Africa/Lagos
Africa/Johannesburg Asia/Jerusalem Asia/Dubai Asia/Tehran Asia/Karachi Asia/Kolkata
Asia/Kathmandu Asia/Dhaka Asia/Bangkok Asia/Shanghai Asia/Tokyo Australia/Perth
Australia/Adelaide Australia/Darwin Australia/Brisbane Australia/Sydney Pacific/Auckland
""".split()  # noqa: SIM905 - a list to read, not a column


@dataclass(frozen=True, slots=True)
class Guess:
    """A rule, the option that states it, and how many rows of a sample it explains.

    Attributes:
        rule: The rule.
        written: How the command line states it, without the column.
        test: Which rows it is about, besides those that are equal by it.
        explained: The rows that it explains.
        of: The rows of the sample.
    """

    rule: Rule
    written: str
    test: str = ""
    explained: int = 0
    of: int = 0


def _number(written: Decimal) -> str:
    return f"{written.normalize():f}"


def _stated(written: str, **fields: Decimal) -> Guess | None:
    """The guess, or None if a number in it has more digits than a rule may state."""
    try:
        return Guess(Rule.model_validate(fields), written)
    except ValidationError:
        return None


async def guessed(
    workspace: Workspace, cells: str, pair: ColumnPair, values: Mapping[str, object] = _NONE
) -> list[Guess]:
    """The rules that explain most of a column's differences, the simplest first.

    A SELECT with bound values returns the cells that differ, `a` and `b`, as texts.
    """
    table = await workspace.create(cells, values)
    try:
        return await _guessed(workspace, table, pair)
    finally:
        await workspace.drop(table)


async def _guessed(workspace: Workspace, table: str, pair: ColumnPair) -> list[Guess]:
    family = pair.cells.family
    guesses: list[Guess] = []
    if family in {"number", "float"}:
        guesses = [*await _of_numbers(workspace, table, _PLACES[family])]
    elif family in {"date", "timestamp"}:
        gaps = await _rows(workspace, table, _SECONDS)
        guesses = [*_of_times([Decimal(row["gap"]) / 1_000_000 for row in gaps], pair.cells)]
    elif family == "text":
        [facts] = await _rows(workspace, table, _LENGTHS)
        guesses = [*_of_texts(facts["length"])]
    if not guesses:
        return []
    return await _best(workspace, table, pair.cells, guesses)


async def _best(
    workspace: Workspace, table: str, cells: CellPair, guesses: list[Guess]
) -> list[Guess]:
    columns = ["COUNT(*) AS n"]
    for index, guess in enumerate(guesses):
        _, a, b = _read(cells, guess.rule, sql.bare("a"), sql.bare("b"))
        test = compile_sql(filled(guess.test or "TRUE", "duckdb", a=a, b=b), "duckdb")
        columns.append(f"COUNT_IF({test} AND {is_equal(cells, guess.rule)}) AS c{index}")
    text = f"SELECT {', '.join(columns)} FROM {{sample}}"  # noqa: S608 - our own names
    [row] = await _rows(workspace, table, text)
    total = int(row["n"])
    counts = [int(row[f"c{index}"]) for index in range(len(guesses))]
    most = max(counts)
    if most < max(LEAST, _SHARE * total):
        return []
    found = [
        replace(guess, explained=count, of=total)
        for guess, count in zip(guesses, counts, strict=True)
        if count >= _AS_GOOD * most
    ]
    chances = [await _by_chance(workspace, table, cells, guess) for guess in found[:_TRIED]]
    return [guess for guess, chance in zip(found, chances, strict=False) if _exceeds(guess, chance)]


async def _by_chance(workspace: Workspace, table: str, cells: CellPair, guess: Guess) -> float:
    """The share of pairs of different values of one side that a rule makes equal; the smaller."""
    if guess.rule.is_one_sided:
        return 0.0
    different, equal = f"NOT {is_equal(cells, Rule())}", is_equal(cells, guess.rule)
    shares: list[float] = []
    for side in "ab":
        few = f"(SELECT {side} AS v FROM {{sample}} LIMIT {_PAIRED})"  # noqa: S608 - our own names
        text = (
            f"SELECT COUNT_IF({different}) AS n, COUNT_IF({different} AND {equal}) AS same"  # noqa: S608
            f" FROM (SELECT x.v AS a, y.v AS b FROM {few} AS x CROSS JOIN {few} AS y) AS pairs"
        )
        [row] = await _rows(workspace, table, text)
        shares.append(int(row["same"]) / max(1, int(row["n"])))
    return min(shares)


def _exceeds(guess: Guess, chance: float) -> bool:
    """Whether a rule explains clearly more rows than it makes equal of any different values."""
    expected = guess.of * chance
    return guess.explained - expected > 3 * math.sqrt(expected * (1 - chance))


def is_equal(cells: CellPair, rule: Rule, a: str = "a", b: str = "b") -> str:
    """The test, in parentheses, whether two columns of texts of cells are equal by a rule."""
    pair, one, other = _read(cells, rule, sql.bare(a), sql.bare(b))
    return f"(NOT ({compile_sql(differs(pair, one, other, 'duckdb'), 'duckdb')}))"


def _read(
    cells: CellPair, rule: Rule, a: exp.Expr, b: exp.Expr
) -> tuple[CellPair, exp.Expr, exp.Expr]:
    """The texts of two cells in types by which a rule applies."""
    if cells.family in {"number", "float"}:
        return CellPair(DIGITS, DIGITS, "number", rule), a, b
    kinds = [_TYPES[kind.kind] for kind in (cells.a, cells.b)]
    read = [
        exp.TryCast(this=value, to=exp.DataType.build(kind.sql, dialect="duckdb"))
        for kind, value in zip(kinds, (a, b), strict=True)
    ]
    return CellPair(kinds[0], kinds[1], cells.family, rule), read[0], read[1]


async def _rows(workspace: Workspace, table: str, template: str) -> list[dict[str, Any]]:
    """The rows of a statement over the sample, which it calls `{sample}`."""
    return await fetch(workspace, Statement(template.replace("{sample}", f'"{table}"'), {}))


async def _of_numbers(workspace: Workspace, table: str, most_places: int) -> Iterator[Guess]:
    """Factors, sums and roundings."""
    [facts] = await _rows(workspace, table, _NUMBERS)
    gaps = await _rows(workspace, table, _GAPS)
    ratios = await _rows(workspace, table, _RATIOS)
    scales = [min(int(facts[name] or 0), most_places) for name in ("scale_a", "scale_b")]
    factors = list(
        dict.fromkeys(
            factor
            for ratio in (facts["ratio"], *(row["ratio"] for row in ratios))
            if ratio
            for factor in _plain_factors(float(ratio))
        )
    )
    [line] = await _rows(workspace, table, _LINE)
    return chain(
        _number_guesses(factors, [Decimal(row["gap"]) for row in gaps], scales),
        await _of_line(workspace, table, line, scales[1]),
    )


async def _of_line(
    workspace: Workspace, table: str, line: Mapping[str, Any], places: int
) -> list[Guess]:
    """A factor and a sum together, if the slopes between most numbers are nearly equal."""
    low, slope, high = (line[name] for name in ("low", "slope", "high"))
    if not slope or (high - low) > 0.01 * abs(slope):
        return []
    guesses: list[Guess] = []
    for factor in dict.fromkeys(_plain_factors(float(slope))):
        template = _OFFSET.replace("{factor}", _number(factor))
        [row] = await _rows(workspace, table, template)
        if row["plus"] is None:
            continue
        exact = Decimal(repr(float(row["plus"])))
        rounded = (Decimal(f"{exact:.{digits}f}").normalize() for digits in (0, places))
        for plus in dict.fromkeys(rounded):
            written = f"factor={_number(factor)},plus={_number(plus)}"
            if plus and (guess := _stated(written, factor=factor, plus=plus)):
                guesses += [guess, _rounded(guess, places)]
    return guesses


def _number_guesses(
    factors: list[Decimal], gaps: list[Decimal], scales: list[int]
) -> Iterator[Guess]:
    multiplied = [_stated(f"factor={_number(each)}", factor=each) for each in factors]
    divided = [
        None if inverse is None else _stated(f"divisor={_number(inverse)}", divisor=inverse)
        for inverse in map(_inverse, factors)
    ]
    yield from filter(None, (one or other for one, other in zip(divided, multiplied, strict=True)))
    added = (_stated(f"plus={_number(gap)}", plus=gap.normalize()) for gap in gaps)
    yield from filter(None, added)
    for places in range(max(scales)):
        sides = (
            f"SKILLIAN_COMPUTED({side}, '1', '0', {places})"
            f" = SKILLIAN_COMPUTED({side}, '1', '0', -1)"
            for side in "ab"
        )
        yield Guess(Rule(round=places), f"round={places}", f"({' OR '.join(sides)})")
    for factor, one, other in zip(factors, divided, multiplied, strict=True):
        if abs(factor) != 1:
            if one:
                yield _rounded(one, scales[0])
            if other:
                yield _rounded(other, scales[1])


def _inverse(factor: Decimal) -> Decimal | None:
    """What to divide by, if it is the same and shorter than the factor."""
    inverse = round(1 / factor, 6).normalize()
    is_same = abs(inverse * factor - 1) < Decimal("1e-11")
    return inverse if is_same and len(_number(inverse)) < len(_number(factor)) else None


def _rounded(guess: Guess, places: int) -> Guess:
    """The same, and then rounded; of numbers that are further apart than rounding moves one."""
    rule = guess.rule.model_copy(update={"round": places})
    beyond = f"ABS(TRY_CAST(b AS DOUBLE) - TRY_CAST(a AS DOUBLE)) >= {0.99 * 10**-places}"
    return Guess(rule, f"{guess.written},round={places}", beyond)


def _plain_factors(ratio: float) -> Iterator[Decimal]:
    """Numbers near a ratio, the shortest first, and those whose inverse is short."""
    if not 1 / _MOST < abs(ratio) < _MOST:
        return
    exact = Decimal(repr(ratio))
    for places in range(7):
        near = round(exact, places).normalize()
        if near and near != 1 and abs(near / exact - 1) < Decimal("0.002"):
            yield near
        inverse = round(1 / exact, places)
        if inverse and inverse != 1 and abs(inverse * exact - 1) < Decimal("0.002"):
            yield _EXACT.divide(Decimal(1), inverse).normalize()


def _of_times(gaps: list[Decimal], cells: CellPair) -> Iterator[Guess]:
    kinds = {cells.a.kind, cells.b.kind}
    for gap in gaps:
        if kinds != {"date"} or gap % 86_400 == 0:
            yield Guess(Rule(shift=gap.normalize()), f"shift={_span(gap)}")
    if kinds == {"date"}:
        return
    for unit in _UNITS:
        cut = " OR ".join(f"DATE_TRUNC('{unit}', {side}) = {side}" for side in "ab")
        yield Guess(Rule(precision=unit), f"precision={unit}", f"({cut})")
    for zone in _ZONES:
        if kinds == {"timestamptz", "timestamp"}:
            yield Guess(Rule(zone=zone), f"zone={zone}")
        elif kinds == {"timestamp"}:
            yield Guess(Rule(zone_b=zone), f"zone-b={zone}")
            yield Guess(Rule(zone_a=zone), f"zone-a={zone}")


def _span(seconds: Decimal) -> str:
    """A time as the command line states it, in the largest unit that divides it."""
    for unit, length in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds % length == 0:
            return f"{_number(seconds / length)}{unit}"
    return f"{_number(seconds)}s"


def _of_texts(length: int | None) -> Iterator[Guess]:
    for count in (1, 2):
        for names in combinations(_TEXT, count):
            written = ",".join(name.replace("_", "-") for name in names)
            yield Guess(Rule.model_validate(dict.fromkeys(names, True)), written)
            if count == 1 and length and names == _TEXT[-1:]:
                cut = f"LEAST(LENGTH(a), LENGTH(b)) <= {length}"
                yield Guess(Rule(length=length), f"length={length}", cut)


_NUMBERS = """
SELECT MEDIAN(y / x) FILTER (x <> 0 AND ABS(x) >= middle) AS ratio,
    QUANTILE_DISC(LENGTH(SPLIT_PART(RTRIM(a, '0'), '.', 2)), 0.98) FILTER (CONTAINS(a, '.'))
        AS scale_a,
    QUANTILE_DISC(LENGTH(SPLIT_PART(RTRIM(b, '0'), '.', 2)), 0.98) FILTER (CONTAINS(b, '.'))
        AS scale_b
FROM (
    SELECT a, b, TRY_CAST(a AS DOUBLE) AS x, TRY_CAST(b AS DOUBLE) AS y,
        MEDIAN(ABS(TRY_CAST(a AS DOUBLE))) OVER () AS middle
    FROM {sample}
) AS numbers
"""
_RATIOS = """
SELECT ratio FROM (
    SELECT ROUND(TRY_CAST(b AS DOUBLE) / NULLIF(TRY_CAST(a AS DOUBLE), 0), 6) AS ratio FROM {sample}
) AS ratios WHERE ISFINITE(ratio) GROUP BY ratio ORDER BY COUNT(*) DESC, ratio LIMIT 2
"""
# Of numbers far enough from each other that rounding matters little.
_LINE = """
SELECT QUANTILE_CONT(slope, 0.2) AS low, MEDIAN(slope) AS slope, QUANTILE_CONT(slope, 0.8) AS high
FROM (
    SELECT (y - LAG(y) OVER ()) / NULLIF(x - LAG(x) OVER (), 0) AS slope,
        ABS(x - LAG(x) OVER ()) AS distance, STDDEV_POP(x) OVER () AS spread
    FROM (SELECT TRY_CAST(a AS DOUBLE) AS x, TRY_CAST(b AS DOUBLE) AS y FROM {sample}) AS numbers
) AS slopes WHERE ISFINITE(slope) AND distance >= spread
"""
_OFFSET = """
SELECT MEDIAN(TRY_CAST(b AS DOUBLE) - {factor} * TRY_CAST(a AS DOUBLE)) AS plus FROM {sample}
"""
_GAPS = """
SELECT CAST(gap AS TEXT) AS gap FROM (
    SELECT TRY_CAST(b AS DECIMAL(38, 9)) - TRY_CAST(a AS DECIMAL(38, 9)) AS gap FROM {sample}
) AS gaps WHERE gap IS NOT NULL GROUP BY gap ORDER BY COUNT(*) DESC, gap LIMIT 2
"""
_SECONDS = """
SELECT gap FROM (
    SELECT EPOCH_US(TRY_CAST(b AS TIMESTAMP WITH TIME ZONE))
        - EPOCH_US(TRY_CAST(a AS TIMESTAMP WITH TIME ZONE)) AS gap FROM {sample}
) AS gaps WHERE gap IS NOT NULL GROUP BY gap ORDER BY COUNT(*) DESC, gap LIMIT 2
"""
# Codes with anything after them are not texts that were cut.
_LENGTHS = """
SELECT CASE WHEN length >= 5 OR (longer <= 2 * shorter AND 4 * longer <= n) THEN length END
    AS length
FROM (
    SELECT COUNT(*) AS n, MODE(LEAST(LENGTH(a), LENGTH(b))) AS length,
        COUNT(DISTINCT CASE WHEN LENGTH(a) > LENGTH(b) THEN a ELSE b END) AS longer,
        COUNT(DISTINCT CASE WHEN LENGTH(a) > LENGTH(b) THEN b ELSE a END) AS shorter
    FROM {sample}
    WHERE LENGTH(a) <> LENGTH(b) AND LEAST(LENGTH(a), LENGTH(b)) > 0
        AND (STARTS_WITH(a, b) OR STARTS_WITH(b, a))
) AS lengths
"""
