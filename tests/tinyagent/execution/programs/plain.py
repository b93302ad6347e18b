"""Run the programs in plain Python: a fork of this process for each, with the tools as they are.

Standard output is a JSON object: for each program, for each step, what it printed, the value of
its last expression, and the last line of its error.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import importlib
import inspect
import io
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[4]))

from tests.tinyagent.execution.programs.cases import Program
from tests.tinyagent.execution.programs.everything import ALL
from tests.tinyagent.execution.programs.tools import TOOLS

_PRELOADED = ("numpy", "pandas", "matplotlib.pyplot")


def main() -> None:
    """Run them all."""
    for name in _PRELOADED:
        importlib.import_module(name)
    json.dump({program.name: _run_in_fork(program) for program in ALL}, sys.stdout)


def _run_in_fork(program: Program) -> list[dict[str, str | None]]:
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(read)
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            text = json.dumps(_run(program))
        with os.fdopen(write, "w", encoding="utf-8") as target:
            target.write(text)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as source:
        steps: list[dict[str, str | None]] = json.load(source)
    os.waitpid(pid, 0)
    return steps


def _run(program: Program) -> list[dict[str, str | None]]:
    module = ModuleType("__main__")
    sys.modules["__main__"] = module
    names = vars(module)
    names.update({name: _plain(TOOLS[name]) for name in program.tools})
    return [_run_step(step, names) for step in program.steps]


def _run_step(step: str, names: dict[str, Any]) -> dict[str, str | None]:
    printed = io.StringIO()
    value, error = None, None
    with contextlib.redirect_stdout(printed):
        try:
            tree = ast.parse(step)
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, "<step>", "exec", dont_inherit=True), names)  # noqa: S102 - an ordinary program
            if isinstance(last, ast.Expr):
                code = compile(ast.Expression(last.value), "<step>", "eval", dont_inherit=True)
                value = eval(code, names)  # noqa: S307 - as above
        except Exception:  # noqa: BLE001 - what it raises is what it comes to
            error = traceback.format_exc().strip().splitlines()[-1]
    text = None if value is None else repr(value)
    return {"output": printed.getvalue(), "value": text, "error": error}


def _plain(tool: Callable[..., Any]) -> Callable[..., Any]:
    """A tool as the code sees it: one that waits is called like any other."""
    if not inspect.iscoroutinefunction(tool):
        return tool
    return lambda *args, **kwargs: asyncio.run(tool(*args, **kwargs))


if __name__ == "__main__":
    main()
