"""Cells after what their rule computes; they are then compared by the rest of the rule."""

from __future__ import annotations

from sqlglot import exp

from skillian.data.tables.cells import CellPair
from skillian.data.tables.changes.numbers import computed
from skillian.data.tables.changes.times import moved


def changed(pair: CellPair, side: int, value: exp.Expr, dialect: str) -> tuple[CellPair, exp.Expr]:
    """A cell after what the rule computes, with the types that both sides then have.

    The rule of the result has only the rest: limits, units and a zone.
    """
    if pair.rule.changes_numbers and pair.family in {"number", "float"}:
        return computed(pair, side, value, dialect)
    if pair.rule.changes_clocks and pair.family in {"date", "timestamp"}:
        return moved(pair, side, value, dialect)
    return pair, value
