"""Run attacks in a LocalExecutor: in this process, which is there for that, with limits.

The socket whose number is the first argument takes a JSON object a line: `steps`, `seconds` and
`folder`. The answer is a line of JSON: what came of it, and what of the process was changed.
"""

from __future__ import annotations

import asyncio
import builtins
import copyreg
import csv
import decimal
import fractions
import json
import math
import numbers
import os
import random
import resource
import socket
import string
import sys
import threading
import time
import warnings
import zoneinfo
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tinyagent.execution.limits import ExecutionLimits
from tinyagent.execution.local import LocalExecutor

_MEGA = 2**20
_COUNTED_CHARACTERS = 20_000


def main() -> None:
    """Serve until the socket is closed."""
    for kind, most in (
        (resource.RLIMIT_AS, 1024 * _MEGA),
        (resource.RLIMIT_FSIZE, 64 * _MEGA),
        (resource.RLIMIT_NPROC, 512),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))
    control = socket.socket(fileno=int(sys.argv[1])).makefile("rwb")
    for line in control:
        answer = asyncio.run(_serve(json.loads(line)))
        control.write(json.dumps(answer).encode() + b"\n")
        control.flush()


async def _serve(order: dict[str, Any]) -> dict[str, Any]:
    os.chdir(order["folder"])
    # Each attack may use 20 seconds of the processor, whatever the ones before it took.
    used = math.ceil(time.process_time())
    resource.setrlimit(resource.RLIMIT_CPU, (used + 20, resource.RLIM_INFINITY))
    tools = _tools()
    before = _shared(tools)
    limits = ExecutionLimits(timeout_seconds=order["seconds"])
    async with LocalExecutor(limits=limits) as executor:
        for name, tool in tools.items():
            executor.inject(name, tool)
        for _ in range(10):  # a busy machine may be too slow for the short time limit
            if (await executor.run("kept = 41")).error is None:
                break
        steps = [await _timed(executor, step) for step in order["steps"]]
        executor.limits = ExecutionLimits(timeout_seconds=10)
        harmless = await executor.run("print(6 * 7)\nprint(kept + 1)")
    after = _shared(tools)
    changed = {name: (before[name], after[name]) for name in before if before[name] != after[name]}
    return {
        "steps": steps,
        "harmless": [harmless.output, harmless.error],
        "changed": {name: list(map(str, values)) for name, values in changed.items()},
    }


async def _timed(executor: LocalExecutor, code: str) -> dict[str, Any]:
    started = time.monotonic()
    result = await executor.run(code)
    shown = [result.output, result.error or "", result.value_text]
    return {
        "seconds": time.monotonic() - started,
        "shown": [text[:_COUNTED_CHARACTERS] for text in shown],
        "sizes": [len(text) for text in shown],
        "state_lost": result.state_lost,
    }


def _tools() -> dict[str, Callable[..., Any]]:
    """As in `plain.py`."""
    secret = os.environ.get("SANDBOX_CANARY", "")

    def echo(value: Any) -> Any:
        return value

    def lookup(key: str) -> int:
        if key == "wrong":
            raise ValueError(f"no account {key!r} among {len(secret)}")
        return len(secret)

    return {"echo": echo, "lookup": lookup}


def _shared(tools: dict[str, Callable[..., Any]]) -> dict[str, Any]:
    """What the code shares with the process, and must leave as it is."""
    functions = (json.dumps, json.loads, string.Formatter.format, builtins.print, builtins.len)
    return {
        "functions": functions,
        "constants": (math.pi, string.digits, len(copyreg.dispatch_table)),
        "classes": (hasattr(fractions.Fraction, "forged"), isinstance("", numbers.Number)),
        "precision": (decimal.getcontext().prec, decimal.DefaultContext.prec),
        "dice": hash(random.getstate()),
        "interpreter": (sys.getrecursionlimit(), sys.gettrace(), sys.getprofile()),
        "streams": (id(sys.stdout), id(sys.stderr)),
        "modules": (sys.modules.get("json") is json, sys.modules.get("os") is os),
        "surroundings": (Path.cwd(), dict(os.environ)),
        "warnings": len(warnings.filters),
        "tools": [dict(vars(tool)) for tool in tools.values()],
        "defaults": [getattr(tool, "__defaults__", None) for tool in tools.values()],
        "zones": zoneinfo.TZPATH,
        "csv": (csv.get_dialect("excel").delimiter, csv.field_size_limit()),
        "hook": threading.excepthook,
    }


if __name__ == "__main__":
    main()
