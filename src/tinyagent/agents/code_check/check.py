"""A block of a code agent is checked on the host before any of it runs.

Reported is what certainly fails: names that nothing defines, imports that are not allowed, calls
of tools with wrong arguments, and `await` of what cannot be awaited; all of it at once.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tinyagent.agents.code_check.calls import call_faults
from tinyagent.agents.code_check.names import BUILTINS, BlockNames, Scope
from tinyagent.agents.code_check.reach import (
    IN_BRANCH,
    UNDEFINED,
    WRONG_USE,
    Surroundings,
    certain_faults,
    manages,
)
from tinyagent.agents.code_check.syntax import is_never_awaitable, parts_of
from tinyagent.core.errors import MalformedReply
from tinyagent.execution.hints import Available, instead_of_import
from tinyagent.execution.sandbox.worker.session.imports import allowed, check_imports
from tinyagent.tools.signature import python_signature, python_stub
from tinyagent.tools.tool import Tool

_SHOWN = 20
_MOST_FAULTS = 100
_MAX_NAME = 80
_COMPARED, _MAX_LONGER = 300, 4
_ALIASES = {"np": "numpy", "pd": "pandas", "plt": "matplotlib.pyplot", "sns": "seaborn"}
_PLAIN_BUILTINS = frozenset(
    """
    bool dict enumerate float hasattr input int isinstance len list open print range repr set
    sorted str tuple zip
    """.split()  # noqa: SIM905 - a list to read, not a column
)
_OF_PYTHON_2 = frozenset({"xrange", "unicode", "raw_input", "basestring", "unichr", "reduce"})
_OUTSIDE = "`await` stands outside an `async def`: put it into one, and run that with asyncio.run"


class Fault(NamedTuple):
    """What is wrong in a line; the tool, if a call of it is."""

    line: int
    text: str
    tool: str = ""


class CodeCheck:
    """The check of the blocks of one run.

    Args:
        helpers: Functions that the code has besides its tools.
        imports: Modules that may be imported; None if they are not known.
        knows_names: Whether nothing else is defined before the first block; if not, no name is
            reported.
        is_module: Whether blocks run as a module does, at whose top nothing can be awaited.
    """

    def __init__(
        self,
        helpers: Collection[str],
        imports: frozenset[str] | None,
        *,
        knows_names: bool,
        is_module: bool,
    ) -> None:
        self._helpers = frozenset(helpers)
        self._names = {*helpers, *BUILTINS} if knows_names else None
        self._plain = _PLAIN_BUILTINS | self._helpers - {"final_answer"}
        self._imports = imports
        self._is_module = is_module
        self._constants: dict[str, Any] = {}
        self._manages = False
        self._rebound: set[str] = set()

    def check(self, tree: ast.Module, tools: Mapping[str, Tool]) -> None:
        """Check a block, and remember the names that it binds.

        Raises:
            MalformedReply: It would certainly fail; the message is for the model.
        """
        block = BlockNames(tree, self._helpers | tools.keys())
        callable_tools = {} if block.is_open else self._called(block, tools)
        names = None if block.is_open or self._names is None else self._names | tools.keys()
        faults = _import_faults(block, self._imports, tools)
        constants = self._constants_in(block)
        suspects = _call_suspects(block, callable_tools, constants)
        for node, scope in block.awaits:
            plain = {*callable_tools, *(() if names is None else self._plain)}
            fault = _await_fault(node, block, plain)
            if self._is_module and not scope.is_async:  # it would not even compile
                faults.append(fault or Fault(node.lineno, f"{_shown(node)}: {_OUTSIDE}"))
            elif fault is not None:
                suspects[node] = (_OF_USE, fault)
        if names is not None:
            suspects |= _name_suspects(block, names, self._imports or frozenset())
        if suspects:
            kinds = {node: kind for node, (kind, _) in suspects.items()}
            around = Surroundings(constants, self._manages)
            certain = certain_faults(block, kinds, around)
            faults += [fault for node, (_, fault) in suspects.items() if node in certain]
        if faults:
            raise MalformedReply(_report(faults, tools))
        self._learn(block)

    def _called(self, block: BlockNames, tools: Mapping[str, Tool]) -> dict[str, Tool]:
        """The tools that have their names in this block."""
        return {
            name: tools[name]
            for name, _ in block.calls
            if name in tools and name not in block.bindings and name not in self._rebound
        }

    def _constants_in(self, block: BlockNames) -> dict[str, Any]:
        own = {name: value for name, value in block.constants.items() if block.bindings[name] == 1}
        earlier = self._names or ()
        kept = {
            name: value for name, value in self._constants.items() if name not in block.bindings
        }
        return kept | {name: value for name, value in own.items() if name not in earlier}

    def _learn(self, block: BlockNames) -> None:
        self._constants = {} if block.is_open else self._constants_in(block)
        self._manages = self._manages or manages(block)
        if block.is_open:
            self._names = None
        elif self._names is not None:
            self._names |= block.module.bound
        if self._names is None:  # whoever runs the code may not bind the tools again
            self._rebound |= block.bindings.keys()


Suspects = dict[ast.AST, tuple[frozenset[str], Fault]]
"""Nodes that fail when they are run: where that may be meant, and the report."""

_OF_USE = frozenset({WRONG_USE})


def _import_faults(
    block: BlockNames, imports: frozenset[str] | None, tools: Mapping[str, Tool]
) -> list[Fault]:
    if imports is None or not block.has_imports:
        return []
    tree = ast.Module(block.body, [])
    refused = list(check_imports(tree, imports))
    if not refused:
        return []
    available = Available({name: python_signature(tool) for name, tool in tools.items()})
    code = _text(tree)

    def advice(module: str) -> str:
        if near := _near(module, imports):
            return f"did you mean {near}?"
        return f"do without it. {instead_of_import(module, code, available)}".rstrip()

    return [
        Fault(line, f"{module[:_MAX_NAME]} cannot be imported here; {advice(module)}")
        for line, module in refused[:_SHOWN]
    ]


def _call_suspects(
    block: BlockNames, tools: Mapping[str, Tool], constants: Mapping[str, Any]
) -> Suspects:
    suspects: Suspects = {}
    for name, call in block.calls:
        if name in tools and len(suspects) < _MOST_FAULTS:
            faults = "; ".join(call_faults(call, tools[name], constants))
            if faults:
                fault = Fault(call.lineno, f"{_shown(call)}: {faults}", name)
                suspects[call] = (_OF_USE, fault)
    return suspects


def _await_fault(node: ast.Await, block: BlockNames, plain: Collection[str]) -> Fault | None:
    """The report on an `await` of the result of a plain function; None if it may be right."""
    called = node.value
    if not isinstance(called, ast.Call) or not isinstance(called.func, ast.Name):
        return None
    name = called.func.id
    own = block.functions.get(name, [])
    is_plain = name in plain
    if block.bindings[name]:
        is_plain = block.bindings[name] == len(own) == 1 and _is_plain(own[0], block)
    if not is_plain:
        return None
    text = f"{_shown(node)}: {name} is a plain function; call it without await"
    return Fault(node.lineno, text)


def _is_plain(function: ast.AST, block: BlockNames) -> bool:
    """Whether a function certainly returns nothing that can be awaited."""
    if not isinstance(function, ast.FunctionDef) or function.decorator_list:
        return False
    operators = any(name.startswith("__") for name in block.functions)  # of classes of its own
    results = [each.value for each in parts_of(function.body) if isinstance(each, ast.Return)]
    return all(
        each is None or is_never_awaitable(each, with_operators=not operators) for each in results
    )


def _name_suspects(block: BlockNames, names: Collection[str], imports: frozenset[str]) -> Suspects:
    module, missing = block.module, dict[str, list[ast.Name]]()
    for node, scope in block.loads:
        name = node.id
        if name not in names and not _is_bound(name, scope, module):
            missing.setdefault(name, []).append(node)
    suspects: Suspects = {}
    known = {*names, *module.bound, "final_answer"}
    for name, nodes in list(missing.items())[:_SHOWN]:
        advice = _advice(name, known, imports)
        is_mistake = advice and name not in _OF_PYTHON_2
        meant = frozenset({UNDEFINED} if is_mistake else {UNDEFINED, IN_BRANCH})
        text = f"{name[:_MAX_NAME]} is not defined{advice}"
        suspects |= {node: (meant, Fault(node.lineno, text)) for node in nodes}
    return suspects


def _is_bound(name: str, scope: Scope, module: Scope) -> bool:
    is_own = name.startswith("__")  # of Python, or private to a class
    return is_own or name in module.bound or scope.binds(name)


def _advice(name: str, known: Iterable[str], imports: frozenset[str]) -> str:
    module = _ALIASES.get(name, name)
    if module != "__future__" and allowed(module, imports):
        alias = f" as {name}" if module != name else ""
        return f"; import it: `import {module}{alias}`"
    near = _near(name, known)
    return f"; did you mean {near}?" if near else ""


def _near(name: str, known: Iterable[str]) -> str:
    """One or two similar names; empty if there is none. The time for it is bounded."""
    if len(name) > _MAX_NAME:
        return ""
    similar = [each for each in known if abs(len(each) - len(name)) <= _MAX_LONGER]
    similar.sort(key=lambda each: (each[:1] != name[:1], each))
    return " or ".join(difflib.get_close_matches(name, similar[:_COMPARED], n=2, cutoff=0.75))


def _text(node: ast.AST) -> str:
    try:
        return ast.unparse(node)
    except RecursionError:
        return "this"


def _shown(node: ast.AST) -> str:
    text = _text(node)
    return f"`{text if len(text) <= 80 else text[:79] + '…'}`"  # noqa: PLR2004 - a line


def _report(faults: Sequence[Fault], tools: Mapping[str, Tool]) -> str:
    """All faults by their lines, each once, and how the tools in them are called."""
    lines: dict[str, int] = {}
    for fault in sorted(faults):
        lines.setdefault(fault.text, fault.line)
    shown = [f"- line {line}: {text}" for text, line in list(lines.items())[:_SHOWN]]
    if len(lines) > _SHOWN:
        shown.append(f"- and {len(lines) - _SHOWN} more")
    called = sorted({fault.tool for fault in faults if fault.tool})
    stubs = [python_stub(tools[name]) for name in called]
    usage = ["Call it like this:" if len(stubs) == 1 else "Call them like this:", *stubs]
    return "\n".join(
        [
            "Nothing of your block was run, because it would fail:",
            *shown,
            *(usage if stubs else ()),
            "Send the whole block again, corrected.",
        ]
    )
