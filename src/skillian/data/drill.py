"""The rows behind one group of a comparison, on both sides."""

from collections.abc import Mapping
from dataclasses import dataclass

from skillian.data import sql
from skillian.data.comparison_plan import ComparisonPlan, Side
from skillian.data.filters import Condition, parse_filter
from skillian.data.ground import together
from skillian.data.query import QueryResult
from skillian.data.raw_rows import raw_rows
from skillian.data.values import coerce, jsonable
from skillian.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class DrillDown:
    """The rows of both sides that make up one group, as their tables hold them."""

    key: Mapping[str, object]
    a: QueryResult
    b: QueryResult

    def to_dict(self) -> dict[str, object]:
        """Return the rows for JSON."""
        key = {name: jsonable(value) for name, value in self.key.items()}
        return {"key": key, "a": self.a.to_dict(), "b": self.b.to_dict()}


async def drill_down(plan: ComparisonPlan, key: Mapping[str, object], limit: int) -> DrillDown:
    """Return at most `limit` rows of each side; `key` has a value, or None, for each dimension.

    Raises `InvalidInputError` for a key that is not one of this comparison.
    """
    if set(key) != set(plan.align_on):
        raise InvalidInputError(
            f"a group of this comparison is named by {', '.join(plan.align_on)}, not by"
            f" {', '.join(key) or 'nothing'}"
        )
    typed = {
        term.name: None if key[term.name] is None else coerce(term.name, key[term.name], term.type)
        for term in plan.a.keys
    }
    a, b = await together(_rows(plan.a, typed, limit), _rows(plan.b, typed, limit))
    return DrillDown(typed, a, b)


async def _rows(side: Side, key: Mapping[str, object], limit: int) -> QueryResult:
    source = side.source
    where: list[Condition] = list(side.where)
    for name, value in key.items():
        term = source.dimension(name, sql.Parameters())
        where += parse_filter(name, [value], term.type)
    return await raw_rows(source, where, limit, in_order=True)
