"""A vendor's SQL as a table: names of types, and templates for what sqlglot does not translate."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from skillian.connectors.dialects import of_parts, replaced
from skillian.errors import QueryError

_Type = exp.DataType.Type
_TIMESTAMPS = frozenset({_Type.TIMESTAMP, _Type.TIMESTAMPNTZ, _Type.DATETIME})


@dataclass(frozen=True, slots=True)
class SQLRules:
    """What is particular to a vendor's SQL.

    In a template `v` is the value, and `w` the second argument.

    Attributes:
        title: The vendor's name, for messages.
        dialect: The sqlglot dialect of the templates.
        text: The template of a value as text; texts are compared by their bytes.
        timestamp: The template of the text of a timestamp: `2024-01-31 10:00:00.5`, without zeros
            at the end of the fraction.
        timestamptz: The same in UTC, with `+00` at its end.
        whole: The widest type of whole numbers.
        functions: A template for each kind of node that sqlglot translates to something else, or
            an empty text if there is no equivalent.
    """

    title: str
    dialect: str
    text: str
    timestamp: str
    timestamptz: str
    whole: str
    functions: Mapping[type[exp.Expr], str] = field(default_factory=dict[type[exp.Expr], str])

    def adapt(self, node: exp.Expr) -> exp.Expr:
        """The replacement of a node; raises `QueryError` where there is no equivalent."""
        if isinstance(node, exp.Cast):
            return self._cast(node)
        template = self.functions.get(type(node))
        if template is None:
            return node
        if not template and node.meta.get("lenient"):
            return replaced(node.this, self.adapt)
        if not template:
            raise QueryError(
                f"{self.title} has no equivalent of {type(node).__name__}; compare without it, or"
                " export the table to a file"
            )
        return self._filled(template, node)

    def _cast(self, node: exp.Cast) -> exp.Expr:
        goal, kind = node.to.this, node.this.type
        if goal == _Type.INT128:
            return self._filled(f"CAST(v AS {self.whole})", node)
        if goal == _Type.TEXT and kind is not None and kind.this in _TIMESTAMPS:
            return self._filled(self.timestamp, node)
        if goal == _Type.TEXT and kind is not None and kind.this == _Type.TIMESTAMPTZ:
            return self._filled(self.timestamptz, node)
        return self._filled(self.text, node) if goal == _Type.TEXT else node

    def _filled(self, template: str, node: exp.Expr) -> exp.Expr:
        return of_parts(template, self.dialect, node, self.adapt)
