"""Which faults of a block are certain: those that fail wherever the block gets to them.

A fault counts where the block runs it: at its top, in branches and loops, in functions that it
calls by name, in methods of classes that it makes objects of. It does not count where the program
may want it or never gets to it: under an `except` or a manager that catches it, in `if False:`,
after `final_answer(...)` or `raise`, in an `except` block, in a function that is only defined,
passed on or decorated.

A branch may never be taken. There, faults count unless they name `IN_BRANCH` as a place where they
may be meant.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tinyagent.agents.code_check.callees import IN_GENERATOR, Body, Callees
from tinyagent.agents.code_check.names import BUILTINS, BlockNames
from tinyagent.agents.code_check.syntax import (
    LOOPS,
    Function,
    breaks,
    children,
    defaults_of,
    last_name,
    leaves,
    names_in,
    parts_of,
    parts_of_definition,
    truth_of,
    yields,
)

UNDEFINED, WRONG_USE = "NameError", "TypeError"
"""The exceptions that faults raise."""
IN_BRANCH = "branch"
"""Stands for a place that the block may not get to, although nothing is caught there."""

_BOTH = frozenset({UNDEFINED, WRONG_USE})
_NONE = frozenset[str]()
_CATCH = {
    "NameError": frozenset({UNDEFINED}),
    "TypeError": frozenset({WRONG_USE}),
    "Exception": _BOTH,
    "BaseException": _BOTH,
}
_TRY = (ast.Try, ast.TryStar)
_SWALLOWING = frozenset({"suppress", "raises", "assertRaises", "assertRaisesRegex", "subTest"})
_MANAGING = frozenset({"contextmanager", "asynccontextmanager", "__exit__", "__aexit__"})
_ENDING = frozenset({"final_answer", "exit", "quit", "_exit", "abort"})
_APPLYING = frozenset({"map", "filter", "sorted", "min", "max", "sort", "reduce"})
_LAZY = frozenset({"map", "filter"})
_CONSUMING = frozenset(
    {"list", "tuple", "set", "dict", "sum", "min", "max", "sorted", "any", "all", "next", "join"}
)
_AWAITING = frozenset({"run", "run_until_complete", "gather", "wait_for", "shield"})
_LEAVING = (ast.Raise, ast.Return, ast.Continue, ast.Break)
_COMPOUND = (ast.If, *LOOPS, *_TRY, ast.With, ast.AsyncWith, ast.Match)
_PLATFORM = frozenset({"sys", "os", "platform", "hasattr"})


class _Task(NamedTuple):
    """An expression to look into: what is caught there, and whether its coroutines are run."""

    node: ast.AST
    caught: frozenset[str]
    runs: bool = False


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is known from earlier blocks.

    Args:
        constants: Variables that have held the same constant ever since.
        manages: Whether they define context managers.
    """

    constants: Mapping[str, Any]
    manages: bool = False


def manages(block: BlockNames) -> bool:
    """Whether the block defines context managers, which may catch anything."""
    names = {*block.functions, *(node.id for node, _ in block.loads)}
    attributes = {
        each.attr
        for functions in block.functions.values()
        for function in functions
        if not isinstance(function, ast.Lambda)
        for decorator in function.decorator_list
        for each in ast.walk(decorator)
        if isinstance(each, ast.Attribute)
    }
    return not _MANAGING.isdisjoint(names | attributes)


def certain_faults(
    block: BlockNames, suspects: Mapping[ast.AST, frozenset[str]], around: Surroundings
) -> set[ast.AST]:
    """Those of the suspects that fail wherever the block gets to them.

    Args:
        block: What is known of it.
        suspects: Nodes that fail when they are run, and where they are not reported: where these
            exceptions are caught, or `IN_BRANCH`.
        around: What is known from earlier blocks.
    """
    reach = _Reach(block, suspects, around)
    reach.run(block.body)
    return reach.certain


