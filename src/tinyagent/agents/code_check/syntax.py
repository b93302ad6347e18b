"""Questions about a syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

Function = ast.FunctionDef | ast.AsyncFunctionDef
LOOPS = (ast.For, ast.AsyncFor, ast.While)

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_UNUSED_FIELDS = frozenset({"ctx", "op", "ops", "type_comment", "type_ignores"})
_FIELDS: dict[type, tuple[str, ...]] = {}


def children(node: ast.AST) -> list[ast.AST]:
    """The parts of a node that may hold names."""
    kind = node.__class__
    fields = _FIELDS.get(kind)
    if fields is None:
        fields = tuple(name for name in kind._fields if name not in _UNUSED_FIELDS)
        _FIELDS[kind] = fields
    found: list[ast.AST] = []
    for field in fields:
        value: Any = getattr(node, field, None)
        if value.__class__ is list:
            found += [each for each in value if isinstance(each, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def all_arguments(arguments: ast.arguments) -> list[ast.arg]:
    """The parameters of each kind."""
    several = [arguments.vararg, arguments.kwarg]
    own = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return own + [each for each in several if each is not None]


def last_name(node: ast.AST) -> str:
    """The last part of a name, an attribute or what is called; empty for anything else."""
    if isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def truth_of(node: ast.AST, constants: Mapping[str, Any]) -> bool | None:
    """Whether an expression is always true or always false; None if that is not known."""
    truth: bool | None = None
    if isinstance(node, ast.Constant):
        truth = bool(node.value)
    elif isinstance(node, ast.List | ast.Tuple | ast.Set):
        truth = None if node.elts else False
    elif isinstance(node, ast.Dict):
        truth = None if node.keys else False
    elif isinstance(node, ast.Name | ast.Attribute) and last_name(node) == "TYPE_CHECKING":
        truth = False
    elif isinstance(node, ast.Name) and node.id in constants:
        truth = bool(constants[node.id])
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = truth_of(node.operand, constants)
        truth = None if inner is None else not inner
    elif isinstance(node, ast.BoolOp):
        stops = isinstance(node.op, ast.Or)
        is_sure = stops in {truth_of(each, constants) for each in node.values}
        truth = stops if is_sure else None
    return truth


def names_in(node: ast.AST) -> set[str]:
    """The names anywhere in a node."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def parts_of_definition(node: Function) -> list[ast.AST]:
    """What a definition runs."""
    annotations = [*(each.annotation for each in all_arguments(node.args)), node.returns]
    own = [*node.decorator_list, *(each for each in annotations if each is not None)]
    return [*own, *defaults_of(node.args)]


def defaults_of(arguments: ast.arguments) -> list[ast.AST]:
    """The defaults of parameters."""
    return [each for each in (*arguments.defaults, *arguments.kw_defaults) if each is not None]


def methods_of(node: ast.ClassDef) -> list[Function]:
    """The functions in the body of a class."""
    return [each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]


def parts_of(body: Sequence[ast.AST], without: tuple[type, ...] = _FUNCTIONS) -> Iterable[ast.AST]:
    """All nodes of statements, except those inside nodes of some types: by default, functions."""
    stack = list(body)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, without):
            stack += children(node)


def yields(body: Sequence[ast.stmt]) -> bool:
    """Whether statements of a function make it a generator."""
    return any(isinstance(each, ast.Yield | ast.YieldFrom) for each in parts_of(body))


def is_lazy(function: Function | ast.Lambda) -> bool:
    """Whether a call does not run the body yet: of a coroutine function or a generator."""
    if isinstance(function, ast.Lambda):
        return False
    return isinstance(function, ast.AsyncFunctionDef) or yields(function.body)


def breaks(body: Collection[ast.stmt]) -> bool:
    """Whether the body of a loop may leave it by `break`."""
    parts = parts_of([*body], (*_FUNCTIONS, *LOOPS))
    return any(isinstance(each, ast.Break) for each in parts)


def leaves(statement: ast.stmt) -> bool:
    """Whether a statement of `finally` may end an exception."""
    parts = parts_of([statement])
    return any(isinstance(each, ast.Return | ast.Break | ast.Continue) for each in parts)


def is_never_awaitable(node: ast.expr, *, with_operators: bool) -> bool:
    """Whether the value is plain data; results of operators are, if no class defines its own."""
    plain = ast.Constant | ast.JoinedStr | ast.List | ast.Tuple | ast.Dict | ast.Set | ast.ListComp
    if isinstance(node, plain | ast.DictComp | ast.SetComp | ast.Lambda):
        return True
    if isinstance(node, ast.IfExp):
        return all(
            is_never_awaitable(each, with_operators=with_operators)
            for each in (node.body, node.orelse)
        )
    return with_operators and isinstance(node, ast.BinOp | ast.Compare | ast.UnaryOp)
