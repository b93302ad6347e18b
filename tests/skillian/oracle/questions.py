"""What a comparison is asked about: two small tables, their declarations, and the request.

Declarations are written as in `sources.yaml`, as plain dictionaries.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.support.places import Table


@dataclass(frozen=True)
class Side:
    """One source: its table, and its dimensions and measures by logical name.

    A measure with both `column` and `expression` is declared by the expression, which means the
    column. `is_typed` says that the database knows the types of the columns. A hand-written `query`
    takes the place of the table.
    """

    name: str
    table: Table
    dimensions: Mapping[str, Mapping[str, Any]]
    measures: Mapping[str, Mapping[str, Any]]
    is_typed: bool = True
    query: str | None = None

    def declaration(self, connection: str, suffix: str = "") -> dict[str, Any]:
        """Return the source as `sources.yaml` declares it; its table's name ends with `suffix`."""
        table = {"table": f"{self.table.name}{suffix}"}
        return {
            "connection": connection,
            **(table if self.query is None else {"query": self.query}),
            "dimensions": self.dimensions,
            "measures": {name: _declared(measure) for name, measure in self.measures.items()},
        }


def _declared(measure: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in measure.items()
        if name != "column" or "expression" not in measure
    }


@dataclass(frozen=True)
class Question:
    """A call of `compare`, and what it is asked about; `settings` is `comparison` of the file."""

    a: Side
    b: Side
    measures: tuple[str, ...]
    align_on: tuple[str, ...] | None = None
    filters: Mapping[str, Any] = field(default_factory=dict)
    thresholds: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        names = self.a.name, self.b.name
        given = (*names, self.measures, self.align_on, self.filters)
        return given, {"thresholds": self.thresholds}
