from __future__ import annotations

from sqlglot import exp

from skillian.connectors.base import ColumnType
from skillian.data import sql
from skillian.data.declare.definitions import Dimension
from skillian.data.query.dimensions import DimensionBuilder
from skillian.data.query.unfit import unfit_test


def unfit(kind: str | None = None, pattern: str | None = None) -> exp.Expr | None:
    definition = Dimension(column="a", type=kind, format=pattern)
    builder = DimensionBuilder(definition, sql.BoundValues())
    text = ColumnType("text", "VARCHAR")
    return unfit_test(builder.build(sql.column("a", "source"), text)[0], "postgres")


def test_databases_that_cannot_try_a_conversion_test_the_pattern() -> None:
    test = unfit("integer")
    assert test is not None
    assert test.sql("postgres") == """NOT "source"."a" ~ '^[+-]?[0-9]+$'"""
    assert unfit("date", "%Y%m") is None
    assert unfit() is None
