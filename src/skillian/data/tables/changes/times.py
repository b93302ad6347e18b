"""Times that a rule moves, or reads by the clocks of a zone."""

from __future__ import annotations

from sqlglot import exp

from skillian.connectors.dialects import filled
from skillian.data.declare.rules import Rule
from skillian.data.tables.cells import FLOOR, UTC, CellPair, literal, moment
from skillian.data.tables.types import CellType

_DAY = CellType("timestamp", "TIMESTAMP")
_MOVED_NANOSECONDS = """
CASE WHEN ISFINITE(v)
THEN MAKE_TIMESTAMP_NS(EPOCH_NS(v) + (EPOCH_US(moved) - EPOCH_US(whole)) * 1000) ELSE v END
"""


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
