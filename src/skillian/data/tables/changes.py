"""What a rule computes of cells before they are compared by the rest of the rule."""

from __future__ import annotations

from decimal import Decimal

from sqlglot import exp

from skillian.connectors.dialects import filled
from skillian.data.declare.rules import Rule
from skillian.data.sql import MAX_DIGITS
from skillian.data.tables.cells import FLOOR, UTC, CellPair, exact_text, literal, moment
from skillian.data.tables.types import CellType

DIGITS = CellType("decimal", "VARCHAR", None, None)
"""A number of any width, as its text."""
_DAY = CellType("timestamp", "TIMESTAMP")
_MOVED_NANOSECONDS = """
CASE WHEN ISFINITE(v)
THEN MAKE_TIMESTAMP_NS(EPOCH_NS(v) + (EPOCH_US(moved) - EPOCH_US(whole)) * 1000) ELSE v END
"""


def computed(pair: CellPair, side: int, value: exp.Expr, dialect: str) -> tuple[CellPair, exp.Expr]:
    """A number times its factor, plus what is added, rounded: as a decimal, or as its text."""
    rule, own = pair.rule, (pair.a, pair.b)[side]
    one, divisor = Decimal(1), rule.divisor or Decimal(1)
    terms = (rule.factor or one, (rule.plus or Decimal(0)) * divisor), (divisor, Decimal(0))
    kinds = [_result(kind, *term) for kind, term in zip((pair.a, pair.b), terms, strict=True)]
    if dialect == "postgres" or DIGITS in kinds:
        kinds = [DIGITS, DIGITS]
    rest = Rule(absolute=rule.absolute, relative=rule.relative)
    result = CellPair(kinds[0], kinds[1], "number", rest)
    factor, plus = (f"{term:f}" for term in terms[side])
    if dialect != "postgres" and kinds[side] == DIGITS:
        places = -1 if rule.round is None else rule.round
        template = f"SKILLIAN_COMPUTED(v, '{factor}', '{plus}', {places})"
        return result, filled(template, dialect, v=exact_text(own, value, dialect))
    if own.kind in {"boolean", "float"}:
        value = exact_text(own, value, dialect)
    if dialect == "postgres":
        template, goal = f"CAST(v AS DECIMAL) * {factor} + {plus}", "DECIMAL"
    else:
        # The product of two decimals of few digits would have no more digits than they have.
        goal = f"DECIMAL({MAX_DIGITS}, {own.scale})"
        template = f"CAST(v AS {goal}) * {_exact(factor)} + {_exact(plus)}"
        goal = kinds[side].sql
    if rule.round is not None:
        template = f"ROUND({template}, {rule.round})"
    return result, filled(f"CAST({template} AS {goal})", dialect, v=value)


def _result(kind: CellType, factor: Decimal, plus: Decimal) -> CellType:
    """The decimal that holds a number times a factor plus another number; otherwise its text."""
    if kind.kind == "float" or kind.digits is None or kind.scale is None:
        return DIGITS
    (whole, scale), (more, places) = width(factor), width(plus)
    whole, scale = max(kind.digits + whole, more) + 1, max(kind.scale + scale, places)
    if whole + scale > MAX_DIGITS:
        return DIGITS
    return CellType("decimal", f"DECIMAL({whole + scale}, {scale})", whole, scale)


def width(number: Decimal) -> tuple[int, int]:
    """The number of digits before and after the point."""
    whole, _, fraction = f"{abs(number):f}".partition(".")
    return len(whole), len(fraction)


def _exact(number: str) -> str:
    whole, scale = width(Decimal(number))
    return f"CAST('{number}' AS DECIMAL({whole + scale}, {scale}))"


def moved(pair: CellPair, side: int, value: exp.Expr, dialect: str) -> tuple[CellPair, exp.Expr]:
    """A time by the clocks of the other side, and moved by the shift."""
    rule, own = pair.rule, (pair.a, pair.b)[side]
    zones = [zone or rule.zone or UTC for zone in (rule.zone_a, rule.zone_b)]
    kinds = [_DAY if kind.kind == "date" else kind for kind in (pair.a, pair.b)]
    zone = zones[0] if pair.b.kind == "timestamptz" else zones[1]
    rest = Rule(seconds=rule.seconds, precision=rule.precision, zone=zone)
    result = CellPair(kinds[0], kinds[1], "timestamp", rest)
    if own.kind == "date":
        value, own = moment(own, value, dialect), _DAY
    template = "v"
    # Instants have one clock time, but a clock time may be two instants.
    converted = 0 if zones[0] == UTC else 1
    if side == converted and {pair.a.kind, pair.b.kind}.isdisjoint({"timestamptz"}):
        own_zone, goal_zone = zones[side], zones[1 - side]
        template = f"v AT TIME ZONE {literal(own_zone)} AT TIME ZONE {literal(goal_zone)}"
    if side == 0 and rule.shift is not None:
        micros = int(rule.shift * 1_000_000)
        interval = f"INTERVAL '{micros} microseconds'"
        span = interval if dialect == "postgres" else f"TO_MICROSECONDS({micros})"
        template = f"({template}) + {span}"
    if own.nanos and template != "v":
        whole = filled(FLOOR[own.kind], dialect, v=value)
        goal = filled(template, dialect, v=whole)
        return result, filled(_MOVED_NANOSECONDS, dialect, v=value, whole=whole, moved=goal)
    return result, filled(template, dialect, v=value)


def changed(pair: CellPair, side: int, value: exp.Expr, dialect: str) -> tuple[CellPair, exp.Expr]:
    """A cell after what the rule computes, with the types that both sides then have.

    The rule of the result has only the rest: limits, units and a zone.
    """
    if pair.rule.changes_numbers and pair.family in {"number", "float"}:
        return computed(pair, side, value, dialect)
    if pair.rule.changes_clocks and pair.family in {"date", "timestamp"}:
        return moved(pair, side, value, dialect)
    return pair, value
