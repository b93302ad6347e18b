"""Which values a conversion does not take, as SQL that does not fail at them."""

from sqlglot import exp

from skillian.data import sql


def unfit_test(value: exp.Expr, dialect: str) -> exp.Expr | None:
    """Return the test for rows in which `value` cannot be made; None where that cannot be asked.

    DuckDB can try a conversion; elsewhere only those can be tested that stand in a CASE of
    their own, with the pattern of what fits.
    """
    if dialect == "duckdb":
        there = [sql.negated(sql.is_null(column)) for column in value.find_all(exp.Column)]
        return sql.all_of([*there, sql.is_null(_tried(value))])
    for case in value.find_all(exp.Case):
        fits = case.args["ifs"][0].this
        if isinstance(fits, exp.RegexpLike):
            return sql.negated(fits)
    return None


def _tried(value: exp.Expr) -> exp.Expr:
    """Return the value with every conversion in it giving NULL in place of an error."""
    root = exp.Paren(this=value.copy())
    for read in [*root.find_all(exp.StrToTime)]:
        read.replace(exp.func("TRY_STRPTIME", read.this, read.args["format"]))
    for cast in [*root.find_all(exp.Cast)]:
        if type(cast) is exp.Cast:
            cast.replace(exp.TryCast(**cast.args))
    return root
