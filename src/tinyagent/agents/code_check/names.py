"""One pass over a block of Python: where each name is bound, and what is looked up and called.

The scopes are Python's, and where a rule is hard to follow, a name counts as bound.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any

from tinyagent.agents.code_check.syntax import Function, all_arguments, children

BUILTINS = frozenset(
    {*dir(builtins), "copyright", "credits", "exit", "help", "license", "quit", "WindowsError"}
)

_OPENS_NAMES = frozenset({"dir", "eval", "exec", "globals", "locals", "vars", "__builtins__"})
_OPENS_ATTRIBUTES = frozenset(
    """
    __builtins__ __dict__ __globals__ currentframe f_back f_builtins f_globals f_locals _getframe
    modules
    """.split()  # noqa: SIM905 - a list to read, not a column
)
_OPENS_MODULES = frozenset({"__main__", "builtins"})
_MAIN = "__main__"
_LATE_ANNOTATIONS = sys.version_info >= (3, 14)


class Scope:
    """The names that a module, function, class or comprehension binds.

    Attributes:
        bound: Its names.
        parent: Where other names are looked up; None for the module.
        home: Where `:=` binds.
        is_async: Whether it may await.
        is_class: Whether functions inside do not see its names.
    """

    __slots__ = ("bound", "home", "is_async", "is_class", "parent")

    def __init__(
        self, parent: Scope | None, *, is_async: bool = False, is_class: bool = False
    ) -> None:
        self.bound: set[str] = set()
        self.parent = parent
        self.home = self
        self.is_async = is_async
        self.is_class = is_class

    def binds(self, name: str) -> bool:
        """Whether the name is bound here or around."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.bound:
                return True
            scope = scope.parent
        return False

    def around_functions(self) -> Scope:
        """What a function that is defined here sees besides its own names."""
        return self.parent if self.is_class and self.parent is not None else self


