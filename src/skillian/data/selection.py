"""The part every statement starts from: the filtered rows of one source, as values."""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from skillian.data import sql
from skillian.data.binding import BoundSource
from skillian.data.filters import Condition, Filters, check_size, condition_sql, parse_filter
from skillian.errors import InvalidInputError


def conditions(source: BoundSource, filters: Filters | None) -> tuple[Condition, ...]:
    """Return the filters as typed conditions on the source's dimensions.

    Raises `InvalidInputError` for a value that does not fit, too many values, or a filter on a
    measure, and `UnknownNameError` for a dimension that is not declared.
    """
    check_size((filters or {}).values())
    found: list[Condition] = []
    for name, given in (filters or {}).items():
        if name in source.definition.measures:
            raise InvalidInputError(
                f"filter on {name!r}: it is a measure of {source.name}; filters take dimensions"
            )
        kind = source.dimension(name, sql.Parameters()).type
        found.extend(parse_filter(name, given, kind))
    return tuple(found)


def filtered_rows(
    source: BoundSource,
    values: Mapping[str, exp.Expr],
    where: Sequence[Condition],
    parameters: sql.Parameters,
) -> exp.Select:
    """Return `SELECT value AS "name", … FROM source WHERE conditions`."""
    columns = [sql.named(value.copy(), name) for name, value in values.items()]
    select = source.rows(exp.Select(expressions=columns or [exp.Literal.number(1)]))
    tests: list[exp.Expr] = []
    for condition in where:
        term = source.dimension(condition.dimension, parameters)
        tests.append(condition_sql(condition, term.value, term.type, parameters))
    return select.where(sql.all_of(tests), copy=False) if tests else select
