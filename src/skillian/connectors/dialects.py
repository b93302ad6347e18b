"""From the neutral tree of a statement to the text that one database runs.

The module that an engine names as its `rules` has a function `adapt`: it returns the node that
replaces one node of the tree, and raises `QueryError` where the database has no equivalent.
"""

import re
from collections.abc import Callable, Collection, Mapping
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, cast

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from skillian.connectors import ENGINES, load_dialect
from skillian.errors import QueryError

MOMENT_PATTERN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?)?$"
"""The texts that are read as timestamps."""
READ_CODES = {
    "%Y": "[0-9]{4}",
    "%y": "(6[0-8]|[0-57-9][0-9])",  # 69 is 1969 or 2069
    **dict.fromkeys(("%m", "%d", "%H", "%M", "%S"), "[0-9]{1,2}"),
    "%f": "[0-9]{1,6}",
    "%j": "[0-9]{1,3}",
    "%b": "[A-Za-z]{3}",
    "%B": "[A-Za-z]+",
}
"""The codes of strftime by which several databases read a time, and what they match."""
QUOTIENT = "((v) - (v) % (w)) / (w)"
"""The template of a quotient of two whole numbers where DIV has 64 bits, and `/` rounds."""
_MOST_TEMPLATES = 1000
_PARTS = ("this", "expression", "format", "fill_pattern", "start", "length", "replacement")
Adapt = Callable[[exp.Expr], exp.Expr]
"""Returns the replacement of a node; raises `QueryError` where there is no equivalent."""
Change = Callable[[Any], exp.Expr] | str
"""An `Adapt`, or a template with the parts of the node, which are adapted too, as `v`, `w`, `x`."""
Casts = Mapping[exp.DType | tuple[exp.DType, exp.DType], Change]
"""Changes of casts by their types, or by that and the type of the value, which counts first."""
_CODE = re.compile(r"(?P<code>%-?.)|(?P<text>[^%]+|%)", re.DOTALL)
_NO_CASTS: Casts = {}


def compile_sql(tree: exp.Expr, dialect: str) -> str:
    """The statement in a sqlglot dialect; values stay bound, names quoted."""
    adapt = _adapter(dialect)
    adapted = tree.copy() if adapt is None else replaced(tree, adapt)
    return adapted.sql(dialect, pretty=True, copy=False)


@cache
def _adapter(dialect: str) -> Adapt | None:
    """`adapt` of an engine with the dialect; None if there is no such engine."""
    rules = next((engine.rules for engine in ENGINES if engine.dialect == dialect), None)
    if rules is None:
        return None
    load_dialect(dialect)
    module = import_module(f"skillian.connectors.{rules}")
    return cast("Adapt", module.adapt)


def adapter(
    dialect: str, changes: Mapping[type[exp.Expr], Change], casts: Casts = _NO_CASTS
) -> Adapt:
    """The `adapt` that changes each kind of node, and each cast, as these say, and no others.

    `dialect` is that of the templates.
    """

    def adapt(node: exp.Expr) -> exp.Expr:
        change = changes.get(type(node))
        if isinstance(node, exp.Cast):
            goal, kind = node.to.this, node.this.type
            of_both = None if kind is None else casts.get((goal, kind.this))
            change = of_both or casts.get(goal, change)
        if isinstance(change, str):
            value = of_parts(change, dialect, node, adapt)
            is_call = isinstance(value.this, exp.Func) and not isinstance(value.this, exp.Binary)
            return value.this if is_call else value
        return node if change is None else change(node)

    return adapt


def codes_of(form: str, known: Collection[str], database: str) -> list[tuple[str, str]]:
    """A pattern of strftime as its codes and the texts between them; one of each pair is empty.

    `%%` is the text `%`. Raises `QueryError` for a code that is not one of `known`.
    """
    parts = [(match["code"] or "", match["text"] or "") for match in _CODE.finditer(form)]
    parts = [("", "%") if code == "%%" else (code, text) for code, text in parts]
    for code, _ in parts:
        if code and code not in known:
            raise QueryError(
                f"`format: {form}`: {database} has no equivalent of {code}; known:"
                f" {' '.join(sorted(known))}"
            )
    return parts


def of_parts(template: str, dialect: str, node: exp.Expr, adapt: Adapt) -> exp.Expr:
    """A template with the parts of a node as `v`, `w` and `x`."""
    parts = [node.args[key] for key in _PARTS if isinstance(node.args.get(key), exp.Expr)]
    values = {name: replaced(part, adapt) for name, part in zip("vwx", parts, strict=False)}
    return filled(template, dialect, **values)


def single_query(statement: str, dialect: str) -> exp.Query | None:
    """The tree of a statement; None unless it is a single SELECT."""
    try:
        trees = sqlglot.parse(statement, dialect=dialect)
    except (SqlglotError, RecursionError):
        return None
    tree = trees[0] if len(trees) == 1 else None
    return tree if isinstance(tree, exp.Query) else None


def replaced(tree: exp.Expr, change: Adapt) -> exp.Expr:
    """A copy of the tree in which `change` has replaced nodes, from the top down.

    The children of a replaced node are not visited. `Expr.transform` does the same, but searches
    a whole list again for each item that is replaced in it.
    """
    copy = tree.copy()
    root = change(copy)
    same = [root] if root is copy else []
    while same:
        node = same.pop()
        for key, value in tuple(node.args.items()):
            children = _nodes(value)
            changed = [change(each) for each in children]
            same += [old for old, new in zip(children, changed, strict=True) if old is new]
            if any(old is not new for old, new in zip(children, changed, strict=True)):
                node.set(key, changed if isinstance(value, list) else changed[0])
    return root


def _nodes(value: object) -> list[exp.Expr]:
    """The nodes that an argument of a node holds; its lists hold nothing but nodes."""
    if isinstance(value, exp.Expr):
        return [value]
    children = cast("list[object]", value) if isinstance(value, list) else []
    return [each for each in children if isinstance(each, exp.Expr)]


def printed_float(node: exp.Expr) -> exp.DType | None:
    """The kind of float that a node writes as text, if it does and the kind is known."""
    if isinstance(node, exp.Cast) and node.to.this == exp.DType.TEXT and node.this.type is not None:
        kind = node.this.type.this
        return kind if kind in {exp.DType.FLOAT, exp.DType.DOUBLE} else None
    return None


def call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    """A call of a function by the name that a database has for it."""
    return exp.Anonymous(this=name, expressions=[*arguments])


def filled(template: str, dialect: str, **values: exp.Expr) -> exp.Expr:
    """The expression of a template of SQL, its columns of these names replaced by `values`."""

    def change(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and not node.table and node.name in values:
            return values[node.name].copy()
        return node

    return replaced(_parsed(template, dialect), change)


@lru_cache(_MOST_TEMPLATES)
def _parsed(template: str, dialect: str) -> exp.Expr:
    return exp.Paren(this=sqlglot.parse_one(template, dialect=dialect))
