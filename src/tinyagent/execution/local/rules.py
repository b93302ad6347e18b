"""What code of trust level LOCAL may hold: RestrictedPython's transformer, with our rules.

RestrictedPython refuses every construct that it does not know; here it is told which of the rest
are safe with these guards. Reads of attributes go through `_getattr_`, writes to them through
`_write_`, and `_check_` stands wherever code could go on after its time is over.
"""
# ruff: noqa: N802, N815 - ast looks its visitors up by the names of the nodes

from __future__ import annotations

import ast
import copy
from typing import Any, TypeVar, cast

from RestrictedPython.transformer import RestrictingNodeTransformer

from tinyagent.execution.local.names import (
    DEFINABLE,
    HOLD,
    INSPECTION,
    LAST,
    LOAD,
    PATTERN,
    POWER,
    READABLE,
    REPEAT,
    RESERVED,
    SHIFT,
    TEMPORARY,
    WRITE,
    is_dunder,
    mangled,
    unmatched,
)
from tinyagent.execution.local.nodes import call, check_at, check_first, is_sequence, is_small

_Node = TypeVar("_Node", bound=ast.AST)
_GUARDED: dict[type[ast.operator], str] = {ast.Pow: POWER, ast.LShift: SHIFT}
_NO_ASYNC = "async code does not run here; tools are called as plain functions, without await"


