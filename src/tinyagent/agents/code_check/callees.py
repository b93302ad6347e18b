"""What a block calls: the bodies of its functions, and of methods of its classes."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

from tinyagent.agents.code_check.names import BlockNames
from tinyagent.agents.code_check.syntax import Function, is_lazy, last_name, methods_of, yields

IN_GENERATOR = "generator"
"""Stands for a body whose reader may not ask for what comes after a `yield`."""

_TRANSPARENT = frozenset({"staticmethod", "classmethod", "property", "cache", "lru_cache"})
_OF_CLASSES = frozenset({"dataclass", "total_ordering", "final", "unique"})
_MAX_VARIANTS = 8
"""Functions of one name that are followed: one for each branch, for example."""
_AT_ONCE = frozenset({"__init__", "__post_init__"})


class Body(NamedTuple):
    """Statements that are run, and what is caught around them."""

    statements: Sequence[ast.stmt]
    caught: frozenset[str]


class Callees:
    """The functions and classes that a block defines, each under one name, and calls.

    What is bound more than once, or decorated, is not followed: it may be something else.
    """

    def __init__(self, block: BlockNames) -> None:
        self.functions = {
            name: nodes
            for name, nodes in block.functions.items()
            if block.bindings[name] == len(nodes) <= _MAX_VARIANTS
        }
        self.classes = {
            name: node
            for name, node in block.classes.items()
            if block.bindings[name] == 1
            and all(last_name(each) in _OF_CLASSES for each in node.decorator_list)
        }
        self._made: dict[str, dict[str, Function]] = {}
        self._methods: dict[str, frozenset[str]] = {}
        self._seen: set[tuple[ast.AST, frozenset[str]]] = set()
        self._bodies: list[Body] = []

    def next_body(self) -> Body | None:
        """A body that is called and has not been followed; None if there is none."""
        if not self._bodies:
            for methods in self._made.values():
                for name in methods.keys() & self._methods.keys():
                    if not is_lazy(methods[name]):
                        self._enter(methods[name], self._methods[name])
        return self._bodies.pop() if self._bodies else None

    def call(self, name: str, caught: frozenset[str], *, runs: bool) -> None:
        """A name is called; `runs` if what it returns is awaited or read."""
        if name in self.classes:
            methods = self._make(name)
            for method in methods.keys() & _AT_ONCE:
                self._enter(methods[method], caught)
        for function in self.functions.get(name, ()):
            if runs or not is_lazy(function):
                self._enter(function, caught)

    def call_method(self, function: ast.Attribute, caught: frozenset[str]) -> None:
        """A method of something is called; where twice, what is caught at both places counts."""
        earlier = self._methods.get(function.attr)
        self._methods[function.attr] = caught if earlier is None else earlier & caught
        if isinstance(function.value, ast.Name) and function.value.id in self.classes:
            self._make(function.value.id)

    def apply(self, node: ast.AST, caught: frozenset[str]) -> None:
        """A function is passed to one that calls it, or is called where it is defined."""
        if isinstance(node, ast.Lambda):
            self._enter(node, caught)
        elif isinstance(node, ast.Name):
            self.call(node.id, caught, runs=False)

    def _enter(self, function: Function | ast.Lambda, caught: frozenset[str]) -> None:
        if (function, caught) in self._seen:
            return
        self._seen.add((function, caught))
        if isinstance(function, ast.Lambda):
            self._bodies.append(Body([ast.Expr(function.body)], caught - {IN_GENERATOR}))
        elif all(last_name(each) in _TRANSPARENT for each in function.decorator_list):
            own = {IN_GENERATOR} if yields(function.body) else frozenset[str]()
            self._bodies.append(Body(function.body, caught - {IN_GENERATOR} | own))

    def _make(self, name: str) -> dict[str, Function]:
        """There are objects of a class; gives their methods by name."""
        if name not in self._made:
            methods: dict[str, Function] = {}
            self._made[name] = methods
            waiting, known = [name], {name}
            for each in waiting:
                node = self.classes[each]
                methods.update({m.name: m for m in methods_of(node) if m.name not in methods})
                bases = [last_name(base) for base in node.bases]
                waiting += [base for base in bases if base in self.classes and base not in known]
                known |= {*bases}
        return self._made[name]
