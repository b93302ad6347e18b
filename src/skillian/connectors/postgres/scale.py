"""The scale of a numeric expression, which PostgreSQL itself does not track.

`amount * -1` over a numeric(17,2) is a plain `numeric` to PostgreSQL, though none of its values
has more than two digits after the point. Here the scale follows from the rules of exact
arithmetic: a sum has the larger scale of its parts, a product the sum of their scales. Expressions
without such a rule (a quotient, an average, an unknown function) have no scale.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from skillian.connectors.base import MAX_DIGITS, ColumnType, Table

Scale = int | None
_Of = Callable[[exp.Expr], Scale]
Relation = Mapping[str, Scale]

_EXACT = frozenset({"integer", "decimal"})


def output_scales(statement: str, tables: Sequence[Table]) -> list[Scale]:
    """The scale of each column of a SELECT, in order; None if there is no rule for it."""
    known: dict[tuple[str, str], Relation] = {}
    names: dict[str, Any] = {}
    for table in tables:
        names.setdefault(table.schema, {})[table.name] = dict.fromkeys(table.columns, "NUMERIC")
        known[table.schema, table.name] = {
            name: kind.scale if kind.kind in _EXACT else None
            for name, kind in table.columns.items()
        }
    try:
        tree = parse_one(statement, dialect="postgres")
        _name_schemas(tree, [*known])
        schema = MappingSchema(names, dialect="postgres", normalize=False)
        tree = qualify(tree, schema=schema, dialect="postgres", validate_qualify_columns=False)
        return [scale for _, scale in _ScaledQuery(tree, known, {}).outputs()]
    except (SqlglotError, RecursionError):
        return []


def with_scales(
    columns: Sequence[tuple[str, ColumnType]], scales: Sequence[Scale]
) -> list[tuple[str, ColumnType]]:
    """The columns; each numeric with a known scale is a decimal."""
    if len(columns) != len(scales):
        return [*columns]
    return [
        (name, ColumnType("decimal", f"numeric({MAX_DIGITS},{scale})", scale))
        if kind.sql == "numeric" and scale is not None and scale <= MAX_DIGITS
        else (name, kind)
        for (name, kind), scale in zip(columns, scales, strict=True)
    ]


def _name_schemas(tree: exp.Expr, tables: Iterable[tuple[str, str]]) -> None:
    """Add the schema to each table name; `tables` are in the order of the search path."""
    schemas = {name: schema for schema, name in reversed([*tables])}
    own = {cte.alias for cte in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        if not table.db and table.name in schemas and table.name not in own:
            table.set("db", exp.to_identifier(schemas[table.name], quoted=True))


class _ScaledQuery:
    """One SELECT, or a set operation, with the relations it names."""

    def __init__(
        self,
        tree: exp.Expr,
        tables: Mapping[tuple[str, str], Relation],
        ctes: Mapping[str, Relation],
    ) -> None:
        self._tree = tree.unnest() if isinstance(tree, exp.Subquery) else tree
        self._tables = tables
        self._ctes = dict(ctes)
        for cte in self._tree.ctes if isinstance(self._tree, exp.Query) else ():
            self._ctes[cte.alias] = self._inner(cte.this)

    def outputs(self) -> list[tuple[str, Scale]]:
        """The columns in their order."""
        if isinstance(self._tree, exp.SetOperation):
            sides = (self._tree.left, self._tree.right)
            left, right = (_ScaledQuery(side, self._tables, self._ctes).outputs() for side in sides)
            return [
                (name, _largest((one, other)))
                for (name, one), (_, other) in zip(left, right, strict=False)
            ]
        if not isinstance(self._tree, exp.Select):
            return []
        sources = dict(self._sources(self._tree))
        return [(item.alias_or_name, _scale(item, sources)) for item in self._tree.expressions]

    def _inner(self, tree: exp.Expr) -> Relation:
        return dict(_ScaledQuery(tree, self._tables, self._ctes).outputs())

    def _sources(self, select: exp.Select) -> Iterable[tuple[str, Relation]]:
        first = select.args.get("from_")
        for clause in (*([first] if first else []), *select.args.get("joins", ())):
            source = clause.this
            if isinstance(source, exp.Table):
                relations = self._tables if source.db else self._ctes
                key = (source.db, source.name) if source.db else source.name
                known = cast("Mapping[object, Relation]", relations)
                yield source.alias_or_name, known.get(key, {})
            elif isinstance(source, exp.Subquery):
                yield source.alias_or_name, self._inner(source)


def _scale(node: exp.Expr, sources: Mapping[str, Relation]) -> Scale:
    if isinstance(node, exp.Column):
        return sources.get(node.table, {}).get(node.name)
    for types, rule in _RULES:
        if isinstance(node, types):
            return rule(node, lambda part: _scale(part, sources))
    return None


def _largest(scales: Iterable[Scale]) -> Scale:
    """The largest of the scales, None if one of them is unknown."""
    listed = list(scales)
    known = [scale for scale in listed if scale is not None]
    return max(known) if known and len(known) == len(listed) else None


def _together(node: exp.Expr, of: _Of) -> Scale:
    left, right = of(node.this), of(node.expression)
    return None if left is None or right is None else left + right


def _of_parts(node: exp.Expr, of: _Of) -> Scale:
    other = node.args.get("expression")
    return _largest(
        of(part) for part in (node.this, *node.expressions, *([other] if other else ()))
    )


def _of_case(node: exp.Expr, of: _Of) -> Scale:
    branches = [branch.args["true"] for branch in node.args["ifs"]]
    parts = [*branches, node.args.get("default")]
    return _largest(of(part) for part in parts if part is not None)


def _of_literal(node: exp.Expr, _: _Of) -> Scale:
    if node.is_string or not node.name.replace(".", "").isdecimal():
        return None
    return len(node.name.partition(".")[2])


def _of_round(node: exp.Expr, _: _Of) -> Scale:
    digits = node.args.get("decimals")
    if digits is None:
        return 0
    return int(digits.name) if digits.is_int and digits.name.isdecimal() else None


def _of_cast(node: exp.Expr, of: _Of) -> Scale:
    kind: exp.DataType = node.args["to"]
    if kind.this in exp.DataType.INTEGER_TYPES:
        return 0
    if kind.this != exp.DataType.Type.DECIMAL:
        return None
    if not kind.expressions:
        return of(node.this)
    return int(kind.expressions[1].name) if len(kind.expressions) > 1 else 0


_RULES: tuple[tuple[tuple[type[exp.Expr], ...], Callable[[exp.Expr, _Of], Scale]], ...] = (
    ((exp.Literal,), _of_literal),
    (
        (exp.Count, exp.Floor, exp.Ceil, exp.IntDiv, exp.Sign, exp.Length, exp.Null),
        lambda _node, _of: 0,
    ),
    (
        (exp.Alias, exp.Paren, exp.Neg, exp.Abs, exp.Sum, exp.Min, exp.Max, exp.Nullif),
        lambda node, of: of(node.this),
    ),
    ((exp.Mul,), _together),
    ((exp.Add, exp.Sub, exp.Mod, exp.Coalesce, exp.Greatest, exp.Least), _of_parts),
    ((exp.Case,), _of_case),
    ((exp.Round,), _of_round),
    ((exp.Cast,), _of_cast),
)
