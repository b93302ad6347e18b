from sqlglot import exp

from skillian.connectors.base import ColumnType
from skillian.data import sql
from skillian.data.declare.definitions import Dimension
from skillian.data.query.dimensions import DimensionBuilder
from skillian.data.query.unfit import unfit_test

TEXT = ColumnType("text", "VARCHAR")


def value_of(kind: str | None = None, pattern: str | None = None) -> exp.Expr:
    definition = Dimension(column="a", type=kind, format=pattern)
    builder = DimensionBuilder(definition, sql.BoundValues())
    return builder.build(sql.column("a", "source"), TEXT)[0]


def test_duckdb_tries_every_conversion() -> None:
    test = unfit_test(value_of("date", "%Y%m"), "duckdb")
    assert test is not None
    written = test.sql("duckdb")
    assert "TRY_STRPTIME" in written
    assert " CAST(" not in written


def test_other_databases_test_the_pattern() -> None:
    test = unfit_test(value_of("integer"), "postgres")
    assert test is not None
    assert test.sql("postgres") == """NOT "source"."a" ~ '^[+-]?[0-9]+$'"""
    assert unfit_test(value_of("date", "%Y%m"), "postgres") is None
    assert unfit_test(value_of(), "postgres") is None