class BlockNames:
    """What a block binds, looks up, calls and awaits.

    Args:
        tree: The block.
        helpers: Names that exist already; importing them does nothing.

    Attributes:
        body: Its statements, without imports of helpers.
        module: The names of the module.
        bindings: How often each name is bound, anywhere.
        loads: Each name that is looked up, and where.
        calls: Calls of names.
        awaits: Each `await`, and where.
        functions: Functions and lambdas by the names that they are bound to.
        classes: By their names.
        constants: Names that are bound to a constant.
        has_imports: Whether anything is imported.
        is_open: Whether names may be bound in ways that cannot be followed.
    """

    def __init__(self, tree: ast.Module, helpers: Collection[str]) -> None:
        self.body = [each for each in tree.body if not _is_needless(each, helpers)]
        self.module = Scope(None)
        self.bindings: Counter[str] = Counter()
        self.loads: list[tuple[ast.Name, Scope]] = []
        self.calls: list[tuple[str, ast.Call]] = []
        self.awaits: list[tuple[ast.Await, Scope]] = []
        self.functions: dict[str, list[Function | ast.Lambda]] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        self.constants: dict[str, Any] = {}
        self.has_imports = False
        self.is_open = False
        self._annotations = not _LATE_ANNOTATIONS and not _has_future(self.body)
        self._stack: list[tuple[ast.AST, Scope]] = [(each, self.module) for each in self.body]
        while self._stack:
            node, scope = self._stack.pop()
            visit = _VISITORS.get(node.__class__)
            if visit is None:
                self._push_children(node, scope)
            else:
                visit(self, node, scope)

    def _push_children(self, node: ast.AST, scope: Scope) -> None:
        self._stack += [(child, scope) for child in children(node)]

    def _push(self, nodes: Collection[ast.AST | None], scope: Scope) -> None:
        self._stack += [(node, scope) for node in nodes if node is not None]

    def _bind(self, name: str, scope: Scope) -> None:
        scope.bound.add(name)
        self.bindings[name] += 1

    def _name(self, node: ast.Name, scope: Scope) -> None:
        if node.ctx.__class__ is ast.Load:
            self.loads.append((node, scope))
            if node.id in _OPENS_NAMES:
                self.is_open = True
        elif node.ctx.__class__ is ast.Store:
            self._bind(node.id, scope)

    def _constant(self, node: ast.Constant, _: Scope) -> None:
        if isinstance(node.value, str) and node.value.startswith(f"{_MAIN}."):
            self.is_open = True

    def _attribute(self, node: ast.Attribute, scope: Scope) -> None:
        if node.attr in _OPENS_ATTRIBUTES:
            self.is_open = True
        self._stack.append((node.value, scope))

    def _call(self, node: ast.Call, scope: Scope) -> None:
        function = node.func
        if isinstance(function, ast.Name):
            self.calls.append((function.id, node))
        of_object = isinstance(function, ast.Name) and function.id in {"dir", "vars"} and node.args
        if not of_object:
            self._stack.append((function, scope))
        self._push(node.args, scope)
        self._push(node.keywords, scope)
        if any(isinstance(each, ast.Constant) and each.value == _MAIN for each in node.args):
            self.is_open = True

    def _await(self, node: ast.Await, scope: Scope) -> None:
        self.awaits.append((node, scope))
        self._stack.append((node.value, scope))

    def _assign(self, node: ast.Assign, scope: Scope) -> None:
        target = node.targets[0]
        if len(node.targets) == 1 and isinstance(target, ast.Name):
            if isinstance(node.value, ast.Constant):
                self.constants[target.id] = node.value.value
            elif isinstance(node.value, ast.Lambda):
                self.functions.setdefault(target.id, []).append(node.value)
        self._push_children(node, scope)

    def _annotated(self, node: ast.AnnAssign, scope: Scope) -> None:
        self._push((node.target, node.value), scope)
        if self._annotations and (scope is self.module or scope.is_class):
            self._stack.append((node.annotation, scope))

    def _augmented(self, node: ast.AugAssign, scope: Scope) -> None:
        if scope is self.module and isinstance(node.target, ast.Name):
            self.loads.append((node.target, scope))
            self.bindings[node.target.id] += 1
        else:
            self._stack.append((node.target, scope))
        self._stack.append((node.value, scope))

    def _walrus(self, node: ast.NamedExpr, scope: Scope) -> None:
        self._bind(node.target.id, scope.home)
        self._stack.append((node.value, scope))

    def _function(self, node: Function, scope: Scope) -> None:
        self._bind(node.name, scope)
        self.functions.setdefault(node.name, []).append(node)
        inner = Scope(scope.around_functions(), is_async=isinstance(node, ast.AsyncFunctionDef))
        self._push(node.decorator_list, scope)
        self._arguments(node.args, scope, inner)
        if self._annotations and node.returns is not None:
            self._stack.append((node.returns, scope))
        self._type_parameters(node, scope)
        self._push(node.body, inner)

    def _lambda(self, node: ast.Lambda, scope: Scope) -> None:
        inner = Scope(scope.around_functions())
        self._arguments(node.args, scope, inner)
        self._stack.append((node.body, inner))

    def _arguments(self, arguments: ast.arguments, scope: Scope, inner: Scope) -> None:
        self._push(arguments.defaults, scope)
        self._push(arguments.kw_defaults, scope)
        for each in all_arguments(arguments):
            self._bind(each.arg, inner)
            if self._annotations and each.annotation is not None:
                self._stack.append((each.annotation, scope))

    def _class(self, node: ast.ClassDef, scope: Scope) -> None:
        self._bind(node.name, scope)
        self.classes[node.name] = node
        inner = Scope(scope.around_functions(), is_class=True)
        self._push(node.decorator_list, scope)
        self._push(node.bases, scope)
        self._push(node.keywords, scope)
        self._type_parameters(node, scope)
        self._push(node.body, inner)

    def _type_parameters(self, node: ast.AST, scope: Scope) -> None:
        for each in getattr(node, "type_params", ()):  # its bounds are read only on demand
            self._bind(each.name, scope)

    def _type_alias(self, node: Any, scope: Scope) -> None:
        self._bind(node.name.id, scope)
        self._type_parameters(node, scope)

    def _comprehension(self, node: Any, scope: Scope) -> None:
        inner = Scope(scope, is_async=scope.is_async)
        inner.home = scope.home
        first = node.generators[0].iter
        self._stack.append((first, scope))
        for generator in node.generators:
            self._stack.append((generator.target, inner))
            self._push(generator.ifs, inner)
            if generator.iter is not first:
                self._stack.append((generator.iter, inner))
        results = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
        self._push(results, inner)

    def _import(self, node: ast.Import, scope: Scope) -> None:
        self.has_imports = True
        for alias in node.names:
            self._bind(alias.asname or alias.name.partition(".")[0], scope)
            if alias.name in _OPENS_MODULES:
                self.is_open = True

    def _import_from(self, node: ast.ImportFrom, scope: Scope) -> None:
        self.has_imports = True
        for alias in node.names:
            if alias.name == "*":
                self.is_open = True
            else:
                self._bind(alias.asname or alias.name, scope)
                if alias.name in _OPENS_ATTRIBUTES:
                    self.is_open = True

    def _global(self, node: ast.Global, _: Scope) -> None:
        for name in node.names:
            self._bind(name, self.module)

    def _named(self, node: Any, scope: Scope) -> None:
        """An except handler, or a pattern with a name."""
        name = node.rest if isinstance(node, ast.MatchMapping) else node.name
        if name is not None:
            self._bind(name, scope)
        self._push_children(node, scope)


_VISITORS: dict[type, Callable[[BlockNames, Any, Scope], None]] = {
    getattr(ast, kind): getattr(BlockNames, method)
    for kind, method in (
        ("Name", "_name"),
        ("Constant", "_constant"),
        ("Attribute", "_attribute"),
        ("Call", "_call"),
        ("Await", "_await"),
        ("Assign", "_assign"),
        ("AnnAssign", "_annotated"),
        ("AugAssign", "_augmented"),
        ("NamedExpr", "_walrus"),
        ("FunctionDef", "_function"),
        ("AsyncFunctionDef", "_function"),
        ("Lambda", "_lambda"),
        ("ClassDef", "_class"),
        ("TypeAlias", "_type_alias"),
        ("ListComp", "_comprehension"),
        ("SetComp", "_comprehension"),
        ("DictComp", "_comprehension"),
        ("GeneratorExp", "_comprehension"),
        ("Import", "_import"),
        ("ImportFrom", "_import_from"),
        ("Global", "_global"),
        ("ExceptHandler", "_named"),
        ("MatchAs", "_named"),
        ("MatchStar", "_named"),
        ("MatchMapping", "_named"),
    )
    if hasattr(ast, kind)
}


def _is_needless(node: ast.stmt, helpers: Collection[str]) -> bool:
    """Whether it imports only helpers, which the sandbox leaves out."""
    return isinstance(node, ast.Import | ast.ImportFrom) and all(
        alias.name in helpers and alias.asname in {None, alias.name} for alias in node.names
    )


def _has_future(body: list[ast.stmt]) -> bool:
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(alias.name == "annotations" for alias in node.names)
        for node in body
    )
