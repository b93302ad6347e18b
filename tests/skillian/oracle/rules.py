"""A short way to write the two tables of a rule, and to ask about them."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from tests.skillian.oracle.checks import check
from tests.skillian.oracle.questions import Column, Question, Side, Table
from tests.skillian.oracle.running import Pair

from skillian.data.results.groups import Difference
from skillian.data.results.result import ComparisonResult

KEY = Column("k")
AMOUNT = Column("v", "decimal")

Rows = Sequence[tuple[Any, ...]]


def side(
    name: str,
    rows: Rows,
    columns: Sequence[Column] = (KEY, AMOUNT),
    dimensions: Mapping[str, Any] | None = None,
    measures: Mapping[str, Any] | None = None,
) -> Side:
    """A source; numbers written as text are decimals where the column is one.

    Without more its dimension `key` is column k, and its measure `amount` the sum of v.
    """
    cells = tuple(
        tuple(_cell(value, column) for value, column in zip(row, columns, strict=True))
        for row in rows
    )
    return Side(
        name,
        Table(f"table_{name}", tuple(columns), cells),
        dimensions or {"key": {"column": "k"}},
        measures or {"amount": {"column": "v", "aggregation": "sum"}},
    )


def _cell(value: Any, column: Column) -> Any:
    return Decimal(value) if column.kind == "decimal" and value is not None else value


def question(a: Rows | Side, b: Rows | Side, **given: Any) -> Question:
    """A question about two sources a and b, by `key` and for `amount` by default."""
    sides = [
        each if isinstance(each, Side) else side(name, each) for name, each in (("a", a), ("b", b))
    ]
    settings = {"default_align_on": ["key"], **given.pop("settings", {})}
    measures = given.pop("measures", ("amount",))
    return Question(sides[0], sides[1], tuple(measures), settings=settings, **given)


def compared(pair: Pair, a: Rows | Side, b: Rows | Side, **given: Any) -> ComparisonResult:
    """Compare, and hold the whole answer against the oracle's."""
    asked = question(a, b, **given)
    result = pair.compared(asked)
    check(result, asked)
    return result


def statuses(result: ComparisonResult) -> dict[str, int]:
    """The classes that some group is in, and how many are."""
    return {name: count for name, count in result.summary.classes.to_dict().items() if count}


def only(result: ComparisonResult) -> Difference:
    [difference] = result.top_differences
    return difference


def keys(result: ComparisonResult) -> list[Any]:
    """The keys of the top differences, in their order."""
    return [next(iter(item.key.values())) for item in result.top_differences]