class _Reach:
    def __init__(
        self, block: BlockNames, suspects: Mapping[ast.AST, frozenset[str]], around: Surroundings
    ) -> None:
        self.certain: set[ast.AST] = set()
        self._suspects = suspects
        self._constants = around.constants
        self._manages = around.manages or manages(block)
        self._callees = Callees(block)
        self._ending = _ENDING.difference(block.bindings)
        functions = self._callees.functions.items()
        self._ending |= {name for name, nodes in functions if self._always_end(nodes)}

    def run(self, body: Sequence[ast.stmt]) -> None:
        """Follow the block, and all that it calls."""
        called: Body | None = Body(body, _NONE)
        while called is not None:
            self._block(*called)
            called = self._callees.next_body()

    def _block(self, body: Sequence[ast.stmt], caught: frozenset[str]) -> bool:
        """Follow statements; whether the block never gets past them."""
        for statement in body:
            if self._statement(statement, caught):
                return True
            if IN_GENERATOR in caught and yields([statement]):
                return True  # its reader may ask for no more
            if isinstance(statement, _COMPOUND) and self._may_leave(statement):
                caught = caught | {IN_BRANCH}
        return False

    def _statement(self, node: ast.stmt, caught: frozenset[str]) -> bool:
        """Follow a statement; whether the block never gets past it."""
        visit = _STATEMENTS.get(node.__class__)
        if visit is not None:
            return visit(self, node, caught)
        self._expressions(children(node), caught)
        return self._ends(node)

    def _with(self, node: ast.With | ast.AsyncWith, caught: frozenset[str]) -> bool:
        self._expressions(node.items, caught)
        if any(map(self._may_swallow, node.items)):
            self._block(node.body, _BOTH)
            return False
        return self._block(node.body, caught)

    def _match(self, node: ast.Match, caught: frozenset[str]) -> bool:
        self._expressions([node.subject], caught)
        for case in node.cases:
            self._expressions([case.pattern, *([case.guard] if case.guard else [])], caught)
            self._block(case.body, caught | {IN_BRANCH})
        return False

    def _define(self, node: Function, caught: frozenset[str]) -> bool:
        self._expressions(parts_of_definition(node), caught)
        for each in node.decorator_list:
            self._callees.apply(each, caught)
        return False

    def _class(self, node: ast.ClassDef, caught: frozenset[str]) -> bool:
        self._expressions([*node.decorator_list, *node.bases, *node.keywords], caught)
        self._block(node.body, caught)
        return False

    def _assert(self, node: ast.Assert, caught: frozenset[str]) -> bool:
        self._expressions([node.test], caught)
        return truth_of(node.test, self._constants) is False

    def _if(self, node: ast.If, caught: frozenset[str]) -> bool:
        ends = True
        while True:  # a chain of `elif` may be longer than the stack is deep
            truth = truth_of(node.test, self._constants)
            self._expressions([node.test], caught)
            if names_in(node.test) & _PLATFORM:
                caught = caught | {UNDEFINED}
            if truth is None:
                caught = caught | {IN_BRANCH}
            if truth is not False:
                ends = self._block(node.body, caught) and ends
            if truth is True:
                return ends
            rest = node.orelse
            if len(rest) != 1 or not isinstance(rest[0], ast.If):
                return self._block(rest, caught) and ends
            node = rest[0]

    def _loop(self, node: Any, caught: frozenset[str]) -> bool:
        if isinstance(node, ast.While):
            truth = truth_of(node.test, self._constants)
            self._expressions([node.test], caught)
        else:
            truth = False if truth_of(node.iter, self._constants) is False else None
            self._expressions([node.iter], caught, runs=True)
            self._expressions([node.target], caught)
        if truth is not False:
            self._block(node.body, caught)
        if truth is True:
            return not breaks(node.body)
        self._block(node.orelse, caught)
        return False

    def _try(self, node: Any, caught: frozenset[str]) -> bool:
        inner = caught.union(*(self._caught_by(each.type) for each in node.handlers))
        if any(leaves(each) for each in node.finalbody):
            inner = _BOTH
        ends = self._block(node.body, inner)
        if not ends:
            self._block(node.orelse, caught)
        is_last = self._block(node.finalbody, caught)
        return is_last or (ends and not node.handlers)

    def _caught_by(self, kind: ast.expr | None) -> frozenset[str]:
        if kind is None:
            return _BOTH
        if isinstance(kind, ast.Tuple):
            return _NONE.union(*map(self._caught_by, kind.elts))
        name = last_name(kind)
        if name in _CATCH:
            return _CATCH[name]
        is_class = (
            name in self._callees.classes or name in BUILTINS or isinstance(kind, ast.Attribute)
        )
        return _NONE if is_class and not isinstance(kind, ast.Call) else _BOTH

    def _may_swallow(self, item: ast.withitem) -> bool:
        name = last_name(item.context_expr)
        return name in _SWALLOWING or (self._manages and name != "open")

    def _expressions(
        self, nodes: Iterable[ast.AST], caught: frozenset[str], *, runs: bool = False
    ) -> None:
        """Follow expressions; bodies that they call are left for later."""
        stack = [_Task(node, caught, runs) for node in nodes]
        while stack:
            task = stack.pop()
            node = task.node
            fault = self._suspects.get(node)
            if fault is not None and not fault & task.caught:
                self.certain.add(node)
            stack += self._parts(task)

    def _parts(self, task: _Task) -> list[_Task]:
        visit = _EXPRESSIONS.get(task.node.__class__)
        if visit is not None:
            return visit(self, task.node, task)
        runs = task.runs and isinstance(task.node, ast.Starred)
        return [_Task(each, task.caught, runs) for each in children(task.node)]

    def _lambda(self, node: ast.Lambda, task: _Task) -> list[_Task]:
        return [_Task(each, task.caught) for each in defaults_of(node.args)]

    def _comprehension(self, node: Any, task: _Task) -> list[_Task]:
        first, caught = node.generators[0].iter, task.caught
        is_read = task.runs or not isinstance(node, ast.GeneratorExp)
        if not is_read or truth_of(first, self._constants) is False:
            return [_Task(first, caught)]
        if any(each.ifs for each in node.generators):
            caught = caught | {IN_BRANCH}
        return [_Task(each, caught, task.runs) for each in children(node)]

    def _source(self, node: ast.comprehension, task: _Task) -> list[_Task]:
        rest = [_Task(each, task.caught) for each in (node.target, *node.ifs)]
        return [_Task(node.iter, task.caught, runs=True), *rest]

    def _await(self, node: ast.Await, task: _Task) -> list[_Task]:
        return [_Task(node.value, task.caught, runs=True)]

    def _call(self, node: ast.Call, task: _Task) -> list[_Task]:
        name, caught = last_name(node.func), task.caught
        if any(each.arg == "return_exceptions" for each in node.keywords):
            caught = _BOTH
        if isinstance(node.func, ast.Name):
            self._callees.call(name, task.caught, runs=task.runs)
        elif isinstance(node.func, ast.Attribute):
            self._callees.call_method(node.func, task.caught)
        if name in _APPLYING and (task.runs or name not in _LAZY):
            for each in [*node.args, *(keyword.value for keyword in node.keywords)]:
                self._callees.apply(each, caught)
        if isinstance(node.func, ast.Lambda):
            self._callees.apply(node.func, caught)
        runs = name in _AWAITING or name in _CONSUMING
        parts = [_Task(node.func, task.caught)]
        parts += [_Task(each, caught, runs) for each in node.args]
        return parts + [_Task(each.value, caught, runs) for each in node.keywords]

    def _operands(self, node: ast.BoolOp, task: _Task) -> list[_Task]:
        stops, caught = isinstance(node.op, ast.Or), task.caught
        reached: list[_Task] = []
        for each in node.values:
            reached.append(_Task(each, caught))
            truth = truth_of(each, self._constants)
            if truth is stops:
                break
            if truth is None:
                caught = caught | {IN_BRANCH}
        return reached

    def _branches(self, node: ast.IfExp, task: _Task) -> list[_Task]:
        truth, caught = truth_of(node.test, self._constants), task.caught
        test = _Task(node.test, caught)
        if truth is None:
            caught = caught | {IN_BRANCH}
            if names_in(node.test) & _PLATFORM:
                caught = caught | {UNDEFINED}
        chosen = [node.body] if truth is not False else []
        chosen += [node.orelse] if truth is not True else []
        return [test, *(_Task(each, caught) for each in chosen)]

    def _ends(self, node: ast.stmt) -> bool:
        """Whether nothing after the statement is run."""
        if isinstance(node, _LEAVING):
            return True
        value = node.value if isinstance(node, ast.Expr) else None
        return isinstance(value, ast.Call) and last_name(value) in self._ending

    def _may_leave(self, statement: ast.stmt) -> bool:
        """Whether what follows a compound statement may not be reached."""
        kinds = (ast.Raise, ast.Return) if isinstance(statement, LOOPS) else _LEAVING
        return any(
            isinstance(each, kinds) or (isinstance(each, ast.Expr) and self._ends(each))
            for each in parts_of([statement])
        )

    def _always_end(self, functions: Sequence[Function | ast.Lambda]) -> bool:
        """Whether functions end the block: their last statement does."""
        return all(
            not isinstance(each, ast.Lambda)
            and not isinstance(each.body[-1], ast.Return)
            and any(self._ends(statement) for statement in each.body)
            for each in functions
        )


_STATEMENTS: dict[type, Callable[[_Reach, Any, frozenset[str]], bool]] = {
    getattr(ast, kind): getattr(_Reach, method)
    for kind, method in (
        ("If", "_if"),
        ("For", "_loop"),
        ("AsyncFor", "_loop"),
        ("While", "_loop"),
        ("Try", "_try"),
        ("TryStar", "_try"),
        ("With", "_with"),
        ("AsyncWith", "_with"),
        ("Match", "_match"),
        ("FunctionDef", "_define"),
        ("AsyncFunctionDef", "_define"),
        ("ClassDef", "_class"),
        ("Assert", "_assert"),
    )
}
_EXPRESSIONS: dict[type, Callable[[_Reach, Any, _Task], list[_Task]]] = {
    getattr(ast, kind): getattr(_Reach, method)
    for kind, method in (
        ("Lambda", "_lambda"),
        ("BoolOp", "_operands"),
        ("IfExp", "_branches"),
        ("ListComp", "_comprehension"),
        ("SetComp", "_comprehension"),
        ("DictComp", "_comprehension"),
        ("GeneratorExp", "_comprehension"),
        ("comprehension", "_source"),
        ("Await", "_await"),
        ("Call", "_call"),
    )
}
