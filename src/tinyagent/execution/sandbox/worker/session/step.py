"""One step: runs the code in its namespace and reports the result to the host."""

from __future__ import annotations

import ast
import builtins
import linecache
import os
import sys
from collections.abc import Callable
from functools import partial
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from ..codec.budget import Budget
from ..codec.reprs import REPR_ONLY, attempt
from ..codec.values import decode, encode
from ..codec.wire import Kind, WireError
from . import snapshot
from .artifacts import WorkingFolder, watch_figures
from .door import Door, FinalAnswerGiven
from .imports import allowed, check_imports, is_needless, refusal
from .link import HostGone, Link
from .tracebacks import describe, hint

MAX_VALUE_TEXT = 10_000
_OF_PYTHON = frozenset({"_strptime"})  # what Python's C code imports on behalf of the code


class Rules(NamedTuple):
    """The limits of a session's code, as the host sets them."""

    folder: str
    imports: frozenset[str]
    max_output_bytes: int


class Outcome(NamedTuple):
    """How the code ended: the text of an error, or the value of its last expression."""

    error: str | None = None
    out_of_memory: bool = False
    value: Any = None


class Namespace:
    """The code's variables, which are those of its module `__main__`, its door and its files.

    Args:
        rules: What the code may import; libraries may import anything.
    """

    def __init__(self, rules: Rules) -> None:
        self._module = ModuleType("__main__")
        self.rules = rules
        self.door = Door(rules.max_output_bytes)
        self.files = WorkingFolder(rules.folder)
        self.helpers = frozenset[str]()
        self.variables = self._module.__dict__
        self.variables["__builtins__"] = builtins
        builtins.__import__ = _guarded_import(rules.imports, self.variables)

    def prepare(self, order: dict[str, Any]) -> None:
        """Bind the helpers again, whatever earlier steps assigned to them, and the new data."""
        sys.modules["__main__"] = self._module
        names = {name: decode(data, order["blob"]) for name, data in order["values"].items()}
        tools = {name: self.door.tool(name) for name in order["tools"]}
        self.helpers = frozenset({*tools, "final_answer"})
        self.variables.update(names, **tools, final_answer=self.door.answer())


def run_step(link: Link, namespace: Namespace, order: dict[str, Any]) -> None:
    """Run the code of a RUN frame; the last frame sent is DONE."""
    door, number = namespace.door, order["step"]
    door.open(link)
    namespace.prepare(order)
    if order.get("task"):
        outcome = _do_task(order, namespace)
    else:
        outcome = _run(order["code"], f"<step {number}>", namespace)
    text = "" if outcome.value is None else _notebook_text(outcome.value)
    remarks = namespace.files.deliver(number, door.send)
    tail, skipped = door.close()
    done = {
        "token": order["token"],
        "error": outcome.error,
        "out_of_memory": outcome.out_of_memory,
        "value_text": text,
        "tail": tail,
        "skipped": skipped,
        "remarks": remarks,
    }
    blobs = bytearray()
    try:
        value = encode(outcome.value, blobs, Budget(of_code=True))
        link.send(Kind.DONE, {**done, "value": value}, bytes(blobs))
    except WireError as fault:
        link.send(Kind.DONE, {**done, "value": f"{REPR_ONLY}({fault})"})


def _do_task(order: dict[str, Any], namespace: Namespace) -> Outcome:
    """Write the variables as a snapshot, or read those of one."""
    may_import = partial(allowed, allow=namespace.rules.imports)

    def write() -> dict[str, Any]:
        return snapshot.dump(namespace.variables, namespace.helpers, may_import)._asdict()

    def read() -> list[str]:
        variables = snapshot.load(decode(order["snapshot"], order["blob"]), may_import)
        namespace.variables.update(variables)
        return list(variables)

    task = write if order["task"] == "dump" else read
    return _outcome(task, lambda error: f"{type(error).__name__}: {error}")


def _run(source: str, filename: str, namespace: Namespace) -> Outcome:
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)

    def run() -> Any:
        body, last = _compile(source, filename, namespace)
        exec(body, namespace.variables)  # noqa: S102 - the purpose of this process
        return None if last is None else eval(last, namespace.variables)  # noqa: S307 - as above

    def text(error: BaseException) -> str:
        near = attempt(partial(hint, error), list(namespace.variables))
        return describe(error, source, filename) + (near or "")

    return _outcome(run, text)


def _outcome(act: Callable[[], Any], text: Callable[[BaseException], str]) -> Outcome:
    """The result of an action, or the text of its error."""
    try:
        return Outcome(value=act())
    except FinalAnswerGiven:
        return Outcome()
    except MemoryError as error:
        return Outcome(f"{text(error)}(out of memory)", out_of_memory=True)
    except HostGone:
        os._exit(0)
    except BaseException as error:  # noqa: BLE001 - whatever the code raises is its result
        return Outcome(text(error))


def _compile(source: str, filename: str, namespace: Namespace) -> tuple[CodeType, CodeType | None]:
    """The statements, and separately a last expression."""
    tree = ast.parse(source, filename)
    if "import" in source:
        imports = namespace.rules.imports
        tree.body = [node for node in tree.body if not is_needless(node, namespace.helpers)]
        for line, module in check_imports(tree, imports)[:1]:
            raise ImportError(f"line {line}: {refusal(module, imports)}")
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        expression = ast.Expression(tree.body.pop().value)  # type: ignore[attr-defined]
        last = compile(expression, filename, "eval", dont_inherit=True)
    return compile(tree, filename, "exec", dont_inherit=True), last


def _guarded_import(imports: frozenset[str], own: dict[str, Any]) -> Callable[..., Any]:
    real = builtins.__import__

    def guarded(
        name: str, variables: Any = None, local: Any = None, fromlist: Any = (), level: int = 0
    ) -> Any:
        if type(name) is not str:
            raise TypeError("the name of a module must be a plain string")
        called_by = sys._getframe(1).f_globals  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        if called_by is own and name not in _OF_PYTHON and (level or not allowed(name, imports)):
            raise ModuleNotFoundError(refusal(name, imports), name=name)
        module = real(name, variables, local, fromlist, level)
        if name.startswith("matplotlib"):
            watch_figures()
        return module

    return guarded


def _notebook_text(value: Any) -> str:
    """The value's repr, cut in the middle."""
    text = attempt(repr, value)
    if text is None:
        return f"<a {type(value).__name__} whose repr fails>"
    half = MAX_VALUE_TEXT // 2
    if len(text) > MAX_VALUE_TEXT:
        missing = f"\n[... {len(text) - 2 * half:,} characters are left out here ...]\n"
        text = f"{text[:half]}{missing}{text[-half:]}"
    return str(text).encode("utf-8", "backslashreplace").decode()