class LocalRules(RestrictingNodeTransformer):
    """What is let through, what is guarded, and what is refused with a better way."""

    def __init__(self, *_: Any) -> None:
        super().__init__()
        self.refused: list[tuple[int, str]] = []
        self._scopes: list[str] = []
        self._classes: list[str] = []
        self._bound: list[ast.stmt] = []
        self._bindings = 0

    def refuse(self, line: int, why: str) -> None:
        """Note what is wrong."""
        self.refused.append((line, why))

    def error(self, node: ast.AST, info: str) -> None:
        """Note what is wrong with the node."""
        self.refuse(getattr(node, "lineno", 0), info)

    def not_allowed(self, node: ast.AST) -> None:
        """Refuse what nobody has looked at."""
        self.error(node, f"{type(node).__name__} is not supported")

    # names

    def check_name(
        self,
        node: Any,
        name: str | None,
        allow_magic_methods: bool = False,  # noqa: FBT001, FBT002 - RestrictedPython's signature
    ) -> None:
        """Refuse names that belong to Python or to the guards."""
        if name is None or name == "__name__":
            return
        in_class = bool(self._scopes) and self._scopes[-1] == "class"
        if name in RESERVED or name.startswith(TEMPORARY):
            self.error(node, f"the name {name} is reserved; choose another")
        elif is_dunder(name) and not (name in DEFINABLE and (in_class or allow_magic_methods)):
            self.error(node, f"the name {name} is not available; special names are Python's own")

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Check the name; `__name__` can be read, not set."""
        if node.id == "__name__" and not isinstance(node.ctx, ast.Load):
            self.error(node, "__name__ cannot be set")
        self.check_name(node, node.id)
        return node

    def visit_Global(self, node: ast.Global) -> ast.AST:
        """Check the names."""
        for name in node.names:
            self.check_name(node, name)
        return node

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.AST:
        """Check the names."""
        for name in node.names:
            self.check_name(node, name)
        return node

    def check_import_names(self, node: ast.ImportFrom | ast.Import) -> ast.AST:
        """Check what is bound; which modules are allowed is checked apart."""
        if getattr(node, "is_lazy", False):  # Python 3.15
            self.error(node, "import without lazy")
        for alias in node.names:
            if alias.name == "*":
                self.error(node, "import the names one by one instead of *")
            bound = alias.asname or alias.name.partition(".")[0]
            if bound != "__future__":
                self.check_name(node, bound)
        return node

    # attributes and items

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """`a.b` becomes `_getattr_(a, "b")`, and `a.b = c` `_write_(a, "b").b = c`."""
        self.node_contents_visit(node)
        name = mangled(node.attr, self._classes[-1]) if self._classes else node.attr
        self._check_attribute(node, name)
        if isinstance(node.ctx, ast.Load):
            return call(LOAD, node, node.value, ast.Constant(name))
        node.value = call(WRITE, node.value, node.value, ast.Constant(name))
        return node

    def _check_attribute(self, node: ast.Attribute, name: str) -> None:
        is_read = isinstance(node.ctx, ast.Load)
        readable = is_read and (name in DEFINABLE or name in READABLE)
        if name in INSPECTION or (is_dunder(name) and not readable):
            self.error(
                node, f"the attribute {name} is not available; it belongs to the interpreter"
            )

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Items need no guard: nothing that is shared can be reached through one."""
        return self.node_contents_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """Plain assignment; `__slots__` and `__match_args__` must be written out."""
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id in {"__slots__", "__match_args__"}:
                self._check_written_out(node, target.id)
        return self.node_contents_visit(node)

    def _check_written_out(self, node: ast.Assign, target: str) -> None:
        parts = node.value.elts if isinstance(node.value, ast.List | ast.Tuple) else [node.value]
        names = [part.value if isinstance(part, ast.Constant) else None for part in parts]
        if not all(isinstance(name, str) for name in names) or unmatched(names):
            self.error(node, f"{target} must be a tuple of ordinary names, written out")

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """`a **= b` and `a <<= b` are guarded like their plain forms."""
        self.node_contents_visit(node)
        guard = _GUARDED.get(type(node.op))
        if guard is None or not isinstance(node.target, ast.Name):
            return node
        loaded = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        value = call(guard, node, loaded, node.value)
        return ast.copy_location(ast.Assign(targets=[node.target], value=value), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Annotations are ordinary expressions."""
        if isinstance(node.target, ast.Name) and is_dunder(node.target.id):
            self.error(node, f"{node.target.id} cannot be annotated")
        return self.node_contents_visit(node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        """The name is checked as any other."""
        return self.node_contents_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Guard what makes a huge value in one go, which nothing could interrupt."""
        left, right = node.left, node.right
        guard = _GUARDED.get(type(node.op))
        if isinstance(node.op, ast.Mult) and (is_sequence(left) or is_sequence(right)):
            guard = REPEAT
        self.node_contents_visit(node)
        if guard is None or (is_small(left) and is_small(right)):
            return node
        return call(guard, node, node.left, node.right)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Calls are plain: what they reach was reached through a guard."""
        return self.node_contents_visit(node)

    # where time is checked

    def guard_iter(self, node: ast.For | ast.comprehension) -> ast.AST:
        """Loops over anything; a statement's body begins with the check."""
        self.node_contents_visit(node)
        if isinstance(node, ast.For):
            check_first(node.body)
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        """As `for`."""
        self.node_contents_visit(node)
        check_first(node.body)
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        """A handler that catches all would else swallow the end of the time."""
        self.check_name(node, node.name)
        self.node_contents_visit(node)
        check_first(node.body)
        return node

    def visit_Try(self, node: ast.Try) -> ast.AST:
        """So would `finally: continue`."""
        self.node_contents_visit(node)
        if node.finalbody:
            check_first(node.finalbody)
        return node

    def visit_TryStar(self, node: Any) -> ast.AST:
        """Safe, as no class of the code's own can be an exception group."""
        return self.visit_Try(cast("ast.Try", node))

    def visit_With(self, node: ast.With) -> list[ast.stmt]:
        """So would an `__exit__` that returns True."""
        self.node_contents_visit(node)
        return [node, check_at(node)]

    # definitions

    def _inside(self, scope: str, node: _Node) -> _Node:
        self._scopes.append(scope)
        try:
            return self.node_contents_visit(node)
        finally:
            self._scopes.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Names are checked; the body begins with the check."""
        self.check_name(node, node.name)
        self.check_function_argument_names(node)
        self._inside("function", node)
        check_first(node.body, after_docstring=True)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """Its arguments' names are checked."""
        self.check_function_argument_names(node)
        return self._inside("function", node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Classes are made by the guard in `__build_class__`, without metaclasses."""
        self.check_name(node, node.name)
        if any(keyword.arg in {"metaclass", None} for keyword in node.keywords):
            self.error(node, "no metaclass can be given; for abstract classes inherit from abc.ABC")
        self._classes.append(node.name)
        try:
            return self._inside("class", node)
        finally:
            self._classes.pop()

    def visit_Module(self, node: ast.Module) -> ast.AST:
        """The last expression's value is handed over, as in a notebook."""
        self.node_contents_visit(node)
        if node.body and isinstance(last := node.body[-1], ast.Expr):
            last.value = call(LAST, last.value, last.value)
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """Refused."""
        self.error(node, _NO_ASYNC)

    def visit_Await(self, node: ast.Await) -> None:
        """Refused."""
        self.error(node, _NO_ASYNC)

    # match reads attributes without the guard: what it reads by is looked at before it begins

    def visit_Match(self, node: ast.Match) -> list[ast.stmt]:
        """The classes and dotted names of the patterns are bound first, by their guards."""
        outer, self._bound = self._bound, []
        try:
            self.node_contents_visit(node)
            return [*self._bound, node]
        finally:
            self._bound = outer

    def _bind(self, guard: str, value: ast.expr) -> ast.Name:
        """A name that the code cannot use, for what the guard makes of the value."""
        self._bindings += 1
        name = f"{TEMPORARY}{self._bindings}_"
        guarded = call(guard, value, self.visit(value))
        target = ast.copy_location(ast.Name(name, ast.Store()), value)
        assign = ast.copy_location(ast.Assign(targets=[target], value=guarded), value)
        self._bound.append(assign)
        return ast.copy_location(ast.Name(name, ast.Load()), value)

    def visit_MatchClass(self, node: ast.MatchClass) -> ast.AST:
        """One that reads attributes needs a class whose instances are harmless."""
        for name in unmatched(node.kwd_attrs):
            self.error(node, f"no pattern can read the attribute {name}")
        if node.patterns or node.kwd_patterns:
            node.cls = self._bind(PATTERN, node.cls)
        else:
            self.visit(copy.deepcopy(node.cls))
        for pattern in (*node.patterns, *node.kwd_patterns):
            self.visit(pattern)
        return node

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.AST:
        """A literal or a dotted name."""
        node.value = self._held(node.value)
        return node

    def _held(self, value: ast.expr) -> ast.expr:
        """A dotted name, read by the guard."""
        if not isinstance(value, ast.Attribute):
            return value
        held = ast.Attribute(self._bind(HOLD, value), "value", ast.Load())
        return ast.copy_location(held, value)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> ast.AST:
        """Keys are literals or dotted names."""
        node.keys = [self._held(key) for key in node.keys]
        self.check_name(node, node.rest)
        for pattern in node.patterns:
            self.visit(pattern)
        return node

    def visit_MatchAs(self, node: ast.MatchAs) -> ast.AST:
        """Its name is checked."""
        self.check_name(node, node.name)
        return self.node_contents_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> ast.AST:
        """Its name is checked."""
        self.check_name(node, node.name)
        return node

    def _plain(self, node: ast.AST) -> ast.AST:
        """Safe as it is."""
        return self.node_contents_visit(node)

    visit_match_case = visit_MatchOr = _plain
    visit_MatchSequence = visit_MatchSingleton = _plain
