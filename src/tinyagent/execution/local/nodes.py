"""Pieces of syntax trees that the rules for LOCAL code put in or look for."""

from __future__ import annotations

import ast

from tinyagent.execution.local.names import CHECK

_SMALL = 64


def call(name: str, at: ast.AST, *args: ast.expr) -> ast.Call:
    """A call of a guard, in the place of `at`."""
    call = ast.Call(func=ast.Name(name, ast.Load()), args=list(args), keywords=[])
    ast.copy_location(call, at)
    return ast.fix_missing_locations(call)


def check_at(node: ast.stmt) -> ast.Expr:
    """A look at the clock, in the place of `node`."""
    return ast.copy_location(ast.Expr(call(CHECK, node)), node)


def check_first(body: list[ast.stmt], *, after_docstring: bool = False) -> None:
    """Begin the body with a look at the clock."""
    first = body[0]
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    body.insert(1 if after_docstring and is_text else 0, check_at(first))


def is_small(node: ast.expr) -> bool:
    """Whether it is a small number, written out."""
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and abs(node.value) <= _SMALL
    )


def is_sequence(node: ast.expr) -> bool:
    """Whether it is a text, list or tuple, written out."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | bytes)
    return isinstance(node, ast.List | ast.Tuple | ast.JoinedStr)
